// What this machine can do at most, measured by the plainest loops: bytes read and copied a second, from memory and
// from each cache, and floating-point operations a second. Prints JSON.
//
//     c++ -O3 -march=native -pthread limits.cpp -o limits && ./limits [threads]
//
// Bandwidth of a copy counts what is read and what is written, as the benchmark's cases do. A cache line that is
// written by ordinary stores is read first; this copy uses memcpy, which avoids that for long copies.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Runs work(thread) on all threads at once, some times; the shortest time of all threads together.
template <class Work>
double best(int threads, Work work) {
  double least = 1e30;
  for (int round = 0; round < 7; ++round) {
    const auto start = Clock::now();
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) {
      others.emplace_back(work, t);
    }
    work(0);
    for (auto& thread : others) {
      thread.join();
    }
    const double took = seconds_since(start);
    least = took < least ? took : least;
  }
  return least;
}

// One register of the machine: sums in wider vectors do not fit the sixteen registers of AVX2.
#if defined(__AVX512F__)
constexpr int kRegister = 64;
#elif defined(__AVX__)
constexpr int kRegister = 32;
#else
constexpr int kRegister = 16;
#endif
using Floats = float __attribute__((vector_size(kRegister)));
using Doubles = double __attribute__((vector_size(kRegister)));

float sink[4 * kRegister];

// Bytes a second that `threads` read, each from `bytes` of its own.
double read_rate(int threads, size_t bytes) {
  const size_t vectors = bytes / sizeof(Floats);
  std::vector<std::vector<Floats>> data(threads, std::vector<Floats>(vectors, Floats{} + 1.0f));
  const size_t times = 1 + (size_t{1} << 29) / bytes;
  const double took = best(threads, [&](int t) {
    Floats sums[8] = {};
    for (size_t k = 0; k < times; ++k) {
      const Floats* p = data[t].data();
      asm volatile("" : "+r"(p));
      for (size_t i = 0; i + 8 <= vectors; i += 8) {
        for (int j = 0; j < 8; ++j) {
          sums[j] += p[i + j];
        }
      }
    }
    Floats all = {};
    for (auto& sum : sums) {
      all += sum;
    }
    std::memcpy(sink + (t % 4) * kRegister / 4, &all, sizeof all);
  });
  return static_cast<double>(threads) * times * bytes / took;
}

double copy_rate(int threads, size_t bytes) {
  std::vector<std::vector<char>> from(threads, std::vector<char>(bytes, 1)), to = from;
  const size_t times = 1 + (size_t{1} << 28) / bytes;
  const double took = best(threads, [&](int t) {
    for (size_t k = 0; k < times; ++k) {
      const char* p = from[t].data();
      asm volatile("" : "+r"(p) : : "memory");
      std::memcpy(to[t].data(), p, bytes);
    }
  });
  return 2.0 * threads * times * bytes / took;
}

// Multiply-adds in twelve chains, as many as hide the latency of the instruction.
template <class V>
double flop_rate(int threads, double lanes) {
  constexpr int kChains = 12, kTimes = 1 << 22;
  const double took = best(threads, [&](int t) {
    volatile float opaque = 0.5f;  // the compiler would multiply by a constant in other ways
    V sums[kChains], a = V{} + opaque, b = V{} + opaque;
    for (auto& sum : sums) {
      sum = V{} + opaque;  // each read anew: equal chains would be made one
    }
    for (int k = 0; k < kTimes; ++k) {
      for (auto& sum : sums) {
        sum = sum * a + b;
      }
    }
    V all = {};
    for (auto& sum : sums) {
      all += sum;
    }
    std::memcpy(sink + (t % 4) * kRegister / 4, &all, sizeof all);
  });
  return 2.0 * threads * kChains * kTimes * lanes / took;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::printf("{\"threads\": %d", threads);
  const struct {
    const char* name;
    size_t bytes;
  } levels[] = {{"L1", 16 << 10}, {"L2", 256 << 10}, {"L3", 4 << 20}, {"memory", 256 << 20}};
  for (const auto& level : levels) {
    std::printf(", \"read_%s\": %.4g", level.name, read_rate(threads, level.bytes));
    std::printf(", \"copy_%s\": %.4g", level.name, copy_rate(threads, level.bytes / 2));
  }
  std::printf(", \"flops_f4\": %.4g", flop_rate<Floats>(threads, kRegister / 4));
  std::printf(", \"flops_f8\": %.4g}\n", flop_rate<Doubles>(threads, kRegister / 8));
  return sink[0] > 1e30f;
}
