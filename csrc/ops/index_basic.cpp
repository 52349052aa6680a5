// Basic indexing: views by integers, slices, new axes. What the view is to its tensor stands in a list of steps, so that the
// gradient, whose strides differ, can be indexed alike.
#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index.h"
#include "ops/index_move.h"
#include "ops/record.h"

namespace strided {

Layout apply_basic(const Layout& from, const BasicStep* steps, size_t n) {
  Layout out(Dims(), Dims(), from.offset);
  int axis = 0;
  auto keep = [&] {
    out.shape.push_back(from.shape[axis]);
    out.strides.push_back(from.strides[axis]);
    ++axis;
  };
  for (size_t k = 0; k < n; ++k) {
    const BasicStep& step = steps[k];
    if (step.kind == BasicStep::NewAxis) {
      // The stride PyTorch's unsqueeze gives: as if the axis enclosed the one that follows it in `from`.
      out.shape.push_back(1);
      out.strides.push_back(axis < from.ndim() ? from.shape[axis] * from.strides[axis] : 1);
      continue;
    }
    if (step.kind == BasicStep::Skip) {
      for (int64_t i = 0; i < step.start && axis < from.ndim(); ++i) keep();
      continue;
    }
    STRIDED_CHECK(axis < from.ndim(), IndexError, "too many indices for tensor of dimension ", from.ndim());
    const int64_t size = from.shape[axis], stride = from.strides[axis];
    if (step.kind == BasicStep::Select) {
      const int64_t i = step.start;
      // The axis the user sees is counted in what the steps before left standing.
      STRIDED_CHECK(i >= -size && i < size, IndexError, "index ", i, " is out of bounds for dimension ", axis, " with size ", size);
      out.offset += (i < 0 ? i + size : i) * stride;
      ++axis;
      continue;
    }
    if (step.start == 0 && step.stop >= size && step.step == 1) {
      keep();
      continue;
    }
    const Layout one = slice(Layout(Dims{size}, Dims{stride}, 0), 0, step.start, step.stop, step.step);
    out.shape.push_back(one.shape[0]);
    out.strides.push_back(one.strides[0]);
    out.offset += one.offset;
    ++axis;
  }
  while (axis < from.ndim()) keep();
  STRIDED_CHECK(out.ndim() <= kMaxDims, IndexError, "a tensor has at most ", kMaxDims, " dimensions, the index asks for ", out.ndim());
  return out;
}

Tensor basic_index(const Tensor& self, const BasicIndex& steps) {
  const Tensor out = make_view(self, apply_basic(self.layout(), steps.data(), steps.size()));
  return record("SliceBackward0", out, self, [shape = self.shape(), steps](const Tensor& g) {
    return basic_put_(zeros(shape, g.dtype(), g.device()), steps, g);
  });
}

Tensor basic_put_(const Tensor& self, const BasicIndex& steps, const Tensor& value) {
  const Tensor view = make_view(self, apply_basic(self.layout(), steps.data(), steps.size()));
  Layout from = value.layout();
  while (from.ndim() > view.ndim() && from.shape[0] == 1) {
    from.shape.erase(0);
    from.strides.erase(0);
  }
  expand(from, view.shape());  // raises when the shapes do not fit
  check_inplace("copy_", self);
  copy_into(view, make_view(value, from));
  bump_version(self);
  if (!needs_grad(self, value)) return self;
  return record("CopySlices", self, std::vector<Tensor>{self, value},
                [steps, dropped = std::max(value.ndim() - view.ndim(), 0), wants_self = self.requires_grad(),
                 wants_value = value.requires_grad()](const Tensor& g) {
                  Tensor to_self, to_value;
                  if (wants_self) to_self = basic_put_(clone(g), steps, zeros(Dims(), g.dtype(), g.device()));
                  if (wants_value) {
                    to_value = basic_index(g, steps);
                    if (dropped > 0) to_value = basic_index(to_value, BasicIndex(dropped, {BasicStep::NewAxis}));
                  }
                  return std::vector<Tensor>{to_self, to_value};
                });
}

}  // namespace strided
