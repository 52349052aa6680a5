// Fourier transforms.
#include <string>

#include "xla/memory.h"
#include "xla/number.h"
#include "xla/slots.h"

namespace strided::xla {
namespace {

// The axis of the transform last.
struct Rows {
  Dims shape, strides;
  Rows(const FftPlan& plan, const int64_t* batch_strides, int64_t n, int64_t stride) {
    for (int i = 0; i < plan.ndim; ++i) {
      shape.push_back(plan.shape[i]);
      strides.push_back(batch_strides[i]);
    }
    shape.push_back(n);
    strides.push_back(stride);
  }
};

// Of a spectrum whose other half is its conjugate: numbers that are their own conjugates are real.
Num half_spectrum(const Num& x, int64_t n) {
  const Num k(iota(DType::Int64, x.v->shape, x.v->shape.ndim() - 1));
  const Num own = n % 2 == 0 ? (k == 0.0) | (k == static_cast<double>(n / 2)) : k == 0.0;
  return complex(real(x), where(own, 0.0, imag(x)));
}

}  // namespace

// XLA has e^(-...) for FFT and RFFT, and e^(+...) / n for IFFT and IRFFT; the other signs are by conjugation.
void fft(const FftPlan& plan) {
  const int64_t half = plan.n / 2 + 1;
  const bool to_real = plan.kind == FftPlan::ComplexToReal, from_real = plan.kind == FftPlan::RealToComplex;
  const Rows in(plan, plan.in_strides, to_real ? half : plan.n, plan.in_stride),
      out(plan, plan.out_strides, from_real ? half : plan.n, plan.out_stride);
  const DType complex_dtype = complex_of(plan.dtype), in_dtype = from_real ? plan.dtype : complex_dtype,
              out_dtype = to_real ? plan.dtype : complex_dtype;
  Num x(read(plan.in, in_dtype, in.shape.ndim(), in.shape.data(), in.strides.data()));
  if (to_real) x = half_spectrum(plan.inverse ? x : conj(x), plan.n);
  const char* type = to_real ? "IRFFT" : from_real ? "RFFT" : plan.inverse ? "IFFT" : "FFT";
  Num y(add("stablehlo.fft", {x.v}, out_dtype, out.shape,
            std::string("{fft_type = #stablehlo<fft_type ") + type + ">, fft_length = " + list({plan.n}) + "}"));
  if (from_real && plan.inverse) y = conj(y);
  const bool divided = to_real || (plan.kind == FftPlan::Complex && plan.inverse);
  const double scale = divided ? plan.scale * static_cast<double>(plan.n) : plan.scale;
  if (scale != 1) y = y * scale;
  write(plan.out, out_dtype, out.shape.ndim(), out.shape.data(), out.strides.data(), y.v);
}

}  // namespace strided::xla
