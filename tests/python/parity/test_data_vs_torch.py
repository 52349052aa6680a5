"""Loaders, samplers and splits: the same order for the same seed, the same batches and errors as PyTorch."""

import collections
import collections.abc
import importlib
import random
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402


def plain(value):
    if isinstance(value, (strided.Tensor, torch.Tensor)):
        return ["tensor", str(value.dtype), value.tolist()]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(plain(v) for v in value)]
    return value


class Squares:
    def __len__(self):
        return 7

    def __getitem__(self, i):
        return {"x": i, "y": (i * i, float(i)), "n": f"s{i}"}


def stream(t, n):
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(n))

    return Stream()


def epochs(t, count=2, **options):
    t.manual_seed(4)
    loader = t.utils.data.DataLoader(range(10), **options)
    return [[b for b in loader] for _ in range(count)] + [float(t.rand(1))]


def tensors(t):
    return t.utils.data.TensorDataset(t.arange(6), t.arange(12).view(6, 2))


CALLS = {
    "order": lambda t: epochs(t, batch_size=3),
    "shuffle": lambda t: epochs(t, batch_size=3, shuffle=True),
    "drop": lambda t: epochs(t, batch_size=4, shuffle=True, drop_last=True),
    "one by one": lambda t: epochs(t, batch_size=None),
    "generator": lambda t: epochs(t, shuffle=True, generator=t.Generator().manual_seed(3)),
    "sampler": lambda t: epochs(t, sampler=t.utils.data.SubsetRandomSampler([1, 5, 7, 8]), batch_size=2),
    "weighted": lambda t: epochs(t, sampler=t.utils.data.WeightedRandomSampler([0.1, 3, 5, 1.0], 6)),
    "weighted 2": lambda t: epochs(t, sampler=t.utils.data.WeightedRandomSampler([1, 3, 5, 1.0], 3, False)),
    "replacement": lambda t: epochs(t, sampler=t.utils.data.RandomSampler(range(5), True, 70), batch_size=9),
    "more": lambda t: epochs(t, sampler=t.utils.data.RandomSampler(range(5), num_samples=13), batch_size=9),
    "batches": lambda t: epochs(
        t, batch_sampler=t.utils.data.BatchSampler(t.utils.data.SequentialSampler(range(10)), 4, True)
    ),
    "dicts": lambda t: list(t.utils.data.DataLoader(Squares(), 3)),
    "tensors": lambda t: list(t.utils.data.DataLoader(tensors(t), 4)),
    "arrays": lambda t: list(t.utils.data.DataLoader(np.arange(6.0).reshape(3, 2), 2)),
    "stream": lambda t: list(t.utils.data.DataLoader(stream(t, 5), 2)),
    "stream drop": lambda t: list(t.utils.data.DataLoader(stream(t, 5), 2, drop_last=True)),
    "stream single": lambda t: list(t.utils.data.DataLoader(stream(t, 3), None)),
    "chain": lambda t: list(stream(t, 2) + stream(t, 3)),
    "collate_fn": lambda t: list(t.utils.data.DataLoader(range(5), 2, collate_fn=sum)),
    "len": lambda t: [len(t.utils.data.DataLoader(range(7), 3, drop_last=d)) for d in (True, False)],
    "concat": lambda t: (
        [(c := t.utils.data.ConcatDataset([range(3), range(10, 14)]))[i] for i in (0, 2, 3, 6, -1, -5)] + [len(c)]
    ),
    "subset": lambda t: list(t.utils.data.DataLoader(t.utils.data.Subset(range(9), [2, 4, 8]), 2)),
    "stack": lambda t: list(t.utils.data.DataLoader(t.utils.data.StackDataset(a=range(3), b=range(3)), 2)),
    "split": lambda t: (
        t.manual_seed(1),
        [s.indices for s in t.utils.data.random_split(range(10), [3, 7])],
    )[1],
    "split shares": lambda t: [
        s.indices for s in t.utils.data.random_split(range(11), [0.5, 0.25, 0.25], t.Generator().manual_seed(2))
    ],
    "collate numbers": lambda t: t.utils.data.default_collate([1, 2]),
    "collate words": lambda t: t.utils.data.default_collate([("a", [b"b", 1]), ("c", [b"d", 2])]),
    "collate nothing": lambda t: t.utils.data.default_collate([None, None]),
    "collate uneven": lambda t: t.utils.data.default_collate([[1], [1, 2]]),
    "convert": lambda t: t.utils.data.default_convert({"a": np.ones(2), "b": [np.float64(1), "x"]}),
    "batch size": lambda t: t.utils.data.DataLoader(range(3), 0),
    "workers -1": lambda t: t.utils.data.DataLoader(range(3), num_workers=-1),
    "both": lambda t: t.utils.data.DataLoader(range(3), shuffle=True, sampler=[1]),
    "stream shuffle": lambda t: t.utils.data.DataLoader(stream(t, 3), shuffle=True),
    "sizes": lambda t: t.utils.data.TensorDataset(t.ones(2), t.ones(3)),
    "split sum": lambda t: t.utils.data.random_split(range(5), [3, 3]),
    "prefetch": lambda t: t.utils.data.DataLoader(range(3), prefetch_factor=2),
    "concat nothing": lambda t: t.utils.data.ConcatDataset([]),
    "samples": lambda t: t.utils.data.RandomSampler(range(3), num_samples=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name):
    def outcome(t):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return plain(CALLS[name](t))
        except Exception as error:
            return type(error).__name__, str(error).replace("strided", "torch")

    got, want = outcome(strided), outcome(torch)
    if isinstance(want, tuple):
        assert got[0] == want[0] and got[1][:40] == want[1][:40]
    else:
        assert str(got).replace("strided", "torch") == str(want)


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_have_pytorchs_random_numbers(persistent):
    def found(t):
        t.manual_seed(5)
        random_ones = lambda b: [np.random.rand(), random.random(), float(t.rand(1)), t.initial_seed()]
        loader = t.utils.data.DataLoader(range(4), num_workers=2, collate_fn=random_ones, persistent_workers=persistent)
        return [list(loader) for _ in range(3)], float(t.rand(1))  # passes of persistent workers go on

    assert found(strided) == found(torch)


def test_workers_have_pytorchs_seeds():
    def seeds(t):
        t.manual_seed(7)
        loader = t.utils.data.DataLoader(range(4), num_workers=2, collate_fn=lambda b: (b, t.initial_seed()))
        return [b for b in loader]

    assert seeds(strided) == seeds(torch)


class Pinned:
    def pin_memory(self):
        return "pinned"


class Held(list):
    note = None


class Fixed(collections.abc.Mapping):
    def __init__(self, parts):
        self.parts = dict(parts)

    def __getitem__(self, key):
        return self.parts[key]

    def __iter__(self):
        return iter(self.parts)

    def __len__(self):
        return len(self.parts)


@pytest.mark.parametrize("lib", [strided, torch])
def test_pinned_batches_keep_their_types(lib):
    pin = importlib.import_module(f"{lib.__name__}.utils.data._utils.pin_memory").pin_memory
    Pair = collections.namedtuple("Pair", "a b")
    held = Held([Pinned(), "word"])
    held.note = "kept"
    ordered = collections.OrderedDict(b=Pinned(), a=(1, Pinned()))
    made = pin({"pair": Pair(Pinned(), b"b"), "held": held, "ordered": ordered, "fixed": Fixed({"k": Pinned()})})
    assert type(made["pair"]) is Pair and made["pair"] == ("pinned", b"b")
    assert type(made["held"]) is Held and made["held"] == ["pinned", "word"] and made["held"].note == "kept"
    assert type(held[0]) is Pinned
    assert type(made["ordered"]) is collections.OrderedDict and made["ordered"] == {"b": "pinned", "a": (1, "pinned")}
    assert list(made["ordered"]) == ["b", "a"]
    assert type(made["fixed"]) is Fixed and made["fixed"]["k"] == "pinned"
    assert pin(range(3)) == [0, 1, 2] and pin((1, 2)) == (1, 2) and pin(3) == 3
