// Tensors of Python classes, as C++ sees them: what is kept of the object, and gradients that only Python can add.
#pragma once

#include "tensor/tensor.h"

namespace strided {

// Set by csrc/python. Called when a tensor dies whose `py_object` is not null: what was kept of the object goes too.
extern void (*drop_kept_object)(void* py_object);

// Set by csrc/python. Another tensor of the same memory, which a graph keeps, becomes an object of the same class with
// the same attributes, if the class has a __torch_dispatch__.
extern void (*carry_object)(const Tensor& from, const Tensor& to);
inline Tensor kept_view(const Tensor& t) {
  Tensor view = make_view(t, t.layout());
  if (t.impl()->py_object && carry_object) carry_object(t, view);
  return view;
}

// Note [Gradients whose values are elsewhere]
// A class of Python's may keep its values in other tensors (a sparse tensor has indices and values): what C++ holds is
// a shell of its shape and dtype on the device meta. Such a tensor may be the gradient of a tensor of another device:
// it goes through hooks, to leaves and to the nodes of user-defined functions as it is, and Python adds it to others.
// A node of C++ gets the dense sum.
// The gradients of a batch of samples (a BatchedTensor of vmap) go the same way; a node of C++ takes sample by sample.
// A class of the user's own with a __torch_dispatch__ computes all operations itself, also with values of C++ on the
// tensor's own device: its objects are added by it, are copied by it for a leaf, and never become a dense sum.
struct ForeignGradients {
  bool (*is_foreign)(const Tensor& grad, bool same_device);
  bool (*dispatches)(const Tensor& grad);                          // a class with a __torch_dispatch__
  Tensor (*add)(const Tensor& a, const Tensor& b, bool in_place);  // into a, or into a tensor of its own
  // As the gradient of a leaf: laid out as the leaf is, and nobody else's.
  Tensor (*own)(const Tensor& grad, const Tensor& leaf, bool copy);
  bool (*is_batch)(const Tensor& grad);
  Tensor (*fit_batch)(const Tensor& grad, const Dims& shape, DType dtype);  // summed and cast, as of one sample
  std::vector<TensorList> (*samples)(const TensorList& grads);              // those that do not vary are repeated
  TensorList (*join)(const TensorList& grads, const std::vector<TensorList>& results);  // the batch is that of grads
};
extern ForeignGradients foreign_gradients;  // set by csrc/python

inline bool is_foreign_gradient(const Tensor& grad, Device of) {
  return grad.impl()->py_object && foreign_gradients.is_foreign &&
         foreign_gradients.is_foreign(grad, grad.device() == of);
}

inline bool is_batch_of_gradients(const Tensor& grad) {
  return grad.defined() && grad.impl()->py_object && foreign_gradients.is_batch && foreign_gradients.is_batch(grad);
}

// The device of a tensor whose values are elsewhere is meta for C++: its gradient may be a tensor of any device.
inline bool fits_device(const Tensor& grad, Device of) {
  return grad.device() == of || of.is_meta() || is_foreign_gradient(grad, of);
}

}  // namespace strided
