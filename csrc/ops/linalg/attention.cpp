#include "ops/linalg/attention.h"

#include "backend/network_plans.h"
#include "ops/copy.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                 bool causal, double scale) {
  constexpr const char* kName = "_attention";
  const NetworkFunctions& functions = network_functions(query.device());
  const auto operation = functions.attention;
  STRIDED_CHECK(operation != nullptr, NotImplementedError, kName, ": not implemented on device '", query.device(), "'");
  const DType dtype = query.dtype();
  STRIDED_CHECK(is_floating(dtype) && size_of(dtype) > 1, RuntimeError, kName, ": not implemented for ", dtype);
  const bool narrow = dtype == DType::Float16 || dtype == DType::BFloat16;
  const Tensor* all[] = {&query, &key, &value, mask ? &*mask : &query};
  Dims lead;
  for (const Tensor* t : all) {
    check_same_device(kName, query, *t);
    const DType wanted = narrow && mask && t == &*mask ? DType::Float32 : dtype;
    STRIDED_CHECK(t->dtype() == wanted, RuntimeError, kName, ": operands of ", dtype, " and ", t->dtype());
    STRIDED_CHECK(t->ndim() >= 2 || t == all[3], RuntimeError, kName, ": operands are matrices, got ", t->ndim(), "-D");
    STRIDED_CHECK(!needs_grad(*t), RuntimeError, kName, ": not recorded");
    if (t->ndim() > 2) lead = broadcast_shapes(lead, Dims(t->shape().data(), t->shape().size() - 2));
  }
  if (narrow && !(functions.narrow_attention && dtype == DType::BFloat16)) {
    const auto wide = [](const Tensor& t) { return to_dtype(t, DType::Float32); };
    return to_dtype(attention(wide(query), wide(key), wide(value), mask, causal, scale), dtype);
  }
  const auto rows_of = [](const Tensor& t) { return t.size(t.ndim() - 2); };
  const int64_t queries = rows_of(query), keys = rows_of(key), features = query.shape().back(),
                values = value.shape().back();
  STRIDED_CHECK(features == key.shape().back() && keys == rows_of(value), RuntimeError, kName, ": shapes ",
                query.shape(), ", ", key.shape(), " and ", value.shape(), " do not fit");
  const auto wide = [&](const Tensor& t, int64_t rows, int64_t columns) {
    Dims shape = lead;
    shape.push_back(rows);
    shape.push_back(columns);
    return expand(t, shape);
  };
  const Tensor q = wide(query, queries, features), k = wide(key, keys, features), v = wide(value, keys, values),
               m = mask ? wide(*mask, queries, keys) : Tensor();
  Dims shape = lead;
  shape.push_back(queries);
  shape.push_back(values);
  const Tensor out = empty(shape, q.dtype(), q.device());
  if (out.numel() == 0) return out;
  AttentionPlan plan;
  plan.name = kName;
  plan.device = q.device().index;
  plan.dtype = q.dtype();
  plan.causal = causal;
  plan.scale = scale;
  plan.queries = queries, plan.keys = keys, plan.features = features, plan.values = values;
  const auto matrix_of = [](const Tensor& t) {
    return Matrix{t.data(), t.strides()[t.ndim() - 2], t.strides().back()};
  };
  plan.q = matrix_of(q), plan.k = matrix_of(k), plan.v = matrix_of(v);
  plan.mask = mask ? matrix_of(m) : Matrix{nullptr, 0, 0};
  plan.out = out.data();
  plan.batch_ndim = static_cast<int>(lead.size());
  plan.batch_shape = lead.data();
  plan.batch_strides[0] = q.strides().data();
  plan.batch_strides[1] = k.strides().data();
  plan.batch_strides[2] = v.strides().data();
  plan.batch_strides[3] = mask ? m.strides().data() : q.strides().data();
  operation(plan);
  return out;
}

}  // namespace strided
