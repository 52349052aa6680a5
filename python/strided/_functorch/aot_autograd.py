"""The names of PyTorch's module that need no compiler.

Its compilers take the arguments of a function as one list, which the function may empty; a function of that form has
``_boxed_call`` set.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable


def make_boxed_func(f: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    """f as a function of one list of its arguments.

    >>> make_boxed_func(max)([1, 3])
    3
    """

    @functools.wraps(f)
    def boxed(args: list[Any]) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable[[Any, Any], Callable[..., Any]]) -> Callable[[Any, Any], Any]:
    """A compiler ``(module, inputs) -> function`` whose functions take one list.

    >>> make_boxed_compiler(lambda module, inputs: module)(max, None)([1, 3])
    3
    """

    @functools.wraps(compiler)
    def compile_boxed(module: Any, inputs: Any) -> Any:
        return make_boxed_func(compiler(module, inputs))

    return compile_boxed
