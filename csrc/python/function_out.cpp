// Calls with out=: what is given for the results of a function that does not know of it.
#include <optional>

#include "core/promotion.h"
#include "ops/out.h"
#include "ops/record.h"
#include "python/function.h"
#include "python/owned.h"

namespace strided::python {
namespace {

// The tensors that out= names, whose objects `out` keeps.
std::vector<Tensor> destinations(const Overload& o, PyObject* out) {
  if (is_tensor(out)) return {unwrap(out)};
  STRIDED_CHECK(PyTuple_Check(out) || PyList_Check(out), TypeError, o.name,
                ": out= must be a tensor, or one tensor for each result");
  STRIDED_CHECK(detail::accepts_tensors(out), TypeError, o.name, ": out= must hold tensors");
  return detail::to_tensors(out);
}

// The tensors among the arguments.
std::vector<Tensor> inputs_of(PyObject* const* slots, size_t n) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < n; ++i) {
    if (detail::list_in(slots[i])) continue;
    if (is_tensor(slots[i])) inputs.push_back(unwrap(slots[i]));
    else if (PyTuple_Check(slots[i]) || PyList_Check(slots[i]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(slots[i]); ++k)
        if (PyObject* item = PySequence_Fast_GET_ITEM(slots[i], k); is_tensor(item)) inputs.push_back(unwrap(item));
  }
  return inputs;
}

// Positions go into int64 only: other dtypes would round large ones.
void check_positions(const Overload& o, size_t part, const Tensor& result, const Tensor& out) {
  const bool positions = part < o.fields.size() ? o.fields[part] == "indices" : o.positions;
  STRIDED_CHECK(!positions || result.dtype() != DType::Int64 || out.dtype() == DType::Int64, RuntimeError,
                "Expected out tensor to have dtype long int, but got ", info_of(out.dtype()).written, " instead");
}

// A result that out= cannot hold is a TypeError for what joins tensors, as in PyTorch (write_out: RuntimeError).
void check_joined(const Overload& o, const Tensor& result, const Tensor& out) {
  STRIDED_CHECK(!o.joins || can_cast(result.dtype(), out.dtype()), TypeError,
                "torch.cat(): input types can't be cast to the desired output type ", out.dtype());
}

// Without dtype= a result is computed in the dtype of out=, unless that would drop imaginary parts.
void take_dtype(const Overload& o, PyObject** slots, const std::vector<Tensor>& inputs, const Tensor& out,
                Owned* held) {
  for (size_t i = 0; i < o.params.size(); ++i) {
    if (o.params[i].name != "dtype" || slots[i] != Py_None) continue;
    if (inputs.empty() || inputs[0].dtype() == out.dtype()) return;
    if (is_complex(inputs[0].dtype()) && !is_complex(out.dtype())) return;
    slots[i] = held->o = wrap(out.dtype());
  }
}

}  // namespace

PyObject* detail::run_with_out(const Overload& o, PyObject** slots) {
  const char* name = o.name.c_str();
  PyObject* out = slots[o.params.size() - 1];
  const std::vector<Tensor> outs = destinations(o, out);
  const std::vector<Tensor> inputs = inputs_of(slots, o.params.size() - 1);
  check_destinations(name, outs);
  const bool wants = needs_grad(inputs), one = is_tensor(out);
  Owned dtype, result;
  if (one) take_dtype(o, slots, inputs, outs[0], &dtype);
  {
    NoGradGuard no_grad;
    // Whether there is a gradient to lose shows in the result's dtype; until then nothing is written.
    std::optional<OutScope> scope;
    if (one && !wants) scope.emplace(outs[0], inputs);
    result.o = o.invoke(o, slots);
  }
  if (!result.o) return nullptr;
  STRIDED_CHECK(
      one == is_tensor(result.o) && (one || PyTuple_GET_SIZE(result.o) == static_cast<Py_ssize_t>(outs.size())),
      TypeError, name, ": out= must be a tensor, or one tensor for each result");
  std::vector<Tensor> results;
  for (size_t i = 0; i < outs.size(); ++i) {
    PyObject* part = one ? result.o : PyTuple_GET_ITEM(result.o, static_cast<Py_ssize_t>(i));
    results.push_back(unwrap(part));
    if (wants && !is_integral(results[i].dtype())) refuse_gradient(name);
    check_positions(o, i, results[i], outs[i]);
    check_joined(o, results[i], outs[i]);
  }
  // Nobody else has seen the computed tensors: their objects are let go before write_out looks who holds the memory.
  Py_CLEAR(result.o);
  write_out(name, outs, results, o.resizes_out ? nullptr : resize_text);
  return one ? Py_NewRef(out) : detail::tensors_to_tuple(o, outs.data(), outs.size(), true);
}

}  // namespace strided::python
