// QR decompositions by Householder's reflections (G. H. Golub, C. F. Van Loan, "Matrix Computations", 2013, 5.2).
#include "xla/qr.h"

#include <algorithm>
#include <vector>

#include "xla/loop.h"
#include "xla/memory.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

constexpr int64_t kPanel = 128;  // columns taken by one loop

Num as(const Num& x, DType dtype) { return cast(x, dtype); }

// The reflectors of LAPACK's geqrf: H = I - tau v v^H with v = 1 on the diagonal; H^H makes a column beta e, beta real.
Packed factor_panel(const Value& panel) {
  const int64_t batch = panel->shape[0], m = panel->shape[1], w = panel->shape[2], steps = std::min(m, w);
  const DType dtype = panel->dtype;
  const Dims shape = panel->shape, by_row{batch, m}, one{batch};
  const Values end =
      repeat(steps, {panel, constant_int(0, dtype, {batch, steps})}, [&](const Value& j, const Values& v) {
        const Num row(iota(DType::Int64, by_row, 1)), step(broadcast(j, by_row));
        const Num column(reshape(slice_at(v[0], {zero(), zero(), j}, {batch, m, 1}), by_row));
        const Num alpha(reshape(slice_at(column.v, {zero(), j}, {batch, 1}), one));
        const Num tail = where(row > step, column, 0.0);
        // By the largest, so that squares stay in range.
        const Num sizes = abs(where(row >= step, column, 0.0));
        const Num most(fold("stablehlo.maximum", sizes.v, constant(0, sizes.v->dtype), {1}));
        const Num unit = where(most == 0.0, 1.0, most);
        auto over = [&](const Num& x) { return x / as(Num(broadcast(unit.v, x.v->shape, {0})), x.v->dtype); };
        const Num rest = sum(square(over(tail)), {1}), near = over(alpha);
        const Num imaginary = alpha.complex() ? imag(near) : near * 0.0, re = real(alpha);
        const Num none = (rest == 0.0) & (imaginary == 0.0);
        const Num norm = unit * sqrt(square(near) + rest);
        const Num beta = where((re < 0.0) | (1 / re < 0.0), norm, -norm);
        const Num divided = (beta - re) / where(none, 1.0, beta);
        Num tau = where(none, 0.0, divided);
        if (alpha.complex()) tau = complex(tau, where(none, 0.0, -imag(alpha) / where(none, 1.0, beta)));
        const Num top = where(none, alpha, as(beta, dtype)),
                  below = where(none, alpha.like(1), alpha - as(beta, dtype));
        auto rows = [&](const Num& x) { return Num(broadcast(x.v, by_row, {0})); };
        const Num reflector = where(row > step, tail / rows(below), where(row == step, column.like(1), column.like(0)));
        auto wide = [&](const Num& x, const Dims& axes) { return Num(broadcast(x.v, shape, axes)); };
        const Num a(v[0]), tall = wide(reflector, {0, 1});
        const Num products = sum(conj(tall) * a, {1}) * Num(broadcast(conj(tau).v, {batch, w}, {0}));
        const Num c(iota(DType::Int64, shape, 2)), k(broadcast(j, shape));
        const Num made = where(row < step, column, where(row == step, rows(top), reflector));
        const Num next = where(c > k, a - tall * wide(products, {0, 2}), where(c == k, wide(made, {0, 1}), a));
        return Values{next.v, update_at(v[1], reshape(tau.v, {batch, 1}), {zero(), j})};
      });
  return {end[0], end[1]};
}

// The reflectors in the columns of a as they stand: 1 on the diagonal, 0 above.
Value reflectors_of(const Value& a) {
  const Num x(a), row(iota(DType::Int64, a->shape, 1)), column(iota(DType::Int64, a->shape, 2));
  return where(row > column, x, where(row == column, x.like(1), x.like(0))).v;
}

// Q C or Q^H C, where Q = I - V T V^H is the product of reflectors V, and T = (I + D S)^-1 D, with D = diag(tau) and S
// what is above the diagonal of V^H V (C. Puglisi, "Modification of the Householder method based on the compact WY
// representation", SIAM J. Sci. Stat. Comput. 13, 1992).
Value apply_block(const Value& v, const Value& tau, const Value& c, bool adjoint) {
  const int64_t batch = v->shape[0], k = v->shape[2], columns = c->shape[2];
  if (columns == 0) return c;
  const Value vh = adjoint_of(v);
  const Num scales(tau), gram(product(vh, v));
  const Num above = Num(iota(DType::Int64, gram.v->shape, 2)) > Num(iota(DType::Int64, gram.v->shape, 1));
  const Value inverse = (where(above, gram, 0.0) * Num(broadcast(tau, {batch, k, k}, {0, 1}))).v;  // but for I
  const Num w(product(vh, c));
  auto scaled = [&](const Num& s, const Num& x) { return s * x; };
  const Num d(broadcast(adjoint ? conj(scales).v : tau, {batch, k, columns}, {0, 1}));
  const Value x = adjoint ? scaled(d, Num(triangular_solve(inverse, w.v, {false, true, Transpose::Adjoint}))).v
                          : triangular_solve(inverse, scaled(d, w).v, {false, true});
  return (Num(c) - Num(product(v, x))).v;
}

}  // namespace

Value adjoint_of(const Value& a) { return conj(Num(transpose(a, {0, 2, 1}))).v; }

Packed packed_qr(Value a) {
  const int64_t m = a->shape[1], n = a->shape[2], k = std::min(m, n);
  std::vector<Value> scales;
  for (int64_t j = 0; j < k; j += kPanel) {
    const int64_t w = std::min(kPanel, k - j), right = n - j - w;
    const Packed panel = factor_panel(box(a, j, m - j, j, w));
    scales.push_back(panel.tau);
    std::vector<Value> parts;
    if (j > 0) parts.push_back(box(a, j, m - j, 0, j));
    parts.push_back(panel.a);
    if (right > 0)
      parts.push_back(apply_block(reflectors_of(panel.a), panel.tau, box(a, j, m - j, j + w, right), true));
    const Value below = concatenate(parts, 2);
    a = j > 0 ? concatenate({box(a, 0, j, 0, n), below}, 1) : below;
  }
  return {a, concatenate(scales, 1)};
}

Value apply_reflectors(const Packed& q, Value c, bool adjoint) {
  const int64_t batch = c->shape[0], m = c->shape[1], n = c->shape[2], k = q.tau->shape[1];
  const int64_t panels = (k + kPanel - 1) / kPanel;
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t j = (adjoint ? i : panels - 1 - i) * kPanel, w = std::min(kPanel, k - j);
    const Value v = reflectors_of(box(q.a, j, m - j, j, w)), tau = slice(q.tau, {0, j}, {batch, j + w});
    const Value below = apply_block(v, tau, box(c, j, m - j, 0, n), adjoint);
    c = j > 0 ? concatenate({box(c, 0, j, 0, n), below}, 1) : below;
  }
  return c;
}

Value form_columns(const Packed& q, int64_t columns) {
  const Dims shape{q.a->shape[0], q.a->shape[1], columns};
  return apply_reflectors(q, identity(q.a->dtype, shape), false);
}

Value identity(DType dtype, const Dims& shape) {
  const int n = shape.ndim();
  return convert(compare("EQ", iota(DType::Int64, shape, n - 2), iota(DType::Int64, shape, n - 1)), dtype);
}

Value read_by_columns(const void* data, DType dtype, int64_t batch, int64_t m, int64_t n) {
  return transpose(read(data, dtype, {batch, n, m}), {0, 2, 1});
}
void write_by_columns(void* data, DType dtype, const Value& a) {
  const Value by_columns = transpose(a, {0, 2, 1});
  write(data, dtype, by_columns->shape, by_columns);
}

void qr(const DecompositionPlan& plan, void* tau) {
  const Packed packed = packed_qr(read_by_columns(plan.a, plan.dtype, plan.batch, plan.m, plan.n));
  write_by_columns(plan.a, plan.dtype, packed.a);
  write(tau, plan.dtype, packed.tau->shape, packed.tau);
}

void form_q(const DecompositionPlan& plan, int64_t k, const void* tau) {
  const Value a = read_by_columns(plan.a, plan.dtype, plan.batch, plan.m, plan.n);
  const Packed q{box(a, 0, plan.m, 0, k), read(tau, plan.dtype, {plan.batch, k})};
  write_by_columns(plan.a, plan.dtype, form_columns(q, plan.n));
}

void apply_q(const DecompositionPlan& plan, int64_t k, const void* reflectors, const void* tau, bool left,
             bool adjoint) {
  const Value c = read_by_columns(plan.a, plan.dtype, plan.batch, plan.m, plan.n);
  const Packed q{read_by_columns(reflectors, plan.dtype, plan.batch, left ? plan.m : plan.n, k),
                 read(tau, plan.dtype, {plan.batch, k})};
  // C Q = (Q^H C^H)^H
  write_by_columns(plan.a, plan.dtype,
                   left ? apply_reflectors(q, c, adjoint) : adjoint_of(apply_reflectors(q, adjoint_of(c), !adjoint)));
}

}  // namespace strided::xla
