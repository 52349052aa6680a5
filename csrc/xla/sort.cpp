// Sorts, what is taken from sorted rows, and look-ups in them.
#include <limits>

#include "xla/loop.h"
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

// Of each row, or along axis 0: whether an element differs from the one before it; the first does.
Value new_ones(const Num& differs, int axis) {
  Dims first = differs.v->shape;
  first[axis] = 1;
  return concatenate({constant_int(1, DType::Bool, first), differs.v}, axis);
}

// The number of the group that each element is in, where some begin one.
Value groups_of(const Value& begins) {
  return (Num(running("stablehlo.add", convert(begins, DType::Int64), constant_int(0, DType::Int64), 0)) - 1).v;
}
// The values of the elements that begin groups, one after the other; what follows is 0.
Value firsts_of(const Value& begins, const Value& groups, const Value& values) {
  const int64_t n = values->shape[0];
  const Value place = select(begins, groups, constant_int(n, DType::Int64, {n}));
  return slice(put(constant_int(0, values->dtype, {n + 1}), place, values, "", false), {0}, {n});
}
int64_t count_of(const Value& begins, int device) {
  return value_now(fold("stablehlo.add", convert(begins, DType::Int64), constant_int(0, DType::Int64), {0}), device);
}

// The value that is there most often, the least of several; its last place.
void mode(const SortPlan& plan) {
  const Dims shape{plan.rows, plan.n};
  const Value x = read(plan.in, plan.dtype, shape);
  const Value both = sorted({key_of(x), x, iota(DType::Int64, shape, 1)}, false);
  const Num key(part(both, 0)), i(iota(DType::Int64, shape, 1));
  auto at = [&](int64_t first) { return Num(slice(key.v, {0, first}, {plan.rows, first + plan.n - 1})); };
  const Num a = at(0), b = at(1), differs = key.integral() ? a != b : (a != b) & ~(nan(a) & nan(b));
  const Num begins(new_ones(differs, 1));
  const Num length =
      i - Num(running("stablehlo.maximum", where(begins, i, 0.0).v, constant_int(0, DType::Int64), 1)) + 1;
  const Num longest(broadcast(fold("stablehlo.maximum", length.v, constant_int(0, DType::Int64), {1}), shape, {0}));
  const Value none = constant_int(plan.n - 1, DType::Int64, shape);
  const Num last(
      fold("stablehlo.minimum", select((length == longest).v, i.v, none), constant_int(plan.n - 1, DType::Int64), {1}));
  const Dims row{plan.rows};
  const Num flat = Num(iota(DType::Int64, row, 0)) * Num(constant_int(plan.n, DType::Int64, row)) + last;
  auto pick = [&](int k) { return take(reshape(part(both, k), {plan.rows * plan.n}), flat.v); };
  if (plan.values) write(plan.values, plan.dtype, row, pick(1));
  if (plan.index) write(plan.index, DType::Int64, row, pick(2));
}

}  // namespace

void unique_values(const SortPlan& plan, int64_t* count) {
  *count = 0;
  if (plan.n == 0) return;
  const Dims shape{plan.n};
  const Value x = read(plan.in, plan.dtype, shape), both = sorted({key_of(x), x}, false), keys = part(both, 0);
  const Num before(slice(keys, {0}, {plan.n - 1})), after(slice(keys, {1}, {plan.n}));
  const Value begins = new_ones(after != before, 0);
  write(plan.values, plan.dtype, shape, firsts_of(begins, groups_of(begins), part(both, 1)));
  *count = count_of(begins, plan.device);
}

void unique_rows(const UniquePlan& plan, int64_t* groups) {
  *groups = 0;
  if (plan.n == 0) return;
  const int64_t n = plan.n, m = plan.m;
  const Value keys = transpose(key_of(read(plan.in, plan.dtype, {n, m})), {1, 0});
  Value order = iota(DType::Int64, {n}, 0);
  if (plan.order) {  // by the last column first
    order = repeat(m, {order, keys}, [&](const Value& i, const Values& v) {
      const Value column = (Num(constant_int(m - 1, DType::Int64)) - Num(i)).v;
      const Value key = reshape(slice_at(v[1], {column, constant_int(0, DType::Int64)}, {1, n}), {n});
      return Values{take(v[0], sorted_order(take(key, v[0]))), v[1]};
    })[0];
    write(plan.order, DType::Int64, {n}, order);
  }
  const Value rows = take_rows(transpose(keys, {1, 0}), order, {n, m}, {1});
  const Num differs(compare("NE", slice(rows, {1, 0}, {n, m}), slice(rows, {0, 0}, {n - 1, m})));
  const Value begins = new_ones(Num(fold("stablehlo.or", differs.v, constant_int(0, DType::Bool), {1})), 0);
  const Value group = groups_of(begins);
  write(plan.group, DType::Int64, {n}, group);
  write(plan.starts, DType::Int64, {n}, firsts_of(begins, group, iota(DType::Int64, {n}, 0)));
  *groups = count_of(begins, plan.device);
}

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
  if (plan.n * plan.rows == 0) return;
  if (what == OrderStatistic::Mode) return mode(plan);
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
