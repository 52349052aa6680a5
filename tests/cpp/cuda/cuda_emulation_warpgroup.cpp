#include "cuda_emulation_warpgroup.h"

#include <array>
#include <cstdlib>
#include <deque>
#include <limits>
#include <vector>

namespace cuda_emulation {
namespace {

constexpr unsigned kThreads = 128, kChunk = 16;  // of a warpgroup; bytes whose state is known

struct Matrix {
  uint32_t start, along, across;
  bool outer;  // contiguous along m or n

  Matrix(uint64_t descriptor, bool outer_)
      : start(field(descriptor, 0)), along(field(descriptor, 16)), across(field(descriptor, 32)), outer(outer_) {}
  static uint32_t field(uint64_t descriptor, int bit) { return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4; }
  // Of element i of m or n and k < 16.
  uint32_t address(uint32_t i, uint32_t k) const {
    const uint32_t plain = start + (outer ? i / 64 * along + i % 64 * 2 + k / 8 * across + k % 8 * 128
                                          : i / 8 * across + i % 8 * 128 + k * 2);
    return plain ^ (plain >> 7 & 7) << 4;
  }
};

// A product of a warpgroup, until all its threads have waited for it.
struct Product {
  Wgmma what;
  Site site;
  unsigned asked = 0, done = 0;
  std::vector<uint32_t> chunks;  // that it reads
};
// A thread's part of it.
struct Part {
  Wgmma what;
  size_t number;  // of the warpgroup's products
  float* to;
  std::array<float, 128> sums;
  bool given;  // whether sums are set; if not, they are those of the product before
};

struct Thread {
  std::vector<std::vector<Part>> groups;  // the last one is open
  bool fenced = false;
  size_t asked = 0;
  std::vector<uint32_t> copied;  // chunks, since the last fence for the async proxy
};
struct Warpgroup {
  std::deque<Product> products;
  size_t first = 0;  // number of the front one
};

std::vector<Thread> threads;
std::vector<Warpgroup> warpgroups;
std::vector<uint16_t> readers;  // of each chunk of the arena: products under way
std::vector<uint16_t> writer;   // the thread, plus 1, that has copied to it without a fence since
size_t under_way = 0, counted = 0;

Thread& me() { return threads[thread_number()]; }
std::string text(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }
bool same(const Wgmma& x, const Wgmma& y) {
  return x.a == y.a && x.b == y.b && x.n == y.n && x.along_m == y.along_m && x.along_n == y.along_n &&
         x.value == y.value;
}

void check_descriptor(uint64_t d, bool outer, const char* name, Site site) {
  const auto wrong = [&](const char* what) {
    fail("wgmma: the descriptor of " + std::string(name) + " " + what, site);
  };
  if (d >> 62 != 1) wrong("does not say 128-byte swizzle, which is what is emulated");
  if (d & 0x3fffc000c000c000u) wrong("sets bits that must be 0, or a base offset");
  const Matrix m(d, outer);
  if (m.start % 1024 & (outer ? ~0u : ~0x70u)) wrong("begins where no atom of 1024 bytes does");
  if (m.across % 1024 || (outer && m.along % 1024)) wrong("has atoms that are not aligned to 1024 bytes");
}

// The chunks that an operand is read from, `size` of m or n.
void collect(const Matrix& m, uint32_t size, const char* name, std::vector<uint32_t>& chunks, Site site) {
  const Arena a = arena();
  for (uint32_t i = 0; i < size; i += m.outer ? 8 : 1)
    for (uint32_t k = 0; k < 16; k += m.outer ? 1 : 8) {
      const uint32_t at = m.address(i, k);
      if (at < a.begin || at + kChunk > a.end)
        fail("wgmma: " + std::string(name) + " lies outside dynamic shared memory", site);
      chunks.push_back(at / kChunk);
    }
}

void compute(Part& part) {
  const char* memory = arena().memory;
  const Matrix a(part.what.a, part.what.along_m), b(part.what.b, part.what.along_n);
  const uint32_t t = thread_number() % kThreads, lane = t % 32, row = t / 32 * 16 + lane / 4;
  // Only the tensor cores are wrong: who compares with other kernels sees it.
  static const bool wrong = [] {
    const char* asked = std::getenv("STRIDED_EMULATE_WRONG_PRODUCTS");
    return asked && *asked == '1';
  }();
  double x[2][16], y[2][16];
  for (uint32_t h = 0; h < 2; ++h)
    for (uint32_t k = 0; k < 16; ++k) x[h][k] = part.what.value(memory + a.address(row + 8 * h, k));
  for (uint32_t j = 0; j < static_cast<uint32_t>(part.what.n) / 8; ++j) {
    for (uint32_t e = 0; e < 2; ++e)
      for (uint32_t k = 0; k < 16; ++k) y[e][k] = part.what.value(memory + b.address(8 * j + lane % 4 * 2 + e, k));
    for (uint32_t i = 0; i < 4; ++i) {
      double sum =
          part.sums[4 * j + i] + (wrong && j == 1);  // rounded once: the hardware's own order is not documented
      for (uint32_t k = 0; k < 16; ++k) sum += x[i / 2][k] * y[i % 2][k];
      part.sums[4 * j + i] = static_cast<float>(sum);
    }
  }
}

// One thread is done with a product of its warpgroup.
void leave(size_t number) {
  Warpgroup& group = warpgroups[thread_number() / kThreads];
  Product& product = group.products[number - group.first];
  if (++product.done < kThreads) return;
  for (uint32_t c : product.chunks) --readers[c];
  --under_way;
  while (!group.products.empty() && group.products.front().done == kThreads) {
    group.products.pop_front();
    ++group.first;
  }
}

void make_room() {
  const size_t chunks = arena().end / kChunk + 1;
  if (writer.size() >= chunks) return;
  readers.resize(chunks);
  writer.resize(chunks);
}
// f(chunk) for those of the arena that the bytes touch.
template <class F>
void each_chunk(const void* data, size_t bytes, F f) {
  const Arena a = arena();
  const uintptr_t from = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(a.memory);
  if (from < a.begin || from + bytes > a.end) return;
  make_room();
  for (uintptr_t c = from / kChunk; c <= (from + bytes - 1) / kChunk; ++c) f(static_cast<uint32_t>(c));
}
void all_lanes(Site site) { exchange(0xffffffffu, nullptr, 0, site); }

}  // namespace

void wgmma(float* sums, const Wgmma& what, const char* file, int line) {
  const Site site{file, line};
  const unsigned t = thread_number();
  if (threads.size() % kThreads) fail("wgmma: the block is not made of whole warpgroups", site);
  all_lanes(site);
  Thread& thread = me();
  Warpgroup& group = warpgroups[t / kThreads];
  const size_t number = thread.asked++;
  if (number - group.first == group.products.size()) {  // the first thread that asks for it
    check_descriptor(what.a, what.along_m, "A", site);
    check_descriptor(what.b, what.along_n, "B", site);
    Product product{what, site, 0, 0, {}};
    collect(Matrix(what.a, what.along_m), 64, "A", product.chunks, site);
    collect(Matrix(what.b, what.along_n), static_cast<uint32_t>(what.n), "B", product.chunks, site);
    make_room();
    for (uint32_t c : product.chunks) ++readers[c];
    group.products.push_back(std::move(product));
    ++under_way;
    ++counted;
  }
  Product& product = group.products[number - group.first];
  if (!same(product.what, what))
    fail("wgmma: other threads of the warpgroup asked for another product, at " + text(product.site), site);
  ++product.asked;
  if (lane() == 0)
    for (uint32_t c : product.chunks)
      if (writer[c])
        fail("wgmma reads what thread " + std::to_string(writer[c] - 1) + " copied, without a fence.proxy.async since",
             site);
  Part part{what, number, sums, {}, true};
  for (const auto& g : thread.groups)
    for (const Part& before : g)
      if (before.to == sums) {
        part.given = false;
        if (before.what.n != what.n) fail("wgmma: sums of another shape are under way", site);
      }
  if (part.given && !thread.fenced) fail("wgmma: the sums were not handed over by a wgmma.fence", site);
  for (int i = 0; i < what.n / 2; ++i) {
    if (part.given) part.sums[static_cast<size_t>(i)] = sums[i];
    sums[i] = std::numeric_limits<float>::quiet_NaN();
  }
  if (thread.groups.empty()) thread.groups.emplace_back();
  thread.groups.back().push_back(part);
}

void wgmma_fence(const char* file, int line) {
  all_lanes({file, line});
  me().fenced = true;
}
void wgmma_commit(const char* file, int line) {
  all_lanes({file, line});
  auto& groups = me().groups;
  groups.resize(groups.empty() ? 2 : groups.size() + 1);
}
void wgmma_wait(unsigned open, const char* file, int line) {
  all_lanes({file, line});
  auto& groups = me().groups;
  while (groups.size() > size_t{open} + 1) {
    std::vector<Part> parts = std::move(groups.front());
    groups.erase(groups.begin());
    for (size_t i = 0; i < parts.size(); ++i) {
      compute(parts[i]);
      Part* next = nullptr;  // that goes on with these sums
      for (size_t j = i + 1; j < parts.size() && !next; ++j)
        if (parts[j].to == parts[i].to) next = &parts[j];
      for (auto& g : groups)
        for (Part& p : g)
          if (!next && p.to == parts[i].to) next = &p;
      if (next) next->sums = parts[i].sums;
      else std::memcpy(parts[i].to, parts[i].sums.data(), sizeof(float) * static_cast<size_t>(parts[i].what.n) / 2);
      if (next) next->given = true;
      leave(parts[i].number);
      me().fenced = false;
    }
  }
}
void fence_async_proxy() {
  Thread& thread = me();
  for (uint32_t c : thread.copied)
    if (writer[c] == thread_number() + 1) writer[c] = 0;
  thread.copied.clear();
}

size_t count_products() {
  const size_t n = counted;
  counted = 0;
  return n;
}

void begin_block(unsigned n) {
  threads.assign(n, Thread());
  warpgroups.assign((n + kThreads - 1) / kThreads, Warpgroup());
  readers.assign(readers.size(), 0);
  writer.assign(writer.size(), 0);
  under_way = 0;
}
std::string end_block() {
  for (const Warpgroup& group : warpgroups)
    for (const Product& product : group.products)
      return "wgmma: only " + std::to_string(product.asked) + " threads of a warpgroup asked for the product at " +
             text(product.site);
  return "";
}
void end_thread() {
  for (const auto& group : me().groups)
    for (const Part& part : group) {
      const Warpgroup& all = warpgroups[thread_number() / kThreads];
      fail("wgmma: a thread ends without waiting for the product", all.products[part.number - all.first].site);
    }
}

void begin_copy(const void* to, size_t bytes, Site site) {
  if (under_way == 0) return;
  each_chunk(to, bytes, [&](uint32_t c) {
    if (readers[c]) fail("cp.async to where a wgmma that is under way reads", site);
  });
}
void end_copy(const void* to, size_t bytes) {
  const uint16_t by = static_cast<uint16_t>(thread_number() + 1);
  each_chunk(to, bytes, [&](uint32_t c) {
    if (writer[c] != by) me().copied.push_back(c);
    writer[c] = by;
  });
}

}  // namespace cuda_emulation
