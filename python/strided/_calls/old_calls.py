"""Calls that PyTorch takes besides its signatures: a number before the tensors that it scales, which is deprecated, and
arithmetic of two numbers."""

from __future__ import annotations

from numbers import Number
from typing import TYPE_CHECKING

from .. import _C
from .once import warn_once

if TYPE_CHECKING:
    from .._typing import Any

# add(self, alpha, other), addcmul(self, value, tensor1, tensor2), addmm(beta, self, alpha, mat1, mat2), which as a
# method is self.addmm(beta, alpha, mat1, mat2).
_ONE_FACTOR = {"add": ("alpha", 2), "sub": ("alpha", 2), "addcmul": ("value", 3), "addcdiv": ("value", 3)}
_TWO_FACTORS = {"addbmm", "addmm", "addmv", "addr", "baddbmm"}
# torch.add(2, 3) is tensor(5).
_TAKE_NUMBERS = {"add", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "true_divide"}


def _old_call(function: Any, args: tuple[Any, ...]) -> Any:
    """The result of such a call; NotImplemented for other calls."""
    written = function.__name__
    name = written.removesuffix("_")
    if len(args) == 2:
        if written in _TAKE_NUMBERS and all(isinstance(a, Number) for a in args):
            from .. import full

            return function(full((), args[0]), args[1])
        return NotImplemented
    tensors = [a for a in args if isinstance(a, _C.Tensor)]
    numbers = [a for a in args if isinstance(a, Number)]
    if len(tensors) + len(numbers) != len(args):
        return NotImplemented
    if name in _ONE_FACTOR:
        keyword, count = _ONE_FACTOR[name]
        if len(tensors) != count or len(numbers) != 1 or args[1] is not numbers[0]:
            return NotImplemented
        given = {keyword: numbers[0]}
    elif name in _TWO_FACTORS:
        if len(tensors) != 3 or not 1 <= len(numbers) <= 2:
            return NotImplemented
        given = dict(zip(("beta", "alpha"), numbers))
    else:
        return NotImplemented
    named = ", ".join(f"{key}={value}" for key, value in given.items())
    warn_once(
        f"This overload of {written} is deprecated", f"write {written}(..., {named}), no number before the tensors"
    )
    return function(*tensors, **given)


_C.set_hook("old_call", _old_call)
