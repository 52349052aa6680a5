"""Names of functions of single elements: those of the core's table, and the operators that stand for them."""

from __future__ import annotations

import functools

from .. import _C


@functools.lru_cache(None)
def elementwise_names(arity: int | None = None) -> frozenset[str]:
    """The functions of the core's table, of so many operands or all of them: ``add``, ``special.erf``."""
    rows = [row for row in _C.ops_table() if arity in (None, row["arity"])]
    return frozenset(name for row in rows for name in (row["name"], *row["aliases"].split()))


_ARITHMETIC = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_OTHER = {"neg": "neg", "abs": "abs", "pos": "positive", "invert": "bitwise_not"} | {
    name: name for name in "eq ne lt le gt ge".split()
}
# The method of an operator: its function, and whether that has the operands the other way round.
OPERATORS = {
    **{f"__{sign}__": (name, False) for sign, name in (_ARITHMETIC | _OTHER).items()},
    **{f"__i{sign}__": (f"{name}_", False) for sign, name in _ARITHMETIC.items()},
    **{f"__r{sign}__": (name, True) for sign, name in _ARITHMETIC.items()},
}


def function_of(name: str) -> tuple[str, bool]:
    """The function that a method is a form of, and whether it writes to its first operand.

    >>> function_of("__radd__"), function_of("add_"), function_of("__getitem__")
    (('add', False), ('add', True), ('__getitem__', False))
    """
    name, _ = OPERATORS.get(name, (name, False))
    in_place = name.endswith("_") and not name.endswith("__")
    return (name[:-1] if in_place else name), in_place
