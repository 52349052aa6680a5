"""Steps that are recorded once and then done again: :class:`Graph`."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from strided._C import functions as _functions
from strided.optim.optimizer import refuse_host_counters, register_optimizer_step_pre_hook

__all__ = ["Graph"]


class Graph:
    """A step of an XLA device that is recorded once and then done again, without Python and without recording.

    It is used as ``torch.accelerator.Graph`` is, without memory pools and dumps. Operations between
    :meth:`capture_begin` and :meth:`capture_end` (or in ``with graph:``) are recorded and not run; :meth:`replay` runs
    them with what their tensors hold then, and writes to the tensors that they wrote to. As with CUDA's graphs:

    - tensors keep their places: a new batch is copied into the tensor that the step reads;
    - results are the tensors of the capture (``loss``, ``p.grad``), written anew by each replay; before the first
      one they hold zeros;
    - numbers that Python computed (a learning rate) are those of the capture. An optimizer that counts its steps on the
      host raises ``NotImplementedError``; SGD does not count;
    - nothing may be read while a step is captured (``item``, ``print``, ``if``): RuntimeError.

    Random numbers come from the default generator, and are other ones in each replay. Memory of the tensors is kept as
    long as the graph.

    Args:
        keep_graph, pool, capture_error_mode: accepted, and without effect.
        device: the XLA device, by its number.

    >>> import strided, strided_xla
    >>> x = strided.zeros(2, device="xla")
    >>> graph = strided_xla.Graph()
    >>> with graph:
    ...     y = x + 1
    >>> _ = x.fill_(4)
    >>> graph.replay()
    >>> y
    tensor([5., 5.], device='xla:0')
    """

    def __init__(
        self, keep_graph: bool = False, *, pool: Any = None, capture_error_mode: str = "default", device: int = 0
    ) -> None:
        self._device, self._step, self._hook = int(device), None, None

    def capture_begin(self) -> None:
        """Runs what was recorded before, and records for this graph from here on.

        Raises:
            RuntimeError: a step is captured already, or this graph holds one (see :meth:`reset`).
        """
        if self._step is not None:
            raise RuntimeError("Graph.capture_begin: it holds a captured step; call reset() first")
        _functions["_xla_capture_begin"](self._device)
        self._hook = register_optimizer_step_pre_hook(refuse_host_counters)

    def _end_hook(self) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def capture_end(self) -> None:
        """Compiles what was recorded. Tensors hold what they held before; new ones hold zeros until :meth:`replay`."""
        if self._hook is None:
            raise RuntimeError("Graph.capture_end: capture_begin was not called")
        self._end_hook()
        try:
            self._step = _functions["_xla_capture_end"](self._device)
        except BaseException:
            _functions["_xla_capture_abandon"]()
            raise

    def instantiate(self) -> None:
        """Nothing: the program is compiled when the capture ends."""

    def replay(self) -> None:
        """Starts the step, and waits for nothing: who reads a result waits.

        Raises:
            RuntimeError: nothing was captured, or another step is being captured.
        """
        if self._step is None:
            raise RuntimeError("Graph.replay: nothing was captured")
        _functions["_xla_replay"](self._step)

    def reset(self) -> None:
        """Lets the captured step go, and the memory that is kept for it."""
        step, self._step = self._step, None
        if step is not None:
            _functions["_xla_forget"](step)

    def __enter__(self) -> None:
        self.capture_begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return self.capture_end()
        self._end_hook()
        _functions["_xla_capture_abandon"]()

    def __del__(self) -> None:
        try:
            self.reset()
        except AttributeError:  # __init__ raised
            pass
