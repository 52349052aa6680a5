// Storages of the device: what address range stands for which value, and how views are read and written.
#pragma once

#include <functional>
#include <string>

#include "backend/loop_plan.h"
#include "backend/plans.h"
#include "xla/state.h"

namespace strided::xla {

Block& block_of(const void* data);          // RuntimeError where that is no memory of the device
Value value_of(Block& block, DType dtype);  // the whole storage in a dtype
void set_value(Block& block, Value value);

// What stands in the place of storages and numbers while a call's lowering is written: Note [Calls] in calls.h.
struct Stage {
  std::vector<Block> blocks;
  std::vector<std::pair<const void*, Value>> numbers;
  std::vector<Check> checks;
};
class Staged {
 public:
  explicit Staged(Stage* stage);
  ~Staged();
  Staged(const Staged&) = delete;
};

// The elements of a view, axes outermost first, strides in bytes. The shape of the value is `shape`.
Value read(const void* data, DType dtype, int ndim, const int64_t* shape, const int64_t* strides);
Value read(const void* data, DType dtype, const Dims& shape);  // contiguous
// Writes a value of that shape, of any dtype, which is converted. No element of the view may appear twice.
void write(void* data, DType dtype, int ndim, const int64_t* shape, const int64_t* strides, const Value& value);
void write(void* data, DType dtype, const Dims& shape, const Value& value);

// The whole storage that an address lies in, as elements of a dtype, and where the address is in it.
Value storage_of(const void* data, DType dtype, int64_t* offset);
void set_storage(void* data, const Value& value);

// A planned iteration: shape outermost first, operands as values, results.
Dims shape_of(const LoopPlan& plan);
Value read(const LoopPlan& plan, int operand);
void write(const LoopPlan& plan, int operand, const Value& value);

// See Check.
constexpr int64_t kGood = 0;
void raise_later(int device, const Value& bad, std::function<void(int64_t)> raise);

// From now on a contiguous tensor, which is a whole storage, is sharded like that; without devices, it is not.
void shard(const void* data, DType dtype, const Dims& shape, const std::string& sharding, int devices);
std::string sharding_of(const void* data);                               // empty: none
void read_shard(const void* data, int device, void* to, size_t nbytes);  // of a sharded storage; waits

// Starts what is recorded for the device; with `wait`, returns when all of the device has run.
void synchronize(int device, bool wait);
// Under the lock.
std::unique_ptr<Block> remove_block(uintptr_t base);  // the caller frees it after the lock
bool is_array(const Node& n);
Value recorded_value(Block* block);             // of a storage, as a result of a program or an array; null: none
Value join_checks(std::vector<Check>* checks);  // one array of what they find, which each of them then names
void add_started(int device, std::vector<Check> checks);
void run_recorded(int device, const Value& also = {});  // starts what is recorded, and what computes `also`
void raise_bad(int device);                             // waits for the checks of what was started
void run_now(int device);                               // under the lock, and raises what is to be raised
int64_t value_now(const Value& number, int device);     // an int64 without axes, after running what it needs
// Held while anything is recorded or run.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
};

// For Note [Captured steps] in capture.h.
void note_random(const RandomSource& source, const Value& seed, const Value& first);

void register_memory();

}  // namespace strided::xla
