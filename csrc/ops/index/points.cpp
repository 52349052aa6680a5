#include "ops/index/points.h"

#include <limits>
#include <optional>

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/factory.h"

namespace strided {
namespace {

// Places along an axis are whole numbers of float32.
constexpr int64_t kLongest = int64_t(1) << 24;

// The plan of a call, without addresses; nothing where the device does not serve it.
std::optional<SamplePlan> plan_of(const Tensor& x, const Tensor& grid, const std::string& mode,
                                  const std::string& padding, bool align) {
  SamplePlan plan;
  plan.dtype = x.dtype();
  plan.align = align;
  plan.axes = x.ndim() - 2;
  if ((plan.axes != 2 && plan.axes != 3) || grid.ndim() != x.ndim() || grid.size(grid.ndim() - 1) != plan.axes ||
      grid.size(0) != x.size(0))
    return std::nullopt;
  if (plan.dtype != DType::Float32 && plan.dtype != DType::Float64) return std::nullopt;
  if (grid.dtype() != plan.dtype || grid.device() != x.device() || x.numel() == 0) return std::nullopt;
  if (network_functions(x.device()).sample == nullptr) return std::nullopt;
  if (mode == "nearest") plan.mode = SamplePlan::Nearest;
  else if (mode == "bicubic" && plan.axes == 2) plan.mode = SamplePlan::Cubic;
  else if (mode != "bilinear") return std::nullopt;
  if (padding == "border") plan.outside = SamplePlan::Border;
  else if (padding == "reflection") plan.outside = SamplePlan::Reflection;
  else if (padding != "zeros") return std::nullopt;
  plan.batch = x.size(0);
  plan.channels = x.size(1);
  plan.points = grid.numel() / (plan.batch * plan.axes);
  int64_t size = 1;
  for (int i = 0; i < plan.axes; ++i) {
    if (x.size(i + 2) > kLongest) return std::nullopt;
    size *= plan.size[i] = x.size(i + 2);
    if (size >= std::numeric_limits<int32_t>::max()) return std::nullopt;  // places in an image are int32
  }
  return plan;
}

}  // namespace

Tensor grid_sample(const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                   bool align) {
  std::optional<SamplePlan> plan = plan_of(x, grid, mode, padding, align);
  if (!plan) return {};
  Dims shape = {x.size(0), x.size(1)};
  for (int i = 1; i <= plan->axes; ++i) shape.push_back(grid.size(i));
  const Tensor in = contiguous(x), at = contiguous(grid), out = empty(shape, x.dtype(), x.device());
  plan->in = in.data();
  plan->grid = at.data();
  plan->out = out.data();
  if (out.numel() > 0) network_functions(x.device()).sample(*plan);
  return out;
}

Tensor grid_sample_gradient(const Tensor& gradient, const Tensor& x, const Tensor& grid, const std::string& mode,
                            const std::string& padding, bool align, bool of_grid) {
  std::optional<SamplePlan> plan = plan_of(x, grid, mode, padding, align);
  if (!plan) return {};
  Dims shape = {x.size(0), x.size(1)};
  for (int i = 1; i <= plan->axes; ++i) shape.push_back(grid.size(i));
  STRIDED_CHECK(gradient.shape() == shape && gradient.dtype() == x.dtype() && gradient.device() == x.device(),
                RuntimeError, "grid_sampler(): the gradient must be of the result's shape ", shape, " and dtype ",
                x.dtype(), ", got shape ", gradient.shape(), " and dtype ", gradient.dtype());
  const Tensor& wanted = of_grid ? grid : x;
  if (gradient.numel() == 0 || (of_grid && plan->mode == SamplePlan::Nearest))
    return zeros(wanted.shape(), wanted.dtype(), wanted.device());
  const Tensor in = contiguous(x), at = contiguous(grid), g = contiguous(gradient);
  const Tensor made = empty(wanted.shape(), wanted.dtype(), wanted.device());
  plan->in = in.data();
  plan->grid = at.data();
  plan->gradient = g.data();
  (of_grid ? plan->by_grid : plan->by_in) = made.data();
  network_functions(x.device()).sample_gradient(*plan);
  return made;
}

}  // namespace strided
