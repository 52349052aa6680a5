#include "ops/fuse/fused_builder.h"

#include <algorithm>
#include <cstring>

#include "backend/backend.h"
#include "ops/call.h"
#include "ops/fuse/logged_call.h"
#include "ops/reduce/reduction.h"

namespace strided {
namespace {

using Kind = LoggedCall::Kind;
using Place = FusedPlan::Place;

struct Obstacle {
  const char* text;
};
void need(bool yes, const char* otherwise) {
  if (!yes) throw Obstacle{otherwise};
}

Dims without_last(const Dims& shape) { return Dims(shape.data(), shape.size() - 1); }
Dims with_last_one(const Dims& shape) {
  Dims out = shape;
  out.back() = 1;
  return out;
}

bool is_last_axis(const LoggedCall& call) {
  const int n = call.in[0].tensor.ndim();
  return n > 0 && call.axes == uint64_t(1) << (n - 1);
}
bool is_everything(const LoggedCall& call) {
  const int n = call.in[0].tensor.ndim();
  return n > 0 && call.axes == (n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1);
}

}  // namespace

void FusedBuilder::build() {
  try {
    need(!calls_.empty(), "there is nothing to do");
    for (const LoggedCall* call : calls_) {
      if (call->obstacle) throw Obstacle{call->obstacle};
      const Device device = call->out.device();
      need(backend(device).fused_pointwise != nullptr, "the device runs no programs");
      need(device == outputs_[0].device(), "tensors of several devices");
      for (const LoggedCall::Value& v : call->in)
        need(!v.is_tensor || v.tensor.device() == device, "tensors of several devices");
    }
    find_space();
    for (const LoggedCall* call : calls_) add(*call);
    for (const Tensor& t : outputs_) need(made_.count(t.impl()) != 0, "a result that no step makes");
    merge();
    allocate_registers();
  } catch (const Obstacle& o) {
    program_.obstacle_ = o.text;
  }
}

void FusedBuilder::find_space() {
  for (const LoggedCall* call : calls_) {
    if (call->kind != Kind::Reduction) continue;
    const Tensor& x = call->in[0].tensor;
    need(reduces_by_row(*call), "a reduction that depends on more than its rows");
    if (is_last_axis(*call) && x.size(x.ndim() - 1) >= 2 && x.size(x.ndim() - 1) <= FusedPlan::kMostRow) {
      program_.reduces_rows_ = true;
    } else {
      need(is_everything(*call) && call == calls_.back(), "a reduction of other axes, or of long rows, before the end");
      whole_ = call;
    }
    need(space_.empty() || space_ == x.shape(), "reductions of several shapes");
    space_ = x.shape();
  }
  need(!(whole_ && program_.reduces_rows_), "a reduction of rows and one of everything");
  if (!whole_ && !program_.reduces_rows_)
    for (const LoggedCall* call : calls_) space_ = broadcast_shapes(space_, call->out.shape());
  need(Layout(space_).numel() > 0, "there are no elements");
}

FusedBuilder::Form FusedBuilder::form_of(const LoggedCall& call) const {
  const Dims& shape = call.out.shape();
  for (const LoggedCall::Value& v : call.in) {
    if (!v.is_tensor) continue;
    const auto at = made_.find(v.tensor.impl());
    if (at == made_.end() || at->second.form != Form::Dropped) continue;
    need(shape == without_last(space_), "operands of several shapes");
    return Form::Dropped;
  }
  if (shape == space_) return Form::Full;
  need(program_.reduces_rows_ && shape == with_last_one(space_), "operands of several shapes");
  return Form::Row;
}

int FusedBuilder::new_value(Place place, int index, DType dtype) {
  FusedPlan::Value v;
  v.place = place;
  v.index = index;
  v.dtype = dtype;
  program_.values_.push_back(v);
  return static_cast<int>(program_.values_.size()) - 1;
}

int FusedBuilder::memory_value(bool output, int index, const Tensor& t, Form form) {
  Dims strides;
  if (form == Form::Full) {
    strides = broadcast_strides(t.layout(), space_);
  } else {
    strides = broadcast_strides(t.layout(), form == Form::Row ? with_last_one(space_) : without_last(space_));
    if (form == Form::Row) strides.back() = 0;
    else strides.push_back(0);
  }
  for (int64_t& s : strides) s *= t.itemsize();
  for (size_t k = 0; k < strides_.size(); ++k)
    if (program_.memory_[k].output == output && program_.memory_[k].index == index && strides_[k] == strides)
      for (size_t v = 0; v < program_.values_.size(); ++v)
        if (program_.values_[v].place == Place::Memory && program_.values_[v].index == static_cast<int>(k))
          return static_cast<int>(v);
  need(strides_.size() < FusedPlan::kMostMemory, "too many operands");
  strides_.push_back(std::move(strides));
  program_.memory_.push_back({output, index, {}});
  return new_value(Place::Memory, static_cast<int>(program_.memory_.size()) - 1, t.dtype());
}

int FusedBuilder::operand(const Tensor& t, Form form) {
  const auto at = made_.find(t.impl());
  if (at != made_.end()) return at->second.value;
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].impl() == t.impl()) return memory_value(false, static_cast<int>(i), t, form);
  throw Obstacle{"an operand from elsewhere"};
}

int FusedBuilder::constant(const Scalar& number, DType dtype, OutOfRange rule) {
  program_.constants_.push_back(std::make_unique<Element>(number, dtype, rule));
  program_.constant_bytes_.push_back(program_.constants_.back()->bytes);
  return new_value(Place::Constant, static_cast<int>(program_.constants_.size()) - 1, dtype);
}

bool FusedBuilder::is_row(int value) const {
  const FusedPlan::Value& v = program_.values_[value];
  return v.place == Place::RowRegister || (v.place == Place::Memory && strides_[v.index].back() == 0);
}

FusedPlan::Step& FusedBuilder::step(FusedPlan::Kind kind, int result, bool rows) {
  FusedPlan::Step s;
  s.kind = kind;
  s.rows = rows;
  s.operand[s.n_operands++] = result;
  program_.steps_.push_back(s);
  return program_.steps_.back();
}

int FusedBuilder::converted(int value, DType dtype, bool rows) {
  if (program_.values_[value].dtype == dtype) return value;
  rows = rows || (program_.reduces_rows_ && is_row(value));
  const int to = new_value(rows ? Place::RowRegister : Place::Register, -1, dtype);
  FusedPlan::Step& s = step(FusedPlan::Kind::Convert, to, rows);
  s.operand[s.n_operands++] = value;
  s.compute = dtype;
  return to;
}

// Where the result of a call goes: to the memory of an output, or to a register.
int FusedBuilder::result(const Tensor& out, Form form) {
  int value = -1;
  for (size_t i = 0; i < outputs_.size() && value < 0; ++i)
    if (outputs_[i].impl() == out.impl()) value = memory_value(true, static_cast<int>(i), out, form);
  if (value < 0) value = new_value(form == Form::Full ? Place::Register : Place::RowRegister, -1, out.dtype());
  made_[out.impl()] = {value, form};
  return value;
}

void FusedBuilder::add_reduction(const LoggedCall& call) {
  const int from = operand(call.in[0].tensor, Form::Full);
  if (&call == whole_) {
    if (program_.values_[from].place == Place::Register) {
      program_.values_[from].place = Place::Chunk;
    } else {
      const int to = new_value(Place::Chunk, 0, call.compute);
      FusedPlan::Step& s = step(FusedPlan::Kind::Convert, to, false);
      s.operand[s.n_operands++] = from;
      s.compute = call.compute;
    }
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (outputs_[i].impl() == call.out.impl()) program_.whole_output_ = static_cast<int>(i);
    need(program_.whole_output_ >= 0, "a reduction of everything before the end");
    program_.whole_op_ = call.reduction->id;
    program_.whole_dtype_ = call.compute;
    program_.whole_param_ = call.params[0];
    made_[call.out.impl()] = {-1, Form::Full};
    return;
  }
  const FusedPlan::Value x = program_.values_[from];
  need(x.place == Place::Register || (x.place == Place::Memory && strides_[x.index].back() == size_of(x.dtype)),
       "a reduction of rows that are not contiguous");
  const int to = result(call.out, call.keepdim ? Form::Row : Form::Dropped);
  FusedPlan::Step& s = step(FusedPlan::Kind::Reduce, to, false);
  s.operand[s.n_operands++] = from;
  s.op = call.reduction->id;
  s.compute = call.compute;
  s.params[0] = call.params[0];
}

void FusedBuilder::add(const LoggedCall& call) {
  if (call.kind == Kind::Reduction) return add_reduction(call);
  const Form form = form_of(call);
  const bool rows = form != Form::Full;
  const bool elementwise = call.kind == Kind::Elementwise;
  const int n = elementwise ? call.loop->arity : static_cast<int>(call.in.size());
  int in[FusedPlan::kMostOperands];
  for (int i = 0; i < n; ++i) {
    const LoggedCall::Value& v = call.in[i];
    if (!v.is_tensor) {
      in[i] = constant(v.number, call.compute, elementwise ? call.op->numbers : OutOfRange::Wrap);
      continue;
    }
    in[i] = operand(v.tensor, form);
    const bool condition = call.kind == Kind::Where && i == 0;
    if (!condition && call.kind != Kind::Cast) in[i] = converted(in[i], call.compute, rows);
  }
  const int to = result(call.out, form);
  FusedPlan::Step& s = step(elementwise                ? FusedPlan::Kind::Elementwise
                            : call.kind == Kind::Where ? FusedPlan::Kind::Where
                                                       : FusedPlan::Kind::Convert,
                            to, rows);
  for (int i = 0; i < n; ++i) s.operand[s.n_operands++] = in[i];
  s.compute = call.compute;
  if (elementwise) s.op = call.loop->id;
  std::memcpy(s.params, call.params, sizeof(s.params));
}

// Axes in the order of memory, merged where all operands allow it. Rows that are reduced stay an axis of their own.
void FusedBuilder::merge() {
  std::vector<const int64_t*> strides;
  for (const bool output : {true, false})  // outputs decide first
    for (size_t k = 0; k < strides_.size(); ++k)
      if (program_.memory_[k].output == output) strides.push_back(strides_[k].data());
  int64_t merged[kMaxDims];
  int axes[kMaxDims];
  const int own = program_.reduces_rows_ ? 1 : 0;
  if (whole_) {  // in row-major order
    for (const Dims& s : strides_) {
      int64_t item = 0, step = 1;
      for (int i = space_.ndim(); i-- > 0; step *= space_[i])
        if (space_[i] > 1) {
          if (item == 0 && step == 1) item = s[i];
          need(s[i] == item * step, "a reduction of everything, with operands that do not follow each other in memory");
        }
    }
  }
  const int n =
      merge_axes(space_.ndim() - own, space_.data(), static_cast<int>(strides.size()), strides.data(), merged, axes);
  need(!whole_ || n <= 1, "a reduction of everything, with operands that do not follow each other in memory");
  if (own) program_.shape_.push_back(space_.back());
  for (int i = 0; i < n; ++i) program_.shape_.push_back(merged[i]);
  for (size_t k = 0; k < strides_.size(); ++k) {
    if (own) program_.memory_[k].strides.push_back(strides_[k].back());
    for (int i = 0; i < n; ++i) program_.memory_[k].strides.push_back(strides_[k][axes[i]]);
  }
}

// Registers are given in the order of the steps, and given back after the last step that reads them.
void FusedBuilder::allocate_registers() {
  std::vector<int> last(program_.values_.size(), -1);
  for (size_t i = 0; i < program_.steps_.size(); ++i)
    for (int k = 0; k < program_.steps_[i].n_operands; ++k) last[program_.steps_[i].operand[k]] = static_cast<int>(i);
  for (size_t v = 0; v < last.size(); ++v) program_.values_[v].last = last[v];
  for (size_t i = 0; i < program_.steps_.size(); ++i)
    program_.values_[program_.steps_[i].operand[0]].made = static_cast<int>(i);
  std::vector<int> free[2];
  int count[2] = {0, 0};
  for (size_t i = 0; i < program_.steps_.size(); ++i) {
    const FusedPlan::Step& s = program_.steps_[i];
    FusedPlan::Value& to = program_.values_[s.operand[0]];
    auto give_back = [&](bool same_items) {
      for (int k = 1; k < s.n_operands; ++k) {
        const int v = s.operand[k];
        const FusedPlan::Value& value = program_.values_[v];
        const bool rows = value.place == Place::RowRegister;
        if ((value.place != Place::Register && !rows) || last[v] != static_cast<int>(i)) continue;
        if (same_items != (value.place == to.place && size_of(value.dtype) == size_of(to.dtype) &&
                           s.kind == FusedPlan::Kind::Elementwise))
          continue;
        if (std::find(free[rows].begin(), free[rows].end(), value.index) == free[rows].end())
          free[rows].push_back(value.index);
      }
    };
    give_back(true);  // the result may take the place of an operand whose elements are as large
    if (to.place == Place::Register || to.place == Place::RowRegister) {
      const bool rows = to.place == Place::RowRegister;
      if (free[rows].empty()) free[rows].push_back(count[rows]++);
      to.index = free[rows].back();
      free[rows].pop_back();
      if (!rows) program_.itemsize_ = std::max(program_.itemsize_, static_cast<int>(size_of(to.dtype)));
    }
    give_back(false);
    if (last[s.operand[0]] == static_cast<int>(i) && to.place == Place::Register) free[0].push_back(to.index);
  }
  program_.n_registers_ = count[0];
  program_.n_row_registers_ = count[1];
}

}  // namespace strided
