// Matrix products and linear algebra.

#include "core/promotion.h"
#include "ops/linalg/attention.h"
#include "ops/linalg/convolution.h"
#include "ops/linalg/linalg.h"
#include "ops/linalg/lstm.h"
#include "ops/linalg/matmul.h"
#include "ops/operators.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "python/bind/bind.h"
#include "python/bind/warned.h"
#include "python/owned.h"

namespace strided::python {
namespace {

// The in-place form of an op that has none of its own: its result is copied into self.
template <auto F>
Tensor into_self(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const Tensor result = F(self, a, b, beta, alpha);
  STRIDED_CHECK(can_cast(result.dtype(), self.dtype()), RuntimeError, "result type ", result.dtype(),
                " can't be cast to the desired output type ", self.dtype());
  return copy_(self, result);
}

template <auto F, auto InPlace>
void bind_scaled(const std::string& name, const std::string& a, const std::string& b, const std::string& doc,
                 unsigned where = kBoth) {
  const std::string operands = "Tensor " + a + ", Tensor " + b + ", *, Number beta=1, Number alpha=1";
  def<F>((name + "(Tensor input, " + operands + ", Tensor? out=None)").c_str(), doc.c_str(), where);
  def<InPlace>((name + "_(Tensor self, " + operands + ")").c_str(), ("In-place form of " + name + ".").c_str(),
               kMethod);
}

// The same with products in another dtype. A function only, as in PyTorch.
template <auto F>
void bind_scaled_as(const std::string& name, const std::string& a, const std::string& b) {
  def<F>((name + "(Tensor input, Tensor " + a + ", Tensor " + b +
          ", dtype out_dtype, *, Number beta=1, Number alpha=1, Tensor? out=None)")
             .c_str(),
         "out_dtype: strided.float32 gives sums of 16-bit floats without rounding.", kFunction);
}

template <int axes>
void bind_convolution() {
  const std::string n =
      std::to_string(axes) + "d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, ";
  def<&convolution<axes>>(("_conv" + n + "int[] dilation=1, int groups=1)").c_str(),
                          "nn.functional.conv1d to conv3d, with numbers for padding.", kFunction);
  def<&transposed_convolution<axes>>(
      ("_conv_transpose" + n + "int[] output_padding=0, int groups=1, int[] dilation=1)").c_str(),
      "nn.functional.conv_transpose1d to conv_transpose3d.", kFunction);
}

Tensor tensordot_count(const Tensor& a, const Tensor& b, int64_t dims) {
  STRIDED_CHECK(dims >= 0, RuntimeError, "tensordot expects dims >= 0, but got dims=", dims);
  STRIDED_CHECK(dims <= a.ndim() && dims <= b.ndim(), RuntimeError,
                "tensordot expects dims < ndim_a or ndim_b, but got dims=", dims);
  Dims da, db;
  for (int64_t i = 0; i < dims; ++i) {
    da.push_back(i - dims);
    db.push_back(i);
  }
  return tensordot(a, b, da, db);
}
Tensor tensordot_lists(const Tensor& a, const Tensor& b, PyObject* dims) {
  const Owned listed(is_tensor(dims) ? PyObject_CallMethod(dims, "tolist", nullptr) : Py_NewRef(dims));
  dims = listed.o;
  STRIDED_CHECK((PyTuple_Check(dims) || PyList_Check(dims)) && PySequence_Size(dims) == 2, RuntimeError,
                "tensordot expects dims to be int or tuple of two lists of ints");
  Dims list[2];
  for (int i = 0; i < 2; ++i) {
    PyObject* part = checked(PySequence_GetItem(dims, i));
    const bool ok = detail::accepts_dims(part);
    if (ok) list[i] = detail::to_dims(part);
    Py_DECREF(part);
    STRIDED_CHECK(ok, TypeError, "tensordot(): dims must hold ints");
  }
  return tensordot(a, b, list[0], list[1]);
}

// einsum("ij,jk->ik", a, b), einsum("...", [a, b]) or einsum(a, [0, 1], b, [1, 2], [0, 2]).
Tensor einsum_any(PyObject* args) {
  std::vector<Tensor> operands;
  std::string equation;
  STRIDED_CHECK(PyTuple_Check(args), TypeError, "einsum(): the arguments must come in a tuple");
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  STRIDED_CHECK(
      n >= 2, ValueError,
      "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list");
  if (PyUnicode_Check(PyTuple_GET_ITEM(args, 0))) {
    equation = detail::to_string(PyTuple_GET_ITEM(args, 0));
    if (n == 2 && detail::accepts_tensors(PyTuple_GET_ITEM(args, 1)))
      return einsum(equation, detail::to_tensors(PyTuple_GET_ITEM(args, 1)));
    for (Py_ssize_t i = 1; i < n; ++i) {
      STRIDED_CHECK(is_tensor(PyTuple_GET_ITEM(args, i)), TypeError, "einsum(): operand ", i - 1, " must be a Tensor");
      operands.push_back(unwrap(PyTuple_GET_ITEM(args, i)));
    }
    return einsum(equation, operands);
  }
  auto term = [](PyObject* list) {
    STRIDED_CHECK(PyList_Check(list) || PyTuple_Check(list), TypeError,
                  "einsum(): subscripts must be a list of ints between 0 and 51, or Ellipsis");
    std::string text;
    for (Py_ssize_t i = 0; i < PySequence_Size(list); ++i) {
      PyObject* o = checked(PySequence_GetItem(list, i));
      const bool dots = o == Py_Ellipsis, integer = is_integer_like(o);
      const int64_t label = integer ? to_int(o) : 0;
      Py_DECREF(o);
      STRIDED_CHECK(dots || (integer && label >= 0 && label < 52), ValueError,
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)");
      text +=
          dots ? std::string("...") : std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
    }
    return text;
  };
  for (Py_ssize_t i = 0; i + 1 < n; i += 2) {
    STRIDED_CHECK(is_tensor(PyTuple_GET_ITEM(args, i)), TypeError, "einsum(): operand ", i / 2, " must be a Tensor");
    operands.push_back(unwrap(PyTuple_GET_ITEM(args, i)));
    equation += (i ? "," : "") + term(PyTuple_GET_ITEM(args, i + 1));
  }
  if (n % 2) equation += "->" + term(PyTuple_GET_ITEM(args, n - 1));
  return einsum(equation, operands);
}

Tensor multi_dot_list(const std::vector<Tensor>& tensors) { return multi_dot(tensors); }
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim) {
  STRIDED_CHECK(a.ndim() == b.ndim(), RuntimeError, "linalg.cross: inputs must have the same number of dimensions.");
  if (a.ndim() > 0 && dim >= -a.ndim() && dim < a.ndim()) {
    const int axis = static_cast<int>(dim < 0 ? dim + a.ndim() : dim);
    STRIDED_CHECK(a.size(axis) == 3 && b.size(axis) == 3, RuntimeError, "linalg.cross: inputs dimension ", dim,
                  " must have length 3. Got ", a.size(axis), " and ", b.size(axis));
  }
  return cross(a, b, dim);
}
Tensor chain_matmul(const std::vector<Tensor>& matrices) {
  STRIDED_CHECK(!matrices.empty(), RuntimeError, "chain_matmul(): Expected one or more matrices");
  for (size_t i = 0; i < matrices.size(); ++i)
    STRIDED_CHECK(matrices[i].ndim() == 2, RuntimeError, "Tensor dimension is ", matrices[i].ndim(),
                  ", expected 2 instead.");
  return matrices.size() == 1 ? matrices[0] : multi_dot(matrices);
}
void check_pivot(bool pivot) {
  STRIDED_CHECK(pivot, RuntimeError, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}
std::tuple<Tensor, Tensor, Tensor> factor_ex(const Tensor& a, bool pivot, bool check) {
  check_pivot(pivot);
  const Factors f = lu_factor_ex(a, check);
  return {f.lu, f.pivots, f.info};
}
std::tuple<Tensor, Tensor> factor(const Tensor& a, bool pivot) {
  check_pivot(pivot);
  return lu_factor(a);
}
std::tuple<Tensor, Tensor, Tensor> lu_pivot(const Tensor& a, bool pivot) {
  check_pivot(pivot);
  return lu(a);
}
Tensor cross_of(const Tensor& a, const Tensor& b, std::optional<int64_t> dim) {
  if (!dim)
    warn_once(
        "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
        "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
        "future release.");
  return cross(a, b, dim);
}

constexpr char kChain[] =
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
    "instead, which accepts a list of two or more tensors rather than multiple parameters.";
constexpr char kLu[] =
    "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
    "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
    "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
    "should be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)";
constexpr char kLuSolve[] =
    "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
    "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be "
    "replaced with\nX = torch.linalg.lu_solve(LU, pivots, B)";
constexpr char kTriangular[] =
    "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed in a future "
    "PyTorch release.\ntorch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of "
    "the inputs.\nX = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = "
    "torch.linalg.solve_triangular(A, B).";
constexpr char kCholesky[] =
    "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch release.\n"
    "L = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, "
    "upper=True)\nshould be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent "
    "results for all valid (symmetric positive definite) inputs.";

std::vector<Tensor> lu_packed(const Tensor& a, bool pivot, bool get_infos) {
  check_pivot(pivot);
  const Factors f = lu_factor_ex(a, false);
  return get_infos ? std::vector<Tensor>{f.lu, f.pivots, f.info} : std::vector<Tensor>{f.lu, f.pivots};
}
// The parts that are not wanted are empty tensors.
std::tuple<Tensor, Tensor, Tensor> unpack(const Tensor& lu, const Tensor& pivots, bool data, bool permutation) {
  const auto [p, l, u] = lu_unpack(lu, pivots);
  const Tensor none = empty(Dims{0}, lu.dtype(), lu.device());
  return {permutation ? p : none, data ? l : none, data ? u : none};
}
Tensor lu_solve_of(const Tensor& b, const Tensor& lu, const Tensor& pivots) {
  return lu_solve(lu, pivots, b, true, false);
}
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper, bool transposed,
                                            bool unitriangular) {
  STRIDED_CHECK(b.ndim() >= 2, RuntimeError,
                "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has ", b.ndim(),
                " dimensions instead");
  STRIDED_CHECK(a.ndim() >= 2, RuntimeError,
                "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has ", a.ndim(),
                " dimensions instead");
  STRIDED_CHECK(a.dtype() == b.dtype(), RuntimeError, "Expected b and A to have the same dtype, but found b of type ",
                cpp_name_of(b.dtype()), " and A of type ", cpp_name_of(a.dtype()), " instead.");
  const int64_t rows = a.size(a.ndim() - 2), n = a.size(a.ndim() - 1), b_rows = b.size(b.ndim() - 2),
                columns = b.size(b.ndim() - 1);
  STRIDED_CHECK(rows == n, RuntimeError, "A must be batches of square matrices, but they are ", rows, " by ", n,
                " matrices");
  STRIDED_CHECK(b_rows == n, RuntimeError, "Incompatible matrix sizes for triangular_solve: each A matrix is ", n,
                " by ", n, " but each b matrix is ", b_rows, " by ", columns);
  Dims shape =
      broadcast_shapes(Dims(a.shape().data(), a.shape().size() - 2), Dims(b.shape().data(), b.shape().size() - 2));
  shape.push_back(n);
  shape.push_back(n);
  const Tensor coefficient = clone(expand(a, shape));
  return {transposed ? solve_triangular(transpose(coefficient, -2, -1), b, !upper, true, unitriangular)
                     : solve_triangular(coefficient, b, upper, true, unitriangular),
          coefficient};
}
Tensor traces(const Tensor& x) {
  STRIDED_CHECK(x.ndim() >= 2, RuntimeError, "linalg.trace: The input tensor must have at least 2 dimensions.");
  return sum(diagonal(x, 0, -2, -1), Dims{-1}, false, {});
}
Tensor logdet(const Tensor& a) {
  const auto [sign, logabs] = slogdet(a);
  return elementwise<Log>(sign) + logabs;
}
double real_order(const char* name, const Scalar& p) {
  STRIDED_CHECK(!p.is_complex(), RuntimeError, name, ": Expected a non-complex scalar as the order of norm.");
  return p.real();
}
Tensor matrix_norm_number(const Tensor& a, const Scalar& p, const Dims& dim, bool keepdim, std::optional<DType> dtype) {
  return matrix_norm(a, real_order("linalg.matrix_norm", p), dim, keepdim, dtype);
}
Tensor matrix_norm_name(const Tensor& a, const std::string& p, const Dims& dim, bool keepdim,
                        std::optional<DType> dtype) {
  return matrix_norm(a, p, dim, keepdim, dtype);
}
Tensor norm_name(const Tensor& a, const std::string& p, std::optional<Dims> dim, bool keepdim,
                 std::optional<DType> dtype) {
  return matrix_norm(a, p, dim ? *dim : Dims{-2, -1}, keepdim, dtype);
}
Tensor norm_number(const Tensor& a, const std::optional<Scalar>& p, const std::optional<Dims>& dim, bool keepdim,
                   std::optional<DType> dtype) {
  if (p) real_order("linalg.vector_norm", *p);
  return linalg_norm(a, p, dim, keepdim, dtype);
}
Tensor vector_norm_any(const Tensor& x, const Scalar& p, std::optional<Dims> dim, bool keepdim,
                       std::optional<DType> dtype) {
  return vector_norm(x, p, dim.value_or(Dims()), keepdim, dtype);
}
Tensor linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(a, offset, dim1, dim2);
}
// b has as many leading axes as a; the rest of a's are those of the solution.
Tensor tensorsolve(const Tensor& a, const Tensor& b, std::optional<Dims> dims) {
  Tensor x = a;
  if (dims) {
    Dims last;
    for (size_t i = 0; i < dims->size(); ++i)
      last.push_back(a.ndim() - static_cast<int64_t>(dims->size()) + static_cast<int64_t>(i));
    x = movedim(a, *dims, last);
  }
  STRIDED_CHECK(x.ndim() >= b.ndim(), RuntimeError,
                "linalg.tensorsolve: A must have at least as many dimensions as B, got ", x.ndim(), " and ", b.ndim());
  Dims shape(x.shape().data() + b.ndim(), static_cast<size_t>(x.ndim() - b.ndim()));
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  STRIDED_CHECK(
      n == b.numel(), RuntimeError,
      "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ",
      n, " != ", b.numel());
  return reshape(solve(reshape(x, Dims{n, n}), reshape(b, Dims{n}), true), shape);
}
Tensor tensorinv(const Tensor& a, int64_t ind) {
  STRIDED_CHECK(ind > 0, RuntimeError, "Expected a strictly positive integer for 'ind', but got ", ind);
  STRIDED_CHECK(ind <= a.ndim(), RuntimeError, "linalg.tensorinv: ind=", ind, " is more than the ", a.ndim(),
                " dimensions of A");
  Dims first(a.shape().data(), static_cast<size_t>(ind)),
      rest(a.shape().data() + ind, a.shape().size() - static_cast<size_t>(ind));
  int64_t n = 1, m = 1;
  for (int64_t s : first) n *= s;
  for (int64_t s : rest) m *= s;
  STRIDED_CHECK(n == m, RuntimeError,
                "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
                m, " != ", n);
  Dims shape = rest;
  for (int64_t s : first) shape.push_back(s);
  return reshape(inv(reshape(a, Dims{n, n})), shape);
}

}  // namespace

void bind_matrices() {
  constexpr const char* product =
      "Matrix product by the number of dimensions: vectors give their dot product; a vector on the left is a row, on the right a column, and that\n"
      "dimension is dropped again; more than two dimensions are batches, which broadcast. All dtypes; for bool, products are `and`, sums are `or`.\n\n"
      ">>> strided.matmul(strided.tensor([1, 2]), strided.tensor([3, 4]))\ntensor(11)";
  def<&matmul>("matmul(Tensor input, Tensor other, *, Tensor? out=None)", product);
  def<&matmul>("linalg.matmul(Tensor input, Tensor other, *, Tensor? out=None)", product, kFunction);
  def<&mm>("mm(Tensor input, Tensor mat2, *, Tensor? out=None)",
           "Product of two matrices; RuntimeError for other numbers of dimensions.");
  def<&bmm>("bmm(Tensor input, Tensor mat2, *, Tensor? out=None)",
            "Products of two batches of matrices, (b, n, k) and (b, k, m).");
  constexpr const char* wider = "out_dtype: strided.float32 gives products of 16-bit floats without rounding.";
  def<&mm_as>("mm(Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None)", wider, kFunction);
  def<&bmm_as>("bmm(Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None)", wider, kFunction);
  def<&int_mm>("_int_mm(Tensor input, Tensor mat2, *, Tensor? out=None)",
               "The product of two matrices of int8, in int32.", kFunction);
  def<&mv>("mv(Tensor input, Tensor vec, *, Tensor? out=None)", "Product of a matrix and a vector.");
  def<&dot>("dot(Tensor input, Tensor tensor, *, Tensor? out=None)",
            "Sum of the products of the elements of two vectors of equal length.");
  def<&vdot>("vdot(Tensor input, Tensor other, *, Tensor? out=None)", "dot with the first vector conjugated.");
  def<&inner>("inner(Tensor input, Tensor other, *, Tensor? out=None)",
              "Sums of products over the last dimension of both; a plain product for 0-d operands.");
  def<&outer>("outer(Tensor input, Tensor vec2, *, Tensor? out=None)",
              "All products of an element of one vector with one of the other: (n,), (m,) -> (n, m).");
  def<&outer>("ger(Tensor input, Tensor vec2, *, Tensor? out=None)", "The same as outer.");
  def<&outer>("linalg.outer(Tensor x, Tensor y)", "The same as strided.outer (NumPy's name).", kFunction);
  def<&vecdot>("linalg.vecdot(Tensor x, Tensor y, *, int dim=-1, Tensor? out=None)",
               "sum(conj(x) * y, dim), with broadcasting.", kFunction);

  bind_scaled<&addmm, &addmm_>("addmm", "mat1", "mat2",
                               "beta * input + alpha * (mat1 @ mat2); beta=0 ignores input, NaN included.");
  bind_scaled_as<&addmm_as>("addmm", "mat1", "mat2");
  bind_scaled<&addmv, &into_self<&addmv>>("addmv", "mat", "vec", "beta * input + alpha * (mat @ vec).");
  bind_scaled<&addr, &into_self<&addr>>("addr", "vec1", "vec2", "beta * input + alpha * outer(vec1, vec2).");
  bind_scaled<&addbmm, &into_self<&addbmm>>("addbmm", "batch1", "batch2",
                                            "beta * input + alpha * (the sum over the batch of batch1 @ batch2).",
                                            kBoth | kResizesOut);
  bind_scaled<&baddbmm, &baddbmm_>("baddbmm", "batch1", "batch2", "beta * input + alpha * (batch1 @ batch2).");

  bind_scaled_as<&baddbmm_as>("baddbmm", "batch1", "batch2");

  constexpr const char* contraction =
      "Sums products over pairs of dimensions: the last `dims` of a with the first `dims` of b, or two lists of dimensions.\n\n"
      ">>> strided.tensordot(strided.ones(2, 3), strided.ones(3, 4), 1).shape\ntorch.Size([2, 4])";
  for (const char* prefix : {"", "linalg."}) {
    def<&tensordot_count>(
        (std::string(prefix) + "tensordot(Tensor a, Tensor b, int dims=2, *, Tensor? out=None)").c_str(), contraction,
        kFunction);
    def<&tensordot_lists>(
        (std::string(prefix) + "tensordot(Tensor a, Tensor b, int[][] dims, *, Tensor? out=None)").c_str(), contraction,
        kFunction);
  }
  def<&einsum_any>("_einsum(Any args)", "einsum with its arguments in a tuple.", kFunction);
  def<&matmul_folded>(
      "_matmul_folded(Tensor a, Tensor b, int rows, Tensor? into=None)",
      "a times b, whose first `rows` axes behind the batch are the matrix' rows and whose others are its columns.",
      kFunction);
  def<&attention>(
      "_attention(Tensor query, Tensor key, Tensor value, Tensor? mask=None, bool causal=False, float scale=1)",
      "nn.functional.scaled_dot_product_attention, with a mask to be added (of 16-bit floats: in float32). Not recorded.",
      kFunction);
  bind_convolution<1>();
  bind_convolution<2>();
  bind_convolution<3>();
  def<&kron>("kron(Tensor input, Tensor other, *, Tensor? out=None)", "Kronecker product.");
  def<&trace>("trace(Tensor input)", "Sum of the diagonal of a matrix.");
  def<&vander>(
      "vander(Tensor x, int? N=None, bool increasing=False)",
      "The Vandermonde matrix of a vector: its powers as columns, N of them (as many as elements if None), the highest first.\n\n"
      ">>> strided.vander(strided.tensor([1, 2, 3]), 3)\ntensor([[1, 1, 1],\n        [4, 2, 1],\n        [9, 3, 1]])",
      kFunction);
  def<&vandermonde>(
      "linalg.vander(Tensor x, *, int? N=None)",
      "Vandermonde matrices (*, n, N) of vectors (*, n): powers 0 to N - 1 along the last dimension; N must be above 1.",
      kFunction);
  def<&cross_of>("cross(Tensor input, Tensor other, int? dim=None, *, Tensor? out=None)",
                 "Cross products along a dimension of size 3 (the first such one if dim is None).");
  def<&linalg_cross>("linalg.cross(Tensor input, Tensor other, *, int dim=-1, Tensor? out=None)",
                     "Cross products along a dimension of size 3.", kFunction);
  def<&multi_dot_list>("linalg.multi_dot(Tensor[] tensors, *, Tensor? out=None)",
                       "Product of a chain of matrices in the cheapest order; the first and last may be vectors.",
                       kFunction);
  def<&Warned<&chain_matmul, kChain>::call>(
      "chain_matmul(Tensor[] *matrices, *, Tensor? out=None)",
      "Product of a chain of matrices in the cheapest order; linalg.multi_dot takes a list.", kFunction);

  def<&solve>(
      "linalg.solve(Tensor A, Tensor B, *, bool left=True, Tensor? out=None)",
      "The solution X of A X = B (or X A = B with left=False) for square A of shape (*, n, n), by LU factorisation with partial pivoting.\n\n"
      "B is a vector (n,) or of shape A.shape[:-1], or matrices (*, n, k); batch dimensions broadcast. float16 and bfloat16 are computed in float32.\n"
      "LinAlgError (a RuntimeError) for a singular matrix names the batch element; RuntimeError for shapes that do not fit.\n\n"
      ">>> A = strided.tensor([[2., 3., -1.], [1., -2., 8.], [6., 1., -3.]])\n>>> strided.linalg.solve(A, strided.tensor([5., 21., -1.]))\ntensor([1., 2., 3.])",
      kFunction);
  def<&solve_ex>(
      "linalg.solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor[]? out=None) -> (result, info)",
      "As solve, without the check (unless check_errors): info is 0, or the index of the zero pivot.", kFunction);
  for (const char* name : {"linalg.inv", "inverse", "linalg.inverse"})
    def<&inv>(
        (name + std::string(std::string(name) == "inverse" ? "(Tensor input" : "(Tensor A") + ", *, Tensor? out=None)")
            .c_str(),
        "The inverses of square matrices. To solve a system use linalg.solve: it is faster and more accurate. LinAlgError if singular.",
        std::string(name) == "inverse" ? kBoth : kFunction);
  def<&inv_ex>("linalg.inv_ex(Tensor A, *, bool check_errors=False, Tensor[]? out=None) -> (inverse, info)",
               "As inv, without the check (unless check_errors).", kFunction);
  def<&det>("det(Tensor input, *, Tensor? out=None)", "Determinants of square matrices.");
  def<&det>("linalg.det(Tensor A, *, Tensor? out=None)", "Determinants of square matrices.", kFunction);
  def<&logdet>("logdet(Tensor input)", "Logarithms of the determinants; NaN where negative, -inf where singular.");
  def<&slogdet>("slogdet(Tensor input, *, Tensor[]? out=None) -> (sign, logabsdet)",
                "Sign and logarithm of the absolute value of the determinants.");
  def<&slogdet>("linalg.slogdet(Tensor A, *, Tensor[]? out=None) -> (sign, logabsdet)",
                "Sign and logarithm of the absolute value of the determinants.", kFunction);
  def<&lu_pivot>("linalg.lu(Tensor A, *, bool pivot=True, Tensor[]? out=None) -> (P, L, U)",
                 "A = P L U with a permutation P, unit lower L and upper U.", kFunction);
  def<&factor>("linalg.lu_factor(Tensor A, *, bool pivot=True, Tensor[]? out=None) -> (LU, pivots)",
               "The packed factors and 1-based pivots (int32), for lu_solve.", kFunction);
  def<&factor_ex>(
      "linalg.lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False, Tensor[]? out=None) -> (LU, pivots, info)",
      "As lu_factor, without the check.", kFunction);
  def<&Warned<&lu_packed, kLu>::call>(
      "lu(Tensor A, bool pivot=True, bool get_infos=False, *, Tensor[]? out=None) -> (LU, pivots, info)",
      "linalg.lu_factor under its old name: the packed factors, 1-based pivots (int32) and, with get_infos, info (int32). Singular matrices are no error.");
  def<&unpack>(
      "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensor[]? out=None) -> (P, L, U)",
      "P, L and U from the results of lu_factor; empty tensors for the parts that are not wanted.", kFunction);
  def<&Warned<&lu_solve_of, kLuSolve>::call>(
      "lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots, *, Tensor? out=None)",
      "linalg.lu_solve with the right-hand side first.");
  def<&lu_solve>(
      "linalg.lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor? out=None)",
      "Solves A X = B from the factors of A that lu_factor gave.", kFunction);
  def<&solve_triangular>(
      "linalg.solve_triangular(Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor? out=None)",
      "Solves A X = B for triangular A; only that triangle is read. B is cast to the dtype of A.", kFunction);
  def<&Warned<&triangular_solve, kTriangular>::call>(
      "triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, Tensor[]? out=None) -> (solution, cloned_coefficient)",
      "linalg.solve_triangular under its old name: solves A X = input (A^T X = input with transpose), and gives a copy of A, in the batch's shape, too.");
  def<&cholesky>(
      "linalg.cholesky(Tensor input, *, bool upper=False, Tensor? out=None)",
      "L with A = L L^H for Hermitian positive-definite A; only the lower triangle is read. LinAlgError otherwise.",
      kFunction);
  def<&Warned<&cholesky, kCholesky>::call>("cholesky(Tensor input, bool upper=False, *, Tensor? out=None)",
                                           "The same as linalg.cholesky.");
  def<&cholesky_ex>(
      "linalg.cholesky_ex(Tensor input, *, bool upper=False, bool check_errors=False, Tensor[]? out=None) -> (L, info)",
      "As cholesky, without the check (unless check_errors).", kFunction);
  def<&cholesky_solve>("cholesky_solve(Tensor input, Tensor input2, bool upper=False, *, Tensor? out=None)",
                       "Solves A X = input from the Cholesky factor of A, input2.");
  def<&cholesky_inverse>("cholesky_inverse(Tensor input, bool upper=False, *, Tensor? out=None)",
                         "The inverse of A from its Cholesky factor.");
  for (const char* name : {"matrix_power", "linalg.matrix_power"})
    def<&matrix_power>((std::string(name) + "(Tensor input, int n, *, Tensor? out=None)").c_str(),
                       "The n-th power of square matrices; n < 0 of their inverses.",
                       name[0] == 'm' ? kBoth : kFunction);
  def<&tensorsolve>("linalg.tensorsolve(Tensor input, Tensor other, int[]? dims=None, *, Tensor? out=None)",
                    "X with tensordot(A, X, X.ndim) = B.", kFunction);
  def<&tensorinv>("linalg.tensorinv(Tensor input, int ind=2, *, Tensor? out=None)", "The inverse of tensordot by A.",
                  kFunction);

  def<&norm_number>(
      "linalg.norm(Tensor input, Number? ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Vector norm of all elements or along dim; a matrix norm if ord is given and two dimensions are.", kFunction);
  def<&norm_name>(
      "linalg.norm(Tensor input, str ord, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Matrix norm 'fro' or 'nuc'.", kFunction);
  def<&vector_norm_any>(
      "linalg.vector_norm(Tensor input, Number ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "(sum |x|^ord)^(1/ord); ord may be 0, inf, -inf.", kFunction);
  def<&matrix_norm_name>(
      "linalg.matrix_norm(Tensor input, str ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Matrix norm 'fro' or 'nuc'.", kFunction);
  def<&matrix_norm_number>(
      "linalg.matrix_norm(Tensor input, Number ord, int[] dim=(-2, -1), bool keepdim=False, *, dtype? dtype=None, Tensor? out=None)",
      "Matrix norm of order 1, -1, inf or -inf.", kFunction);
  def<&linalg_diagonal>("linalg.diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)",
                        "View of the diagonals of matrices.", kFunction);
  def<&traces>("linalg.trace(Tensor x)", "Sums of the diagonals of matrices (*, m, n), as numpy.linalg.trace.",
               kFunction);
  def<&mT>("linalg.matrix_transpose(Tensor x)", "View with the last two dimensions swapped (NumPy's name).", kFunction);
  def<&lstm_steps>(
      "_lstm_steps(Tensor gates, Tensor h, Tensor c, Tensor w_hh, Tensor outputs, Tensor cells, Tensor? tanhs, bool reverse) -> bool",
      "The steps of one direction of an LSTM. Not recorded.", kFunction);
  def<&lstm_gradients>(
      "_lstm_gradients(Tensor gates, Tensor c, Tensor w_hh, Tensor cells, Tensor tanhs, Tensor d_outputs, Tensor dh, Tensor dc, bool reverse)",
      "The gradient of what _lstm_steps makes gates of. Not recorded.", kFunction);
}

}  // namespace strided::python
