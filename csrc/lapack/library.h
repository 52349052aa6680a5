// LAPACK of the environment, opened by the first operation that needs it.
#pragma once

#include <string>

namespace strided {

// Fills the decompositions of the CPU (backend/backend.h) with LAPACK's. find() gives the path of the library that was
// installed for this purpose, or an empty string; STRIDED_LAPACK_LIBRARY names another one, whose integers must have 32
// bits.
void register_lapack(std::string (*find)());
void set_lapack_finder(std::string (*find)());  // its second half

// A routine by its name in LAPACK, as dgesdd. RuntimeError when there is no library, or none with this routine.
void* lapack_routine(const char* name);

}  // namespace strided
