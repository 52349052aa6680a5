"""``fully_shard``: every rank keeps a part of the parameters, and has the whole ones while a module runs.

Note [Fully sharded modules]
fully_shard makes the parameters of a module sharded tensors, except those of modules in it that have been through it
themselves, and derives the module's class from FSDPModule too.  A call of the module is one Use: the whole parameters
are gathered and stand in their places until the call returns.  Their gradients are terms of an average over the ranks,
each of which had its own part of the batch; backward gives every rank its part of it.

What the call saves for backward may be a whole parameter, or a view of one.  With reshard_after_forward the Use keeps
in its place where it lay (a hook for saved tensors), and gathers the parameters again when backward asks for one of
them.  Gradients arrive together when backward is done with the call, and the Use drops the parameters then.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from typing import TYPE_CHECKING

from ... import _C
from ...autograd.function import Function
from ...autograd.grad_mode import no_grad
from ...nn import Module
from ...utils._pytree import tree_map
from ...utils.checkpoint import around_second_runs
from .. import _move
from .._factories import distribute_tensor
from .._layout import Spec
from .._sharded import ShardedTensor, wrap
from ..placement import Partial, Replicate, Shard, checked_mesh

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Iterator, Tensor

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of a fully sharded module, whose parameters keep their own.

    Args:
        param_dtype: parameters are gathered, and the module computes, in it; None: their own.
        reduce_dtype: gradients are averaged in it; None: that of the computation.
        output_dtype: floating outputs are cast to it.
        cast_forward_inputs: floating inputs are cast to param_dtype.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


class OffloadPolicy:
    """Shards stay where the mesh has them."""


@dataclasses.dataclass(frozen=True)
class CPUOffloadPolicy(OffloadPolicy):
    """Shards wait in the memory of the CPU.  On a mesh of the CPU they are there; others raise NotImplementedError."""

    pin_memory: bool = True


class UnshardHandle:
    """What ``unshard(async_op=True)`` returns: the parameters are there already."""

    def wait(self) -> None:
        """Nothing: the parameters are there."""


class _Running(threading.local):
    depth = 0  # how many calls of fully sharded modules are open in this thread


_running = _Running()


@dataclasses.dataclass
class _Entry:
    """One parameter: whose, under which name, and its layouts."""

    owner: Any
    name: str
    mesh: Any  # of the shard
    axes: tuple[int, ...]  # of the mesh, over which the module's ranks are spread
    inner: Any  # Spec of the parameter before fully_shard, where it was sharded already; its mesh is the rest
    pending: Any = None  # gradient that waits for a backward pass that averages

    def specs(self, src):
        """For the layout of the shard: (itself, that of the whole, that of the gradients that come for the whole)."""
        whole = [Replicate() if a in self.axes else p for a, p in enumerate(src.placements)]
        terms = [Partial("sum") if a in self.axes else p for a, p in enumerate(src.placements)]
        return src, src.with_(whole), src.with_(terms)

    @property
    def ranks(self):
        n = 1
        for a in self.axes:
            n *= self.mesh.shape[a]
        return n


class _Gathered(Function):
    """The whole of parameters on every rank; a gradient is this rank's part of the average of theirs."""

    @staticmethod
    def forward(ctx, use, entries, specs, *locals_):
        ctx.use, ctx.entries, ctx.specs, ctx.dtypes = use, entries, specs, [t.dtype for t in locals_]
        ctx.set_materialize_grads(False)
        return tuple(use.state.gather(locals_, specs))

    @staticmethod
    def backward(ctx, *grads):
        state = ctx.use.state
        found: list[Any] = [None] * len(grads)
        moves, parts = [], []
        for i, (entry, (src, _, terms), grad) in enumerate(zip(ctx.entries, ctx.specs, grads)):
            ctx.use.again.pop(id(entry), None)
            if grad is None:
                continue
            if entry.pending is not None:
                grad, entry.pending = grad + entry.pending, None
            if not state.averages:
                entry.pending = grad
                continue
            factor = entry.ranks if state.factor is None else state.factor
            grad = grad.to(state.policy.reduce_dtype or grad.dtype)
            moves.append((grad / factor if factor != 1 else grad, terms, src))
            parts.append(i)
        for i, grad in zip(parts, _moved(moves)):
            found[i] = grad.to(ctx.dtypes[i])
        return None, None, None, *found


def _moved(moves: list[Any]) -> list[Tensor]:
    """Tensors from layout to layout, together where that is one step for each."""
    state = _move.call_state()
    before, state.function = state.function, "fully_shard"
    try:
        if _move.recording() and any(_move._has_record(t) for t, _, _ in moves):  # second derivatives
            return [_move.redistribute(*move) for move in moves]
        # Sums that several ranks get (of a mesh of two axes) take another step.
        together = [not any(p.is_partial() and q.is_replicate() for p, q in zip(s.placements, d.placements))
                    for _, s, d in moves]  # fmt: skip
        with no_grad():
            made = iter(_move.exchange_all([move for move, one in zip(moves, together) if one]))
            return [next(made) if one else _move.redistribute(*move) for move, one in zip(moves, together)]
    finally:
        state.function = before


class _Use:
    """Whole parameters in their places, from one moment to another: Note [Fully sharded modules]."""

    def __init__(self, state: _State) -> None:
        self.state = state
        self.sharded: list[tuple[_Entry, Any]] = []
        self.lies: list[tuple[int, int, _Entry]] = []  # (first byte, last byte, the entry that lies there)
        self.groups: dict[int, Any] = {}  # by entry: (entry, parameter, its version) of all that are gathered with it
        self.again: dict[int, Any] = {}  # gathered for backward
        self.before: Any = None

    def begin(self) -> None:
        groups: dict[bool, dict[int, _Entry]] = {True: {}, False: {}}  # whether gradients are wanted, by parameter
        for entry in self.state.entries:
            param = entry.owner._parameters[entry.name]
            self.sharded.append((entry, param))
            groups[param.requires_grad].setdefault(id(param), entry)
        wholes: dict[int, Any] = {}
        for group in groups.values():
            entries = list(group.values())
            params = [entry.owner._parameters[entry.name] for entry in entries]
            if entries:
                specs = [entry.specs(param._spec) for entry, param in zip(entries, params)]
                made = _Gathered.apply(self, entries, specs, *(param._local for param in params))
                wholes.update(zip(group, made))
                known = [(entry, param, param._local._version) for entry, param in zip(entries, params)]
                self.groups.update((id(entry), known) for entry in entries)
                for entry, whole in zip(entries, made):
                    start = whole.data_ptr()
                    self.lies.append((start, start + max(whole.nbytes, 1), entry))
        for entry, param in self.sharded:
            whole = wholes[id(param)]
            entry.owner._parameters[entry.name] = whole if entry.inner is None else wrap(whole, entry.inner)

    def end(self) -> None:
        for entry, param in self.sharded:
            entry.owner._parameters[entry.name] = param

    @contextlib.contextmanager
    def again_in_place(self) -> Iterator[None]:
        """Context of backward, in which a part of the module runs a second time (``utils.checkpoint``)."""
        if self.state.unsharded is not None:
            yield
            return
        use = _Use(self.state)
        use.begin()
        try:
            yield
        finally:
            use.end()

    @contextlib.contextmanager
    def saving_places(self) -> Iterator[None]:
        """Context in which places are saved for backward where whole parameters would be."""
        before = self.before = _C.set_saved_tensors_hooks((self.pack, self.unpack))
        try:
            yield
        finally:
            _C.set_saved_tensors_hooks(before)
            self.before = None

    def pack(self, t: Tensor) -> Any:
        at = t.data_ptr()
        for start, stop, entry in self.lies:
            if start <= at < stop:
                return self, entry, t.shape, t.stride(), (at - start) // t.itemsize
        if self.before is None:
            return None, t
        return self.before[1], self.before[0](t)

    @staticmethod
    def unpack(packed: Any) -> Any:
        if len(packed) == 2:
            return packed[1] if packed[0] is None else packed[0](packed[1])
        use, entry, shape, stride, offset = packed
        if id(entry) not in use.again:
            group = use.groups[id(entry)]
            for one, param, version in group:
                if param._local._version != version:
                    raise RuntimeError(
                        f"fully_shard: the parameter {one.name!r}, which backward needs, was changed in place since the "
                        "call that used it"
                    )
            with no_grad():
                specs = [one.specs(param._spec) for one, param, _ in group]
                made = use.state.gather([param._local for _, param, _ in group], specs)
            use.again.update((id(one), whole) for (one, _, _), whole in zip(group, made))
        whole = use.again[id(entry)]
        return whole.as_strided(shape, stride, whole.storage_offset() + offset)


class _State:
    """What fully_shard knows of a module."""

    def __init__(self, entries, policy, reshards):
        self.entries, self.policy, self.reshards = entries, policy, reshards
        self.averages = True  # gradients, in backward
        self.factor: float | None = None  # gradients are divided by it; None: the number of ranks
        self.unsharded: _Use | None = None  # by unshard()
        self.outermost: bool | None = None  # of the modules that are called; None: before the first call

    def casts_inputs(self) -> bool:
        """Whether inputs are cast to the dtype of the computation."""
        return self.policy.cast_forward_inputs

    def gather(self, locals_: Any, specs: Any) -> list[Tensor]:
        """The whole of parameters, in the dtype of the computation."""
        kind = self.policy.param_dtype
        moves = []
        for local, (src, dst, _) in zip(locals_, specs):
            wide = local.to(kind) if kind is not None and local.is_floating_point() else local
            moves.append((wide, src, dst))
        return _moved(moves)

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """function(*args, **kwargs) with the whole parameters."""
        if self.unsharded is not None:
            return function(*args, **kwargs)
        if self.outermost is None:  # its first call says so: a checkpoint calls it again by itself
            self.outermost = _running.depth == 0
        reshards = not self.outermost if self.reshards is None else self.reshards
        policy, use = self.policy, _Use(self)
        if policy.param_dtype is not None and self.casts_inputs():
            args, kwargs = _cast(args, policy.param_dtype), _cast(kwargs, policy.param_dtype)
        use.begin()
        _running.depth += 1
        try:
            with around_second_runs(use.again_in_place):
                with use.saving_places() if reshards and _move.recording() else contextlib.nullcontext():
                    made = function(*args, **kwargs)
        finally:
            _running.depth -= 1
            use.end()
        return made if policy.output_dtype is None else _cast(made, policy.output_dtype)


def _cast(values: Any, dtype: Any) -> Any:
    return tree_map(lambda x: x.to(dtype) if isinstance(x, _C.Tensor) and x.is_floating_point() else x, values)


class Sharding:
    """Part of modules whose whole parameters are there while they run."""

    _fully_sharded: _State

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError("a fully sharded module is not copied; its state_dict() holds its parameters")

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._fully_sharded.call(super()._call_impl, args, kwargs)  # type: ignore[misc]

    def _in(self, recurse: bool = True) -> list[_State]:
        parts = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        return [m._fully_sharded for m in parts if isinstance(m, Sharding)]


class FSDPModule(Sharding):
    """What a module is, too, after ``fully_shard(module)``."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__mro__[3](*args, **kwargs)  # a new module of the class that the module had

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Puts the whole parameters of this module, without those of fully sharded ones in it, into their places, until
        ``reshard()``."""
        state = self._fully_sharded
        if state.unsharded is None:
            state.unsharded = _Use(state)
            state.unsharded.begin()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Puts the shards back into their places."""
        use, self._fully_sharded.unsharded = self._fully_sharded.unsharded, None
        if use is not None:
            use.end()

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether whole parameters are dropped after a call, and gathered again in backward."""
        for state in self._in(recurse):
            state.reshards = reshard_after_forward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward averages gradients.  Those that it does not average wait, whole, for the next one that does;
        for several parts of a batch."""
        for state in self._in(recurse):
            state.averages = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """NotImplementedError for False where the mesh has an axis of ranks with the same shards."""
        if not requires_all_reduce and any(len(e.axes) > 1 for s in self._in(recurse) for e in s.entries):
            raise NotImplementedError("set_requires_all_reduce(False): use set_requires_gradient_sync(False)")

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Gradients are sums over the ranks, divided by this; the number of ranks where it is not called."""
        self._fully_sharded.factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Accepted, without effect: shards are always in their places after a call."""

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted, without effect."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Accepted, without effect: a module gathers when it is called."""

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted, without effect: backward gathers the parameters that it needs."""


_classes: dict[type, type] = {}


def _derived(kind: type) -> type:
    """The class of fully sharded modules of a class."""
    made = _classes.get(kind)
    if made is None:
        names = {"__module__": kind.__module__, "__doc__": kind.__doc__}
        made = _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), names)
    return made


def _parameters_of(modules: list[Any]) -> Iterator[tuple[Any, str, Any]]:
    """(module, name, parameter) of the modules and those in them, without fully sharded ones."""
    seen = set()

    def walk(module: Any) -> Iterator[Any]:
        if module in seen or isinstance(module, Sharding):
            return
        seen.add(module)
        for name, param in module._parameters.items():
            if param is not None:
                yield module, name, param
        for child in module.children():
            yield from walk(child)

    for module in modules:
        yield from walk(module)


def _sharded(param: Any, mesh: Any, last: Any, source: int | None) -> tuple[Any, Any, tuple[int, ...], Any]:
    """(the shard, its mesh, axes of it that are the module's, the layout that the parameter had or None)

    last: the placement along the last axis of the mesh; source: the rank whose values are taken, None for each its own.
    """
    cut = (*(Replicate(),) * (mesh.ndim - 1), last)
    if not isinstance(param, ShardedTensor):
        made = distribute_tensor(param.detach(), mesh, cut, src_data_rank=source)
        return made, mesh, tuple(range(mesh.ndim)), None
    inner = param._spec
    a, b = mesh._whole, inner.mesh._whole
    if a is None or b is None or a[0] is not b[0] or set(a[1]) & set(b[1]):
        raise ValueError(
            f"fully_shard: a parameter that is sharded over {inner.mesh!r} already, and the mesh {mesh!r}: both must be "
            "axes of one mesh, such as mesh['dp'] and mesh['tp']"
        )
    root, names = a[0], sorted({*a[1], *b[1]})
    both = root[tuple(root.mesh_dim_names[i] for i in names)]
    placed = [cut[a[1].index(i)] if i in a[1] else inner.placements[b[1].index(i)] for i in names]
    whole = [Replicate() if i in a[1] else inner.placements[b[1].index(i)] for i in names]
    src = Spec(both, tuple(whole), inner.shape)
    with no_grad():
        dst = src.with_(tuple(placed))
        made = wrap(_move.redistribute(param._local.detach(), src, dst), dst)
    return made, both, tuple(i for i, axis in enumerate(names) if axis in a[1]), inner


def shard_parameters(
    modules: list[Any],
    mesh: Any,
    ignored: set[int],
    placement: Callable[[str, Any], Any],
    source: int | None = None,
) -> list[_Entry]:
    """Makes the parameters of modules sharded tensors, in place, but for those whose ids are in `ignored`.

    placement(name, parameter): its placement along the last axis of the mesh; source: whose values they get.
    """
    from ...nn.parameter import Parameter

    entries, made = [], {}
    for owner, name, param in list(_parameters_of(modules)):
        if id(param) in ignored:
            continue
        if id(param) not in made:
            shard, *rest = _sharded(param, mesh, placement(name, param), source)
            made[id(param)] = Parameter(shard, param.requires_grad), rest
        owner._parameters[name], rest = made[id(param)]
        entries.append(_Entry(owner, name, *rest))
    return entries


def fully_shard(
    module: Any,
    *,
    mesh: Any = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(),
    ignored_params: Any = None,
) -> Any:
    """Shards the parameters of a module over the ranks, in place, and returns the module.

    Every rank keeps 1/n of each parameter, its gradient and what an optimizer keeps for it, and gathers the whole ones
    while the module runs.  Each rank has its own part of a batch; gradients are averages over the ranks, so a step is
    that of one process with the whole batch.  It is called on layers first and on the model last, and before the
    optimizer is made.  All ranks must have the same parameters.

    Args:
        module: or a list of modules, which are gathered together.
        mesh: of one axis, or of two: ranks along the first have the same shards.  All ranks in a row for None.
        reshard_after_forward: whether whole parameters are dropped after a call, and gathered again for backward.
            None: of all modules but the outermost.  A number stands for True.
        shard_placement_fn: the Shard of a parameter; None, or its result None: Shard(0).
        mp_policy: dtypes.
        ignored_params: parameters that stay as they are.

    >>> def program():
    ...     from strided.distributed.fsdp import fully_shard
    ...     strided.manual_seed(0)
    ...     net = strided.nn.Sequential(strided.nn.Linear(4, 8), strided.nn.ReLU(), strided.nn.Linear(8, 1))
    ...     for layer in (net[0], net[2], net):
    ...         _ = fully_shard(layer)
    ...     optimizer = strided.optim.Adam(net.parameters(), lr=0.1)
    ...     part = strided.linspace(0, 1, 16).view(4, 4)[strided.distributed.world().rank :: 2]
    ...     net(part).square().mean().backward()
    ...     optimizer.step()
    ...     return net[0].weight.to_local().shape, net(part).shape
    >>> strided.distributed.simulate(2, program)[0]
    (torch.Size([4, 4]), torch.Size([2, 1]))
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    mesh = checked_mesh("fully_shard", mesh)
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard: a mesh of one or two axes is required, got {mesh!r}")
    if isinstance(offload_policy, CPUOffloadPolicy) and mesh.device_type != "cpu":
        raise NotImplementedError(f"fully_shard: CPUOffloadPolicy on a mesh of {mesh.device_type}")
    for m in modules:
        if not isinstance(m, Module):
            raise TypeError(f"fully_shard: a Module is required, got {type(m).__name__}")
        if isinstance(m, FSDPModule):
            raise AssertionError(f"fully_shard: this {type(m).__name__} is fully sharded already")

    def placement(name: str, param: Any) -> Any:
        wanted = None if shard_placement_fn is None else shard_placement_fn(param)
        wanted = Shard(0) if wanted is None else wanted
        if not isinstance(wanted, Shard):
            raise ValueError(f"fully_shard: shard_placement_fn gives a Shard or None, got {wanted!r}")
        if param.ndim == 0:
            raise ValueError(f"fully_shard: the parameter {name!r} has no axis that could be cut")
        return Shard(wanted.dim % param.ndim)

    entries = shard_parameters(modules, mesh, {id(p) for p in ignored_params or ()}, placement)
    reshards = None if reshard_after_forward is None else bool(reshard_after_forward)
    state = _State(entries, mp_policy, reshards)
    for m in modules:
        m.__class__ = _derived(type(m))
        m.__dict__["_fully_sharded"] = state
    return module


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Lets a method of a fully sharded module run with whole parameters, as calls of the module do; others are left."""
    if not isinstance(module, FSDPModule):
        return
    method = getattr(module, method_name)

    @functools.wraps(method)
    def run(*args: Any, **kwargs: Any) -> Any:
        return module._fully_sharded.call(method, args, kwargs)

    module.__dict__[method_name] = run
