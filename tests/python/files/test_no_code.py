"""Nothing that reads files can run code that a file names: the sources are looked through."""

import ast
from pathlib import Path

import pytest
import strided

PACKAGE = Path(strided.__file__).parent
SOURCES = [PACKAGE / "serialization.py", *sorted((PACKAGE / "files").glob("*.py"))]
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "import_module", "literal_eval", "find_class", "loads"}
FORBIDDEN_MODULES = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "importlib", "runpy",
                     "code", "ctypes", "subprocess", "builtins", "copyreg"}  # fmt: skip


def violations(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
                # The exceptions of Python's pickle are raised: who caught them from PyTorch still does. What a program
                # has registered with copyreg takes objects apart that it writes.
                names = [(node.module, a.name) for a in node.names]
                fine = (
                    ("copyreg", "dispatch_table"),
                    *(one for one in names if one[0] == "pickle" and one[1][-5:] == "Error"),
                )
                yield from (name for module, name in names if (module, name) not in fine)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            owner = getattr(getattr(node.func, "value", None), "id", None)
            if name in FORBIDDEN_CALLS and (owner, name) not in {("re", "compile"), ("json", "loads")}:
                yield name
        elif isinstance(node, ast.Name) and node.id in {"__builtins__", "__loader__"}:
            yield node.id


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.name)
def test_source(source):
    assert list(violations(ast.parse(source.read_text("utf-8")))) == []


BAD = """
import pickle
from pickle import loads
pickle.loads(x)
eval('1')
__import__(name)
import importlib
importlib.import_module(name)
from builtins import eval
__builtins__['eval']
"""


@pytest.mark.parametrize("bad", BAD.split("\n")[1:-1])
def test_it_would_be_found(bad):
    assert list(violations(ast.parse(bad)))


def test_the_core_imports_nothing():
    """The machine is C++: it calls none of the functions by which Python imports or evaluates."""
    root = PACKAGE.parents[1] / "csrc"
    if not root.is_dir():
        pytest.skip("there are no C++ sources beside this package")
    for source in [*(root / "python" / "files").iterdir(), *(root / "files").iterdir()]:
        text = source.read_text("utf-8")
        for word in ("PyImport_Import", "PyRun_", "PyEval_Eval", "Py_Compile", "dlopen"):
            assert word not in text, f"{source.name}: {word}"
