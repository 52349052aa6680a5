// By mask: where, masked_fill, masked_select, masked_scatter, nonzero.
#include <algorithm>

#include "backend/backend.h"
#include "core/promotion.h"
#include "ops/call_log.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

// out = condition ? a : b. Operands are cast to out's dtype on the way; numbers are 0-d tensors of any dtype.
void select_into(const Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  const int64_t n = out.numel();
  if (n == 0) return;
  const Backend& slots = backend(out.device());
  if (slots.short_loops && n <= ShortLoops::kMost && out.is_contiguous() && a.dtype() == out.dtype() &&
      b.dtype() == out.dtype()) {
    const Tensor* in[] = {&condition, &a, &b};
    char* data[] = {out.data(), condition.data(), a.data(), b.data()};
    int64_t strides[8] = {out.itemsize()};
    bool row = true;
    for (int k = 0; k < 3; ++k) {
      row = row && (in[k]->numel() == 1 || (in[k]->shape() == out.shape() && in[k]->is_contiguous()));
      strides[k + 1] = in[k]->numel() == 1 ? 0 : in[k]->itemsize();
    }
    if (row) return slots.short_loops->where[item_row(out.itemsize())](data, strides, n, 1, nullptr);
  }
  TensorIterator iter(out.shape());
  for (const Tensor* t : {&out, &condition, &a, &b}) iter.add(*t);
  iter.plan();
  slots.where(iter.loop_plan("where", out.device()));
}

void check_bool_mask(const char* op, const Tensor& mask) {
  STRIDED_CHECK(mask.dtype() == DType::Bool, RuntimeError, op, " only supports boolean masks, but got mask with dtype ",
                mask.dtype());
}

// The value of masked_fill as a 0-d tensor of a dtype.
Tensor fill_value(const Operand& value, DType dtype, Device device) {
  if (!value.tensor) return number(value.scalar, dtype, device);
  const Tensor& t = *value.tensor;
  STRIDED_CHECK(t.ndim() == 0, RuntimeError,
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ", t.ndim(),
                " dimension(s).");
  STRIDED_CHECK(is_complex(dtype) || !is_complex(t.dtype()), RuntimeError, "value cannot be converted to type ",
                name_of(dtype), " without overflow");
  const Tensor out = empty(Dims(), dtype, device);
  copy_into(out, t);
  return out;
}

Tensor record_masked_fill(const char* node, const Tensor& out, const Tensor& self, const Tensor& mask,
                          const Operand& value) {
  const Tensor source = value.tensor ? *value.tensor : Tensor();
  if (!needs_grad(std::vector<Tensor>{self, source})) return out;
  auto gradients = [wants_self = self.requires_grad(), wants_value = source.defined() && source.requires_grad()](
                       const Tensor& g, const SavedTensor& saved) {
    const Tensor at = saved.get();
    Tensor to_self, to_value;
    if (wants_self) to_self = masked_fill(g, at, Scalar(0));
    if (wants_value) to_value = masked(g, at);  // the engine sums it
    return std::vector<Tensor>{to_self, to_value};
  };
  auto formula = NamedFormula{std::tuple{SavedTensor(mask)}, std::move(gradients), "mask"};
  if (out.impl() == self.impl()) return record_inplace(node, self, {self, source}, std::move(formula));
  return record(node, out, std::vector<Tensor>{self, source}, std::move(formula));
}

// Coordinates of row-major positions in a tensor of `shape`: (ndim, count), contiguous.
Tensor coordinates(const Tensor& positions, const Dims& shape) {
  const int64_t count = positions.numel();
  const Tensor out = empty(Dims{shape.ndim(), count}, DType::Int64, positions.device());
  int64_t inner = 1;
  bool fits = true;  // the product of the later sizes, into 64 bits
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    const int64_t size = std::max<int64_t>(shape[i], 1);
    if (fits) {
      unravel_into(out.data_as<int64_t>() + i * count, positions, inner, size);
    } else {  // floor(position / inner) is 0, or -1 for negative positions
      const Tensor sign = elementwise<BitwiseRightShift>(positions, Scalar(int64_t(63)));
      copy_into(make_view(out, select(out.layout(), 0, i)),
                elementwise<Remainder>(reshape(sign, Dims{count}), Scalar(size)));
    }
    fits = fits && !__builtin_mul_overflow(inner, size, &inner);
  }
  return out;
}

Tensor true_coordinates(const Tensor& self) {
  const Tensor positions = NonzeroElements("nonzero", as_mask(self)).positions();
  if (self.ndim() == 1) return make_view(positions, Layout(Dims{1, positions.numel()}));
  return coordinates(positions, self.shape());
}

}  // namespace

Tensor where(const Tensor& given, Operand input, Operand other) {
  // A condition that is one value on the CPU goes to the device of the others.
  Tensor condition = given;
  if (given.ndim() == 0 && given.device().is_cpu())
    for (const Operand* x : {&input, &other})
      if (x->tensor && !x->tensor->device().is_cpu() && condition.device().is_cpu())
        condition = to_device(given, x->tensor->device());
  STRIDED_CHECK(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8, RuntimeError,
                "where expected condition to be a boolean tensor, but got a tensor with dtype ", condition.dtype());
  ResultType type;
  Dims shape = condition.shape();
  for (const Operand* x : {&input, &other}) {
    if (!x->tensor) {
      type.add_scalar(x->scalar);
      continue;
    }
    type.add_tensor(x->tensor->dtype(), x->tensor->ndim() == 0);
    if (x->tensor->shape() != shape) shape = broadcast_shapes(shape, x->tensor->shape());
    if (x->tensor->ndim() > 0 || !x->tensor->device().is_cpu()) check_same_device("where", condition, *x->tensor);
  }
  const DType dtype = type.get();
  const Device device = condition.device();
  // A number beyond 16 bits is infinity here, as in PyTorch: -1e9 in masks of float16.
  const auto tensor_of = [&](const Operand& x) {
    if (x.tensor) return *x.tensor;
    const bool narrow = dtype == DType::Float16 || dtype == DType::BFloat16;
    return narrow ? to_dtype(number(x.scalar, DType::Float64, device), dtype) : number(x.scalar, dtype, device);
  };
  const Tensor a = tensor_of(input), b = tensor_of(other);
  checked_numel("where", shape);
  Tensor out;
  if (condition.is_contiguous() && a.is_contiguous() && b.is_contiguous()) {
    out = empty(shape, dtype, device);
  } else {
    TensorIterator order(shape);
    order.add(condition);
    order.add(a);
    order.add(b);
    out = empty_strided(shape, order.output_strides(), dtype, device);
  }
  select_into(out, condition, a, b);
  if (CallLog* log = call_log()) {
    LoggedCall call;
    call.kind = LoggedCall::Kind::Where;
    call.compute = dtype;
    for (const Operand& x : {Operand(condition), input, other})
      if (x.tensor) call.in.emplace_back(*x.tensor);
      else call.in.emplace_back(x.scalar);
    call.out = out;
    log->calls.push_back(std::move(call));
  }
  if (!needs_grad(a, b)) return out;
  auto formula = [wants_a = a.requires_grad(), wants_b = b.requires_grad()](const Tensor& g, const SavedTensor& saved) {
    const Tensor at = saved.get();
    Tensor to_a, to_b;
    if (wants_a) to_a = where(at, g, Scalar(0));
    if (wants_b) to_b = where(at, Scalar(0), g);
    return std::vector<Tensor>{to_a, to_b};
  };
  return record("WhereBackward0", out, std::vector<Tensor>{a, b},
                NamedFormula{std::tuple{SavedTensor(condition)}, std::move(formula), "condition"});
}

std::vector<Tensor> where(const Tensor& condition) { return nonzero_tuple(condition); }

Tensor masked(const Tensor& x, const Tensor& condition) { return where(condition, x, Scalar(0)); }

Tensor masked_fill(const Tensor& self, const Tensor& mask, Operand value) {
  check_bool_mask("masked_fill_", mask);
  check_same_device("masked_fill", self, mask);
  const Tensor fill = fill_value(value, self.dtype(), self.device());
  const Dims shape = mask.shape() == self.shape() ? self.shape() : broadcast_shapes(self.shape(), mask.shape());
  checked_numel("masked_fill", shape);
  const Tensor out =
      empty_strided(shape, shape == self.shape() ? strides_like(self.layout()) : Layout::contiguous_strides(shape),
                    self.dtype(), self.device());
  select_into(out, mask, fill, self);
  return record_masked_fill(value.tensor ? "MaskedFillBackward1" : "MaskedFillBackward0", out, self, mask, value);
}

Tensor masked_fill_(const Tensor& self, const Tensor& mask, Operand value) {
  check_bool_mask("masked_fill_", mask);
  check_same_device("masked_fill_", self, mask);
  const Tensor fill = fill_value(value, self.dtype(), self.device());
  const Dims shape = broadcast_shapes(self.shape(), mask.shape());
  STRIDED_CHECK(shape == self.shape(), RuntimeError, "output with shape ", self.shape(),
                " doesn't match the broadcast shape ", shape);
  check_inplace("masked_fill_", self, value.tensor && value.tensor->requires_grad());
  select_into(self, apart_from(self, mask), fill, self);
  bump_version(self, "masked_fill_");
  return record_masked_fill(value.tensor ? "MaskedFillBackward1" : "MaskedFillBackward0", self, self, mask, value);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  STRIDED_CHECK(mask.dtype() == DType::Bool, RuntimeError, "masked_select: expected BoolTensor for mask");
  check_same_device("masked_select", self, mask);
  const Dims shape = broadcast_shapes(self.shape(), mask.shape());
  checked_numel("masked_select", shape);
  const Tensor from = shape == self.shape() ? self : expand(self, shape);
  return index_as("MaskedSelectBackward0", from, {make_view(mask, expand(mask.layout(), shape))});
}

Tensor masked_scatter_(const Tensor& self, const Tensor& mask, const Tensor& source) {
  STRIDED_CHECK(self.dtype() == source.dtype(), RuntimeError,
                "masked_scatter: expected self and source to have same dtypes but got ", self.dtype(), " and ",
                source.dtype());
  check_bool_mask("masked_scatter_", mask);
  check_same_device("masked_scatter_", self, mask);
  const Dims shape = broadcast_shapes(self.shape(), mask.shape());
  STRIDED_CHECK(shape == self.shape(), RuntimeError, "output with shape ", self.shape(),
                " doesn't match the broadcast shape ", shape);
  const Tensor whole = as_mask(make_view(mask, expand(mask.layout(), shape)));
  const int64_t count = NonzeroElements("count_nonzero", whole).count();
  STRIDED_CHECK(source.numel() >= count, RuntimeError, "Number of elements of source < number of ones in mask");
  const Tensor taken = basic_index(reshape(source, Dims{source.numel()}), {{BasicStep::Slice, 0, count, 1}});
  return shown_as("MaskedScatterBackward0", index_put_(self, {whole}, taken, false));
}

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Dims shape = broadcast_shapes(self.shape(), mask.shape());
  return masked_scatter_(clone(shape == self.shape() ? self : expand(self, shape)), mask, source);
}

Tensor nonzero(const Tensor& self) {
  const Tensor rows = true_coordinates(self);
  return make_view(rows, Layout(Dims{rows.size(1), rows.size(0)}, Dims{1, std::max<int64_t>(rows.size(1), 1)}, 0));
}

std::vector<Tensor> nonzero_tuple(const Tensor& self) {
  if (self.ndim() == 0) return nonzero_tuple(make_view(self, Layout(Dims{1}, Dims{1}, self.offset())));
  const Tensor rows = true_coordinates(self);
  std::vector<Tensor> out;
  for (int i = 0; i < self.ndim(); ++i) out.push_back(make_view(rows, select(rows.layout(), 0, i)));
  return out;
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Dims& shape) {
  STRIDED_CHECK(is_integer(indices.dtype()), TypeError, "expected 'indices' to be integer dtype, but got torch.",
                name_of(indices.dtype()));
  for (int64_t s : shape) STRIDED_CHECK(s >= 0, ValueError, "'shape' cannot have negative values, but got ", shape);
  bool has_elements = true;
  for (int64_t size : shape) has_elements = has_elements && size > 0;
  STRIDED_CHECK(has_elements || indices.numel() == 0, ValueError, "unravel_index: a tensor of size ", shape,
                " has no elements, got ", indices.numel(), " indices");
  const Tensor flat = empty(indices.shape(), DType::Int64, indices.device());
  copy_into(flat, indices);
  const Tensor rows = coordinates(flat, shape);
  std::vector<Tensor> out;
  for (int i = 0; i < shape.ndim(); ++i) {
    Layout layout(indices.shape());
    layout.offset = i * flat.numel();
    out.push_back(make_view(rows, layout));
  }
  return out;
}

Tensor fill_diagonal_(const Tensor& self, const Scalar& value, bool wrap) {
  const int n = self.ndim();
  STRIDED_CHECK(n >= 2, RuntimeError, "dimensions must larger than 1");
  for (int i = 1; i < n; ++i)
    STRIDED_CHECK(n == 2 || self.size(i) == self.size(0), RuntimeError,
                  "all dimensions of input must be of equal length");
  check_inplace("fill_diagonal_", self);
  const Tensor fill = number(assigned_number(value, self.dtype()), self.dtype(), self.device());
  int64_t stride = 0, length = self.size(0);
  for (int i = 0; i < n; ++i) {
    stride += self.strides()[i];
    length = std::min(length, self.size(i));
  }
  copy_into(make_view(self, Layout(Dims{length}, Dims{stride}, self.offset())), fill);
  // A tall matrix: the diagonal starts again below each block of columns + 1 rows.
  const int64_t rows = self.size(0), columns = self.size(1);
  if (wrap && n == 2 && columns > 0)
    for (int64_t r = columns + 1; r < rows; r += columns + 1)
      copy_into(make_view(self, Layout(Dims{std::min(columns, rows - r)}, Dims{stride},
                                       self.offset() + r * self.strides()[0])),
                fill);
  bump_version(self, "fill_diagonal_");
  return record_inplace("FillDiagonalBackward0", self, {self},
                        [wrap](const Tensor& g) { return fill_diagonal_(clone(g), Scalar(0), wrap); });
}

}  // namespace strided
