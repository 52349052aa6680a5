#include "cuda/pointwise/copy_types.h"

namespace strided {
namespace cuda {

void fill_copy_floats(CopyTable& table) { fill_conversions<kinds::floating>(table); }

}  // namespace cuda
}  // namespace strided
