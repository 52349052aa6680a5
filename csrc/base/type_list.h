// Lists of types: iteration, position, selection.
#pragma once

#include <type_traits>
#include <utility>

#include "base/macros.h"

namespace strided {
inline namespace STRIDED_ISA {

template <class T>
struct Tag {
  using type = T;
};

template <class... T>
struct List {
  static constexpr int size = sizeof...(T);
};

template <class A, class B>
struct Concat;
template <class... A, class... B>
struct Concat<List<A...>, List<B...>> {
  using type = List<A..., B...>;
};

template <class T, class L>
struct IndexOf;
template <class T, class... Rest>
struct IndexOf<T, List<T, Rest...>> {
  static constexpr int value = 0;
};
template <class T, class First, class... Rest>
struct IndexOf<T, List<First, Rest...>> {
  static constexpr int value = 1 + IndexOf<T, List<Rest...>>::value;
};

template <class T, class L>
struct IsIn;
template <class T, class... Types>
struct IsIn<T, List<Types...>> : std::bool_constant<(std::is_same_v<T, Types> || ...)> {};

// The types of a list with Where<T>::value.
template <template <class> class Where, class L>
struct Filter;
template <template <class> class Where>
struct Filter<Where, List<>> {
  using type = List<>;
};
template <template <class> class Where, class First, class... Rest>
struct Filter<Where, List<First, Rest...>> {
  using rest = typename Filter<Where, List<Rest...>>::type;
  using type = typename Concat<std::conditional_t<Where<First>::value, List<First>, List<>>, rest>::type;
};

// for_each(List<A, B>{}, f) calls f(Tag<A>{}, 0), f(Tag<B>{}, 1).
template <class F, class... T>
void for_each(List<T...>, F&& f) {
  [[maybe_unused]] int i = 0;
  (f(Tag<T>{}, i++), ...);
}

}  // namespace STRIDED_ISA
}  // namespace strided
