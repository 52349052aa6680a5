#include "ops/call_reduction.h"

#include <algorithm>
#include <cctype>

#include "backend/backend.h"
#include "ops/copy.h"
#include "ops/out.h"
#include "tensor/graph.h"

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
      def.node_name[0] = node_name(Op::info.name, '0');
      def.node_name[1] = node_name(Op::info.name, Op::info.numbered ? '1' : '0');
      for (const bool listed : {false, true}) {
        const bool inputs = saves_inputs(Op::info.saves);
        def.saved_names[listed] =
            concat(listed || !Op::info.numbered ? "dim keepdim" : "- -", inputs ? " self" : " -",
                   saves_output(Op::info.saves) ? " result" : " -", inputs ? " -" : " self_sym_sizes");
      }
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

}  // namespace strided
