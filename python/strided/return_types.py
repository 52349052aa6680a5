"""Named tuples that functions with several results return; they print as PyTorch's do."""

from __future__ import annotations

from operator import itemgetter as _itemgetter

from . import _C


def _tuple_repr(self):
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


def _make(name: str, fields: tuple):
    """The class for results of `name`, made on first use."""
    short = name.rsplit(".", 1)[-1]
    if "." in name:
        short = name.replace(".", "_")
    made = globals().get(short)
    if made is None or made._fields != fields:
        body = {"__slots__": (), "_fields": fields, "__repr__": _tuple_repr, "__module__": __name__}
        body.update({field: property(_itemgetter(i)) for i, field in enumerate(fields)})
        body["__reduce__"] = lambda self: (_remake, (name, fields, tuple(self)))
        made = globals()[short] = type(short, (tuple,), body)
    return made


def _remake(name, fields, values):
    return tuple.__new__(_make(name, fields), values)


_C.set_hook("return_type", _make)
