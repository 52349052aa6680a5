// Reductions as the other operations call them: the table, the axes, the one way to a backend.
#include "ops/reduce/reduction.h"

#include <cctype>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/fuse/call_log.h"
#include "ops/index/index.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/gradients.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

template <class Op, class T>
void describe(ReductionDef& def, Tag<T>) {
  const int i = index_of(dtype_of<T>);
  def.supported[i] = reduction_supports<Op, T>;
  if constexpr (reduction_supports<Op, T>) {
    using S = typename Op::template State<T>;
    def.out_dtype[0][i] = dtype_of<decltype(Op::template finish<T>(S(), 0, 0.0))>;
    if constexpr (Op::info.outputs == 2) def.out_dtype[1][i] = dtype_of<decltype(Op::template second<T>(S()))>;
  }
}

template <class Op, class = void>
struct VjpOf {
  static constexpr Tensor (*value)(const Tensor&, const ReduceSaved<Tensor>&) = nullptr;
};
template <class Op>
struct VjpOf<Op, std::void_t<decltype(&Op::template vjp<Tensor>)>> {
  static constexpr Tensor (*value)(const Tensor&, const ReduceSaved<Tensor>&) = Op::template vjp<Tensor>;
};
template <class Op, class = void>
struct CheckOf {
  static constexpr void (*value)(double) = nullptr;
};
template <class Op>
struct CheckOf<Op, std::void_t<decltype(&Op::check)>> {
  static constexpr void (*value)(double) = Op::check;
};
template <class Op, class = void>
struct OnIntegersOf {
  static constexpr int value = -1;
};
template <class Op>
struct OnIntegersOf<Op, std::void_t<typename Op::OnIntegers>> {
  static constexpr int value = reduction_id<typename Op::OnIntegers>;
};

// "count_nonzero" -> "CountNonzeroBackward0"
std::string node_name(const std::string& name, char number) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool first = i == 0 || name[i - 1] == '_';
    out += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i]))) : name[i];
  }
  return out + "Backward" + number;
}

// The largest real part is taken out before exp.
Tensor complex_logsumexp(const Tensor& x, const Dims& dims, bool keepdim) {
  const uint64_t axes = axis_mask("logsumexp", dims, x.ndim());
  if (is_empty_along(x, axes)) return elementwise<Log>(sum(x, dims, keepdim));
  Tensor top;
  {
    NoGradGuard guard;
    top = amax(real(x), dims, true);
    top = masked_fill(top, elementwise<Isinf>(top), Scalar(0));
  }
  const Tensor total = sum(elementwise<Exp>(x - top), dims, keepdim);
  return elementwise<Log>(total) + reshape(top, total.shape());
}

struct Table {
  ReductionDef row[kNumReductions] = {};
  Table() {
    for_each(ReductionOps{}, [&](auto tag, int id) {
      using Op = typename decltype(tag)::type;
      ReductionDef& def = row[id];
      def.info = &Op::info;
      def.id = id;
      def.on_integers = OnIntegersOf<Op>::value;
      def.check = CheckOf<Op>::value;
      def.vjp = VjpOf<Op>::value;
      def.node_name[0] = node_name(Op::info.name, '0');
      def.node_name[1] = node_name(Op::info.name, Op::info.numbered ? '1' : '0');
      for_each(LoopDTypes{}, [&](auto type, int) { describe<Op>(def, type); });
      // Dtypes without loops: those of another dtype serve.
      for (int t = 0; t < kNumDTypes; ++t) {
        const DType loops = loop_dtype_of(static_cast<DType>(t));
        if (index_of(loops) == t) continue;
        def.supported[t] = def.supported[index_of(loops)];
        for (auto& out : def.out_dtype)
          out[t] = out[index_of(loops)] == loops ? static_cast<DType>(t) : out[index_of(loops)];
      }
    });
  }
};

}  // namespace

const ReductionDef& reduction_def(int reduction_id) {
  static const Table table;
  return table.row[reduction_id];
}

bool is_empty_along(const Tensor& x, uint64_t axes) {
  for (int i = 0; i < x.ndim(); ++i)
    if (axes >> i & 1 && x.size(i) == 0) return true;
  return false;
}

int64_t count_along(const Dims& shape, uint64_t axes) {
  int64_t n = 1;
  for (int i = 0; i < shape.ndim(); ++i)
    if (axes >> i & 1) n *= shape[i];
  return n;
}

// A reduction without identity: what PyTorch says of an axis without elements.
void check_not_empty(const char* op, const Tensor& x, uint64_t axes, bool listed) {
  if (!is_empty_along(x, axes)) return;
  STRIDED_CHECK(listed, RuntimeError, op,
                "(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument.");
  for (int i = 0; i < x.ndim(); ++i)
    STRIDED_CHECK(!(axes >> i & 1) || x.size(i) != 0, IndexError, op, "(): Expected reduction dim ", i,
                  " to have non-zero size.");
}

uint64_t axis_mask(const char* op, const Dims& dims, int ndim) {
  const uint64_t every = ndim >= 64 ? ~uint64_t(0) : (uint64_t(1) << ndim) - 1;
  if (dims.empty()) return every;
  uint64_t bits = 0;
  for (int64_t d : dims) {
    const uint64_t bit = uint64_t(1) << wrap_axis(op, d, ndim);
    STRIDED_CHECK(!(bits & bit), RuntimeError, "dim ", d < 0 ? d + std::max(ndim, 1) : d,
                  " appears multiple times in the list of dims");
    bits |= bit;
  }
  return bits & every;  // the axis of a 0-d tensor is none
}

Tensor call_reduction(const ReductionDef& def, const Tensor& x, uint64_t axes, bool keepdim, DType compute,
                      double param, Tensor* second, bool first) {
  const int i = index_of(compute);
  STRIDED_CHECK(def.supported[i], NotImplementedError, "\"", def.info->name, "\" not implemented for '",
                cpp_name_of(compute), "'");
  if (!has_loops(compute)) {
    NoGradGuard no_grad;
    Tensor out = call_reduction(def, x, axes, keepdim, loop_dtype_of(compute), param, second, first);
    if (second) *second = to_dtype(*second, def.out_dtype[1][i]);
    return first ? to_dtype(out, def.out_dtype[0][i]) : out;
  }
  Dims shape, strides = x.strides();
  for (int k = 0; k < x.ndim(); ++k) {
    strides[k] *= x.itemsize();
    if (!(axes >> k & 1)) shape.push_back(x.size(k));
    else if (keepdim) shape.push_back(1);
  }
  Tensor out = first ? empty_result(shape, def.out_dtype[0][i], x.device()) : Tensor();
  if (second) *second = empty_result(shape, def.out_dtype[1][i], x.device());
  ReducePlan plan;
  plan.name = def.info->name;
  plan.device = x.device().index;
  plan.data = x.data();
  plan.dtype = x.dtype();
  plan.ndim = x.ndim();
  plan.shape = x.shape().data();
  plan.strides = strides.data();
  plan.axes = axes;
  plan.out[0] = first ? out.data() : nullptr;
  plan.out[1] = second ? second->data() : nullptr;
  plan.param = param;
  backend(x.device()).reduce(plan, def.id, compute);
  return out;
}

namespace {

[[noreturn]] void refuse(const ReduceInfo& info, DType compute, bool given) {
  STRIDED_CHECK(info.refusal, NotImplementedError, "\"", info.name, "\" not implemented for '", cpp_name_of(compute),
                "'");
  std::string text = info.refusal;
  auto put = [&](const std::string& what, const std::string& value) {
    const size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), value);
  };
  put("{which}", given ? "Optional" : "Input");
  put("{dtype}", cpp_name_of(compute));
  throw RuntimeError(text);
}

}  // namespace

Tensor reduced_as(const char* name, const char* node, const ReductionDef& def, const Tensor& x,
                  const ReduceArguments& arguments) {
  const ReduceInfo& info = *def.info;
  DType compute = arguments.dtype.value_or(x.dtype());
  if (info.promote == Promote::Floating && is_integral(compute)) compute = default_dtype();
  if (def.check) def.check(arguments.param);
  if (!def.supported[index_of(compute)]) {
    if (def.on_integers >= 0 && is_integral(compute)) return reduced(reduction_def(def.on_integers), x, arguments);
    if (def.id == reduction_id<LogSumExp> && is_complex(compute))
      return complex_logsumexp(x, arguments.dims.value_or(Dims()), arguments.keepdim);
    refuse(info, compute, arguments.dtype.has_value());
  }
  const bool empty_list = arguments.dims && arguments.dims->empty(), listed = arguments.dims && !empty_list;
  const uint64_t axes =
      empty_list && info.no_axes == NoAxes::None ? 0 : axis_mask(name, arguments.dims.value_or(Dims()), x.ndim());
  if (info.empty == OnEmpty::Error) check_not_empty(name, x, axes, listed);
  Tensor out = call_reduction(def, x, axes, arguments.keepdim, compute, arguments.param);
  if (CallLog* log = call_log(); log && !arguments.dtype) {
    LoggedCall call;
    call.kind = LoggedCall::Kind::Reduction;
    call.reduction = &def;
    call.compute = compute;
    call.in.emplace_back(x);
    call.params[0] = arguments.param;
    call.axes = axes;
    call.keepdim = arguments.keepdim;
    call.listed = listed || (empty_list && info.no_axes == NoAxes::None);
    call.out = out;
    if (!has_loops(compute)) call.obstacle = "the dtype has no loops";
    log->calls.push_back(std::move(call));
  }
  // sum(dtype=int32) adds in 64 bits, and keeps the low ones.
  if (arguments.dtype && out.dtype() != *arguments.dtype) out = to_dtype(out, *arguments.dtype);
  if (!def.vjp || !needs_grad(x) || is_integral(out.dtype())) return out;
  return record(
      node ? node : def.node_name[listed].c_str(), out, x,
      [vjp = def.vjp, axes, keepdim = arguments.keepdim, shape = x.shape(), x = saved_if(saves_inputs(info.saves), x),
       saved_out = saves_output(info.saves) ? SavedTensor::output(out) : SavedTensor()](const Tensor& g) {
        const auto count = static_cast<double>(count_along(shape, axes));
        return vjp(g, {x.was_saved() ? x.get() : Tensor(), saved_out.was_saved() ? saved_out.get() : Tensor(), shape,
                       axes, keepdim, count});
      });
}

Tensor reduced(const ReductionDef& def, const Tensor& x, const ReduceArguments& arguments) {
  return reduced_as(def.info->name, nullptr, def, x, arguments);
}

}  // namespace strided
