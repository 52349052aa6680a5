#include "xla/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_set>

#include "base/parallel.h"
#include "core/storage.h"
#include "xla/ops.h"
#include "xla/view.h"

namespace strided::xla {

State& state() {
  static State* s = new State;  // tensors may be freed last
  return *s;
}

namespace {

std::mutex mutex;

Stage* stage = nullptr;  // under the lock

int size_class(size_t nbytes) {
  int log = 6;
  while ((size_t{1} << log) < nbytes) ++log;
  return log;
}

uintptr_t reserve(size_t nbytes) {
  State& s = state();
  const int log = size_class(nbytes);
  if (!s.free_ranges[log].empty()) {
    const uintptr_t range = s.free_ranges[log].back();
    s.free_ranges[log].pop_back();
    return range;
  }
  const size_t size = size_t{1} << log;
  if (s.end - s.next < size) {
    const size_t more = std::max(size, size_t{1} << 40);
    void* range = mmap(nullptr, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    STRIDED_CHECK(range != MAP_FAILED, OutOfMemoryError, "XLA: no address range for ", nbytes, " bytes");
    s.next = reinterpret_cast<uintptr_t>(range);
    s.end = s.next + more;
  }
  const uintptr_t range = s.next;
  s.next += size;
  return range;
}

void* allocate(size_t nbytes, int device) {
  if (nbytes == 0) return nullptr;
  const Lock lock;
  State& s = state();
  auto block = std::make_unique<Block>();
  block->base = reserve(nbytes);
  block->nbytes = nbytes;
  block->device = device;
  block->serial = ++s.serial;
  s.by_serial.emplace_hint(s.by_serial.end(), block->serial, block.get());
  const uintptr_t base = block->base;
  s.blocks[base] = std::move(block);
  return reinterpret_cast<void*>(base);
}

void release(void* data, size_t, int) {
  if (!data) return;
  std::unique_ptr<Block> block;  // freed after the lock: it may be the end of a long graph
  const Lock lock;
  State& s = state();
  const auto found = s.blocks.find(reinterpret_cast<uintptr_t>(data));
  if (found->second->captures > 0) {
    found->second->orphan = true;
    return;
  }
  block = remove_block(reinterpret_cast<uintptr_t>(data));
}

int64_t elements_of(const Block& block, DType dtype) { return static_cast<int64_t>(block.nbytes) / size_of(dtype); }

// ---- what a capture is told

bool is_old(const Block& block) { return state().capture && state().capture->knows(block); }

// A storage without a value, before it is read: it gets zeros, which a replay reads anew.
void note_read(Block& block, DType dtype) {
  if (!is_old(block)) return;
  const bool bytes = dtype == DType::Bool || block.nbytes % size_of(dtype) != 0;
  const DType stored = bytes ? DType::UInt8 : dtype;
  block.value = array(std::vector<char>(block.nbytes), stored, {static_cast<int64_t>(block.nbytes) / size_of(stored)});
}
void note_write(Block& block) {
  if (!is_old(block) || state().capture->before.count(block.serial)) return;
  state().capture->before.emplace(block.serial, Capture::Held{block.value, std::move(block.host)});
}
void check_not_capturing(int device) {
  STRIDED_CHECK(!state().capture || state().capture->device != device, RuntimeError,
                "XLA: while a step is captured nothing may be run: no value may be read (item, print, if, copies to ",
                "the CPU), and no step marked");
}

}  // namespace

void note_random(const RandomSource& source, const Value& seed, const Value& first) {
  Capture* capture = state().capture.get();
  if (!capture) return;
  const Device device{DeviceType::XLA, static_cast<int8_t>(capture->device)};
  STRIDED_CHECK(source.generator == &default_generator(device), NotImplementedError,
                "XLA: a captured step draws random numbers from the default generator only");
  STRIDED_CHECK(
      capture->draws.empty() || (capture->seed == source.seed && capture->draws.back().position <= source.offset),
      RuntimeError, "XLA: the generator was seeded within a captured step");
  capture->seed = source.seed;
  capture->draws.push_back({seed, first, source.offset});
}

std::unique_ptr<Block> remove_block(uintptr_t base) {
  State& s = state();
  const auto found = s.blocks.find(base);
  std::unique_ptr<Block> block = std::move(found->second);
  s.blocks.erase(found);
  s.by_serial.erase(block->serial);
  s.free_ranges[size_class(block->nbytes)].push_back(block->base);
  return block;
}

void set_value(Block& block, Value value) {
  if (!stage) note_write(block);
  block.value = std::move(value);
  block.host = {};
}

Block& block_of(const void* data) {
  if (stage) {
    const auto at = reinterpret_cast<uintptr_t>(data);
    Block* nearest = nullptr;
    for (Block& block : stage->blocks)
      if (block.base <= at && (!nearest || block.base > nearest->base)) nearest = &block;
    if (nearest && at <= nearest->base + nearest->nbytes) return *nearest;
  }
  State& s = state();
  auto after = s.blocks.upper_bound(reinterpret_cast<uintptr_t>(data));
  STRIDED_CHECK(after != s.blocks.begin(), RuntimeError, "XLA: an operand is not in the memory of this device");
  Block& block = *(--after)->second;
  STRIDED_CHECK(reinterpret_cast<uintptr_t>(data) <= block.base + block.nbytes, RuntimeError,
                "XLA: an operand is not in the memory of this device");
  return block;
}

Value value_of(Block& block, DType dtype) {
  const int64_t n = elements_of(block, dtype);
  if (!block.host.empty()) {
    if (dtype == DType::Bool || block.nbytes % size_of(dtype)) {  // any byte but 0 is true
      block.value = array(std::move(block.host), DType::UInt8, {static_cast<int64_t>(block.nbytes)});
    } else {
      block.value = array(std::move(block.host), dtype, {n});
    }
    block.host = {};
  }
  if (!block.value && !stage) note_read(block, dtype);
  if (!block.value) return constant_int(0, dtype, {n});
  const Value& v = block.value;  // of several axes where it is sharded
  return retype(v->shape.ndim() == 1 ? v : reshape(v, {numel_of(v->shape)}), dtype, n);
}

Staged::Staged(Stage* on) { stage = on; }
Staged::~Staged() { stage = nullptr; }
namespace {
// Null: no stage, or none on it.
const Value* staged_number(const void* bytes) {
  if (!stage) return nullptr;
  for (const auto& [at, value] : stage->numbers)
    if (at == bytes) return &value;
  return nullptr;
}
}  // namespace

Value number(const void* bytes, DType dtype) {
  if (const Value* staged = staged_number(bytes)) return *staged;
  if (const int plain = plain_number(bytes, dtype); plain >= 0) return constant_int(plain, dtype);
  return argument(bytes, dtype);
}

namespace {

void check_fits(const Block& block, DType dtype) {
  STRIDED_CHECK(block.nbytes % static_cast<size_t>(size_of(dtype)) == 0, NotImplementedError, "write of ", dtype,
                " on device 'xla' to part of a storage of ", block.nbytes, " bytes");
}

// Elements from the start of the storage.
int64_t offset_of(const Block& block, const void* data, DType dtype) {
  const auto bytes = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) - block.base);
  STRIDED_CHECK(bytes % size_of(dtype) == 0, NotImplementedError,
                "a view on device 'xla' whose elements are not aligned in their storage");
  return bytes / size_of(dtype);
}

View view_of(const Block& block, const void* data, DType dtype, int ndim, const int64_t* shape,
             const int64_t* strides) {
  View view;
  view.offset = offset_of(block, data, dtype);
  view.shape = Dims(shape, static_cast<size_t>(ndim));
  view.strides = Dims(strides, static_cast<size_t>(ndim));
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 1) view.strides[i] = 0;
    STRIDED_CHECK(view.strides[i] % size_of(dtype) == 0, NotImplementedError,
                  "a view on device 'xla' whose elements are not aligned in their storage");
    view.strides[i] /= size_of(dtype);
  }
  return view;
}

Dims contiguous_strides(const Dims& shape, DType dtype) {
  Dims strides = shape;
  int64_t step = size_of(dtype);
  for (int i = shape.ndim() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_empty(int ndim, const int64_t* shape) { return std::find(shape, shape + ndim, 0) != shape + ndim; }

}  // namespace

Lock::Lock() {
  if (mutex.try_lock()) return;
  const GilRelease unlocked;
  mutex.lock();
}
Lock::~Lock() { mutex.unlock(); }

Value read(const void* data, DType dtype, int ndim, const int64_t* shape, const int64_t* strides) {
  if (is_empty(ndim, shape)) return constant_int(0, dtype, Dims(shape, static_cast<size_t>(ndim)));
  Block& block = block_of(data);
  return read_view(value_of(block, dtype), view_of(block, data, dtype, ndim, shape, strides));
}
Value read(const void* data, DType dtype, const Dims& shape) {
  return read(data, dtype, shape.ndim(), shape.data(), contiguous_strides(shape, dtype).data());
}

void write(void* data, DType dtype, int ndim, const int64_t* shape, const int64_t* strides, const Value& value) {
  if (is_empty(ndim, shape)) return;
  Block& block = block_of(data);
  const Value converted = reshape(convert(value, dtype), Dims(shape, static_cast<size_t>(ndim)));
  const View view = view_of(block, data, dtype, ndim, shape, strides);
  const int64_t n = elements_of(block, dtype);
  if (block.nbytes % static_cast<size_t>(size_of(dtype)) == 0) {
    if (Value whole = write_whole(view, converted, n)) return set_value(block, std::move(whole));
  }
  check_fits(block, dtype);
  set_value(block, write_view(value_of(block, dtype), view, converted));
}
void write(void* data, DType dtype, const Dims& shape, const Value& value) {
  write(data, dtype, shape.ndim(), shape.data(), contiguous_strides(shape, dtype).data(), value);
}

Value storage_of(const void* data, DType dtype, int64_t* offset) {
  Block& block = block_of(data);
  check_fits(block, dtype);
  *offset = offset_of(block, data, dtype);
  return value_of(block, dtype);
}
void set_storage(void* data, const Value& value) { set_value(block_of(data), value); }

Dims shape_of(const LoopPlan& plan) {
  Dims shape(static_cast<size_t>(plan.ndim));
  for (int i = 0; i < plan.ndim; ++i) shape[i] = plan.shape[plan.ndim - 1 - i];
  return shape;
}

namespace {
Dims strides_of(const LoopPlan& plan, int operand) {
  Dims strides(static_cast<size_t>(plan.ndim));
  for (int i = 0; i < plan.ndim; ++i) strides[i] = plan.operand[operand].strides[plan.ndim - 1 - i];
  return strides;
}
}  // namespace

Value read(const LoopPlan& plan, int k) {
  const LoopPlan::Operand& operand = plan.operand[k];
  const Dims shape = shape_of(plan);
  if (operand.immediate) return broadcast(number(operand.data, operand.dtype), shape);
  return read(operand.data, operand.dtype, plan.ndim, shape.data(), strides_of(plan, k).data());
}
void write(const LoopPlan& plan, int k, const Value& value) {
  const LoopPlan::Operand& operand = plan.operand[k];
  const Dims shape = shape_of(plan);
  write(operand.data, operand.dtype, plan.ndim, shape.data(), strides_of(plan, k).data(), value);
}

void raise_later(int device, const Value& bad, std::function<void(int64_t)> raise) {
  (stage ? stage->checks : state().checks[device]).push_back({bad, std::move(raise), 0});
}

namespace {

constexpr size_t kMostChecks = 64;

}  // namespace

void raise_bad(int device, size_t count) {
  std::vector<Check>& started = state().started[device];
  count = std::min(count, started.size());
  if (!count) return;
  const std::vector<Check> checks(started.begin(), started.begin() + static_cast<std::ptrdiff_t>(count));
  started.erase(started.begin(), started.begin() + static_cast<std::ptrdiff_t>(count));
  const Node* read = nullptr;
  std::vector<int64_t> found;
  for (const Check& check : checks) {
    if (read != check.bad.get()) {
      read = check.bad.get();
      found.resize(static_cast<size_t>(read->shape[0]));
      const GilRelease unlocked;
      download(read->buffer, found.data(), 0, sizeof(int64_t) * found.size(), sizeof(int64_t) * found.size());
    }
    const int64_t bad = found[static_cast<size_t>(check.place)];
    if (bad != kGood) check.raise(bad);
  }
}
void raise_bad(int device) { raise_bad(device, SIZE_MAX); }

namespace {

// The value of a storage that is to be sharded, as an operation whose result is (Note [Shards] in graph.h).
void as_sharded(Block* block) {
  Value& v = block->value;
  const Sharding* wanted = block->sharding;
  if (!wanted || v->sharding) return;
  const int64_t n = numel_of(wanted->shape);
  const Value flat = v->shape.ndim() == 1 ? v : reshape(v, {numel_of(v->shape)});
  const Value typed = retype(flat, block->sharded_dtype, n);
  v = add("stablehlo.reshape", {typed}, typed->dtype, wanted->shape);
  v->sharding = wanted;
}

// One array of all elements, on the first device: a sharded value is put together by a program.
Value together(const Value& v, int device) {
  if (!v->sharding) return v;
  const Value flat = add("stablehlo.reshape", {v}, v->dtype, {numel_of(v->shape)});
  run({flat.get()}, device);
  return flat;
}

// A storage holds an operation's own result: what is none becomes one.
void as_operation(Value* v) {
  if (is_array(**v) || (*v)->kind == Node::Operation) return;
  *v = add("stablehlo.reshape", {*v}, (*v)->dtype, (*v)->shape);
}

}  // namespace

bool is_array(const Node& n) { return n.buffer || n.kind == Node::Array; }

Value recorded_value(Block* block) {
  if (!block->value) return {};
  as_sharded(block);
  as_operation(&block->value);
  return block->value->results.empty() ? block->value : Value();
}

Value join_checks(std::vector<Check>* checks) {
  if (checks->empty()) return {};
  std::vector<Value> parts;
  for (const Check& check : *checks) parts.push_back(reshape(check.bad, {1}));
  Value all = concatenate(parts, 0);
  as_operation(&all);
  for (size_t i = 0; i < checks->size(); ++i) {
    (*checks)[i].bad = all;
    (*checks)[i].place = static_cast<int64_t>(i);
  }
  return all;
}

void add_started(int device, std::vector<Check> checks) {
  std::vector<Check>& started = state().started[device];
  for (Check& check : checks) started.push_back(std::move(check));
  if (started.size() > kMostChecks) raise_bad(device, started.size() - kMostChecks / 2);
}

// Nothing waits, unless very many checks do.
void run_recorded(int device, const Value& also) {
  check_not_capturing(device);
  State& s = state();
  std::vector<Node*> outputs;
  std::vector<Value> alive;
  std::unordered_set<Node*> wanted;
  auto want = [&](const Value& v) {
    if (!v || is_array(*v) || !wanted.insert(v.get()).second) return;
    if (v->kind == Node::Number || v->kind == Node::Part) return;
    outputs.push_back(v.get());
    alive.push_back(v);
  };
  for (auto& [serial, block] : s.by_serial)
    if (block->device == device) want(recorded_value(block));
  std::vector<Check> recorded = std::move(s.checks[device]), checks = recorded;
  s.checks[device].clear();
  want(join_checks(&checks));
  want(also);
  if (outputs.empty()) return;
  try {
    run(outputs, device);
  } catch (...) {  // what was to be checked is checked when a program runs
    s.checks[device] = std::move(recorded);
    throw;
  }
  add_started(device, std::move(checks));
}

namespace {

// For the value of one storage. Where there is no memory for all that is recorded, and nothing is to be checked, it
// runs alone: what is too large is raised to who reads that.
void run_for(const Block& block) {
  try {
    run_recorded(block.device);
  } catch (const OutOfMemoryError&) {
    Node* wanted = block.value.get();
    if (wanted->buffer || wanted->kind != Node::Operation || !state().checks[block.device].empty()) throw;
    run({wanted}, block.device);
  }
}

void copy_from_host(Block& block, size_t offset, const char* from, size_t n) {
  STRIDED_CHECK(!is_old(block), RuntimeError,
                "XLA: while a step is captured no data may be copied from the CPU into a tensor that was there before");
  if (n == block.nbytes) {
    block.host.assign(from, from + n);
    block.value = {};
    return;
  }
  if (!block.value) {
    block.host.resize(block.nbytes);
    std::memcpy(block.host.data() + offset, from, n);
    return;
  }
  const DType dtype = [&] {
    const auto size = static_cast<size_t>(size_of(block.value->dtype));
    return offset % size == 0 && n % size == 0 ? block.value->dtype : DType::UInt8;
  }();
  const int64_t size = size_of(dtype), count = static_cast<int64_t>(n) / size;
  const Value part = array(std::vector<char>(from, from + n), dtype, {count});
  set_value(block, update(value_of(block, dtype), part, {static_cast<int64_t>(offset) / size}));
}

void copy_to_host(Block& block, size_t offset, char* to, size_t n) {
  if (block.value) run_for(block);
  else if (!state().checks[block.device].empty()) run_recorded(block.device);
  raise_bad(block.device);
  if (!block.host.empty()) {
    std::memcpy(to, block.host.data() + offset, n);
  } else if (!block.value) {
    std::memset(to, 0, n);
  } else {
    if (!block.value->bytes.empty()) {
      std::memcpy(to, block.value->bytes.data() + offset, n);
      return;
    }
    const Value whole = together(block.value, block.device);
    const GilRelease unlocked(n >= 65536);
    download(whole->buffer, to, offset, n, block.nbytes);
  }
}

// Between storages of the device: the elements as they are.
void copy_within(Block& to, size_t to_offset, Block& from, size_t from_offset, size_t n) {
  Value source;
  if (from.host.empty() && !from.value) return;
  if (!from.value) value_of(from, DType::UInt8);
  DType dtype = from.value->dtype;
  const auto size = static_cast<size_t>(size_of(dtype));
  if (to_offset % size || from_offset % size || n % size || to.nbytes % size) dtype = DType::UInt8;
  const int64_t step = size_of(dtype), count = static_cast<int64_t>(n) / step;
  source = value_of(from, dtype);
  if (from.device != to.device) {
    run_recorded(from.device);
    if (source->kind != Node::Array && !source->buffer) run({source.get()}, from.device);
    source = together(source, from.device);
    ensure_array(source.get(), from.device);
    Value there = array({}, source->dtype, source->shape);
    there->buffer = copy_to_device(source->buffer, to.device);
    source = there;
  }
  const int64_t first = static_cast<int64_t>(from_offset) / step;
  source = slice(source, {first}, {first + count});
  if (n == to.nbytes) set_value(to, source);
  else set_value(to, update(value_of(to, dtype), source, {static_cast<int64_t>(to_offset) / step}));
}

void copy(void* to, Device to_device, const void* from, Device from_device, size_t n, bool) {
  if (n == 0) return;
  const Lock lock;
  auto offset = [](const Block& block, const void* data) { return reinterpret_cast<uintptr_t>(data) - block.base; };
  if (from_device.is_cpu()) {
    Block& block = block_of(to);
    copy_from_host(block, offset(block, to), static_cast<const char*>(from), n);
  } else if (to_device.is_cpu()) {
    Block& block = block_of(from);
    copy_to_host(block, offset(block, from), static_cast<char*>(to), n);
  } else {
    Block &target = block_of(to), &source = block_of(from);
    copy_within(target, offset(target, to), source, offset(source, from), n);
  }
}

void require(int device) {
  const int count = device_count();
  STRIDED_CHECK(device < count, RuntimeError, "XLA error: there is no device xla:", device, ", there are ", count);
}

}  // namespace

void synchronize(int device, bool wait) {
  const Lock lock;
  run_recorded(device);
  if (!wait) return;
  {
    const GilRelease unlocked;
    for (const auto& [serial, block] : state().by_serial)
      if (block->device == device && block->value && block->value->buffer) wait_for(block->value->buffer);
  }
  raise_bad(device);
}

void run_now(int device) {
  run_recorded(device);
  raise_bad(device);
}
int64_t value_now(const Value& number, int device) {
  const Value wanted = add("stablehlo.reshape", {number}, DType::Int64, {1});
  run_recorded(device, wanted);
  raise_bad(device);
  int64_t value = 0;
  download(wanted->buffer, &value, 0, sizeof(value), sizeof(value));
  return value;
}

void shard(const void* data, DType dtype, const Dims& shape, const std::string& sharding, int devices) {
  const Lock lock;
  Block& block = block_of(data);
  STRIDED_CHECK(block.device == 0, RuntimeError,
                "XLA: a tensor that is sharded is on xla:0, which stands for the mesh, not on xla:", block.device);
  STRIDED_CHECK(devices <= device_count(), RuntimeError, "XLA: a mesh of ", devices, " devices, there are ",
                device_count());
  // Anew, whatever sharding it has: the next program shards it.
  block.value = add("stablehlo.reshape", {value_of(block, dtype)}, dtype, {elements_of(block, dtype)});
  block.sharding = devices ? kept_sharding(devices, sharding, shape) : nullptr;
  block.sharded_dtype = dtype;
}

std::string sharding_of(const void* data) {
  const Lock lock;
  const Sharding* sharding = block_of(data).sharding;
  return sharding ? sharding->text : "";
}

void read_shard(const void* data, int device, void* to, size_t nbytes) {
  const Lock lock;
  Block& block = block_of(data);
  STRIDED_CHECK(block.sharding, RuntimeError, "XLA: the tensor is not sharded");
  if (!block.value) block.value = value_of(block, block.sharded_dtype);  // the host's bytes, or nothing
  run_recorded(block.device);
  raise_bad(block.device);
  const Node& n = *block.value;
  STRIDED_CHECK(n.sharding && device >= 0 && device < n.sharding->devices, RuntimeError, "XLA: no shard ", device);
  const GilRelease unlocked;
  download(device ? n.others[static_cast<size_t>(device - 1)] : n.buffer, to, 0, nbytes, nbytes);
}

void register_memory() {
  register_device_memory(DeviceType::XLA,
                         {allocate, release, [] { return device_count() > 0 ? 0 : 0; }, require, copy});
}

}  // namespace strided::xla
