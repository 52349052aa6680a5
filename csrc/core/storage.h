// Bytes on a device. Tensors are strided views of one; several may share it.
#pragma once

#include "base/recycled.h"
#include "base/ref.h"
#include "core/device.h"

namespace strided {

// Note [Inference tensors]: memory that comes to be while this thread is in inference mode belongs to them, and so do
// all views of it. Outside of the mode they are not written to and not saved for a backward pass, which spares PyTorch
// their version counter. Here they cost nothing, and the same programs are refused.
bool inference_mode();
void set_inference_mode(bool on);

class Storage : public RefCounted, public Recycled<Storage> {
 public:
  static constexpr bool kUnderLock = true;

  // Owned memory, uninitialised.
  Storage(size_t nbytes, Device device);
  // Borrowed memory: `release(owner)` is called when the last view is gone.
  Storage(void* data, size_t nbytes, Device device, void* owner, void (*release)(void*), bool read_only);
  ~Storage() override;

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool read_only() const { return read_only_; }
  bool of_inference() const { return of_inference_; }  // Note [Inference tensors]
  bool borrowed() const { return release_ != nullptr; }
  // Grows or shrinks owned memory, keeping the common bytes. RuntimeError for borrowed or exported memory.
  // Other holders may look at all bytes that there were: while there are any, memory is either as long as ever, or,
  // with a size of 0, given up (Tensor::bytes() refuses it).
  void resize(size_t nbytes);
  // Somebody outside (an ndarray, a DLPack consumer, a buffer) holds the address: it may not change any more.
  void set_exported() { exported_ = true; }
  bool resizable() const { return !borrowed() && !exported_; }

  // Counts writes; views share it, so that autograd sees a saved tensor change under it.
  uint32_t version() const { return version_; }
  void bump(const char* op) {
    ++version_;
    last_writer_ = op;
  }
  const char* last_writer() const { return last_writer_; }  // the operation that bumped it; null before the first

  void* py_object = nullptr;  // of csrc/python: the object that shows it

 private:
  void* data_ = nullptr;
  size_t nbytes_ = 0;
  size_t capacity_ = 0;  // bytes of memory, if there is any: all that a holder may look at
  Device device_;
  bool read_only_ = false, of_inference_, exported_ = false;
  uint32_t version_ = 0;
  const char* last_writer_ = nullptr;
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
};

// Set by csrc/python. Called when a storage dies whose `py_object` is not null.
extern void (*drop_storage_object)(void* py_object);

// Gives a tensor another storage. A kernel of another thread, which runs without the interpreter's lock, may still use
// the former one: that stays until a later change finds no such kernel.
void change_storage(Ref<Storage>& held, Ref<Storage> other);

// The memory of one kind of device. The CPU's stands in storage.cpp; a backend registers its own when it is loaded.
struct DeviceMemory {
  void* (*allocate)(size_t nbytes, int index) = nullptr;
  void (*free)(void* data, size_t nbytes, int index) = nullptr;
  // Of a backend with several devices (null: there is one): the one that `device='cuda'` names; RuntimeError when there
  // is none of that number.
  int (*current)() = nullptr;
  void (*require)(int index) = nullptr;
  // Bytes within a device, or between two, one of which is the CPU or both of which are this backend's. Returns when
  // they may be read; with `non_blocking` perhaps earlier, if host memory is page-locked.
  void (*copy)(void* to, Device to_device, const void* from, Device from_device, size_t nbytes,
               bool non_blocking) = nullptr;
  // Zeroes a block that `allocate` gave, where that is cheaper than writing zeros; false: it was not done. May be null.
  bool (*clear)(void* data, size_t nbytes) = nullptr;
};
void register_device_memory(DeviceType type, DeviceMemory memory);
const DeviceMemory& device_memory(Device device);  // RuntimeError when no backend serves the device
// The device with its number; the CPU has none.
Device resolve_device(Device device);

}  // namespace strided
