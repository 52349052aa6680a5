// Eigenvalues and eigenvectors.
#include "ops/linalg/common.h"
#include "ops/linalg/decompositions.h"
#include "ops/linalg/matmul.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/join.h"

namespace strided {

using namespace linalg_detail;

namespace {

using Pair = std::pair<Tensor, Tensor>;  // values and vectors; no vectors where they are not wanted

Dims values_shape(const Tensor& a) { return batch_shape(a, 1); }

// Not recorded.
Pair hermitian_eigen(const Tensor& a, const std::string& uplo, bool vectors) {
  const char* op = "linalg.eigh";
  check_square(op, a);
  check_dtype(op, a);
  STRIDED_CHECK(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", RuntimeError,
                "Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  NoGradGuard guard;
  const Tensor v = copy_by_columns(a), w = empty(values_shape(a), real_of(v.dtype()), a.device()),
               info = empty(batch_shape(a, 2), DType::Int32, a.device());
  if (v.numel() > 0) {
    backend(a.device()).eigh(plan_of(op, v, info), w.data(), uplo == "U" || uplo == "u", vectors);
    check_info(op, LinalgFailure::Eigh, info, Check::Later);
  }
  return {cast_to(w, real_of(a.dtype())), vectors ? cast_to(v, a.dtype()) : Tensor()};
}

Pair general_eigen(const Tensor& a, bool vectors) {
  const char* op = "linalg.eig";
  check_square(op, a);
  check_dtype(op, a);
  NoGradGuard guard;
  STRIDED_CHECK(a.numel() == 0 || truth(all(elementwise<Isfinite>(a)), true), RuntimeError,
                "torch.linalg.eig: input tensor should not contain infs or NaNs.");
  const DType t = complex_of(compute_dtype_of(a.dtype()));
  const Tensor work = copy_by_columns(a), w = empty(values_shape(a), t, a.device()),
               info = empty(batch_shape(a, 2), DType::Int32, a.device());
  Tensor v;
  if (vectors) {
    const Tensor memory = empty(a.shape(), t, a.device());
    v = make_view(memory, strided::transpose(memory.layout(), -2, -1));
  }
  if (work.numel() > 0) {
    backend(a.device()).eig(plan_of(op, work, info), w.data(), vectors ? v.data() : nullptr);
    check_info(op, LinalgFailure::Eig, info, Check::Later);
  }
  return {w, v};
}

Tensor differences(const Tensor& w) {
  const int64_t n = w.size(w.ndim() - 1);
  return unsqueeze(w, -2) - unsqueeze(w, -1) + eye(n, n, w.dtype(), w.device());
}
Tensor with_diagonal(const Tensor& x, const Tensor& d) {
  const Tensor old = diagonal(x, 0, -2, -1);
  return x + diag_embed((d.defined() ? to_dtype(d, x.dtype()) : zeros_like(old)) - old, 0, -2, -1);
}

// Gradients of eigenvectors.
// With A = V diag(w) V^-1 and E_ij = w_j - w_i:  grad A = V^-H (diag(G_w) + X / conj(E)) V^H. For a Hermitian A, V^-H =
// V and X = V^H G_V; else the vectors' length is fixed too, which takes V^H V diag(Re diag(V^H G_V)) from X. The
// diagonal of X must have no imaginary part, since vectors may be turned by e^(i phi).
// (C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum
// beamforming", arXiv:1701.00392.)
Tensor hermitian_gradient(const Tensor& w, const Tensor& v, const Tensor& gw, const Tensor& gv) {
  const Tensor vh = adjoint_of(v);
  if (!gv.defined()) return matmul(v * unsqueeze(gw, -2), vh);
  const Tensor x = matmul(vh, gv);
  if (is_complex(v.dtype())) check_gauge("linalg_eigh_backward", "eigenvectors", imag(diagonal(x, 0, -2, -1)));
  const Tensor g = matmul(v, matmul(with_diagonal(x / differences(w), gw), vh));
  return (g + adjoint_of(g)) * 0.5;  // of A as a Hermitian matrix
}

Tensor general_gradient(const Tensor& w, const Tensor& v, const Tensor& gw, const Tensor& gv) {
  const Tensor vh = adjoint_of(v);
  if (!gv.defined()) return solve(vh, unsqueeze(gw, -1) * vh, true);
  Tensor x = matmul(vh, gv);
  const Tensor along = diagonal(x, 0, -2, -1);
  check_gauge("linalg_eig_backward", "eigenvectors", imag(along));
  x = x - matmul(vh, v * unsqueeze(real(along), -2));
  return solve(vh, matmul(with_diagonal(x / conj(differences(w)), gw), vh), true);
}

}  // namespace

std::tuple<Tensor, Tensor> eigh(const Tensor& a, const std::string& uplo) {
  const auto [w, v] = hermitian_eigen(a, uplo, true);
  record_all("LinalgEighBackward0", {w, v}, {a},
             NamedFormula{std::tuple{SavedTensor::output(w, 0), SavedTensor::output(v, 1)},
                          [](const std::vector<Tensor>& g, const SavedTensor& w, const SavedTensor& v) {
                            return std::vector<Tensor>{hermitian_gradient(w.get(), v.get(), g[0], g[1])};
                          },
                          "eigenvalues eigenvectors"});
  return {w, v};
}
Tensor eigvalsh(const Tensor& a, const std::string& uplo) {
  return needs_grad(a) ? std::get<0>(eigh(a, uplo)) : hermitian_eigen(a, uplo, false).first;
}

std::tuple<Tensor, Tensor> eig(const Tensor& a) {
  const auto [w, v] = general_eigen(a, true);
  record_all(
      "LinalgEigBackward0", {w, v}, {a},
      [w = SavedTensor::output(w, 0), v = SavedTensor::output(v, 1), t = a.dtype()](const std::vector<Tensor>& g) {
        const Tensor ga = general_gradient(w.get(), v.get(), g[0], g[1]);
        return std::vector<Tensor>{is_complex(t) ? ga : to_dtype(real(ga), t)};
      });
  return {w, v};
}
Tensor eigvals(const Tensor& a) { return needs_grad(a) ? std::get<0>(eig(a)) : general_eigen(a, false).first; }

}  // namespace strided
