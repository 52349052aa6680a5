"""What PyTorch has and strided has not, beside docs/left_out.md, which says why.

`python tests/python/support/torch_names.py` prints names that neither strided nor the page has, and functions whose
parameters differ; `--fix` takes names off the page that strided has by now. PyTorch must be installed.
"""

import functools
import importlib
import inspect
import re
import sys
import types
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "left_out.md"
PLACES = [
    "torch", "torch.Tensor", "torch.linalg", "torch.fft", "torch.special", "torch.func", "torch.testing",
    "torch.autograd", "torch.autograd.graph", "torch.autograd.functional", "torch.autograd.forward_ad",
    "torch.autograd.profiler", "torch.utils", "torch.utils.checkpoint", "torch.utils.dlpack", "torch.utils.hooks",
    "torch.amp", "torch.compiler", "torch.jit", "torch.profiler", "torch.accelerator",
]  # fmt: skip
PENDING = "Not there yet"  # the group of the page whose names come one after the other
STANDARD = set(sys.stdlib_module_names) | {"typing_extensions", "numpy"}


def place(module, path):
    """The module or class of that name below a package."""
    found = module
    for part in path.split(".")[1:]:
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                return None
    return found


# Modules that are there only after a call, or another test, that loads them.
LOADED_LATER = {"torch.numa", "torch.utils.serialization", "torch.utils.cpp_extension", "torch.utils.file_baton"}


def accidental(name, value, home):
    """Whether a name is there because a file of PyTorch imports it, not to be used: modules and types of others."""
    if home == "torch.Tensor":
        return False
    if isinstance(value, types.ModuleType):
        if value.__name__ in LOADED_LATER:
            return True
        return not value.__name__.startswith("torch.") or value.__name__.rpartition(".")[0] != home
    owner = getattr(value, "__module__", None) or ("torch" if callable(value) else type(value).__module__)
    if owner.partition(".")[0] in STANDARD and not isinstance(value, (bool, int, float, str)):
        return True
    # What a module below imports from elsewhere in PyTorch, and does not say is its own.
    return home not in ("torch", "torch.Tensor") and not owner.startswith(home) and owner.startswith("torch")


def public(torch, path):
    """The public names of a place of PyTorch."""
    there = place(torch, path)
    said = set(getattr(there, "__all__", ()))
    names = {n for n in dir(there) if not n.startswith("_")}
    return {n for n in names if n in said or not accidental(n, getattr(there, n, None), path)}


@functools.cache
def missing(torch, strided):
    """{place: names that strided lacks}."""
    found = {}
    for path in PLACES:
        ours = place(strided, path)
        names = {n for n in public(torch, path) if not hasattr(ours, n)}
        if names:
            found[path] = names
    return found


def page():
    """{heading: {place: names}} of the page."""
    groups, heading, path = {}, None, None
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading, path = line[3:], None
            groups[heading] = {}
        elif match := re.match(r"- `([\w.]+)`: (.*)", line):
            path = match[1]
            groups[heading].setdefault(path, []).extend(match[2].split())
        elif path and line.startswith("  "):
            groups[heading][path] += line.split()
        else:
            path = None
    return groups


def listed(*groups):
    """{place: names} of these groups; of all if none is given."""
    found = {}
    for heading, lists in page().items():
        if groups and heading not in groups:
            continue
        for path, names in lists.items():
            found.setdefault(path, set()).update(names)
    return found


def parameters(function):
    """The names of a function's parameters; None where Python cannot say."""
    try:
        found = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        return None
    return [p.name for p in found]


def lacking_parameters(torch, strided):
    """{function: parameters of PyTorch's that strided's does not take} where both are functions that say theirs."""
    found = {}
    for path in PLACES:
        ours, theirs = place(strided, path), place(torch, path)
        for name in sorted(public(torch, path) & set(dir(ours)) if ours is not None else ()):
            a, b = getattr(ours, name), getattr(theirs, name)
            if not callable(b):
                continue
            wanted, have = parameters(b), parameters(a)
            if (
                wanted is not None
                and have is not None
                and (lacks := [p for p in wanted if p not in have and p != "self"])
            ):
                found[f"{path}.{name}"] = lacks
    return found


def write(groups_kept):
    """The page with the lists of names replaced."""
    lines, heading, skipping = [], None, False
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            heading = line[3:]
        if match := re.match(r"- `([\w.]+)`: ", line):
            skipping = True
            if names := groups_kept[heading].get(match[1]):
                lines += wrapped(match[1], names)
            continue
        if skipping and line.startswith("  "):
            continue
        skipping = False
        lines.append(line)
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


def wrapped(path, names):
    """One item of a list, in lines of 120 columns at most."""
    lines, line = [], f"- `{path}`:"
    for name in sorted(names):
        if len(line) + 1 + len(name) > 120:
            lines.append(line)
            line = " "
        line += " " + name
    return [*lines, line]


def main():
    import strided
    import torch

    absent, known = missing(torch, strided), listed()
    if "--fix" in sys.argv:
        write({h: {p: [n for n in names if n in absent.get(p, ())] for p, names in lists.items()}
               for h, lists in page().items()})  # fmt: skip
    for path, names in absent.items():
        if unsaid := sorted(names - known.get(path, set())):
            print(f"not on the page: {path}: {' '.join(unsaid)}")
    for path, names in known.items():
        if there := sorted(names - absent.get(path, set())):
            print(f"on the page, but there: {path}: {' '.join(there)}")
    for name, lacks in lacking_parameters(torch, strided).items():
        print(f"parameters: {name} lacks {', '.join(lacks)}")


if __name__ == "__main__":
    main()
