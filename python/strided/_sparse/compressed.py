"""Sparse matrices of which one axis is compressed: ``sparse_csr``, ``sparse_csc``, ``sparse_bsr``, ``sparse_bsc``.

One class serves the four; a `Form` says which axis is compressed, and whether a value is a number or a block. With
``n`` rows (columns; or rows of blocks) and ``nnz`` values for each matrix of a batch there are

- the compressed indices, shape ``(*batch, n + 1)``: where the values of a row begin, and where the last ones end;
- the plain indices, shape ``(*batch, nnz)``: the other index of each value;
- the values, shape ``(*batch, nnz, *block, *dense)``.

Functions work on *entries*: a batch index, a row and a column for each value, and the values with their block axes,
``(entries, block rows, block columns, *dense)``. A layout without blocks is one with blocks of 1 x 1.

>>> s = strided.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3., 4., 5.], (2, 3))
>>> s @ strided.ones(3, 1)
tensor([[3.],
        [9.]])
>>> s.t().layout
torch.sparse_csc
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import strided

from ..autograd import no_grad
from .base import SparseTensor, as_part, base, part, registry, text

if TYPE_CHECKING:
    from .._typing import Any, Tensor


class Form(NamedTuple):
    """What distinguishes the four layouts."""

    layout: Any
    name: str  # as errors write it
    row: bool  # rows are compressed, or columns
    blocked: bool

    @property
    def compressed(self) -> str:
        return "crow_indices" if self.row else "ccol_indices"

    @property
    def plain(self) -> str:
        return "col_indices" if self.row else "row_indices"

    def pair(self, row: Any, column: Any) -> Any:
        """Of what belongs to rows and columns: the compressed one, and the plain one. It is its own inverse."""
        return (row, column) if self.row else (column, row)

    def __deepcopy__(self, memo: Any) -> Form:
        return self

    def turned(self) -> Form:
        return next(f for f in FORMS.values() if f.blocked == self.blocked and f.row != self.row)


FORMS = {
    f.layout: f
    for f in (
        Form(strided.sparse_csr, "SparseCsr", True, False), Form(strided.sparse_csc, "SparseCsc", False, False),
        Form(strided.sparse_bsr, "SparseBsr", True, True), Form(strided.sparse_bsc, "SparseBsc", False, True),
    )
}  # fmt: skip
CSR = FORMS[strided.sparse_csr]
LAYOUTS = {f"{str(layout).partition('.')[2]}_tensor": layout for layout in FORMS}  # by their constructors' names


class CompressedTensor(SparseTensor):
    """A tensor of one of the four layouts; ``sparse_compressed_tensor`` makes them."""

    _form: Form
    _comp: Tensor
    _plain: Tensor

    layout = property(lambda self: self._form.layout)
    is_sparse = False
    is_sparse_csr = property(lambda self: self._form is CSR)

    @classmethod
    def _missing(cls, name: str, args: Any) -> str:
        flat = [b for a in args for b in (a if isinstance(a, (list, tuple)) else [a])]
        of = next((f"layout {a.layout}" for a in flat if isinstance(a, cls)), "compressed layouts")
        return f"{name}: strided has no such function of sparse tensors of {of}; to_dense() makes a dense one"

    def _with(self, values: Tensor) -> CompressedTensor:
        return make(self._form, self._comp, self._plain, values, self.shape)

    def _moved(self, values: Tensor) -> CompressedTensor:
        device = values.device
        return make(self._form, self._comp.to(device), self._plain.to(device), values, self.shape)

    def _parts(self) -> dict[str, Tensor]:
        f, kind = self._form, f"Sparse {self._form.name[6:].upper()}"
        dtype = strided.int64
        return {f"{kind} {f.compressed}": self._comp.to(dtype), f"{kind} {f.plain}": self._plain.to(dtype),
                f"{kind} values": self._own}  # fmt: skip

    def _saved(self) -> tuple[Any, ...]:
        return self._comp, self._plain, self._own.detach(), self.shape

    def _text(self) -> str:
        f = self._form
        parts = [part(f.compressed, self._comp), part(f.plain, self._plain), part("values", self._own)]
        return text(self, parts, False)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restore, (self.layout, self._comp, self._plain, self._own, tuple(self.shape))


_function = registry(CompressedTensor)
_FUNCTIONS = CompressedTensor._functions


def make(form: Form, compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> CompressedTensor:
    """A tensor of its parts, which nobody checks."""
    made = base(CompressedTensor, size, values.dtype)
    made._form, made._comp, made._plain, made._own = form, compressed, plain, values
    return made


def _restore(layout: Any, *parts: Any) -> CompressedTensor:
    return make(FORMS[layout], *parts)


# ------------------------------------------------------------ construction and checks


def construct(
    layout: Any,
    compressed: Any,
    plain: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """What ``sparse_compressed_tensor`` does."""
    form = FORMS[layout]
    values = as_part(values, dtype, device)
    compressed, plain = (as_part(t, None, values.device) for t in (compressed, plain))
    if requires_grad:
        values = values.detach().requires_grad_()
    elif values.requires_grad:
        values = values.view_as(values)  # the tensor is made of them, and so no leaf
    if compressed.dtype is not plain.dtype and not (compressed.is_floating_point() or plain.is_floating_point()):
        compressed, plain = compressed.long(), plain.long()
    if check_invariants is None:
        check_invariants = strided.sparse.check_sparse_tensor_invariants.is_enabled()
    size = _check_shapes(form, compressed, plain, values, size)
    _check_indices(form, compressed, plain, size, values, check_invariants)
    return make(form, compressed, plain, values, size)


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise RuntimeError(message)


def _check_shapes(form: Form, compressed: Tensor, plain: Tensor, values: Tensor, size: Any) -> tuple[int, ...]:
    """Compares the shapes of the parts, and gives the size, inferred where there is none."""
    first, second = form.compressed, form.plain
    depth = 2 if form.blocked else 0
    nb = compressed.ndim - 1
    if nb < 0:
        raise RuntimeError(f"{first} must have dimensionality >= 1 but got 0")
    if compressed.ndim != plain.ndim:
        raise RuntimeError(
            f"{first} and {second} dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}, respectively"
        )
    if values.ndim <= nb + depth:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={nb} + {depth}) but got {values.ndim}"
        )
    block = tuple(values.shape[nb + 1 : nb + 3]) if form.blocked else (1, 1)
    dense = values.shape[nb + 1 + depth :]
    if form.blocked and not all(block):
        raise RuntimeError(f"values must have blocks of one element at least, got {list(block)}")
    if size is None:
        with no_grad():
            other = int(plain.amax()) + 1 if plain.numel() else 0
        matrix = form.pair(compressed.shape[-1] - 1, other)
        size = (*compressed.shape[:-1], *(n * b for n, b in zip(matrix, block)), *dense)
    size = tuple(size)
    if len(size) != nb + 2 + len(dense):
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={nb} + 2 + {len(dense)}) but got {len(size)}"
        )
    for d in (0, 1) if form.blocked else ():
        if size[nb + d] % block[d] != 0:
            raise RuntimeError(
                f"tensor shape[{nb + d}] (={size[nb + d]}) must be divisible with blocksize[{d}] (={block[d]}) as defined by values shape"
            )
    n, _ = form.pair(size[nb] // block[0], size[nb + 1] // block[1])
    if compressed.shape[-1] != n + 1:
        axis = ("row blocks" if form.row else "column blocks") if form.blocked else "rows" if form.row else "columns"
        raise RuntimeError(
            f"{first}.shape[-1] must be equal to the number of {axis} + 1 (={n + 1}), but got {compressed.shape[-1]}"
        )
    nnz = values.shape[nb]
    if plain.shape[-1] != nnz:
        raise RuntimeError(
            f"{second}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{nb}], but got {plain.shape[-1]}"
        )
    if nb and not (compressed.shape[:nb] == plain.shape[:nb] == values.shape[:nb] == size[:nb]):
        batches = [list(t.shape[:nb]) for t in (compressed, plain, values)]
        raise RuntimeError(
            f"all batch dimensions of {first} (={batches[0]}), {second} (={batches[1]}), and values (={batches[2]}) must be equal to tensor batch dimensions (={list(size[:nb])})"
        )
    if dense and dense != size[nb + 2 :]:
        raise RuntimeError(f"values must have dense dimensions {list(size[nb + 2 :])}, got {list(dense)}")
    return size


def type_name(t: Tensor) -> str:
    """``Float`` of float32, as errors write it."""
    return t.type().rpartition(".")[2].removesuffix("Tensor")


def _check_indices(form, compressed, plain, size, values, strictly):
    """What would read outside of the values is an error always; places in order, and once each, if `strictly`."""
    first, second = form.compressed, form.plain
    if compressed.dtype is not plain.dtype:
        raise RuntimeError(
            f"{first} and {second} must have the same dtype, bot got {type_name(compressed)} and {type_name(plain)}, respectively"
        )
    if compressed.dtype not in (strided.int32, strided.int64):
        raise RuntimeError(f"{first} and {second} must be an int32 or int64 type, but got {type_name(compressed)}")
    nb, nnz = compressed.ndim - 1, plain.shape[-1]
    block = tuple(values.shape[nb + 1 : nb + 3]) if form.blocked else (1, 1)
    n, width = form.pair(size[nb] // block[0], size[nb + 1] // block[1])
    rows, columns = form.pair("nrows", "ncols")
    if plain.numel():
        low, high = plain.amin(), plain.amax()
        if not (0 <= int(low) and int(high) < width):
            raise RuntimeError(f"`0 <= {second} < {columns}` is not satisfied.")
    if not compressed.numel():
        return
    if bool(compressed.select(-1, 0).any()):
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if bool((compressed.select(-1, -1) != nnz).any()) if nb else int(compressed.select(0, -1)) != nnz:
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    counts = compressed.diff(dim=-1)
    if counts.numel() and (int(counts.amin()) < 0 or (strictly and int(counts.amax()) > width)):
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {columns}` is not satisfied.")
    if strictly and plain.numel():
        batch, row, column = places(form, compressed, plain)
        i, j = form.pair(row, column)
        key = (batch * n + i) * width + j
        if not bool((key.diff() > 0).all()):
            raise RuntimeError(
                f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {rows} are sorted and distinct along the last dimension values` is not satisfied."
            )


# ------------------------------------------------------------ entries


def places(form: Form, compressed: Tensor, plain: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Batch index, row and column of each value, int64, in the order of the values."""
    counts = compressed.long().diff(dim=-1).reshape(-1)
    at = strided.repeat_interleave(counts)
    n = max(compressed.shape[-1] - 1, 1)
    batch, index = (at // n, at % n) if compressed.ndim > 1 else (strided.zeros_like(at), at)
    return batch, *form.pair(index, plain.reshape(-1).long())


class Grid(NamedTuple):
    """The sizes of a tensor: batches, and the matrix in blocks."""

    batch: tuple[int, ...]
    rows: int
    columns: int
    block: tuple[int, int]
    dense: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.batch)

    @property
    def size(self) -> tuple[int, ...]:
        return (*self.batch, self.rows * self.block[0], self.columns * self.block[1], *self.dense)

    def key(self, batch: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """One number for each place, in the order of rows."""
        return (batch * self.rows + row) * self.columns + column


def grid(size: Any, nb: int, block: Any) -> Grid:
    """The grid of a size with `nb` axes of batches."""
    size = tuple(size)
    return Grid(size[:nb], size[nb] // block[0], size[nb + 1] // block[1], tuple(block), size[nb + 2 :])


def grid_of(s: CompressedTensor) -> Grid:
    nb = s._comp.ndim - 1
    return grid(s.shape, nb, s._own.shape[nb + 1 : nb + 3] if s._form.blocked else (1, 1))


def places_of(s: CompressedTensor) -> tuple[Tensor, Tensor, Tensor]:
    return places(s._form, s._comp, s._plain)


def entries(s: CompressedTensor) -> Tensor:
    """The values as (entries, block rows, block columns, *dense)."""
    g = grid_of(s)
    return s._own.reshape(s._plain.numel(), *g.block, *g.dense)


def with_entries(s: CompressedTensor, own: Tensor) -> CompressedTensor:
    """Other values, given as entries."""
    return s._with(own.reshape(*s._own.shape[: s._comp.ndim], *_tail(s._form, own)))


def _tail(form: Form, own: Tensor) -> Any:
    return own.shape[1:] if form.blocked else own.shape[3:]


def summed(own: Tensor, index: Tensor, n: int) -> Tensor:
    """(n, ...): the sum of the values of each index."""
    if own.dtype is strided.bool:
        return summed(own.long(), index, n) > 0
    return own.new_zeros((n, *own.shape[1:])).index_add(0, index, own)


def pack(form: Form, g: Grid, batch: Tensor, row: Tensor, column: Tensor, own: Tensor, like: Any = None) -> Any:
    """A tensor of entries in any order; entries of the same place are summed. `like` has the dtype of the indices."""
    n, width = form.pair(g.rows, g.columns)
    i, j = form.pair(row, column)
    keys, inverse = ((batch * n + i) * width + j).unique(return_inverse=True)
    own = own[inverse.argsort()] if len(keys) == len(inverse) else summed(own, inverse, len(keys))
    return _packed(form, g, keys, own, strided.int64 if like is None else like._comp.dtype)


def _packed(form: Form, g: Grid, keys: Tensor, own: Tensor, dtype: Any) -> CompressedTensor:
    """A tensor of entries in order: `keys` number the places along the compressed axis first."""
    n, width = form.pair(g.rows, g.columns)
    counts = (keys // max(width, 1)).bincount(minlength=g.count * n).reshape(g.count, n)
    totals = counts.sum(1)
    nnz = len(keys) // max(g.count, 1)
    _check(bool((totals == nnz).all()), "Expect the same number of specified elements per batch.")
    compressed = strided.zeros((g.count, n + 1), dtype=dtype, device=keys.device)
    compressed[:, 1:] = counts.cumsum(1)
    plain = (keys % max(width, 1)).to(dtype)
    values = own.reshape(*g.batch, nnz, *_tail(form, own))
    return make(form, compressed.reshape(*g.batch, n + 1), plain.reshape(*g.batch, nnz), values, g.size)


# ------------------------------------------------------------ conversions


def blocks(t: Tensor, g: Grid) -> Tensor:
    """A dense tensor as (batches, rows of blocks, columns of blocks, block rows, block columns, *dense)."""
    shaped = t.reshape(g.count, g.rows, g.block[0], g.columns, g.block[1], *g.dense)
    return shaped.transpose(2, 3)


def from_dense(form: Form, t: Tensor, block: Any = (1, 1), dense_dim: int | None = None) -> CompressedTensor:
    """The elements, or blocks, that are not zero."""
    dense = 0 if dense_dim is None else dense_dim
    name = f"dense_to_sparse_{form.name[6:].lower()}"
    _check(t.ndim > 1, f"{name}: a matrix or a batch of matrices is required, got a tensor of {t.ndim} dimensions")
    _check(0 <= dense <= t.ndim - 2,
           f"{name}: dense_dim argument must be in [0,{t.ndim - 2}] range, but {dense} is given")  # fmt: skip
    g = _grid_for(name, t.shape, t.ndim - 2 - dense, block)
    parts = blocks(t, g)
    filled = (parts.detach() != 0).flatten(3)
    filled = filled[..., 0] if filled.shape[-1] == 1 else filled.any(-1)
    i, j = (1, 2) if form.row else (2, 1)
    keys = filled.permute(0, i, j).reshape(-1).nonzero()[:, 0]
    n, width = form.pair(g.rows, g.columns)
    width = max(width, 1)
    row, column = form.pair(keys // width % max(n, 1), keys % width)
    own = parts[keys // max(width * n, 1), row, column]
    return _packed(form, g, keys, own, strided.int64)


def _grid_for(name: str, size: Any, nb: int, block: Any) -> Grid:
    rows, columns = size[nb], size[nb + 1]
    _check(block[0] > 0 and block[1] > 0 and rows % block[0] == 0 and columns % block[1] == 0,
           f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
           f"({block[0]},{block[1]})")  # fmt: skip
    return grid(size, nb, block)


def _split(g: Grid, batch, row, column, own):
    """Entries of blocks as entries of elements."""
    (a, b), device = g.block, own.device
    rows = (row * a)[:, None, None] + strided.arange(a, device=device)[:, None]
    columns = (column * b)[:, None, None] + strided.arange(b, device=device)
    shape = (len(row), a, b)
    at = [t.expand(shape).reshape(-1) for t in (batch[:, None, None], rows, columns)]
    return *at, own.reshape(len(at[0]), 1, 1, *g.dense)


def _join(g: Grid, batch, row, column, own):
    """Entries of elements as entries of blocks."""
    a, b = g.block
    keys, inverse = g.key(batch, row // a, column // b).unique(return_inverse=True)
    at = (inverse * a + row % a) * b + column % b
    own = summed(own.reshape(len(at), *g.dense), at, len(keys) * a * b).reshape(len(keys), a, b, *g.dense)
    whole, width = max(g.rows * g.columns, 1), max(g.columns, 1)
    return keys // whole, keys // width % max(g.rows, 1), keys % width, own


def convert(s: CompressedTensor, form: Form, block: Any = (1, 1)) -> CompressedTensor:
    """The tensor in another form."""
    g = grid_of(s)
    if form is s._form and g.block == tuple(block):
        return s
    parts = (*places_of(s), entries(s))
    wanted = _grid_for(f"sparse_compressed_to_{form.name}", s.shape, len(g.batch), block)
    if wanted.block != g.block:
        parts = parts if g.block == (1, 1) else _split(g, *parts)
        parts = parts if wanted.block == (1, 1) else _join(wanted, *parts)
    return pack(form, wanted, *parts, like=s)


def from_coo(form: Form, s: Any, block: Any = (1, 1)) -> CompressedTensor:
    """Of a tensor in coordinates; all its sparse axes but the last two are batches."""
    nb = s.sparse_dim() - 2
    _check(nb >= 0, f"coo_to_{form.name}: conversion of a tensor with {s.sparse_dim()} sparse axes is not supported")
    g = _grid_for(f"coo_to_{form.name}", s.shape, nb, block)
    *batch, row, column = s._at.unbind(0)
    which = strided.zeros_like(row)
    for n, index in zip(g.batch, batch):
        which = which * n + index
    parts = (which, row, column, s._own[:, None, None])
    return pack(form, g, *(_join(g, *parts) if form.blocked else parts))


def to_coo(s: CompressedTensor) -> Any:
    """The tensor in coordinates; blocks are stored as a whole, zeros in them too."""
    from . import coo

    g = grid_of(s)
    batch, row, column = places_of(s)
    own = entries(s)
    sole = s._form is CSR and bool((g.key(batch, row, column).diff() > 0).all())
    if s._form.blocked:
        batch, row, column, own = _split(g, batch, row, column, own)
    indices = [column, row]
    for n in reversed(g.batch):
        indices.append(batch % n)
        batch = batch // n
    return coo._make(strided.stack(indices[::-1]), own.reshape(len(row), *g.dense), s.shape, sole)


def to_layout(t: Tensor, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None) -> Tensor:
    """``to_sparse(layout=...)`` of a tensor of any layout."""
    from . import coo

    of = "Strided" if not isinstance(t, SparseTensor) else getattr(t, "_form", None) and t._form.name or "Sparse"
    form = FORMS.get(layout)
    if form is None and layout not in (None, strided.sparse_coo, strided.strided):
        raise NotImplementedError(f"to_sparse: strided has no sparse tensors of layout {layout}")
    if blocksize is not None and not (form and form.blocked):
        to = form.name if form else "Sparse"
        raise RuntimeError(
            f"dense_to_sparse: conversion from {of} to {to} with blocksize argument given is not supported"
        )
    if form is None:
        if layout is strided.strided:
            return t.to_dense()
        if isinstance(t, CompressedTensor):
            return to_coo(t)
        return coo.from_dense(t, None if dense_dim is None else t.ndim - dense_dim)
    block = (1, 1)
    if form.blocked:
        if blocksize is None and isinstance(t, CompressedTensor) and t._form.blocked:
            blocksize = grid_of(t).block
        _check(blocksize is not None, f"dense_to_sparse: conversion from {of} to {form.name} without blocksize "
               "argument given is not supported")  # fmt: skip
        block = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
        _check(len(block) == 2, f"dense_to_sparse_{form.name[6:].lower()}: blocksize needs to be a tuple of size 2, "
               f"but got {len(block)}")  # fmt: skip
    if not isinstance(t, SparseTensor):
        return from_dense(form, t, block, dense_dim)
    _check(dense_dim is None or dense_dim == t.dense_dim(),
           f"to_sparse: the number of dense dimensions cannot change from {t.dense_dim()} to {dense_dim}")  # fmt: skip
    return convert(t, form, block) if isinstance(t, CompressedTensor) else from_coo(form, t, block)
