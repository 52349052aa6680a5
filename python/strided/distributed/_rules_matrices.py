"""Rules of matrix products: along each mesh axis the way that moves the fewest bytes."""

from __future__ import annotations

import math
import string
from typing import TYPE_CHECKING

from .. import _C
from ._layout import Spec
from ._move import gather_limit, spread
from ._rules_elementwise import moved_to
from ._sharded import by_calls, first_sharded, placed, refuse, rule, sharded, without_terms, wrap
from .placement import BlockCyclic, Partial, Replicate, Shard

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions


def _axis_of(placement, letters):
    """The letter of the axis that is cut; '' for Replicate, '+' for a sum of terms."""
    if placement.is_shard():
        return letters[placement.dim]
    return "+" if placement == Partial("sum") else "" if placement.is_replicate() else "?"


def _lacks(has, wants, ranks):
    """Which part of an operand a rank must get, as a share of the whole."""
    if has == wants:
        return 0.0
    if wants == "":
        return 1 - 1 / ranks if has != "+" else 2 * (1 - 1 / ranks)
    return 0.0 if has == "" else (1 - 1 / ranks) / (ranks if has != "+" else 1)


def product(func: Any, a: Any, b: Any, left: str, right: str, out: str, call: Any) -> Any:
    """The contraction of two tensors whose axes have letters; axes that `out` lacks are summed over.

    Along a mesh axis all three may be cut along one letter; along a summed one the results are terms of a sum.
    """
    mesh = a._spec.mesh
    key = id(a._spec), id(b._spec), left, right, out
    found = mesh._plans.get(key)
    if found is None:
        if len(mesh._plans) > 2000:
            mesh._plans.clear()
        found = mesh._plans[key] = (*_plan(a, b, left, right, out), a._spec, b._spec)
    spec, wants = found[:2]
    locals_ = []
    for t, (wanted, axes) in zip((a, b), wants):
        local = t._local if wanted is None else placed(t, wanted)._local
        locals_.append(spread(local, mesh, axes) if axes else local)
    return wrap(call(*locals_), spec)


def _plan(a, b, left, right, out):
    """(layout of the product, for each operand: placements that it needs if it must move, axes to spread over)"""
    mesh = a._spec.mesh
    letters = [c for c in dict.fromkeys(left + right) if c not in ("",)]
    sizes = dict(zip(left, a.shape))
    for c, n in zip(right, b.shape):
        sizes[c] = n if sizes.get(c, 1) == 1 else sizes[c]
    total_out = math.prod(sizes[c] for c in out)
    choices: list[str] = []
    for axis, ranks in enumerate(mesh.shape):
        has_a, has_b = _axis_of(a._spec.placements[axis], left), _axis_of(b._spec.placements[axis], right)
        if has_a == "+" and has_b == "" or has_b == "+" and has_a == "":
            choices.append("+")
            continue
        best = None
        # What is cut already comes first, so that it wins where nothing must move either way.
        for c in dict.fromkeys([*(h for h in (has_a, has_b) if h not in ("", "+", "?")), *letters, ""]):
            if c and (c not in left and c not in right):
                continue
            small = (c in left and a.shape[left.index(c)] == 1) or (c in right and b.shape[right.index(c)] == 1)
            if c and small and sizes[c] != 1:
                continue
            if has_a == has_b == "" and c:
                continue
            cost = a.numel() * _lacks(has_a, c if c in left else "", ranks)
            cost += b.numel() * _lacks(has_b, c if c in right else "", ranks)
            cost += total_out * (1 - 1 / ranks) if c and c not in out else 0
            if best is None or cost < best[0]:
                best = (cost, c)
        choices.append(best[1])

    def want(t, names, cuts):
        return tuple(p if c == "+" else moved_to(cuts[i], names.index(c)) if c and c in names else Replicate()
                     for i, (c, p) in enumerate(zip(choices, t._spec.placements)))  # fmt: skip

    # How the letter is cut: as in the operand that is cut along it already, so that the blocks of both agree.
    cuts = []
    for axis, c in enumerate(choices):
        of = [(t._spec.placements[axis], names) for t, names in ((a, left), (b, right)) if c and c in names]
        cuts.append(next((p for p, names in of if p.is_shard(names.index(c))), Shard(0)))
    wanted = want(a, left, cuts), want(b, right, cuts)
    made = []
    for axis, c in enumerate(choices):
        if c == "+" or (c and c not in out):
            made.append(Partial("sum"))
        elif c:
            source = wanted[0] if c in left else wanted[1]
            made.append(moved_to(source[axis], out.index(c)))
        else:
            made.append(Replicate())
    wants = []
    for t, placements in zip((a, b), wanted):
        axes = [i for i, p in enumerate(made) if placements[i] == Replicate() and p != Replicate()]
        wants.append((None if placements == t._spec.placements else placements, axes))
    return Spec(mesh, tuple(made), [sizes[c] for c in out]), wants


_PANELS = 1 << 20  # bytes of a shard from which products in panels are worth their messages


def _in_blocks(a, b):
    """Whether both are dealt out in the same blocks in both directions, and large: the product then goes by panels,
    sends no more, and needs no whole rows or columns of shards."""
    p, q = a._spec.placements, b._spec.placements
    if not (len(p) == 2 and p == q and all(isinstance(x, BlockCyclic) for x in p)):
        return False
    dealt = p[0].block == p[1].block >= 32 and (p[0].dim, p[1].dim) == (0, 1)
    smallest = min(a.numel(), b.numel()) * a.dtype.itemsize / a._spec.mesh.comm.size
    return dealt and smallest >= _PANELS and a.dtype in (_C.float32, _C.float64, _C.complex64, _C.complex128)


def _outgrows(a, b):
    """Whether every way that `product` knows makes a rank hold more than the limit of gathers: the least of a, b and
    the result, whole, or along one axis of a mesh of two."""
    mesh = a._spec.mesh
    cut = [p.is_shard() or n == 1 for t in (a, b) for p, n in zip(t._spec.placements, mesh.shape)]
    if mesh.comm.size == 1 or not all(cut) or not (a.dtype.is_floating_point or a.dtype.is_complex):
        return False
    least = min(a.numel(), b.numel(), a.shape[0] * b.shape[1]) * a.dtype.itemsize
    return least / (max(mesh.shape) if mesh.ndim == 2 else 1) > gather_limit()


_LETTERS = "abcdefghijklmnopq"


@rule("matmul mm bmm mv dot vdot __matmul__ __rmatmul__")
def _matmul(func, args, kwargs):
    a, b, *out_dtype = (*args, *kwargs.values())
    name = func.__name__
    for x in (a, b):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: both operands must be Tensors, got {type(x).__name__}")
    if out_dtype:
        a, b = (x.to(*out_dtype) for x in (a, b))
    if name == "__rmatmul__":
        a, b = b, a
    like = first_sharded((a, b))
    a, b = sharded(a, like, func), sharded(b, like, func)
    wanted = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}.get(name)
    if wanted and (a.ndim, b.ndim) != wanted:
        raise RuntimeError(f"{name}: expected tensors with {wanted[0]} and {wanted[1]} axes, got {a.ndim} and {b.ndim}")
    if 0 in (a.ndim, b.ndim):
        raise RuntimeError("both arguments to matmul need to be at least 1D")
    if name == "vdot":
        a = a.conj()
    k, m = b.shape[-2 if b.ndim > 1 else 0], a.shape[-1]
    if k != m:
        raise RuntimeError(f"{name}: shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied ({m} != {k})")
    batch = max(a.ndim, b.ndim) - 2
    names = _LETTERS[: max(batch, 0)]
    left = names[len(names) - (a.ndim - 2) :] + "yx" if a.ndim > 1 else "x"
    right = names[len(names) - (b.ndim - 2) :] + "xz" if b.ndim > 1 else "x"
    if a.ndim == 2:
        left = "yx"
    if b.ndim == 2:
        right = "xz"
    out = names + ("y" if a.ndim > 1 else "") + ("z" if b.ndim > 1 else "")
    for c in names:
        sizes = {t.shape[s.index(c)] for t, s in ((a, left), (b, right)) if c in s} - {1}
        if len(sizes) > 1:
            raise RuntimeError(f"{name}: batches of {tuple(a.shape)} and {tuple(b.shape)} do not fit together")
    if a.ndim == b.ndim == 2 and a.dtype is b.dtype and (_in_blocks(a, b) or _outgrows(a, b)):
        from ._rules_linalg import matmul

        return matmul(a, b)
    call = _f["dot"] if name == "vdot" else _f["matmul"]
    return product(func, a, b, left, right, out, call)


@by_calls("addmm")
def _addmm(input, mat1, mat2, out_dtype=None, *, beta=1, alpha=1):
    if out_dtype is not None:
        mat1, mat2 = mat1.to(out_dtype), mat2.to(out_dtype)
    made = _f["matmul"](mat1, mat2)
    return (input if beta == 1 else beta * input) + (made if alpha == 1 else alpha * made)


by_calls("addmv baddbmm")(_addmm)


@by_calls("outer ger")
def _outer(input, vec2):
    return input.unsqueeze(1) * vec2.unsqueeze(0)


@rule("einsum")
def _einsum(func, args, kwargs):
    """Operands two at a time, from the left; diagonals and sums within one operand first."""
    equation, *operands = args
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
    if not isinstance(equation, str):
        raise refuse(func, operands, "there is a rule for an equation like 'ij,jk->ik'")
    like = first_sharded(operands)
    operands = [sharded(t, like, func) for t in operands]
    terms, out = _terms(equation, operands)
    _f["_einsum"]((f"{','.join(terms)}->{out}", *(_f["empty"](t.shape, device="meta") for t in operands)))  # raises
    operands = [(without_terms(t) if len(set(s)) < len(s) else t) for t, s in zip(operands, terms)]
    for i, letters in enumerate(terms):
        others = set(out).union(*(s for j, s in enumerate(terms) if j != i))
        operands[i], terms[i] = _simplified(operands[i], letters, others)
    sizes: dict[str, int] = {}
    for t, letters in zip(operands, terms):
        for c, n in zip(letters, t.shape):
            sizes[c] = max(n, sizes.get(c, 1)) if n else 0
    for i, (t, letters) in enumerate(zip(operands, terms)):  # axes of one element broadcast
        thin = [d for d, c in enumerate(letters) if t.shape[d] == 1 and sizes[c] != 1]
        terms[i] = "".join(c for d, c in enumerate(letters) if d not in thin)
        operands[i] = t.reshape([n for d, n in enumerate(t.shape) if d not in thin]) if thin else t
    made, left = operands[0], terms[0]
    for i in range(1, len(operands)):
        right, later = terms[i], set(out).union(*terms[i + 1 :])
        both = "".join(c for c in dict.fromkeys(left + right) if c in later)
        if left and right:
            text = f"{left},{right}->{both}"
            made = product(
                func, made, operands[i], left, right, both, lambda x, y, text=text: _f["_einsum"]((text, x, y))
            )
        else:
            made = made * operands[i]
        left = both
    return made.permute([left.index(c) for c in out]) if left != out else made


def _terms(equation, operands):
    """Letters of the operands and of the result, with letters for an ellipsis and for a result that is not given."""
    text = equation.replace(" ", "")
    inputs, arrow, out = text.partition("->")
    terms = inputs.split(",")
    widths = [t.ndim - len(s) + 3 if "..." in s else 0 for s, t in zip(terms, operands)]
    n = max([*widths, 0])
    more = "".join(c for c in string.ascii_letters if c not in text)[:n]
    terms = [s.replace("...", more[n - w :]) for s, w in zip(terms, widths)] + terms[len(operands) :]
    if not arrow:
        joined = "".join(terms)
        out = more + "".join(sorted(c for c in set(joined) if joined.count(c) == 1 and c not in more))
    return terms, out.replace("...", more)


def _simplified(t, letters, others):
    """An operand without letters that stand in it twice, or nowhere else."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            i = letters.index(c)
            j = letters.index(c, i + 1)
            t, letters = t.diagonal(0, i, j), letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + c
    gone = [d for d, c in enumerate(letters) if c not in others]
    if gone:
        t, letters = t.sum(gone), "".join(c for c in letters if c in others)
    return t, letters


@rule("linear")
def _linear(func, args, kwargs):
    def linear(input, weight, bias=None):
        made = _f["matmul"](input, weight.t())
        return made if bias is None else made + bias

    return linear(*args, **kwargs)
