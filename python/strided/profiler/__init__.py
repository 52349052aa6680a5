"""Where time and memory go, in steps (``strided.profiler``)."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .._as_torch import places as _places
from .._calls.once import warn_once
from ..autograd import profiler as _profiler
from ..autograd.profiler import record_function

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip

__getattr__ = _places.modules_of("profiler")


class ProfilerActivity(enum.Enum):
    """What is recorded: calls on the CPU; others are not."""

    CPU = 0
    CUDA = 1
    XPU = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What happens in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """False: the recorder is strided's own."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """``{ProfilerActivity.CPU}``."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """The actions of steps in turn: `wait` of none, `warmup`, `active` that are recorded, of which the last is handed
    over; and again.

    Args:
        wait: steps.
        warmup: steps.
        active: steps; at least 1.
        repeat: how often; 0: without end.
        skip_first: steps before all that.
        skip_first_wait: not 0: the first time nothing is waited for.

    Returns:
        The number of a step to its action.

    >>> [torch.profiler.schedule(wait=1, warmup=0, active=2)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise AssertionError("Invalid profiler schedule arguments: steps must not be negative, and active not 0")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative, got {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: writes a trace into a folder, where TensorBoard looks for it.

    Args:
        dir_name: the folder, which is made.
        worker_name: the beginning of the file's name; the machine's and the process's if None.
        use_gzip: whether to compress the file.
    """

    def handle(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".json.gz" if use_gzip else ".json"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace{end}"))

    return handle


class profile:
    """Context that records calls, all of them or in some steps: ``autograd.profiler.profile`` with a schedule.

    Args:
        activities: what to record; other than the CPU there is nothing, which one warning says.
        schedule: the number of a step to its action; None records all.
        on_trace_ready: called with this object when a recording is complete.
        record_shapes: unused, with a warning, as with_stack, with_flops and with_modules.
        profile_memory: whether tables have columns for memory.
        with_stack: unused.
        with_flops: unused.
        with_modules: unused.
        experimental_config: unused.
        execution_trace_observer: unused.
        acc_events: whether the calls of all recordings are kept, or those of the last.

    >>> with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
    ...     y = torch.ones(3).exp()
    >>> [row.key for row in prof.key_averages()]
    ['ones', 'exp']
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        **options: Any,
    ) -> None:
        asked = set(activities or (ProfilerActivity.CPU,))
        if not asked <= set(ProfilerActivity):
            raise AssertionError(f"profile: activities must be of ProfilerActivity, got {asked}")
        if asked != {ProfilerActivity.CPU}:
            warn_once("profiler.profile(activities=...)", "only calls on the CPU are recorded")
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready, self.step_num = on_trace_ready, 0
        self._options = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules,
        }  # fmt: skip
        self._accumulate = acc_events
        self._recorder: Any = None  # of the recording in progress, then of the last
        self._before: list[Any] = []
        self.current_action = ProfilerAction.NONE
        self._recording = False

    # ------------------------------------------------------------ steps

    def start(self) -> None:
        """Begins with step 0."""
        self._begin(self.schedule(self.step_num))

    def stop(self) -> None:
        """Ends; a recording that is in progress is complete."""
        if self._recording:
            self._end(hand_over=True)
        self.current_action = ProfilerAction.NONE

    def step(self) -> None:
        """The next step begins."""
        self.step_num += 1  # on_trace_ready sees the number of the step that begins
        if self._recording and self.current_action is ProfilerAction.RECORD_AND_SAVE:
            self._end(hand_over=True)
        self._begin(self.schedule(self.step_num))

    def _begin(self, action: ProfilerAction) -> None:
        recorded = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recorded and not self._recording:
            if self._accumulate and self._recorder is not None:
                self._before += self._recorder.function_events
            self._recorder = _profiler.profile(**self._options)
            self._recorder.__enter__()
            self._recording = True
        elif not recorded and self._recording:
            self._end(hand_over=False)
        self.current_action = action

    def _end(self, hand_over: bool) -> None:
        self._recorder.__exit__(None, None, None)
        self._recording = False
        if hand_over and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------ results

    def events(self) -> _profiler.EventList:
        """The calls of the last recording (of all with acc_events). AssertionError if there is none."""
        if self._recorder is None or self._recorder.function_events is None:
            raise AssertionError("Profiler must be initialized, and a recording complete, before events are there")
        return _profiler.EventList(
            [*self._before, *self._recorder.function_events], bool(self._options["profile_memory"])
        )

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> _profiler.EventList:
        """One row for each name; ``.table()`` makes a text of them."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Writes a file for chrome://tracing or ui.perfetto.dev; compressed if its name ends in ``.gz``."""
        if not str(path).endswith(".gz"):
            self.events().export_chrome_trace(path)
            return
        import gzip
        import shutil

        plain = str(path)[: -len(".gz")]
        self.events().export_chrome_trace(plain)
        with open(plain, "rb") as source, gzip.open(path, "wb") as target:
            shutil.copyfileobj(source, target)
        os.remove(plain)
