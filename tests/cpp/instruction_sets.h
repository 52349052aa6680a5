// The loops of every compiled instruction set that this machine runs.
#pragma once

#include <vector>

#include "base/cpu_features.h"
#include "cpu/backend.h"
#include "cpu/kernels.h"

namespace strided {

struct NamedKernels {
  const char* isa;
  KernelTable kernels;
};

inline const std::vector<NamedKernels>& all_kernels() {
  static const std::vector<NamedKernels> list = [] {
    std::vector<NamedKernels> sets;
    for (const Isa isa : {Isa::V2, Isa::V3, Isa::V4}) {
      NamedKernels set{isa_name(isa), {}};
      if (isa <= chosen_isa() && fill_kernels(isa, set.kernels)) sets.push_back(set);
    }
    return sets;
  }();
  return list;
}

}  // namespace strided
