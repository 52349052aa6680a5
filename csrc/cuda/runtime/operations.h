// What the library does, one function for each family: the slots of the seam (seam.h) are filled with these. All of
// them return when the work is queued on the current stream of the device, unless they say that they wait.
#pragma once

#include "backend/backend.h"
#include "cuda/runtime/allocator.h"

namespace strided {
namespace cuda {

// Op number `op` of backend/elementwise.h, computed in the given dtype. Operands may be stored in others.
void elementwise(int op, DType compute, const LoopPlan& plan, const double* params);

// Operands to, from, of any two dtypes. An immediate `from` fills.
void copy(const LoopPlan& plan);

// Reduction number `op` of backend/reduce.h, computed in the given dtype.
void reduce(int op, DType compute, const ReducePlan& plan);

// A running reduction, or a softmax, of each row. Input and output may be the same memory.
void scan(ScanOp op, const ScanPlan& plan);

// Sorting, selecting and searching as SortKernels do it. The first `keep` elements of each sorted row; values or index
// may be null.
void sort(const SortPlan& plan, int64_t keep, bool descending);
void select_of_rows(const SortPlan& plan, Select what, int64_t k);
void search(const SearchPlan& plan, Search what);
// Groups of equal slices; their number. Waits.
int64_t unique_rows(const char* name, int device, DType dtype, const char* in, int64_t n, int64_t m, int64_t* order,
                    int64_t* group, int64_t* starts);

// dense = named[index]. An index out of range is left out and reported (report.h), here and below.
void take(const IndexPlan& plan);
// named[index] = dense. Of several elements for one place the last in row-major order stays.
void put(const IndexPlan& plan);
// named[index] = op(named[index], dense). Sums and products of floating point are made in row-major order.
void combine(const IndexPlan& plan, ScatterOp op);

// Operands to, condition (bool), a, b: to = condition ? a : b.
void select(const LoopPlan& plan);
// Operands to, counts (int64): to /= count, rounding down for integers; a count below 2 changes nothing.
void divide_by_counts(const LoopPlan& plan);

// The set elements of a contiguous mask of n bytes. Waits for their number.
class NonzeroElements {
 public:
  NonzeroElements(const char* name, int device, const char* mask, int64_t n);
  int64_t count() const { return count_; }
  void positions(int64_t* to) const;  // in ascending order
  void compress(char* to, const char* from,
                int64_t itemsize) const;  // the elements of contiguous `from` in their places

 private:
  const char* name_;
  int device_;
  const char* mask_;
  int64_t n_, count_;
  Workspace ends_;  // of each tile
};

// C = alpha A B + beta C, for each matrix of a batch.
void gemm(const GemmPlan& plan);
// For tests and to measure: from now on products in tiles take this row of the dtype's table, or ValueError where it
// has no such row; -1: the one that is estimated to be the fastest. And the number of rows for the current device.
void force_gemm_tile(int index);
int gemm_tiles(DType dtype);

// Linear algebra: matrices of one of float32, float64, complex64, complex128, packed one after the other, as
// LinalgKernels of backend/backend.h has it. Note [LU on the device] in linalg_run.cu.
void lu_factor(const char* name, int device, DType dtype, int64_t batch, int64_t m, int64_t n, void* a, int32_t* pivots,
               int32_t* info);
void lu_solve(const char* name, int device, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu,
              int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b, int op);
void cholesky(const char* name, int device, DType dtype, int64_t batch, int64_t n, void* a, bool upper, int32_t* info);
void solve_triangular(const char* name, int device, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t,
                      int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal);
// Exchanges row i with row pivots[i] - 1 for i from 0 to count - 1, or backwards, in packed matrices of any dtype.
void exchange_rows(const char* name, int device, DType dtype, int64_t batch, int64_t rows, int64_t columns, void* a,
                   const int32_t* pivots, int64_t count, bool backwards);
// +1 or -1 for the permutation that `count` pivots make.
void permutation_sign(const char* name, int device, int64_t batch, int64_t count, const int32_t* pivots, double* sign);
// Reports the first of n matrices whose info is not 0; `wait`: and waits, which raises it.
void check_info(const char* name, int device, LinalgFailure fault, const int32_t* info, int64_t n, bool batched,
                bool wait);

// Decompositions, as DecompositionKernels of backend/backend.h has them, by cuSOLVER: Note [Decompositions on the device]
// in decompositions.cu. The last one is made of triangular systems and needs no cuSOLVER.
void qr(const DecompositionPlan& plan, void* tau);
void form_q(const DecompositionPlan& plan, int64_t k, const void* tau);
void apply_q(const DecompositionPlan& plan, int64_t k, const void* reflectors, const void* tau, bool left,
             bool adjoint);
void svd(const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, SvdDriver driver);
void eigh(const DecompositionPlan& plan, void* w, bool upper, bool vectors);
void eig(const DecompositionPlan& plan, void* w, void* v);
void ldl_factor(const DecompositionPlan& plan, int32_t* pivots, bool hermitian);
void ldl_solve(const DecompositionPlan& plan, int64_t k, const int32_t* pivots, void* b, bool hermitian);
// find(cuda, path, size) writes the path of the cuSOLVER for that major version of CUDA, or an empty string.
void set_solver_finder(void (*find)(int cuda, char* path, size_t size));

// Zeroes what is not on or below (keep_below), on or above the diagonal column - row == diagonal. Axes: columns, rows,
// batch.
void clear_triangle(const LoopPlan& plan, int64_t diagonal, bool keep_below);

// to[i] = floor(position[i] / inner) mod size
void unravel(const char* name, int device, int64_t* to, const int64_t* position, int64_t n, int64_t inner,
             int64_t size);

// Evenly spaced numbers: to[i] for i < ramp.steps.
void ramp(const char* name, int device, RangeKind kind, DType dtype, void* to, int64_t n, const RangeSpec& ramp);

// Random numbers of n contiguous elements, from block `offset` of the seed's sequence on (Note [Device random numbers]
// in random.h). They return the number of blocks used, which the generator's offset grows by.
uint64_t random_fill(const char* name, int device, const RandomFill& what, DType dtype, void* to, int64_t n,
                     PhiloxState state);
// One with probability p[i]. A p outside [0, 1] is reported.
uint64_t random_bernoulli(const char* name, int device, DType dtype, void* to, DType p_dtype, const void* p, int64_t n,
                          PhiloxState state);
// Poisson's law of rate[i]. A negative rate is reported.
uint64_t random_poisson(const char* name, int device, DType dtype, void* to, const void* rate, int64_t n,
                        PhiloxState state);
// 0 ... n - 1 in a random order.
uint64_t random_permutation(const char* name, int device, DType dtype, void* to, int64_t n, PhiloxState state);
// For each row of weights `samples` of its categories, with replacement. Waits, to check the weights.
uint64_t random_choice(const char* name, int device, DType dtype, int64_t* to, const void* weights, int64_t rows,
                       int64_t categories, int64_t samples, PhiloxState state, WeightsFailure* fault);

}  // namespace cuda
}  // namespace strided
