#include "ops/linalg/matmul.h"

#include <algorithm>
#include <atomic>

#include "backend/backend.h"
#include "backend/network_plans.h"
#include "core/promotion.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/out.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"

namespace strided {

namespace {
std::atomic<bool> tf32_allowed{false};
}
void set_tf32(bool allowed) { tf32_allowed = allowed; }
bool tf32() { return tf32_allowed; }

namespace {

void check_pair(const char* op, const Tensor& a, const Tensor& b) {
  check_same_device(op, a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError,
                "expected m1 and m2 to have the same dtype, but got: ", info_of(a.dtype()).type_name,
                " != ", info_of(b.dtype()).type_name);
}

void check_batches(const char* op, const Tensor& a, const Tensor& b) {
  check_same_device(op, a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "expected scalar type ", a.dtype(), " but found ", b.dtype());
}

Matrix matrix_of(const Tensor& t) {
  const int n = t.ndim();
  return {t.data(), t.strides()[n - 2], t.strides()[n - 1]};
}

bool is_one(const Scalar& s) { return s.is_integral() && s.to_int() == 1; }

// All but b's memory and steps.
void fill_plan(GemmPlan* plan, const Tensor& c, const Tensor& a, const Tensor& b, const Element& alpha,
               const Element& beta) {
  const int n = c.ndim();
  plan->name = "matmul";
  plan->device = c.device().index;
  plan->dtype = a.dtype();
  plan->m = c.size(n - 2), plan->n = c.size(n - 1), plan->k = a.size(n - 1);
  plan->a = matrix_of(a), plan->c = matrix_of(c);
  plan->batch_ndim = n - 2;
  plan->batch_shape = c.shape().data();
  plan->batch_strides[0] = a.strides().data();
  plan->batch_strides[1] = b.strides().data();
  plan->batch_strides[2] = c.strides().data();
  plan->alpha = alpha.bytes, plan->beta = beta.bytes;
  plan->tf32 = tf32();
}

}  // namespace

void gemm_into(const Tensor& c, const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta) {
  if (c.numel() == 0) return;
  const int n = c.ndim();
  const DType t = c.dtype(), compute = compute_dtype_of(t);
  const bool widens = t != a.dtype();
  const auto widened = network_functions(c.device()).widened_gemm;
  if (widens && (widened == nullptr || !has_loops(a.dtype()))) {
    NoGradGuard no_grad;
    return gemm_into(c, to_dtype(a, t), to_dtype(b, t), alpha, beta);
  }
  if (!has_loops(t)) {
    NoGradGuard no_grad;
    const DType loops = loop_dtype_of(t);
    const bool reads = beta.real() != 0 || beta.imag() != 0;
    const Tensor wide = reads ? to_dtype(c, loops) : empty(c.shape(), loops, c.device());
    gemm_into(wide, to_dtype(a, loops), to_dtype(b, loops), alpha, beta);
    return copy_into(c, wide);
  }
  // Many products of numbers: a gemm for each would cost more than the products.
  if (a.size(n - 1) == 1 && c.size(n - 2) == 1 && c.size(n - 1) == 1 && c.numel() > 64 && is_one(alpha) &&
      !beta.to_bool() && !widens) {
    NoGradGuard no_grad;
    const Operand in[] = {a, b};
    call_elementwise_out(op_def(elementwise_id<Mul>), in, nullptr, c, false);
    return;
  }
  const Element al(alpha, compute), be(beta, compute);
  GemmPlan plan;
  fill_plan(&plan, c, a, b, al, be);
  plan.b = matrix_of(b);
  (widens ? widened : backend(c.device()).gemm)(plan);
}

namespace {

Tensor adjoint_of(const Tensor& x) { return conj(transpose(x, -2, -1)); }

Tensor shown_as(const Tensor& t, const Dims& shape) {
  Layout layout(shape);
  layout.offset = t.offset();
  return make_view(t, std::move(layout));
}

// a @ b for equal batch axes, in memory for a result of this shape. Not recorded.
Tensor gemm_unrecorded(const Tensor& a, const Tensor& b, const Dims& final, DType result) {
  const Tensor out = empty_result(final, result, a.device());
  Dims shape = a.shape();
  shape.back() = b.shape().back();
  gemm_into(final == shape ? out : shown_as(out, shape), a, b, Scalar(1), Scalar(0));
  return out;
}
Tensor gemm_unrecorded(const Tensor& a, const Tensor& b, const Dims& final) {
  return gemm_unrecorded(a, b, final, a.dtype());
}

// A matrix whose columns lie in one piece: the transposed view of a weight.
bool has_whole_columns(const Tensor& x) {
  return x.ndim() == 2 && x.size(0) > 1 && x.size(1) > 1 && x.strides()[0] == 1 && x.strides()[1] == x.size(0);
}

Tensor gemm_recorded(const Tensor& a, const Tensor& b, DType result);

// Each factor is kept for the gradient of the other; in the order of their names, as PyTorch does.
template <class F>
auto both_factors(const Tensor& a, const Tensor& b, F formula, const char* names) {
  return NamedFormula{std::tuple{saved_if(b.requires_grad(), a), saved_if(a.requires_grad(), b)}, std::move(formula),
                      names};
}

// a @ b as a gradient: by columns if what it is the gradient of is, so that the gradient of a weight has rows. One of
// them is a gradient, which may have a wider dtype than the other.
Tensor gemm_gradient(Tensor a, Tensor b, bool by_columns) {
  if (a.dtype() != b.dtype()) {
    const DType result = promote_types(a.dtype(), b.dtype());
    a = to_dtype(a, result), b = to_dtype(b, result);
  }
  if (!by_columns) return gemm_recorded(a, b, a.dtype());
  return transpose(gemm_recorded(transpose(b, -2, -1), transpose(a, -2, -1), a.dtype()), -2, -1);
}

// a @ b for equal batch axes, recorded. Gradients come in the dtypes of a and b (record).
Tensor gemm_recorded(const Tensor& a, const Tensor& b, DType result) {
  Dims shape = a.shape();
  shape.back() = b.shape().back();
  const Tensor c = gemm_unrecorded(a, b, shape, result);
  if (!needs_grad(a, b)) return c;
  const char* name = c.ndim() == 2 ? "MmBackward0" : "BmmBackward0";
  auto formula = [of_a = has_whole_columns(a), of_b = has_whole_columns(b)](const Tensor& g, const SavedTensor& b,
                                                                            const SavedTensor& a) {
    return std::vector<Tensor>{
        b.was_saved() && is_gradient_used(0) ? gemm_gradient(g, adjoint_of(b.get()), of_a) : Tensor(),
        a.was_saved() && is_gradient_used(1) ? gemm_gradient(adjoint_of(a.get()), g, of_b) : Tensor()};
  };
  return record(name, c, {a, b}, both_factors(b, a, std::move(formula), "mat2 self"));
}

void check_scales(DType t, const Scalar& beta, const Scalar& alpha) {
  const auto check = [t](const char* name, const Scalar& v) {
    STRIDED_CHECK(!is_integral(t) || v.is_integral(), RuntimeError, "For integral input tensors, argument ", name,
                  " must not be a floating point number.");
  };
  check("beta", beta);
  check("alpha", alpha);
  check_fits(alpha, compute_dtype_of(t));
  check_fits(beta, compute_dtype_of(t));
}
Tensor scaled(const Tensor& x, const Scalar& by) { return is_one(by) ? x : elementwise<Mul>(x, by); }
Scalar conj(const Scalar& s) { return s.is_complex() ? Scalar(s.real(), -s.imag()) : s; }

// beta * input + alpha * value, for input that is to be expanded to the shape of value.
Tensor scale_and_add(const Tensor& input, const Tensor& value, const Scalar& beta, const Scalar& alpha) {
  check_scales(value.dtype(), beta, alpha);
  const Tensor wide = expand(input, value.shape());
  return beta.to_bool() ? scaled(wide, beta) + scaled(value, alpha) : scaled(value, alpha);
}

// beta * input + alpha * a @ b in one gemm, for equal batch axes of a and b. Recorded.
Tensor addmm_recorded(const char* node, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha, DType result) {
  Dims shape = a.shape();
  shape.back() = b.shape().back();
  const Layout wide = strided::expand(input.layout(), shape);  // raises when input does not fit
  check_same_device(node, input, a);
  check_scales(a.dtype(), beta, alpha);
  Tensor c = empty_result(shape, result, a.device());
  if (beta.to_bool()) copy_into(c, make_view(input, wide));
  gemm_into(c, a, b, alpha, beta);
  if (!needs_grad(input, a, b)) return c;
  auto formula = [wants_input = input.requires_grad(), of_a = has_whole_columns(a), of_b = has_whole_columns(b)](
                     const Tensor& g, const Scalar& beta, const Scalar& alpha, const SavedTensor& a,
                     const SavedTensor& b) {
    const Tensor h = scaled(g, conj(alpha));
    return std::vector<Tensor>{
        wants_input ? scaled(g, conj(beta)) : Tensor(),
        b.was_saved() && is_gradient_used(1) ? gemm_gradient(h, adjoint_of(b.get()), of_a) : Tensor(),
        a.was_saved() && is_gradient_used(2) ? gemm_gradient(adjoint_of(a.get()), h, of_b) : Tensor()};
  };
  return record(node, c, {input, a, b},
                NamedFormula{std::tuple{beta, alpha, saved_if(b.requires_grad(), a), saved_if(a.requires_grad(), b)},
                             std::move(formula), c.ndim() == 2 ? "beta alpha mat1 mat2" : "beta alpha batch1 batch2"});
}

bool meet(const Tensor& a, const Tensor& b) {
  return &a.storage() == &b.storage() && overlap(a.layout(), a.itemsize(), b.layout(), b.itemsize()) != Overlap::None;
}

// input = beta * input + alpha * a @ b, in the memory of input. Through F and a copy goes what F records, refuses or
// broadcasts, and operands that lie in the same memory.
template <auto F>
Tensor add_product_into(const char* op, const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta,
                        const Scalar& alpha) {
  const int n = a.ndim();
  bool fits = !needs_grad(input, a, b) && input.ndim() == n && b.ndim() == n && a.dtype() == b.dtype() &&
              input.dtype() == a.dtype() && input.device() == a.device() && a.device() == b.device() &&
              a.size(n - 1) == b.size(n - 2) && input.size(n - 2) == a.size(n - 2) &&
              input.size(n - 1) == b.size(n - 1);
  for (int i = 0; fits && i < n - 2; ++i) fits = a.size(i) == b.size(i) && a.size(i) == input.size(i);
  if (!fits || meet(input, a) || meet(input, b)) return copy_(input, F(input, a, b, beta, alpha));
  check_scales(a.dtype(), beta, alpha);
  check_inplace(op, input);
  gemm_into(input, a, b, alpha, beta);
  bump_version(input, op);
  return input;
}

Tensor gemm_recorded(const Tensor& a, const Tensor& b) { return gemm_recorded(a, b, a.dtype()); }

void check_result(DType factors, DType result) {
  const bool half = factors == DType::Float16 || factors == DType::BFloat16;
  STRIDED_CHECK(result == factors || (half && result == DType::Float32), RuntimeError,
                "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

void check_mm(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() == 2, RuntimeError, "self must be a matrix");
  STRIDED_CHECK(b.ndim() == 2, RuntimeError, "mat2 must be a matrix");
  STRIDED_CHECK(a.size(1) == b.size(0), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x",
                a.size(1), " and ", b.size(0), "x", b.size(1), ")");
  check_pair("mm", a, b);
}

void check_bmm(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() == 3, RuntimeError, "batch1 must be a 3D tensor");
  STRIDED_CHECK(b.ndim() == 3, RuntimeError, "batch2 must be a 3D tensor");
  STRIDED_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), RuntimeError,
                "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
                "] but got: [", b.size(0), ", ", b.size(1), "].");
  check_batches("bmm", a, b);
}

// The input of a sum with a product may be in the result's dtype already.
void check_addmm(const Tensor& input, const Tensor& a, const Tensor& b, DType result) {
  check_same_device("addmm", a, b);
  STRIDED_CHECK(input.dtype() == b.dtype() || input.dtype() == result, RuntimeError,
                "self and mat2 must have the same dtype, but got ", input.dtype(), " and ", b.dtype());
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "mat1 and mat2 must have the same dtype, but got ", a.dtype(),
                " and ", b.dtype());
  STRIDED_CHECK(a.ndim() == 2, RuntimeError, "mat1 must be a matrix, got ", a.ndim(), "-D tensor");
  STRIDED_CHECK(b.ndim() == 2, RuntimeError, "mat2 must be a matrix, got ", b.ndim(), "-D tensor");
  STRIDED_CHECK(a.size(1) == b.size(0), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x",
                a.size(1), " and ", b.size(0), "x", b.size(1), ")");
}

void check_baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, DType result) {
  STRIDED_CHECK(a.ndim() == 3, RuntimeError, "batch1 must be a 3D tensor");
  STRIDED_CHECK(b.ndim() == 3, RuntimeError, "batch2 must be a 3D tensor");
  STRIDED_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), RuntimeError,
                "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ", a.size(2),
                "] but got: [", b.size(0), ", ", b.size(1), "].");
  check_same_device("baddbmm", a, b);
  STRIDED_CHECK((input.dtype() == a.dtype() || input.dtype() == result) && a.dtype() == b.dtype(), RuntimeError,
                "Input dtypes must be the same, got: input ", info_of(input.dtype()).type_name,
                ", batch1: ", info_of(a.dtype()).type_name, ", batch2: ", info_of(b.dtype()).type_name);
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_mm(a, b);
  return gemm_recorded(a, b);
}

Tensor mm_as(const Tensor& a, const Tensor& b, DType result) {
  check_mm(a, b);
  check_result(a.dtype(), result);
  return gemm_recorded(a, b, result);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  check_bmm(a, b);
  return gemm_recorded(a, b);
}

Tensor bmm_as(const Tensor& a, const Tensor& b, DType result) {
  check_bmm(a, b);
  check_result(a.dtype(), result);
  return gemm_recorded(a, b, result);
}

Tensor int_mm(const Tensor& a, const Tensor& b) {
  const char* names[] = {"self", "mat2"};
  const Tensor* factors[] = {&a, &b};
  for (int i = 0; i < 2; ++i)
    STRIDED_CHECK(factors[i]->ndim() == 2, RuntimeError, "Expected ", names[i], " to be of dimension 2 but got ",
                  factors[i]->ndim());
  STRIDED_CHECK(a.size(1) == b.size(0), RuntimeError, "self.size(1) needs to match mat2.size(0) but got ", a.size(1),
                " and ", b.size(0));
  for (int i = 0; i < 2; ++i)
    STRIDED_CHECK(factors[i]->dtype() == DType::Int8, RuntimeError, "Expected ", names[i],
                  " dtype to be of type int8 but got ", info_of(factors[i]->dtype()).type_name);
  return mm(to_dtype(a, DType::Int32), to_dtype(b, DType::Int32));
}

Tensor mv(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() == 2 && b.ndim() == 1, RuntimeError, "vector + matrix @ vector expected, got 1, ", a.ndim(),
                ", ", b.ndim());
  STRIDED_CHECK(a.size(1) == b.size(0), RuntimeError, "size mismatch, got input (", a.size(0), "), mat (", a.size(0),
                "x", a.size(1), "), vec (", b.size(0), ")");
  check_same_device("mv", a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "addmv input tensors must have the same dtype, but got ",
                b.dtype(), ", ", a.dtype(), ", and ", b.dtype());
  Tensor out;
  {
    NoGradGuard guard;
    out = gemm_unrecorded(a, unsqueeze(b, 1), Dims{a.size(0)});
  }
  if (!needs_grad(a, b)) return out;
  auto formula = [](const Tensor& g, const SavedTensor& a, const SavedTensor& b) {
    return std::vector<Tensor>{b.was_saved() ? unsqueeze(g, 1) * conj(b.get()) : Tensor(),
                               a.was_saved() ? mv(adjoint_of(a.get()), g) : Tensor()};
  };
  return record("MvBackward0", out, {a, b}, both_factors(a, b, std::move(formula), "self vec"));
}

Tensor dot(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() == 1 && b.ndim() == 1, RuntimeError, "1D tensors expected, but got ", a.ndim(), "D and ",
                b.ndim(), "D tensors");
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "dot : expected both vectors to have same dtype, but found ",
                a.dtype(), " and ", b.dtype());
  STRIDED_CHECK(a.numel() == b.numel(), RuntimeError, "inconsistent tensor size, expected tensor ", a.shape(),
                " and src ", b.shape(), " to have the same number of elements, but got ", a.numel(), " and ", b.numel(),
                " elements respectively");
  check_same_device("dot", a, b);
  Tensor out;
  {
    NoGradGuard guard;
    out = gemm_unrecorded(unsqueeze(a, 0), unsqueeze(b, 1), Dims{});
  }
  if (!needs_grad(a, b)) return out;
  auto formula = [](const Tensor& g, const SavedTensor& a, const SavedTensor& b) {
    return std::vector<Tensor>{b.was_saved() ? g * conj(b.get()) : Tensor(),
                               a.was_saved() ? g * conj(a.get()) : Tensor()};
  };
  return record("DotBackward0", out, {a, b}, both_factors(a, b, std::move(formula), "self tensor"));
}

Tensor vdot(const Tensor& a, const Tensor& b) {
  if (!is_complex(a.dtype())) return shown_as("VdotBackward0", dot(a, b));
  Tensor out;
  {
    NoGradGuard guard;
    out = dot(conj(a), b);
  }
  if (!needs_grad(a, b)) return out;
  auto formula = [](const Tensor& g, const SavedTensor& b, const SavedTensor& a) {
    return std::vector<Tensor>{b.was_saved() ? conj(g) * b.get() : Tensor(), a.was_saved() ? g * a.get() : Tensor()};
  };
  return record("VdotBackward0", out, {a, b}, both_factors(b, a, std::move(formula), "other self"));
}

// Note [Cases of matmul]
// A vector on the left counts as one row, on the right as one column; that axis is dropped from the result again.
// Matrices with more axes are batches, whose axes broadcast (stride 0, nothing is copied). When only the left operand
// has batches, they are more rows of one product, if memory allows to see them so: one large product is faster than
// many small ones.
Tensor matmul(const Tensor& a, const Tensor& b) {
  STRIDED_CHECK(a.ndim() > 0 && b.ndim() > 0, RuntimeError,
                "both arguments to matmul need to be at least 1D, but they are ", a.ndim(), "D and ", b.ndim(), "D");
  const int na = a.ndim(), nb = b.ndim();
  if (na == 1 && nb == 1) return dot(a, b);
  if (na == 2 && nb == 2) return mm(a, b);
  if (na == 2 && nb == 1) return mv(a, b);
  if (na == 1 && nb == 2) {
    STRIDED_CHECK(a.size(0) == b.size(0), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (1x", a.size(0),
                  " and ", b.size(0), "x", b.size(1), ")");
    check_pair("matmul", a, b);
    const Dims final{b.size(1)};
    if (!needs_grad(a, b)) return gemm_unrecorded(unsqueeze(a, 0), b, final);
    return shown_as("SqueezeBackward4", squeeze(gemm_recorded(unsqueeze(a, 0), b), Dims{0}));
  }
  if (nb > 2) {
    check_batches("matmul", a, b);
  } else {
    check_pair("matmul", a, b);
  }
  const Tensor left = na == 1 ? unsqueeze(a, 0) : a, right = nb == 1 ? unsqueeze(b, 1) : b;
  const int64_t inner = left.size(left.ndim() - 1), other = right.size(right.ndim() - 2);
  Tensor out;
  if (right.ndim() == 2) {
    int64_t rows = 1;
    for (int i = 0; i < left.ndim() - 1; ++i) rows *= left.size(i);
    STRIDED_CHECK(inner == other, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (", rows, "x", inner,
                  " and ", other, "x", right.size(1), ")");
    Dims shape = left.shape();
    shape.back() = right.size(1);
    Dims final = shape;  // without the axis of a vector on the left
    if (na == 1) final.erase(final.size() - 2);
    if (nb == 1) final.pop_back();
    const Tensor flat = reshape(left, Dims{rows, inner});
    if (!needs_grad(left, right)) return gemm_unrecorded(flat, right, final);
    out = reshape(gemm_recorded(flat, right), shape);
  } else {
    Dims batch_a(left.shape().data(), left.shape().size() - 2), batch_b(right.shape().data(), right.shape().size() - 2);
    Dims batch = broadcast_shapes(batch_a, batch_b);
    STRIDED_CHECK(inner == other, RuntimeError, "Expected size for first two dimensions of batch2 tensor to be: [",
                  right.size(0), ", ", inner, "] but got: [", right.size(0), ", ", other, "].");
    Dims shape_a = batch, shape_b = batch;
    shape_a.push_back(left.size(left.ndim() - 2));
    shape_a.push_back(inner);
    shape_b.push_back(other);
    shape_b.push_back(right.size(right.ndim() - 1));
    const Tensor wide_a = left.shape() == shape_a ? left : expand(left, shape_a),
                 wide_b = right.shape() == shape_b ? right : expand(right, shape_b);
    if (!needs_grad(left, right)) {
      Dims final = batch;
      if (na > 1) final.push_back(left.size(left.ndim() - 2));
      if (nb > 1) final.push_back(right.size(right.ndim() - 1));
      return gemm_unrecorded(wide_a, wide_b, final);
    }
    out = gemm_recorded(wide_a, wide_b);
  }
  if (na == 1) out = squeeze(out, Dims{-2});
  if (nb == 1) out = squeeze(out, Dims{-1});
  return shown_as("UnsafeViewBackward0", out);
}

Tensor addmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  check_addmm(input, a, b, b.dtype());
  return addmm_recorded("AddmmBackward0", input, a, b, beta, alpha, a.dtype());
}

Tensor addmm_as(const Tensor& input, const Tensor& a, const Tensor& b, DType result, const Scalar& beta,
                const Scalar& alpha) {
  check_addmm(input, a, b, result);
  check_result(a.dtype(), result);
  return addmm_recorded("AddmmBackward0", input, a, b, beta, alpha, result);
}

Tensor addmv(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  STRIDED_CHECK(input.dtype() == a.dtype() && a.dtype() == b.dtype(), RuntimeError,
                "addmv input tensors must have the same dtype, but got ", input.dtype(), ", ", a.dtype(), ", and ",
                b.dtype());
  STRIDED_CHECK(a.ndim() != 2 || input.numel() == 1 || (input.ndim() == 1 && input.size(0) == a.size(0)), RuntimeError,
                "size mismatch, got input (", input.ndim() ? input.size(0) : 1, "), mat (", a.size(0), "x", a.size(1),
                "), vec (", b.numel(), ")");
  return shown_as("AddmvBackward0", scale_and_add(input, mv(a, b), beta, alpha));
}

Tensor addr(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  // Of bool it is "or" and "and", and the factors say which terms count.
  if (is_bool(input.dtype()) && is_bool(a.dtype()) && is_bool(b.dtype())) {
    check_scales(DType::Bool, beta, alpha);
    return scale_and_add(input, outer(a, b), Scalar(beta.real() != 0), Scalar(alpha.real() != 0));
  }
  STRIDED_CHECK(!beta.is_bool(), RuntimeError, "Boolean beta only supported for Boolean results.");
  STRIDED_CHECK(!alpha.is_bool(), RuntimeError, "Boolean alpha only supported for Boolean results.");
  const bool alike = input.dtype() == a.dtype() && input.dtype() == b.dtype() && a.ndim() == 1 && b.ndim() == 1;
  if (alike && is_floating(a.dtype()) && !beta.is_complex() && beta.real() == 1 && !alpha.is_complex()) {
    const Tensor wide = expand(input, Dims{a.size(0), b.size(0)});
    // without the product in memory
    return shown_as("AddrBackward0", elementwise<Addcmul>(wide, unsqueeze(a, 1), b, alpha));
  }
  // The product in the result's dtype, which holds the factors: complex ones, for a complex input.
  const DType t = promote_types(input.dtype(), promote_types(a.dtype(), b.dtype()));
  return shown_as("AddrBackward0", scale_and_add(input, outer(to_dtype(a, t), b), beta, alpha));
}

Tensor baddbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  check_baddbmm(input, a, b, a.dtype());
  return addmm_recorded("BaddbmmBackward0", input, a, b, beta, alpha, a.dtype());
}

Tensor baddbmm_as(const Tensor& input, const Tensor& a, const Tensor& b, DType result, const Scalar& beta,
                  const Scalar& alpha) {
  check_baddbmm(input, a, b, result);
  check_result(a.dtype(), result);
  return addmm_recorded("BaddbmmBackward0", input, a, b, beta, alpha, result);
}

Tensor addmm_(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (a.ndim() != 2) return addmm(input, a, b, beta, alpha);  // raises
  return add_product_into<&addmm>("addmm_", input, a, b, beta, alpha);
}

Tensor baddbmm_(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  if (a.ndim() != 3) return baddbmm(input, a, b, beta, alpha);  // raises
  return add_product_into<&baddbmm>("baddbmm_", input, a, b, beta, alpha);
}

Tensor addbmm(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const bool fits = a.ndim() == 3 && b.ndim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1);
  if (!fits || (a.dtype() != DType::Float16 && a.dtype() != DType::BFloat16))
    return shown_as("AddbmmBackward0", scale_and_add(input, sum(bmm(a, b), Dims{0}, false, a.dtype()), beta, alpha));
  // Batch after batch is one long product, whose sums are rounded once.
  const int64_t terms = a.size(0) * a.size(2);
  const Tensor wide = reshape(permute(a, Dims{1, 0, 2}), Dims{a.size(1), terms});
  return shown_as("AddbmmBackward0", addmm(input, wide, reshape(b, Dims{terms, b.size(2)}), beta, alpha));
}

Tensor matmul_folded(const Tensor& a, const Tensor& b, int64_t rows, const std::optional<Tensor>& into) {
  check_batches("matmul_folded", a, b);
  const int batch = a.ndim() - 2;
  STRIDED_CHECK(batch >= 0 && rows >= 0 && rows <= b.ndim() - batch, RuntimeError, "matmul_folded: a of ", a.ndim(),
                " dimensions and b of ", b.ndim(), ", ", rows, " of them rows");
  STRIDED_CHECK(!needs_grad(a, b), RuntimeError, "matmul_folded: not recorded");
  const int columns = batch + static_cast<int>(rows);
  Dims shape, folded;
  for (int i = 0; i < batch; ++i) shape.push_back(a.size(i)), folded.push_back(a.size(i));
  int64_t k = 1, n = 1;
  for (int i = batch; i < b.ndim(); ++i) (i < columns ? k : n) *= b.size(i);
  shape.push_back(a.size(batch));
  shape.push_back(n);
  folded.push_back(k);
  folded.push_back(n);
  bool fits = k == a.size(batch + 1);
  fits = fits && (!into || (into->shape() == shape && into->dtype() == a.dtype() && into->device() == a.device()));
  for (int i = 0; fits && i < batch; ++i) fits = a.size(i) == b.size(i);
  STRIDED_CHECK(fits, RuntimeError, "matmul_folded: sizes ", a.shape(), " and ", b.shape());
  const Tensor c = into ? *into : empty_result(shape, a.dtype(), a.device());
  const Scalar beta(into ? 1 : 0);
  if (into) check_inplace("matmul_folded", c);
  const Backend& slots = backend(a.device());
  bool done = c.numel() == 0;
  if (!done && slots.folded_gemm != nullptr && has_loops(a.dtype())) {
    const Element one(Scalar(1), compute_dtype_of(a.dtype())), keep(beta, compute_dtype_of(a.dtype()));
    FoldedGemmPlan plan;
    fill_plan(&plan, c, a, b, one, keep);
    plan.b = {b.data(), 0, 0};
    plan.b_rows = {static_cast<int>(rows), b.shape().data() + batch, b.strides().data() + batch};
    plan.b_columns = {b.ndim() - columns, b.shape().data() + columns, b.strides().data() + columns};
    plan.b_reach = static_cast<int64_t>(b.storage().nbytes()) / b.itemsize() - b.offset();
    done = slots.folded_gemm(plan);
  }
  if (!done) {
    // As many at a time as leave the copies in the cache.
    constexpr int64_t kBytes = 1 << 22;
    const int64_t count = batch > 0 ? a.size(0) : 1, each = b.numel() / std::max<int64_t>(count, 1) * b.itemsize();
    const int64_t most = std::max<int64_t>(1, kBytes / std::max<int64_t>(each, 1));
    for (int64_t i = 0; i < count; i += most) {
      const int64_t length = std::min(most, count - i);
      auto part = [&](const Tensor& t) { return batch > 0 ? narrow(t, 0, i, length) : t; };
      if (batch > 0) folded[0] = length;
      gemm_into(part(c), part(a), reshape(part(b), folded), Scalar(1), beta);
    }
  }
  if (into) bump_version(c, "matmul_folded");
  return c;
}

}  // namespace strided
