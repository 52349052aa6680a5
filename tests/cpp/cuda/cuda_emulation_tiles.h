// mbarrier and cp.async.bulk.tensor on the host (PTX ISA, sections on mbarrier, tensor copies and their swizzles).
//
// Emulated tensor copies.
// A copy arrives when it is asked for, or when nothing else can go on: either may show what was not waited for. Flags
// are known by their address in shared memory. An error is: a flag that was not prepared, arrivals or bytes too many, a
// map that the driver would refuse, a box that is not aligned, lies outside of shared memory, or comes to where a
// product under way reads. STRIDED_EMULATE_LOST_COPIES=1: none arrives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_emulation.h"

namespace cuda_emulation {

// Of the machine: whether a copy on its way came now; and the begin of a block.
bool bring_a_tile(uint64_t random);
void forget_tiles();

}  // namespace cuda_emulation
