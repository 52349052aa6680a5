// The table of one dtype's kernels. Included by the units that instantiate it.
#pragma once

#include "cuda/linalg/linalg_block.h"
#include "cuda/linalg/linalg_solve.h"

namespace strided {
namespace cuda {

template <class T>
const LinalgTable<T>& linalg_table() {
  static const LinalgTable<T> table = {
      {lu_small_kernel<T, 4>, lu_small_kernel<T, 8>, lu_small_kernel<T, 16>, lu_small_kernel<T, 32>},
      {cholesky_small_kernel<T, 4>, cholesky_small_kernel<T, 8>, cholesky_small_kernel<T, 16>,
       cholesky_small_kernel<T, 32>},
      {solve_few_kernel<T, 4>, solve_few_kernel<T, 8>, solve_few_kernel<T, 16>, solve_few_kernel<T, 32>},
      {solve_many_kernel<T, 4>, solve_many_kernel<T, 8>, solve_many_kernel<T, 16>, solve_many_kernel<T, 32>},
      {lu_block_kernel<T, false>, lu_block_kernel<T, true>},
      cholesky_block_kernel<T>};
  return table;
}

}  // namespace cuda
}  // namespace strided
