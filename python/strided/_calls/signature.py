"""One Python signature for all overloads of a function of the compiled core, for ``inspect.signature`` and ``help``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C

if TYPE_CHECKING:
    from inspect import Signature


class _Word(str):
    """A text that prints without quotes: an annotation, or the default of a parameter that only some overloads have."""

    __slots__ = ()
    __repr__ = str.__str__


LEFT_OUT = _Word("...")
_RESULTS = {"Tensor[]": "tuple[Tensor, ...]", "Number": "int | float | complex", "str": "str", "Size": "Size"}


def _result(name: str, result: str, fields: tuple) -> str:
    if result.startswith("("):
        if fields:
            return "return_types." + name.removeprefix("Tensor.").replace(".", "_")
        return "tuple" + result.replace("(", "[").replace(")", "]")
    return " | ".join(_RESULTS.get(part.partition(" if ")[0], part.partition(" if ")[0]) for part in result.split("; "))


def parameters(function: _C.Function) -> list:
    """(name, kind, default) of each parameter of all overloads, ``None`` for a default that there is not.

    The positional parameters are those of the overload that has most of them; what others call differently can be
    given by keyword.  A parameter is required if every overload has it, in the same place, and requires it.
    """
    overloads = [params for params, _, _ in function.overloads]
    if function.__qualname__.startswith("Tensor."):
        overloads = [(("self", *params[0][1:]), *params[1:]) for params in overloads]
    positional = [[p for p in params if p[2] != "keyword"] for params in overloads]
    most = max(positional, key=lambda params: (any(p[2] == "variadic" for p in params), len(params)))
    order = [p[0] for p in most]
    for params in overloads:
        end = len(order) - (order[-1:] == ["out"])  # out= stays the last
        order[end:end] = [p[0] for p in params if p[0] not in order]
    found = []
    for name in order:
        same = [p for params in overloads for p in params if p[0] == name]
        at = {next((i for i, p in enumerate(params) if p[0] == name), None) for params in positional}
        kind = next((p[2] for p in most if p[0] == name), "keyword")
        defaults = [p[3] for p in same if len(p) > 3]
        required = not defaults and len(same) == len(overloads) and len(at) == 1
        found.append((name, kind, None if required else (defaults[0] if defaults else LEFT_OUT,)))
    return found


def signature(function: _C.Function) -> Signature:
    """The ``inspect.Signature`` of all overloads."""
    import keyword
    from inspect import Parameter, Signature

    kinds = {
        "positional": Parameter.POSITIONAL_OR_KEYWORD,
        "variadic": Parameter.VAR_POSITIONAL,
        "keyword": Parameter.KEYWORD_ONLY,
        "position only": Parameter.POSITIONAL_ONLY,
    }
    made, optional = [], False
    for name, kind, default in parameters(function):
        optional = optional or default is not None
        if kind == "positional" and optional and default is None:
            default = (LEFT_OUT,)
        if keyword.iskeyword(name):  # no name in Python (`from`): by position only, with what stands before it
            made = [p.replace(kind=Parameter.POSITIONAL_ONLY) for p in made]
            name, kind = name + "_", "position only"
        given = {} if default is None or kind == "variadic" else {"default": default[0]}
        made.append(Parameter(name, kinds[kind], **given))
    results = dict.fromkeys(_result(function.__qualname__, result, fields) for _, result, fields in function.overloads)
    return Signature(sorted(made, key=lambda p: p.kind), return_annotation=_Word(" | ".join(results)))


def text_signature(function: _C.Function) -> str:
    """The same as a text, without the result."""
    return str(signature(function)).partition(" -> ")[0]


_C.set_hook("signature", signature)
_C.set_hook("text_signature", text_signature)


def _keyword_defaults(function: _C.Function) -> dict[str, object] | None:
    """As of a Python function: PyTorch's are some, and libraries ask by it whether a keyword is known."""
    found = signature(function).parameters.values()
    return {p.name: p.default for p in found if p.kind is p.KEYWORD_ONLY and p.default is not p.empty} or None


_C.Function.__kwdefaults__ = property(_keyword_defaults)  # type: ignore[attr-defined]
