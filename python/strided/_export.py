"""How ``strided.export.export`` records a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .export import (
    ConstantArgument,
    ExportedProgram,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .fx.experimental.proxy_tensor import ProxyTorchDispatchMode, _names, _Program
from .fx.graph import Graph
from .utils._pytree import tree_flatten

if TYPE_CHECKING:
    from ._typing import Any


def record(mod: Any, args: Any, kwargs: dict[str, Any], dynamic_shapes: Any) -> ExportedProgram:
    """``export``."""
    if not isinstance(mod, strided.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise TypeError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    if dynamic_shapes:
        raise NotImplementedError("export: strided exports programs of constant sizes, without dynamic_shapes")
    kept = set(mod.state_dict(keep_vars=True))
    tensors = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    leaves, in_spec = tree_flatten((args, kwargs))
    # The recorder makes a get_attr for what is no argument; each becomes an input of the graph afterwards.
    mode = ProxyTorchDispatchMode(Graph())
    names = _names(mod.forward, args) + [
        f"{k}_{i + 1}" for k, v in kwargs.items() for i in range(len(tree_flatten(v)[0]))
    ]
    given = [mode.graph.placeholder(name) for name in names]
    for leaf, node in zip(leaves, given):
        if isinstance(leaf, strided.Tensor):
            mode.bind(leaf, node)
    lifted = {}
    for path, tensor in tensors.items():
        mode.attributes[path] = tensor
        lifted[path] = mode.graph.get_attr(path)
        mode.bind(tensor, lifted[path])
    with mode, strided.enable_grad():
        result = mod(*args, **kwargs)
    found, out_spec = tree_flatten(result)
    results = [mode.node(x) for x in found]
    output = mode.graph.output(results)
    for path, node in list(lifted.items()):
        if not node.users:
            mode.graph.erase_node(node)
            del lifted[path], mode.attributes[path]
    program = _Program(mode.attributes, mode.graph, type(mod).__name__, in_spec, out_spec)

    graph, copies = Graph(), {}
    inputs = []
    for path in mode.attributes:
        kind = (InputKind.PARAMETER if isinstance(mode.attributes[path], strided.nn.Parameter) and path in lifted
                else InputKind.BUFFER if path in lifted else InputKind.CONSTANT_TENSOR)  # fmt: skip
        prefix = {InputKind.PARAMETER: "p", InputKind.BUFFER: "b", InputKind.CONSTANT_TENSOR: "c"}[kind]
        node = graph.placeholder(f"{prefix}_{path.replace('.', '_')}")
        for other in mode.graph.find_nodes(op="get_attr", target=path):
            copies[other] = node
            node.meta = dict(other.meta)
        persistent = path in kept if kind is InputKind.BUFFER else None
        inputs.append(InputSpec(kind, TensorArgument(node.name), path, persistent))
    for leaf, node in zip(leaves, given):
        copies[node] = graph.node_copy(node)
        tensor = isinstance(leaf, strided.Tensor)
        arg = TensorArgument(copies[node].name) if tensor else ConstantArgument(copies[node].name, leaf)
        inputs.append(InputSpec(InputKind.USER_INPUT, arg, None))
    for node in mode.graph.nodes:
        if node not in copies and node is not output:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
    ends = [copies.get(r, r) if isinstance(r, type(output)) else r for r in results]
    graph.output(tuple(ends))
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(e.name) if e in made else ConstantArgument("", e), None)
        for made in [set(copies.values())]
        for e in ends
    ]
    return ExportedProgram(
        program,
        graph,
        ExportGraphSignature(inputs, outputs),
        {path: mode.attributes[path] for path in lifted if path in kept},
        example_inputs=(args, kwargs),
        constants={path: t for path, t in mode.attributes.items() if path not in lifted or path not in kept},
    )
