"""Modules cut over ranks in PyTorch's styles (``strided.distributed.tensor.parallel``).

=====================================  =====================================================================
``parallelize_module``                 applies styles to a module and to modules in it, by their names
``ColwiseParallel``                    Linear, Embedding: each rank computes some of the results' columns
``RowwiseParallel``                    Linear, Embedding: each rank has a term of the result
``SequenceParallel``                   norms, dropout: every rank has a part of the sequence
``PrepareModuleInput``, ``...Output``  inputs, outputs from one layout to another
=====================================  =====================================================================

>>> def program():
...     from strided.distributed import init_device_mesh
...     from strided.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
...     strided.manual_seed(0)
...     net = strided.nn.Sequential(strided.nn.Linear(4, 6), strided.nn.ReLU(), strided.nn.Linear(6, 2))
...     x = strided.ones(3, 4)
...     want = net(x)
...     parallelize_module(net, init_device_mesh("cpu", (2,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
...     return net[0].weight.to_local().shape, strided.allclose(net(x), want)
>>> strided.distributed.simulate(2, program)[0]
(torch.Size([3, 4]), True)
"""

from __future__ import annotations

import contextlib
import fnmatch
import warnings
from typing import TYPE_CHECKING

from .... import nn
from ..._modules import distribute_module, shard_parameter
from ..._sharded import ShardedTensor
from ...placement import Placement, Replicate, Shard, checked_mesh

if TYPE_CHECKING:
    from ...._typing import Any, Iterator

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel", "loss_parallel", "parallelize_module",
]  # fmt: skip


class ParallelStyle:
    """How parallelize_module cuts a module, and what comes in and goes out: ``_apply(module, mesh)``.

    src_data_rank: whose values sharded parameters get; None: each rank cuts its own.
    """

    src_data_rank: int | None = 0

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: _apply(module, device_mesh)")


def _listed(layouts: Any) -> tuple[Any, ...]:
    """One placement for the mesh, or None, for each of several values; one stands for one value."""
    return (layouts,) if layouts is None or isinstance(layouts, Placement) else tuple(layouts)


def _placed(x: Any, mesh: Any, given: Any, wanted: Any) -> Any:
    """A value as a sharded tensor: a plain tensor is this rank's part of one in the placement `given`."""
    if given is None or not hasattr(x, "as_subclass"):
        return x
    if not isinstance(x, ShardedTensor):
        # Where nothing is cut, the shape is known, and nothing is asked.
        x = ShardedTensor.from_local(x, mesh, (given,), shape=None if given.is_shard() else x.shape)
    return x if wanted is None or x.placements == (wanted,) else x.redistribute(placements=(wanted,))


def _local(x: Any, use: bool) -> Any:
    return x.to_local() if use and isinstance(x, ShardedTensor) else x


class _OfWeights(ParallelStyle):
    """What the styles of Linear and Embedding share: inputs and results in layouts, parameters cut along one axis."""

    _input: Any  # the placement that the module wants of its first input
    _axes: Any  # for each class the placement of each parameter

    def __init__(self, input_layouts, output_layouts, use_local_output):
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.desired_input_layouts: Any = (self._input,)
        self.use_local_output = use_local_output

    def _partition(self, name, module, mesh):
        for key, placement in self._cuts(module).items():
            shard_parameter(module, key, mesh, (placement,), self.src_data_rank)

    def _cuts(self, module):
        for kind, cuts in self._axes.items():
            if isinstance(module, kind):
                return cuts
        raise NotImplementedError(
            f"{type(self).__name__}: of {type(module).__name__}; it cuts Linear and Embedding. "
            "distribute_module(module, mesh, partition_fn) cuts any module"
        )

    def _apply(self, module, device_mesh):
        given, wanted, out = self.input_layouts[0], self._wanted(module), self.output_layouts[0]

        def come(module, inputs, mesh):
            return (_placed(inputs[0], mesh, given, wanted), *inputs[1:])

        def go(module, outputs, mesh):
            return _local(_placed(outputs, mesh, out, out), self.use_local_output)

        return distribute_module(module, device_mesh, self._partition, come, go)

    def _wanted(self, module):
        return self.desired_input_layouts[0]


class ColwiseParallel(_OfWeights):
    """A Linear whose outputs are cut, or an Embedding whose columns are: ranks compute parts of the last axis.

    Args:
        input_layouts: the placement of the input (a plain one is this rank's part); Replicate() for None.
        output_layouts: of the result; Shard(-1) for None, what the next module in RowwiseParallel takes.
        use_local_output: the result is this rank's part, a plain tensor.
    """

    _input = Replicate()
    _axes = {
        nn.Linear: {"weight": Shard(0), "bias": Shard(0)},
        nn.Embedding: {"weight": Shard(1)},
    }

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)


class RowwiseParallel(_OfWeights):
    """A Linear whose inputs are cut, or an Embedding whose rows are: ranks have terms of the result.

    Args:
        input_layouts: the placement of the input (a plain one is this rank's part); Shard(-1) for None.
        output_layouts: of the result; Replicate() for None, which adds up the terms.
        use_local_output: the result is this rank's part, a plain tensor.
    """

    _input = Shard(-1)
    _axes = {
        nn.Linear: {"weight": Shard(1), "bias": Replicate()},
        nn.Embedding: {"weight": Shard(0)},
    }

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def _wanted(self, module):
        return Replicate() if isinstance(module, nn.Embedding) else self._input  # every rank looks for all indices


class SequenceParallel(ParallelStyle):
    """A module whose parameters all ranks have (LayerNorm, RMSNorm, Dropout), on parts of a sequence.

    Args:
        sequence_dim: the axis of the input, and of the result, that is cut.
        use_local_output: the result is this rank's part, a plain tensor.
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module, device_mesh):
        (cut,) = self.sequence_sharding

        def every(name, module, mesh):
            for key in list(module._parameters):
                shard_parameter(module, key, mesh, (Replicate(),), self.src_data_rank)

        def come(module, inputs, mesh):
            x = inputs[0]
            if not hasattr(x, "as_subclass"):
                raise ValueError(f"SequenceParallel: the input is a tensor, got {type(x).__name__}")
            return (_placed(x, mesh, cut, cut), *inputs[1:])

        return distribute_module(
            module, device_mesh, every, come, lambda module, outputs, mesh: _local(outputs, self.use_local_output)
        )


class PrepareModuleInput(ParallelStyle):
    """Inputs of a module from some placements to others.

    Args:
        input_layouts: of the inputs by position; None for one that is left alone. Plain tensors are this rank's parts.
        desired_input_layouts: which the module wants.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same of inputs by name.
        use_local_output: the module gets this rank's parts, plain tensors.
    """

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Any] | None = None,
        desired_input_kwarg_layouts: dict[str, Any] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts = None if input_layouts is None else _listed(input_layouts)
        self.desired_input_layouts = None if desired_input_layouts is None else _listed(desired_input_layouts)
        self.use_local_output = use_local_output
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("PrepareModuleInput: input_layouts needs desired_input_layouts")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError(
                    f"PrepareModuleInput: {len(self.input_layouts)} input_layouts and "
                    f"{len(self.desired_input_layouts)} desired_input_layouts"
                )
        self.with_kwargs = input_kwarg_layouts is not None
        if self.with_kwargs and set(self.input_kwarg_layouts) != set(self.desired_input_kwarg_layouts):
            raise AssertionError("PrepareModuleInput: input_kwarg_layouts and the desired ones have different names")

    def _one(self, x, mesh, given, wanted):
        return x if given is None else _local(_placed(x, mesh, given, wanted), self.use_local_output)

    def _apply(self, module, device_mesh):
        mesh = device_mesh

        def come(module, inputs, kwargs):
            if self.input_layouts is not None:
                if len(inputs) != len(self.input_layouts):
                    raise ValueError(f"PrepareModuleInput: {len(inputs)} inputs for {len(self.input_layouts)} layouts")
                layouts = zip(inputs, self.input_layouts, self.desired_input_layouts or ())
                inputs = tuple(self._one(x, mesh, given, wanted) for x, given, wanted in layouts)
            named = {
                key: self._one(x, mesh, self.input_kwarg_layouts.get(key), self.desired_input_kwarg_layouts.get(key))
                for key, x in kwargs.items()
            }
            return inputs, named

        module.register_forward_pre_hook(come, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Outputs of a module from some placements to others.

    Args:
        output_layouts: of the outputs; None for one that is left alone. Plain tensors are this rank's parts.
        desired_output_layouts: which they get.
        use_local_output: the outputs are this rank's parts, plain tensors.
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _listed(output_layouts), _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                f"PrepareModuleOutput: {len(self.output_layouts)} output_layouts and "
                f"{len(self.desired_output_layouts)} desired_output_layouts"
            )

    def _apply(self, module, device_mesh):
        def go(module, inputs, outputs):
            several = isinstance(outputs, (tuple, list))
            values = tuple(outputs) if several else (outputs,)
            if len(values) != len(self.output_layouts):
                raise ValueError(f"PrepareModuleOutput: {len(values)} outputs for {len(self.output_layouts)} layouts")
            made = tuple(
                x if given is None else _local(_placed(x, device_mesh, given, wanted), self.use_local_output)
                for x, given, wanted in zip(values, self.output_layouts, self.desired_output_layouts)
            )
            return made if several else made[0]

        module.register_forward_hook(go)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """PrepareModuleInput and PrepareModuleOutput of one module."""

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Any] | None = None,
        desired_input_kwarg_layouts: dict[str, Any] | None = None,
        use_local_input: bool = False,
        output_layouts: Any,
        desired_output_layouts: Any,
        use_local_output: bool = True,
    ) -> None:
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def parallelize_module(
    module: Any, device_mesh: Any = None, parallelize_plan: Any = None, *, src_data_rank: int | None = 0
) -> Any:
    """Applies styles to a module, in place, and returns it.

    Args:
        device_mesh: a mesh of one axis (``mesh["tp"]`` of a larger one); all ranks in a row for None.
        parallelize_plan: a ParallelStyle for the module, or a dict of styles by names of modules in it, with wildcards
            for parts between dots (``"layers.*.attention.wq"``).
        src_data_rank: whose values parameters get; None: each rank cuts its own, and nothing is sent.
    """
    mesh = checked_mesh("parallelize_module", device_mesh)
    if parallelize_plan is None:
        warnings.warn("parallelize_module: no parallelize_plan is given, the module stays as it is", stacklevel=2)
        return module
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module: a mesh of one axis is required, got {mesh!r}; mesh[name] is one of it")
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"parallelize_module: a ParallelStyle or a dict of them is required, got {type(parallelize_plan).__name__}"
        )
    for path, style in parallelize_plan.items():
        found = _named(module, path.split(".")) if path else [module]
        if not found:
            warnings.warn(f"parallelize_module: no module has the name {path!r}", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _named(module: Any, parts: list[str]) -> list[Any]:
    """The modules in a module whose names fit, part by part."""
    if not parts:
        return [module]
    fits = [child for name, child in module.named_children() if fnmatch.fnmatch(name, parts[0])]
    return [found for child in fits for found in _named(child, parts[1:])]


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Context in which PyTorch computes cross_entropy of logits that are cut along the classes without gathering them.

    Here that is so everywhere: nothing is gathered unasked.
    """
    yield
