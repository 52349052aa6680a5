#include "python/bind.h"

namespace strided::python {
void bind_decompositions() {}
}  // namespace strided::python
