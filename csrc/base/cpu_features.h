// Which of the compiled instruction sets this machine runs.
#pragma once

namespace strided {

enum class Isa { V2, V3, V4 };  // x86-64-v2, -v3 (AVX2), -v4 (AVX-512); other architectures have one build, called V2

// The best one that was compiled and that the CPU has; STRIDED_ISA=v2|v3|v4 in the environment asks for one.
// Raises where it names none that is here.
Isa chosen_isa();
const char* isa_name(Isa isa);
// Whether the processor has vectors of 64 bytes, and moves them as two halves: AMD's Zen 4.
bool moves_halves();

// How products of bfloat16 and of bytes are made by loops for x86-64-v4.
enum class Products {
  Plain,  // in float, and in 16 bits
  Dots,   // AVX512_BF16: lanes of 32 bits hold two bfloat16, and one instruction adds both products
  Tiles,  // AMX: the same for whole tiles
};

// The best one that was compiled and that the CPU has; STRIDED_PRODUCTS=plain|dots|tiles in the environment asks for
// one. Raises where it names none that is here.
Products chosen_products();
bool has_products(Products products);  // whether it was compiled and the CPU has it
const char* products_name(Products products);
// Whether this process may use tiles: the operating system is asked once, by the first product that is large enough.
bool may_use_tiles();

}  // namespace strided
