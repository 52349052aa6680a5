#include "xla/loop.h"

namespace strided::xla {

Values loop(const Values& start, const std::function<Value(const Values&)>& condition,
            const std::function<Values(const Values&)>& body) {
  Values inside;
  std::vector<Type> types;
  for (const Value& v : start) {
    inside.push_back(parameter(static_cast<int>(inside.size()), v->dtype, v->shape));
    types.push_back({v->dtype, v->shape});
  }
  int level = 0;
  const Values go{condition(inside)}, next = body(inside);
  std::string text = "(" + write_region(inside, go, &level);
  text += ", " + write_region(inside, next, &level) + ") ";
  const Value node = add("stablehlo.while", start, std::move(types), std::move(text));
  node->level = level + 1;
  Values results;
  for (size_t i = 0; i < start.size(); ++i) results.push_back(part(node, static_cast<int>(i)));
  return results;
}

Values repeat(int64_t steps, const Values& start, const std::function<Values(const Value& i, const Values&)>& body) {
  if (steps <= 0) return start;
  Values counted{constant_int(0, DType::Int64)};
  counted.insert(counted.end(), start.begin(), start.end());
  Values results = loop(
      counted, [&](const Values& v) { return compare("LT", v[0], constant_int(steps, DType::Int64)); },
      [&](const Values& v) {
        Values next = body(v[0], Values(v.begin() + 1, v.end()));
        next.insert(next.begin(), binary("stablehlo.add", v[0], constant_int(1, DType::Int64)));
        return next;
      });
  results.erase(results.begin());
  return results;
}

Value slice_at(const Value& x, const Values& start, const Dims& sizes) {
  Values in{x};
  in.insert(in.end(), start.begin(), start.end());
  return add("stablehlo.dynamic_slice", std::move(in), x->dtype, sizes, "{slice_sizes = " + list(sizes) + "}");
}
Value update_at(const Value& x, const Value& part, const Values& start) {
  Values in{x, part};
  in.insert(in.end(), start.begin(), start.end());
  return add("stablehlo.dynamic_update_slice", std::move(in), x->dtype, x->shape);
}

}  // namespace strided::xla
