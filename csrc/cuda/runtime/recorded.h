// Gradients and streams.
// A backward pass runs in the stream that is current then. What it reads was made in the streams of the forward pass,
// and its memory goes back to them. So the pass waits for them before it begins: the streams in which work was
// recorded, and the default one. They wait for the pass before they go on.
#pragma once

#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

// A stream that lives as long as the process; others are not waited for.
void know_stream(int device, cudaStream_t stream);
// Work for gradients was recorded while the stream was current.
void note_recorded(int device, cudaStream_t stream);
// Before a pass begins, and when it has ended.
void join_recorded(int device, bool begins);

}  // namespace cuda
}  // namespace strided
