"""``rearrange``: axes split, permuted and merged as a pattern says (Rogozhnikov, "Einops", ICLR 2022)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import strided

if TYPE_CHECKING:
    from .._typing import Any, Tensor

_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z0-9_]+|[()])")
_EVERY = ["..."]  # the axes of an ellipsis that is in no parentheses


def _parsed(side: str) -> list[list[str]]:
    """One list of names for each axis; an axis of size 1 has none."""
    axes: list[list[str]] = []
    group: list[str] | None = None
    at, side = 0, side.strip()
    while at < len(side):
        found = _TOKEN.match(side, at)
        if found is None:
            raise ValueError(f"rearrange: unknown character {side[at:].strip()[0]!r} in {side!r}")
        at, word = found.end(), found[1]
        if word in "()":
            if (word == "(") == (group is not None):
                raise ValueError(f"rearrange: parentheses of {side!r} do not match, or stand within others")
            if group is None:
                group = []
            else:
                axes.append(group)
                group = None
            continue
        if word != "1" and word != "...":
            if word.isdecimal():
                raise ValueError(f"rearrange: axes without a name have size 1, not {word}")
            if not word.isidentifier() or word.startswith("_") or word.endswith("_"):
                raise ValueError(f"rearrange: {word!r} is no name of an axis")
        names = [] if word == "1" else [word]
        if group is None:
            axes.append(_EVERY if word == "..." else names)
        else:
            group += names
    if group is not None:
        raise ValueError(f"rearrange: parentheses of {side!r} do not match")
    every = [name for names in axes for name in names]
    for name in every:
        if every.count(name) > 1:
            raise ValueError(f"rearrange: {name!r} stands twice in {side!r}")
    return axes


def _spread(axes: list[list[str]], hidden: list[str]) -> list[list[str]]:
    """The same with names for the axes that the ellipsis stands for."""
    made: list[list[str]] = []
    for names in axes:
        if names is _EVERY:
            made += [[name] for name in hidden]
        else:
            made.append([n for name in names for n in (hidden if name == "..." else [name])])
    return made


def _sizes(axes: list[list[str]], shape: Any, given: dict[str, int]) -> dict[str, int]:
    known = dict(given)
    for names, n in zip(axes, shape):
        unknown = [name for name in names if name not in known]
        rest = math.prod(known[name] for name in names if name in known)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: the sizes of {' and '.join(unknown)} are not given")
        if unknown and rest and n % rest == 0:
            known[unknown[0]] = n // rest
        elif unknown or rest != n:
            raise ValueError(f"rearrange: an axis of {n} elements is not ({' '.join(names) or 1}) with {given}")
    return known


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """A tensor whose axes are split, permuted and merged.

    Args:
        tensor: or tensors of one shape, which are stacked along a new first axis.
        pattern: names of the axes, ``->``, the same names in another order. Parentheses stand for one axis made of
            several, ``...`` for any number of axes, ``1`` and ``()`` for an axis of one element.
        axes_lengths: sizes of axes; of those in one pair of parentheses all but one.

    Raises:
        ValueError: a pattern that is none, or does not fit the tensor. TypeError: a size that is no int.

    >>> x = strided.arange(6).reshape(2, 3)
    >>> strided.func.rearrange(x, "a b -> b a").tolist()
    [[0, 3], [1, 4], [2, 5]]
    >>> strided.func.rearrange(x, "... (b c) -> (... b) c", c=1).shape
    torch.Size([6, 1])
    """
    if not isinstance(tensor, strided.Tensor):
        tensor = strided.stack(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: a pattern has one '->', got {pattern!r}")
    left, right = map(_parsed, sides)
    here, there = ({name for names in axes for name in names} for axes in (left, right))
    if here != there:
        raise ValueError(f"rearrange: only on one side of {pattern!r}: {', '.join(sorted(here ^ there))}")
    if any("..." in names and names is not _EVERY for names in left):
        raise ValueError(f"rearrange: '...' cannot stand in parentheses on the left side of {pattern!r}")
    for name, size in axes_lengths.items():
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"rearrange: the size of {name!r} must be an int, not {type(size).__name__}")
        if name not in here:
            raise ValueError(f"rearrange: {name!r} is not in {pattern!r}")
    more = tensor.ndim - len(left) + ("..." in here)
    if more < 0 or (more != 0 and "..." not in here):
        raise ValueError(f"rearrange: {sides[0].strip()!r} does not fit a tensor of {tensor.ndim} axes")
    hidden = [f"...{i}" for i in range(more)] if "..." in here else []
    left, right = _spread(left, hidden), _spread(right, hidden)
    sizes = _sizes(left, tensor.shape, axes_lengths)
    order = [name for names in left for name in names]
    final = [name for names in right for name in names]
    parts = tensor.reshape([sizes[name] for name in order]).permute([order.index(name) for name in final])
    return parts.reshape([math.prod(sizes[name] for name in names) for names in right])
