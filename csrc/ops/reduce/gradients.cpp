#include "ops/reduce/gradients.h"

#include "ops/index/index.h"
#include "ops/record.h"
#include "ops/reduce/scan.h"
#include "ops/shape/view.h"

namespace strided {

Tensor expand_reduced(const Tensor& result, const Dims& shape, uint64_t axes, bool keepdim) {
  Tensor t = result;
  if (!keepdim && t.ndim() > 0)
    for (int i = 0; i < shape.ndim(); ++i)
      if (axes >> i & 1) t = unsqueeze(t, i);
  return expand(t, shape);
}

Tensor share_among_ties(const Tensor& g, const Tensor& x, const Tensor& out, uint64_t axes, bool keepdim) {
  Tensor mask, count;
  {
    NoGradGuard guard;
    const Tensor wide = expand_reduced(out, x.shape(), axes, keepdim);
    mask = elementwise<LogicalOr>(elementwise<Eq>(x, wide),
                                  elementwise<LogicalAnd>(elementwise<Isnan>(x), elementwise<Isnan>(wide)));
    count = call_reduction(reduction_def(reduction_id<CountNonzero>), mask, axes, keepdim, DType::Bool, 0);
  }
  return masked(expand_reduced(g / count, x.shape(), axes, keepdim), mask);
}

Tensor expanded(const Tensor& g, const SavedReduction& s) { return expand_reduced(g, s.shape, s.axes, s.keepdim); }

Tensor zero_at_nan(const Tensor& x, const Tensor& at) { return masked_fill(x, elementwise<Isnan>(at), Scalar(0)); }

Tensor weights_of_exp(const SavedReduction& s) {
  // Beside an infinite result the weights are those of equal elements; exp(inf - inf) would be NaN.
  const Tensor shift = masked_fill(s.out, elementwise<Isinf>(s.out), Scalar(0));
  return elementwise<Exp>(s.x - expanded(shift, s));
}

Tensor shared_among_ties(const Tensor& g, const SavedReduction& s) {
  return share_among_ties(g, s.x, s.out, s.axes, s.keepdim);
}

namespace {

Tensor ones_before(const Tensor& x, int64_t dim);

// Products of all other elements along an axis: those before times those after.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  const Tensor back = slice(x, dim, x.size(dim) - 1, -x.size(dim) - 1, -1);
  const Tensor after = cumprod(ones_before(back, dim), dim, std::nullopt);
  return cumprod(ones_before(x, dim), dim, std::nullopt) * slice(after, dim, x.size(dim) - 1, -x.size(dim) - 1, -1);
}
// 1, x[0], ..., x[n - 2]
Tensor ones_before(const Tensor& x, int64_t dim) {
  const int64_t n = x.size(dim);
  const ViewFn all_but_first = [=](const Tensor& t) { return slice(t, dim, 1, n, 1); };
  Tensor first = zeros(x.shape(), x.dtype(), x.device());
  fill_into(make_view(first, slice(first.layout(), static_cast<int>(dim), 0, 1, 1)), Scalar(1));
  return scatter_to_zeros(slice(x, dim, 0, n - 1, 1), x.shape(), all_but_first) + first;
}

}  // namespace

Tensor product_gradient(const Tensor& g, const SavedReduction& s) {
  const Tensor& x = s.x;
  const Tensor wide = expanded(g, s);
  if (x.numel() == 0) return wide * conj(x);  // recorded as others are: empty shards have the graph of full ones
  bool has_zero;
  {
    NoGradGuard guard;
    has_zero = !truth(strided::all(x), true);
  }
  if (!has_zero) return wide * conj(expanded(s.out, s) / x);
  // One axis to reduce, then: the reduced ones last, and flat.
  if (x.ndim() == 0) return clone(wide);
  Dims order, reduced;
  for (int i = 0; i < x.ndim(); ++i) (s.axes >> i & 1 ? reduced : order).push_back(i);
  const int kept = order.ndim();
  for (int64_t d : reduced) order.push_back(d);
  const Tensor moved = permute(x, order);
  const Tensor others = reshape(product_of_others(flatten(moved, kept, -1), kept), moved.shape());
  Dims back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return wide * conj(contiguous(permute(others, back)));
}

}  // namespace strided
