// LU factorisations and what is solved with them.
#include <algorithm>
#include <string>

#include "xla/loop.h"
#include "xla/matrices.h"
#include "xla/memory.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

Num filled(int64_t value, const Dims& shape) { return Num(constant_int(value, DType::Int64, shape)); }

// What a pivot is chosen by: |re| + |im| for complex numbers, as LAPACK does. NaN is less than anything.
Num pivot_size(const Num& x) {
  const Num size = x.complex() ? abs(real(x)) + abs(imag(x)) : abs(x);
  return where(nan(size), -1.0, size);
}

// LU in panels.
// Columns are taken in panels of a fixed width, each by a loop over its columns that updates the whole panel; then the
// rows beside it change places, and the rest is updated by a product. A program has as many panels as the matrix, so
// its text grows with the size, and each loop's work with the square of the width.
constexpr int64_t kPanel = 128;

struct Panel {
  Value a;       // (batch, m, w)
  Value pivots;  // (batch, w), int64, from 0 on
  Value rows;    // (batch, m): which row stands there
};

Panel factor_panel(const Value& panel) {
  const int64_t batch = panel->shape[0], m = panel->shape[1], w = panel->shape[2];
  const int64_t steps = std::min(m, w);
  const Dims shape = panel->shape, by_row{batch, m};
  const Values start{panel, constant_int(0, DType::Int64, {batch, steps}), iota(DType::Int64, by_row, 1)};
  const Values end = repeat(steps, start, [&](const Value& j, const Values& v) {
    const Num step(broadcast(j, by_row)), row(iota(DType::Int64, by_row, 1)), order(v[2]);
    const Num column(reshape(slice_at(v[0], {zero(), zero(), j}, {batch, m, 1}), by_row));
    const Num size = where(row < step, -2.0, pivot_size(column));
    const Num best(broadcast(fold("stablehlo.maximum", size.v, constant(-2, size.v->dtype), {1}), by_row, {0}));
    const Value p = fold("stablehlo.minimum", where(size == best, row, filled(m, by_row)).v,
                         constant_int(m - 1, DType::Int64), {1});
    // Rows j and p change places.
    const Num pivot_row(broadcast(p, by_row, {0})), here = row == step, there = row == pivot_row;
    auto moved = [&](const Num& x, const Num& at_j, const Num& at_p) {
      return where(here, at_p, where(there, at_j, x));
    };
    const Value ones = reshape(p, {batch, 1});
    auto at = [&](const Num& x, const Num& place) {  // one element of each row
      const Value none = constant_int(0, x.v->dtype, by_row);
      return Num(
          broadcast(fold("stablehlo.add", select(place.v, x.v, none), constant_int(0, x.v->dtype), {1}), by_row, {0}));
    };
    const Num rows = moved(order, at(order, here), at(order, there));
    const Num flat = Num(iota(DType::Int64, {batch}, 0)) * filled(m, {batch}) + Num(p);
    const Value top = reshape(slice_at(v[0], {zero(), j, zero()}, {batch, 1, w}), {batch, w});
    const Value chosen = take_rows(reshape(v[0], {batch * m, w}), flat.v, {batch, w}, {1});
    auto wide = [&](const Value& x, const Dims& axes) { return Num(broadcast(x, shape, axes)); };
    const Num swapped =
        where(wide(here.v, {0, 1}), wide(chosen, {0, 2}), where(wide(there.v, {0, 1}), wide(top, {0, 2}), Num(v[0])));
    // The multipliers, and what is below and right of them.
    const Num pivot(reshape(slice_at(chosen, {zero(), j}, {batch, 1}), {batch}));
    const Num divisor(broadcast(where(pivot == 0.0, 1.0, pivot).v, by_row, {0}));
    const Num column_top(broadcast(reshape(slice_at(top, {zero(), j}, {batch, 1}), {batch}), by_row, {0}));
    const Num factor = where(there, column_top, column) / divisor;
    const Num i(iota(DType::Int64, shape, 1)), c(iota(DType::Int64, shape, 2)), k(broadcast(j, shape));
    const Num l = wide(factor.v, {0, 1}), below = i > k;
    const Num next = where(below & (c > k), swapped - l * wide(chosen, {0, 2}), where(below & (c == k), l, swapped));
    return Values{next.v, update_at(v[1], ones, {zero(), j}), rows.v};
  });
  return {end[0], end[1], end[2]};
}

// Which row stands where, after the exchanges that pivots (batch, count; from 1 on) ask for. Those that name no row are
// taken for the nearest one.
Value rows_after(const Value& pivots, int64_t rows, bool backwards) {
  const int64_t batch = pivots->shape[0], count = pivots->shape[1];
  const Dims shape{batch, rows};
  const Num limit = filled(rows - 1, pivots->shape), none = filled(0, pivots->shape);
  const Value places = larger(smaller(cast(Num(pivots), DType::Int64) - 1, limit), none).v;
  return repeat(count, {iota(DType::Int64, shape, 1), places}, [&](const Value& step, const Values& v) {
    const Value i = backwards ? (Num(constant_int(count - 1, DType::Int64)) - Num(step)).v : step;
    const Num order(v[0]), row(iota(DType::Int64, shape, 1)), here = row == Num(broadcast(i, shape));
    const Num there = row == Num(broadcast(reshape(slice_at(v[1], {zero(), i}, {batch, 1}), {batch}), shape, {0}));
    auto at = [&](const Num& place) {
      return Num(broadcast(fold("stablehlo.add", where(place, order, 0.0).v, zero(), {1}), shape, {0}));
    };
    return Values{where(here, at(there), where(there, at(here), order)).v, v[1]};
  })[0];
}

// The first pivot that is not in 1 ... rows.
void check_pivots(const OpContext& on, LinalgFailure failure, const Value& pivots, int64_t rows) {
  const int64_t n = pivots->shape[0] * pivots->shape[1];
  const Num p = cast(Num(reshape(pivots, {n})), DType::Int64), i(iota(DType::Int64, {n}, 0));
  const Num bad = (p < 1.0) | (p > static_cast<double>(rows));
  // Place and pivot in one number, which is not 0.
  const Num both = (i + 1) * filled(int64_t{1} << 32, {n}) + (p + filled(int64_t{1} << 31, {n}));
  const Value most = constant_int(INT64_MAX, DType::Int64);
  const Num first(fold("stablehlo.minimum", where(bad, both, filled(INT64_MAX, {n})).v, most, {0}));
  raise_later(on.device, where(first == Num(most), Num(constant_int(kGood, DType::Int64)), first).v,
              [failure, name = std::string(on.name)](int64_t value) {
                raise_linalg_failure(failure, name.c_str(), false, 0, (value & 0xffffffff) - (int64_t{1} << 31));
              });
}

}  // namespace

void lu_factor(const OpContext&, DType dtype, int64_t batch, int64_t m, int64_t n, void* to, int32_t* pivots,
               int32_t* info) {
  const int64_t k = std::min(m, n);
  if (batch * k == 0) return;
  Value a = read(to, dtype, {batch, m, n});
  std::vector<Value> places;
  for (int64_t j = 0; j < k; j += kPanel) {
    const int64_t w = std::min(kPanel, k - j), rest = m - j, right = n - j - w;
    const Panel panel = factor_panel(box(a, j, rest, j, w));
    places.push_back((Num(panel.pivots) + static_cast<double>(j + 1)).v);
    std::vector<Value> parts;
    if (j > 0) parts.push_back(chosen_rows(box(a, j, rest, 0, j), panel.rows));
    parts.push_back(panel.a);
    if (right > 0) {
      const Value moved = chosen_rows(box(a, j, rest, j + w, right), panel.rows);
      const Value top = triangular_solve(box(panel.a, 0, w, 0, w), box(moved, 0, w, 0, right), {true, true});
      Value beside = top;
      if (rest > w) {
        const Num below = Num(box(moved, w, rest - w, 0, right)) - Num(product(box(panel.a, w, rest - w, 0, w), top));
        beside = concatenate({top, below.v}, 1);
      }
      parts.push_back(beside);
    }
    const Value below = concatenate(parts, 2);
    a = j > 0 ? concatenate({box(a, 0, j, 0, n), below}, 1) : below;
  }
  write(to, dtype, {batch, m, n}, a);
  write(pivots, DType::Int32, {batch, k}, concatenate(places, 1));
  const Num row(iota(DType::Int64, a->shape, 1)), column(iota(DType::Int64, a->shape, 2));
  const Num zeros = where((row == column) & (Num(a) == 0.0), row + 1, filled(k + 1, a->shape));
  const Num first(fold("stablehlo.minimum", zeros.v, constant_int(k + 1, DType::Int64), {1, 2}));
  write(info, DType::Int32, {batch}, where(first > static_cast<double>(k), 0.0, first).v);
}

void lu_solve(const OpContext& on, DType dtype, int64_t batch, int64_t n, int64_t k, const void* lu,
              int64_t lu_batch_stride, const int32_t* pivots, int64_t pivots_batch_stride, void* b, int op) {
  if (batch * n * k == 0) return;
  const int64_t size = size_of(dtype);
  const Dims shape{batch, n, n}, strides{lu_batch_stride * size, n * size, size};
  const Value a = read(lu, dtype, 3, shape.data(), strides.data());
  const Dims by_row{batch, n}, steps{pivots_batch_stride * 4, 4};
  const Value p = read(pivots, DType::Int32, 2, by_row.data(), steps.data());
  check_pivots(on, LinalgFailure::PivotOfSolve, p, n);
  Value x = read(b, dtype, {batch, n, k});
  const Value rows = rows_after(p, n, op != 0);
  const Transpose how = op == 0 ? Transpose::No : op == 1 ? Transpose::Plain : Transpose::Adjoint;
  if (op == 0) {
    x = triangular_solve(a, chosen_rows(x, rows), {true, true});
    x = triangular_solve(a, x, {});
  } else {
    x = triangular_solve(a, x, {false, false, how});
    x = chosen_rows(triangular_solve(a, x, {true, true, how}), rows);
  }
  write(b, dtype, {batch, n, k}, x);
}

void exchange_rows(const OpContext& on, DType dtype, int64_t batch, int64_t rows, int64_t columns, void* a,
                   const int32_t* pivots, int64_t count, bool backwards) {
  if (batch * count == 0) return;
  const Value p = read(pivots, DType::Int32, {batch, count});
  check_pivots(on, LinalgFailure::PivotOfUnpack, p, rows);
  const Dims shape{batch, rows, columns};
  write(a, dtype, shape, chosen_rows(read(a, dtype, shape), rows_after(p, rows, backwards)));
}

void permutation_sign(const OpContext&, int64_t batch, int64_t count, const int32_t* pivots, double* sign) {
  if (batch == 0) return;
  if (count == 0) return write(sign, DType::Float64, {batch}, constant(1, DType::Float64, {batch}));
  const Dims shape{batch, count};
  const Num exchanged =
      cast(Num(read(pivots, DType::Int32, shape)), DType::Int64) != Num(iota(DType::Int64, shape, 1)) + 1;
  const Num odd = mod(Num(fold("stablehlo.add", cast(exchanged, DType::Int64).v, zero(), {1})), filled(2, {batch}));
  write(sign, DType::Float64, {batch}, (1 - cast(odd, DType::Float64) * 2).v);
}

}  // namespace strided::xla
