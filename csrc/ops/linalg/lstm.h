// One direction of an LSTM over sequences of one length, where the device has a kernel of a step. Not recorded.
#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace strided {

// gates: (steps, batch, 4 n), contiguous: what the input adds to the gates i, f, g, o; replaced with the gates. h, c:
// (batch, n), the first states; w_hh: (4 n, n), of their dtype, or of 16 bits beside float32, where it is multiplied
// with states that are rounded. Written, contiguous: outputs (steps, batch, n); cells and tanhs, those of the cells, of
// that shape too, or cells (batch, n), which may be c, of the last step alone, and no tanhs. False, and nothing done,
// where the device has no kernel, and for tensors of other shapes or dtypes.
bool lstm_steps(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& w_hh, const Tensor& outputs,
                const Tensor& cells, const std::optional<Tensor>& tanhs, bool reverse);
// The gradient of the numbers that the gates are functions of, from those of the outputs and of the last h and c. The
// last two, dh and dc, are replaced with the gradients of the first states.
Tensor lstm_gradients(const Tensor& gates, const Tensor& c, const Tensor& w_hh, const Tensor& cells,
                      const Tensor& tanhs, const Tensor& d_outputs, const Tensor& dh, const Tensor& dc, bool reverse);

}  // namespace strided
