"""The attributes of dtypes that are names here, beside PyTorch's."""

import pytest
import strided
from strided import _C

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", _C.dtypes_without_tensors, ids=str)
def test_attributes(dtype):
    theirs = getattr(torch, str(dtype).removeprefix("torch."))
    assert repr(dtype) == repr(theirs)
    for name in ("itemsize", "is_floating_point", "is_complex"):
        assert getattr(dtype, name) == getattr(theirs, name), name
    try:
        signed = theirs.is_signed
    except RuntimeError:  # PyTorch does not say it of bits
        return
    assert dtype.is_signed == signed


def test_all_of_them():
    theirs = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    ours = {name for name in dir(strided) if isinstance(getattr(strided, name), strided.dtype)}
    assert theirs == ours
