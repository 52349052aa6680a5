// Random numbers: PyTorch's functions of that name, which for the same seed give PyTorch's numbers
// (how exactly: csrc/cpu/random/random.cpp). `generator` null stands for default_generator(). The in-place forms draw
// in the order the elements have in memory, longest stride first, as PyTorch does; they return self, and let no
// gradient through.
#pragma once

#include <optional>

#include "core/random.h"
#include "core/scalar.h"
#include "tensor/tensor.h"

namespace strided {

// `made`, a new tensor, after draw(made). That is no write to it: its version is that of other results.
template <class F>
Tensor drawn(Tensor made, F draw) {
  made.impl()->uncounted = true;
  draw(made);
  made.impl()->uncounted = false;
  return made;
}

// 0 ... n - 1 in a random order.
Tensor randperm(int64_t n, DType dtype = DType::Int64, Device device = {}, Generator* generator = nullptr);

// Floating and complex; a complex number's parts are drawn one after the other, and share the variance of normal_.
Tensor uniform_(const Tensor& self, double from = 0, double to = 1, Generator* generator = nullptr);
Tensor normal_(const Tensor& self, double mean = 0, double std = 1, Generator* generator = nullptr);
// Floating.
Tensor log_normal_(const Tensor& self, double mean = 1, double std = 2, Generator* generator = nullptr);
Tensor exponential_(const Tensor& self, double lambd = 1, Generator* generator = nullptr);
Tensor cauchy_(const Tensor& self, double median = 0, double sigma = 1, Generator* generator = nullptr);
// Real dtypes.
Tensor geometric_(const Tensor& self, double p, Generator* generator = nullptr);
Tensor bernoulli_(const Tensor& self, double p = 0.5, Generator* generator = nullptr);
Tensor bernoulli_(const Tensor& self, const Tensor& p, Generator* generator = nullptr);  // p: floating, expands to self
// All integers from 0 on that the dtype holds exactly; those in [from, to); without `to`, from `from` to the greatest.
Tensor random_(const Tensor& self, Generator* generator = nullptr);
Tensor random_(const Tensor& self, int64_t from, std::optional<int64_t> to, Generator* generator = nullptr);

// Normal, of the dtype of `mean` (of `std`, where mean is a number); the two broadcast. No gradient goes to either.
Tensor normal(const Tensor& mean, double std, Generator* generator = nullptr);
Tensor normal(double mean, const Tensor& std, Generator* generator = nullptr);
Tensor normal(const Tensor& mean, const Tensor& std, Generator* generator = nullptr);
Tensor bernoulli(const Tensor& p, Generator* generator = nullptr);            // 0 and 1 in p's dtype
Tensor bernoulli(const Tensor& x, double p, Generator* generator = nullptr);  // shape and dtype of x
Tensor poisson(const Tensor& rate, Generator* generator = nullptr);           // in rate's dtype
// Of the gamma law of rate 1 (or logarithms), and successes among `count` trials; detached. Undefined where the backend
// has no sampler: then they are made of other random functions (python/strided/_functions/samplers.py).
Tensor gamma_numbers(const Tensor& concentration, bool logarithm, Generator* generator = nullptr);
Tensor binomial_numbers(const Tensor& count, const Tensor& probability, Generator* generator = nullptr);
// `num_samples` categories for each row of a vector or matrix of weights (floating, >= 0, not all zero), as int64.
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement = false,
                   Generator* generator = nullptr);

}  // namespace strided
