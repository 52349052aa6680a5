// What all indexing comes to: elements travel between a dense operand and the places that one int64 index tensor names.
// Internal to csrc/ops/index*.cpp, gather.cpp, mask.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/kernels.h"
#include "core/scalar.h"
#include "tensor/iter.h"
#include "tensor/tensor.h"

namespace strided {

// Note [Index moves]
// `shape` is the shape of the dense operand. The other operand, the named one, has for every axis of it the stride with
// which its place moves along (0 along the axes of the index), and so has the index (0 along all other axes). Advanced
// indexing, index_select, gather and their inverses differ only in these strides, so one plan (core/iter) and one
// loop (kernels.h, IndexKernels) serve them all.
struct IndexedCopy {
  Dims shape;
  Layout named;       // over `shape`; offset as in the named tensor
  Tensor index;       // int64
  Layout index_over;  // over `shape`
  IndexParams params;
  int axis = 0;                   // of the named tensor, for the error text; -1: the tensor is taken as flat
  const char* error_prefix = "";  // opens the error text
  int safe_axis = -1;             // the longest axis along which different positions always name different places
  // On an accelerator several index tensors stay apart, and `index` is not used.
  struct Part {
    Tensor index;
    Layout over;
    int64_t size, stride;
    int axis;
  };
  std::vector<Part> parts;
};

constexpr int item_row(int64_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4;
}

// IndexError naming the first index out of range; nothing happens when all are good.
void check_index(const IndexedCopy& move);
// out (of shape move.shape) = named[index]. Raises before anything of `out` is seen when an index is bad.
void indexed_gather(const IndexedCopy& move, const Tensor& named, const Tensor& out);
// named[index] = from, or op(named[index], from), in the order of the index. Raises before anything is written.
// `from` broadcasts to move.shape.
void indexed_scatter(const IndexedCopy& move, const Tensor& named, const Tensor& from, const ScatterOp* op = nullptr);

// An axis of `named` indexed by a vector (or 0-d) index: index_select and its family. `shape` is named's with
// shape[axis] = n.
IndexedCopy axis_move(const Tensor& named, int axis, const Tensor& index, IndexParams::Check check);
// An axis indexed by a tensor with as many axes as `named`: gather and its family.
IndexedCopy gather_move(const Tensor& named, int axis, const Tensor& index, IndexParams::Check check);

// self[index] = reduction over self[index] (with include_self) and the elements of `from` that go there; reduce is
// "sum", "prod", "mean", "amax" or "amin". A move of axis_move or gather_move.
void reduce_move(const IndexedCopy& move, const Tensor& self, const Tensor& from, const std::string& reduce,
                 bool include_self);

// scatter_reduce and index_reduce with their gradients: `write` does the move, to self or to a copy of it; index has
// the axes of src and is not longer along any.
Tensor reduce_by_index(const char* op, const char* node, const Tensor& self, bool in_place, int axis,
                       const Tensor& index, const Tensor& src, const std::string& reduce, bool include_self,
                       const std::function<void(const Tensor&)>& write);

// A 1-d tensor of the same elements in row-major order, not recorded: a view where it can be.
Tensor flat(const Tensor& t);
// IndexError in the words of take and put_.
void check_flat_index(const Tensor& index, int64_t numel);

// index() under another name of its node, for functions that are index() in other words.
Tensor index_as(const char* node, const Tensor& self, const std::vector<std::optional<Tensor>>& indices);
// A contiguous bool tensor with the truth of t.
Tensor as_mask(const Tensor& t);

// int64, from int32 or int64.
Tensor as_int64(const Tensor& index);
// t, or a copy of it when its memory meets that of `self`, which is about to be written.
Tensor apart_from(const Tensor& self, const Tensor& t);
// An unrecorded 0-d tensor holding a number in a dtype, which must hold it (see check_fits).
Tensor number(const Scalar& value, DType dtype, Device device);

// The set elements of a contiguous bool mask.
class NonzeroElements {
 public:
  NonzeroElements(const char* name, const Tensor& mask);
  ~NonzeroElements();
  NonzeroElements(const NonzeroElements&) = delete;

  int64_t count() const { return count_; }
  // Their positions, counted in row-major order: int64, 1-d.
  Tensor positions() const;
  // The elements of contiguous `from` (of the mask's shape) at these positions: 1-d.
  Tensor elements(const Tensor& from) const;

 private:
  const Tensor mask_;
  const OpContext on_;
  void* handle_ = nullptr;
  int64_t count_ = 0;
};
// Row-major positions (contiguous int64) -> coordinate along an axis whose later axes have `inner` elements.
Tensor unravel(const Tensor& positions, int64_t inner, int64_t size);
void unravel_into(int64_t* to, const Tensor& positions, int64_t inner, int64_t size);

}  // namespace strided
