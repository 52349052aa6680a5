#include "ops/activation.h"

#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

template <class Op>
Tensor with_params(const Tensor& x, const double (&params)[4]) {
  const Operand in[] = {Operand(x)};
  return call_elementwise(op_def(elementwise_id<Op>), in, params);
}
template <class Op>
Tensor with_params_(const Tensor& self, const double (&params)[4]) {
  const Operand in[] = {Operand(self)};
  return call_elementwise_out(op_def(elementwise_id<Op>), in, params, self, true);
}

double checked_alpha(double alpha) {
  STRIDED_CHECK(alpha != 0, RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return alpha;
}

// The fixed point of mean and variance: G. Klambauer, T. Unterthiner, A. Mayr, S. Hochreiter, "Self-normalizing neural
// networks" (2017).
constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

}  // namespace

Tensor celu(const Tensor& x, double alpha) {
  return shown_as("CeluBackward0", with_params<Elu>(x, {checked_alpha(alpha), 1, 1 / alpha, 0}));
}
Tensor celu_(const Tensor& self, double alpha) {
  return with_params_<Elu>(self, {checked_alpha(alpha), 1, 1 / alpha, 0});
}
Tensor selu(const Tensor& x) { return with_params<Elu>(x, {kSeluAlpha, kSeluScale, 1, 0}); }
Tensor selu_(const Tensor& self) { return with_params_<Elu>(self, {kSeluAlpha, kSeluScale, 1, 0}); }

Tensor gelu(const Tensor& x, const std::string& approximate) {
  STRIDED_CHECK(approximate == "none" || approximate == "tanh", RuntimeError,
                "approximate argument must be either none or tanh.");
  return approximate == "none" ? elementwise<Gelu>(x) : elementwise<GeluTanh>(x);
}

Tensor softshrink(const Tensor& x, double lambd) {
  const double most = info_of(x.dtype()).greatest;
  STRIDED_CHECK(!is_floating(x.dtype()) || (lambd >= 0 && lambd <= most), RuntimeError, "lambda must be in range [0, ",
                most, "] for input dtype ", x.dtype(), ", but found ", lambd);
  return with_params<Softshrink>(x, {lambd});
}

Tensor relu6(const Tensor& x) { return with_params<Hardtanh>(x, {0, 6}); }
Tensor relu6_(const Tensor& self) { return with_params_<Hardtanh>(self, {0, 6}); }

Tensor prelu(const Tensor& x, const Tensor& weight) {
  STRIDED_CHECK(x.dtype() == weight.dtype(), RuntimeError, "prelu: Type promoting not supported. Got ", x.dtype(),
                " and ", weight.dtype());
  STRIDED_CHECK(weight.ndim() <= 1, RuntimeError,
                "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.ndim());
  if (weight.numel() == 1) return elementwise<Prelu>(x, weight.ndim() == 0 ? weight : select(weight, 0, 0));
  STRIDED_CHECK(x.ndim() > 0, RuntimeError, "Not allow zero-dim input tensor.");
  const int64_t channels = x.ndim() > 1 ? x.size(1) : 1;
  STRIDED_CHECK(weight.numel() == channels, RuntimeError,
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
                " and channel size = ", channels, ".");
  Dims shape;
  for (int i = 1; i < x.ndim(); ++i) shape.push_back(i == 1 ? channels : 1);
  return elementwise<Prelu>(x, view(weight, shape));
}

Tensor softsign(const Tensor& x) {
  // The derivative of |z| has no place in the op: it is not analytic.
  return is_complex(x.dtype()) ? x / (elementwise<Abs>(x) + 1) : shown_as("DivBackward0", elementwise<Softsign>(x));
}

}  // namespace strided
