// Scratch memory of loops and drivers that need more than the stack has: products, factorisations, solves, transforms.
#pragma once

#include <cstdint>

namespace strided {

// Scratch memory of the calling thread, 64-byte aligned, kept and grown between calls. Every user has a slot of its
// own, because a factorisation holds its scratch while the product inside it needs another.
enum class WorkspaceSlot { Product, Columns, Vector, Factor, Solve, FftRows, FftMatrix, FftChirp, FftHalf, Count };
// Throws OutOfMemoryError. The content is undefined, and valid until the same thread asks for the same slot again.
void* workspace(WorkspaceSlot slot, int64_t bytes);

}  // namespace strided
