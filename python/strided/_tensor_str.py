"""The text of tensors under PyTorch's name (``torch._tensor_str``)."""

from __future__ import annotations

from typing import Any

from ._objects.printing import (
    _contents,
    _options,
    _with_suffixes,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_repr,
)

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]

PRINT_OPTS = _options


def _tensor_str(self: Any, indent: int) -> str:
    """The numbers alone, as they stand between the brackets of ``tensor(...)``; lines after the first are indented."""
    return _contents(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text with what is said after the numbers, and the closing bracket."""
    return _with_suffixes(tensor_str, suffixes, indent, force_newline)


def _str_intern(inp: Any, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor; `tensor_contents` stands in the place of the numbers where it is given."""
    return tensor_repr(inp, contents=tensor_contents)


_str = _str_intern
