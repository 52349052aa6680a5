#include "xla/capture.h"

#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/random.h"
#include "xla/memory.h"
#include "xla/ops.h"

namespace strided::xla {
namespace {

enum class Source : uint8_t { Storage, Constant, Seed, Position };
struct Argument {
  Source from = Source::Constant;
  uint64_t storage = 0;   // its serial number
  uint64_t position = 0;  // of random numbers, from that where the step began
  bool given = false;     // to the result that replaces it
  Value constant;         // a number or an array
  Type type;
  const Sharding* sharding = nullptr;
};
struct Result {
  uint64_t storage = 0;
  Type type;
  const Sharding* sharding = nullptr;
  bool only_written = false;  // the step does not read the storage
};
struct Step {
  int device = 0;
  Program program;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  std::vector<Check> checks;
  Type found;          // of the array of what all checks found
  uint64_t drawn = 0;  // blocks of random numbers
};

std::unordered_map<int64_t, Step>& steps() {
  static auto* kept = new std::unordered_map<int64_t, Step>;
  return *kept;
}

Step& step_of(int64_t number) {
  const auto found = steps().find(number);
  STRIDED_CHECK(found != steps().end(), RuntimeError, "XLA: there is no captured step ", number);
  return found->second;
}

Value copy_of(const Value& v) {
  const Value copy = add("stablehlo.reshape", {v}, v->dtype, v->shape);
  copy->sharding = v->sharding;
  return copy;
}

// Each storage gets an array of its own, so that an argument tells which storage was read.
void part_storages(int device) {
  std::unordered_set<const Node*> seen;
  bool copied = false;
  for (const auto& [serial, block] : state().by_serial) {
    if (block->device != device || !block->value || seen.insert(block->value.get()).second) continue;
    block->value = copy_of(block->value);
    copied = true;
  }
  if (copied) run_recorded(device);
}

// Which storage held which array when the capture began, or has one that was made since and is a constant.
using Holders = std::unordered_map<const Node*, uint64_t>;
Holders holders() {
  Holders found;
  for (const auto& [serial, block] : state().by_serial) {
    if (block->device != state().capture->device) continue;
    const auto before = state().capture->before.find(serial);
    const Value& v = before == state().capture->before.end() ? block->value : before->second.value;
    if (v && is_array(*v)) found.emplace(v.get(), serial);
  }
  return found;
}

Argument argument_of(const Node* n, const Holders& holder) {
  Argument a;
  a.type = {n->dtype, n->shape};
  a.sharding = n->sharding;
  if (const auto held = holder.find(n); held != holder.end()) {
    a.from = Source::Storage;
    a.storage = held->second;
    return a;
  }
  a.constant = Value(const_cast<Node*>(n));
  for (const Capture::Draw& draw : state().capture->draws) {
    if (n == draw.seed.get()) a.from = Source::Seed;
    if (n != draw.first.get()) continue;
    a.from = Source::Position;
    a.position = draw.position - state().capture->draws[0].position;
  }
  return a;
}

// What storages are to hold, and last what checks find. Each storage gets an array of its own.
std::vector<Value> results_of(Step* step, const Holders& holder) {
  const Capture& capture = *state().capture;
  std::vector<Value> results;
  std::unordered_set<const Node*> seen;
  for (const auto& [serial, block] : state().by_serial) {
    const bool is_new = serial > capture.last;
    if (block->device != step->device || (!is_new && !capture.before.count(serial))) continue;
    Value v = recorded_value(block);
    if (!v || (is_new && is_array(*v) && holder.at(v.get()) == serial)) continue;  // a constant of its own
    if (is_array(*v) || !seen.insert(v.get()).second) v = copy_of(v);
    step->results.push_back({serial, {v->dtype, v->shape}, v->sharding, false});
    results.push_back(std::move(v));
  }
  step->checks = state().checks[step->device];
  if (const Value all = join_checks(&step->checks)) {
    step->found = {all->dtype, all->shape};
    results.push_back(all);
  }
  for (Check& check : step->checks) check.bad = {};
  return results;
}

// Compiles the program. The array of a storage gives its memory to what replaces it.
void set_program(Step* step, const std::vector<Value>& results, const Holders& holder) {
  std::vector<Node*> outputs;
  for (const Value& v : results) outputs.push_back(v.get());
  std::unordered_map<uint64_t, Node*> read;  // the arguments, by their storages
  for (Node* n : in_order(outputs))
    if (const auto at = holder.find(n); at != holder.end()) read[at->second] = n;
  std::unordered_set<const Node*> given;
  step->program = program_of(outputs, [&](size_t i) -> Node* {
    if (i >= step->results.size()) return nullptr;  // what checks find
    const auto at = read.find(step->results[i].storage);
    if (at == read.end()) return nullptr;
    const Node &from = *at->second, &to = *outputs[i];
    if (from.dtype != to.dtype || !(from.shape == to.shape) || from.sharding != to.sharding) return nullptr;
    given.insert(&from);
    return at->second;
  });
  for (const Node* n : step->program.arguments) {
    step->arguments.push_back(argument_of(n, holder));
    step->arguments.back().given = given.count(n) > 0;
  }
  for (Result& r : step->results) r.only_written = read.count(r.storage) == 0;
}

// Storages hold what they held before, and those that were made since hold nothing.
void give_back() {
  for (const auto& [serial, block] : state().by_serial) {
    if (block->device != state().capture->device) continue;
    if (const auto before = state().capture->before.find(serial); before != state().capture->before.end()) {
      block->value = std::move(before->second.value);
      block->host = std::move(before->second.host);
    } else if (block->value && !is_array(*block->value)) {
      block->value = {};
    }
  }
}

Generator& generator_of(int device) { return default_generator(Device{DeviceType::XLA, static_cast<int8_t>(device)}); }

// What a storage holds now, as an argument of the step.
Value argument_now(Block& block, const Argument& a) {
  auto fits = [&](const Node& n) {
    return is_array(n) && n.dtype == a.type.dtype && n.shape == a.type.shape && n.sharding == a.sharding;
  };
  if (!block.value || !fits(*block.value)) {
    block.value = value_of(block, a.type.dtype);
    if (!is_array(*block.value)) {
      block.value = copy_of(block.value);
      run_recorded(block.device);
    }
    STRIDED_CHECK(fits(*block.value), RuntimeError,
                  "XLA: a tensor of a captured step is sharded otherwise than when it was captured");
  }
  if (a.given && block.value->use_count() > 1) {  // something else holds the array, which is to be overwritten
    const Value copy = copy_of(block.value);
    run({copy.get()}, block.device);
    block.value = copy;
  }
  return block.value;
}

Value result_node(const Type& type, const Sharding* sharding) {
  const Value node = make_ref<Node>();
  node->kind = Node::Array;
  node->dtype = type.dtype;
  node->shape = type.shape;
  node->sharding = sharding;
  return node;
}

}  // namespace

void capture_begin(int device) {
  const Lock lock;
  STRIDED_CHECK(!state().capture, RuntimeError, "XLA: a step is captured already");
  run_recorded(device);
  raise_bad(device);
  part_storages(device);
  state().capture = std::make_unique<Capture>();
  state().capture->device = device;
  state().capture->last = state().serial;
}

void capture_abandon() {
  const Lock lock;
  state().capture.reset();
}

int64_t capture_end(int device) {
  const GeneratorLock generator_lock(generator_of(device), 1);
  const Lock lock;
  State& s = state();
  STRIDED_CHECK(s.capture && s.capture->device == device, RuntimeError, "XLA: no step of this device is captured");
  Step step;
  step.device = device;
  const Holders holder = holders();
  const std::vector<Value> results = results_of(&step, holder);
  if (!results.empty()) set_program(&step, results, holder);
  if (const auto& draws = s.capture->draws; !draws.empty()) {
    Generator& generator = generator_of(device);
    step.drawn = generator.position - draws[0].position;
    generator.position = draws[0].position;
  }
  s.checks[device].clear();
  give_back();
  s.capture.reset();
  for (const Argument& a : step.arguments)
    if (a.from == Source::Storage) ++s.by_serial.at(a.storage)->captures;
  for (const Result& r : step.results) ++s.by_serial.at(r.storage)->captures;
  static int64_t last = 0;
  steps().emplace(++last, std::move(step));
  return last;
}

void replay(int64_t number) {
  std::optional<GeneratorLock> generator_lock;
  Generator* generator = nullptr;
  {
    const Lock lock;
    const Step& step = step_of(number);
    if (step.drawn) generator = &generator_of(step.device);
  }
  if (generator) generator_lock.emplace(*generator, 1);
  const Lock lock;
  Step& step = step_of(number);
  run_recorded(step.device);
  if (step.results.empty() && step.checks.empty()) return;
  State& s = state();
  std::vector<Value> alive;
  Program program = step.program;  // with the arguments of the capture, which are no more
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const Argument& a = step.arguments[i];
    Value v;
    if (a.from == Source::Storage) {
      v = argument_now(*s.by_serial.at(a.storage), a);
    } else if (a.from == Source::Constant) {
      v = a.constant;
    } else {
      const uint64_t word = a.from == Source::Seed ? generator->initial_seed() : generator->position + a.position;
      v = argument(&word, DType::UInt64);
    }
    program.arguments[i] = v.get();
    alive.push_back(std::move(v));
  }
  std::vector<Node*> outputs;
  std::vector<Value> results;
  for (const Result& r : step.results) results.push_back(result_node(r.type, r.sharding));
  if (!step.checks.empty()) results.push_back(result_node(step.found, nullptr));
  for (const Value& v : results) outputs.push_back(v.get());
  // A storage that is only written lets go of its array before the new one is made: large arrays then take turns in the
  // same memory, whose pages are there already. If the step fails, such a storage holds zeros.
  for (const Result& r : step.results)
    if (r.only_written) set_value(*s.by_serial.at(r.storage), {});
  start(program, outputs, step.device);
  if (generator) generator->position += step.drawn;
  for (size_t i = 0; i < step.results.size(); ++i) set_value(*s.by_serial.at(step.results[i].storage), results[i]);
  if (step.checks.empty()) return;
  std::vector<Check> checks = step.checks;
  for (Check& check : checks) check.bad = results.back();
  add_started(step.device, std::move(checks));
}

void forget(int64_t number) {
  std::vector<std::unique_ptr<Block>> gone;  // freed after the lock
  Step step;
  const Lock lock;
  const auto found = steps().find(number);
  if (found == steps().end()) return;
  step = std::move(found->second);
  steps().erase(found);
  auto let_go = [&](uint64_t serial) {
    Block& block = *state().by_serial.at(serial);
    if (--block.captures == 0 && block.orphan) gone.push_back(remove_block(block.base));
  };
  for (const Argument& a : step.arguments)
    if (a.from == Source::Storage) let_go(a.storage);
  for (const Result& r : step.results) let_go(r.storage);
}

}  // namespace strided::xla
