"""What became of a trace, in words."""

from __future__ import annotations

from typing import Any

from ._groups import Group


class Explanation:
    """``groups``: the fused programs, as lists of names of operations; ``eager``: (name, why) of each call that stays
    as it is; ``reason``: why there is no trace, or None.  ``str`` of it is a text of some lines."""

    def __init__(self, replay: Any, reason: str | None):
        self.reason = None if replay is not None else reason
        self.groups: list[list[str]] = []
        self.eager: list[tuple[str, str]] = []
        self._lines: list[str] = []
        for node in replay.order if replay is not None else ():
            if not isinstance(node, Group):
                self.eager.append((node.name, node.why))
                self._lines.append(f"  as it is: {node.name} ({node.why})")
                continue
            names = [o.name for o in node.operations]
            if node.program.obstacle is not None:
                self.eager += [(name, node.program.obstacle) for name in names]
                self._lines.append(f"  one by one: {', '.join(names)} ({node.program.obstacle})")
                continue
            self.groups.append(names)
            reads, makes = _count(len(node.inputs), "tensor"), len(node.outputs)
            registers = _count(node.program.registers, "register")
            self._lines.append(f"  fused: {', '.join(names)} (reads {reads}, makes {makes}; {registers})")

    @property
    def graph_count(self) -> int:
        return len(self.groups)

    @property
    def graph_break_count(self) -> int:
        return len(self.eager)

    @property
    def op_count(self) -> int:
        return sum(map(len, self.groups))

    @property
    def break_reasons(self) -> list[str]:
        return [self.reason] if self.reason else [f"{name}: {why}" for name, why in self.eager]

    def __str__(self) -> str:
        if self.reason is not None:
            return f"runs as it is: {self.reason}"
        programs, calls = _count(len(self.groups), "fused program"), _count(len(self.eager), "call")
        return "\n".join([f"{programs}, {calls} that stay as they are", *self._lines])

    __repr__ = __str__


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")
