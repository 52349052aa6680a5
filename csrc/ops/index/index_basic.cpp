// Basic indexing: views by integers, slices, new axes. What the view is to its tensor stands in a list of steps, so
// that the gradient, whose strides differ, can be indexed alike.
#include <algorithm>

#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/index/index.h"
#include "ops/index/indexed_copy.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {

namespace {

// Python's rules for a slice of an axis: how many elements, and where the first is. The same as slice() of core/layout,
// which makes a layout of its own; x[a:b] is called too often for that.
int64_t slice_axis(int64_t size, const BasicStep& s, int64_t* offset, int64_t stride) {
  STRIDED_CHECK(s.step != 0, ValueError, "slice step cannot be zero");
  const int64_t low = s.step > 0 ? 0 : -1, high = s.step > 0 ? size : size - 1;
  auto clip = [&](int64_t i) { return std::min(std::max(i < 0 ? i + size : i, low), high); };
  const int64_t start = clip(s.start), stop = clip(s.stop);
  const int64_t span = s.step > 0 ? stop - start : start - stop;
  *offset += std::max<int64_t>(start, 0) * stride;
  if (span <= 0) return 0;
  if (s.step == 1) return span;
  // |step| may be INT64_MIN: divide in unsigned arithmetic.
  const uint64_t pace = s.step > 0 ? static_cast<uint64_t>(s.step) : uint64_t(0) - static_cast<uint64_t>(s.step);
  return static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / pace + 1);
}

}  // namespace

Layout apply_basic(const Layout& from, const BasicStep* steps, size_t n) {
  Layout out;
  out.offset = from.offset;
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
      STRIDED_CHECK(i >= -size && i < size, IndexError, "index ", i, " is out of bounds for dimension ", axis,
                    " with size ", size);
      out.offset += (i < 0 ? i + size : i) * stride;
      ++axis;
      continue;
    }
    if (step.start == 0 && step.stop >= size && step.step == 1) {
      keep();
      continue;
    }
    const int64_t count = slice_axis(size, step, &out.offset, stride);
    out.shape.push_back(count);
    out.strides.push_back(widened(stride, step.step));
    ++axis;
  }
  while (axis < from.ndim()) keep();
  STRIDED_CHECK(out.ndim() <= kMaxDims, IndexError, "a tensor has at most ", kMaxDims,
                " dimensions, the index asks for ", out.ndim());
  return out;
}

namespace {

// The last step that does something; -1: none. A single slice is always recorded.
int last_step(const Dims& shape, const BasicIndex& steps) {
  int last = steps.size() == 1 && steps[0].kind == BasicStep::Slice ? 0 : -1;
  int axis = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const BasicStep& step = steps[i];
    if (step.kind == BasicStep::Skip) {
      axis += static_cast<int>(step.start);
      continue;
    }
    if (step.kind != BasicStep::Slice || step.start != 0 || step.stop < shape[axis] || step.step != 1)
      last = static_cast<int>(i);
    if (step.kind != BasicStep::NewAxis) ++axis;
  }
  return last;
}

// PyTorch takes one step after the other: the node has the name and shows the values of the last one.
struct ShownStep {
  const char *node, *names;
};
ShownStep shown_step(const Dims& shape, const BasicIndex& steps) {
  const int last = last_step(shape, steps);
  if (last < 0) return {"AliasBackward0", ""};
  switch (steps[last].kind) {
    case BasicStep::Select: return {"SelectBackward0", "dim self_sym_sizes index"};
    case BasicStep::Slice: return {"SliceBackward0", "dim self_sym_sizes start end step"};
    default: return {"UnsqueezeBackward0", "dim"};
  }
}

class BasicIndexFormula {
 public:
  BasicIndexFormula(const Dims& shape, const BasicIndex& steps) : shape_(shape), steps_(steps) {}
  Tensor operator()(const Tensor& g) const { return basic_put_(zeros(shape_, g.dtype(), g.device()), steps_, g); }
  void release() {}
  const char* names() const { return shown_step(shape_, steps_).names; }
  SavedValue value(int which, const Node&) const {
    const int last = last_step(shape_, steps_);
    const BasicStep& step = steps_[last];
    if (which == 1) return apply_basic(Layout(shape_), steps_.data(), last).shape;
    if (which > 1) return which == 2 ? step.start : which == 3 ? step.stop : step.step;
    int64_t dim = 0;  // counted in what the steps before left standing
    for (int i = 0; i < last; ++i)
      dim += steps_[i].kind == BasicStep::Skip ? steps_[i].start : steps_[i].kind == BasicStep::Select ? 0 : 1;
    return dim;
  }

 private:
  Dims shape_;
  BasicIndex steps_;
};

// Whether the steps lead to the tensor as it is.
bool is_whole(const Dims& shape, const BasicIndex& steps) {
  int axis = 0;
  for (const BasicStep& step : steps) {
    if (step.kind == BasicStep::Skip) {
      axis += static_cast<int>(step.start);
    } else if (step.kind != BasicStep::Slice || step.start != 0 || step.stop < shape[axis++] || step.step != 1) {
      return false;
    }
  }
  return true;
}

}  // namespace

Tensor basic_index(const Tensor& self, const BasicIndex& steps) {
  Tensor out = view_of(self, [&] { return apply_basic(self.layout(), steps.data(), steps.size()); });
  if (!needs_grad(self)) return out;
  return record(shown_step(self.shape(), steps).node, std::move(out), self, BasicIndexFormula(self.shape(), steps));
}

Tensor basic_put_(const Tensor& self, const BasicIndex& steps, const Tensor& value) {
  // x[...] = value is a write to x itself.
  const Tensor view = is_whole(self.shape(), steps) ? self : basic_index(self, steps);
  // As PyTorch: leading axes of size 1 that the view has not are dropped.
  Dims shape = value.shape();
  while (shape.ndim() > view.ndim() && shape[0] == 1) shape.erase(0);
  copy_(view, shape == value.shape() ? value : reshape(value, shape));
  return self;
}

}  // namespace strided
