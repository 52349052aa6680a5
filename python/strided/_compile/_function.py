"""The compiled function: which trace serves a call."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import strided

from .. import _C
from ._explain import Explanation
from ._guards import Guards
from ._replay import Replay, result_of
from ._trace import Call, Trace, Tracer, Untraceable, tensors_in

_all: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()
_MOST_TRACES = 64  # of one function: each new shape makes one


class CompiledFunction:
    """``function``, traced once for each kind of call; later calls of that kind run the trace.

    A kind is: dtypes, shapes, strides, devices and ``requires_grad`` of the tensors, which of them are the same one,
    all other arguments, whether gradients are recorded, the default dtype.
    """

    def __init__(self, function: Callable[..., Any], fullgraph: bool = False, most_traces: int | None = None):
        functools.update_wrapper(self, function, updated=())
        self._strided_original = self._run = function
        self._fullgraph = fullgraph
        self._most_traces = _MOST_TRACES if most_traces is None else most_traces
        self.forget()
        _C._trace_parameter_type(strided.nn.Parameter)
        _all.add(self)

    def forget(self) -> None:
        """Drops the traces."""
        self._traces: dict[bytes, Replay | None] = {}
        self._reasons: dict[bytes | None, str] = {}
        self._breaks: set[bytes] = set()  # kinds of calls that PyTorch would not trace either
        self._guards: Guards | None = None
        self._refusal: str | None = None
        self._refused_last: tuple[bytes, str] = (b"", "")

    def _run_compiled(self, *args: Any, **kwargs: Any) -> Any:
        key = _C._trace_key(args, kwargs)
        replay = self._traces.get(key)
        if replay is not None and self._guards.is_unchanged():
            return replay.run(args, kwargs)
        return self._first_call(key, args, kwargs)

    def _run_as_it_is(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)

    __call__ = _run_compiled

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method: ``self`` is an argument as any other, and is no tensor, so that calls run as they are."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self._strided_original!r}>"

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What becomes of such a call, which is made once if it was not made before.

        >>> f = torch.compile(lambda a, b: (a * b + a).exp())
        >>> print(f.explain(torch.ones(3), torch.ones(3)))
        1 fused program, 0 calls that stay as they are
          fused: mul, add, exp (reads 2 tensors, makes 1; 1 register)
        """
        key = _C._trace_key(args, kwargs)
        if key is None or key not in self._traces or not self._is_current():
            self._first_call(key, args, kwargs, raises=False)
        reason = self._reasons.get(key) or self._refusal
        if self._refused_last[0] == key:
            reason = self._refused_last[1]
        return Explanation(self._traces.get(key), reason)

    def _is_current(self) -> bool:
        return self._guards is not None and self._guards.is_unchanged()

    def _first_call(self, key: bytes | None, args: Any, kwargs: Any, raises: bool = True) -> Any:
        if self._guards is not None and not self._guards.is_unchanged():
            self.forget()
        if self._guards is None and self._refusal is None:
            try:
                self._guards = Guards(self._strided_original)
            except Untraceable as error:
                self._refusal = str(error)
        if self._refusal is not None:
            return self._run(*args, **kwargs)
        if key is None:
            if _C._is_torch_function_mode_enabled():  # somebody else looks on, who is to see the function's own calls
                return self._run(*args, **kwargs)
            self._reasons[None] = "an argument is no tensor, number or text, nor a list, tuple or dict of them"
            return self._run(*args, **kwargs)
        if key in self._traces:
            if self._fullgraph and raises and key in self._breaks:
                _raise_unsupported(self, self._reasons[key])
            return self._run(*args, **kwargs)
        if len(self._traces) >= self._most_traces:
            self._refused_last = key, f"there are {self._most_traces} traces already"
            return self._run(*args, **kwargs)
        return self._traced(key, args, kwargs, raises)

    def _traced(self, key: bytes, args: Any, kwargs: Any, raises: bool) -> Any:
        trace = Trace()
        given = tensors_in((args, kwargs), [])
        for tensor in given:
            trace.variable(tensor)
        shapes = [(t.shape, t.stride()) for t in given]
        captured = self._guards.tensors
        tracer = Tracer(trace, captured)
        with tracer:
            result = self._run(*args, **kwargs)
        reason = tracer.failure
        if tracer.asks_for_values:
            self._breaks.add(key)
        if reason is None and any(id(t) in captured for t in given):
            reason = "an argument is one of the tensors that it reads besides"
        after = tensors_in((args, kwargs), [])
        if reason is None and [id(t) for t in after] != [id(t) for t in given]:
            reason = "it changes an argument that is no tensor"
        if reason is None and [(t.shape, t.stride()) for t in given] != shapes:
            reason = "it changes the shape of an argument"
        if reason is None and not self._guards.is_unchanged():
            reason = "it changes what it reads"
        writes = any(isinstance(node, Call) and node.is_write for node in trace.nodes)
        if reason is None and writes and strided.is_grad_enabled() and any(t.requires_grad for t in trace.tensors):
            reason = "it writes to memory, and gradients are recorded"
        if reason is None:
            try:
                trace.result = result_of(trace, result)
                self._traces[key] = Replay(trace, args, kwargs)
                return result
            except Untraceable as error:
                reason = str(error)
        self._traces[key] = None
        self._reasons[key] = reason
        if self._fullgraph and raises and key in self._breaks:
            _raise_unsupported(self, reason)
        return result


def _raise_unsupported(function: CompiledFunction, reason: str) -> None:
    from .._dynamo.exc import Unsupported

    raise Unsupported(f"compile(fullgraph=True): {function._strided_original!r} cannot be traced: {reason}")


def forget_all() -> None:
    """Drops the traces of all functions."""
    for function in list(_all):
        function.forget()


def set_enabled(enabled: bool) -> None:
    """Whether compiled functions run their traces, or as they are."""
    CompiledFunction.__call__ = CompiledFunction._run_compiled if enabled else CompiledFunction._run_as_it_is
