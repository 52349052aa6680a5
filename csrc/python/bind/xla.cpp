// What programs ask of device xla itself. The functions of strided_xla call these.
#include "python/bind/bind.h"
#include "xla/graph.h"
#include "xla/memory.h"
#include "xla/plugin.h"

namespace strided::python {
namespace {

int64_t count() { return xla::device_count_or_zero(); }
std::string why_none() { return xla::why_no_plugin(); }
std::string platform() { return xla::platform_name(); }
std::string kind(int64_t device) {
  STRIDED_CHECK(device >= 0 && device < xla::device_count(), RuntimeError, "there is no device xla:", device);
  return xla::device_kind(static_cast<int>(device));
}
void run(int64_t device, bool wait) {
  STRIDED_CHECK(device >= 0 && device < xla::device_count(), RuntimeError, "there is no device xla:", device);
  xla::synchronize(static_cast<int>(device), wait);
}
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
  def<&counted>("_xla_counters()", "Programs compiled, programs run, and of these those that had been compiled before.",
                kFunction);
}

}  // namespace strided::python
