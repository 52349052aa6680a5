// From a file straight to a CUDA device: through page-locked memory, without a copy of the whole on the host.
#pragma once

#include <functional>

#include "core/storage.h"

namespace strided::python {

// Two pieces of page-locked memory: one is read into while the other travels.
class DeviceFill {
 public:
  explicit DeviceFill(Device device);
  ~DeviceFill();
  DeviceFill(const DeviceFill&) = delete;
  // A storage of that size on the device, filled by read(at, to, n), which writes bytes [at, at + n) to `to`.
  Ref<Storage> fill(uint64_t nbytes, const std::function<void(uint64_t at, void* to, size_t n)>& read);
  Device device() const { return device_; }

 private:
  struct Piece {
    void* data = nullptr;
    void* event = nullptr;  // after its last transfer
    bool travels = false;
  };
  void wait(Piece& piece);

  Device device_;
  Piece pieces_[2];
};

}  // namespace strided::python
