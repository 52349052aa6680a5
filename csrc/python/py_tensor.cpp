// The Tensor type: a hand-written CPython type, so that operators, indexing and shape queries cost a few nanoseconds.
#include "python/py_tensor.h"

#include <algorithm>
#include <vector>

#include "base/warning.h"
#include "core/profile.h"
#include "core/promotion.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"
#include "python/function.h"
#include "python/kept_object.h"
#include "python/memory_format.h"
#include "python/overrides.h"
#include "python/owned.h"
#include "python/py_node.h"
#include "python/py_tensor_detail.h"
#include "python/py_tensor_record.h"
#include "python/subscript.h"

namespace strided::python {

PyTypeObject* tensor_type = nullptr;

namespace {

// The memory of some dead objects, for the next ones: to ask Python for it took a tenth of the time of a view. Each
// keeps its reference to the type. Not in sanitized builds, which would not see uses after the end.
class SpareObjects {
 public:
  PyObject* take() {
    if (n_ == 0) return nullptr;
    PyObject* o = all_[--n_];
    _Py_NewReference(o);
    return o;
  }
  bool keep(PyObject* o) {
    if (n_ == kMost) return false;
    all_[n_++] = o;
    return true;
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr int kMost = 0;
#else
  static constexpr int kMost = 1024;
#endif
  PyObject* all_[kMost + 1];
  int n_ = 0;
};
SpareObjects spare_objects;  // under the interpreter's lock

}  // namespace

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  // Not tp_alloc, which would have the garbage collector look at each (Note [Tensors and the garbage collector]).
  PyObject* o = type == tensor_type ? spare_objects.take() : type->tp_alloc(type, 0);
  if (o == nullptr && type == tensor_type) o = reinterpret_cast<PyObject*>(PyObject_GC_New(PyTensor, type));
  if (o == nullptr) throw PythonError{};
  auto* p = reinterpret_cast<PyTensor*>(o);
  if (t.defined()) t.impl()->py_object = o;
  new (&p->tensor) Tensor(std::move(t));
  p->dict = p->weak = nullptr;
  return o;
}

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (t.impl()->py_object) return shown_object(t);
  return wrap_as(tensor_type, t);
}
PyObject* wrap(Tensor&& t) {
  if (!t.defined()) Py_RETURN_NONE;
  if (t.impl()->py_object) return shown_object(t);
  return wrap_as(tensor_type, std::move(t));
}

// ---------------------------------------------------------------- calls that others take over

PyObject* handed_over(const char* name, PyObject* o, PyObject* argument) {
  PyObject* args[] = {o, argument};
  return guarded<PyObject*>(nullptr, [&] { return hand_over_attribute(name, nullptr, args, argument ? 2 : 1); });
}

namespace {

// TypeError says that the operand is not for us, as NotImplemented does.
template <class F>
PyObject* or_not_implemented(F f) {
  PyObject* result = guarded<PyObject*>(nullptr, f);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}
PyObject* operator_handed_over(const char* name, const char* reflected, PyObject* a, PyObject* b) {
  PyObject *straight[] = {a, b}, *swapped[] = {b, a};
  return or_not_implemented([&] {
    return is_tensor(a) ? hand_over_attribute(name, nullptr, straight, 2)
                        : hand_over_attribute(reflected, nullptr, swapped, 2);
  });
}

// ---------------------------------------------------------------- operators

}  // namespace

bool as_operand(PyObject* o, Tensor* hold, std::optional<Operand>* out) {
  if (is_tensor(o)) {
    out->emplace(unwrap(o));
  } else if (PyFloat_CheckExact(o) || PyLong_Check(o) || is_number(o)) {
    out->emplace(to_scalar(o));
  } else if (is_ndarray(o)) {
    *hold = tensor_from_object(o);
    out->emplace(*hold);
  } else {
    return false;
  }
  return true;
}

namespace {

template <class Op>
const char* op_name() {
  return op_def(elementwise_id<Op>).info->name;
}

template <class Op>
PyObject* binary(PyObject* a, PyObject* b) {
  // PyTorch's `2 * x` is x.mul(2): the tensor is the node's first input.
  if constexpr (std::is_same_v<Op, Add> || std::is_same_v<Op, Mul>)
    if (!is_tensor(a) && !is_ndarray(a)) std::swap(a, b);
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Tensor hold[2];
    std::optional<Operand> left, right;
    if (!as_operand(a, &hold[0], &left) || !as_operand(b, &hold[1], &right)) Py_RETURN_NOTIMPLEMENTED;
    const Operand in[] = {*left, *right};
    const ProfiledCall profiled(op_name<Op>);
    return wrap(call_elementwise(op_def(elementwise_id<Op>), in));
  });
}
template <class Op>
PyObject* binary_inplace(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    Tensor hold;
    std::optional<Operand> right;
    if (!as_operand(b, &hold, &right)) Py_RETURN_NOTIMPLEMENTED;
    const Operand in[] = {Operand(unwrap(a)), *right};
    const ProfiledCall profiled([] { return op_name<Op>() + std::string("_"); });
    call_elementwise_out(op_def(elementwise_id<Op>), in, nullptr, unwrap(a), true);
    return Py_NewRef(a);
  });
}
template <class Op>
PyObject* unary(PyObject* a) {
  return guarded<PyObject*>(nullptr, [&] {
    const Operand in[] = {Operand(unwrap(a))};
    if constexpr (std::is_same_v<Op, BitwiseNot>)
      STRIDED_CHECK(is_integral(unwrap(a).dtype()), TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    const ProfiledCall profiled(op_name<Op>);
    return wrap(call_elementwise(op_def(elementwise_id<Op>), in));
  });
}
PyObject* power(PyObject* a, PyObject* b, PyObject* mod) {
  if (mod != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() with a modulus is not supported for tensors");
    return nullptr;
  }
  return taken(a, b) ? operator_handed_over("__pow__", "__rpow__", a, b) : binary<Pow>(a, b);
}
PyObject* power_inplace(PyObject* a, PyObject* b, PyObject*) {
  return taken(a, b) ? operator_handed_over("__ipow__", "__ipow__", a, b) : binary_inplace<Pow>(a, b);
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* args[2] = {a, b};
    PyObject* made[2] = {nullptr, nullptr};
    for (int i = 0; i < 2; ++i) {
      if (is_tensor(args[i])) continue;
      if (!is_ndarray(args[i])) Py_RETURN_NOTIMPLEMENTED;
      args[i] = made[i] = wrap(tensor_from_object(args[i]));
    }
    PyObject* result = call_function("matmul", args, 2);
    Py_XDECREF(made[0]);
    Py_XDECREF(made[1]);
    return result;
  });
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (taken(a, b)) {
    static constexpr const char* names[] = {"lt", "le", "eq", "ne", "gt", "ge"};  // in the order of Py_LT ... Py_GE
    return operator_handed_over(names[op], names[op], a, b);
  }
  switch (op) {
    case Py_EQ: return binary<Eq>(a, b);
    case Py_NE: return binary<Ne>(a, b);
    case Py_LT: return binary<Lt>(a, b);
    case Py_LE: return binary<Le>(a, b);
    case Py_GT: return binary<Gt>(a, b);
    default: return binary<Ge>(a, b);
  }
}

// ---------------------------------------------------------------- numbers

int truth(PyObject* o) {
  if (taken(o)) {
    PyObject* result = handed_over("__bool__", o);
    const int yes = result ? PyObject_IsTrue(result) : -1;
    Py_XDECREF(result);
    return yes;
  }
  return guarded<int>(-1, [&] {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.numel() != 0, RuntimeError, "Boolean value of Tensor with no values is ambiguous");
    STRIDED_CHECK(t.numel() == 1, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous");
    return static_cast<int>(item(t).to_bool());
  });
}
}  // namespace

Scalar only_element(const Tensor& t) {
  STRIDED_CHECK(t.numel() == 1, ValueError, "only one element tensors can be converted to Python scalars");
  return item(t);
}

namespace {

PyObject* to_python_float(PyObject* o) {
  if (taken(o)) return handed_over("__float__", o);
  return guarded<PyObject*>(nullptr, [&] {
    const Tensor& self = self_of(o);
    const Scalar s = only_element(self);
    STRIDED_CHECK(!s.is_complex() || s.imag() == 0, RuntimeError,
                  "value cannot be converted to type double without overflow");
    if (grad_enabled() && self.requires_grad()) {
      warn_once(
          "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
          "tensor.detach() first.");
    }
    return PyFloat_FromDouble(s.real());
  });
}
PyObject* to_python_int(PyObject* o) {
  if (taken(o)) return handed_over("__int__", o);
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Scalar s = only_element(self_of(o));
    if (s.is_integral()) {
      PyObject* v = wrap(s);
      PyObject* i = PyNumber_Long(v);
      Py_DECREF(v);
      return i;
    }
    STRIDED_CHECK(!s.is_complex() || s.imag() == 0, RuntimeError,
                  "value cannot be converted to type int64_t without overflow");
    return PyLong_FromDouble(s.real());  // ValueError / OverflowError for nan and inf
  });
}
PyObject* to_python_index(PyObject* o) {
  if (taken(o)) return handed_over("__index__", o);
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.numel() == 1 && is_integral(t.dtype()), TypeError,
                  "only integer tensors of a single element can be converted to an index");
    return to_python_int(o);
  });
}
Py_ssize_t length(PyObject* o) {
  if (taken(o)) {
    PyObject* result = handed_over("__len__", o);
    const Py_ssize_t n = result ? PyNumber_AsSsize_t(result, PyExc_OverflowError) : -1;
    Py_XDECREF(result);
    return n;
  }
  return guarded<Py_ssize_t>(-1, [&] {
    const Tensor& t = self_of(o);
    STRIDED_CHECK(t.ndim() > 0, TypeError, "len() of a 0-d tensor");
    return static_cast<Py_ssize_t>(t.size(0));
  });
}

// What iter() gives. Rows are made one at a time: a list of all rows of a large tensor would be larger than the tensor.
struct Rows {
  PyObject_HEAD PyObject* of;  // null when there are no more
  int64_t next;
};
PyTypeObject* rows_type = nullptr;

PyObject* row(PyObject* o, Py_ssize_t i) {
  if (taken(o)) {
    PyObject* index = PyLong_FromSsize_t(i);
    PyObject* result = index ? handed_over("__getitem__", o, index) : nullptr;
    Py_XDECREF(index);
    return result;
  }
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const Tensor& t = self_of(o);
    if (t.ndim() == 0 || i < 0 || i >= t.size(0)) {
      PyErr_SetString(PyExc_IndexError, "index out of range");
      return nullptr;
    }
    return row_of(t, i);
  });
}
PyObject* iterate(PyObject* o) {
  if (taken(o)) {
    PyObject* rows = handed_over("unbind", o);
    PyObject* iterator = rows ? PyObject_GetIter(rows) : nullptr;
    Py_XDECREF(rows);
    return iterator;
  }
  return guarded<PyObject*>(nullptr, [&] {
    STRIDED_CHECK(self_of(o).ndim() > 0, TypeError, "iteration over a 0-d tensor");
    // A subclass with a __getitem__ of its own is asked for each row.
    if (Py_TYPE(o)->tp_as_sequence->sq_item != row) return PySeqIter_New(o);
    auto* rows = PyObject_GC_New(Rows, rows_type);
    if (rows == nullptr) throw PythonError{};
    rows->of = Py_NewRef(o);
    rows->next = 0;
    PyObject_GC_Track(rows);
    return reinterpret_cast<PyObject*>(rows);
  });
}

PyObject* next_row(PyObject* o) {
  auto* rows = reinterpret_cast<Rows*>(o);
  if (rows->of == nullptr) return nullptr;
  const Tensor& t = unwrap(rows->of);
  if (t.ndim() == 0 || rows->next >= t.size(0)) {
    Py_CLEAR(rows->of);
    return nullptr;
  }
  const Owned held(Py_NewRef(rows->of));  // who takes the call may use up the iterator meanwhile
  return row(held.o, rows->next++);
}
PyObject* rows_left(PyObject* o, PyObject*) {
  const auto* rows = reinterpret_cast<Rows*>(o);
  const bool some = rows->of != nullptr && unwrap(rows->of).ndim() > 0;
  return PyLong_FromLongLong(some ? std::max<int64_t>(unwrap(rows->of).size(0) - rows->next, 0) : 0);
}
int rows_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(reinterpret_cast<Rows*>(o)->of);
  return 0;
}
int rows_clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<Rows*>(o)->of);
  return 0;
}
void rows_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  rows_clear(o);
  PyObject_GC_Del(o);
  Py_DECREF(type);
}
// Copies begin with the row at hand: iter(x[next:]).
PyObject* reduce_rows(PyObject* o, PyObject*) {
  return guarded<PyObject*>(nullptr, [&] {
    const auto* rows = reinterpret_cast<Rows*>(o);
    PyObject* iter = PyDict_GetItemString(PyEval_GetBuiltins(), "iter");
    if (rows->of == nullptr) return Py_BuildValue("O(())", iter);
    const Owned from(checked(PyLong_FromLongLong(rows->next)));
    const Owned slice(checked(PySlice_New(from.o, nullptr, nullptr)));
    return Py_BuildValue("O(N)", iter, checked(PyObject_GetItem(rows->of, slice.o)));
  });
}
PyMethodDef rows_methods[] = {{"__length_hint__", rows_left, METH_NOARGS, nullptr},
                              {"__reduce__", reduce_rows, METH_NOARGS, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot rows_slots[] = {{Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                            {Py_tp_iternext, reinterpret_cast<void*>(next_row)},
                            {Py_tp_methods, rows_methods},
                            {Py_tp_traverse, reinterpret_cast<void*>(rows_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(rows_clear)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(rows_dealloc)},
                            {0, nullptr}};
PyType_Spec rows_spec = {"strided.TensorIterator", sizeof(Rows), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, rows_slots};

// ---------------------------------------------------------------- buffer protocol

struct Exported {
  Tensor tensor;
  Py_ssize_t numbers[2 * kMaxDims];
};

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded<int>(-1, [&] {
    const Tensor& t = self_of(o);
    PyTypeObject* type = Py_TYPE(o);
    STRIDED_CHECK(
        type == tensor_type || !PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "_values_are_elsewhere"),
        BufferError, "memoryview: a ", type->tp_name, " has no memory of its own");
    STRIDED_CHECK(t.device().is_cpu(), BufferError, "memoryview: the tensor is on device '", t.device(),
                  "', not on the CPU");
    STRIDED_CHECK(!t.requires_grad(), BufferError, "memoryview: the tensor requires grad; use tensor.detach()");
    STRIDED_CHECK(info_of(t.dtype()).buffer_format, BufferError, "memoryview: the buffer protocol has no format for ",
                  name_of(t.dtype()));
    STRIDED_CHECK(!((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && t.storage().read_only()), BufferError,
                  "memoryview: the tensor is read-only");
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    STRIDED_CHECK(wants_strides || t.is_contiguous(), BufferError, "memoryview: the tensor is not contiguous");
    STRIDED_CHECK((flags & PyBUF_C_CONTIGUOUS) != PyBUF_C_CONTIGUOUS || t.is_contiguous(), BufferError,
                  "memoryview: the tensor is not C-contiguous");
    STRIDED_CHECK((flags & PyBUF_F_CONTIGUOUS) != PyBUF_F_CONTIGUOUS || numpy_T(t).is_contiguous(), BufferError,
                  "memoryview: the tensor is not Fortran-contiguous");
    t.storage().set_exported();
    auto* held = new Exported{t, {}};
    for (int i = 0; i < t.ndim(); ++i) {
      held->numbers[i] = t.size(i);
      held->numbers[kMaxDims + i] = t.strides()[i] * t.itemsize();
    }
    static char nothing[16];
    view->buf = t.numel() ? t.data() : nothing;
    view->obj = Py_NewRef(o);
    view->len = t.numel() * t.itemsize();
    view->itemsize = t.itemsize();
    view->readonly = t.storage().read_only();
    view->ndim = t.ndim();
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(info_of(t.dtype()).buffer_format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? held->numbers : nullptr;
    view->strides = wants_strides ? held->numbers + kMaxDims : nullptr;
    view->suboffsets = nullptr;
    view->internal = held;
    return 0;
  });
}
void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

// ---------------------------------------------------------------- life

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  // The legacy constructor torch.Tensor(...): sizes, a list, another tensor.
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    PyObject* made = checked(PyObject_Call(hook("legacy_constructor"), args, kwargs));
    if (!is_tensor(made) || type == Py_TYPE(made)) return made;
    const Tensor t = unwrap(made);
    PyObject* o = wrap_as(type, t);  // takes the place of `made`, which nobody else has
    Py_DECREF(made);
    return o;
  });
}
int tensor_init(PyObject*, PyObject*, PyObject*) { return 0; }

// Note [Tensors and the garbage collector]
// Looking after every tensor would make each allocation dearer, and few can be part of a cycle: only one with
// attributes, with hooks, or made by an autograd.Function. The collector is told of these when they become so (track).
// The attributes of an object that comes back (Note [Objects that come back]) are not the object's alone: the collector
// must not empty them.
bool comes_back(const PyTensor* p) { return p->dict && p->tensor.defined() && p->tensor.impl()->use_count() > 1; }
int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  Py_VISIT(Py_TYPE(o));
  if (!comes_back(p)) Py_VISIT(p->dict);
  return p->tensor.defined() ? visit_record(p->tensor, visit, arg) : 0;
}
int tensor_clear(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  if (!comes_back(p)) Py_CLEAR(p->dict);
  if (p->tensor.defined()) clear_record(p->tensor);
  return 0;
}
int tensor_setattr(PyObject* o, PyObject* name, PyObject* value) {
  const int result = PyObject_GenericSetAttr(o, name, value);
  if (result == 0 && reinterpret_cast<PyTensor*>(o)->dict) track(o);
  return result;
}

void tensor_dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyTensor*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (PyType_IS_GC(type)) PyObject_GC_UnTrack(o);
  if (p->tensor.defined() && p->tensor.impl()->py_object == o) {
    TensorImpl& impl = *p->tensor.impl();
    // Before others run: a dying object is not given out.
    if (type == tensor_type && !p->dict) impl.py_object = nullptr;
    else keep_object(o);
    if (impl.autograd) drop_graph_of_gradient(p->tensor);
  }
  if (p->weak) PyObject_ClearWeakRefs(o);
  p->tensor.~Tensor();
  Py_CLEAR(p->dict);
  if (type == tensor_type && spare_objects.keep(o)) return;
  type->tp_free(o);
  Py_DECREF(type);
}
Py_hash_t tensor_hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(o) >> 4); }

// ---------------------------------------------------------------- the type

// Keys of integers, slices, None and `...`, one or several: nothing that could take the call.
bool is_plain_key(PyObject* key) {
  const auto plain = [](PyObject* item) {
    return PyLong_CheckExact(item) || PySlice_Check(item) || item == Py_None || item == Py_Ellipsis;
  };
  if (!PyTuple_CheckExact(key)) return plain(key);
  PyObject* const* items = reinterpret_cast<PyTupleObject*>(key)->ob_item;
  return std::all_of(items, items + PyTuple_GET_SIZE(key), plain);
}

PyObject* subscript(PyObject* o, PyObject* key) {
  const bool handed = is_plain_key(key) ? taken(o) : taken(o, key);
  return handed ? handed_over("__getitem__", o, key) : subscript_get(o, key);
}
int set_subscript(PyObject* o, PyObject* key, PyObject* value) {
  PyObject* args[] = {o, key, value};
  if (!value || !taken(args, 3)) return subscript_set(o, key, value);
  return guarded<int>(-1, [&] {
    Py_DECREF(hand_over_attribute("__setitem__", nullptr, args, 3));
    return 0;
  });
}

PyMemberDef members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

#define SLOT(name, f) {Py_##name, reinterpret_cast<void*>(f)}
#define OPERATOR(slot, f, name, reflected) \
  SLOT( \
      slot, \
      +[](PyObject* a, PyObject* b) { return taken(a, b) ? operator_handed_over(#name, #reflected, a, b) : f(a, b); })
#define UNARY(slot, Op, name) SLOT(slot, +[](PyObject* a) { return taken(a) ? handed_over(#name, a) : unary<Op>(a); })
PyType_Slot slots[] = {
    SLOT(tp_new, tensor_new),
    SLOT(tp_init, tensor_init),
    SLOT(tp_dealloc, tensor_dealloc),
    SLOT(tp_hash, tensor_hash),
    SLOT(tp_richcompare, compare),
    SLOT(tp_iter, iterate),
    SLOT(tp_getset, tensor_getset),
    SLOT(tp_methods, tensor_methods),
    SLOT(tp_traverse, tensor_traverse),
    SLOT(tp_clear, tensor_clear),
    SLOT(tp_setattro, tensor_setattr),
    SLOT(tp_members, members),
    SLOT(mp_length, length),
    SLOT(sq_item, row),
    SLOT(mp_subscript, subscript),
    SLOT(mp_ass_subscript, set_subscript),
    OPERATOR(nb_add, binary<Add>, add, add),
    OPERATOR(nb_subtract, binary<Sub>, sub, __rsub__),
    OPERATOR(nb_multiply, binary<Mul>, mul, mul),
    OPERATOR(nb_true_divide, binary<Div>, div, __rtruediv__),
    OPERATOR(nb_floor_divide, binary<FloorDivide>, __floordiv__, __rfloordiv__),
    OPERATOR(nb_remainder, binary<Remainder>, remainder, __rmod__),
    SLOT(nb_power, power),
    OPERATOR(nb_and, binary<BitwiseAnd>, __and__, bitwise_and),
    OPERATOR(nb_or, binary<BitwiseOr>, __or__, bitwise_or),
    OPERATOR(nb_xor, binary<BitwiseXor>, __xor__, bitwise_xor),
    OPERATOR(nb_lshift, binary<BitwiseLeftShift>, __lshift__, __rlshift__),
    OPERATOR(nb_rshift, binary<BitwiseRightShift>, __rshift__, __rrshift__),
    OPERATOR(nb_inplace_add, binary_inplace<Add>, add_, add_),
    OPERATOR(nb_inplace_subtract, binary_inplace<Sub>, sub_, sub_),
    OPERATOR(nb_inplace_multiply, binary_inplace<Mul>, mul_, mul_),
    OPERATOR(nb_inplace_true_divide, binary_inplace<Div>, div_, div_),
    OPERATOR(nb_inplace_floor_divide, binary_inplace<FloorDivide>, floor_divide_, floor_divide_),
    OPERATOR(nb_inplace_remainder, binary_inplace<Remainder>, remainder_, remainder_),
    SLOT(nb_inplace_power, power_inplace),
    OPERATOR(nb_inplace_and, binary_inplace<BitwiseAnd>, __iand__, __iand__),
    OPERATOR(nb_inplace_or, binary_inplace<BitwiseOr>, __ior__, __ior__),
    OPERATOR(nb_inplace_xor, binary_inplace<BitwiseXor>, __ixor__, __ixor__),
    OPERATOR(nb_inplace_lshift, binary_inplace<BitwiseLeftShift>, __ilshift__, __ilshift__),
    OPERATOR(nb_inplace_rshift, binary_inplace<BitwiseRightShift>, __irshift__, __irshift__),
    OPERATOR(nb_matrix_multiply, matrix_multiply, matmul, __rmatmul__),
    UNARY(nb_negative, Neg, neg),
    UNARY(nb_positive, Positive, positive),
    UNARY(nb_absolute, Abs, abs),
    UNARY(nb_invert, BitwiseNot, __invert__),
    SLOT(nb_bool, truth),
    SLOT(nb_int, to_python_int),
    SLOT(nb_float, to_python_float),
    SLOT(nb_index, to_python_index),
    SLOT(bf_getbuffer, get_buffer),
    SLOT(bf_releasebuffer, release_buffer),
    {Py_tp_doc,
     const_cast<char*>("A strided view of a storage: an n-dimensional array of one dtype.\n\n"
                       "Made by strided.tensor and the other factories; Tensor(2, 3) makes an uninitialised\n"
                       "one of that size, Tensor([1, 2]) one with these values, in the default dtype.")},
    {0, nullptr}};
#undef SLOT
#undef OPERATOR
#undef UNARY
PyType_Spec spec = {"strided.Tensor", sizeof(PyTensor), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void init_tensor(PyObject* module) {
  tensor_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&spec)));
  // Errors of the interpreter name the class without its module, as they do for PyTorch's, which is written in Python.
  const Owned name(PyUnicode_FromString("Tensor"));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__name__", name.o) < 0) throw PythonError{};
  rows_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&rows_spec)));
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type));
}

}  // namespace strided::python
