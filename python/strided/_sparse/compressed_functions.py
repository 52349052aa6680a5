"""Arithmetic, products, sums and shapes of compressed sparse tensors; `compressed` has the layouts."""

from __future__ import annotations

import strided

from .. import _C
from . import coo
from .base import UNARY, SparseTensor, of_values, replaced
from .compressed import (  # fmt: skip
    CSR,
    CompressedTensor,
    _check,
    _function,
    blocks,
    convert,
    entries,
    from_coo,
    grid_of,
    make,
    pack,
    places_of,
    summed,
    to_coo,
    to_layout,
    with_entries,
)

_CALLED = {"SparseCsr": "Sparse CSR", "SparseCsc": "Sparse CSC", "SparseBsr": "Sparse BSR", "SparseBsc": "Sparse BSC"}


def _is_number(x):
    """Whether an operand has one value only: a number, or a dense tensor of no axes."""
    return not isinstance(x, _C.Tensor) or (not isinstance(x, SparseTensor) and x.ndim == 0)


def coordinates(t):
    return to_coo(t) if isinstance(t, CompressedTensor) else t


# ------------------------------------------------------------ parts


def _index(name, row, compressed):
    def made(s):
        _check(s._form.row is row, f"{name} expected sparse {'row' if row else 'column'} compressed tensor layout but "
               f"got {s._form.name}")  # fmt: skip
        return s._comp if compressed else s._plain

    made.__name__ = name
    return made


for _name, _row, _compressed in (
    ("crow_indices", True, True), ("col_indices", True, False), ("ccol_indices", False, True),
    ("row_indices", False, False),
):  # fmt: skip
    _function(_index(_name, _row, _compressed))


@_function
def type(s, dtype=None, non_blocking=False):  # noqa: A001
    _check(dtype is not None, "type: there is no name of the type of a tensor of a compressed layout")
    return s._with(s._own.type(dtype))


CompressedTensor._functions["type_"] = type


def _of_coordinates(name):
    def made(s, *args):
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {s._form.name}")

    made.__name__ = name
    return made


for _name in ("indices", "coalesce", "is_coalesced"):
    _function(_of_coordinates(_name))


@_function
def values(s):
    return s._own


@_function
def _nnz(s):
    return s._plain.shape[-1]


@_function
def sparse_dim(s):
    return 2


@_function
def dense_dim(s):
    return s.ndim - s._comp.ndim - 1


def _refuse(name, what):
    def made(s, *args, **options):
        raise RuntimeError(f"{_CALLED[s._form.name]} tensors do not have {what}")

    made.__name__ = name
    return made


for _name, _what in (("is_contiguous", "is_contiguous"), ("contiguous", "is_contiguous"), ("stride", "strides")):
    _function(_refuse(_name, _what))


@_function
def numpy(s, *args, **options):
    raise TypeError(f"can't convert {s._form.name} layout tensor to numpy. Use Tensor.to_dense() first.")


# ------------------------------------------------------------ conversions and copies


@_function
def to_dense(s, dtype=None, *, masked_grad=None):
    g = grid_of(s)
    made = summed(entries(s), g.key(*places_of(s)), g.count * g.rows * g.columns)
    made = made.reshape(g.count, g.rows, g.columns, *g.block, *g.dense).transpose(2, 3).reshape(s.shape)
    return made if dtype is None else made.to(dtype)


@_function
def to_sparse(s, *args, layout=None, blocksize=None, dense_dim=None):
    _check(not args or args == (2,), f"to_sparse: the number of sparse dimensions cannot change from 2 to {args}")
    return to_layout(s, layout, blocksize, dense_dim)


@_function
def to_sparse_coo(s):
    return to_coo(s)


@_function
def to_sparse_csr(s, dense_dim=None):
    return to_layout(s, strided.sparse_csr, None, dense_dim)


@_function
def to_sparse_csc(s, dense_dim=None):
    return to_layout(s, strided.sparse_csc, None, dense_dim)


@_function
def to_sparse_bsr(s, blocksize, dense_dim=None):
    return to_layout(s, strided.sparse_bsr, blocksize, dense_dim)


@_function
def to_sparse_bsc(s, blocksize, dense_dim=None):
    return to_layout(s, strided.sparse_bsc, blocksize, dense_dim)


def _taken(s, dense):
    """The entries of a dense tensor at the places of a sparse one."""
    return blocks(dense.expand(s.shape), grid_of(s))[places_of(s)]


@_function
def sparse_mask(t, mask):
    """The elements of a dense tensor at the places of another."""
    if isinstance(t, SparseTensor):
        raise NotImplementedError("sparse_mask: strided has it of dense tensors, with masks of compressed layouts")
    _check(t.shape == mask.shape, f"sparse_mask: shapes differ: {tuple(t.shape)} and {tuple(mask.shape)}")
    return with_entries(mask, _taken(mask, t))


@_function
def clone(s, *, memory_format=None):
    return make(s._form, s._comp.clone(), s._plain.clone(), s._own.clone(), s.shape)


def _emptied(s, values):
    """No values, in the shape of a tensor."""
    nb = s._comp.ndim - 1
    own = values.new_empty((*s._own.shape[:nb], 0, *s._own.shape[nb + 1 :]))
    return make(s._form, strided.zeros_like(s._comp), s._plain[..., :0], own, s.shape)


@_function
def zeros_like(s, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    made = _emptied(s, s._own.detach().to(device=device, dtype=dtype))
    made = made if layout in (None, s.layout) else to_layout(made, layout)
    return made.requires_grad_(requires_grad)


def _filled_like(name):
    def made(s, *args, dtype=None, layout=None, device=None, requires_grad=False, **options):
        _check(layout in (None, s.layout), f"{name} with different sparse layout is not supported (self is "
               f"{s.layout} but you requested {layout})")  # fmt: skip
        own = getattr(strided, name)(s._own.detach(), *args, dtype=dtype, device=device)
        return s._moved(own).requires_grad_(requires_grad)

    made.__name__ = name
    return made


for _name in ("ones_like", "empty_like", "full_like", "rand_like", "randn_like"):
    _function(_filled_like(_name))

_function(of_values("angle"))


def _in_place(name):
    def made(s, *args, **options):
        getattr(s._own, name)(*args, **options)
        return s

    made.__name__ = name
    return made


for _name in (*UNARY, "fill"):
    if hasattr(_C.Tensor, _name + "_"):
        _function(_in_place(_name + "_"))


def _become(s, made):
    _check(made.shape == s.shape and made.dtype == s.dtype,
           f"a sparse tensor of {s.dtype}, {tuple(s.shape)} cannot become {made.dtype}, {tuple(made.shape)}")  # fmt: skip
    if _same_places(s, made):
        s._own.copy_(made._own)
    else:
        s._own = replaced(s._own, made._own)
        s._form, s._comp, s._plain = made._form, made._comp, made._plain
    return s


def _same_places(a, b):
    """Whether the values of two tensors stand at the same places, in the same order."""
    if a._form is not b._form or a._own.shape != b._own.shape:
        return False
    pairs = ((a._comp, b._comp), (a._plain, b._plain))
    return all(x is y or strided.equal(x, y) for x, y in pairs)


@_function
def copy_(a, b, non_blocking=False):
    if not isinstance(a, SparseTensor):
        return a.copy_(b.to_dense())
    if not isinstance(a, CompressedTensor) or not isinstance(b, CompressedTensor) or a._form is not b._form:
        raise RuntimeError(f"copy of sparse tensors having different layouts is not supported: {a.layout}, {b.layout}")
    return _become(a, b.to(a.dtype).clone())


@_function
def zero_(s):
    return _become(s, _emptied(s, s._own.detach()))


# ------------------------------------------------------------ arithmetic


@_function
def add(a, b, *, alpha=1):
    for x in (a, b):
        _check(not _is_number(x), "add: expected 'self' and 'other' to have same size: a number cannot be added to a "
               "sparse tensor")  # fmt: skip
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        return strided.add(a.to_dense(), b.to_dense(), alpha=alpha)
    _check(a.shape == b.shape, "torch.add: Expected input tensors to have the same shape, but got tensor `self` with "
           f"shape {list(a.shape)} and tensor `other` with shape {list(b.shape)}")  # fmt: skip
    if not isinstance(a, CompressedTensor):
        return add(from_coo(CSR, a), b, alpha=alpha)
    g = grid_of(a)
    if not isinstance(b, CompressedTensor):
        b = from_coo(a._form, b, g.block)
    b = convert(b, a._form, g.block)
    other = b._own if alpha == 1 else b._own * alpha
    if _same_places(a, b):
        return a._with(a._own + other)
    dtype = strided.promote_types(a.dtype, b.dtype)
    own = strided.cat([entries(a).to(dtype), entries(b._with(other)).to(dtype)])
    at = [strided.cat(pair) for pair in zip(places_of(a), places_of(b))]
    return pack(a._form, g, *at, own, like=a)


@_function
def sub(a, b, *, alpha=1):
    return add(a, b, alpha=-alpha)


@_function
def mul(a, b):
    if _is_number(a) or _is_number(b):
        s, x = (b, a) if _is_number(a) else (a, b)
        return s._with(s._own * x)
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        s, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        return with_entries(s, entries(s) * _taken(s, dense))
    if isinstance(a, CompressedTensor) and isinstance(b, CompressedTensor):
        if _same_places(a, b):
            return a._with(a._own * b._own)
    s = a if isinstance(a, CompressedTensor) else b
    return from_coo(s._form, coo._FUNCTIONS["mul"](coordinates(a), coordinates(b)), grid_of(s).block)


@_function
def div(a, b, *, rounding_mode=None):
    _check(isinstance(a, CompressedTensor) and _is_number(b),
           "Sparse division requires a scalar or zero-dim dense tensor divisor")  # fmt: skip
    return a._with(strided.div(a._own, b, rounding_mode=rounding_mode))


@_function
def pow(s, exponent):  # noqa: A001
    _check(isinstance(s, CompressedTensor) and isinstance(exponent, (int, float)) and exponent > 0,
           "pow of a sparse tensor: the exponent must be a positive number")  # fmt: skip
    return s._with(s._own**exponent)


for _made, _names in (
    (add, ("__add__",)),
    (sub, ("__sub__", "subtract")),
    (mul, ("__mul__", "__rmul__", "multiply")),
    (div, ("__truediv__", "divide", "true_divide")),
    (pow, ("__pow__",)),
):
    _function(_made, *_names)


def _written(function):
    def made(a, b, **options):
        if not isinstance(a, SparseTensor):
            return a.copy_(function(a, b, **options).to_dense())
        _check(isinstance(a, CompressedTensor), f"{function.__name__}_: a tensor of layout {a.layout} cannot hold "
               "the result")  # fmt: skip
        made = function(a, b, **options)
        _check(isinstance(made, CompressedTensor), f"{function.__name__}_: a sparse tensor cannot hold a dense result")
        return _become(a, made)

    made.__name__ = function.__name__ + "_"
    return made


for _made, _name in ((add, "__iadd__"), (sub, "__isub__"), (mul, "__imul__"), (div, "__itruediv__")):
    _function(_written(_made), _name)


# ------------------------------------------------------------ sums


@_function
def sum(s, dim=None, keepdim=False, *, dtype=None):  # noqa: A001
    if dim is None:
        return s._own.sum(dtype=dtype)
    if s._form.blocked:
        raise NotImplementedError(f"sum along axes: strided has it of sparse_csr and sparse_csc, not of {s.layout}")
    _check(keepdim, "reduction operations on CSR tensors with keepdim=False is unsupported")
    made = coo._FUNCTIONS["sum"](to_coo(s), dim, True, dtype=dtype)
    return from_coo(s._form, made) if made.is_sparse else to_layout(made, s.layout)


@_function
def norm(s, p="fro", dim=None, keepdim=False, dtype=None):
    if dim is not None or keepdim:
        raise NotImplementedError(f"norm of layout {s.layout}: strided has the norm of all elements only")
    return s._own.reshape(-1).norm(2 if p == "fro" else p, dtype=dtype)


# ------------------------------------------------------------ shapes


@_function
def transpose(s, dim0, dim1):
    nb = s._comp.ndim - 1
    a, b = sorted(_axis(s, d) for d in (dim0, dim1))
    kinds = ["Batch" if d < nb else "Sparse" if d < nb + 2 else "Dense" for d in (a, b)]
    _check(kinds[0] == kinds[1], "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), "
           f"got {dim0}({kinds[0]}) and {dim1}({kinds[1]})")  # fmt: skip
    if a == b:
        return s
    size = list(s.shape)
    size[a], size[b] = size[b], size[a]
    form, comp, plain, own = s._form, s._comp, s._plain, s._own
    depth = 2 if form.blocked else 0
    if kinds[0] == "Batch":
        comp, plain, own = (t.transpose(a, b) for t in (comp, plain, own))
    elif kinds[0] == "Dense":
        own = own.transpose(a - 1 + depth, b - 1 + depth)
    else:
        form = form.turned()
        own = own.transpose(nb + 1, nb + 2) if form.blocked else own
    return make(form, comp, plain, own, size)


def _axis(s, dim):
    if not -s.ndim <= dim < s.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-s.ndim}, {s.ndim - 1}], but got {dim})"
        )
    return dim % s.ndim


_function(transpose, "swapaxes", "swapdims")


@_function
def t(s):
    _check(s.ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {s.ndim}D")
    return transpose(s, 0, 1)


@_function
def select(s, dim, index):
    nb, at = s._comp.ndim - 1, _axis(s, dim)
    n = s.shape[at]
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(s.shape)} at dimension {at}")
    size = [k for d, k in enumerate(s.shape) if d != at]
    if at < nb:
        return make(s._form, *(p.select(at, index) for p in (s._comp, s._plain, s._own)), size)
    if at >= nb + 2:
        return make(s._form, s._comp, s._plain, s._own.select(at - 1 + 2 * s._form.blocked, index), size)
    return coo._FUNCTIONS["select"](to_coo(s), at, index)


@_function
def __getitem__(s, index):
    """Integers, full slices and ``...`` only."""
    index = index if isinstance(index, tuple) else (index,)
    index = tuple(int(k) if isinstance(k, _C.Tensor) and k.ndim == 0 else k for k in index)
    whole = slice(None)
    if not all(k is Ellipsis or isinstance(k, int) or (isinstance(k, slice) and k == whole) for k in index):
        raise NotImplementedError(f"tensors of layout {s.layout} are indexed by integers and full slices only")
    if Ellipsis in index:
        i = index.index(Ellipsis)
        index = (*index[:i], *[whole] * (s.ndim - len(index) + 1), *index[i + 1 :])
    if len(index) > s.ndim:
        raise IndexError(f"too many indices for tensor of dimension {s.ndim}")
    for dim, k in enumerate(index):
        if isinstance(k, int):
            rest = (*index[:dim], *index[dim + 1 :])
            made = select(s, dim, k)
            return made[rest] if rest else made
    return s


@_function
def unbind(s, dim=0):
    return tuple(select(s, dim, i) for i in range(s.shape[dim]))


CompressedTensor.__iter__ = lambda self: iter(unbind(self))
