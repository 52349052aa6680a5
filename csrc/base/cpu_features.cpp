#include "base/cpu_features.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"

namespace strided {
namespace {

#if defined(__x86_64__)
// What x86-64-v3 has beside AVX2 (x86-64 psABI, table 3.1). __builtin_cpu_supports knows FMA and BMI by name, but F16C,
// MOVBE and LZCNT in new compilers only; a hypervisor may hide any of them.
bool has_all_of_v3() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2")) {
    return false;
  }
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned movbe = 1u << 22, f16c = 1u << 29, lzcnt = 1u << 5;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & movbe) == 0 || (ecx & f16c) == 0) return false;
  return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0 && (ecx & lzcnt) != 0;
}
#endif

bool runs(Isa isa) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (isa) {
    case Isa::V4:
#ifdef STRIDED_HAVE_V4
      return has_all_of_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512cd");
#else
      return false;
#endif
    case Isa::V3:
#ifdef STRIDED_HAVE_V3
      return has_all_of_v3();
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
  const Isa best = runs(Isa::V4) ? Isa::V4 : runs(Isa::V3) ? Isa::V3 : Isa::V2;
  if (const char* wish = std::getenv("STRIDED_ISA"); wish && *wish) {
    for (const Isa isa : {Isa::V2, Isa::V3, Isa::V4}) {
      constexpr const char* names[] = {"v2", "v3", "v4"};
      if (std::strcmp(wish, names[static_cast<int>(isa)]) != 0) continue;
      STRIDED_CHECK(runs(isa), RuntimeError, "STRIDED_ISA=", wish, ": ",
                    "this processor lacks that instruction set, or this build has no loops for it");
      return isa;
    }
    STRIDED_THROW(ValueError, "STRIDED_ISA=", wish, " in the environment: expected v2, v3 or v4");
  }
  STRIDED_CHECK(runs(best), RuntimeError, "this build of strided has no loops that this processor runs");
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
