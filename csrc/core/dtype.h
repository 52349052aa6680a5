// Element types. One row each; everything that lists dtypes is expanded from this table.
#pragma once

#include "base/complex.h"
#include "base/error.h"
#include "base/half.h"

namespace strided {

//        enum        C++ type          name          torch's C++ name
#define STRIDED_DTYPES(X) \
  X(Bool, bool, "bool", "Bool") \
  X(UInt8, uint8_t, "uint8", "Byte") \
  X(Int8, int8_t, "int8", "Char") \
  X(Int16, int16_t, "int16", "Short") \
  X(Int32, int32_t, "int32", "Int") \
  X(Int64, int64_t, "int64", "Long") \
  X(UInt16, uint16_t, "uint16", "UInt16") \
  X(UInt32, uint32_t, "uint32", "UInt32") \
  X(UInt64, uint64_t, "uint64", "UInt64") \
  X(Float16, ::strided::Half, "float16", "Half") \
  X(BFloat16, ::strided::BFloat16, "bfloat16", "BFloat16") \
  X(Float32, float, "float32", "Float") \
  X(Float64, double, "float64", "Double") \
  X(Complex64, ::strided::Complex<float>, "complex64", "ComplexFloat") \
  X(Complex128, ::strided::Complex<double>, "complex128", "ComplexDouble")

enum class DType : uint8_t {
#define X(E, T, name, cname) E,
  STRIDED_DTYPES(X)
#undef X
};

#define X(E, T, name, cname) +1
constexpr int kNumDTypes = 0 STRIDED_DTYPES(X);
#undef X

struct DTypeInfo {
  const char* name;      // "float32"
  const char* cpp_name;  // "Float", as PyTorch's error texts say it
  uint8_t size;          // bytes of one element
};

constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
#define X(E, T, name, cname) {name, cname, sizeof(T)},
    STRIDED_DTYPES(X)
#undef X
};

constexpr int index_of(DType t) { return static_cast<int>(t); }
constexpr int64_t size_of(DType t) { return kDTypeInfo[index_of(t)].size; }
constexpr const char* name_of(DType t) { return kDTypeInfo[index_of(t)].name; }
constexpr const char* cpp_name_of(DType t) { return kDTypeInfo[index_of(t)].cpp_name; }

constexpr bool is_complex(DType t) { return t >= DType::Complex64; }
constexpr bool is_floating(DType t) { return t >= DType::Float16 && t <= DType::Float64; }
constexpr bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
constexpr bool is_bool(DType t) { return t == DType::Bool; }
// Integers without bool.
constexpr bool is_integer(DType t) { return t >= DType::UInt8 && t <= DType::UInt64; }
constexpr bool is_integral(DType t) { return t <= DType::UInt64; }  // bool included
constexpr bool is_signed(DType t) { return (t >= DType::Int8 && t <= DType::Int64) || t >= DType::Float16; }
constexpr bool is_unsigned_integer(DType t) { return is_integer(t) && !is_signed(t); }
constexpr DType real_of(DType t) {
  return t == DType::Complex64 ? DType::Float32 : t == DType::Complex128 ? DType::Float64 : t;
}
constexpr DType complex_of(DType t) {
  return t == DType::Float64 || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

inline std::ostream& operator<<(std::ostream& out, DType t) { return out << cpp_name_of(t); }

inline namespace STRIDED_ISA {

// C++ type -> DType, and DType -> C++ type.
template <class T>
struct DTypeOf;
template <DType D>
struct TypeOf;
#define X(E, T, name, cname) \
  template <> \
  struct DTypeOf<T> { \
    static constexpr DType value = DType::E; \
  }; \
  template <> \
  struct TypeOf<DType::E> { \
    using type = T; \
  };
STRIDED_DTYPES(X)
#undef X
template <class T>
constexpr DType dtype_of = DTypeOf<T>::value;

// The type arithmetic is done in: float for the 16-bit floats, else the type itself.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Half> {
  using type = float;
};
template <>
struct ComputeType<BFloat16> {
  using type = float;
};
template <class T>
using compute_t = typename ComputeType<T>::type;

template <class T>
struct Tag {
  using type = T;
};

// Calls f(Tag<T>{}) with the C++ type of a dtype:
//   dispatch(dtype, [&](auto tag) { using T = typename decltype(tag)::type; ... });
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
#define X(E, T, name, cname) \
  case DType::E: return f(Tag<T>{});
    STRIDED_DTYPES(X)
#undef X
  }
  __builtin_unreachable();
}

}  // namespace STRIDED_ISA
}  // namespace strided
