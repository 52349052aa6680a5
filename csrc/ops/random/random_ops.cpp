#include "ops/random/random_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/backend.h"
#include "backend/samplers.h"
#include "base/warning.h"
#include "core/convert.h"
#include "core/random.h"
#include "ops/call.h"
#include "ops/copy.h"
#include "ops/factory.h"
#include "ops/operators.h"
#include "ops/record.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/view.h"
#include "ops/sort/sort.h"

namespace strided {
namespace {

Generator& chosen(Generator* generator, const Tensor& out) {
  if (!generator) return default_generator(out.device());
  STRIDED_CHECK(generator->device == out.device(), RuntimeError, "Expected a '", name_of(out.device().type),
                "' device type for generator but found '", name_of(generator->device.type), "'");
  return *generator;
}

// Calls f(slots, on, source) with the generator locked; n: the numbers that are drawn, about.
template <class F>
void draw(const char* op, const Tensor& out, Generator& generator, int64_t n, F f) {
  const GeneratorLock lock(generator, n);
  RandomSource source{&generator, generator.initial_seed(), generator.position};
  f(backend(out.device()), OpContext{op, out.device().index}, source);
  generator.position += source.used;
}

void check_floating(const char* kernel, DType t, bool complex_too) {
  STRIDED_CHECK(is_floating(t) || (complex_too && is_complex(t)), NotImplementedError, '"', kernel,
                "\" not implemented for '", t, "'");
}
void check_continuous(const char* law, DType t, const char* name) {
  STRIDED_CHECK(is_floating(t), RuntimeError, law, " distribution is a continuous probability distribution. ",
                "dtype must be a floating point but you specified ", name);
}
void check_real(const char* kernel, DType t, bool bool_too) {
  STRIDED_CHECK(!is_complex(t) && (bool_too || !is_bool(t)), NotImplementedError, '"', kernel,
                "\" not implemented for '", t, "'");
}

// ---------------------------------------------------------------- drawing into a tensor
// The axes with the longest stride first: elements are drawn in the order they have in memory.
Dims memory_order(const Layout& layout) {
  Dims axes, moving;
  for (int i = 0; i < layout.ndim(); ++i) (layout.shape[i] == 1 ? axes : moving).push_back(i);
  std::stable_sort(moving.begin(), moving.end(),
                   [&](int64_t a, int64_t b) { return std::llabs(layout.strides[a]) > std::llabs(layout.strides[b]); });
  for (int64_t axis : moving) axes.push_back(axis);
  return axes;
}
Tensor permuted(const Tensor& x, const Dims& axes) { return make_view(x, permute(x.layout(), axes)); }

// Calls draw(axes, out): `out` is contiguous, and takes self's elements with its axes in that order.
template <class F>
void draw_into(const Tensor& self, F draw) {
  if (self.is_contiguous()) return draw(nullptr, self);
  const Dims axes = memory_order(self.layout());
  const Tensor view = permuted(self, axes);
  if (view.is_contiguous()) return draw(&axes, view);
  const Tensor buffer = empty(view.shape(), view.dtype(), view.device());
  draw(&axes, buffer);
  copy_into(view, buffer);
}

// After a write that depends on nothing before it: what flows back is zero.
Tensor written(const char* op, const char* node, const Tensor& self) {
  bump_version(self, op);
  return record_overwrite(node, self);
}

Tensor fill(const char* op, const char* node, const Tensor& self, const RandomFill& what, Generator* generator) {
  check_has_loops(op, self.dtype());
  check_inplace(op, self);
  if (self.numel() == 0) return self;
  Generator& source = chosen(generator, self);
  draw_into(self, [&](const Dims*, const Tensor& out) {
    draw(op, out, source, out.numel(), [&](const Backend& slots, const OpContext& on, RandomSource& from) {
      slots.random_fill(on, what, out.dtype(), out.data(), out.numel(), from);
    });
  });
  return written(op, node, self);
}

RandomFill fill_of(RandomFill::Kind kind, double a = 0, double b = 1) {
  RandomFill what{};
  what.kind = kind;
  what.a = a;
  what.b = b;
  return what;
}
RandomFill integers_of(int64_t first, uint64_t count) {  // count 0: 2^64
  RandomFill what{};
  what.kind = RandomFill::Integers;
  what.base = first;
  what.range = count;
  return what;
}

// The closest value to `from` on its right, or to `to` on its left, that a conversion to a floating dtype does not move
// out of the range.
int64_t round_trip(DType t, int64_t v) {
  return dispatch(t, [v](auto tag) { return convert<int64_t>(convert<typename decltype(tag)::type>(v)); });
}
int64_t spacing(DType t, int64_t v) {
  const uint64_t size = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  return int64_t{1} << std::max(64 - __builtin_clzll(size | 1) - info_of(t).digits, 0);
}
int64_t first_inside(DType t, int64_t from) {
  if (from == std::numeric_limits<int64_t>::max()) return from;
  const int64_t next = round_trip(t, from + 1);
  return next < from ? next + spacing(t, from + 1) : from;
}
int64_t last_inside(DType t, int64_t to) {
  const int64_t before = round_trip(t, to - 1);
  return before >= to ? before - spacing(t, to - 1) : to;
}

void check_bounds(DType t, int64_t from, int64_t last) {
  auto inside = [t](int64_t v) {
    if (is_floating(t)) return std::fabs(static_cast<double>(v)) <= info_of(t).greatest;
    if (t == DType::UInt64) return v >= 0;
    return dispatch(t, [v](auto tag) {
      using T = typename decltype(tag)::type;
      using Limits = std::numeric_limits<T>;
      if constexpr (!std::is_integral_v<T>) return false;
      else return v >= static_cast<int64_t>(Limits::lowest()) && v <= static_cast<int64_t>(Limits::max());
    });
  };
  STRIDED_CHECK(inside(from), RuntimeError, "from is out of bounds for ", info_of(t).type_name);
  STRIDED_CHECK(inside(last), RuntimeError, "to - 1 is out of bounds for ", info_of(t).type_name);
  if (!is_floating(t)) return;
  const int digits = info_of(t).digits;
  const auto is_exact = [&](int64_t v) { return v >= -(int64_t{1} << digits) && v <= int64_t{1} << digits; };
  const auto warn_of = [&](const std::string& what) {
    const std::string power = "2^" + std::to_string(digits);
    warn(what + " is out of bounds [-(" + power + "), " + power + "]. Due to precision limitations " +
         info_of(t).type_name +
         " can support discrete uniform distribution only within this range. This warning will become an error in "
         "version 1.7 release, please fix the code in advance");
  };
  if (!is_exact(from)) warn_of("from");
  if (!is_exact(last)) warn_of("to - 1");
}

void check_std(double std) { STRIDED_CHECK(std >= 0, RuntimeError, "normal expects std >= 0.0, but found std ", std); }
void check_std(const Tensor& std) {
  STRIDED_CHECK(!is_complex(std.dtype()), RuntimeError, "normal expects standard deviation to be non-complex");
  NoGradGuard guard;
  STRIDED_CHECK(std.numel() == 0 || truth(elementwise<Ge>(min(std), Scalar(0)), true), RuntimeError,
                "normal expects all elements of std >= 0.0");
}

// Neither the mean nor the deviation gets a gradient through the numbers drawn.
Tensor record_normal(Tensor out, const std::vector<Tensor>& parameters) {
  return record("NormalBackward0", std::move(out), parameters,
                [n = parameters.size()](const Tensor& g) { return std::vector<Tensor>(n, zeros_like(g)); });
}

void fill_bernoulli(const Tensor& self, const Tensor& p, Generator& generator) {
  check_has_loops("bernoulli_", self.dtype());
  NoGradGuard guard;
  const Tensor apart = p.storage().data() == self.storage().data() ? clone(p) : p;
  const Tensor wide = make_view(apart, expand(apart.layout(), self.shape()));
  draw_into(self, [&](const Dims* axes, const Tensor& out) {
    const Tensor q = contiguous(axes ? permuted(wide, *axes) : wide);
    draw("bernoulli_", out, generator, out.numel(), [&](const Backend& slots, const OpContext& on, RandomSource& from) {
      slots.random_bernoulli(on, out.dtype(), out.data(), q.dtype(), q.data(), out.numel(), from);
    });
  });
}

void check_weights(WeightsFailure fault, bool replacement) {
  if (!replacement) {
    STRIDED_CHECK(fault == WeightsFailure::None || fault == WeightsFailure::ZeroSum, RuntimeError,
                  "probability tensor contains either `inf`, `nan` or element < 0");
  }
  const char* op = "invalid multinomial distribution (";
  STRIDED_CHECK(fault != WeightsFailure::Negative, RuntimeError, op, "encountering probability entry < 0)");
  STRIDED_CHECK(fault != WeightsFailure::NotFinite, RuntimeError, op,
                "encountering probability entry = infinity or NaN)");
  STRIDED_CHECK(fault != WeightsFailure::ZeroSum, RuntimeError, op, "sum of probabilities <= 0)");
}

}  // namespace

Tensor randperm(int64_t n, DType dtype, Device device, Generator* generator) {
  check_real("randperm", dtype, false);
  if (is_floating(dtype)) {
    const int64_t most = (int64_t{1} << info_of(dtype).digits) + 1;
    STRIDED_CHECK(n <= most, RuntimeError, "n cannot be greater than ", most, " for ", dtype, " type.");
  } else {
    check_fits(Scalar(n > 0 ? n - 1 : n), dtype);
  }
  check_has_loops("randperm", dtype);
  const Tensor out = empty(Dims{n}, dtype, device);
  if (n == 0) return out;
  Generator& source = chosen(generator, out);
  draw("randperm", out, source, n, [&](const Backend& slots, const OpContext& on, RandomSource& from) {
    slots.random_permutation(on, dtype, out.data(), n, from);
  });
  return out;
}

// ---------------------------------------------------------------- in place
Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  check_floating("check_uniform_bounds", self.dtype(), true);
  const DType t = real_of(self.dtype());
  const double greatest = info_of(t).greatest;
  STRIDED_CHECK(std::fabs(from) <= greatest, RuntimeError, "from is out of bounds for ", info_of(t).type_name);
  STRIDED_CHECK(std::fabs(to) <= greatest, RuntimeError, "to is out of bounds for ", info_of(t).type_name);
  STRIDED_CHECK(from <= to, RuntimeError, "uniform_ expects to return a [from, to) range, but found from=", from,
                " > to=", to);
  STRIDED_CHECK(to - from <= greatest, RuntimeError, "uniform_ expects to-from <= std::numeric_limits<", t,
                ">::max(), but found to=", to, " and from=", from, " which result in to-from to exceed the limit");
  return fill("uniform_", "UniformBackward0", self, fill_of(RandomFill::Uniform, from, to), generator);
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check_std(std);
  if (self.numel() == 0 && is_integral(self.dtype())) return self;  // as PyTorch, whose kernel would refuse it
  check_floating("normal_kernel_cpu", self.dtype(), true);
  const double part = is_complex(self.dtype()) ? std / std::sqrt(2.0) : std;
  const auto kind = self.is_contiguous() ? RandomFill::Normal : RandomFill::NormalPairs;
  return fill("normal_", "NormalBackward0", self, fill_of(kind, mean, part), generator);
}

Tensor log_normal_(const Tensor& self, double mean, double std, Generator* generator) {
  STRIDED_CHECK(std > 0, RuntimeError, "log_normal_ expects std > 0.0, but found std=", std);
  check_floating("log_normal_cpu", self.dtype(), false);
  return fill("log_normal_", "LogNormalBackward0", self, fill_of(RandomFill::LogNormal, mean, std), generator);
}

Tensor exponential_(const Tensor& self, double lambd, Generator* generator) {
  STRIDED_CHECK(lambd > 0, RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_continuous("Exponential", self.dtype(), cpp_name_of(self.dtype()));
  return fill("exponential_", "ExponentialBackward0", self, fill_of(RandomFill::Exponential, lambd), generator);
}

Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* generator) {
  STRIDED_CHECK(sigma > 0, RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_continuous("Cauchy", self.dtype(), info_of(self.dtype()).type_name);
  return fill("cauchy_", "CauchyBackward0", self, fill_of(RandomFill::Cauchy, median, sigma), generator);
}

Tensor geometric_(const Tensor& self, double p, Generator* generator) {
  STRIDED_CHECK(p > 0 && p < 1, RuntimeError, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_real("geometric_cpu", self.dtype(), false);
  return fill("geometric_", "GeometricBackward0", self, fill_of(RandomFill::Geometric, p), generator);
}

Tensor bernoulli_(const Tensor& self, double p, Generator* generator) {
  STRIDED_CHECK(p >= 0 && p <= 1, RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_real("bernoulli_scalar_cpu_", self.dtype(), true);
  return fill("bernoulli_", "BernoulliBackward2", self, fill_of(RandomFill::Bernoulli, p), generator);
}

Tensor bernoulli_(const Tensor& self, const Tensor& p, Generator* generator) {
  check_inplace("bernoulli_", self);
  check_real("bernoulli_tensor_cpu_self_", self.dtype(), true);
  check_floating("bernoulli_tensor_cpu_p_", p.dtype(), false);
  check_same_device("bernoulli_", self, p);
  if (self.numel() == 0) return self;
  fill_bernoulli(self, p, chosen(generator, self));
  return written("bernoulli_", "BernoulliBackward1", self);
}

Tensor random_(const Tensor& self, Generator* generator) {
  check_real("random_kernel_cpu", self.dtype(), true);
  return fill("random_", "RandomBackward2", self, fill_of(RandomFill::Everything), generator);
}

Tensor random_(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator) {
  const DType t = self.dtype();
  STRIDED_CHECK(!to || from < *to, RuntimeError, "random_ expects 'from' to be less than 'to', but got from=", from,
                " >= to=", *to);
  STRIDED_CHECK(!is_complex(t), RuntimeError,
                "check_random_bounds handles only integral, floating-point and boolean types");
  RandomFill what = integers_of(from, 0);
  if (to) {
    int64_t end = *to;
    if (is_floating(t)) {
      from = first_inside(t, from);
      end = last_inside(t, end);
      STRIDED_CHECK(from < end, RuntimeError, "random_ expects 'from' casted to dtype to be less than 'to' casted to ",
                    "dtype, but got from=", from, " >= to=", end);
    }
    check_bounds(t, from, end - 1);
    what = integers_of(from, static_cast<uint64_t>(end) - static_cast<uint64_t>(from));
  } else if (from != std::numeric_limits<int64_t>::lowest()) {
    int64_t last = std::numeric_limits<int64_t>::max();
    if (is_floating(t)) {
      last = int64_t{1} << info_of(t).digits;
      from = first_inside(t, from);
      STRIDED_CHECK(from < last, RuntimeError, "random_ expects 'from' casted to dtype to be less than or equal to ",
                    "'to_inc' casted to dtype, but got from=", from, " > to_inc=", last);
    } else if (t != DType::UInt64) {
      dispatch(t, [&last](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_integral_v<T>) last = static_cast<int64_t>(std::numeric_limits<T>::max());
      });
    }
    check_bounds(t, from, last);
    const uint64_t greatest = t == DType::UInt64 ? ~uint64_t{0} : static_cast<uint64_t>(last);
    what = integers_of(from, greatest - static_cast<uint64_t>(from) + 1);
  } else {
    STRIDED_CHECK(t == DType::Int64 || (is_floating(t) && t != DType::Float16), RuntimeError,
                  "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    what.base = 0;  // 64 bits as they come
  }
  return fill("random_", "RandomBackward0", self, what, generator);
}

// ---------------------------------------------------------------- parameters in tensors
Tensor normal(const Tensor& mean, double std, Generator* generator) {
  check_std(std);
  const Tensor out = drawn(empty(mean.shape(), mean.dtype(), mean.device()), [&](const Tensor& made) {
    NoGradGuard guard;
    elementwise_<Add>(normal_(made, 0, std, generator), mean);
  });
  return record_normal(out, {mean});
}

Tensor normal(double mean, const Tensor& std, Generator* generator) {
  check_std(std);
  const Tensor out = drawn(empty(std.shape(), std.dtype(), std.device()), [&](const Tensor& made) {
    NoGradGuard guard;
    elementwise_<Add>(elementwise_<Mul>(normal_(made, 0, 1, generator), std), mean);
  });
  return record_normal(out, {std});
}

Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator) {
  check_same_device("normal", mean, std);
  check_std(std);
  const Dims shape = broadcast_shapes(mean.shape(), std.shape());
  const Tensor out = drawn(empty(shape, mean.dtype(), mean.device()), [&](const Tensor& made) {
    NoGradGuard guard;
    elementwise_<Add>(elementwise_<Mul>(normal_(made, 0, 1, generator), std), mean);
  });
  return record_normal(out, {mean, std});
}

Tensor bernoulli(const Tensor& p, Generator* generator) {
  Tensor out =
      drawn(empty(p.shape(), p.dtype(), p.device()), [&](const Tensor& made) { bernoulli_(made, p, generator); });
  return record("BernoulliBackward0", std::move(out), p, [](const Tensor& g) { return zeros_like(g); });
}

Tensor bernoulli(const Tensor& x, double p, Generator* generator) {
  Tensor out =
      drawn(empty(x.shape(), x.dtype(), x.device()), [&](const Tensor& made) { bernoulli_(made, p, generator); });
  return record("BernoulliBackward0", std::move(out), x, [](const Tensor& g) { return zeros_like(g); });
}

Tensor poisson(const Tensor& rate, Generator* generator) {
  check_floating("poisson_cpu", rate.dtype(), false);
  check_has_loops("poisson", rate.dtype());
  Tensor out = empty(rate.shape(), rate.dtype(), rate.device());
  if (out.numel() > 0) {
    NoGradGuard guard;
    const Tensor r = contiguous(rate);
    Generator& source = chosen(generator, out);
    draw("poisson", out, source, out.numel(), [&](const Backend& slots, const OpContext& on, RandomSource& from) {
      slots.random_poisson(on, out.dtype(), out.data(), r.data(), out.numel(), from);
    });
  }
  return record("PoissonBackward0", std::move(out), rate, [](const Tensor& g) { return zeros_like(g); });
}

Tensor gamma_numbers(const Tensor& concentration, bool logarithm, Generator* generator) {
  const auto sample = samplers(concentration.device()).gamma;
  const DType t = concentration.dtype();
  if (!sample || !is_floating(t) || !has_loops(t)) return {};
  const Tensor out = empty(concentration.shape(), t, concentration.device());
  if (out.numel() == 0) return out;
  NoGradGuard guard;
  const Tensor a = contiguous(concentration);
  draw("gamma", out, chosen(generator, out), out.numel(), [&](const Backend&, const OpContext& on, RandomSource& from) {
    sample(on, t, out.data(), a.data(), out.numel(), logarithm, from);
  });
  return out;
}

Tensor binomial_numbers(const Tensor& count, const Tensor& probability, Generator* generator) {
  const auto sample = samplers(probability.device()).binomial;
  const DType t = probability.dtype();
  if (!sample || !is_floating(t) || !has_loops(t) || count.dtype() != t) return {};
  check_same_device("binomial", count, probability);
  const Dims shape = broadcast_shapes(count.shape(), probability.shape());
  const Tensor out = empty(shape, t, probability.device());
  if (out.numel() == 0) return out;
  NoGradGuard guard;
  const Tensor n = contiguous(expand(count, shape)), p = contiguous(expand(probability, shape));
  draw("binomial", out, chosen(generator, out), out.numel(),
       [&](const Backend&, const OpContext& on, RandomSource& from) {
         sample(on, t, out.data(), n.data(), p.data(), out.numel(), from);
       });
  return out;
}

// Without replacement: the categories with the greatest w / e, e exponential numbers (P. S. Efraimidis and
// P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97, 2006).
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement, Generator* generator) {
  const DType t = weights.dtype();
  STRIDED_CHECK(weights.ndim() == 1 || weights.ndim() == 2, RuntimeError, "prob_dist must be 1 or 2 dim");
  STRIDED_CHECK(is_floating(t), RuntimeError, "multinomial only supports floating-point dtypes for input, got: ", t);
  check_has_loops("multinomial", t);
  STRIDED_CHECK(num_samples > 0, RuntimeError, "cannot sample n_sample <= 0 samples");
  const int64_t categories = weights.shape().back(), rows = weights.ndim() == 2 ? weights.size(0) : 1;
  STRIDED_CHECK(replacement || num_samples <= categories, RuntimeError,
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  STRIDED_CHECK(categories <= int64_t{1} << 24, RuntimeError, "number of categories cannot exceed 2^24");

  NoGradGuard guard;
  Dims shape = weights.shape();
  shape.back() = num_samples;
  const Tensor out = empty(shape, DType::Int64, weights.device());
  if (out.numel() == 0) return out;
  const Tensor w = contiguous(weights);
  Generator& source = chosen(generator, out);
  replacement = replacement && num_samples > 1;  // one sample is drawn as without: PyTorch's choice
  const int64_t drawn = replacement ? num_samples : 0;
  WeightsFailure fault = WeightsFailure::None;
  draw("multinomial", out, source, rows * (categories + drawn),
       [&](const Backend& slots, const OpContext& on, RandomSource& from) {
         slots.random_choice(on, t, out.data_as<int64_t>(), w.data(), rows, categories, drawn, from, &fault);
       });
  check_weights(fault, replacement);
  if (replacement) return out;

  const Tensor e = empty_strided(weights.shape(), strides_like(weights.layout()), t, weights.device());
  exponential_(e, 1, generator);
  const Tensor race = elementwise<Div>(weights, e);
  return num_samples == 1 ? argmax(race, -1, true) : std::get<1>(topk(race, num_samples));
}

}  // namespace strided
