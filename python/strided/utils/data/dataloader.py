"""Batches of a data set (``strided.utils.data.dataloader``)."""

from __future__ import annotations

import collections.abc
import itertools
import multiprocessing
import multiprocessing.context
import os
import warnings
from typing import TYPE_CHECKING, Generic, TypeVar

import strided

from ._collate import default_collate, default_convert
from ._utils.pin_memory import pin_memory
from ._worker import Workers, _DatasetKind, get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Generator, Iterable, Iterator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)


_collate_fn_t = collections.abc.Callable  # what annotations of libraries name


class _Endless(Sampler[None]):
    """For iterable data sets, which need no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


_InfiniteConstantSampler = _Endless  # PyTorch's name for it


_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


def _new_seed(generator):
    return int(strided.empty((), dtype=strided.int64).random_(generator=generator).item())


class _BaseDataLoaderIter:
    """One pass over a DataLoader, or over what has its attributes: libraries make some of these themselves."""

    def __init__(self, loader: Any) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._index_sampler, self._collate_fn = loader._index_sampler, loader.collate_fn
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = getattr(loader, "persistent_workers", False)
        self._pin_memory = loader.pin_memory and strided.cuda.is_available()
        if loader.pin_memory and not self._pin_memory:
            told = "no accelerator is found, then device pinned memory won't be used."
            warnings.warn(f"'pin_memory' argument is set as true but {told}", stacklevel=2)
        self._to_beginning(loader)
        self._base_seed = _new_seed(loader.generator)  # for the life of the workers, as in PyTorch

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """To the beginning.

        Libraries replace this and ``__init__`` to go on behind batches that were given before they stopped.
        So ``__init__`` does not call this, and no class below takes from ``_sampler_iter`` before ``__init__`` is done.
        """
        self._to_beginning(loader)

    def _to_beginning(self, loader: Any) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = getattr(loader, "_IterableDataset_len_called", None)

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        known = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and known is not None and self._num_yielded > known:
            told = f"Length of IterableDataset {self._dataset} was reported to be {known}(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
            if self._num_workers > 0:
                told += "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            warnings.warn(told, stacklevel=2)
        return pin_memory(data) if self._pin_memory else data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Batches that this process reads."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._begin()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._begin()

    def _begin(self) -> None:
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())  # both may raise StopIteration


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches that workers read ahead; they end with the iterator, unless they are persistent."""

    def __init__(self, loader: Any) -> None:
        self._pool: Any = None
        super().__init__(loader)
        self._begin(loader)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        self._begin(loader)

    def _begin(self, loader: Any) -> None:
        if self._pool is None or not self._pool.alive():
            self._pool = Workers(loader)
        self._pool.begin(self._sampler_iter, self._base_seed)

    @property
    def _workers(self) -> list[Any]:
        return self._pool.processes

    def _next_data(self) -> Any:
        return self._pool.next_batch()

    def _shutdown_workers(self) -> None:
        self._pool.stop()


def _suggested_workers():
    """How many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


class DataLoader(Generic[_T_co]):
    """Batches of a data set, in order or shuffled; in this process, or read ahead by others.

    Args:
        batch_size: samples in a batch; None: single samples. shuffle, sampler, batch_sampler: the order of indices.
        num_workers: processes that read; they are forked, and send batches through a pipe. 0: this process reads.
        collate_fn: makes a batch of a list of samples. drop_last: leaves out a last batch that is shorter.
        timeout: seconds to wait for a batch of a worker (0: for ever). worker_init_fn: called with its number in each
            worker. prefetch_factor: batches that each worker reads ahead, 2 by default.
        persistent_workers: workers live on after the last batch. generator: for shuffling and the workers' seeds.
        pin_memory, pin_memory_device: batches are copied to pinned memory where there is a CUDA device.
        in_order: False: a batch comes when a worker has made it, whatever batches before it are still being made.

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
        self._iterator: Any = None
        self._IterableDataset_len_called: int | None = None
        self._begun = True
        most = _suggested_workers()
        if most is not None and num_workers > most:
            warnings.warn(
                f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker in current system is {most}, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=2,
            )

    _begun = False

    def __setattr__(self, name: str, value: Any) -> None:
        if self._begun and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started: None, the name of a method, or a context of multiprocessing."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    f"multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known!r}, but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    f"multiprocessing_context option should be a valid context object or a string specifying the start method, but got multiprocessing_context={context}"
                )
        self._context = context

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

    def _get_iterator(self) -> _BaseDataLoaderIter:
        return _SingleProcessDataLoaderIter(self) if self.num_workers == 0 else _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if not self._iterable:
            return len(self._index_sampler)
        n = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
