"""A part of a network that one rank computes (``strided.distributed.pipelining.stage``).

Note [What travels between stages]
The results of a stage are the inputs of the next one.  Each set of tensors is a header, which says their dtypes,
shapes, and which want a gradient, and then the tensors.  Sends go on while the stage computes; a receive waits.  The
messages of a stage have their own tag for each direction, and parts of a batch come in their order, so nothing is
mistaken for something else.  Stages of one rank hand tensors on without messages.
"""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING

from ... import _C
from ...autograd import backward as run_backward
from ...autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = ["PipelineStage"]

_f = _C.functions
_HEADER = (
    256  # numbers of a header: its length, then kind, whether a gradient is wanted, number of axes, sizes, of each
)
_KINDS = [d for _, d in sorted((str(d), d) for d in vars(_C).values() if _C.is_dtype(d))]


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


class PipelineStage:
    """A part of a network, on one rank of a pipeline (Note [What travels between stages]).

    Args:
        submodule: its modules. Inputs and results are tensors, or tuples of them; the first stage takes anything.
        stage_index: its place, from 0; on rank ``stage_index % ranks`` of the group, unless a schedule says otherwise.
        num_stages: how many there are; at least as many as ranks.
        device: where its tensors live.
        input_args, output_args: not used: shapes travel with the tensors.
        group: the ranks of the pipeline; the default group if None.

    Raises:
        RuntimeError: fewer stages than ranks.
        ValueError: there is no stage of this number.
    """

    def __init__(
        self,
        submodule: Any,
        stage_index: int,
        num_stages: int,
        device: Any,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Any] | None = None,
    ) -> None:
        from .._groups import resolve

        if stage_index >= num_stages or stage_index < 0:
            raise ValueError(f"PipelineStage: stage {stage_index} is out of range of {num_stages}")
        if dw_builder is not None:
            raise NotImplementedError("PipelineStage: dw_builder, of schedules without bubbles, is not there")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = _C.device(device)
        pg = resolve(group)
        if pg is None:
            raise ValueError("PipelineStage: this rank is not in its group")
        self.group = pg
        self.group_rank, self.group_size = pg.rank(), pg.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"PipelineStage: {self.group_size} ranks for {num_stages} stages: there are no more ranks"
            )
        self.stage_index_to_group_rank = {i: i % self.group_size for i in range(num_stages)}
        self.has_backward = False
        self._comm = pg.communicator
        self._beside: dict[int, PipelineStage] = {}  # stages of this rank, by number
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether it is the first stage."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether it is the last stage."""
        return self.stage_index == self.num_stages - 1

    def clear_runtime_states(self) -> None:
        """Forgets the parts of the last batch."""
        self._kept: dict[int, tuple[Any, Any]] = {}  # (inputs, results) of each part, for backward
        self._sending: list[Any] = []
        self._handed: dict[bool, Any] = {True: collections.deque(), False: collections.deque()}

    # ------------------------------------------------------------ messages

    def _send(self, tensors: list[Tensor], to: int, forward: bool) -> None:
        """Gives tensors to another stage: results forward, gradients backward."""
        if to in self._beside:
            flags = [t.requires_grad for t in tensors]
            self._beside[to]._handed[forward].append(([t.detach() for t in tensors], flags))
            return
        words = [0]
        for t in tensors:
            words += [_KINDS.index(t.dtype), int(t.requires_grad), t.ndim, *t.shape]
        words[0] = len(tensors)
        if len(words) > _HEADER:
            raise NotImplementedError(f"PipelineStage: {len(tensors)} tensors between two stages are too many")
        header = _C.tensor_from_object(words + [0] * (_HEADER - len(words)), _C.int64)
        peer, tag = self.stage_index_to_group_rank[to], 2 * to + forward
        for t in (header, *tensors):
            kept = t.detach()
            self._sending.append((kept, self._comm.isend(kept, peer, tag)))

    def _receive(self, source: int, forward: bool) -> tuple[list[Tensor], list[bool]]:
        """(tensors of another stage, which of them want a gradient)"""
        if source in self._beside:
            if not self._handed[forward]:
                raise RuntimeError(
                    f"PipelineStage: stage {self.stage_index} waits for stage {source} of the same rank, which comes later"
                )
            return self._handed[forward].popleft()
        peer, tag = self.stage_index_to_group_rank[source], 2 * self.stage_index + forward
        header = _f["empty"](_HEADER, dtype=_C.int64)
        self._comm.recv(header, peer, tag)
        words = iter(header.tolist())
        tensors, flags = [], []
        for _ in range(next(words)):
            kind, wants, ndim = next(words), next(words), next(words)
            shape = [next(words) for _ in range(ndim)]
            t = _f["empty"](shape, dtype=_KINDS[kind], device=self.device)
            self._comm.recv(t, peer, tag)
            tensors.append(t)
            flags.append(bool(wants))
        return tensors, flags

    def finish(self) -> None:
        """Waits until the others have what this stage sent."""
        sending, self._sending = self._sending, []
        for _, request in sending:
            request.wait()

    # ------------------------------------------------------------ parts of a batch

    def forward_one_chunk(self, fwd_chunk_id: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        """Computes one part of a batch.

        Args:
            fwd_chunk_id: its number.
            args: of the first stage; others get the results of the one before.
            kwargs: of this stage.

        Returns:
            What the module gave.
        """
        if self.is_first:
            inputs = tuple(args)
        else:
            if args:
                raise ValueError(f"PipelineStage: arguments are for the first stage, this is stage {self.stage_index}")
            tensors, flags = self._receive(self.stage_index - 1, True)
            inputs = tuple(t.requires_grad_(wants and self.has_backward) for t, wants in zip(tensors, flags))
        if fwd_chunk_id == 0 and getattr(self.submod, "will_sync_module_buffers", bool)():
            self.submod._from_first(list(self.submod.module.buffers()))  # of DistributedDataParallel
        with contextlib.nullcontext() if self.has_backward else no_grad():
            made = self._module()(*inputs, **(kwargs or {}))
        if not self.is_last:
            results = _tuple(made)
            for t in results:
                if not isinstance(t, _C.Tensor):
                    raise TypeError(
                        f"PipelineStage: stage {self.stage_index} gives a {type(t).__name__}; between stages go tensors"
                    )
            self._send(list(results), self.stage_index + 1, True)
        if self.has_backward:
            self._kept[fwd_chunk_id] = inputs, made
        return made

    def backward_one_chunk(
        self, bwd_chunk_id: int, loss: Any = None, last_backward: bool = True, scale: float = 1.0
    ) -> None:
        """Adds the gradients of one part of a batch to the parameters', and gives those of the inputs to the stage
        before.

        Args:
            loss: of the last stage. last_backward: whether no other part comes in this batch: with a module that
                averages gradients over ranks, this is when it does. scale: a factor for the gradients of the loss.
        """
        if bwd_chunk_id not in self._kept:
            raise RuntimeError(f"PipelineStage: no forward of part {bwd_chunk_id} in stage {self.stage_index}")
        inputs, made = self._kept.pop(bwd_chunk_id)
        with self._averages(last_backward):
            if self.is_last:
                run_backward([loss], [_f["full_like"](loss.detach(), scale)])
            else:
                results = [t for t in _tuple(made) if t.requires_grad]
                gradients, _ = self._receive(self.stage_index + 1, False)
                if len(gradients) != len(results):
                    raise RuntimeError(
                        f"PipelineStage: stage {self.stage_index} gave {len(results)} results that want gradients, and got "
                        f"{len(gradients)} gradients"
                    )
                if results:
                    run_backward(results, gradients)
        if not self.is_first:
            wanted = [t for t in inputs if t.requires_grad]
            back = [_f["zeros_like"](t.detach()) if t.grad is None else t.grad for t in wanted]
            self._send(back, self.stage_index - 1, False)

    def _module(self) -> Any:
        """What computes: of DistributedDataParallel the module inside, for _averages averages."""
        from ...nn.parallel import DistributedDataParallel

        return self.submod.module if isinstance(self.submod, DistributedDataParallel) else self.submod

    @contextlib.contextmanager
    def _averages(self, last: bool) -> Any:
        """Context of a backward: only the last of a batch averages gradients over ranks that have the same stage."""
        from ...nn.parallel import DistributedDataParallel
        from ..fsdp._fully_shard import Sharding

        if isinstance(self.submod, DistributedDataParallel):
            yield
            if last and self.submod.require_backward_grad_sync:
                self.submod.reducer.average()
            return
        states = [m._fully_sharded for m in self.submod.modules() if isinstance(m, Sharding)]
        before = [state.averages for state in states]
        for state in states:
            state.averages = state.averages and last
        try:
            yield
        finally:
            for state, averages in zip(states, before):
                state.averages = averages
