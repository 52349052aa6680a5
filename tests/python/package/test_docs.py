"""Every example in the documentation runs: README, docs/, the docstrings of the modules and of the bound functions."""

import builtins
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import strided

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# (The library of the CUDA backend lies beside the modules, and is none.)
MODULES = [
    "strided",
    *(
        m.name
        for m in pkgutil.walk_packages(strided.__path__, "strided.")
        if not m.name.endswith(("__main__", "libstrided_cuda"))
    ),
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run(test):
    """Runs a DocTest; the failure is the report of doctest."""
    report = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append, clear_globs=False)
    failures = "".join(report)
    if failures:
        pytest.fail(failures, pytrace=False)


def names():
    return {"strided": strided, "torch": strided}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page):
    # The fence of a code block ends the expected output.
    text = page.read_text("utf-8").replace("```", "\n")
    test = doctest.DocTestParser().get_doctest(text, names(), page.name, str(page), 0)
    run(test)


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    module = importlib.import_module(name)
    # (The package itself has names that hide Python's, such as float.)
    known = {key: value for key, value in vars(module).items() if not hasattr(builtins, key)} | names()
    for test in doctest.DocTestFinder().find(module, name, globs=known):
        run(test)


@pytest.mark.parametrize("name", sorted(strided._C.functions))
def test_function(name):
    doc = strided._C.functions[name].__doc__
    assert doc.strip(), "a function without documentation"
    if ">>>" in doc:
        run(doctest.DocTestParser().get_doctest(doc, names(), name, None, 0))


def test_the_page_of_dependencies_names_the_extras():
    section = (ROOT / "pyproject.toml").read_text("utf-8").split("[project.optional-dependencies]")[1].split("\n[")[0]
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    assert set(re.findall(r"^(\w+) = \[", section, re.MULTILINE)) == set(re.findall(r"extra `(\w+)`", page))


def test_readme_has_examples():
    assert ">>> import strided as torch" in (ROOT / "README.md").read_text("utf-8")
