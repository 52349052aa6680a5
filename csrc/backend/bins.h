// An optional function of a backend: counting in bins of one width.
#pragma once

#include "core/device.h"
#include "core/dtype.h"

namespace strided {

// Counts of n contiguous numbers, float32 or float64, in `bins` bins from low to high; numbers outside, and NaN, are
// left out.
struct BinsPlan {
  static constexpr int64_t kMostBins = 1 << 24;
  // Differences in a wider range would overflow float: its numbers are taken as double.
  static constexpr double kWidestInFloat = 1e38;

  DType dtype = DType::Float32;
  const void* in = nullptr;
  int64_t n = 0, bins = 1;
  double low = 0, high = 1;
  int64_t* counts = nullptr;  // one for each bin
};

// The function of each type of device; null: bins are computed and counted by other operations.
extern void (*count_in_bins_on[kNumDeviceTypes])(const BinsPlan& plan);
inline auto count_in_bins_of(Device device) { return count_in_bins_on[static_cast<int>(device.type)]; }

}  // namespace strided
