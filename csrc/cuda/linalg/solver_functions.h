// What is used of cuSOLVER, declared in plain types: pointers to its objects and to matrices are void*, its
// enumerations int. tests/cpp/cuda/cusolver_declarations_test.cpp compares all of it with NVIDIA's header where there
// is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/runtime/nvidia_types.h"

namespace strided {
namespace cuda {

// Functions that exist once: X(name, parameters). For matrices of any type, which is a number (kDataTypes).
#define STRIDED_CUSOLVER_FUNCTIONS(X) \
  X(cusolverGetProperty, (int property, int* value)) \
  X(cusolverDnCreate, (void** handle)) \
  X(cusolverDnSetStream, (void* handle, void* stream)) \
  X(cusolverDnCreateParams, (void** params)) \
  X(cusolverDnCreateGesvdjInfo, (void** jacobi)) \
  X(cusolverDnXgesvdjSetMaxSweeps, (void* jacobi, int sweeps)) \
  X(cusolverDnXgeqrf_bufferSize, \
    (void* handle, void* params, int64_t m, int64_t n, int type_a, const void* a, int64_t lda, int type_tau, \
     const void* tau, int compute, size_t* bytes, size_t* host_bytes)) \
  X(cusolverDnXgeqrf, \
    (void* handle, void* params, int64_t m, int64_t n, int type_a, void* a, int64_t lda, int type_tau, void* tau, \
     int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info)) \
  X(cusolverDnXgesvd_bufferSize, \
    (void* handle, void* params, signed char job_u, signed char job_vt, int64_t m, int64_t n, int type_a, \
     const void* a, int64_t lda, int type_s, const void* s, int type_u, const void* u, int64_t ldu, int type_vt, \
     const void* vt, int64_t ldvt, int compute, size_t* bytes, size_t* host_bytes)) \
  X(cusolverDnXgesvd, \
    (void* handle, void* params, signed char job_u, signed char job_vt, int64_t m, int64_t n, int type_a, void* a, \
     int64_t lda, int type_s, void* s, int type_u, void* u, int64_t ldu, int type_vt, void* vt, int64_t ldvt, \
     int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info)) \
  X(cusolverDnXsyevd_bufferSize, \
    (void* handle, void* params, int job, int triangle, int64_t n, int type_a, const void* a, int64_t lda, int type_w, \
     const void* w, int compute, size_t* bytes, size_t* host_bytes)) \
  X(cusolverDnXsyevd, \
    (void* handle, void* params, int job, int triangle, int64_t n, int type_a, void* a, int64_t lda, int type_w, \
     void* w, int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info))

// Functions that not every release has. The batched eigenvalues of Hermitian matrices and the eigenvalues of general
// ones came with CUDA 12.6 Update 2, the LDL factors of Hermitian matrices with one of CUDA 13's (12.4 has them).
#define STRIDED_CUSOLVER_NEW_FUNCTIONS(X) \
  X(cusolverDnXsyevBatched_bufferSize, \
    (void* handle, void* params, int job, int triangle, int64_t n, int type_a, const void* a, int64_t lda, int type_w, \
     const void* w, int compute, size_t* bytes, size_t* host_bytes, int64_t batch)) \
  X(cusolverDnXsyevBatched, \
    (void* handle, void* params, int job, int triangle, int64_t n, int type_a, void* a, int64_t lda, int type_w, \
     void* w, int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info, int64_t batch)) \
  X(cusolverDnXgeev_bufferSize, \
    (void* handle, void* params, int job_vl, int job_vr, int64_t n, int type_a, const void* a, int64_t lda, \
     int type_w, const void* w, int type_vl, const void* vl, int64_t ldvl, int type_vr, const void* vr, int64_t ldvr, \
     int compute, size_t* bytes, size_t* host_bytes)) \
  X(cusolverDnXgeev, (void* handle, void* params, int job_vl, int job_vr, int64_t n, int type_a, void* a, int64_t lda, \
                      int type_w, void* w, int type_vl, void* vl, int64_t ldvl, int type_vr, void* vr, int64_t ldvr, \
                      int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info)) \
  X(cusolverDnXhetrf_bufferSize, (void* handle, void* params, int triangle, int64_t n, int type_a, const void* a, \
                                  int64_t lda, const int64_t* pivots, int compute, size_t* bytes, size_t* host_bytes)) \
  X(cusolverDnXhetrf, \
    (void* handle, void* params, int triangle, int64_t n, int type_a, void* a, int64_t lda, int64_t* pivots, \
     int compute, void* work, size_t bytes, void* host_work, size_t host_bytes, int* info))

// Functions of which each type has its own, after its letter S, D, C or Z: X(name, of complex matrices, parameters).
// Sizes of their work are in elements.
#define STRIDED_CUSOLVER_TYPED_FUNCTIONS(X) \
  X(orgqr_bufferSize, ungqr_bufferSize, \
    (void* handle, int m, int n, int k, const void* a, int lda, const void* tau, int* size)) \
  X(orgqr, ungqr, \
    (void* handle, int m, int n, int k, void* a, int lda, const void* tau, void* work, int size, int* info)) \
  X(ormqr_bufferSize, unmqr_bufferSize, \
    (void* handle, int side, int which, int m, int n, int k, const void* a, int lda, const void* tau, const void* c, \
     int ldc, int* size)) \
  X(ormqr, unmqr, \
    (void* handle, int side, int which, int m, int n, int k, const void* a, int lda, const void* tau, void* c, \
     int ldc, void* work, int size, int* info)) \
  X(sytrf_bufferSize, sytrf_bufferSize, (void* handle, int n, void* a, int lda, int* size)) \
  X(sytrf, sytrf, (void* handle, int triangle, int n, void* a, int lda, int* pivots, void* work, int size, int* info)) \
  X(gesvdj_bufferSize, gesvdj_bufferSize, \
    (void* handle, int job, int econ, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, \
     const void* v, int ldv, int* size, void* jacobi)) \
  X(gesvdj, gesvdj, \
    (void* handle, int job, int econ, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, \
     void* work, int size, int* info, void* jacobi)) \
  X(gesvdjBatched_bufferSize, gesvdjBatched_bufferSize, \
    (void* handle, int job, int m, int n, const void* a, int lda, const void* s, const void* u, int ldu, \
     const void* v, int ldv, int* size, void* jacobi, int batch)) \
  X(gesvdjBatched, gesvdjBatched, \
    (void* handle, int job, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* v, int ldv, void* work, \
     int size, int* info, void* jacobi, int batch)) \
  X(gesvdaStridedBatched_bufferSize, gesvdaStridedBatched_bufferSize, \
    (void* handle, int job, int rank, int m, int n, const void* a, int lda, long long step_a, const void* s, \
     long long step_s, const void* u, int ldu, long long step_u, const void* v, int ldv, long long step_v, int* size, \
     int batch)) \
  X(gesvdaStridedBatched, gesvdaStridedBatched, \
    (void* handle, int job, int rank, int m, int n, const void* a, int lda, long long step_a, void* s, \
     long long step_s, void* u, int ldu, long long step_u, void* v, int ldv, long long step_v, void* work, int size, \
     int* info, double* residuals, int batch))

// Values of its enumerations.
constexpr int kNoVectors = 0, kVectors = 1;                // cusolverEigMode_t
constexpr int kLower = 0, kUpper = 1;                      // cublasFillMode_t
constexpr int kLeft = 0, kRight = 1;                       // cublasSideMode_t
constexpr int kAsItIs = 0, kTransposed = 1, kAdjoint = 2;  // cublasOperation_t
constexpr int kAllocFailed = 2;                            // cusolverStatus_t; 0: success

}  // namespace cuda
}  // namespace strided
