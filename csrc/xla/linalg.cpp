// Products and factorisations.
#include <cstring>
#include <string>

#include "xla/matrices.h"
#include "xla/memory.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

// A matrix of each of a batch, strides in elements.
Value read_matrices(const GemmPlan& plan, const Matrix& m, int which, int64_t rows, int64_t columns) {
  const int64_t size = size_of(plan.dtype);
  Dims shape, strides;
  for (int i = 0; i < plan.batch_ndim; ++i) {
    shape.push_back(plan.batch_shape[i]);
    strides.push_back(plan.batch_strides[which][i] * size);
  }
  shape.push_back(rows);
  shape.push_back(columns);
  strides.push_back(m.row_stride * size);
  strides.push_back(m.col_stride * size);
  return read(m.data, plan.dtype, shape.ndim(), shape.data(), strides.data());
}

std::string axes_text(int n) {
  std::string text = "[";
  for (int i = 0; i < n; ++i) text += (i ? ", " : "") + std::to_string(i);
  return text + "]";
}

}  // namespace

Value product(const Value& a, const Value& b, int batch, const char* precision, DType dtype) {
  Dims shape = a->shape;
  shape[batch + 1] = b->shape[batch + 1];
  return add("stablehlo.dot_general", {a, b}, dtype, shape, Words(precision).put(batch).text([&] {
    const std::string axes = axes_text(batch), with = std::string("#stablehlo<precision ") + precision + ">";
    return "{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = " + axes +
           ", rhs_batching_dimensions = " + axes + ", lhs_contracting_dimensions = [" + std::to_string(batch + 1) +
           "], rhs_contracting_dimensions = [" + std::to_string(batch) + "]>, precision_config = [" + with + ", " +
           with + "]}";
  }));
}

Value triangular_solve(const Value& matrix, const Value& right, const Triangle& triangle) {
  const char* transpose = triangle.transpose == Transpose::No      ? "NO_TRANSPOSE"
                          : triangle.transpose == Transpose::Plain ? "TRANSPOSE"
                                                                   : "ADJOINT";
  return add("stablehlo.triangular_solve", {matrix, right}, right->dtype, right->shape,
             std::string("{left_side = true, lower = ") + (triangle.lower ? "true" : "false") + ", unit_diagonal = " +
                 (triangle.unit ? "true" : "false") + ", transpose_a = #stablehlo<transpose " + transpose + ">}");
}

Value chosen_rows(const Value& a, const Value& rows) {
  const int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2], r = rows->shape[1];
  if (n == 0) return constant_int(0, a->dtype, {batch, r, n});
  const Num first = Num(iota(DType::Int64, rows->shape, 0)) * Num(constant_int(m, DType::Int64, rows->shape));
  return take_rows(reshape(a, {batch * m, n}), (first + Num(rows)).v, {batch, r, n}, {2});
}

void gemm(const GemmPlan& plan) {
  const int64_t size = size_of(plan.dtype);
  const int batch = plan.batch_ndim;
  Dims shape, strides;
  for (int i = 0; i < batch; ++i) {
    shape.push_back(plan.batch_shape[i]);
    strides.push_back(plan.batch_strides[2][i] * size);
    if (plan.batch_shape[i] == 0) return;
  }
  shape.push_back(plan.m);
  shape.push_back(plan.n);
  strides.push_back(plan.c.row_stride * size);
  strides.push_back(plan.c.col_stride * size);
  if (plan.m * plan.n == 0) return;
  const bool widen = size == 2 && !is_integral(plan.dtype);
  const DType compute = widen ? DType::Float32 : plan.dtype;
  auto made = [&] {
    if (plan.k == 0) return constant_int(0, compute, shape);
    return product(read_matrices(plan, plan.a, 0, plan.m, plan.k), read_matrices(plan, plan.b, 1, plan.k, plan.n),
                   batch, plan.tf32 ? "DEFAULT" : "HIGHEST", compute);
  };
  auto is_one = [&](const void* factor) {
    const Value one = number(factor, compute);
    return one->kind == Node::Operation && one->text.str().find("dense<0x0000") == std::string::npos &&
           one->text.str().find("dense<0>") == std::string::npos &&
           one->text.str().find("dense<(0x0000") == std::string::npos;
  };
  Num result(made());
  if (!is_one(plan.alpha)) result = result * Num(broadcast(number(plan.alpha, compute), shape));
  static constexpr char kZeros[16] = {};
  if (std::memcmp(plan.beta, kZeros, static_cast<size_t>(size_of(compute))) != 0) {
    Num c(convert(read_matrices(plan, plan.c, 2, plan.m, plan.n), compute));
    if (!is_one(plan.beta)) c = c * Num(broadcast(number(plan.beta, compute), shape));
    result = result + c;
  }
  write(plan.c.data, plan.dtype, shape.ndim(), shape.data(), strides.data(), result.v);
}

void cholesky(const OpContext&, DType dtype, int64_t batch, int64_t n, void* a, bool upper, int32_t* info) {
  if (batch == 0) return;
  const Dims shape{batch, n, n};
  if (n == 0) return write(info, DType::Int32, {batch}, constant_int(0, DType::Int32, {batch}));
  const Value from = read(a, dtype, shape);
  const Value factor = add("stablehlo.cholesky", {from}, dtype, shape, upper ? "{lower = false}" : "{lower = true}");
  const Num row(iota(DType::Int64, shape, 1)), column(iota(DType::Int64, shape, 2));
  const Num kept = upper ? column >= row : column <= row;
  write(a, dtype, shape, select(kept.v, factor, constant_int(0, dtype, shape)));
  // What is not positive definite becomes NaN from that minor on.
  const Num unknown = [&] {
    const Num f(factor);
    return f.complex() ? nan(real(f)) | nan(imag(f)) : nan(f);
  }();
  const Value none = constant_int(n + 1, DType::Int64, shape);
  const Num bad = kept & unknown;
  const Num order = larger(row, column) + 1;
  const Num first(fold("stablehlo.minimum", select(bad.v, order.v, none), constant_int(n + 1, DType::Int64), {1, 2}));
  write(info, DType::Int32, {batch}, where(first > static_cast<double>(n), 0.0, first).v);
}

void solve_triangular(const OpContext&, DType dtype, int64_t batch, int64_t n, int64_t k, Matrix t,
                      int64_t t_batch_stride, void* b, bool upper, bool unit_diagonal) {
  if (batch * n * k == 0) return;
  const int64_t size = size_of(dtype);
  const Dims shape{batch, n, n}, strides{t_batch_stride * size, t.row_stride * size, t.col_stride * size};
  const Value matrix = read(t.data, dtype, 3, shape.data(), strides.data());
  const Dims right{batch, n, k};
  write(b, dtype, right, triangular_solve(matrix, read(b, dtype, right), {!upper, unit_diagonal}));
}

void check_info(const OpContext& on, LinalgFailure failure, const int32_t* info, int64_t n, bool batched, bool now) {
  if (n == 0) return;
  const Num values(read(info, DType::Int32, {n}));
  // The first matrix and what is wrong with it, in one number.
  const Num both = Num(iota(DType::Int64, {n}, 0)) * Num(constant_int(int64_t{1} << 32, DType::Int64, {n})) +
                   cast(values, DType::Int64) + Num(constant_int(int64_t{1} << 31, DType::Int64, {n}));
  const Value none = constant_int(INT64_MAX, DType::Int64, {n});
  const Num first(
      fold("stablehlo.minimum", select((values != 0.0).v, both.v, none), constant_int(INT64_MAX, DType::Int64), {0}));
  const Num worst(select(compare("EQ", first.v, constant_int(INT64_MAX, DType::Int64)),
                         constant_int(kGood, DType::Int64), first.v));
  raise_later(on.device, worst.v, [failure, name = std::string(on.name), batched](int64_t value) {
    raise_linalg_failure(failure, name.c_str(), batched, value >> 32, (value & 0xffffffff) - (int64_t{1} << 31));
  });
  if (now) run_now(on.device);
}

}  // namespace strided::xla
