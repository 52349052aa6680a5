// The machinery behind bind.h: signatures, conversions, the callable object.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ops/call.h"
#include "python/py_tensor.h"

namespace strided {
class Generator;
}

namespace strided::python {

// An argument that is accepted for compatibility and not used (layout, memory_format, pin_memory).
struct Ignored {};

// What the text of a signature must say of a C++ parameter: one of these types, separated by blanks, and a "?" after it
// if None is accepted. No types: the C++ function converts the object itself, and the text alone says to what.
struct Notation {
  const char* types;
  bool optional;
};
// The same of a result; `parts` of them in a tuple of that length.
struct ResultNotation {
  const char* type;
  int parts;
};

struct Param {
  std::string name, type;
  PyObject* name_object = nullptr;    // interned
  PyObject* default_value = nullptr;  // null: required
  bool keyword_only = false, variadic = false, optional = false, takes_tensors = false;
  bool any_tensor = false;  // of the type Tensor
};

struct Overload {
  std::string name, signature, doc;
  std::string result;  // its type, as in `-> Tensor`; where the text has none, what the C++ function returns
  std::vector<Param> params;
  std::vector<std::string> fields;  // names of the result's parts
  int positional = 0;
  int variadic = -1;
  bool writes_out = false;                                     // the last parameter is out=, served after the call
  bool resizes_out = false, positions = false, joins = false;  // what out= is like (Where in bind/bind.h)
  int pins = -1;                                               // the parameter pin_memory=, served after the call too
  bool gathers = false;  // the variadic parameter is `const Dims&` (Note [Integers one by one])
  PyObject *return_type = nullptr, *out_type = nullptr;  // of several results; of those that out= holds
  // What the C++ side gives: conversions are chosen by its parameter types.
  int arity = 0;
  bool (*accepts)(const Overload&, int k, PyObject* arg) = nullptr;
  PyObject* (*invoke)(const Overload&, PyObject* const* args) = nullptr;
  Notation (*notation)(const Overload&, int k) = nullptr;
  ResultNotation given{};         // what the C++ function returns
  const void* context = nullptr;  // the OpDef of an elementwise op
};

namespace detail {

// Note [Integers one by one]
// Sizes given one by one, x.view(2, 3), are read into one list when they are matched with a parameter, which spares a
// tuple and a second look at them. The parameter's slot then holds the address of the list with the lowest bit set.
inline PyObject* as_slot(const Dims* list) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<uintptr_t>(list) | 1);
}
inline const Dims* list_in(PyObject* slot) {  // null: an object
  const auto address = reinterpret_cast<uintptr_t>(slot);
  return address & 1 ? reinterpret_cast<const Dims*>(address - 1) : nullptr;
}

// What a list of integers holds: integers, mostly of Python, and integer tensors of one element in any shape.
bool is_other_size(PyObject* o);
inline bool is_size_like(PyObject* o) { return PyLong_CheckExact(o) || is_other_size(o); }
bool accepts_dims(PyObject* o);
Dims to_dims(PyObject* o);
bool accepts_tensors(PyObject* o);
std::vector<Tensor> to_tensors(PyObject* o);
bool accepts_optional_tensors(PyObject* o);
std::vector<std::optional<Tensor>> to_optional_tensors(PyObject* o);
bool is_number_tensor(PyObject* o);  // of one element; none that wants a gradient, which it would not get
bool accepts_double(PyObject* o);
double to_double(PyObject* o);
bool accepts_bool(PyObject* o);
bool accepts_generator(PyObject* o);
bool accepts_ignored(PyObject* o);  // a layout, a memory_format, a bool, None
void check_ignored(PyObject* o);    // NotImplementedError for a layout of sparse tensors
Generator* to_generator(PyObject* o);
std::string to_string(PyObject* o);

// One conversion for each C++ parameter type.
template <class T>
struct From;
template <>
struct From<Tensor> {
  static constexpr Notation notation{"Tensor", false};
  static bool accepts(PyObject* o) { return is_tensor(o); }
  static const Tensor& get(PyObject* o) { return unwrap(o); }
};
template <>
struct From<std::vector<Tensor>> {
  static constexpr Notation notation{"Tensor[]", false};
  static bool accepts(PyObject* o) { return accepts_tensors(o); }
  static std::vector<Tensor> get(PyObject* o) { return to_tensors(o); }
};
template <>
struct From<std::vector<std::optional<Tensor>>> {
  static constexpr Notation notation{"Tensor?[]", false};
  static bool accepts(PyObject* o) { return accepts_optional_tensors(o); }
  static std::vector<std::optional<Tensor>> get(PyObject* o) { return to_optional_tensors(o); }
};
template <>
struct From<Operand> {
  static constexpr Notation notation{"TensorOrNumber Number", false};  // a text may leave tensors to another overload
  static bool accepts(PyObject* o) { return is_tensor(o) || is_number(o); }
  static Operand get(PyObject* o) {
    if (is_tensor(o)) return Operand(unwrap(o));
    return Operand(to_scalar(o));
  }
};
template <>
struct From<Scalar> {
  static constexpr Notation notation{"Number", false};
  static bool accepts(PyObject* o) { return is_number(o) || is_number_tensor(o); }
  static Scalar get(PyObject* o) { return is_tensor(o) ? item(unwrap(o)) : to_scalar(o); }
};
template <>
struct From<int64_t> {
  static constexpr Notation notation{"int", false};
  static bool accepts(PyObject* o) { return is_integer_like(o); }
  static int64_t get(PyObject* o) { return to_int(o); }
};
template <>
struct From<double> {
  static constexpr Notation notation{"float", false};
  static bool accepts(PyObject* o) { return accepts_double(o); }
  static double get(PyObject* o) { return to_double(o); }
};
template <>
struct From<bool> {
  static constexpr Notation notation{"bool", false};
  static bool accepts(PyObject* o) { return accepts_bool(o); }
  static bool get(PyObject* o) { return PyObject_IsTrue(o) == 1; }
};
template <>
struct From<Dims> {
  static constexpr Notation notation{"int[]", false};
  static bool accepts(PyObject* o) { return accepts_dims(o); }
  static Dims get(PyObject* o) {
    if (const Dims* list = list_in(o)) return *list;
    return to_dims(o);
  }
};
template <>
struct From<DType> {
  static constexpr Notation notation{"dtype", false};
  static bool accepts(PyObject* o) { return is_dtype(o); }
  static DType get(PyObject* o) { return to_dtype(o); }
};
template <>
struct From<Device> {
  static constexpr Notation notation{"device", false};
  static bool accepts(PyObject* o) { return is_device(o); }
  static Device get(PyObject* o) { return to_device(o); }
};
template <>
struct From<std::string> {
  static constexpr Notation notation{"str", false};
  static bool accepts(PyObject* o) { return PyUnicode_Check(o); }
  static std::string get(PyObject* o) { return to_string(o); }
};
template <>
struct From<Generator*> {
  static constexpr Notation notation{"Generator", true};
  static bool accepts(PyObject* o) { return o == Py_None || accepts_generator(o); }
  static Generator* get(PyObject* o) { return o == Py_None ? nullptr : to_generator(o); }
};
template <>
struct From<Ignored> {
  static constexpr Notation notation{"layout memory_format bool", true};
  static bool accepts(PyObject* o) { return o == Py_None || accepts_ignored(o); }
  static Ignored get(PyObject* o) {
    if (o != Py_None) check_ignored(o);
    return {};
  }
};
template <>
struct From<PyObject*> {
  static constexpr Notation notation{"", false};
  static bool accepts(PyObject*) { return true; }
  static PyObject* get(PyObject* o) { return o; }
};
template <class T>
struct From<std::optional<T>> {
  static constexpr Notation notation{From<T>::notation.types, true};
  static bool accepts(PyObject* o) { return o == Py_None || From<T>::accepts(o); }
  static std::optional<T> get(PyObject* o) {
    if (o == Py_None) return std::nullopt;
    return From<T>::get(o);
  }
};

inline PyObject* to_python(const Overload&, const Tensor& t) { return wrap(t); }
inline PyObject* to_python(const Overload&, Tensor&& t) { return wrap(std::move(t)); }
inline PyObject* to_python(const Overload&, bool v) { return PyBool_FromLong(v); }
inline PyObject* to_python(const Overload&, int64_t v) { return PyLong_FromLongLong(v); }
inline PyObject* to_python(const Overload&, double v) { return PyFloat_FromDouble(v); }
inline PyObject* to_python(const Overload&, const std::string& v) {
  return PyUnicode_FromStringAndSize(v.data(), static_cast<Py_ssize_t>(v.size()));
}
inline PyObject* to_python(const Overload&, const Dims& v) { return wrap_size(v); }
inline PyObject* to_python(const Overload&, const Scalar& v) { return wrap(v); }
inline PyObject* to_python(const Overload&, DType v) { return wrap(v); }
inline PyObject* to_python(const Overload&, PyObject* v) { return v; }
// `in_out`: the results stand in the tensors that out= named.
PyObject* tensors_to_tuple(const Overload& overload, const Tensor* first, size_t n, bool in_out = false);
inline PyObject* to_python(const Overload& o, const std::vector<Tensor>& v) {
  return tensors_to_tuple(o, v.data(), v.size());
}
template <class... T>
PyObject* to_python(const Overload& o, const std::tuple<T...>& v) {
  return std::apply(
      [&](const auto&... part) {
        const Tensor list[] = {part...};
        return tensors_to_tuple(o, list, sizeof...(part));
      },
      v);
}

template <class R>
struct ResultOf;
template <>
struct ResultOf<void> {
  static constexpr ResultNotation notation{"None", 0};
};
template <>
struct ResultOf<Tensor> {
  static constexpr ResultNotation notation{"Tensor", 0};
};
template <>
struct ResultOf<bool> {
  static constexpr ResultNotation notation{"bool", 0};
};
template <>
struct ResultOf<int64_t> {
  static constexpr ResultNotation notation{"int", 0};
};
template <>
struct ResultOf<double> {
  static constexpr ResultNotation notation{"float", 0};
};
template <>
struct ResultOf<std::string> {
  static constexpr ResultNotation notation{"str", 0};
};
template <>
struct ResultOf<Dims> {
  static constexpr ResultNotation notation{"Size", 0};
};
template <>
struct ResultOf<Scalar> {
  static constexpr ResultNotation notation{"Number", 0};
};
template <>
struct ResultOf<DType> {
  static constexpr ResultNotation notation{"dtype", 0};
};
template <>
struct ResultOf<std::vector<Tensor>> {
  static constexpr ResultNotation notation{"Tensor[]", 0};
};
template <class... T>
struct ResultOf<std::tuple<T...>> {
  static constexpr ResultNotation notation{"Tensor", sizeof...(T)};
};
template <>
struct ResultOf<PyObject*> {
  static constexpr ResultNotation notation{"", 0};  // the text says it
};

// Calls an overload that serves out= after the call, and gives back the object in its last slot, which is not None.
// Note [out= is a destination] in ops/out.h.
PyObject* run_with_out(const Overload& o, PyObject** slots);

constexpr int kAllButOut = -1;  // the arity of a callable with a context, whose out= is served after the call

struct Callable {
  int arity;
  bool (*accepts)(const Overload&, int k, PyObject* arg);
  PyObject* (*invoke)(const Overload&, PyObject* const* args);
  Notation (*notation)(const Overload&, int k);
  ResultNotation result;
};

template <auto F, class R, class... Args, size_t... I>
Callable describe_with(R (*)(Args...), std::index_sequence<I...>) {
  Callable c;
  c.arity = sizeof...(Args);
  c.accepts = []([[maybe_unused]] const Overload& o, [[maybe_unused]] int k, [[maybe_unused]] PyObject* arg) {
    bool ok = true;
    ((k == static_cast<int>(I) ? static_cast<void>(ok = From<std::decay_t<Args>>::accepts(arg)) : void()), ...);
    return ok;
  };
  c.notation = [](const Overload&, [[maybe_unused]] int k) -> Notation {
    if constexpr (sizeof...(Args) == 0) return {};
    else {
      static constexpr Notation all[] = {From<std::decay_t<Args>>::notation...};
      return all[k];
    }
  };
  c.result = ResultOf<std::decay_t<R>>::notation;
  c.invoke = [](const Overload& o, [[maybe_unused]] PyObject* const* args) -> PyObject* {
    if constexpr (std::is_void_v<R>) {
      F(From<std::decay_t<Args>>::get(args[I])...);
      Py_RETURN_NONE;
    } else {
      return to_python(o, F(From<std::decay_t<Args>>::get(args[I])...));
    }
  };
  return c;
}
template <class R, class... Args>
std::index_sequence_for<Args...> indices_of(R (*)(Args...)) {
  return {};
}
template <auto F>
Callable describe() {
  return describe_with<F>(F, decltype(indices_of(F)){});
}

}  // namespace detail

void register_overload(const char* signature, const char* doc, unsigned where, const detail::Callable& callable,
                       const void* context = nullptr);

// Where the types and defaults in the texts of signatures differ from what C++ takes and returns; for tests.
std::vector<std::string> signature_mismatches();
// The same if the first overload of a function had this text.
std::vector<std::string> signature_mismatches(const char* name, const char* text);
void init_functions(PyObject* module);
// Calls a registered function from C++ (slots of the Tensor type).
PyObject* call_function(const char* name, PyObject* const* args, size_t n);
// Calls a Function, if these arguments fit one of its overloads. False when they do not, or when it is no Function.
bool call_if_fits(PyObject* function, PyObject* const* args, size_t n, PyObject** result);

}  // namespace strided::python
