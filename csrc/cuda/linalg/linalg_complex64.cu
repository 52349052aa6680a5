#include "cuda/linalg/linalg_unit.h"

namespace strided {
namespace cuda {

template const LinalgTable<Complex<float>>& linalg_table<Complex<float>>();

}  // namespace cuda
}  // namespace strided
