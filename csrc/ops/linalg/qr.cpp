// QR decompositions, and products of Householder reflectors.
#include <algorithm>

#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace linalg_detail {

void check_matrices(const char* op, const Tensor& a, const char* what) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, op, ": The input tensor ", what, "must have at least 2 dimensions.");
  check_dtype(op, a);
}

Dims matrix_shape(const Tensor& batch_of, int64_t rows, int64_t columns) {
  Dims shape = batch_shape(batch_of, 2);
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

Tensor empty_by_columns(const Tensor& batch_of, int64_t rows, int64_t columns) {
  const Tensor memory =
      empty(matrix_shape(batch_of, columns, rows), compute_dtype_of(batch_of.dtype()), batch_of.device());
  return make_view(memory, strided::transpose(memory.layout(), -2, -1));
}

Tensor copy_by_columns(const Tensor& a) {
  const Tensor out = empty_by_columns(a, a.size(a.ndim() - 2), a.size(a.ndim() - 1));
  copy_into(out, a);
  return out;
}

DecompositionPlan plan_of(const char* op, const Tensor& a, const Tensor& info) {
  DecompositionPlan plan;
  plan.name = op;
  plan.device = a.device().index;
  plan.dtype = a.dtype();
  plan.batch = batches(a);
  plan.m = a.size(a.ndim() - 2);
  plan.n = a.size(a.ndim() - 1);
  plan.a = a.data();
  plan.info = info.defined() ? info.data_as<int32_t>() : nullptr;
  return plan;
}

Tensor identity_like(const Tensor& batch_of, int64_t rows, int64_t columns) {
  return expand(eye(rows, columns, batch_of.dtype(), batch_of.device()), matrix_shape(batch_of, rows, columns));
}

// Q R of A in one matrix, and the scales of the reflectors; in the kernels' dtype, not recorded.
std::pair<Tensor, Tensor> qr_packed(const char* op, const Tensor& a) {
  const int64_t k = std::min(a.size(a.ndim() - 2), a.size(a.ndim() - 1));
  const Tensor packed = copy_by_columns(a);
  Dims shape = batch_shape(a, 2);
  shape.push_back(k);
  const Tensor tau = empty(shape, packed.dtype(), a.device());
  if (tau.numel() > 0) backend(a.device()).qr(plan_of(op, packed, {}), tau.data());
  return {packed, tau};
}

// The first `columns` columns of the product of the reflectors in the first k columns of `packed`.
Tensor q_of(const char* op, const Tensor& packed, const Tensor& tau, int64_t k, int64_t columns) {
  const int64_t rows = packed.size(packed.ndim() - 2);
  const Tensor q = empty_by_columns(packed, rows, columns);
  if (k == 0) copy_into(q, identity_like(q, rows, columns));
  if (k == 0 || q.numel() == 0) return q;
  const int64_t shared = std::min(columns, packed.size(packed.ndim() - 1));
  copy_into(narrow(q, -1, 0, shared), narrow(packed, -1, 0, shared));
  backend(packed.device()).form_q(plan_of(op, q, {}), k, tau.data());
  return q;
}

// C becomes Q C or C Q, Q or Q^H the product of the k reflectors that are the columns of `packed`.
void apply_q(const char* op, const Tensor& packed, const Tensor& tau, int64_t k, const Tensor& c, bool left,
             bool adjoint) {
  if (k == 0 || c.numel() == 0) return;
  backend(c.device()).apply_q(plan_of(op, c, {}), k, packed.data(), tau.data(), left, adjoint);
}

}  // namespace linalg_detail

namespace {

Tensor real_diagonal(const Tensor& x) {
  return diag_embed(to_dtype(real(diagonal(x, 0, -2, -1)), x.dtype()), 0, -2, -1);
}

// Gradient of QR.
// For m >= n:  grad A = (G_Q + Q sym(triu(G_R R^H - Q^H G_Q))) R^-H, where sym(X) = X + X^H with the real part of X's
// diagonal kept once. For m < n let A = (X, Y) with square X = Q U, so that R = (U, V), V = Q^H Y: Y gets Q G_V, and Q
// gets Y G_V^H more. (S. Walter, L. Lehmann, R. Lamour, "On evaluating higher-order derivatives of the QR
// decomposition", Optim. Methods Softw. 27, 2012; M. Seeger et al., "Auto-differentiating linear algebra",
// arXiv:1710.08717.)
Tensor qr_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  const int64_t m = q.size(q.ndim() - 2), n = r.size(r.ndim() - 1);
  if (m < n) {
    const Tensor u = narrow(r, -1, 0, m);
    if (!gr.defined())
      return cat({qr_gradient(q, u, gq, {}), zeros(matrix_shape(r, m, n - m), r.dtype(), r.device())}, -1);
    const Tensor gv = narrow(gr, -1, m, n - m), y = matmul(q, narrow(r, -1, m, n - m));
    const Tensor more = matmul(y, adjoint_of(gv));
    return cat({qr_gradient(q, u, gq.defined() ? gq + more : more, narrow(gr, -1, 0, m)), matmul(q, gv)}, -1);
  }
  Tensor x;
  if (gr.defined()) x = matmul(gr, adjoint_of(r));
  if (gq.defined()) x = x.defined() ? x - matmul(adjoint_of(q), gq) : -matmul(adjoint_of(q), gq);
  x = triu(x, 0);
  Tensor g = matmul(q, x + adjoint_of(x) - real_diagonal(x));
  if (gq.defined()) g = g + gq;
  return solve_triangular(adjoint_of(r), g, false, false, false);
}

// By the backend's kernel for small matrices, if it has one that takes them; q is not wanted if it is defined.
bool small_qr(const char* op, const Tensor& a, bool complete, Tensor& q, Tensor& r) {
  const auto kernel = backend(a.device()).small_qr;
  if (!kernel) return false;
  DecompositionPlan plan = plan_of(op, a, {});
  plan.dtype = compute_dtype_of(a.dtype());
  if (!kernel(plan, false, complete, nullptr, nullptr)) return false;
  const int64_t rows = complete ? plan.m : std::min(plan.m, plan.n);
  const bool by_columns = a.dtype() == plan.dtype && strided::transpose(a.layout(), -2, -1).is_contiguous();
  const Tensor from = by_columns ? a : contiguous(cast_to(a, plan.dtype));
  const Tensor to_q = q.defined() ? Tensor() : empty_by_columns(a, plan.m, rows);
  const Tensor to_r = empty(matrix_shape(a, rows, plan.n), plan.dtype, a.device());
  plan.a = from.data();
  kernel(plan, by_columns, complete, to_q.defined() ? to_q.data() : nullptr, to_r.data());
  if (to_q.defined()) q = cast_to(to_q, a.dtype());
  r = cast_to(to_r, a.dtype());
  return true;
}

}  // namespace

std::tuple<Tensor, Tensor> qr(const Tensor& a, const std::string& mode) {
  const char* op = "linalg.qr";
  check_matrices(op, a);
  STRIDED_CHECK(mode == "reduced" || mode == "complete" || mode == "r", RuntimeError, "qr received unrecognized mode '",
                mode, "' but expected one of 'reduced' (default), 'r', or 'complete'");
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1), k = std::min(m, n);
  const bool complete = mode == "complete", only_r = mode == "r";
  Tensor q, r;
  {
    NoGradGuard guard;
    if (only_r) q = empty(Dims{0}, a.dtype(), a.device());
    if (!small_qr(op, a, complete, q, r)) {
      const auto [packed, tau] = qr_packed(op, a);
      r = cast_to(triu(narrow(packed, -2, 0, complete ? m : k), 0), a.dtype());
      if (!only_r) q = cast_to(q_of(op, packed, tau, k, complete ? m : k), a.dtype());
    }
  }
  if (!needs_grad(a)) return {q, r};
  auto formula = [differentiable = !complete || m <= n, only_r](const std::vector<Tensor>& g, const SavedTensor& q,
                                                                const SavedTensor& r, const char*) {
    STRIDED_CHECK(!only_r, RuntimeError,
                  "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
                  "use linalg.qr(A, mode='reduced') if you are going to require its derivatives.");
    STRIDED_CHECK(differentiable, RuntimeError,
                  "The QR decomposition is not differentiable when mode='complete' and nrows > ncols.");
    return std::vector<Tensor>{qr_gradient(q.get(), r.get(), g[0], g[1])};
  };
  record_all("LinalgQrBackward0", {q, r}, {a},
             NamedFormula{std::tuple{SavedTensor::output(q, 0), SavedTensor::output(r, 1),
                                     complete ? "complete"
                                     : only_r ? "r"
                                              : "reduced"},
                          std::move(formula), "Q R mode"});
  return {q, r};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& a) {
  check_matrices("torch.geqrf", a, "input ");
  auto [packed, tau] = qr_packed("geqrf", a);
  packed = cast_to(packed, a.dtype());
  tau = cast_to(tau, a.dtype());
  record_no_derivative("GeqrfBackward0", "geqrf", {packed, tau}, {a});
  return {packed, tau};
}

namespace {

int64_t check_reflectors(const char* op, const Tensor& a, const Tensor& tau) {
  check_matrices(op, a, "input ");
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
  STRIDED_CHECK(m >= n, RuntimeError, op, ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  STRIDED_CHECK(tau.ndim() == a.ndim() - 1, RuntimeError, op,
                ": Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.ndim(),
                " and input.ndim is equal to ", a.ndim());
  STRIDED_CHECK(batch_shape(tau, 1) == batch_shape(a, 2), RuntimeError, op,
                ": Expected batch dimensions of tau to be equal to input.shape[:-2], but got ", batch_shape(tau, 1));
  const int64_t k = tau.size(tau.ndim() - 1);
  STRIDED_CHECK(n >= k, RuntimeError, op, ": input.shape[-1] must be greater than or equal to tau.shape[-1]");
  STRIDED_CHECK(a.dtype() == tau.dtype(), RuntimeError, op, ": tau dtype ", tau.dtype(), " does not match input dtype ",
                a.dtype());
  check_same_device(op, a, tau);
  return k;
}

// Gradients of reflectors.
// Reflectors H = I - s v v^H are applied to C one after the other. The gradient G of what comes out goes back through
// them, with C as it was before each: s gets -(G^H v)^H (C^H v), v gets -conj(s) G C^H v - s C G^H v, and G becomes H^H
// G.
struct Reflectors {
  Tensor v, tau;  // columns with 1 on the diagonal and 0 above
  int64_t k;
  bool first_to_last, adjoint;

  Reflectors(const Tensor& a, const Tensor& scales, int64_t count, bool forward, bool adjoints)
      : v(tril(narrow(a, -1, 0, count), -1) + eye(a.size(a.ndim() - 2), count, a.dtype(), a.device())),
        tau(scales),
        k(count),
        first_to_last(forward),
        adjoint(adjoints) {}

  int64_t number(int64_t step) const { return first_to_last ? step : k - 1 - step; }
  Tensor column(int64_t i) const { return narrow(v, -1, i, 1); }
  Tensor scale(int64_t i) const {
    const Tensor s = unsqueeze(narrow(tau, -1, i, 1), -1);
    return adjoint ? conj(s) : s;
  }
  // The gradients of the matrix that holds the reflectors, of tau and of C.
  std::vector<Tensor> gradients(Tensor c, Tensor g, int64_t columns) const {
    std::vector<Tensor> before, gv(static_cast<size_t>(k)), gtau(static_cast<size_t>(k));
    for (int64_t step = 0; step < k; ++step) {
      const Tensor x = column(number(step));
      before.push_back(c);
      c = c - scale(number(step)) * matmul(x, matmul(adjoint_of(x), c));
    }
    for (int64_t step = k - 1; step >= 0; --step) {
      const int64_t i = number(step);
      const Tensor x = column(i), s = scale(i), &in = before[static_cast<size_t>(step)];
      const Tensor cx = matmul(adjoint_of(in), x), gx = matmul(adjoint_of(g), x);
      const Tensor gs = -matmul(adjoint_of(gx), cx);
      gtau[static_cast<size_t>(i)] = squeeze(adjoint ? conj(gs) : gs, Dims{-1});
      gv[static_cast<size_t>(i)] = -(conj(s) * matmul(g, cx) + s * matmul(in, gx));
      g = g - conj(s) * matmul(x, adjoint_of(gx));
    }
    if (k == 0) return {Tensor(), Tensor(), g};
    Tensor ga = tril(cat(gv, -1), -1);
    if (columns > k)
      ga = cat({ga, zeros(matrix_shape(ga, ga.size(ga.ndim() - 2), columns - k), ga.dtype(), ga.device())}, -1);
    return {ga, cat(gtau, -1), g};
  }
};

}  // namespace

Tensor householder_product(const Tensor& a, const Tensor& tau) {
  const char* op = "torch.linalg.householder_product";
  const int64_t k = check_reflectors(op, a, tau);
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
  Tensor q;
  {
    NoGradGuard guard;
    const Tensor packed = copy_by_columns(a), scales = contiguous(cast_to(tau, packed.dtype()));
    q = cast_to(q_of(op, packed, scales, k, n), a.dtype());
  }
  if (!needs_grad(a, tau)) return q;
  return record("LinalgHouseholderProductBackward0", q, {a, tau},
                [a = SavedTensor(a), tau = SavedTensor(tau), k, m, n](const Tensor& g) {
                  const Tensor A = a.get();
                  std::vector<Tensor> all =
                      Reflectors(A, tau.get(), k, false, false).gradients(identity_like(A, m, n), g, n);
                  all.pop_back();
                  return all;
                });
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
  const char* op = "torch.ormqr";
  check_matrices(op, a, "input ");
  check_matrices(op, other, "other ");
  const int64_t rows = a.size(a.ndim() - 2), k = tau.ndim() > 0 ? tau.size(tau.ndim() - 1) : 0;
  STRIDED_CHECK(other.size(other.ndim() - (left ? 2 : 1)) >= k, RuntimeError, op, ": other.shape[", left ? -2 : -1,
                "] must be greater than or equal to tau.shape[-1]");
  STRIDED_CHECK(other.size(other.ndim() - (left ? 2 : 1)) == rows, RuntimeError, op, ": other.shape[", left ? -2 : -1,
                "] must be equal to input.shape[-2]");
  STRIDED_CHECK(a.ndim() == other.ndim(), RuntimeError, op,
                ": Expected other to have the same number of dimensions as input");
  STRIDED_CHECK(batch_shape(a, 2) == batch_shape(other, 2), RuntimeError, op,
                ": Expected batch dimensions of other to be equal to input.shape[:-2], but got ",
                batch_shape(other, 2));
  STRIDED_CHECK(tau.ndim() == a.ndim() - 1 && batch_shape(tau, 1) == batch_shape(a, 2), RuntimeError, op,
                ": Expected batch dimensions of tau to be equal to input.shape[:-2]");
  STRIDED_CHECK(k <= a.size(a.ndim() - 1), RuntimeError, op,
                ": tau.shape[-1] must be less than or equal to input.shape[-1]");
  STRIDED_CHECK(a.dtype() == tau.dtype() && a.dtype() == other.dtype(), RuntimeError, op,
                ": Expected input, tau and other to have the same dtype");
  check_same_device(op, a, tau);
  check_same_device(op, a, other);
  // C Q is (Q^H C^H)^H.
  if (!left && needs_grad(a, tau, other)) return adjoint_of(ormqr(a, tau, adjoint_of(other), true, !transposed));
  Tensor result;
  {
    NoGradGuard guard;
    const Tensor packed = copy_by_columns(narrow(a, -1, 0, k)), scales = contiguous(cast_to(tau, packed.dtype())),
                 c = copy_by_columns(other);
    apply_q(op, packed, scales, k, c, left, transposed);
    result = cast_to(c, a.dtype());
  }
  if (!needs_grad(a, tau, other)) return result;
  return record(
      "OrmqrBackward0", result, {a, tau, other},
      [a = SavedTensor(a), tau = SavedTensor(tau), other = SavedTensor(other), k, transposed](const Tensor& g) {
        const Tensor A = a.get();
        return Reflectors(A, tau.get(), k, transposed, transposed).gradients(other.get(), g, A.size(A.ndim() - 1));
      });
}

}  // namespace strided
