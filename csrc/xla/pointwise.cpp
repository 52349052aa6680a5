// Elementwise operations, copies, and what is made of positions.

#include "backend/elementwise.h"
#include "xla/elementwise.h"
#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {

void elementwise(const LoopPlan& plan, int op, DType compute, const double* params) {
  std::vector<Value> in;
  for (int k = 1; k < plan.n_operands; ++k) in.push_back(convert(read(plan, k), compute));
  Value result;
  try {
    result = lower_elementwise(op, compute, std::move(in), params);
  } catch (const NoLowering&) {
    refuse(plan, concat("elementwise ", plan.name, " for ", compute));
  }
  if (!result) refuse(plan, concat("elementwise ", plan.name));
  write(plan, 0, result);
}

void copy(const LoopPlan& plan) { write(plan, 0, read(plan, 1)); }

void where(const LoopPlan& plan) {
  const DType dtype = plan.operand[0].dtype;
  write(plan, 0,
        select(convert(read(plan, 1), DType::Bool), convert(read(plan, 2), dtype), convert(read(plan, 3), dtype)));
}

void divide_by_counts(const LoopPlan& plan) {
  const Num x(read(plan, 0)), counts(read(plan, 1));
  const DType dtype = x.v->dtype;
  const bool widen = size_of(dtype) == 2 && !x.integral();
  const Num from = widen ? cast(x, DType::Float32) : x;
  const Num by = cast(where(counts < 2.0, 1.0, counts), from.v->dtype);
  Num quotient = from / by;
  if (x.integral() && x.is_signed()) {
    const Num rest = mod(from, by);
    quotient = where(rest < 0.0, quotient - 1, quotient);
  }
  write(plan, 0, quotient.v);
}

void clear_triangle(const LoopPlan& plan, int64_t diagonal, bool keep_below) {
  const Value x = read(plan, 0);
  const int n = x->shape.ndim();
  const Num row(iota(DType::Int64, x->shape, n - 2)), column(iota(DType::Int64, x->shape, n - 1));
  const Num distance = column - row, border(constant_int(diagonal, DType::Int64, x->shape));
  const Num keep = keep_below ? distance <= border : distance >= border;
  write(plan, 0, select(keep.v, x, constant_int(0, x->dtype, x->shape)));
}

void range(const OpContext&, RangeKind kind, DType dtype, void* to, int64_t n, const RangeSpec& range) {
  const Dims shape{n};
  if (kind == RangeKind::Arange && is_integral(dtype)) {
    const Num i(iota(DType::Int64, shape, 0));
    const Num step(constant_int(range.int_step, DType::Int64, shape)),
        start(constant_int(range.int_start, DType::Int64, shape));
    return write(to, dtype, shape, (start + i * step).v);
  }
  const Num i = cast(Num(iota(DType::Int64, shape, 0)), DType::Float64);
  if (kind == RangeKind::Arange) return write(to, dtype, shape, (i * range.step + range.start[0]).v);
  // From both ends to the middle, so that both are exact.
  auto between = [&](double start, double stop) {
    const auto last = static_cast<double>(range.steps - 1);
    const double step = last > 0 ? (stop - start) / last : 0;
    const Num up = i * step + start;
    return last > 0 ? where(i < static_cast<double>(range.steps / 2), up, (last - i) * -step + stop) : up;
  };
  const bool integral = is_integral(dtype);
  const Num re = between(integral ? static_cast<double>(range.int_start) : range.start[0],
                         integral ? static_cast<double>(range.int_end) : range.end[0]);
  if (kind == RangeKind::Logspace) {
    const Num exponent = is_complex(dtype) ? complex(re, between(range.start[1], range.end[1])) : re;
    return write(to, dtype, shape, power(exponent.like(range.base), exponent).v);
  }
  if (!is_complex(dtype)) return write(to, dtype, shape, re.v);
  write(to, dtype, shape, complex(re, between(range.start[1], range.end[1])).v);
}

void join(const JoinPlan& plan) {
  std::vector<Value> parts;
  int64_t length = 0;
  for (int64_t k = 0; k < plan.n_parts; ++k) {
    if (plan.parts[k].length == 0) continue;
    parts.push_back(read(plan.parts[k].data, plan.dtype, {plan.rows, plan.parts[k].length}));
    length += plan.parts[k].length;
  }
  if (length * plan.rows > 0) write(plan.out, plan.dtype, {plan.rows, length}, concatenate(parts, 1));
}

void unravel(const OpContext&, int64_t* to, const int64_t* position, int64_t n, int64_t inner, int64_t size) {
  const Num at(read(position, DType::Int64, {n}));
  auto integer = [&](int64_t v) { return Num(constant_int(v, DType::Int64, {n})); };
  write(to, DType::Int64, {n}, mod(at / integer(inner), integer(size)).v);  // none is negative
}

}  // namespace strided::xla
