#include "ops/linalg/lstm.h"

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/linalg/matmul.h"
#include "ops/shape/view.h"

namespace strided {
namespace {

LstmPlan plan_of(const Tensor& gates) {
  LstmPlan plan;
  plan.dtype = gates.dtype();
  plan.rows = gates.size(1);
  plan.width = gates.size(2) / 4;
  return plan;
}

// to = (adds ? to : 0) + a @ b. Where b has 16 bits, a is rounded to them, and the sum is not.
void product_into(const Tensor& to, const Tensor& a, const Tensor& b, bool adds) {
  gemm_into(to, to_dtype(a, b.dtype()), b, Scalar(1), Scalar(adds ? 1 : 0));
}

bool is_like(const Tensor& t, const Tensor& gates, const Dims& shape) {
  return t.dtype() == gates.dtype() && t.device() == gates.device() && t.shape() == shape;
}

}  // namespace

bool lstm_steps(const Tensor& gates, const Tensor& h, const Tensor& c, const Tensor& w_hh, const Tensor& outputs,
                const Tensor& cells, const std::optional<Tensor>& tanhs, bool reverse) {
  const NetworkFunctions& functions = network_functions(gates.device());
  if (functions.lstm_step == nullptr || (gates.dtype() != DType::Float32 && gates.dtype() != DType::Float64))
    return false;
  if (gates.ndim() != 3 || gates.size(2) % 4 != 0) return false;
  LstmPlan plan = plan_of(gates);
  const int64_t steps = gates.size(0);
  const Dims state = {plan.rows, plan.width}, all = {steps, plan.rows, plan.width};
  const auto is_written = [&](const Tensor& t) { return t.is_contiguous() && is_like(t, gates, all); };
  const bool one = cells.ndim() == 2;  // the last cells alone
  const Dims weights = {4 * plan.width, plan.width};
  const bool narrow =
      gates.dtype() == DType::Float32 && (w_hh.dtype() == DType::BFloat16 || w_hh.dtype() == DType::Float16);
  if (!is_like(h, gates, state) || !is_like(c, gates, state)) return false;
  if (narrow ? w_hh.device() != gates.device() || w_hh.shape() != weights : !is_like(w_hh, gates, weights))
    return false;
  if (!gates.is_contiguous() || !is_written(outputs) || (tanhs && !is_written(*tanhs))) return false;
  if (one ? !cells.is_contiguous() || !is_like(cells, gates, state) : !is_written(cells)) return false;
  // Factors that serve many products: rows of the turned matrix are contiguous.
  const Tensor turned = steps > 2 ? contiguous(transpose(w_hh, 0, 1)) : transpose(w_hh, 0, 1);
  const Tensor first = contiguous(c);
  plan.previous = first.data();
  Tensor before = h;
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = reverse ? steps - 1 - s : s;
    const Tensor step = select(gates, 0, t), out = select(outputs, 0, t);
    const Tensor cell = one ? cells : select(cells, 0, t);
    product_into(step, before, turned, true);
    plan.gates = step.data();
    plan.cell = cell.data();
    plan.tanh = tanhs ? select(*tanhs, 0, t).data() : nullptr;
    plan.out = out.data();
    functions.lstm_step(plan);
    plan.previous = plan.cell;
    before = out;
  }
  return true;
}

Tensor lstm_gradients(const Tensor& gates, const Tensor& c, const Tensor& w_hh, const Tensor& cells,
                      const Tensor& tanhs, const Tensor& d_outputs, const Tensor& dh, const Tensor& dc, bool reverse) {
  const NetworkFunctions& functions = network_functions(gates.device());
  LstmPlan plan = plan_of(gates);
  const int64_t steps = gates.size(0);
  for (const Tensor* t : {&dh, &dc})
    STRIDED_CHECK(t->is_contiguous() && is_like(*t, gates, {plan.rows, plan.width}), RuntimeError,
                  "the gradients of the last states of an LSTM must be of their shape and dtype, got shape ",
                  t->shape());
  STRIDED_CHECK(is_like(d_outputs, gates, {steps, plan.rows, plan.width}), RuntimeError,
                "the gradient of the outputs of an LSTM must be of their shape and dtype, got shape ",
                d_outputs.shape());
  const Tensor made = empty(gates.shape(), gates.dtype(), gates.device());
  const Tensor first = contiguous(c), given = contiguous(d_outputs);
  plan.by_cell = dc.data();
  plan.by_next = dh.data();
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t t = reverse ? s : steps - 1 - s, earlier = reverse ? t + 1 : t - 1;
    const Tensor d = select(made, 0, t);
    plan.gates = select(gates, 0, t).data();
    plan.previous = s + 1 < steps ? select(cells, 0, earlier).data() : first.data();
    plan.tanh = select(tanhs, 0, t).data();
    plan.by_out = select(given, 0, t).data();
    plan.by_gates = d.data();
    functions.lstm_gradient(plan);
    product_into(dh, d, w_hh, false);
  }
  return made;
}

}  // namespace strided
