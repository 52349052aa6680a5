#include "ops/copy.h"

#include <cstring>

#include "backend/backend.h"
#include "ops/call_log.h"
#include "ops/factory.h"
#include "ops/record.h"
#include "tensor/iter.h"

namespace strided {
namespace {

bool same_strides(const Tensor& a, const Tensor& b) {
  for (int i = 0; i < a.ndim(); ++i)
    if (a.size(i) != 1 && a.strides()[i] != b.strides()[i]) return false;
  return true;
}

// Between devices the bytes of a block without gaps are moved; casts and gaps are left to the device they are on.
void copy_across(const Tensor& dst, const Tensor& src, bool non_blocking) {
  if (dst.device().is_meta()) {
    expand(src.layout(), dst.shape());  // raises when the shapes do not fit
    return;
  }
  STRIDED_CHECK(!src.device().is_meta(), NotImplementedError, "Cannot copy out of meta tensor; no data!");
  if (!dst.device().is_cpu() && !src.device().is_cpu() && dst.device().type != src.device().type) {
    const Tensor here = empty(src.shape(), src.dtype());  // no backend knows the memory of another
    copy_into(here, src);
    return copy_into(dst, here);
  }
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
  memory.copy(static_cast<char*>(to.bytes()) + to_first * to.itemsize(), to.device(),
              static_cast<const char*>(from.bytes()) + from_first * from.itemsize(), from.device(),
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
  Tensor changed;
  if (source.shape() != dst.shape()) changed = make_view(source, expand(source.layout(), dst.shape()));
  if (&source.storage() == &dst.storage()) {
    const Tensor& src = changed.defined() ? changed : source;
    const Overlap meet = overlap(dst.layout(), dst.itemsize(), src.layout(), src.itemsize());
    if (meet == Overlap::Same && dst.dtype() == src.dtype()) return;
    if (meet == Overlap::Some || (meet == Overlap::Same && dst.itemsize() != src.itemsize())) {
      Tensor copy = empty(src.shape(), src.dtype(), src.device());
      copy_into(copy, src);
      changed = copy;
    }
  }
  const Tensor& src = changed.defined() ? changed : source;
  const Backend& slots = backend(dst.device());
  const int64_t n = dst.numel();
  if (slots.short_loops && n <= ShortLoops::kMost && same_strides(dst, src) && dst.layout().is_dense()) {
    int64_t first, last;
    dst.layout().extent(&first, &last);
    char* to = static_cast<char*>(dst.bytes()) + first * dst.itemsize();
    src.layout().extent(&first, &last);
    char* from = static_cast<char*>(src.bytes()) + first * src.itemsize();
    if (dst.dtype() == src.dtype()) {
      std::memcpy(to, from, static_cast<size_t>(n * dst.itemsize()));
      return;
    }
    char* data[] = {to, from};
    const int64_t strides[] = {dst.itemsize(), src.itemsize(), 0, 0};
    return slots.short_loops->copy[index_of(dst.dtype())][index_of(src.dtype())](data, strides, n, 1, nullptr);
  }
  TensorIterator iter(dst.shape());
  iter.add(dst);
  iter.add(src);
  iter.plan();
  slots.copy(iter.loop_plan("copy_", dst.device()));
}

void fill_into(const Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0) return;
  Element element(value, dst.dtype());
  const Backend& slots = backend(dst.device());
  if (slots.short_loops && dst.numel() <= ShortLoops::kMost && dst.is_contiguous()) {
    char* data[] = {dst.data(), element.bytes};
    const int64_t strides[] = {dst.itemsize(), 0, 0, 0};
    const int t = index_of(dst.dtype());
    return slots.short_loops->copy[t][t](data, strides, dst.numel(), 1, nullptr);
  }
  TensorIterator iter(dst.shape());
  iter.add(dst);
  iter.add_scalar(element.bytes, dst.dtype());
  iter.plan();
  slots.copy(iter.loop_plan("fill_", dst.device()));
}

Scalar item(const Tensor& t) {
  STRIDED_CHECK(t.numel() == 1, RuntimeError, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  STRIDED_CHECK(!t.device().is_meta(), RuntimeError, "Tensor.item() cannot be called on meta tensors");
  const Tensor host = to_device(t, Device{});
  return dispatch(t.dtype(), [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return Scalar(*host.data_as<uint8_t>() != 0);
    else {
      T v;  // a view in another dtype need not be aligned
      std::memcpy(&v, host.data(), sizeof(T));
      if constexpr (is_complex_v<T>) return Scalar(static_cast<double>(v.re), static_cast<double>(v.im));
      else if constexpr (std::is_same_v<T, uint64_t>) return Scalar(v);
      else if constexpr (std::is_integral_v<T>) return Scalar(static_cast<int64_t>(v));
      else return Scalar(static_cast<double>(static_cast<compute_t<T>>(v)));
    }
  });
}

bool truth(const Tensor& t, bool without_data) { return t.device().is_meta() ? without_data : item(t).to_bool(); }

namespace {

// Uninitialised, with the order of axes of x.
Tensor blank_like(const Tensor& x, DType dtype, Device device) {
  if (x.layout().has_contiguous_strides()) return empty(x.shape(), dtype, device);
  return empty_strided(x.shape(), strides_like(x.layout()), dtype, device);
}

}  // namespace

Tensor clone(const Tensor& x) {
  Tensor out = blank_like(x, x.dtype(), x.device());
  copy_into(out, x);
  return record("CloneBackward0", std::move(out), x, [](const Tensor& g) { return g; });
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor out = empty(x.shape(), x.dtype(), x.device());
  copy_into(out, x);
  return record("CloneBackward0", out, x, [](const Tensor& g) { return g; });
}

Tensor to_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor out = blank_like(x, dtype, x.device());
  copy_into(out, x);
  if (CallLog* log = call_log()) {
    LoggedCall call;
    call.kind = LoggedCall::Kind::Cast;
    call.compute = dtype;
    call.in.emplace_back(x);
    call.out = out;
    log->calls.push_back(std::move(call));
  }
  if (!is_floating(dtype) && !is_complex(dtype)) return out;
  return record("ToCopyBackward0", std::move(out), x,
                [from = x.dtype()](const Tensor& g) { return to_dtype(g, from); });
}

Tensor to_device(const Tensor& x, Device where, bool non_blocking) {
  const Device device = resolve_device(where);
  if (x.device() == device) return x;
  Tensor out = blank_like(x, x.dtype(), device);
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
