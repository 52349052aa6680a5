#include "ops/copy.h"

#include <algorithm>
#include <cstring>

#include "backend/kernels.h"
#include "base/parallel.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/record.h"
#include "tensor/iter.h"

namespace strided {
namespace {

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int i = 0; i < a.ndim(); ++i)
    if (a.size(i) != 1 && a.strides()[i] != b.strides()[i]) return false;
  return true;
}

// Transposing copies.
// When the fastest axis of the source is another one than the target's, a row-wise loop touches a new cache line with
// every element. Copying square tiles that fit the L1 cache uses each line whole.
template <class U>
void transpose_tiles(char* to, int64_t to_column, const char* from, int64_t from_row, int64_t rows, int64_t columns) {
  // to[c * to_column + r] = from[r * from_row + c], strides in bytes, both contiguous along the other axis
  constexpr int64_t kTile = 64 / sizeof(U) * 2 > 16 ? 16 : 64 / sizeof(U) * 2;
  constexpr int64_t kPanel = 8 * kTile;
  parallel_for(0, (columns + kPanel - 1) / kPanel, std::max<int64_t>(1, 65536 / (rows * kPanel + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t c0 = begin * kPanel; c0 < std::min(end * kPanel, columns); c0 += kTile) {
                   const int64_t c1 = std::min(c0 + kTile, columns);
                   for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
                     const int64_t r1 = std::min(r0 + kTile, rows);
                     if (c1 - c0 == kTile && r1 - r0 == kTile) {
                       U tile[kTile][kTile];
                       for (int64_t r = 0; r < kTile; ++r)
                         std::memcpy(tile[r], from + (r0 + r) * from_row + c0 * sizeof(U), sizeof(tile[r]));
                       for (int64_t c = 0; c < kTile; ++c) {
                         U line[kTile];
                         for (int64_t r = 0; r < kTile; ++r) line[r] = tile[r][c];
                         std::memcpy(to + (c0 + c) * to_column + r0 * sizeof(U), line, sizeof(line));
                       }
                       continue;
                     }
                     for (int64_t c = c0; c < c1; ++c)
                       for (int64_t r = r0; r < r1; ++r)
                         std::memcpy(to + c * to_column + r * sizeof(U), from + r * from_row + c * sizeof(U),
                                     sizeof(U));
                   }
                 }
               });
}

struct Item16 {
  uint64_t a, b;
};

// dst and src are one matrix each (or many of them), transposed against each other.
bool copy_transposed(const Tensor& dst, const Tensor& src) {
  const int n = dst.ndim();
  if (n < 2 || n > 8 || dst.dtype() != src.dtype() || dst.numel() < 1024) return false;
  int d = -1, s = -1;
  for (int i = 0; i < n; ++i) {
    if (dst.size(i) == 1) continue;
    if (dst.strides()[i] == 1) d = i;
    if (src.strides()[i] == 1) s = i;
  }
  if (d < 0 || s < 0 || d == s || dst.size(d) < 8 || dst.size(s) < 8) return false;
  const int64_t size = dst.itemsize();
  const GilRelease unlocked(dst.numel() > 65536);  // once, not for each of many matrices
  int64_t index[8] = {};
  for (;;) {
    char* to = dst.data();
    const char* from = src.data();
    for (int i = 0; i < n; ++i) {
      to += index[i] * dst.strides()[i] * size;
      from += index[i] * src.strides()[i] * size;
    }
    const int64_t to_column = dst.strides()[s] * size, from_row = src.strides()[d] * size;
    switch (size) {
      case 1: transpose_tiles<uint8_t>(to, to_column, from, from_row, dst.size(d), dst.size(s)); break;
      case 2: transpose_tiles<uint16_t>(to, to_column, from, from_row, dst.size(d), dst.size(s)); break;
      case 4: transpose_tiles<uint32_t>(to, to_column, from, from_row, dst.size(d), dst.size(s)); break;
      case 8: transpose_tiles<uint64_t>(to, to_column, from, from_row, dst.size(d), dst.size(s)); break;
      default: transpose_tiles<Item16>(to, to_column, from, from_row, dst.size(d), dst.size(s));
    }
    int i = n - 1;
    for (; i >= 0; --i) {
      if (i == d || i == s) continue;
      if (++index[i] < dst.size(i)) break;
      index[i] = 0;
    }
    if (i < 0) return true;
  }
}

// Between devices the bytes of a block without gaps are moved; casts and gaps are left to the device they are on.
void copy_across(const Tensor& dst, const Tensor& src, bool non_blocking) {
  const Tensor from = [&] {
    NoGradGuard no_grad;
    Tensor t = to_dtype(src, dst.dtype());
    if (t.shape() != dst.shape()) t = make_view(t, expand(t.layout(), dst.shape()));
    if (dst.layout().is_dense() && t.strides() == dst.strides()) return t;
    return contiguous(t);
  }();
  const bool direct = dst.layout().is_dense() && from.strides() == dst.strides();
  const Tensor to = direct ? dst : empty(dst.shape(), dst.dtype(), dst.device());
  int64_t to_first, from_first, last;
  to.layout().extent(&to_first, &last);
  from.layout().extent(&from_first, &last);
  const DeviceMemory& memory = device_memory(dst.device().is_cpu() ? from.device() : dst.device());
  memory.copy(static_cast<char*>(to.storage().data()) + to_first * to.itemsize(), to.device(),
              static_cast<const char*>(from.storage().data()) + from_first * from.itemsize(), from.device(),
              static_cast<size_t>(from.numel() * from.itemsize()), non_blocking && direct);
  if (!direct) copy_into(dst, to);
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& source) {
  if (dst.numel() == 0) {
    expand(source.layout(), dst.shape());  // raises when the shapes do not fit
    return;
  }
  if (dst.device() != source.device()) return copy_across(dst, source, false);
  Tensor src = source;
  if (src.shape() != dst.shape()) src = make_view(src, expand(src.layout(), dst.shape()));
  if (&src.storage() == &dst.storage()) {
    const Overlap meet = overlap(dst.layout(), dst.itemsize(), src.layout(), src.itemsize());
    if (meet == Overlap::Same && dst.dtype() == src.dtype()) return;
    if (meet == Overlap::Some || (meet == Overlap::Same && dst.itemsize() != src.itemsize())) {
      Tensor copy = empty(src.shape(), src.dtype(), src.device());
      copy_into(copy, src);
      src = copy;
    }
  }
  const KernelTable& table = kernels(dst.device());
  if (table.device) {
    TensorIterator iter(dst.shape());
    iter.add(dst);
    iter.add(src);
    iter.plan();
    return table.device->copy(iter.loop_plan("copy_", dst.device()));
  }
  const int64_t n = dst.numel();
  if (dst.dtype() == src.dtype() && same_strides(dst, src) && dst.layout().is_dense()) {
    int64_t first, last;
    dst.layout().extent(&first, &last);
    char* to = static_cast<char*>(dst.storage().data()) + first * dst.itemsize();
    src.layout().extent(&first, &last);
    const char* from = static_cast<const char*>(src.storage().data()) + first * src.itemsize();
    const int64_t bytes = n * dst.itemsize();
    if (bytes <= 262144) {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    } else {
      parallel_for(0, bytes, 262144,
                   [&](int64_t b, int64_t e) { std::memcpy(to + b, from + b, static_cast<size_t>(e - b)); });
    }
    return;
  }
  if (copy_transposed(dst, src)) return;
  const Loop2d loop = table.copy[index_of(dst.dtype())][index_of(src.dtype())];
  TensorIterator iter(dst.shape());
  iter.add(dst);
  iter.add(src);
  iter.plan();
  iter.run(loop, nullptr, 1);
}

void fill_into(const Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0) return;
  Element element(value, dst.dtype());
  const KernelTable& table = kernels(dst.device());
  const Loop2d loop = table.copy[index_of(dst.dtype())][index_of(dst.dtype())];
  if (loop && dst.numel() <= 32768 && dst.is_contiguous()) {
    char* data[] = {dst.data(), element.bytes};
    const int64_t strides[] = {dst.itemsize(), 0, 0, 0};
    return loop(data, strides, dst.numel(), 1, nullptr);
  }
  TensorIterator iter(dst.shape());
  iter.add(dst);
  iter.add_scalar(element.bytes, dst.dtype());
  iter.plan();
  if (table.device) return table.device->copy(iter.loop_plan("fill_", dst.device()));
  iter.run(loop, nullptr, 1);
}

Scalar item(const Tensor& t) {
  STRIDED_CHECK(t.numel() == 1, RuntimeError, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  const Tensor host = to_device(t, Device{});
  return dispatch(t.dtype(), [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return Scalar(*host.data_as<uint8_t>() != 0);
    else {
      const T v = *host.data_as<T>();
      if constexpr (is_complex_v<T>) return Scalar(static_cast<double>(v.re), static_cast<double>(v.im));
      else if constexpr (std::is_same_v<T, uint64_t>) return Scalar(v);
      else if constexpr (std::is_integral_v<T>) return Scalar(static_cast<int64_t>(v));
      else return Scalar(static_cast<double>(static_cast<compute_t<T>>(v)));
    }
  });
}

Tensor clone(const Tensor& x) {
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), x.device());
  copy_into(out, x);
  return record("CloneBackward0", out, x, [](const Tensor& g) { return g; });
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor out = empty(x.shape(), x.dtype(), x.device());
  copy_into(out, x);
  return record("CloneBackward0", out, x, [](const Tensor& g) { return g; });
}

Tensor to_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), dtype, x.device());
  copy_into(out, x);
  if (!is_floating(dtype) && !is_complex(dtype)) return out;
  return record("ToCopyBackward0", out, x, [from = x.dtype()](const Tensor& g) { return to_dtype(g, from); });
}

Tensor to_device(const Tensor& x, Device where, bool non_blocking) {
  const Device device = resolve_device(where);
  if (x.device() == device) return x;
  Tensor out = empty_strided(x.shape(), strides_like(x.layout()), x.dtype(), device);
  if (x.numel() > 0) copy_across(out, x, non_blocking);
  return record("ToCopyBackward0", out, x, [from = x.device()](const Tensor& g) { return to_device(g, from); });
}

Tensor record_overwrite(const char* name, const Tensor& self, const Tensor& source) {
  if (is_integral(self.dtype())) return self;
  // Zeros flow back to the old value; where self is a view, its base's record sees to that.
  const Tensor old = !self.impl()->base && self.requires_grad() ? self : Tensor();
  return record_inplace(name, self, {old, source},
                        [](const Tensor& g) { return std::vector<Tensor>{zeros_like(g), g}; });
}

Tensor copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  check_inplace("copy_", self, src.requires_grad());
  if (non_blocking && self.device() != src.device() && self.numel() > 0) copy_across(self, src, true);
  else copy_into(self, src);
  bump_version(self, "copy_");
  return record_overwrite("CopyBackwards", self, src);
}

Tensor fill_(const Tensor& self, const Scalar& value) {
  check_writable("fill_", self, true);
  check_recordable("fill_", self);
  check_fits(value, self.dtype());
  fill_into(self, value);
  bump_version(self, "fill_");
  return record_overwrite("FillBackward0", self);
}

Tensor zero_(const Tensor& self) {
  check_writable("zero_", self, true);
  check_recordable("zero_", self);
  fill_into(self, Scalar(int64_t(0)));
  bump_version(self, "zero_");
  return record_overwrite("ZeroBackward0", self);
}

}  // namespace strided
