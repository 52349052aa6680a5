// What programs ask of device xla itself. The functions of strided_xla call these.
#include "python/bind/bind.h"
#include "xla/capture.h"
#include "xla/graph.h"
#include "xla/memory.h"
#include "xla/plugin.h"

namespace strided::python {
namespace {

int valid(int64_t device) {
  STRIDED_CHECK(device >= 0 && device < xla::device_count(), RuntimeError, "there is no device xla:", device);
  return static_cast<int>(device);
}

int64_t count() { return xla::device_count_or_zero(); }
std::string why_none() { return xla::why_no_plugin(); }
std::string platform() { return xla::platform_name(); }
std::string kind(int64_t device) { return xla::device_kind(valid(device)); }
void run(int64_t device, bool wait) { xla::synchronize(valid(device), wait); }
void mark(const Tensor& t, const std::string& sharding, int64_t devices) {
  STRIDED_CHECK(t.device().type == DeviceType::XLA, RuntimeError, "sharding: the tensor is on ", t.device(),
                ", not on xla:0");
  STRIDED_CHECK(t.is_contiguous() && t.numel() > 0 && t.ndim() > 0 &&
                    t.numel() * t.itemsize() == static_cast<int64_t>(t.storage().nbytes()),
                RuntimeError,
                "sharding: the tensor is not all of its storage, contiguous, with an axis and an element");
  xla::shard(t.data(), t.dtype(), t.shape(), sharding, static_cast<int>(devices));
}
std::string marked(const Tensor& t) {
  if (t.device().type != DeviceType::XLA || t.numel() == 0) return "";
  return xla::sharding_of(t.data());
}
Tensor shard_of(const Tensor& t, int64_t device, const Dims& shape) {
  Tensor out = empty(shape, t.dtype());
  xla::read_shard(t.data(), static_cast<int>(device), out.data(), static_cast<size_t>(out.numel() * out.itemsize()));
  return out;
}
void capture_begin(int64_t device) { xla::capture_begin(valid(device)); }
int64_t capture_end(int64_t device) { return xla::capture_end(valid(device)); }
Dims counted() {
  const xla::Counters c = xla::counters();
  return {c.compiled, c.executed, c.cached};
}

}  // namespace

void bind_xla() {
  def<&count>("_xla_device_count()", "Number of XLA devices; 0 without a plugin.", kFunction);
  def<&why_none>("_xla_why_none()", "Why there is no XLA device; empty where there is one.", kFunction);
  def<&platform>("_xla_platform()", "The plugin's name for its platform.", kFunction);
  def<&kind>("_xla_kind(int device)", "What the plugin says the device is.", kFunction);
  def<&run>("_xla_run(int device, bool wait=False)", "Starts what is recorded for the device, and waits for it.",
            kFunction);
  def<&mark>("_xla_shard(Tensor t, str sharding, int devices)", "A tensor's sharding from now on; 0 devices: none.",
             kFunction);
  def<&marked>("_xla_sharding(Tensor t)", "The sharding of a tensor in XLA's words; empty where there is none.",
               kFunction);
  def<&shard_of>("_xla_shard_of(Tensor t, int device, int[] shape)", "What one device has of a tensor, on the CPU.",
                 kFunction);
  def<&capture_begin>("_xla_capture_begin(int device)", "From here on operations are recorded for a captured step.",
                      kFunction);
  def<&capture_end>("_xla_capture_end(int device)", "Ends the captured step; its number.", kFunction);
  def<&xla::capture_abandon>("_xla_capture_abandon()", "Ends the capture without a step.", kFunction);
  def<&xla::replay>("_xla_replay(int step)", "Starts a captured step.", kFunction);
  def<&xla::forget>("_xla_forget(int step)", "Lets a captured step go.", kFunction);
  def<&counted>("_xla_counters()", "Programs compiled, programs run, and of these those that had been compiled before.",
                kFunction);
}

}  // namespace strided::python
