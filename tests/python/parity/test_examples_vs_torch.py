"""The examples in PyTorch's docstrings, read from the PyTorch that is installed: they run here, and print the same."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch_examples
import torch_names

pytest.importorskip("torch")

SCRIPT = Path(torch_examples.__file__)
# What an example may print otherwise, beside last digits: docs/differences.md says why. (Seeds differ in any two runs.)
DIFFERENT = {
    "torch.resolve_conj": "conj() is a copy",
    "torch.conj": "conj() is a copy",
    "torch.resolve_neg": "and so is what has a neg bit in PyTorch",
    "torch.set_default_dtype": "there is no complex32",
    "torch.set_flush_denormal": "tiny numbers stay",
    "torch.sort": "the order of equal elements",
    "torch.svd": "signs of singular vectors",
    "torch.Generator.seed": "a number of the moment",
    "torch.distributions.LKJCholesky": "PyTorch samples another distribution",
    "torch.distributions.Wishart": "PyTorch samples another distribution",
    "torch.cholesky_inverse": "what is left of the last digits is printed",
    "torch.linalg.solve_triangular": "last digits decide allclose",
    "torch.autograd.functional.jvp": "the names of nodes in a second backward pass",
    "torch.sparse.mm": "the names of nodes of reductions",
    "torch.nested.narrow": "parts are copies",
    "torch.func.functionalize": "recorded writes stay writes",
    "torch.vmap": "functions are no built-in ones of a type",
    "torch.autograd.graph.saved_tensors_hooks": "the order in which tensors are saved",
    "torch.autograd.graph.register_multi_grad_hook": "the type of a handle",
    "torch.overrides.get_testing_overrides": "signatures say more",
}
# What raises here, beside names that docs/left_out.md lists: docs/differences.md says so.
MISSING = {
    "torch.nested.to_padded_tensor": "nested tensors have one ragged axis",
    "torch.sparse.as_sparse_gradcheck": "no such name",
}
UNFILLED = re.compile(r"empty|skip_init")  # what these print is what was in memory


def answers(tmp_path):
    """{name: statements, with what they print and raise} of both packages."""
    # PyTorch has no device here, so strided gets no emulated one.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("STRIDED_")}
    environ |= {"CUDA_VISIBLE_DEVICES": "", "TORCHDYNAMO_DISABLE": "1"}
    examples, files = tmp_path / "examples.json", [tmp_path / "ours.json", tmp_path / "theirs.json"]
    subprocess.run([sys.executable, SCRIPT, "collect", examples], env=environ, check=True, timeout=300)
    ways = [["-m", "strided", "run"], []]
    running = [
        subprocess.Popen([sys.executable, *way, SCRIPT, "run", examples, file], env=environ)
        for way, file in zip(ways, files)
    ]
    try:
        assert [process.wait(timeout=500) for process in running] == [0, 0]
    finally:
        for process in running:
            process.kill()
    return [dict(json.loads(file.read_text("utf-8"))) for file in files]


def left_out():
    """A pattern for the names that docs/left_out.md lists: examples with them are of what strided has not."""
    names = [f"{place}.{n}" for place, names in torch_names.listed().items() for n in names]
    names += [f"Tensor.{n}" for n in torch_names.listed().get("torch.Tensor", ())]
    return re.compile(r"\b(" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b")


def faults(name, ours, theirs):
    """What goes wrong in one example, statement by statement."""
    for (text, our_text, our_error), (_, their_text, their_error) in zip(ours, theirs):
        if our_error and not their_error:
            yield f"{name}: {text}\n    raises {our_error}"
            return
        compared = not their_error and name not in DIFFERENT and not UNFILLED.search(name)
        if compared and not torch_examples.same(our_text, their_text):
            yield f"{name}: {text}\n  prints\n{our_text}\n  and PyTorch\n{their_text}"


def test_examples(tmp_path):
    ours, theirs = answers(tmp_path)
    absent = left_out()
    found, count = [], 0
    for name, results in theirs.items():
        if name in MISSING or absent.search(name) or any(absent.search(text) for text, *_ in results):
            continue
        count += sum(error is None for *_, error in results)
        found += faults(name, ours[name], results)
    assert count > 3000
    assert not found, "\n".join(found)
