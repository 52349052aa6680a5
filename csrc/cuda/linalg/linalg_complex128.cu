#include "cuda/linalg/linalg_unit.h"

namespace strided {
namespace cuda {

template const LinalgTable<Complex<double>>& linalg_table<Complex<double>>();

}  // namespace cuda
}  // namespace strided
