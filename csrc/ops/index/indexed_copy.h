// Gathering from and scattering to the places that int64 index tensors name. All indexing comes to this.
// Internal to csrc/ops/index.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/small_vector.h"
#include "core/scalar.h"
#include "tensor/iter.h"
#include "tensor/tensor.h"

namespace strided {

// `shape` is the shape of the dense operand. The indexed operand has for every axis of it the stride with which its
// place moves along (0 along the axes of the index), and so has each index (0 along all other axes). Advanced indexing,
// index_select, gather and their inverses differ only in these strides, so one plan and three slots serve them all.
struct IndexedCopy {
  struct Index {
    Tensor tensor;       // int64
    Layout over;         // over `shape`
    int64_t size = 0;    // of the indexed axis
    int64_t stride = 0;  // bytes
    int axis = 0;        // of the indexed tensor, for the error text; -1: the tensor is taken as flat
  };
  const char* name = "index";
  const char* error_prefix = "";  // opens the text of an IndexError
  Dims shape;
  Layout indexed;  // over `shape`; offset as in the indexed tensor
  SmallVector<Index, 1> indices;
  bool wrap = true;  // negative indices count from the end
};

// out (of shape copy.shape) = indexed[index]. Raises before anything of `out` is seen when an index is bad.
void indexed_gather(const IndexedCopy& copy, const Tensor& indexed, const Tensor& out);
// indexed[index] = from, or op(indexed[index], from), in the order of the index. Raises before anything is written.
// `from` broadcasts to copy.shape.
void indexed_scatter(const IndexedCopy& copy, const Tensor& indexed, const Tensor& from, const ScatterOp* op = nullptr);

// An axis of `indexed` named by a vector (or 0-d) index: index_select and its family. `shape` is indexed's with
// shape[axis] = n.
IndexedCopy axis_copy(const char* name, const Tensor& indexed, int axis, const Tensor& index, bool wrap);
// An axis named by a tensor with as many axes as `indexed`: gather and its family.
IndexedCopy gather_copy(const char* name, const Tensor& indexed, int axis, const Tensor& index, bool wrap = false);
// Index tensors beyond the IndexPlan::kMaxIndices that a backend takes become one.
void fold_indices(IndexedCopy* copy, const Tensor& indexed);

// self[index] = reduction over self[index] (with include_self) and the elements of `from` that go there; reduce is
// "sum", "prod", "mean", "amax" or "amin". With an index of axis_copy or gather_copy.
void reduce_indexed(const IndexedCopy& copy, const Tensor& self, const Tensor& from, const std::string& reduce,
                    bool include_self);

// scatter_reduce and index_reduce with their gradients: `write` does the move, to self or to a copy of it; index has
// the axes of src and is not longer along any.
Tensor reduce_by_index(const char* op, const char* node, const Tensor& self, bool in_place, int axis,
                       const Tensor& index, const Tensor& src, const std::string& reduce, bool include_self,
                       const std::function<void(const Tensor&)>& write);

// A 1-d tensor of the same elements in row-major order, not recorded: a view where it can be.
Tensor flat(const Tensor& t);
// index() under another name of its node, for functions that are index() in other words. `flat`: the words of an
// IndexError are those of take.
Tensor index_as(const char* node, const Tensor& self, const std::vector<std::optional<Tensor>>& indices,
                bool flat = false);
// A contiguous bool tensor with the truth of t.
Tensor as_mask(const Tensor& t);

// int64, from int32 or int64.
Tensor as_int64(const Tensor& index);
// t, or a copy of it when its memory meets that of `self`, which is about to be written.
Tensor apart_from(const Tensor& self, const Tensor& t);
// An unrecorded 0-d tensor holding a number in a dtype, which must hold it (see check_fits).
Tensor number(const Scalar& value, DType dtype, Device device);
// The number that elements of a dtype have when `value` is assigned to them. Floats of 8 and 16 bits take every number,
// rounded as in casts, to infinity where it is too large: masks of attention assign -1e9. Others must hold it
// (check_fits).
Scalar assigned_number(const Scalar& value, DType dtype);

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
