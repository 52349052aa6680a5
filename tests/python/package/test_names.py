"""docs/left_out.md, as far as it can be checked without PyTorch: what it names is not there, and stands once."""

import strided
import torch_names


def test_what_is_left_out_is_not_there():
    groups = [heading for heading in torch_names.page() if heading != torch_names.PENDING]
    for place, names in torch_names.listed(*groups).items():
        found = torch_names.place(strided, place)
        there = set(dir(found)) & names if found is not None else set()
        assert not there, f"{place}: {sorted(there)}: python tests/python/support/torch_names.py --fix"


def test_names_stand_once_and_in_order():
    groups = torch_names.page()
    assert groups
    pairs = [(place, name) for lists in groups.values() for place, names in lists.items() for name in names]
    assert len(pairs) == len(set(pairs)) > 100
    for heading, lists in groups.items():
        for place, names in lists.items():
            assert place in torch_names.PLACES, (heading, place)
            assert names == sorted(names), (heading, place)


def test_public_names_are_those_of_all():
    """`__all__` of a public module names what it has, and no module of the standard library is public by accident."""
    import importlib
    import pkgutil
    import types

    for info in pkgutil.iter_modules(strided.__path__):
        if info.name.startswith(("_", "lib")):  # libraries beside the modules are none
            continue
        module = importlib.import_module(f"strided.{info.name}")
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{info.name}.{name}"
        stray = [n for n in dir(strided) if isinstance(getattr(strided, n), types.ModuleType) and not n.startswith("_")
                 and not getattr(strided, n).__name__.startswith("strided")]  # fmt: skip
        assert not stray


def test_helpers_are_no_methods():
    from strided import _tensor

    helpers = {
        n for n, v in vars(_tensor).items() if n[0] == "_" != n[1] and getattr(v, "__module__", "") == "strided._tensor"
    }
    assert "_strides_in" in helpers and not helpers & set(dir(strided.Tensor))
