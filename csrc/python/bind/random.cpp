// Random numbers.
#include "core/promotion.h"
#include "ops/call.h"
#include "ops/out.h"
#include "ops/random/random_ops.h"
#include "ops/record.h"
#include "python/bind/bind.h"
#include "python/memory_format.h"
#include "tensor/graph.h"

namespace strided::python {
namespace {

using OptTensor = std::optional<Tensor>;
using OptDType = std::optional<DType>;
using OptDevice = std::optional<Device>;

void check_grad(bool requires_grad, DType t) {
  STRIDED_CHECK(!requires_grad || !is_integral(t), RuntimeError,
                "Only Tensors of floating point and complex dtype can require gradients");
}

Tensor with_grad(Tensor t, bool requires_grad) {
  if (requires_grad) autograd_meta(t).requires_grad = true;
  return t;
}
// What is drawn into `out`, which is made to fit, or into a new tensor. One that is to be resized is so after the draw:
// a draw that is refused leaves it as it was.
template <class F>
Tensor drawn_into(const char* op, const Dims& size, const OptTensor& out, const OptDType& dtype,
                  const OptDevice& device, bool requires_grad, DType otherwise, F draw) {
  const DType t = dtype.value_or(out ? out->dtype() : otherwise);
  check_grad(requires_grad, t);
  Device d = device ? *device : out ? out->device() : device_in_effect();
  if (d.is_cpu()) d.index = -1;
  if (!out) return with_grad(drawn(empty(size, t, d), draw), requires_grad);
  STRIDED_CHECK(t == out->dtype(), RuntimeError, "dtype ", t, " does not match dtype of out parameter (", out->dtype(),
                ")");
  checked_numel(op, size);
  if (out->shape() == size) {
    prepare_out(op, *out, size, t, d, nullptr);
    draw(*out);
  } else {
    const Tensor made = empty(size, t, d);
    draw(made);
    write_out(op, *out, made, nullptr);
  }
  return with_grad(*out, requires_grad);
}
template <class F>
Tensor drawn_like(const Tensor& x, const OptDType& dtype, const OptDevice& device, bool requires_grad, PyObject* format,
                  F draw) {
  const DType t = dtype.value_or(x.dtype());
  check_grad(requires_grad, t);
  const Dims strides = strides_in(memory_format(format, MemoryFormat::Preserve), x.shape(), strides_like(x.layout()));
  return with_grad(drawn(empty_strided(x.shape(), strides, t, device.value_or(x.device())), draw), requires_grad);
}

#define OPTIONS \
  Generator *g, const OptTensor &out, OptDType dtype, Ignored, OptDevice device, bool requires_grad, Ignored
#define OPTIONS_TEXT(dtype) \
  "Generator? generator=None, Tensor? out=None, dtype? dtype=" dtype \
  ", layout? layout=None, device? device=None, " \
  "bool requires_grad=False, bool? pin_memory=None)"

Tensor make_rand(const Dims& size, OPTIONS) {
  return drawn_into("rand", size, out, dtype, device, requires_grad, default_dtype(),
                    [&](const Tensor& x) { uniform_(x, 0, 1, g); });
}
Tensor make_randn(const Dims& size, OPTIONS) {
  return drawn_into("randn", size, out, dtype, device, requires_grad, default_dtype(),
                    [&](const Tensor& x) { normal_(x, 0, 1, g); });
}
Tensor make_randint(int64_t low, int64_t high, const Dims& size, OPTIONS) {
  return drawn_into("randint", size, out, dtype, device, requires_grad, DType::Int64,
                    [&](const Tensor& x) { random_(x, low, high, g); });
}
Tensor make_randint_from_zero(int64_t high, const Dims& size, OPTIONS) {
  return make_randint(0, high, size, g, out, dtype, {}, device, requires_grad, {});
}
Tensor make_randperm(int64_t n, OPTIONS) {
  check_grad(requires_grad, dtype.value_or(DType::Int64));
  if (!out)
    return with_grad(randperm(n, dtype.value_or(DType::Int64), device ? *device : device_in_effect(), g),
                     requires_grad);
  write_out("randperm", *out, randperm(n, dtype.value_or(out->dtype()), out->device(), g), nullptr);
  return *out;
}
Tensor make_normal(double mean, double std, const Dims& size, OPTIONS) {
  return drawn_into("normal", size, out, dtype, device, requires_grad, default_dtype(),
                    [&](const Tensor& x) { normal_(x, mean, std, g); });
}

#define LIKE_OPTIONS \
  Generator *g, OptDType dtype, Ignored, OptDevice device, bool requires_grad, Ignored, PyObject *format
#define LIKE_TEXT \
  "Generator? generator=None, dtype? dtype=None, layout? layout=None, device? device=None, bool requires_grad=False, " \
  "bool? pin_memory=None, memory_format? memory_format=None)"

Tensor make_rand_like(const Tensor& x, LIKE_OPTIONS) {
  return drawn_like(x, dtype, device, requires_grad, format, [&](const Tensor& made) { uniform_(made, 0, 1, g); });
}
Tensor make_randn_like(const Tensor& x, LIKE_OPTIONS) {
  return drawn_like(x, dtype, device, requires_grad, format, [&](const Tensor& made) { normal_(made, 0, 1, g); });
}
Tensor make_randint_like(const Tensor& x, int64_t low, int64_t high, LIKE_OPTIONS) {
  return drawn_like(x, dtype, device, requires_grad, format, [&](const Tensor& made) { random_(made, low, high, g); });
}
Tensor make_randint_like_from_zero(const Tensor& x, int64_t high, LIKE_OPTIONS) {
  return make_randint_like(x, 0, high, g, dtype, {}, device, requires_grad, {}, format);
}

Tensor normal_mean_tensor(const Tensor& mean, double std, Generator* g) { return normal(mean, std, g); }
Tensor normal_std_tensor(double mean, const Tensor& std, Generator* g) { return normal(mean, std, g); }
Tensor normal_tensors(const Tensor& mean, const Tensor& std, Generator* g) { return normal(mean, std, g); }

Tensor bernoulli_of(const Tensor& p, Generator* g, const OptTensor& out) {
  if (!out) return bernoulli(p, g);
  if (needs_grad(p)) refuse_gradient("bernoulli");
  if (out->shape() == p.shape()) {
    prepare_out("bernoulli", *out, p.shape(), out->dtype(), p.device(), nullptr);
    return bernoulli_(*out, p, g);
  }
  write_out("bernoulli", *out, bernoulli_(empty(p.shape(), out->dtype(), p.device()), p, g), nullptr);
  return *out;
}
Tensor bernoulli_number(const Tensor& x, double p, Generator* g) { return bernoulli(x, p, g); }
Tensor bernoulli_fill(const Tensor& self, double p, Generator* g) { return bernoulli_(self, p, g); }
Tensor bernoulli_fill_of(const Tensor& self, const Tensor& p, Generator* g) { return bernoulli_(self, p, g); }
Tensor random_everything(const Tensor& self, Generator* g) { return random_(self, g); }
Tensor random_to(const Tensor& self, int64_t to, Generator* g) { return random_(self, 0, to, g); }
Tensor random_from(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* g) {
  return random_(self, from, to, g);
}
Tensor multinomial_out(const Tensor& weights, int64_t num_samples, bool replacement, Generator* g,
                       const OptTensor& out) {
  STRIDED_CHECK(!out || out->dtype() == DType::Int64, RuntimeError,
                "multinomial expects Long tensor out, got: ", out->dtype());
  const Tensor chosen = multinomial(weights, num_samples, replacement, g);
  if (!out) return chosen;
  write_out("multinomial", *out, chosen, nullptr);
  return *out;
}

void bind_new() {
  def<&make_rand>(
      "rand(int[] *size, *, " OPTIONS_TEXT("None"),
      R"(Uniform random numbers in [0, 1), in the default dtype when none is given; the real and the imaginary
part of complex ones are uniform each. NotImplementedError for integer dtypes.

The generator is the Mersenne Twister (Matsumoto and Nishimura 1998), and the numbers are PyTorch's for
the same seed.

>>> _ = strided.manual_seed(0)
>>> strided.rand(3)
tensor([0.4963, 0.7682, 0.0885]))",
      kFunction);
  def<&make_randn>(
      "randn(int[] *size, *, " OPTIONS_TEXT("None"),
      R"(Normal random numbers with mean 0 and variance 1 (for complex ones: 1/2 in each part), in the default
dtype when none is given. NotImplementedError for integer dtypes.

By the transform of Box and Muller (1958), as PyTorch makes them.

>>> _ = strided.manual_seed(0)
>>> strided.randn(3)
tensor([ 1.5410, -0.2934, -2.1788]))",
      kFunction);
  def<&make_randint_from_zero>("randint(int high, int[] size, *, " OPTIONS_TEXT("None"),
                               "Random integers in [0, high), int64 when no dtype is given.", kFunction);
  def<&make_randint>(
      "randint(int low, int high, int[] size, *, " OPTIONS_TEXT("None"),
      R"(Random integers in [low, high) of a real dtype, int64 when none is given. RuntimeError when the range is
empty or does not fit the dtype.

>>> _ = strided.manual_seed(0)
>>> strided.randint(3, 10, (4,))
tensor([7, 6, 3, 5]))",
      kFunction);
  def<&make_randperm>("randperm(int n, *, " OPTIONS_TEXT("None"),
                      R"(The numbers 0, 1, ... n - 1 in a random order, int64 when no dtype is given (Durstenfeld 1964).
RuntimeError when the dtype does not hold them.

>>> _ = strided.manual_seed(0)
>>> strided.randperm(4)
tensor([0, 1, 3, 2]))",
                      kFunction);
  def<&make_rand_like>("rand_like(Tensor input, *, " LIKE_TEXT,
                       R"(Uniform random numbers in [0, 1), in the shape, dtype and order of axes of another tensor.

>>> strided.rand_like(strided.zeros(2, 3)).shape
torch.Size([2, 3]))",
                       kFunction);
  def<&make_randn_like>("randn_like(Tensor input, *, " LIKE_TEXT,
                        R"(Normal random numbers, in the shape, dtype and order of axes of another tensor.

>>> strided.randn_like(strided.zeros(2, 3)).shape
torch.Size([2, 3]))",
                        kFunction);
  def<&make_randint_like_from_zero>("randint_like(Tensor input, int high, *, " LIKE_TEXT,
                                    "Random integers in [0, high).", kFunction);
  def<&make_randint_like>("randint_like(Tensor input, int low, int high, *, " LIKE_TEXT,
                          R"(Random integers in [low, high), in the shape, dtype and order of axes of another tensor.

>>> strided.randint_like(strided.zeros(2), 5, 6)
tensor([5., 5.]))",
                          kFunction);
}

void bind_in_place() {
  def<&uniform_>(
      "uniform_(Tensor input, float from=0.0, float to=1.0, *, Generator? generator=None)",
      R"(Fills the tensor with uniform random numbers in [from, to); floating and complex dtypes. RuntimeError
when the bounds or their difference do not fit the dtype.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(2).uniform_(-1, 1)
tensor([-0.0075,  0.5364]))",
      kMethod);
  def<&normal_>("normal_(Tensor input, float mean=0.0, float std=1.0, *, Generator? generator=None)",
                R"(Fills the tensor with normal random numbers; floating and complex dtypes. RuntimeError for a negative
deviation.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(2).normal_(10, 2)
tensor([13.0820,  9.4131]))",
                kMethod);
  def<&log_normal_>(
      "log_normal_(Tensor input, float mean=1.0, float std=2.0, *, Generator? generator=None)",
      R"(Fills the tensor with random numbers whose logarithm is normal with this mean and deviation; floating
dtypes.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(2).log_normal_()
tensor([59.2634,  1.5116]))",
      kMethod);
  def<&exponential_>("exponential_(Tensor input, float lambd=1.0, *, Generator? generator=None)",
                     R"(Fills the tensor with random numbers of the exponential law of rate lambd; floating dtypes.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(2).exponential_()
tensor([3.5083, 1.2304]))",
                     kMethod);
  def<&cauchy_>("cauchy_(Tensor input, float median=0.0, float sigma=1.0, *, Generator? generator=None)",
                R"(Fills the tensor with random numbers of Cauchy's law; floating dtypes.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(1).cauchy_().shape
torch.Size([1]))",
                kMethod);
  def<&geometric_>(
      "geometric_(Tensor input, float p, *, Generator? generator=None)",
      R"(Fills the tensor with the number of trials, 1 or more, up to the first success, whose probability is p in
(0, 1); real dtypes.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(3).geometric_(0.25)
tensor([1., 2., 3.]))",
      kMethod);
  def<&bernoulli_fill>("bernoulli_(Tensor input, float p=0.5, *, Generator? generator=None)",
                       R"(Fills the tensor with ones, with probability p each, and zeros; real dtypes.

>>> strided.zeros(2).bernoulli_(1)
tensor([1., 1.]))",
                       kMethod);
  def<&bernoulli_fill_of>("bernoulli_(Tensor input, Tensor p, *, Generator? generator=None)",
                          "The same with a floating tensor of probabilities, which is expanded to the shape.", kMethod);
  def<&random_everything>(
      "random_(Tensor input, *, Generator? generator=None)",
      R"(Fills the tensor with random integers: all from 0 on that the dtype holds; of a floating dtype, from 0 to
2 to the power of its digits.

>>> strided.zeros(2, dtype=strided.uint8).random_().dtype
torch.uint8)",
      kMethod);
  def<&random_to>("random_(Tensor input, int to, *, Generator? generator=None)",
                  "Fills the tensor with random integers in [0, to).", kMethod);
  def<&random_from>(
      "random_(Tensor input, int from, int? to, *, Generator? generator=None)",
      R"(Fills the tensor with random integers in [from, to); with to=None up to the greatest the dtype holds.
RuntimeError when the range is empty or does not fit the dtype.

>>> _ = strided.manual_seed(0)
>>> strided.zeros(4).random_(3, 10)
tensor([7., 6., 3., 5.]))",
      kMethod);
}

void bind_parameters() {
  def<&normal_tensors>(
      "normal(Tensor mean, Tensor std, *, Generator? generator=None, Tensor? out=None)",
      R"(Normal random numbers with a mean and a deviation for each; the two broadcast, and the result has the
dtype of mean. No gradient goes to either. RuntimeError for a negative deviation.)",
      kFunction);
  def<&normal_mean_tensor>("normal(Tensor mean, float std=1.0, *, Generator? generator=None, Tensor? out=None)",
                           "Normal random numbers with one deviation for all.", kFunction);
  def<&normal_std_tensor>("normal(float mean, Tensor std, *, Generator? generator=None, Tensor? out=None)",
                          "Normal random numbers with one mean for all, in the dtype of std.", kFunction);
  def<&make_normal>("normal(float mean, float std, int[] size, *, " OPTIONS_TEXT("None"),
                    R"(A tensor of normal random numbers.

>>> _ = strided.manual_seed(0)
>>> strided.normal(10.0, 2.0, (2,))
tensor([13.0820,  9.4131]))",
                    kFunction);
  const char* bernoulli_doc =
      R"(Zeros and ones; input, of a floating dtype, gives the probability of each one. RuntimeError outside [0,
1].

>>> strided.bernoulli(strided.tensor([0., 1., 0.]))
tensor([0., 1., 0.]))";
  def<&bernoulli_of>("bernoulli(Tensor input, *, Generator? generator=None, Tensor? out=None)", bernoulli_doc,
                     kFunction);
  def<static_cast<Tensor (*)(const Tensor&, Generator*)>(&bernoulli)>(
      "bernoulli(Tensor input, *, Generator? generator=None)", bernoulli_doc, kMethod);
  def<&bernoulli_number>("bernoulli(Tensor input, float p, *, Generator? generator=None)",
                         "Zeros and ones, these with probability p, in the shape and dtype of input.");
  def<&poisson>("poisson(Tensor input, Generator? generator=None, *, Tensor? out=None)",
                R"(Random numbers of Poisson's law; input, of a floating dtype, gives the rate of each (Hormann 1993).
RuntimeError for a negative rate.

>>> _ = strided.manual_seed(0)
>>> strided.poisson(strided.tensor([0., 3., 100.]))
tensor([ 0.,  6., 96.]))",
                kFunction);
  def<&gamma_numbers>("_gamma_numbers(Tensor input, bool logarithm, Generator? generator=None)",
                      "Numbers of the gamma law of rate 1, or their logarithms; None where the device has no sampler.",
                      kFunction);
  def<&binomial_numbers>("_binomial_numbers(Tensor count, Tensor prob, Generator? generator=None)",
                         "Successes among count trials; None where the device has no sampler.", kFunction);
  const char* multinomial_doc =
      R"(num_samples categories, as int64, for the weights in a vector or in each row of a matrix: floating,
finite, not negative and not all zero, which need not sum to one. RuntimeError for other weights, and for
more samples than categories without replacement.

>>> _ = strided.manual_seed(0)
>>> strided.multinomial(strided.tensor([0., 10., 3., 0.]), 2)
tensor([1, 2]))";
  def<&multinomial_out>(
      "multinomial(Tensor input, int num_samples, bool replacement=False, *, "
      "Generator? generator=None, Tensor? out=None)",
      multinomial_doc, kFunction);
  def<&multinomial>("multinomial(Tensor input, int num_samples, bool replacement=False, *, Generator? generator=None)",
                    multinomial_doc, kMethod);
}

#undef OPTIONS
#undef OPTIONS_TEXT
#undef LIKE_OPTIONS
#undef LIKE_TEXT

}  // namespace

void bind_random() {
  bind_new();
  bind_in_place();
  bind_parameters();
}

}  // namespace strided::python
