"""Every public function with arguments that fit, on the device as on the CPU; what it does not have is listed here."""

import pytest
import strided as torch
from calls_elsewhere import pairs, tensors_of
from xla_calls import TOLERANCE, strided_xla

ADDRESS = "memory of the device has no address"
# Functions that raise on this device alone, with the words of their error.
MISSING = {
    "to_dlpack": ("Cannot pack tensors on xla", ADDRESS),
    "utils.dlpack.to_dlpack": ("Cannot pack tensors on xla", ADDRESS),
    "utils.dlpack.from_dlpack": ("Cannot pack tensors on xla", ADDRESS),
    "frombuffer": ("not on the CPU", ADDRESS),
}
# The same where there is CUDA, with whose help memory is pinned. Without it these raise on the CPU too.
NOT_PINNED = {name: ("cannot pin 'xla:0'", ADDRESS) for name in ("Tensor.pin_memory", "empty_like", "eye")}
# Drawn from another generator, or never written: shapes and dtypes are compared.
OTHER_NUMBERS = {
    "random_", "normal", "empty", "empty_permuted", "randn", "multinomial", "poisson", "new_empty", "bernoulli",
}  # fmt: skip
OTHER_SIGNS = {"svd"}  # singular vectors: absolute values are compared
OTHER_ORDER = {"eig", "eigvals"}  # of eigenvalues; test_xla_linalg.py looks at them
PROGRAM = 80  # calls whose results one program computes


def kind(name):
    return name.rpartition(".")[2]


def difference(name, here, there):
    """What is wrong with a result, "" for nothing."""
    if (here.shape, here.dtype) != (there.shape, there.dtype):
        return f"{here.dtype} {here.shape} on the CPU, {there.dtype} {there.shape} on the device"
    if kind(name) in OTHER_NUMBERS | OTHER_ORDER or here.layout != torch.strided:
        return ""
    here, there = here.detach(), there.detach().cpu()
    if here.dtype.itemsize == 1 and here.dtype.is_floating_point:
        here, there = here.float(), there.float()
    if kind(name) in OTHER_SIGNS:
        here, there = here.abs(), there.abs()
    tolerance = max(TOLERANCE.get(here.dtype, 0), 1e-5)  # `out` may be wider than what is computed
    try:
        torch.testing.assert_close(there, here, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        return str(error)
    return ""


def test_every_function_gives_what_the_cpu_gives():
    problems, waiting, compared = [], [], 0

    def compare():
        strided_xla.sync()
        for call, here, there in waiting:
            for a, b in zip(tensors_of(here), tensors_of(there)):
                # A call without tensors, or one that copies, has its result on the CPU on both sides.
                said = difference(call[0], a.cpu(), b) if isinstance(a, torch.Tensor) else ""
                if said:
                    problems.append(f"{call[0]} {call[2]}: {said}\n  {call[1]}")
        waiting.clear()

    for call, here, there in pairs(torch, "xla", 1):
        if isinstance(there, Exception):
            missing = {**MISSING, **NOT_PINNED}.get(call[0])
            if missing is None or missing[0] not in str(there):
                problems.append(f"{call[0]} {call[2]}: {type(there).__name__}: {there}\n  {call[1]}")
            continue
        if len(tensors_of(here)) != len(tensors_of(there)):
            problems.append(f"{call[0]} {call[2]}: {len(tensors_of(there))} tensors\n  {call[1]}")
            continue
        compared += 1
        waiting.append((call, here, there))
        if len(waiting) == PROGRAM:
            compare()
    compare()
    assert not problems, "\n".join(problems)
    assert compared > 400


SQUARE = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
CALLS = {
    "to_dlpack": lambda x: torch.to_dlpack(x),
    "utils.dlpack.to_dlpack": lambda x: torch.utils.dlpack.to_dlpack(x),
    "utils.dlpack.from_dlpack": lambda x: torch.utils.dlpack.from_dlpack(x),
    "frombuffer": lambda x: torch.frombuffer(x, dtype=torch.float32),
}


@pytest.mark.parametrize("name", sorted(MISSING))
def test_what_is_missing_raises(name):
    text, _ = MISSING[name]
    with pytest.raises(BufferError, match=text):
        CALLS[name](SQUARE.to("xla"))


def test_every_elementwise_operation_is_there():
    rows = [row for row in torch._C.ops_table() if "float32" in row["out_dtypes"] and row["name"][0] != "_"]
    assert len(rows) > 100
    x = torch.full((2,), 0.5, device="xla")
    for row in rows:
        f = torch
        for part in row["name"].split("."):
            f = getattr(f, part, None) or getattr(torch._C, part)
        try:
            f(*[x] * row["arity"])
        except TypeError:  # further arguments, which test_xla_elementwise.py gives
            continue
