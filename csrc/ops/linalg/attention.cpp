#include "ops/linalg/attention.h"

#include "backend/network_plans.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/shape/view.h"

namespace strided {

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                 bool causal, double scale) {
  constexpr const char* kName = "_attention";
  const auto operation = network_functions(query.device()).attention;
  STRIDED_CHECK(operation != nullptr, NotImplementedError, kName, ": not implemented on device '", query.device(), "'");
  STRIDED_CHECK(query.dtype() == DType::Float32 || query.dtype() == DType::Float64, RuntimeError, kName,
                ": not implemented for ", query.dtype());
  const Tensor* all[] = {&query, &key, &value, mask ? &*mask : &query};
  Dims lead;
  for (const Tensor* t : all) {
    check_same_device(kName, query, *t);
    STRIDED_CHECK(t->dtype() == query.dtype(), RuntimeError, kName, ": operands of ", query.dtype(), " and ",
                  t->dtype());
    STRIDED_CHECK(t->ndim() >= 2 || t == all[3], RuntimeError, kName, ": operands are matrices, got ", t->ndim(), "-D");
    STRIDED_CHECK(!needs_grad(*t), RuntimeError, kName, ": not recorded");
    if (t->ndim() > 2) lead = broadcast_shapes(lead, Dims(t->shape().data(), t->shape().size() - 2));
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
