// Eigenvalues of Hermitian matrices and singular values, by rotations that make pairs of columns orthogonal: M. R.
// Hestenes, "Inversion of matrices by biorthogonalization and related results", J. SIAM 6 (1958), all pairs in the
// rounds of a tournament: R. P. Brent, F. T. Luk, "The solution of singular-value and symmetric eigenvalue problems on
// multiprocessor arrays", SIAM J. Sci. Stat. Comput. 6 (1985).
#include <algorithm>
#include <string>
#include <vector>

#include "xla/loop.h"
#include "xla/memory.h"
#include "xla/qr.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

constexpr int64_t kSweeps = 50;  // some 6 to 12 are needed

Value columns(const Value& a, int64_t first, int64_t last) {
  return slice(a, {0, 0, first}, {a->shape[0], a->shape[1], last});
}
Value rows(const Value& a, int64_t first, int64_t last) {
  return slice(a, {0, first, 0}, {a->shape[0], last, a->shape[2]});
}
// One number for each matrix, or for each column, over a shape.
Num over(const Num& x, const Value& like, const Dims& axes) {
  return cast(Num(broadcast(x.v, like->shape, axes)), like->dtype);
}

// A V = W with orthogonal columns; V has orthonormal ones, and is null where it is not wanted.
struct Orthogonal {
  Value w, v;
  Num converged;  // one bool
};

struct Pairs {
  Value left, right;
  Num cosine;  // the largest of a pair, before the rotation
};

// Rotates the columns of each pair. The first m rows are those that become orthogonal.
Pairs rotated(const Value& left, const Value& right, int64_t m) {
  const Num l(rows(left, 0, m)), r(rows(right, 0, m));
  const Num alpha = sum(square(l), {1}), beta = sum(square(r), {1}), gamma = sum(conj(l) * r, {1});
  const Num g = abs(gamma), size = sqrt(alpha) * sqrt(beta), turn = (g > 0.0) & (size > 0.0);
  const Num divisor = where(turn, g, 1.0);
  const Num zeta = (beta - alpha) / (divisor * 2);
  const Num tangent = where(zeta < 0.0, zeta.like(-1), zeta.like(1)) / (abs(zeta) + sqrt(zeta * zeta + 1));
  const Num t = where(turn, tangent, 0.0), c = 1 / sqrt(t * t + 1), s = c * t;
  const Num phase = gamma.complex() ? where(turn, conj(gamma) / cast(divisor, gamma.v->dtype), 1.0)
                                    : where(gamma < 0.0, gamma.like(-1), gamma.like(1));
  auto wide = [&](const Num& x) { return over(x, left, {0, 2}); };
  const Num a(left), b = Num(right) * wide(phase);
  return {(wide(c) * a - wide(s) * b).v, (wide(s) * a + wide(c) * b).v,
          most(where(turn, g / where(turn, size, 1.0), 0.0), {0, 1})};
}

Orthogonal orthogonal_columns(const Value& a, bool vectors) {
  const int64_t batch = a->shape[0], m = a->shape[1], n = a->shape[2], half = (n + 1) / 2;
  const DType real_dtype = real_of(a->dtype);
  const Num yes(constant_int(1, DType::Bool));
  Value all = vectors ? concatenate({a, identity(a->dtype, {batch, n, n})}, 1) : a;
  auto parts = [&](const Value& x) { return Orthogonal{rows(x, 0, m), vectors ? rows(x, m, m + n) : Value(), yes}; };
  if (n == 1) return parts(all);
  if (n % 2) all = pad(all, {0, 0, 0}, {0, 0, 1}, constant_int(0, a->dtype));  // a column of zeros is never turned
  const double eps = real_dtype == DType::Float64 ? 2.2e-16 : 1.2e-7;
  const double tolerance = eps * static_cast<double>(std::max<int64_t>(10, m));
  auto round = [&](const Value&, const Values& v) {
    const Pairs next = rotated(v[0], v[1], m);
    const Value worst = larger(Num(v[2]), next.cosine).v;
    if (half == 1) return Values{next.left, next.right, worst};
    // All but the first go one place on, the left ones to the right.
    std::vector<Value> left{columns(next.left, 0, 1), columns(next.right, 0, 1)};
    if (half > 2) left.push_back(columns(next.left, 1, half - 1));
    return Values{concatenate(left, 2),
                  concatenate({columns(next.right, 1, half), columns(next.left, half - 1, half)}, 2), worst};
  };
  // After as many rounds as a column has partners each stands where it stood.
  const Values start{constant_int(0, DType::Int64), columns(all, 0, half), columns(all, half, 2 * half),
                     constant(1, real_dtype)};
  const Values end = loop(
      start, [&](const Values& v) { return ((Num(v[0]) < static_cast<double>(kSweeps)) & (Num(v[3]) > tolerance)).v; },
      [&](const Values& v) {
        const Values swept = repeat(2 * half - 1, {v[1], v[2], constant(0, real_dtype)}, round);
        return Values{(Num(v[0]) + 1).v, swept[0], swept[1], swept[2]};
      });
  Orthogonal found = parts(columns(concatenate({end[1], end[2]}, 2), 0, n));
  found.converged = Num(end[3]) <= tolerance;
  return found;
}

// The columns in the order of their keys (batch, n), and the keys.
struct Ordered {
  Value keys, order;
};
Ordered in_order(const Num& keys, bool descending) {
  const Value both = sorted({keys.v, iota(DType::Int64, keys.v->shape, 1)}, descending);
  return {part(both, 0), part(both, 1)};
}
Value chosen_columns(const Value& a, const Value& order) {
  return transpose(chosen_rows(transpose(a, {0, 2, 1}), order), {0, 2, 1});
}

// Whether all elements of each matrix are finite.
Num all_finite(const Num& a) {
  const Num good = a.complex() ? finite(real(a)) & finite(imag(a)) : finite(a);
  return Num(fold("stablehlo.and", good.v, constant_int(1, DType::Bool), {1, 2}));
}

void write_info(const DecompositionPlan& plan, const Num& finite, const Num& converged, int64_t not_finite) {
  const Dims shape{plan.batch};
  const Num none(constant_int(0, DType::Int32, shape)), one(constant_int(1, DType::Int32, shape)),
      bad(constant_int(not_finite, DType::Int32, shape));
  write(plan.info, DType::Int32, shape, where(finite, where(Num(broadcast(converged.v, shape)), none, one), bad).v);
}

struct SingularValues {
  Value s, u, vh;
  Value finite, converged;  // for each matrix; one bool
};
// A = Q R; the columns of R^H are made orthogonal: R^H V = W = X S, so that A = (Q V) S X^H. X is the Q of a QR
// decomposition of W, which has a column for a singular value 0 too.
SingularValues singular_values(const Value& of, bool vectors, bool full) {
  const Num given(of);
  const int64_t batch = of->shape[0], given_m = of->shape[1], given_n = of->shape[2];
  const DType dtype = of->dtype;
  const bool wide = given_m < given_n;
  const int64_t m = std::max(given_m, given_n), n = std::min(given_m, given_n);
  const Num good = all_finite(given), tall(wide ? adjoint_of(given.v) : given.v);
  const Num size = most(abs(given), {1, 2}), scale = where((size == 0.0) | ~good, 1.0, size);
  const Num good_everywhere(broadcast(good.v, tall.v->shape, {0}));
  const Packed q = packed_qr(where(good_everywhere, tall / over(scale, tall.v, {0}), 0.0).v);
  const Num top(rows(q.a, 0, n)), row(iota(DType::Int64, top.v->shape, 1)), column(iota(DType::Int64, top.v->shape, 2));
  const Orthogonal found = orthogonal_columns(adjoint_of(where(row <= column, top, 0.0).v), vectors);
  const Ordered ordered = in_order(sqrt(sum(square(Num(found.w)), {1})), true);
  const Num values(ordered.keys);
  SingularValues result{(values * over(scale, values.v, {0})).v, {}, {}, good.v, found.converged.v};
  if (!vectors) return result;
  const Packed right = packed_qr(chosen_columns(found.w, ordered.order));
  const Value ones = form_columns(right, n);
  // The diagonal of R is real, of either sign.
  const Num diagonal = sum(where(row == column, real(Num(right.a)), 0.0), {1});
  const Num sign = where(diagonal < 0.0, diagonal.like(-1), diagonal.like(1));
  const Value x = (Num(ones) * over(sign, ones, {0, 2})).v;
  Value inner = chosen_columns(found.v, ordered.order);  // Q times that, with the rest of Q if all of it is wanted
  const int64_t count = full ? m : n;
  if (count > n) {
    const Value beside = constant_int(0, dtype, {batch, n, count - n});
    const Value below =
        concatenate({constant_int(0, dtype, {batch, count - n, n}), identity(dtype, {batch, count - n, count - n})}, 2);
    inner = concatenate({concatenate({inner, beside}, 2), below}, 1);
  }
  if (m > count) inner = concatenate({inner, constant_int(0, dtype, {batch, m - count, count})}, 1);
  const Value y = apply_reflectors(q, inner, false);
  result.u = wide ? x : y;
  result.vh = adjoint_of(wide ? y : x);
  return result;
}

}  // namespace

// H + c, c at least the size of the eigenvalues, has them for singular values, and the same vectors. The eigenvalues
// are then Rayleigh quotients, whose errors are squares of those of the vectors.
void eigh(const DecompositionPlan& plan, void* w, bool upper, bool vectors) {
  const int64_t n = plan.n;
  const Dims by_column{plan.batch, n};
  const DType real_dtype = real_of(plan.dtype);
  const Num given(read_by_columns(plan.a, plan.dtype, plan.batch, n, n));
  const Num row(iota(DType::Int64, given.v->shape, 1)), column(iota(DType::Int64, given.v->shape, 2));
  const Num kept = where(upper ? row <= column : row >= column, given, 0.0);
  const Num good = all_finite(kept);
  const Num other(adjoint_of(kept.v)), diagonal = cast(real(kept), plan.dtype);
  const Num full = where(row == column, diagonal, kept + other);
  const Num norm = most(sum(abs(full), {2}), {1}), scale = where((norm == 0.0) | ~good, 1.0, norm);
  const Num h = where(Num(broadcast(good.v, full.v->shape, {0})), full / over(scale, full.v, {0}), 0.0);
  const Orthogonal found = orthogonal_columns((h + Num(identity(plan.dtype, h.v->shape))).v, true);
  const Num v(found.v), values = real(sum(conj(v) * Num(product(h.v, found.v)), {1}));
  const Ordered ordered = in_order(values, false);
  const Num unknown(constant(NAN, real_dtype, by_column)), known = over(scale, values.v, {0}) * Num(ordered.keys);
  write(w, real_dtype, by_column, where(Num(broadcast(good.v, by_column, {0})), known, unknown).v);
  if (vectors) {
    const Num chosen(chosen_columns(found.v, ordered.order));
    write_by_columns(plan.a, plan.dtype,
                     where(Num(broadcast(good.v, chosen.v->shape, {0})), chosen, chosen.like(NAN)).v);
  }
  write_info(plan, good, found.converged, 0);
}

void svd(const DecompositionPlan& plan, void* s, void* u, void* vh, bool full, const char* driver) {
  STRIDED_CHECK(!driver, RuntimeError, plan.name,
                ": keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  const Value given = read_by_columns(plan.a, plan.dtype, plan.batch, plan.m, plan.n);
  const SingularValues found = singular_values(given, u != nullptr, full);
  write(s, real_of(plan.dtype), found.s->shape, found.s);
  write_info(plan, Num(found.finite), Num(found.converged), -1);
  if (!u) return;
  write_by_columns(u, plan.dtype, found.u);
  write_by_columns(vh, plan.dtype, found.vh);
}

// X = V S^+ U^H B. gels: by QR, as matrices have full rank then; the driver says what it gives besides, as on the CPU.
void least_squares(const DecompositionPlan& plan, int64_t k, void* b, const char* driver, double rcond, int32_t* rank,
                   void* s, LeastSquaresParts* gives) {
  const std::string name = driver ? driver : "gelsy";
  const bool full_rank = name == "gels", by_values = name == "gelss" || name == "gelsd";
  STRIDED_CHECK(full_rank || by_values || name == "gelsy", RuntimeError, plan.name,
                ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  *gives = {!full_rank, by_values, name != "gelsy"};
  const int64_t m = plan.m, n = plan.n, least = std::min(m, n), longest = std::max(m, n);
  if (plan.batch * m * n * k == 0) return;
  const Value a = read_by_columns(plan.a, plan.dtype, plan.batch, m, n);
  const Value right = read_by_columns(b, plan.dtype, plan.batch, longest, k), c = rows(right, 0, m);
  const Dims by_matrix{plan.batch};
  const Num good = all_finite(Num(a)) & all_finite(Num(c));
  Value x;
  Num info(constant_int(0, DType::Int32, by_matrix));
  if (full_rank) {
    const Packed q = packed_qr(m >= n ? a : adjoint_of(a));
    const Value r = rows(q.a, 0, least),
                on_diagonal = compare("EQ", iota(DType::Int64, r->shape, 1), iota(DType::Int64, r->shape, 2));
    if (m >= n) {
      x = triangular_solve(r, rows(apply_reflectors(q, c, true), 0, n), {});
    } else {
      const Value y = triangular_solve(r, c, {false, false, Transpose::Adjoint});
      x = apply_reflectors(q, pad(y, {0, 0, 0}, {0, n - m, 0}, constant_int(0, plan.dtype)), false);
    }
    // The first that is zero, from 1 on.
    const Value none = constant_int(least + 1, DType::Int32, r->shape);
    const Num at = where(Num(on_diagonal) & (Num(r) == 0.0), Num(iota(DType::Int32, r->shape, 1)) + 1, Num(none));
    const Num first(fold("stablehlo.minimum", at.v, constant_int(least + 1, DType::Int32), {1, 2}));
    info = where(first > static_cast<double>(least), 0.0, first);
  } else {
    const SingularValues found = singular_values(a, true, false);
    const Num values(found.s);
    const Num limit = most(values, {1}) * rcond;
    const Num used = (values > 0.0) & (values >= Num(broadcast(limit.v, values.v->shape, {0})));
    const Num inverse = where(used, 1 / where(used, values, 1.0), 0.0);
    const Num projected(product(adjoint_of(found.u), c));
    x = product(adjoint_of(found.vh), (projected * over(inverse, projected.v, {0, 1})).v);
    write(rank, DType::Int32, by_matrix, sum(cast(used, DType::Int32), {1}).v);
    if (by_values) write(s, real_of(plan.dtype), found.s->shape, found.s);
    info = where(Num(broadcast(found.converged, by_matrix)), info, info.like(1));
  }
  write(plan.info, DType::Int32, by_matrix, where(good, info, info.like(-1)).v);
  Value all = x;
  if (m > n) {  // what is left over, whose size is all that is asked for: in the first of the rows
    const Num rest = Num(c) - Num(product(a, x));
    const Num size = cast(sqrt(sum(square(rest), {1})), plan.dtype);
    const Value row = reshape(size.v, {plan.batch, 1, k});
    all = concatenate({x, pad(row, {0, 0, 0}, {0, m - n - 1, 0}, constant_int(0, plan.dtype))}, 1);
  }
  write_by_columns(b, plan.dtype, all);
}

}  // namespace strided::xla
