// Functions that read and write by index and by mask.
#include "ops/copy.h"
#include "ops/index/index.h"
#include "ops/index/sparse_product.h"
#include "ops/out.h"
#include "python/bind/bind.h"
#include "python/bind/warned.h"
#include "python/subscript.h"

namespace strided::python {
namespace {

using Reduce = std::optional<std::string>;

PyObject* tuple_of(const std::vector<Tensor>& list) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(list[i]));
  return tuple;
}

PyObject* nonzero_as(const Tensor& x, bool as_tuple) {
  return as_tuple ? tuple_of(nonzero_tuple(x)) : wrap(strided::nonzero(x));
}
PyObject* nonzero_into(const Tensor& x, bool as_tuple, const std::optional<Tensor>& out) {
  if (!out) return nonzero_as(x, as_tuple);
  STRIDED_CHECK(!as_tuple, RuntimeError, "nonzero does not support the out kwarg when as_tuple is True");
  STRIDED_CHECK(out->dtype() == DType::Int64, RuntimeError,
                "nonzero: Expected out tensor to have scalar type Long but got scalar type", cpp_name_of(out->dtype()));
  write_out("nonzero", *out, strided::nonzero(x));
  return wrap(*out);
}

constexpr char kReduce[] = "index_reduce() is in beta and the API may change at any time.";

template <Tensor (*F)(const Tensor&, int64_t, const Tensor&, Operand, const std::optional<std::string>&)>
Tensor scattered(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src,
                 const std::optional<std::string>& reduce) {
  if (reduce && src.tensor)
    warn_once(
        "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch "
        "release. Use torch.scatter_reduce instead for more reduction options.");
  return F(self, dim, index, src, reduce);
}

Tensor where_of(const Tensor& condition, const Operand& x, const Operand& other) {
  if (condition.dtype() == DType::UInt8)
    warn_once(
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
        "PyTorch. Use a boolean condition instead.");
  return where(condition, x, other);
}
Tensor where_method(const Tensor& self, const Tensor& condition, const Operand& other) {
  return where_of(condition, self, other);
}

// A mask of bytes is taken as x[mask] takes it, with the same warning.
void warn_of_bytes(const Indices& indices) {
  for (const auto& entry : indices)
    if (entry && entry->dtype() == DType::UInt8) warn_of_byte_mask();
}
Tensor index_put_by(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  warn_of_bytes(indices);
  return index_put(self, indices, values, accumulate);
}
Tensor index_put_by_(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  warn_of_bytes(indices);
  return index_put_(self, indices, values, accumulate);
}

}  // namespace

void bind_indexing() {
  def<&index_select>("index_select(Tensor input, int dim, Tensor index, *, Tensor? out=None)",
                     R"(Slices of `input` along `dim`, chosen by a vector.

The result has input's shape, but index.numel() along `dim`. `index` is int64 or int32, 1-d or 0-d, in [0, size);
IndexError otherwise.

>>> x = strided.arange(6).reshape(2, 3)
>>> strided.index_select(x, 1, strided.tensor([2, 0]))
tensor([[2, 0],
        [5, 3]]))");

  def<&embedding>(
      "_embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)",
      "nn.functional.embedding, its usual calls; or None.", kFunction);

  def<&index_add>("index_add(Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1, Tensor? out=None)",
                  R"(A copy of `input` with alpha * source added to the slices that `index` names along `dim`.

`source` has input's dtype and shape, except along `dim`, where it has index.numel(). Indices may repeat; slices are
added in their order.

>>> strided.zeros(3).index_add(0, strided.tensor([0, 0, 2]), strided.tensor([1., 2., 3.]))
tensor([3., 0., 3.]))");
  def<&index_add_>("index_add_(Tensor self, int dim, Tensor index, Tensor source, *, Number alpha=1)",
                   R"(In-place form of index_add.

>>> strided.zeros(2).index_add_(0, strided.tensor([1]), strided.tensor([5.]))
tensor([0., 5.]))",
                   kMethod);

  def<&index_copy>(
      "index_copy(Tensor input, int dim, Tensor index, Tensor source, *, Tensor? out=None)",
      R"(A copy of `input` with the slices that `index` (int64) names along `dim` replaced by those of `source`.

`source` has input's dtype and shape, except along `dim`. For a repeated index the last slice stays.

>>> strided.zeros(3).index_copy(0, strided.tensor([2, 0]), strided.tensor([1., 2.]))
tensor([2., 0., 1.]))");
  def<&index_copy_>("index_copy_(Tensor self, int dim, Tensor index, Tensor source)", R"(In-place form of index_copy.

>>> strided.zeros(2).index_copy_(0, strided.tensor([1]), strided.tensor([5.]))
tensor([0., 5.]))",
                    kMethod);

  def<&index_fill>(
      "index_fill(Tensor input, int dim, Tensor index, TensorOrNumber value)",
      R"(A copy of `input` with the slices that `index` (int64, may count from the end) names along `dim` set to a
number or 0-d tensor.

>>> strided.zeros(3).index_fill(0, strided.tensor([0, -1]), 7)
tensor([7., 0., 7.]))");
  def<&index_fill_>("index_fill_(Tensor self, int dim, Tensor index, TensorOrNumber value)",
                    R"(In-place form of index_fill.

>>> strided.zeros(2).index_fill_(0, strided.tensor([1]), 5)
tensor([0., 5.]))",
                    kMethod);

  def<&Warned<&index_reduce, kReduce>::call>(
      "index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, Tensor? out=None)",
      R"(A copy of `input` whose slices named by `index` along `dim` are reduced with those of `source`.

`reduce` is 'prod', 'mean', 'amax' or 'amin'. With include_self=False input's own slices do not count. An integer mean
rounds down.

>>> strided.ones(2).index_reduce(0, strided.tensor([0, 0]), strided.tensor([3., 5.]), 'amax')
tensor([5., 1.]))");
  def<&Warned<&index_reduce_, kReduce>::call>(
      "index_reduce_(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)",
      R"(In-place form of index_reduce.

>>> strided.ones(2).index_reduce_(0, strided.tensor([0, 0]), strided.tensor([3., 5.]), 'prod')
tensor([15.,  1.]))",
      kMethod);

  def<&index_put_by>("index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False)",
                     R"(A copy of `input` with input[indices] replaced by `values`, or added to with accumulate=True.

`indices` is a tuple of int64, int32 or bool tensors that broadcast together; `values` has input's dtype and broadcasts
to the shape of input[indices]. For a repeated place the last value stays; sums are added in the order of the index.

>>> strided.zeros(3).index_put((strided.tensor([0, 0]),), strided.tensor([1., 2.]), accumulate=True)
tensor([3., 0., 0.]))");
  def<&index_put_by_>("index_put_(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
                      R"(In-place form of index_put. Nothing is written when an index is out of range.

>>> strided.zeros(3).index_put_((strided.tensor([2]),), strided.tensor(1.))
tensor([0., 0., 1.]))",
                      kMethod);

  def<&gather>("gather(Tensor input, int dim, Tensor index, *, bool sparse_grad=False, Tensor? out=None)",
               R"(Elements of `input`, one for each element of `index`: for dim 0 out[i][j] = input[index[i][j]][j].

`index` (int64 or int32, in [0, size)) has as many axes as `input` and is no larger than it apart from `dim`. The result
has its shape. `sparse_grad` is accepted; the gradient is dense.

>>> x = strided.tensor([[1, 2], [3, 4]])
>>> strided.gather(x, 1, strided.tensor([[0, 0], [1, 0]]))
tensor([[1, 1],
        [4, 3]]))");

  constexpr const char* scatter_doc =
      R"(A copy of `input` with elements of `src` written where `index` says: for dim 0 out[index[i][j]][j] = src[i][j].

`index` (int64 or int32, in [0, size)) has as many axes as `input` and `src` and is no larger than either, apart from
`dim` of input. A number may stand for `src`. For a repeated place the last element stays, unless `reduce` is 'add' or
'multiply'.

>>> strided.zeros(2, 2).scatter(0, strided.tensor([[1, 0]]), strided.tensor([[5., 6.]]))
tensor([[0., 6.],
        [5., 0.]]))";
  def<&scattered<&scatter>>(
      "scatter(Tensor input, int dim, Tensor index, TensorOrNumber src, *, str? reduce=None, Tensor? out=None)",
      scatter_doc);
  def<&scattered<&scatter>>(
      "scatter(Tensor input, int dim, Tensor index, TensorOrNumber value, *, str? reduce=None, Tensor? out=None)",
      "The same; `value` is a number.");
  constexpr const char* scatter_inplace_doc = R"(In-place form of scatter.

>>> strided.zeros(2).scatter_(0, strided.tensor([1]), 5.)
tensor([0., 5.]))";
  def<&scattered<&scatter_>>("scatter_(Tensor self, int dim, Tensor index, TensorOrNumber src, *, str? reduce=None)",
                             scatter_inplace_doc, kMethod);
  def<&scattered<&scatter_>>("scatter_(Tensor self, int dim, Tensor index, TensorOrNumber value, *, str? reduce=None)",
                             "The same; `value` is a number.", kMethod);

  def<&scatter_add>("scatter_add(Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None)",
                    R"(scatter that adds: for dim 0 out[index[i][j]][j] += src[i][j], in the order of the index.

>>> strided.zeros(3).scatter_add(0, strided.tensor([0, 2, 0]), strided.tensor([1., 2., 3.]))
tensor([4., 0., 2.]))");
  def<&scatter_add_>("scatter_add_(Tensor self, int dim, Tensor index, Tensor src)", R"(In-place form of scatter_add.

>>> strided.zeros(2).scatter_add_(0, strided.tensor([1, 1]), strided.tensor([1., 2.]))
tensor([0., 3.]))",
                     kMethod);

  def<&scatter_reduce>(
      "scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor? out=None)",
      R"(scatter that reduces: 'sum', 'prod', 'mean', 'amax' or 'amin' over all that goes to one place.

With include_self=False input's own element does not count where something is written. A NaN is the maximum and minimum.
An integer mean rounds down.

>>> strided.zeros(2).scatter_reduce(0, strided.tensor([0, 0, 1]), strided.tensor([1., 2., 3.]), 'mean', include_self=False)
tensor([1.5000, 3.0000]))");
  def<&scatter_reduce_>(
      "scatter_reduce_(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
      R"(In-place form of scatter_reduce.

>>> strided.zeros(1).scatter_reduce_(0, strided.tensor([0, 0]), strided.tensor([1., 2.]), 'amax')
tensor([2.]))",
      kMethod);

  def<&take_along_dim>(
      "take_along_dim(Tensor input, Tensor indices, int? dim=None, *, Tensor? out=None)",
      R"(gather whose operands broadcast along the axes other than `dim`; without `dim`, of the flattened tensors.

>>> x = strided.tensor([[3, 1, 2]])
>>> strided.take_along_dim(x, strided.argsort(x, dim=1), dim=1)
tensor([[1, 2, 3]]))");

  def<&take>("take(Tensor input, Tensor index, *, Tensor? out=None)",
             R"(Elements of `input` as if it were flat, in the shape of `index` (int64, may count from the end).

>>> strided.take(strided.tensor([[4, 3], [2, 1]]), strided.tensor([0, -1]))
tensor([4, 1]))");
  def<&put>("put(Tensor input, Tensor index, Tensor source, bool accumulate=False)",
            R"(A copy of `input` with elements of `source` written as if it were flat, or added with accumulate=True.

>>> strided.put(strided.zeros(2, 2), strided.tensor([0, 3]), strided.tensor([1., 2.]))
tensor([[1., 0.],
        [0., 2.]]))");
  def<&put_>("put_(Tensor self, Tensor index, Tensor source, bool accumulate=False)", R"(In-place form of put.

>>> strided.zeros(2).put_(strided.tensor([1, 1]), strided.tensor([1., 2.]), accumulate=True)
tensor([0., 3.]))",
             kMethod);

  def<&where_of>(
      "where(Tensor condition, TensorOrNumber input, TensorOrNumber other, *, Tensor? out=None)",
      R"(input where condition is True, other elsewhere. The three broadcast; the dtype is the promoted one of input and
other.

`condition` is bool (or uint8).

>>> x = strided.tensor([-1., 2.])
>>> strided.where(x > 0, x, 0)
tensor([0., 2.]))",
      kFunction);
  def<static_cast<std::vector<Tensor> (*)(const Tensor&)>(&where)>("where(Tensor condition)",
                                                                   R"(nonzero(condition, as_tuple=True).

>>> strided.where(strided.tensor([False, True]))
(tensor([1]),))",
                                                                   kFunction);
  def<&where_method>("where(Tensor self, Tensor condition, TensorOrNumber other)",
                     R"(self where condition is True, other elsewhere.

>>> strided.tensor([1., 2.]).where(strided.tensor([True, False]), 9)
tensor([1., 9.]))",
                     kMethod);

  def<&masked_fill>(
      "masked_fill(Tensor input, Tensor mask, TensorOrNumber value)",
      R"(A copy of `input` with a number or 0-d tensor where the bool mask, which broadcasts, is True. Keeps input's
dtype.

>>> strided.arange(3).masked_fill(strided.tensor([True, False, True]), 9)
tensor([9, 1, 9]))");
  def<&masked_fill_>("masked_fill_(Tensor self, Tensor mask, TensorOrNumber value)",
                     R"(In-place form of masked_fill; mask must broadcast to self's shape.

>>> strided.zeros(2).masked_fill_(strided.tensor([True, False]), 5)
tensor([5., 0.]))",
                     kMethod);
  def<&masked_select>(
      "masked_select(Tensor input, Tensor mask, *, Tensor? out=None)",
      R"(The elements of `input` where the bool mask is True, as a vector in row-major order. Both broadcast.

>>> x = strided.arange(4)
>>> strided.masked_select(x, x > 1)
tensor([2, 3]))");
  def<&masked_scatter>("masked_scatter(Tensor input, Tensor mask, Tensor source)",
                       R"(A copy of `input` with the first elements of `source`, in order, where the bool mask is True.

`source` has input's dtype and at least as many elements as the mask has True.

>>> strided.zeros(3).masked_scatter(strided.tensor([True, False, True]), strided.tensor([1., 2.]))
tensor([1., 0., 2.]))");
  def<&masked_scatter_>("masked_scatter_(Tensor self, Tensor mask, Tensor source)",
                        R"(In-place form of masked_scatter.

>>> strided.zeros(2).masked_scatter_(strided.tensor([False, True]), strided.tensor([7.]))
tensor([0., 7.]))",
                        kMethod);

  const char* nonzero_doc =
      R"(Coordinates of the elements that are not zero, in row-major order: int64, shape (count, ndim).

With as_tuple=True a tuple of one vector for each axis, which indexes `input` (a 0-d tensor counts as 1-d).

>>> strided.nonzero(strided.tensor([[0, 7], [8, 0]]))
tensor([[0, 1],
        [1, 0]]))";
  def<&nonzero_into>("nonzero(Tensor input, *, bool as_tuple=False, Tensor? out=None) -> Tensor; Tensor[] if as_tuple",
                     nonzero_doc, kFunction);
  def<&nonzero_as>("nonzero(Tensor input, *, bool as_tuple=False) -> Tensor; Tensor[] if as_tuple", nonzero_doc,
                   kMethod);
  def<static_cast<Tensor (*)(const Tensor&)>(&strided::nonzero)>(
      "argwhere(Tensor input)", R"(Coordinates of the elements that are not zero: nonzero(input).

>>> strided.argwhere(strided.tensor([0, 3, 4]))
tensor([[1],
        [2]]))");
  def<&unravel_index>("unravel_index(Tensor indices, int[] shape)",
                      R"(Coordinates, one tensor for each axis of `shape`, of positions counted in row-major order.

TypeError unless `indices` is of an integer dtype. A position beyond the shape wraps around.

>>> strided.unravel_index(strided.tensor([1, 5]), (2, 3))
(tensor([0, 1]), tensor([1, 2])))",
                      kFunction);
  def<&fill_diagonal_>(
      "fill_diagonal_(Tensor self, Number fill_value, bool wrap=False)",
      R"(Writes a number on the main diagonal, in place. A tensor of more than 2 axes must have them of equal length.

With wrap=True the diagonal of a tall matrix starts again after each block of columns + 1 rows.

>>> strided.zeros(2, 2).fill_diagonal_(3)
tensor([[3., 0.],
        [0., 3.]]))",
      kMethod);
  def<&sparse_product>("_sparse_product(int rows, Tensor row, Tensor column, Tensor? value, Tensor dense)",
                       "The sparse matrix with these entries times dense: out[row[e]] += value[e] * dense[column[e]].\n"
                       "Entries with a negative row count for nothing.",
                       kFunction);
  def<&sampled_product>("_sampled_product(Tensor row, Tensor column, Tensor a, Tensor b)",
                        "The elements of a b^T at some places: out[e] = (a[row[e]] * b[column[e]]).sum().", kFunction);
}

}  // namespace strided::python
