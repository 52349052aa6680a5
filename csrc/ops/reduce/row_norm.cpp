#include "ops/reduce/row_norm.h"

#include "backend/backend.h"
#include "ops/copy.h"

namespace strided {
namespace {

constexpr const char* kName = "layer_norm";

void check_like(const Tensor& t, const Tensor& x, int64_t numel) {
  STRIDED_CHECK(t.dtype() == x.dtype() && t.device() == x.device() && t.is_contiguous() && t.numel() == numel,
                RuntimeError, kName, ": expected ", numel, " contiguous elements of torch.", name_of(x.dtype()), " on ",
                x.device(), ", got ", t.shape(), " of torch.", name_of(t.dtype()), " on ", t.device());
}

// The number of rows of n elements.
int64_t rows_of(const Tensor& x, int64_t n) {
  STRIDED_CHECK(has_row_norm(x), NotImplementedError, kName, ": rows of torch.", name_of(x.dtype()), " on ", x.device(),
                " are not normalised in one operation, or the tensor is empty or not contiguous");
  STRIDED_CHECK(n > 0 && x.numel() % n == 0, RuntimeError, kName, ": a tensor of ", x.numel(),
                " elements has no rows of ", n);
  return x.numel() / n;
}

// The number of weights, and of biases.
template <class Plan>
int64_t weights_of(const Plan& plan) {
  STRIDED_CHECK(plan.share > 0 && plan.n % plan.share == 0 && plan.period > 0 && plan.rows % plan.period == 0,
                RuntimeError, kName, ": ", plan.rows, " rows of ", plan.n, " elements have no weights for each ",
                plan.share, " elements that begin anew every ", plan.period, " rows");
  return plan.n / plan.share * plan.period;
}

const void* data_of(const std::optional<Tensor>& t, const Tensor& x, int64_t n) {
  if (!t) return nullptr;
  check_like(*t, x, n);
  return t->data();
}

}  // namespace

bool has_row_norm(const Tensor& x) {
  return (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) && x.is_contiguous() && x.numel() > 0 &&
         backend(x.device()).normalise_rows != nullptr;
}

std::tuple<Tensor, Tensor, Tensor> normalise_rows(const Tensor& x, const std::optional<Tensor>& weight,
                                                  const std::optional<Tensor>& bias, int64_t n, int64_t share,
                                                  int64_t period, double eps) {
  RowNormPlan plan;
  plan.rows = rows_of(x, n);
  plan.dtype = x.dtype();
  plan.n = n;
  plan.share = share;
  plan.period = period;
  plan.eps = eps;
  plan.x = x.data();
  const int64_t weights = weights_of(plan);
  plan.weight = data_of(weight, x, weights);
  plan.bias = data_of(bias, x, weights);
  const Tensor out = empty(x.shape(), x.dtype(), x.device());
  const Tensor mean = empty(Dims{plan.rows}, x.dtype(), x.device()),
               scale = empty(Dims{plan.rows}, x.dtype(), x.device());
  plan.out = out.data();
  plan.mean = mean.data();
  plan.scale = scale.data();
  backend(x.device()).normalise_rows(plan);
  return {out, mean, scale};
}

std::tuple<Tensor, Tensor, Tensor> normalise_rows_gradient(const Tensor& grad, const Tensor& x, const Tensor& mean,
                                                           const Tensor& scale, const std::optional<Tensor>& weight,
                                                           int64_t n, int64_t share, int64_t period, bool to_x,
                                                           bool to_weight, bool to_bias) {
  RowNormGradientPlan plan;
  plan.rows = rows_of(x, n);
  plan.dtype = x.dtype();
  plan.n = n;
  plan.share = share;
  plan.period = period;
  const int64_t weights = weights_of(plan);
  check_like(grad, x, x.numel());
  check_like(mean, x, plan.rows);
  check_like(scale, x, plan.rows);
  plan.grad = grad.data();
  plan.x = x.data();
  plan.mean = mean.data();
  plan.scale = scale.data();
  plan.weight = data_of(weight, x, weights);
  Tensor for_x, for_weight, for_bias;
  if (to_x) plan.to_x = (for_x = empty(x.shape(), x.dtype(), x.device())).data();
  if (to_weight) plan.to_weight = (for_weight = empty(Dims{weights}, x.dtype(), x.device())).data();
  if (to_bias) plan.to_bias = (for_bias = empty(Dims{weights}, x.dtype(), x.device())).data();
  backend(x.device()).normalise_rows_gradient(plan);
  return {for_x, for_weight, for_bias};
}

}  // namespace strided
