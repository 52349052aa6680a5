"""PyTorch's own database of operators (torch.testing): its sample inputs as tensors of strided, and its functions,
which are often small ones of the database around the operator, with strided in torch's place."""

import dataclasses
import functools
import itertools
import random
import types
import warnings

import numpy as np
import strided
import torch
from torch.testing._internal.common_methods_invocations import op_db

torch.set_num_threads(1)  # the tensors are tiny
DTYPES = {getattr(torch, str(d)[6:]): d for d in strided._C.dtypes if hasattr(torch, str(d)[6:])}
KINDS = (torch.dtype, torch.device, torch.memory_format, torch.layout)
# Names of what strided leaves out.
LEFT_OUT = ("sparse", "_refs", "nested", "jagged", "ops.", "jiterator", "_jiterator", "torch._scaled")


class LeftOut(Exception):
    pass


def ops():
    """The operators that strided has, by name."""
    found = {}
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if not op.name.startswith(LEFT_OUT) and "sparse" not in op.name:
            found[name] = op
    return found


def seed():
    torch.default_generator.manual_seed(7)  # torch.manual_seed keeps a picture of the stack, which takes long
    strided.manual_seed(7)
    random.seed(7)
    np.random.seed(7)


def samples(op, dtype, many, grad=False):
    if dtype not in op.dtypes:
        return []
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(itertools.islice(op.sample_inputs_func(op, "cpu", dtype, grad), many))


def array(x):
    """The elements, as NumPy has them."""
    x = x.detach()
    if isinstance(x, torch.Tensor):
        x = x.resolve_conj().resolve_neg()
    return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()


def converted(x, leaves=None):
    """A sample in strided's words.  leaves: a list that gets pairs of tensors that require gradients."""
    again = functools.partial(converted, leaves=leaves)
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided or x.dtype not in DTYPES or x.device.type != "cpu":
            raise LeftOut
        storage = x.untyped_storage().nbytes() // x.itemsize
        whole = x.is_contiguous() and storage == x.numel() or x.is_conj() or x.is_neg() or not storage
        y = x.detach() if whole else torch.as_strided(x.detach(), (storage,), (1,), 0)
        made = strided.from_numpy(np.array(array(y))).to(DTYPES[x.dtype])
        if not whole:
            made = made.as_strided(tuple(x.shape), x.stride(), x.storage_offset())
        if x.requires_grad:
            made.requires_grad_()
            if leaves is not None:
                leaves.append((x, made))
        return made
    if isinstance(x, torch.dtype) and x not in DTYPES:
        raise LeftOut
    if isinstance(x, KINDS):
        return strided.device(str(x)) if isinstance(x, torch.device) else getattr(strided, str(x).split(".")[-1])
    if isinstance(x, torch.Size):
        return strided.Size(x)
    if isinstance(x, torch.Generator):
        return strided.Generator().manual_seed(x.initial_seed())
    if isinstance(x, torch.nn.Module):
        return getattr(strided.nn, type(x).__name__)()
    if type(x).__name__ == "LinearCrossEntropyOptions":
        return strided.nn.LinearCrossEntropyOptions(**again(dataclasses.asdict(x)))
    if isinstance(x, (list, tuple)):
        return type(x)(*map(again, x)) if hasattr(x, "_fields") else type(x)(again(y) for y in x)
    if isinstance(x, dict):
        return {k: again(v) for k, v in x.items()}
    if isinstance(x, slice):
        return slice(again(x.start), again(x.stop), again(x.step))
    return rebound(x) or x


def seeded(function, *args, **kwargs):
    """The database's wrapper_set_seed, for strided."""
    strided.manual_seed(42)
    return function(*args, **kwargs)


def rebound(f, depth=0):
    """A function of the database with strided in torch's place; None for anything else."""
    if isinstance(f, functools.partial):
        inner = rebound(f.func, depth)
        return inner and functools.partial(inner, *f.args, **f.keywords)
    if isinstance(f, types.BuiltinFunctionType):
        return getattr(strided, f.__name__, None) if getattr(torch, f.__name__, None) is f else None
    if not isinstance(f, types.FunctionType) or depth > 3 or "testing" not in (f.__module__ or ""):
        return None
    names = {**f.__globals__, "torch": strided, "F": strided.nn.functional, "wrapper_set_seed": seeded}
    for k in f.__code__.co_names:
        if k in f.__globals__ and k != "wrapper_set_seed":
            names[k] = rebound(f.__globals__[k], depth + 1) or names[k]
    cells = f.__closure__ and tuple(types.CellType(in_place_of(c.cell_contents, depth)) for c in f.__closure__)
    made = types.FunctionType(f.__code__, names, f.__name__, f.__defaults__, cells)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def in_place_of(x, depth):
    if not callable(x):
        return x
    name = getattr(x, "__name__", "")
    functional = getattr(strided.nn.functional, name, x)
    return rebound(x, depth + 1) or getattr(strided, name, None) or functional


def function_of(op):
    """The operator as strided has it."""
    found = rebound(op.op)
    if found:
        return found
    if type(op.op).__name__ in ("OpOverload", "OpOverloadPacket"):
        return getattr(strided.ops.aten, op.op._schema.name[6:] if hasattr(op.op, "_schema") else op.op.__name__)
    place = strided
    for part in op.name.split("."):
        place = getattr(place, part, None) or getattr(strided.Tensor, part)
    return place if callable(place) else getattr(strided.Tensor, op.name)


def flat(x):
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in flat(y)]
    return [x]


def same(ours, theirs, exact=True):
    """Raises AssertionError unless results are equal, but for rounding."""
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        if not isinstance(y, torch.Tensor):
            assert x == y or str(x) == str(y) or abs(x - y) < 1e-6 or y != y
            continue
        assert isinstance(x, strided.Tensor)
        assert (str(x.dtype), tuple(x.shape)) == (str(y.dtype), tuple(y.shape))
        if not exact:
            continue
        a, b = array(x), array(y)
        close = {"float64": 1e-7, "complex128": 1e-7, "float32": 1e-4, "complex64": 1e-3}.get(a.dtype.name, 0)
        np.testing.assert_allclose(a, b, rtol=close, atol=close)
