// Activations of neural networks; those of one op and no checks are bound with the op table.
#include "ops/activation.h"

#include "python/bind/bind.h"

namespace strided::python {

void bind_activations() {
  def<&celu>("celu(Tensor input, float alpha=1.0)",
             "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) of each element, for float dtypes. RuntimeError for "
             "alpha 0. J. T. Barron, \"Continuously differentiable exponential linear units\" (2017).\n\n"
             ">>> strided.celu(strided.tensor([-1., 2.]))\ntensor([-0.6321,  2.0000])",
             kFunction);
  def<&celu_>("celu_(Tensor self, float alpha=1.0)", "In-place form of `celu`.", kFunction);
  def<&selu>("selu(Tensor input)",
             "scale * (max(0, x) + min(0, alpha * (exp(x) - 1))) of each element, for float dtypes, with alpha = "
             "1.6732632423543772 and scale = 1.0507009873554805. G. Klambauer et al., \"Self-normalizing neural "
             "networks\" (2017).\n\n"
             ">>> strided.selu(strided.tensor([-1., 2.]))\ntensor([-1.1113,  2.1014])",
             kFunction);
  def<&selu_>("selu_(Tensor self)", "In-place form of `selu`.", kFunction);
  def<&prelu>("prelu(Tensor input, Tensor weight)",
              "Each element where it is positive, else weight times it. `weight` has input's dtype, and one element, "
              "or one for each channel (axis 1); RuntimeError else. K. He, X. Zhang, S. Ren, J. Sun, \"Delving deep "
              "into rectifiers\" (2015).\n\n"
              ">>> strided.prelu(strided.tensor([[-1., 2.], [3., -4.]]), strided.tensor([0.5, 0.25]))\n"
              "tensor([[-0.5000,  2.0000],\n        [ 3.0000, -1.0000]])");
  def<&gelu>("nn.functional.gelu(Tensor input, *, str approximate='none')",
             "x times the distribution function of the standard normal law at x, for float dtypes; with approximate = "
             "'tanh' 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). RuntimeError for another word. D. Hendrycks, "
             "K. Gimpel, \"Gaussian error linear units\" (2016).",
             kFunction);
  def<&softshrink>(
      "nn.functional.softshrink(Tensor input, float lambd=0.5)",
      "Each element brought nearer to 0 by lambd, and 0 where |x| <= lambd, for float dtypes. RuntimeError "
      "for a negative lambd.",
      kFunction);
  def<&relu6>("nn.functional.relu6(Tensor input)", "Each element brought into [0, 6], for real dtypes but bool.",
              kFunction);
  def<&relu6_>("nn.functional.relu6_(Tensor self)", "In-place form of `relu6`.", kFunction);
  def<&softsign>("nn.functional.softsign(Tensor input)",
                 "x / (1 + |x|) of each element. Integers and bool are computed in the default float.", kFunction);
}

}  // namespace strided::python
