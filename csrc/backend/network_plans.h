// Functions of networks that a backend may have beside its slots, in a table of their own, and their plans: losses of
// classes; images. All tensors are in host memory; numbers are float32 or float64, one dtype in each plan.
#pragma once

#include "backend/plans.h"

namespace strided {

// Negative log-likelihoods of classes: -x[o][t][i] * weight[t] with t = target[o][i], and 0 where t is `ignore`.
// IndexError for another t that is no class.
struct ClassLossPlan {
  enum Reduction : int8_t { None, Mean, Sum };

  DType dtype = DType::Float32;
  Reduction reduction = None;
  int64_t outer = 1, classes = 0, inner = 1;
  int64_t stride[3] = {};  // of x, in elements
  int64_t ignore = 0;
  const int64_t* target = nullptr;             // outer * inner, contiguous
  const void *x = nullptr, *weight = nullptr;  // weight: `classes` contiguous elements, or null for ones
  void *out = nullptr, *total = nullptr;       // the losses, or their sum or mean; the sum of the weights (not None)
  // The gradient alone: `out` is contiguous and of the shape of x; grad is contiguous and of the shape of the losses,
  // or one; null stands for ones. `total` is read.
  const void* grad = nullptr;
};

// Losses of margins of contiguous rows x: the sum over labels j and other classes i of max(0, margin - x[j] + x[i]),
// squared where `square` says so, times weight[j], divided by the number of classes. A row of `target` has one label,
// or as many numbers as there are classes (`several`): labels, then a negative number where there are fewer.
struct MarginLossPlan {
  DType dtype = DType::Float32;
  bool several = false, square = false;
  double margin = 1;
  int64_t rows = 0, classes = 0;
  const int64_t* target = nullptr;
  const void *x = nullptr, *weight = nullptr;  // weight: one of each class, or null for ones
  void* out = nullptr;                         // of each row; null: not wanted
  void* slopes = nullptr;      // the derivatives of out by x, times `grad` of their row; null: not wanted
  const void* grad = nullptr;  // null: ones
  bool* fits = nullptr;        // false where a label is no class: then nothing else holds
};

// Weighted sums of elements along the middle axis of contiguous tensors:
//   out[o][j][i] = sum over k < taps of weight[j][k] * in[o][place[j][k]][i],  j < to, place < from
// or the transpose of that: out[o][place[j][k]][i] += weight[j][k] * in[o][j][i] to an `out` of zeros. Of bytes the
// weights are whole numbers, int32, and the sum is divided by 2^shift, rounded half up, and cut to what a byte holds.
struct TapsPlan {
  DType dtype = DType::Float32;
  bool transposed = false;
  int64_t outer = 1, from = 0, to = 0, inner = 1;
  int taps = 1, shift = 0;
  const int64_t* place = nullptr;
  const void* weight = nullptr;  // null: ones
  const void* in = nullptr;
  void* out = nullptr;
};

// Elements of any size, with others around them, all contiguous. Along each axis elements that follow each other,
// before and after, are a run. From -1: those of the run are `fill` (one element; null: zeros).
struct PadPlan {
  static constexpr int kMost = 3;
  struct Run {
    int64_t to, from, length;
  };

  int64_t itemsize = 0, outer = 1;
  int axes = 1;
  int64_t from[kMost] = {}, to[kMost] = {};
  const Run* run[kMost] = {};
  int64_t runs[kMost] = {};
  const char *in = nullptr, *fill = nullptr;
  char* out = nullptr;
};

// Images, or volumes, at given points: in (batch, channels, sizes...), grid (batch, points, axes) with the last axis of
// the image first, out (batch, channels, points), all contiguous. -1 and 1 are the edges of the image, or with `align`
// the centres of its outermost elements. Cubic: two axes only.
struct SamplePlan {
  enum Mode : int8_t { Linear, Nearest, Cubic };
  enum Outside : int8_t { Zeros, Border, Reflection };
  static constexpr int64_t kBlock = 256;  // points

  DType dtype = DType::Float32;
  Mode mode = Linear;
  Outside outside = Zeros;
  bool align = false;
  int axes = 2;
  int64_t batch = 0, channels = 0, points = 0;
  int64_t size[3] = {};
  const void *in = nullptr, *grid = nullptr;
  void* out = nullptr;
  const void* gradient = nullptr;             // of `out`, in its place, for `sample_gradient`,
  void *by_in = nullptr, *by_grid = nullptr;  // which computes those of `in` and of `grid`; null: not wanted
};

// Sums of blocks at their places: columns (planes, kernel..., blocks...) are added to images `out` of zeros (planes,
// size...). Both contiguous. What falls into the padding is left out. Fewer axes stand last.
struct FoldPlan {
  static constexpr int kMost = 3;

  DType dtype = DType::Float32;
  int64_t planes = 0;
  int64_t size[kMost] = {1, 1, 1}, kernel[kMost] = {1, 1, 1}, blocks[kMost] = {1, 1, 1};
  int64_t dilation[kMost] = {1, 1, 1}, padding[kMost] = {}, stride[kMost] = {1, 1, 1};
  const void* columns = nullptr;
  void* out = nullptr;
};

// Convolutions of channels one by one: each plane of `planes` planes in (size, contiguous, padded) gives `times` planes
// out, the sums of products with the elements of a kernel. Weights: for each channel `times` kernels; `turned`: their
// elements are taken backwards.
struct ChannelsPlan {
  DType dtype = DType::Float32;
  bool turned = false;
  int64_t planes = 0, channels = 1, times = 1;
  int64_t size[2] = {}, kernel[2] = {}, dilation[2] = {}, stride[2] = {}, to[2] = {};
  const void *in = nullptr, *weight = nullptr;
  void* out = nullptr;
};

// The largest element of each window of contiguous planes, and its place in the plane: -inf and the window's first
// element where none is larger, the last NaN where there is one. What is outside of the plane is not looked at. Axes
// that are absent stand first, and are 1. A plane has less than 2^31 elements.
struct PoolPlan {
  DType dtype = DType::Float32;
  int64_t planes = 0;
  int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1}, to[3] = {1, 1, 1};
  // Where windows are not alike: begin and end of the to[i] windows along axis i, one axis after the other, and how far
  // the numbers of the next plane are apart (0: the same for all). kernel, stride, padding and dilation say nothing
  // then.
  const int64_t* edges = nullptr;
  int64_t edges_step = 0;
  const void* in = nullptr;
  void* out = nullptr;
  int64_t* places = nullptr;  // or null
};

// The gradient of softmax (`log`: of its logarithm) of contiguous rows: `out` is what was made.
struct SoftmaxGradientPlan {
  DType dtype = DType::Float32;
  bool log = false;
  int64_t rows = 0, n = 0;
  const void *out = nullptr, *grad = nullptr;
  void* to = nullptr;
};

// The gradients of (x - mean) * scale * weight + bias, where mean and scale are those of x: x is contiguous (outer,
// channels, inner), the others have a number for each channel.
struct ChannelGradientPlan {
  DType dtype = DType::Float32;
  int64_t outer = 0, channels = 0, inner = 0;
  const void *x = nullptr, *grad = nullptr, *mean = nullptr, *scale = nullptr, *weight = nullptr;  // weight: or null
  void *to_x = nullptr, *to_weight = nullptr, *to_bias = nullptr;                                  // to_x: or null
};

// Logarithms of sums over all ways through the states of label sequences (blanks and labels in turn), contiguous
// (steps, batch, states). A way goes on to the same state or the next one, and to the next but one where its `skips`
// (batch, states) is true. Forward: to each state, and after `lengths` steps what was last. Backward: from each state
// to one of the last two of `labels` labels, and -inf after `lengths` steps. Both with the scores of their own step.
struct LabelSumsPlan {
  DType dtype = DType::Float32;
  bool backward = false;
  int64_t steps = 0, batch = 0, states = 0;
  const int64_t *lengths = nullptr, *labels = nullptr;  // batch
  const bool* skips = nullptr;
  const void* scores = nullptr;
  void* out = nullptr;
};

// Losses of the differences d = x - y of n contiguous numbers: d^2, or Huber's d^2 / 2 for |d| < delta and else
// delta (|d| - delta / 2). Their sums over pieces of kPiece numbers; or `factor` times their slopes.
struct PairLossPlan {
  enum Kind : int8_t { Square, Huber };
  static constexpr int64_t kPiece = 1 << 14;

  DType dtype = DType::Float32;
  Kind kind = Square;
  double delta = 1, factor = 1;
  int64_t n = 0;
  const void *x = nullptr, *y = nullptr;
  double* parts = nullptr;  // sums
  void* to = nullptr;       // slopes, of the gradient alone
};

// Distances of rows: norms of x_i - y_j, with p = 0, 1, 2 or infinity. x is contiguous (rows, columns), y is turned,
// (columns, others), with kMore numbers, any, after the last ones. pairs: y is x, and out has those with j > i alone,
// one after the other; else it is (rows, others).
struct DistancePlan {
  static constexpr int64_t kMore = 64;

  DType dtype = DType::Float32;
  double p = 2;
  bool pairs = false;
  int64_t rows = 0, others = 0, columns = 0;
  const void *x = nullptr, *y = nullptr;
  void* out = nullptr;
};

// The gradient of these distances by the rows of x, for p = 1 or 2:
//   out[i] = sum over j of weight[i][j] * f(x_i - y_j), with f(d) = sign(d) for p = 1 and d for p = 2
// All contiguous, and `columns` is a multiple of kStep: what is added to rows is 0. pairs: y is x, and weights are
// those of pairs i < j, one after the other, and serve both of them.
struct DistanceGradientPlan {
  static constexpr int64_t kStep = 16;

  DType dtype = DType::Float32;
  bool signs = false, pairs = false;
  int64_t rows = 0, others = 0, columns = 0;
  const void *x = nullptr, *y = nullptr, *weight = nullptr;
  void* out = nullptr;
};

// Attention: out = softmax(scale * q k^T + mask) v for each matrix of a batch; q (queries x features), k (keys x
// features), v (keys x values) and mask (queries x keys, or absent: its data are null) by strides in elements, out
// contiguous. causal: query i sees keys up to i. A query whose mask is -inf throughout gets zeros.
struct AttentionPlan : OpContext {
  DType dtype = DType::Float32;
  bool causal = false;
  double scale = 1;
  int64_t queries = 0, keys = 0, features = 0, values = 0;
  Matrix q, k, v, mask;
  void* out = nullptr;
  int batch_ndim = 0;
  const int64_t* batch_shape = nullptr;  // outermost first
  const int64_t* batch_strides[4] = {};  // of q, k, v, mask; elements
};

// One step of an LSTM (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; with forget gates). All contiguous,
// (rows, width), but gates: (rows, 4, width), i, f, g, o.
struct LstmPlan {
  DType dtype = DType::Float32;
  int64_t rows = 0, width = 0;
  void* gates = nullptr;                                  // before the step their arguments, after it their values
  const void* previous = nullptr;                         // cells of the step before
  void *cell = nullptr, *tanh = nullptr, *out = nullptr;  // results; tanh: of the cell, null where it is not wanted
  // The gradient: by_out and by_next are both gradients of `out`, the latter from the next step; by_cell is that of
  // `cell`, and is replaced with that of `previous`; by_gates (written) is that of the gates' arguments.
  const void *by_out = nullptr, *by_next = nullptr;
  void *by_cell = nullptr, *by_gates = nullptr;
};

// Name and plan of each function, once: the members of the table and the CPU's functions and registration follow.
#define STRIDED_NETWORK_FUNCTIONS(X) \
  X(class_loss, ClassLossPlan) \
  X(class_loss_gradient, ClassLossPlan) \
  X(margin_loss, MarginLossPlan) \
  X(mix_taps, TapsPlan) \
  X(pad, PadPlan) \
  X(sample, SamplePlan) \
  X(sample_gradient, SamplePlan) \
  X(fold, FoldPlan) \
  X(convolve_channels, ChannelsPlan) \
  X(pool_maxima, PoolPlan) \
  X(softmax_gradient, SoftmaxGradientPlan) \
  X(channels_gradient, ChannelGradientPlan) \
  X(label_sums, LabelSumsPlan) \
  X(pair_sums, PairLossPlan) \
  X(pair_gradient, PairLossPlan) \
  X(distances, DistancePlan) \
  X(distances_gradient, DistanceGradientPlan) \
  X(lstm_step, LstmPlan) \
  X(lstm_gradient, LstmPlan) \
  /* C is float32, A and B are 16-bit floats, of plan.dtype */ \
  X(widened_gemm, GemmPlan) \
  X(attention, AttentionPlan)

struct NetworkFunctions {
  // Null: the function is made of other operations.
#define X(name, Plan) void (*name)(const Plan& plan) = nullptr;
  STRIDED_NETWORK_FUNCTIONS(X)
#undef X
  bool wide_sums = false;         // whether several products of 16-bit floats are added in float32
  bool narrow_attention = false;  // whether `attention` takes bfloat16 operands, with a mask of float32
  // Elements of an intermediate result that is made in parts. Few stay in a cache, many keep a device busy.
  int64_t part = int64_t(1) << 26;
};
// The table that the backend of a type of device fills.
extern NetworkFunctions network_tables[kNumDeviceTypes];
inline const NetworkFunctions& network_functions(Device device) {
  return network_tables[static_cast<int>(device.type)];
}

}  // namespace strided
