"""Modules that run a recorded program (``strided.fx.graph_module``)."""

from __future__ import annotations

import copy
from typing import Any

from ..nn import Module
from .graph import Graph

__all__ = ["GraphModule"]


def _at(root, path):
    for part in path.split("."):
        root = getattr(root, part)
    return root


def _put(module, path, value):
    *folders, name = path.split(".")
    for folder in folders:
        if not hasattr(module, folder):
            setattr(module, folder, Module())
        module = getattr(module, folder)
    import strided

    if isinstance(value, strided.Tensor) and not isinstance(value, strided.nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


# Where a GraphModule's ``meta`` lists attributes that copies keep.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Puts what stands at a path of one module at the same path of another, but for parts of modules that both have."""
    if not _has_already(to_module, from_module, target):
        _put(to_module, target, _at(from_module, target))


class _CodeOnlyModule(Module):
    """A module with these attributes, for the constructor of a GraphModule to take them from."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _has_already(module, root, path):
    """Whether a module on the way to an attribute is the same one in both: what it holds is there then."""
    for folder in path.split(".")[:-1]:
        module, root = getattr(module, folder, None), getattr(root, folder)
        if module is root:
            return True
    return False


def _rebuilt(class_name, attributes, graph, training):
    made = GraphModule(attributes, graph, class_name)
    return made.train(training)


class GraphModule(Module):
    """A module whose ``forward`` is the code of a graph.

    Args:
        root: the module that has what the graph names, or a dict of it by path.
        graph: the program. It may be changed; ``recompile()`` makes the code anew.
        class_name: the name of the class that is made for the module.

    Raises:
        RuntimeError: the graph names something that root does not have.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]  # each has a forward of its own
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = self._class_name = class_name  # libraries look at the qualified one
        if hasattr(root, "training"):
            self.training = root.training
        for node in graph.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            if isinstance(root, dict):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
                _put(self, node.target, root[node.target])
            elif not _has_already(self, root, node.target):
                _put(self, node.target, _at(root, node.target))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The program."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The program as Python."""
        return self._code

    def recompile(self) -> Any:
        """Makes the code anew, of what the graph is now."""
        code = self._graph.python_code("self")
        self._code = code.src
        names = dict(code.globals)
        exec(compile(code.src, "<strided.fx>", "exec"), names)
        type(self).forward = names["forward"]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Puts a module at a path, through modules that are made where there are none.

        Returns:
            False, with nothing put, where the path leads through something that is no module.

        >>> traced = torch.fx.symbolic_trace(torch.nn.Identity())
        >>> traced.add_submodule("blocks.first", torch.nn.ReLU()), traced.blocks.first
        (True, ReLU())
        """
        *folders, name = target.split(".")
        place: Module = self
        for folder in folders:
            below = getattr(place, folder, None)
            if below is None:
                below = Module()
                setattr(place, folder, below)
            if not isinstance(below, Module):
                return False
            place = below
        place.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes away the module at a path; False where there is none."""
        folder, _, name = target.rpartition(".")
        try:
            place = _at(self, folder) if folder else self
        except AttributeError:
            return False
        if not isinstance(place, Module) or not isinstance(getattr(place, name, None), Module):
            return False
        delattr(place, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes away the modules that no step of the graph names, calls, or reads a tensor of."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            path = ""
            for part in node.target.split("."):
                path = f"{path}.{part}" if path else part
                used.add(path)
            if node.op == "call_module":
                used.update(f"{path}.{name}" for name, _ in self.get_submodule(path).named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code as the text of a class, printed too."""
        body = "\n".join(f"    {line}" if line.strip() else "" for line in self._code.strip().split("\n"))
        text = f"class {self._class_name}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{super().__str__()}\n{self._code}\n{hint}"

    def _attributes(self):
        return {n.target: _at(self, n.target) for n in self._graph.nodes if n.op in ("get_attr", "call_module")}

    def __reduce__(self) -> Any:
        return _rebuilt, (self._class_name, self._attributes(), self._graph, self.training)

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made = GraphModule(copy.deepcopy(self._attributes(), memo), copy.deepcopy(self._graph), self._class_name)
        return made.train(self.training)
