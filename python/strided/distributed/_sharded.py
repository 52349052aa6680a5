"""Tensors spread over a mesh: the class, and how calls find their rules.

A ShardedTensor holds the shard of this rank, a plain tensor that records its own graph, and a Spec that says which
indices it is.  Calls arrive by ``__torch_function__``; each function has a rule (``_rules_*.py``), which moves what
must be moved and calls the function on shards.  A function without a rule raises NotImplementedError.
"""

from __future__ import annotations

import copy
import inspect
import operator
from typing import TYPE_CHECKING

from .. import _C
from .._C import Size
from ..autograd.grad_mode import no_grad
from ..nn import functional
from ..utils._pytree import tree_leaves, tree_map
from . import _move
from ._layout import Spec, dual
from ._move import implicit_replication
from .placement import Placement, Replicate, checked, checked_mesh

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions
_NOTHING = _f["empty"](0)

RULES: dict[str, Any] = {}  # of functions of the core and of Tensor, by name, without "Tensor."
# A rule may have `at_once(func, args, kwargs)`: the result of a call in which nothing moves, found with few questions;
# for None the rule is called.
_known: dict[Any, Any] = {}  # (rule, its at_once or None) of each function


def rule(names: str) -> Any:
    """Decorator: the rule for these functions.  rule(func, args, kwargs)"""

    def register(function):
        RULES.update(dict.fromkeys(names.split(), function))
        return function

    return register


def by_calls(names: str) -> Any:
    """Decorator: the rule is a function of the same arguments, made of other functions."""

    def register(function):
        rule(names)(lambda func, args, kwargs: function(*args, **kwargs))
        return function

    return register


def _find(func):
    found = _rule_of(func)
    name = func.__name__
    writes = name == "__setitem__" or name.endswith("_") and not name.endswith("__")
    return _then_into_whole(found) if writes else found


def _then_into_whole(found):
    """A rule of a function that writes into its first operand. Where this is a part of another tensor that a view
    would share memory with, and does not, it is written into the other one then."""

    def write_back(x):
        if isinstance(x, ShardedTensor):
            if x._write_back is not None:
                x._write_back(x)
        elif isinstance(x, (list, tuple)):  # of the functions of lists
            for t in x:
                write_back(t)

    def run(func, args, kwargs):
        made = found(func, args, kwargs)
        write_back(args[0] if args else None)
        return made

    quick = getattr(found, "at_once", None)
    if quick is not None:

        def at_once(func, args, kwargs):
            made = quick(func, args, kwargs)
            if made is not None:
                write_back(args[0])
            return made

        run.at_once = at_once
    return run


def _into(func, args, kwargs):
    """A call with out=: what the call without it returns, written into the given tensors in their placements."""
    out = kwargs["out"]
    targets = out if isinstance(out, (tuple, list)) else (out,)
    inputs = tree_leaves((args, {k: v for k, v in kwargs.items() if k != "out"}))
    if _f["is_grad_enabled"]() and any(isinstance(x, Tensor) and x.requires_grad for x in (*inputs, *targets)):
        raise RuntimeError(
            f"{name_of(func)}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    made = func(*args, **{**kwargs, "out": None})
    parts = made if isinstance(made, (tuple, list)) else (made,)
    if len(parts) != len(targets):
        raise TypeError(f"{name_of(func)}: out= must be a tensor, or one tensor for each result")
    for target, part in zip(targets, parts):
        if not isinstance(target, ShardedTensor):
            raise refuse(func, args, "out= must be a sharded tensor too")
        if target.shape != part.shape:
            raise refuse(func, args, f"out= has shape {list(target.shape)}, the result {list(part.shape)}")
        if not _f["can_cast"](part.dtype, target.dtype):
            raise RuntimeError(f"result type {part.dtype} can't be cast to the desired output type {target.dtype}")
    for target, part in zip(targets, parts):
        target.copy_(part)
    return out


def part_of(whole: ShardedTensor, part: ShardedTensor, moved: bool, write: Any) -> ShardedTensor:
    """A part that would be a view of a plain tensor. `moved`: it shares no memory, so what is written into it is
    written by ``write(part)`` into the whole too."""
    if moved or whole._write_back is not None:
        part._write_back = write
    return part


def _rule_of(func):
    _load()
    if func is _C.functions["_has_record"]:
        return lambda func, args, kwargs: func(args[0]._local)
    if isinstance(func, _C.Function):
        return RULES.get(func.__qualname__.removeprefix("Tensor.")) or missing(func)
    if isinstance(func, _C.OverridableFunction):
        # A function made of others: these have the rules, but for some that have their own.
        name = func.__name__
        found = RULES.get(f"nn.functional.{name}") if getattr(functional, name, None) is func else None
        if found is None:
            found = RULES.get(name)
            if getattr(found, "at_once", None) is None and (name in _f or f"Tensor.{name}" in _f):
                found = None  # it is that of the core's function of this name
        return _unless_in_place(func, found) or _composed
    owner = getattr(func, "__self__", None)
    if inspect.isgetsetdescriptor(owner):
        return _property(owner.__name__, func.__name__)
    return RULES.get(func.__name__) or missing(func)


def _unless_in_place(func, found):
    """A rule, but for calls with inplace=True: these are made of functions that write, which have their own."""
    names = list(inspect.signature(func.__wrapped__).parameters)
    if found is None or "inplace" not in names:
        return found
    at = names.index("inplace")

    def run(func, args, kwargs):
        inplace = args[at] if len(args) > at else kwargs.get("inplace", False)
        return (_composed if inplace else found)(func, args, kwargs)

    quick = getattr(found, "at_once", None)
    if quick is not None:
        run.at_once = lambda func, args, kwargs: (
            quick(func, args, kwargs) if len(args) <= at and not (kwargs and "inplace" in kwargs) else None
        )
    return run


def _composed(func, args, kwargs):
    with implicit_replication():  # plain tensors that the function makes are the same on every rank
        return func.__wrapped__(*args, **kwargs)


def _load():
    from . import (  # noqa: F401
        _rules_composed,
        _rules_elementwise,
        _rules_factors,
        _rules_index,
        _rules_linalg,
        _rules_made,
        _rules_masks,
        _rules_matrices,
        _rules_more,
        _rules_network,
        _rules_order,
        _rules_pieces,
        _rules_random,
        _rules_reduce,
        _rules_shape,
        _rules_statistics,
        _rules_unique,
    )


def name_of(func: Any) -> str:
    """The name of a function in errors."""
    return getattr(func, "__qualname__", getattr(func, "__name__", str(func))).removeprefix("Tensor.")


def _said(func):
    return func if isinstance(func, str) else name_of(func)


def refuse(func: Any, args: Any, why: str = "there is no rule for it") -> NotImplementedError:
    """The error of a function without a rule, with the placements of its operands."""
    specs = ", ".join(repr(a._spec) for a in args if isinstance(a, ShardedTensor))
    return NotImplementedError(
        f"{_said(func)} of sharded tensors ({specs}): {why}. "
        "x.full_tensor() gathers, where it fits; x.redistribute() changes placements"
    )


def missing(func: Any) -> Any:
    """The rule of functions without one: where every rank has everything, each does the same."""

    def stop(func, args, kwargs):
        flat = [t for a in (*args, *kwargs.values()) for t in (a if isinstance(a, (tuple, list)) else [a])]
        given = [t for t in flat if isinstance(t, ShardedTensor)]
        if func.__name__.endswith("_") or _draws(func) or any(p.is_shard() for t in given for p in t.placements):
            raise refuse(func, flat)
        whole = Spec(given[0]._spec.mesh, (Replicate(),) * given[0]._spec.mesh.ndim, ())
        return tree_map(lambda t: wrap(t, whole.with_(shape=t.shape)) if isinstance(t, Tensor) else t,
                        func(*_plain(args), **_plain(kwargs)))  # fmt: skip

    return stop


def _plain(x):
    return tree_map(lambda t: without_terms(t)._local if isinstance(t, ShardedTensor) else t, x)


def _draws(func):
    return isinstance(func, _C.Function) and any(
        p[1] == "Generator?" for params, _, _ in func.overloads for p in params
    )


_PROPERTIES = {
    "T": lambda x: x.permute(tuple(reversed(range(x.ndim)))),
    "mT": lambda x: x.transpose(-1, -2),
    "H": lambda x: x.transpose(0, 1).conj() if x.ndim == 2 else x.mH,
    "mH": lambda x: x.transpose(-1, -2).conj(),
    "real": lambda x: wrap(x._local.real, x._spec),
    "imag": lambda x: wrap(x._local.imag, x._spec),
    "data": lambda x: part_of(x, wrap(x._local.data, x._spec), False, lambda value: x.copy_(value)),
    "grad": lambda x: gradient(x, x._local.grad),
}


def gradient(x: ShardedTensor, local: Tensor | None) -> Any:
    """A gradient of a shard as the gradient of the whole."""
    if local is None:
        return None
    spec = x._spec
    for axis, p in enumerate(spec.placements if spec.is_partial else ()):
        if p.is_partial():
            local = _move.of_terms(local, spec.mesh, axis)
    return wrap(local, spec.dual())


def _property(name, access):
    if access == "__get__":
        return lambda func, args, kwargs: (
            _PROPERTIES[name](args[0]) if name in _PROPERTIES else getattr(args[0]._local, name)
        )

    def assign(func, args, kwargs):
        x, value = args
        if name not in ("grad", "requires_grad", "data"):
            raise AttributeError(f"the attribute {name} of a sharded tensor cannot be assigned to")
        if isinstance(value, ShardedTensor):
            value = value.redistribute(x.device_mesh, dual(x.placements) if name == "grad" else x.placements)._local
        setattr(x._local, name, value)

    return assign


def _stops(text):
    def stop(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{text}: use x.to_local() for the shard, x.full_tensor() for the whole")

    return stop


class ShardedTensor(Tensor):
    """A tensor whose elements are spread over the ranks of a DeviceMesh.  ``DTensor`` is the same class.

    It is made by distribute_tensor, from_local, the factories (``zeros(..., mesh=, placements=)``) and by functions of
    such tensors.  Functions that take tensors take it, methods and operators too; every rank makes the same calls.
    What has no rule raises NotImplementedError; nothing is gathered unasked.

    >>> def program():
    ...     from strided.distributed import Shard, distribute_tensor, init_device_mesh
    ...     mesh = init_device_mesh("cpu", (2,))
    ...     x = distribute_tensor(strided.arange(6.), mesh, [Shard(0)])
    ...     return (x * 2).to_local(), x.sum().full_tensor()
    >>> strided.distributed.simulate(2, program)[1]
    (tensor([ 6.,  8., 10.]), tensor(15.))
    """

    _local: Tensor
    _spec: Spec
    _write_back: Any = None  # of a part that shares no memory with its whole: writes it there

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = _known.get(func)
        if known is None:
            found = _find(func)
            known = _known[func] = found, getattr(found, "at_once", None)
        found, at_once = known
        if at_once is not None:
            made = at_once(func, args, kwargs)
            if made is not None:
                return made
        if kwargs and kwargs.get("out") is not None:
            return _into(func, args, kwargs)
        state = _move.call_state()
        if state.function:
            return found(func, args, kwargs or {})
        state.function = name_of(func)
        try:
            return found(func, args, kwargs or {})
        finally:
            state.function = ""

    __strided_function__ = __torch_function__
    _values_are_elsewhere = True

    # ------------------------------------------------------------ what can be asked without a rule

    @property
    def shape(self) -> Size:
        return self._spec.shape

    @property
    def ndim(self) -> int:
        return len(self._spec.shape)

    @property
    def dtype(self) -> Any:
        return self._local.dtype

    @property
    def device_mesh(self) -> Any:
        """The mesh."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The placement along each axis of the mesh."""
        return self._spec.placements

    @property
    def nbytes(self) -> int:
        return self.numel() * self._local.itemsize

    @property
    def requires_grad(self) -> bool:  # type: ignore[override]
        return self._local.requires_grad

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._local.requires_grad = on

    @property
    def _local_tensor(self) -> Tensor:
        return self._local

    def storage_offset(self) -> int:
        return 0

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """As if the whole were in one piece, with the axes in the order in which they lie in the shard."""
        order: Any = range(self.ndim - 1, -1, -1)
        if not self._local.is_contiguous():
            of_shard = self._local.stride()
            order = sorted(order, key=lambda axis: of_shard[axis])
        found, n = [0] * self.ndim, 1
        for axis in order:
            found[axis] = n
            n *= max(self.shape[axis], 1)
        return tuple(found) if dim is None else found[dim]

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.shape.numel()

    ndimension, nelement = dim, numel

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._local.is_contiguous()

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __hash__(self) -> int:
        return id(self) >> 4

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (
            f"ShardedTensor(local={self._local!r}, shape={tuple(self.shape)}, mesh={self._spec.mesh}, "
            f"placements={self.placements})"
        )

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.numel() == 1 and spec else repr(self)

    numpy = __array__ = data_ptr = set_ = storage = untyped_storage = __dlpack__ = _stops(
        "a sharded tensor has no memory of one piece"
    )  # type: ignore
    __reduce_ex__ = _stops("a sharded tensor cannot be pickled")  # type: ignore[assignment]

    def __deepcopy__(self, memo: Any) -> ShardedTensor:
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = wrap(copy.deepcopy(self._local, memo), self._spec)
            if getattr(self, "_is_param", False):
                made._is_param = True  # nn.Parameter
        return made

    tolist = _stops("tolist would gather")

    def item(self) -> Any:
        """The value of a tensor of one element, on every rank."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self.detach().full_tensor().item()

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        return self.item().__index__()

    is_nonzero = __bool__

    # ------------------------------------------------------------ PyTorch's DTensor

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any = None,
        placements: Any = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> ShardedTensor:
        """The tensor whose shard on this rank is local_tensor; gradients flow to it.

        Args:
            placements: all Replicate for None.
            run_check: what must be the same on several ranks is taken from the first of them.
            shape: of the whole; without it the sizes of shards are asked for along axes that are cut (a small call).

        Raises:
            ValueError: the shards are not of the sizes that the placements give for this shape.
        """
        require_plain("from_local", local_tensor)
        mesh = checked_mesh("from_local", device_mesh)
        placed = checked(placements, mesh, local_tensor.ndim)
        sizes = list(local_tensor.shape) if shape is None else list(map(operator.index, shape))
        if shape is None:
            told = mesh.comm.all_gather_object([str(local_tensor.dtype), list(local_tensor.shape)])
            everyone = [there for _, there in told]
            if any(d != told[0][0] for d, _ in told):
                raise ValueError(f"from_local: shards differ in dtype: {[d for d, _ in told]}")
            if any(len(s) != len(sizes) for s in everyone):
                raise ValueError(f"from_local: shards differ in the number of axes: their shapes are {everyone}")
            for dim in range(len(sizes)):
                cut = [a for a, p in enumerate(placed) if p.is_shard(dim)]
                me = mesh._coordinate
                sizes[dim] = sum(
                    s[dim] for c, s in zip(mesh.coordinates, everyone)
                    if all(a in cut or x == y for a, (x, y) in enumerate(zip(c, me)))
                )  # fmt: skip
        elif len(sizes) != local_tensor.ndim:
            raise ValueError(
                f"from_local: a shard of {local_tensor.ndim} axes for a tensor of {len(sizes)}, of shape {tuple(sizes)}"
            )
        elif any(n < 0 for n in sizes):
            raise ValueError(f"from_local: sizes of a tensor are 0 or more, got {tuple(sizes)}")
        spec = Spec(mesh, placed, sizes)
        known = {mesh.comm.rank: local_tensor.shape} if shape is not None else dict(enumerate(everyone))
        for rank, there in known.items():
            wanted = spec.local_shape(mesh.coordinates[rank])
            if wanted != tuple(there):
                raise ValueError(
                    f"from_local: rank {rank} has a shard of shape {tuple(there)}; for {spec!r} it is {wanted}"
                )
        local = local_tensor
        if run_check:
            with no_grad():
                for a, p in enumerate(placed):
                    if isinstance(p, Replicate):
                        mesh._axes[a].broadcast(local, 0)
        return wrap(local.view_as(local) if local.requires_grad else local, spec)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """The shard of this rank; gradients flow back from it.

        Args:
            grad_placements: what the gradients of shards are; None: parts of the gradient of the tensor, which has its
                placements. Partial(): terms of it, where the ranks go on with different parts of the data.
        """
        return self._local if grad_placements is None else self._used_as(self.placements, grad_placements)

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on every rank, with its gradient.

        Args:
            grad_placements: as for to_local.
        """
        whole = (Replicate(),) * self._spec.mesh.ndim
        if grad_placements is None:
            return self.redistribute(placements=whole)._local
        return self._used_as(whole, grad_placements)

    def _used_as(self, wanted: Any, grad_placements: Any) -> Tensor:
        spec = self._spec
        back = spec.with_(checked(grad_placements, spec.mesh, self.ndim))
        dst = spec.with_(wanted)
        if back.with_(dual(back.placements)).local_shape() != dst.local_shape():
            raise ValueError(f"grad_placements: {back.placements} of a shard in {dst!r}: gradients have its shape")
        return _move.used_as(self._local, spec, dst, back)

    def redistribute(self, device_mesh: Any = None, placements: Any = None, *, async_op: bool = False) -> ShardedTensor:
        """The same tensor in other placements, with its gradient.

        Each rank gets what it lacks, directly from a rank that has it: no rank holds more than its shards.  Terms of a
        sum (Partial) are added, in the order of ranks, where they arrive.

        Raises:
            NotImplementedError: another mesh.
        """
        spec = self._spec
        if device_mesh is not None and device_mesh != spec.mesh:
            raise NotImplementedError(f"redistribute: from {spec.mesh} to another mesh, {device_mesh}")
        return to_spec(self, spec.with_(checked(placements, spec.mesh, self.ndim)))


def require_plain(call: str, t: Any) -> None:
    """TypeError, in the name of a call, for what is no tensor or is a sharded one."""
    if not isinstance(t, Tensor) or isinstance(t, ShardedTensor):
        raise TypeError(f"{call}: a plain tensor is required, got {type(t).__name__}")


def wrap(local: Tensor, spec: Spec) -> ShardedTensor:
    """The tensor with this shard."""
    made = _NOTHING.as_subclass(ShardedTensor)
    made._local, made._spec = local, spec
    return made


def to_spec(x: ShardedTensor, spec: Spec) -> ShardedTensor:
    """x in the placements of spec."""
    if x._spec is spec or x._spec == spec:
        return x
    state = _move.call_state()
    outer = state.function
    state.function = outer or "redistribute"
    try:
        return wrap(_move.redistribute(x._local, x._spec, spec), spec)
    finally:
        state.function = outer


def placed(x: ShardedTensor, placements: Any) -> ShardedTensor:
    """x in these placements."""
    return x if tuple(placements) == x._spec.placements else to_spec(x, x._spec.with_(placements))


def without_terms(x: ShardedTensor) -> ShardedTensor:
    """x with its sums made."""
    if not x._spec.is_partial:
        return x
    return placed(x, dual(x._spec.placements))


def sharded(x: Any, like: ShardedTensor, func: Any) -> ShardedTensor:
    """x as a sharded tensor: a number or plain tensor of one element is the same on every rank."""
    if isinstance(x, ShardedTensor):
        if x._spec.mesh is not like._spec.mesh and x._spec.mesh != like._spec.mesh:
            raise RuntimeError(f"{_said(func)}: tensors on two meshes, {like._spec.mesh} and {x._spec.mesh}")
        return x
    if isinstance(x, Tensor) and (x.ndim == 0 or _move.call_state().replicates):
        mesh = like._spec.mesh
        found = mesh._everywhere.get(x.shape)
        if found is None:
            if len(mesh._everywhere) > 200:
                mesh._everywhere.clear()
            found = mesh._everywhere[x.shape] = Spec(mesh, (Replicate(),) * mesh.ndim, x.shape)
        return wrap(x, found)
    raise RuntimeError(
        f"{_said(func)}: a sharded tensor of shape {tuple(like.shape)} and a plain one of shape {tuple(x.shape)}: "
        "distribute_tensor(x, mesh, placements) makes it a sharded one, implicit_replication() takes it as it is"
    )


def first_sharded(args: Any) -> ShardedTensor:
    """The first sharded tensor among arguments and lists of them."""
    for a in args:
        if isinstance(a, ShardedTensor):
            return a
        if isinstance(a, (tuple, list)):
            for b in a:
                if isinstance(b, ShardedTensor):
                    return b
    raise AssertionError("no sharded tensor")


def bind(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The values of the parameters of the overload that is called, by name, without out=."""
    which, values = func._bind(*args, **kwargs)
    return {p[0]: v for p, v in zip(func.overloads[which][0], values) if p[0] != "out"}


def indices(spec: Any, dim: int) -> Tensor:
    """The indices along an axis that this rank holds, in order."""
    parts = [_f["arange"](a, b) for a, b in spec.ranges(spec.mesh._coordinate)[dim]]
    return _f["cat"](parts) if parts else _f["empty"](0, dtype=_C.int64)
