"""Operations with a gradient of the user's own (``strided.autograd.Function``)."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING

from .. import _C
from .grad_mode import enable_grad, no_grad

if TYPE_CHECKING:
    from .._typing import Any, F, Tensor

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]

_is_recording = _C.functions["is_grad_enabled"]
_record = _C.functions["_set_grad_enabled"]
_mark_dirty = _C.functions["_mark_dirty"]
_has_record = _C.functions["_has_record"]  # requires_grad, or a dual tensor of forward mode
_zeros = _C.functions["zeros"]
_PACKAGE = __name__.partition(".")[0] + "."


def _tensors_only(args, name):
    for i, t in enumerate(args):
        if not isinstance(t, _C.Tensor):
            raise RuntimeError(f"{name} can only accept variables, but argument {i} is of type {type(t).__name__}")
    return args


def _sees_batches(args):
    """Are there tensors of a vmap in the tuples, lists and dicts?"""
    from ..func._batched import running, union
    from ..utils._pytree import tree_flatten

    return bool(running()) and bool(union(tree_flatten(args)[0]))


class FunctionCtx(_C.FunctionNode):
    """What ``forward``, ``setup_context`` and ``backward`` of one call share; afterwards the node of the graph.

    needs_input_grad: for each argument of forward, whether a gradient is wanted for it.
    """

    needs_input_grad = ()
    _to_save = ()
    _dirty = ()
    _non_differentiable = ()
    _materialize = True
    _function = None
    __repr__ = object.__repr__  # with the module, as PyTorch's

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps arguments or results of forward (tensors or None) for ``saved_tensors``.  An error in the backward pass
        tells when one was changed in place meanwhile."""
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``jvp``, where derivatives come from it; unused where they come from ``backward``."""
        if _has_jvp_alone(self._function):
            self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What save_for_backward kept.  RuntimeError after a backward pass without retain_graph."""
        if self._to_save is not None:  # the forward has not ended yet
            return tuple(self._to_save)
        return _C.function_saved(self)

    @property
    def saved_variables(self) -> tuple[Tensor, ...]:
        """The name of ``saved_tensors`` in old programs."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which arguments forward has changed in place. It counts as a write: a backward pass that needs what was
        there before raises."""
        self._dirty = _tensors_only(tensors, "mark_dirty")

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which results have no gradient."""
        self._non_differentiable = _tensors_only(tensors, "mark_non_differentiable")

    def set_materialize_grads(self, value: bool) -> None:
        """False: backward gets None, not zeros, for a result through which nothing flows."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads expects a bool, but got {type(value).__name__}")
        self._materialize = value

    def _of_samples(self, rule, grads):
        """What a backward gives which does not take BatchedTensors."""
        if not any(hasattr(type(g), "_as_gradient") for g in grads):
            return rule(self, *grads)
        from ..func._backward import joined, samples

        rows = [rule(self, *row) for row in samples(grads)]
        return joined(grads, [row if isinstance(row, tuple) else (row,) for row in rows])

    def _rule(self):
        """What gives the gradients: the Function's backward or vjp, or what its jvp says."""
        cls = self._function
        if _has_jvp_alone(cls):
            return FunctionCtx._transposed_jvp
        if cls.backward is Function.backward:
            return cls.vjp
        if cls.vjp is Function.vjp:
            return cls.backward
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
            "them."
        )

    def apply(self, *grads: Any) -> Any:
        """Calls the Function's ``backward`` for these gradients of its results, outside of a backward pass."""
        return self._rule()(self, *grads)

    def _backward(self, grads):
        """The gradients for the tensors among the arguments, from those of the results."""
        cls, name = self._function, f"{self._function.__name__}Backward"
        grads += (None,) * (len(self._results) - len(grads))
        if self._materialize:
            grads = tuple(
                _zeros(r[0], dtype=r[1], device=r[2]) if g is None and r is not None else g
                for g, r in zip(grads, self._results)
            )
        rule = self._rule()
        found = self._of_samples(rule, grads) if cls._sees_samples else rule(self, *grads)
        found = found if isinstance(found, tuple) else (found,)
        n = len(self.needs_input_grad)
        if len(found) > n and all(g is None for g in found[n:]):
            found = found[:n]
        if len(found) != n:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {n}, got {len(found)})"
            )
        result = []
        for i, (g, is_tensor) in enumerate(zip(found, self._is_tensor)):
            if is_tensor:
                if g is not None and not isinstance(g, _C.Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
                result.append(g)
            elif g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return tuple(result)

    def _transposed_jvp(self, *grads):
        """The gradients by jvp, which is linear in the tangents: its own gradients are those of its transpose."""
        from . import grad

        wanted = self.needs_input_grad
        with enable_grad():
            leaves = [
                None if a is None else _zeros(a[0], dtype=a[1], device=a[2]).requires_grad_(w)
                for a, w in zip(self._arguments, wanted)
            ]
            # Copies, as jvp may write to them.
            made = self._function.jvp(self, *(t if t is None else t.clone() for t in leaves))
            made = made if isinstance(made, tuple) else (made,)
            pairs = [(y, g) for y, g in zip(made, grads) if g is not None and isinstance(y, _C.Tensor)]
            pairs = [(y, g) for y, g in pairs if _has_record(y)]
        directions = [t for t, w in zip(leaves, wanted) if w]
        found = iter(())
        if pairs:
            outputs, given = zip(*pairs)
            found = iter(grad(outputs, directions, given, create_graph=_is_recording(), allow_unused=True))
        return tuple(next(found, None) if w else None for w in wanted)


class _FunctionMeta(type):
    """Gives every Function a class for its contexts, named as PyTorch names the node."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        # The package's own call compiled functions that have no batching rules.
        cls._sees_samples = cls.__module__.startswith(_PACKAGE) and not namespace.get("_takes_batches")
        shown = namespace.get("_shown_as", f"{name}Backward")
        cls._backward_cls = type(shown, (FunctionCtx,), {"_function": cls, "__module__": FunctionCtx.__module__})


class Function(metaclass=_FunctionMeta):
    """Base of operations with a gradient of their own: static methods ``forward(ctx, *args)`` and ``backward(ctx,
    *grads)``, called by ``apply``.  With ``setup_context(ctx, inputs, output)`` forward gets no ctx.

    >>> class Cube(strided.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 3 * x ** 2 * grad
    >>> x = strided.tensor(2., requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False  # as PyTorch; without a vmap of its own a function is always called for each sample

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself: apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Computes the results: ``forward(ctx, *args)``, or ``forward(*args)`` beside a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Says what the backward pass needs; called after forward."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(*args: Any, **kwargs: Any) -> Any:
        """``backward(ctx, *grad_outputs)``: one gradient for each argument of forward (None for what needs none)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(*args: Any, **kwargs: Any) -> Any:
        """``jvp(ctx, *tangents)``: the derivatives of the results along tangents of the arguments (None for what is no
        tensor). Called where there is no ``backward``: the gradient is its transpose."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """``vmap(info, in_dims, *args)``: the results for a batch, and their axes of samples. Without it forward and
        backward see one sample each.

        Args:
            info: ``batch_size`` and ``randomness``.
            in_dims: the axis of samples of each argument, None where there is none.
            args: of apply.
        """
        raise NotImplementedError("vmap: this autograd.Function has no batching rule of its own")

    @classmethod
    def _bind(cls, args, kwargs):
        """The arguments by position, with the defaults of forward: what setup_context is told."""
        signature = cls.__dict__.get("_signature")
        if signature is None:
            import inspect

            signature = cls._signature = inspect.signature(cls.forward)
        if not kwargs and len(args) == len(signature.parameters):
            return args, kwargs
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Calls forward on the arguments and puts the results into the graph."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = cls._bind(args, kwargs)
        is_tensor, nested = [], False
        for a in args:
            kind = type(a)
            if kind is _C.Tensor:
                is_tensor.append(True)
            elif hasattr(kind, "__strided_function__"):
                from ..func._functions import apply

                return apply(cls, args, kwargs)
            else:
                nested = nested or kind is tuple or kind is list or kind is dict
                is_tensor.append(isinstance(a, _C.Tensor))
        if nested and _sees_batches(args):
            from ..func._functions import apply

            return apply(cls, args, kwargs)
        ctx = cls._backward_cls()
        ctx._is_tensor = is_tensor
        tensors = tuple([a for a, t in zip(args, is_tensor) if t])
        ctx.needs_input_grad = tuple([t and _has_record(a) for a, t in zip(args, is_tensor)])
        if _has_jvp_alone(cls):
            ctx._arguments = [(tuple(a.shape), a.dtype, a.device) if t else None for a, t in zip(args, is_tensor)]
        was_recording = _is_recording()
        recording = was_recording and True in ctx.needs_input_grad
        _record(False)
        try:
            if cls.setup_context is Function.setup_context:
                made = cls.forward(ctx, *args, **kwargs)
            else:
                made = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, made)
        finally:
            _record(was_recording)
        results = made if isinstance(made, tuple) else (made,)
        if not recording and not ctx._dirty and not any([_has_owner(r, tensors) for r in results]):
            ctx._to_save = None  # nothing will read it
            if not all([type(r) is _C.Tensor and r._base is None for r in results]):
                _with_types(max(1, _C._get_torch_function_state()), _let_go_of_bases, results, tensors)
            return made
        usual = recording and not ctx._dirty and not ctx._non_differentiable
        if usual and all([_is_fresh(r, args) for r in results]):
            _attach_fresh(cls, ctx, tensors, results)
            return tuple(made) if isinstance(made, tuple) else made
        state = _C._get_torch_function_state()
        final = _with_types(max(1, state), _attach, cls, ctx, tensors, results, recording, state)
        return final if isinstance(made, tuple) else final[0]


class InplaceFunction(Function):
    """Function under the name that old programs derive their classes from."""


def _has_jvp_alone(cls):
    return cls.jvp is not Function.jvp and cls.backward is Function.backward and cls.vjp is Function.vjp


def _with_types(state, function, *args):
    """What the function gives where the user's types are asked for calls and attributes as `state` says (1: they are
    not)."""
    before = _C._set_torch_function_state(state)
    try:
        return function(*args)
    finally:
        _C._set_torch_function_state(before)


def _let_go_of_bases(results, tensors):
    for r in results:
        if isinstance(r, _C.Tensor) and r._base is not None and not _is_view_of(r, tensors):
            if not _has_record(r._base):  # else it is of the outside, such as a parameter
                _C.function_result(r)


def _is_view_of(r, tensors):
    return r._base is not None and any(r._base is t or r._base is t._base for t in tensors)


def _has_owner(r, tensors):
    """Whether a result is an argument, or has a history of its own."""
    if not isinstance(r, _C.Tensor):
        return False
    for t in tensors:
        if r is t:
            return True
    return _has_record(r)


def _is_fresh(r, args):
    """Whether a result is a tensor with memory of its own, without a record, that has a gradient."""
    if type(r) is not _C.Tensor or r._base is not None or _has_record(r):
        return False
    for a in args:
        if a is r:
            return False
    return r.is_floating_point() or r.is_complex()


def _attach_fresh(cls, ctx, tensors, results):
    """What `_attach` does for results that are all fresh."""
    _node = _C.function_start(ctx, f"{cls.__name__}Backward", tensors)  # lives until the outputs hold it
    ctx._results = [(tuple(r.shape), r.dtype, r.device) for r in results]
    for i, r in enumerate(results):
        _C.function_output(ctx, r, i, 0)
    saved, ctx._to_save = ctx._to_save, None
    positions = [-1] * len(saved)
    for i, t in enumerate(saved):
        for j, r in enumerate(results):
            if r is t:
                positions[i] = j
    _C.function_save(ctx, tuple(saved), tuple(positions))


def _attach(cls, ctx, tensors, results, recording, state):
    """The results as they are given to the caller: outputs of the node `ctx` if there is something to differentiate.
    `state`: that of __torch_function__ outside."""

    def among(t, group):
        return any(t is x for x in group)

    # Those that become outputs of the node.
    made = [
        recording
        and isinstance(r, _C.Tensor)
        and not among(r, ctx._non_differentiable)
        and (r.dtype.is_floating_point or r.dtype.is_complex)
        for r in results
    ]
    _check_dirty(ctx._dirty, tensors, results, made)
    final = []
    for r, differentiable in zip(results, made):
        # A result that is an argument, or has a history of its own, is given as another tensor of the same memory; one
        # that forward has written to only where that history is not to be the caller's.
        if isinstance(r, _C.Tensor):
            owned, argument = _has_record(r), among(r, tensors)
            if (owned and not differentiable) if among(r, ctx._dirty) else (owned or argument):
                if argument and (differentiable or not owned):
                    with no_grad():
                        same = _with_types(state, r.view_as, r)  # the user's types see this call, as in PyTorch
                else:
                    same = r.detach()
                    if not argument and type(r).__torch_function__ is not _C._disabled_torch_function_impl:
                        same = same.as_subclass(type(r))
                        vars(same).update(vars(r))
                ctx._to_save = tuple(same if t is r and not argument else t for t in ctx._to_save)
                r = same
        final.append(r)
    if recording:
        _node = _C.function_start(ctx, f"{cls.__name__}Backward", tensors)  # lives until the outputs hold it
    for t in ctx._dirty:  # (the edges lead to what was there before)
        _mark_dirty(t)  # forward may have written through a pointer that nothing sees
    if not recording:
        ctx._to_save = ()
    else:
        ctx._results = [(tuple(r.shape), r.dtype, r.device) if isinstance(r, _C.Tensor) else None for r in final]
        several = sum(made) > 1
        for i, (r, differentiable) in enumerate(zip(final, made)):
            if differentiable:
                dirty = among(r, ctx._dirty)
                how = 1 if dirty else 0 if not _is_view_of(r, tensors) else 3 if several else 2
                _C.function_output(ctx, r, i, how)
    positions = tuple(next((i for i, r in enumerate(final) if r is t and made[i]), -1) for t in ctx._to_save)
    saved, ctx._to_save = tuple(ctx._to_save), None
    ctx._dirty = ()
    _C.function_save(ctx, saved, positions)
    return tuple(final)


def _check_dirty(dirty, tensors, results, made):
    for r, differentiable in zip(results, made):
        if differentiable and any(r is t for t in dirty):
            if r.requires_grad and r.is_leaf:
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
            if not any(r is t for t in tensors):
                warnings.warn(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                    "should be passed to ctx.mark_dirty().",
                    stacklevel=4,
                )
    if not all(any(t is r for r in results) for t in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
            "are modified inplace must all be outputs of the Function."
        )


def once_differentiable(backward: F) -> F:
    """Decorator for a backward that is not made of recorded operations: its results cannot be differentiated again, and
    trying to is a RuntimeError."""

    @functools.wraps(backward)
    def wrapped(ctx, *grads):
        with no_grad():
            found = backward(ctx, *grads)
        if not _is_recording() or not any(isinstance(g, _C.Tensor) and g.requires_grad for g in grads):
            return found
        many = isinstance(found, tuple)
        given = [g for g in grads if isinstance(g, _C.Tensor)]
        result = tuple(
            _Refuse.apply(g, *given) if isinstance(g, _C.Tensor) else g for g in (found if many else (found,))
        )
        return result if many else result[0]

    return wrapped


class _Refuse(Function):
    """The identity in its first argument, with no gradient."""

    @staticmethod
    def forward(ctx, x, *others):
        return x.detach()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
