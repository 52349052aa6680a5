// Binding a C++ function to Python: one line, one signature text, one object that serves function and method.
//   def<&narrow>("narrow(Tensor input, int dim, int start, int length)",
//                "A view of `length` elements from `start` on.");
//
// The signature is PyTorch's notation. Conversion follows the C++ parameter; a test compares the text with it
// (_C._signature_mismatches), and help, inspect.signature and the stubs are made from the text. Its types:
//   Tensor           const Tensor&                       int[]          const Dims& (an int counts as a list of one)
//   Tensor[]         const std::vector<Tensor>&          str            const std::string&
//   Tensor?[]        std::vector<std::optional<Tensor>>  dtype, device  DType, Device
//   TensorOrNumber   Operand                             Generator?     Generator*
//   Number           const Scalar&                       layout?, memory_format?, bool?: Ignored
//   int, float, bool int64_t, double, bool
// A `?` after a type: std::optional of it. PyObject* (borrowed, anything) is any type, or one of several: Number|str.
// `Dims *size` as a parameter takes the remaining positional integers as well: view(2, 3) and view((2, 3)).
// Defaults: None, True, False, numbers, 'text', (); with None the C++ parameter must be a std::optional (or
// Generator*). `*` starts keyword-only parameters. A first parameter called input also answers to `self`; dim to
// `axis`, keepdim to `keepdims`, input to `x` and `a`, other to `x2`.
// A last parameter `Tensor? out=None` that the C++ function does not have is served by write_out after the call.
// A parameter pin_memory= is served after the call as well: the result is copied to page-locked memory.
// Results: Tensor, std::vector<Tensor> (a tuple), std::tuple<Tensor, ...>, bool, int64_t, double, std::string, Dims
// (Size), Scalar, void (None), PyObject* (new reference). `-> (values, indices)` after the signature names the fields
// of a tuple; `-> Tensor`, or `-> Tensor; Tensor[] if as_tuple`, says the type of a PyObject*.
// Several def of one name are overloads, tried in order. A dotted name goes to that namespace: "linalg.solve(...)".
#pragma once

#include "python/function.h"

namespace strided::python {

// Where a function is, and what its out= is like, as in PyTorch. kResizesOut: it is resized without a warning.
// kPositions: it takes positions, as the field `indices` of several results does, so that it must be int64.
// kJoins: the function joins tensors, and refuses an out= of a dtype that cannot hold them with a TypeError.
enum Where : unsigned { kFunction = 1, kMethod = 2, kBoth = 3, kResizesOut = 4, kPositions = 8, kJoins = 16 };

template <auto F>
void def(const char* signature, const char* doc, unsigned where = kBoth) {
  register_overload(signature, doc, where, detail::describe<F>());
}

Tensor pin_memory(const Tensor& t);               // a copy in page-locked memory
Tensor blank(Tensor made);                        // filled where deterministic programs ask for it, else as it is
void check_tolerances(double rtol, double atol);  // of isclose and allclose: RuntimeError below zero

// One for each family; module.cpp calls them all.
void bind_elementwise();
void bind_activations();
void bind_losses();
void bind_images();
void bind_reductions();
void bind_factories();
void bind_views();
void bind_indexing();
void bind_joining();
void bind_matrices();
void bind_decompositions();
void bind_statistics();
void bind_sorting();
void bind_random();
void bind_fft();
void bind_copies();
void bind_autograd();
void bind_cuda();
void bind_xla();
void bind_files();

}  // namespace strided::python
