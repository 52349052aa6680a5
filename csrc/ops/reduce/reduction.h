// Reductions: PyTorch's functions of that name. `dims` lists the axes to reduce, and empty means all of them; keepdim
// leaves them with size 1. Axes out of range are an IndexError, an axis listed twice a RuntimeError.
// Results are bitwise the same for any number of threads, and rounding errors of sums grow with the logarithm of the
// number of elements (Note [The reduction tree] in cpu/reduce/reduce_run.cpp).
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "core/scalar.h"
#include "ops/call_reduction.h"
#include "ops/named_formula.h"
#include "ops/saved_tensor.h"
#include "tensor/tensor.h"

namespace strided {

// The public function of a reduction: errors as PyTorch's, promotion, the record for autograd.
struct ReduceArguments {
  std::optional<Dims> dims;  // none: all
  bool keepdim = false;
  std::optional<DType> dtype = {};  // the input is cast to it first
  double param = 0;
};
Tensor reduced(const ReductionDef& def, const Tensor& x, const ReduceArguments& arguments);
// The same under another name, and with another name of the node.
Tensor reduced_as(const char* name, const char* node, const ReductionDef& def, const Tensor& x,
                  const ReduceArguments& arguments);

// A result over these axes, back in the shape of what was reduced (stride 0 along them). Recorded.
Tensor expand_reduced(const Tensor& result, const Dims& shape, uint64_t axes, bool keepdim);

// Zeros of `shape` with g added at the positions `index` along an axis: the gradient of a selection, g and index being
// without that axis unless keepdim. Recorded.
Tensor scatter_along(const Tensor& g, const Tensor& index, int axis, bool keepdim, const Dims& shape);
// The formula of elements `index` that were taken along an axis, which the user called `dim`.
inline auto gradient_of_taken(const Tensor& x, int64_t dim, int axis, bool keepdim, const Tensor& index,
                              const char* names) {
  auto formula = [axis](const std::vector<Tensor>& g, int64_t, bool keepdim, const SavedTensor& index,
                        const Dims& shape) {
    return std::vector<Tensor>{scatter_along(g[0], index.get(), axis, keepdim, shape)};
  };
  return NamedFormula{std::tuple{dim, keepdim, SavedTensor(index), x.shape()}, std::move(formula), names};
}
// The gradient of an extreme `out` of x: in even parts to all elements equal to it. Recorded.
Tensor share_among_ties(const Tensor& g, const Tensor& x, const Tensor& out, uint64_t axes, bool keepdim);
bool is_empty_along(const Tensor& x, uint64_t axes);
// A reduction without identity: what PyTorch says of an axis without elements; `listed`: the caller named axes.
void check_not_empty(const char* op, const Tensor& x, uint64_t axes, bool listed);
int64_t count_along(const Dims& shape, uint64_t axes);

// dtype: the input is cast to it first. bool and integers give int64 (uint64 gives uint64).
Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nansum(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor prod(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// Floating and complex only.
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
Tensor nanmean(const Tensor& x, const Dims& dims = {}, bool keepdim = false, std::optional<DType> dtype = {});
// correction: none is 1.
Tensor var(const Tensor& x, const Dims& dims = {}, const std::optional<Scalar>& correction = {}, bool keepdim = false);
Tensor std(const Tensor& x, const Dims& dims = {}, const std::optional<Scalar>& correction = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, const Dims& dims = {},
                                    const std::optional<Scalar>& correction = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, const Dims& dims = {},
                                    const std::optional<Scalar>& correction = {}, bool keepdim = false);
// The vector norm of an order (any real number, infinities included) of all elements along dims.
Tensor vector_norm(const Tensor& x, const Scalar& order = 2, const Dims& dims = {}, bool keepdim = false,
                   std::optional<DType> dtype = {});
Tensor dist(const Tensor& x, const Tensor& other, const Scalar& order = 2);  // vector_norm(x - other, order)
// g / by; 0 where the divisor is zero, and so are all derivatives. Recorded.
Tensor quotient(const Tensor& g, const Tensor& by);
// The gradient of the vector norm `out` of x over these axes: 0 where the norm is, undefined for order 0. Recorded.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& out, double p, uint64_t axes, bool keepdim);
Tensor logsumexp(const Tensor& x, const Dims& dims, bool keepdim = false);

// Real dtypes. NaN wins; gradients are shared evenly among ties.
Tensor amax(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor max(const Tensor& x);
Tensor min(const Tensor& x);
// Values and the first positions (int64); the gradient goes to these.
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
// Without dim: the position in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

// Without dims all axes are reduced, with an empty list none. bool; uint8 for uint8.
Tensor all(const Tensor& x, const std::optional<Dims>& dims = {}, bool keepdim = false);
Tensor any(const Tensor& x, const std::optional<Dims>& dims = {}, bool keepdim = false);

}  // namespace strided
