// LU: factorisation, solve, inverse, determinant.
#include "ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>

#include "ops/index/index.h"
#include "ops/linalg/common.h"
#include "ops/linalg/matmul.h"
#include "ops/out.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace linalg_detail {

void check_square(const char* op, const Tensor& a) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, op, ": The input tensor A must have at least 2 dimensions.");
  const int n = a.ndim();
  STRIDED_CHECK(a.size(n - 2) == a.size(n - 1), RuntimeError, op,
                ": A must be batches of square matrices, but they are ", a.size(n - 2), " by ", a.size(n - 1),
                " matrices");
}

void check_dtype(const char* op, const Tensor& a) {
  STRIDED_CHECK(is_floating(a.dtype()) || is_complex(a.dtype()), RuntimeError, op,
                ": Expected a floating point or complex tensor as input. Got ", a.dtype());
}

int64_t batches(const Tensor& a) {
  int64_t n = 1;
  for (int i = 0; i < a.ndim() - 2; ++i) n *= a.size(i);
  return n;
}

Tensor packed_copy(const Tensor& a) {
  Tensor out = empty(a.shape(), compute_dtype_of(a.dtype()), a.device());
  copy_into(out, a);
  return out;
}

Dims batch_shape(const Tensor& a, int drop) {
  return Dims(a.shape().data(), a.shape().size() - static_cast<size_t>(drop));
}

void check_info(const char* op, LinalgFailure fault, const Tensor& info, Check check) {
  if (check == Check::Never || info.numel() == 0) return;
  backend(info.device())
      .check_info(context(op, info), fault, info.data_as<int32_t>(), info.numel(), info.ndim() > 0,
                  check == Check::Now);
}

Tensor adjoint_of(const Tensor& x) { return conj(transpose(x, -2, -1)); }

Factors factor(const Tensor& a) {
  const int n = a.ndim();
  const int64_t rows = a.size(n - 2), columns = a.size(n - 1);
  Factors f;
  f.lu = packed_copy(a);
  Dims shape = batch_shape(a, 2);
  const bool nothing = f.lu.numel() == 0;
  f.info = nothing ? zeros(shape, DType::Int32, a.device()) : empty(shape, DType::Int32, a.device());
  shape.push_back(std::min(rows, columns));
  f.pivots = empty(shape, DType::Int32, a.device());
  if (!nothing)
    backend(a.device())
        .lu_factor(context("lu_factor", a), f.lu.dtype(), f.info.numel(), rows, columns, f.lu.data(),
                   f.pivots.data_as<int32_t>(), f.info.data_as<int32_t>());
  return f;
}

void solve_in_place(const Tensor& lu, const Tensor& pivots, const Tensor& x, int op) {
  if (x.numel() == 0) return;
  const int n = x.ndim();
  const int64_t size = x.size(n - 2), columns = x.size(n - 1), count = batches(x);
  Tensor f = lu, p = pivots;
  if (batches(lu) != count && batches(lu) != 1) {
    Dims shape = batch_shape(x, 2);
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
  const int64_t step = one ? 0 : size * size, pivot_step = one ? 0 : size;
  backend(x.device())
      .lu_solve(context("lu_solve", x), x.dtype(), count, size, columns, f.data(), step, p.data_as<int32_t>(),
                pivot_step, x.data(), op);
}

Tensor solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, int op) {
  const Tensor x = packed_copy(b);
  solve_in_place(lu, pivots, x, op);
  return x;
}

bool is_vector(const Tensor& a, const Tensor& b) {
  if (b.ndim() == 1) return true;
  return a.ndim() - 1 == b.ndim() && b.shape() == batch_shape(a, 1);
}

Tensor cast_to(const Tensor& x, DType t) { return x.dtype() == t ? x : to_dtype(x, t); }

}  // namespace linalg_detail

namespace {

// Sign of the permutation that the pivots make, for each matrix: +1 or -1.
Tensor permutation_sign(const Tensor& pivots, DType t) {
  Dims shape(pivots.shape().data(), pivots.shape().size() - 1);
  Tensor sign = empty(shape, DType::Float64, pivots.device());
  backend(pivots.device())
      .permutation_sign(context("det", pivots), sign.numel(), pivots.shape().back(), pivots.data_as<int32_t>(),
                        sign.data_as<double>());
  return to_dtype(sign, t);
}

// The right-hand sides of A X = B, or X A = B, as the kernel takes them, in memory of their own: matrices whose batch
// axes are broadcast to `batch`. X A = B is A^T X^T = B^T.
struct RightSide {
  Tensor x;  // B, and when it is solved, X
  DType dtype;
  bool vector, left;
};
RightSide right_side(const Tensor& b, const Dims& batch, bool vector, bool left) {
  NoGradGuard guard;
  const Tensor given = vector ? unsqueeze(b, -1) : left ? b : transpose(b, -2, -1);
  RightSide side{Tensor(), given.dtype(), vector, left};
  Dims shape = batch;
  shape.push_back(given.size(given.ndim() - 2));
  shape.push_back(given.size(given.ndim() - 1));
  const DType t = compute_dtype_of(side.dtype);
  Dims final = shape;
  if (vector) final.pop_back();
  side.x = left ? empty_result(final, t, given.device()) : empty(shape, t, given.device());
  if (vector) side.x = make_view(side.x, strided::unsqueeze(side.x.layout(), final.ndim()));
  copy_into(side.x, given);
  return side;
}
// From factors of A (of A^T for X A = B); op 2: with A^H for A. Not recorded.
Tensor solved(const Factors& f, const RightSide& side, int op) {
  NoGradGuard guard;
  solve_in_place(f.lu, f.pivots, side.x, op);
  const Tensor x = cast_to(side.x, side.dtype);
  return side.vector ? squeeze(x, Dims{-1}) : side.left ? x : transpose(x, -2, -1);
}

Tensor solve_from(const Tensor& a, const Factors& f, const Tensor& b, const Dims& batch, bool vector, bool left,
                  int op);

// The same, recorded for A and B.
// Systems solved from saved factors.
// X = A^-1 B: the gradient of B is A^-H G, that of A is -(A^-H G) X^H. A^-H G comes from the factors the forward made,
// and is itself such a system, so every order of derivative uses the same factors. A is saved for its place in the
// graph only.
Tensor solve_recorded(const Tensor& a, const Factors& f, const Tensor& b, Tensor x, const Dims& batch, bool vector,
                      bool left, int op) {
  if (!needs_grad(a, b)) return x;
  const bool wants_a = a.requires_grad();
  return record("LinalgSolveExBackward0", x, {a, b},
                [a = saved_if(wants_a, a), x = wants_a ? SavedTensor::output(x) : SavedTensor(), lu = SavedTensor(f.lu),
                 pivots = SavedTensor(f.pivots), batch, vector, left, op](const Tensor& g) {
                  const Factors f{lu.get(), pivots.get(), {}};
                  const Tensor gb = solve_from(a.was_saved() ? a.get() : f.lu, f, g, batch, vector, left, 2 - op);
                  if (!a.was_saved()) return std::vector<Tensor>{Tensor(), gb};
                  const Tensor result = x.get();
                  const Tensor& first = op == 0 ? gb : result;  // of A X = B; with A^H for A the roles change
                  const Tensor& second = op == 0 ? result : gb;
                  const Tensor ga = vector ? unsqueeze(first, -1) * unsqueeze(conj(second), -2)
                                    : left ? matmul(first, adjoint_of(second))
                                           : matmul(adjoint_of(second), first);
                  return std::vector<Tensor>{-ga, gb};
                });
}

Tensor solve_from(const Tensor& a, const Factors& f, const Tensor& b, const Dims& batch, bool vector, bool left,
                  int op) {
  return solve_recorded(a, f, b, solved(f, right_side(b, batch, vector, left), op), batch, vector, left, op);
}

std::pair<Tensor, Tensor> solve_with_info(const char* op, const Tensor& a, const Tensor& b, bool left, Check check) {
  check_square(op, a);
  check_dtype(op, a);
  check_same_device(op, a, b);
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, op,
                ": Expected A and B to have the same dtype, but found A of type ", a.dtype(), " and B of type ",
                b.dtype(), " instead");
  STRIDED_CHECK(b.ndim() >= 1, RuntimeError, op, ": The input tensor B must have at least 2 dimensions.");
  const bool vector = is_vector(a, b);
  STRIDED_CHECK(left || !vector, RuntimeError, op,
                ": Vector broadcasting of the left hand side is not supported for left=False. In this case "
                "linalg.solve is equivalent to B / A.squeeze(-1)");
  const int64_t n = a.size(a.ndim() - 1), rows = b.size(b.ndim() - (vector ? 1 : 2)),
                columns = vector ? 1 : b.size(b.ndim() - 1);
  STRIDED_CHECK((left ? rows : columns) == n, RuntimeError, op, ": Incompatible shapes of A and B for the equation ",
                left ? "AX = B" : "XA = B", " (", n, "x", n, " and ", rows, "x", columns, ")");
  const Dims batch = broadcast_shapes(batch_shape(a, 2), batch_shape(b, vector ? 1 : 2));
  // Another thread may resize both while a kernel has given up the interpreter's lock: shapes are read before.
  const Tensor matrix = make_view(a, left ? a.layout() : strided::transpose(a.layout(), -2, -1));
  const RightSide side = right_side(b, batch, vector, left);
  const Factors f = factor(matrix);
  check_info("torch.linalg.solve", LinalgFailure::Singular, f.info, check);
  return {solve_recorded(a, f, b, solved(f, side, 0), batch, vector, left, 0), f.info};
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, bool left) {
  return solve_with_info("linalg.solve", a, b, left, Check::Later).first;
}

std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left, bool check_errors) {
  auto [x, info] = solve_with_info("linalg.solve", a, b, left, check_errors ? Check::Now : Check::Never);
  return {x, info};
}

namespace {

Tensor inverted(const Factors& f, DType dtype) {
  NoGradGuard guard;
  const Tensor& lu = f.lu;
  const Tensor x =
      dtype == lu.dtype() ? empty_result(lu.shape(), dtype, lu.device()) : empty(lu.shape(), lu.dtype(), lu.device());
  fill_into(x, Scalar(0));
  fill_into(make_view(x, strided::diagonal(x.layout(), 0, -2, -1)), Scalar(1));
  solve_in_place(lu, f.pivots, x, 0);
  return x;
}

std::tuple<Tensor, Tensor> inverse_with_info(const Tensor& a, Check check) {
  check_square("linalg.inv", a);
  check_dtype("linalg.inv", a);
  const DType dtype = a.dtype();  // before a kernel gives up the interpreter's lock
  const Factors f = factor(a);
  check_info("linalg.inv", LinalgFailure::NotInvertible, f.info, check);
  const Tensor x = cast_to(inverted(f, dtype), dtype);
  if (needs_grad(a))
    // d(A^-1) = -A^-1 dA A^-1
    record("LinalgInvExBackward0", x, a,
           NamedFormula{std::tuple{SavedTensor::output(x)},
                        [](const Tensor& g, const SavedTensor& x) {
                          const Tensor h = adjoint_of(x.get());
                          return -matmul(h, matmul(g, h));
                        },
                        "inverse"});
  return {x, f.info};
}

}  // namespace

std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors) {
  return inverse_with_info(a, check_errors ? Check::Now : Check::Never);
}

Tensor inv(const Tensor& a) { return std::get<0>(inverse_with_info(a, Check::Later)); }

namespace {

// weight A^-H, the gradient of log |det A| but for the weight (one number for each matrix).
Tensor scaled_inverse_adjoint(const Tensor& a, const Factors& f, const Tensor& weight) {
  const int64_t n = a.size(a.ndim() - 1);
  const Tensor identity = eye(n, n, weight.dtype(), a.device());
  return solve_from(a, f, unsqueeze(unsqueeze(weight, -1), -1) * identity, batch_shape(a, 2), false, true, 2);
}

Tensor product_of_pivots(const Factors& f) {
  NoGradGuard guard;
  return prod(diagonal(f.lu, 0, -2, -1), Dims{-1}) * permutation_sign(f.pivots, f.lu.dtype());
}

}  // namespace

std::tuple<Tensor, Tensor> slogdet(const Tensor& a) {
  check_square("linalg.slogdet", a);
  check_dtype("linalg.slogdet", a);
  const DType t = compute_dtype_of(a.dtype());
  const Factors f = factor(a);
  Tensor sign, logabs;
  {
    NoGradGuard guard;
    const Tensor d = diagonal(f.lu, 0, -2, -1);
    sign = prod(elementwise<Sgn>(d), Dims{-1}) * permutation_sign(f.pivots, t);
    logabs = sum(elementwise<Log>(elementwise<Abs>(d)), Dims{-1}, false, {});
    sign = cast_to(sign, a.dtype());
    logabs = cast_to(logabs, real_of(a.dtype()));
  }
  if (needs_grad(a)) {
    // d log|det A| = Re tr(A^-1 dA); for complex A the sign turns by the imaginary part of the same trace.
    record_all("LinalgSlogdetBackward0", {sign, logabs}, {a},
               [a = SavedTensor(a), lu = SavedTensor(f.lu), pivots = SavedTensor(f.pivots),
                sign = is_complex(t) ? SavedTensor::output(sign) : SavedTensor()](const std::vector<Tensor>& g) {
                 const Tensor A = a.get();
                 const DType t = A.dtype();
                 if (!g[1].defined() && !is_complex(t)) return std::vector<Tensor>{zeros_like(A)};
                 Tensor weight = g[1].defined() ? to_dtype(g[1], t) : zeros(batch_shape(A, 2), t, A.device());
                 if (g[0].defined() && is_complex(t))
                   weight = weight - times_i(to_dtype(imag(conj(g[0]) * sign.get()), t));
                 return std::vector<Tensor>{scaled_inverse_adjoint(A, {lu.get(), pivots.get(), {}}, weight)};
               });
  }
  return {sign, logabs};
}

namespace {

// Determinants of singular matrices.
// The gradient det(A) A^-H is a polynomial in A, but this formula has no value where A is singular. There some pivots
// are zero, or nothing but rounding errors. Raised by numbers s of the size of what they were computed from they are
// the pivots of a regular matrix R = A + B C, with B = P L E s and C = E^T, where E has a unit vector for each of them.
// Then
//   det A = det R det K,  K = 1 - C R^-1 B
// (the matrix determinant lemma), K being a small matrix, whose determinant and adjugate are found without division by
// it.
struct Raised {
  Factors f;    // of R
  Tensor b, c;  // undefined: A is regular
};
Raised raise_zero_pivots(const Factors& f) {
  NoGradGuard guard;
  const int n = f.lu.ndim();
  const int64_t size = f.lu.size(n - 1);
  Raised r{f, {}, {}};
  if (f.lu.numel() == 0 || f.lu.device().is_meta()) return r;
  const DType real = real_of(f.lu.dtype());
  const double eps = real == DType::Float64 ? 2.2e-16 : 1.2e-7;
  const Tensor sizes = elementwise<Abs>(triu(f.lu, 0)), column = amax(sizes, Dims{-2});
  const Tensor zero =
      contiguous(elementwise<Le>(diagonal(sizes, 0, -2, -1), column * (eps * static_cast<double>(size))));
  const int64_t count = item(amax(sum(zero, Dims{-1}))).to_int();
  if (count == 0) return r;
  // The size of a column of zeros is that of the matrix, or 1.
  const Tensor empty_column = elementwise<Eq>(column, Scalar(0)), all = amax(column, Dims{-1}, true);
  const Tensor some = where(elementwise<Eq>(all, Scalar(0)), Scalar(1.0), all);
  const Tensor raise = masked(to_dtype(where(empty_column, some, column), f.lu.dtype()), zero);
  // E has a one in row i and column j where i is zero number j: the sum of the zeros before i is its number.
  const Tensor zeros_as_numbers = to_dtype(zero, real),
               numbers = matmul(zeros_as_numbers, triu(ones({size, size}, real, f.lu.device()), 1));
  const Tensor here =
      elementwise<Eq>(unsqueeze(numbers, -1), arange(Scalar(0), Scalar(count), Scalar(1), real, f.lu.device()));
  const auto [p, l, u] = lu_unpack(f.lu, f.pivots);
  const Tensor e = to_dtype(elementwise<LogicalAnd>(here, unsqueeze(zero, -1)), f.lu.dtype());
  r.b = matmul(p, matmul(l, e * unsqueeze(raise, -1)));
  r.c = transpose(e, -2, -1);
  r.f.lu = clone(f.lu);
  const Tensor d = diagonal(r.f.lu, 0, -2, -1);
  copy_into(d, d + raise);
  return r;
}

// Determinant and adjugate of small matrices (Faddeev and Le Verrier; N. J. Higham, "Functions of Matrices", 2008).
std::pair<Tensor, Tensor> det_and_adjugate(const Tensor& k) {
  const int64_t n = k.size(k.ndim() - 1);
  const Tensor identity = eye(n, n, k.dtype(), k.device());
  auto trace_of = [](const Tensor& x) { return unsqueeze(sum(diagonal(x, 0, -2, -1), Dims{-1}, true, {}), -1); };
  Tensor m = expand(identity, k.shape());
  for (int64_t j = 1; j < n; ++j) {
    const Tensor next = matmul(k, m);
    m = next - identity * (trace_of(next) / static_cast<double>(j));
  }
  if (n % 2 == 0) m = -m;
  return {trace_of(matmul(k, m)) / static_cast<double>(n), m};
}

// The determinant of A from its factors, recorded.
Tensor det_from(const Tensor& a, const Factors& f) {
  const Tensor value = cast_to(product_of_pivots(f), a.dtype());
  if (!needs_grad(a)) return value;
  return record(
      "LinalgDetBackward0", value, a,
      [a = SavedTensor(a), det = SavedTensor::output(value), lu = SavedTensor(f.lu),
       pivots = SavedTensor(f.pivots)](const Tensor& g) {
        const Factors f{lu.get(), pivots.get(), {}};
        const Tensor A = a.get();
        const Raised raised = raise_zero_pivots(f);
        if (!raised.b.defined()) return scaled_inverse_adjoint(A, f, g * conj(det.get()));
        // d det A = tr((det K R^-1 + R^-1 B adj(K) C R^-1) dA) det R
        const Tensor r = cast_to(A, f.lu.dtype()) + matmul(raised.b, raised.c);
        const Dims batch = batch_shape(r, 2);
        const Tensor y = solve_from(r, raised.f, raised.b, batch, false, true, 0);                     // R^-1 B
        const Tensor z = solve_from(r, raised.f, transpose(raised.c, -2, -1), batch, false, true, 2);  // (C R^-1)^H
        const int64_t n = raised.c.size(raised.c.ndim() - 2);
        const auto [small, adjugate] = det_and_adjugate(eye(n, n, r.dtype(), r.device()) - matmul(raised.c, y));
        const Tensor weight = cast_to(g, r.dtype()) * conj(det_from(r, raised.f));
        const Tensor first = scaled_inverse_adjoint(r, raised.f, weight * conj(squeeze(small, Dims{-2, -1})));
        return first + unsqueeze(unsqueeze(weight, -1), -1) * matmul(z, matmul(adjoint_of(adjugate), adjoint_of(y)));
      });
}

}  // namespace

Tensor det(const Tensor& a) {
  check_square("linalg.det", a);
  check_dtype("linalg.det", a);
  return det_from(a, factor(a));
}

Tensor matrix_power(const Tensor& a, int64_t n) {
  check_square("linalg.matrix_power", a);
  if (n < 0) {
    STRIDED_CHECK(n != INT64_MIN, RuntimeError, "linalg.matrix_power: the exponent is too small");
    return matrix_power(inv(a), -n);
  }
  if (n == 0) {
    const int64_t size = a.size(a.ndim() - 1);
    const Tensor out = clone(expand(eye(size, size, a.dtype(), a.device()), a.shape()));
    return record("CopyBackwards", out, a, [](const Tensor& g) { return zeros_like(g); });
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
