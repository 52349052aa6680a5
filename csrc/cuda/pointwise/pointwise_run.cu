#include "cuda/pointwise/pointwise_run.h"

#include "cuda/runtime/allocator.h"

namespace strided {
namespace cuda {
namespace {

constexpr int64_t kMaxStride = (int64_t(1) << 31) - 1;

bool fits_stride(int64_t s) { return s <= kMaxStride && s >= -kMaxStride; }

// Does operand k stand still, so that it is read once?
bool is_constant(const LoopPlan& plan, int k) {
  if (plan.operand[k].immediate) return true;
  for (int i = 0; i < plan.ndim; ++i)
    if (plan.operand[k].strides[i] != 0 && plan.shape[i] != 1) return false;
  return true;
}

void set_constant(LoopArgs& a, int k, const LoopPlan::Operand& from, const PointwiseKernel& kernel) {
  a.constant = static_cast<uint8_t>(a.constant | 1 << k);
  a.data[k] = nullptr;
  if (from.immediate) convert_value(kernel.operand[k], a.value[k], from.dtype, from.data);
  else a.data[k] = from.data;
}

// Fills the arguments for the vector kernel, or says that it is not for this plan.
bool vectorises(const PointwiseKernel& kernel, const LoopPlan& plan, LoopArgs& a) {
  if (!kernel.vector || plan.ndim == 0) return false;
  const int64_t width = kernel.width, n0 = plan.shape[0];
  if (n0 < width || (plan.ndim > 1 && n0 % width != 0)) return false;
  for (int k = 0; k < plan.n_operands; ++k) {
    const LoopPlan::Operand& op = plan.operand[k];
    if (k > 0 && is_constant(plan, k)) {
      if (op.dtype != kernel.operand[k] && !op.immediate) return false;
      set_constant(a, k, op, kernel);
      continue;
    }
    const int64_t size = kernel.itemsize[k];
    if (op.dtype != kernel.operand[k]) return false;
    a.data[k] = op.data;
    const bool splat = k > 0 && op.strides[0] == 0;
    if (!splat &&
        (op.strides[0] != size || reinterpret_cast<uintptr_t>(op.data) % static_cast<uintptr_t>(width * size) != 0))
      return false;
    if (splat) a.splat = static_cast<uint8_t>(a.splat | 1 << k);
    a.stride[0][k] = static_cast<int32_t>(splat ? 0 : width * size);
    for (int i = 1; i < plan.ndim; ++i) {
      if (!splat && op.strides[i] % (width * size) != 0) return false;
      a.stride[i][k] = static_cast<int32_t>(op.strides[i]);
    }
  }
  a.tail = static_cast<uint32_t>(n0 % width);
  int64_t items = (n0 + width - 1) / width;
  a.size[0] = Divisor(static_cast<uint32_t>(items));
  for (int i = 1; i < plan.ndim; ++i) {
    a.size[i] = Divisor(static_cast<uint32_t>(plan.shape[i]));
    items *= plan.shape[i];
  }
  a.n = static_cast<uint32_t>(items);
  a.ndim = plan.ndim;
  return true;
}

void generalise(const PointwiseKernel& kernel, const LoopPlan& plan, LoopArgs& a) {
  for (int k = 0; k < plan.n_operands; ++k) {
    const LoopPlan::Operand& op = plan.operand[k];
    if (!op.immediate && op.dtype != kernel.operand[k]) {
      a.cast = static_cast<uint8_t>(a.cast | 1 << k);
      a.dtype[k] = static_cast<uint8_t>(op.dtype);
    }
    if (k > 0 && is_constant(plan, k)) {
      set_constant(a, k, op, kernel);
      continue;
    }
    a.data[k] = op.data;
    for (int i = 0; i < plan.ndim; ++i) a.stride[i][k] = static_cast<int32_t>(op.strides[i]);
  }
  for (int i = 0; i < plan.ndim; ++i) a.size[i] = Divisor(static_cast<uint32_t>(plan.shape[i]));
  a.n = static_cast<uint32_t>(plan.numel());
  a.ndim = plan.ndim == 0 ? 1 : plan.ndim;
}

unsigned blocks_for(uint32_t items, int unroll) {
  const uint64_t per_block = uint64_t(kThreads) * static_cast<uint64_t>(unroll);
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// A result that is stored in another dtype than the kernel's: through memory of the kernel's.
void run_into_other(const PointwiseKernel& kernel, const LoopPlan& plan, const double* params) {
  int64_t strides[64], step = kernel.itemsize[0];
  for (int i = 0; i < plan.ndim; ++i) {
    strides[i] = step;
    step *= plan.shape[i];
  }
  const Workspace buffer(static_cast<size_t>(step), plan.device);
  LoopPlan fresh = plan;
  fresh.operand[0] = {buffer.data(), strides, kernel.operand[0], false};
  run_pointwise(kernel, fresh, params);
  LoopPlan back = plan;
  back.n_operands = 2;
  back.operand[1] = fresh.operand[0];
  run_copy(back);
}

}  // namespace

void convert_value(DType to_dtype, void* to, DType from_dtype, const void* from) {
  dispatch(from_dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    const From value = load<From>(static_cast<const char*>(from));
    dispatch(to_dtype, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const To converted = convert<To>(value);
      std::memcpy(to, &converted, sizeof(To));
    });
  });
}

LoopPlan without_ones(const LoopPlan& given) {
  LoopPlan plan = given;
  while (plan.ndim > 1 && plan.shape[plan.ndim - 1] == 1) --plan.ndim;
  return plan;
}

Cut needs_cut(const LoopPlan& plan) {
  for (int i = 0; i < plan.ndim; ++i)
    for (int k = 0; k < plan.n_operands; ++k)
      if (!plan.operand[k].immediate && !fits_stride(plan.operand[k].strides[i])) return {i, 1};
  if (plan.ndim > kMaxAxes) return {plan.ndim - 1, 1};
  const int64_t n = plan.numel();
  if (n < kMaxItems) return {};
  // The outermost axis that has more than one element; its parts are whole multiples of any vector width.
  int axis = plan.ndim - 1;
  while (plan.shape[axis] == 1) --axis;
  const int64_t step = plan.shape[axis] / (n / (kMaxItems / 2) + 1);
  return {axis, step > 64 ? step / 64 * 64 : step > 1 ? step : 1};
}

bool run_vectors(const PointwiseKernel& kernel, const LoopPlan& plan, const double* params) {
  LoopArgs a;
  if (needs_cut(plan).axis >= 0 || !vectorises(kernel, plan, a)) return false;
  if (params) std::memcpy(a.params, params, sizeof(a.params));
  const OnDevice guard(plan.device);
  launch(kernel.vector, dim3(blocks_for(a.n, kernel.vector_unroll)), dim3(kThreads), 0, current_stream(plan.device), a);
  check_launch(plan.name);
  return true;
}

void run_pointwise(const PointwiseKernel& kernel, const LoopPlan& given, const double* params) {
  STRIDED_CHECK(kernel.general, NotImplementedError, given.name, ": not implemented on device 'cuda'");
  if (given.numel() == 0) return;
  const LoopPlan plan = without_ones(given);
  if (plan.operand[0].dtype != kernel.operand[0]) return run_into_other(kernel, plan, params);
  if (const Cut cut = needs_cut(plan); cut.axis >= 0)
    return for_parts(plan, cut, [&](const LoopPlan& part) { run_pointwise(kernel, part, params); });
  if (run_vectors(kernel, plan, params)) return;
  LoopArgs a;
  if (params) std::memcpy(a.params, params, sizeof(a.params));
  generalise(kernel, plan, a);
  const OnDevice guard(plan.device);
  launch(kernel.general, dim3(blocks_for(a.n, kernel.general_unroll)), dim3(kThreads), 0, current_stream(plan.device),
         a);
  check_launch(plan.name);
}

}  // namespace cuda
}  // namespace strided
