"""Programs recorded while they run, as the operations of ``ops.aten`` that their tensors meet (``make_fx``)."""

from __future__ import annotations

import copy
import inspect
import operator
from typing import TYPE_CHECKING

import strided

from ...utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from ...utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = ["get_proxy_mode", "make_fx"]


class _Program(GraphModule):
    """A recorded program whose arguments and results are trees: the code has their leaves."""

    def __init__(self, root: Any, graph: Graph, name: str, in_spec: TreeSpec, out_spec: TreeSpec) -> None:
        object.__setattr__(self, "_in_spec", in_spec)
        object.__setattr__(self, "_out_spec", out_spec)
        super().__init__(root, graph, name)

    def recompile(self) -> Any:
        """Makes the code anew, of what the graph is now."""
        code = super().recompile()
        of_leaves = type(self).forward

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            leaves, spec = tree_flatten((args, kwargs))
            if spec != self._in_spec:
                raise ValueError(
                    f"the arguments have the structure {spec}, the program was recorded with {self._in_spec}"
                )
            return tree_unflatten(of_leaves(self, *leaves), self._out_spec)

        type(self).forward = forward
        return code

    def __reduce__(self) -> Any:
        given = self._class_name, self._in_spec, self._out_spec
        return _rebuilt, (self._attributes(), self._graph, *given, self.training)

    def __deepcopy__(self, memo: Any) -> _Program:
        attributes, graph = copy.deepcopy(self._attributes(), memo), copy.deepcopy(self._graph)
        return _rebuilt(attributes, graph, self._class_name, self._in_spec, self._out_spec, self.training)


def _rebuilt(
    attributes: Any, graph: Graph, name: str, in_spec: TreeSpec, out_spec: TreeSpec, training: bool
) -> _Program:
    made = _Program(attributes, graph, name, in_spec, out_spec)
    made.train(training)
    return made


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records each operation as a step of a graph."""

    def __init__(self, graph: Graph, table: dict[Any, Callable[..., Any]] | None = None) -> None:
        super().__init__()
        self.graph, self.table = graph, table or {}
        self.nodes: dict[int, tuple[Any, Node]] = {}  # of tensors by identity, which are kept alive for that
        self.attributes: dict[str, Tensor] = {}

    def _refuse_backward(self) -> None:
        raise NotImplementedError("make_fx: strided does not record backward passes")

    def bind(self, value: Any, node: Node) -> None:
        """From now on this step stands for the tensor."""
        self.nodes[id(value)] = (value, node)
        node.meta["val"] = value.detach().to("meta")

    def node(self, value: Any) -> Any:
        """The step for a tensor; a constant of the program becomes an attribute. Anything else as it is."""
        if not isinstance(value, strided.Tensor):
            return value
        if id(value) not in self.nodes:
            kind = "_param_constant" if isinstance(value, strided.nn.Parameter) else "_tensor_constant"
            name = f"{kind}{sum(n.startswith(kind) for n in self.attributes)}"
            self.attributes[name] = value
            self.bind(value, self.graph.get_attr(name))
        return self.nodes[id(value)][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.table:
            with self:
                return self.table[func](*args, **kwargs)
        name = func._overloadpacket.__name__
        if name == "lift_fresh":  # a constant
            return func(*args, **kwargs)
        if name == "_local_scalar_dense" and id(args[0]) in self.nodes:
            raise RuntimeError(
                "It appears that you're trying to get value out of a tracing tensor with "
                f"{func} - erroring out! It's likely that this is caused by data-dependent control flow or similar."
            )
        step = self.graph.call_function(func, *tree_map(self.node, (tuple(args), kwargs)), name=name)
        result = func(*args, **kwargs)
        if isinstance(result, strided.Tensor):
            self.bind(result, step)
        elif isinstance(result, (tuple, list)):
            for i, part in enumerate(result):
                if isinstance(part, strided.Tensor):
                    self.bind(part, self.graph.call_function(operator.getitem, (step, i)))
        return result


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The recorder that is on; None: nothing is recorded."""
    found = (m for m in reversed(_get_current_dispatch_mode_stack()) if isinstance(m, ProxyTorchDispatchMode))
    return next(found, None)


def _names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf of the arguments: that of the parameter, numbered."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for i, arg in enumerate(args):
        known = i < len(parameters) and parameters[i].kind is not inspect.Parameter.VAR_POSITIONAL
        own = parameters[i].name if known else f"arg{i}"
        names += [f"{own}_{k + 1}" for k in range(len(tree_flatten(arg)[0]))]
    return names


def make_fx(
    f: Callable[..., Any],
    decomposition_table: dict[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    **options: Any,
) -> Callable[..., GraphModule]:
    """A function of f's arguments that runs f and gives a ``GraphModule`` of the operations it consisted of.

    The operations are those that a ``TorchDispatchMode`` sees. Sizes and numbers are constants of the program; tensors
    that are not arguments become its attributes.

    Args:
        decomposition_table: ``{overload of ops.aten: function}``; the function is recorded in the operation's place.
        tracing_mode: "real" or "fake"; f runs with the tensors that are given, either way.

    Raises:
        NotImplementedError: tracing_mode="symbolic"; a backward pass inside f.
        RuntimeError: the number in a tensor decides what f does.

    >>> program = strided.fx.experimental.proxy_tensor.make_fx(lambda x: x.relu() * 2)(strided.ones(2))
    >>> print(program.code.strip())
    def forward(self, x_1):
        relu = torch.ops.aten.relu.default(x_1);  x_1 = None
        mul = torch.ops.aten.mul.Tensor(relu, 2);  relu = None
        return mul
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Expected tracing_mode to be one of ('real', 'fake', 'symbolic'), got {tracing_mode}")

    def record(*args: Any) -> GraphModule:
        if tracing_mode == "symbolic":
            raise NotImplementedError(
                "make_fx: strided records programs of constant sizes, not tracing_mode='symbolic'"
            )
        graph = Graph()
        mode = ProxyTorchDispatchMode(graph, decomposition_table)
        leaves, in_spec = tree_flatten((args, {}))
        for name, leaf in zip(_names(f, args), leaves):
            node = graph.placeholder(name)
            if isinstance(leaf, strided.Tensor):
                mode.bind(leaf, node)
        with mode:
            result = f(*args)
        return finished(mode, result, in_spec, getattr(f, "__name__", type(f).__name__))

    return record


def finished(mode: ProxyTorchDispatchMode, result: Any, in_spec: TreeSpec, name: str) -> GraphModule:
    """The module of what was recorded; trees of arguments and results stay trees."""
    found, out_spec = tree_flatten(result)
    flat = (
        all(c.is_leaf() for c in in_spec.children_specs[0].children_specs) and not in_spec.children_specs[1].num_leaves
    )
    if flat and (out_spec.is_leaf() or (out_spec.type in (tuple, list) and all(map(_leaf, out_spec.children_specs)))):
        mode.graph.output(tree_map(mode.node, result))
        return GraphModule(mode.attributes, mode.graph, name if name.isidentifier() else "GraphModule")
    mode.graph.output([mode.node(x) for x in found])
    return _Program(mode.attributes, mode.graph, name if name.isidentifier() else "GraphModule", in_spec, out_spec)


def _leaf(spec: TreeSpec) -> bool:
    return spec.is_leaf()


del annotations
