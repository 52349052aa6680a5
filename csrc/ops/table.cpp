// The op table, folded from the list of structs.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "ops/operators.h"

namespace strided {
namespace {

template <class Op, class = void>
struct HasVjp : std::false_type {};
template <class Op>
struct HasVjp<Op, std::void_t<decltype(&Op::template vjp<0, Tensor>)>> : std::true_type {};

template <class Op, int I = 0>
Tensor call_vjp(int i, const Tensor& grad, const Saved<Tensor>& saved) {
  if constexpr (I >= op_arity<Op>) {
    return Tensor();
  } else {
    if (i == I) return Op::template vjp<I, Tensor>(grad, saved);
    return call_vjp<Op, I + 1>(i, grad, saved);
  }
}

// reads[i], where a struct has it: bit k is set when the gradient for operand i reads operand k. Otherwise all of them.
template <class Op, class = void>
struct HasReads : std::false_type {};
template <class Op>
struct HasReads<Op, std::void_t<decltype(Op::reads[0])>> : std::true_type {};

template <class Op, class = void>
struct NumbersOf {
  static constexpr OutOfRange value = OutOfRange::Wrap;
};
template <class Op>
struct NumbersOf<Op, std::void_t<decltype(Op::numbers)>> {
  static constexpr OutOfRange value = Op::numbers;
};

template <class Op, class T>
void describe_dtype(OpDef& def) {
  constexpr int t = index_of(dtype_of<T>);
  if constexpr (op_supports<Op, T>) {
    def.supported[t] = true;
    def.out_dtype[t] = dtype_of<op_result_t<Op, T>>;
  }
}

template <class Op, class = void>
struct IsOnStorage : std::false_type {};
template <class Op>
struct IsOnStorage<Op, std::void_t<decltype(Op::on_storage)>> : std::bool_constant<Op::on_storage> {};

// Dtypes without loops: those of another dtype serve, and the result is stored where that dtype's would be.
template <class Op>
void describe_others(OpDef& def) {
  for (int t = 0; t < kNumDTypes; ++t) {
    const DType loops = loop_dtype_of(static_cast<DType>(t));
    if (index_of(loops) == t) continue;
    def.supported[t] = def.supported[index_of(loops)] && !IsOnStorage<Op>::value;
    const DType out = def.out_dtype[index_of(loops)];
    def.out_dtype[t] = out == loops ? static_cast<DType>(t) : out;
  }
}

// PyTorch's name of a node, from that of the function: "special.xlog1py" has SpecialXlog1PyBackward0.
std::string title_of(std::string_view name) {
  constexpr std::string_view functional = "nn.functional.";
  if (name.substr(0, functional.size()) == functional) name.remove_prefix(functional.size());
  std::string title;
  bool upper = true;  // at the start, and after anything but a letter
  for (const char c : name) {
    if (c != '_' && c != '.') title += static_cast<char>(upper ? std::toupper(c) : c);
    upper = !std::isalpha(c);
  }
  return title;
}

// Whether each word of Info::overloads says what each operand is.
constexpr bool fits(const char* overloads, int arity) {
  while (*overloads) {
    for (int i = 0; i < arity; ++i, ++overloads)
      if (*overloads != 't' && *overloads != 'n' && *overloads != '.') return false;
    if (*overloads == 'p') ++overloads;
    if (*overloads == '\0') return true;
    if (*overloads++ != ' ') return false;
  }
  return true;
}

template <class Op>
void describe(OpDef& def, int id) {
  static_assert(fits(Op::info.overloads, op_arity<Op>), "with_overloads: a letter for each operand");
  def.info = &Op::info;
  def.id = id;
  def.arity = op_arity<Op>;
  for_each(LoopDTypes{}, [&](auto tag, int) { describe_dtype<Op, typename decltype(tag)::type>(def); });
  describe_others<Op>(def);
  if constexpr (HasVjp<Op>::value) def.vjp = call_vjp<Op>;
  for (int i = 0; i < def.arity; ++i) {
    def.reads[i] = 15;
    if constexpr (HasReads<Op>::value) def.reads[i] = Op::reads[i];
  }
  def.numbers = NumbersOf<Op>::value;
  const std::string title = def.info->node ? def.info->node : title_of(def.info->name);
  const std::string_view overloads = def.info->overloads;
  for (int k = 0; k <= std::count(overloads.begin(), overloads.end(), ' '); ++k)
    def.node_names.push_back(title + "Backward" + std::to_string(k));
  def.inplace_name = std::string(def.info->name) + "_";
}

struct Table {
  OpDef rows[kNumElementwise] = {};

  Table() {
    for_each(ElementwiseOps{}, [&](auto tag, int id) { describe<typename decltype(tag)::type>(rows[id], id); });
  }
};

const Table& table() {
  static const Table t;
  return t;
}

static_assert(kNumElementwise <= 192, "raise kMaxElementwise in backend/backend.h");

}  // namespace

const OpDef& op_def(int elementwise_id) {
  static const OpDef* rows = table().rows;
  return rows[elementwise_id];
}

}  // namespace strided
