// Functions of images, their usual calls: nn.functional has them under the same name without `_`, with every other
// call, for which these return None.
#include "ops/index/image.h"
#include "ops/index/points.h"
#include "ops/record.h"

#include <cmath>

#include "python/bind/bind.h"

namespace strided::python {
namespace {

// A whole number for each axis, or one for all; false for anything else. None stands for the size that `kept` has along
// one of its last axes.
bool read(PyObject* from, size_t axes, Dims* to, const Tensor* kept = nullptr) {
  if (PyLong_CheckExact(from)) {
    *to = Dims(axes, PyLong_AsLongLong(from));
    return !(PyErr_Occurred() && (PyErr_Clear(), true));
  }
  if (!PyTuple_Check(from) && !PyList_Check(from)) return false;
  if (static_cast<size_t>(PySequence_Fast_GET_SIZE(from)) != axes) return false;
  for (size_t i = 0; i < axes; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(from, static_cast<Py_ssize_t>(i));
    if (item == Py_None && kept && kept->shape().size() >= axes) {
      to->push_back(kept->shape()[kept->shape().size() - axes + i]);
      continue;
    }
    if (!PyLong_CheckExact(item)) return false;
    to->push_back(PyLong_AsLongLong(item));
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}
bool read(PyObject* from, size_t axes, std::vector<double>* to) {
  const bool list = PyTuple_Check(from) || PyList_Check(from);
  if (list && static_cast<size_t>(PySequence_Fast_GET_SIZE(from)) != axes) return false;
  for (size_t i = 0; i < axes; ++i) {
    PyObject* item = list ? PySequence_Fast_GET_ITEM(from, static_cast<Py_ssize_t>(i)) : from;
    if (!PyFloat_Check(item) && !PyLong_CheckExact(item)) return false;
    to->push_back(PyFloat_AsDouble(item));
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    if (!(to->back() > 0 && to->back() < 1e9)) return false;
  }
  return true;
}

Tensor interpolate(const Tensor& x, PyObject* size, PyObject* scale, const std::string& mode, PyObject* align,
                   PyObject* recompute, bool antialias) {
  if ((recompute != Py_None && recompute != Py_False) || (size == Py_None) == (scale == Py_None)) return {};
  if (align != Py_None && (!PyBool_Check(align) || mode.compare(0, 7, "nearest") == 0)) return {};
  if (x.ndim() < 3) return {};
  const auto axes = static_cast<size_t>(x.ndim() - 2);
  Dims sizes;
  std::vector<double> factors;
  if (size != Py_None) {
    if (!read(size, axes, &sizes)) return {};
    factors.resize(axes);
  } else {
    if (!read(scale, axes, &factors)) return {};
    for (size_t i = 0; i < axes; ++i)
      sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(x.shape()[i + 2]) * factors[i])));
  }
  return resize(x, sizes, factors, mode, align == Py_True, antialias);
}

Tensor unfold_image(const Tensor& x, PyObject* kernel, PyObject* dilation, PyObject* padding, PyObject* stride) {
  Dims lists[4];
  PyObject* const given[] = {kernel, dilation, padding, stride};
  for (int i = 0; i < 4; ++i)
    if (!read(given[i], 2, &lists[i])) return {};
  return unfold_blocks(x, lists[0], lists[1], lists[2], lists[3]);
}

// With a whole number, which a bool is not.
template <Tensor (*Shuffle)(const Tensor&, int64_t)>
Tensor shuffle(const Tensor& x, PyObject* number) {
  Dims n;
  return PyLong_CheckExact(number) && read(number, 1, &n) ? Shuffle(x, n[0]) : Tensor();
}

template <int axes>
Tensor mean_pool_to(const Tensor& x, PyObject* size) {
  Dims sizes;
  return read(size, axes, &sizes, axes > 1 ? &x : nullptr) ? adaptive_avg_pool<axes>(x, sizes) : Tensor();
}
template <int axes>
PyObject* max_pool_to(const Tensor& x, PyObject* size, bool return_indices) {
  Dims sizes;
  if (!read(size, axes, &sizes, axes > 1 ? &x : nullptr)) Py_RETURN_NONE;
  const auto [best, places] = adaptive_max_pool<axes>(x, sizes, return_indices);
  if (!best.defined()) Py_RETURN_NONE;
  if (!return_indices) return wrap(best);
  PyObject* made = PyTuple_New(2);
  PyTuple_SET_ITEM(made, 0, wrap(best));
  PyTuple_SET_ITEM(made, 1, wrap(places));
  return made;
}
template <int axes>
void bind_adaptive() {
  const std::string n = std::to_string(axes) + "d", start = "(Tensor input, Any output_size";
  def<&mean_pool_to<axes>>(("_adaptive_avg_pool" + n + start + ")").c_str(), "nn.functional.adaptive_avg_pool1d to 3d.",
                           kFunction);
  def<&max_pool_to<axes>>(
      ("_adaptive_max_pool" + n + start + ", bool return_indices=False) -> Tensor; Tensor[] if return_indices").c_str(),
      "nn.functional.adaptive_max_pool1d to 3d.", kFunction);
}

// What is recorded is nn.functional's own.
Tensor sample_grid(const Tensor& x, const Tensor& grid, const std::string& mode, const std::string& padding,
                   PyObject* align) {
  const bool serves = PyBool_Check(align) && !needs_grad(x, grid);
  return serves ? grid_sample(x, grid, mode, padding, align == Py_True) : Tensor();
}

Tensor fold_blocks(const Tensor& x, PyObject* size, PyObject* kernel, PyObject* dilation, PyObject* padding,
                   PyObject* stride) {
  Dims lists[5];
  PyObject* const given[] = {size, kernel, dilation, padding, stride};
  for (int i = 0; i < 5; ++i)
    if (!read(given[i], 2, &lists[i])) return {};
  return fold(x, lists[0], lists[1], lists[2], lists[3], lists[4]);
}

}  // namespace

void bind_images() {
  def<&interpolate>(
      "_interpolate(Tensor input, Any? size=None, Any? scale_factor=None, str mode='nearest', Any? align_corners=None, Any? recompute_scale_factor=None, bool antialias=False)",
      "nn.functional.interpolate.", kFunction);
  def<&resizing_factor>("_resizing_factor(str mode, float factor, bool antialias_or_bytes, int size, int out) -> float",
                        "The factor by which nn.functional.interpolate resizes an axis; 0: as the sizes say.",
                        kFunction);
  def<&unfold_image>("_unfold(Tensor input, Any kernel_size, Any dilation=1, Any padding=0, Any stride=1)",
                     "nn.functional.unfold.", kFunction);
  def<&shuffle<pixel_shuffle>>("_pixel_shuffle(Tensor input, Any upscale_factor)", "nn.functional.pixel_shuffle.",
                               kFunction);
  def<&shuffle<pixel_unshuffle>>("_pixel_unshuffle(Tensor input, Any downscale_factor)",
                                 "nn.functional.pixel_unshuffle.", kFunction);
  def<&shuffle<channel_shuffle>>("_channel_shuffle(Tensor input, Any groups)", "nn.functional.channel_shuffle.",
                                 kFunction);
  bind_adaptive<1>();
  bind_adaptive<2>();
  bind_adaptive<3>();
  def<&pad>("_pad(Tensor input, int[] pad, str mode='constant', Number? value=None)", "nn.functional.pad.", kFunction);
  def<&fractional_max_pool>("_fractional_max_pool(Tensor x, Tensor samples, int[] sizes, int[] kernel)",
                            "nn.functional.fractional_max_pool2d and fractional_max_pool3d, with a batch.", kFunction);
  def<&sample_grid>(
      "_grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', Any? align_corners=None)",
      "nn.functional.grid_sample.", kFunction);
  def<&grid_sample_gradient>(
      "_grid_sample_gradient(Tensor gradient, Tensor input, Tensor grid, str mode, str padding_mode, bool align_corners, bool of_grid)",
      "The gradient of _grid_sample's input, or of its grid. Not recorded.", kFunction);
  def<&fold_blocks>(
      "_fold(Tensor input, Any output_size, Any kernel_size, Any dilation=1, Any padding=0, Any stride=1)",
      "nn.functional.fold.", kFunction);
}

}  // namespace strided::python
