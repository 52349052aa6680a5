#include "cuda/runtime/tile_copy.h"

namespace strided {
namespace cuda {

namespace {

// Maps are made by the driver, which wants a context: the current device's, which the run time binds to a thread with
// its first call that needs one. Of a thread whose memory was all there already this may be the first.
[[maybe_unused]] bool bind_context() {
  int device = 0;
  const bool bound = cudaGetDevice(&device) == cudaSuccess && cudaSetDevice(device) == cudaSuccess;
  if (!bound) static_cast<void>(cudaGetLastError());
  return bound;
}

}  // namespace

#if STRIDED_EMULATED
bool make_tile_map(TileMap& map, const TileMapPlan& plan) {
  return bind_context() &&
         ::cuda_emulation::make_tile_map(map.bytes, plan.data, plan.rank, plan.size, plan.stride, plan.box);
}
#elif defined(__HIPCC__)
bool make_tile_map(TileMap&, const TileMapPlan&) { return false; }
#else
namespace {

// cuTensorMapEncodeTiled of the driver (CUDA 12), which the run time finds: nothing is linked against the driver. Its
// enumerations are plain numbers here.
using Encode = int (*)(void* map, int type, uint32_t rank, void* data, const uint64_t* size, const uint64_t* stride,
                       const uint32_t* box, const uint32_t* step, int interleave, int swizzle, int l2, int outside);
constexpr int kUInt16 = 1, kNoInterleave = 0, kSwizzle128 = 3, kL2By256 = 3, kZeros = 0;

Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(found) : nullptr;
}

}  // namespace

bool make_tile_map(TileMap& map, const TileMapPlan& plan) {
  static const Encode encode = find_encode();
  constexpr uint32_t step[kTileAxes] = {1, 1, 1, 1, 1};
  return encode && bind_context() &&
         encode(map.bytes, kUInt16, static_cast<uint32_t>(plan.rank), const_cast<void*>(plan.data), plan.size,
                plan.stride, plan.box, step, kNoInterleave, kSwizzle128, kL2By256, kZeros) == 0;
}
#endif

}  // namespace cuda
}  // namespace strided
