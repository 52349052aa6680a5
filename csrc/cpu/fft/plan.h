// Plans of Fourier transforms: which loops run in which order, with their tables. They are made once for a length and
// kept.
#pragma once

#include <memory>
#include <vector>

#include "cpu/fft/loops.h"

namespace strided {
namespace fft {

// Numbers of either type, held for the loops.
class Table {
 public:
  Table() = default;
  Table(bool wide, size_t n) : wide_(wide), floats_(wide ? 0 : n), doubles_(wide ? n : 0) {}
  template <class R>
  void set(size_t i, R x) {
    if (wide_) doubles_[i] = static_cast<double>(x);
    else floats_[i] = static_cast<float>(x);
  }
  const void* data() const {
    if (wide_) return doubles_.data();
    return floats_.data();
  }
  size_t bytes() const { return floats_.size() * sizeof(float) + doubles_.size() * sizeof(double); }

 private:
  bool wide_ = false;
  std::vector<float> floats_;
  std::vector<double> doubles_;
};

struct Plan {
  virtual ~Plan() = default;
  size_t bytes = 0;
};

// Transforms in lanes.
struct KernelPlan : Plan {
  FftKernel kernel;
  std::vector<std::unique_ptr<Table>> tables;
  std::vector<std::unique_ptr<FftChirp>> chirps;
  std::vector<std::shared_ptr<const KernelPlan>> convolutions;
};

// A contiguous row by itself: as a matrix, or as a convolution of longer rows.
struct RowPlan : Plan {
  int64_t n = 1;
  FftLong matrix;
  std::shared_ptr<const KernelPlan> columns, rows;
  Table twiddles, multiples;
  std::shared_ptr<const RowPlan> convolution;  // null: a matrix
  Table chirp, spectrum;
};

// e^(-2 pi i k / n) for k <= n / 4.
struct HalfPlan : Plan {
  Table roots;
};

// Of float64 numbers (`wide`) or float32. Kept for later calls, up to a number of bytes; whoever holds one keeps it.
std::shared_ptr<const KernelPlan> kernel_plan(int64_t n, bool wide);
std::shared_ptr<const RowPlan> row_plan(int64_t n, bool wide);
std::shared_ptr<const HalfPlan> half_plan(int64_t n, bool wide);

// Estimates of the time of one element of a row: alone, and as one of a full group of lanes.
struct Costs : Plan {
  double row = 0, lanes = 0;
};
Costs costs(int64_t n, bool wide);

}  // namespace fft
}  // namespace strided
