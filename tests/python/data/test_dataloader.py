"""DataLoader: batches of this process and of workers, in order; failures of workers."""

import os
import signal
import subprocess
import sys
import time

import pytest
import strided
from strided.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    TensorDataset,
    get_worker_info,
    random_split,
)


class Bad:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i == 4:
            raise KeyError("four")
        return i


class Numbers(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, 9, step))


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order(workers):
    data = TensorDataset(strided.arange(10), strided.arange(10.0) * 2)
    loader = DataLoader(data, batch_size=4, num_workers=workers)
    for _ in range(2):
        found = list(loader)
        assert [x.tolist() for x, _ in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert [y.dtype for _, y in found] == [strided.float32] * 3


class Slow(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        if i == 2:
            time.sleep(1)
        return i


class SlowStream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for i in range(info.id, 10, info.num_workers):
            if i == 0:
                time.sleep(1)
            yield i


@pytest.mark.parametrize("data, late", [(Slow(), 2), (SlowStream(), 0)])
def test_batches_come_as_they_are_made(data, late):
    for persistent in (False, True):
        loader = DataLoader(data, num_workers=2, in_order=False, persistent_workers=persistent)
        for _ in range(2):
            found = [int(x) for x in loader]
            assert sorted(found) == list(range(10)) and found.index(late) > late
    assert [int(x) for x in DataLoader(Slow(), num_workers=2)] == list(range(10))


def test_shuffling_is_that_of_the_seed():
    def order():
        strided.manual_seed(0)
        return [b.tolist() for b in DataLoader(range(8), 8, shuffle=True)]

    assert order() == order() and sorted(order()[0]) == list(range(8)) and order()[0] != list(range(8))


def test_workers_share_a_stream():
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2)
    found = [v for b in loader for v in b.tolist()]
    assert sorted(found) == list(range(9))


def test_workers_that_live_on():
    loader = DataLoader(range(6), num_workers=2, persistent_workers=True, collate_fn=lambda b: os.getpid())
    first, second = set(loader), set(loader)
    assert first == second and os.getpid() not in first
    iterator = iter(loader)
    next(iterator)
    del iterator  # an epoch that was not read to its end does not disturb the next
    assert len(list(loader)) == 6


def test_workers_end_when_their_parent_was_killed():
    code = (
        "import os, signal; from strided.utils.data import DataLoader, _worker; _worker._LOOK_FOR_PARENT = 0.1\n"
        "loader = DataLoader(range(4), num_workers=2, persistent_workers=True, collate_fn=lambda b: os.getpid())\n"
        "print(*set(loader), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    made = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60)  # reads to the
    workers = [int(pid) for pid in made.stdout.split()]  # end: until no worker holds the pipe
    assert len(workers) == 2 and made.returncode == -signal.SIGKILL


def test_a_failure_of_a_worker_is_raised_here():
    with pytest.raises(KeyError, match="worker process 0"):
        list(DataLoader(Bad(), num_workers=1))
    with pytest.raises(KeyError, match="four"):
        list(DataLoader(Bad()))


def test_a_worker_that_dies_is_told():
    loader = DataLoader(range(3), num_workers=1, collate_fn=lambda b: os._exit(3))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(loader)


def test_a_worker_that_takes_too_long():
    import time

    loader = DataLoader(range(3), num_workers=1, collate_fn=lambda b: time.sleep(5), timeout=0.2)
    with pytest.raises(RuntimeError, match="timed out"):
        list(loader)


def test_worker_init_fn_and_info():
    seen = lambda b: (get_worker_info().id, get_worker_info().num_workers, os.environ["STRIDED_TEST_WORKER"])
    init = lambda i: os.environ.__setitem__("STRIDED_TEST_WORKER", str(i))
    found = list(DataLoader(range(4), num_workers=2, collate_fn=seen, worker_init_fn=init))
    assert found == [(0, 2, "0"), (1, 2, "1")] * 2 and get_worker_info() is None


def test_random_split_covers_everything_once():
    parts = random_split(range(10), [0.3, 0.7])
    assert [len(p) for p in parts] == [3, 7] and sorted(i for p in parts for i in p) == list(range(10))


def test_libraries_add_types_to_the_map():
    import numpy as np
    from strided.utils.data._utils.collate import collate, default_collate, default_collate_fn_map

    class Pair:
        def __init__(self, a):
            self.a = a

    class Marked(strided.Tensor):
        pass

    def of_pairs(batch, *, collate_fn_map):
        return Pair(collate([p.a for p in batch], collate_fn_map=collate_fn_map))

    own = dict(default_collate_fn_map)
    own[Pair] = of_pairs
    batch = [{"p": Pair(np.ones(2, dtype=np.float32)), "n": 1}, {"p": Pair(np.zeros(2, dtype=np.float32)), "n": 2}]
    with pytest.raises(TypeError, match="found <class .*Pair"):
        default_collate(batch)
    made = collate(batch, collate_fn_map=own)
    assert made["p"].a.tolist() == [[1.0, 1.0], [0.0, 0.0]] and made["n"].tolist() == [1, 2]
    default_collate_fn_map[Marked] = lambda batch, *, collate_fn_map: len(batch)
    try:  # the type itself comes before those that it derives from
        assert default_collate([strided.ones(2).as_subclass(Marked)] * 3) == 3
        assert default_collate([strided.ones(2)] * 3).shape == (3, 2)
    finally:
        del default_collate_fn_map[Marked]


def test_numpy_scalars_and_containers_of_ones_own():
    from collections import defaultdict

    import numpy as np
    from strided.utils.data import default_collate

    assert default_collate([np.float32(1), np.float32(2)]).dtype == strided.float32
    assert default_collate([np.float64(1), np.float64(2)]).dtype == strided.float64
    assert default_collate([np.bool_(True), np.bool_(False)]).tolist() == [True, False]
    assert default_collate([True, False]).dtype == strided.bool
    with pytest.raises(TypeError, match="default_collate"):
        default_collate([np.array(["a"]), np.array(["b"])])
    found = default_collate([defaultdict(list, a=1), defaultdict(list, a=2)])
    assert type(found) is defaultdict and found["missing"] == [] and found["a"].tolist() == [1, 2]


@pytest.mark.parametrize("workers", [0, 2])
def test_subclasses_say_where_indices_come_from(workers):
    class Slices(DataLoader):
        """Reads a batch at once: an index is a list for the data set itself."""

        def __iter__(self):
            self.begun = True
            return super().__iter__()

        @property
        def _auto_collation(self):
            return not hasattr(self, "begun") and super()._auto_collation

        @property
        def _index_sampler(self):
            return self.batch_sampler

    class Squares:
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return strided.tensor(i) ** 2

    found = list(Slices(Squares(), batch_size=2, collate_fn=lambda x: x, num_workers=workers))
    assert [x.tolist() for x in found] == [[0, 1], [4, 9], [16]]

    class Twice(DataLoader):
        def _get_iterator(self):
            return (x * 2 for x in super()._get_iterator())

    assert [x.tolist() for x in Twice(range(3), 2, num_workers=workers)] == [[0, 2], [4]]
    assert DataLoader(range(3))._dataset_kind == 0 and DataLoader(Numbers())._dataset_kind == 1


def test_a_loop_needs_no_name_for_its_loader():
    found = []
    for batch in DataLoader(range(5), 2, num_workers=2):
        found += batch.tolist()
    assert found == [0, 1, 2, 3, 4]
    again = iter(DataLoader(range(2), num_workers=1, persistent_workers=True))
    assert [next(again).item(), next(again).item()] == [0, 1]


class Picky(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        if index in (1, 4):
            raise KeyError(f"no {index}")
        return index


@pytest.mark.parametrize("workers", [0, 2])
def test_the_next_batch_follows_an_exception(workers):
    it, found = iter(DataLoader(Picky(), num_workers=workers)), []
    while True:
        try:
            found.append(int(next(it)))
        except KeyError as error:
            assert "no " in str(error)
            found.append(None)
        except StopIteration:
            break
    assert found == [0, None, 2, 3, None, 5]


@pytest.mark.parametrize("workers", [0, 2])
def test_several_passes_at_once(workers):
    loader = DataLoader(range(6), batch_size=2, num_workers=workers)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(loader, loader)]
    assert pairs == [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4, 5], [4, 5])]
    it = iter(loader)
    next(it)
    it = iter(loader)  # the first one is left in the middle
    assert [b.tolist() for b in it] == [[0, 1], [2, 3], [4, 5]]
    assert len(it) == 3


def test_iterators_have_pytorchs_classes():
    module = strided.utils.data.dataloader
    here, there = iter(DataLoader(range(3))), iter(DataLoader(range(3), num_workers=1))
    assert isinstance(here, module._SingleProcessDataLoaderIter) and isinstance(here, module._BaseDataLoaderIter)
    assert isinstance(there, module._MultiProcessingDataLoaderIter)
    processes = there._workers
    assert next(there).tolist() == [0]
    there._shutdown_workers()
    assert not any(p.is_alive() for p in processes)


def test_what_a_loader_is_made_of_cannot_be_exchanged():
    loader = DataLoader(range(3))
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    loader.collate_fn = list
    assert list(loader) == [[0], [1], [2]]


def test_contexts_of_multiprocessing():
    with pytest.raises(ValueError, match="multi-process loading"):
        DataLoader(range(3), multiprocessing_context="fork")
    with pytest.raises(ValueError, match="valid start method"):
        DataLoader(range(3), num_workers=1, multiprocessing_context="bad")
    with pytest.raises(TypeError, match="valid context object"):
        DataLoader(range(3), num_workers=1, multiprocessing_context=object())


def test_warnings_of_loaders():
    class Endless(IterableDataset):
        def __iter__(self):
            return iter(range(4))

        def __len__(self):
            return 2

    loader = DataLoader(Endless())
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="reported to be 2"):
        assert len(list(loader)) == 4
    with pytest.warns(UserWarning, match="excessive worker creation"):
        DataLoader(range(3), num_workers=100000)


def test_stacked_data_sets_are_asked_for_many_samples_at_once():
    class Many(Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [10 * i for i in indices[: self.most]]

        most = 4

    data = Many()
    assert StackDataset(data, range(4)).__getitems__([1, 3]) == [(10, 1), (30, 3)]
    assert StackDataset(a=data, b=range(4)).__getitems__([2]) == [{"a": 20, "b": 2}]
    data.most = 1
    with pytest.raises(ValueError, match="Expected 2, got 1"):
        StackDataset(data, range(4)).__getitems__([0, 1])


def test_exceptions_that_are_sent():
    from strided._utils import ExceptionWrapper

    class Two(Exception):
        def __init__(self, a, b):
            super().__init__(a)

    for error, kind in ((KeyError("a"), KeyError), (ValueError("b"), ValueError), (Two("c", 1), RuntimeError)):
        try:
            raise error
        except Exception:
            sent = ExceptionWrapper(where="in a thread")
        with pytest.raises(kind, match="in a thread") as caught:
            sent.reraise()
        assert "Traceback" in str(caught.value) and "\\n" not in str(caught.value)


@pytest.mark.parametrize("workers", [0, 2])
def test_iterators_count_batches_and_can_begin_later(workers, monkeypatch):
    from strided.utils.data.dataloader import (
        _BaseDataLoaderIter,
        _MultiProcessingDataLoaderIter,
        _SingleProcessDataLoaderIter,
    )

    loader = DataLoader(TensorDataset(strided.arange(6)), batch_size=2, num_workers=workers)
    batches = iter(loader)
    assert type(batches) is (_MultiProcessingDataLoaderIter if workers else _SingleProcessDataLoaderIter)
    assert iter(batches) is batches and len(batches) == 3 and batches._num_yielded == 0
    next(batches)
    assert batches._num_yielded == 1 and [b[0].tolist() for b in batches] == [[2, 3], [4, 5]]
    assert batches._num_yielded == 3

    older = _BaseDataLoaderIter.__init__

    def later(self, loader):
        older(self, loader)
        next(self._sampler_iter)

    monkeypatch.setattr(_BaseDataLoaderIter, "__init__", later)
    assert [b[0].tolist() for b in loader] == [[2, 3], [4, 5]]
    monkeypatch.setattr(_BaseDataLoaderIter, "_reset", lambda self, loader, first_iter=False: None)
    assert [b[0].tolist() for b in loader] == [[2, 3], [4, 5]]


def joined_in_shared_memory(samples):
    """As collating functions do that write to shared memory in a worker."""
    n = sum(x.numel() for x in samples)
    storage = samples[0].untyped_storage()._new_shared(n * samples[0].element_size(), device=samples[0].device)
    out = samples[0].new(storage).resize_(n)
    return strided.cat(samples, out=out), out.is_shared(), get_worker_info() is not None


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_written_to_shared_memory(workers):
    data = [strided.arange(i, dtype=strided.float64) for i in range(5)]
    loader = DataLoader(data, batch_size=2, num_workers=workers, collate_fn=joined_in_shared_memory)
    batches = list(loader)
    assert [batch.tolist() for batch, _, _ in batches] == [[0], [0, 1, 0, 1, 2], [0, 1, 2, 3]]
    assert all(batch.is_shared() and shared and inside == bool(workers) for batch, shared, inside in batches)


def test_new_memory_that_processes_share():
    storage = strided.ones(2).storage()._new_shared(3)
    assert type(storage) is strided.FloatStorage and len(storage) == 3 and storage.is_shared()
    assert len(strided.ones(2).untyped_storage()._new_shared(0)) == 0
    elsewhere = strided.UntypedStorage._new_shared(4, device="meta")
    assert elsewhere.device.type == "meta" and len(elsewhere) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_fetchers_are_made_by_one_function_and_may_be_watched(workers, monkeypatch):
    from strided.utils.data._utils.fetch import _BaseDatasetFetcher, _MapDatasetFetcher
    from strided.utils.data.dataloader import _DatasetKind

    made = _DatasetKind.create_fetcher

    def doubling(kind, dataset, auto_collation, collate_fn, drop_last):
        fetcher = made(kind, dataset, auto_collation, collate_fn, drop_last)
        assert isinstance(fetcher, _BaseDatasetFetcher) and fetcher.auto_collation and not fetcher.drop_last
        plain = fetcher.fetch
        fetcher.fetch = lambda index: 2 * plain(index)
        return fetcher

    monkeypatch.setattr(_DatasetKind, "create_fetcher", staticmethod(doubling))
    loader = DataLoader(range(3), batch_size=2, num_workers=workers)
    assert [batch.tolist() for batch in loader] == [[0, 2], [4]]
    if not workers:
        assert isinstance(iter(loader)._dataset_fetcher, _MapDatasetFetcher)


def test_an_iterator_that_has_ended_is_not_asked_again():
    from strided.utils.data._utils.fetch import _IterableDatasetFetcher

    class Once:
        def __init__(self):
            self.left = 3

        def __iter__(self):
            return self

        def __next__(self):
            self.left -= 1
            assert self.left >= -1
            if self.left < 0:
                raise StopIteration
            return self.left

    fetcher = _IterableDatasetFetcher(Once(), True, list, False)
    assert fetcher.fetch([None] * 2) == [2, 1] and fetcher.fetch([None] * 2) == [0] and fetcher.ended
    with pytest.raises(StopIteration):
        fetcher.fetch([None] * 2)


@pytest.mark.skipif(strided.cuda.is_available(), reason="there is an accelerator")
def test_pinned_memory_without_an_accelerator_warns():
    loader = DataLoader(strided.arange(4), batch_size=2, pin_memory=True)
    with pytest.warns(UserWarning, match="^'pin_memory' argument is set as true but no accelerator is found"):
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
