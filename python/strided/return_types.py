"""Named tuples that functions with several results return; they print as PyTorch's do."""

from __future__ import annotations

from operator import itemgetter as _itemgetter

from . import _C


def _tuple_repr(self):
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self.__match_args__, self))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


def _short(name: str) -> str:
    return name.replace(".", "_")


def _make(name: str, fields: tuple):
    """The class for results of `name`, made on first use."""
    short = _short(name)
    made = globals().get(short)
    if made is None or made.__match_args__ != fields:
        body = {"__slots__": (), "__match_args__": fields, "__repr__": _tuple_repr, "__module__": __name__}
        # As PyTorch's, which are made by CPython's PyStructSequence.
        body |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
        body.update({field: property(_itemgetter(i)) for i, field in enumerate(fields)})
        body["__reduce__"] = lambda self: (_remake, (name, fields, tuple(self)))
        made = globals()[short] = type(short, (tuple,), body)
    return made


def _remake(name, fields, values):
    return tuple.__new__(_make(name, fields), values)


_C.set_hook("return_type", _make)

# The results of functions that are written in Python.
for _name, _fields in (
    ("frexp", ("mantissa", "exponent")),
    ("frexp_out", ("mantissa", "exponent")),
    ("histogramdd", ("hist", "bin_edges")),
    ("unique_all", ("values", "indices", "inverse_indices", "counts")),
    ("unique_counts", ("values", "counts")),
    ("unique_inverse", ("values", "inverse_indices")),
):
    _make(_name, _fields)


def _classes() -> dict:
    """(qualified name of the function, fields) of every class that there can be, by the class's name."""
    made = {key: (key, value.__match_args__) for key, value in globals().items() if hasattr(value, "__match_args__")}
    for name, function in _C.functions.items():
        for parameters, _, fields in function.overloads:
            if fields:
                plain = name.removeprefix("Tensor.")
                made.setdefault(_short(plain), (plain, fields))
                if any(parameter[0] == "out" for parameter in parameters):  # results that stand in out=
                    made.setdefault(_short(plain) + "_out", (plain + "_out", fields))
    return made


def __getattr__(name: str):
    if not name.startswith("_") and name in (classes := _classes()):
        return _make(*classes[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_classes())


del annotations
