"""Processes that read batches ahead."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import queue
import random
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import strided

from ..._utils import ExceptionWrapper
from ._segments import Receiver, Sender
from ._utils.fetch import _BaseDatasetFetcher, _IterableDatasetFetcher, _MapDatasetFetcher

if TYPE_CHECKING:
    from ..._typing import Any, Iterator

_LOOK = 0.5  # seconds between looks whether a worker has died
_LOOK_FOR_PARENT = 5.0  # seconds between a worker's looks whether its parent has


@dataclass
class WorkerInfo:
    """What a worker knows of itself: its number, how many there are, its seed, its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a DataLoader, what it knows of itself; None in any other process."""
    return _worker_info


class _DatasetKind:
    """How the samples of a data set are found: by indices, or one after the other."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> _BaseDatasetFetcher:
        """What reads the batches; libraries replace this to watch it."""
        made = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return made(dataset, auto_collation, collate_fn, drop_last)


def _failure(error, number):
    info = (type(error), error, error.__traceback__)
    return ExceptionWrapper(info, where=f"in DataLoader worker process {number}")


def _seed(base_seed, number):
    """Seeds the generators of a worker: Python's, strided's, and NumPy's where it is installed."""
    seed = base_seed + number
    random.seed(seed)
    strided.manual_seed(seed)
    with contextlib.suppress(ImportError):
        import numpy as np

        np.random.seed(_generate_state(base_seed, number))
    return seed


def _next_task(tasks, results, parent):
    """What the queue asks for next; None at the end, and where the process that asks is gone."""
    while True:
        try:
            return tasks.get(timeout=_LOOK_FOR_PARENT)
        except queue.Empty:
            if os.getppid() != parent:
                results.cancel_join_thread()  # nobody reads what was not sent yet
                return None


def _work(number, loader, tasks, results, descriptors):
    """What a worker does: reads what its queue asks for, until that says None."""
    global _worker_info
    strided.set_num_threads(1)
    sender = Sender(descriptors)
    fetcher, failed, parent = None, None, os.getppid()
    while (task := _next_task(tasks, results, parent)) is not None:
        kind, value, index, returned = task
        sender.returned(*returned)
        if kind == "begin":
            failed = None
            try:
                if index:  # the worker's first pass
                    seed = _seed(value, number)
                    _worker_info = WorkerInfo(number, loader["num_workers"], seed, loader["dataset"])
                    if loader["worker_init_fn"] is not None:
                        loader["worker_init_fn"](number)
                fetcher = _DatasetKind.create_fetcher(
                    loader["kind"], loader["dataset"], loader["batched"], loader["collate_fn"], loader["drop_last"]
                )
            except Exception as error:
                failed = _failure(error, number)
            continue
        try:
            made = failed or fetcher.fetch(index)
            ended = False
        except StopIteration:
            made, ended = None, True
        except Exception as error:
            made, ended = _failure(error, number), False
        try:
            packed = sender.pack(made)
        except Exception as error:  # what cannot be pickled
            packed = sender.pack(_failure(error, number))
        results.put((value, packed, ended))
        made = packed = None  # it is not kept until the next one is made


def _stop(tasks, processes, owner):
    if os.getpid() != owner:  # a forked process has copies of these objects, not the workers
        return
    for q in tasks:
        q.put(None)
    for p in processes:
        p.join(timeout=1)
        if p.is_alive():
            p.terminate()


class Workers:
    """The workers of one DataLoader.  Batches come out in the order of their indices, or as they are made."""

    def __init__(self, loader: Any) -> None:
        context = loader.multiprocessing_context or "fork"
        if isinstance(context, str):
            context = multiprocessing.get_context(context)
        # Not the loader itself: a loop can outlive it, `for x in DataLoader(...)`.
        self.count, self.timeout, self.prefetch = loader.num_workers, loader.timeout, loader.prefetch_factor
        self.persistent, self.in_order = loader.persistent_workers, loader.in_order
        shown = {
            "dataset": loader.dataset, "num_workers": loader.num_workers, "worker_init_fn": loader.worker_init_fn,
            "kind": loader._dataset_kind, "batched": loader._auto_collation, "collate_fn": loader.collate_fn,
            "drop_last": loader.drop_last,
        }  # fmt: skip
        self.results, self.fresh, self.epoch = context.Queue(), True, 0
        self.tasks = [context.Queue() for _ in range(self.count)]
        ends = [context.Pipe() for _ in range(self.count)]
        self.receivers = [Receiver(here) for here, _ in ends]
        self.processes = [
            context.Process(target=_work, args=(i, shown, self.tasks[i], self.results, there), daemon=True)
            for i, (_, there) in enumerate(ends)
        ]
        with contextlib.suppress(ImportError):
            import numpy.random  # noqa: F401  # once here, rather than in each forked worker, which seeds it
        for p in self.processes:
            p.start()
        self._end = weakref.finalize(self, _stop, self.tasks, self.processes, os.getpid())

    def alive(self) -> bool:
        """Whether there are workers to be used again."""
        return self._end.alive and all(p.is_alive() for p in self.processes)

    def _result(self):
        """The next result of any worker.  RuntimeError for one that died, or that takes too long."""
        waited = 0.0
        while True:
            step = min(_LOOK, self.timeout or _LOOK)
            try:
                return self.results.get(timeout=step)
            except queue.Empty:
                waited += step
            dead = [str(p.pid) for p in self.processes if not p.is_alive()]
            if dead:
                self._end()
                raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(dead)}) exited unexpectedly")
            if self.timeout and waited >= self.timeout:
                self._end()
                raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds")

    def _unpacked(self, packed, worker):
        try:
            return self.receivers[worker].unpack(packed)
        except Exception as error:
            info = (type(error), error, error.__traceback__)
            return ExceptionWrapper(info, where=f"reading what DataLoader worker process {worker} sent")

    def begin(self, indices: Iterator[Any], seed: int) -> None:
        """Another pass: asks for the first batches."""
        self.epoch += 1
        for q in self.tasks:
            q.put(("begin", seed, self.fresh, ([], [])))
        self.fresh = False
        self.indices, self.turn = indices, itertools.cycle(range(self.count))
        self.running: set[int] = set(range(self.count))
        self.ready: dict[int, Any] = {}
        self.sent = self.given = 0
        for _ in range(max(1, self.prefetch) * self.count):
            if not self._send():
                break

    def _send(self, first=None):
        """Asks a worker that still has data (the first one, or the next in turn) for the next batch; False if there is
        none to ask for."""
        index = next(self.indices, _NONE) if self.running else _NONE
        if index is _NONE:
            return False
        worker = first if first in self.running else next(i for i in self.turn if i in self.running)
        returned = self.receivers[worker].take_returned()
        self.tasks[worker].put(("batch", (self.epoch, self.sent, worker), index, returned))
        self.sent += 1
        return True

    def next_batch(self) -> Any:
        """The batch for the next indices; StopIteration at the end. After an exception comes the next batch."""
        while self.given < self.sent:
            wanted: Any = None
            free: Any = None
            while (self.given if self.in_order else wanted) not in self.ready:
                (when, number, worker), packed, ended = self._result()
                if when != self.epoch:  # what is left of an epoch that was not read to its end
                    self.receivers[worker].drop(packed)
                    continue
                if ended:
                    self.running.discard(worker)
                self.ready[number] = self._unpacked(packed, worker), ended
                wanted, free = number, worker
            made, ended = self.ready.pop(self.given if self.in_order else wanted)
            self.given += 1
            self._send(None if self.in_order else free)
            if isinstance(made, ExceptionWrapper):
                made.reraise()
            if not ended:
                return made
        if not self.persistent:
            self.stop()
        raise StopIteration

    def stop(self) -> None:
        """Ends the processes."""
        self._end()


_NONE = object()


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers of 32 bits that seed NumPy in a worker: NumPy's SeedSequence of the seed and the worker's number.

    Source of the algorithm: M. E. O'Neill, "Developing a seed_seq alternative", 2015, which NumPy follows.
    """
    import numpy as np

    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()
