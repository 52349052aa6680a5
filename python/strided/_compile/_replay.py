"""A trace as a Python function of its own: one line for each program and each call that stays as it is."""

from __future__ import annotations

from typing import Any

import strided

from .. import _C
from ._groups import Group, find_outputs, make_groups
from ._guards import is_ours
from ._trace import Call, Operation, Trace, Untraceable, Variable


class Replay:
    """What runs instead of the function: ``run(args, kwargs)``."""

    def __init__(self, trace: Trace, args: Any, kwargs: Any):
        self.order = make_groups(trace)
        results = {v.number for v in _variables(trace.result)}
        find_outputs(self.order, results)
        self.order = [g for g in self.order if isinstance(g, Call) or g.outputs]
        for group in self.order:
            if isinstance(group, Group):
                group.program = _C._fuse_calls(
                    [o.call for o in group.operations],
                    [trace.tensors[n] for n in group.inputs],
                    [trace.tensors[n] for n in group.outputs],
                )
        self._names: dict[str, Any] = {}
        self.source = self._write(trace, args, kwargs)
        exec(compile(self.source, "<compiled function>", "exec"), self._names)
        self.run = self._names["run"]
        self.operations = [[o.name for o in g.operations] for g in self.order if isinstance(g, Group)]
        for group in self.order:  # the trace's tensors are let go
            for operation in getattr(group, "operations", ()):
                operation.tensors = operation.call = None

    @property
    def is_fused(self) -> bool:
        return any(isinstance(g, Group) and g.program.obstacle is None for g in self.order)

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._names)}"
        self._names[name] = value
        return name

    def _write(self, trace: Trace, args: Any, kwargs: Any) -> str:
        lines: list[str] = []
        last: dict[int, int] = {}
        read = set()
        for node in self.order:
            read.update(node.inputs if isinstance(node, Group) else node.reads)
        read.update(v.number for v in _variables(trace.result))
        self._unpack("args", args, trace, read, lines)
        self._unpack("kwargs", kwargs, trace, read, lines)
        for number, tensor in trace.captured.items():
            if number in read:
                lines.append(f"v{number} = {self._constant(tensor)}")
        uses = [
            node.inputs + node.outputs if isinstance(node, Group) else node.reads + node.outs for node in self.order
        ]
        for i, numbers in enumerate(uses):
            last.update(dict.fromkeys(numbers, i))
        kept = {v.number for v in _variables(trace.result)}
        for i, node in enumerate(self.order):
            lines.extend(self._call(node) if isinstance(node, Call) else self._run_group(node))
            gone = [n for n in dict.fromkeys(uses[i]) if last[n] == i and n not in kept]
            if gone:
                lines.append("del " + ", ".join(f"v{n}" for n in gone))
        lines.append(f"return {self._text(trace.result)}")
        return "def run(args, kwargs):\n" + "".join(f"    {line}\n" for line in lines)

    def _unpack(self, path: str, x: Any, trace: Trace, read: set[int], lines: list[str]) -> None:
        if isinstance(x, strided.Tensor):
            number = trace.numbers[id(x)]
            if number in read:
                lines.append(f"v{number} = {path}")
        elif isinstance(x, (list, tuple)):
            for i, item in enumerate(x):
                self._unpack(f"{path}[{i}]", item, trace, read, lines)
        elif isinstance(x, dict):
            for key, value in x.items():
                self._unpack(f"{path}[{key!r}]", value, trace, read, lines)

    def _run_group(self, group: Group) -> list[str]:
        outputs = ", ".join(f"v{n}" for n in group.outputs)
        return [f"{outputs} = {self._constant(group.program)}({', '.join(f'v{n}' for n in group.inputs)})"]

    def _call(self, node: Call) -> list[str]:
        parts = [self._text(a) for a in node.args] + [f"{k}={self._text(v)}" for k, v in node.kwargs.items()]
        call = f"{self._constant(node.func)}({', '.join(parts)})"
        if isinstance(node.made, Variable):
            return [f"v{node.made.number} = {call}"]
        if node.made is None:
            return [call]
        lines = [f"made = {call}"]
        self._take_apart("made", node.made, lines)
        return [*lines, "del made"]

    def _take_apart(self, path: str, made: Any, lines: list[str]) -> None:
        for i, item in enumerate(made):
            if isinstance(item, Variable):
                lines.append(f"v{item.number} = {path}[{i}]")
            else:
                self._take_apart(f"{path}[{i}]", item, lines)

    def _text(self, x: Any) -> str:
        if isinstance(x, Variable):
            return f"v{x.number}"
        if type(x) is list:
            return f"[{', '.join(map(self._text, x))}]"
        if type(x) is tuple:
            return f"({''.join(self._text(item) + ', ' for item in x)})"
        if type(x) is dict:
            return "{" + ", ".join(f"{self._text(k)}: {self._text(v)}" for k, v in x.items()) + "}"
        if type(x) is slice:
            return f"slice({self._text(x.start)}, {self._text(x.stop)}, {self._text(x.step)})"
        if isinstance(x, tuple) and _variables(x):
            return f"{self._constant(type(x))}(({''.join(self._text(item) + ', ' for item in x)}))"
        if x is None or type(x) in (bool, int, str):
            return repr(x)
        return self._constant(x)


def _variables(x: Any) -> list[Variable]:
    if isinstance(x, Variable):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, slice):
        x = [x.start, x.stop, x.step]
    return [v for item in x for v in _variables(item)] if isinstance(x, (list, tuple)) else []


def result_of(trace: Trace, x: Any) -> Any:
    """What the function returned, with variables in the place of tensors."""
    if isinstance(x, strided.Tensor):
        if type(x) not in (strided.Tensor, strided.nn.Parameter):
            raise Untraceable(f"it returns a {type(x).__name__}")
        if id(x) not in trace.numbers:
            raise Untraceable("it returns a tensor that no call made")
        return Variable(trace.numbers[id(x)])
    if type(x) in (list, tuple, strided.Size):
        return type(x)(result_of(trace, item) for item in x)
    if isinstance(x, tuple) and is_ours(x):  # values and indices, ...
        return tuple.__new__(type(x), [result_of(trace, item) for item in x])
    if type(x) is dict and all(isinstance(key, (str, int)) for key in x):
        return {key: result_of(trace, value) for key, value in x.items()}
    if x is None or isinstance(x, (bool, int, float, complex, str, strided.dtype, strided.device)):
        return x
    raise Untraceable(f"it returns a {type(x).__name__}")


__all__ = ["Operation", "Replay", "result_of"]
