"""Counts the arithmetic of networks: products, convolutions and attention (``strided.utils.flop_counter``)."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import strided

from ..nn import functional as F
from ..nn.modules._hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..overrides import TorchFunctionMode, redispatch_function

if TYPE_CHECKING:
    from .._typing import Callable

__all__ = ["FlopCounterMode"]


def _matrices(a: Any, b: Any) -> int:
    """2 m n k for each of the products of a batch."""
    if a.dim() == 1 or b.dim() == 1:
        return 2 * max(a.numel(), b.numel())
    batch = math.prod(strided.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return 2 * batch * a.shape[-2] * a.shape[-1] * b.shape[-1]


def _product(result: Any, a: Any, b: Any, *rest: Any, **options: Any) -> int:
    return _matrices(a, b)


def _sum_and_product(result: Any, input: Any, a: Any, b: Any, *rest: Any, **options: Any) -> int:
    return _matrices(a, b)


def _linear(result: Any, input: Any, weight: Any, bias: Any = None) -> int:
    return 2 * input.numel() * (weight.shape[0] if weight.dim() == 2 else 1)


def _convolution(result: Any, input: Any, weight: Any, *rest: Any, **options: Any) -> int:
    return 2 * result.numel() * math.prod(weight.shape[1:])


def _transposed(result: Any, input: Any, weight: Any, *rest: Any, **options: Any) -> int:
    return 2 * input.numel() * math.prod(weight.shape[1:])


def _attention(result: Any, query: Any, key: Any, value: Any, *rest: Any, **options: Any) -> int:
    rows = query.numel() // query.shape[-1]
    return 2 * rows * key.shape[-2] * (query.shape[-1] + value.shape[-1])


def _einsum(result: Any, equation: Any, *operands: Any) -> int:
    """2 for each combination of indices, and each operand after the first."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        raise NotImplementedError("FlopCounterMode: einsum is counted where its equation is a text")
    sizes: dict[str, int] = {}
    batch = 1  # of "...", which broadcasts
    for word, x in zip(equation.replace(" ", "").partition("->")[0].split(","), operands):
        before, dots, after = word.partition("...")
        sizes.update(zip(before, x.shape))
        if dots:
            sizes.update(zip(reversed(after), reversed(x.shape)))
            batch = max(batch, math.prod(x.shape[len(before) : x.dim() - len(after)]))
    return 2 * batch * math.prod(sizes.values()) * (len(operands) - 1)


def _formulas() -> dict[Any, Callable[..., int]]:
    T = strided.Tensor
    found = {F.linear: _linear, F.scaled_dot_product_attention: _attention}
    for name in ("matmul", "mm", "bmm", "mv", "dot"):
        found[getattr(strided, name)] = found[getattr(T, name)] = _product
    found[T.__matmul__] = found[T.__rmatmul__] = _product
    found[strided.einsum] = _einsum
    for name in ("addmm", "baddbmm", "addmv"):
        found[getattr(strided, name)] = found[getattr(T, name)] = _sum_and_product
    for axes in "123":
        found[getattr(F, f"conv{axes}d")] = found[getattr(strided, f"conv{axes}d")] = _convolution
        name = f"conv_transpose{axes}d"
        found[getattr(F, name)] = found[getattr(strided, name)] = _transposed
    return found


class FlopCounterMode(TorchFunctionMode):
    """Context that counts multiplications and additions of products, convolutions and attention.

    Of the backward pass, run inside the context too, each operand that gets a gradient counts as much as the forward.

    Args:
        mods: accepted, without effect: every module that is called counts.
        depth: how deep the table goes that is printed at the end, 2 if None.
        display: whether it is printed.
        custom_mapping: ``{function: formula}``; a formula has the function's arguments, and its result as ``out_val``.

    >>> x, net = strided.ones(5, 4), strided.nn.Linear(4, 3)
    >>> with strided.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = net(x).sum().backward()
    >>> counter.get_total_flops(), sorted(counter.get_flop_counts())
    (240, ['Global', 'Linear'])
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.depth, self.display = 999 if depth is None else depth, display
        self._custom = custom_mapping or {}
        self._formulas = _formulas()
        self._passes = {strided.Tensor.backward, strided.autograd.backward, strided.autograd.grad}
        self._on = 0
        self._clear()

    def _clear(self) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._open: list[str] = []  # the modules that run, from the outermost
        self._names: dict[int, str] = {}

    def __enter__(self) -> FlopCounterMode:
        if not self._on:
            self._clear()
            self._handles = [
                register_module_forward_pre_hook(self._begin),
                register_module_forward_hook(self._end, always_call=True),
            ]
        self._on += 1
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._on -= 1
        if not self._on:
            for handle in self._handles:
                handle.remove()
            if self.display:
                print(self.get_table(self.depth))

    def _begin(self, module: Any, args: Any) -> None:
        if not self._open:
            name = type(module).__name__
            self._names = {id(m): f"{name}.{path}" if path else name for path, m in module.named_modules()}
        self._open.append(self._names.get(id(module), type(module).__name__))

    def _end(self, module: Any, args: Any, output: Any) -> None:
        self._open.pop()

    def _add(self, places: Any, name: Any, flops: int) -> None:
        for place in places:
            self.flop_counts[place][name] += flops

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self._passes:
            return func(*args, **kwargs)  # what a formula of a gradient calls is no operation of the program
        custom, formula = self._custom.get(func), self._formulas.get(func)
        if custom is None and formula is None:
            # Functions made of others: what they call is counted.
            with self:
                return redispatch_function(func, types, args, kwargs)
        result = func(*args, **kwargs)
        if custom is not None:
            flops = int(custom(*args, **kwargs, out_val=result))
        else:
            flops = formula(result, *args, **kwargs)  # type: ignore[misc]
        places = ["Global", *dict.fromkeys(self._open)]
        name = getattr(func, "__name__", str(func)).strip("_")
        self._add(places, name, flops)
        if isinstance(result, strided.Tensor) and result.requires_grad:
            given = [x for a in args for x in (a if isinstance(a, (list, tuple)) else [a])]
            wanted = sum(isinstance(x, strided.Tensor) and x.requires_grad and x.dim() > 1 for x in given)
            result.register_hook(lambda grad: self._add(places if self._on else (), name + "_backward", wanted * flops))
        return result

    def get_total_flops(self) -> int:
        """The number of operations so far."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """``{module: {function: operations}}``; "Global" has all of them."""
        return {place: dict(counts) for place, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module down to a depth: its name, operations, share of all."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [
            (" " * place.count(".") + place, sum(counts.values()))
            for place, counts in self.flop_counts.items()
            if place.count(".") < depth
        ]
        width = max((len(name) for name, _ in rows), default=6)
        lines = [f"{'Module':{width}}  {'FLOP':>15}  % Total"]
        lines += [f"{name:{width}}  {flops:15,}  {flops / total:7.2%}" for name, flops in rows]
        return "\n".join(lines)
