// Losses of classes, their usual calls: nn.functional has them under the same name without `_`, with every other call,
// for which these return None.
#include "ops/reduce/class_loss.h"

#include "python/bind/bind.h"

namespace strided::python {

void bind_losses() {
  const std::string classes =
      "(Tensor input, Tensor target, Tensor? weight=None, int? size_average=None, int ignore_index=-100, int? reduce=None, str reduction='mean'";
  def<&nll_loss>(("_nll_loss" + classes + ")").c_str(), "nn.functional.nll_loss.", kFunction);
  def<&cross_entropy>(("_cross_entropy" + classes + ", float label_smoothing=0.0)").c_str(),
                      "nn.functional.cross_entropy.", kFunction);
  def<&pair_loss>("_pair_loss(Tensor input, Tensor target, str name, float delta, str reduction)",
                  "mse_loss, huber_loss and smooth_l1_loss, summed or averaged; or None.", kFunction);
  def<&label_sums>("_label_sums(Tensor scores, Tensor skips, Tensor lengths, Tensor labels, bool backward)",
                   "Sums over the ways through label sequences, for ctc_loss; or None.", kFunction);
  def<&margin_loss>("_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None)",
                    "multi_margin_loss, or multilabel_margin_loss, of each row of a matrix; or None.", kFunction);
  def<&binary_cross_entropy>("_binary_cross_entropy(Tensor input, Tensor target)",
                             "nn.functional.binary_cross_entropy of each element.", kFunction);
}

}  // namespace strided::python
