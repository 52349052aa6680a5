// Which dtype an operation computes in. PyTorch's rules; for the unsigned integers beyond uint8, which PyTorch leaves
// out, the lattice of the Python Array API standard (2024.12, "Type promotion rules").
#pragma once

#include "core/dtype.h"
#include "core/scalar.h"

namespace strided {

DType default_dtype();
void set_default_dtype(DType t);  // floating only

DType promote_types(DType a, DType b);
bool can_cast(DType from, DType to);  // PyTorch's rule: a kind never goes down (complex > floating > integer > bool)

// Promotion with three priorities: tensors with dimensions, 0-d tensors, Python numbers. A lower one changes the result
// only when its kind (bool < integer < floating < complex) is higher.
class ResultType {
 public:
  void add_tensor(DType t, bool zero_dim);
  void add_scalar(const Scalar& s);
  DType get() const;

 private:
  struct Slot {
    bool used = false;
    DType dtype = DType::Bool;
    void add(DType t) {
      dtype = used ? promote_types(dtype, t) : t;
      used = true;
    }
  };
  Slot dim_, zero_, number_;
  bool floats_ = false;  // is some number no integer?
};

}  // namespace strided
