// Which of the compiled instruction sets this machine runs.
#pragma once

namespace strided {

enum class Isa { V2, V3, V4 };  // x86-64-v2, -v3 (AVX2), -v4 (AVX-512); other architectures have one build, called V2

// The best one that was compiled and that the CPU has; STRIDED_ISA=v2|v3|v4 in the environment asks for one.
// Raises where it names none that is here.
Isa chosen_isa();
const char* isa_name(Isa isa);

bool has_bfloat16_products();  // AVX512_BF16: sums of two products of bfloat16

}  // namespace strided
