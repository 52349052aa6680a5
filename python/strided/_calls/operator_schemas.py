"""Schemas of operations, as texts: ``foo(Tensor x, int n=1, *, Tensor(a!)? out=None) -> Tensor``."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from typing import TYPE_CHECKING, Any

import strided

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._typing import Callable

__all__ = ["Argument", "FunctionSchema", "infer", "parse"]


class Argument:
    """A parameter, or a result, of an operation."""

    def __init__(self, type_: str, name: str, default: Any, kwarg_only: bool, is_write: bool, text: str) -> None:
        self.type, self.name, self.default_value = type_, name, default
        self.kwarg_only, self.is_write, self._text = kwarg_only, is_write, text

    def has_default_value(self) -> bool:
        """Whether a call may leave it out."""
        return self.default_value is not inspect.Parameter.empty

    def __repr__(self) -> str:
        return self._text


class FunctionSchema:
    """Name, parameters and results of an operation."""

    def __init__(self, name: str, overload: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.name, self.overload_name, self.arguments, self.returns = name, overload, arguments, returns

    @property
    def is_mutable(self) -> bool:
        """Whether the operation writes to an argument."""
        return any(a.is_write for a in self.arguments)

    def signature(self) -> inspect.Signature:
        """What a call has to fit."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return inspect.Signature([
            inspect.Parameter(a.name, kinds[a.kwarg_only], default=a.default_value) for a in self.arguments
        ])  # fmt: skip

    def __str__(self) -> str:
        words = []
        for i, a in enumerate(self.arguments):
            if a.kwarg_only and not (i and self.arguments[i - 1].kwarg_only):
                words.append("*")
            words.append(repr(a))
        returns = [repr(r) for r in self.returns]
        given = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
        return f"{self.name}{'.' * bool(self.overload_name)}{self.overload_name}({', '.join(words)}) -> {given}"

    __repr__ = __str__


def _pieces(text: str) -> list[str]:
    """A list in a schema, cut at the commas that are in no bracket and in no text."""
    pieces, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            pieces.append(text[start:i].strip())
            start = i + 1
    pieces.append(text[start:].strip())
    return [p for p in pieces if p]


def _default(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = getattr(strided, text, text)
        return found if isinstance(found, strided.dtype) else text


_ARGUMENT = re.compile(
    r"(?P<type>[\w.]+!?(?:\([^)]*\))?(?:\?|\[\d*\])*)(?:\s+(?P<name>\w+))?(?:\s*=\s*(?P<default>.+))?$"
)


def _argument(text: str, kwarg_only: bool, schema: str) -> Argument:
    found = _ARGUMENT.match(text)
    if found is None:
        raise RuntimeError(f"{text!r} is no parameter of an operation, in the schema {schema!r}")
    default = found["default"]
    value = inspect.Parameter.empty if default is None else _default(default.strip())
    written = found["type"] + (f" {found['name']}" if found["name"] else "") + (f"={default}" if default else "")
    plain = re.sub(r"!|\([^)]*\)", "", found["type"])
    return Argument(plain, found["name"] or "", value, kwarg_only, "!" in found["type"], written)


def parse(text: str) -> FunctionSchema:
    """A schema from its text; RuntimeError if it is none."""
    found = re.match(r"\s*((?:\w+::)?\w*)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*$", text, re.DOTALL)
    if found is None:
        raise RuntimeError(f"{text!r} is no schema of an operation: name(Tensor x, ...) -> Tensor is expected")
    name, overload, inside, result = found[1], found[2] or "", found[3], found[4]
    arguments, kwarg_only = [], False
    for piece in _pieces(inside):
        if piece == "*":
            kwarg_only = True
        else:
            arguments.append(_argument(piece, kwarg_only, text))
            if not arguments[-1].name:
                raise RuntimeError(f"{piece!r} has no name, in the schema {text!r}")
    several = result.startswith("(") and result.endswith(")")
    returns = [_argument(piece, False, text) for piece in (_pieces(result[1:-1]) if several else [result])]
    return FunctionSchema(name, overload, arguments, returns)


_SIMPLE = {int: "SymInt", float: "float", bool: "bool", str: "str"}


def _types() -> dict[Any, str]:
    return {**_SIMPLE, strided.Tensor: "Tensor", strided.dtype: "ScalarType", strided.device: "Device"}


def _type_name(hint: Any) -> str | None:
    """A type in the words of schemas; None if there are none."""
    found = _types().get(hint)
    if found is not None:
        return found
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        rest = [t for t in inside if t is not type(None)]
        within = _type_name(rest[0]) if len(rest) == 1 else "Scalar" if set(rest) == {int, float, bool} else None
        return within and (f"{within}?" if type(None) in inside else within)
    if origin is not None and inspect.isclass(origin) and origin is not tuple and len(inside) == 1:
        import collections.abc

        if issubclass(list, origin) and issubclass(origin, collections.abc.Sequence):
            within = _type_name(inside[0])
            return within and f"{within}[]"
    return None


def _returned(hint: Any, fail: Callable[[str], Any]) -> str:
    if hint is None or hint is type(None):
        return "()"
    if hint is inspect.Parameter.empty:
        fail("No return type annotation was provided. Please add one.")
    parts = typing.get_args(hint) if typing.get_origin(hint) is tuple else (hint,)
    names = [_type_name(p) for p in parts]
    for part, name in zip(parts, names):
        if name is None:
            fail(f"Return has unsupported type {part}.")
    return str(names[0]) if typing.get_origin(hint) is not tuple else f"({', '.join(map(str, names))})"


def infer(function: Callable[..., Any], mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function with type hints; ValueError where a hint is missing, or is none of an operation."""
    signature = inspect.signature(function)

    def fail(what: str) -> Any:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        fail(f"Unsupported type annotation. It is not a type. ({error}).")
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )
    written: Iterable[str] = () if isinstance(mutates_args, str) else tuple(mutates_args)
    words: list[str] = []
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        if p.annotation is p.empty:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _type_name(hints[name])
        if kind is None:
            fail(f"Parameter {name} has unsupported type {p.annotation}.")
            continue
        is_tensor = kind.startswith("Tensor")
        if name in written and not is_tensor:
            fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        if is_tensor and (name in written or mutates_args == "unknown"):
            kind = f"Tensor(a{i}!){kind[len('Tensor') :]}"
        default = p.default
        if isinstance(default, (str, strided.device)):
            default = f'"{default}"'
        elif isinstance(default, strided.dtype):
            default = str(default).partition(".")[2]
        elif default is not p.empty and not (default is None or isinstance(default, (int, float, bool))):
            fail(f"Parameter {name} has an unsupported default value type {type(default)}.")
        words.append(f"{kind} {name}" + ("" if p.default is p.empty else f"={default}"))
    unknown = set(written) - set(signature.parameters)
    if unknown:
        fail(f"{unknown} in mutates_args were not found in the custom op's signature.")
    return f"{op_name or ''}({', '.join(words)}) -> {_returned(hints.get('return', signature.return_annotation), fail)}"
