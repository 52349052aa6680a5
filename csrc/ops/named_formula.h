// Note [Values with names]
// A formula of which users may see what it was given: node._saved_dim, by PyTorch's names. The values follow the
// gradient in the formula's call, and are kept once. Their names are one text, which is read when somebody asks.
//   return record(
//       "FlipBackward0", out, x,
//       NamedFormula{std::tuple{dims}, [](const Tensor& g, const Dims& dims) { return flip(g, dims); }, "dims"});
// Axes and indices are kept as the user gave them, so that they are shown as in PyTorch. When the graph is freed, the
// tensors among the values go, and the formula with what it captured; the other values stay.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/graph.h"

namespace strided {

// The shape of the first input ("self_sym_sizes"): the node knows it from the edge, so that nothing is kept.
struct InputShape {};

// The place of a name in a text of names with spaces between ("-": a value that is not shown); -1: it is not there.
int place_of_name(const char* names, const char* name);
std::vector<std::string> names_in(const char* names);

inline SavedValue saved_value(const Node& node, InputShape) {
  const Edge& edge = node.next[0];
  return edge.node ? SavedValue(edge.node->output(edge.input).shape) : SavedValue();
}
template <class T>
SavedValue saved_value(const Node& node, const std::optional<T>& v) {
  return v ? saved_value(node, *v) : SavedValue();
}
template <class T>
SavedValue saved_value(const Node&, const T& v) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return static_cast<int64_t>(v);
  else if constexpr (std::is_enum_v<T>) return static_cast<int64_t>(v);
  else if constexpr (std::is_same_v<T, double>) return Scalar(v);
  else if constexpr (std::is_same_v<T, const char*>) return std::string(v);
  else return v;
}

// Of what holds tensors there is a version of its own.
template <class T>
void release_value(T&) {}

// An aggregate, so that what it is made of is made in its place: moves of shapes cost as much as a small view.
template <class F, class... V>
struct NamedFormula {
  std::tuple<V...> values;
  std::optional<F> formula;
  const char* text;  // lives for ever

  template <class G>
  auto operator()(const G& grads) -> decltype(std::declval<F&>()(grads, std::declval<const V&>()...)) {
    return std::apply([&](const V&... v) { return (*formula)(grads, v...); }, values);
  }
  void release() {
    formula.reset();
    std::apply([](V&... v) { (release_value(v), ...); }, values);
  }
  const char* names() const { return text; }
  SavedValue value(int which, const Node& node) const {
    SavedValue out;
    int i = 0;
    std::apply([&](const V&... v) { ((i++ == which ? void(out = saved_value(node, v)) : void()), ...); }, values);
    return out;
  }
};
template <class F, class... V>
NamedFormula(std::tuple<V...>, F, const char*) -> NamedFormula<F, V...>;

// Formulas that show what they were given, this or a class of their own.
template <class F, class = void>
inline constexpr bool kIsNamed = false;
template <class F>
inline constexpr bool kIsNamed<F, std::void_t<decltype(std::declval<const F&>().names())>> = true;

}  // namespace strided
