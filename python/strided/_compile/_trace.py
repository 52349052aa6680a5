"""A run of a function that writes down the calls it makes.

The run is a real one, on the real arguments, and its result is returned to the caller.  A mode sees every call of a
public function; below it the compiled core logs the elementwise operations and reductions that the call comes to.  A
call whose result comes from logged operations alone, which read nothing but its arguments, is replaced by them; every
other one is kept as it is.
"""

from __future__ import annotations

from typing import Any

import strided

from .. import _C
from ..overrides import TorchFunctionMode

_count_writes = _C.functions["_count_writes"]


class Untraceable(Exception):
    """Why no trace of the function can stand for later calls."""


class Operation:
    """A logged elementwise operation or reduction: reads tensors (variables), makes one.

    ``by_row``: None for no reduction; True for one that is the same for a block of rows."""

    __slots__ = ("by_row", "call", "name", "out", "reads", "tensors")

    def __init__(self, call: Any, name: str, by_row: bool | None, reads: list[int], out: int, tensors: Any):
        self.call, self.name, self.by_row, self.reads, self.out, self.tensors = call, name, by_row, reads, out, tensors


class Call:
    """A call that stays as it is.  ``made``: what it gives, with variables in the place of tensors."""

    __slots__ = ("args", "func", "is_write", "kwargs", "made", "name", "outs", "reads", "why")

    def __init__(self, func: Any, args: Any, kwargs: Any, made: Any, reads: list[int], outs: list[int], why: str):
        self.func, self.args, self.kwargs, self.made, self.reads, self.outs, self.why = (
            func, args, kwargs, made, reads, outs, why,
        )  # fmt: skip
        self.name = _name_of(func)
        self.is_write = False


class Variable:
    """Stands for a tensor in the arguments of a Call and in results."""

    __slots__ = ("number",)

    def __init__(self, number: int):
        self.number = number


class Trace:
    def __init__(self) -> None:
        self.nodes: list[Operation | Call] = []
        self.tensors: list[Any] = []  # of each variable, so that none is freed while its id stands for it
        self.numbers: dict[int, int] = {}
        self.captured: dict[int, Any] = {}
        self.n_arguments = 0
        self.result: Any = None

    def variable(self, tensor: Any) -> int:
        """The number of a tensor's variable, which is made if it is new."""
        number = self.numbers.get(id(tensor))
        if number is None:
            number = self.numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return number


# What tells no values: shapes, dtypes and the like, all of which the key of a trace decides.
_TELLS_NO_VALUES = frozenset({
    "shape", "size", "dim", "ndim", "ndimension", "dtype", "device", "stride", "numel", "nelement", "requires_grad",
    "is_contiguous", "is_floating_point", "is_complex", "is_signed", "itemsize", "element_size", "__len__", "layout",
    "storage_offset", "is_cuda", "is_cpu", "is_sparse", "is_meta", "is_leaf", "get_device", "is_tensor", "is_same_size",
    "is_quantized", "is_mps", "is_xla", "nbytes", "type", "is_conj", "is_neg", "is_inference", "is_nested",
})  # fmt: skip
# Results whose shape depends on values, and calls that change what no call can see.
# What PyTorch does not trace either: Python, or a shape, depends on the values of a tensor.
_ASKS_FOR_VALUES = frozenset({
    "nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "item", "tolist", "numpy", "__array__",
    "is_nonzero",
})  # fmt: skip
_UNTRACEABLE = _ASKS_FOR_VALUES | frozenset({
    "bincount", "histc", "histogram", "data_ptr", "untyped_storage", "storage", "requires_grad_", "backward", "grad",
    "register_hook", "retain_grad", "resize_", "resize_as_", "set_", "detach_", "share_memory_", "__set__",
    "__delete__",
    "from_numpy", "as_tensor", "asarray", "apply_", "map_", "register_post_accumulate_grad_hook", "_version", "grad_fn",
    "__deepcopy__", "__reduce_ex__", "rename_", "names", "from_dlpack", "cuda", "allclose", "equal",
    "repeat_interleave", "as_subclass", "unflatten_", "_values", "to_sparse", "_base", "isclose_",
})  # fmt: skip


def _name_of(func: Any) -> str:
    name = getattr(func, "__name__", "") or type(func).__name__
    return func.__self__.__name__ if name == "__get__" else name


def tensors_in(x: Any, found: list[Any]) -> list[Any]:
    """The tensors in lists, tuples, dicts and slices, in order."""
    if isinstance(x, strided.Tensor):
        found.append(x)
    elif isinstance(x, (list, tuple)):
        for item in x:
            tensors_in(item, found)
    elif isinstance(x, dict):
        for item in x.values():
            tensors_in(item, found)
    elif isinstance(x, slice):
        tensors_in((x.start, x.stop, x.step), found)
    return found


class Tracer(TorchFunctionMode):
    """Writes the calls of this thread into ``trace``.  ``known``: the tensors that the function may read besides.

    ``failure`` says why the trace is of no use; the function runs to its end nevertheless, once. ``asks_for_values``:
    because PyTorch would not trace it either.
    """

    def __init__(self, trace: Trace, known: dict[int, Any]):
        self.trace, self.known = trace, known
        self.failure: str | None = None
        self.asks_for_values = False
        self.grad_mode = strided.is_grad_enabled()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.failure is None:
            self.failure = self._refusal(func, args, kwargs or {})
        if self.failure is not None:
            return func(*args, **(kwargs or {}))
        inputs = tensors_in((args, kwargs or {}), [])
        versions = [_count_writes(t) for t in inputs]
        result, writes, logged = _C._log_calls(func, args, kwargs or None)
        try:
            self._write_down(func, args, kwargs or {}, result, inputs, logged,
                             writes > 0 or versions != [_count_writes(t) for t in inputs])  # fmt: skip
        except Untraceable as error:
            self.failure = str(error)
        return result

    def _refusal(self, func: Any, args: Any, kwargs: Any) -> str | None:
        name = _name_of(func)
        if getattr(func, "__name__", "") in _UNTRACEABLE or name in _UNTRACEABLE:
            self.asks_for_values = name in _ASKS_FOR_VALUES
            return f"it calls {name}"
        if strided.is_grad_enabled() != self.grad_mode:
            return "it switches the recording of gradients"
        inputs = tensors_in((args, kwargs), [])
        if name == "__getitem__" and any(t.dtype in (strided.bool, strided.uint8) for t in inputs[1:]):
            return "it calls __getitem__ with a mask"
        if name == "where" and len(args) == 1 and not kwargs:
            return "it calls where without values"
        return None

    def _write_down(
        self, func: Any, args: Any, kwargs: Any, result: Any, inputs: list[Any], logged: Any, changed: bool
    ) -> None:
        name = _name_of(func)
        made = tensors_in(result, [])
        if not made and name in _TELLS_NO_VALUES:
            return
        if not made and result is not None:
            self.asks_for_values = True
            raise Untraceable(f"{name} gives Python the value of a tensor")
        changed = changed or result is None
        numbers = [self._number(t) for t in inputs]
        if changed or not self._replaced(inputs, logged, made, result):
            self._keep(func, args, kwargs, result, made, numbers, logged, changed)

    def _number(self, tensor: Any) -> int:
        trace = self.trace
        if id(tensor) not in trace.numbers:
            if id(tensor) not in self.known:
                raise Untraceable("it reads a tensor that comes from nowhere known")
            trace.captured[trace.variable(tensor)] = tensor
        return trace.variable(tensor)

    def _replaced(self, inputs: list[Any], logged: list[Any], made: list[Any], result: Any) -> bool:
        """Whether the logged operations say all of the call; if so they are written down."""
        if len(made) != 1 or made[0] is not result or not logged or type(result) is not strided.Tensor:
            return False
        known = {id(t) for t in inputs}
        for _call, _name, obstacle, reads, out, _by_row in logged:
            if obstacle is not None or any(id(t) not in known for t in reads) or _count_writes(out) != 0:
                return False
            known.add(id(out))
        if id(result) not in known or any(result is t for t in inputs):
            return False
        trace = self.trace
        for call, name, _obstacle, reads, out, by_row in logged:
            numbers = [trace.variable(t) for t in reads]
            trace.nodes.append(Operation(call, name, by_row, numbers, trace.variable(out), trace.tensors))
        return True

    def _keep(
        self, func: Any, args: Any, kwargs: Any, result: Any, made: list[Any], numbers: list[int], logged: Any,
        changed: bool,
    ) -> None:  # fmt: skip
        trace = self.trace
        if result is not None and not _is_made_of_tensors(result):
            raise Untraceable(f"{_name_of(func)} gives more than tensors")
        if any(type(t) not in (strided.Tensor, strided.nn.Parameter) for t in made):
            raise Untraceable(f"{_name_of(func)} gives a tensor of a type of its own")
        obstacle = next((entry[2] for entry in logged if entry[2]), None)
        why = obstacle or ("writes to memory" if changed else "not elementwise")
        outs = [trace.variable(t) for t in made]
        node = Call(func, self._with_variables(args), self._with_variables(kwargs), self._with_variables(result),
                    numbers, outs, why)  # fmt: skip
        node.is_write = changed
        trace.nodes.append(node)

    def _with_variables(self, x: Any) -> Any:
        if isinstance(x, strided.Tensor):
            return Variable(self.trace.variable(x))
        if isinstance(x, (list, tuple)):
            items = [self._with_variables(item) for item in x]
            return items if isinstance(x, list) else tuple(items)
        if isinstance(x, dict):
            return {key: self._with_variables(value) for key, value in x.items()}
        if isinstance(x, slice):
            return slice(*map(self._with_variables, (x.start, x.stop, x.step)))
        return x


def _is_made_of_tensors(x: Any) -> bool:
    return isinstance(x, strided.Tensor) or (isinstance(x, (list, tuple)) and all(map(_is_made_of_tensors, x)))
