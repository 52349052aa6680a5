"""Counts the arithmetic of networks: products, convolutions and attention (``strided.utils.flop_counter``).

The counts are those of PyTorch's operations, which a ``TorchDispatchMode`` sees, of forward and backward passes.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .. import _C, ops
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

if TYPE_CHECKING:
    from .._typing import Callable

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten = ops.aten


def get_shape(i: Any) -> Any:
    """The shape of a tensor; anything else as it is."""
    return i.shape if isinstance(i, _C.Tensor) else i


flop_registry: dict[Any, Callable[..., int]] = {}


def shape_wrapper(f: Callable[..., int]) -> Callable[..., int]:
    """A formula of shapes as one of tensors: ``out_val`` becomes ``out_shape``."""

    @functools.wraps(f)
    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[..., Any]:
    """Decorator: how much arithmetic an operation is.

    Args:
        targets: packets of ``ops.aten`` (``ops.aten.mm``), one or a list.
        get_raw: the formula gets the tensors, and the result as ``out_val``; else shapes, and ``out_shape``.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        wrapped = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, ops.OpOverloadPacket):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket, got {target}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = wrapped
        return formula

    return register


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 m k n."""
    return 2 * a_shape[0] * a_shape[1] * b_shape[1]


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """That of the product."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 m k n for each matrix."""
    return 2 * a_shape[0] * a_shape[1] * a_shape[2] * b_shape[2]


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """That of the products."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """2 for each element of the result (of the input if transposed), each weight that it meets, and each sample."""
    positions = math.prod((x_shape if transposed else out_shape)[2:])
    return 2 * positions * math.prod(w_shape) * x_shape[0]


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: Any, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """That of one convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Any, x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: Any, _output_padding: Any, _groups: Any, output_mask: Any, out_shape: Any = None,
) -> int:  # fmt: skip
    """The gradients of input and weight are convolutions too."""

    def swapped(shape: Any) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        one, two = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(swapped(one), swapped(two), swapped(out_shape[1]), False)
    return count


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The scores and the sums of the values."""
    b, h, rows, depth = query_shape
    return 2 * b * h * rows * key_shape[2] * (depth + value_shape[3])


_attention = aten._scaled_dot_product_flash_attention_for_cpu
_attention_backward = aten._scaled_dot_product_flash_attention_for_cpu_backward


@register_flop_formula(_attention)
def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kw: Any) -> int:
    """That of one attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The scores again, and four products: the gradients of scores, values, queries and keys."""
    b, h, rows, depth = query_shape
    return 2 * b * h * rows * key_shape[2] * (3 * depth + 2 * value_shape[3])


@register_flop_formula(_attention_backward)
def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kw: Any,
) -> int:
    """That of the gradient of one attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


class FlopCounterMode(TorchDispatchMode):
    """Context that counts multiplications and additions of products, convolutions and attention.

    Args:
        mods: accepted, without effect: every module that is called counts.
        depth: how deep the table goes that is printed at the end, 2 if None.
        display: whether it is printed.
        custom_mapping: ``{packet of ops.aten: formula}``, as for ``register_flop_formula``; a formula with an
            attribute ``_get_raw = True`` gets tensors.

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
        super().__init__()
        self.depth, self.display = 999 if depth is None else depth, display
        own = {k: f if getattr(f, "_get_raw", False) else shape_wrapper(f) for k, f in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        formula = self.flop_registry.get(func._overloadpacket)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=result)
            for place in set(self.mod_tracker.parents):
                self.flop_counts[place][func._overloadpacket] += count
        return result

    def get_total_flops(self) -> int:
        """The number of operations so far."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """``{module: {operation: count}}``; "Global" has all of them."""
        return {place: dict(counts) for place, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module down to a depth: its name, operations, share of all."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [
            (" " * place.count(".") + place, sum(counts.values()))
            for place, counts in sorted(self.flop_counts.items())
            if place.count(".") < depth
        ]
        width = max((len(name) for name, _ in rows), default=6)
        lines = [f"{'Module':{width}}  {'FLOP':>15}  % Total"]
        lines += [f"{name:{width}}  {flops:15,}  {flops / total:7.2%}" for name, flops in rows]
        return "\n".join(lines)
