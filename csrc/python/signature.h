// Signature texts of functions (bind.h has the notation).
#pragma once

#include "python/function.h"

namespace strided::python {

// Name, parameters and result of a text; what C++ gives is left empty.
Overload parse_signature(const char* signature);
// Adds where the text of an overload differs from what its C++ function takes and returns.
void list_mismatches(const Overload& o, std::vector<std::string>* found);

}  // namespace strided::python
