#include "base/warning.h"

#include <atomic>
#include <mutex>
#include <set>

namespace strided {
namespace {

std::atomic<Warning> current{nullptr};
std::atomic<bool> always{false};

}  // namespace

void set_warning(Warning warning) { current = warning; }

void warn(const std::string& text) {
  if (const Warning give = current) give(text);
}

void warn_once(const std::string& text) {
  if (first_time(text)) warn(text);
}

bool first_time(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard<std::mutex> lock(mutex);
  return told.insert(name).second || always;
}

void set_warn_always(bool on) { always = on; }
bool warn_always() { return always; }

}  // namespace strided
