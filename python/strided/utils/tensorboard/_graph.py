"""The graph of a model for TensorBoard: operations of one forward pass, under the names of their modules."""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING

import strided

from ...fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from ...fx.graph import Graph
from ...nn import Module
from ...nn.modules import module as hooks
from .._pytree import tree_leaves
from . import _wire as w

if TYPE_CHECKING:
    from ..._typing import Any, Iterator, Sequence
    from ...fx.node import Node


class _Steps(Graph):
    """A graph whose steps know the module that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.running = [""]  # paths of modules; the last one runs

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        node.meta["path"] = self.running[-1]
        return node


class _Recorder(ProxyTorchDispatchMode):
    """Records operations; numbers that Python reads from tensors stay what they are in this pass."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._overloadpacket.__name__ == "_local_scalar_dense":
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


def _paths(model: Any) -> dict[int, str]:
    """Names of modules by identity, for instance ``Net/Sequential[layers]/Linear[0]``."""
    if not isinstance(model, Module):
        return {}
    paths: dict[str, str] = {}
    for name, module in model.named_modules():
        parent, _, own = name.rpartition(".")
        kind = type(module).__name__
        paths[name] = f"{paths[parent]}/{kind}[{own}]" if name else kind
    return {id(module): paths[name] for name, module in model.named_modules()}


def _shapes(*values: Any) -> bytes:
    """The attribute with the shapes of results."""
    shapes = b""
    for value in values:
        if isinstance(value, strided.Tensor):
            shapes += w.block(7, b"".join(w.block(2, w.integer(1, n)) for n in value.shape))
    return w.block(5, w.block(1, "_output_shapes") + w.block(2, w.block(1, shapes))) if shapes else b""


def _step(name: str, kind: str, inputs: Sequence[str], attributes: str, shapes: bytes) -> bytes:
    words = w.block(5, w.block(1, "attr") + w.block(2, w.block(2, attributes))) if attributes else b""
    return w.block(1, w.block(1, name) + w.block(2, kind) + b"".join(w.block(3, i) for i in inputs) + words + shapes)


def _messages(graph: _Steps, attributes: dict[str, Any], owners: dict[int, str]) -> Iterator[bytes]:
    names: dict[str, str] = {}
    for node in graph.nodes:
        shapes = _shapes(node.meta.get("val"))
        inputs = [names[i.name] for i in node.all_input_nodes]
        place = f"{node.meta['path']}/{node.name}".lstrip("/")
        if node.op == "placeholder":
            names[node.name] = f"input/{node.name}"
            if node.users:
                yield _step(names[node.name], "IO Node", (), "", shapes)
        elif node.op == "get_attr":
            known = owners.get(id(attributes[node.target]))
            names[node.name] = known or place
            yield _step(names[node.name], "prim::GetAttr" if known else "prim::Constant", (), "", shapes)
        elif node.op == "output":
            for i, name in enumerate(inputs, 1):
                yield _step(f"output/output.{i}", "IO Node", [name], "", b"")
        else:
            names[node.name] = place
            is_part = node.target is operator.getitem  # one result of several
            kind = "prim::TupleIndex" if is_part else node.target.name().partition(".")[0]
            constants = [repr(a) for a in node.args if not any(map(_is_node, tree_leaves(a)))]
            yield _step(names[node.name], kind, inputs, ", ".join(constants), shapes)


def _is_node(value: Any) -> bool:
    return isinstance(value, strided.fx.Node)


def _parameters(model: Any) -> list[str]:
    """The names of the parameters of what is called; none where nobody can tell."""
    try:
        found = inspect.signature(model.forward if isinstance(model, Module) else model).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def events(model: Any, inputs: Any, verbose: bool) -> tuple[bytes, bytes]:
    """Two messages: the event with the graph, and the event that names the device."""
    args = (inputs,) if isinstance(inputs, (strided.Tensor, dict)) else tuple(inputs)
    graph, paths = _Steps(), _paths(model)
    graph.running[0] = paths.get(id(model), "")
    mode = _Recorder(graph)
    names = {id(a): name for a, name in zip(args, _parameters(model))}
    for leaf in tree_leaves(args):
        if isinstance(leaf, strided.Tensor):
            mode.bind(leaf, graph.placeholder(names.get(id(leaf), f"input_{len(mode.nodes)}")))

    def begins(module: Any, given: Any) -> None:
        graph.running.append(paths.get(id(module), graph.running[-1]))

    def ends(module: Any, given: Any, made: Any) -> None:
        graph.running.pop()

    handles = [
        hooks.register_module_forward_pre_hook(begins),
        hooks.register_module_forward_hook(ends, always_call=True),
    ]
    training = getattr(model, "training", None)
    try:
        if training:
            model.eval()
        with strided.no_grad(), mode:
            made = model(*args)
    finally:
        for handle in handles:
            handle.remove()
        if training:
            model.train()
    graph.output([mode.node(t) for t in tree_leaves(made) if isinstance(t, strided.Tensor)])
    if verbose:
        print(graph)
    owners = {}
    for path, module in ((paths[id(m)], m) for m in (model.modules() if paths else ())):
        for values in (module._parameters, module._buffers):
            owners.update({id(t): f"{path}/{name}" for name, t in values.items()})
    found = b"".join(_messages(graph, mode.attributes, owners)) + w.block(4, w.integer(1, 22))
    devices = w.block(1, w.block(1, w.block(1, "/device:CPU:0")))
    return w.block(4, found), w.block(8, w.block(1, "step1") + w.block(2, devices))
