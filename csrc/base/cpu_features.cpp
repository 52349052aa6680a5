#include "base/cpu_features.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(STRIDED_HAVE_TILES)
#include <sys/syscall.h>
#include <unistd.h>
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

constexpr const char* kProductsNames[] = {"plain", "dots", "tiles"};

const char* wish_for_products() {
  const char* wish = std::getenv("STRIDED_PRODUCTS");
  return wish && *wish ? wish : nullptr;
}

#if defined(STRIDED_HAVE_TILES)
// The processor has tiles, and the operating system keeps them. (Their sums are rounded by AVX512_BF16.)
bool has_tiles() {
  if (!__builtin_cpu_supports("avx512bf16")) return false;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned osxsave = 1u << 27, amx = 1u << 22 | 1u << 24 | 1u << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & osxsave) == 0) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & amx) != amx) return false;
  unsigned low = 0, high = 0;
  constexpr unsigned tile_state = 3u << 17;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & tile_state) == tile_state;
}
#endif

Products choose_products() {
  if (const char* wish = wish_for_products()) {
    for (const Products products : {Products::Plain, Products::Dots, Products::Tiles}) {
      if (std::strcmp(wish, kProductsNames[static_cast<int>(products)]) != 0) continue;
      STRIDED_CHECK(has_products(products), RuntimeError, "STRIDED_PRODUCTS=", wish, ": ",
                    "this processor lacks them, or this build has no loops for them");
      return products;
    }
    STRIDED_THROW(ValueError, "STRIDED_PRODUCTS=", wish, " in the environment: expected plain, dots or tiles");
  }
  if (has_products(Products::Tiles)) return Products::Tiles;
#if defined(STRIDED_HAVE_DOTS)
  // Intel's processors start such an instruction every second cycle, and two multiplications of floats in each cycle
  // (measured on Emerald Rapids): twice the time.
  if (has_products(Products::Dots) && !__builtin_cpu_is("intel")) return Products::Dots;
#endif
  return Products::Plain;
}

}  // namespace

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

bool moves_halves() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // Family 19h is Zen 3, which lacks AVX-512, and Zen 4.
  return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
         ((eax >> 8) & 0xf) + ((eax >> 20) & 0xff) == 0x19;
#else
  return false;
#endif
}

bool has_products(Products products) {
  if (products == Products::Plain) return true;
  if (chosen_isa() != Isa::V4) return false;
#if defined(STRIDED_HAVE_TILES)
  if (products == Products::Tiles) return has_tiles();
#endif
#if defined(STRIDED_HAVE_DOTS)
  if (products == Products::Dots) return __builtin_cpu_supports("avx512bf16");
#endif
  return false;
}

Products chosen_products() {
  static const Products products = choose_products();
  return products;
}

bool may_use_tiles() {
#if defined(STRIDED_HAVE_TILES)
  static const bool granted = [] {
    // Tiles are 8 KB of every thread's state, so Linux gives them to those who ask (Documentation/arch/x86/xstate.rst).
    // It refuses where a thread has an alternate stack for signals that is too small for them.
    constexpr int request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
    const bool given = syscall(SYS_arch_prctl, request, tile_data) == 0;
    STRIDED_CHECK(given || wish_for_products() == nullptr, RuntimeError,
                  "STRIDED_PRODUCTS=tiles: the operating system does not let this process use AMX");
    return given;
  }();
  return granted;
#else
  return false;
#endif
}

const char* products_name(Products products) { return kProductsNames[static_cast<int>(products)]; }

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
