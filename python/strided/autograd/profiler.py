"""Where time and memory go (``strided.autograd.profiler``): a table of the functions that were called, and a trace."""

from __future__ import annotations

import functools
import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .. import _C
from .._as_torch.core_names import absent
from .._calls.once import warn_once

__all__ = [
    "EventList", "FunctionEvent", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function",
]  # fmt: skip

emit_itt = absent("emit_itt", __name__)  # marks for tools of others
emit_nvtx = absent("emit_nvtx", __name__)

_recording = threading.Lock()


class FunctionEvent:
    """One call.

    Attributes:
        name: of the function, of the node of a backward pass, or of a record_function.
        thread: its number.
        begin: seconds on the clock of ``time.monotonic``.
        cpu_time_total: microseconds it took.
        self_cpu_time_total: of these, not in other calls that it made.
        cpu_memory_usage: bytes of the CPU's memory that were allocated meanwhile, less those that were freed.
        self_cpu_memory_usage: of these, not in other calls that it made.
        cpu_parent: the call that made it, or None.
        cpu_children: the calls it made.
        is_user_annotation: whether it is a record_function.
        count: 1.
        device_time_total, self_device_time_total, device_time, device_memory_usage, self_device_memory_usage: 0, since
            nothing is recorded on devices.
    """

    device_time_total = self_device_time_total = device_time = 0.0
    device_memory_usage = self_device_memory_usage = 0

    def __init__(self, name: str, thread: int, begin: int, end: int, memory: int, user: bool) -> None:
        self.name = self.key = name
        self.thread, self.begin, self.is_user_annotation = thread, begin / 1e9, user
        self.cpu_time_total = self.self_cpu_time_total = self.cpu_time = (end - begin) / 1e3
        self.cpu_memory_usage = self.self_cpu_memory_usage = memory
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.count = 1
        self._end = end

    def _adopt(self, child: FunctionEvent) -> None:
        child.cpu_parent = self
        self.cpu_children.append(child)
        self.self_cpu_time_total -= child.cpu_time_total
        self.self_cpu_memory_usage -= child.cpu_memory_usage

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name}: {_time(self.cpu_time_total)}>"


class FunctionEventAvg:
    """All calls of one name.

    Attributes: key, count, cpu_time_total, self_cpu_time_total, cpu_memory_usage, self_cpu_memory_usage: their sums;
    cpu_time: the mean; and those of devices, which are 0.
    """

    device_time_total = self_device_time_total = device_time = 0.0
    device_memory_usage = self_device_memory_usage = 0

    def __init__(self, key: str) -> None:
        self.key, self.count = key, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.is_user_annotation = False

    def add(self, event: FunctionEvent) -> None:
        """Counts a call; the time of one within another of its name only once."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.is_user_annotation = event.is_user_annotation
        outer = event.cpu_parent
        while outer is not None and outer.name != event.name:
            outer = outer.cpu_parent
        if outer is None:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEventAvg {self.key}: {self.count} calls, {_time(self.cpu_time_total)}>"


def _time(us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3f}{unit}"
    return f"{us:.3f}us"


def _bytes(n: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"


_SORTS = ("count", *(name.format(where) for where in ("cpu", "device") for name in (
    "{}_memory_usage", "self_{}_memory_usage", "{}_time", "{}_time_total", "self_{}_time_total",
)))  # fmt: skip
_DEVICES = re.compile("(self_)?(cuda|xpu|privateuse1)_")


class EventList(list[Any]):
    """Calls, or what :meth:`key_averages` makes of them."""

    def __init__(self, events: Iterable[Any], profile_memory: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all of them."""
        return float(sum(e.self_cpu_time_total for e in self))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One row for each name, in the order of the first calls."""
        if group_by_input_shape or group_by_stack_n:
            warn_once("profiler.key_averages", "neither shapes nor stacks are recorded; calls are grouped by name")
        rows: dict[str, FunctionEventAvg] = {}
        for event in self:
            rows.setdefault(event.key, FunctionEventAvg(event.key)).add(event)
        return EventList(rows.values(), self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """The sums over all."""
        total = FunctionEventAvg("Total")
        for e in self:
            total.count += e.count
            total.self_cpu_time_total += e.self_cpu_time_total
            total.self_cpu_memory_usage += e.self_cpu_memory_usage
        total.cpu_time_total, total.cpu_memory_usage = total.self_cpu_time_total, total.self_cpu_memory_usage
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A text of aligned columns: name, own time, time with the calls it made, number of calls.

        Args:
            sort_by: an attribute of FunctionEventAvg, the largest first; None keeps the order. ``cuda`` and its like
                in a name stand for ``device``.
            row_limit: rows at most; -1: all.
            max_src_column_width: unused, as max_shapes_column_width.
            max_name_column_width: longer names are cut; -1: none.
            max_shapes_column_width: unused.
            header: a line above.
            top_level_events_only: leaves out calls within others.
            time_unit: unused; each time has the unit that fits it.

        Raises:
            ValueError: an unknown sort_by.
        """
        if sort_by is not None:
            sort_by = _DEVICES.sub(r"\1device_", sort_by, count=1)
        if sort_by is not None and sort_by not in _SORTS:
            raise ValueError(f"table: sort_by must be one of {', '.join(_SORTS)}, got {sort_by!r}")
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None))]
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        rows = rows if row_limit < 0 else rows[:row_limit]
        whole = self.self_cpu_time_total
        heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        heads += ["CPU Mem", "Self CPU Mem"] * self._profile_memory + ["# of Calls"]
        lines = [heads, *(self._row(e, whole, max_name_column_width) for e in rows)]
        widths = [max(12 if i else 4, *(len(line[i]) for line in lines)) for i in range(len(heads))]
        rule = "  ".join("-" * w for w in widths)
        texts = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in lines]
        top = [] if header is None else [header]
        return "\n".join([*top, rule, texts[0], rule, *texts[1:], rule, f"Self CPU time total: {_time(whole)}", ""])

    def _row(self, e: Any, whole: float, most: int) -> list[str]:
        name = e.key if most < 0 or len(e.key) <= most else e.key[: max(most - 3, 0)] + "..."
        share = [f"{100 * t / whole if whole else 0:.2f}%" for t in (e.self_cpu_time_total, e.cpu_time_total)]
        memory = [_bytes(e.cpu_memory_usage), _bytes(e.self_cpu_memory_usage)] * self._profile_memory
        return [
            name, share[0], _time(e.self_cpu_time_total), share[1], _time(e.cpu_time_total), _time(e.cpu_time),
            *memory, str(e.count),
        ]  # fmt: skip

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the calls as a file for chrome://tracing or ui.perfetto.dev (Trace Event Format, complete events)."""
        events = [
            {
                "ph": "X",
                "cat": "user_annotation" if e.is_user_annotation else "cpu_op",
                "name": e.name,
                "pid": os.getpid(),
                "tid": e.thread,
                "ts": e.begin * 1e6,
                "dur": e.cpu_time_total,
                "args": {"bytes": e.cpu_memory_usage},
            }
            for e in self
        ]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def __str__(self) -> str:
        return self.table()


def _events(raw: list[tuple[str, int, int, int, int, bool]]) -> list[FunctionEvent]:
    """The calls in the order in which they began, each with the calls it made."""
    found = [FunctionEvent(*row) for row in sorted(raw, key=lambda row: (row[2], -row[3]))]
    open_calls: dict[int, list[FunctionEvent]] = {}
    for event in found:
        calls = open_calls.setdefault(event.thread, [])
        while calls and calls[-1]._end < event._end:
            calls.pop()
        if calls:
            calls[-1]._adopt(event)
        calls.append(event)
    return found


class profile:
    """Context that records which functions are called, how long they take, and what memory they take.

    Times are those of the calling thread: a CUDA device may still be busy with what was queued.

    Args:
        enabled: False records nothing.
        use_cuda: unused, as all that follow but profile_memory: there is a warning where something is asked for.
        use_device: unused.
        record_shapes: unused.
        with_flops: unused.
        profile_memory: whether tables have columns for memory.
        with_stack: unused.
        with_modules: unused.

    Raises:
        RuntimeError: another profiler records (when it is entered), or nothing was recorded yet.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(3).exp() + 1
    >>> [(row.key, row.count) for row in prof.key_averages()]
    [('ones', 1), ('exp', 1), ('add', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        **options: Any,
    ) -> None:
        asked = {
            "use_cuda": use_cuda, "use_device": use_device, "record_shapes": record_shapes, "with_flops": with_flops,
            "with_stack": with_stack, "with_modules": with_modules,
        }  # fmt: skip
        for name, value in asked.items():
            if value:
                warn_once(f"profile({name}=...)", "names, times and memory are recorded, and nothing else")
        self.enabled, self.profile_memory = enabled, profile_memory
        self.function_events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if not _recording.acquire(blocking=False):
                raise RuntimeError("Profiler is already enabled: one profiler records at a time")
            _C.profile_start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.enabled:
            raw = _C.profile_stop()
            _recording.release()
            self.function_events = EventList(_events(raw), self.profile_memory)

    def _recorded(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One row for each name."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """The sums over all calls."""
        return self._recorded().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all calls."""
        return self._recorded().self_cpu_time_total

    def table(self, *args: Any, **kwargs: Any) -> str:
        """EventList.table() of all calls."""
        return self._recorded().table(*args, **kwargs)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """EventList.export_chrome_trace()."""
        self._recorded().export_chrome_trace(path)

    def __str__(self) -> str:
        return "<unfinished profiler>" if self.function_events is None else str(self.function_events)

    __repr__ = __str__


class record_function:
    """Context and decorator: a part of the program that has a row of its own, with the calls in it.

    Args:
        name: of the row.
        args: unused.

    >>> with torch.autograd.profiler.profile() as prof, torch.autograd.profiler.record_function("my part"):
    ...     y = torch.ones(3)
    >>> prof.function_events[0]  # doctest: +ELLIPSIS
    <FunctionEvent my part: ...>
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        self._began = _C.profile_begin(str(self.name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._began:
            _C.profile_end()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped
