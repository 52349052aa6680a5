// Copying, casting and filling.
#pragma once

#include <optional>

#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// Raw: no record for autograd, no checks but shapes (src broadcasts to dst). Casts and crosses devices. Memory may
// overlap.
void copy_into(const Tensor& dst, const Tensor& src);
void fill_into(const Tensor& dst, const Scalar& value);

// Recorded, public.
Tensor clone(const Tensor& x);                  // keeps a dense order of axes
Tensor contiguous(const Tensor& x);             // x itself when it is
Tensor to_dtype(const Tensor& x, DType dtype);  // x itself when it has it
// In the dtype that its numbers are computed in: 16-bit floats in float32. No tensor stays none.
inline Tensor to_compute_dtype(const Tensor& x) { return x.defined() ? to_dtype(x, compute_dtype_of(x.dtype())) : x; }
// non_blocking: may return before the bytes have arrived, where host memory is page-locked.
Tensor to_device(const Tensor& x, Device device, bool non_blocking = false);
Tensor copy_(const Tensor& self, const Tensor& src, bool non_blocking = false);  // returns self
// The one element of t as a number; RuntimeError when there are more or none. Waits for a device.
Scalar item(const Tensor& t);
// Whether the one element of t is not zero; `without_data` on device meta, where nobody knows.
bool truth(const Tensor& t, bool without_data);
Tensor fill_(const Tensor& self, const Scalar& value);
Tensor zero_(const Tensor& self);

// After a write to self whose result depends on nothing that was there, only on `source` (undefined: on no tensor), of
// which self now holds a copy.
Tensor record_overwrite(const char* name, const Tensor& self, const Tensor& source = Tensor());

}  // namespace strided
