#include "python/files/device_fill.h"

#include <algorithm>

#include "cuda/runtime/library.h"

namespace strided::python {
namespace {

// Long enough that a transfer takes longer than its start, short enough for the last-level cache.
constexpr uint64_t kPiece = uint64_t(4) << 20;

}  // namespace

DeviceFill::DeviceFill(Device device) : device_(resolve_device(device)) {}

DeviceFill::~DeviceFill() {
  for (Piece& piece : pieces_) {
    if (piece.travels) cuda_api().synchronize_event(piece.event, device_.index);  // a failure was, or will be, raised
    if (piece.event) cuda_api().destroy_event(piece.event);
    if (piece.data) cuda_api().deallocate_pinned(piece.data);
  }
}

void DeviceFill::wait(Piece& piece) {
  if (!piece.data) check_cuda(cuda_api().allocate_pinned(kPiece, &piece.data));
  if (!piece.event) check_cuda(cuda_api().make_event(device_.index, false, &piece.event));
  if (!piece.travels) return;
  piece.travels = false;
  check_cuda(cuda_api().synchronize_event(piece.event, device_.index));
}

Ref<Storage> DeviceFill::fill(uint64_t nbytes, const std::function<void(uint64_t at, void* to, size_t n)>& read) {
  auto storage = make_ref<Storage>(static_cast<size_t>(nbytes), device_);
  CudaStream stream = nullptr;
  check_cuda(cuda_api().current_stream(device_.index, &stream));
  int k = 0;
  for (uint64_t at = 0; at < nbytes; at += kPiece, k ^= 1) {
    Piece& piece = pieces_[k];
    wait(piece);
    const auto n = static_cast<size_t>(std::min(kPiece, nbytes - at));
    read(at, piece.data, n);
    device_memory(device_).copy(static_cast<char*>(storage->data()) + at, device_, piece.data, Device{}, n, true);
    check_cuda(cuda_api().record_event(piece.event, device_.index, stream));
    piece.travels = true;
  }
  return storage;
}

}  // namespace strided::python
