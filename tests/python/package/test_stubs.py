"""The stubs are those that tools/stubs.py writes, and a type checker accepts programs that use them."""

import importlib
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import strided

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tools" / "stubs.py"
PACKAGE = Path(strided.__file__).parent
USER_CODE = Path(__file__).with_name("typing_user_code.py")


def test_stubs_are_fresh():
    made = runpy.run_path(str(SCRIPT))
    for name in made["MODULES"]:
        stub = PACKAGE / f"{name}.pyi"
        assert stub.exists(), "python tools/stubs.py writes it"
        assert stub.read_text("utf-8") == made["stub_of"](name), f"{stub.name} is stale: python tools/stubs.py"
    assert made["problems"] == []
    assert {p.stem for p in PACKAGE.rglob("*.pyi")} == set(made["MODULES"])
    assert (PACKAGE / "py.typed").exists()


def test_user_code_runs():
    subprocess.run([sys.executable, str(USER_CODE)], check=True)


def test_stubs_name_what_the_modules_have():
    import ast

    made = runpy.run_path(str(SCRIPT))
    for name in made["MODULES"]:
        module = strided if name == "__init__" else importlib.import_module(f"strided.{name}")
        named = set()
        for node in ast.parse((PACKAGE / f"{name}.pyi").read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                named.add(node.name)
            elif isinstance(node, ast.AnnAssign):
                named.add(node.target.id)
            elif isinstance(node, ast.ImportFrom):
                named |= {a.asname for a in node.names if a.asname == a.name}
        assert {n for n in named if not n.startswith("_")} == {n for n in dir(module) if not n.startswith("_")}


# libstrided_cuda.so lies beside the modules and is none.
MODULES = ["strided"] + [
    found.name
    for found in pkgutil.walk_packages(strided.__path__, "strided.")
    if not any(part.startswith(("_", "libstrided")) for part in found.name.split("."))
]


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_in_python_is_annotated(name):
    module = importlib.import_module(name)
    places = [(n, getattr(module, n)) for n in dir(module) if not n.startswith("_")]
    places += [
        (f"{n}.{m}", function)
        for n, value in places
        if isinstance(value, type) and value.__module__.startswith("strided")
        for m, function in vars(value).items()
        if not m.startswith("_") or m in ("__init__", "__call__", "__enter__", "__exit__")
    ]
    missing = []
    for where, function in places:
        function = inspect.unwrap(function) if callable(function) else function
        if not inspect.isfunction(function) or not function.__module__.startswith("strided"):
            continue
        signature = inspect.signature(function)
        for i, p in enumerate(signature.parameters.values()):
            if p.annotation is p.empty and not (i == 0 and p.name in ("self", "cls")):
                missing.append(f"{where}: {p.name}")
        if signature.return_annotation is signature.empty:
            missing.append(f"{where}: the result")
    assert missing == []


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Calls mypy: its exit status and what it says."""
    pytest.importorskip("mypy", reason="pip install mypy")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path_factory.mktemp("mypy"))]

    def call(*arguments):
        done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return call


def test_stubs_and_user_code_are_strictly_typed(check):
    stubs = [str(p) for p in sorted(PACKAGE.glob("*.pyi"))]
    code, text = check("--strict", *stubs, str(USER_CODE))
    assert code == 0, text


def test_examples_are_typed(check):
    code, text = check("--strict", "--allow-untyped-defs", "--allow-untyped-calls", "examples")
    assert code == 0, text


# A line, and what a type checker says of it.
MISTAKES = [
    ("torch.zeros('a')", "incompatible type|No overload"),
    ("torch.sum(torch.ones(2), dims=0)", "Unexpected keyword"),
    ("torch.ones(2).shape + 1", "Unsupported operand|No overload"),
    ("torch.max(torch.ones(2, 2), 1) + 1", "Unsupported operand|No overload"),
    ("torch.max(torch.ones(2, 2), 1).value", "has no attribute"),
    ("torch.linalg.solve(torch.eye(2))", "Missing positional"),
    ("torch.nonsense", "has no attribute"),
    ("torch.ones(2).nonsense()", "has no attribute"),
    ("torch.ones(2, dtype='float32')", "No overload"),
    ("torch.autograd.grad()", "Missing positional"),
    ("torch.cuda.Stream(speed=1).sync()", "has no attribute"),
]


def test_mistakes_are_found(check, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import strided as torch\n" + "\n".join(line for line, _ in MISTAKES) + "\n")
    code, text = check("--strict", str(program))
    assert code == 1
    for number, (line, why) in enumerate(MISTAKES, 2):
        assert re.search(rf"program.py:{number}: error: .*({why})", text), f"{line}: {why}\n{text}"
