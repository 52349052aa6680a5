// Sorts, what is taken from sorted rows, and look-ups in them.
#include <limits>
#include <string>

#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

// Whose order is that of the elements: one NaN, the greatest, and one zero.
Value key_of(const Value& x) {
  if (x->dtype == DType::Bool) return convert(x, DType::UInt8);
  const Num v(x);
  if (v.integral()) return x;
  return where(v == 0.0, 0.0, where(nan(v), std::numeric_limits<double>::quiet_NaN(), v)).v;
}

}  // namespace

void sort(const SortPlan& plan, int64_t keep, bool descending) {
  if (plan.n * plan.rows == 0) return;
  const Dims shape{plan.rows, plan.n};
  const Value x = read(plan.in, plan.dtype, shape);
  const Value both = sorted({key_of(x), x, iota(DType::Int64, shape, 1)}, descending);
  auto first = [&](int i) { return slice(part(both, i), {0, 0}, {plan.rows, keep}); };
  if (plan.values) write(plan.values, plan.dtype, {plan.rows, keep}, first(1));
  if (plan.index) write(plan.index, DType::Int64, {plan.rows, keep}, first(2));
}

void order_statistic(const SortPlan& plan, OrderStatistic what, int64_t k) {
  if (what == OrderStatistic::Mode) refuse(plan, "mode");
  if (plan.n * plan.rows == 0) return;
  const Dims shape{plan.rows, plan.n}, row{plan.rows};
  const Value x = read(plan.in, plan.dtype, shape);
  const Value both = sorted({key_of(x), x, iota(DType::Int64, shape, 1)}, false);
  Num at(constant_int(k, DType::Int64, row));
  if (what != OrderStatistic::Kth) {
    const Num unknown = is_integral(plan.dtype) ? Num(constant_int(0, DType::Bool, shape)) : nan(Num(x));
    const Num numbers(fold("stablehlo.add", convert(unary("stablehlo.not", unknown.v), DType::Int64),
                           constant_int(0, DType::Int64), {1}));
    const Num n(constant_int(plan.n, DType::Int64, row)), zero(constant_int(0, DType::Int64, row));
    const Num middle = larger((numbers - 1) / 2, zero);
    at = what == OrderStatistic::NanMedian ? middle : where(numbers < n, numbers, middle);  // the first NaN, if any
  }
  const Num flat = Num(iota(DType::Int64, row, 0)) * Num(constant_int(plan.n, DType::Int64, row)) + at;
  auto pick = [&](int i) { return Num(take(reshape(part(both, i), {plan.rows * plan.n}), flat.v)); };
  if (plan.values) write(plan.values, plan.dtype, row, pick(1).v);
  if (!plan.index) return;
  // Of equal elements the first one.
  const Num key(key_of(x)), picked = pick(0), one(broadcast(picked.v, shape, {0}));
  const Num equal = is_integral(plan.dtype) ? key == one : (key == one) | (nan(key) & nan(one));
  const Value none = constant_int(INT64_MAX, DType::Int64, shape);
  write(plan.index, DType::Int64, row,
        fold("stablehlo.minimum", select(equal.v, iota(DType::Int64, shape, 1), none),
             constant_int(INT64_MAX, DType::Int64), {1}));
}

// By halving: the number of elements before the place of each value.
void search(const SearchPlan& plan, Search what) {
  const int64_t looked_up = plan.rows * plan.m;
  const Dims shape{plan.rows, plan.m};
  const bool set = what == Search::In || what == Search::NotIn;
  if (looked_up == 0) return;
  if (plan.n == 0) {
    const Value none = constant_int(what == Search::NotIn ? 1 : 0, set ? DType::Bool : DType::Int64, shape);
    return write(plan.out, none->dtype, shape, none);
  }
  const Value sorted_rows = reshape(read(plan.sorted, plan.dtype, {plan.rows, plan.n}), {plan.rows * plan.n});
  const Num value(read(plan.values, plan.dtype, shape));
  const Num base = Num(iota(DType::Int64, shape, 0)) * Num(constant_int(plan.n, DType::Int64, shape));
  const Num n(constant_int(plan.n, DType::Int64, shape)), zero(constant_int(0, DType::Int64, shape));
  const Value order = plan.sorter ? read(plan.sorter, DType::Int64, {plan.rows * plan.n}) : Value();
  auto element = [&](const Num& at) {
    Num place = base + larger(smaller(at, n - 1), zero);
    if (order) place = base + Num(take(order, place.v));
    return Num(take(sorted_rows, place.v));
  };
  auto before = [&](const Num& a, const Num& b) {  // NaN is the greatest
    if (a.integral()) return a < b;
    return (a < b) | (nan(b) & (a == a));
  };
  Num count = zero;
  int64_t step = 1;
  while (step * 2 <= plan.n) step *= 2;
  for (; step > 0; step /= 2) {
    const Num next = count + Num(constant_int(step, DType::Int64, shape)), last = element(next - 1);
    const Num inside = what == Search::Right ? ~before(value, last) : before(last, value);
    count = where((next <= n) & inside, next, count);
  }
  if (!set) return write(plan.out, DType::Int64, shape, count.v);
  const Num has = (count < n) & (element(count) == value);
  write(plan.out, DType::Bool, shape, (what == Search::In ? has : ~has).v);
}

}  // namespace strided::xla
