"""A file that cannot be written to its end leaves the old one as it was, wherever it stops."""

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest
import strided as torch
from strided import files
from strided.files import _writing

STATE = {"a": torch.arange(100000.0), "b": [torch.ones(3, dtype=torch.int8), "text"], "c": torch.zeros(20000)}
TENSORS = {"a": STATE["a"], "b": STATE["b"][0], "c": STATE["c"]}
WRITERS = {
    "zip": lambda path: torch.save(STATE, path),
    "stream": lambda path: torch.save(STATE, path, _use_new_zipfile_serialization=False),
    "safetensors": lambda path: files.save_file(TENSORS, path),
    "npy": lambda path: files.save_npy(path, STATE["a"]),
    "npz": lambda path: files.save_npz(path, TENSORS),
    "npz compressed": lambda path: files.save_npz(path, TENSORS, compressed=True),
}


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"the old file")
    yield path
    assert [p.name for p in tmp_path.iterdir()] == ["file"], "a temporary file was left behind"


LIMITED = """
import resource, signal, sys
sys.path[:0] = {paths!r}
import test_atomic, strided
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit in range(0, {size}, max({size} // 12, 1)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        test_atomic.WRITERS[{name!r}]({path!r})
    except OSError as problem:
        assert problem.errno == 27, problem  # EFBIG
    else:
        raise SystemExit(f"{{limit}} bytes were enough")
    assert open({path!r}, "rb").read() == b"the old file", limit
"""


@pytest.mark.parametrize("name", WRITERS)
def test_full_disk(name, old, tmp_path_factory):
    """The system refuses to write beyond some byte of the file: at the beginning, in the middle, at the last one."""
    whole = tmp_path_factory.mktemp("whole") / "file"
    WRITERS[name](whole)
    paths = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(torch.__file__))]
    code = LIMITED.format(paths=paths, size=whole.stat().st_size, name=name, path=str(old))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    WRITERS[name](old)
    assert old.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("call", ["open", "fsync", "replace", "fchmod"])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "injected"), KeyboardInterrupt()], ids=["EIO", "Ctrl-C"])
@pytest.mark.parametrize("name", WRITERS)
def test_every_other_call(name, call, error, old, monkeypatch):
    def fail(*args, **keywords):
        raise error

    monkeypatch.setattr(_writing.os, call, fail)
    with pytest.raises(type(error)):
        WRITERS[name](old)
    monkeypatch.undo()
    assert old.read_bytes() == b"the old file"


class Stopping:
    """A file object whose n-th write fails."""

    def __init__(self, n):
        self.left, self.size = n, 0

    def write(self, data):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.size += len(data)
        return len(data)


def test_every_write_of_a_file_object():
    n = 0
    while True:
        f = Stopping(n)
        try:
            torch.save(STATE, f)
        except KeyboardInterrupt:
            n += 1
            continue
        break
    assert n >= 3 and f.size > 480000


def test_an_object_that_cannot_be_saved(old):
    with pytest.raises(Exception, match="object"):
        torch.save([STATE, object()], old)
    assert old.read_bytes() == b"the old file"


def test_killed_while_writing(old):
    """kill -9 at any moment: the old file or the new one, whole."""
    code = f"""
        import sys
        sys.path[:0] = {[os.path.dirname(__file__), os.path.dirname(os.path.dirname(torch.__file__))]!r}
        import test_atomic
        print("ready", flush=True)
        while True:
            test_atomic.WRITERS["zip"]({str(old)!r})
    """
    for k in range(4):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
        child.stdout.readline()
        try:
            child.wait(0.03 * k)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.wait()
        assert old.read_bytes() == b"the old file" or torch.load(old)["a"].equal(STATE["a"])
    for left in old.parent.glob(".file.*.tmp"):
        left.unlink()


def test_permissions_and_links(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(1, link)
    assert link.is_symlink() and torch.load(path) == 1 and path.stat().st_mode & 0o777 == 0o640
    before = os.umask(0o027)
    try:
        torch.save(1, tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_devices_are_written_to():
    torch.save(STATE, "/dev/null")
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="No space left"):
            torch.save(STATE, "/dev/full")
