"""In which order the stages of a rank compute parts of a batch (``strided.distributed.pipelining.schedules``).

A schedule is, for each rank, a list of (what, stage, part).  What a stage needs from another one comes by messages
(stage.py), so any list in which a stage's parts are in order, and none waits for a later one, gives the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from .microbatch import merge_chunks, split_args_kwargs_into_chunks
from .stage import PipelineStage

if TYPE_CHECKING:
    from ..._typing import Any, Callable

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS", "get_schedule_class",
]  # fmt: skip

Action = tuple[str, int, int]  # "F" or "B", the number among this rank's stages, the number of the part


class _Schedule:
    """What all schedules share."""

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None,
        args_chunk_spec: Any,
        kwargs_chunk_spec: Any,
        output_merge_spec: Any,
        scale_grads: bool,
    ) -> None:
        for stage in stages:
            if not isinstance(stage, PipelineStage):
                raise TypeError(f"{type(self).__name__}: a PipelineStage is required, got {type(stage).__name__}")
        if isinstance(n_microbatches, bool) or not isinstance(n_microbatches, int) or n_microbatches < 1:
            raise ValueError(f"{type(self).__name__}: n_microbatches is at least 1, got {n_microbatches!r}")
        self._stages, self._n_microbatches, self._loss_fn = list(stages), n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        for stage in stages:
            stage.has_backward = self._has_backward
            stage._beside = {other.stage_index: other for other in stages if other is not stage}

    def _actions(self) -> list[Action]:
        raise NotImplementedError

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """One batch: forward and, with a loss function, backward. Every rank calls it.

        Args:
            args: of the network, on the rank of the first stage. kwargs: of this rank's stages.
            target: for the loss function, on the rank of the last stage.
            losses: a list that gets the losses of the parts there.
            return_outputs: False: nothing is put together.

        Returns:
            The results of all parts, on the rank of the last stage; None elsewhere.
        """
        return self._run(self._actions(), args, kwargs, target, losses, return_outputs)

    def eval(self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any) -> Any:
        """One batch without backward; as step else."""
        before = self._has_backward
        self._has_backward = False
        try:
            return self._run([a for a in self._actions() if a[0] == "F"], args, kwargs, target, losses, True)
        finally:
            self._has_backward = before

    def _run(self, actions, args, kwargs, target, losses, merges):
        first = any(stage.is_first for stage in self._stages)
        last = any(stage.is_last for stage in self._stages)
        if args and not first:
            raise ValueError(f"{type(self).__name__}.step: arguments are for the rank of the first stage")
        n, call = self._n_microbatches, f"{type(self).__name__}.step"
        spec = self._args_chunk_spec if args else None
        parts, named = split_args_kwargs_into_chunks(args, kwargs, n, spec, self._kwargs_chunk_spec if kwargs else None)
        targets = None
        if last and self._loss_fn is not None:
            if target is None:
                raise ValueError(f"{call}: target is required on the rank of the last stage")
            targets, _ = split_args_kwargs_into_chunks((target,), None, n)
        results, found = [None] * n, [None] * n
        done = [0] * len(self._stages)
        for stage in self._stages:
            stage.clear_runtime_states()
            stage.has_backward = self._has_backward
        for what, number, k in actions:
            stage = self._stages[number]
            if what == "F":
                made = stage.forward_one_chunk(k, parts[k] if stage.is_first else (), named[k])
                if stage.is_last:
                    results[k] = made
                    if targets is not None:
                        found[k] = self._loss_fn(made, targets[k][0])
            else:
                done[number] += 1
                if stage.is_last and not (isinstance(found[k], _C.Tensor) and found[k].numel() == 1):
                    raise RuntimeError(f"{call}: the loss function gives a tensor of one element, got {found[k]!r}")
                scale = 1 / n if self.scale_grads else 1.0
                stage.backward_one_chunk(k, found[k], done[number] == n, scale)
        for stage in self._stages:
            stage.finish()
        if losses is not None and targets is not None:
            losses[:] = [x.detach() for x in found]
        return merge_chunks(results, self._output_merge_spec) if last and merges else None


class PipelineScheduleSingle(_Schedule):
    """Base of schedules with one stage on each rank.

    Args:
        stage: of this rank.
        n_microbatches: into how many parts a batch goes.
        loss_fn: ``loss_fn(results, targets)`` of a part; without one there is no backward.
        args_chunk_spec, kwargs_chunk_spec: a ``TensorChunkSpec`` for each argument; along the first axis if None.
        output_merge_spec: how results of parts are put together; along the first axis if None.
        scale_grads: gradients are means over the parts; else sums.
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            [stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        if stage.num_stages != stage.group_size:
            raise ValueError(
                f"{type(self).__name__}: {stage.num_stages} stages for {stage.group_size} ranks; it has one on each"
            )
        if stage.stage_index_to_group_rank[stage.stage_index] != stage.group_rank:
            raise ValueError(f"{type(self).__name__}: stage {stage.stage_index} is not of rank {stage.group_rank}")
        self._stage, self._num_stages = stage, stage.num_stages


class ScheduleGPipe(PipelineScheduleSingle):
    """All parts forward, then all parts backward."""

    def _actions(self) -> list[Action]:
        n = range(self._n_microbatches)
        return [("F", 0, k) for k in n] + [("B", 0, k) for k in n if self._has_backward]


class Schedule1F1B(PipelineScheduleSingle):
    """One part forward, one backward in turn: a stage keeps as many parts at once as there are stages after it, and
    itself."""

    def _actions(self) -> list[Action]:
        n = self._n_microbatches
        if not self._has_backward:
            return [("F", 0, k) for k in range(n)]
        ahead = min(n, self._num_stages - self._stage.stage_index)
        made: list[Action] = [("F", 0, k) for k in range(ahead)]
        for k in range(n):
            made.append(("B", 0, k))
            if ahead + k < n:
                made.append(("F", 0, ahead + k))
        return made


class PipelineScheduleMulti(_Schedule):
    """Base of schedules with several stages on each rank: rank r of n has the stages r, r + n, r + 2 n and so on.

    Args:
        stages: of this rank, in their order; others as of PipelineScheduleSingle.
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., Any] | None = None,
        args_chunk_spec: Any = None,
        kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        if not isinstance(stages, (list, tuple)):
            raise TypeError(f"{type(self).__name__}: a list of stages is required, got {type(stages).__name__}")
        if not stages:
            raise ValueError(f"{type(self).__name__}: there are no stages")
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        one = stages[0]
        wanted = list(range(one.group_rank, one.num_stages, one.group_size))
        if [stage.stage_index for stage in stages] != wanted or one.num_stages % one.group_size:
            raise ValueError(
                f"{type(self).__name__}: rank {one.group_rank} of {one.group_size} has the stages {wanted} of "
                f"{one.num_stages}, as many as each other rank; got {[stage.stage_index for stage in stages]}"
            )
        self.pp_group_size, self.rank, self._num_stages = one.group_size, one.group_rank, one.num_stages


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Stage by stage: all parts forward; then from the last stage on all parts backward."""

    def _actions(self) -> list[Action]:
        n, stages = range(self._n_microbatches), range(len(self._stages))
        forward = [("F", s, k) for s in stages for k in n]
        return forward + [("B", s, k) for s in reversed(stages) for k in n if self._has_backward]


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """Schedule1F1B for several stages on each rank: groups of parts go through all stages of a rank in turn.

    Raises:
        ValueError: parts do not make equal groups of about as many as there are ranks.
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(stages, n_microbatches, *args, **kwargs)
        self.number_of_rounds = max(1, n_microbatches // self.pp_group_size)
        self.microbatches_per_round = n_microbatches // self.number_of_rounds
        if n_microbatches % self.number_of_rounds:
            raise ValueError(
                f"ScheduleInterleaved1F1B: {n_microbatches} parts for {self.pp_group_size} ranks do not make "
                f"{self.number_of_rounds} equal groups"
            )

    def _actions(self) -> list[Action]:
        size, stages = self.microbatches_per_round, len(self._stages)
        total = self._n_microbatches * stages

        def at(k: int, backward: bool) -> tuple[int, int]:
            number = k // size % stages
            return stages - 1 - number if backward else number, k // (size * stages) * size + k % size

        if not self._has_backward:
            return [("F", *at(k, False)) for k in range(total)]
        ahead = min(total, (stages - 1) * size + 2 * (self.pp_group_size - 1 - self.rank))
        made: list[Action] = [("F", *at(k, False)) for k in range(ahead)]
        for k in range(total):
            if ahead + k < total:
                made.append(("F", *at(ahead + k, False)))
            made.append(("B", *at(k, True)))
        return made


def get_schedule_class(schedule_name: str) -> type:
    """The schedule of this name: "GPipe", "1F1B", "LoopedBFS", "Interleaved1F1B", also with "Schedule" before it.

    ValueError for others.
    """
    if not isinstance(schedule_name, str):
        raise TypeError(f"get_schedule_class: the name of a schedule is a str, got {type(schedule_name).__name__}")
    known = {
        "gpipe": ScheduleGPipe, "1f1b": Schedule1F1B, "loopedbfs": ScheduleLoopedBFS,
        "interleaved1f1b": ScheduleInterleaved1F1B, "pipelineschedulesingle": PipelineScheduleSingle,
        "pipelineschedulemulti": PipelineScheduleMulti,
    }  # fmt: skip
    found = known.get(schedule_name.lower().removeprefix("schedule"))
    if found is None:
        raise ValueError(f"get_schedule_class: there is no schedule {schedule_name!r}; there are {', '.join(known)}")
    return found
