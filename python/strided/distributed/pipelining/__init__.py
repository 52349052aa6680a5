"""A network in stages on several ranks, which work on parts of a batch at once (``strided.distributed.pipelining``).

Y. Huang et al., "GPipe", NeurIPS 2019; D. Narayanan et al., "PipeDream", SOSP 2019, and "Efficient Large-Scale Language
Model Training on GPU Clusters", SC 2021.

>>> def program():
...     from strided.distributed.pipelining import PipelineStage, Schedule1F1B
...     strided.distributed.init_process_group()
...     rank = strided.distributed.get_rank()
...     strided.manual_seed(0)
...     net = strided.nn.Sequential(strided.nn.Linear(3, 4), strided.nn.Tanh(), strided.nn.Linear(4, 2))
...     x, y = strided.randn(8, 3), strided.randn(8, 2)
...     part = net[:2] if rank == 0 else net[2:]
...     schedule = Schedule1F1B(PipelineStage(part, rank, 2, "cpu"), 4, loss_fn=strided.nn.functional.mse_loss)
...     made = schedule.step(x) if rank == 0 else schedule.step(target=y)
...     return None if made is None else bool(strided.allclose(made, net(x)))
>>> strided.distributed.simulate(2, program)
[None, True]
"""

from __future__ import annotations

from . import microbatch as microbatch
from . import schedules as schedules
from . import stage as stage
from .schedules import Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleLoopedBFS
from .stage import PipelineStage

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleLoopedBFS"]
