// Eigenvalues of general matrices: reflections make them Hessenberg matrices, rotations with a shift triangular ones,
// in complex numbers. J. G. F. Francis, "The QR transformation", The Computer Journal 4 (1961); shifts of J. H.
// Wilkinson.
#include <cmath>

#include "xla/loop.h"
#include "xla/memory.h"
#include "xla/qr.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

Num over(const Num& x, const Dims& shape, const Dims& axes) { return Num(broadcast(x.v, shape, axes)); }
Value plus(const Value& i, int64_t by) { return binary("stablehlo.add", i, constant_int(by, DType::Int64)); }

// H = Q^H A Q with nothing below the first subdiagonal.
struct Schur {
  Value h, q;
};
Schur hessenberg(const Value& a) {
  const int64_t batch = a->shape[0], n = a->shape[1];
  const DType dtype = a->dtype;
  const Dims shape = a->shape, vector{batch, n};
  const Values end = repeat(n - 2, {a, identity(dtype, shape)}, [&](const Value& j, const Values& v) {
    const Num h(v[0]), q(v[1]), row(iota(DType::Int64, vector, 1)), step(broadcast(j, vector));
    const Num column(reshape(slice_at(v[0], {zero(), zero(), j}, {batch, n, 1}), vector));
    const Num below = where(row > step, column, 0.0), first = sum(where(row == step + 1, column, 0.0), {1});
    // Scaled, so that squares neither overflow nor vanish.
    const Num scale = most(abs(real(below)) + abs(imag(below)), {1}), divisor = where(scale == 0.0, 1.0, scale);
    const Num x = below / cast(over(divisor, vector, {0}), dtype), head = first / cast(divisor, dtype);
    const Num norm = sqrt(sum(square(x), {1})), size = abs(head);
    const Num phase = where(size == 0.0, 1.0, head / cast(where(size == 0.0, 1.0, size), dtype));
    const Num u = x + where(row == step + 1, over(phase * cast(norm, dtype), vector, {0}), 0.0);
    const Num length = sum(square(u), {1}), twice = where(length == 0.0, 0.0, 2 / where(length == 0.0, 1.0, length));
    const Num down = over(u, shape, {0, 1}), across = over(conj(u), shape, {0, 2});
    const Num factor = cast(over(twice, shape, {0}), dtype);
    const Num left = h - factor * down * over(sum(over(conj(u), shape, {0, 1}) * h, {1}), shape, {0, 2});
    auto from_right = [&](const Num& m) {
      return m - factor * over(sum(m * over(u, shape, {0, 2}), {2}), shape, {0, 1}) * across;
    };
    return Values{from_right(left).v, from_right(q).v};
  });
  const Num row(iota(DType::Int64, shape, 1)), column(iota(DType::Int64, shape, 2));
  return {where(row > column + 1, 0.0, Num(end[0])).v, end[1]};
}

// One sweep of rotations over rows first ... last of each matrix.
Schur sweep(const Schur& start, const Num& first, const Num& last, const Num& shift) {
  const int64_t batch = start.h->shape[0], n = start.h->shape[1];
  const DType dtype = start.h->dtype;
  const Dims each{batch}, two_rows{batch, 2, n}, two_columns{batch, n, 2};
  const Values end = repeat(n - 1, {start.h, start.q, first.v, last.v, shift.v}, [&](const Value& k, const Values& v) {
    const Num step(broadcast(k, each)), first(v[2]), last(v[3]), begins = step == first;
    const Num active = (step >= first) & (step < last);
    auto element = [&](int64_t down, int64_t across) {
      return Num(reshape(slice_at(v[0], {zero(), plus(k, down), plus(k, across)}, {batch, 1, 1}), each));
    };
    const Num x = where(begins, element(0, 0) - Num(v[4]), element(0, -1));
    const Num y = where(begins, element(1, 0), element(1, -1));
    const Num a = abs(x), b = abs(y), large = larger(a, b), turns = active & (large > 0.0);
    const Num scale = where(turns, large, 1.0), p = a / scale, r = b / scale;
    const Num size = cast(scale * sqrt(where(turns, p * p + r * r, 1.0)), dtype);
    const Num c = where(turns, x / size, 1.0), s = where(turns, y / size, 0.0);
    auto wide = [&](const Num& x, const Dims& shape) { return over(x, shape, {0}); };
    // Rows k and k + 1, then columns.
    const Value rows = slice_at(v[0], {zero(), k, zero()}, two_rows);
    const Dims line{batch, 1, n}, column{batch, n, 1};
    const Num top(slice(rows, {0, 0, 0}, {batch, 1, n})), under(slice(rows, {0, 1, 0}, {batch, 2, n}));
    const Num new_top = wide(conj(c), line) * top + wide(conj(s), line) * under;
    const Num new_under = wide(c, line) * under - wide(s, line) * top;
    const Value h = update_at(v[0], concatenate({new_top.v, new_under.v}, 1), {zero(), k, zero()});
    auto turned = [&](const Value& m) {
      const Value pair = slice_at(m, {zero(), zero(), k}, two_columns);
      const Num l(slice(pair, {0, 0, 0}, {batch, n, 1})), r(slice(pair, {0, 0, 1}, {batch, n, 2}));
      const Num new_l = l * wide(c, column) + r * wide(s, column);
      const Num new_r = r * wide(conj(c), column) - l * wide(conj(s), column);
      return update_at(m, concatenate({new_l.v, new_r.v}, 2), {zero(), zero(), k});
    };
    return Values{turned(h), turned(v[1]), v[2], v[3], v[4]};
  });
  return {end[0], end[1]};
}

struct Triangular {
  Schur parts;
  Num left;  // the last row of a matrix that did not become triangular, else 0
};
Triangular triangular(const Schur& start, double eps) {
  const int64_t batch = start.h->shape[0], n = start.h->shape[1];
  const Dims each{batch}, vector{batch, n}, shape{batch, n, n};
  const DType dtype = start.h->dtype;
  const Value none = constant_int(0, DType::Int64, each);
  const double most_steps = 40.0 * static_cast<double>(n) + 40;
  const Values begin{zero(), start.h, start.q, constant_int(n, DType::Int64, each), none};
  const Values end = loop(
      begin,
      [&](const Values& v) {
        const Value open = fold("stablehlo.or", (Num(v[3]) > 0.0).v, constant_int(0, DType::Bool), {0});
        return binary("stablehlo.and", open, (Num(v[0]) < most_steps).v);
      },
      [&](const Values& v) {
        const Num h(v[1]), row(iota(DType::Int64, shape, 1)), column(iota(DType::Int64, shape, 2));
        const Num i(iota(DType::Int64, vector, 1));
        auto on = [&](const Num& where_) { return sum(where(where_, h, 0.0), {2}); };
        const Num diagonal = on(row == column), sub = on(row == column + 1), size = abs(diagonal);
        const Value previous = pad(size.v, {0, 1}, {0, -1}, constant_int(0, size.v->dtype));
        const Num around = size + Num(previous), norm = over(most(abs(h), {1, 2}), vector, {0});
        const Num small = (abs(sub) <= where(around == 0.0, norm, around) * eps) | (i == 0.0);
        const Num last(fold("stablehlo.maximum", where(small, 0.0, i).v, zero(), {1}));
        const Num first(
            fold("stablehlo.maximum", where(small & (i <= over(last, vector, {0})), i, 0.0).v, zero(), {1}));
        const Num clean = where((row == column + 1) & over(small, shape, {0, 1}), 0.0, h);
        const Num tries = where(last == Num(v[3]), Num(v[4]) + 1, 0.0);
        // The eigenvalue of the last two rows that is nearer to the last element.
        auto at = [&](const Num& x, const Num& place) {
          return sum(where(i == over(place, vector, {0}), x, 0.0), {1});
        };
        const Num up =
            sum(where(row == column - 1, clean, 0.0), {1});  // of each column, the element above the diagonal
        const Num a = at(diagonal, last - 1), d = at(diagonal, last), bc = at(up, last) * at(sub, last);
        const Num half = (a - d) / 2, root = sqrt(half * half + bc);
        const Num agrees = real(half) * real(root) + imag(half) * imag(root) >= 0.0;
        const Num far = half + where(agrees, root, -root), none_far = abs(far) == 0.0;
        const Num usual = where(none_far, d, d - bc / where(none_far, 1.0, far));
        const Num stuck = mod(tries, tries.like(10)) == 9.0;
        const Num shift = where(stuck, d + cast(abs(at(sub, last)) * 0.75, dtype), usual);
        const Schur next = sweep({clean.v, v[2]}, first, last, shift);
        return Values{plus(v[0], 1), next.h, next.q, last.v, tries.v};
      });
  return {{end[1], end[2]}, Num(end[3])};
}

// The eigenvectors of a triangular matrix, one in each column.
Value vectors_of(const Value& t, double eps) {
  const int64_t batch = t->shape[0], n = t->shape[1];
  const Dims shape = t->shape, vector{batch, n};
  const DType dtype = t->dtype;
  const bool wide = size_of(dtype) == 16;
  return repeat(n - 1, {t, identity(dtype, shape)}, [&](const Value& step, const Values& v) {
    const Value at = binary("stablehlo.subtract", constant_int(n - 2, DType::Int64), step);
    const Num t(v[0]), x(v[1]), column(iota(DType::Int64, vector, 1)), i(broadcast(at, vector));
    const Num row(reshape(slice_at(v[0], {zero(), at, zero()}, {batch, 1, n}), vector));
    const Dims line{batch, 1, n};
    const Num known(reshape(product(reshape(where(column > i, row, 0.0).v, line), v[1]), vector));
    const Num matrix_row(iota(DType::Int64, shape, 1)), matrix_column(iota(DType::Int64, shape, 2));
    const Num diagonal = sum(where(matrix_row == matrix_column, t, 0.0), {1});
    const Num own = over(sum(where(column == i, row, 0.0), {1}), vector, {0}), apart = own - diagonal;
    const Num norm = most(abs(t), {1, 2}), least = where(norm == 0.0, 1.0, norm) * eps;
    const Num limit = over(least, vector, {0});
    const Num divisor = where(abs(apart) < limit, cast(limit, dtype), apart);
    const Num value = where(column > i, -(known / divisor), where(column == i, 1.0, known.like(0)));
    const Num now(update_at(v[1], reshape(value.v, line), {zero(), at, zero()}));
    // Those of nearly defective matrices grow at each step.
    const Num size = most(abs(now), {1}), factor = where(size > (wide ? 1e100 : 1e12), size, 1.0);
    return Values{v[0], (now / cast(over(factor, shape, {0, 2}), dtype)).v};
  })[1];
}

}  // namespace

// Elements are finite: the caller has looked.
void eig(const DecompositionPlan& plan, void* w, void* v) {
  const int64_t batch = plan.batch, n = plan.n;
  if (batch * n == 0) return;
  const Dims each{batch}, vector{batch, n}, shape{batch, n, n};
  const Num given(read_by_columns(plan.a, plan.dtype, batch, n, n));
  const bool from_real = !given.complex();
  const DType dtype = from_real ? complex_of(plan.dtype) : plan.dtype;
  const double eps = size_of(dtype) == 16 ? 2.2e-16 : 1.2e-7;
  const Num size = most(abs(given), {1, 2}), scale = where(size == 0.0, 1.0, size);
  const Num a = given / cast(over(scale, shape, {0}), plan.dtype);
  const Triangular found = triangular(hessenberg(cast(a, dtype).v), eps);
  const Num t(found.parts.h), row(iota(DType::Int64, shape, 1)), column(iota(DType::Int64, shape, 2));
  Num values = sum(where(row == column, t, 0.0), {2});
  // A real matrix has real eigenvalues as far as rounding tells.
  const Num is_real =
      abs(imag(values)) <= over(most(sum(abs(a), {2}), {1}), vector, {0}) * (eps * static_cast<double>(n));
  if (from_real) values = complex(real(values), where(is_real, 0.0, imag(values)));
  write(w, dtype, vector, (values * cast(over(scale, vector, {0}), dtype)).v);
  write(plan.info, DType::Int32, each, found.left.v);
  if (!v) return;
  const Num x(product(found.parts.q, vectors_of(where(row > column, 0.0, t).v, eps)));
  // Of length 1, the largest element real.
  const Num large = most(abs(x), {1}), first_large = over(large, shape, {0, 2}) == abs(x);
  const Num place(fold("stablehlo.minimum", where(first_large, row, Num(constant_int(n, DType::Int64, shape))).v,
                       constant_int(n, DType::Int64), {1}));
  const Num leader = sum(where(row == over(place, shape, {0, 2}), x, 0.0), {1});
  const Num turned = x / over(where(abs(leader) == 0.0, 1.0, leader), shape, {0, 2});
  const Num length = over(sqrt(sum(square(turned), {1})), shape, {0, 2});
  Num unit = turned / cast(length, dtype);
  if (from_real) unit = complex(real(unit), where(over(is_real, shape, {0, 2}), 0.0, imag(unit)));
  write_by_columns(v, dtype, unit.v);
}

}  // namespace strided::xla
