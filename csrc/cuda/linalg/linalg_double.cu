#include "cuda/linalg/linalg_unit.h"

namespace strided {
namespace cuda {

template const LinalgTable<double>& linalg_table<double>();

}  // namespace cuda
}  // namespace strided
