"""Differentiable functions outside the elementwise table, with inputs to differentiate them at.

A case is ``name: (function, makers..., options)``. The words of its name that are names of functions say what it is a
case of (test_gradient_coverage.py asks for one of each). A maker gives a tensor of a dtype; the last entry may be a
dict of
    kinds       "r", "c" or "rc" (default): real and complex inputs
    broadcast   False: the function has no derivative at equal elements, or its input may not be a repeated row
"""

import importlib
import math
import sys

import strided as torch
from gradient_cases_matrices import MATRICES, SINGULAR, hermitian
from gradient_inputs import (
    GATHERED,
    MASK,
    NO_TIES,
    REAL,
    REAL_NO_TIES,
    apart,
    fractions,
    index,
    normal,
    positive,
    regular,
    zeros_at,
)
from strided import linalg

FILES = ("gradient_inputs", "gradient_cases_matrices", "gradient_cases")


def of_torch():
    """The cases as functions of PyTorch: the same files, loaded once more with PyTorch under the name of strided."""
    import torch as pytorch

    ours = {name: sys.modules.pop(name) for name in FILES}
    ours.update({name: sys.modules[name] for name in ("strided", "strided.linalg")})
    sys.modules.update({"strided": pytorch, "strided.linalg": pytorch.linalg})
    try:
        return importlib.import_module("gradient_cases").CASES
    finally:
        sys.modules.update(ours)


def assigned(x, where, value):
    x[where] = value
    return x


def iaugmented(x, y):
    x += y
    x *= y
    x -= 2
    return x


def reductions_by_index(name, *kinds):
    """Cases of scatter_reduce or index_reduce, with and without the value that was there."""

    def reduction(kind, include_self):
        if name == "scatter_reduce":
            return lambda x, y: x.scatter_reduce(1, GATHERED, y, kind, include_self=include_self)
        return lambda x, y: x.index_reduce(1, index(0, 2, 0), y, kind, include_self=include_self)

    return {
        f"{name} {kind}" if include_self else f"{name} {kind} not self": (
            reduction(kind, include_self),
            apart(2, 3),
            normal(2, 3),
            REAL_NO_TIES if kind[0] == "a" else REAL,
        )
        for kind in kinds
        for include_self in (True, False)
    }


REDUCTIONS = {
    "sum": (lambda x: x.sum(), normal(2, 3)),
    "sum dim": (lambda x: x.sum(1), normal(2, 3)),
    "sum dims keepdim": (lambda x: x.sum((0, -1), keepdim=True), normal(2, 2, 3)),
    "nansum": (lambda x: torch.nansum(x, 0), normal(2, 3), REAL),
    "mean": (lambda x: x.mean(), normal(2, 3)),
    "mean dims": (lambda x: x.mean((0, 2)), normal(2, 2, 3)),
    "nanmean": (lambda x: torch.nanmean(x, 0), normal(2, 3), REAL),
    "prod": (lambda x: x.prod(), normal(2, 3)),
    "prod dim": (lambda x: x.prod(1), normal(2, 3)),
    "prod dim keepdim": (lambda x: x.prod(0, keepdim=True), normal(2, 3)),
    "prod one zero": (lambda x: x.prod(1), zeros_at((2, 3), 1)),
    "prod two zeros": (lambda x: x.prod(), zeros_at((1, 4), 0, 2)),
    "prod zeros": (lambda x: x.prod(1), zeros_at((2, 3), 0, 1, 2)),
    "var": (lambda x: x.var(), normal(2, 3), NO_TIES),
    "var dim": (lambda x: x.var(1, correction=0, keepdim=True), normal(2, 3)),
    "std": (lambda x: x.std(), normal(2, 3), NO_TIES),
    "std dims": (lambda x: x.std((0, 1), unbiased=False), normal(2, 3, 2)),
    "var_mean": (lambda x: torch.var_mean(x, 1), normal(2, 3)),
    "std_mean": (lambda x: torch.std_mean(x, 1), normal(2, 3)),
    "norm": (lambda x: x.norm(), normal(2, 3)),
    "norm 1": (lambda x: torch.norm(x, 1, dim=1), apart(2, 3)),
    "norm 3 keepdim": (lambda x: torch.norm(x, 3, dim=0, keepdim=True), apart(2, 3)),
    "norm 1.5": (lambda x: torch.norm(x, 1.5, dim=(0, 1)), apart(2, 3)),
    "norm inf": (lambda x: torch.norm(x, math.inf, dim=1), apart(2, 3), NO_TIES),
    "norm -inf": (lambda x: torch.norm(x, -math.inf, dim=1), apart(2, 3), NO_TIES),
    "norm fro": (lambda x: torch.norm(x, "fro"), normal(2, 3)),
    "vector_norm": (lambda x: linalg.vector_norm(x, 3), apart(2, 3)),
    "vector_norm 2 dim": (lambda x: linalg.vector_norm(x, dim=1), normal(2, 3)),
    "vector_norm 0.5": (lambda x: linalg.vector_norm(x, 0.5, dim=1), apart(2, 3)),
    "linalg.norm": (lambda x: linalg.norm(x), normal(2, 3)),
    "matrix_norm fro": (lambda x: linalg.matrix_norm(x), normal(2, 3)),
    "matrix_norm 1": (lambda x: linalg.matrix_norm(x, 1), apart(2, 3), NO_TIES),
    "matrix_norm inf": (lambda x: linalg.matrix_norm(x, math.inf), apart(2, 3), NO_TIES),
    "dist": (lambda x, y: torch.dist(x, y), normal(2, 3), normal(2, 3)),
    "dist 3": (lambda x, y: torch.dist(x, y, 3), normal(2, 3), normal(3)),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), normal(2, 3), REAL),
    "logsumexp dims": (lambda x: torch.logsumexp(x, (0, 1), keepdim=True), normal(2, 3), REAL),
    "softmax": (lambda x: torch.softmax(x, 1), normal(2, 3), REAL),
    "softmax 0": (lambda x: x.softmax(0), normal(2, 3), REAL),
    "log_softmax": (lambda x: x.log_softmax(-1), normal(2, 3), REAL),
    "log_softmax 0": (lambda x: torch.log_softmax(x, 0), normal(2, 3), REAL),
    "amax": (lambda x: x.amax(), apart(2, 3), REAL_NO_TIES),
    "amax dims": (lambda x: x.amax((0, 2), keepdim=True), apart(2, 2, 3), REAL_NO_TIES),
    "amin": (lambda x: x.amin(1), apart(2, 3), REAL_NO_TIES),
    "aminmax": (lambda x: tuple(torch.aminmax(x, dim=1)), apart(2, 3), REAL_NO_TIES),
    "max": (lambda x: x.max(), apart(2, 3), REAL_NO_TIES),
    "min": (lambda x: x.min(), apart(2, 3), REAL_NO_TIES),
    "max dim": (lambda x: x.max(1).values, apart(2, 3), REAL_NO_TIES),
    "min dim keepdim": (lambda x: x.min(0, keepdim=True).values, apart(2, 3), REAL_NO_TIES),
    "max min of two": (lambda x, y: torch.max(x, y) * torch.min(x, y + 3), apart(2, 3), normal(2, 3), REAL_NO_TIES),
    "nanmedian": (lambda x: x.nanmedian(), apart(2, 3), REAL_NO_TIES),
    "median": (lambda x: x.median(), apart(2, 3), REAL_NO_TIES),
    "median dim": (lambda x: x.median(1).values, apart(2, 3), REAL_NO_TIES),
    "nanmedian dim": (lambda x: x.nanmedian(1).values, apart(2, 3), REAL_NO_TIES),
    "mode": (lambda x: x.mode(1).values, apart(2, 3), REAL_NO_TIES),
    "kthvalue": (lambda x: x.kthvalue(2, 1).values, apart(2, 3), REAL_NO_TIES),
    "quantile": (lambda x: torch.quantile(x, 0.3, dim=1), apart(2, 3), REAL_NO_TIES),
    "quantile several": (lambda x: torch.quantile(x, torch.tensor([0.1, 0.6], dtype=torch.float64)), apart(2, 3),
        REAL_NO_TIES),
    "quantile of the fractions": (lambda x, q: torch.quantile(x, q, dim=1), apart(2, 3), fractions(0.1, 0.8),
        REAL_NO_TIES),
    "quantile midpoint": (lambda x: torch.quantile(x, 0.3, dim=1, interpolation="midpoint"), apart(2, 3), REAL_NO_TIES),
    "nanquantile": (lambda x: torch.nanquantile(x, 0.3, dim=1, keepdim=True), apart(2, 3), REAL_NO_TIES),
    "sort": (lambda x: x.sort(1, descending=True).values, apart(2, 3), REAL_NO_TIES),
    "msort": (lambda x: torch.msort(x), apart(3, 2), REAL_NO_TIES),
    "topk": (lambda x: x.topk(2, 1).values, apart(2, 3), REAL_NO_TIES),
    "cumsum": (lambda x: x.cumsum(1), normal(2, 3)),
    "cumsum 0": (lambda x: torch.cumsum(x, 0), normal(2, 3)),
    "cumprod": (lambda x: x.cumprod(1), normal(2, 3)),
    "cumprod zero": (lambda x: x.cumprod(1), zeros_at((2, 5), 1)),
    "cumprod zeros": (lambda x: x.cumprod(1), zeros_at((2, 4), 0, 2)),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), normal(2, 3), REAL),
    "cummax": (lambda x: x.cummax(1).values, apart(2, 3), REAL_NO_TIES),
    "cummin": (lambda x: x.cummin(0).values, apart(2, 3), REAL_NO_TIES),
    "diff": (lambda x: x.diff(dim=1), normal(2, 4)),
    "diff 2": (lambda x: torch.diff(x, 2, dim=0), normal(4, 2)),
    "gradient": (lambda x: torch.gradient(x, dim=1), normal(2, 4)),
    "trace": (lambda x: x.trace(), normal(2, 3)),
    "renormalised": (lambda x: x / x.norm(dim=1, keepdim=True), normal(2, 3)),
}  # fmt: skip

VIEWS = {
    "reshape": (lambda x: x.reshape(3, 2), normal(2, 3)),
    "reshape_as": (lambda x: x.reshape_as(torch.empty(3, 2)), normal(2, 3)),
    "view_as": (lambda x: x.contiguous().view_as(torch.empty(3, 2)), normal(2, 3)),
    "flatten": (lambda x: x.flatten(), normal(2, 3)),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)), normal(2, 4)),
    "ravel": (lambda x: x.ravel(), normal(2, 3)),
    "unsqueeze squeeze": (lambda x: x.unsqueeze(1).squeeze(), normal(2, 3)),
    "squeeze dim": (lambda x: x[:, None].squeeze(1), normal(2, 3)),
    "transpose": (lambda x: x.transpose(0, 1), normal(2, 3)),
    "t": (lambda x: x.t(), normal(2, 3)),
    "T": (lambda x: x.T, normal(2, 3)),
    "mT": (lambda x: x.mT, normal(2, 2, 3)),
    "mH": (lambda x: x.mH, normal(2, 2, 3)),
    "H": (lambda x: x.H, normal(2, 3)),
    "adjoint": (lambda x: x.adjoint(), normal(2, 3)),
    "permute": (lambda x: x.permute(2, 0, 1), normal(2, 3, 2)),
    "movedim": (lambda x: x.movedim(0, 2), normal(2, 3, 2)),
    "swapaxes": (lambda x: x.swapaxes(0, 1), normal(2, 3)),
    "expand": (lambda x: x.expand(2, 2, 3), normal(2, 3)),
    "expand_as": (lambda x: x.expand_as(torch.empty(2, 2, 3)), normal(2, 3)),
    "expand dim": (lambda x: x[:, :1].expand(-1, 4), normal(2, 3)),
    "broadcast_to": (lambda x: torch.broadcast_to(x, (2, 2, 3)), normal(2, 3)),
    "broadcast_tensors": (lambda x, y: torch.broadcast_tensors(x, y), normal(2, 1), normal(3)),
    "narrow": (lambda x: x.narrow(1, 1, 2), normal(2, 3)),
    "select": (lambda x: x.select(1, -1), normal(2, 3)),
    "diagonal": (lambda x: x.diagonal(1), normal(2, 3)),
    "diagonal dims": (lambda x: x.diagonal(0, 2, 0), normal(2, 3, 2)),
    "linalg.diagonal": (lambda x: linalg.diagonal(x, offset=-1), normal(2, 3, 3)),
    "unfold": (lambda x: x.unfold(1, 3, 1), normal(2, 4)),
    "as_strided overlapping": (lambda x: x.contiguous().as_strided((2, 3), (1, 1)), normal(2, 3)),
    "real imag": (lambda x: (x.real, x.imag), normal(2, 3), {"kinds": "c"}),
    "view_as_real": (lambda x: torch.view_as_real(x), normal(2, 3), {"kinds": "c"}),
    "view_as_complex": (lambda x: torch.view_as_complex(x.contiguous()), normal(3, 2), REAL),
    "complex": (lambda x, y: torch.complex(x, y), normal(2, 3), normal(2, 3), REAL),
    "polar": (lambda x, y: torch.polar(x, y), positive(2, 3), normal(2, 3), REAL),
    "conj": (lambda x: x.conj(), normal(2, 3)),
    "unbind": (lambda x: x.unbind(1), normal(2, 3)),
    "split": (lambda x: x.split(2, 1), normal(2, 3)),
    "split sizes": (lambda x: x.split([1, 2], 1), normal(2, 3)),
    "split_with_sizes": (lambda x: x.split_with_sizes([2, 1], 1), normal(2, 3)),
    "chunk": (lambda x: x.chunk(2, 0), normal(3, 2)),
    "tensor_split": (lambda x: x.tensor_split(2, 1), normal(2, 3)),
    "hsplit": (lambda x: x.hsplit([1]), normal(2, 3)),
    "vsplit": (lambda x: x.vsplit(2), normal(2, 3)),
    "dsplit": (lambda x: x.dsplit(2), normal(1, 2, 2)),
    "item slice": (lambda x: x[:, 1:], normal(2, 3)),
    "item steps": (lambda x: x[:, ::2], normal(2, 3)),
    "item reversed": (lambda x: x[::-1], normal(2, 3)),
    "item None ...": (lambda x: x[..., None, 1], normal(2, 3)),
    "item int": (lambda x: x[1], normal(2, 3)),
    "clone": (lambda x: x.clone(), normal(2, 3)),
    "contiguous": (lambda x: x.t().contiguous(), normal(2, 3)),
    "atleast_1d": (lambda x: torch.atleast_1d(x), normal(3)),
    "atleast_2d": (lambda x: torch.atleast_2d(x), normal(3)),
    "atleast_3d": (lambda x: torch.atleast_3d(x), normal(2, 3)),
    "to wider": (lambda x: x.to(torch.complex128) * (1 + 2j), normal(2, 3)),
    "cdouble type type_as": (lambda x: x.cdouble() + x.type(torch.complex128) * 1j + x.type_as(1j * x), normal(2, 3)),
    "double cpu": (lambda x: x.double().cpu() * x, normal(2, 3), REAL),
    "resolve_conj resolve_neg": (lambda x: torch.resolve_conj(x) * x.resolve_conj() + x.resolve_neg(), normal(2, 3)),
}  # fmt: skip

MOVES = {
    "cat": (lambda x, y: torch.cat([x, y], 1), normal(2, 3), normal(2, 2)),
    "cat twice": (lambda x: torch.cat([x, x * x]), normal(2, 3)),
    "stack": (lambda x, y: torch.stack([x, y], 1), normal(2, 3), normal(2, 3)),
    "hstack": (lambda x, y: torch.hstack([x, y]), normal(2, 3), normal(2, 2)),
    "vstack": (lambda x, y: torch.vstack([x, y]), normal(2, 3), normal(3)),
    "dstack": (lambda x, y: torch.dstack([x, y]), normal(2, 3), normal(2, 3)),
    "column_stack": (lambda x, y: torch.column_stack([x, y]), normal(2, 3), normal(2)),
    "block_diag": (lambda x, y: torch.block_diag(x, y), normal(2, 3), normal(2)),
    "cartesian_prod": (lambda x, y: torch.cartesian_prod(x, y), normal(2), normal(3)),
    "combinations": (lambda x: torch.combinations(x), normal(4)),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="ij"), normal(2), normal(3)),
    "tril": (lambda x: x.tril(-1), normal(3, 3)),
    "triu": (lambda x: torch.triu(x, 1), normal(2, 3)),
    "diag": (lambda x: torch.diag(x, 1), normal(3)),
    "diag matrix": (lambda x: torch.diag(x), normal(2, 3)),
    "diag_embed": (lambda x: torch.diag_embed(x), normal(2, 3)),
    "diagflat": (lambda x: torch.diagflat(x), normal(2, 2)),
    "flip": (lambda x: x.flip(0, 1), normal(2, 3)),
    "fliplr": (lambda x: torch.fliplr(x), normal(2, 3)),
    "flipud": (lambda x: torch.flipud(x), normal(2, 3)),
    "rot90": (lambda x: torch.rot90(x), normal(2, 3)),
    "roll": (lambda x: x.roll(1, 1), normal(2, 3)),
    "roll flat": (lambda x: x.roll(2), normal(2, 3)),
    "repeat": (lambda x: x.repeat(2, 1, 2), normal(2, 3)),
    "tile": (lambda x: x.tile(2, 2), normal(2, 3)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), normal(2, 3)),
    "repeat_interleave counts": (lambda x: torch.repeat_interleave(x, index(1, 0, 2), 1), normal(2, 3)),
    "where": (lambda x, y: torch.where(MASK, x, y), normal(2, 3), normal(3)),
    "where scalar": (lambda x: torch.where(MASK, x, 2.0), normal(2, 3)),
    "masked_fill": (lambda x: x.masked_fill(MASK, 2.0), normal(2, 3)),
    "masked_fill tensor": (lambda x, v: x.masked_fill(MASK, v), normal(2, 3), normal()),
    "masked_select": (lambda x: x.masked_select(MASK), normal(2, 3)),
    "masked_scatter": (lambda x, y: x.masked_scatter(MASK, y), normal(2, 3), normal(5)),
    "gather": (lambda x: x.gather(1, GATHERED), normal(2, 3)),
    "take": (lambda x: x.take(index(0, 5, 0)), normal(2, 3)),
    "take_along_dim": (lambda x: torch.take_along_dim(x, GATHERED, 1), normal(2, 3)),
    "scatter": (lambda x, y: x.scatter(1, torch.tensor([[0, 2], [1, 0]]), y), normal(2, 3), normal(2, 2)),
    "scatter value": (lambda x: x.scatter(1, torch.tensor([[0], [2]]), 2.0), normal(2, 3)),
    "scatter_add": (lambda x, y: x.scatter_add(1, GATHERED, y), normal(2, 3), normal(2, 3)),
    "scatter part of src": (lambda x, y: x.scatter(1, torch.tensor([[2, 0]]), y), normal(2, 3), normal(2, 3)),
    "scatter add": (lambda x, y: x.scatter(1, GATHERED, y, reduce="add"), normal(2, 3), normal(2, 3)),
    "scatter multiply": (lambda x, y: x.scatter(1, GATHERED, y, reduce="multiply"), normal(2, 3), normal(2, 3)),
    "scatter multiply value": (lambda x: x.scatter(1, GATHERED, 3.0, reduce="multiply"), normal(2, 3)),
    "scatter add value": (lambda x: x.scatter(1, GATHERED, 3.0, reduce="add"), normal(2, 3)),
    **reductions_by_index("scatter_reduce", "sum", "prod", "mean", "amax", "amin"),
    **reductions_by_index("index_reduce", "prod", "mean", "amax", "amin"),
    "scatter_reduce prod complex": (lambda x, y: x.scatter_reduce(1, GATHERED, y, "prod"), zeros_at((2, 3), 1),
        zeros_at((2, 3),
        0), {"kinds": "c"}),
    "scatter_reduce mean complex": (lambda x, y: x.scatter_reduce(1, GATHERED, y, "mean"), normal(2, 3), normal(2, 3),
        {"kinds": "c"}),
    "scatter_reduce prod zeros": (lambda x, y: x.scatter_reduce(1, GATHERED, y, "prod"), zeros_at((2, 3), 1),
        zeros_at((2, 3),
        0, 2), REAL),
    "scatter_reduce prod long": (lambda x, y: x.scatter_reduce(0, index(0, 2, 0, 0, 2, 0, 0, 0), y, "prod"), normal(3),
        zeros_at((8,), 3), REAL_NO_TIES),
    "scatter_reduce prod long zeros": (lambda x, y: x.scatter_reduce(0, index(0, 2, 0, 0, 2, 0, 0, 0), y, "prod"),
        normal(3),
        zeros_at((8,), 0, 2, 4, 7), REAL_NO_TIES),
    "scatter_reduce prod part of src": (lambda x, y: x.scatter_reduce(1, torch.tensor([[2, 2]]), y, "prod"), normal(2,
        3), zeros_at((2,
        3), 1, 2), REAL),
    "index_reduce prod zeros": (lambda x, y: x.index_reduce(1, index(0, 2, 0), y, "prod"), zeros_at((2, 3), 2),
        zeros_at((2, 3),
        0, 2), REAL),
    "put": (lambda x, y: x.put(index(1, 4), y), normal(2, 3), normal(2)),
    "index_select": (lambda x: x.index_select(1, index(2, 0, 2)), normal(2, 3)),
    "index_add": (lambda x, y: x.index_add(1, index(2, 0, 2), y, alpha=3), normal(2, 3), normal(2, 3)),
    "index_copy": (lambda x, y: x.index_copy(1, index(2, 0), y), normal(2, 3), normal(2, 2)),
    "index_fill": (lambda x: x.index_fill(1, index(2, 0), 3.0), normal(2, 3)),
    "index_put": (lambda x, y: x.index_put((index(0, 1),), y), normal(2, 3), normal(3)),
    "index_put accumulate": (lambda x, y: x.index_put((index(1, 1), index(0, 0)), y, accumulate=True), normal(2, 3),
        normal(2)),
    "put accumulate": (lambda x, y: x.put(index(1, 1), y, accumulate=True), normal(2, 3), normal(2)),
    "select_scatter": (lambda x, y: x.select_scatter(y, 1, 0), normal(2, 3), normal(2)),
    "slice_scatter": (lambda x, y: x.slice_scatter(y, 1, 0, 3, 2), normal(2, 3), normal(2, 2)),
    "diagonal_scatter": (lambda x, y: x.diagonal_scatter(y), normal(2, 3), normal(2)),
    "item ints": (lambda x: x[:, index(2, 0, 2)], normal(2, 3)),
    "item ints ints": (lambda x: x[index(1, 0, 1), index(2, 0, 2)], normal(2, 3)),
    "item ints and slice": (lambda x: x[index(1, 0), :, None], normal(2, 3)),
    "item list": (lambda x: x[[1, 0, 1]], normal(2, 3)),
    "item mask": (lambda x: x[MASK], normal(2, 3)),
    "item mask of rows": (lambda x: x[torch.tensor([False, True])], normal(2, 3)),
    "fill": (lambda x: torch.fill(x, 2.0) + x, normal(2, 3)),
    "kron": (torch.kron, normal(2, 2), normal(3)),
    "clamp both": (lambda x: x.clamp(-0.5, 0.6), apart(2, 3), REAL),
    "clamp one": (lambda x: x.clamp(max=0.6), apart(2, 3), REAL),
    "mvlgamma": (lambda x: torch.mvlgamma(x + 2, 2), positive(2, 3), REAL),
    "float_power": (lambda x: torch.float_power(x, 3), positive(2, 3)),
    "pow scalar": (lambda x: x**3, normal(2, 3)),
    "pow scalar base": (lambda x: 2.0**x, normal(2, 3)),
    "pow 0": (lambda x: x**0 + x, normal(2, 3)),
    "rsub rdiv": (lambda x: 1 - 2 / x, positive(2, 3)),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=2), normal(2, 3), normal(3)),
    "sub alpha": (lambda x, y: torch.sub(x, y, alpha=2), normal(2, 3), normal(3)),
    "narrow_copy": (lambda x: torch.narrow_copy(x, 1, 0, 2), normal(2, 3)),
    "view": (lambda x: x.contiguous().view(-1), normal(2, 3)),
    "linalg.vander": (lambda x: linalg.vander(x, N=4), normal(3)),
    "vander": (lambda x: torch.vander(x, N=4), normal(3)),
    "frexp": (lambda x: torch.frexp(x).mantissa, apart(2, 3), REAL),
}  # fmt: skip


def extremes(lobpcg, a, **options):
    """Of a matrix whose eigenvalues are far apart, to the last digit: values, and what does not hang on the vectors'
    phases."""
    n = a.shape[-1]
    a = hermitian(a) / 10 + torch.diag(torch.arange(1.0, n + 1, dtype=torch.float64) ** 2).to(a.dtype)
    start = torch.eye(n, dtype=a.dtype)[:, -2:] + 0.1
    values, vectors = lobpcg(a, X=start, tol=1e-15, niter=60, **options)
    return values, vectors * vectors.conj() * torch.arange(1.0, n + 1, dtype=torch.float64)[:, None]


def seeded(function, *args):
    """A function that draws random numbers, always the same ones: its singular values, and their product."""
    torch.manual_seed(0)
    u, s, v = function(*args)
    return s, (u * s) @ v.mH


POINTS = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
STATISTICS = {
    "trapezoid": (lambda y: torch.trapezoid(y, dx=0.5, dim=0), normal(3, 2)),
    "trapezoid points": (lambda y, x: torch.trapezoid(y, x), normal(2, 3), normal(3)),
    "cumulative_trapezoid": (lambda y: torch.cumulative_trapezoid(y, dx=3), normal(2, 3)),
    "cumulative_trapezoid points": (lambda y, x: torch.cumulative_trapezoid(y, x, dim=0), normal(3, 2), normal(3, 2)),
    "cov": (lambda x: torch.cov(x), normal(2, 4)),
    "cov weights": (lambda x, w: x.cov(fweights=index(1, 2, 1), aweights=w), normal(2, 3), positive(3), REAL),
    "corrcoef": (lambda x: x.corrcoef(), normal(2, 4), NO_TIES),
    "cdist": (torch.cdist, normal(2, 3), normal(4, 3), REAL),
    "cdist 0": (lambda x, y: torch.cdist(x, y, 0) + x.sum() + y.sum(), normal(2, 3), normal(4, 3), REAL),
    "cdist 1": (lambda x, y: torch.cdist(x, y, 1), apart(2, 3), normal(2, 3), REAL),
    "cdist 1.5": (lambda x, y: torch.cdist(x, y, 1.5), apart(2, 3), normal(2, 3), REAL),
    "cdist 3": (lambda x, y: torch.cdist(x, y, 3), normal(2, 3), normal(2, 3), REAL),
    "cdist inf": (lambda x, y: torch.cdist(x, y, math.inf), normal(2, 3), normal(2, 3), REAL),
    "cdist broadcast": (torch.cdist, normal(2, 1, 2, 2), normal(3, 2, 2), REAL),
    "cdist product": (lambda x, y: torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist"), normal(2, 2, 3),
        normal(4, 3),
        REAL),
    "cdist many rows": (lambda x, y: torch.cdist(x.expand(30, 2), y), normal(1, 2), normal(2, 2), REAL),
    "pdist": (lambda x: torch.pdist(x), normal(4, 3), REAL_NO_TIES),
    "pdist 1": (lambda x: torch.pdist(x, 1), apart(3, 3), REAL_NO_TIES),
    "pdist 3": (lambda x: torch.pdist(x, 3), normal(3, 2), REAL_NO_TIES),
    "pairwise_distance": (lambda x, y: torch.pairwise_distance(x, y), normal(2, 3), normal(3), REAL),
    "cosine_similarity": (lambda x, y: torch.cosine_similarity(x, y), normal(2, 3), normal(2, 3), REAL),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 0.5), normal(2, 3)),
    "renorm some": (lambda x: torch.renorm(x, 2, 0, 1.5), fractions([0.5, 0.1], [3.0, 1.0], [0.0, 2.0])),
    "renorm 1": (lambda x: x.renorm(1, -1, 0.5), apart(2, 2, 3)),
    "renorm inf": (lambda x: torch.renorm(x, math.inf, 1, 0.5), apart(2, 3), NO_TIES),
    "frobenius_norm nuclear_norm": (lambda x: torch.frobenius_norm(x, (0, 1)) * torch.nuclear_norm(x), normal(2, 3),
        SINGULAR),
    "norm_except_dim": (lambda x: torch.norm_except_dim(x, 2, 1), normal(2, 3)),
    "sum_to_size": (lambda x: x.sum_to_size(3, 1), normal(2, 3, 2)),
    "as_strided_scatter": (lambda x, y: torch.as_strided_scatter(x.contiguous(), y, (2, 2), (3, 1), 1), normal(2, 3),
        normal(2, 2)),
    "rsub": (lambda x, y: torch.rsub(x, y, alpha=3), normal(2, 3), normal(3)),
    "alias_copy slice_copy": (lambda x: torch.alias_copy(x) * torch.slice_copy(x, 1, 0, 1), normal(2, 3)),
    "view_as_real_copy": (lambda x: torch.view_as_real_copy(x), normal(2, 3), {"kinds": "c"}),
    "histogramdd": (lambda w: torch.histogramdd(POINTS, 2, weight=w).hist, normal(3), REAL),
    "lu packed": (lambda a: torch.lu(a)[0], regular(3, 3), SINGULAR),
    "triangular_solve": (lambda b, a: torch.triangular_solve(b, a + 3 * torch.eye(3), upper=False).solution,
        normal(3, 2),
        normal(2, 3, 3)),
    "triangular_solve transpose": (lambda b, a: tuple(torch.triangular_solve(b, a + 3 * torch.eye(3), transpose=True)),
        normal(3, 2), normal(3, 3)),
    "svd_lowrank": (lambda a: seeded(torch.svd_lowrank, a, 2), normal(3, 2), SINGULAR),
    "svd_lowrank wide": (lambda a, m: seeded(torch.svd_lowrank, a, 2, 1, m), normal(2, 3), normal(3), SINGULAR),
    "pca_lowrank": (lambda a: seeded(torch.pca_lowrank, a, 2), normal(4, 2), SINGULAR),
    "lobpcg": (lambda a: extremes(torch.lobpcg, a), normal(6, 6), SINGULAR),
    "lobpcg smallest": (lambda a: extremes(torch.lobpcg, a, largest=False), normal(6, 6), SINGULAR),
}  # fmt: skip

TRUE, ZERO = torch.tensor(True), torch.tensor(0)

# On 0-d tensors, where the cases above do not take them as they are.
ZERO_D = {
    "0-d sum": (lambda x: x.sum(0), normal()),
    "0-d mean": (lambda x: x.mean(-1), normal()),
    "0-d prod": (lambda x: x.prod(0), normal()),
    "0-d prod zero": (lambda x: x[0].prod() * 2, zeros_at((1,), 0)),
    "0-d var std": (lambda x: x.var(correction=0) + x.std(correction=0), normal()),
    "0-d var_mean": (lambda x: torch.var_mean(x, correction=0), normal()),
    "0-d std_mean": (lambda x: torch.std_mean(x, correction=0), normal()),
    "0-d logsumexp": (lambda x: x.logsumexp(0), normal(), REAL),
    "0-d softmax": (lambda x: x.softmax(0), normal(), REAL),
    "0-d log_softmax": (lambda x: x.log_softmax(0), normal(), REAL),
    "0-d cumsum cumprod": (lambda x: x.cumsum(0) * x.cumprod(0), normal()),
    "0-d cumsum_ cumprod_": (lambda x: (x * 1).cumsum_(0).cumprod_(-1), normal()),
    "0-d logcumsumexp": (lambda x: x.logcumsumexp(0), normal(), REAL),
    "0-d cummax cummin": (lambda x: x.cummax(0).values * x.cummin(0).values, normal(), REAL),
    "0-d amax amin": (lambda x: x.amax(0) * x.amin(), normal(), REAL),
    "0-d aminmax": (lambda x: tuple(x.aminmax(dim=0)), normal(), REAL),
    "0-d max min": (lambda x: x.max(0).values * x.min(), normal(), REAL),
    "0-d sort": (lambda x: x.sort(0).values, normal(), REAL),
    "0-d topk": (lambda x: x.topk(1, 0).values, normal(), REAL),
    "0-d kthvalue mode": (lambda x: x.kthvalue(1, 0).values * x.mode(0).values, normal(), REAL),
    "0-d median nanmedian": (lambda x: x.median() * x.nanmedian(0).values, normal(), REAL),
    "0-d quantile": (lambda x: x.quantile(0.5, dim=0), normal(), REAL),
    "0-d nanquantile": (lambda x: x.nanquantile(0.5, dim=0), normal(), REAL),
    "0-d stack": (lambda x: torch.stack([x, x]), normal()),
    "0-d expand": (lambda x: x.expand(2, 3), normal()),
    "0-d reshape": (lambda x: x.reshape(1, 1), normal()),
    "0-d reshape_as view_as": (lambda x: x.reshape_as(torch.empty(1, 1)) * x.view_as(torch.empty(1)), normal()),
    "0-d permute movedim": (lambda x: x.permute(()) * x.movedim((), ()), normal()),
    "0-d transpose swapaxes": (lambda x: x.transpose(0, -1) * x.swapaxes(0, 0), normal()),
    "0-d transpose_ t_": (lambda x: (x * 1).transpose_(0, -1).t_() * x, normal()),
    "0-d unsqueeze squeeze": (lambda x: x.unsqueeze(-1).squeeze(0), normal()),
    "0-d unfold": (lambda x: x.unfold(0, 1, 1), normal()),
    "0-d as_strided": (lambda x: x.as_strided((2, 2), (0, 0)), normal()),
    "0-d as_strided_": (lambda x: (x * 1).as_strided_((1,), (1,)) * x, normal()),
    "0-d index": (lambda x: x[None, ...], normal()),
    "0-d item mask": (lambda x: x[TRUE], normal()),
    "0-d setitem": (lambda x, y: assigned(x * 1, ..., y), normal(), normal()),
    "0-d take": (lambda x: x.take(index(0, 0)), normal()),
    "0-d take_along_dim": (lambda x: torch.take_along_dim(x, ZERO, 0), normal()),
    "0-d put": (lambda x, y: x.put(ZERO, y), normal(), normal()),
    "0-d put_": (lambda x, y: (x * 1).put_(ZERO, y, accumulate=True), normal(), normal()),
    "0-d gather": (lambda x: x.gather(0, ZERO), normal()),
    "0-d gather index": (lambda x: x.gather(0, index(0, 0)), normal()),
    "0-d scatter": (lambda x, y: x.scatter(0, ZERO, y), normal(), normal()),
    "0-d scatter into a row": (lambda x, y: x.scatter(0, torch.tensor(1), y), normal(3), normal()),
    "0-d scatter of a row": (lambda x, y: x.scatter(0, ZERO, y), normal(), normal(3)),
    "0-d scatter_": (lambda x, y: (x * 1).scatter_(0, ZERO, y, reduce="multiply"), normal(), normal()),
    "0-d scatter_add": (lambda x, y: x.scatter_add(0, ZERO, y), normal(), normal()),
    "0-d scatter_add_": (lambda x, y: (x * 1).scatter_add_(0, ZERO, y), normal(), normal()),
    "0-d scatter_reduce": (lambda x, y: x.scatter_reduce(0, ZERO, y, "mean"), normal(), normal(), REAL),
    "0-d scatter_reduce index": (lambda x, y: x.scatter_reduce(0, index(0, 0, 0), y, "prod"), normal(), zeros_at((3,),
        0, 1), REAL),
    "0-d scatter_reduce_": (lambda x, y: (x * 1).scatter_reduce_(0, ZERO, y, "amax"), fractions(0.3), normal(), REAL),
    "0-d index_select": (lambda x: x.index_select(0, ZERO), normal()),
    "0-d index_add": (lambda x, y: x.index_add(0, ZERO, y), normal(), normal()),
    "0-d index_add_": (lambda x, y: (x * 1).index_add_(0, index(0), y), normal(), normal()),
    "0-d index_copy": (lambda x, y: x.index_copy(0, ZERO, y), normal(), normal()),
    "0-d index_copy_": (lambda x, y: (x * 1).index_copy_(0, index(0), y), normal(), normal()),
    "0-d index_fill": (lambda x: x.index_fill(0, index(0), 2.0) * x, normal()),
    "0-d index_fill_": (lambda x, y: (x * 1).index_fill_(0, index(0), y), normal(), normal()),
    "0-d index_reduce": (lambda x, y: x.index_reduce(0, index(0), y, "prod"), normal(), normal(), REAL),
    "0-d index_reduce_": (lambda x, y: (x * 1).index_reduce_(0, ZERO, y, "mean"), normal(), normal(), REAL),
    "0-d index_put": (lambda x, y: x.index_put((TRUE,), y), normal(), normal()),
    "0-d index_put_": (lambda x, y: (x * 1).index_put_((TRUE,), y, accumulate=True), normal(), normal()),
    "0-d masked_fill_": (lambda x, y: (x * 1).masked_fill_(TRUE, y), normal(), normal()),
    "0-d masked_scatter": (lambda x, y: x.masked_scatter(TRUE, y), normal(), normal()),
    "0-d masked_scatter_": (lambda x, y: (x * 1).masked_scatter_(TRUE, y), normal(), normal(2)),
    "0-d where": (lambda x, y: torch.where(TRUE, x, y), normal(), normal(2)),
    "0-d flip": (lambda x: x.flip(0), normal()),
    "0-d roll": (lambda x: x.roll(1), normal()),
    "0-d repeat": (lambda x: x.repeat(2, 2), normal()),
    "0-d repeat_interleave": (lambda x: x.repeat_interleave(3), normal()),
    "0-d einsum": (lambda x, y: torch.einsum(",i->i", x, y), normal(), normal(2)),
    "0-d tensordot": (lambda x, y: torch.tensordot(x, y, dims=0), normal(), normal(2)),
    "0-d addmm": (lambda m, x, y: torch.addmm(m, x, y), normal(), normal(2, 3), normal(3, 2)),
    "0-d addmv": (lambda m, x, y: torch.addmv(m, x, y), normal(), normal(2, 3), normal(3)),
    "0-d addr": (lambda m, x, y: torch.addr(m, x, y), normal(), normal(2), normal(3)),
    "0-d addbmm": (lambda m, x, y: torch.addbmm(m, x, y), normal(), normal(2, 2, 3), normal(2, 3, 2)),
    "0-d baddbmm": (lambda m, x, y: torch.baddbmm(m, x, y), normal(), normal(2, 2, 3), normal(2, 3, 2)),
    "0-d cov": (lambda x: x.cov(correction=0) + x, normal()),
    "0-d frobenius_norm norm_except_dim": (lambda x: torch.frobenius_norm(x, ()) * torch.norm_except_dim(x, 2, -1),
        normal()),
    "0-d cosine_similarity": (lambda x, y: torch.cosine_similarity(x, y, 0) + x * y, normal(), normal(), REAL),
    "0-d sum_to_size alias_copy": (lambda x: x.sum_to_size(()) * torch.alias_copy(x), normal()),
    "0-d as_strided_scatter": (lambda x, y: torch.as_strided_scatter(x, y, (), ()) + x, normal(), normal()),
    "0-d assembled": (lambda x: x * torch.ones(2, 3, dtype=torch.float64), normal()),
}  # fmt: skip

# In place, on a tensor that was computed.
IN_PLACE = {
    "copy_": (lambda x, y: x.clone().copy_(y) * x, normal(2, 3), normal(3)),
    "fill_": (lambda x: x.clone().fill_(2.0) * x, normal(2, 3)),
    "zero_": (lambda x: x.clone().zero_() + x, normal(2, 3)),
    "add_ twice": (lambda x, y: (x * 1).add_(y).add_(x, alpha=2), normal(2, 3), normal(3)),
    "mul_ by itself": (lambda x: (lambda y: y.mul_(y.clone()))(x * 1), normal(2, 3)),
    "iadd isub imul": (lambda x, y: iaugmented(x * 1, y), normal(2, 3), normal(2, 3)),
    "clamp_": (lambda x: (x * 1).clamp_(-0.5, 0.6), apart(2, 3), REAL),
    "masked_fill_": (lambda x: (x * 1).masked_fill_(MASK, 2.0), normal(2, 3)),
    "masked_scatter_": (lambda x, y: (x * 1).masked_scatter_(MASK, y), normal(2, 3), normal(5)),
    "scatter_": (lambda x, y: (x * 1).scatter_(1, torch.tensor([[0, 2], [1, 0]]), y), normal(2, 3), normal(2, 2)),
    "scatter_add_": (lambda x, y: (x * 1).scatter_add_(1, GATHERED, y), normal(2, 3), normal(2, 3)),
    "index_add_": (lambda x, y: (x * 1).index_add_(1, index(2, 0, 2), y), normal(2, 3), normal(2, 3)),
    "index_copy_": (lambda x, y: (x * 1).index_copy_(1, index(2, 0), y), normal(2, 3), normal(2, 2)),
    "index_fill_": (lambda x: (x * 1).index_fill_(1, index(2, 0), 3.0), normal(2, 3)),
    "index_put_": (lambda x, y: (x * 1).index_put_((index(0, 1),), y), normal(2, 3), normal(3)),
    "renorm_": (lambda x: (x * 1).renorm_(2, 0, 0.5), normal(2, 3)),
    "renorm_ of a view": (lambda x: (lambda y: (y, y[:, :2].renorm_(3, 1, 0.5))[0])(x * 1), normal(2, 3)),
    "float_power_ mvlgamma_": (lambda x: (x * 1).float_power_(2).add_(1).mvlgamma_(2), positive(2, 3), REAL),
    "fill_diagonal_": (lambda x: (x * 1).fill_diagonal_(3.0), normal(2, 3)),
    "fill_diagonal_ wrap": (lambda x: (x * 1).fill_diagonal_(3.0, wrap=True), normal(5, 2)),
    "index_reduce_": (lambda x, y: (x * 1).index_reduce_(1, index(0, 2, 0), y, "prod"), normal(2, 3), zeros_at((2, 3),
        2), REAL),
    "scatter_reduce_": (lambda x, y: (x * 1).scatter_reduce_(1, GATHERED, y, "prod"), normal(2, 3), normal(2, 3), REAL),
    "scatter_reduce_ zeros": (lambda x, y: (x * 1).scatter_reduce_(1, GATHERED, y, "prod"), normal(2, 3), zeros_at((2,
        3), 0,
        2), REAL),
    "scatter_reduce_ amax": (lambda x, y: (x * 1).scatter_reduce_(1, GATHERED, y, "amax"), apart(2, 3), normal(2, 3),
        REAL_NO_TIES),
    "put_": (lambda x, y: (x * 1).put_(index(1, 4), y), normal(2, 3), normal(2)),
    "put_ transposed": (lambda x, y: (x * 1).t().put_(index(1, 4, 4), y, accumulate=True), normal(2, 3), normal(3)),
    "t_ triu_": (lambda x: (x * 1).t_().triu_(), normal(2, 3)),
    "as_strided_": (lambda x: (x * 1).as_strided_((2, 2), (3, 1), 1) * 2, normal(2, 3)),
    "tril_": (lambda x: (x * 1).tril_(), normal(2, 3)),
    "cumsum_": (lambda x: (x * 1).cumsum_(1), normal(2, 3)),
    "cumprod_": (lambda x: (x * 1).cumprod_(1), normal(2, 3)),
    "cumprod_ zero": (lambda x: (x * 1).cumprod_(0), zeros_at((3, 2), 1)),
    "cumprod_ of a view": (lambda x: (lambda y: (y, y[1].cumprod_(0))[0])(x * 1), normal(2, 3)),
    "addmv_": (lambda m, x, y: (m * 1).addmv_(x, y), normal(2), normal(2, 3), normal(3)),
    "addr_": (lambda m, x, y: (m * 1).addr_(x, y), normal(2, 3), normal(2), normal(3)),
    "addbmm_": (lambda m, x, y: (m * 1).addbmm_(x, y), normal(2, 2), normal(2, 2, 3), normal(2, 3, 2)),
    "baddbmm_": (lambda m, x, y: (m * 1).baddbmm_(x, y), normal(2, 2, 2), normal(2, 2, 3), normal(2, 3, 2)),
    "addmm_": (lambda m, x, y: (m * 1).addmm_(x, y), normal(2, 2), normal(2, 3), normal(3, 2)),
    "transpose_": (lambda x: (x * 1).transpose_(0, 1) * 2, normal(2, 3)),
    "unsqueeze_ squeeze_": (lambda x: (x * 1).unsqueeze_(0).squeeze_(0) * 2, normal(2, 3)),
    "setitem mask": (lambda x, y: assigned(x * 1, MASK, y), normal(2, 3), normal(4)),
    "setitem ints": (lambda x, y: assigned(x * 1, (slice(None), index(0, 2)), y), normal(2, 3), normal(2, 2)),
    "setitem slice": (lambda x, y: assigned(x * 1, (slice(None), slice(1, None)), y), normal(2, 3), normal(2, 2)),
    "setitem int": (lambda x, y: assigned(x * 1, 0, y), normal(2, 3), normal(3)),
    "setitem scalar": (lambda x: assigned(x * 1, 0, 2.0), normal(2, 3)),
}  # fmt: skip

functional = (
    {name[14:]: f for name, f in torch._C.functions.items() if name.startswith("nn.functional.")}
    if hasattr(torch._C, "functions")
    else vars(torch.nn.functional)
)

ACTIVATIONS = {
    "celu": (lambda x: torch.celu(x, 0.5), apart(2, 3), REAL),
    "celu_": (lambda x: torch.celu_(x * 1, 0.5), apart(2, 3), REAL),
    "selu": (lambda x: torch.selu(x), apart(2, 3), REAL),
    "selu_": (lambda x: torch.selu_(x * 1), apart(2, 3), REAL),
    "prelu": (lambda x, w: torch.prelu(x, w), apart(2, 3), normal(3), REAL),
    "prelu one": (lambda x, w: torch.prelu(x, w), apart(2, 3), normal(1), REAL),
    "rrelu": (lambda x: torch.rrelu(x), apart(2, 3), REAL),
    "rrelu_": (lambda x: torch.rrelu_(x * 1), apart(2, 3), REAL),
    "gelu": (lambda x: functional["gelu"](x), normal(2, 3), REAL),
    "gelu tanh": (lambda x: functional["gelu"](x, approximate="tanh"), normal(2, 3), REAL),
    "relu6": (lambda x: functional["relu6"](x), apart(2, 3), REAL),
    "softshrink": (lambda x: functional["softshrink"](x, 0.25), apart(2, 3), REAL),
    "segment_reduce": (lambda x: torch.segment_reduce(x, "sum", lengths=index(2, 0, 1)), normal(3, 2), REAL),
    "segment_reduce mean": (lambda x: torch.segment_reduce(x, "mean", lengths=index(2, 0, 1), initial=1), normal(3, 2),
        REAL),
    "segment_reduce prod": (lambda x: torch.segment_reduce(x, "prod", offsets=index(0, 1, 3)), positive(3, 2), REAL),
    "segment_reduce max": (lambda x: torch.segment_reduce(x, "max", lengths=index(2, 1)), apart(3, 2), REAL),
    "constant_pad_nd": (lambda x: torch.constant_pad_nd(x, (1, -1, 0, 2), 3.0), normal(2, 3)),
    "softsign": (lambda x: functional["softsign"](x), apart(2, 3)),
}  # fmt: skip

# Fourier transforms. Lengths that pad and cut, even and odd; several axes.
FOURIER = {
    "fft.fft": (lambda x: torch.fft.fft(x, 6), normal(2, 5)),
    "fft.ifft": (lambda x: torch.fft.ifft(x, 3, 0, "ortho"), normal(4, 2)),
    "fft.rfft": (lambda x: torch.fft.rfft(x), normal(2, 5), REAL),
    "fft.irfft": (lambda x: torch.fft.irfft(x, 6), normal(2, 4)),
    "fft.hfft": (lambda x: torch.fft.hfft(x, 5), normal(2, 3)),
    "fft.ihfft": (lambda x: torch.fft.ihfft(x, 4), normal(2, 5), REAL),
    "fft.fft2": (lambda x: torch.fft.fft2(x), normal(3, 4)),
    "fft.ifft2": (lambda x: torch.fft.ifft2(x, (2, 5)), normal(3, 4)),
    "fft.rfft2": (lambda x: torch.fft.rfft2(x, norm="forward"), normal(3, 4), REAL),
    "fft.irfft2": (lambda x: torch.fft.irfft2(x), normal(3, 3)),
    "fft.hfft2": (lambda x: torch.fft.hfft2(x), normal(3, 3)),
    "fft.ihfft2": (lambda x: torch.fft.ihfft2(x), normal(3, 4), REAL),
    "fft.fftn": (lambda x: torch.fft.fftn(x, dim=(0, 2)), normal(2, 3, 2)),
    "fft.ifftn": (lambda x: torch.fft.ifftn(x), normal(2, 3)),
    "fft.rfftn": (lambda x: torch.fft.rfftn(x, (3, 4)), normal(2, 3), REAL),
    "fft.irfftn": (lambda x: torch.fft.irfftn(x), normal(2, 3)),
    "fft.hfftn": (lambda x: torch.fft.hfftn(x), normal(2, 3)),
    "fft.ihfftn": (lambda x: torch.fft.ihfftn(x), normal(2, 4), REAL),
    "fft.fftshift": (lambda x: torch.fft.fftshift(x), normal(2, 3)),
    "fft.ifftshift": (lambda x: torch.fft.ifftshift(x, 1), normal(2, 3)),
}  # fmt: skip

CASES = {**FOURIER, **ACTIVATIONS, **REDUCTIONS, **VIEWS, **MOVES, **MATRICES, **STATISTICS, **ZERO_D, **IN_PLACE}
