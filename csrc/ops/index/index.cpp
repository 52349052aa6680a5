// Advanced indexing: index, index_put_.
#include "ops/index/index.h"

#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/indexed_copy.h"
#include "ops/record.h"

namespace strided {
namespace {

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

void check_mask_shape(const Tensor& mask, const Tensor& self, int axis) {
  for (int j = 0; j < mask.ndim(); ++j)
    STRIDED_CHECK(mask.size(j) == self.size(axis + j), IndexError, "The shape of the mask ", mask.shape(), " at index ",
                  j, " does not match the shape of the indexed tensor ", self.shape(), " at index ", axis + j);
}

void check_indices(const Tensor& self, const Indices& indices) {
  int axes = 0;
  for (const auto& entry : indices) {
    STRIDED_CHECK(!entry || is_mask(*entry) || entry->dtype() == DType::Int64 || entry->dtype() == DType::Int32,
                  IndexError, "tensors used as indices must be long, int, byte or bool tensors");
    axes += entry && is_mask(*entry) ? entry->ndim() : 1;
  }
  STRIDED_CHECK(axes <= self.ndim(), IndexError, "too many indices for tensor of dimension ", self.ndim());
}

// Masks become positions.
// A mask over m axes is the vector of the positions of its set elements. When the m axes can be seen as one (always, in
// a contiguous tensor), that vector indexes the one axis; otherwise it is unravelled into an index for each of them.
// `layout` is the indexed tensor's and changes with it; `entries` gets one entry for each axis of the new layout,
// `axes` the original axis of each.
void expand_mask(const Tensor& mask, int axis, Layout* layout, Indices* entries, std::vector<int>* axes) {
  const int at = static_cast<int>(entries->size()), m = mask.ndim();
  const Tensor positions = NonzeroElements("nonzero", as_mask(mask)).positions();
  Layout run(Dims(layout->shape.begin() + at, m), Dims(layout->strides.begin() + at, m), 0), one;
  if (view(run, Dims{mask.numel()}, &one)) {
    for (int j = 0; j < m; ++j) {
      layout->shape.erase(at);
      layout->strides.erase(at);
    }
    layout->shape.insert(at, mask.numel());
    layout->strides.insert(at, one.strides[0]);
    entries->emplace_back(positions);
    axes->push_back(axis);
    return;
  }
  int64_t inner = mask.numel();
  for (int j = 0; j < m; ++j) {
    inner /= std::max<int64_t>(mask.size(j), 1);
    entries->emplace_back(unravel(positions, std::max<int64_t>(inner, 1), std::max<int64_t>(mask.size(j), 1)));
    axes->push_back(axis + j);
  }
}

Dims broadcast_indices(const Indices& entries) {
  Dims shape;
  bool fits = true;
  for (const auto& entry : entries) {
    if (!entry) continue;
    const Dims& s = entry->shape();
    while (shape.size() < s.size()) shape.insert(0, 1);
    for (int i = 1; i <= s.ndim(); ++i) {
      int64_t& have = shape[shape.size() - i];
      const int64_t want = s[s.size() - i];
      if (have == 1) have = want;
      else if (want != 1 && want != have) fits = false;
    }
  }
  if (!fits) {
    std::string list;
    for (const auto& entry : entries)
      if (entry) list += (list.empty() ? "" : ", ") + concat(entry->shape());
    STRIDED_THROW(IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes ", list);
  }
  return shape;
}

// How self[indices] is copied. Raises every IndexError but that of an index out of range.
IndexedCopy plan(const Tensor& self, const Indices& indices) {
  check_indices(self, indices);
  Layout layout = self.layout();
  Indices entries;
  std::vector<int> axes;
  int axis = 0;
  for (const auto& entry : indices) {
    if (entry && is_mask(*entry)) {
      check_mask_shape(*entry, self, axis);
      expand_mask(index_for(self, *entry), axis, &layout, &entries, &axes);
      axis += entry->ndim();
    } else {
      entries.emplace_back();
      if (entry) entries.back() = index_for(self, *entry);
      axes.push_back(axis++);
    }
  }
  while (static_cast<int>(entries.size()) < layout.ndim()) {
    entries.emplace_back();
    axes.push_back(axis++);
  }
  const Dims b = broadcast_indices(entries);
  checked_numel("index", b);
  int first = -1, last = -1, count = 0;
  for (int i = 0; i < layout.ndim(); ++i) {
    if (!entries[i]) continue;
    if (first < 0) first = i;
    last = i;
    ++count;
  }
  IndexedCopy copy;
  for (int i = 0; i < layout.ndim(); ++i)
    if (entries[i])
      copy.indices.push_back(
          {as_int64(*entries[i]), Layout(), layout.shape[i], layout.strides[i] * self.itemsize(), axes[i]});
  // The axes of the result: those of the index where they belong, and self's other axes.
  const int place = last - first + 1 == count ? first : 0;
  copy.indexed.offset = layout.offset;
  int index_axis = 0;
  for (int i = 0; i < layout.ndim(); ++i) {
    if (i == place) {
      index_axis = copy.shape.ndim();
      for (int j = 0; j < b.ndim(); ++j) {
        copy.shape.push_back(b[j]);
        copy.indexed.strides.push_back(0);
      }
    }
    if (entries[i]) continue;
    copy.shape.push_back(layout.shape[i]);
    copy.indexed.strides.push_back(layout.strides[i]);
  }
  STRIDED_CHECK(copy.shape.ndim() <= kMaxDims, IndexError, "index: the result would have ", copy.shape.ndim(),
                " dimensions, a tensor has at most ", kMaxDims);
  checked_numel("index", copy.shape);
  copy.indexed.shape = copy.shape;
  for (IndexedCopy::Index& index : copy.indices) {
    const Dims strides = broadcast_strides(index.tensor.layout(), b);
    index.over = Layout(copy.shape, Dims(copy.shape.size()), index.tensor.offset());
    for (int j = 0; j < b.ndim(); ++j) index.over.strides[index_axis + j] = strides[j];
  }
  fold_indices(&copy, self);
  return copy;
}

// The result lies as the indexed tensor does, as results of elementwise operations.
Dims result_strides(const IndexedCopy& copy, const Tensor& self) {
  if (self.is_contiguous()) return Layout::contiguous_strides(copy.shape);
  TensorIterator iter(copy.shape);
  Layout indexed = copy.indexed;
  for (int i = 0; i < copy.shape.ndim(); ++i)
    if (copy.shape[i] == 1) indexed.strides[i] = 0;  // such an axis stays where it is
  iter.add(nullptr, indexed, self.itemsize());
  const size_t n = std::min(copy.indices.size(), static_cast<size_t>(TensorIterator::kMaxOperands - 1));
  for (size_t k = 0; k < n; ++k) iter.add(nullptr, copy.indices[k].over, copy.indices[k].tensor.itemsize());
  return iter.output_strides();
}

class SavedIndices {
 public:
  explicit SavedIndices(const Indices& indices) {
    for (const auto& entry : indices) saved_.emplace_back(entry ? SavedTensor(*entry) : SavedTensor());
  }
  Indices get() const {
    Indices out;
    for (const SavedTensor& s : saved_) {
      const Tensor t = s.get();
      if (t.defined()) out.emplace_back(t);
      else out.emplace_back();
    }
    return out;
  }
  void release() {
    for (SavedTensor& s : saved_) s.release();
  }

 private:
  std::vector<SavedTensor> saved_;
  SavedTensor::Counted counted_{true};
};

SavedValue saved_value(const Node&, const SavedIndices& saved) {
  std::vector<Tensor> out;
  for (const auto& entry : saved.get()) out.push_back(entry.value_or(Tensor()));
  return out;
}

void release_value(SavedIndices& saved) { saved.release(); }

// The gradient of values that had more (leading, dropped) axes than the place they were put.
Tensor with_axes(const Tensor& g, int ndim) {
  return g.ndim() < ndim ? basic_index(g, BasicIndex(static_cast<size_t>(ndim - g.ndim()), {BasicStep::NewAxis})) : g;
}

bool any(const Indices& indices) {
  return std::any_of(indices.begin(), indices.end(), [](const auto& entry) { return entry.has_value(); });
}

}  // namespace

Tensor as_mask(const Tensor& t) {
  if (t.dtype() == DType::Bool && t.is_contiguous()) return t;
  const Tensor mask = empty(t.shape(), DType::Bool, t.device());
  copy_into(mask, t);
  return mask;
}

Tensor index_for(const Tensor& self, const Tensor& index) {
  STRIDED_CHECK(index.device() == self.device() || index.device().is_cpu(), RuntimeError,
                "indices should be either on cpu or on the same device as the indexed tensor (", self.device(), ")");
  return to_device(index, self.device());
}

Tensor index(const Tensor& self, const Indices& indices) { return index_as("IndexBackward0", self, indices); }

Tensor index_as(const char* node, const Tensor& self, const Indices& indices, bool flat) {
  Tensor out;
  if (!any(indices)) {
    check_indices(self, indices);
    return clone(self);
  }
  if (indices.size() == 1 && indices[0]->dtype() == DType::Bool && indices[0]->shape() == self.shape() &&
      self.ndim() > 0) {
    check_indices(self, {});
    out = NonzeroElements("index", as_mask(index_for(self, *indices[0]))).elements(contiguous(self));
  } else {
    const auto& first = indices[0];
    const bool rows = indices.size() == 1 && first->ndim() == 1 && first->dtype() == DType::Int64 && self.ndim() > 0 &&
                      first->device() == self.device();
    IndexedCopy copy = rows ? axis_copy("index", self, 0, *first, true) : plan(self, indices);
    if (flat) copy.indices[0].axis = -1;
    out = empty_strided(copy.shape, result_strides(copy, self), self.dtype(), self.device());
    indexed_gather(copy, self, out);
  }
  if (!needs_grad(self)) return out;
  const auto formula = [](const Tensor& g, const Dims& shape, const SavedIndices& saved) {
    return index_put_(zeros(shape, g.dtype(), g.device()), saved.get(), g, true);
  };
  return shown_as(
      node, record("IndexBackward0", out, self,
                   NamedFormula{std::tuple{self.shape(), SavedIndices(indices)}, formula, "self_sym_sizes indices"}));
}

Tensor index_put_(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  STRIDED_CHECK(any(indices), RuntimeError, "index_put_: needs at least one index tensor, got ", indices.size(),
                " empty entries");
  check_inplace("index_put_", self, values.requires_grad());
  check_same_device("index_put_", self, values);
  Indices apart;
  for (const auto& entry : indices) {
    if (entry) apart.emplace_back(apart_from(self, *entry));
    else apart.emplace_back();
  }
  const IndexedCopy copy = plan(self, apart);
  Layout from = values.layout();
  while (from.ndim() > copy.shape.ndim() && from.shape[0] == 1) {  // leading axes of size 1 are dropped
    from.shape.erase(0);
    from.strides.erase(0);
  }
  bool fits = from.ndim() <= copy.shape.ndim();
  for (int i = 1; fits && i <= from.ndim(); ++i) {
    const int64_t have = from.shape[from.ndim() - i];
    fits = have == 1 || have == copy.shape[copy.shape.ndim() - i];
  }
  STRIDED_CHECK(fits, RuntimeError, "shape mismatch: value tensor of shape ", values.shape(),
                " cannot be broadcast to indexing result of shape ", copy.shape);
  STRIDED_CHECK(self.dtype() == values.dtype(), RuntimeError,
                "Index put requires the source and destination dtypes match, got ", self.dtype(),
                " for the destination and ", values.dtype(), " for the source.");
  const Tensor source = apart_from(self, make_view(values, from));
  const ScatterOp add = ScatterOp::Add;
  indexed_scatter(copy, self, source, accumulate ? &add : nullptr);
  bump_version(self, "index_put_");
  if (!needs_grad(self, values)) return self;
  auto formula = [ndim = values.ndim(), wants_self = self.requires_grad(), wants_values = values.requires_grad()](
                     const Tensor& g, bool accumulate, const SavedIndices& saved) {
    const Indices at = saved.get();
    Tensor to_self, to_values;
    if (wants_self) to_self = accumulate ? g : index_put(g, at, zeros(Dims(), g.dtype(), g.device()), false);
    if (wants_values) to_values = with_axes(index(g, at), ndim);
    return std::vector<Tensor>{to_self, to_values};
  };
  return record_inplace(
      "IndexPutBackward0", self, std::vector<Tensor>{self, values},
      NamedFormula{std::tuple{accumulate, SavedIndices(indices)}, std::move(formula), "accumulate indices"});
}

Tensor index_put(const Tensor& self, const Indices& indices, const Tensor& values, bool accumulate) {
  return index_put_(clone(self), indices, values, accumulate);
}

}  // namespace strided
