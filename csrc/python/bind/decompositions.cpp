// Decompositions of matrices, and what is made of them.
#include "ops/linalg/decompositions.h"
#include "ops/linalg/linalg.h"
#include "ops/operators.h"
#include "ops/shape/view.h"
#include "python/bind/bind.h"
#include "python/bind/warned.h"

namespace strided::python {
namespace {

// The old functions, with V for Vh and flags for modes.
std::tuple<Tensor, Tensor, Tensor> svd_some(const Tensor& a, bool some, bool compute_uv) {
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError, "linalg.svd: input should have at least 2 dimensions, but has ", a.ndim(),
                " dimensions instead");
  if (compute_uv) {
    const auto [u, s, vh] = svd(a, !some);
    return {u, s, conj(transpose(vh, -2, -1))};
  }
  const int64_t m = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1);
  auto zeros_of = [&](int64_t size) {
    Dims shape(a.shape().data(), a.shape().size() - 2);
    shape.push_back(size);
    shape.push_back(size);
    return zeros(shape, a.dtype(), a.device());
  };
  return {zeros_of(m), svdvals(a), zeros_of(n)};
}
std::tuple<Tensor, Tensor, Tensor> svd_of(const Tensor& a, bool full, std::optional<std::string> driver) {
  return svd(a, full, driver);
}
Tensor svdvals_of(const Tensor& a, std::optional<std::string> driver) { return svdvals(a, driver); }
constexpr char kQrSome[] =
    "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch release.\nThe boolean "
    "parameter 'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced "
    "with\nQ, R = torch.linalg.qr(A, 'reduced' if some else 'complete')";
std::tuple<Tensor, Tensor> qr_some(const Tensor& a, bool some) { return qr(a, some ? "reduced" : "complete"); }

Tensor tolerance_of(const Tensor& a, const std::optional<Operand>& t) {
  if (!t) return {};
  return t->tensor
             ? *t->tensor
             : scalar_tensor(t->scalar,
                             is_floating(a.dtype()) || is_complex(a.dtype()) ? real_of(a.dtype()) : DType::Float32,
                             a.device());
}
Tensor pinv_of(const Tensor& a, std::optional<Operand> atol, std::optional<Operand> rtol, bool hermitian) {
  return pinv(a, {tolerance_of(a, atol), tolerance_of(a, rtol)}, hermitian);
}
Tensor pinv_rcond(const Tensor& a, Operand rcond, bool hermitian) {
  return pinv(a, {{}, tolerance_of(a, rcond)}, hermitian);
}
Tensor pinverse(const Tensor& a, double rcond) { return pinv_rcond(a, rcond, false); }
Tensor rank_of(const Tensor& a, std::optional<Operand> atol, std::optional<Operand> rtol, bool hermitian) {
  return matrix_rank(a, {tolerance_of(a, atol), tolerance_of(a, rtol)}, hermitian);
}
// An absolute tolerance, as NumPy's.
Tensor rank_tol(const Tensor& a, Operand tol, bool hermitian) {
  return matrix_rank(a, {tolerance_of(a, tol), tolerance_of(a, Operand(0.0))}, hermitian);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq_of(const Tensor& a, const Tensor& b, std::optional<double> rcond,
                                                    std::optional<std::string> driver) {
  const LeastSquares x = lstsq(a, b, rcond, driver);
  return {x.solution, x.residuals, x.rank, x.singular_values};
}
std::tuple<Tensor, Tensor, Tensor> ldl_ex(const Tensor& a, bool hermitian, bool check_errors) {
  const LdlFactors f = ldl_factor_ex(a, hermitian, check_errors);
  return {f.ld, f.pivots, f.info};
}
Tensor cond_number(const Tensor& a, std::optional<double> p) { return cond(a, p); }
Tensor cond_name(const Tensor& a, const std::string& p) { return cond(a, p); }

constexpr const char* kQr =
    "A = Q R with orthonormal columns of Q and upper triangular R, by Householder reflectors (LAPACK's geqrf, a kernel of our own up to 32 x 32; cuSOLVER's on a CUDA device).\n\n"
    "A is (*, m, n), floating or complex. mode 'reduced': Q (*, m, k), R (*, k, n) with k = min(m, n); 'complete': Q (*, m, m), R (*, m, n); 'r': R alone, Q empty.\n"
    "Gradients: for 'reduced', and for 'complete' when m <= n, of matrices whose first k columns are independent. The signs of R's diagonal are LAPACK's.\n\n"
    ">>> A = strided.tensor([[3., 1.], [4., 2.]])\n>>> Q, R = strided.linalg.qr(A)\n>>> strided.allclose(Q @ R, A)\nTrue";
constexpr const char* kSvd =
    "A = U diag(S) Vh: orthonormal U and V, S real and descending, by divide and conquer (LAPACK's gesdd; rotations up to 32 x 32; cuSOLVER's gesvdj or gesvd on a CUDA device).\n\n"
    "A is (*, m, n), floating or complex. full_matrices: U (*, m, m), Vh (*, n, n); else U (*, m, k), Vh (*, k, n), k = min(m, n). driver: 'gesvd', 'gesvdj' or\n"
    "'gesvda', on CUDA only. LinAlgError where the values are not finite. Gradients through U and Vh need distinct singular values; svdvals has none of that.\n\n"
    ">>> strided.linalg.svd(strided.tensor([[3., 0.], [0., 4.]])).S\ntensor([4., 3.])";
constexpr const char* kEigh =
    "Eigenvalues (real, ascending) and orthonormal eigenvectors (columns) of symmetric or Hermitian matrices A (*, n, n), of which only the triangle UPLO is read\n"
    "(LAPACK's syevd and heevd, a kernel of our own up to 32 x 32, cuSOLVER's on a CUDA device). LinAlgError when it does not converge. Gradients through vectors need distinct eigenvalues.\n\n"
    ">>> strided.linalg.eigh(strided.tensor([[2., 1.], [1., 2.]])).eigenvalues\ntensor([1., 3.])";
constexpr const char* kEig =
    "Eigenvalues and eigenvectors (columns of length 1) of square matrices A (*, n, n); complex for real A too (LAPACK's geev, cuSOLVER's Xgeev on a CUDA device).\n"
    "RuntimeError for inf or NaN. Gradients need distinct eigenvalues.\n\n"
    ">>> strided.linalg.eigvals(strided.tensor([[0., -2.], [2., 0.]])).imag.abs().round(decimals=4)\ntensor([2., 2.])";
constexpr const char* kPinv =
    "Moore and Penrose's inverse of A (*, m, n), by the SVD, or eigenvalues for hermitian=True. Singular values up to max(atol, rtol * the largest) count as zero;\n"
    "rtol is by default max(m, n) eps, or 0 where atol is given. Tolerances are numbers, or tensors of the batch's shape.\n\n"
    ">>> strided.linalg.pinv(strided.tensor([[2., 0.], [0., 0.]]))\ntensor([[0.5000, 0.0000],\n        [0.0000, 0.0000]])";
constexpr const char* kRank =
    "The number (int64) of singular values, or absolute eigenvalues for hermitian=True, above max(atol, rtol * the largest). Tolerances as for pinv.\n\n"
    ">>> strided.linalg.matrix_rank(strided.ones(3, 3))\ntensor(1)";
constexpr const char* kLstsq =
    "The X that makes |A X - B| least for A (*, m, n) and B (*, m, k), or vectors (*, m).\n\n"
    "Results: solution (*, n, k); residuals, the squared length of each column of A X - B where m > n and A has full rank (else empty; never for 'gelsy'); rank (int64)\n"
    "and singular_values, empty for the drivers that have none. driver: 'gelsy' (default, QR with pivots), 'gels' (full rank only), 'gelsd' or 'gelss' (SVD), LAPACK's\n"
    "names; on CUDA 'gels' alone. rcond: what counts as zero, relative to the largest; max(m, n) eps if None. Gradients are those for full rank.\n\n"
    ">>> A = strided.tensor([[1., 1.], [1., 2.], [1., 3.]])\n>>> strided.allclose(strided.linalg.lstsq(A, strided.tensor([[1.], [2.], [3.]])).solution, strided.tensor([[0.], [1.]]), atol=1e-6)\nTrue";
constexpr const char* kExp =
    "The exponential I + A + A^2/2 + ... of square matrices (*, n, n): Taylor polynomials with scaling and squaring (P. Bader, S. Blanes, F. Casas, Mathematics 7, 2019).\n\n"
    ">>> strided.linalg.matrix_exp(strided.zeros(2, 2))\ntensor([[1., 0.],\n        [0., 1.]])";
constexpr const char* kReflectors =
    "The first n columns of H_1 H_2 ... H_k, H_i = I - tau_i v_i v_i^H, where v_i is column i of the input (*, m, n) below the diagonal, with 1 on it: Q from geqrf's results.\n"
    "tau is (*, k), k <= n <= m.\n\n"
    ">>> A = strided.tensor([[3.], [4.]])\n>>> a, tau = strided.geqrf(A)\n>>> strided.linalg.householder_product(a, tau).abs()\ntensor([[0.6000],\n        [0.8000]])";

}  // namespace

void bind_decompositions() {
  def<&qr>("linalg.qr(Tensor A, str mode='reduced', *, Tensor[]? out=None) -> (Q, R)", kQr, kFunction);
  def<&Warned<&qr_some, kQrSome>::call>("qr(Tensor input, bool some=True, *, Tensor[]? out=None) -> (Q, R)",
                                        "linalg.qr with mode 'reduced' (some) or 'complete'.");
  def<&geqrf>("geqrf(Tensor input, *, Tensor[]? out=None) -> (a, tau)",
              "LAPACK's packed QR: R on and above the diagonal of a, reflectors below, their scales in tau.");
  def<&householder_product>("linalg.householder_product(Tensor input, Tensor tau, *, Tensor? out=None)", kReflectors,
                            kFunction);
  def<&householder_product>("orgqr(Tensor input, Tensor input2, *, Tensor? out=None)",
                            "The same as linalg.householder_product.");
  def<&ormqr>(
      "ormqr(Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor? out=None)",
      "Q input3 (left) or input3 Q, with Q^H for Q if transpose; Q is the product of the reflectors that geqrf gave: input, and\n"
      "their scales input2.");

  def<&svd_of>("linalg.svd(Tensor A, bool full_matrices=True, *, str? driver=None, Tensor[]? out=None) -> (U, S, Vh)",
               kSvd, kFunction);
  def<&svdvals_of>("linalg.svdvals(Tensor A, *, str? driver=None, Tensor? out=None)",
                   "The singular values of A (*, m, n), real and descending (see linalg.svd).", kFunction);
  def<&svd_some>("svd(Tensor input, bool some=True, bool compute_uv=True, *, Tensor[]? out=None) -> (U, S, V)",
                 "linalg.svd with V in place of Vh; some=False: full matrices; compute_uv=False: zeros for U and V.");

  def<&eigh>("linalg.eigh(Tensor input, str UPLO='L', *, Tensor[]? out=None) -> (eigenvalues, eigenvectors)", kEigh,
             kFunction);
  def<&eigvalsh>("linalg.eigvalsh(Tensor input, str UPLO='L', *, Tensor? out=None)",
                 "The eigenvalues of symmetric or Hermitian matrices (see linalg.eigh).", kFunction);
  def<&eig>("linalg.eig(Tensor input, *, Tensor[]? out=None) -> (eigenvalues, eigenvectors)", kEig, kFunction);
  def<&eigvals>("linalg.eigvals(Tensor input, *, Tensor? out=None)",
                "The eigenvalues of square matrices, complex (see linalg.eig).", kFunction);

  register_overload(
      "linalg.pinv(Tensor input, *, TensorOrNumber? atol=None, TensorOrNumber? rtol=None, bool hermitian=False, Tensor? out=None)",
      kPinv, kFunction, detail::describe<&pinv_of>());
  register_overload("linalg.pinv(Tensor input, TensorOrNumber rcond, bool hermitian=False, *, Tensor? out=None)", kPinv,
                    kFunction, detail::describe<&pinv_rcond>());
  def<&pinverse>("pinverse(Tensor input, float rcond=1e-15)",
                 "linalg.pinv with rcond relative to the largest singular value.");
  register_overload(
      "linalg.matrix_rank(Tensor input, *, TensorOrNumber? atol=None, TensorOrNumber? rtol=None, bool hermitian=False, Tensor? out=None)",
      kRank, kFunction, detail::describe<&rank_of>());
  register_overload("linalg.matrix_rank(Tensor input, TensorOrNumber tol, bool hermitian=False, *, Tensor? out=None)",
                    kRank, kFunction, detail::describe<&rank_tol>());
  constexpr const char* condition =
      "The condition number |A| |A^-1|, inf for singular A. p: None or 2 (largest by smallest singular value), -2, 'fro', 'nuc', 1, -1, inf, -inf.";
  def<&cond_number>("linalg.cond(Tensor input, float? p=None, *, Tensor? out=None)", condition, kFunction);
  def<&cond_name>("linalg.cond(Tensor input, str p, *, Tensor? out=None)", condition, kFunction);

  def<&lstsq_of>(
      "linalg.lstsq(Tensor input, Tensor b, float? rcond=None, *, str? driver=None, Tensor[]? out=None) -> (solution, residuals, rank, singular_values)",
      kLstsq, kFunction);
  def<&ldl_factor>(
      "linalg.ldl_factor(Tensor input, *, bool hermitian=False, Tensor[]? out=None) -> (LD, pivots)",
      "A = L D L^T (L^H if hermitian) of symmetric matrices, D with blocks of 1 and 2, from the lower triangle, packed as LAPACK's sytrf does.",
      kFunction);
  def<&ldl_ex>(
      "linalg.ldl_factor_ex(Tensor input, *, bool hermitian=False, bool check_errors=False, Tensor[]? out=None) -> (LD, pivots, info)",
      "As ldl_factor, without the check.", kFunction);
  def<&ldl_solve>("linalg.ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor? out=None)",
                  "Solves A X = B from what ldl_factor gave.", kFunction);
  def<&matrix_exp>("matrix_exp(Tensor input)", kExp);
  def<&matrix_exp>("linalg.matrix_exp(Tensor input)", kExp, kFunction);
}

}  // namespace strided::python
