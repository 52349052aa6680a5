"""The examples in the docstrings of the PyTorch that is installed, run by whichever package is called torch.

`python torch_examples.py collect FILE` writes what the examples are, `python torch_examples.py run FILE RESULTS` what
their statements print and raise. Under `python -m strided run` the second runs strided. Nothing of PyTorch's texts is
kept.
"""

import ast
import contextlib
import importlib
import inspect
import io
import json
import math
import os
import random
import re
import signal
import socket
import sys
import tempfile

PLACES = [
    "torch.Tensor", "torch", "torch.autograd", "torch.autograd.forward_ad", "torch.autograd.function",
    "torch.autograd.functional", "torch.autograd.graph", "torch.distributions", "torch.fft", "torch.func",
    "torch.futures", "torch.fx", "torch.linalg", "torch.nested", "torch.nn", "torch.nn.functional", "torch.nn.grad",
    "torch.nn.init", "torch.nn.utils", "torch.nn.utils.parametrizations", "torch.nn.utils.parametrize",
    "torch.nn.utils.prune", "torch.nn.utils.rnn", "torch.nn.utils.stateless", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.overrides", "torch.quasirandom", "torch.signal.windows",
    "torch.sparse", "torch.special", "torch.testing", "torch.utils.checkpoint", "torch.utils.data",
]  # fmt: skip
SECONDS = 20  # for one example
# What examples take for granted, beside the public names of their module.
GIVEN = """
import math, numpy, numpy as np, torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim
from torch import Tensor
"""
TRAINING = """
model, loss_fn = nn.Linear(4, 2), nn.MSELoss()
input, target = torch.arange(12.).view(3, 4).sin(), torch.arange(6.).view(3, 2).cos()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loader = [(input, target)] * 3
def train(*args):
    optimizer.zero_grad(); loss_fn(model(input), target).backward(); optimizer.step()
def validate(*args):
    return 1.0
"""


def there(place):
    parent, _, name = place.rpartition(".")
    return getattr(importlib.import_module(parent), name) if name == "Tensor" else importlib.import_module(place)


def documented(place):
    """(name, object) of a place, and of the methods of its classes."""
    found = there(place)
    yield place, found
    for name in dir(found):
        value = getattr(found, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        yield f"{place}.{name}", value
        if inspect.isclass(value) and place != "torch.Tensor" and (value.__module__ or "").startswith("torch"):
            yield from ((f"{place}.{name}.{n}", v) for n, v in vars(value).items() if not n.startswith("_"))


def sources(doc):
    """The code of the examples in a docstring: one text if that is Python, else one for each prompt."""
    prompts = re.findall(r"^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\.(?: .*)?$)*)", doc, re.M)
    prompts = [re.sub(r"\n[ \t]*\.\.\. ?", "\n", p) for p in prompts]
    with contextlib.suppress(SyntaxError):
        ast.parse("\n".join(prompts))
        return ["\n".join(prompts)]
    return prompts


def collect():
    """[name, place, public names of the place, texts] for each docstring with examples."""
    seen, examples = set(), []
    for place in PLACES:
        module = there(place)
        public = [n for n in getattr(module, "__all__", ()) if place != "torch" and isinstance(n, str)]
        for name, value in documented(place):
            doc = getattr(value, "__doc__", None)
            if isinstance(doc, str) and ">>>" in doc and doc not in seen:
                seen.add(doc)
                examples.append([name, place, public, sources(doc)])
    return examples


def run(place, public, texts):
    """What each statement prints (the value, of an expression), and the error that it raises."""
    import numpy
    import torch

    names = {"__name__": "__main__"}
    exec(GIVEN, names)
    torch.manual_seed(0)
    if place.startswith("torch.optim"):
        exec(TRAINING, names)
    with contextlib.suppress(ImportError):
        module = importlib.import_module(place)
        names.update({n: getattr(module, n) for n in public if hasattr(module, n)})
    torch.manual_seed(0), numpy.random.seed(0), random.seed(0)
    results = []
    for text in texts:
        try:
            statements = ast.parse(text).body
        except SyntaxError:
            results.append([text, "", "SyntaxError"])
            continue
        for statement in statements:
            printed, error = io.StringIO(), None
            with contextlib.redirect_stdout(printed):
                try:
                    if isinstance(statement, ast.Expr):
                        value = eval(compile(ast.Expression(statement.value), "example", "eval"), names)
                        print(repr(value)) if value is not None else None
                    else:
                        exec(compile(ast.Module([statement], []), "example", "exec"), names)
                except BaseException as e:  # (a process that an example ends would be no answer)
                    error = f"{type(e).__name__}: {e}"[:300]
            results.append([ast.unparse(statement), printed.getvalue()[:20000], error])
    return results


def offline(*args, **options):
    raise OSError("examples run without the network")


def late(*args):
    raise TimeoutError(f"an example took more than {SECONDS} seconds")


def as_it_was(torch):
    """Undoes what an example may have set for those after it."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.set_flush_denormal(False)
    torch.set_num_threads(1)


def run_all(examples):
    """[name, results of run] of each, one after the other, in an empty folder without the network."""
    import torch

    socket.getaddrinfo = offline
    signal.signal(signal.SIGALRM, late)
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, *how in examples:
            as_it_was(torch)
            signal.alarm(SECONDS)
            answers.append([name, run(*how)])
            signal.alarm(0)
        os.chdir("/")
    return answers


NUMBER = re.compile(r"(?:[-+] ?)?(?<![\w.])(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?=j?(?!\w))")
NAMES = re.compile(r"0x[0-9a-f]+|(?<=\bj)\d+\b")  # addresses, and ragged sizes, which are numbered as they come


def same(ours, theirs):
    """Whether two texts are equal but for addresses, spaces, and last digits of numbers."""
    ours, theirs = (re.sub(r"\bstrided\b", "torch", NAMES.sub("", t)) for t in (ours, theirs))
    if ours == theirs:
        return True
    shapes = [re.sub(r"\s+", "", NUMBER.sub("#", t)) for t in (ours, theirs)]
    numbers = [[float(n.replace(" ", "")) for n in NUMBER.findall(t)] for t in (ours, theirs)]
    if shapes[0] != shapes[1] or len(numbers[0]) != len(numbers[1]):
        return False
    size = max([1.0, *(abs(x) for x in numbers[1] if math.isfinite(x))])
    return all(math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5 * size) or a != a and b != b for a, b in zip(*numbers))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    if sys.argv[1] == "collect":
        answers = collect()
    else:
        with open(sys.argv[2], encoding="utf-8") as file:
            answers = run_all(json.load(file))
    with open(sys.argv[-1], "w", encoding="utf-8") as file:
        json.dump(answers, file)
