// Symmetric and Hermitian matrices as L D L^T, D with blocks of one row or two: J. R. Bunch, L. Kaufman, "Some stable
// methods for calculating inertia and solving symmetric linear systems", Math. Comp. 31 (1977). Pivots are LAPACK's.
#include <cmath>
#include <string>

#include "xla/loop.h"
#include "xla/memory.h"
#include "xla/qr.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

Num whole(int64_t value, const Dims& shape) { return Num(constant_int(value, DType::Int64, shape)); }
// |re| + |im|, as LAPACK compares pivots.
Num size_of_pivot(const Num& x) { return x.complex() ? abs(real(x)) + abs(imag(x)) : abs(x); }

// One matrix of a batch has its own place in the loop: numbers of shape (batch), vectors (batch, n).
struct Frame {
  int64_t batch, n;
  Dims each{batch}, vector{batch, n}, matrix{batch, n, n};
  Num row{iota(DType::Int64, vector, 1)}, row_of{iota(DType::Int64, matrix, 1)},
      column_of{iota(DType::Int64, matrix, 2)};

  Num over_rows(const Num& x) const { return Num(broadcast(x.v, vector, {0})); }
  Num over_matrix(const Num& x) const { return Num(broadcast(x.v, matrix, {0})); }
  Num down(const Num& x) const { return Num(broadcast(x.v, matrix, {0, 1})); }
  Num across(const Num& x) const { return Num(broadcast(x.v, matrix, {0, 2})); }
  Num column(const Num& a, const Num& j) const { return sum(where(column_of == over_matrix(j), a, 0.0), {2}); }
  Num at(const Num& x, const Num& i) const { return sum(where(row == over_rows(i), x, 0.0), {1}); }
  // Rows in which i and j have changed places.
  Num exchanged(const Num& i, const Num& j) const {
    const Num a = over_rows(i), b = over_rows(j);
    return where(row == a, b, where(row == b, a, row));
  }
};

// The first pivot that names no row, or has no partner.
void check_pivots(const OpContext& on, const Num& codes, bool batched) {
  const Value most = constant_int(INT64_MAX, DType::Int64);
  const Num first(fold("stablehlo.minimum", codes.v, most, {0}));
  raise_later(on.device, where(first == Num(most), Num(constant_int(kGood, DType::Int64)), first).v,
              [name = std::string(on.name), batched](int64_t value) {
                raise_linalg_failure(LinalgFailure::PivotOfLdl, name.c_str(), batched, (value >> 32) - 1,
                                     (value & 0xffffffff) - (int64_t{1} << 31));
              });
}

}  // namespace

void ldl_factor(const DecompositionPlan& plan, int32_t* pivots, bool hermitian) {
  const int64_t batch = plan.batch, n = plan.n;
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  const Dims shape{batch, n, n}, vector{batch, n}, each{batch};
  const Num given(read_by_columns(plan.a, plan.dtype, batch, n, n));
  const Num row(iota(DType::Int64, shape, 1)), column(iota(DType::Int64, shape, 2));
  const Num turned(hermitian ? adjoint_of(given.v) : transpose(given.v, {0, 2, 1}));
  const Num diagonal = hermitian ? cast(real(given), plan.dtype) : given;
  const Num full = where(row == column, diagonal, where(row > column, given, turned));
  auto other_side = [&](const Num& x) { return hermitian ? conj(x) : x; };
  const Values start{whole(0, each).v, full.v, whole(0, vector).v, whole(0, each).v};
  const Values end = loop(
      start,
      [&](const Values& v) {
        return fold("stablehlo.or", (Num(v[0]) < static_cast<double>(n)).v, constant_int(0, DType::Bool), {0});
      },
      [&](const Values& v) {
        const Frame f{batch, n};
        const Num k(v[0]), a(v[1]), places(v[2]), info(v[3]), active = k < static_cast<double>(n);
        const Num at_k = f.over_rows(k), first = f.column(a, k), own = size_of_pivot(f.at(first, k));
        const Num sizes = size_of_pivot(first), below = where((f.row > at_k) & ~nan(sizes), sizes, -1.0);
        const Num largest = most(below, {1}, -1), greatest = larger(largest, largest.like(0));
        const Num is_it = (below == f.over_rows(largest)) & (f.row > at_k);
        const Num candidate(fold("stablehlo.minimum", where(is_it, f.row, whole(n - 1, f.vector)).v,
                                 constant_int(n - 1, DType::Int64), {1}));
        const Num its_sizes = size_of_pivot(f.column(a, candidate)), at_candidate = f.over_rows(candidate);
        const Num others = where((f.row >= at_k) & (f.row != at_candidate), its_sizes, 0.0);
        const Num beside = most(others, {1}), its_own = f.at(its_sizes, candidate);

        const Num nothing = nan(own) | (larger(own, greatest) == 0.0);
        const Num stays = nothing | (own >= greatest * alpha) |
                          (own >= greatest * alpha * (greatest / where(beside == 0.0, 1.0, beside)));
        const Num two = ~(stays | (its_own >= beside * alpha)) & active;
        const Num partner = where(stays, k, candidate), last = where(two, k + 1, k);
        // Rows and columns `last` and `partner` of what is left change places.
        const Value order = f.exchanged(last, where(active, partner, last)).v;
        const Num rows = where(f.column_of >= f.over_matrix(k), Num(chosen_rows(a.v, order)), a);
        const Num b(transpose(chosen_rows(transpose(rows.v, {0, 2, 1}), order), {0, 2, 1}));

        const Num rest = f.row > f.over_rows(last), c1 = f.column(b, k), c2 = f.column(b, k + 1);
        const Num w1 = where(rest, c1, 0.0), w2 = where(rest & f.over_rows(two), c2, 0.0);
        const Num d11 = f.at(c1, k), d21 = f.at(c1, k + 1), d22 = f.at(c2, k + 1);
        const Num off = where(two, d21, 1.0);
        const Num size = hermitian ? cast(abs(off), plan.dtype) : off, phase = off / size;
        const Num p = d22 / size, q = d11 / size, factor = 1 / (where(two, p * q - 1, 1.0) * size);
        auto wide = [&](const Num& x) { return f.over_rows(x); };
        const Num turn = hermitian ? phase : phase.like(1);
        const Num pair1 = wide(factor) * (wide(p) * w1 - wide(turn) * w2);
        const Num pair2 = wide(factor) * (wide(q) * w2 - wide(other_side(turn)) * w1);
        const Num divisor = where(nothing | (d11 == 0.0), 1.0, d11), together = wide(two);
        const Num l1 = where(together, pair1, w1 / wide(divisor)), l2 = where(together, pair2, 0.0);

        const Num kept = wide(nothing | ~active);
        const Num taken =
            f.down(where(kept, 0.0, l1)) * f.across(other_side(w1)) + f.down(l2) * f.across(other_side(w2));
        const Num block = f.down(rest) & f.across(rest), in_k = f.column_of == f.over_matrix(k);
        const Num in_next = (f.column_of == f.over_matrix(k + 1)) & f.over_matrix(two);
        Num next = where(block, b - taken, b);
        next = where(f.down(rest) & in_k, f.down(l1), where(f.down(rest) & in_next, f.down(l2), next));

        const Num name = where(two, -(partner + 1), partner + 1);
        const Num mine = (f.row == at_k) | ((f.row == at_k + 1) & together);
        return Values{where(active, where(two, k + 2, k + 1), k).v, next.v,
                      where(mine & wide(active), wide(name), places).v,
                      where(active & nothing & (info == 0.0), k + 1, info).v};
      });
  const Num done(end[1]);
  const Num exact = hermitian ? where(row == column, cast(real(done), plan.dtype), done) : done;
  write_by_columns(plan.a, plan.dtype, exact.v);
  write(pivots, DType::Int32, vector, end[2]);
  write(plan.info, DType::Int32, each, end[3]);
}

// A = P L D L^T P^T, with the exchanges of later pivots made in earlier columns of L too.
void ldl_solve(const DecompositionPlan& plan, int64_t k, const int32_t* pivots, void* b, bool hermitian) {
  const int64_t batch = plan.batch, n = plan.n;
  const Frame f{batch, n};
  const Num given(read_by_columns(plan.a, plan.dtype, batch, n, n));
  const Value p = convert(read(pivots, DType::Int32, f.vector), DType::Int64);
  const Value no = constant_int(0, DType::Bool, f.each), none = constant_int(INT64_MAX, DType::Int64, f.each);
  const Values end = repeat(
      n, {given.v, f.row.v, p, no, constant_int(0, DType::Bool, f.vector), none}, [&](const Value& i, const Values& v) {
        const Frame f{batch, n};
        const Num a(v[0]), order(v[1]), p(v[2]), second(v[3]), firsts(v[4]), codes(v[5]);
        const Num step(broadcast(i, f.each)), pivot = f.at(p, step), next = f.at(p, step + 1);
        const Num first = (pivot < 0.0) & ~second, size = abs(pivot);
        const Num bad = ~second & ((size < 1.0) | (size > static_cast<double>(n)) | (first & (next != pivot)));
        const Num number(iota(DType::Int64, f.each, 0));
        const Num code = (number + 1) * whole(int64_t{1} << 32, f.each) + (pivot + whole(int64_t{1} << 31, f.each));
        const Num least = step.like(0), most = whole(n - 1, f.each);
        const Num partner = larger(smaller(size - 1, most), least), last = smaller(where(first, step + 1, step), most);
        const Num moved = f.exchanged(last, where(second, last, partner));
        const Num rows = where(f.column_of < f.over_matrix(step), Num(chosen_rows(a.v, moved.v)), a);
        const Num turned(reshape(chosen_rows(reshape(order.v, {batch, n, 1}), moved.v), f.vector));
        const Num here = f.row == f.over_rows(step);
        return Values{rows.v,
                      turned.v,
                      p.v,
                      first.v,
                      where(here, f.over_rows(first), firsts).v,
                      where(bad, smaller(codes, code), codes).v};
      });
  check_pivots(plan, Num(end[5]), batch > 1);
  const Num a(end[0]), firsts(end[4]), diagonal = sum(where(f.row_of == f.column_of, a, 0.0), {2});
  const Num off = where(firsts, sum(where(f.row_of == f.column_of + 1, a, 0.0), {1}), 0.0);
  const Num inside = (f.row_of > f.column_of) & ~((f.row_of == f.column_of + 1) & f.across(firsts));
  const Value l = where(inside, a, 0.0).v, order = end[1];
  const Num y(triangular_solve(l, chosen_rows(read_by_columns(b, plan.dtype, batch, n, k), order), {true, true}));
  // The blocks of D; `before` and `after`: the element of the row before, and after.
  auto moved = [](const Num& x, int64_t by) {
    Dims low = x.v->shape, high = low;
    for (int i = 0; i < low.ndim(); ++i) {
      low[i] = i == 1 ? by : 0;
      high[i] = -low[i];
    }
    return Num(pad(x.v, low, high, constant_int(0, x.v->dtype)));
  };
  auto before = [&](const Num& x) { return moved(x, 1); };
  auto after = [&](const Num& x) { return moved(x, -1); };
  auto wide = [&](const Num& x) { return Num(broadcast(x.v, y.v->shape, {0, 1})); };
  const Num upper = hermitian ? conj(off) : off, det = where(firsts, diagonal * after(diagonal) - off * upper, 1.0);
  const Num seconds(before(firsts)), single = where(firsts | seconds, 1.0, diagonal);
  const Num of_first = (wide(after(diagonal)) * y - wide(upper) * after(y)) / wide(det);
  const Num of_second =
      (wide(before(diagonal)) * y - wide(before(off)) * before(y)) / wide(where(seconds, before(det), 1.0));
  const Num z = where(wide(firsts), of_first, where(wide(seconds), of_second, y / wide(single)));
  const Value w = triangular_solve(l, z.v, {true, true, hermitian ? Transpose::Adjoint : Transpose::Plain});
  write_by_columns(b, plan.dtype, chosen_rows(w, sorted_order(order)));
}

}  // namespace strided::xla
