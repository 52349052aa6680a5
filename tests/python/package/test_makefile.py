"""make builds again when it is called with other options than before, and only then."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Takes the place of the Python of the virtual environment: notes its arguments, and has nothing to install.
PYTHON = '#!/bin/sh\necho "$@" >> calls\nenv >> environment\n'

pytestmark = pytest.mark.skipif(
    not shutil.which("make") or not (ROOT / "Makefile").is_file(), reason="make and a checkout are needed"
)


@pytest.fixture
def folder(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("csrc", "python", "tests/cpp", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("pyproject.toml", "CMakeLists.txt", ".venv/tools-test"):
        (tmp_path / name).touch()
    python = tmp_path / ".venv/bin/python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    now = python.stat().st_mtime
    for path in tmp_path.rglob("*"):
        os.utime(path, (now - 100, now - 100))
    os.utime(tmp_path / ".venv/tools-test", (now - 50, now - 50))  # newer than what it is made of
    return tmp_path


def builds(folder, *options):
    """The values of STRIDED_ISAS with which `make venv` builds."""
    calls = folder / "calls"
    calls.write_text("")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "STRIDED_", "CUDA"))}
    subprocess.run(["make", "venv", *options], cwd=folder, env=env, check=True, capture_output=True)
    words = [word for line in calls.read_text().splitlines() for word in line.split() if "install" in line]
    return [word.partition("STRIDED_ISAS=")[2] for word in words if "STRIDED_ISAS=" in word]


def test_other_options_build_again(folder):
    assert builds(folder, "STRIDED_ISAS=v3") == ["v3"]
    assert builds(folder, "STRIDED_ISAS=v3") == []
    assert builds(folder, "STRIDED_ISAS=v2;v4") == ["v2;v4"]
    assert builds(folder) == ["auto"]
    assert builds(folder) == []
    assert builds(folder, "DEFINES=-Ccmake.define.STRIDED_SANITIZE=ON") == ["auto"]


def test_modules_for_other_pythons_are_not_seen(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/cluster/python3.8/site-packages")
    monkeypatch.setenv("PYTHONHOME", "/cluster/python3.8")
    builds(folder)
    names = {line.partition("=")[0] for line in (folder / "environment").read_text().splitlines()}
    assert "PATH" in names and not names & {"PYTHONPATH", "PYTHONHOME"}


def test_changed_sources_build_again(folder):
    builds(folder)
    source = folder / "csrc/new.cpp"
    source.touch()
    later = (folder / ".venv/with-test").stat().st_mtime + 10
    os.utime(source, (later, later))
    assert builds(folder) == ["auto"]


@pytest.mark.parametrize("files, first", [
    (["libasan.so", "libstdc++.so.6"], "libasan.so"),  # GCC
    (["libasan.so", "libclang_rt.asan-{machine}.so", "libstdc++.so.6"], "libclang_rt.asan-{machine}.so"),  # Clang
])  # fmt: skip
def test_the_sanitizer_is_that_of_the_compiler(folder, files, first):
    machine = os.uname().machine
    compiler = folder / "compiler"
    compiler.write_text("#!/bin/sh\nname=${1#-print-file-name=}\ntest -e lib/$name && echo lib/$name || echo $name\n")
    compiler.chmod(0o755)
    (folder / "lib").mkdir()
    for name in files:
        (folder / "lib" / name.format(machine=machine)).touch()
    said = subprocess.run(
        ["make", "-n", "sanitized", "CXX=./compiler"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    (line,) = [line for line in said.splitlines() if line.startswith("LD_PRELOAD=")]
    value = line[: line.index(" ASAN_OPTIONS=")]
    found = subprocess.run(["sh", "-c", f"{value}; echo $LD_PRELOAD"], cwd=folder, capture_output=True, text=True)
    assert found.stdout.split() == [f"lib/{first.format(machine=machine)}", "lib/libstdc++.so.6"]
