// Steps that are recorded once and done again without Python, autograd and recording.
#pragma once

#include <cstdint>

namespace strided::xla {

// Note [Captured steps]
// Between begin and end operations are recorded and nothing runs. The end makes one program of them: its arguments are
// the arrays of the storages that were read, numbers and constants, its results what storages are to hold. Then the
// storages get back what they held. A replay gives the program what its storages hold now, and gives them the results.
// Storages of a captured step stay as long as it does, also without tensors. Numbers from Python are those of the
// capture; the position of the default generator is counted on, so that each replay draws other random numbers.
void capture_begin(int device);
int64_t capture_end(int device);  // a number for the step
void capture_abandon();           // what was recorded stays recorded; nothing if there is no capture
void replay(int64_t step);
void forget(int64_t step);

}  // namespace strided::xla
