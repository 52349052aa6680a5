"""Recorded programs: lists of steps, and the Python code of them (``strided.fx.graph``)."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any

import strided

from ..ops import OpOverload
from ._code import PythonCode, python_code
from .node import Node, map_aggregate, map_arg

__all__ = ["Graph", "PythonCode"]


class _Number(int):
    """A step, by its number, in what is pickled."""


class _Public(str):
    """A function of the package, by its name, in what is pickled."""


def _stored(target: Any) -> Any:
    from ..overrides import resolve_name

    name = None if isinstance(target, str) else resolve_name(target)
    if isinstance(target, OpOverload):
        name = f"torch.ops.{target}"
    return target if name is None else _Public(name)


def _loaded(target: Any) -> Any:
    if not isinstance(target, _Public):
        return target
    return functools.reduce(getattr, target.split(".")[1:], strided)


def _from_steps(steps: list[Any]) -> Graph:
    graph, made = Graph(), []
    for op, target, args, kwargs, name, kind in steps:
        args, kwargs = map_aggregate((args, kwargs), lambda x: made[x] if isinstance(x, _Number) else x)
        made.append(graph.create_node(op, _loaded(target), args, kwargs, name, kind))
    return graph


class _Nodes:
    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self._graph, self._backwards = graph, backwards

    def __iter__(self) -> Iterator[Node]:
        step = "_before" if self._backwards else "_after"
        node = getattr(self._graph._root, step)
        while node is not self._graph._root:
            following = getattr(node, step)
            if not node._erased:
                yield node
            # What the body of the loop put behind the node is visited, and an erased node is left the way it had.
            node = following if node._erased else getattr(node, step)

    def __reversed__(self) -> _Nodes:
        return _Nodes(self._graph, not self._backwards)

    def __len__(self) -> int:
        return self._graph._count


class _Place:
    """Where new steps go: from now on, or until the end of the ``with`` block."""

    def __init__(self, graph: Graph, place: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._place
        graph._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        self._graph._place = self._before


class Graph:
    """A program as a list of steps, which can be read, changed and turned into a ``GraphModule``.

    >>> graph = strided.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(strided.add, (x, 1))
    >>> _ = graph.output(y)
    >>> strided.fx.GraphModule({}, graph)(strided.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._names: dict[str, int] = {}
        self._count = 0
        self._place: Callable[[Node], None] = self._root.prepend  # where new nodes go
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls  # the class of the tracer that recorded it, or None

    @property
    def nodes(self) -> _Nodes:
        """The steps in their order; they may be changed while one goes through them."""
        return _Nodes(self)

    def _name(self, candidate):
        candidate = re.sub(r"\W", "_", candidate) or "node"
        candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
        if keyword.iskeyword(candidate) or hasattr(builtins, candidate) or candidate in ("self", "torch"):
            candidate += "_1"
        name = candidate
        base = re.sub(r"_\d+$", "", candidate)
        while name in self._names:
            self._names[base] = self._names.get(base, 0) + 1
            name = f"{base}_{self._names[base]}"
        self._names.setdefault(name, 0)
        return name

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Adds a step at the end, or where ``inserting_before`` and ``inserting_after`` say."""
        wanted = name or (target if isinstance(target, str) else getattr(target, "__name__", op))
        node = Node(
            self, self._name(wanted.lower() if not name else wanted), op, target, args or (), kwargs or {}, type_expr
        )
        self._place(node)
        self._count += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input, with or without a default."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, name=name.lstrip("*"), type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter or another attribute of the module, by its path."""
        return self.create_node("get_attr", qualified_name, name=qualified_name.replace(".", "_"), type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
        type_expr: Any = None,
        name: Any = None,
    ) -> Node:
        """The call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The call of a module, by its path."""
        return self.create_node("call_module", module_name, args, kwargs, module_name.replace(".", "_"), type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), {}, "output", type_expr)

    def output_node(self) -> Node:
        """The step that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The steps of one kind."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy of a step of another graph; ``arg_transform`` gives the node here for one there."""
        made = self.create_node(
            node.op, node.target, map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform), node.name,
            node.type,
        )  # fmt: skip
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies all steps of a graph but the last, whose argument is returned, in terms of the copies."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made, copies = Graph(tracer_cls=self._tracer_cls), {}
        for node in self.nodes:
            copies[node] = made.node_copy(node, lambda n: copies[n])
        return made

    def __reduce__(self) -> Any:
        numbers = {node: _Number(i) for i, node in enumerate(self.nodes)}
        return _from_steps, (
            [
                (n.op, _stored(n.target), map_arg(n.args, numbers.get), map_arg(n.kwargs, numbers.get), n.name, n.type)
                for n in self.nodes
            ],
        )

    def erase_node(self, to_erase: Node) -> None:
        """Removes a step. RuntimeError if another one reads it."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set((), {})
        self._count -= 1

    def inserting_before(self, n: Node | None = None) -> _Place:
        """New steps go before a node (None: to the beginning) from now on, or for the time of a ``with`` block."""
        return _Place(self, self._root.append if n is None else n.prepend)

    def inserting_after(self, n: Node | None = None) -> _Place:
        """New steps go after a node (None: to the end) from now on, or for the time of a ``with`` block."""
        return _Place(self, self._root.prepend if n is None else n.append)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes steps that nobody reads, and says whether there were any."""
        keep = is_impure_node or Node.is_impure
        found = False
        for node in list(reversed(self.nodes)):
            if not node.users and not keep(node):
                self.erase_node(node)
                found = True
        return found

    def lint(self) -> None:
        """RuntimeError if a step reads a later one, one of another graph, or if names repeat."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            seen.add(node)

    # ------------------------------------------------------------ code

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The program as a Python function ``forward``."""
        return python_code(self)

    def print_tabular(self) -> None:
        """Prints a table with a line for each step."""
        titles = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(title) + 2, *map(len, column)) for title, *column in zip(titles, *rows)]
        for row in [titles, ["-" * width for width in widths], *rows]:
            print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {n.format_node()}" for n in self.nodes)
