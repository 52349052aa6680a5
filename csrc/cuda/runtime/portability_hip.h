// HIP's names for the CUDA names the sources use. Included by portability.h only.
#pragma once

#define cudaError_t hipError_t
#define cudaSuccess hipSuccess
#define cudaErrorMemoryAllocation hipErrorOutOfMemory
#define cudaErrorNotReady hipErrorNotReady
#define cudaStream_t hipStream_t
#define cudaEvent_t hipEvent_t
#define cudaDeviceProp hipDeviceProp_t
#define cudaMemcpyKind hipMemcpyKind
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyDefault hipMemcpyDefault
#define cudaStreamNonBlocking hipStreamNonBlocking
#define cudaEventDisableTiming hipEventDisableTiming
#define cudaHostAllocPortable hipHostMallocPortable
#define cudaGetErrorString hipGetErrorString
#define cudaGetErrorName hipGetErrorName
#define cudaGetLastError hipGetLastError
#define cudaPeekAtLastError hipPeekAtLastError
#define cudaGetDeviceCount hipGetDeviceCount
#define cudaGetDevice hipGetDevice
#define cudaSetDevice hipSetDevice
#define cudaGetDeviceProperties hipGetDeviceProperties
#define cudaDriverGetVersion hipDriverGetVersion
#define cudaRuntimeGetVersion hipRuntimeGetVersion
#define cudaDeviceSynchronize hipDeviceSynchronize
#define cudaMalloc hipMalloc
#define cudaFree hipFree
#define cudaHostAlloc hipHostMalloc
#define cudaFreeHost hipHostFree
#define cudaMemGetInfo hipMemGetInfo
#define cudaMemcpyAsync hipMemcpyAsync
#define cudaMemcpyPeerAsync hipMemcpyPeerAsync
#define cudaMemsetAsync hipMemsetAsync
#define cudaStreamCreateWithPriority hipStreamCreateWithPriority
#define cudaStreamDestroy hipStreamDestroy
#define cudaStreamSynchronize hipStreamSynchronize
#define cudaStreamQuery hipStreamQuery
#define cudaStreamWaitEvent hipStreamWaitEvent
#define cudaEventCreateWithFlags hipEventCreateWithFlags
#define cudaEventDestroy hipEventDestroy
#define cudaEventRecord hipEventRecord
#define cudaEventSynchronize hipEventSynchronize
#define cudaEventQuery hipEventQuery
#define cudaEventElapsedTime hipEventElapsedTime
#define cudaGraph_t hipGraph_t
#define cudaGraphExec_t hipGraphExec_t
#define cudaStreamCaptureMode hipStreamCaptureMode
#define cudaStreamCaptureModeGlobal hipStreamCaptureModeGlobal
#define cudaStreamCaptureModeThreadLocal hipStreamCaptureModeThreadLocal
#define cudaStreamCaptureModeRelaxed hipStreamCaptureModeRelaxed
#define cudaStreamBeginCapture hipStreamBeginCapture
#define cudaStreamEndCapture hipStreamEndCapture
#define cudaThreadExchangeStreamCaptureMode hipThreadExchangeStreamCaptureMode
#define cudaGraphInstantiate hipGraphInstantiateWithFlags
#define cudaGraphLaunch hipGraphLaunch
#define cudaGraphDestroy hipGraphDestroy
#define cudaGraphExecDestroy hipGraphExecDestroy
#define sharedMemPerBlockOptin sharedMemPerBlock
#define cudaFuncSetAttribute hipFuncSetAttribute
#define cudaFuncAttributeMaxDynamicSharedMemorySize hipFuncAttributeMaxDynamicSharedMemorySize

// What a pointer is. The field was called memoryType before ROCm 6.
#define cudaMemoryTypeHost hipMemoryTypeHost
#define cudaMemoryTypeDevice hipMemoryTypeDevice
struct cudaPointerAttributes {
  hipMemoryType type;
  int device;
};
inline hipError_t cudaPointerGetAttributes(cudaPointerAttributes* to, const void* data) {
  hipPointerAttribute_t found;
  const hipError_t error = hipPointerGetAttributes(&found, data);
  if (error != hipSuccess) return error;
#if HIP_VERSION_MAJOR >= 6
  to->type = found.type;
#else
  to->type = found.memoryType;
#endif
  to->device = found.device;
  return error;
}

// A warp of 64 lanes is two groups of 32: shuffles stay within one by their width, and a ballot is cut in half.
// (Macros, because newer releases of ROCm have functions of these names, for groups as wide as the hardware's.)
#define __shfl_sync(mask, value, from) __shfl(value, from, 32)
#define __shfl_down_sync(mask, value, delta) __shfl_down(value, delta, 32)
#define __shfl_up_sync(mask, value, delta) __shfl_up(value, delta, 32)
#define __shfl_xor_sync(mask, value, bits) __shfl_xor(value, bits, 32)
#define __ballot_sync(mask, predicate) ::strided::cuda::ballot_of_half(predicate)
#define __syncwarp() ::strided::cuda::order_lanes()
namespace strided {
namespace cuda {
__device__ inline unsigned ballot_of_half(int predicate) {
  const unsigned long long all = __ballot(predicate);
  return static_cast<unsigned>(warpSize == 64 && (__lane_id() & 32) ? all >> 32 : all);
}
// The lanes of a wave run in step: all that is wanted is that the compiler and the memory keep the order.
__device__ inline void order_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
}  // namespace cuda
}  // namespace strided
