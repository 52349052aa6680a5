#include "cuda/runtime/recorded.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/runtime/capture.h"

namespace strided {
namespace cuda {
namespace {

struct Recorded {
  std::vector<cudaStream_t> known, recorded;  // the default one among them, if there are others
  cudaEvent_t joint = nullptr;
};
struct All {
  std::mutex mutex;
  std::map<int, Recorded> devices;
};
All& all() {
  static All* a = new All;
  return *a;
}
bool has(const std::vector<cudaStream_t>& streams, cudaStream_t stream) {
  return std::find(streams.begin(), streams.end(), stream) != streams.end();
}

}  // namespace

void know_stream(int device, cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(all().mutex);
  Recorded& r = all().devices[device];
  if (!has(r.known, stream)) r.known.push_back(stream);
}
void note_recorded(int device, cudaStream_t stream) {
  const std::lock_guard<std::mutex> lock(all().mutex);
  Recorded& r = all().devices[device];
  if (!has(r.known, stream) || has(r.recorded, stream)) return;
  if (r.recorded.empty()) r.recorded.push_back(nullptr);
  r.recorded.push_back(stream);
}
void join_recorded(int device, bool begins) {
  const std::lock_guard<std::mutex> lock(all().mutex);
  Recorded& r = all().devices[device];
  if (r.recorded.empty() || anyone_captures()) return;  // (a capture may not wait for what is outside of it)
  const OnDevice guard(device);
  if (!r.joint) check(cudaEventCreateWithFlags(&r.joint, cudaEventDisableTiming), "backward");
  const cudaStream_t here = current_stream(device);
  if (!begins) check(cudaEventRecord(r.joint, here), "backward");
  for (cudaStream_t stream : r.recorded) {
    if (stream == here) continue;
    if (begins) check(cudaEventRecord(r.joint, stream), "backward");
    check(cudaStreamWaitEvent(begins ? here : stream, r.joint, 0), "backward");
  }
}

}  // namespace cuda
}  // namespace strided
