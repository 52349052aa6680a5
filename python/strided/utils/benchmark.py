"""Timing of snippets: :class:`Timer` measures, :class:`Measurement` holds, :class:`Compare` tabulates.

>>> import strided as torch
>>> import strided.utils.benchmark as benchmark
>>> t = benchmark.Timer("A @ B", globals={"A": torch.rand(64, 64), "B": torch.rand(64, 64)})
>>> print(t.timeit(100))                                                        # doctest: +SKIP
<strided.utils.benchmark.Measurement object at 0x7f395b6ac110>
A @ B
  6.52 us
  1 measurement, 100 runs , 1 thread
"""

from __future__ import annotations

import enum
import math
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from time import perf_counter
from typing import Any

import strided

__all__ = ["Timer", "TaskSpec", "Measurement", "Compare", "Language", "timer", "select_unit"]

# A spread (interquartile range / median) from which a measurement carries a warning, and from which a stronger one.
_SPREAD_WARN = 0.1
_SPREAD_GROSS = 0.25
# Standard normal quantile of a two-sided 90 % interval.
_Z90 = 1.645
# No clock here is good for less than this, however small the scatter; nor for more digits than this.
_MIN_INTERVAL = 25e-9
_MAX_DIGITS = 5

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def timer() -> float:
    """Seconds on the clock, after the work queued on the current CUDA device, if CUDA is in use, is done."""
    if strided.cuda.is_initialized():
        strided.cuda.synchronize()
    return perf_counter()


def select_unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time reads best, and its length in seconds.

    >>> select_unit(0.002)
    ('ms', 0.001)
    """
    for name, scale in _UNITS:
        # A hair of slack, so that a millisecond measured as 0.99999999 ms is called one.
        if seconds >= scale * (1 - 1e-7):
            return name, scale
    return _UNITS[-1]


def _quantile(ordered: list[float], q: float) -> float:
    """Quantile of sorted numbers by linear interpolation between the two next to position ``q * (n - 1)``."""
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def _trim(x: float, digits: int) -> float:
    """``x`` to so many significant decimal digits.

    >>> _trim(3.14159, 2)
    3.1
    """
    return float(f"{x:.{digits - 1}e}")


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Runs a block with this size of strided's thread pool."""
    before = strided.get_num_threads()
    strided.set_num_threads(count)
    try:
        yield
    finally:
        strided.set_num_threads(before)


class Language(enum.Enum):
    """What a :class:`Timer` times: only Python here."""

    PYTHON = 0
    CPP = 1


@dataclass(frozen=True, repr=True)
class TaskSpec:
    """What a :class:`Timer` was told to time: everything but the globals."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement; with the sub-label."""
        if self.label is None and "\n" in self.stmt:
            sub = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{sub}\n{textwrap.indent(self.stmt, '  ')}"
        sub = f": {self.sub_label}" if self.sub_label else ""
        return (self.stmt if self.label is None else self.label) + sub

    def setup_str(self) -> str:
        """``setup: ...`` on one line or, indented, on more; empty where there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, a line each; a part of several lines is followed by a blank one."""
        parts = [p for p in (self.title, self.description or "", self.setup_str()) if p]
        return "\n".join(p + "\n" if "\n" in p else p for p in parts)


_TASK_FIELDS = frozenset(f.name for f in fields(TaskSpec))


@dataclass(repr=False)
class Measurement:
    """The times of one task.

    Attributes:
        number_per_run: how often the statement ran for each time.
        raw_times: seconds each run of ``number_per_run`` took.
        task_spec: what was timed; its fields can be read here too (``m.label``, ``m.num_threads``).
        metadata: whatever the user wants to keep with it.

    >>> m = Measurement(10, [1e-3, 3e-3, 2e-3], TaskSpec("f()", "pass"))
    >>> round(m.median * 1e6), round(m.mean * 1e6), round(m.iqr * 1e6)
    (200, 200, 100)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _TASK_FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """Seconds of one execution of the statement, one for each run."""
        return [t / self.number_per_run for t in self.raw_times]

    @cached_property
    def _sorted(self) -> list[float]:
        if not self.raw_times:
            raise ValueError("Measurement: at least one time is required, got none")
        return sorted(self.times)

    @property
    def mean(self) -> float:
        return math.fsum(self._sorted) / len(self._sorted)

    @property
    def median(self) -> float:
        return _quantile(self._sorted, 0.5)

    @property
    def iqr(self) -> float:
        """Interquartile range: the length of the interval that holds the middle half of the times."""
        return _quantile(self._sorted, 0.75) - _quantile(self._sorted, 0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be believed: 1 to 5.

        From the width of a 90 % confidence interval, by the normal approximation over the middle half of the times,
        which keeps a few disturbed runs from deciding.
        """
        n = len(self._sorted)
        middle = self._sorted[n // 4 : math.ceil(3 * n / 4)]
        centre = math.fsum(middle) / len(middle)
        deviation = math.sqrt(math.fsum((t - centre) ** 2 for t in middle) / len(middle))
        interval = max(_Z90 * deviation / math.sqrt(len(middle)), _MIN_INTERVAL)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MAX_DIGITS)

    def meets_confidence(self, threshold: float = _SPREAD_WARN) -> bool:
        """Whether the interquartile range is under this fraction of the median."""
        return self.iqr / self.median < threshold

    @property
    def _warnings(self) -> list[str]:
        if self.meets_confidence():
            return []
        gross = not self.meets_confidence(_SPREAD_GROSS)
        meaning = "suggests significant environmental influence" if gross else "could indicate system fluctuation"
        spread = self.iqr / self.median * 100
        return [
            f"  WARNING: Interquartile range is {spread:.1f}% of the median measurement.",
            f"           This {meaning}.",
        ]

    @property
    def has_warnings(self) -> bool:
        """Whether the times scatter so much that the median should not be relied on."""
        return bool(self._warnings)

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What :class:`Compare` calls this row: the sub-label, or else the statement."""
        return self.sub_label or self.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        n, threads = len(self._sorted), self.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}")
        if n >= 4:
            low, high = (_quantile(self._sorted, q) / scale for q in (0.25, 0.75))
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        per_run = "per measurement," if n > 1 else ","
        lines.append(
            f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs {per_run} "
            f"{threads} thread{'s' if threads > 1 else ''}"
        )
        return "\n".join(lines + self._warnings)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task among them, with all its times taken per execution."""
        groups: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, task) for task, times in groups.items()]


def _tidy(code: str) -> str:
    """A snippet without common indentation, leading line feed and trailing blanks."""
    code = textwrap.dedent(code)
    return (code[1:] if code.startswith("\n") else code).rstrip()


class Timer:
    """Times a statement, with warm-up, a fixed number of threads, and work on a GPU waited for.

    Args:
        stmt: Python code to time.
        setup: code to run before it, untimed, before each run.
        global_setup: not for Python code; must be empty.
        timer: the clock; by default ``time.perf_counter`` after synchronising CUDA where it is in use.
        globals: names the code can use; ``torch`` (this package) is there in any case.
        label, sub_label, description, env: names for printing and for :class:`Compare`.
        num_threads: threads of strided's pool during the measurement, afterwards as before.
        language: ``Language.PYTHON``, "py" or "python".

    Raises:
        ValueError: ``stmt`` is not a string, ``global_setup`` is not empty, or there is no such language.
        NotImplementedError: C++.

    >>> Timer("x + 1", setup="x = torch.ones(3)").timeit(100).number_per_run
    100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,  # noqa: A002  (timeit's keyword)
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("benchmark.Timer(language='cpp'): strided times Python only")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`; move it to `setup`.")
        # A copy: running the code adds __builtins__ to the dict.
        names = {"torch": strided, **(globals or {})}
        stmt, setup = _tidy(stmt), _tidy(setup)
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _run(self, number: int) -> float:
        # Nothing takes less than a nanosecond; and a clock that did not move must not make a ratio infinite.
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Runs the statement ``number`` times (and a hundredth of that before, at least twice, to warm up).

        Returns:
            A :class:`Measurement` of one time.
        """
        with _threads(self._task_spec.num_threads):
            self._run(max(number // 100, 2))
            return Measurement(number, [self._run(number)], self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """A power of ten of executions for which the loop around them costs nothing; finding it warms up."""
        overhead = _quantile(sorted(self._run(0) for _ in range(5)), 0.5)
        number = 1
        while True:
            taken = self._run(number)
            negligible = overhead <= 1e-4 * taken and taken >= min_run_time / 1000
            if negligible or taken > min_run_time or number * 10 > 2**31 - 1:
                return number
            number *= 10

    def _collect(
        self,
        block_for: float,
        enough: Callable[[float, list[float]], bool],
        callback: Callable[[int, float], Any] | None,
    ) -> Measurement:
        """Runs blocks until ``enough(seconds spent, times)``."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(block_for)
            times: list[float] = []
            spent = 0.0
            while not times or not enough(spent, times):
                times.append(self._run(number))
                spent += times[-1]
                if callback is not None:
                    callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Repeats blocks of executions for ``min_run_time`` seconds.

        The block size is the smallest power of ten that makes the cost of reading the clock negligible, so there are
        as many times as possible, and their median means something.

        Args:
            callback: called after each block with its size and its time.
        """
        return self._collect(min_run_time, lambda spent, times: spent >= min_run_time, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Repeats blocks until the interquartile range is under ``threshold`` of the median.

        There are then at least four of them and ``min_run_time`` seconds spent; after ``max_run_time`` seconds it
        stops in any case.
        """

        def enough(spent: float, times: list[float]) -> bool:
            if spent > max_run_time:
                return True
            if spent < min_run_time or len(times) < 4:
                return False
            return Measurement(1, times, self._task_spec).meets_confidence(threshold)

        return self._collect(0.05, enough, callback)


class Compare:
    """A table of measurements: a table for each label, a column for each description, a row for each task.

    Measurements of the same task are merged.  Times stand in one unit for the whole table.

    >>> tasks = [TaskSpec("f(x)", "pass", label="f", sub_label=s, description=d) for s in "ab" for d in ("n=1", "n=2")]
    >>> print(Compare([Measurement(1, [1e-6 * (i + 1)], task) for i, task in enumerate(tasks)]))
    f (us)   n=1     n=2
    ------  ------  ------
    1 thread
      a       1.00    2.00
      b       3.00    4.00
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._color = self._rowwise = self._mark = False
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements.

        Raises:
            ValueError: one of them is something else.
        """
        results = list(results)
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Compare: an instance of Measurement is required, got {type(r).__name__}")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Shows only as many digits as the scatter of the times supports."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colours the best time of a column (or of a row), and those 2 and 5 times slower, by ANSI codes."""
        self._color, self._rowwise = True, rowwise

    def highlight_warnings(self) -> None:
        """Puts ``(! 23%)``, the interquartile range relative to the median, beside times that scatter."""
        self._mark = True

    def print(self) -> None:
        """Prints the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = list(dict.fromkeys(m.label for m in merged))
        return "\n\n".join(self._table(label, [m for m in merged if m.label == label]) for label in labels)

    def _cell(self, m: Measurement | None, scale: float) -> str:
        if m is None:
            return ""
        if self._trim:
            digits = m.significant_figures
            value = _trim(m.median / scale, digits)
            shown = f"{value:.{max(0, digits - 1 - math.floor(math.log10(value)))}f}" if value else "0"
        else:
            shown = f"{m.median / scale:.2f}"
        return shown + (f" (! {m.iqr / m.median * 100:.0f}%)" if self._mark and m.has_warnings else "")

    def _table(self, label: str | None, found: list[Measurement]) -> str:
        columns = list(dict.fromkeys(m.description or "" for m in found))
        rows = list(dict.fromkeys((m.num_threads, m.env or "", m.as_row_name) for m in found))
        rows.sort(key=lambda row: row[0])  # a stable sort: within a thread count, in the order they came
        unit, scale = select_unit(min(m.median for m in found))
        at = {((m.num_threads, m.env or "", m.as_row_name), m.description or ""): m for m in found}

        head = f"{label or ''} ({unit})".strip()
        names = {row: f"  ({row[1]}) {row[2]}" if row[1] else f"  {row[2]}" for row in rows}
        # A name of several lines (a statement without a label) would break the table.
        names = {row: name.replace("\n", "; ") for row, name in names.items()}
        cells = {(row, c): self._cell(at.get((row, c)), scale) for row in rows for c in columns}
        first = max(len(head), *(len(n) for n in names.values()))
        wide = {c: max(6, len(c), *(len(cells[row, c]) for row in rows)) for c in columns}

        lines = ["  ".join([head.ljust(first)] + [c.center(wide[c]) for c in columns]).rstrip()]
        lines.append("  ".join(["-" * first] + ["-" * wide[c] for c in columns]))
        threads = None
        for row in rows:
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} thread{'s' if threads > 1 else ''}")
            texts = [self._paint(cells[row, c].rjust(wide[c]), at, row, c) for c in columns]
            lines.append("  ".join([names[row].ljust(first)] + texts).rstrip())
        return "\n".join(lines)

    def _paint(self, text: str, at: dict[Any, Measurement], row: Any, column: str) -> str:
        here = at.get((row, column))
        if not self._color or here is None:
            return text
        # Compared with the times of this row, or of this column at the same number of threads.
        if self._rowwise:
            peers = [m.median for (r, _), m in at.items() if r == row]
        else:
            peers = [m.median for (r, c), m in at.items() if c == column and r[0] == row[0]]
        ratio = here.median / min(peers)
        code = "1;32" if ratio == 1 else "31" if ratio > 5 else "33" if ratio > 2 else ""
        return f"\033[{code}m{text}\033[0m" if code and len(peers) > 1 else text
