// Tensors joined, repeated and rearranged: functions and methods.
#include "ops/shape/join.h"

#include "base/warning.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

// One of several C++ functions of the same name.
template <class Signature>
constexpr Signature* pick(Signature* f) {
  return f;
}

std::vector<Tensor> grid(const std::vector<Tensor>& tensors, const std::optional<std::string>& indexing) {
  if (!indexing)
    warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.");
  return meshgrid(tensors, indexing.value_or("ij"));
}

void bind_joins() {
  def<&cat>(
      "cat(Tensor[] tensors, int dim=0, *, Tensor? out=None)",
      "Tensors side by side along an axis they have. Their other sizes must agree (RuntimeError); 1-d tensors without elements are\n"
      "skipped; different dtypes are promoted. ValueError for an empty list.\n\n"
      ">>> strided.cat([strided.zeros(1, 2), strided.ones(2, 2)])\ntensor([[0., 0.],\n        [1., 1.],\n        [1., 1.]])",
      kFunction | kJoins);
  def<&cat>("concat(Tensor[] tensors, int dim=0, *, Tensor? out=None)", "Another name of cat.", kFunction | kJoins);
  def<&cat>("concatenate(Tensor[] tensors, int dim=0, *, Tensor? out=None)", "NumPy's name of cat.",
            kFunction | kJoins);
  def<&stack>(
      "stack(Tensor[] tensors, int dim=0, *, Tensor? out=None)",
      "Tensors of one shape along a new axis. RuntimeError when the shapes differ; different dtypes are promoted.\n\n"
      ">>> strided.stack([strided.tensor([1, 2]), strided.tensor([3, 4])], 1)\ntensor([[1, 3],\n        [2, 4]])",
      kFunction | kJoins);
  def<&hstack>(
      "hstack(Tensor[] tensors, *, Tensor? out=None)",
      "cat along the second axis, for vectors along the only one.\n\n>>> strided.hstack([strided.tensor([1, 2]), strided.tensor([3])])\ntensor([1, 2, 3])",
      kFunction | kJoins);
  const char* rows =
      "cat along the first axis of tensors made at least 2-dimensional: vectors become rows.\n\n"
      ">>> strided.vstack([strided.tensor([1, 2]), strided.tensor([3, 4])])\ntensor([[1, 2],\n        [3, 4]])";
  def<&vstack>("vstack(Tensor[] tensors, *, Tensor? out=None)", rows, kFunction | kJoins);
  def<&vstack>("row_stack(Tensor[] tensors, *, Tensor? out=None)", "Another name of vstack.", kFunction | kJoins);
  def<&dstack>(
      "dstack(Tensor[] tensors, *, Tensor? out=None)",
      "cat along the third axis of tensors made at least 3-dimensional.\n\n"
      ">>> strided.dstack([strided.tensor([1, 2]), strided.tensor([3, 4])])\ntensor([[[1, 3],\n         [2, 4]]])",
      kFunction | kJoins);
  def<&column_stack>(
      "column_stack(Tensor[] tensors, *, Tensor? out=None)",
      "hstack with vectors as columns.\n\n"
      ">>> strided.column_stack([strided.tensor([1, 2]), strided.tensor([3, 4])])\ntensor([[1, 3],\n        [2, 4]])",
      kFunction | kJoins);
  def<&block_diag>(
      "block_diag(Tensor[] *tensors)",
      "A matrix with the given ones along its diagonal and zeros elsewhere; numbers and vectors count as matrices of one row. RuntimeError\n"
      "for more than 2 dimensions.\n\n>>> strided.block_diag(strided.tensor([[1, 2]]), strided.tensor(3))\ntensor([[1, 2, 0],\n        [0, 0, 3]])",
      kFunction);
  def<&grid>(
      "meshgrid(Tensor[] *tensors, *, str? indexing=None)",
      "Coordinates of a grid from the coordinates of its axes (vectors of one dtype): the i-th result varies along axis i alone. With\n"
      "indexing='xy' the first two axes are exchanged. A tuple of views.\n\n"
      ">>> x, y = strided.meshgrid(strided.tensor([1, 2]), strided.tensor([3, 4]), indexing='ij')\n>>> x\ntensor([[1, 1],\n        [2, 2]])",
      kFunction);
  def<&cartesian_prod>(
      "cartesian_prod(Tensor[] *tensors)",
      "All ways of taking one element of each vector, as rows. A single vector comes back itself.\n\n"
      ">>> strided.cartesian_prod(strided.tensor([1, 2]), strided.tensor([3, 4]))\ntensor([[1, 3],\n        [1, 4],\n        [2, 3],\n        [2, 4]])",
      kFunction);
  def<&combinations>(
      "combinations(Tensor input, int r=2, bool with_replacement=False)",
      "All choices of r elements of a vector, in the order of their places, as rows.\n\n"
      ">>> strided.combinations(strided.tensor([1, 2, 3]))\ntensor([[1, 2],\n        [1, 3],\n        [2, 3]])",
      kFunction);
}

void bind_repeats() {
  def<&repeat>(
      "repeat(Tensor input, int[] *repeats)",
      "The tensor as a tile, repeated so many times along each axis; new axes come in front. RuntimeError when there are fewer numbers\n"
      "than axes.\n\n>>> strided.tensor([1, 2]).repeat(2, 2)\ntensor([[1, 2, 1, 2],\n        [1, 2, 1, 2]])",
      kMethod);
  def<&tile>(
      "tile(Tensor input, int[] *dims)",
      "repeat with ones in front of too few numbers.\n\n>>> strided.tile(strided.tensor([1, 2]), (2,))\ntensor([1, 2, 1, 2])");
  using ByNumber = Tensor(const Tensor&, int64_t, std::optional<int64_t>, std::optional<int64_t>);
  using ByTensor = Tensor(const Tensor&, const Tensor&, std::optional<int64_t>, std::optional<int64_t>);
  using Alone = Tensor(const Tensor&, std::optional<int64_t>);
  const char* each =
      "Each element repeated so many times, along an axis or, without one, of the flattened tensor. `repeats` is a number or an integer\n"
      "tensor with one for each element of the axis. RuntimeError for negative ones, or an output_size that is not their sum.\n\n"
      ">>> strided.tensor([1, 2]).repeat_interleave(2)\ntensor([1, 1, 2, 2])\n"
      ">>> strided.tensor([1, 2]).repeat_interleave(strided.tensor([1, 3]))\ntensor([1, 2, 2, 2])";
  def<pick<ByTensor>(&repeat_interleave)>(
      "repeat_interleave(Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None)", each);
  def<pick<ByNumber>(&repeat_interleave)>(
      "repeat_interleave(Tensor input, int repeats, int? dim=None, *, int? output_size=None)",
      "The same number of times for all.");
  def<pick<Alone>(&repeat_interleave)>("repeat_interleave(Tensor repeats, *, int? output_size=None)",
                                       "0 repeats[0] times, 1 repeats[1] times, and so on.\n\n"
                                       ">>> strided.repeat_interleave(strided.tensor([1, 2]))\ntensor([0, 1, 1])",
                                       kFunction);
}

Tensor roll_by(const Tensor& x, const Dims& shifts, const std::optional<Dims>& dims) {
  return roll(x, shifts, dims.value_or(Dims{}));
}

void bind_rearrangements() {
  def<&roll_by>(
      "roll(Tensor input, int[] shifts, int[]? dims=None)",
      "Elements moved along axes by so many places, those that leave at one end coming in at the other. Without dims the flattened tensor is\n"
      "moved. RuntimeError unless there is one shift for each axis.\n\n>>> strided.arange(4).roll(1)\ntensor([3, 0, 1, 2])");
  def<&flip>("flip(Tensor input, int[] *dims)",
             "A copy with the given axes reversed.\n\n>>> strided.arange(3).flip(0)\ntensor([2, 1, 0])");
  def<&fliplr>("fliplr(Tensor input)",
               "A copy with the second axis reversed. RuntimeError for fewer than 2 dimensions.\n\n"
               ">>> strided.tensor([[1, 2]]).fliplr()\ntensor([[2, 1]])");
  def<&flipud>("flipud(Tensor input)",
               "A copy with the first axis reversed. RuntimeError for a 0-d tensor.\n\n"
               ">>> strided.tensor([1, 2]).flipud()\ntensor([2, 1])");
  def<&rot90>("rot90(Tensor input, int k=1, int[] dims=(0, 1))",
              "A copy rotated k times by 90 degrees in the plane of two axes, from the first towards the second.\n\n"
              ">>> strided.tensor([[1, 2], [3, 4]]).rot90()\ntensor([[2, 4],\n        [1, 3]])");
  def<&tril>(
      "tril(Tensor input, int diagonal=0, *, Tensor? out=None)",
      "A copy of the matrices in the last two axes with zeros above a diagonal (0: the main one, positive: above it). RuntimeError for\n"
      "fewer than 2 dimensions.\n\n>>> strided.ones(2, 2).tril()\ntensor([[1., 0.],\n        [1., 1.]])");
  def<&triu>(
      "triu(Tensor input, int diagonal=0, *, Tensor? out=None)",
      "A copy of the matrices in the last two axes with zeros below a diagonal.\n\n>>> strided.ones(2, 2).triu()\ntensor([[1., 1.],\n        [0., 1.]])");
  def<&tril_>("tril_(Tensor input, int diagonal=0)", "tril in place.", kMethod);
  def<&triu_>("triu_(Tensor input, int diagonal=0)", "triu in place.", kMethod);
  def<&diag>(
      "diag(Tensor input, int diagonal=0, *, Tensor? out=None)",
      "The matrix with a vector on the given diagonal and zeros elsewhere, or a copy of the diagonal of a matrix. RuntimeError for other\n"
      "numbers of dimensions.\n\n>>> strided.diag(strided.tensor([1, 2]))\ntensor([[1, 0],\n        [0, 2]])");
  def<&diagflat>(
      "diagflat(Tensor input, int offset=0)",
      "diag of the flattened tensor.\n\n>>> strided.diagflat(strided.tensor([1]), 1)\ntensor([[0, 1],\n        [0, 0]])");
  def<&diag_embed>(
      "diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1)",
      "Matrices, in two axes of the result, that have the last axis of the tensor on the given diagonal and zeros elsewhere.\n\n"
      ">>> strided.diag_embed(strided.tensor([[1, 2]])).shape\ntorch.Size([1, 2, 2])");
  def<&select_scatter>(
      "select_scatter(Tensor input, Tensor src, int dim, int index)",
      "A copy in which the part that select shows is replaced by src, which must have its shape (RuntimeError).\n\n"
      ">>> strided.zeros(2, 2).select_scatter(strided.ones(2), 0, 1)\ntensor([[0., 0.],\n        [1., 1.]])");
  def<&slice_scatter>(
      "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1, *, Tensor? out=None)",
      "A copy in which a slice of an axis is replaced by src, which must have its shape (RuntimeError).\n\n"
      ">>> strided.zeros(3).slice_scatter(strided.ones(1), 0, 1, 2)\ntensor([0., 1., 0.])");
  def<&diagonal_scatter>(
      "diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1)",
      "A copy in which the part that diagonal shows is replaced by src, which must have its shape (RuntimeError).\n\n"
      ">>> strided.zeros(2, 2).diagonal_scatter(strided.ones(2))\ntensor([[1., 0.],\n        [0., 1.]])");
}

}  // namespace

void bind_joining() {
  bind_joins();
  bind_repeats();
  bind_rearrangements();
}

}  // namespace strided::python
