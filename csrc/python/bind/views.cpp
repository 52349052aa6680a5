// Views: functions and methods. The properties T, mT, H, mH, real and imag stand with the Tensor type (py_tensor.cpp).
#include "base/warning.h"
#include "ops/copy.h"
#include "ops/shape/view.h"
#include "python/bind/bind.h"
#include "python/memory_format.h"

namespace strided::python {
namespace {

// One of several C++ functions of the same name.
template <class Signature>
constexpr Signature* pick(Signature* f) {
  return f;
}

using OfShape = Tensor(const Tensor&, const Dims&);
using OfNothing = Tensor(const Tensor&);
using OfAxis = Tensor(const Tensor&, int64_t);
using OfAxes = Tensor(const Tensor&, int64_t, int64_t);
using Sections = std::vector<Tensor>(const Tensor&, int64_t);
using Indices = std::vector<Tensor>(const Tensor&, const Dims&);

template <Tensor (*F)(const Tensor&)>
std::vector<Tensor> each(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(F(x));
  return out;
}

Tensor adjoint_of(const Tensor& x) {
  if (x.ndim() == 0) warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().");
  return adjoint(x);
}

// What a resized tensor's memory grew by counts as new memory.
Tensor resized(const Tensor& self, const Dims& size) {
  const auto elements = [&] { return static_cast<int64_t>(self.storage().nbytes()) / self.itemsize(); };
  const int64_t before = elements();
  resize_(self, size);
  const int64_t more = elements() - before;
  if (more > 0) blank(make_view(self, Layout({more}, {1}, before)));
  return self;
}

Tensor resize_to(const Tensor& self, const Dims& size, PyObject* format) {
  const MemoryFormat asked = memory_format(format, MemoryFormat::Contiguous);
  STRIDED_CHECK(asked != MemoryFormat::Preserve, RuntimeError, "resize_: Unsupported memory format option Preserve");
  if (format == Py_None) return resized(self, size);
  const Dims strides = strides_in(asked, size, {});
  resized(self, size);
  return as_strided_(self, size, strides, self.offset());
}
Tensor resize_as(const Tensor& self, const Tensor& other, PyObject* format) {
  const MemoryFormat asked = memory_format(format, MemoryFormat::Contiguous);
  if (format == Py_None) return resized(self, other.shape());
  const Dims strides = strides_in(asked, other.shape(), strides_like(other.layout()));
  resized(self, other.shape());
  return as_strided_(self, other.shape(), strides, self.offset());
}

void bind_shapes() {
  def<&view_dtype>(
      "view(Tensor input, dtype dtype)",
      "The same bytes read as another dtype: a view, without gradient. When the item sizes differ, the last axis must have\n"
      "stride 1 and is made longer or shorter; RuntimeError when sizes, strides or the offset do not divide.\n\n"
      ">>> strided.ones(2).view(strided.int32)\ntensor([1065353216, 1065353216], dtype=torch.int32)",
      kMethod);
  def<pick<OfShape>(&view)>(
      "view(Tensor input, int[] *size)",
      "The same elements, in the same order, with another shape: a view. One size may be -1 and is inferred.\n"
      "RuntimeError when the number of elements differs, or when the strides do not allow the shape (see reshape).\n\n"
      ">>> strided.arange(6).view(2, -1)\ntensor([[0, 1, 2],\n        [3, 4, 5]])",
      kMethod);
  def<&view_as>("view_as(Tensor input, Tensor other)", "view(other.shape).", kMethod);
  def<&reshape>(
      "reshape(Tensor input, int[] *shape)",
      "The same elements, in the same order, with another shape: a view where the strides allow it, else a copy. One size may be\n"
      "-1 and is inferred. RuntimeError when the number of elements differs.\n\n"
      ">>> strided.reshape(strided.arange(6), (3, 2))\ntensor([[0, 1],\n        [2, 3],\n        [4, 5]])");
  def<&reshape_as>("reshape_as(Tensor input, Tensor other)", "reshape(other.shape).", kMethod);
  def<&flatten>(
      "flatten(Tensor input, int start_dim=0, int end_dim=-1)",
      "Axes start_dim to end_dim (included) made one: a view where the strides allow it, else a copy; the tensor itself when there\n"
      "is nothing to join. A 0-d tensor becomes 1-d. IndexError for an axis out of range, RuntimeError when start_dim comes\n"
      "after end_dim.\n\n>>> strided.zeros(2, 3, 4).flatten(1).shape\ntorch.Size([2, 12])");
  def<&unflatten>(
      "unflatten(Tensor input, int dim, int[] sizes)",
      "Axis dim split into several of the given sizes, one of which may be -1. RuntimeError when their product is not the size of\n"
      "the axis.\n\n>>> strided.zeros(2, 12).unflatten(1, (3, -1)).shape\ntorch.Size([2, 3, 4])");
  def<&ravel>(
      "ravel(Tensor input)",
      "All elements in one axis: a view of a contiguous tensor, else a copy.\n\n>>> strided.ones(2, 2).ravel()\ntensor([1., 1., 1., 1.])");
}

void bind_orders() {
  def<&t>(
      "t(Tensor input)",
      "The transpose of a matrix: a view with the two strides exchanged. Tensors of fewer dimensions come back as a view of\n"
      "themselves; RuntimeError for more.\n\n>>> strided.tensor([[1, 2], [3, 4]]).t()\ntensor([[1, 3],\n        [2, 4]])");
  const char* transposed =
      "Two axes exchanged: a view. IndexError for an axis out of range.\n\n>>> strided.zeros(2, 3, 4).transpose(0, -1).shape\ntorch.Size([4, 3, 2])";
  def<pick<OfAxes>(&transpose)>("transpose(Tensor input, int dim0, int dim1)", transposed);
  def<pick<OfAxes>(&transpose)>("swapdims(Tensor input, int dim0, int dim1)", "Another name of transpose.");
  def<pick<OfAxes>(&transpose)>("swapaxes(Tensor input, int axis0, int axis1)", "NumPy's name of transpose.");
  def<pick<OfShape>(&permute)>(
      "permute(Tensor input, int[] *dims)",
      "The axes in another order, which names each of them once: a view. RuntimeError for a repeated or missing axis, IndexError\n"
      "for one out of range.\n\n>>> strided.zeros(2, 3, 4).permute(2, 0, 1).shape\ntorch.Size([4, 2, 3])");
  def<&movedim>(
      "movedim(Tensor input, int[] source, int[] destination)",
      "The axes `source` moved to the places `destination`; the others keep their order: a view. RuntimeError when the two lists\n"
      "differ in length or repeat an axis.\n\n>>> strided.zeros(2, 3, 4).movedim(0, -1).shape\ntorch.Size([3, 4, 2])");
  def<&movedim>("moveaxis(Tensor input, int[] source, int[] destination)", "NumPy's name of movedim.");
  def<&adjoint_of>(
      "adjoint(Tensor input)",
      "The last two axes exchanged and complex numbers conjugated: a view of a real tensor, a copy of a complex one. RuntimeError\n"
      "for a vector.\n\n>>> strided.tensor([[1j, 2.]]).adjoint()\ntensor([[0.-1.j],\n        [2.-0.j]])");
}

void bind_axes() {
  def<pick<OfNothing>(&squeeze)>(
      "squeeze(Tensor input)",
      "Without the axes of size 1: a view.\n\n>>> strided.zeros(1, 2, 1).squeeze().shape\ntorch.Size([2])");
  def<pick<OfShape>(&squeeze)>(
      "squeeze(Tensor input, int[] *dim)",
      "Without those of the axes `dim` that have size 1: a view. IndexError for an axis out of range, RuntimeError for one named\n"
      "twice.\n\n>>> strided.zeros(1, 2, 1).squeeze(0).shape\ntorch.Size([2, 1])");
  def<pick<OfAxis>(&unsqueeze)>(
      "unsqueeze(Tensor input, int dim)",
      "With a new axis of size 1 before axis dim, which counts axes of the result: a view.\n\n"
      ">>> strided.zeros(2, 3).unsqueeze(-1).shape\ntorch.Size([2, 3, 1])");
  const char* expanded =
      "Axes of size 1 repeated to the given size, and new axes in front, without copying: a view with stride 0 there. -1 keeps a\n"
      "size. RuntimeError when another size would have to change. Such a tensor cannot be written to; clone it first.\n\n"
      ">>> strided.tensor([[1], [2]]).expand(2, 3)\ntensor([[1, 1, 1],\n        [2, 2, 2]])";
  def<pick<OfShape>(&expand)>("expand(Tensor input, int[] *size)", expanded, kMethod);
  def<&expand_as>("expand_as(Tensor input, Tensor other)", "expand(other.shape).", kMethod);
  def<pick<OfShape>(&expand)>("broadcast_to(Tensor input, int[] *size)", expanded);
  def<&broadcast_tensors>(
      "broadcast_tensors(Tensor[] *tensors)",
      "All tensors expanded to their common shape, as views. RuntimeError when there is none.\n\n"
      ">>> a, b = strided.broadcast_tensors(strided.zeros(3, 1), strided.zeros(4))\n>>> a.shape, b.shape\n"
      "(torch.Size([3, 4]), torch.Size([3, 4]))",
      kFunction);
  def<&atleast_1d>(
      "atleast_1d(Tensor input)",
      "A 0-d tensor as one of 1 dimension; others as they are. Several tensors give a tuple.\n\n>>> strided.atleast_1d(strided.tensor(3))\ntensor([3])",
      kFunction);
  def<&each<&atleast_1d>>("atleast_1d(Tensor[] *tensors)", "Each of the tensors so.", kFunction);
  def<&atleast_2d>(
      "atleast_2d(Tensor input)",
      "With axes of size 1 in front until there are 2. Several tensors give a tuple.\n\n>>> strided.atleast_2d(strided.zeros(3)).shape\ntorch.Size([1, 3])",
      kFunction);
  def<&each<&atleast_2d>>("atleast_2d(Tensor[] *tensors)", "Each of the tensors so.", kFunction);
  def<&atleast_3d>(
      "atleast_3d(Tensor input)",
      "With new axes until there are 3: (n) becomes (1, n, 1), (m, n) becomes (m, n, 1). Several tensors give a tuple.\n\n>>> strided.atleast_3d(strided.zeros(3)).shape\ntorch.Size([1, 3, 1])",
      kFunction);
  def<&each<&atleast_3d>>("atleast_3d(Tensor[] *tensors)", "Each of the tensors so.", kFunction);
}

Tensor narrow_from(const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
  STRIDED_CHECK(start.ndim() == 0 && is_integral(start.dtype()) && !is_bool(start.dtype()), RuntimeError,
                "start must be an 0-dim integral Tensor.");
  return narrow(x, dim, item(start).to<int64_t>(), length);
}

void bind_parts() {
  def<pick<OfAxes>(&select)>(
      "select(Tensor input, int dim, int index)",
      "The part at one index of an axis, which disappears: a view. IndexError when axis or index is out of range.\n\n"
      ">>> strided.tensor([[1, 2], [3, 4]]).select(1, -1)\ntensor([2, 4])");
  const char* narrowed =
      "`length` elements of an axis from `start` on: a view. A negative start counts from the end. IndexError for a start out of\n"
      "range, RuntimeError when start + length is beyond the end.\n\n>>> strided.arange(5).narrow(0, 1, 3)\ntensor([1, 2, 3])";
  def<pick<Tensor(const Tensor&, int64_t, int64_t, int64_t)>(&narrow)>(
      "narrow(Tensor input, int dim, int start, int length)", narrowed);
  def<&narrow_from>("narrow(Tensor input, int dim, Tensor start, int length)",
                    "The start as a tensor, which must be an integer of no dimensions (RuntimeError).");
  def<&narrow_copy>("narrow_copy(Tensor input, int dim, int start, int length, *, Tensor? out=None)",
                    "narrow as a contiguous copy.", kBoth | kResizesOut);
  def<pick<Tensor(const Tensor&, int64_t, int64_t, int64_t)>(&diagonal)>(
      "diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1)",
      "The diagonals of the matrices in two axes, as the last axis of a view. A positive offset lies above the main diagonal; an offset\n"
      "beyond the matrix gives an empty axis.\n\n>>> strided.arange(9).view(3, 3).diagonal(1)\ntensor([1, 5])");
  def<pick<Tensor(const Tensor&, int64_t, int64_t, int64_t)>(&unfold)>(
      "unfold(Tensor input, int dimension, int size, int step)",
      "All windows of `size` elements along an axis, `step` apart; the windows count along that axis, their elements along a new last\n"
      "one: a view. RuntimeError when size is beyond the axis or step is not positive.\n\n"
      ">>> strided.arange(5).unfold(0, 3, 1)\ntensor([[0, 1, 2],\n        [1, 2, 3],\n        [2, 3, 4]])",
      kMethod);
  def<&as_strided>(
      "as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None)",
      "Any view of the storage: element (i, j, ...) is storage[storage_offset + i * stride[0] + j * stride[1] + ...]. The offset is\n"
      "the tensor's own when not given. Strides may be negative. RuntimeError when an element would lie outside the storage.\n\n"
      ">>> strided.arange(6).as_strided((2, 2), (1, 2))\ntensor([[0, 2],\n        [1, 3]])");
  def<&real>(
      "real(Tensor input)",
      "The real parts of a complex tensor, as a view; a real tensor itself.\n\n>>> strided.real(strided.tensor([1 + 2j]))\ntensor([1.])",
      kFunction);
  def<&imag>(
      "imag(Tensor input)",
      "The imaginary parts of a complex tensor, as a view. RuntimeError for a real tensor.\n\n>>> strided.imag(strided.tensor([1 + 2j]))\ntensor([2.])",
      kFunction);
  def<&view_as_real>("view_as_real(Tensor input)",
                     "A complex tensor as a real one with a last axis of size 2, real and imaginary part: a view.\n\n"
                     ">>> strided.view_as_real(strided.tensor([1 + 2j]))\ntensor([[1., 2.]])",
                     kFunction);
  def<&view_as_complex>(
      "view_as_complex(Tensor input)",
      "A float32 or float64 tensor whose last axis holds real and imaginary part as a complex one: a view. RuntimeError unless that\n"
      "axis has size 2 and stride 1 and the other strides and the offset are even.\n\n"
      ">>> strided.view_as_complex(strided.tensor([[1., 2.]]))\ntensor([1.+2.j])",
      kFunction);
}

void bind_splits() {
  const char* split_doc =
      "Parts of `split_size` elements along an axis, the last one perhaps smaller; or parts of the listed sizes, which must add up to\n"
      "the size of the axis. A tuple of views.\n\n>>> strided.arange(5).split(2)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))\n"
      ">>> strided.arange(5).split([1, 4])\n(tensor([0]), tensor([1, 2, 3, 4]))";
  def<&split>("split(Tensor tensor, int split_size_or_sections, int dim=0)", split_doc, kFunction);
  def<&split_with_sizes>("split(Tensor tensor, int[] split_size_or_sections, int dim=0)",
                         "The same with a list of sizes.", kFunction);
  def<&split>("split(Tensor input, int split_size, int dim=0)", split_doc, kMethod);
  def<&split_with_sizes>("split(Tensor input, int[] split_size, int dim=0)", "The same with a list of sizes.", kMethod);
  def<&split_with_sizes>("split_with_sizes(Tensor input, int[] split_sizes, int dim=0)", "split with a list of sizes.");
  def<&chunk>(
      "chunk(Tensor input, int chunks, int dim=0)",
      "At most `chunks` parts of equal size along an axis, the last one perhaps smaller: a tuple of views. RuntimeError unless chunks\n"
      "is positive.\n\n>>> strided.arange(5).chunk(3)\n(tensor([0, 1]), tensor([2, 3]), tensor([4]))");
  const char* unsafe_doc =
      "As split, and each part may be written to in place: where a gradient is recorded the parts are copies.";
  def<&unsafe_split>("unsafe_split(Tensor input, int split_size, int dim=0)", unsafe_doc);
  def<&unsafe_split_with_sizes>("unsafe_split(Tensor input, int[] split_size, int dim=0)",
                                "The same with a list of sizes.");
  def<&unsafe_split_with_sizes>("unsafe_split_with_sizes(Tensor input, int[] split_sizes, int dim=0)",
                                "unsafe_split with a list of sizes.");
  def<&unsafe_chunk>(
      "unsafe_chunk(Tensor input, int chunks, int dim=0)",
      "As chunk, and each part may be written to in place: where a gradient is recorded the parts are copies.");
  using ByTensor = std::vector<Tensor>(const Tensor&, const Tensor&, int64_t);
  using ByNumber = std::vector<Tensor>(const Tensor&, int64_t, int64_t);
  using ByIndices = std::vector<Tensor>(const Tensor&, const Dims&, int64_t);
  def<pick<ByTensor>(&tensor_split)>("tensor_split(Tensor input, Tensor tensor_indices_or_sections, int dim=0)",
                                     "As below, with the number (0-d) or the indices (1-d) in an int64 tensor.");
  def<pick<ByNumber>(&tensor_split)>(
      "tensor_split(Tensor input, int sections, int dim=0)",
      "Exactly `sections` parts along an axis, whose sizes differ by at most 1: a tuple of views.\n\n"
      ">>> strided.arange(5).tensor_split(2)\n(tensor([0, 1, 2]), tensor([3, 4]))");
  def<pick<ByIndices>(&tensor_split)>(
      "tensor_split(Tensor input, int[] indices, int dim=0)",
      "The axis cut before each of the indices, by the rules of slices: a tuple of views.\n\n"
      ">>> strided.arange(5).tensor_split((1, 3))\n(tensor([0]), tensor([1, 2]), tensor([3, 4]))");
  const char* h =
      "tensor_split along the second axis (the only one of a vector); a number of sections must divide its size. A tuple of views.\n\n"
      ">>> strided.arange(4).hsplit(2)\n(tensor([0, 1]), tensor([2, 3]))";
  const char* v =
      "tensor_split along the first axis of a tensor of at least 2; a number of sections must divide its size. A tuple of views.\n\n"
      ">>> strided.tensor([[1], [2]]).vsplit(2)\n(tensor([[1]]), tensor([[2]]))";
  const char* d =
      "tensor_split along the third axis; a number of sections must divide its size. A tuple of views.\n\n"
      ">>> strided.tensor([[[1, 2]]]).dsplit(2)\n(tensor([[[1]]]), tensor([[[2]]]))";
  def<pick<Sections>(&hsplit)>("hsplit(Tensor input, int sections)", h);
  def<pick<Indices>(&hsplit)>("hsplit(Tensor input, int[] *indices)", "The same, cut before each of the indices.");
  def<pick<Sections>(&vsplit)>("vsplit(Tensor input, int sections)", v);
  def<pick<Indices>(&vsplit)>("vsplit(Tensor input, int[] *indices)", "The same, cut before each of the indices.");
  def<pick<Sections>(&dsplit)>("dsplit(Tensor input, int sections)", d);
  def<pick<Indices>(&dsplit)>("dsplit(Tensor input, int[] *indices)", "The same, cut before each of the indices.");
  def<&unbind>(
      "unbind(Tensor input, int dim=0)",
      "The parts at each index of an axis, which disappears: a tuple of views. IndexError for a 0-d tensor.\n\n"
      ">>> strided.tensor([[1, 2], [3, 4]]).unbind()\n(tensor([1, 2]), tensor([3, 4]))");
}

void bind_in_place() {
  def<&t_>("t_(Tensor input)", "t in place: the tensor itself gets the exchanged strides.", kMethod);
  def<&transpose_>("transpose_(Tensor input, int dim0, int dim1)", "transpose in place.", kMethod);
  def<&transpose_>("swapdims_(Tensor input, int dim0, int dim1)", "swapdims in place.", kMethod);
  def<&transpose_>("swapaxes_(Tensor input, int axis0, int axis1)", "swapaxes in place.", kMethod);
  def<pick<OfNothing>(&squeeze_)>("squeeze_(Tensor input)", "squeeze in place.", kMethod);
  def<pick<OfShape>(&squeeze_)>("squeeze_(Tensor input, int[] *dim)", "squeeze in place.", kMethod);
  def<&unsqueeze_>("unsqueeze_(Tensor input, int dim)", "unsqueeze in place.", kMethod);
  def<&as_strided_>("as_strided_(Tensor input, int[] size, int[] stride, int? storage_offset=None)",
                    "as_strided in place.");
  def<&resize_to>(
      "resize_(Tensor input, int[] *size, *, memory_format? memory_format=None)",
      "Gives the tensor another size, with contiguous strides from its storage offset on. The storage grows when it is too small; new\n"
      "elements are uninitialised, and other tensors keep seeing the same storage. RuntimeError for memory that is borrowed\n"
      "(from NumPy, say) and for tensors that require a gradient.\n\n>>> strided.arange(6).resize_(2, 2)\ntensor([[0, 1],\n        [2, 3]])",
      kMethod);
  def<&resize_as>("resize_as_(Tensor input, Tensor the_template, *, memory_format? memory_format=None)",
                  "resize_(the_template.shape).", kMethod);
}

}  // namespace

void bind_views() {
  bind_shapes();
  bind_orders();
  bind_axes();
  bind_parts();
  bind_splits();
  bind_in_place();
}

}  // namespace strided::python
