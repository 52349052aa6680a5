#include "xla/ops.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/scalar.h"
#include "xla/plugin.h"

namespace strided::xla {
namespace {

std::string hex(const unsigned char* bytes, int64_t n) {
  std::string text = "0x";
  for (int64_t i = n - 1; i >= 0; --i) {
    text += "0123456789ABCDEF"[bytes[i] >> 4];
    text += "0123456789ABCDEF"[bytes[i] & 15];
  }
  return text;
}

// One element as MLIR writes it; floating-point numbers by their bits.
std::string literal(const void* data, DType dtype) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const int64_t size = size_of(dtype);
  if (dtype == DType::Bool) return *bytes ? "true" : "false";
  if (is_complex(dtype)) return "(" + hex(bytes, size / 2) + "," + hex(bytes + size / 2, size / 2) + ")";
  if (!is_integral(dtype)) return hex(bytes, size);
  return dispatch(dtype, [&](auto tag) -> std::string {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      T v;
      std::memcpy(&v, data, sizeof(T));
      return std::to_string(v);
    } else {
      return "";
    }
  });
}

Value constant_of(const void* bytes, DType dtype, const Dims& shape) {
  static const char form = 0;
  int64_t element[2] = {0, 0};
  std::memcpy(element, bytes, static_cast<size_t>(size_of(dtype)));
  const Words words = Words(&form).put(index_of(dtype)).put(element[0]).put(element[1]).put(shape);
  return add("stablehlo.constant", {}, dtype, shape, words.text([&] {
    return "{value = dense<" + literal(bytes, dtype) + "> : " + type_text(dtype, shape) + "}";
  }));
}

// "{name = array<i64: ...>}"
Text list_text(const char* name, const Dims& values) {
  return Words(name).put(values).text([&] { return "{" + std::string(name) + " = " + list(values) + "}"; });
}

bool is_identity(const std::vector<int>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != static_cast<int>(i)) return false;
  return true;
}

// Floating point to integer: what does not fit becomes the least number, as in core/convert.h.
Value truncated(const Value& x, DType dtype) {
  const bool wide = size_of(dtype) == 8 || dtype == DType::UInt32;
  const DType to = wide ? DType::Int64 : DType::Int32;
  const double bound = wide ? 9223372036854775808.0 : 2147483648.0;
  const Value from = size_of(x->dtype) < 4 ? convert(x, DType::Float32) : x;
  const Value fits = binary("stablehlo.and", compare("LT", from, constant(bound, from->dtype, from->shape)),
                            compare("GE", from, constant(-bound, from->dtype, from->shape)));
  const Value least = constant_int(wide ? INT64_MIN : INT32_MIN, to, x->shape);
  const Value result = convert(select(fits, add("stablehlo.convert", {from}, to, x->shape), least), dtype);
  if (dtype != DType::UInt64) return result;
  const Value large = binary("stablehlo.and", compare("GE", from, constant(bound, from->dtype, from->shape)),
                             compare("LT", from, constant(2 * bound, from->dtype, from->shape)));
  return select(large, add("stablehlo.convert", {from}, dtype, x->shape), result);
}

}  // namespace

Value constant(double value, DType dtype, const Dims& shape) {
  const Element element(Scalar(value), dtype);
  return constant_of(element.bytes, dtype, shape);
}
Value constant_int(int64_t value, DType dtype, const Dims& shape) {
  const Element element(Scalar(value), dtype);
  return constant_of(element.bytes, dtype, shape);
}

Value nearest(double value, DType dtype, const Dims& shape) {
  const Element element = dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      const T v = !(value > static_cast<double>(Limits::min())) ? Limits::min()
                  : value < static_cast<double>(Limits::max())  ? static_cast<T>(value)
                                                                : Limits::max();
      return Element(std::is_signed_v<T> ? Scalar(static_cast<int64_t>(v)) : Scalar(static_cast<uint64_t>(v)),
                     dtype_of<T>);
    } else {
      return Element(Scalar(value), dtype_of<T>);
    }
  });
  return constant_of(element.bytes, dtype, shape);
}

int plain_number(const void* bytes, DType dtype) {
  static const auto elements = [] {
    std::vector<Element> list;
    for (int i = 0; i < kNumDTypes; ++i)
      for (const int64_t plain : {0, 1}) list.emplace_back(Scalar(plain), static_cast<DType>(i));
    return list;
  }();
  for (const int plain : {0, 1})
    if (std::memcmp(bytes, elements[2 * index_of(dtype) + plain].bytes, static_cast<size_t>(size_of(dtype))) == 0)
      return plain;
  return -1;
}

Value argument(const void* bytes, DType dtype) {
  Value node = add("", {}, dtype, {});
  node->kind = Node::Number;
  const char* first = static_cast<const char*>(bytes);
  node->bytes.assign(first, first + size_of(dtype));
  return node;
}

Value iota(DType dtype, const Dims& shape, int axis) {
  return add("stablehlo.iota", {}, dtype, shape, "{iota_dimension = " + std::to_string(axis) + " : i64}");
}

Value unary(const char* op, const Value& x) { return add(op, {x}, x->dtype, x->shape); }
Value binary(const char* op, const Value& a, const Value& b) {
  if (a->dtype != b->dtype) throw NoLowering{};
  return add(op, {a, b}, a->dtype, a->shape);
}

Value compare(const char* direction, const Value& a, const Value& b) {
  // The type of the comparison is said: where it is not, the plugin folds constants as unsigned numbers.
  const char* type = !is_integral(a->dtype)                     ? "FLOAT"
                     : kDTypeInfo[index_of(a->dtype)].is_signed ? "SIGNED"
                                                                : "UNSIGNED";
  const Words words = Words(direction).put(static_cast<int64_t>(reinterpret_cast<intptr_t>(type)));
  return add("stablehlo.compare", {a, b}, DType::Bool, a->shape, words.text([&] {
    return std::string("{comparison_direction = #stablehlo<comparison_direction ") + direction +
           ">, compare_type = #stablehlo<comparison_type " + type + ">}";
  }));
}
Value select(const Value& condition, const Value& a, const Value& b) {
  if (a->dtype != b->dtype) throw NoLowering{};
  return add("stablehlo.select", {condition, a, b}, a->dtype, a->shape);
}

Value is_nan(const Value& x) { return compare("NE", x, x); }

Value convert(const Value& x, DType dtype) {
  if (x->dtype == dtype) return x;
  const DType from = x->dtype;
  if (dtype == DType::Bool) return compare("NE", x, constant_int(0, from, x->shape));
  if (is_complex(from)) {
    if (!is_complex(dtype)) return convert(add("stablehlo.real", {x}, real_of(from), x->shape), dtype);
    return add("stablehlo.convert", {x}, dtype, x->shape);
  }
  if (is_complex(dtype)) {
    const Value re = convert(x, real_of(dtype));
    return add("stablehlo.complex", {re, constant_int(0, re->dtype, x->shape)}, dtype, x->shape);
  }
  if (!is_integral(from) && is_integral(dtype)) return truncated(x, dtype);
  if (dtype == DType::Float8_e4m3fn &&
      from != DType::Float8_e5m2) {  // which has no infinity: the greatest number stands for it
    const Value real = convert(x, DType::Float32), top = constant(448, DType::Float32, x->shape);
    const Value inside =
        binary("stablehlo.maximum", binary("stablehlo.minimum", real, top), constant(-448, DType::Float32, x->shape));
    return add("stablehlo.convert", {select(is_nan(real), real, inside)}, dtype, x->shape);
  }
  return add("stablehlo.convert", {x}, dtype, x->shape);
}

Value bitcast(const Value& x, DType dtype) {
  if (x->dtype == dtype) return x;
  return add("stablehlo.bitcast_convert", {x}, dtype, x->shape);
}

Value reshape(const Value& x, const Dims& shape) {
  if (x->shape == shape) return x;
  const bool again = x->kind == Node::Operation && !x->buffer && std::strcmp(x->op, "stablehlo.reshape") == 0;
  const Value from = again ? x->in[0] : x;
  if (from->shape == shape) return from;
  return add("stablehlo.reshape", {from}, x->dtype, shape);
}

Value transpose(const Value& x, const std::vector<int>& order) {
  if (is_identity(order)) return x;
  Dims shape, axes;
  for (const int axis : order) {
    shape.push_back(x->shape[axis]);
    axes.push_back(axis);
  }
  return add("stablehlo.transpose", {x}, x->dtype, shape, list_text("permutation", axes));
}

Value reverse(const Value& x, const Dims& axes) {
  if (axes.empty()) return x;
  return add("stablehlo.reverse", {x}, x->dtype, x->shape, list_text("dimensions", axes));
}

Value slice(const Value& x, const Dims& start, const Dims& limit) {
  Dims shape, steps;
  for (int i = 0; i < start.ndim(); ++i) {
    shape.push_back(limit[i] - start[i]);
    steps.push_back(1);
  }
  if (shape == x->shape) return x;
  static const char form = 0;
  return add("stablehlo.slice", {x}, x->dtype, shape, Words(&form).put(start).put(limit).text([&] {
    return "{start_indices = " + list(start) + ", limit_indices = " + list(limit) + ", strides = " + list(steps) + "}";
  }));
}

Value pad(const Value& x, const Dims& low, const Dims& high, const Value& with) {
  Dims shape, between;
  bool changes = false;  // a negative number takes elements away: the same shape may have other elements
  for (int i = 0; i < low.ndim(); ++i) {
    shape.push_back(x->shape[i] + low[i] + high[i]);
    between.push_back(0);
    changes = changes || low[i] != 0 || high[i] != 0;
  }
  if (!changes) return x;
  static const char form = 0;
  return add("stablehlo.pad", {x, with}, x->dtype, shape, Words(&form).put(low).put(high).text([&] {
    return "{edge_padding_low = " + list(low) + ", edge_padding_high = " + list(high) +
           ", interior_padding = " + list(between) + "}";
  }));
}

Value concatenate(const std::vector<Value>& parts, int axis) {
  if (parts.size() == 1) return parts[0];
  Dims shape = parts[0]->shape;
  for (size_t i = 1; i < parts.size(); ++i) shape[axis] += parts[i]->shape[axis];
  return add("stablehlo.concatenate", parts, parts[0]->dtype, shape,
             "{dimension = " + std::to_string(axis) + " : i64}");
}

Value broadcast(const Value& x, const Dims& shape, const Dims& axes) {
  if (x->shape == shape) return x;
  return add("stablehlo.broadcast_in_dim", {x}, x->dtype, shape, list_text("broadcast_dimensions", axes));
}
Value broadcast(const Value& x, const Dims& shape) {
  if (numel_of(shape) == 1) return reshape(x, shape);
  return broadcast(reshape(x, {}), shape, {});
}

Value update(const Value& x, const Value& part, const Dims& start) {
  if (part->shape == x->shape) return part;
  std::vector<Value> in = {x, part};
  for (const int64_t at : start) in.push_back(constant_int(at, DType::Int64));
  return add("stablehlo.dynamic_update_slice", std::move(in), x->dtype, x->shape);
}

std::string region(const std::vector<std::pair<DType, int>>& pairs, const std::string& body) {
  std::string text = "({\n    ^bb0(";
  int at = 0;
  for (const auto& [dtype, count] : pairs)
    for (int i = 0; i < count; ++i, ++at)
      text += (at ? std::string(", ") : std::string()) + "%x" + std::to_string(at) + ": " + type_text(dtype, {});
  return text + "):\n" + body + "  }) ";
}

namespace {
// Of two values of one dtype, by one operation.
std::string pair_region(const char* op, DType dtype) {
  const std::string t = type_text(dtype, {});
  std::string body;
  if (op[0]) body = std::string("      %r = \"") + op + "\"(%x0, %x1) : (" + t + ", " + t + ") -> " + t + "\n";
  return region({{dtype, 2}},
                body + "      \"stablehlo.return\"(" + (op[0] ? "%r" : "%x1") + ") : (" + t + ") -> ()\n");
}
}  // namespace

Value fold(const char* op, const Value& x, const Value& start, const Dims& axes) {
  if (axes.empty()) return x;
  Dims shape;
  for (int i = 0, k = 0; i < x->shape.ndim(); ++i) {
    if (k < axes.ndim() && axes[k] == i) ++k;
    else shape.push_back(x->shape[i]);
  }
  const Words words = Words(op).put(index_of(x->dtype)).put(axes);
  return add("stablehlo.reduce", {x, start}, x->dtype, shape,
             words.text([&] { return pair_region(op, x->dtype) + "{dimensions = " + list(axes) + "}"; }));
}

Value sorted(const std::vector<Value>& operands, bool descending) {
  std::vector<std::pair<DType, int>> pairs;
  std::vector<Type> types;
  for (const Value& v : operands) {
    pairs.emplace_back(v->dtype, 2);
    types.push_back({v->dtype, v->shape});
  }
  const DType key = operands[0]->dtype;
  const std::string t = type_text(key, {});
  const char* kind = !is_integral(key) ? "TOTALORDER" : kDTypeInfo[index_of(key)].is_signed ? "SIGNED" : "UNSIGNED";
  return add(
      "stablehlo.sort", operands, types,
      region(pairs, std::string("      %r = \"stablehlo.compare\"(%x0, %x1) {comparison_direction = "
                                "#stablehlo<comparison_direction ") +
                        (descending ? "GT" : "LT") + ">, compare_type = #stablehlo<comparison_type " + kind + ">} : (" +
                        t + ", " + t + ") -> tensor<i1>\n      \"stablehlo.return\"(%r) : (tensor<i1>) -> ()\n") +
          "{dimension = " + std::to_string(operands[0]->shape.ndim() - 1) + " : i64, is_stable = true}");
}

Value sorted_order(const Value& keys) {
  return part(sorted({keys, iota(DType::Int64, keys->shape, keys->shape.ndim() - 1)}, false), 1);
}

Value take(const Value& flat, const Value& index) {
  static const char form = 0;
  return add(
      "stablehlo.gather", {flat, index}, flat->dtype, index->shape, Words(&form).put(index->shape.ndim()).text([&] {
        return "{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
               "index_vector_dim = " +
               std::to_string(index->shape.ndim()) + ">, slice_sizes = array<i64: 1>, indices_are_sorted = false}";
      }));
}

Value put(const Value& flat, const Value& index, const Value& values, const char* op, bool unique) {
  static const char form = 0;
  const Words words = Words(&form)
                          .put(static_cast<int64_t>(reinterpret_cast<intptr_t>(op)))
                          .put(unique)
                          .put(index_of(flat->dtype))
                          .put(index->shape.ndim());
  return add("stablehlo.scatter", {flat, index, values}, flat->dtype, flat->shape, words.text([&] {
    return pair_region(op, flat->dtype) +
           "{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
           "scatter_dims_to_operand_dims = [0], index_vector_dim = " +
           std::to_string(index->shape.ndim()) +
           ">, indices_are_sorted = false, unique_indices = " + (unique ? "true" : "false") + "}";
  }));
}

namespace {
std::string bare_list(const Dims& values) {
  std::string text = "[";
  for (int i = 0; i < values.ndim(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}
}  // namespace

Value take_rows(const Value& table, const Value& index, const Dims& shape, const Dims& row) {
  Dims sizes = table->shape;
  sizes[0] = 1;
  return add("stablehlo.gather", {table, index}, table->dtype, shape,
             "{dimension_numbers = #stablehlo.gather<offset_dims = " + bare_list(row) +
                 ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = " +
                 std::to_string(index->shape.ndim()) + ">, slice_sizes = " + list(sizes) +
                 ", indices_are_sorted = false}");
}

Value put_rows(const Value& table, const Value& index, const Value& values, const char* op, const Dims& row) {
  return add("stablehlo.scatter", {table, index, values}, table->dtype, table->shape,
             pair_region(op, table->dtype) +
                 "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " + bare_list(row) +
                 ", inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = " +
                 std::to_string(index->shape.ndim()) + ">, indices_are_sorted = false, unique_indices = false}");
}

}  // namespace strided::xla
