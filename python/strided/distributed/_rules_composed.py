"""Rules of functions that are made of others: writes to places, diagonals, blocks, functions of whole matrices."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from .. import _C
from .._objects.typeinfo import finfo
from ._rules_index import _Joined, _parsed, assign
from ._rules_linalg import matrices
from ._rules_made import _many_axes, batches
from ._rules_masks import mask_of
from ._rules_pieces import _padded
from ._rules_reduce import axes_of
from ._sharded import (
    RULES,
    ShardedTensor,
    by_calls,
    first_sharded,
    missing,
    placed,
    refuse,
    rule,
    sharded,
    without_terms,
)

if TYPE_CHECKING:
    from .._typing import Any

Tensor = _C.Tensor
_f = _C.functions


# ---------------------------------------------------------------- writes to places


@rule("index_put")
def _index_put(func, args, kwargs):
    def of(input, indices, values, accumulate=False):
        if not isinstance(input, ShardedTensor):
            raise refuse(func, (values, *indices), "a plain tensor takes no sharded values")
        if input.ndim == 0:
            return missing(func)(func, args, kwargs)
        x = without_terms(input)
        values = sharded(values, x, func)
        if values.dtype is not x.dtype:
            raise RuntimeError(f"index_put: values are {values.dtype}, the tensor is {x.dtype}")
        return _with_values(x, tuple(slice(None) if k is None else k for k in indices), values, accumulate)

    return of(*args, **kwargs)


def _with_values(x, key, values, accumulate):
    """x in which the places of an index have other values, or these added."""
    if mask_of(x, key) is not None and not accumulate:
        made = x.clone()
        made[key] = values
        return made
    steps = _parsed(x, key)
    at = [d for d, k in enumerate(steps) if isinstance(k, (Tensor, list))]
    if not at or at[-1] - at[0] != len(at) - 1:
        raise refuse("index_put", (x,), "there are rules for indices of axes side by side")
    index = steps[at[0]]
    if len(at) > 1:
        index = _Joined(x, [steps[d] for d in at], at[0]).index
    made = x.flatten(at[0], at[-1]).clone()
    assign(made, at[0], (*steps[: at[0]], index, *steps[at[-1] + 1 :]), values, accumulate)
    return made.reshape(x.shape)


@by_calls("put")
def _put(input, index, source, accumulate=False):
    if not isinstance(input, ShardedTensor):
        raise refuse("put", (index, source), "a plain tensor takes no sharded values")
    index = index.full_tensor() if isinstance(index, ShardedTensor) else index
    if index.numel() != source.numel():
        raise RuntimeError(f"put: {source.numel()} values for {index.numel()} places")
    flat = without_terms(input).reshape(-1)
    source = without_terms(sharded(source, flat, "put"))
    return _with_values(flat, (index.reshape(-1),), source.reshape(-1), accumulate).reshape(input.shape)


@rule("index_put_ put_")
def _in_place(func, args, kwargs):
    x = args[0]
    if not isinstance(x, ShardedTensor) or x._spec.is_partial:
        raise refuse(func, args, "what is written to is neither a plain tensor nor a sum of terms")
    made = _f[func.__name__[:-1]](*args, **kwargs)
    x._local.copy_(placed(made, x._spec.placements)._local)
    return x


@by_calls("diagonal_scatter")
def _diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    x = without_terms(input if isinstance(input, ShardedTensor) else sharded(input, src, "diagonal_scatter"))
    a, b = axes_of((dim1, dim2), x.ndim)
    wanted = _f["empty"](x.shape, device="meta").diagonal(offset, a, b).shape
    if tuple(src.shape) != tuple(wanted):
        raise RuntimeError(f"expected src to have the size of the diagonal, {tuple(wanted)}, got {tuple(src.shape)}")
    src = without_terms(sharded(src, x, "diagonal_scatter")).to(x.dtype)

    def laid(values):
        """Values on the diagonal of zeros of the shape of x."""
        made = _f["diag_embed"](values, offset)
        pad = []
        for d in (b, a):
            pad += [0, x.shape[d] - made.shape[-1 if d == b else -2]]
        return _padded(made, pad, 0).movedim((-2, -1), (a, b))

    return _f["where"](laid(_f["ones_like"](src, dtype=_C.uint8)) != 0, laid(src), x)


@by_calls("nonzero_static")
def _nonzero_static(input, size, fill_value=-1):
    found = _f["nonzero"](input)
    if size < 0:
        raise RuntimeError(f"nonzero_static: size must be non-negative, got {size}")
    return _padded(found, [0, 0, 0, size - found.shape[0]], fill_value)


# ---------------------------------------------------------------- joined


@by_calls("block_diag")
def _block_diag(*tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    like = first_sharded(tensors)
    blocks = []
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim}"
            )
        t = without_terms(sharded(t, like, "block_diag"))
        blocks.append(t.reshape((1,) * (2 - t.ndim) + tuple(t.shape)))
    kind = functools.reduce(_f["promote_types"], [t.dtype for t in blocks])
    wide, before, rows = sum(t.shape[1] for t in blocks), 0, []
    for t in blocks:
        rows.append(_padded(t.to(kind), [before, wide - before - t.shape[1]], 0))
        before += t.shape[1]
    return _f["cat"](rows, 0)


@by_calls("combinations")
def _combinations(input, r=2, with_replacement=False):
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    places = _f["combinations"](_f["arange"](input.shape[0]), r, with_replacement)
    return _f["index_select"](input, 0, places.reshape(-1)).reshape(places.shape)


# ---------------------------------------------------------------- transforms of hermitian signals


def _hermitian(kind, default, x, s=None, dim=None, norm=None):
    if dim is None:
        dim = default if default is not None else range(x.ndim) if s is None else range(-len(s), 0)
    dims = list(axes_of(tuple(dim), x.ndim))
    sizes: list[Any] = [None] * len(dims) if s is None else [None if n == -1 else n for n in s]
    first = (sizes[:-1] if s is not None else None, dims[:-1], norm)
    if kind == "hfftn":
        x = _many_axes("fftn", None, x, *first) if len(dims) > 1 else x
        return _f["fft.hfft"](x, sizes[-1], dims[-1], norm)
    x = _f["fft.ihfft"](x, sizes[-1], dims[-1], norm)
    return _many_axes("ifftn", None, x, *first) if len(dims) > 1 else x


for _kind in ("hfftn", "ihfftn"):
    by_calls(f"fft.{_kind}")(functools.partial(_hermitian, _kind, None))
    by_calls(f"fft.{_kind[:-1]}2")(functools.partial(_hermitian, _kind, (-2, -1)))


# ---------------------------------------------------------------- functions of whole matrices


@by_calls("linalg.tensorinv")
def _tensorinv(input, ind=2):
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    shape = tuple(input.shape)
    if math.prod(shape[:ind]) != math.prod(shape[ind:]):
        raise RuntimeError(f"linalg.tensorinv: the products of {shape[:ind]} and of {shape[ind:]} differ")
    n = math.prod(shape[ind:])
    return _f["linalg.inv"](input.reshape(n, n)).reshape(shape[ind:] + shape[:ind])


@by_calls("linalg.tensorsolve")
def _tensorsolve(input, other, dims=None):
    like = first_sharded((input, other))
    A, B = sharded(input, like, "linalg.tensorsolve"), sharded(other, like, "linalg.tensorsolve")
    if dims is not None:
        moved = axes_of(tuple(dims), A.ndim)
        A = A.movedim(moved, tuple(range(A.ndim - len(moved), A.ndim)))
    shape = A.shape[B.ndim :]
    n = B.numel()
    if math.prod(shape) != n or A.numel() != n * n:
        raise RuntimeError(f"linalg.tensorsolve: {tuple(A.shape)} and {tuple(B.shape)} make no square system")
    return _f["linalg.solve"](A.reshape(n, n), B.reshape(-1)).reshape(shape)


_PADE = [64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1]  # fmt: skip


@matrices("matrix_exp linalg.matrix_exp")
def _matrix_exp(func, values):
    """Scaling and squaring with the Pade approximant of degree 13: N. J. Higham, "The scaling and squaring method for
    the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26(4), 2005."""
    A = first_sharded(list(values.values()))
    n = A.shape[0]
    if n != A.shape[1]:
        raise RuntimeError(f"linalg.matrix_exp: A must be batches of square matrices, but they are {n} by {A.shape[1]}")
    if n == 0:
        return A.clone()
    norm = A.detach().abs().sum(0).amax().item()
    halvings = max(0, math.ceil(math.log2(norm / 5.37))) if math.isfinite(norm) and norm > 0 else 0
    A, c = A / 2.0**halvings, _PADE
    mm = _f["matmul"]
    B = mm(A, A)
    D = mm(B, B)
    E = mm(B, D)
    one = _f["diag_embed"](_f["ones_like"](A.diagonal()).detach())
    odd = mm(A, mm(E, c[13] * E + c[11] * D + c[9] * B) + c[7] * E + c[5] * D + c[3] * B + c[1] * one)
    even = mm(E, c[12] * E + c[10] * D + c[8] * B) + c[6] * E + c[4] * D + c[2] * B + c[0] * one
    made = _f["linalg.solve"](even - odd, even + odd)
    for _ in range(halvings):
        made = mm(made, made)
    return made


@matrices("linalg.pinv pinverse")
def _pinv(func, values):
    """By singular values, or eigenvalues; gradients for a matrix whose singular values differ."""
    A = first_sharded(list(values.values()))
    atol, rtol = values.get("atol"), values.get("rtol", values.get("rcond"))
    if any(isinstance(t, Tensor) for t in (atol, rtol)):
        raise refuse(func, [A], "tolerances that are tensors")
    if values.get("hermitian"):
        found, U = _f["linalg.eigh"](A)
        V, size = U, found.abs()
    else:
        U, found, Vh = _f["linalg.svd"](A, False)
        V, size = Vh.mH, found
    if size.numel() == 0:
        return A.mH.clone()
    if rtol is None:
        rtol = max(A.shape) * finfo(A.dtype).eps if not atol else 0.0
    limit = max(float(atol or 0), float(rtol) * size.detach().amax().item())
    inverse = _f["where"](size > limit, 1 / _f["where"](size > limit, found, 1), 0)
    return _f["matmul"](V * inverse.unsqueeze(0).to(V.dtype), U.mH)


for _name in ("matrix_exp", "linalg.matrix_exp", "linalg.pinv", "pinverse"):  # batches: their cut goes to a batch axis
    RULES[_name] = functools.partial(batches, RULES[_name])
