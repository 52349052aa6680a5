// LU: factorisation, solve, inverse, determinant.
#include "ops/linalg.h"

#include <algorithm>
#include <cmath>

#include "ops/linalg_detail.h"
#include "ops/matmul.h"
#include "ops/reduction.h"

namespace strided {

using namespace linalg_detail;

namespace linalg_detail {

void check_square(const char* op, const Tensor& a) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, op, ": The input tensor A must have at least 2 dimensions.");
  const int n = a.ndim();
  STRIDED_CHECK(a.size(n - 2) == a.size(n - 1), RuntimeError, op, ": A must be batches of square matrices, but they are ", a.size(n - 2), " by ", a.size(n - 1),
                " matrices");
}

void check_dtype(const char* op, const Tensor& a) {
  STRIDED_CHECK(is_floating(a.dtype()) || is_complex(a.dtype()), RuntimeError, op, ": Expected a floating point or complex tensor as input. Got ", a.dtype());
}

int64_t batches(const Tensor& a) {
  int64_t n = 1;
  for (int i = 0; i < a.ndim() - 2; ++i) n *= a.size(i);
  return n;
}

Tensor packed_copy(const Tensor& a) {
  Tensor out = empty(a.shape(), wide(a.dtype()), a.device());
  copy_into(out, a);
  return out;
}

Dims batch_shape(const Tensor& a, int drop) { return Dims(a.shape().data(), a.shape().size() - static_cast<size_t>(drop)); }

const LinalgKernels& kernels_for(const Tensor& a) { return kernels(a.device()).linalg[index_of(wide(a.dtype()))]; }

// Position of the first nonzero info, or -1.
int64_t first_failure(const Tensor& info) {
  const int32_t* p = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); ++i)
    if (p[i] != 0) return i;
  return -1;
}

std::string batch_element(const Tensor& info, int64_t i) {
  return info.ndim() == 0 ? std::string() : concat("(Batch element ", i, "): ");
}

Tensor adjoint_of(const Tensor& x) { return conj(transpose(x, -2, -1)); }

Factors factor(const Tensor& a) {
  const int n = a.ndim();
  const int64_t rows = a.size(n - 2), columns = a.size(n - 1);
  Factors f;
  f.lu = packed_copy(a);
  Dims shape = batch_shape(a, 2);
  f.info = zeros(shape, DType::Int32, a.device());
  shape.push_back(std::min(rows, columns));
  f.pivots = empty(shape, DType::Int32, a.device());
  if (f.info.numel() == 0 || std::min(rows, columns) == 0) return f;
  const auto kernel = kernels_for(a).lu_factor;
  STRIDED_CHECK(kernel, NotImplementedError, "lu_factor on device '", a.device(), "'");
  kernel(f.info.numel(), rows, columns, f.lu.data(), f.pivots.data_as<int32_t>(), f.info.data_as<int32_t>());
  return f;
}

Tensor solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, int op) {
  Tensor x = packed_copy(b);
  const int n = b.ndim();
  if (x.numel() == 0) return x;
  const auto kernel = kernels_for(b).lu_solve;
  STRIDED_CHECK(kernel, NotImplementedError, "lu_solve on device '", b.device(), "'");
  const int64_t size = b.size(n - 2), columns = b.size(n - 1), count = batches(b);
  Tensor f = lu, p = pivots;
  if (batches(lu) != count && batches(lu) != 1) {
    Dims shape = batch_shape(b, 2);
    Dims pivot_shape = shape;
    shape.push_back(size);
    shape.push_back(size);
    pivot_shape.push_back(size);
    f = contiguous(make_view(lu, strided::expand(lu.layout(), shape)));
    p = contiguous(make_view(pivots, strided::expand(pivots.layout(), pivot_shape)));
  }
  f = contiguous(f);
  p = contiguous(p);
  const bool one = batches(f) == 1;
  kernel(count, size, columns, f.data(), one ? 0 : size * size, p.data_as<int32_t>(), one ? 0 : size, x.data(), op);
  return x;
}

Tensor narrow_to(const Tensor& x, DType t) { return x.dtype() == t ? x : to_dtype(x, t); }

}  // namespace linalg_detail

namespace {

// Sign of the permutation that the pivots make, for each matrix: +1 or -1.
Tensor permutation_sign(const Tensor& pivots, DType t) {
  Dims shape(pivots.shape().data(), pivots.shape().size() - 1);
  Tensor sign = empty(shape, DType::Float64, pivots.device());
  const int64_t n = pivots.shape().back();
  const int32_t* p = pivots.data_as<int32_t>();
  double* out = sign.data_as<double>();
  for (int64_t k = 0; k < sign.numel(); ++k) {
    bool odd = false;
    for (int64_t i = 0; i < n; ++i) odd ^= p[k * n + i] != i + 1;
    out[k] = odd ? -1.0 : 1.0;
  }
  return to_dtype(sign, t);
}

bool is_vector(const Tensor& a, const Tensor& b) {
  if (b.ndim() == 1) return true;
  return a.ndim() - 1 == b.ndim() && b.shape() == batch_shape(a, 1);
}

void check_solve(const char* op, const Tensor& info) {
  const int64_t i = first_failure(info);
  STRIDED_CHECK(i < 0, LinAlgError, op, ": ", batch_element(info, i), "The solver failed because the input matrix is singular.");
}

// X with A X = B, or X A = B, for vectors and matrices B, from factors of A (of A^T for X A = B); op 2: with A^H for A.
// X A = B is A^T X^T = B^T.
Tensor solve_unrecorded(const Factors& f, const Tensor& b, const Dims& batch, bool vector, bool left, int op) {
  NoGrad guard;
  Tensor rhs = vector ? unsqueeze(b, -1) : left ? b : transpose(b, -2, -1);
  Dims shape = batch;
  shape.push_back(rhs.size(rhs.ndim() - 2));
  shape.push_back(rhs.size(rhs.ndim() - 1));
  if (rhs.shape() != shape) rhs = expand(rhs, shape);
  const Tensor x = narrow_to(solve_factored(f.lu, f.pivots, rhs, op), b.dtype());
  return vector ? squeeze(x, Dims{-1}) : left ? x : transpose(x, -2, -1);
}

std::pair<Tensor, Tensor> solve_with_info(const char* op, const Tensor& a, const Tensor& b, bool left, bool check) {
  check_square(op, a);
  check_dtype(op, a);
  check_same_device(op, a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, op, ": Expected A and B to have the same dtype, but found A of type ", a.dtype(), " and B of type ", b.dtype(), " instead");
  STRIDED_CHECK(b.ndim() >= 1, RuntimeError, op, ": The input tensor B must have at least 2 dimensions.");
  const bool vector = is_vector(a, b);
  STRIDED_CHECK(left || !vector, RuntimeError, op, ": Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const int64_t n = a.size(a.ndim() - 1), rows = b.size(b.ndim() - (vector ? 1 : 2)), columns = vector ? 1 : b.size(b.ndim() - 1);
  STRIDED_CHECK((left ? rows : columns) == n, RuntimeError, op, ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (", n, "x", n,
                " and ", rows, "x", columns, ")");
  const Dims batch = broadcast_shapes(batch_shape(a, 2), batch_shape(b, vector ? 1 : 2));
  const Factors f = left ? factor(a) : factor(make_view(a, strided::transpose(a.layout(), -2, -1)));
  if (check) check_solve("torch.linalg.solve", f.info);
  Tensor x = solve_unrecorded(f, b, batch, vector, left, 0);
  if (!needs_grad(a, b)) return {x, f.info};
  // X = A^-1 B: the gradient of B is A^-H G, that of A is -(A^-H G) X^H. The factors are used again, unless the backward
  // pass is itself differentiated: then it is written as another solve.
  record("LinalgSolveExBackward0", x, {a, b},
         [a = SavedTensor(a), x = SavedTensor::output(x), f, batch, vector, left, wa = a.requires_grad()](const Tensor& g) {
           const Tensor gb = grad_enabled() ? solve(adjoint_of(a.get()), g, left) : solve_unrecorded(f, g, batch, vector, left, 2);
           if (!wa) return std::vector<Tensor>{Tensor(), gb};
           const Tensor result = x.get();
           const Tensor ga = vector ? unsqueeze(gb, -1) * unsqueeze(conj(result), -2) : left ? matmul(gb, adjoint_of(result)) : matmul(adjoint_of(result), gb);
           return std::vector<Tensor>{-ga, gb};
         });
  return {x, f.info};
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, bool left) { return solve_with_info("linalg.solve", a, b, left, true).first; }

std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  auto [x, info] = solve_with_info("linalg.solve", a, b, left, check_errors);
  return {x, info};
}

std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors) {
  check_square("linalg.inv", a);
  check_dtype("linalg.inv", a);
  const Factors f = factor(a);
  if (check_errors) {
    const int64_t i = first_failure(f.info);
    STRIDED_CHECK(i < 0, LinAlgError, "linalg.inv: ", batch_element(f.info, i), "The diagonal element ", i < 0 ? 0 : f.info.data_as<int32_t>()[i],
                  " is zero, the inversion could not be completed because the input matrix is singular.");
  }
  const int64_t n = a.size(a.ndim() - 1);
  const Tensor identity = eye(n, n, wide(a.dtype()), a.device());
  Tensor x = narrow_to(solve_factored(f.lu, f.pivots, make_view(identity, strided::expand(identity.layout(), a.shape())), 0), a.dtype());
  if (needs_grad(a))
    // d(A^-1) = -A^-1 dA A^-1
    record("LinalgInvExBackward0", x, a, [x = SavedTensor(make_view(x, x.layout())), a = SavedTensor(a)](const Tensor& g) {
      const Tensor h = grad_enabled() ? adjoint_of(inv(a.get())) : adjoint_of(x.get());
      return -matmul(h, matmul(g, h));
    });
  return {x, f.info};
}

Tensor inv(const Tensor& a) { return std::get<0>(inv_ex(a, true)); }

std::tuple<Tensor, Tensor> slogdet(const Tensor& a) {
  check_square("linalg.slogdet", a);
  check_dtype("linalg.slogdet", a);
  const DType t = wide(a.dtype());
  Tensor sign, logabs;
  {
    NoGrad guard;
    const Factors f = factor(a);
    const Tensor d = diagonal(f.lu, 0, -2, -1);
    sign = prod(elementwise<Sgn>(d), Dims{-1}) * permutation_sign(f.pivots, t);
    logabs = sum(elementwise<Log>(elementwise<Abs>(d)), Dims{-1}, false, {});
    sign = narrow_to(sign, a.dtype());
    logabs = narrow_to(logabs, real_of(a.dtype()));
  }
  if (needs_grad(a)) {
    // d log|det A| = Re tr(A^-1 dA); for complex A the sign turns by the imaginary part of the same trace.
    record_all("LinalgSlogdetBackward0", {sign, logabs}, {a},
               [a = SavedTensor(a), sign = SavedTensor::output(sign), t = a.dtype()](const std::vector<Tensor>& g) {
                 const Tensor A = a.get();
                 const int64_t n = A.size(A.ndim() - 1);
                 Tensor weight = g[1].defined() ? to_dtype(g[1], t) : zeros(batch_shape(A, 2), t, A.device());
                 if (g[0].defined() && is_complex(t)) {
                   const Tensor turn = imag(conj(g[0]) * sign.get());
                   weight = weight - times_i(to_dtype(turn, t));
                 }
                 const Tensor identity = eye(n, n, t, A.device());
                 return std::vector<Tensor>{solve(adjoint_of(A), unsqueeze(unsqueeze(weight, -1), -1) * identity, true)};
               });
  }
  return {sign, logabs};
}

Tensor det(const Tensor& a) {
  check_square("linalg.det", a);
  check_dtype("linalg.det", a);
  Tensor value;
  Factors f;
  {
    NoGrad guard;
    f = factor(a);
    value = prod(diagonal(f.lu, 0, -2, -1), Dims{-1}) * permutation_sign(f.pivots, wide(a.dtype()));
    value = narrow_to(value, a.dtype());
  }
  if (!needs_grad(a)) return value;
  // d det A = det(A) tr(A^-1 dA). The gradient det(A) A^-H is a polynomial in A, so at a singular matrix it is the limit of
  // that formula: zeros on the diagonal of U are replaced by a number of the size of rounding errors.
  return record("LinalgDetBackward0", value, a, [a = SavedTensor(a), f](const Tensor& g) {
    const Tensor A = a.get();
    const int64_t n = A.size(A.ndim() - 1);
    const Tensor identity = eye(n, n, A.dtype(), A.device());
    const bool singular = first_failure(f.info) >= 0;
    if (grad_enabled()) {
      STRIDED_CHECK(!singular, NotImplementedError, "linalg.det: the second derivative at a singular matrix is not implemented");
      return solve(adjoint_of(A), unsqueeze(unsqueeze(g * conj(det(A)), -1), -1) * identity, true);
    }
    Tensor lu = f.lu;
    if (singular) {
      lu = clone(lu);
      const Tensor d = diagonal(lu, 0, -2, -1);
      const double eps = real_of(lu.dtype()) == DType::Float64 ? 2.2e-16 : 1.2e-7;
      const Tensor size = amax(elementwise<Abs>(d), Dims{-1}, true);
      const Tensor tiny = elementwise<Add>(size, elementwise<Eq>(size, Scalar(0))) * eps;  // eps itself for a matrix of zeros
      copy_into(d, d + masked(expand(to_dtype(tiny, lu.dtype()), d.shape()), elementwise<Eq>(d, Scalar(0))));
    }
    const Tensor value = prod(diagonal(lu, 0, -2, -1), Dims{-1}) * permutation_sign(f.pivots, lu.dtype());
    const Tensor rhs = unsqueeze(unsqueeze(to_dtype(g, lu.dtype()) * conj(value), -1), -1) * to_dtype(identity, lu.dtype());
    return narrow_to(solve_factored(lu, f.pivots, rhs, 2), A.dtype());
  });
}

Tensor matrix_power(const Tensor& a, int64_t n) {
  check_square("linalg.matrix_power", a);
  if (n < 0) {
    STRIDED_CHECK(n != INT64_MIN, RuntimeError, "linalg.matrix_power: the exponent is too small");
    return matrix_power(inv(a), -n);
  }
  if (n == 0) {
    const int64_t size = a.size(a.ndim() - 1);
    return clone(expand(eye(size, size, a.dtype(), a.device()), a.shape()));
  }
  // Binary exponentiation.
  Tensor result, power = a;
  for (int64_t rest = n;; power = matmul(power, power)) {
    if (rest & 1) result = result.defined() ? matmul(result, power) : power;
    rest >>= 1;
    if (rest == 0) break;
  }
  return n == 1 ? clone(a) : result;
}

}  // namespace strided
