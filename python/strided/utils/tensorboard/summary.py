"""Summaries: what a step of a log holds, as the messages that TensorBoard reads.

Every function gives one :class:`Summary`.  Numbers may be tensors, NumPy arrays or Python's.  The messages are those of
TensorBoard (tensorboard/compat/proto: summary.proto, tensor.proto, event.proto; plugins/*/plugin_data.proto).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import strided

from . import _wire as w

if TYPE_CHECKING:
    from ..._typing import Any, Mapping, Sequence

__all__ = [
    "Summary", "audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes",
    "make_histogram", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text",
]  # fmt: skip

_FLOAT, _DOUBLE, _STRING = 1, 2, 7  # kinds of tensors
_KINDS = {"float32": (1, "<f4"), "float64": (2, "<f8"), "int32": (3, "<i4"), "uint8": (4, "u1"), "int16": (5, "<i2"),
          "int8": (6, "i1"), "complex64": (8, "<c8"), "int64": (9, "<i8"), "bool": (10, "?"), "uint16": (17, "<u2"),
          "complex128": (18, "<c16"), "float16": (19, "<f2"), "uint32": (22, "<u4"), "uint64": (23, "<u8")}  # fmt: skip


class Summary:
    """Values with their tags, already in the bytes of the message."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    def SerializeToString(self) -> bytes:
        """The bytes of the message, under the name that protocol buffers give it."""
        return self._data


def array_of(value: Any) -> Any:
    """The NumPy array of a tensor, an array or a number. (Programs catch what PyTorch raises for everything else.)"""
    import numpy as np

    if isinstance(value, strided.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == strided.bfloat16 else value).resolve_conj().resolve_neg().numpy()
    if not np.isscalar(value) and not isinstance(value, np.ndarray):
        raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")
    return np.atleast_1d(value)


def _listed(values: Any) -> list[float]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _value(tag: str, content: bytes) -> bytes:
    return w.block(1, w.block(1, tag) + content)


def _metadata(plugin: str, content: bytes = b"", data_class: int = 0, display_name: str = "") -> bytes:
    named = w.block(2, display_name) if display_name else b""
    return w.block(9, w.block(1, w.block(1, plugin) + w.block(2, content)) + named + w.integer(4, data_class))


def _tensor(kind: int, shape: Sequence[int], content: bytes) -> bytes:
    dims = b"".join(w.block(2, w.integer(1, n)) for n in shape)
    return w.block(8, w.integer(1, kind) + w.block(2, dims) + content)


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False, double_precision: bool = False
) -> Summary:
    """One number.  ``new_style``: as a tensor of no dimensions; ``double_precision``: of float64 then."""
    value = array_of(tensor).squeeze()
    if value.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {value.size} and {value.ndim} dimensions."
        )
    number = float(value)
    if not new_style:
        return Summary(_value(name, w.single(2, number)))
    kind, content = (_DOUBLE, w.doubles(6, [number])) if double_precision else (_FLOAT, w.single(5, number))
    return Summary(_value(name, _metadata("scalars", data_class=1) + _tensor(kind, (), content)))


def tensor_proto(tag: str, tensor: Any) -> Summary:
    """A whole tensor, with its shape and dtype."""
    value = array_of(tensor)
    if value.dtype.name not in _KINDS:
        raise ValueError(f"add_tensor: tensors of {value.dtype.name} have no form in event files")
    kind, form = _KINDS[value.dtype.name]
    content = w.block(4, value.astype(form).tobytes())
    return Summary(
        _value(tag, _metadata("tensor", data_class=2, display_name=tag) + _tensor(kind, value.shape, content))
    )


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Summary:
    """A histogram that was counted elsewhere: ``bucket_limits`` are the upper bounds of the buckets."""
    head = [(1, min), (2, max), (3, num), (4, sum), (5, sum_squares)]
    body = b"".join(w.double(field, float(v)) for field, v in head)
    body += w.doubles(6, _listed(bucket_limits)) + w.doubles(7, _listed(bucket_counts))
    return Summary(_value(name, w.block(5, body)))


def make_histogram(values: Any, bins: Any, max_bins: int | None = None) -> tuple[Any, Any]:
    """Upper bounds and counts of the buckets that hold something, and of one empty bucket below them.

    ``bins`` as for ``numpy.histogram``.  Where they are more than ``max_bins``, neighbours become one.
    """
    import numpy as np

    values = array_of(values).reshape(-1)
    if values.size == 0:
        raise ValueError("The input has no element.")
    counts, edges = np.histogram(values.astype(np.float64), bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        starts = np.arange(0, len(counts), step)
        counts, edges = np.add.reduceat(counts, starts), np.append(edges[starts], edges[-1])
    held = np.flatnonzero(counts)
    if held.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(held[0]), int(held[-1]) + 1
    return edges[first : last + 1], np.concatenate([[0], counts[first:last]])


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Summary:
    """A histogram of all elements."""
    values = array_of(values).reshape(-1).astype("float64")
    limits, counts = make_histogram(values, bins, max_bins)
    return histogram_raw(
        name, values.min(), values.max(), len(values), values.sum(), values.dot(values), limits, counts
    )


def _pixels(tensor: Any, dataformats: str) -> Any:
    """uint8 pixels (height, width, channels): floats are in 0 to 1; batches become one picture of rows of pictures."""
    import numpy as np

    image = array_of(tensor)
    form = dataformats.upper()
    if len(set(form)) != len(form) or set(form) - set("NCHW"):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice, and they are N, C, H and W: {dataformats}"
        )
    if image.ndim != len(form):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {image.shape}, input_format: {form}"
        )
    if "N" in form:
        image = image.transpose([form.index(c) for c in "NHWC"])
        n, h, wide, c = image.shape
        across = min(n, 8)
        down = -(-n // across)
        grid = np.zeros((down * across, h, wide, c), image.dtype)
        grid[:n] = image
        image = grid.reshape(down, across, h, wide, c).swapaxes(1, 2).reshape(down * h, across * wide, c)
    elif form in ("HW", "WH"):
        image = (image if form == "HW" else image.T)[..., None]
    else:
        image = image.transpose([form.index(c) for c in "HWC"])
    if image.shape[-1] == 1:
        image = image.repeat(3, -1)
    if image.dtype != np.uint8:
        image = (image.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)
    return image


def _picture(tag: str, pixels: Any, rescale: float = 1) -> Summary:
    if rescale != 1:
        import numpy as np

        rows, columns = (np.arange(int(n * rescale)) / rescale for n in pixels.shape[:2])
        pixels = pixels[rows.astype(int)][:, columns.astype(int)]
    height, width, channels = pixels.shape
    content = w.integer(1, height) + w.integer(2, width) + w.integer(3, channels) + w.block(4, w.png(pixels))
    return Summary(_value(tag, w.block(4, content)))


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """A picture as a PNG file: uint8, or floats of 0 to 1; grey, grey with opacity, RGB or RGBA."""
    return _picture(tag, _pixels(tensor, dataformats), rescale)


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW", labels: Any = None
) -> Summary:
    """A picture with red rectangles: ``tensor_boxes`` (n, 4) has their left, top, right and bottom pixels."""
    if labels is not None:
        raise NotImplementedError("add_image_with_boxes: strided draws no labels")
    pixels = _pixels(tensor_image, dataformats).copy()
    red = [255, 0, 0, 255][: pixels.shape[-1]]
    height, width = pixels.shape[:2]
    for box in array_of(tensor_boxes).reshape(-1, 4):
        left, right = sorted(min(max(int(v), 0), width - 1) for v in box[[0, 2]])
        top, bottom = sorted(min(max(int(v), 0), height - 1) for v in box[[1, 3]])
        for at in (top, bottom):
            pixels[at, left : right + 1] = red
        for at in (left, right):
            pixels[top : bottom + 1, at] = red
    return _picture(tag, pixels, rescale)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """A sound of one channel as a WAV file: floats of -1 to 1."""
    import numpy as np

    samples = array_of(tensor).squeeze()
    if abs(samples).max() > 1:
        samples = samples.clip(-1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    data = w.wav((samples * np.iinfo(np.int16).max).astype(np.int16), sample_rate)
    content = w.single(1, sample_rate) + w.integer(2, 1) + w.integer(3, len(samples)) + w.block(4, data)
    return Summary(_value(tag, w.block(6, content + w.block(5, "audio/wav"))))


def text(tag: str, text: str) -> Summary:
    """A text, which TensorBoard shows as Markdown."""
    content = _tensor(_STRING, (1,), w.block(8, text))
    return Summary(_value(tag + "/text_summary", _metadata("text", w.integer(1, 0), data_class=2) + content))


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, num_thresholds: int = 127,
    weights: Any = None,
) -> Summary:  # fmt: skip
    """A curve of precision and recall that was counted elsewhere: a value for each threshold, upwards."""
    import numpy as np

    number = min(num_thresholds, 127)
    data = np.stack([np.asarray(v, np.float32) for v in (tp, fp, tn, fn, precision, recall)])
    content = _tensor(_FLOAT, data.shape, w.block(4, data.astype("<f4").tobytes()))
    return Summary(_value(tag, _metadata("pr_curves", w.integer(2, number)) + content))


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Precision and recall for thresholds of 0 to 1: ``labels`` 0 or 1, ``predictions`` in 0 to 1."""
    import numpy as np

    number = min(num_thresholds, 127)
    truth, scores = array_of(labels).reshape(-1).astype(bool), array_of(predictions).reshape(-1).astype(np.float64)
    weight = np.ones(len(truth)) if weights is None else np.broadcast_to(array_of(weights).reshape(-1), truth.shape)
    place = np.floor(scores * (number - 1)).astype(int)

    def above(mask):
        """The weights of scores at each threshold or above it."""
        counted = np.bincount(place[mask], weight[mask], minlength=number)
        return counted[::-1].cumsum()[::-1]

    tp, fp = above(truth), above(~truth)
    tn, fn = fp[0] - fp, tp[0] - tp
    tiny = 1e-7
    precision, recall = tp / np.maximum(tiny, tp + fp), tp / np.maximum(tiny, tp + fn)
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, number)


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary:
    """Charts of several scalars: ``{category: {title: ["Multiline" or "Margin", [tags]]}}``."""
    categories = b""
    for category, charts in layout.items():
        body = w.block(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"a chart with margins takes three tags, got {len(tags)}")
                drawn = w.block(3, w.block(1, b"".join(w.block(i + 1, t) for i, t in enumerate(tags))))
            else:
                drawn = w.block(2, b"".join(w.block(1, t) for t in tags))
            body += w.block(2, w.block(1, title) + drawn)
        categories += w.block(2, body)
    content = _tensor(_STRING, (), w.block(8, categories))
    return Summary(_value("custom_scalars__config__", _metadata("custom_scalars") + content))


def _json_value(value: Any) -> tuple[int, bytes]:
    """A hyperparameter: the number of its kind (text, truth value, number), and its message."""
    if isinstance(value, (strided.Tensor,)) or type(value).__module__ == "numpy":
        value = value.item()
    if isinstance(value, bool):
        return 2, w.varint(4 << 3) + w.varint(value)
    if isinstance(value, (int, float)):
        import struct

        return 3, w.varint(2 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, str):
        return 1, w.block(3, value)
    raise ValueError("value should be one of int, float, str, bool, or strided.Tensor")


def hparams(
    hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], hparam_domain_discrete: Any = None
) -> tuple[Summary, Summary, Summary]:
    """The hyperparameters of a run and the names of its results: the experiment, the start of the run, its end.

    ``hparam_domain_discrete``: for a hyperparameter, the list of all values that it can have.
    """
    if not isinstance(hparam_dict, dict):
        raise TypeError("parameter: hparam_dict should be a dictionary, nothing logged.")
    if not isinstance(metric_dict, dict):
        raise TypeError("parameter: metric_dict should be a dictionary, nothing logged.")
    domains = hparam_domain_discrete or {}
    if not isinstance(domains, dict) or any(
        k not in hparam_dict or not isinstance(v, list) for k, v in domains.items()
    ):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary of lists, of names in hparam_dict")
    start, info = b"", b""
    for name, value in hparam_dict.items():
        if value is None:
            continue
        kind, message = _json_value(value)
        start += w.block(1, w.block(1, name) + w.block(2, message))
        domain = b"".join(w.block(1, _json_value(v)[1]) for v in domains.get(name, ()))
        info += w.block(4, w.block(1, name) + w.integer(4, kind) + (w.block(5, domain) if domain else b""))
    metrics = b"".join(w.block(5, w.block(1, w.block(2, name))) for name in metric_dict)

    def part(tag: str, field: int, content: bytes) -> Summary:
        return Summary(_value(tag, _metadata("hparams", w.block(field, content))))

    return (
        part("_hparams_/experiment", 2, info + metrics),
        part("_hparams_/session_start_info", 3, start + w.double(5, time.time())),
        part("_hparams_/session_end_info", 4, w.integer(1, 1)),
    )
