"""Arguments have PyTorch's names: every function takes the keywords that PyTorch's parser names."""

import re

import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402

# What PyTorch's parser calls otherwise than its documentation, and an argument for a product in another dtype.
KNOWN = {("Tensor.copy_", "other"), ("result_type", "scalar"), ("result_type", "scalar1"), ("result_type", "scalar2")}
KNOWN |= {("result_type", "tensor"), ("result_type", "other")}
KNOWN |= {(name, "out_dtype") for name in ("mm", "bmm", "addmm", "baddbmm")}


def names(function):
    """The keywords of a function of PyTorch, from what it says to a call that fits none of its signatures."""
    try:
        function(nonsense=1)
    except Exception as error:  # noqa: BLE001
        text = str(error)
    else:
        return set()
    found = set(re.findall(r'"(\w+)"', text)) if "required positional argument" in text else set()
    for signature in re.findall(r"\* \(([^)]*(?:\([^)]*\)[^)]*)*)\)", text):
        for part in re.split(r", (?![^(]*\))", signature):
            declaration = part.split("=")[0].strip()
            if " " in declaration:
                found.add(declaration.split()[-1])
    return found


def cases():
    for name, function in sorted(strided._C.functions.items()):
        there = torch.ones(2, 2) if name.startswith("Tensor.") else torch
        for part in name.removeprefix("Tensor.").split("."):
            there = getattr(there, part, None)
        if there is not None and not name.rpartition(".")[2].startswith("_"):
            yield pytest.param(name, function, there, id=name)


def takes(function, name):
    """Whether some overload has the keyword, or one alone takes it for another name of its own."""
    if any(name == p[0] for params, _, _ in function.overloads for p in params):
        return True
    if len(function.overloads) > 1:
        return name == "input" and any(params[0][0] == "self" for params, _, _ in function.overloads)
    try:
        function(**{name: object()})
    except Exception as error:  # noqa: BLE001
        return "unexpected keyword" not in str(error)
    return True


@pytest.mark.parametrize("name, function, peer", cases())
def test_keywords(name, function, peer):
    missing = {n for n in names(peer) if not takes(function, n)} - {n for f, n in KNOWN if f == name}
    assert missing == set()
