// Bytes between host and devices; events.
#pragma once

#include "backend/plans.h"
#include "cuda/runtime/runtime.h"

namespace strided {
namespace cuda {

void transfer(const TransferPlan& plan);

cudaEvent_t make_event(int device, bool timed);
void destroy_event(cudaEvent_t event);
void record_event(cudaEvent_t event, int device, cudaStream_t stream);
void wait_event(cudaEvent_t event, int device, cudaStream_t stream);  // what the stream gets from now on comes after it
void synchronize_event(cudaEvent_t event, int device);
bool event_done(cudaEvent_t event);
double elapsed_milliseconds(cudaEvent_t begin, cudaEvent_t end);
bool stream_done(int device, cudaStream_t stream);

}  // namespace cuda
}  // namespace strided
