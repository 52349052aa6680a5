#include "ops/index/few_elements.h"

#include <cstring>

#include "backend/backend.h"

namespace strided {
namespace {

constexpr int64_t kMost = 256;

bool are_few(const Tensor& self, const Tensor& index) {
  return self.ndim() == 1 && index.ndim() == 1 && index.dtype() == DType::Int64 && index.numel() <= kMost &&
         index.device() == self.device() && backend(self.device()).short_loops;
}

struct Bytes16 {
  char bytes[16];
};

// Calls f(T()), where T has as many bytes as an element; false: there is none.
template <class F>
bool with_bytes(int64_t itemsize, F f) {
  switch (itemsize) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    case 16: return f(Bytes16());
    default: return false;
  }
}

// The places that an index names, in bytes from the first element. False if one is out of range.
bool find_places(const Tensor& self, const Tensor& index, int64_t* places) {
  const int64_t n = index.numel(), size = self.size(0), stride = self.strides()[0] * self.itemsize();
  const int64_t step = index.strides()[0];
  const auto* at = index.data_as<int64_t>();
  bool inside = true;
  for (int64_t k = 0; k < n; ++k) {
    int64_t i = at[k * step];
    i += i < 0 ? size : 0;
    inside = inside && i >= 0 && i < size;
    places[k] = inside ? i * stride : 0;
  }
  return inside;
}

bool write_few(const Tensor& self, const Tensor& index, const char* from, int64_t stride) {
  int64_t places[kMost];
  if (&index.storage() == &self.storage() || !find_places(self, index, places)) return false;
  char* const to = self.data();
  const int64_t n = index.numel();
  return with_bytes(self.itemsize(), [&](auto type) {  // (elements of a view in another dtype need not be aligned)
    for (int64_t k = 0; k < n; ++k) std::memcpy(to + places[k], from + k * stride, sizeof type);
    return true;
  });
}

}  // namespace

bool gather_few(const Tensor& self, const Tensor& index, Tensor* out) {
  int64_t places[kMost];
  if (!are_few(self, index) || !find_places(self, index, places)) return false;
  const int64_t n = index.numel();
  const Tensor made = empty(index.shape(), self.dtype(), self.device());
  const char* const from = self.data();
  char* const to = made.data();
  *out = made;
  return with_bytes(self.itemsize(), [&](auto type) {
    constexpr int64_t size = sizeof type;
    for (int64_t k = 0; k < n; ++k) std::memcpy(to + k * size, from + places[k], size);
    return true;
  });
}

bool scatter_few(const Tensor& self, const Tensor& index, const Tensor& values) {
  if (!are_few(self, index) || values.dtype() != self.dtype() || values.device() != self.device()) return false;
  if (&values.storage() == &self.storage() || (values.ndim() != 0 && values.shape() != index.shape())) return false;
  return write_few(self, index, values.data(), values.ndim() == 0 ? 0 : values.strides()[0] * values.itemsize());
}

bool scatter_few(const Tensor& self, const Tensor& index, const Scalar& value) {
  return are_few(self, index) && write_few(self, index, Element(value, self.dtype()).bytes, 0);
}

}  // namespace strided
