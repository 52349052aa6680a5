// Signature texts of functions (bind.h has the notation).
#pragma once

#include "python/function.h"

namespace strided::python {

// Name, parameters and result of a text; what C++ gives is left empty. Without `with_out`, the last parameter, out=, is
// left out of all of them and of the text.
Overload parse_signature(const char* signature, bool with_out = true);
// Adds where the text of an overload differs from what its C++ function takes and returns.
void list_mismatches(const Overload& o, std::vector<std::string>* found);

}  // namespace strided::python
