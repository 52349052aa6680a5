"""Graphs run step by step (``strided.fx.interpreter``)."""

from __future__ import annotations

from typing import Any

from .._as_torch.core_names import absent
from .node import Node, map_arg

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module; subclasses see each step (``run_node``).

    Args:
        module: with the graph, and what it names. garbage_collect_values: whether results are let go after their last
            use. graph: another one than ``module.graph``.

    >>> net = strided.fx.symbolic_trace(lambda x: (x + 1) * 2)
    >>> strided.fx.Interpreter(net).run(strided.ones(1))
    tensor([4.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Any = None) -> None:
        self.module = module
        self.graph = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The result of the program for these inputs."""
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        last = {n: node for node in self.graph.nodes for n in node.all_input_nodes}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            if self.garbage_collect_values:
                for n in node.all_input_nodes:
                    if last[n] is node:
                        self.env.pop(n, None)
        return None

    def run_node(self, n: Node) -> Any:
        """The result of a step: that of the method named as its ``op``."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The next input, or its default. RuntimeError if there is neither."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a method."""
        first, *rest = args
        return getattr(first, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of a module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        """What the program returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its path. RuntimeError if there is none."""
        found = self.module
        for part in target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """The arguments of a step, with results in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Results in the place of nodes."""
        return map_arg(args, lambda node: self.env[node])


Transformer = absent("Transformer", __name__)
