"""Large tensors of batches that workers make: memory that both processes see, used again once it is read no more."""

import os
import pickle
import subprocess
import sys

import pytest
import strided
from strided.utils.data import DataLoader

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="there are no segments without memfd_create")

DTYPES = [
    strided.float32, strided.float64, strided.int64, strided.uint8, strided.bool, strided.float16, strided.bfloat16,
    strided.complex64, strided.float8_e4m3fn,
]  # fmt: skip


class Numbers:
    """Sample i: i in every element, in all dtypes and kinds of containers."""

    def __init__(self, size=3000, count=12):
        self.size, self.count = size, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"i": i, "all": [strided.full((self.size,), i, dtype=d) for d in DTYPES], "small": strided.tensor([i])}


def first(samples):
    return samples[0]


def run_apart(script):
    """What a process of its own prints; processes are forked there, or have little left."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)


def mapped(loader):
    """How many segments the process has mapped."""
    return sum(len(r.memory) for r in loader._iterator._pool.receivers)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_every_dtype_arrives(context):
    loader = DataLoader(Numbers(), batch_size=4, num_workers=2, multiprocessing_context=context)
    for k, batch in enumerate(loader):
        wanted = [4 * k + i for i in range(4)]
        assert batch["i"].tolist() == wanted and batch["small"].flatten().tolist() == wanted
        for d, t in zip(DTYPES, batch["all"]):
            assert t.dtype is d and t.shape == (4, 3000) and t.is_contiguous() and not t.requires_grad
            assert all(t[i].tolist() == 3000 * [strided.tensor(wanted[i]).to(d).item()] for i in range(4))
            assert t.untyped_storage().nbytes() == t.nbytes and len(pickle.dumps(t)) < t.nbytes + 1000


def test_batches_that_are_kept_stay_as_they_are():
    loader = DataLoader(Numbers(), batch_size=1, num_workers=2)
    kept = list(loader) + list(loader)
    views = [batch["all"][0][0, 5:] for batch in kept]
    del kept
    more = list(loader)
    assert [v[7].item() for v in views] == 2 * list(range(12))
    assert all((v == v[0]).all() for v in views) and len(more) == 12
    more[0]["all"][0].zero_()  # memory of the reader's own
    assert [v[0].item() for v in views] == 2 * list(range(12))


def test_memory_is_used_again():
    loader = DataLoader(Numbers(count=200), batch_size=1, num_workers=2, persistent_workers=True)
    for _ in range(2):
        for batch in loader:
            assert (batch["all"][1] == batch["i"]).all()
    assert mapped(loader) <= 2 * 6  # of 400 batches


class Longer:
    """Samples of growing sizes: no segment is large enough for the next one."""

    def __len__(self):
        return 60

    def __getitem__(self, i):
        return strided.full((5000 + 2000 * i,), i)


def test_segments_that_are_too_small_are_given_up():
    loader = DataLoader(Longer(), batch_size=None, num_workers=1, persistent_workers=True)
    for _ in range(2):
        for i, t in enumerate(loader):
            assert t.shape == (5000 + 2000 * i,) and (t == i).all()
    assert mapped(loader) <= 4 + 3  # those that wait, those under way


def test_passes_that_are_left_early():
    loader = DataLoader(Numbers(count=50), batch_size=1, num_workers=2, persistent_workers=True)
    for _ in range(20):
        for batch in loader:
            assert batch["i"].item() == 0 and (batch["all"][0] == 0).all()
            break
    assert [batch["i"].item() for batch in loader] == list(range(50)) and mapped(loader) <= 2 * 8


def layouts(samples):
    (x,) = samples
    wide = strided.full((2, 8, 20, 20), float(x))
    leaf = strided.full((5000,), float(x), requires_grad=True)
    shared = strided.full((5000,), float(x)).share_memory_()
    own = wide.as_subclass(Own)
    return wide.to(memory_format=strided.channels_last), wide[:, ::2], leaf, shared, own, wide.to_sparse(), wide, wide


class Own(strided.Tensor):
    """A type of the user's own."""


def test_what_is_no_plain_tensor_arrives_as_it_is():
    for x, batch in enumerate(DataLoader(range(3), batch_size=1, num_workers=1, collate_fn=layouts)):
        last, cut, leaf, shared, own, sparse, one, same = batch
        assert last.is_contiguous(memory_format=strided.channels_last) and cut.shape == (2, 4, 20, 20)
        assert leaf.requires_grad and leaf.is_leaf and shared.is_shared() and type(own) is Own
        assert sparse.layout is strided.sparse_coo and one is same
        for t in (last, cut, leaf, shared, own, sparse.to_dense(), one):
            assert (t == x).all()


def unpicklable(samples):
    return (lambda: 0) if samples[0] == 1 else strided.full((5000,), samples[0])


def test_what_cannot_be_sent_is_told():
    batches = iter(DataLoader(range(3), batch_size=1, num_workers=1, collate_fn=unpicklable))
    assert (next(batches) == 0).all()
    with pytest.raises((pickle.PicklingError, AttributeError), match="worker process 0"):
        next(batches)
    assert (next(batches) == 2).all()


def test_a_forked_process_does_not_stop_the_workers():
    script = """
import gc, os
from strided.utils.data import DataLoader
loader = DataLoader(range(40), num_workers=1, persistent_workers=True)
batches = iter(loader)
assert next(batches).item() == 0
if os.fork() == 0:
    del loader, batches
    gc.collect()
    os._exit(0)
os.wait()
assert [b.item() for b in batches] == list(range(1, 40))
print("done")
"""
    run = run_apart(script)
    assert run.stdout == "done\n" and "Error" not in run.stderr, run.stderr


def test_a_forked_process_keeps_the_batch_that_it_was_given():
    script = """
import os
import strided
from strided.utils.data import DataLoader
loader = DataLoader([strided.full((5000,), i) for i in range(60)], batch_size=None, num_workers=1)
read, write = os.pipe()
answer, told = os.pipe()
batches = iter(loader)
batch = next(batches)
child = os.fork()
if child == 0:
    os.read(read, 1)
    os.write(told, b"1" if (batch == 0).all() else b"0")
    os._exit(0)
del batch
assert all((b == i + 1).all() for i, b in enumerate(batches))
os.write(write, b".")
print(os.read(answer, 1).decode())
os.waitpid(child, 0)
"""
    run = run_apart(script)
    assert run.stdout == "1\n", run.stderr


@pytest.mark.parametrize("where", ["worker", "reader", "both"])
def test_too_many_open_files(where):
    """No batch is lost or mistaken for another: those that find no descriptor are pickled, or an error says so."""
    script = f"""
import resource
import strided
from strided.utils.data import DataLoader

def limit(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (n, 4096))

class Longer:
    def __len__(self):
        return 60
    def __getitem__(self, i):
        if {where!r} != "reader":
            limit(12 if 10 <= i < 20 else 512)
        return strided.full((5000 + 1000 * i,), i)

batches = iter(DataLoader(Longer(), batch_size=None, num_workers=1, prefetch_factor=4, persistent_workers=True))
right = wrong = 0
for i in range(60):
    if {where!r} != "worker":
        limit(10 if 30 <= i < 40 else 512)
    try:
        right += bool((next(batches) == i).all())
    except RuntimeError as error:
        assert "too many open files" in str(error)
        wrong += 1
limit(512)
print(right + wrong, right >= 20)
"""
    run = run_apart(script)
    assert run.stdout == "60 True\n", run.stderr


def test_more_batches_than_descriptors():
    script = """
import resource
import strided
from strided.utils.data import DataLoader
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 4096))
kept = list(DataLoader([strided.full((5000,), i) for i in range(300)], batch_size=None, num_workers=2))
print(all((b == i).all() for i, b in enumerate(kept)), len(kept))
"""
    run = run_apart(script)
    assert run.stdout == "True 300\n", run.stderr


class Reads:
    """Reads a batch of its own when it is unpickled."""

    def __init__(self, x):
        self.x = x

    def __getstate__(self):
        return {"x": self.x}

    def __setstate__(self, state):
        self.x = state["x"]
        (self.inner,) = DataLoader([strided.full((5000,), 101)], batch_size=None, num_workers=1)


def nested(samples):
    return (
        strided.full((5000,), samples[0]),
        Reads(strided.full((6000,), samples[0])),
        strided.full((7000,), samples[0]),
    )


def test_batches_that_are_read_while_another_one_is():
    for i, (a, reads, b) in enumerate(DataLoader(range(3), batch_size=1, num_workers=1, collate_fn=nested)):
        assert (a == i).all() and (reads.x == i).all() and (b == i).all() and (reads.inner == 101).all()


class Refuses:
    def __init__(self, i):
        self.i = i

    def __getstate__(self):
        return {"i": self.i}

    def __setstate__(self, state):
        if state["i"] == 1:
            raise ValueError("cannot be read")
        self.i = state["i"]


def test_batches_that_cannot_be_read_are_told():
    batches = iter(DataLoader(range(3), batch_size=1, num_workers=1, collate_fn=lambda s: Refuses(s[0])))
    assert next(batches).i == 0
    with pytest.raises(ValueError, match="cannot be read"):
        next(batches)
    assert next(batches).i == 2


def marked(samples):
    t = strided.full((5000,), samples[0])
    t.tag = "mine"
    return t, strided.full((1, 5000), samples[0]).as_strided((1, 5000), (7, 1))


def test_attributes_and_strides():
    for t, row in DataLoader(range(2), batch_size=1, num_workers=1, collate_fn=marked):
        assert t.tag == "mine" and row.stride() == (7, 1)
