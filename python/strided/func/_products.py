"""Batching rules of products, solutions and sums along lines."""

from __future__ import annotations

import functools
import math
import string
from typing import TYPE_CHECKING

from .. import _C
from ._batched import BatchedTensor, Tensor, again, aligned, batched, expanded, negative, union
from ._rules import COMPOSED, RULES, _f, bind, by_calls, call, elementwise, matrices, missing, rule, sizes_of

if TYPE_CHECKING:
    from .._typing import Any


_DIMENSIONS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1)}


@rule("mm bmm mv")
def _of_dimensions(func, args, kwargs):
    name = func.__name__
    values = bind(func, args, kwargs)[1]
    out_dtype = values.pop("out_dtype", None)
    a, b = values.values()
    if (a.ndim, b.ndim) != _DIMENSIONS[name]:
        n, m = _DIMENSIONS[name]
        raise RuntimeError(
            f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {a.ndim} and b has dim {b.ndim} but expected "
            f"them to have dim {n} and dim {m}"
        )
    return _wider(a, b, out_dtype)


def _wider(a, b, out_dtype):
    """The product in a dtype that holds the factors."""
    return _f["matmul"](a, b) if out_dtype is None else _f["matmul"](a.to(out_dtype), b.to(out_dtype))


@by_calls("matmul linalg.matmul __matmul__")
def matmul(input: Any, other: Any) -> Any:
    """One product for the whole batch, where one factor does not vary and has the shape for it."""
    levels = union([input, other])
    n, m = input.ndim, other.ndim
    if n == 1 and m == 1:
        return (input * other).sum(-1)
    if type(other) is not BatchedTensor and (m == 2 or (m == 1 and n > 1)):
        return batched(_f["matmul"](input._value, other), levels)
    if type(input) is not BatchedTensor and n == 2 and m == 1:
        return batched(_f["matmul"](other._value, input.mT), levels)
    if n == 0 or m == 0:
        raise RuntimeError("both arguments to matmul need to be at least 1D")
    left = input if n > 1 else input.unsqueeze(-2)
    right = other if m > 1 else other.unsqueeze(-1)
    wide = max(left.ndim, right.ndim)
    value = _f["matmul"](aligned(left, levels, wide), aligned(right, levels, wide))
    value = value if n > 1 else value.squeeze(-2)
    return batched(value if m > 1 else value.squeeze(-1), levels)


rule("__rmatmul__")(lambda func, args, kwargs: _f["matmul"](args[1], args[0]))


@by_calls("dot")
def _dot(input, tensor):
    if input.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"Got wrong shapes for dot: vectors are expected, got {input.ndim}-D and {tensor.ndim}-D")
    return (input * tensor).sum(-1)


@by_calls("vdot")
def _vdot(input, other):
    return (input.conj() * other).sum(-1)


@by_calls("inner")
def _inner(input, other):
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return _f["tensordot"](input, other, [[-1], [-1]])


@by_calls("outer ger linalg.outer")
def _outer(input, vec2):
    return input.unsqueeze(-1) * vec2


def _plus(input, product, beta, alpha):
    product = product if alpha == 1 else alpha * product
    return product if beta == 0 else input + product if beta == 1 else beta * input + product


@by_calls("addmm addmv")
def _addmm(input, mat1, mat2, out_dtype=None, *, beta=1, alpha=1):
    return _plus(input, _wider(mat1, mat2, out_dtype), beta, alpha)


@by_calls("baddbmm")
def _baddbmm(input, batch1, batch2, out_dtype=None, *, beta=1, alpha=1):
    return _plus(input, _wider(batch1, batch2, out_dtype), beta, alpha)


@by_calls("addbmm")
def _addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    return _plus(input, _f["matmul"](batch1, batch2).sum(0), beta, alpha)


@by_calls("addr")
def _addr(input, vec1, vec2, *, beta=1, alpha=1):
    return _plus(input, _f["outer"](vec1, vec2), beta, alpha)


@by_calls("tensordot linalg.tensordot")
def _tensordot(a, b, dims=2):
    if isinstance(dims, int):
        dims = (list(range(a.ndim - dims, a.ndim)), list(range(dims)))
    left, right = ([d % max(t.ndim, 1) for d in axes] for t, axes in zip((a, b), dims))
    names = string.ascii_letters
    of_a = list(names[: a.ndim])
    of_b = [of_a[left[right.index(d)]] if d in right else names[a.ndim + d] for d in range(b.ndim)]
    out = [c for d, c in enumerate(of_a) if d not in left] + [c for d, c in enumerate(of_b) if d not in right]
    return _einsum(f"{''.join(of_a)},{''.join(of_b)}->{''.join(out)}", a, b)


@by_calls("einsum", COMPOSED)
def _einsum(equation, *operands):
    if not isinstance(equation, str):
        missing("einsum by lists of subscripts")(None, (), {})
    operands = sizes_of(operands)
    equation = equation.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    if not arrow:
        letters = inputs.replace(",", "").replace("...", "")
        output = ("..." if "..." in inputs else "") + "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    levels = union(operands)
    unused = [c for c in string.ascii_letters if c not in equation]
    letter = dict(zip(levels, unused))
    parts, values = [], []
    for part, t in zip(inputs.split(","), operands):
        own = t._levels if type(t) is BatchedTensor else ()
        parts.append("".join(letter[level] for level in own) + part)
        values.append(t._value if own else t)
    front = "".join(letter[level] for level in levels)
    return batched(_f["_einsum"]((f"{','.join(parts)}->{front}{output}", *values)), levels)


@by_calls("kron")
def _kron(input, other):
    n = max(input.ndim, other.ndim)
    a = input.reshape([1] * (n - input.ndim) + list(input.shape))
    b = other.reshape([1] * (n - other.ndim) + list(other.shape))
    both = a.reshape([s for n in a.shape for s in (n, 1)]) * b.reshape([s for n in b.shape for s in (1, n)])
    return both.reshape([x * y for x, y in zip(a.shape, b.shape)])


@by_calls("trace")
def _trace(input):
    return input.diagonal(0, -2, -1).sum(-1)


@by_calls("cross")
def _cross(input, other, dim=None):
    if dim is None:
        dim = next((d for d in range(input.ndim) if input.shape[d] == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _f["linalg.cross"](input, other, dim=dim)


@by_calls("linalg.multi_dot")
def _multi_dot(tensors):
    return functools.reduce(_f["matmul"], tensors)


@by_calls("chain_matmul")
def _chain_matmul(*matrices):
    return functools.reduce(_f["matmul"], sizes_of(matrices))


@rule("linalg.solve linalg.solve_ex")
def _solve(func, args, kwargs):
    _, values = bind(func, args, kwargs)
    A, B = values.pop("A"), values.pop("B")
    matrices(func, A)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    right = B.unsqueeze(-1) if vector else B
    levels = union([A, B])
    n = max(A.ndim, right.ndim)
    result = func(expanded(A, levels, n), expanded(right, levels, n), **values)
    if not vector:
        return again(result, levels)
    if isinstance(result, Tensor):
        return batched(result.squeeze(-1), levels)
    value, *rest = again(result, levels)
    return tuple.__new__(type(result), [value.squeeze(-1), *rest])


@rule("linalg.lu_solve lu_solve linalg.ldl_solve")
def _from_factors(func, args, kwargs):
    """Batches of factors, pivots and right-hand sides broadcast: all of them get as many axes as the widest batch."""
    parameters, values = bind(func, args, kwargs)
    own = {name: 1 if "pivots" in name else 2 for name, value in values.items() if isinstance(value, Tensor)}
    matrices(func, *(values[name] for name, axes in own.items() if axes == 2))
    levels = union(values.values())
    n = max(values[name].ndim - axes for name, axes in own.items())
    for name, axes in own.items():
        values[name] = expanded(values[name], levels, n + axes)
    return again(call(func, parameters, values), levels)


@rule("linalg.lstsq")
def _lstsq(func, args, kwargs):
    parameters, values = bind(func, args, kwargs)
    levels = union(values.values())
    a, b = values["input"], values["b"]
    matrices(func, a)
    vectors = b.ndim < a.ndim and b.shape == a.shape[:-1]
    n = None if vectors else max(a.ndim, b.ndim)
    values["input"], values["b"] = expanded(a, levels, n), expanded(b, levels, n)
    sizes = [level.size for level in levels]
    # What is not computed is empty, whatever the batch.
    return again(
        call(func, parameters, values), levels, lambda t: t.expand(*sizes, 0) if t.ndim == 1 and not t.numel() else t
    )


@rule("linalg.pinv linalg.matrix_rank")
def _with_tolerances(func, args, kwargs):
    parameters, values = bind(func, args, kwargs)
    matrices(func, values["input"])
    levels, n = union(values.values()), values["input"].ndim - 2
    for name, value in values.items():
        if isinstance(value, Tensor) and name != "input" and value.ndim > n:
            missing(f"{func.__name__} with tolerances of more axes than there are matrices")(func, args, kwargs)
        if isinstance(value, Tensor):
            values[name] = expanded(value, levels, value.ndim if name == "input" else n)
    return again(call(func, parameters, values), levels)


@by_calls("searchsorted")
def _searchsorted(sorted_sequence, input, **options):
    sorter = options.pop("sorter", None)
    if sorter is not None:
        sorted_sequence = _f["gather"](sorted_sequence, -1, sorter)
    if not isinstance(input, Tensor):
        input = _C.tensor_from_object(input, sorted_sequence.dtype)
    if type(sorted_sequence) is not BatchedTensor and sorted_sequence.ndim == 1 and type(input) is BatchedTensor:
        return batched(_f["searchsorted"](sorted_sequence, input._value, **options), input._levels)
    if sorted_sequence.ndim == 1 and input.ndim != 1:
        return _searchsorted(sorted_sequence, input.flatten(), **options).reshape(input.shape)
    levels = union([sorted_sequence, input])
    rows = [expanded(t, levels).contiguous() for t in (sorted_sequence, input)]
    return batched(_f["searchsorted"](*rows, **options), levels)


@by_calls("bucketize")
def _bucketize(input, boundaries, *, out_int32=False, right=False):
    return _searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _steps(y, x, dx, dim):
    """(values at the left ends, at the right ends, widths) of the intervals between points along dim."""
    y, n = y.movedim(dim, -1), y.shape[dim]
    if x is not None:
        x = x.movedim(dim, -1) if x.ndim > 1 else x
        dx = x.narrow(-1, 1, n - 1) - x.narrow(-1, 0, n - 1)
    return y.narrow(-1, 0, n - 1), y.narrow(-1, 1, n - 1), dx


@by_calls("trapezoid trapz")
def _trapezoid(y, x=None, *, dx=1, dim=-1):
    left, right, width = _steps(y, x, dx, dim)
    return ((left + right) * width).sum(-1) / 2


@by_calls("cumulative_trapezoid")
def _cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    left, right, width = _steps(y, x, dx, dim)
    return (((left + right) * width).cumsum(-1) / 2).movedim(-1, dim)


@by_calls("cov")
def _cov(input, *, correction=1, fweights=None, aweights=None):
    x = input if input.ndim == 2 else input.reshape(1, input.numel())
    weight = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    if weight is None:
        total = norm = x.shape[1]
        mean, by = x.sum(1, keepdim=True) / total, 1
        norm = max(norm - correction, 0)
    else:
        by = weight
        total = by.sum()
        mean = (x * by).sum(1, keepdim=True) / total
        norm = total - (correction if aweights is None else correction * (by * aweights).sum() / total)
        norm = norm.clamp(min=0)
    off = x - mean
    return (_f["matmul"](off * by, off.mH) / norm).squeeze()


@by_calls("corrcoef")
def _corrcoef(input):
    c = _cov(input)
    if c.ndim == 0:
        return c / c
    deviation = c.diagonal().real.sqrt()
    c = c / deviation.unsqueeze(-1) / deviation
    return c if c.is_complex() else c.clamp(-1, 1)


@by_calls("renorm")
def _renorm(input, p, dim, maxnorm):
    others = [d for d in range(-input.ndim, 0) if d != negative(dim, input.ndim)]
    norms = _f["linalg.vector_norm"](input, p, others, True)
    return input * _f["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


@by_calls("masked_fill")
def _masked_fill(input, mask, value):
    if isinstance(value, Tensor):
        return _f["where"](mask, value.to(input.dtype), input)
    return elementwise(_f["masked_fill"], (input, mask, value), {})


@by_calls("cartesian_prod")
def _cartesian_prod(*tensors):
    tensors = sizes_of(tensors)
    return (
        tensors[0]
        if len(tensors) == 1
        else _f["stack"]([t.flatten() for t in _f["meshgrid"](*tensors, indexing="ij")], 1)
    )


@by_calls("linalg.tensorinv")
def _tensorinv(input, ind=2):
    shape = tuple(input.shape)
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if ind <= 0 or rows != columns:
        raise RuntimeError(f"linalg.tensorinv: axes before ind = {ind} have {rows} elements, those behind it {columns}")
    return _f["linalg.inv"](input.reshape(rows, columns)).reshape((*shape[ind:], *shape[:ind]))


@by_calls("linalg.tensorsolve")
def _tensorsolve(A, B, dims=None):  # noqa: N803
    if dims is not None:
        A = A.movedim(list(dims), list(range(A.ndim - len(dims), A.ndim)))  # noqa: N806
    shape = tuple(A.shape[B.ndim :])
    return _f["linalg.solve"](A.reshape(B.numel(), math.prod(shape)), B.flatten()).reshape(shape)


@by_calls("pdist nn.functional.pdist", RULES, COMPOSED)
def _pdist(input, p=2.0):
    i, j = _f["triu_indices"](input.shape[0], input.shape[0], 1, device=input.device)
    return _f["linalg.vector_norm"](_f["index_select"](input, 0, i) - _f["index_select"](input, 0, j), p, -1)


@by_calls("combinations")
def _combinations(input, r=2, with_replacement=False):
    places = _f["combinations"](_f["arange"](input.shape[0], device=input.device), r, with_replacement)
    return _f["index_select"](input, 0, places.flatten()).reshape(places.shape)


@by_calls("isin")
def _isin(elements, test_elements, *, assume_unique=False, invert=False):
    if type(test_elements) is not BatchedTensor:
        return batched(_f["isin"](elements._value, test_elements, invert=invert), elements._levels)
    if not isinstance(elements, Tensor):
        elements = _C.tensor_from_object(elements, None)
    found = (elements.unsqueeze(-1) == test_elements.flatten()).any(-1)
    return ~found if invert else found


def _spread(start, end, steps, dtype):
    """`steps` numbers from start to end, counted from the nearer of the two; without gradient, as outside of vmap."""
    dtype = dtype or _f["get_default_dtype"]()
    first, last = (
        x.detach().to(dtype) if isinstance(x, Tensor) else _f["full"]((), x, dtype=dtype) for x in (start, end)
    )
    at = _f["arange"](steps, device=first.device)
    step = (last - first) / max(steps - 1, 1)
    return _f["where"](at < (steps + 1) // 2, first + at * step, last - (steps - 1 - at) * step).to(dtype)


@by_calls("linspace")
def _linspace(start, end, steps, *, dtype=None, device=None, **options):
    return _spread(start, end, steps, dtype)


@by_calls("logspace")
def _logspace(start, end, steps, base=10.0, *, dtype=None, device=None, **options):
    return _f["pow"](base, _spread(start, end, steps, _C.float64)).to(dtype or _f["get_default_dtype"]())
