#include "core/random.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "base/error.h"

namespace strided {
namespace {

// What torch.get_rng_state() returns: PyTorch writes the memory of a C structure, padding included.
struct StateBytes {
  uint64_t seed;
  int32_t left, seeded;
  uint64_t next;
  uint64_t state[Generator::kWords];
  double unused_x, next_normal, unused_rho;
  int32_t has_normal, padding;
  float next_float_normal;
  uint8_t has_float_normal, tail[3];
};
static_assert(sizeof(StateBytes) == Generator::kStateBytes);

uint32_t twist(uint32_t a, uint32_t b) {
  const uint32_t mixed = (a & 0x80000000u) | (b & 0x7fffffffu);
  return mixed >> 1 ^ ((0u - (b & 1u)) & 0x9908b0dfu);
}

uint64_t system_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

// Generators after fork().
// Another thread may draw while this one forks. In the child no thread would ever unlock the mutex, and the state may
// be half written. So the child, which has one thread, makes the mutex anew and goes on with the next block.
namespace {
struct Living {
  std::mutex mutex;
  std::vector<Generator*> generators;
};
Living& living() {
  static Living* const all = new Living;  // never destroyed: the default generator is, late
  return *all;
}
}  // namespace

Generator::Generator(uint64_t seed, Device where) : device(where) {
  manual_seed(seed);
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, after_fork); });
  const std::lock_guard<std::mutex> lock(living().mutex);
  living().generators.push_back(this);
}

Generator::~Generator() {
  const std::lock_guard<std::mutex> lock(living().mutex);
  auto& all = living().generators;
  all.erase(std::find(all.begin(), all.end(), this));
}

void Generator::after_fork() {
  for (Generator* g : living().generators) {
    if (g->mutex.try_lock()) {
      g->mutex.unlock();
      continue;
    }
    new (&g->mutex) std::mutex;
    g->left_ = 1;
    g->next_ = 0;
  }
}

void Generator::manual_seed(uint64_t seed) {
  const GilReleasingLock lock(mutex);
  seed_ = seed;
  position = 0;
  left_ = 1;
  next_ = 0;
  state_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
  next_normal.reset();
  next_float_normal_.reset();
}

uint64_t Generator::seed() {
  const uint64_t value = system_seed();
  manual_seed(value);
  return value;
}

// Three loops without wrapped indices, so that the compiler vectorises them: a word is read 397 places ahead, or the
// new one 227 places back, both farther than any vector is long.
void Generator::next_block() {
  constexpr int m = 397, k = kWords - m;
  uint32_t* s = state_;
  for (int i = 0; i < k; ++i) s[i] = s[i + m] ^ twist(s[i], s[i + 1]);
  for (int i = k; i < 2 * k; ++i) s[i] = s[i - k] ^ twist(s[i], s[i + 1]);
  for (int i = 2 * k; i < kWords - 1; ++i) s[i] = s[i - k] ^ twist(s[i], s[i + 1]);
  s[kWords - 1] = s[m - 1] ^ twist(s[kWords - 1], s[0]);
  left_ = kWords + 1;
  next_ = 0;
}

void Generator::fill_random(uint32_t* out, int64_t n) {
  while (n > 0) {
    int64_t count;
    const uint32_t* words = pending(&count);
    count = std::min(count, n);
    for (int64_t i = 0; i < count; ++i) out[i] = temper(words[i]);
    skip(count);
    out += count;
    n -= count;
  }
}

std::vector<uint8_t> Generator::get_state() const {
  const GilReleasingLock lock(mutex);
  if (!device.is_cpu()) {
    std::vector<uint8_t> words(16);
    std::memcpy(words.data(), &seed_, 8);
    std::memcpy(words.data() + 8, &position, 8);
    return words;
  }
  StateBytes bytes = {};
  bytes.seed = seed_;
  bytes.left = left_;
  bytes.seeded = 1;
  bytes.next = next_;
  std::copy(state_, state_ + kWords, bytes.state);
  bytes.has_normal = next_normal.has_value();
  bytes.next_normal = next_normal.value_or(0.0);
  bytes.has_float_normal = next_float_normal_.has_value();
  bytes.next_float_normal = next_float_normal_.value_or(0.0f);
  std::vector<uint8_t> out(sizeof(bytes));
  std::memcpy(out.data(), &bytes, sizeof(bytes));
  return out;
}

void Generator::set_state(const uint8_t* data, size_t n) {
  const GilReleasingLock lock(mutex);
  if (!device.is_cpu()) {
    STRIDED_CHECK(n == 16, RuntimeError, "RNG state is wrong size: a generator of device '", device,
                  "' has 16 bytes, got ", n);
    std::memcpy(&seed_, data, 8);
    std::memcpy(&position, data + 8, 8);
    return;
  }
  STRIDED_CHECK(n == kStateBytes, RuntimeError, "Expected a CPUGeneratorImplState of size ", kStateBytes,
                " but found the input RNG state size to be ", n);
  StateBytes bytes;
  std::memcpy(&bytes, data, sizeof(bytes));
  // left - 1 words are still to come from `next` on: they must be there.
  STRIDED_CHECK(bytes.seeded == 1 && bytes.left > 0 && bytes.left <= kWords && bytes.next <= kWords &&
                    static_cast<int64_t>(bytes.next) + bytes.left - 1 <= kWords,
                RuntimeError, "Invalid mt19937 state");
  seed_ = bytes.seed;
  left_ = bytes.left;
  next_ = static_cast<uint32_t>(bytes.next);
  for (int i = 0; i < kWords; ++i) state_[i] = static_cast<uint32_t>(bytes.state[i]);
  next_normal.reset();
  next_float_normal_.reset();
  if (bytes.has_normal) next_normal = bytes.next_normal;
  if (bytes.has_float_normal) next_float_normal_ = bytes.next_float_normal;
}

namespace {
std::mutex making;
uint64_t accelerator_seed = Generator::kDefaultSeed;
std::unique_ptr<Generator> accelerators[128];
}  // namespace

Generator& default_generator(Device device) {
  static Generator generator(system_seed());
  if (device.is_cpu() || device.is_meta()) return generator;  // of which Meta draws nothing
  const std::lock_guard<std::mutex> lock(making);
  auto& found = accelerators[device.index];
  if (!found) found.reset(new Generator(accelerator_seed, device));
  return *found;
}

std::vector<Generator*> default_generators() {
  std::vector<Generator*> all{&default_generator()};
  const std::lock_guard<std::mutex> lock(making);
  for (auto& generator : accelerators)
    if (generator) all.push_back(generator.get());
  return all;
}

void seed_accelerators(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(making);
  accelerator_seed = seed;
  for (auto& generator : accelerators)
    if (generator) generator->manual_seed(seed);
}

}  // namespace strided
