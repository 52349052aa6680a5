#include "python/subscript.h"

#include <algorithm>
#include <cstring>

#include "base/warning.h"
#include "ops/copy.h"
#include "ops/index/few_elements.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "python/function.h"
#include "python/owned.h"

namespace strided::python {
namespace {

constexpr const char* kZeroDim =
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number";

// How a key is read.
// A key is read from left to right into basic steps (ops/index/index.h), which make a view, and `indices`, the advanced
// index that is then taken of that view: one entry for each axis of it (one for all the axes of a mask). PyTorch's
// rules: an int, or a 0-d integer tensor, is a basic step; True and False add an axis and index it by [0] or by
// nothing. All of the key is read before the tensor is looked at again, because __index__ may run any Python code.
class Key {
 public:
  static constexpr size_t kMaxSteps = 2 * kMaxDims + 2;

  Key(PyObject* key, int ndim) : ndim_(ndim) {
    if (PyTuple_CheckExact(key)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) add(PyTuple_GET_ITEM(key, i));
    } else if (is_tuple_of_keys(key)) {
      for (Py_ssize_t i = 0; i < PySequence_Size(key); ++i) {
        Owned item(PySequence_GetItem(key, i));
        add(item.o);
      }
      if (!PyTuple_Check(key))
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq].");
    } else {
      add(key);
    }
    finish();
  }

  const BasicStep* steps() const { return reinterpret_cast<const BasicStep*>(space_); }
  size_t size() const { return n_; }
  BasicIndex basic() const { return BasicIndex(steps(), steps() + n_); }
  bool advanced() const { return advanced_; }
  bool whole() const { return whole_; }  // the basic steps change nothing
  const Indices& indices() const { return indices_; }

 private:
  // PyTorch's rule (taken from NumPy before 1.23): a short sequence that holds sequences, slices, tensors, None or an
  // ellipsis is meant as a tuple. Anything else is an index.
  static bool is_tuple_of_keys(PyObject* key) {
    if (PyTuple_Check(key)) return true;
    if (!PyList_Check(key)) return false;
    const Py_ssize_t n = PyList_GET_SIZE(key);
    if (n >= 32) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* o = PyList_GET_ITEM(key, i);
      if (PyLong_CheckExact(o)) continue;
      if (o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || is_tensor(o) || is_ndarray(o) || is_sequence(o))
        return true;
    }
    return false;
  }
  static bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o); }

  BasicStep* push(BasicStep::Kind kind, int64_t start = 0, int64_t stop = 0, int64_t step = 1) {
    STRIDED_CHECK(n_ < kMaxSteps, IndexError, "too many indices for tensor of dimension ", ndim_);
    BasicStep* at = reinterpret_cast<BasicStep*>(space_) + n_++;
    *at = BasicStep{kind, start, stop, step};
    return at;
  }

  void add(PyObject* o) {
    if (PyLong_CheckExact(o)) return select(to_int(o));
    if (PySlice_Check(o)) {
      Py_ssize_t start, stop, step;
      if (PySlice_Unpack(o, &start, &stop, &step) < 0) throw PythonError{};  // ValueError for step 0
      consume(1);
      if (ndim_ == 0) STRIDED_THROW(IndexError, "slice() cannot be applied to a 0-dim tensor.");
      push(BasicStep::Slice, start, stop, step);
      if (start != 0 || stop != PY_SSIZE_T_MAX || step != 1) whole_ = false;
      return keep(1);
    }
    if (o == Py_None) {
      whole_ = false;
      push(BasicStep::NewAxis);
      return keep(1);
    }
    if (o == Py_Ellipsis) {
      STRIDED_CHECK(ellipsis_ < 0, IndexError, "an index can only have a single ellipsis ('...')");
      ellipsis_ = static_cast<int>(n_);
      ellipsis_entry_ = static_cast<int>(kept_);
      push(BasicStep::Skip);
      return;
    }
    if (is_tensor(o)) return add_tensor(unwrap(o));
    if (PyBool_Check(o)) return add_bool(o == Py_True);
    if (is_sequence(o) || is_ndarray(o)) {
      // Arrays and lists may have any integer dtype, as NumPy's indices; bytes are a mask. An empty one has none.
      Tensor t = tensor_from_object(o);
      if (is_integer(t.dtype()) ? t.dtype() != DType::UInt8 : is_floating(t.dtype()) && t.numel() == 0)
        t = to_dtype(t, DType::Int64);
      return add_tensor(t);
    }
    if (detail::accepts_bool(o)) {
      const int truth = PyObject_IsTrue(o);
      if (truth < 0) throw PythonError{};
      return add_bool(truth == 1);
    }
    if (PyIndex_Check(o)) return select(to_int(o));
    STRIDED_THROW(
        IndexError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got ",
        Py_TYPE(o)->tp_name, ")");
  }

  void select(int64_t i) {
    consume(1);
    STRIDED_CHECK(ndim_ > 0, IndexError, kZeroDim);
    whole_ = false;
    push(BasicStep::Select, i);
  }

  void add_bool(bool value) {
    whole_ = false;
    push(BasicStep::NewAxis);
    const Tensor at = empty(Dims{value ? 1 : 0}, DType::Int64);
    if (value) *at.data_as<int64_t>() = 0;
    index(at);
  }

  void add_tensor(const Tensor& t) {
    const bool mask = t.dtype() == DType::Bool || t.dtype() == DType::UInt8;
    if (t.ndim() == 0) {
      if (mask) return add_bool(item(t).to_bool());
      if (is_integer(t.dtype())) {
        const Scalar s = item(t);
        STRIDED_CHECK(s.kind() != Scalar::Kind::UInt, IndexError, "index ", s, " is out of bounds");
        return select(s.to_int());
      }
    }
    if (t.dtype() == DType::UInt8) warn_of_byte_mask();
    STRIDED_CHECK(mask || t.dtype() == DType::Int64 || t.dtype() == DType::Int32, IndexError,
                  "tensors used as indices must be long, int, byte or bool tensors");
    const int axes = mask ? t.ndim() : 1;
    consume(axes);
    push(BasicStep::Skip, axes);
    index(t);
  }

  void consume(int axes) { consumed_ += axes; }
  void keep(int n) {
    kept_ += n;
    if (advanced_) indices_.resize(kept_);
  }
  void index(const Tensor& at) {
    advanced_ = true;
    indices_.resize(kept_);
    indices_.emplace_back(at);
    ++kept_;
  }

  void finish() {
    STRIDED_CHECK(consumed_ <= ndim_, IndexError, "too many indices for tensor of dimension ", ndim_);
    if (ellipsis_ < 0) return;
    const int skipped = ndim_ - consumed_;
    reinterpret_cast<BasicStep*>(space_)[ellipsis_].start = skipped;
    if (advanced_ && ellipsis_entry_ < static_cast<int>(indices_.size()))
      indices_.insert(indices_.begin() + ellipsis_entry_, static_cast<size_t>(skipped), std::nullopt);
  }

  alignas(BasicStep) char space_[kMaxSteps * sizeof(BasicStep)];
  size_t n_ = 0;
  int ndim_, consumed_ = 0;
  int ellipsis_ = -1, ellipsis_entry_ = 0;
  size_t kept_ = 0;  // entries of `indices` so far, were it written down
  bool advanced_ = false, whole_ = true;
  Indices indices_;
};

// The view that the basic steps of a key lead to.
Tensor basic_view(const Tensor& self, const Key& key) {
  if (needs_grad(self)) return basic_index(self, key.basic());
  return view_of(self, [&] { return apply_basic(self.layout(), key.steps(), key.size()); });
}

// The integers of a key of nothing else, one for each of the first axes: x[i] and x[i, j], the commonest keys of all.
// 0: another key.
size_t read_integers(PyObject* o, int ndim, int64_t* to) {
  const bool tuple = PyTuple_CheckExact(o);
  PyObject* const* key = tuple ? reinterpret_cast<PyTupleObject*>(o)->ob_item : &o;
  const size_t n = tuple ? static_cast<size_t>(PyTuple_GET_SIZE(o)) : 1;
  if (n > static_cast<size_t>(ndim)) return 0;
  for (size_t k = 0; k < n; ++k)
    if (!read_small_int(key[k], to + k)) return 0;
  return n;
}
Layout layout_at(const Layout& from, const int64_t* index, size_t n) {
  int64_t offset = from.offset;
  for (size_t k = 0; k < n; ++k) {
    const int64_t i = index[k], size = from.shape[k];
    STRIDED_CHECK(i >= -size && i < size, IndexError, "index ", i, " is out of bounds for dimension ", k, " with size ",
                  size);
    offset += (i < 0 ? i + size : i) * from.strides[k];
  }
  const size_t rest = from.shape.size() - n;
  return Layout(from.shape.begin() + n, from.strides.begin() + n, rest, offset);
}

bool is_vector(PyObject* o) { return is_tensor(o) && unwrap(o).ndim() == 1; }

PyObject* get(const Tensor& held, PyObject* o) {
  int64_t at[kMaxDims];
  if (const size_t n = needs_grad(held) ? 0 : read_integers(o, held.ndim(), at))
    return wrap(view_of(held, [&] { return layout_at(held.layout(), at, n); }));
  if (is_vector(o) && !needs_grad(held))
    if (Tensor out; gather_few(held, unwrap(o), &out)) return wrap(std::move(out));
  const Key key(o, held.ndim());
  if (!key.advanced()) return wrap(basic_view(held, key));
  const Tensor self = held;
  return wrap(index(key.whole() ? self : basic_view(self, key), key.indices()));
}

// What is assigned: a tensor, or a number.
struct Value {
  Tensor tensor;
  Scalar number;
  bool is_number = false;

  Value(const Tensor& self, PyObject* o) {
    if (is_tensor(o)) {
      tensor = unwrap(o);
      if (is_complex(tensor.dtype()) && !is_complex(self.dtype()))
        warn_once("Casting complex values to real discards the imaginary part");
    } else if (python::is_number(o)) {
      number = assigned_number(to_scalar(o), self.dtype());
      is_number = true;
    } else if (PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o)) {
      tensor = tensor_from_object(o, self.dtype());
    } else if (is_ndarray(o)) {
      tensor = tensor_from_object(o);
      STRIDED_CHECK(is_complex(self.dtype()) || !is_complex(tensor.dtype()), TypeError,
                    "can't assign complex values to a torch.", self.dtype(), "Tensor");
    } else {
      STRIDED_THROW(TypeError, "can't assign a ", Py_TYPE(o)->tp_name, " to a torch.", self.dtype(), "Tensor");
    }
  }
  Tensor as_tensor(const Tensor& self) const {
    if (!is_number) return tensor;
    const Tensor out = empty(Dims(), self.dtype(), self.device());
    fill_into(out, number);
    return out;
  }
};

void set_view(const Tensor& self, Layout layout, const Value& value) {
  if (value.is_number && self.device().is_cpu() && layout.numel() == 1 && !self.storage().read_only() &&
      !self.storage().of_inference()) {
    // x[i, j] = number: no view is made.
    const Element element(value.number, self.dtype());
    std::memcpy(static_cast<char*>(self.bytes()) + layout.offset * self.itemsize(), element.bytes,
                static_cast<size_t>(self.itemsize()));
    return bump_version(self, "copy_");
  }
  const Tensor view = make_view(self, std::move(layout));
  check_writable("copy_", view);
  if (value.is_number) {
    fill_into(view, value.number);
  } else {
    Layout from = value.tensor.layout();
    while (from.ndim() > view.ndim() && from.shape[0] == 1) {  // as PyTorch: leading axes of size 1 are dropped
      from.shape.erase(0);
      from.strides.erase(0);
    }
    copy_into(view, make_view(value.tensor, std::move(from)));
  }
  bump_version(self, "copy_");
}

bool is_mask(const Indices& indices) {
  const auto given = [](const auto& index) { return index.has_value(); };
  const auto first = std::find_if(indices.begin(), indices.end(), given);
  return std::count_if(indices.begin(), indices.end(), given) == 1 && (*first)->dtype() == DType::Bool;
}

bool is_recorded(const Tensor& self, const Value& value) {
  const bool asks = grad_enabled() && self.impl()->is_apart();  // its base may want a gradient
  return asks || needs_grad(self) || (value.tensor.defined() && needs_grad(value.tensor));
}

// False: it is left to the general way.
bool set_few(const Tensor& self, const Tensor& index, PyObject* given) {
  if (self.ndim() != 1 || index.dtype() != DType::Int64 || needs_grad(self)) return false;
  const bool is_one = python::is_number(given);
  if (!is_one && !(is_tensor(given) && unwrap(given).dtype() == self.dtype() && !needs_grad(unwrap(given))))
    return false;
  const Value value(self, given);
  check_inplace("index_put_", self);
  const bool done = is_one ? scatter_few(self, index, value.number) : scatter_few(self, index, value.tensor);
  if (done) bump_version(self, "index_put_");
  return done;
}

void set(const Tensor& self, PyObject* o, PyObject* given) {
  if (o == Py_True) o = Py_None;  // the same place, in the words of a view
  if (is_vector(o) && set_few(self, unwrap(o), given)) return;
  int64_t at[kMaxDims];
  if (const size_t n = read_integers(o, self.ndim(), at)) {
    const Value value(self, given);
    if (!is_recorded(self, value)) return set_view(self, layout_at(self.layout(), at, n), value);
    basic_put_(self, Key(o, self.ndim()).basic(), value.as_tensor(self));
    return;
  }
  const Value value(self, given);
  if (o == Py_False) return;
  const Key key(o, self.ndim());
  if (!key.advanced()) {
    if (is_recorded(self, value)) basic_put_(self, key.basic(), value.as_tensor(self));
    else set_view(self, apply_basic(self.layout(), key.steps(), key.size()), value);
    return;
  }
  const Tensor target = key.whole() ? self : basic_view(self, key);
  const Indices& indices = key.indices();
  const bool single = value.is_number || (value.tensor.ndim() == 0 && value.tensor.dtype() == self.dtype());
  if (single && indices.size() == 1 && indices[0]->dtype() == DType::Bool && indices[0]->shape() == target.shape()) {
    // x[mask] = number
    const Tensor mask = index_for(target, *indices[0]);
    if (value.is_number) masked_fill_(target, mask, value.number);
    else masked_fill_(target, mask, value.tensor);
    return;
  }
  Tensor values = value.as_tensor(self);
  // Arrays are cast, and so is one element for a mask, as a number is. Other tensors are of self's dtype, as in
  // index_put_, which says so.
  if (values.dtype() != self.dtype() && (!is_tensor(given) || (values.numel() == 1 && is_mask(indices))))
    values = to_dtype(values, self.dtype());
  if (values.device() != self.device() && values.ndim() == 0) values = to_device(values, self.device());
  index_put_(target, indices, values, false);
}

}  // namespace

void warn_of_byte_mask() {
  warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
}

PyObject* subscript_get(PyObject* self, PyObject* key) {
  return guarded<PyObject*>(nullptr, [&] { return get(unwrap(self), key); });
}

PyObject* row_of(const Tensor& self, int64_t i) {
  return wrap(needs_grad(self) ? select(self, 0, i) : view_of(self, [&] { return layout_at(self.layout(), &i, 1); }));
}

int subscript_set(PyObject* self, PyObject* key, PyObject* value) {
  return guarded<int>(-1, [&] {
    STRIDED_CHECK(value != nullptr, TypeError, "Tensor does not support deleting items");
    const Tensor held = unwrap(self);
    set(held, key, value);
    return 0;
  });
}

}  // namespace strided::python
