#include "base/cpu_features.h"

#include <cstdlib>
#include <cstring>

namespace strided {
namespace {

bool runs(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::V4:
#ifdef STRIDED_HAVE_V4
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("fma");
#else
      return false;
#endif
    case Isa::V3:
#ifdef STRIDED_HAVE_V3
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
      return false;
#endif
    case Isa::V2:
#ifdef STRIDED_HAVE_V2
      return true;
#else
      return false;
#endif
  }
#endif
  return isa == Isa::V2;
}

Isa choose() {
  Isa best = runs(Isa::V4) ? Isa::V4 : runs(Isa::V3) ? Isa::V3 : Isa::V2;
  if (const char* wish = std::getenv("STRIDED_ISA")) {
    if (std::strcmp(wish, "v2") == 0 && runs(Isa::V2)) return Isa::V2;
    if (std::strcmp(wish, "v3") == 0 && runs(Isa::V3)) return Isa::V3;
  }
  return best;
}

}  // namespace

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

bool has_bfloat16_products() {
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 10)
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

const char* isa_name([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  return isa == Isa::V4 ? "x86-64-v4" : isa == Isa::V3 ? "x86-64-v3" : "x86-64-v2";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "generic";
#endif
}

}  // namespace strided
