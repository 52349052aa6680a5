// Whether a function that is declared in plain types is the one of NVIDIA's header: all of it is checked by the
// compiler.
#pragma once

#include <type_traits>

namespace {

// Behind a void* of ours may be anything that is no integer: those are counted and written down with their size.
template <class Theirs, class Ours>
constexpr bool agrees() {
  if constexpr (std::is_same_v<Theirs, Ours>) {
    return true;
  } else if constexpr (std::is_pointer_v<Theirs> && std::is_pointer_v<Ours>) {
    using T = std::remove_pointer_t<Theirs>;
    using O = std::remove_pointer_t<Ours>;
    if constexpr (std::is_void_v<O>)
      return std::is_const_v<T> == std::is_const_v<O> && !std::is_integral_v<T> && !std::is_pointer_v<T>;
    else return std::is_pointer_v<O> && std::is_pointer_v<T> && agrees<T, O>();
  } else {
    return std::is_enum_v<Theirs> && std::is_same_v<Ours, int>;
  }
}
template <class Theirs, class Ours>
struct Functions : std::false_type {};
template <class R, class... Theirs, class... Ours>
struct Functions<R(Theirs...), int(Ours...)> {
  static constexpr bool same_number = sizeof...(Theirs) == sizeof...(Ours);
  static constexpr bool value = [] {
    if constexpr (same_number) return agrees<R, int>() && (agrees<Theirs, Ours>() && ...);
    else return false;
  }();
};

}  // namespace
