// What the loops of Fourier transforms take: plain data, which cpu/fft/plan.cpp makes. The loops are compiled for each
// instruction set.
#pragma once

#include "cpu/kernels.h"

namespace strided {

// Note [Transforms in lanes]
// All arithmetic is done on `lanes` transforms of one length side by side: element j of all of them is two vectors, the
// real and the imaginary parts. So no loop needs shuffles but where rows are read and written, and any length is as
// vectorised as a power of two. A transform is a sequence of passes of Stockham's kind (W. T. Cochran et al., "What is
// the fast Fourier transform?", Proc. IEEE 55, 1967): pass of radix R over (s, R, m) elements, s the product of the
// radices before it and s R m = n, from one buffer to another,
//   y[q + s (R p + k)] = w^(p k) sum over j of x[q + s (p + m j)] e^(-2 pi i j k / R),   w = e^(-2 pi i / (R m)),
// q < s, p < m, and no order of digits has to be undone. Inverse transforms exchange real and imaginary parts on the
// way in and on the way out.
//
// One long row is a matrix of n1 x n2 elements (D. H. Bailey, "FFTs in external or hierarchical memory", J.
// Supercomputing 4, 1990): its columns are transformed, multiplied by e^(-2 pi i j2 k1 / n), then its rows. Both are
// transforms in lanes, and both work in the cache.

constexpr int kFftMaxLanes = 16;
constexpr int kFftLargestRadix = 13;   // with a loop of its own
constexpr int kFftLargestOdd = 61;     // larger primes are chirps
constexpr int64_t kFftCompact = 8192;  // a row of at most so many elements is read and written group by group
constexpr int kFftGroups = 4;          // Note [Groups of columns] in cpu/fft/fft_rows.inc

struct FftChirp;

struct FftPass {
  int64_t radix = 1, s = 1, m = 1;
  const void* twiddles = nullptr;  // w^(p k), p from 1, k from 1: real and imaginary part
  // Of an odd radix: cos(2 pi j / R), then sin(...), j < R. Beyond kFftLargestRadix: cos(2 pi j k / R) and sin(...)
  // for each k and j from 1 to (R - 1) / 2.
  const void* roots = nullptr;
  const FftChirp* chirp = nullptr;  // of a larger prime
};

struct FftKernel {
  static constexpr int kMostPasses = 40;
  int64_t n = 1;
  int n_passes = 0;
  FftPass pass[kMostPasses];
  int64_t work = 0;  // what it needs: so many vectors
};

// A transform as a convolution with a chirp (L. I. Bluestein, "A linear filtering approach to the computation of
// discrete Fourier transform", IEEE Trans. Audio Electroacoust. 18, 1970). The convolution has n >= 2 * length - 1.
struct FftChirp {
  int64_t n = 1;
  const FftKernel* convolution = nullptr;
  const void* chirp = nullptr;     // e^(-pi i j^2 / n), j < n
  const void* spectrum = nullptr;  // of the conjugate chirp, divided by the length of the convolution
};

// Up to kFftMaxLanes rows of one batch; or several groups of `lanes` rows, each row as far from the one before.
struct FftRows {
  FftPlan::Kind kind = FftPlan::Complex;
  bool inverse = false;
  int64_t n = 1;
  double scale = 1;
  const FftKernel* kernel = nullptr;  // of length n, or n / 2: pairs of real numbers taken as complex ones
  const void* half = nullptr;         // then: e^(-2 pi i k / n), k <= n / 4
  int active = 0, groups = 1;
  const char* in[kFftMaxLanes];  // those from `active` on: any row
  char* out[kFftMaxLanes];
  int64_t in_stride = 0, out_stride = 0;  // bytes
  int64_t in_step = 0, out_step = 0;      // bytes from lane to lane; 0: they differ, or not all are active
};

// A contiguous row of n = n1 n2 complex numbers.
struct FftLong {
  int64_t n1 = 1, n2 = 1;
  const FftKernel *columns = nullptr, *rows = nullptr;  // of length n1, n2
  // e^(-2 pi i j2 k1 / n) for `lanes` j2, then for each k1: real parts, imaginary parts. Where `block`, a power of
  // two, is not 0: for k1 below it, and for its multiples: products are e^(...) of their sums.
  const void *twiddles = nullptr, *multiples = nullptr;
  int64_t block = 0;
  const void* in = nullptr;
  void* matrix = nullptr;  // n1 x n2, both rounded up to multiples of `lanes`; not used when n2 is 1
  void* out = nullptr;
  bool inverse = false;
  double scale = 1;
};

// A real row of even length n = 2 h and the transform of its h pairs, contiguous (G. D. Bergland, "A fast Fourier
// transform algorithm for real-valued series", CACM 11, 1968).
struct FftHalf {
  int64_t h = 1;
  const void* half = nullptr;  // as above
  const void* in = nullptr;    // split: h complex numbers; join: h + 1
  void* out = nullptr;         // split: h + 1, may be `in`; join: h
  double scale = 1;
  bool conjugate = false;  // of the result of split, of what join takes
};

}  // namespace strided
