// Reductions and scans.
#include <limits>
#include <string>

#include "backend/reduce.h"
#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Reduction {
  Num x;      // as it is computed with: 16-bit floats in float
  Dims axes;  // reduced
  Dims kept;  // those that stay
  int64_t count;
  double param;

  Num fold(const char* op, const Num& values, double start) const {
    return Num(xla::fold(op, values.v, constant(start, values.v->dtype), axes));
  }
  Num sum(const Num& values) const { return fold("stablehlo.add", values, 0); }
  Num all(const Num& values) const {
    return Num(xla::fold("stablehlo.and", values.v, constant_int(1, DType::Bool), axes));
  }
  Num any(const Num& values) const {
    return Num(xla::fold("stablehlo.or", values.v, constant_int(0, DType::Bool), axes));
  }
  // The least and the greatest number of the dtype begin the folds.
  Value least(DType dtype) const {
    if (!is_integral(dtype)) return constant(-kInfinity, dtype);
    if (dtype == DType::Bool || !kDTypeInfo[index_of(dtype)].is_signed) return constant_int(0, dtype);
    return constant_int(static_cast<int64_t>(~uint64_t(0) << (8 * size_of(dtype) - 1)), dtype);
  }
  Value greatest(DType dtype) const {
    if (!is_integral(dtype)) return constant(kInfinity, dtype);
    if (dtype == DType::Bool) return constant_int(1, dtype);
    return unary("stablehlo.not", least(dtype));
  }
  Num max(const Num& values) const {
    return Num(xla::fold("stablehlo.maximum", values.v, least(values.v->dtype), axes));
  }
  Num min(const Num& values) const {
    return Num(xla::fold("stablehlo.minimum", values.v, greatest(values.v->dtype), axes));
  }
  Num spread(const Num& result) const { return Num(broadcast(result.v, x.v->shape, kept)); }
  Num nonzero() const { return cast(x, DType::Bool); }
  // Sums of integers are of 64 bits.
  Num wide() const {
    if (!x.integral()) return x;
    return cast(x, x.v->dtype == DType::UInt64 ? DType::UInt64 : DType::Int64);
  }
  Num mean() const { return sum(x) / static_cast<double>(count); }
  Num variance() const {
    const Num distance = x - spread(mean());
    const double by = static_cast<double>(count) - param;
    return sum(distance * distance) / (by > 0 ? by : 0.0);
  }
  Num magnitude() const { return abs(x); }
  Num logsumexp() const {
    const Num top = max(x), shift = where(finite(top), top, 0.0);
    return log(sum(exp(x - spread(shift)))) + shift;
  }
  // The first position of `extreme`, or of NaN, in row-major order of the reduced axes.
  Num first(const Num& extreme) const {
    const Num found = (x == spread(extreme)) | nan(x);
    Value position = constant_int(0, DType::Int64, x.v->shape);
    int64_t step = 1;
    for (int k = axes.ndim() - 1; k >= 0; --k) {
      const int axis = static_cast<int>(axes[k]);
      const Value size = constant_int(step, DType::Int64, x.v->shape);
      position =
          binary("stablehlo.add", position, binary("stablehlo.multiply", iota(DType::Int64, x.v->shape, axis), size));
      step *= x.v->shape[axis];
    }
    const Value none = constant_int(INT64_MAX, DType::Int64, x.v->shape);
    return min(Num(select(found.v, position, none)));
  }
};

struct Row {
  const char* name;
  Num (*lowering)(const Reduction&);
  Num (*second)(const Reduction&, const Num& result);
};
#define ROW(name, ...) {name, [](const Reduction& r) -> Num { return __VA_ARGS__; }, nullptr}
#define ROW2(name, result, other) \
  {name, [](const Reduction& r) -> Num { return result; }, \
   [](const Reduction& r, [[maybe_unused]] const Num& out) -> Num { return other; }}
const Row kRows[] = {
    ROW("sum", r.sum(r.wide())),
    ROW("mean", r.mean()),
    ROW("nansum", r.x.integral() ? r.sum(r.wide()) : r.sum(where(nan(r.x), 0.0, r.x))),
    ROW("prod", r.fold("stablehlo.multiply", r.wide(), 1)),
    ROW("amax", r.max(r.x)),
    ROW("amin", r.min(r.x)),
    ROW("count_nonzero", r.sum(cast(r.nonzero(), DType::Int64))),
    ROW("all", r.all(r.nonzero())),
    ROW("any", r.any(r.nonzero())),
    ROW("norm1", r.sum(r.magnitude())),
    ROW("norm2", sqrt(r.x.complex() ? r.sum(real(r.x) * real(r.x) + imag(r.x) * imag(r.x)) : r.sum(r.x* r.x))),
    ROW("norminf", r.max(r.magnitude())),
    ROW("normneginf", r.min(r.magnitude())),
    ROW2("max", r.max(r.x), r.first(out)),
    ROW2("min", r.min(r.x), r.first(out)),
    ROW2("var", r.variance(), r.mean()),
    ROW2("std", sqrt(r.variance()), r.mean()),
    ROW("logsumexp", r.logsumexp()),
};
#undef ROW
#undef ROW2

struct Table {
  const Row* row[kNumReductions] = {};
  DType out[2][kNumReductions][kNumDTypes] = {};
  Table() {
    for_each(ReductionOps{}, [&](auto tag, int id) {
      using Op = typename decltype(tag)::type;
      for (const Row& r : kRows)
        if (std::string(r.name) == Op::info.name) row[id] = &r;
      for_each(LoopDTypes{}, [&](auto type, int) {
        using T = typename decltype(type)::type;
        if constexpr (reduction_supports<Op, T>) {
          using S = typename Op::template State<T>;
          const int t = index_of(dtype_of<T>);
          out[0][id][t] = dtype_of<decltype(Op::template finish<T>(S(), 0, 0.0))>;
          if constexpr (Op::info.outputs == 2) out[1][id][t] = dtype_of<decltype(Op::template second<T>(S()))>;
        }
      });
    });
  }
};

// Each element with all before it along an axis: by steps of 1, 2, 4, ... (W. D. Hillis, G. L. Steele, "Data parallel
// algorithms", Comm. ACM 29, 1986).
template <class Combine>
Value prefix(const Combine& combine, Value x, const Value& start, int axis) {
  const size_t ndim = x->shape.size();
  for (int64_t step = 1; step < x->shape[axis]; step *= 2) {
    Dims limit = x->shape, low(ndim);
    limit[axis] -= step;
    low[axis] = step;
    const Value moved = pad(slice(x, Dims(ndim), limit), low, Dims(ndim), start);
    x = combine(moved, x);
  }
  return x;
}
Value prefix(const char* op, const Value& x, const Value& start, int axis) {
  return prefix([op](const Value& a, const Value& b) { return binary(op, a, b); }, x, start, axis);
}

Value log_of_sum(const Value& x, const Value& y) {
  const Num a(x), b(y), top = larger(a, b);
  return where((a == b) & (abs(a) == kInfinity), a, top + log1p(exp(-abs(a - b)))).v;
}

}  // namespace

Value running(const char* op, const Value& x, const Value& start, int axis) { return prefix(op, x, start, axis); }

void reduce(const ReducePlan& plan, int op, DType compute) {
  static const Table table;
  const Row* row = table.row[op];
  if (!row) refuse(plan, std::string("reduction ") + plan.name);
  Num x = cast(Num(read(plan.data, plan.dtype, plan.ndim, plan.shape, plan.strides)), compute);
  if (size_of(compute) == 2 && !x.integral()) x = cast(x, DType::Float32);
  Reduction r{x, {}, {}, 1, plan.param};
  Dims shape;
  for (int i = 0; i < plan.ndim; ++i) {
    if (plan.axes >> i & 1) {
      r.axes.push_back(i);
      r.count *= plan.shape[i];
    } else {
      r.kept.push_back(i);
      shape.push_back(plan.shape[i]);
    }
  }
  const Num result = row->lowering(r);
  if (plan.out[0]) write(plan.out[0], table.out[0][op][index_of(compute)], shape, result.v);
  if (plan.out[1]) write(plan.out[1], table.out[1][op][index_of(compute)], shape, row->second(r, result).v);
}

void scan(const ScanPlan& plan, ScanOp op) {
  const Dims shape{plan.outer, plan.n, plan.inner};
  if (plan.outer * plan.n * plan.inner == 0) return;
  Num x(read(plan.in, plan.dtype, shape));
  if (size_of(plan.dtype) == 2 && !x.integral()) x = cast(x, DType::Float32);
  const Reduction r{x, {1}, {0, 2}, plan.n, 0};
  const DType dtype = x.v->dtype;
  auto give = [&](const Num& result) { write(plan.out, plan.dtype, shape, result.v); };
  switch (op) {
    case ScanOp::Sum: return give(Num(prefix("stablehlo.add", x.v, constant_int(0, dtype), 1)));
    case ScanOp::Product: return give(Num(prefix("stablehlo.multiply", x.v, constant_int(1, dtype), 1)));
    case ScanOp::Softmax: {
      const Num e = exp(x - r.spread(r.max(x)));
      return give(e / r.spread(r.sum(e)));
    }
    case ScanOp::LogSoftmax: {
      const Num shifted = x - r.spread(r.max(x));
      return give(shifted - r.spread(log(r.sum(exp(shifted)))));
    }
    case ScanOp::LogSumExp: return give(Num(prefix(log_of_sum, x.v, constant(-kInfinity, dtype), 1)));
    case ScanOp::Max:
    case ScanOp::Min: {
      const bool max = op == ScanOp::Max;
      const Num best(
          prefix(max ? "stablehlo.maximum" : "stablehlo.minimum", x.v, max ? r.least(dtype) : r.greatest(dtype), 1));
      give(best);
      if (!plan.index) return;
      // The last position so far that holds the best.
      const Num here = (x == best) | nan(x);
      const Value position = iota(DType::Int64, shape, 1), none = constant_int(-1, DType::Int64, shape);
      const Value last = prefix("stablehlo.maximum", select(here.v, position, none), r.least(DType::Int64), 1);
      return write(plan.index, DType::Int64, shape, last);
    }
  }
}

}  // namespace strided::xla
