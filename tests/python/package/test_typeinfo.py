"""finfo and iinfo: the limits of the number types, against NumPy's and as PyTorch prints them."""

import copy

import numpy as np
import pytest
import strided as torch

TEXTS = {
    "float16": "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
    "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)",
    "bfloat16": "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
    "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)",
    "float32": "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
    "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)",
    "float64": "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
    "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)",
    "int16": "iinfo(min=-32768, max=32767, dtype=int16)",
    "int32": "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)",
    "uint64": "iinfo(min=0, max=1.84467e+19, dtype=uint64)",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name):
    make = torch.iinfo if "int" in name else torch.finfo
    assert repr(make(getattr(torch, name))) == TEXTS[name]


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_numbers(name):
    ours, numpys = torch.finfo(getattr(torch, name)), np.finfo(name)
    for attribute in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        # NumPy rounds the resolution to the type itself.
        assert getattr(ours, attribute) == pytest.approx(float(getattr(numpys, attribute)), rel=1e-3, abs=0)
    for attribute in ("eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(ours, attribute) == float(getattr(numpys, attribute))
    assert ours.dtype == name


def test_bfloat16_numbers():
    limits = torch.finfo(torch.bfloat16)
    assert (limits.bits, limits.eps, limits.tiny, limits.resolution) == (16, 2.0**-7, 2.0**-126, 0.01)
    assert limits.max == -limits.min == (2 - 2.0**-7) * 2.0**127


@pytest.mark.parametrize("name", [f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)])
def test_iinfo_numbers(name):
    ours, numpys = torch.iinfo(getattr(torch, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max, ours.dtype) == (numpys.bits, int(numpys.min), int(numpys.max), name)
    assert type(ours.max) is int


def test_complex_has_the_limits_of_its_parts():
    assert torch.finfo(torch.complex64) == torch.finfo(torch.float32) != torch.finfo(torch.float64)
    assert torch.finfo(torch.complex128).bits == 64
    assert torch.finfo(torch.complex128).dtype == "float64"


def test_default_dtype():
    assert torch.finfo().dtype == "float32"
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.finfo().dtype == "float64"
    finally:
        torch.set_default_dtype(torch.float32)


def test_keyword_and_python_types():
    assert torch.finfo(type=torch.float16).bits == 16
    assert torch.iinfo(type=torch.int8).bits == 8
    assert torch.finfo(float).dtype == "float64"
    assert torch.iinfo(int).dtype == "int64"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: torch.finfo(torch.int32), "requires a floating point input type. Use torch.iinfo"),
        (lambda: torch.finfo(torch.bool), "requires a floating point input type"),
        (lambda: torch.iinfo(torch.float32), "requires an integer input type. Use torch.finfo"),
        (lambda: torch.iinfo(torch.bool), "torch.bool is not supported by torch.iinfo"),
        (lambda: torch.finfo(3), r"finfo\(\): argument 'type' \(position 1\) must be torch.dtype, not int"),
        (lambda: torch.finfo("float16"), "must be torch.dtype, not str"),
        (lambda: torch.iinfo(), "missing 1 required positional argument"),
        (lambda: hash(torch.finfo()), "unhashable"),
    ],
)
def test_wrong_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_read_only_and_copies():
    limits = torch.finfo(torch.float16)
    with pytest.raises(AttributeError):
        limits.eps = 1.0
    assert copy.copy(limits) == limits
