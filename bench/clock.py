"""How times are compared: libraries take turns, a sample at a time, so that a busy moment meets them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

SAMPLE = 0.01  # seconds that one sample takes where one call takes less
MOST_CALLS = 20_000


@dataclass
class Timed:
    """What one case took, by library. ratio: a peer's time by strided's in the same round, the median of all rounds."""

    best: dict[str, float]  # seconds of one call
    ratio: dict[str, float]
    rounds: int


def sample(work: Callable[[], object], calls: int) -> float:
    """Seconds of one call, the mean of several."""
    clock = time.perf_counter
    turns = range(calls)
    start = clock()
    for _ in turns:
        work()
    return (clock() - start) / calls


def compare(works: dict[str, Callable[[], object]], seconds: float, pause: float = 0.0, rested: bool = False) -> Timed:
    """Times each work for about `seconds`, in turns; the first is strided's.

    pause: seconds of sleep before each sample, in which the threads that a peer keeps spinning go to sleep.
    rested: a sample is the first call after the pause.
    """
    calls = {}
    for name, work in works.items():
        work()  # what is made once
        if rested:
            calls[name] = 1
            continue
        calls[name] = max(1, min(MOST_CALLS, int(SAMPLE / max(sample(work, 1), 1e-8))))
        if calls[name] > 100:
            calls[name] = max(1, min(MOST_CALLS, int(SAMPLE / max(sample(work, 20), 1e-8))))
    taken: dict[str, list[float]] = {name: [] for name in works}
    spent, limit = 0.0, seconds * len(works)
    while spent < limit or len(taken[next(iter(works))]) < 3:
        for name, work in works.items():
            if pause:
                time.sleep(pause)
                if not rested:
                    work()  # wakes this library's own threads
            taken[name].append(sample(work, calls[name]))
            spent += taken[name][-1] * calls[name] + pause * rested
    ours = next(iter(works))
    ratio = {
        name: statistics.median(theirs / mine for theirs, mine in zip(times, taken[ours], strict=True))
        for name, times in taken.items()
        if name != ours
    }
    return Timed({name: min(times) for name, times in taken.items()}, ratio, len(taken[ours]))


def span(seconds: float) -> str:
    """A time in the unit that reads best."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
