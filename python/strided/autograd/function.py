"""Operations with a gradient of the user's own (``strided.autograd.Function``)."""

from __future__ import annotations

import functools

from .. import _C
from .grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

_is_recording = _C.functions["is_grad_enabled"]
_zeros = _C.functions["zeros"]


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

    def save_for_backward(self, *tensors):
        """Keeps arguments or results of forward (tensors or None) for ``saved_tensors``.  An error in the backward pass
        tells when one was changed in place meanwhile."""
        for t in tensors:
            if t is not None and not isinstance(t, _C.Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Accepted and unused: forward-mode derivatives come from ``backward``."""

    @property
    def saved_tensors(self):
        """What save_for_backward kept.  RuntimeError after a backward pass without retain_graph."""
        if self._to_save is not None:  # the forward has not ended yet
            return tuple(self._to_save)
        return _C.function_saved(self)

    def mark_dirty(self, *tensors):
        """Says which arguments forward has changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Says which results have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """False: backward gets None, not zeros, for a result through which nothing flows."""
        self._materialize = bool(value)

    def _backward(self, grads):
        """The gradients for the tensors among the arguments, from those of the results."""
        cls, name = self._function, f"{self._function.__name__}Backward"
        if self._materialize:
            grads = tuple(
                _zeros(shape, dtype=dtype, device=device) if g is None else g
                for g, (shape, dtype, device) in zip(grads, self._results)
            )
        rule = cls.vjp if cls.backward is Function.backward else cls.backward
        found = rule(self, *grads)
        found = found if isinstance(found, tuple) else tuple(found) if isinstance(found, list) else (found,)
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
                    f"function {name} returned a gradient different from None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
        return tuple(result)


class _FunctionMeta(type):
    """Gives every Function a class for its contexts, named as PyTorch names the node."""

    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        cls._context_class = type(f"{name}Backward", (FunctionCtx,), {"_function": cls, "__module__": cls.__module__})


class Function(metaclass=_FunctionMeta):
    """Base of operations with a gradient of their own: static methods ``forward(ctx, *args)`` and ``backward(ctx, *grads)``,
    called by ``apply``.  With ``setup_context(ctx, inputs, output)`` forward gets no ctx.

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

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself: apply(...)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the results: ``forward(ctx, *args)``, or ``forward(*args)`` beside a setup_context."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Says what the backward pass needs; called after forward."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """One gradient for each argument of forward (None for what is no tensor or needs none)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args, **kwargs):
        """Calls forward on the arguments and puts the results into the graph."""
        ctx = cls._context_class()
        ctx._is_tensor = [isinstance(a, _C.Tensor) for a in args]
        tensors = tuple(a for a in args if isinstance(a, _C.Tensor))
        recording = _is_recording() and any(t.requires_grad for t in tensors)
        ctx.needs_input_grad = tuple(t and a.requires_grad and recording for t, a in zip(ctx._is_tensor, args))
        with no_grad():
            if cls.setup_context is Function.setup_context:
                made = cls.forward(ctx, *args, **kwargs)
            else:
                made = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, made)
        results = made if isinstance(made, tuple) else (made,)
        if recording:
            for t in ctx._dirty:
                if t.requires_grad and t.is_leaf:
                    raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        final = _attach(cls, ctx, tensors, results, recording)
        return final if isinstance(made, tuple) else final[0]


def _attach(cls, ctx, tensors, results, recording):
    """The results as they are given to the caller: outputs of the node `ctx` if there is something to differentiate."""

    def among(t, group):
        return any(t is x for x in group)

    final = []
    for r in results:
        # A result that is an argument, or has a history of its own, is given as another tensor of the same memory.
        if isinstance(r, _C.Tensor) and not among(r, ctx._dirty) and (among(r, tensors) or r.requires_grad):
            same = r.detach()
            if among(r, ctx._non_differentiable):
                ctx._non_differentiable += (same,)
            ctx._to_save = tuple(same if t is r and not among(r, tensors) else t for t in ctx._to_save)
            r = same
        final.append(r)
    node = None
    if recording:
        ctx._results = [
            (tuple(r.shape), r.dtype, r.device) if isinstance(r, _C.Tensor) else ((0,), _C.float32, _C.device("cpu"))
            for r in final
        ]
        node = _C.function_start(ctx, f"{cls.__name__}Backward", tensors)
        for i, r in enumerate(final):
            if not isinstance(r, _C.Tensor) or among(r, ctx._non_differentiable):
                continue
            if r.dtype.is_floating_point or r.dtype.is_complex:
                _C.function_output(ctx, r, i, among(r, ctx._dirty))
    positions = tuple(
        next((i for i, r in enumerate(final) if r is t), -1) if node is not None and t is not None and not among(t, tensors) else -1
        for t in ctx._to_save
    )
    saved, ctx._to_save = tuple(ctx._to_save), None
    ctx._dirty = ()
    _C.function_save(ctx, saved, positions)
    return tuple(final)


def once_differentiable(backward):
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
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
