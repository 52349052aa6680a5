// What is known of the storages of the device.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "xla/graph.h"
#include "xla/plugin.h"

namespace strided::xla {

// Note [Addresses]
// Memory of this device has addresses that nobody may touch: ranges that are reserved and closed. They make plans what
// they are on other devices. A storage is one value with one axis, of the dtype of the last whole write; reading a
// view takes elements of it, and writing to a view makes a new value.

struct Block {  // Note [Addresses]
  uintptr_t base = 0;
  size_t nbytes = 0;
  int device = 0;
  uint64_t serial = 0;
  Value value;                         // null: nobody has written
  const Sharding* sharding = nullptr;  // of what is written: Note [Shards] in graph.h
  DType sharded_dtype = DType::Float32;
  std::vector<char> host;  // in its place: bytes of the host, whose dtype the first reader says
  int captures = 0;        // captured steps that read or write it
  bool orphan = false;     // its tensors are gone, and captured steps keep it
};
// Checks of values: who waits for a program next raises what `raise` says of `bad`, an int64, if it is not kGood.
struct Check {
  Value bad;
  std::function<void(int64_t)> raise;
  int64_t place = 0;  // in what all checks of a program have found, which is one array then
};

// Note [Captured steps] in capture.h, while one is recorded.
struct Capture {
  struct Held {
    Value value;
    std::vector<char> host;
  };
  struct Draw {  // of random numbers
    Value seed, first;
    uint64_t position;
  };
  int device = 0;
  uint64_t last = 0;                          // storages with greater numbers were made since
  std::unordered_map<uint64_t, Held> before;  // what storages held that were written since
  std::vector<Draw> draws;
  uint64_t seed = 0;  // of the generator, at these draws

  bool knows(const Block& block) const { return block.device == device && block.serial <= last; }
};

// Under the lock of memory.cpp.
struct State {
  std::map<uintptr_t, std::unique_ptr<Block>> blocks;
  std::map<uint64_t, Block*> by_serial;    // programs are the same in each step: results in order of allocation
  std::vector<uintptr_t> free_ranges[64];  // by the logarithm of their size
  uintptr_t next = 0, end = 0;
  uint64_t serial = 0;
  std::vector<Check> checks[kMostDevices];   // recorded
  std::vector<Check> started[kMostDevices];  // whose programs may still run
  std::unique_ptr<Capture> capture;
};
State& state();

}  // namespace strided::xla
