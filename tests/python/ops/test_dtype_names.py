"""The dtypes of PyTorch that are names here: they compare, and no tensor has one."""

import copy
import pickle

import pytest
import strided as torch
from strided import _C

NAMES = _C.dtypes_without_tensors


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_a_name(dtype):
    assert isinstance(dtype, torch.dtype) and getattr(torch, str(dtype).removeprefix("torch.")) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.deepcopy(dtype) is dtype
    assert dtype == dtype and dtype != torch.uint8 and {dtype: 1}[dtype] == 1 and dtype not in _C.dtypes
    assert torch.ones(1).dtype != dtype


def test_limits_of_complex32_are_those_of_its_parts():
    limits, parts = torch.finfo(torch.complex32), torch.finfo(torch.float16)
    assert (limits.dtype, limits.bits, limits.max, limits.eps) == (parts.dtype, 16, parts.max, parts.eps)


@pytest.mark.parametrize("dtype", NAMES, ids=str)
def test_no_tensor_has_it(dtype):
    x = torch.ones(2, dtype=torch.uint8)
    for call in (
        lambda: torch.empty(3, dtype=dtype),
        lambda: torch.tensor([1], dtype=dtype),
        lambda: x.to(dtype),
        lambda: x.view(dtype),
        lambda: x.sum(dtype=dtype),
        lambda: torch.promote_types(dtype, torch.float32),
        lambda: dtype.to_complex(),
        lambda: torch.frombuffer(b"12", dtype=dtype),
    ):
        with pytest.raises(NotImplementedError, match=f"strided has no tensors of dtype {dtype}$"):
            call()
    for info in (torch.iinfo, torch.finfo)[: 1 if dtype is torch.complex32 else 2]:  # finfo tells of the parts
        with pytest.raises((TypeError, NotImplementedError)):
            info(dtype)
