#include "cuda/pointwise/elementwise.h"

namespace strided {
namespace cuda {

// (Special functions: see elementwise_table.)
using HalfOps = Concat<FirstOps, OtherOps>::type;
void fill_elementwise_half(ElementwiseTable& table) { fill_elementwise<Half>(table, HalfOps{}); }

}  // namespace cuda
}  // namespace strided
