"""Arithmetic, products, sums and shapes of sparse tensors; `coo` has the layout."""

from __future__ import annotations

import math

import strided

from .. import _C
from .._functions.entries import times_dense
from .base import replaced
from .coo import COOTensor, _function, _keys, _like, _make, coalesce, from_dense, to_dense

_SPARSE_FIRST = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


def total(own):
    """The sum of values that belong to one place, in their dtype."""
    return own.any(0) if own.dtype is strided.bool else own.sum(0, dtype=own.dtype)


def _number(x):
    """Whether an operand has one value only: a number, or a dense tensor of no axes."""
    return not isinstance(x, _C.Tensor) or (not x.is_sparse and x.ndim == 0)


def _same_shape(name, a, b):
    if a.shape != b.shape or a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(
            f"{name}: expected sparse tensors of the same shape and number of sparse axes, "
            f"got {tuple(a.shape)} ({a.sparse_dim()}) and {tuple(b.shape)} ({b.sparse_dim()})"
        )


# ------------------------------------------------------------ arithmetic


@_function
def add(a, b, *, alpha=1):
    if not isinstance(a, _C.Tensor) or not isinstance(b, _C.Tensor) or (a.is_sparse and not b.is_sparse):
        raise RuntimeError(_SPARSE_FIRST)
    if not a.is_sparse:
        return _add_places(a.clone(), b, alpha) if _fits(a, b) else strided.add(a, to_dense(b), alpha=alpha)
    dtype = strided.promote_types(a.dtype, b.dtype)
    if a.shape == b.shape and 0 in (a._nnz(), b._nnz()):  # with any number of sparse axes
        return (
            _like(a, a._own.to(dtype)) if a._nnz() else _like(b, (b._own if alpha == 1 else b._own * alpha).to(dtype))
        )
    _same_shape("add", a, b)
    other = b._own if alpha == 1 else b._own * alpha
    if a._at is b._at or (a._at.shape == b._at.shape and strided.equal(a._at, b._at)):
        return _like(a, a._own + other)
    own = strided.cat([a._own.to(dtype), other.to(dtype)])
    made = _make(strided.cat([a._at, b._at], 1), own, a.shape)
    return coalesce(made) if a._sole and b._sole else made


def _fits(dense, s):
    """Whether a sum of both has shape and dtype of the dense one."""
    return dense.shape == s.shape and dense.dtype is s.dtype and dense.dtype is not strided.bool and s.sparse_dim() > 0


def _add_places(dense, s, alpha):
    """Adds a sparse tensor to a dense one in place."""
    if s.sparse_dim() == 1:
        return dense.index_add_(0, s._at[0], s._own, alpha=alpha)
    return dense.index_put_(s._at.unbind(0), s._own if alpha == 1 else s._own * alpha, accumulate=True)


@_function
def sub(a, b, *, alpha=1):
    return add(a, b, alpha=-alpha)


def _spread_to(s, size):
    """A sparse tensor as one of a size that it broadcasts to; new axes are sparse ones."""
    n, lead = s.sparse_dim(), len(size) - s.ndim
    at, own = s._at, s._own.expand(s._nnz(), *size[lead + n :])
    at = strided.cat([at.new_zeros((lead, s._nnz())), at])
    for d, (have, want) in enumerate(zip([1] * lead + list(s.shape[:n]), size)):
        if have != want:
            count = at.shape[1]
            at = at.repeat(1, want)
            at[d] = strided.arange(want, device=at.device).repeat_interleave(count)
            own = own.repeat(want, *[1] * (own.ndim - 1))
    made = _make(at, own, size)
    return coalesce(made) if s._sole else made


@_function
def mul(a, b):
    a, b = (to_dense(x) if isinstance(x, COOTensor) and x.ndim == 0 else x for x in (a, b))
    if _number(a) or _number(b):
        s, x = (b, a) if _number(a) else (a, b)
        return _like(s, s._own * x) if isinstance(s, COOTensor) else from_dense(s * x)
    if not (a.is_sparse and b.is_sparse):
        s, dense = (a, b) if a.is_sparse else (b, a)
        size = strided.broadcast_shapes(s.shape, dense.shape)
        s, dense = _spread_to(s, size) if size != s.shape else s, dense.expand(size)
        return _like(s, s._own * dense[s._at.unbind(0)])
    n = a.sparse_dim()
    if n != b.sparse_dim() or a.shape[:n] != b.shape[:n] or a.ndim != b.ndim:
        _same_shape("mul", a, b)
    size = (*a.shape[:n], *strided.broadcast_shapes(a.shape[n:], b.shape[n:]))
    a, b = coalesce(a), coalesce(b)
    left, right = _keys(a._at, a.shape), _keys(b._at, b.shape)
    if not len(right):
        own = b._own.to(strided.promote_types(a.dtype, b.dtype))
        return _make(b._at, own.expand(0, *size[n:]), size, True)
    at = strided.searchsorted(right, left).clamp(max=len(right) - 1)
    shared = right[at] == left
    return _make(a._at[:, shared], a._own[shared] * b._own[at[shared]], size, True)


@_function
def div(a, b, *, rounding_mode=None):
    if not a.is_sparse or not _number(b):
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    a = coalesce(a) if rounding_mode else a
    return _like(a, strided.div(a._own, b, rounding_mode=rounding_mode))


@_function
def pow(s, exponent):  # noqa: A001
    if not isinstance(exponent, (int, float)) or exponent == 0:
        raise RuntimeError("pow of a sparse tensor: the exponent must be a number other than 0")
    s = coalesce(s)
    return _like(s, s._own**exponent)


for _made, _names in (
    (add, ("__add__",)),
    (sub, ("__sub__", "subtract")),
    (mul, ("__mul__", "__rmul__", "multiply")),
    (div, ("__truediv__", "divide", "true_divide")),
    (pow, ("__pow__",)),
):
    _function(_made, *_names)


@_function
def add_(a, b, *, alpha=1):
    if isinstance(b, _C.Tensor) and not a.is_sparse and _fits(a, b):
        return _add_places(a, b, alpha)
    made = add(a, b, alpha=alpha)
    if not a.is_sparse:
        return a.copy_(made)
    return _become(a, made)


@_function
def sub_(a, b, *, alpha=1):
    return add_(a, b, alpha=-alpha)


@_function
def mul_(a, b):
    return _become(a, mul(a, b)) if a.is_sparse else a.mul_(to_dense(b))


@_function
def div_(a, b, *, rounding_mode=None):
    return _become(a, div(a, b, rounding_mode=rounding_mode))


@_function
def copy_(a, b, non_blocking=False):
    if a.is_sparse and not b.is_sparse:
        raise RuntimeError(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {a.type()} and src type = {b.type()}"
        )
    return _become(a, b.to(a.dtype)) if a.is_sparse else a.copy_(to_dense(b))


@_function
def zero_(s):
    return _become(s, strided.zeros_like(s))


def _become(s, made):
    if made.dtype != s.dtype and strided.can_cast(made.dtype, s.dtype):
        made = made.to(s.dtype)
    if made.shape != s.shape or made.dtype != s.dtype:
        raise RuntimeError(
            f"a sparse tensor of {s.dtype}, {tuple(s.shape)} cannot become {made.dtype}, {tuple(made.shape)}"
        )
    s._at, s._own, s._sole = made._at, replaced(s._own, made._own), made._sole
    return s


_function(add_, "__iadd__")
_function(sub_, "__isub__")
_function(mul_, "__imul__")
_function(div_, "__itruediv__")


# ------------------------------------------------------------ products


def _matrix(name, s):
    if s._at.shape[0] != 2 or s._own.ndim != 1:
        raise RuntimeError(
            f"{name}: expected a sparse matrix, got one with {s.sparse_dim()} sparse and {s.dense_dim()} dense axes"
        )
    return s


def _sizes_match(a, b):
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise RuntimeError(
            "mat1 and mat2 shapes cannot be multiplied "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[0]}x{b.shape[1] if b.ndim > 1 else 1})"
        )


def _sparse_dense(s, dense):
    """(n, m) sparse times (m, p) dense: rows of the second, scaled, and summed where the first says."""
    _sizes_match(_matrix("mm", s), dense)
    if s.dtype != dense.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {s.dtype} != {dense.dtype}")
    rows, columns = s._at.unbind(0)
    return times_dense(s.shape[0], rows, columns, s._own, dense)


def _sparse_sparse(a, b):
    """Each entry of the first meets those of the second in the row of its column."""
    _sizes_match(_matrix("mm", a), _matrix("mm", b))
    if a.dtype != b.dtype:
        names = [x._own.type().split(".")[-1].removesuffix("Tensor") for x in (a, b)]
        raise RuntimeError(f"mat1 dtype {names[0]} does not match mat2 dtype {names[1]}")
    a, b = coalesce(a), coalesce(b)
    rows = b._at[0].contiguous()  # in order
    low, high = (strided.searchsorted(rows, a._at[1].contiguous(), right=r) for r in (False, True))
    left, right = _spread(low, high)
    at = strided.stack([a._at[0][left], b._at[1][right]])
    return coalesce(_make(at, a._own[left] * b._own[right], (a.shape[0], b.shape[1])))


def _spread(low, high):
    """For ranges low[i] ... high[i]: i as often as the range is long, and the numbers of the range."""
    counts = high - low
    which = strided.repeat_interleave(strided.arange(len(low), device=low.device), counts)
    before = counts.cumsum(0) - counts
    return which, strided.arange(len(which), device=low.device) - before[which] + low[which]


@_function
def mm(a, b):
    if not b.is_sparse:
        return _sparse_dense(a, b)
    if not a.is_sparse:
        return _sparse_dense(transpose(_matrix("mm", b), 0, 1), a.mT).mT
    return _sparse_sparse(a, b)


_function(mm, "spmm", "dsmm", "_sparse_mm")


@_function
def mv(a, b):
    return _sparse_dense(a, b[:, None])[:, 0]


@_function
def bmm(a, b):
    """(batch, n, m) sparse times (batch, m, p) dense, as one matrix with the batch on its diagonal."""
    if not a.is_sparse:
        return bmm(transpose(b, 1, 2), a.mT).mT
    if a.sparse_dim() != 3 or b.ndim != 3 or a.shape[0] != b.shape[0]:
        raise RuntimeError(f"bmm: got shapes {tuple(a.shape)} and {tuple(b.shape)}")
    count, n, m = a.shape
    which, rows, columns = a._at.unbind(0)
    whole = _make(strided.stack([which * n + rows, which * m + columns]), a._own, (count * n, count * m))
    return _sparse_dense(whole, b.reshape(count * m, b.shape[2])).reshape(count, n, b.shape[2])


@_function
def matmul(a, b):
    if a.ndim == b.ndim == 2:
        return mm(a, b)
    if b.ndim == 1 and a.ndim == 2 and not b.is_sparse:
        return mv(a, b)
    if a.ndim == 1 and b.ndim == 2 and not a.is_sparse:
        return mv(transpose(b, 0, 1), a)
    if a.ndim == b.ndim == 3 and not (a.is_sparse and b.is_sparse):
        return bmm(a, b)
    raise NotImplementedError(
        f"matmul: strided has no product of a sparse tensor with {a.ndim} and {b.ndim} axes; to_dense() makes a dense one"
    )


_function(matmul, "__matmul__")
COOTensor.__radd__ = lambda self, other: add(other, self)
COOTensor.__rsub__ = lambda self, other: sub(other, self)
COOTensor.__rmatmul__ = lambda self, other: matmul(other, self)


@_function
def addmm(mat, a, b, *, beta=1, alpha=1):
    product = mm(a, b)
    if alpha != 1:
        product = product * alpha
    return product if beta == 0 else add(mat if beta == 1 else mat * beta, product) if product.is_sparse else (
        strided.add(product, to_dense(mat) if mat.is_sparse else mat, alpha=beta)
    )  # fmt: skip


@_function
def linear(input, weight, bias=None):
    """``nn.functional.linear`` with a sparse weight, or of a sparse matrix."""
    if input.ndim == 2:
        made = mm(input, weight.transpose(0, 1))
    else:
        rows = input.reshape(-1, input.shape[-1])
        made = mm(rows, weight.transpose(0, 1)).reshape(*input.shape[:-1], weight.shape[0])
    return made if bias is None else made + bias


@_function
def smm(a, b):
    return from_dense(mm(a, b))


@_function
def hspmm(a, b):
    """The product with rows as values: one sparse axis, one dense."""
    return from_dense(mm(a, b), 1)


_function(hspmm, "hsmm")


# ------------------------------------------------------------ sums


def _axes(s, dim):
    most = s.ndim
    dims = range(most) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    made = [d % most if -most <= d < most else most for d in dims]
    if most in made:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-most}, {most - 1}])")
    for d in made:
        if made.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return sorted(made)


@_function
def sum(s, dim=None, keepdim=False, *, dtype=None):  # noqa: A001
    """Over all axes, or all sparse ones: a dense tensor. Else a sparse one."""
    n, dims = s.sparse_dim(), _axes(s, dim)
    dense = [d - n + 1 for d in dims if d >= n]
    own = strided.sum(s._own, dense, keepdim, dtype=dtype) if dense else s._own
    if dtype is None and not (own.is_floating_point() or own.is_complex()):
        own = own.to(strided.int64)
    own = own if dtype is None else own.to(dtype)
    gone = [d for d in dims if d < n]
    if len(gone) == n:
        total = own.sum(0)
        return total.reshape([1] * n + list(total.shape)) if keepdim else total
    kept = [d for d in range(n) if d not in gone]
    sizes = [s.shape[d] for d in kept] + list(own.shape[1:])
    made = _make(s._at[kept], own, sizes, s._sole and not gone)
    made = coalesce(made) if gone else made
    if keepdim:
        for d in gone:
            made = unsqueeze(made, d)
    return made


@_function
def any(s):  # noqa: A001
    return coalesce(s)._own.any()


@_function
def norm(s, p="fro", dim=None, keepdim=False, dtype=None):
    if keepdim or (dim not in (None, ()) and len(_axes(s, dim)) < s.ndim):
        raise NotImplementedError("norm of a sparse tensor: strided has the norm of all elements only")
    return coalesce(s)._own.reshape(-1).norm(2 if p in ("fro", None) else p, dtype=dtype)


_function(norm, "native_norm")


def _softmax(s, dim, dtype, log):
    s = coalesce(s)
    own = s._own if dtype is None else s._own.to(dtype)
    dim = _axes(s, dim)[0]
    n = s.sparse_dim()
    if dim >= n:
        return _like(s, (strided.log_softmax if log else strided.softmax)(own, dim - n + 1))
    if not len(own):
        return _like(s, own)
    others = [d for d in range(n) if d != dim]
    groups, which = _keys(s._at[others], [s.shape[d] for d in others]).unique(return_inverse=True)
    shape = (len(groups), *own.shape[1:])
    spread = which.reshape(-1, *[1] * (own.ndim - 1)).expand(own.shape)
    top = own.detach().new_full(shape, -math.inf).scatter_reduce(0, spread, own.detach(), "amax")
    shifted = own - top[which]
    total = own.new_zeros(shape).index_add(0, which, shifted.exp())[which]
    return _like(s, shifted - total.log() if log else shifted.exp() / total)


@_function
def softmax(s, dim, dtype=None):
    return _softmax(s, dim, dtype, False)


@_function
def log_softmax(s, dim, dtype=None):
    return _softmax(s, dim, dtype, True)


# ------------------------------------------------------------ shapes


@_function
def permute(s, *given, dims=None):
    dims = dims if dims is not None else given[0] if len(given) == 1 and not isinstance(given[0], int) else given
    size, most, n = s.shape, s.ndim, s._at.shape[0]
    if len(dims) != most:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {most} is not equal to len(dims) = {len(dims)}"
        )
    dims = [d % most for d in dims]
    if sorted(dims) != list(range(most)) or sorted(dims[:n]) != list(range(n)):
        raise RuntimeError(f"permute: sparse and dense axes cannot change places, and none may be missing; got {dims}")
    own = s._own.permute(0, *[d - n + 1 for d in dims[n:]])
    return _make(
        s._at[dims[:n]], own, [size[d] for d in dims], s._sole and (dims[:n] == list(range(n)) or s._nnz() < 2)
    )


@_function
def transpose(s, dim0, dim1):
    dims, (dim0,), (dim1,) = list(range(s.ndim)), _axes(s, dim0), _axes(s, dim1)
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return permute(s, dims)


@_function
def t(s):
    if s.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {s.ndim}D")
    return transpose(s, 0, 1) if s.ndim == 2 else s


@_function
def unsqueeze(s, dim):
    n, most = s.sparse_dim(), s.ndim
    if not -most - 1 <= dim <= most:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-most - 1}, {most}], but got {dim})")
    dim %= most + 1
    size = [*s.shape[:dim], 1, *s.shape[dim:]]
    if dim > n:
        return _make(s._at, s._own.unsqueeze(dim - n + 1), size, s._sole)
    return _make(strided.cat([s._at[:dim], s._at.new_zeros((1, s._nnz())), s._at[dim:]]), s._own, size, s._sole)


@_function
def squeeze(s, dim=None):
    dims = [d for d in _axes(s, dim) if s.shape[d] == 1]
    n = s.sparse_dim()
    if [d for d in range(n) if d not in dims] == []:
        dims = dims[1:]
    own = s._own
    for d in reversed([d for d in dims if d >= n]):
        own = own.squeeze(d - n + 1)
    kept = [d for d in range(n) if d not in dims]
    return _make(s._at[kept], own, [k for d, k in enumerate(s.shape) if d not in dims], s._sole)


@_function
def index_select(s, dim, index):
    n, dim = s.sparse_dim(), _axes(s, dim)[0]
    size = [len(index) if d == dim else k for d, k in enumerate(s.shape)]
    if dim >= n:
        return _make(s._at, s._own.index_select(dim - n + 1, index), size, s._sole)
    index = strided.where(index < 0, index + s.shape[dim], index)
    if len(index) and not 0 <= int(index.amin()) <= int(index.amax()) < s.shape[dim]:
        raise IndexError(f"index_select(): index out of range in axis {dim} of size {s.shape[dim]}")
    found, order = s._at[dim].sort(stable=True)
    low, high = (strided.searchsorted(found, index, right=r) for r in (False, True))
    which, taken = _spread(low, high)
    taken = order[taken]
    at = s._at[:, taken]
    at[dim] = which
    made = _make(at, s._own[taken], size)
    return coalesce(made) if s._sole else made


@_function
def select(s, dim, index):
    n, dim = s.sparse_dim(), _axes(s, dim)[0]
    if not -s.shape[dim] <= index < s.shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(s.shape)} at dimension {dim}")
    index %= s.shape[dim]
    size = [k for d, k in enumerate(s.shape) if d != dim]
    if dim >= n:
        return _make(s._at, s._own.select(dim - n + 1, index), size, s._sole)
    here = s._at[dim] == index
    if n == 1:
        return total(s._own[here])
    return _make(s._at[[d for d in range(n) if d != dim]][:, here], s._own[here], size, s._sole)


@_function
def __getitem__(s, index):
    """Integers, full slices, ``...`` and None only."""
    index = index if isinstance(index, tuple) else (index,)
    if Ellipsis in index:
        i = index.index(Ellipsis)
        fill = s.ndim - len([k for k in index if k is not None]) + 1
        index = (*index[:i], *[slice(None)] * fill, *index[i + 1 :])
    dim = 0
    for k in index:
        if k is None:
            s, dim = unsqueeze(s, dim), dim + 1
        elif isinstance(k, slice) and k.indices(s.shape[dim]) == (0, s.shape[dim], 1):
            dim += 1
        elif isinstance(k, int) or (isinstance(k, _C.Tensor) and k.ndim == 0 and not k.is_floating_point()):
            s = select(s, dim, int(k))
        elif isinstance(k, (_C.Tensor, list)):
            s, dim = index_select(s, dim, strided.as_tensor(k)), dim + 1
        else:
            raise NotImplementedError("sparse tensors are indexed by integers, lists of them and full slices only")
    return s


@_function
def unbind(s, dim=0):
    return tuple(select(s, dim, i) for i in range(s.shape[dim]))


COOTensor.__iter__ = lambda self: iter(unbind(self))


@_function
def cat(tensors, dim=0):
    if not all(t.is_sparse for t in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    first, dim = tensors[0], _axes(tensors[0], dim)[0]
    n = first.sparse_dim()
    for t in tensors:
        if t.sparse_dim() != n or [k for d, k in enumerate(t.shape) if d != dim] != [
            k for d, k in enumerate(first.shape) if d != dim
        ]:
            raise RuntimeError("All tensors must have the same shape except in the axis that is joined")
    if dim >= n:
        raise NotImplementedError("cat of sparse tensors: strided joins sparse axes only")
    ats, before = [], 0
    for t in tensors:
        at = t._at.clone()
        at[dim] += before
        before += t.shape[dim]
        ats.append(at)
    size = [before if d == dim else k for d, k in enumerate(first.shape)]
    sole = dim == 0 and all(t._sole for t in tensors)
    return _make(strided.cat(ats, 1), strided.cat([t._own for t in tensors]), size, sole)


_function(cat, "concat", "concatenate")


@_function
def stack(tensors, dim=0):
    return cat([unsqueeze(t, dim) for t in tensors], dim)


@_function
def is_contiguous(s, *args, **options):
    return False


@_function
def numpy(s, *args, **options):
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
