"""Stores answer what those of torch.distributed do."""

from datetime import timedelta

import pytest
import strided

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

CALLS = [
    ("set", "a", "1"), ("get", "a"), ("add", "c", 5), ("add", "a", 2), ("get", "c"), ("num_keys",),
    ("compare_set", "none", "x", "y"), ("compare_set", "a", "x", "y"), ("compare_set", "a", "3", "y"),
    ("compare_set", "new", "", "y"), ("get", "new"), ("wait", ["zz"], timedelta(milliseconds=10)),
    ("delete_key", "a"), ("check", ["a", "c"]), ("check", ["c", "new"]), ("check", []), ("append", "p", "q"),
    ("append", "p", "r"), ("get", "p"), ("multi_set", ["1", "2"], ["x", "y"]), ("multi_get", ["2", "1"]),
    ("set", 1, 2), ("set", "a", b"\x01"), ("get", "a"), ("add", "x", 2.5), ("get",),
    ("check", "e"), ("set_timeout", timedelta(milliseconds=10)), ("get", "absent"), ("has_extended_api",),
    ("num_keys",), ("list_keys",), ("add", "minus", -3),
]  # fmt: skip
QUEUES = [
    ("queue_push", "q", "1"), ("queue_push", "q", "2"), ("queue_len", "q"), ("queue_pop", "q"),
    ("queue_pop", "q", False), ("queue_pop", "q", False), ("queue_pop", "q"), ("queue_len", "q"),
]  # fmt: skip


def make(dist, kind, path):
    if kind == "file":
        return dist.FileStore(str(path), 1)
    if kind == "tcp":
        return dist.TCPStore("localhost", 0, 1, True, timeout=timedelta(seconds=10))
    return dist.PrefixStore("pre", dist.HashStore()) if kind == "prefix" else dist.HashStore()


def answers(store, calls):
    made = []
    for name, *args in calls:
        try:
            got = getattr(store, name)(*args)
            made.append((name, sorted(got) if name == "list_keys" else got))
        except Exception as error:
            made.append((name, type(error).__name__))
    return made


@pytest.mark.parametrize("kind", ["hash", "prefix", "tcp", "file"])
def test_answers(kind, tmp_path):
    calls = CALLS + (QUEUES if kind != "file" else QUEUES[:1])
    ours = answers(make(strided.distributed, kind, tmp_path / "ours"), calls)
    theirs = answers(make(torch.distributed, kind, tmp_path / "theirs"), calls)
    for mine, other, call in zip(ours, theirs, calls):
        if kind == "file" and call[0] in ("list_keys", "has_extended_api"):
            continue  # PyTorch's lists a key of its own, and appends all the same
        if kind == "file" and other[1] == "RuntimeError":
            assert mine[1] == "DistStoreError"  # a RuntimeError as well
            continue
        assert mine == other, call


def test_methods():
    for name in ("Store", "HashStore", "FileStore", "TCPStore", "PrefixStore"):
        theirs = {n for n in dir(getattr(torch.distributed, name)) if not n.startswith("_")}
        assert theirs - set(dir(getattr(strided.distributed, name))) - {"host", "port"} == set()


def test_errors():
    for name in ("DistStoreError", "DistNetworkError", "QueueEmptyError"):
        ours, theirs = getattr(strided.distributed, name), getattr(torch.distributed, name)
        assert [c.__name__ for c in ours.__mro__] == [c.__name__ for c in theirs.__mro__]
