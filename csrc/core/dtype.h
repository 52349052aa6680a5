// Element types. A dtype is one row of STRIDED_DTYPES, which gives it a number, and one DTypeTraits block, which says
// everything else about it. Nothing depends on the order of the rows. Promotion is in core/promotion.cpp.
#pragma once

#include <limits>

#include "base/complex.h"
#include "base/error.h"
#include "base/float8.h"
#include "base/half.h"
#include "base/type_list.h"

namespace strided {

//        enum        C++ type
#define STRIDED_DTYPES(X) \
  X(Bool, bool) \
  X(UInt8, uint8_t) \
  X(Int8, int8_t) \
  X(Int16, int16_t) \
  X(Int32, int32_t) \
  X(Int64, int64_t) \
  X(UInt16, uint16_t) \
  X(UInt32, uint32_t) \
  X(UInt64, uint64_t) \
  X(Float8_e4m3fn, ::strided::Float8_e4m3fn) \
  X(Float8_e5m2, ::strided::Float8_e5m2) \
  X(Float16, ::strided::Half) \
  X(BFloat16, ::strided::BFloat16) \
  X(Float32, float) \
  X(Float64, double) \
  X(Complex64, ::strided::Complex<float>) \
  X(Complex128, ::strided::Complex<double>)

enum class DType : uint8_t {
#define X(E, T) E,
  STRIDED_DTYPES(X)
#undef X
};

#define X(E, T) +1
constexpr int kNumDTypes = 0 STRIDED_DTYPES(X);
#undef X
static_assert(kNumDTypes <= 32, "DTypeSet has 32 bits");

// Kinds of dtypes, and sets of them.
namespace kinds {
constexpr unsigned Bool = 1, Int = 2, Float = 4, Complex = 8;
constexpr unsigned real = Bool | Int | Float, numeric = Int | Float | Complex, all = Bool | numeric;
constexpr unsigned floating = Float | Complex;
}  // namespace kinds

// Type codes of DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).
namespace dlpack {
constexpr uint8_t Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6, Float8_e4m3fn = 10, Float8_e5m2 = 12;
}  // namespace dlpack

inline namespace STRIDED_ISA {

template <class T>
struct DTypeTraits;

// What holds unless a block says otherwise.
template <class T>
struct CommonDType {
  using ComputeType = T;               // arithmetic is done in it
  using LoopType = T;                  // the dtype whose loops serve; operands of another dtype are cast on the way
  using RealType = T;                  // of the parts, for a complex dtype
  using ComplexType = Complex<float>;  // the dtype with such parts
  static constexpr const char* alias = "";   // the dtype's other name: strided.half
  static constexpr const char* method = "";  // the tensor's method that converts to it: x.half()
  // The C++ type as it is written in PyTorch's source, where that differs from what the compiler calls it.
  static constexpr const char* written = "";
  static constexpr bool is_signed = true;
  static constexpr double smallest_normal = 0;  // of floats: the least positive number of full precision
  static constexpr uint64_t infinity = 0;       // of floats: the bits of the greatest number, above which there are NaN
};

template <class T>
struct IntegerDType : CommonDType<T> {
  static constexpr unsigned kind = kinds::Int;
  static constexpr bool is_signed = std::is_signed_v<T>;
  static constexpr int digits = std::numeric_limits<T>::digits;  // of the significand, the hidden one counted
  static constexpr double greatest = static_cast<double>(std::numeric_limits<T>::max());
  static constexpr uint8_t dlpack_code = is_signed ? dlpack::Int : dlpack::UInt;
};

template <class T>
struct FloatDType : CommonDType<T> {
  static constexpr unsigned kind = kinds::Float;
  static constexpr uint8_t dlpack_code = dlpack::Float;
};
template <class T>
struct StandardFloatDType : FloatDType<T> {
  static constexpr int digits = std::numeric_limits<T>::digits;
  static constexpr double greatest = static_cast<double>(std::numeric_limits<T>::max());
  static constexpr double smallest_normal = static_cast<double>(std::numeric_limits<T>::min());
};

template <class R>
struct ComplexDType : CommonDType<Complex<R>> {
  using RealType = R;
  using ComplexType = Complex<R>;
  static constexpr unsigned kind = kinds::Complex;
  static constexpr int digits = std::numeric_limits<R>::digits;
  static constexpr double greatest = static_cast<double>(std::numeric_limits<R>::max());
  static constexpr uint8_t dlpack_code = dlpack::Complex;
};

// name: NumPy's too, or that of ml_dtypes where there is no buffer_format. cpp_name: PyTorch's ScalarType. type_name:
// the C++ type as the compiler writes it in PyTorch's errors. buffer_format: of Python's struct module and PEP 3118.
template <>
struct DTypeTraits<bool> : CommonDType<bool> {
  static constexpr const char *name = "bool", *cpp_name = "Bool", *alias = "bool", *method = "bool";
  static constexpr const char *type_name = "bool", *buffer_format = "?";
  static constexpr unsigned kind = kinds::Bool;
  static constexpr bool is_signed = false;
  static constexpr int digits = 1;
  static constexpr double greatest = 1;
  static constexpr uint8_t dlpack_code = dlpack::Bool;
};
template <>
struct DTypeTraits<uint8_t> : IntegerDType<uint8_t> {
  static constexpr const char *name = "uint8", *cpp_name = "Byte", *method = "byte";
  static constexpr const char *type_name = "unsigned char", *written = "uint8_t", *buffer_format = "B";
};
template <>
struct DTypeTraits<int8_t> : IntegerDType<int8_t> {
  static constexpr const char *name = "int8", *cpp_name = "Char", *method = "char";
  static constexpr const char *type_name = "signed char", *written = "int8_t", *buffer_format = "b";
};
template <>
struct DTypeTraits<int16_t> : IntegerDType<int16_t> {
  static constexpr const char *name = "int16", *cpp_name = "Short", *alias = "short", *method = "short";
  static constexpr const char *type_name = "short int", *written = "int16_t", *buffer_format = "h";
};
template <>
struct DTypeTraits<int32_t> : IntegerDType<int32_t> {
  static constexpr const char *name = "int32", *cpp_name = "Int", *alias = "int", *method = "int";
  static constexpr const char *type_name = "int", *buffer_format = "i";
};
template <>
struct DTypeTraits<int64_t> : IntegerDType<int64_t> {
  static constexpr const char *name = "int64", *cpp_name = "Long", *alias = "long", *method = "long";
  static constexpr const char *type_name = "long int", *written = "int64_t", *buffer_format = "l";
};
template <>
struct DTypeTraits<uint16_t> : IntegerDType<uint16_t> {
  static constexpr const char *name = "uint16", *cpp_name = "UInt16";
  static constexpr const char *type_name = "short unsigned int", *written = "uint16_t", *buffer_format = "H";
};
template <>
struct DTypeTraits<uint32_t> : IntegerDType<uint32_t> {
  static constexpr const char *name = "uint32", *cpp_name = "UInt32";
  static constexpr const char *type_name = "unsigned int", *written = "uint32_t", *buffer_format = "I";
};
template <>
struct DTypeTraits<uint64_t> : IntegerDType<uint64_t> {
  static constexpr const char *name = "uint64", *cpp_name = "UInt64";
  static constexpr const char *type_name = "long unsigned int", *written = "uint64_t", *buffer_format = "L";
};
template <>
struct DTypeTraits<Float8_e4m3fn> : FloatDType<Float8_e4m3fn> {
  using ComputeType = float;
  using LoopType = float;
  static constexpr const char *name = "float8_e4m3fn", *cpp_name = "Float8_e4m3fn";
  static constexpr const char *type_name = "c10::Float8_e4m3fn", *buffer_format = nullptr;
  static constexpr int digits = 4;
  static constexpr double greatest = 448, smallest_normal = 0x1p-6;
  static constexpr uint64_t infinity = 0x7e;
  static constexpr uint8_t dlpack_code = dlpack::Float8_e4m3fn;
};
template <>
struct DTypeTraits<Float8_e5m2> : FloatDType<Float8_e5m2> {
  using ComputeType = float;
  using LoopType = float;
  static constexpr const char *name = "float8_e5m2", *cpp_name = "Float8_e5m2";
  static constexpr const char *type_name = "c10::Float8_e5m2", *buffer_format = nullptr;
  static constexpr int digits = 3;
  static constexpr double greatest = 57344, smallest_normal = 0x1p-14;
  static constexpr uint64_t infinity = 0x7c;
  static constexpr uint8_t dlpack_code = dlpack::Float8_e5m2;
};
template <>
struct DTypeTraits<Half> : FloatDType<Half> {
  using ComputeType = float;
  static constexpr const char *name = "float16", *cpp_name = "Half", *alias = "half", *method = "half";
  static constexpr const char *type_name = "c10::Half", *buffer_format = "e";
  static constexpr int digits = 11;
  static constexpr double greatest = 65504, smallest_normal = 0x1p-14;
  static constexpr uint64_t infinity = 0x7c00;
};
template <>
struct DTypeTraits<BFloat16> : FloatDType<BFloat16> {
  using ComputeType = float;
  static constexpr const char *name = "bfloat16", *cpp_name = "BFloat16", *method = "bfloat16";
  static constexpr const char *type_name = "c10::BFloat16", *buffer_format = nullptr;
  static constexpr int digits = 8;
  static constexpr double greatest = 0x1.fep127, smallest_normal = 0x1p-126;
  static constexpr uint64_t infinity = 0x7f80;
  static constexpr uint8_t dlpack_code = dlpack::BFloat;
};
template <>
struct DTypeTraits<float> : StandardFloatDType<float> {
  static constexpr const char *name = "float32", *cpp_name = "Float", *alias = "float", *method = "float";
  static constexpr const char *type_name = "float", *buffer_format = "f";
  static constexpr uint64_t infinity = 0x7f800000;
};
template <>
struct DTypeTraits<double> : StandardFloatDType<double> {
  using ComplexType = Complex<double>;
  static constexpr const char *name = "float64", *cpp_name = "Double", *alias = "double", *method = "double";
  static constexpr const char *type_name = "double", *buffer_format = "d";
  static constexpr uint64_t infinity = 0x7ff0000000000000;
};
template <>
struct DTypeTraits<Complex<float>> : ComplexDType<float> {
  static constexpr const char *name = "complex64", *cpp_name = "ComplexFloat", *alias = "cfloat", *method = "cfloat";
  static constexpr const char *type_name = "c10::complex<float>", *buffer_format = "Zf";
};
template <>
struct DTypeTraits<Complex<double>> : ComplexDType<double> {
  static constexpr const char *name = "complex128", *cpp_name = "ComplexDouble", *alias = "cdouble",
                              *method = "cdouble";
  static constexpr const char *type_name = "c10::complex<double>", *buffer_format = "Zd";
};

// C++ type -> DType, and DType -> C++ type.
template <class T>
struct DTypeOf;
template <DType D>
struct TypeOf;
#define X(E, T) \
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

template <class T>
using compute_t = typename DTypeTraits<T>::ComputeType;

}  // namespace STRIDED_ISA

// What most code asks of a dtype at run time: a small table, which stands in every object that reads it.
struct DTypeBasics {
  const char *name, *cpp_name;
  uint8_t size, kind;
  DType compute, loops, real, complex;
};
// A whole block at run time.
struct DTypeInfo : DTypeBasics {
  const char *alias, *method, *type_name, *written, *buffer_format;
  double greatest, smallest_normal;
  uint64_t infinity;
  int digits;
  bool is_signed;
  uint8_t dlpack_code;
};

template <class T>
constexpr DTypeBasics make_dtype_basics() {
  using D = DTypeTraits<T>;
  return {D::name,
          D::cpp_name,
          sizeof(T),
          D::kind,
          dtype_of<typename D::ComputeType>,
          dtype_of<typename D::LoopType>,
          dtype_of<typename D::RealType>,
          dtype_of<typename D::ComplexType>};
}
template <class T>
constexpr DTypeInfo make_dtype_info() {
  using D = DTypeTraits<T>;
  return {make_dtype_basics<T>(),
          D::alias,
          D::method,
          D::type_name,
          D::written[0] ? D::written : D::type_name,
          D::buffer_format,
          D::greatest,
          D::smallest_normal,
          D::infinity,
          D::digits,
          D::is_signed,
          D::dlpack_code};
}

constexpr DTypeBasics kDTypeBasics[kNumDTypes] = {
#define X(E, T) make_dtype_basics<T>(),
    STRIDED_DTYPES(X)
#undef X
};
constexpr DTypeInfo kDTypeInfo[kNumDTypes] = {
#define X(E, T) make_dtype_info<T>(),
    STRIDED_DTYPES(X)
#undef X
};

constexpr int index_of(DType t) { return static_cast<int>(t); }
constexpr const DTypeInfo& info_of(DType t) { return kDTypeInfo[index_of(t)]; }
constexpr const DTypeBasics& basics_of(DType t) { return kDTypeBasics[index_of(t)]; }
constexpr int64_t size_of(DType t) { return basics_of(t).size; }
// The row of a table whose rows are for items of 1, 2, 4, 8 and 16 bytes.
constexpr int item_row(int64_t size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4; }
constexpr const char* name_of(DType t) { return basics_of(t).name; }
constexpr const char* cpp_name_of(DType t) { return basics_of(t).cpp_name; }

// A set of dtypes is a number with a bit for each.
using DTypeSet = uint32_t;
constexpr bool contains(DTypeSet set, DType t) { return set >> index_of(t) & 1; }
template <class Where>
constexpr DTypeSet dtypes_where(Where where) {
  DTypeSet set = 0;
  for (int i = 0; i < kNumDTypes; ++i)
    if (where(kDTypeInfo[i])) set |= DTypeSet(1) << i;
  return set;
}
constexpr DTypeSet dtypes_of_kinds(unsigned kinds) {
  return dtypes_where([kinds](const DTypeInfo& t) { return (t.kind & kinds) != 0; });
}
constexpr DTypeSet kComplexDTypes = dtypes_of_kinds(kinds::Complex), kFloatDTypes = dtypes_of_kinds(kinds::Float);
constexpr DTypeSet kIntegerDTypes = dtypes_of_kinds(kinds::Int), kBoolDTypes = dtypes_of_kinds(kinds::Bool);
constexpr DTypeSet kSignedDTypes = dtypes_where([](const DTypeInfo& t) { return t.is_signed; });

constexpr unsigned kind_of(DType t) { return basics_of(t).kind; }
constexpr bool is_complex(DType t) { return contains(kComplexDTypes, t); }
constexpr bool is_floating(DType t) { return contains(kFloatDTypes, t); }
constexpr bool is_bool(DType t) { return contains(kBoolDTypes, t); }
constexpr bool is_integer(DType t) { return contains(kIntegerDTypes, t); }  // without bool
constexpr bool is_integral(DType t) { return contains(kIntegerDTypes | kBoolDTypes, t); }
constexpr bool is_signed(DType t) { return contains(kSignedDTypes, t); }
constexpr DType real_of(DType t) { return basics_of(t).real; }
constexpr DType complex_of(DType t) { return basics_of(t).complex; }
constexpr DType compute_dtype_of(DType t) { return basics_of(t).compute; }
// The dtype whose loops serve t: another one for a dtype that is only stored.
constexpr DType loop_dtype_of(DType t) { return basics_of(t).loops; }
constexpr bool has_loops(DType t) { return loop_dtype_of(t) == t; }

inline std::ostream& operator<<(std::ostream& out, DType t) { return out << cpp_name_of(t); }

inline namespace STRIDED_ISA {

template <size_t... I>
List<typename TypeOf<static_cast<DType>(I)>::type...> types_of_dtypes(std::index_sequence<I...>);
// The C++ types of all dtypes.
using DTypes = decltype(types_of_dtypes(std::make_index_sequence<kNumDTypes>{}));

// Those that have loops of their own, of some kinds: DTypesOf<kinds::Float>.
template <unsigned Kinds>
struct IsOfKinds {
  template <class T>
  struct type : std::bool_constant<std::is_same_v<typename DTypeTraits<T>::LoopType, T> &&
                                   (DTypeTraits<T>::kind & Kinds) != 0> {};
};
template <unsigned Kinds>
using DTypesOf = typename Filter<IsOfKinds<Kinds>::template type, DTypes>::type;
using LoopDTypes = DTypesOf<kinds::all>;

template <class T>
constexpr bool is_reduced = !std::is_same_v<compute_t<T>, T>;  // fewer digits than its arithmetic has
template <class T>
struct IsReduced : std::bool_constant<is_reduced<T>> {};
using ReducedFloats = typename Filter<IsReduced, DTypesOf<kinds::Float>>::type;
template <class T>
struct IsSigned : std::is_signed<T> {};
template <class T>
struct IsUnsigned : std::bool_constant<!std::is_signed_v<T>> {};
using SignedIntegers = typename Filter<IsSigned, DTypesOf<kinds::Int>>::type;
using BoolAndUnsigned = typename Filter<IsUnsigned, DTypesOf<kinds::Bool | kinds::Int>>::type;

// Calls f(Tag<T>{}) with the C++ type of a dtype:
//   dispatch(dtype, [&](auto tag) { using T = typename decltype(tag)::type; ... });
template <class F>
decltype(auto) dispatch(DType t, F&& f) {
  switch (t) {
#define X(E, T) \
  case DType::E: return f(Tag<T>{});
    STRIDED_DTYPES(X)
#undef X
  }
  __builtin_unreachable();
}

// The same for dtypes that have loops; NotImplementedError for another one.
template <class F>
decltype(auto) dispatch_loops(DType t, F&& f) {
  switch (t) {
#define X(E, T) \
  case DType::E: \
    if constexpr (std::is_same_v<typename DTypeTraits<T>::LoopType, T>) return f(Tag<T>{}); \
    else break;
    STRIDED_DTYPES(X)
#undef X
  }
  STRIDED_THROW(NotImplementedError, "not implemented for '", t, "'");
}

}  // namespace STRIDED_ISA
}  // namespace strided
