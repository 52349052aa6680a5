"""Arguments of modules as tuples (``strided.nn.modules.utils``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._tuples import _ntuple, _pair, _quadruple, _single, _triple

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]

_known = _ntuple, _single, _pair, _triple, _quadruple  # which libraries import from here


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each element n times, the last one first: the order in which `pad` takes its numbers."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: Any) -> Any:
    """The sizes given, with those of the input where None stands."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the keys that begin with it, in place; and off those of the metadata."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key in (prefix.removesuffix("."), prefix):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
