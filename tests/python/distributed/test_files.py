"""Files of all ranks: each reads and writes its own part; the bytes are those that one process writes."""

import os
import sys

import numpy
import pytest
import strided
from strided import distributed as dist
from strided import files as single
from strided.distributed import files

RANKS = [1, 2, 3, 4, 6, 7]
ranks = pytest.mark.parametrize("n", RANKS)


def values(*shape, dtype=strided.float64):
    n = 1
    for s in shape:
        n *= s
    return (strided.arange(n) % 117).to(dtype).reshape(shape)


def cut(n, ranks, rank):
    """Uneven parts of an axis; some are empty where there are more ranks than indices."""
    step = -(-n // ranks)
    return slice(min(rank * step, n), min((rank + 1) * step, n))


SHAPES = [(12, 5), (5, 12), (3,), (2, 3, 4), (0, 3), (1, 1)]


@ranks
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("axis", [0, -1])
def test_npy_is_what_one_process_writes(n, shape, axis, tmp_path):
    whole = values(*shape)
    axis %= len(shape)

    def program():
        rank = dist.world().rank
        index = tuple(cut(shape[axis], n, rank) if k == axis else slice(None) for k in range(len(shape)))
        files.save_npy(tmp_path / "x.npy", files.Part(whole[index], shape, index))
        back = files.load_npy(tmp_path / "x.npy", index)
        assert back.tolist() == whole[index].tolist() and back.is_contiguous() and back.shape == whole[index].shape

    dist.simulate(n, program)
    single.save_npy(tmp_path / "one.npy", whole)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "one.npy").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["one.npy", "x.npy"]


def test_blocks_of_a_grid(tmp_path):
    """2 x 3 ranks, each with a block; read back with another cut."""
    whole = values(7, 10, 2, dtype=strided.int16)

    def program():
        i, j = divmod(dist.world().rank, 3)
        index = (cut(7, 2, i), cut(10, 3, j))
        files.save_npy(tmp_path / "x.npy", files.Part(whole[index], whole.shape, index))
        rows = cut(7, 6, dist.world().rank)
        assert files.load_npy(tmp_path / "x.npy", rows).tolist() == whole[rows].tolist()

    dist.simulate(6, program)
    assert numpy.array_equal(numpy.load(tmp_path / "x.npy"), whole.numpy())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2", "|b1", ">c16"])
def test_parts_of_what_numpy_wrote(order, dtype, tmp_path):
    x = numpy.asarray(numpy.arange(60).reshape(6, 10) % 7, dtype=dtype, order=order)
    numpy.save(tmp_path / "x.npy", x)
    for index in (slice(2, 5), (slice(None), slice(3, 9)), (slice(1, 2), slice(0, 0)), slice(-2, None), ()):
        found = files.load_npy(tmp_path / "x.npy", index)
        assert numpy.array_equal(found.numpy(), x[index])


@ranks
def test_safetensors(n, tmp_path):
    a, b, step = values(13, 4), values(6, 9, dtype=strided.bfloat16), strided.tensor(7)
    metadata = {"made": "here"}

    def program():
        rank = dist.world().rank
        columns = (slice(None), cut(9, n, rank))
        rows = cut(13, n, rank)
        parts = {"b": files.Part(b[columns], b.shape, columns), "a": files.Part(a[rows], a.shape, rows), "step": step}
        files.save_file(parts, tmp_path / "x.safetensors", metadata)
        found = files.load_file(tmp_path / "x.safetensors", {"a": rows, "b": columns})
        assert found["a"].tolist() == a[rows].tolist() and found["b"].tolist() == b[columns].tolist()
        assert found["step"].item() == 7 and list(found) == ["a", "b", "step"]

    dist.simulate(n, program)
    single.save_file({"a": a, "b": b, "step": step}, tmp_path / "one.safetensors", metadata)
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "one.safetensors").read_bytes()


def test_only_what_an_index_names_is_read(tmp_path):
    """A part of a file of 64 GiB that has no blocks on the disk."""
    path = tmp_path / "x.npy"
    if sys.maxsize < 2**40:
        pytest.skip("needs 64-bit addresses")
    head = single.npy.header_bytes(strided.float64, (2**20, 2**13))
    with open(path, "wb") as f:
        f.write(head)
        try:
            f.truncate(len(head) + 8 * 2**33)
        except OSError:
            pytest.skip("this file system has no holes")
    assert files.load_npy(path, (slice(2**19, 2**19 + 2), slice(5, 8))).tolist() == [[0.0] * 3] * 2


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([slice(0, 3), slice(2, 4)], "the parts of the tensor on ranks 0 and 1 overlap"),
        ([slice(0, 2), slice(3, 4)], "the parts of the tensor have 3 of its 4 elements"),
        ([slice(0, 2), None], "a Part on some ranks"),
    ],
)
def test_parts_must_be_the_whole(parts, text, tmp_path):
    whole = strided.arange(4)
    (tmp_path / "x.npy").write_bytes(b"old")

    def program():
        index = parts[dist.world().rank]
        with pytest.raises(ValueError, match=text):
            files.save_npy(tmp_path / "x.npy", whole if index is None else files.Part(whole[index], (4,), index))
        return "told"

    assert dist.simulate(2, program) == ["told"] * 2
    assert (tmp_path / "x.npy").read_bytes() == b"old" and os.listdir(tmp_path) == ["x.npy"]


def test_a_rank_that_cannot_write(tmp_path, monkeypatch):
    """All ranks raise, the old file stays, and nothing is left beside it."""
    (tmp_path / "x.npy").write_bytes(b"old")
    write = os.pwrite

    def full(fd, data, at):
        if dist.world().rank == 1:
            raise OSError(28, "No space left on device")
        return write(fd, data, at)

    monkeypatch.setattr(os, "pwrite", full)

    def program():
        rank = dist.world().rank
        part = files.Part(strided.ones(2), (6,), slice(2 * rank, 2 * rank + 2))
        with pytest.raises(OSError if rank == 1 else dist.RankError, match="No space left on device") as caught:
            files.save_npy(tmp_path / "x.npy", part)
        return getattr(caught.value, "rank", None)

    assert dist.simulate(3, program) == [1, None, 1]
    assert (tmp_path / "x.npy").read_bytes() == b"old" and os.listdir(tmp_path) == ["x.npy"]


def test_a_folder_that_is_not_there(tmp_path):
    def program():
        with pytest.raises((FileNotFoundError, dist.RankError), match="No such file"):
            files.save_npy(tmp_path / "no" / "x.npy", strided.ones(2))
        return True

    assert dist.simulate(2, program) == [True, True]


def test_errors_of_use(tmp_path):
    with pytest.raises(ValueError, match=r"shape \(2,\) for an index of shape \(3,\)"):
        files.Part(strided.ones(2), (4,), slice(0, 3))
    with pytest.raises(TypeError, match="slices with step 1"):
        files.Part(strided.ones(2), (4,), slice(0, 4, 2))
    with pytest.raises(IndexError, match="2 slices for a tensor of shape"):
        files.Part(strided.ones(2), (2,), (slice(None), slice(None)))
    with pytest.raises(TypeError, match="NumPy's files have no"):
        files.save_npy(tmp_path / "x.npy", strided.ones(2, dtype=strided.bfloat16))
    with pytest.raises(TypeError, match="a Tensor or a Part"):
        files.save_npy(tmp_path / "x.npy", [1.0])
    single.save_file({"a": strided.ones(1)}, tmp_path / "x.safetensors")
    with pytest.raises(KeyError, match="does not contain tensor b"):
        files.load_file(tmp_path / "x.safetensors", {"b": slice(0, 1)})
    with pytest.raises(TypeError, match="texts by name"):
        files.save_file({"a": strided.ones(1)}, tmp_path / "x.safetensors", {"a": 1})


def test_the_mode_of_the_old_file_stays(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(b"old")
    path.chmod(0o640)
    dist.simulate(2, lambda: files.save_npy(path, strided.ones(3)))
    assert path.stat().st_mode & 0o777 == 0o640
    assert files.load_npy(path).tolist() == [1.0] * 3
