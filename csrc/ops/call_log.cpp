#include "ops/call_log.h"

namespace strided {
namespace {
thread_local CallLog* log_of_thread = nullptr;
}

std::atomic<int> call_logs{0};
CallLog* current_call_log() { return log_of_thread; }

CallLogGuard::CallLogGuard(CallLog* log) : before_(log_of_thread) {
  log_of_thread = log;
  ++call_logs;
}
CallLogGuard::~CallLogGuard() {
  log_of_thread = before_;
  --call_logs;
}

}  // namespace strided
