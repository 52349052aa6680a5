// Tensors of Python classes, as C++ sees them: what is kept of the object, and gradients that only Python can add.
#pragma once

#include "tensor/tensor.h"

namespace strided {

// Set by csrc/python. Called when a tensor dies whose `py_object` is not null: what was kept of the object goes too.
extern void (*drop_kept_object)(void* py_object);

// Note [Gradients whose values are elsewhere]
// A class of Python's may keep its values in other tensors (a sparse tensor has indices and values): what C++ holds is
// a shell of its shape and dtype on the device meta. Such a tensor may be the gradient of a tensor of another device:
// it goes through hooks, to leaves and to the nodes of user-defined functions as it is, and Python adds it to others.
// A node of C++ gets the dense sum.
struct ForeignGradients {
  bool (*is_foreign)(const Tensor& grad);
  Tensor (*add)(const Tensor& a, const Tensor& b, bool in_place);  // into a, or into a tensor of its own
};
extern ForeignGradients foreign_gradients;  // set by csrc/python

inline bool is_foreign_gradient(const Tensor& grad, Device of) {
  return grad.device() != of && foreign_gradients.is_foreign && foreign_gradients.is_foreign(grad);
}

}  // namespace strided
