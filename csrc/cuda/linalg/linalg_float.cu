#include "cuda/linalg/linalg_unit.h"

namespace strided {
namespace cuda {

template const LinalgTable<float>& linalg_table<float>();

}  // namespace cuda
}  // namespace strided
