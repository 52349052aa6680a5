// What an operation of a regular family says about itself, and the type list it stands in.
// Note [One declaration per op] in docs/architecture.md tells what is derived from it.
#pragma once

#include <type_traits>
#include <utility>

#include "base/math_basic.h"
#include "core/convert.h"

namespace strided {

enum class Promote : uint8_t {
  Same,      // compute in the promoted dtype of the operands
  Floating,  // as Same, but integers and bool become the default float
};

// What the backward formula reads. Anything else may be freed or overwritten. A struct whose gradients do not each read
// all operands says so in `static constexpr uint8_t reads[]` (csrc/ops/call.h).
enum class Saves : uint8_t { Nothing = 0, Inputs = 1, Output = 2, Both = 3 };
constexpr bool saves_inputs(Saves s) { return static_cast<int>(s) & 1; }
constexpr bool saves_output(Saves s) { return static_cast<int>(s) & 2; }

// `from` with another value in one field. (Clang evaluates the function only where its body stands before the call.)
template <class S, class T>
constexpr S changed(S from, T S::* field, T value) {
  from.*field = value;
  return from;
}

// What an op says about itself. Numbers among its operands wrap around where the dtype cannot hold them, as in PyTorch,
// unless the struct beside it has `static constexpr OutOfRange numbers` (csrc/core/convert.h).
struct Info {
  const char* name;  // PyTorch's name; the in-place form and out= follow from it
  Promote promote;
  unsigned kinds;  // of the compute dtypes it accepts (after Promote was applied)
  Saves saves;
  const char* doc;  // one or two sentences; accepted dtypes are added by the table

  // What most ops leave as it is. A declaration names what it changes: Info{...}.with_aliases("arcsin").
  const char* operands = nullptr;  // nullptr: "input", or "input, other"
  const char* params = "";
  const char* aliases = "";
  const char* node = nullptr;  // nullptr: follows from the name
  const char* overloads = "";
  const char* reflected = nullptr;
  const char* hidden = "";
  bool steady = false;
  bool inplace = true;
  bool method = true;

  // Names of the operands. "*, Number value=1" makes one a keyword.
  constexpr Info with_operands(const char* names) const { return changed(*this, &Info::operands, names); }
  // Further arguments, which fwd gets as `const double* p`: "*, int decimals=0". None becomes is_none().
  constexpr Info with_params(const char* list) const { return changed(*this, &Info::params, list); }
  // Other names, blank-separated.
  constexpr Info with_aliases(const char* names) const { return changed(*this, &Info::aliases, names); }
  // The node's name without "Backward0", where PyTorch's does not follow from the op's name ("log1p": "Log1P").
  constexpr Info with_node(const char* title) const { return changed(*this, &Info::node, title); }
  // PyTorch's overloads that differ in which operands are numbers: NameBackward0, NameBackward1, ... A word for each
  // says what its operands are: t a tensor, n a number, . either ("tn tt nt"). A p behind them: the first of
  // the params is not 0. The last that fits is the one.
  constexpr Info with_overloads(const char* list) const { return changed(*this, &Info::overloads, list); }
  // The node's whole name where the first operand is a number, which is another function in PyTorch: "RsubBackward1".
  constexpr Info with_reflected_node(const char* whole) const { return changed(*this, &Info::reflected, whole); }
  // What the formula reads or is given here and not in PyTorch: the node does not show it (`_saved_name`).
  constexpr Info hiding(const char* names) const { return changed(*this, &Info::hidden, names); }
  // The gradient is constant in pieces, and PyTorch's formula reads the operand (csrc/ops/steady.h).
  constexpr Info with_steady_gradient() const { return changed(*this, &Info::steady, true); }
  // There is no `name_`.
  constexpr Info without_inplace() const { return changed(*this, &Info::inplace, false); }
  // It is a function only. (A name with a dot is never a method.)
  constexpr Info without_method() const { return changed(*this, &Info::method, false); }
};

// What a backward formula may use: operands by position, the output, the params.
template <class V>
struct Saved {
  V in[4];
  V out;
  const double* params;
};

inline namespace STRIDED_ISA {

// The stored type of an op's result R when it computes with T's compute type: bool, a part of a complex number, or T.
template <class T, class R>
struct StoredType {
  using type = std::conditional_t<std::is_same_v<R, compute_t<T>>, T, R>;
};

// Does Op::fwd take N values of type T (and the params)?
template <class Op, class T, size_t... I>
constexpr auto takes(std::index_sequence<I...>, int)
    -> decltype(Op::fwd((static_cast<void>(I), std::declval<T>())...), true) {
  return Op::info.params[0] == 0;
}
template <class Op, class T, size_t... I>
constexpr auto takes(std::index_sequence<I...>, long)
    -> decltype(Op::fwd((static_cast<void>(I), std::declval<T>())..., std::declval<const double*>()), true) {
  return Op::info.params[0] != 0;
}
template <class Op, class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>, ...) {
  return false;
}
template <class Op>
struct ProbeType {
  using type = std::conditional_t<
      (Op::info.kinds & kinds::Float) != 0, float,
      std::conditional_t<(Op::info.kinds & kinds::Int) != 0, int64_t,
                         std::conditional_t<(Op::info.kinds & kinds::Bool) != 0, bool, Complex<float>>>>;
};
// Number of operands, read off fwd.
template <class Op, int N = 1>
constexpr int find_arity() {
  static_assert(N <= 4, "fwd takes one to four values of the compute type, and `const double*` if there are params");
  if constexpr (takes<Op, typename ProbeType<Op>::type>(std::make_index_sequence<N>{}, 0)) return N;
  else return find_arity<Op, N + 1>();
}
template <class Op>
constexpr int op_arity = find_arity<Op>();

template <class Op, class T>
constexpr bool op_supports = (Op::info.kinds & kind_of(dtype_of<T>)) != 0;

// What stands among the params for None ("float?" of a signature): a NaN that no computation makes, so that a NaN which
// was given is told from it.
STRIDED_HD double none_param() { return math::from_bits<double>(0x7ff84e6f6e65f00dull); }
STRIDED_HD bool is_none(double param) { return math::to_bits(param) == math::to_bits(none_param()); }

// What Op::fwd takes for dtype T: its compute type, or T itself where the struct says `on_storage` (a result that
// depends on the format, not only on the value).
template <class Op, class T, class = void>
struct OperandType {
  using type = compute_t<T>;
};
template <class Op, class T>
struct OperandType<Op, T, std::enable_if_t<Op::on_storage>> {
  using type = T;
};
template <class Op, class T>
using operand_t = typename OperandType<Op, T>::type;

// Whether a float is computed as a double and rounded once: the struct says `using Computes = double`, and loops of
// float are then those of double between two conversions.
template <class Op, class = void>
constexpr bool computes_in_double = false;
template <class Op>
constexpr bool computes_in_double<Op, std::void_t<typename Op::Computes>> =
    std::is_same_v<typename Op::Computes, double>;

template <class Op, class T, size_t... I>
auto result_of(std::index_sequence<I...>) {
  using C = operand_t<Op, T>;
  if constexpr (Op::info.params[0] != 0)
    return Op::fwd((static_cast<void>(I), C{})..., static_cast<const double*>(nullptr));
  else return Op::fwd((static_cast<void>(I), C{})...);
}
// What is stored for an op on dtype T.
template <class Op, class T>
using op_result_t = typename StoredType<T, decltype(result_of<Op, T>(std::make_index_sequence<op_arity<Op>>{}))>::type;

}  // namespace STRIDED_ISA
}  // namespace strided
