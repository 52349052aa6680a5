"""Programs run on the CPU and on an XLA device, and what must agree."""

import importlib.util

import pytest
import strided

REASON = "no PJRT plugin: pip install 'strided[xla]'"
if importlib.util.find_spec("strided_xla") is None:
    pytest.skip(REASON, allow_module_level=True)

import strided_xla  # noqa: E402
import strided_xla.core.xla_model as xm  # noqa: E402, F401
from strided_xla.debug import metrics  # noqa: E402

TOLERANCE = {
    strided.float64: 1e-10,
    strided.complex128: 1e-10,
    strided.float32: 1e-4,
    strided.complex64: 1e-4,
    strided.float16: 4e-3,
    strided.bfloat16: 3e-2,
}


def tensors_of(value):
    if isinstance(value, strided.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for part in value for t in tensors_of(part)] if hasattr(value, "__iter__") else []


def check_equal(here, there, what=""):
    """The same shape and dtype; numbers within the tolerance of the dtype; NaN where NaN is."""
    assert there.device.type == "xla", what
    assert (here.dtype, here.shape) == (there.dtype, there.shape), what
    tolerance = TOLERANCE.get(here.dtype, 0)
    strided.testing.assert_close(
        there.detach().cpu(),
        here.detach(),
        rtol=tolerance,
        atol=tolerance,
        equal_nan=True,
        msg=lambda m: f"{what}: {m}",
    )


def check_program(program, *inputs, compiled=None):
    """program(*inputs) gives tensors, on the CPU and (one program of XLA, as far as nothing waits) on the device."""
    here = program(*[t.clone() for t in inputs])
    before = metrics.counter_value("UncachedCompile")
    there = program(*[t.to("xla") for t in inputs])
    strided_xla.sync()
    if compiled is not None:
        assert metrics.counter_value("UncachedCompile") - before == compiled
    names = here.keys() if isinstance(here, dict) else range(len(tensors_of(here)))
    a, b = tensors_of(here), tensors_of(there)
    assert len(a) == len(b) > 0
    for name, x, y in zip(names if len(names) == len(a) else range(len(a)), a, b):
        check_equal(x, y, name)
