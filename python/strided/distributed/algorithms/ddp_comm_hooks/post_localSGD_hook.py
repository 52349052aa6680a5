"""Gradients averaged over all ranks at first, later over those of one machine (``post_localSGD_hook``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import default_hooks

if TYPE_CHECKING:
    from ...._typing import Any
    from ....nn.parallel._reducer import GradBucket

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What the hook knows.

    Args:
        process_group: whose ranks average at first; the default group if None.
        subgroup: whose ranks average later; those of this machine if None.
        start_localSGD_iter: from which step on.
        post_local_gradient_allreduce: False: nothing is averaged then.
    """

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Any:
    """The average over all ranks before the step ``state.start_localSGD_iter``, over a few from then on; parameters are
    averaged by ``PostLocalSGDOptimizer``."""
    from ... import _groups
    from .debugging_hooks import noop_hook

    late = state.iter >= state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if not late:
        return default_hooks.allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup = _groups.new_subgroups()[0]
    return default_hooks.allreduce_hook(state.subgroup, bucket)
