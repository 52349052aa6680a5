// Runs a 2-d loop over a planned iteration, in tiles and on several threads.
#pragma once

#include <limits>

#include "backend/loop_plan.h"

namespace strided {
namespace cpu {

constexpr int64_t kLoopGrain = 32768;  // elements that are not worth a second thread
constexpr int64_t kSequential = std::numeric_limits<int64_t>::max();

// Runs the loop over all elements of the plan. The first n_outputs operands are written. More than `grain` elements are
// split among threads.
// loop_dtypes: the dtype that the loop expects for each operand. Operands of another dtype are cast through a buffer,
// and transposed ones may pass through one: the loop writes each output whole, and reads each element in its place.
// Null: the loop gets the operands where they lie.
// streams: a long result may be streamed (Note [Streamed results] in cpu/streaming.h), by a loop that has loop_dtypes.
void run_loop(const LoopPlan& plan, Loop2d loop, const void* params, int n_outputs, const DType* loop_dtypes = nullptr,
              int64_t grain = kLoopGrain, bool streams = false);

}  // namespace cpu
}  // namespace strided
