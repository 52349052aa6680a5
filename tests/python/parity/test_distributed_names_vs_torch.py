"""Functions of strided.distributed take the arguments of PyTorch's, under the same names, with the same defaults."""

import inspect

import pytest
import strided

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

THEIRS = torch.distributed
OTHERWISE = {"init_device_mesh"}  # takes a communicator, and no options of backends
FUNCTIONS = [
    name for name in sorted(set(THEIRS.__all__) if hasattr(THEIRS, "__all__") else dir(THEIRS))
    if inspect.isfunction(getattr(THEIRS, name)) and callable(getattr(strided.distributed, name, None))
    and not name.startswith("_") and name not in OTHERWISE
]  # fmt: skip


def parameters(function):
    return [p for p in inspect.signature(function).parameters.values() if not p.name.startswith("_")]


def default(value):
    return getattr(value, "name", value)


def test_there_are_some():
    assert {"all_reduce", "init_process_group", "new_group", "all_gather_object", "batch_isend_irecv"} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments(name):
    ours, theirs = parameters(getattr(strided.distributed, name)), parameters(getattr(THEIRS, name))
    assert [p.name for p in ours] == [p.name for p in theirs]
    assert [default(p.default) for p in ours] == [default(p.default) for p in theirs]


def test_reductions_have_the_same_names():
    names = set(THEIRS.ReduceOp.RedOpType.__members__) - {"PREMUL_SUM"}
    assert {op.name for op in strided.distributed.ReduceOp} == names
