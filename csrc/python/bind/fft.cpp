// Fourier transforms: strided.fft.
#include "ops/fft/fft.h"
#include "python/bind/bind.h"

namespace strided::python {
namespace {

using Size = std::optional<int64_t>;
using Sizes = std::optional<Dims>;
using Norm = std::optional<std::string>;

FftArguments one_axis(Size n, int64_t dim, const Norm& norm) {
  FftArguments a;
  if (n) {
    // -1 stands for the length of the axis where there are several lengths, not here.
    STRIDED_CHECK(*n >= 1, RuntimeError, "Invalid number of data points (", *n, ") specified");
    a.sizes = Dims{*n};
  }
  a.axes = Dims{dim};
  a.norm = norm;
  return a;
}
FftArguments axes(const Sizes& s, const Sizes& dim, const Norm& norm) {
  FftArguments a;
  a.sizes = s;
  a.axes = dim;
  a.norm = norm;
  return a;
}

Tensor fft_1(const Tensor& x, Size n, int64_t dim, Norm norm) { return fftn(x, one_axis(n, dim, norm), false); }
Tensor ifft_1(const Tensor& x, Size n, int64_t dim, Norm norm) { return fftn(x, one_axis(n, dim, norm), true); }
Tensor rfft_1(const Tensor& x, Size n, int64_t dim, Norm norm) {
  return rfftn(x, one_axis(n, dim, norm), false, "rfft");
}
Tensor irfft_1(const Tensor& x, Size n, int64_t dim, Norm norm) {
  return irfftn(x, one_axis(n, dim, norm), true, "irfft");
}
Tensor hfft_1(const Tensor& x, Size n, int64_t dim, Norm norm) {
  return irfftn(x, one_axis(n, dim, norm), false, "hfft");
}
Tensor ihfft_1(const Tensor& x, Size n, int64_t dim, Norm norm) {
  return rfftn(x, one_axis(n, dim, norm), true, "ihfft");
}

Tensor fft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return fftn(x, axes(s, dim, norm), false); }
Tensor ifft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return fftn(x, axes(s, dim, norm), true); }
Tensor rfft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return rfftn(x, axes(s, dim, norm), false, "rfftn"); }
Tensor irfft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return irfftn(x, axes(s, dim, norm), true, "irfftn"); }
Tensor hfft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return irfftn(x, axes(s, dim, norm), false, "hfftn"); }
Tensor ihfft_n(const Tensor& x, Sizes s, Sizes dim, Norm norm) { return rfftn(x, axes(s, dim, norm), true, "ihfftn"); }

// A function along one axis, along the last two, and along any: `name`, `name`2, `name`n.
template <auto One, auto Several>
void bind_family(const std::string& name, const std::string& what, const std::string& example) {
  const std::string arguments =
      "\n\nn (s: one for each dimension): the length of the transform; the input is cut, or filled up with zeros. norm: 'backward' (default) divides\n"
      "the inverse transforms by their length, 'forward' the others, 'ortho' each by its root. RuntimeError for lengths below 1. Integers are\n"
      "computed in the default dtype, 16-bit floats in float32.";
  def<One>(("fft." + name + "(Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None)").c_str(),
           (what + " along a dimension." + arguments + "\n\n" + example).c_str(), kFunction);
  const std::string rest = "str? norm=None, *, Tensor? out=None)";
  def<Several>(("fft." + name + "2(Tensor input, int[]? s=None, int[]? dim=(-2, -1), " + rest).c_str(),
               ("The same as " + name + "n, by default of the last two dimensions.").c_str(), kFunction);
  def<Several>(
      ("fft." + name + "n(Tensor input, int[]? s=None, int[]? dim=None, " + rest).c_str(),
      (what +
       " along several dimensions: all, or as many of the last as s has lengths; -1 among them leaves one as it is." +
       arguments)
          .c_str(),
      kFunction);
}

}  // namespace

void bind_fft() {
  bind_family<&fft_1, &fft_n>(
      "fft", "Discrete Fourier transform: complex, X[k] = sum over j of x[j] exp(-2 pi i j k / n),",
      ">>> strided.fft.fft(strided.tensor([1., 2., 3., 4.]))\ntensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])");
  bind_family<&ifft_1, &ifft_n>(
      "ifft", "Inverse discrete Fourier transform, the inverse of fft,",
      ">>> strided.fft.ifft(strided.tensor([4., 0., 0., 0.])).real\ntensor([1., 1., 1., 1.])");
  bind_family<&rfft_1, &rfft_n>(
      "rfft",
      "Fourier transform of real numbers: of the (last) transformed dimension only elements 0 ... n / 2, as the others are conjugates,",
      ">>> strided.fft.rfft(strided.tensor([1., 2., 3., 4.]))\ntensor([10.+0.j, -2.+2.j, -2.+0.j])");
  bind_family<&irfft_1, &irfft_n>(
      "irfft",
      "Inverse of rfft: real, of n = 2 (m - 1) elements if n is not given, m the length of the (last) transformed dimension,",
      ">>> strided.fft.irfft(strided.tensor([4., 0., 0.]))\ntensor([1., 1., 1., 1.])");
  bind_family<&hfft_1, &hfft_n>(
      "hfft",
      "Fourier transform of what is Hermitian, of which the input is the first half: real, of n = 2 (m - 1) elements if n is not given,",
      ">>> strided.fft.hfft(strided.tensor([1., 1., 1.]))\ntensor([4., 0., 0., 0.])");
  bind_family<&ihfft_1, &ihfft_n>(
      "ihfft",
      "Inverse of hfft: real numbers to the first half of what is Hermitian, 0 ... n / 2 of the (last) dimension,",
      ">>> strided.fft.ihfft(strided.tensor([4., 0., 0., 0.])).real\ntensor([1., 1., 1.])");
  def<&fftshift>(
      "fft.fftshift(Tensor input, int[]? dim=None)",
      "The element 0 of dimensions (all if None) moved to the middle, n // 2: negative frequencies come first.\n\n"
      ">>> strided.fft.fftshift(strided.fft.fftfreq(4))\ntensor([-0.5000, -0.2500,  0.0000,  0.2500])",
      kFunction);
  def<&ifftshift>("fft.ifftshift(Tensor input, int[]? dim=None)",
                  "The inverse of fftshift.\n\n"
                  ">>> strided.fft.ifftshift(strided.tensor([-2, -1, 0, 1]))\ntensor([ 0,  1, -2, -1])",
                  kFunction);
}

}  // namespace strided::python
