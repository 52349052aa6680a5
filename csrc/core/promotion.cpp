#include "core/promotion.h"

#include <atomic>

namespace strided {
namespace {

std::atomic<DType> default_float{DType::Float32};

int kind(DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integer(t) ? 1 : 0; }

DType signed_of_size(int64_t bytes) {
  return bytes == 1 ? DType::Int8 : bytes == 2 ? DType::Int16 : bytes == 4 ? DType::Int32 : DType::Int64;
}

}  // namespace

DType default_dtype() { return default_float.load(std::memory_order_relaxed); }
void set_default_dtype(DType t) { default_float.store(t); }

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  // The 8-bit floats have no edges: what they are scaled by is known to the program alone.
  STRIDED_CHECK(has_loops(a) && has_loops(b), RuntimeError,
                "Promotion for Float8 Types is not supported, attempted to promote ", a, " and ", b);
  if (kind(a) < kind(b)) std::swap(a, b);
  if (kind(b) == 0) return a;  // bool gives way
  if (is_complex(a))
    return is_complex(b) || is_floating(b)
               ? (real_of(a) == DType::Float64 || real_of(b) == DType::Float64 ? DType::Complex128 : a)
               : a;
  if (is_floating(a)) {
    if (!is_floating(b)) return a;
    if (size_of(a) == size_of(b)) return DType::Float32;  // float16 with bfloat16
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_signed(a) == is_signed(b)) return size_of(a) > size_of(b) ? a : b;
  const DType u = is_signed(a) ? b : a, s = is_signed(a) ? a : b;
  if (size_of(s) > size_of(u)) return s;
  // uint64 with a signed integer has no integer that holds both; NumPy's answer is taken.
  return size_of(u) == 8 ? DType::Float64 : signed_of_size(2 * size_of(u));
}

bool can_cast(DType from, DType to) {
  return kind(from) <= kind(to);  // integers of any sign and width pass, as in PyTorch
}

void ResultType::add_tensor(DType t, bool zero_dim) { (zero_dim ? zero_ : dim_).add(t); }

void ResultType::add_scalar(const Scalar& s) {
  number_.add(s.dtype(default_dtype()));
  floats_ = floats_ || !s.is_integral();
}

DType ResultType::get() const {
  auto combine = [](const Slot& higher, const Slot& lower) {
    if (!higher.used) return lower;
    if (!lower.used || kind(lower.dtype) <= kind(higher.dtype)) return higher;
    Slot out = higher;
    // A complex number, however precise, says nothing of the precision of floats with a higher priority.
    const bool has_complex = is_floating(higher.dtype) && has_loops(higher.dtype);
    out.dtype = has_complex ? complex_of(higher.dtype) : promote_types(higher.dtype, lower.dtype);
    return out;
  };
  Slot number = number_;
  // -1 and 2**63 together have no integer dtype, but beside a tensor they are integers nevertheless.
  if (!floats_ && kind(number.dtype) > 1 && (dim_.used || zero_.used)) number.dtype = DType::Int64;
  return combine(dim_, combine(zero_, number)).dtype;
}

}  // namespace strided
