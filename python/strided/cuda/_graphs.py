"""Work that is captured once and then done again: CUDA's graphs."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

from .. import _C
from . import _streams
from ._device import current_device, is_current_stream_capturing, synchronize
from ._memory import empty_cache

if TYPE_CHECKING:
    from types import TracebackType

    from .._typing import Any

_f = _C.functions
_MODES = ("global", "thread_local", "relaxed")


class _Pool:
    """Memory of graphs, until the last one that uses it is gone."""

    def __init__(self) -> None:
        self.number = _f["_cuda_new_pool"]()
        self._end = weakref.finalize(self, _give_up, self.number)
        self._end.atexit = False


def _give_up(number: int) -> None:
    _f["_cuda_give_up_pool"](number)


_pools: weakref.WeakValueDictionary[tuple[int, int], _Pool] = weakref.WeakValueDictionary()
_asked_for: list[_Pool] = []  # by graph_pool_handle: nobody says when they are needed no more


def graph_pool_handle() -> tuple[int, int]:
    """A token for memory that several graphs share: the ``pool`` of their captures."""
    pool = _Pool()
    _asked_for.append(pool)
    _pools[pool.number, 0] = pool
    return pool.number, 0


def _refuse_host_counters(optimizer: Any, args: Any, kwargs: Any) -> None:
    from ..optim.optimizer import refuse_host_counters

    if is_current_stream_capturing():
        refuse_host_counters(optimizer, args, kwargs)


class CUDAGraph:
    """Work of a device, captured once and done again by :meth:`replay`, without Python.

    Use :class:`graph` to capture.  What a capture reads and writes stays where it is: a new batch is copied into the
    tensor that was read, and results are the tensors of the capture, written anew by each replay.  Their memory, and
    all that was asked for meanwhile, is the graph's until :meth:`reset`.  Numbers that Python computed are those of the
    capture; an optimizer that counts its steps on the host raises ``NotImplementedError`` there, SGD does not count.
    Random numbers come from the default generator, and are other ones in each replay.  Nothing may be read while work
    is captured, nor copied between host and device: RuntimeError.  Run the work once or twice before it is captured,
    on another stream than the default one: libraries make their plans, and kernels are loaded, at the first call.

    keep_graph: accepted, and without effect.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self._graph, self._used, self._first, self._device = 0, 0, 0, -1
        self._pool: _Pool | None = None
        self._hook: Any = None

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        """Captures what comes into the current stream from here on, which must not be the default one.

        pool: of another graph, or from graph_pool_handle().  capture_error_mode: whether calls that a capture does not
        have, such as to allocate memory by other libraries, are errors in all threads ("global"), in this one
        ("thread_local") or in none ("relaxed").
        """
        if self._graph or self._hook:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph. To capture a new graph, create "
                               "a new instance.")  # fmt: skip
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        from ..optim.optimizer import register_optimizer_step_pre_hook

        shared = _Pool() if pool is None else _pools.get(tuple(pool))
        if shared is None:
            raise RuntimeError(f"capture_begin: there is no pool {pool}")
        device = current_device()
        self._first = _f["_cuda_begin_capture"](device, _MODES.index(capture_error_mode), shared.number)
        self._pool, self._device = shared, device
        _pools[shared.number, 0] = shared
        self._hook = register_optimizer_step_pre_hook(_refuse_host_counters)

    def capture_end(self) -> None:
        """Ends the capture.  RuntimeError if something was done that cannot be captured."""
        if self._hook is None:
            raise RuntimeError("capture_end: capture_begin was not called")
        self._hook.remove()
        self._hook = None
        try:
            self._graph, self._used = _f["_cuda_end_capture"](self._device, self._first)
        except BaseException:
            self._pool = None
            raise

    def instantiate(self) -> None:
        """Nothing: the graph is made ready when the capture ends."""

    def replay(self) -> None:
        """Does the captured work again, in the current stream."""
        if not self._graph:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        _f["_cuda_launch_graph"](self._graph, self._device, self._used)

    def reset(self) -> None:
        """Lets the graph go, when its work is done, and its memory if no other graph shares it."""
        graph, self._graph = self._graph, 0
        if graph:
            _f["_cuda_free_graph"](graph)
            self._pool = None

    def pool(self) -> tuple[int, int]:
        """A token for this graph's memory, for captures that share it.

        They must be replayed in the order in which they were captured, and never at the same time.
        """
        if self._pool is None:
            raise RuntimeError("CUDAGraph.pool: nothing was captured")
        return self._pool.number, 0

    def __del__(self) -> None:
        try:
            self.reset()
        except (AttributeError, RuntimeError):  # __init__ raised; the process ends
            pass


class graph:  # noqa: N801  (PyTorch's name)
    """Context in which work is captured into a :class:`CUDAGraph`.

    pool: of another graph, or from graph_pool_handle().  stream: that captures; None: one that all captures share.

    ::

        x, g = torch.zeros(2, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = x + 1
        x.fill_(4)
        g.replay()  # y is [5, 5]
    """

    default_capture_stream: _streams.Stream | None = None

    def __init__(
        self,
        cuda_graph: CUDAGraph,
        pool: tuple[int, int] | None = None,
        stream: _streams.Stream | None = None,
        capture_error_mode: str = "global",
    ) -> None:
        if stream is None and type(self).default_capture_stream is None:
            type(self).default_capture_stream = _streams.Stream()
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode
        self.capture_stream = type(self).default_capture_stream if stream is None else stream
        self._use = _streams.stream(self.capture_stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._use.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self._use.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.cuda_graph.capture_end()
        except RuntimeError:
            if error is None:
                raise
        finally:
            self._use.__exit__(kind, error, trace)
        if error is not None:
            self.cuda_graph.reset()
