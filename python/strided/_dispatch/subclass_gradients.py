"""The gradients of operations of a class that has a ``__torch_dispatch__``: nodes whose formulas are operations."""

from __future__ import annotations

import functools
from typing import Any

from .. import _C, is_grad_enabled, ops
from ..autograd.function import FunctionCtx
from .subclasses import (
    _VIEW,
    _WRITES,
    _base,
    _flat,
    _functions,
    _Tensor,
    another,
    ask,
    is_dispatched,
    is_wrapper,
    shell,
)

# Operations that PyTorch takes apart above the classes.
_IMPLICIT = frozenset(
    """
linear matmul einsum reshape reshape_as flatten unflatten contiguous chunk narrow expand_as view_as movedim broadcast_to
vstack hstack layer_norm batch_norm group_norm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
softmax log_softmax nll_loss max_pool2d scaled_dot_product_attention square dropout
""".split()
)
# Operations whose results have no gradient.
_CONSTANT = frozenset(
    """
detach ones_like zeros_like empty_like full_like rand_like randn_like randint_like new_zeros new_ones new_empty new_full
new_empty_strided argmax argmin argsort bernoulli multinomial _local_scalar_dense equal allclose is_same_size
""".split()
)
# Operations whose formula reads of these arguments shapes and dtypes only; of others it may read the values.
_SHAPES_ONLY = frozenset(
    """
add sub rsub neg view _unsafe_view t transpose permute expand squeeze unsqueeze select slice cat stack sum mean clone
alias _to_copy split split_with_sizes unbind repeat flip copy fill zero relu exp sqrt rsqrt reciprocal tanh sigmoid
_softmax _log_softmax tril triu cumsum floor ceil round trunc sign lift_fresh roll diagonal
unfold constant_pad_nd trace frac
""".split()
)
# Operations whose formula reads the values of these arguments.
_READS = {
    "masked_fill": (1,), "index_put": (1,), "scatter": (2,), "scatter_add": (2,), "index_add": (2,), "index_copy": (2,),
    "gather": (2,), "index_select": (2,), "index": (1,), "embedding": (1,), "where": (0,), "addmm": (1, 2),
    "baddbmm": (1, 2), "addcmul": (1, 2), "addcdiv": (1, 2), "mse_loss": (0, 1), "sort": (), "topk": (), "kthvalue": (),
    "mode": (), "fmod": (), "remainder": (), "tan": (), "erfinv": (), "exp2": (), "expm1": (), "native_dropout": (),
}  # fmt: skip
# Operations whose formula reads values of results.
_RESULTS = frozenset(
    """
relu exp sqrt rsqrt reciprocal tanh sigmoid _softmax _log_softmax native_layer_norm native_batch_norm native_group_norm
native_dropout nll_loss_forward nll_loss2d_forward max_pool2d_with_indices linalg_vector_norm max min amax amin pow
_scaled_dot_product_flash_attention_for_cpu logsumexp std dist hypot tan erfinv exp2 expm1 median nanmedian sort topk
kthvalue mode
""".split()
)


class _Hole:
    """The place of a tensor among the arguments that a node keeps."""

    def __init__(self, at: int) -> None:
        self.at = at


def _filled(value: Any, tensors: Any) -> Any:
    if isinstance(value, _Hole):
        return tensors[value.at]
    return [_filled(v, tensors) for v in value] if isinstance(value, list) else value


class Node(FunctionCtx):
    """The node of an operation of a class with a ``__torch_dispatch__``."""

    _name = _overload = ""

    def _backward(self, grads: Any) -> Any:
        with _functions(2):
            return self._formula(grads)

    def _formula(self, grads: Any) -> Any:
        from .gradients import Call, NoFormula, _fit
        from .table import rule_of

        rule = rule_of(self._name)
        if rule is None:
            raise NotImplementedError(f"aten.{self._name}: no gradient for classes with a __torch_dispatch__")
        saved = _C.function_saved(self)
        n = len(self._shells)
        tensors = [t if t is not None else s for t, s in zip(saved, self._shells)]
        results = list(saved[n:])
        out = [s if t is None else t for t, s in zip(results, self._out)]
        made = Call(list(self._needs), out)
        made.overload = self._overload
        made.grads = tuple(grads) + (None,) * (len(out) - len(grads))
        first = next((i for i, g in enumerate(made.grads) if g is not None), None)
        if first is None:
            return (None,) * n
        made.grad = made.grads[0]
        if made.grad is None and self._name not in ("unbind", "split", "split_with_sizes"):
            made.grad = self._zeros(out[0], made.grads[first])
        args = [_filled(a, tensors) for a in self._args]
        found = rule(made, *args, **{k: _filled(v, tensors) for k, v in self._kwargs.items()})
        if found is None:
            raise NoFormula(f"aten.{self._name}: no gradient of these arguments for classes with a __torch_dispatch__")
        ends: list[Any] = [None] * n
        for place, g in zip(self._args, found):
            for hole, one in [(place, g)] if isinstance(place, _Hole) else zip(place, g) if isinstance(g, list) else ():
                if one is not None and isinstance(hole, _Hole) and self._wanted[hole.at]:
                    ends[hole.at] = self._as(_fit(one, tensors[hole.at]), tensors[hole.at])
        if any(w and g is None for w, g in zip(self._wanted, ends)):
            raise NoFormula(f"aten.{self._name}: no gradient of these arguments for classes with a __torch_dispatch__")
        return tuple(ends)

    @staticmethod
    def _as(grad: Any, x: Any) -> Any:
        from . import call

        if grad.dtype is x.dtype or not x.dtype.is_floating_point:
            return grad
        return call("_to_copy", grad, dtype=x.dtype)

    @staticmethod
    def _zeros(result: Any, like: Any) -> Any:
        from . import call

        return call("new_zeros", like, list(result.shape), dtype=result.dtype)


class _Slices(Node):
    """The node of a write to a view: for the tensor that it is a view of."""

    _steps: Any  # (not the view itself: it holds what holds this node)

    def _formula(self, grads: Any) -> Any:
        from . import call

        g = grads[0]
        if g is None:
            return (None,) * len(self._shells)
        first, *rest = super()._formula((_part(g, self._steps),))
        if first is not None:
            whole = call("clone", g)
            call("copy_", _part(whole, self._steps), first)
            first = whole
        return first, *rest


class _Region(FunctionCtx):
    """The node of a view of a tensor that was written to since."""

    _steps: Any
    _shape: Any

    def _backward(self, grads: Any) -> Any:
        from . import call

        if grads[0] is None:
            return (None,)
        with _functions(2):
            whole = call("new_zeros", grads[0], list(self._shape))
            call("copy_", _part(whole, self._steps), grads[0])
        return (whole,)


class _View:
    """What a result is a view of, and how."""

    def __init__(self, root: Any, steps: Any, recorded: bool, one_of_many: bool) -> None:
        self.root, self.steps, self.recorded, self.one_of_many = root, steps, recorded, one_of_many
        self.seen = _writes(root)

    def check_write(self, name: str) -> None:
        if self.root.requires_grad and self.root.is_leaf:
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
        if self.one_of_many:
            raise RuntimeError(
                f"{name}: this view is the output of a function that returns multiple views. Such functions do not "
                "allow the output views to be modified inplace. You should replace the inplace operation by an "
                "out-of-place one."
            )
        if not self.recorded:
            raise RuntimeError(
                "A view was created in no_grad mode and is being modified inplace with grad mode enabled. This is "
                "forbidden: move both the view and the write into the no_grad block, or both out of it."
            )


def _part(x: Any, steps: Any) -> Any:
    """The same view of another tensor."""
    from . import dispatch

    for op, args, kwargs, index in steps:
        x = dispatch(op, (x, *args), kwargs)
        x = x if index is None else x[index]
    return x


def _mark_view(r: Any, op: Any, args: Any, kwargs: Any, made: Any) -> None:
    source = args[0]
    if not is_dispatched(source) or r is source:
        return
    many = isinstance(made, (tuple, list))
    step = (op, tuple(args[1:]), kwargs, next(i for i, x in enumerate(made) if x is r) if many else None)
    before = source.__dict__.get(_VIEW)
    if before is None:
        r.__dict__[_VIEW] = _View(source, (step,), is_grad_enabled(), many)
    else:
        recorded = before.recorded and is_grad_enabled()
        r.__dict__[_VIEW] = _View(before.root, (*before.steps, step), recorded, many or before.one_of_many)
    _C._share_version(r, source)


def _writes(x: Any) -> int:
    return x.__dict__.get(_WRITES, 0)


def _refresh(x: Any) -> None:
    """Gives a view the history that its root got by writes since."""
    view = x.__dict__.get(_VIEW)
    if view is None or not view.recorded or view.seen == _writes(view.root) or not is_grad_enabled():
        return
    view.seen = _writes(view.root)
    if not view.root.requires_grad:
        return
    ctx = _region_class(view.steps[-1][0].overloadpacket.__name__)()
    ctx._steps, ctx._shape = view.steps, tuple(view.root.shape)
    with _functions(2):
        holder = _C.function_start(ctx, type(ctx).__name__, (view.root,))
        _C.function_output(ctx, x, 0, 1)
        _C.function_save(ctx, (), ())
    ctx._to_save = None
    del holder


@functools.lru_cache(None)
def _region_class(name: str) -> type[_Region]:
    return type(f"{_words(name)}Backward0", (_Region,), {"__module__": __name__})


def _words(name: str) -> str:
    return "".join(w.capitalize() for w in name.strip("_").split("_"))


@functools.lru_cache(None)
def _node_class(name: str, of_view: bool = False) -> type[Node]:
    if of_view:
        return type("CopySlices", (_Slices,), {"_name": name, "__module__": __name__})
    return type(f"{_words(name)}Backward0", (Node,), {"_name": name, "__module__": __name__})


def _recorded(op: Any, name: str, writes: bool, args: Any, kwargs: Any, found: Any, tensors: list[Any]) -> Any:
    from . import dispatch

    args = list(args)
    first = args[0] if args and isinstance(args[0], _Tensor) else None
    plain = name.removesuffix("_") if writes else name
    if writes and first is not None:
        if first.requires_grad and first.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    view = first.__dict__.get(_VIEW) if writes and first is not None else None
    root = first if view is None else view.root
    if view is not None:
        view.check_write(name)
    # the arguments, with holes where the tensors are
    kept: list[Any] = []
    needs: list[bool] = []

    def hole(value: Any) -> Any:
        if isinstance(value, _Tensor):
            kept.append(value)
            return _Hole(len(kept) - 1)
        return [hole(v) for v in value] if isinstance(value, (list, tuple)) else value

    places = [hole(a) for a in args]
    named = {k: hole(v) for k, v in kwargs.items()}
    wanted = [bool(t.requires_grad) for t in kept]
    for a in args:
        needs.append(any(t.requires_grad for t in _flat([a]) if isinstance(t, _Tensor)))
    reads = [_is_read(plain, places, needs, i) for i in range(len(kept))]
    with _functions(2):
        shells = [shell(t, w and _can_want(t)) for t, w in zip(kept, wanted)]
        ctx = _node_class(name, view is not None)()
        if view is not None:
            ctx._steps, wanted[0] = view.steps, bool(root.requires_grad)
            needs[0] = wanted[0]
        holder = _C.function_start(ctx, type(ctx).__name__, tuple(kept) if view is None else (root, *kept[1:]))
        saved = list(kept)
        if writes and first is not None and reads[0]:  # what it was, with its history
            saved[0] = dispatch(ops.aten.clone.default, (first,), {}) if is_dispatched(first) else first.clone()
    made = ask(op, args, kwargs, found)
    if writes:
        made = first
        _written(first)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    out: list[Any] = []
    for i, r in enumerate(results):
        if not isinstance(r, _Tensor):
            continue
        if not writes and any(r is t for t in tensors):
            results[i] = r = another(r) if is_dispatched(r) else r.detach()
    ctx._overload = op._overload
    ctx._args, ctx._kwargs, ctx._needs, ctx._wanted, ctx._shells = places, named, needs, wanted, shells
    with _functions(2):
        ctx._out = [shell(r) if isinstance(r, _Tensor) else r for r in results]
        at = [-1] * len(kept)
        for i, r in enumerate(results):
            differentiable = isinstance(r, _Tensor) and _can_want(r)
            if differentiable and view is None:
                _C.function_output(ctx, r, i, 1 if writes else 0)
            out.append(r if plain in _RESULTS and isinstance(r, _Tensor) else None)
            at.append(i if differentiable and view is None else -1)
        _C.function_save(ctx, (*(t if read else None for t, read in zip(saved, reads)), *out), tuple(at))
        if view is not None:
            _C.function_output(ctx, root, 0, 1)
        if writes and is_dispatched(root):
            root.__dict__[_WRITES] = _writes(root) + 1
            _refresh(first)
    ctx._to_save = None
    del holder
    if not isinstance(made, (tuple, list)):
        return results[0]
    return _same_kind(made, results)


def _written(x: Any) -> None:
    if is_wrapper(x):
        _base(_C.functions["_bump_version"], x)


def _can_want(t: Any) -> bool:
    return bool(t.dtype.is_floating_point or t.dtype.is_complex)


def _is_read(name: str, places: list[Any], needs: list[bool], at: int) -> bool:
    """Does a formula read the values of this tensor among the arguments?"""
    if name in _SHAPES_ONLY:
        return False
    if name in _READS:
        place = next(
            (i for i, p in enumerate(places) if any(isinstance(h, _Hole) and h.at == at for h in _flat([p]))), -1
        )
        return place in _READS[name]
    if name == "mul":  # each operand is read for the gradient of the other
        other = next((i for i, p in enumerate(places) if isinstance(p, _Hole) and p.at != at), None)
        return other is not None and needs[other]
    return True


def _same_kind(made: Any, results: list[Any]) -> Any:
    return type(made)._make(results) if hasattr(made, "_make") else type(made)(results)


_VIEWS = frozenset(
    """
view t transpose permute expand squeeze unsqueeze select slice alias split split_with_sizes unbind as_strided diagonal
unfold narrow
""".split()
)
