"""Batches of a data set (``strided.utils.data.dataloader``)."""

from __future__ import annotations

import collections.abc
import itertools
from typing import TYPE_CHECKING, Generic, TypeVar

import strided

from ..._core_names import absent
from ._collate import default_collate, default_convert
from ._worker import Workers, fetch, get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Generator, Iterable, Iterator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T = TypeVar("_T", covariant=True)


_collate_fn_t = collections.abc.Callable  # what annotations of libraries name


class _Endless(Sampler[None]):
    """For iterable data sets, which need no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


_InfiniteConstantSampler = _Endless  # PyTorch's name for it


class _DatasetKind:
    """How the samples of a data set are found: by indices, or one after the other."""

    Map, Iterable = 0, 1


def _new_seed(generator):
    return int(strided.empty((), dtype=strided.int64).random_(generator=generator).item())


# PyTorch's iterators, for isinstance; those of DataLoader are generators.
_BaseDataLoaderIter = absent("_BaseDataLoaderIter", __name__)
_SingleProcessDataLoaderIter = absent("_SingleProcessDataLoaderIter", __name__)
_MultiProcessingDataLoaderIter = absent("_MultiProcessingDataLoaderIter", __name__)


class DataLoader(Generic[_T]):
    """Batches of a data set, in order or shuffled; in this process, or read ahead by others.

    Args:
        batch_size: samples in a batch; None: single samples. shuffle, sampler, batch_sampler: the order of indices.
        num_workers: processes that read; they are forked, and send batches through a pipe. 0: this process reads.
        collate_fn: makes a batch of a list of samples. drop_last: leaves out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker (0: for ever). worker_init_fn: called with its number in each
            worker. prefetch_factor: batches that each worker reads ahead, 2 by default.
        persistent_workers: workers live on after the last batch. generator: for shuffling and the workers' seeds.
        pin_memory, pin_memory_device: batches are copied to pinned memory where there is a CUDA device.

    >>> loader = strided.utils.data.DataLoader(range(5), batch_size=2, drop_last=True)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self._check(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.pin_memory = dataset, num_workers, pin_memory
        self.timeout, self.worker_init_fn, self.generator = timeout, worker_init_fn, generator
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.pin_memory_device = persistent_workers, pin_memory_device
        self.multiprocessing_context, self.in_order = multiprocessing_context, in_order
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable:
            for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                if given is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._workers: Any = None

    @staticmethod
    def _check(num_workers, timeout, prefetch_factor, persistent_workers):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    # What subclasses override, under PyTorch's names: whether an index is a list of them, to be collated; where the
    # indices come from; what one pass over the data is.

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _dataset_kind(self) -> int:
        return _DatasetKind.Iterable if self._iterable else _DatasetKind.Map

    def _get_iterator(self) -> Iterator[Any]:
        indices = iter(self._index_sampler)
        seed = _new_seed(self.generator)
        if self.num_workers == 0:
            batches = self._read_here(indices)
        else:
            if self._workers is None or not self._workers.alive():
                self._workers = Workers(self)
            batches = self._workers.batches(indices, seed)
        if self.pin_memory and strided.cuda.is_available():
            return (_pinned(batch) for batch in batches)
        return batches

    def __iter__(self) -> Iterator[Any]:
        return self._get_iterator()

    def _read_here(self, indices):
        source = iter(self.dataset) if self._iterable else self.dataset
        batched = self._auto_collation
        for index in indices:
            try:
                batch = fetch(source, index, self._iterable, batched, self.collate_fn, self.drop_last)
            except StopIteration:
                return
            yield batch

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _pinned(batch):
    if isinstance(batch, strided.Tensor):
        return batch.pin_memory()
    if isinstance(batch, dict):
        return {k: _pinned(v) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [_pinned(v) for v in batch]
    return batch.pin_memory() if hasattr(batch, "pin_memory") else batch
