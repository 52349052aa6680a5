#include "cuda/reduce/scan.h"

namespace strided {
namespace cuda {

void fill_scan_extremes(ScanTable& table) {
  fill_scan<scan::Max>(table, ScanOp::Max);
  fill_scan<scan::Min>(table, ScanOp::Min);
}

}  // namespace cuda
}  // namespace strided
