// Work that is recorded once and then done again: CUDA's graphs.
//
// Note [Captured work]
// Between begin_capture and end_capture what a thread puts into its current stream is written down and not done; each
// launch of the graph does all of it again, at the same addresses. So memory that is asked for meanwhile comes from a
// pool of the graph's (allocator.h), and nobody else gets it as long as a graph of that pool lives. Arguments of
// kernels are those of the capture, so random numbers would be too: their kernels read seed and position from a place
// on the device instead, which each launch sets (RandomWords). Nothing may wait for the device or move between it and
// the host, because neither happens; such a call raises, and the capture has failed.
#pragma once

#include "cuda/runtime/capture.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

struct Graph;
// mode: 0 no thread may do what disturbs a capture, 1 this one may not, 2 all may. The generator's seed and position.
void begin_capture(int device, int mode, int64_t pool, uint64_t seed, uint64_t position);
Graph* end_capture(int device);  // RuntimeError if it has failed; then nothing is captured any longer
void launch_graph(Graph& graph, uint64_t seed, uint64_t position);
void free_graph(Graph* graph);

}  // namespace cuda
}  // namespace strided
