#include "cuda_emulation_tiles.h"

#include <cstdlib>
#include <map>
#include <vector>

#include "cuda_emulation_streams.h"
#include "cuda_emulation_warpgroup.h"

namespace cuda_emulation {
namespace {

constexpr int kAxes = 5;
constexpr uint64_t kMark = 0x70616d5f656c6974;

struct Map {
  uint64_t mark;
  const char* data;
  uint64_t stride[kAxes - 1];
  uint32_t size[kAxes], box[kAxes];
  int32_t rank;
};
static_assert(sizeof(Map) <= 128, "a map has 128 bytes");

struct Flag {
  uint32_t arrivals = 0, pending = 0, phase = 0;
  int64_t bytes = 0;
};
struct Copy {
  char* to;
  Map map;
  int at[kAxes];
  uint64_t* flag;
};

std::map<uint64_t*, Flag> flags;
std::vector<Copy> copies;

Flag& known(uint64_t* at, Site site) {
  const auto found = flags.find(at);
  if (found == flags.end()) fail("mbarrier: it was not prepared", site);
  return found->second;
}
void check_phase(Flag& flag) {
  if (flag.pending || flag.bytes) return;
  ++flag.phase;
  flag.pending = flag.arrivals;
}

size_t bytes_of(const Map& map) {
  size_t n = 2;
  for (int d = 0; d < map.rank; ++d) n *= map.box[d];
  return n;
}

void bring(const Copy& copy) {
  const Map& map = copy.map;
  const uint32_t start = shared_address(copy.to);
  const size_t elements = bytes_of(map) / 2, line_bytes = size_t{map.box[0]} * 2;
  for (size_t e = 0; e < elements; ++e) {
    size_t rest = e;
    const char* from = map.data;
    bool inside = true;
    for (int d = 0; d < map.rank; ++d) {
      const int64_t at = copy.at[d] + static_cast<int64_t>(rest % map.box[d]);
      rest /= map.box[d];
      inside = inside && at >= 0 && at < map.size[d];
      if (inside) from += at * static_cast<int64_t>(d ? map.stride[d - 1] : 2);
    }
    const size_t plain = start + e / map.box[0] * line_bytes + e % map.box[0] * 2;
    char* to = arena().memory + (plain ^ (plain >> 7 & 7) << 4);
    std::memset(to, 0, 2);
    if (inside) std::memcpy(to, from, 2);
  }
  Flag& flag = flags.at(copy.flag);
  flag.bytes -= static_cast<int64_t>(bytes_of(map));
  check_phase(flag);
}

}  // namespace

bool make_tile_map(void* bytes, const void* data, int rank, const uint64_t* size, const uint64_t* stride,
                   const uint32_t* box) {
  Map map{kMark, static_cast<const char*>(data), {}, {}, {}, rank};
  if (!has_context() || rank < 1 || rank > kAxes || reinterpret_cast<uintptr_t>(data) % 16 || box[0] != 64)
    return false;
  for (int d = 0; d < rank; ++d) {
    if (size[d] == 0 || size[d] > uint64_t{1} << 32 || box[d] == 0 || box[d] > 256) return false;
    map.size[d] = static_cast<uint32_t>(size[d]);
    map.box[d] = box[d];
    if (d == 0) continue;
    if (stride[d - 1] == 0 || stride[d - 1] % 16 || stride[d - 1] >= uint64_t{1} << 40) return false;
    map.stride[d - 1] = stride[d - 1];
  }
  std::memcpy(bytes, &map, sizeof(map));
  return true;
}

void prepare_flag(uint64_t* flag, uint32_t arrivals) { flags[flag] = {arrivals, arrivals, 0, 0}; }

void arrive(uint64_t* at, uint32_t bytes, const char* file, int line) {
  const Site site{file, line};
  Flag& flag = known(at, site);
  if (flag.pending == 0) fail("mbarrier: more arrivals than its phase waits for", site);
  --flag.pending;
  flag.bytes += bytes;
  check_phase(flag);
}

bool wait_for_phase(uint64_t* at, uint32_t parity, bool may_give_up, const char* file, int line) {
  const Site site{file, line};
  const Flag& flag = known(at, site);
  return (flag.phase & 1) != parity ||
         wait_until([&flag, parity] { return (flag.phase & 1) != parity; }, may_give_up, site);
}

void copy_tile(void* to, const void* bytes, const int* at, int rank, uint64_t* flag, const char* file, int line) {
  const Site site{file, line};
  Copy copy{static_cast<char*>(to), {}, {}, flag};
  std::memcpy(&copy.map, bytes, sizeof(Map));
  if (reinterpret_cast<uintptr_t>(bytes) % 64 || copy.map.mark != kMark || copy.map.rank != rank)
    fail("a tensor copy whose map is none, or of another rank", site);
  for (int d = 0; d < rank; ++d) copy.at[d] = at[d];
  const uint32_t start = shared_address(to, file, line);
  const size_t size = bytes_of(copy.map);
  if (start % 1024) fail("a tensor copy to where no lines of 128 bytes begin that change places", site);
  if (start + size > arena().end) fail("a tensor copy to outside dynamic shared memory", site);
  known(flag, site);
  begin_copy(to, size, site);
  copies.push_back(copy);
  if (random_number() % 2) bring_a_tile(copies.size() - 1);
}

bool bring_a_tile(uint64_t random) {
  static const bool lost = [] {
    const char* asked = std::getenv("STRIDED_EMULATE_LOST_COPIES");
    return asked && *asked == '1';
  }();
  if (copies.empty() || lost) return false;
  const auto at = copies.begin() + static_cast<std::ptrdiff_t>(random % copies.size());
  const Copy copy = *at;
  copies.erase(at);
  bring(copy);
  return true;
}

void forget_tiles() {
  flags.clear();
  copies.clear();
}

}  // namespace cuda_emulation
