"""Products, norms and what else computes, as the operations that they consist of in PyTorch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import _C
from . import call
from .composites import COMPOSED, composed
from .composites_shapes import broadcast, reshape

if TYPE_CHECKING:
    from .._typing import Tensor

_Tensor = _C.Tensor


@composed("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is None or weight.dim() != 2:
        made = matmul(input, call("t", weight))
        return made if bias is None else call("add.Tensor", made, bias)
    if input.dim() == 2:
        return call("addmm", bias, input, call("t", weight))
    flat = reshape(input, [math.prod(input.shape[:-1]), input.shape[-1]])
    made = call("addmm", bias, flat, call("t", weight))
    return call("view", made, [*input.shape[:-1], weight.shape[0]])


@composed("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input, other
    dims = (a.dim(), b.dim())
    if 0 in dims:
        return a @ b  # the error
    if dims == (1, 1):
        return call("dot", a, b)
    if dims == (2, 1):
        return call("mv", a, b)
    if dims == (1, 2):
        return call("squeeze_.dim", call("mm", call("unsqueeze", a, 0), b), 0)
    if dims == (2, 2):
        return call("mm", a, b)
    if dims[0] >= 3 and dims[1] <= 2:
        flat = reshape(a, [math.prod(a.shape[:-1]), a.shape[-1]])
        made = call("mv" if dims[1] == 1 else "mm", flat, b)
        return call("_unsafe_view", made, [*a.shape[:-1], *b.shape[1:]])
    one, two = dims[0] == 1, dims[1] == 1
    a = call("unsqueeze", a, 0) if one else a
    b = call("unsqueeze", b, 1) if two else b
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    count, n, m, k = math.prod(batch), a.shape[-2], a.shape[-1], b.shape[-1]
    a = reshape(call("expand", a, [*batch, n, m]), [count, n, m])
    b = reshape(call("expand", b, [*batch, b.shape[-2], k]), [count, b.shape[-2], k])
    shape = [*batch, *([] if one else [n]), *([] if two else [k])]
    return call("_unsafe_view", call("bmm", a, b), shape)


@composed("rmatmul")
def _rmatmul(input: Tensor, other: Tensor) -> Tensor:
    return matmul(other, input)


@composed("einsum")
def _einsum(equation: Any, *operands: Any) -> Tensor:
    import strided

    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):  # tensors and lists of numbers, one behind the other
        given = [equation, *operands]
        words = ["".join("..." if i is Ellipsis else chr(0x61 + i) for i in given[k]) for k in range(1, len(given), 2)]
        out = f"->{''.join('...' if i is Ellipsis else chr(0x61 + i) for i in given[-1])}" if len(given) % 2 else ""
        return _einsum(",".join(words) + out, *given[: 2 * len(words) : 2])
    left, arrow, out = equation.replace(" ", "").partition("->")
    words = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        out = "..." * ("..." in left) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    # "..." as letters, aligned at its right end
    counts = [t.dim() - len(w.replace("...", "")) if "..." in w else 0 for w, t in zip(words, operands)]
    dots = "".join(chr(0x3B1 + i) for i in range(max([0, *counts])))
    words = [w.replace("...", dots[len(dots) - n :]) for w, n in zip(words, counts)]
    out = out.replace("...", dots)
    if any(len(set(w)) < len(w) for w in words):  # diagonals
        return call("einsum", equation, list(operands))
    if len(words) != len(operands) or any(len(w) != t.dim() for w, t in zip(words, operands)):
        return strided.einsum(equation, *operands)  # the error
    x, have = operands[0], words[0]
    for i, (t, word) in enumerate(zip(operands[1:], words[1:])):
        later = set("".join(words[i + 2 :]) + out)
        x, have = _contract(x, have, t, word, later)
    gone = [have.index(c) for c in have if c not in out]
    if gone:
        x, have = call("sum.dim_IntList", x, gone), "".join(c for c in have if c in out)
    order = [have.index(c) for c in out]
    return x if order == list(range(len(order))) else call("permute", x, order)


def _contract(a: Tensor, one: str, b: Tensor, two: str, kept: set[str]) -> tuple[Tensor, str]:
    """Two operands of einsum as one product of batches of matrices."""
    for which in (0, 1):  # axes of one operand that nobody else has are summed first
        t, own, other = (a, one, two) if which == 0 else (b, two, one)
        gone = [i for i, c in enumerate(own) if c not in other and c not in kept]
        if gone:
            t, own = call("sum.dim_IntList", t, gone), "".join(c for c in own if c in other or c in kept)
        a, one, b, two = (t, own, b, two) if which == 0 else (a, one, t, own)
    batch = [c for c in one if c in two and c in kept]
    inner = [c for c in one if c in two and c not in kept]
    rows, columns = [c for c in one if c not in two], [c for c in two if c not in one]
    sizes: dict[str, int] = {}
    for c, n in (*zip(one, a.shape), *zip(two, b.shape)):
        sizes[c] = max(n, sizes.get(c, n)) if n != 0 and sizes.get(c, n) != 0 else 0

    def matrices(t: Tensor, word: str, *groups: list[str]) -> Tensor:
        letters = [c for g in groups for c in g]
        t = call("permute", t, [word.index(c) for c in letters])
        if list(t.shape) != [sizes[c] for c in letters]:
            t = call("expand", t, [sizes[c] for c in letters])
        return reshape(t, [math.prod(sizes[c] for c in g) for g in groups])

    made = call("bmm", matrices(a, one, batch, rows, inner), matrices(b, two, batch, inner, columns))
    letters = [*batch, *rows, *columns]
    return call("view", made, [sizes[c] for c in letters]), "".join(letters)


def _tensordot(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = {**dict(zip(("a", "b", "dims"), args)), **kwargs}
    a, b, dims = given["a"], given["b"], given.get("dims", 2)
    if isinstance(dims, int):
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    elif isinstance(dims, _Tensor):
        left, right = dims.tolist()
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [d % a.dim() for d in left], [d % b.dim() for d in right]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        return func(*args, **kwargs)  # the error
    rows, columns = ([d for d in range(t.dim()) if d not in own] for t, own in ((a, left), (b, right)))
    count = math.prod(a.shape[d] for d in left)
    made = call(
        "mm",
        reshape(call("permute", a, [*rows, *left]), [math.prod(a.shape[d] for d in rows), count]),
        reshape(call("permute", b, [*right, *columns]), [count, math.prod(b.shape[d] for d in columns)]),
    )
    return reshape(made, [*(a.shape[d] for d in rows), *(b.shape[d] for d in columns)])


COMPOSED["tensordot"] = _tensordot


def _where_of(func: Any, args: Any, kwargs: Any) -> Any:
    if func is _Tensor.where:  # (self, condition, other)
        given = {**dict(zip(("self", "condition", "other"), args)), **kwargs}
        return _where(given["condition"], given["self"], given["other"])
    return _where(*args, **kwargs)


COMPOSED["where"] = _where_of


def _where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None and other is None:
        return tuple(call("unbind.int", call("nonzero", condition), 1))
    import strided

    if not isinstance(condition, _Tensor) or not (isinstance(input, _Tensor) or isinstance(other, _Tensor)):
        return strided.where(condition, input, other)
    dtype = strided.result_type(input, other)
    a, b = (
        (call("_to_copy", v, dtype=dtype) if v.dtype != dtype else v)
        if isinstance(v, _Tensor)
        else call("scalar_tensor", v, dtype=dtype)
        for v in (input, other)
    )
    return call("where.self", condition, a, b)


@composed("outer")
def _outer(input: Tensor, vec2: Tensor) -> Tensor:
    return call("mul.Tensor", call("view", input, [input.shape[0], 1]), vec2)


@composed("rdiv")
def _rdiv(input: Tensor, other: Any) -> Tensor:
    return call("mul.Tensor", call("reciprocal", input), other)


@composed("rpow")
def _rpow(input: Tensor, other: Any) -> Tensor:
    return call("pow.Scalar", other, input)


@composed("square")
def _square(input: Tensor) -> Tensor:
    return call("pow.Tensor_Scalar", input, 2)


@composed("square_")
def _square_(input: Tensor) -> Tensor:
    return call("pow_.Scalar", input, 2)


def _norm(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = dict(zip(("input", "p", "dim", "keepdim", "dtype"), args))
    given.update(kwargs)
    p, dim = given.get("p", "fro"), given.get("dim")
    if p not in ("fro", None) and (isinstance(p, str) or isinstance(dim, (list, tuple))):
        return func(*args, **kwargs)
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    options: list[Any] = [2 if p in ("fro", None) else p, dims, given.get("keepdim", False)]
    for default in (False, None, 2):
        if options[-1] != default:
            break
        options.pop()
    named = {"dtype": given["dtype"]} if given.get("dtype") is not None else {}
    return call("linalg_vector_norm", given.get("input", given.get("self")), *options, **named)


COMPOSED["norm"] = _norm


def _linalg_norm(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = {**dict(zip(("A", "ord", "dim", "keepdim"), args)), **kwargs}
    x, ord, dim = given.get("A", given.get("input")), given.get("ord"), given.get("dim")
    one = isinstance(dim, int) or (dim is not None and len(dim) == 1) or (dim is None and x.dim() == 1)
    if isinstance(ord, str) or not (ord is None or one):
        return func(*args, **kwargs)
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    options: list[Any] = [2 if ord is None else ord, dims, given.get("keepdim", False)]
    for default in (False, None, 2):
        if options[-1] != default:
            break
        options.pop()
    named = {"dtype": given["dtype"]} if given.get("dtype") is not None else {}
    return call("linalg_vector_norm", x, *options, **named)


COMPOSED["linalg_norm"] = _linalg_norm
