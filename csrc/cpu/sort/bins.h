// Counting in bins.
#pragma once

#include "backend/bins.h"

namespace strided {
namespace cpu {

void count_in_bins(const BinsPlan& plan);

}  // namespace cpu

}  // namespace strided
