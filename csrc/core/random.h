// The generator behind every random number on the CPU: the Mersenne Twister MT19937 of M. Matsumoto and T. Nishimura
// (ACM TOMACS 8, 1998), with its state kept and written as PyTorch does, so that one seed, or one saved state, gives
// the same numbers here and there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "core/device.h"

namespace strided {

class Generator {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr int kWords = 624;
  static constexpr size_t kStateBytes = 5056;

  explicit Generator(uint64_t seed = kDefaultSeed, Device where = {});
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  void manual_seed(uint64_t seed);
  uint64_t seed();  // takes a seed from the operating system, and returns it
  uint64_t initial_seed() const { return seed_; }

  // Note [Generators of accelerators]
  // Their numbers come from Philox (core/philox.h): number i of a stream is a function of the seed and i, whoever
  // computes it. Such a generator is its seed and the position of the next number, in blocks of four words; nothing
  // else here is used.
  const Device device;
  uint64_t position = 0;

  // Sequential draws. Whoever draws holds `mutex`, for a whole tensor at a time.
  uint32_t random() {
    int64_t count;
    const uint32_t word = temper(*pending(&count));
    skip(1);
    return word;
  }
  uint64_t random64() {  // the first draw becomes the high half
    const uint64_t high = random();
    return high << 32 | random();
  }
  void fill_random(uint32_t* out, int64_t n);

  // For bulk loops: the words of the state that are still to be drawn, `count` >= 1 of them, not tempered. Whoever
  // takes some of them says so by skip, before anything else is drawn.
  const uint32_t* pending(int64_t* count) {
    if (left_ == 1) next_block();
    *count = left_ - 1;
    return state_ + next_;
  }
  void skip(int64_t count) {
    left_ -= static_cast<int>(count);
    next_ += static_cast<uint32_t>(count);
  }
  static uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
  }

  // The second value of a pair of normal draws, waiting for the next call.
  std::optional<double> next_normal;

  // The bytes of torch.get_rng_state(): seed, left, seeded, next, the state as 64-bit words, the waiting normal value.
  std::vector<uint8_t> get_state() const;
  // RuntimeError for bytes that are no such state; then nothing changes.
  void set_state(const uint8_t* bytes, size_t n);

  mutable std::mutex mutex;

 private:
  void next_block();
  static void after_fork();

  uint64_t seed_ = 0;
  // PyTorch's counters: words in the block are used up when left_ == 1. next_ == 0 only before the first draw.
  int left_ = 1;
  uint32_t next_ = 0;
  uint32_t state_[kWords];
  std::optional<float> next_float_normal_;  // PyTorch keeps one and never makes it on the CPU: only carried along
};

// While n numbers are drawn: nobody else draws from the generator, and during long draws the interpreter's lock is free
// for others. Who waits for the generator never holds that lock, so that the one who draws can have it back
// (base/parallel.h).
class GeneratorLock {
 public:
  GeneratorLock(Generator& g, int64_t n) : unlocked_(n > 4096), lock_(g.mutex) {}

 private:
  GilRelease unlocked_;
  GilReleasingLock lock_;
};

// The generator of functions that are given none: the CPU's is seeded by the operating system, those of accelerators
// with kDefaultSeed, as PyTorch's are.
Generator& default_generator(Device device = {});
// The CPU's, and those of accelerators that somebody has asked for.
std::vector<Generator*> default_generators();
// Seeds those of all accelerators, also of ones that nobody has used yet.
void seed_accelerators(uint64_t seed);

}  // namespace strided
