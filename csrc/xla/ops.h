// The words that lowerings are written with: StableHLO's operations on values. What changes nothing makes no node.
#pragma once

#include "xla/graph.h"

namespace strided::xla {

Value constant(double value, DType dtype, const Dims& shape = {});  // every element; rounded to the dtype
Value constant_int(int64_t value, DType dtype, const Dims& shape = {});
int plain_number(const void* bytes, DType dtype);             // 0 or 1 where the element is that, else -1
Value nearest(double value, DType dtype, const Dims& shape);  // of an integer dtype
Value iota(DType dtype, const Dims& shape, int axis);

struct NoLowering {};  // thrown where an expression does not fit the dtype of its operands

Value unary(const char* op, const Value& x);  // of the same type
Value binary(const char* op, const Value& a, const Value& b);
Value compare(const char* direction, const Value& a, const Value& b);  // "LT"; a bool
Value select(const Value& condition, const Value& a, const Value& b);
Value convert(const Value& x, DType dtype);  // as core/convert.h converts
Value is_nan(const Value& x);
Value bitcast(const Value& x, DType dtype);  // of the same size

Value reshape(const Value& x, const Dims& shape);
Value transpose(const Value& x, const std::vector<int>& order);  // axis i of the result is order[i] of x
Value reverse(const Value& x, const Dims& axes);
Value slice(const Value& x, const Dims& start, const Dims& limit);
Value pad(const Value& x, const Dims& low, const Dims& high, const Value& with);
Value concatenate(const std::vector<Value>& parts, int axis);
// A new shape, in which axis i of x is axis axes[i] (ascending).
Value broadcast(const Value& x, const Dims& shape, const Dims& axes);
Value broadcast(const Value& x, const Dims& shape);  // of one element
// `part` takes the place at `start`.
Value update(const Value& x, const Value& part, const Dims& start);

// Reduces axes by an operation of two values ("stablehlo.add") from `start`; NaN and others as that has it.
Value fold(const char* op, const Value& x, const Value& start, const Dims& axes);
// Each element combined with all before it along an axis; `start` changes nothing.
Value running(const char* op, const Value& x, const Value& start, int axis);
// A region with scalar arguments %x, %y (and further pairs), whose body ends with its return.
std::string region(const std::vector<std::pair<DType, int>>& pairs, const std::string& body);

// Sorts the last axis of `operands` by the first of them; equal keys keep their order. Several results.
Value sorted(const std::vector<Value>& operands, bool descending);
// The positions (int64) that put a value with one axis in ascending order.
Value sorted_order(const Value& keys);

// flat[index] for any shape of the index (int64), which must be inside.
Value take(const Value& flat, const Value& index);
// flat with flat[index] = op(flat[index], values), "" for the last of several.
Value put(const Value& flat, const Value& index, const Value& values, const char* op, bool unique);
// The same for rows of a table (axes 1, 2, ...), which are the axes `row` of the result, or of the values.
Value take_rows(const Value& table, const Value& index, const Dims& shape, const Dims& row);
Value put_rows(const Value& table, const Value& index, const Value& values, const char* op, const Dims& row);

}  // namespace strided::xla
