"""`python -m strided run`: which of the processes that a program starts have strided in PyTorch's place."""

import os
import subprocess
import sys

import pytest


def run(*words, **environment):
    """What `python -m strided run ...` prints."""
    command = [sys.executable, "-m", "strided", "run", *words]
    variables = os.environ | {k: v for k, v in environment.items() if v is not None}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=variables)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "sitecustomize" not in done.stderr  # where `site` tells of a failure
    return done.stdout


def child(code, *flags, of="dict(os.environ)"):
    """A program that runs `code` in another Python and prints what that printed."""
    return (
        "import os, subprocess, sys\n"
        f"done = subprocess.run([sys.executable, *{flags!r}, '-c', {code!r}], env={of}, capture_output=True, text=True)\n"
        "print(done.stdout, done.stderr)\n"
    )


WHO = "import torch; print(torch.__file__.split('/')[-2], torch.__version__ == torch.torch.version.__version__)"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_process_pools(tmp_path, method):
    (tmp_path / "program.py").write_text(f"""
import concurrent.futures, multiprocessing

def work(n):
    import torch
    return torch.__file__.split("/")[-2], torch.full((2,), n), type(torch.ones(1)).__module__

if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({method!r})) as pool:
        for name, x, home in pool.map(work, range(2)):
            print(name, x.sum().item(), home)
""")
    assert run(str(tmp_path / "program.py")) == "strided 0 torch\nstrided 2 torch\n"


def test_joblib(tmp_path):
    pytest.importorskip("joblib")
    (tmp_path / "program.py").write_text("""
import joblib, torch

def work(x):
    import torch
    return torch.__file__.split("/")[-2], x * 2

if __name__ == "__main__":
    for name, x in joblib.Parallel(n_jobs=2)(joblib.delayed(work)(torch.ones(2)) for _ in range(2)):
        print(name, x.tolist())
""")
    assert run(str(tmp_path / "program.py")) == "strided [2.0, 2.0]\n" * 2


def test_programs():
    assert run("-c", child(WHO)).strip() == "strided True"
    assert run("-c", child("import subprocess, sys\n" + child(WHO))).strip() == "strided True"  # and their children


def test_what_libraries_ask():
    code = """
import importlib.metadata, importlib.util
print(importlib.metadata.version("torch").startswith("2.13.0+strided."), importlib.util.find_spec("torch") is not None)
import torch.nn.functional as F
print(F.__name__, importlib.util.find_spec("torch.no_such"))
try:
    import torch.linalg.no_such
except ModuleNotFoundError as error:
    print(error)
"""
    assert run("-c", child(code)).split("\n")[:3] == [
        "True True",
        "torch.nn.functional None",
        "No module named 'torch.linalg.no_such'; 'torch.linalg' is not a package",
    ]


def test_others_are_left_alone():
    """Nothing is imported before somebody asks, and their path is the one they know."""
    code = """
import sys, importlib.metadata
assert list(importlib.metadata.distributions())
assert not [m for m in sys.modules if m.partition('.')[0] in ('strided', 'torch', 'numpy')]
assert not [p for p in sys.path if '_as_torch_path' in p]
print('fine')
"""
    assert run("-c", child(code)).strip() == "fine"


@pytest.mark.parametrize(
    "flags, changed",
    [
        ((), "'STRIDED_AS_TORCH': 'other-1:/elsewhere'"),
        ((), "'STRIDED_AS_TORCH': ''"),
        (("-I",), ""),
        ((), "'PYTHONPATH': ''"),
    ],
)
def test_who_keeps_pytorch(flags, changed):
    code = "import sys; print([f for f in sys.meta_path if 'Awaited' in type(f).__name__])"
    assert run("-c", child(code, *flags, of=f"{{**os.environ, {changed}}}")).strip() == "[]"


@pytest.mark.parametrize("is_child", [True, False])
def test_the_sitecustomize_of_the_user_runs(tmp_path, is_child):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.of_the_user = 1\n")
    code = "import sys, sitecustomize; print(sys.of_the_user, sitecustomize.__file__)"
    of = "dict(os.environ)" if is_child else "{**os.environ, 'STRIDED_AS_TORCH': ''}"
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    assert run("-c", child(code, of=of), PYTHONPATH=path).strip() == f"1 {tmp_path / 'sitecustomize.py'}"


def test_a_broken_sitecustomize_of_the_user_is_told_of(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import no_such_module_at_all\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "strided", "run", "-c", child("print(1)")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | {"PYTHONPATH": path})
    assert "No module named 'no_such_module_at_all'" in done.stdout, done.stderr


def test_the_environment_is_set_once():
    code = "import os; print(os.environ['PYTHONPATH'].count('_as_torch_path'))"
    again = f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'strided', 'run', '-c', {code!r}])"
    assert run("-c", again).strip() == "1"
    assert run("-c", code).strip() == "1"
