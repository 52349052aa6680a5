// The singular value decomposition and what is made of it: pseudo-inverse, rank.
#include <algorithm>
#include <limits>

#include "ops/index/index.h"
#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace linalg_detail {

void check_gauge(const char* op, const char* vectors, const Tensor& turn) {
  NoGradGuard guard;
  if (turn.numel() == 0 || turn.device().is_meta()) return;
  const Tensor size = elementwise<Abs>(turn);
  const double limit = real_of(turn.dtype()) == DType::Float64 ? 1e-8 : 1e-2;
  STRIDED_CHECK(!(item(amax(size)).real() > limit), RuntimeError, op, ": The ", vectors,
                " in the complex case are specified up to multiplication by e^{i phi}. The specified loss function "
                "depends on this quantity, so it is ill-defined.");
}

// grad A of P = A^+ (G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
// problems whose variables separate", SIAM J. Numer. Anal. 10, 1973), with the products in the cheaper order.
Tensor pinv_backward(const Tensor& g, const Tensor& p, const Tensor& a) {
  const Tensor ph = adjoint_of(p), gh = adjoint_of(g);
  if (a.size(a.ndim() - 2) <= a.size(a.ndim() - 1)) {
    const Tensor k = matmul(gh, p), kp = matmul(k, ph);
    return kp - adjoint_of(matmul(p, k)) - matmul(a, matmul(p, kp)) + matmul(ph, matmul(p, gh - matmul(k, a)));
  }
  const Tensor k = matmul(p, gh), pk = matmul(ph, k);
  return matmul(matmul(gh - matmul(a, k), p), ph) - adjoint_of(matmul(k, p)) + pk - matmul(matmul(pk, p), a);
}

}  // namespace linalg_detail

namespace {

struct Singular {
  Tensor u, s, vh;
};
using Driver = const std::optional<std::string>&;  // none: the backend's default

Singular decompose(const char* op, const Tensor& a, bool vectors, bool full, Driver driver = {});

// Where one side is longer, by the triangle of the QR: A = Q R, R = U S V^H, A = (Q U) S V^H (T. F. Chan, "An improved
// algorithm for computing the singular value decomposition", ACM Trans. Math. Softw. 8, 1982); a wide A = R^H Q^H.
// Drivers begin so, too, but with a QR that takes longer.
constexpr int64_t kLong = 64;  // smaller matrices have kernels of their own
bool is_long(int64_t side, int64_t other) { return side >= 2 * other && side >= kLong && other > 0; }
Singular by_triangle(const char* op, const Tensor& a, bool wide, bool vectors, Driver driver) {
  const Tensor tall = wide ? adjoint_of(a) : a;
  const int64_t n = tall.size(a.ndim() - 1);
  const auto [packed, tau] = qr_packed(op, tall);
  const Tensor r = triu(narrow(packed, -2, 0, n), 0);
  Singular out = decompose(op, wide ? adjoint_of(r) : r, vectors, false, driver);
  const auto turned = [](const Tensor& x) { return strided::transpose(x, -2, -1); };
  out.s = cast_to(out.s, real_of(a.dtype()));
  if (!vectors) return out;
  const Tensor q = q_of(op, packed, tau, n, n);  // the products are turned so that they are stored by columns
  if (wide) out.vh = turned(matmul(turned(adjoint_of(q)), turned(out.vh)));
  else out.u = turned(matmul(turned(out.u), turned(q)));
  return {cast_to(out.u, a.dtype()), out.s, cast_to(out.vh, a.dtype())};
}

// Not recorded; rounded to a's dtype.
Singular decompose(const char* op, const Tensor& a, bool vectors, bool full, Driver driver) {
  check_matrices(op, a);
  NoGradGuard guard;
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1), k = std::min(m, n);
  if (!(vectors && full) && a.numel() > 0) {
    const bool wide = is_long(n, m);
    if (wide || is_long(m, n)) return by_triangle(op, a, wide, vectors, driver);
  }
  const DType real = real_of(compute_dtype_of(a.dtype()));
  const Tensor work = copy_by_columns(a);
  Dims shape = batch_shape(a, 2);
  const Tensor info = empty(shape, DType::Int32, a.device());
  shape.push_back(k);
  Singular out;
  out.s = empty(shape, real, a.device());
  if (vectors) {
    out.u = empty_by_columns(a, m, full ? m : k);
    out.vh = empty_by_columns(a, full ? n : k, n);
  }
  if (work.numel() > 0) {
    backend(a.device())
        .svd(plan_of(op, work, info), out.s.data(), vectors ? out.u.data() : nullptr, vectors ? out.vh.data() : nullptr,
             full, driver ? driver->c_str() : nullptr);
    check_info(op, LinalgFailure::Svd, info, Check::Later);
  } else if (vectors) {
    copy_into(out.u, identity_like(out.u, m, full ? m : k));
    copy_into(out.vh, identity_like(out.vh, full ? n : k, n));
  }
  out.s = cast_to(out.s, real_of(a.dtype()));
  if (vectors) {
    out.u = cast_to(out.u, a.dtype());
    out.vh = cast_to(out.vh, a.dtype());
  }
  return out;
}

// Gradient of the SVD.
// With A = U S V^H (k columns of U and V), X = U^H G_U and Y = V^H G_V made skew-Hermitian, and E_ij = s_j^2 - s_i^2 (1
// on the diagonal):
//   grad A = U ((X / E) S + S (Y / E) + diag(G_S)) V^H + (1 - U U^H) G_U S^-1 V^H + U S^-1 G_V^H (1 - V V^H),
// and where A is complex the imaginary diagonal of X / (2 S) is added, because U and V may turn together.
// (J. Townsend, "Differentiating the singular value decomposition", 2016; Z.-Q. Wan and S.-X. Zhang, "Automatic
// differentiation for complex valued SVD", arXiv:1909.02659.)
Tensor svd_gradient(const Singular& x, const Tensor& gu, const Tensor& gs, const Tensor& gvh, int64_t m, int64_t n) {
  const Tensor &u = x.u, &s = x.s, &vh = x.vh;
  if (!gu.defined() && !gvh.defined()) return matmul(u * unsqueeze(gs, -2), vh);
  const bool is_complex_matrix = is_complex(u.dtype());
  const Tensor row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  const int64_t k = s.size(s.ndim() - 1);
  auto skew = [](const Tensor& y) { return y - adjoint_of(y); };
  const Tensor e = (row - column) * (row + column) + eye(k, k, s.dtype(), s.device());
  Tensor core, turn, ux;
  if (gu.defined()) {
    ux = skew(matmul(adjoint_of(u), gu));
    core = ux / e * row;
    turn = ux;
  }
  if (gvh.defined()) {
    const Tensor vy = skew(matmul(vh, adjoint_of(gvh)));
    const Tensor part = column * (vy / e);
    core = core.defined() ? core + part : part;
    turn = turn.defined() ? turn + vy : vy;
  }
  if (is_complex_matrix) {
    check_gauge("svd_backward", "singular vectors", imag(diagonal(turn, 0, -2, -1)));
    if (gu.defined()) core = core + diag_embed(diagonal(ux, 0, -2, -1) / (s * 2.0), 0, -2, -1);
  }
  if (gs.defined()) core = core + diag_embed(to_dtype(gs, core.dtype()), 0, -2, -1);
  Tensor left = matmul(u, core);
  if (m > k && gu.defined()) {
    const Tensor scaled = gu / row;
    left = left + scaled - matmul(u, matmul(adjoint_of(u), scaled));
  }
  Tensor out = matmul(left, vh);
  if (n > k && gvh.defined()) {
    const Tensor scaled = gvh / column;
    out = out + matmul(u, scaled - matmul(matmul(scaled, adjoint_of(vh)), vh));
  }
  return out;
}

Singular recorded(const char* op, const Tensor& a, bool full, Driver driver) {
  const Singular x = decompose(op, a, true, full, driver);
  if (!needs_grad(a)) return x;
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1), k = std::min(m, n);
  auto formula = [m, n, k](const std::vector<Tensor>& g, const SavedTensor& u, const SavedTensor& s,
                           const SavedTensor& vh, bool) {
    // Of full matrices only the first k vectors are determined.
    auto first = [k](const Tensor& t, int dim) {
      return !t.defined() || t.size(t.ndim() + dim) == k ? t : narrow(t, dim, 0, k);
    };
    const Singular x{first(u.get(), -1), s.get(), first(vh.get(), -2)};
    return std::vector<Tensor>{svd_gradient(x, first(g[0], -1), g[1], first(g[2], -2), m, n)};
  };
  record_all("LinalgSvdBackward0", {x.u, x.s, x.vh}, {a},
             NamedFormula{std::tuple{SavedTensor::output(x.u, 0), SavedTensor::output(x.s, 1),
                                     SavedTensor::output(x.vh, 2), full},
                          std::move(formula), "U S Vh full_matrices"});
  return x;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool full_matrices, const std::optional<std::string>& driver) {
  const Singular x = recorded("linalg.svd", a, full_matrices, driver);
  return {x.u, x.s, x.vh};
}

Tensor svdvals(const Tensor& a, const std::optional<std::string>& driver) {
  return needs_grad(a) ? recorded("linalg.svd", a, false, driver).s
                       : decompose("linalg.svd", a, false, false, driver).s;
}

namespace {

// What is at most this counts as zero; `largest` has a last axis of one.
Tensor threshold(const Tolerance& t, const Tensor& a, const Tensor& largest) {
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
  auto as_column = [&](const Tensor& x) { return x.ndim() == 0 ? x : unsqueeze(x, -1); };
  const double eps = real_of(compute_dtype_of(a.dtype())) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                                                            : std::numeric_limits<float>::epsilon();
  const Tensor absolute = t.atol.defined() ? as_column(t.atol) : Tensor();
  Tensor relative = largest * (static_cast<double>(std::max(m, n)) * eps);
  if (t.rtol.defined()) relative = largest * as_column(t.rtol);
  else if (absolute.defined()) relative = where(elementwise<Gt>(absolute, Scalar(0)), Scalar(0.0), relative);
  return absolute.defined() ? elementwise<Maximum>(absolute, relative) : relative;
}

}  // namespace

Tensor pinv(const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  const char* op = "linalg.pinv";
  check_matrices(op, a);
  if (hermitian) check_square(op, a);
  Tensor p;
  {
    NoGradGuard guard;
    const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
    if (a.numel() == 0) {
      p = zeros(matrix_shape(a, n, m), a.dtype(), a.device());
    } else if (hermitian) {
      const auto [w, v] = eigh(a, "L");
      const Tensor size = elementwise<Abs>(w), limit = threshold(tolerance, a, amax(size, Dims{-1}, true));
      p = matmul(v * unsqueeze(masked(1.0 / w, elementwise<Gt>(size, limit)), -2), adjoint_of(v));
    } else {
      const Singular x = decompose(op, a, true, false);
      const Tensor limit = threshold(tolerance, a, narrow(x.s, -1, 0, 1));
      p = matmul(adjoint_of(x.vh) * unsqueeze(masked(1.0 / x.s, elementwise<Gt>(x.s, limit)), -2), adjoint_of(x.u));
    }
  }
  if (!needs_grad(a)) return p;
  auto formula = [](const Tensor& g, const SavedTensor& a, const SavedTensor& p) {
    return pinv_backward(g, p.get(), a.get());
  };
  return record("LinalgPinvBackward0", p, a,
                NamedFormula{std::tuple{SavedTensor(a), SavedTensor::output(p)}, std::move(formula), "self result"});
}

Tensor matrix_rank(const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  const char* op = "torch.linalg.matrix_rank";
  check_matrices(op, a, "input ");
  if (hermitian) check_square(op, a);
  NoGradGuard guard;
  if (a.numel() == 0) return zeros(batch_shape(a, 2), DType::Int64, a.device());
  const Tensor s = hermitian ? elementwise<Abs>(eigvalsh(a, "L")) : svdvals(a);
  return sum(elementwise<Gt>(s, threshold(tolerance, a, amax(s, Dims{-1}, true))), Dims{-1});
}

}  // namespace strided
