"""What strided.files.progress tells, for every kind of file."""

import io

import pytest
import strided as torch
from strided import files

LARGE = torch.arange(6 << 20, dtype=torch.float32)  # 24 MiB: several pieces


def several():
    return {"a": LARGE, "b": torch.ones(3), "c": torch.zeros(0)}


WRITERS = {
    "archive": lambda p: torch.save(several(), p),
    "npy": lambda p: files.save_npy(p, LARGE),
    "npz": lambda p: files.save_npz(p, several()),
    "safetensors": lambda p: files.save_file(several(), p),
}
READERS = {
    "archive": lambda p: torch.load(p)["a"],
    "npy": files.load_npy,
    "npz": lambda p: files.load_npz(p)["a"],
}


def heard(told):
    """The number of files; every one begins with nothing and ends with all."""
    ends = [i for i, (done, total) in enumerate(told) if done == total]
    begins = [i for i, (done, _) in enumerate(told) if done == 0]
    assert begins == [0, *(i + 1 for i in ends[:-1])] and ends[-1] == len(told) - 1
    for (done, total), (after, same) in zip(told, told[1:]):
        assert (done < after and total == same) or done == total
    return len(ends)


@pytest.mark.parametrize("name", WRITERS)
def test_files(name, tmp_path):
    told = []
    with files.progress(lambda *now: told.append(now)):
        WRITERS[name](tmp_path / "file")
        wrote = list(told)
        if name in READERS:
            assert torch.equal(READERS[name](tmp_path / "file"), LARGE)
    assert heard(wrote) == 1 and LARGE.nbytes <= wrote[0][1] <= LARGE.nbytes + 4096
    assert len(wrote) >= (3 if name == "npz" else 4)
    if name in READERS:
        assert heard(told) == 2 and len(told) - len(wrote) >= (3 if name == "npz" else 4)
    n = len(told)
    WRITERS[name](tmp_path / "file")
    assert len(told) == n  # nothing after the block


def test_file_objects():
    told = []
    with files.progress(lambda *now: told.append(now)):
        f = io.BytesIO()
        torch.save(LARGE, f)
        f.seek(0)
        torch.load(f)
    assert heard(told) == 2


def test_an_error_ends_the_writing(tmp_path):
    path = tmp_path / "x.pt"
    torch.save("old", path)

    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with files.progress(stop):
        with pytest.raises(KeyboardInterrupt):
            torch.save(several(), path)
        assert [p.name for p in tmp_path.iterdir()] == ["x.pt"]
        with pytest.raises(KeyboardInterrupt):
            torch.save(several(), path)  # counted from the beginning again
    assert torch.load(path) == "old"
    torch.save(several(), path)
    with files.progress(stop), pytest.raises(KeyboardInterrupt):
        torch.load(path)


@pytest.mark.parametrize("name", [*WRITERS, "npz, read"])
def test_an_error_at_the_beginning_or_the_end(name, tmp_path):
    files.save_npz(tmp_path / "x.npz", several())
    call = WRITERS.get(name, lambda p: files.load_npz(tmp_path / "x.npz"))
    for where in (lambda done, total: done == 0, lambda done, total: done == total):
        with files.progress(lambda *now: 1 / (not where(*now))), pytest.raises(ZeroDivisionError):
            call(tmp_path / "file")
        told = []
        with files.progress(lambda *now: told.append(now)):  # nothing is left of the one before
            call(tmp_path / "file")
        assert heard(told) == 1


def test_what_tells_nothing(tmp_path):
    torch.save(several(), tmp_path / "x.pt")
    files.save_file(several(), tmp_path / "x.safetensors")
    told = []
    with files.progress(lambda *now: told.append(now)):
        torch.load(tmp_path / "x.pt", mmap=True)
        files.load_file(tmp_path / "x.safetensors")
        torch.save({"epoch": 3}, io.BytesIO())
    assert told == []


def test_a_function_that_writes_files(tmp_path):
    told = []

    def write(done, total):
        told.append((done, total))
        torch.save(LARGE, io.BytesIO())
        files.save_npz(tmp_path / "inside.npz", {"a": LARGE})

    with files.progress(write):
        torch.save(LARGE[: 1 << 20], io.BytesIO())
    assert heard(told) == 1 and told[0][1] == LARGE.nbytes


def test_one_inside_another():
    outer, inner = [], []
    with files.progress(lambda *now: outer.append(now)):
        torch.save(LARGE, io.BytesIO())
        with files.progress(lambda *now: inner.append(now)):
            torch.save(LARGE, io.BytesIO())
        n = len(inner)
        torch.save(LARGE, io.BytesIO())
    assert heard(outer) == 2 and heard(inner) == 1 and len(inner) == n


def test_arguments():
    with pytest.raises(TypeError, match="a function of two numbers is required, got int"):
        with files.progress(3):
            pass

    def again(done, total):
        with files.progress(print):
            pass

    with files.progress(again), pytest.raises(RuntimeError, match="cannot be changed while"):
        torch.save(LARGE, io.BytesIO())


def test_a_bar(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)  # as if tqdm were missing
    with files.progress():
        torch.save(LARGE, io.BytesIO())
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with files.progress():
        torch.save(LARGE, io.BytesIO())
    assert "24.0 MiB" in (shown := capsys.readouterr().err) and shown.endswith("\r\033[K")


def test_tqdm(capsys):
    pytest.importorskip("tqdm")
    with files.progress():
        torch.save(LARGE, io.BytesIO())
    assert "25.2M/25.2M" in (shown := capsys.readouterr().err) or "24.0M/24.0M" in shown
