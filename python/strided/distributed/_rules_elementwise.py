"""Rules of functions of single elements, from the op table: operands broadcast, and so do their placements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .._C import Size
from .._calls.elementwise import OPERATORS, elementwise_names
from ._layout import Spec
from ._move import recording, spread
from ._sharded import (
    RULES,
    ShardedTensor,
    first_sharded,
    name_of,
    placed,
    refuse,
    rule,
    sharded,
    without_terms,
    wrap,
)
from .placement import BlockCyclic, Placement, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions
_has_record = _f["_has_record"]

# Functions that are linear in all their tensors together, or in the first beside a number: sums of terms stay so.
_LINEAR_TOGETHER = {"add", "sub", "subtract"}
_LINEAR_ALONE = {"neg", "negative", "positive", "mul", "multiply", "div", "divide", "true_divide"}


def _tensors(values):
    return [v for v in values if isinstance(v, Tensor)]


def moved_to(p: Placement, dim: int) -> Placement:
    """A placement that cuts another axis."""
    return BlockCyclic(dim, p.block) if isinstance(p, BlockCyclic) else Shard(dim)


def broadcast_spec(operands: list[ShardedTensor], shape: Any) -> Spec:
    """The layout of what operands make together: along each mesh axis the cut of the largest operand that has one."""
    mesh, n = operands[0]._spec.mesh, len(shape)
    ordered = sorted(operands, key=lambda t: -t.numel())
    found: list[Placement] = []
    for axis in range(mesh.ndim):
        best: Placement = Replicate()
        for t in ordered:
            p = t._spec.placements[axis]
            if p.is_shard():
                dim = p.dim + n - t.ndim  # type: ignore[attr-defined]
                if t.shape[p.dim] == shape[dim]:  # type: ignore[attr-defined]
                    best = moved_to(p, dim)
                    break
        found.append(best)
    return Spec(mesh, tuple(found), shape)


def fitting(t: ShardedTensor, spec: Spec) -> list[Placement]:
    """The placements of an operand whose shards broadcast to those of a result in `spec`."""
    offset = len(spec.shape) - t.ndim
    wanted: list[Placement] = []
    for p in spec.placements:
        dim = p.dim - offset if p.is_shard() else -1  # type: ignore[attr-defined]
        fits = dim >= 0 and t.shape[dim] == spec.shape[dim + offset]
        wanted.append(moved_to(p, dim) if fits else Replicate())
    return wanted


def fitted(t: ShardedTensor, spec: Spec, spreads: bool = True) -> Tensor:
    """The shard of an operand beside shards of a result in `spec`, to which it broadcasts."""
    if t._spec is spec:
        return t._local
    wanted = fitting(t, spec)
    local = placed(t, wanted)._local
    if not spreads:
        return local
    axes = [a for a, (w, p) in enumerate(zip(wanted, spec.placements)) if isinstance(w, Replicate) and p != w]
    return spread(local, spec.mesh, axes)


def again(result: Any, spec: Spec) -> Any:
    """Every tensor of a result with this layout."""
    if isinstance(result, Tensor):
        return wrap(result, spec)
    if isinstance(result, (tuple, list)):
        parts = [again(part, spec) for part in result]
        return tuple.__new__(type(result), parts) if isinstance(result, tuple) else parts
    return result


_NUMBERS = {float, int, bool, complex}
_NO_AXES = Size(())
_PLAIN = {*_NUMBERS, str, type(None), _C.dtype}  # what has no tensors in it


def at_once(func: Any, args: Any, kwargs: Any) -> Any:
    """The function on the shards where nothing moves, as far as is known already; None elsewhere.

    It is the way that most calls take, so it looks at types before it looks at values.
    """
    if not args:
        return None
    x, n = args[0], len(args)
    if type(x) is not ShardedTensor:
        if n == 2 and type(x) in _NUMBERS and type(args[1]) is ShardedTensor:
            spec = args[1]._spec
            if not (kwargs or spec.is_partial):
                return wrap(func(x, args[1]._local), spec)
        return None
    spec = x._spec
    if spec.is_partial:
        return None if kwargs else _of_terms(func, args, x, spec)
    if kwargs:
        for value in kwargs.values():
            if type(value) not in _PLAIN:
                return None
    else:
        if n == 1:
            result = func(x._local)
            return wrap(result, spec) if isinstance(result, Tensor) else again(result, spec)
        if n == 2:
            y = args[1]
            kind = type(y)
            if kind in _NUMBERS:
                return wrap(func(x._local, y), spec)
            if kind is ShardedTensor:
                own, local = y._spec, y._local
                if own is spec:
                    return wrap(func(x._local, local), spec)
            elif kind is Tensor and y.ndim == 0:
                own, local = spec.mesh._everywhere.get(_NO_AXES), y
            else:
                return None
            found = spec.mesh._plans.get((id(spec), id(own)))
            if found is None or found[3] is None:
                return None
            mine = x._local
            if found[3] and recording():
                of_mine, of_other = found[3]
                if of_mine and _has_record(mine):
                    mine = spread(mine, spec.mesh, of_mine)
                if of_other and _has_record(local):
                    local = spread(local, spec.mesh, of_other)
            return wrap(func(mine, local), found[0])
    plain, specs, same = [], [], True
    for a in args:
        if type(a) is ShardedTensor:
            own = a._spec
            plain.append(a._local)
        elif type(a) in _PLAIN:
            plain.append(a)
            continue
        else:
            own = spec.mesh._everywhere.get(a.shape) if type(a) is Tensor and a.ndim == 0 else None
            if own is None:
                return None
            plain.append(a)
        specs.append(own)
        same = same and (own is spec or own == spec)
    if not same:
        found = spec.mesh._plans.get(tuple(map(id, specs)))
        if found is None or found[3] is None:
            return None
        spec, stay = found[0], found[3]
        if stay and recording():
            axes = iter(stay)
            plain = [spread(p, spec.mesh, next(axes)) if isinstance(p, Tensor) else p for p in plain]
    return again(func(*plain, **kwargs) if kwargs else func(*plain), spec)


def _of_terms(func, args, x, spec):
    """at_once of sums of terms that stay so: of functions that _general has found to be linear."""
    if len(args) == 1:
        return wrap(func(x._local), spec) if (func, None) in spec._results else None
    if len(args) == 2:
        y = args[1]
        if (func, type(y)) in spec._results:
            if type(y) is not ShardedTensor:
                return wrap(func(x._local, y), spec)
            if y._spec is spec:
                return wrap(func(x._local, y._local), spec)
    return None


def elementwise(func: Any, args: Any, kwargs: Any) -> Any:
    """The function on the shards, after operands were brought to one layout."""
    made = at_once(func, args, kwargs)
    return _general(func, args, kwargs) if made is None else made


elementwise.at_once = at_once  # type: ignore[attr-defined]


def _general(func, args, kwargs):
    values = (*args, *kwargs.values())
    like = first_sharded(values)
    values = [a if type(a) is ShardedTensor or not isinstance(a, Tensor) else sharded(a, like, func) for a in values]
    operands = _tensors(values)
    if like._spec.is_partial and _stays_terms(func, values[: len(args)], kwargs, operands):
        plain, spec = [a._local if isinstance(a, Tensor) else a for a in values], like._spec
        if not kwargs and type(args[0]) is ShardedTensor and type(args[-1]) in (ShardedTensor, *_NUMBERS):
            spec._results[func, type(args[1]) if len(args) > 1 else None] = spec
    else:
        spec, wants = _plan(operands, func)
        mesh = spec.mesh
        taken = iter(wants)
        plain = [_moved(a, *next(taken), mesh) if isinstance(a, Tensor) else a for a in values]
    n = len(args)
    return again(func(*plain[:n], **dict(zip(kwargs, plain[n:]))) if kwargs else func(*plain), spec)


def _stays_terms(func, args, kwargs, operands):
    """Whether a function of sums of terms may be taken of the terms."""
    name, spec = name_of(func), operands[0]._spec
    if len({t._spec.placements for t in operands}) > 1 or len({t.shape for t in operands}) > 1:
        return False
    if not all(p.is_partial("sum") or not p.is_partial() for p in spec.placements):
        return False
    if name in _LINEAR_TOGETHER:
        return all(isinstance(a, Tensor) for a in args)
    return (
        name in _LINEAR_ALONE and len(operands) == 1 and isinstance(args[0], Tensor) and "rounding_mode" not in kwargs
    )


def _plan(operands, func):
    """(layout of the result, for each operand: placements that it needs if it must move, axes to spread over).

    It depends on layouts alone, and is kept by them: that of a result is the same object at every call.
    """
    mesh = operands[0]._spec.mesh
    key = tuple([id(t._spec) for t in operands])
    found = mesh._plans.get(key)
    if found is None:
        if any(t._spec.mesh is not mesh and t._spec.mesh != mesh for t in operands):
            raise RuntimeError(f"{name_of(func)}: tensors on two meshes")
        spec = broadcast_spec(operands, _broadcast([t.shape for t in operands]))
        wants = []
        for t in operands:
            wanted = fitting(t, spec)
            axes = [
                a
                for a, (w, p) in enumerate(zip(wanted, spec.placements))
                if isinstance(w, Replicate) and p != w and mesh.shape[a] > 1
            ]
            wants.append((None if tuple(wanted) == t._spec.placements else wanted, axes))
        if len(mesh._plans) > 2000:
            mesh._plans.clear()
        # The layouts are kept too, so that no other has the id of one of them.
        stay = None  # where nothing moves: axes to spread each operand over, () for none at all
        if all(wanted is None for wanted, _ in wants):
            stay = tuple(axes for _, axes in wants) if any(axes for _, axes in wants) else ()
        found = mesh._plans[key] = (spec, wants, [t._spec for t in operands], stay)
    return found[:2]


def _moved(t, wanted, axes, mesh):
    local = t._local if wanted is None else placed(t, wanted)._local
    return spread(local, mesh, axes) if axes else local


def _broadcast(shapes):
    if all(s == shapes[0] for s in shapes):
        return shapes[0]
    empty = [_f["empty"](1).expand(*s) if s else _f["empty"](()) for s in shapes]
    return _f["broadcast_tensors"](empty)[0].shape


def in_place(func: Any, args: Any, kwargs: Any) -> Any:
    """The same, written into the first operand, whose layout stays."""
    target = args[0]
    if not isinstance(target, ShardedTensor):
        raise refuse(func, args, "a plain tensor takes no sharded values")
    spec = target._spec
    if spec.is_partial:
        raise refuse(func, args, "a sum of terms cannot be written into")
    others = [sharded(a, target, func) if isinstance(a, Tensor) else a for a in args[1:]]
    named = {k: sharded(v, target, func) if isinstance(v, Tensor) else v for k, v in kwargs.items()}
    plain = [fitted(a, spec) if isinstance(a, Tensor) else a for a in others]
    func(target._local, *plain, **{k: fitted(v, spec) if isinstance(v, Tensor) else v for k, v in named.items()})
    return target


def _in_place_at_once(func, args, kwargs):
    if not args or type(args[0]) is not ShardedTensor:
        return None
    spec = args[0]._spec
    if spec.is_partial:
        return None
    plain = []
    for a in args:
        if type(a) is ShardedTensor and (a._spec is spec or a._spec == spec):
            plain.append(a._local)
        elif type(a) in _PLAIN:
            plain.append(a)
        else:
            return None
    if not kwargs:
        func(*plain)
        return args[0]
    for value in kwargs.values():
        if type(value) not in _PLAIN:
            return None
    func(*plain, **kwargs)
    return args[0]


in_place.at_once = _in_place_at_once  # type: ignore[attr-defined]


for _name in (*elementwise_names(), "clamp", "clip", "fill", "copy"):
    RULES[_name], RULES[f"{_name}_"] = elementwise, in_place
rule("complex polar zero_ masked_fill nan_to_num isclose")(elementwise)
rule("zero_ masked_fill_ nan_to_num_")(in_place)


@rule("where")
def _where(func, args, kwargs):
    if len(args) + len(kwargs) == 1:
        return _f["nonzero"](*args, *kwargs.values(), as_tuple=True)
    return elementwise(func, args, kwargs)


_where.at_once = lambda func, args, kwargs: at_once(func, args, kwargs) if len(args) == 3 else None


def of_shards(func: Any, args: Any, kwargs: Any) -> Any:
    """Each shard for itself: copies, casts."""
    x = args[0]
    if not isinstance(x, ShardedTensor):
        return elementwise(func, args, kwargs)
    if x._spec.is_partial and name_of(func) not in ("clone", "detach", "_dual", "contiguous", "requires_grad_"):
        x = without_terms(x)
    rest = [a._local if isinstance(a, ShardedTensor) else a for a in args[1:]]
    result = func(x._local, *rest, **kwargs)
    return x if result is x._local else again(result, x._spec)


def _of_shards_at_once(func, args, kwargs):
    if not args or type(args[0]) is not ShardedTensor or args[0]._spec.is_partial:
        return None
    x = args[0]
    for a in args[1:]:
        if isinstance(a, ShardedTensor):
            return None
    local = x._local
    result = func(local, *args[1:], **kwargs) if kwargs else func(local, *args[1:])
    return x if result is local else again(result, x._spec)


of_shards.at_once = _of_shards_at_once  # type: ignore[attr-defined]
rule(
    "clone contiguous detach detach_ _dual to type type_ type_as cpu cuda zeros_like ones_like empty_like full_like requires_grad_ "
    "resolve_conj resolve_neg conj conj_physical retain_grad view_as_real_ __copy__ _with_steady_gradient "
    + " ".join(d._traits["method"] for d in _C.dtypes if d._traits["method"])
)(of_shards)


@rule("real imag")
def _part(func, args, kwargs):
    x = without_terms((*args, *kwargs.values())[0])
    return wrap(func(x._local), x._spec)


@rule("_convert")
def _convert(func, args, kwargs):
    """as_tensor, asarray"""
    x, dtype, device, copies = args
    if dtype in (None, x.dtype) and device in (None, x.device) and not copies:
        return x
    return of_shards(func, args, kwargs)


def _like(func, args, kwargs):
    x = without_terms(args[0])
    return again(func(x._local, *args[1:], **kwargs), x._spec)


rule("zeros_like ones_like empty_like full_like")(_like)


@rule("is_floating_point is_complex is_signed is_pinned is_inference is_conj is_neg get_device element_size")
def _of_dtype(func, args, kwargs):
    return func(*[a._local if isinstance(a, ShardedTensor) else a for a in args], **kwargs)


@rule("result_type")
def _result_type(func, args, kwargs):
    return func(*[a._local if isinstance(a, ShardedTensor) else a for a in args])


@rule("numel")
def _numel(func, args, kwargs):
    return args[0].shape.numel()


@rule("equal")
def _equal(func, args, kwargs):
    a, b = args
    return a.shape == b.shape and bool(_f["eq"](a, b).all())


@rule("allclose")
def _allclose(func, args, kwargs):
    return bool(_f["isclose"](*args, **kwargs).all())


# ---------------------------------------------------------------- operators


def _calls(function, swapped=False):
    """The rule of an operator: the call of a function of single elements."""

    def call(func, args, kwargs):
        return function(*(args[::-1] if swapped else args))

    call.at_once = lambda func, args, kwargs: at_once(function, args[::-1] if swapped else args, kwargs)
    return call


for _name, (_plain, _swapped) in OPERATORS.items():
    if _plain.endswith("_"):
        RULES[_name] = lambda func, args, kwargs, f=_f[f"Tensor.{_plain}"]: f(*args)
    else:
        RULES[_name] = _calls(_f[_plain], _swapped)


# ---------------------------------------------------------------- gradients


def _run_backward(run, tensors, grads, **named):
    locals_, given = [], []
    for t, g in zip(tensors, grads):
        if isinstance(t, ShardedTensor):
            # The gradient of a sum of terms is that of each term.
            if g is None:
                if t.numel() != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                g = _f["ones_like"](t._local)
            elif isinstance(g, ShardedTensor):
                from ._layout import dual

                g = placed(g, dual(t._spec.placements))._local
                # Each rank uses it for its own term: what is asked for by g is the sum.
                g = spread(g, t._spec.mesh, [i for i, p in enumerate(t._spec.placements) if p.is_partial()])
            locals_.append(t._local)
        else:
            locals_.append(t)
        given.append(g)
    return run(locals_, given, **named)


def _list(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


@rule("backward")
def _backward(func, args, kwargs):
    from ..autograd import backward

    def of(
        tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None, **other
    ):
        if isinstance(tensors, Tensor):
            grad_tensors = other.pop("gradient", grad_tensors)
        tensors = _list(tensors)
        grads = [None] * len(tensors) if grad_tensors is None else _list(grad_tensors)
        if inputs is not None:
            inputs = [x._local if isinstance(x, ShardedTensor) else x for x in _list(inputs)]
        return _run_backward(
            backward, tensors, grads, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs
        )

    return of(*args, **kwargs)


@rule("_backward")
def _pulled(func, args, kwargs):
    """What torch.func pulls gradients with."""
    from ._sharded import gradient

    outputs, grads, keep, create, inputs = args
    plain = [x._local if isinstance(x, ShardedTensor) else x for x in inputs]
    found = _run_backward(lambda outs, given: func(outs, given, keep, create, plain), outputs, grads)
    return [gradient(x, g) if isinstance(x, ShardedTensor) else g for x, g in zip(inputs, found)]


@rule("_leads_elsewhere")
def _leads_elsewhere(func, args, kwargs):
    return func(*[[t._local if isinstance(t, ShardedTensor) else t for t in tensors] for tensors in args])


@rule("register_hook")
def _register_hook(func, args, kwargs):
    from ._layout import dual
    from ._sharded import gradient

    x, hook = args

    def of_shard(grad):
        made = hook(grad if grad is None else gradient(x, grad))
        return placed(made, dual(x._spec.placements))._local if isinstance(made, ShardedTensor) else made

    return func(x._local, of_shard)


@rule("register_post_accumulate_grad_hook")
def _register_leaf_hook(func, args, kwargs):
    x, hook = args
    return func(x._local, lambda leaf: hook(x))


@rule("grad")
def _grad(func, args, kwargs):
    from ..autograd import grad
    from ._sharded import gradient

    def of(outputs, inputs, grad_outputs=None, **named):
        outputs, inputs = _list(outputs), _list(inputs)
        grads = [None] * len(outputs) if grad_outputs is None else _list(grad_outputs)
        plain = [x._local if isinstance(x, ShardedTensor) else x for x in inputs]

        def run(outs, given, **named):
            return grad(outs, plain, given, **named)

        found = _run_backward(run, outputs, grads, **named)
        return tuple(gradient(x, g) if isinstance(x, ShardedTensor) else g for x, g in zip(inputs, found))

    return of(*args, **kwargs)
