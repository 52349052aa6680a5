#include "cuda/reduce/scan.h"

namespace strided {
namespace cuda {

void fill_scan_folds(ScanTable& table) {
  fill_scan<scan::Sum>(table, ScanOp::Sum);
  fill_scan<scan::Product>(table, ScanOp::Product);
  fill_scan<scan::LogSum>(table, ScanOp::LogSumExp);
}

}  // namespace cuda
}  // namespace strided
