"""Python code of recorded programs, in PyTorch's form."""

from __future__ import annotations

import functools
import math
import operator
import re
from typing import Any

import strided

from ..ops import OpOverload
from .node import Node

__all__ = ["PythonCode", "python_code"]

_LITERALS = (int, bool, str, bytes, type(None), type(...))

# Functions of the module operator that are written with their signs.
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<",
    "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=",
}  # fmt: skip
_BINARY = {getattr(operator, name): sign for name, sign in _SIGNS.items()}
_UNARY = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


class PythonCode:
    """Source of a function ``forward``, and the objects that it names."""

    def __init__(self, src: str, globals: dict[str, Any]) -> None:
        self.src, self.globals = src, globals


class _Text:
    """Arguments, functions and types as Python, and the objects that they name."""

    def __init__(self, taken: Any) -> None:
        self.used: dict[str, Any] = {"torch": strided}
        self._taken = taken

    def named(self, value: Any, name: str) -> str:
        name = re.sub(r"\W", "_", name)
        while self.used.get(name, value) is not value or name in self._taken:
            name += "_"
        self.used[name] = value
        return name

    def argument(self, a: Any) -> str:
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            items = f"({', '.join(map(self.argument, a))}{',' * (len(a) == 1)})"
            if type(a) is tuple:
                return items
            name = self.named(type(a), type(a).__name__)
            return name + (items if hasattr(a, "_fields") else f"({items})")
        if isinstance(a, list):
            return f"[{', '.join(map(self.argument, a))}]"
        if isinstance(a, dict):
            return f"{{{', '.join(f'{k!r}: {self.argument(v)}' for k, v in a.items())}}}"
        if isinstance(a, slice):
            return f"slice({self.argument(a.start)}, {self.argument(a.stop)}, {self.argument(a.step)})"
        if type(a) in _LITERALS or type(a) is float and math.isfinite(a):
            return repr(a)
        if type(a) is float:
            return self.named(math.nan, "nan") if a != a else "-" * (a < 0) + self.named(math.inf, "inf")
        if isinstance(a, (strided.dtype, strided.layout, strided.memory_format)):
            return repr(a)
        if isinstance(a, strided.device):
            return self.named(strided.device, "device") + repr(a).removeprefix("device")
        return self.named(a, f"_{type(a).__name__}_{len(self.used)}")

    def call(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.argument, args), *(f"{k} = {self.argument(v)}" for k, v in kwargs.items())])

    def function(self, node: Node) -> str:
        """The call of a function: with its sign, by PyTorch's name, or by a name of its own."""
        function, args = node.target, node.args
        if not node.kwargs:
            if function in _BINARY and len(args) == 2:
                left = self.argument(args[0])
                if function is operator.pow and left.startswith("-"):
                    left = f"({left})"  # the sign of a number binds less than the power
                return f"{left} {_BINARY[function]} {self.argument(args[1])}"
            if function in _UNARY and len(args) == 1:
                return f"{_UNARY[function]}{self.argument(args[0])}"
            if function is operator.getitem and len(args) == 2 and isinstance(args[0], Node):
                return f"{self.argument(args[0])}[{self.argument(args[1])}]"
            if function is getattr and len(args) == 2 and isinstance(args[0], Node) and _is_path(args[1]):
                return f"{self.argument(args[0])}.{args[1]}"
        name = public_name(function)
        if name is None:
            where = getattr(function, "__module__", None) or ""
            name = self.named(function, f"{where}_{function.__name__}")
        return f"{name}({self.call(args, node.kwargs)})"

    def type(self, kind: Any) -> str:
        """The annotation of an input, with the colon; empty where there is none."""
        if kind is None or isinstance(kind, str):
            return ""
        if getattr(kind, "__module__", None) == "builtins" and isinstance(kind, type) and "[" not in repr(kind):
            return f" : {kind.__name__}"
        return f" : {public_name(kind) or self.named(kind, type_name(kind))}"


def public_name(thing: Any) -> str | None:
    """PyTorch's name of a function or class of the package, if that name leads to it; else None."""
    from ..overrides import resolve_name

    if isinstance(thing, OpOverload):
        return f"torch.ops.{thing}"
    if isinstance(thing, str):
        return None
    name = resolve_name(thing) if not isinstance(thing, type) else _class_name(thing)
    if name is None or not name.startswith("torch."):
        return None
    try:
        found = functools.reduce(getattr, name.split(".")[1:], strided)
    except AttributeError:
        return None
    return name if found is thing else None


def _class_name(kind):
    module = re.sub(r"^strided\b", "torch", kind.__module__)
    return f"{module}.{kind.__qualname__}"


def type_name(kind: Any) -> str:
    """An annotation as a text."""
    if not isinstance(kind, type):
        return re.sub(r"\bstrided\.", "torch.", str(kind))
    return kind.__qualname__ if kind.__module__ == "builtins" else _class_name(kind)


def python_code(graph: Any) -> PythonCode:
    """The steps of a graph as a Python function ``forward``."""
    text = _Text(graph._names)
    last: dict[Node, Node] = {}  # the step after which a value is let go
    for node in graph.nodes:
        for n in node.all_input_nodes:
            last[n] = node
    heads: list[str] = []
    lines: list[str] = []
    wrapped: dict[str, None] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            default = f" = {text.argument(node.args[0])}" if node.args else ""
            heads.append(f"{node.target}{text.type(node.type)}{default}")
            if node.target.lstrip("*") != node.name:
                lines.append(f"{node.name} = {node.target.lstrip('*')}")
            continue
        if node.op == "output":
            lines.append(f"return {text.argument(node.args[0])}")
            continue
        if node.op == "get_attr":
            value = _looked_up(node.target)
        elif node.op == "call_function":
            value = text.function(node)
            if node.meta.get("is_wrapped"):
                wrapped.setdefault(value.partition("(")[0])
        elif node.op == "call_method":
            value = f"{text.argument(node.args[0])}.{node.target}({text.call(node.args[1:], node.kwargs)})"
        else:
            value = f"{_looked_up(node.target)}({text.call(node.args, node.kwargs)})"
        done = [n.name for n in node.all_input_nodes if last[n] is node] + [node.name] * (not node.users)
        lines.append(f"{node.name} = {value}" + (f";  {' = '.join(done)} = None" if done else ""))
    before = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in wrapped)
    body = "".join(f"    {line}\n" for line in lines) or "    pass\n"
    return PythonCode(f"\n{before}\n\ndef forward({', '.join(['self', *heads])}):\n{body}    ", text.used)


def _is_path(target):
    return isinstance(target, str) and all(part.isidentifier() for part in target.split("."))


def _looked_up(target):
    value = "self"
    for part in target.split("."):
        value = f"{value}.{part}" if part.isidentifier() else f'getattr({value}, "{part}")'
    return value
