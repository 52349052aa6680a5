"""Functions of sparse tensors (``strided.sparse``). `strided.sparse_coo_tensor` makes such tensors.

>>> s = strided.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.], (2, 3))
>>> strided.sparse.sum(s, 1).to_dense()
tensor([3., 9.])
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from . import _C
from ._calls.arguments import check_tensor

__all__ = [
    "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip


class check_sparse_tensor_invariants(ContextDecorator):
    """Compares all indices of compressed sparse tensors that are made: within ``with``, or a function, or from now on.

    Places outside of the size are errors always; this is about their order, and places that are there twice.

    >>> with strided.sparse.check_sparse_tensor_invariants():
    ...     strided.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    _state = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted, self._before = enable, []

    @staticmethod
    def is_enabled() -> bool:
        """Whether the comparison is on."""
        return check_sparse_tensor_invariants._state

    @staticmethod
    def enable() -> None:
        """Turns the comparison on."""
        check_sparse_tensor_invariants._state = True

    @staticmethod
    def disable() -> None:
        """Turns the comparison off."""
        check_sparse_tensor_invariants._state = False

    def __enter__(self) -> None:
        self._before.append(check_sparse_tensor_invariants._state)
        check_sparse_tensor_invariants._state = self._wanted

    def __exit__(self, *raised: Any) -> None:
        check_sparse_tensor_invariants._state = self._before.pop()


class _OfDtype(type):
    """The types of PyTorch's legacy constructors: ``FloatTensor(indices, values, size)``, and for ``isinstance``."""

    dtype: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        from ._functions.sparse import sparse_coo_tensor

        if not args:
            args = ((0,),)
        elif all(isinstance(a, int) for a in args):
            args = (args,)
        kept = len(args) > 1 and isinstance(args[1], _C.Tensor)  # as in PyTorch, whatever the type's name is
        dtype = None if kept else cls.dtype
        return sparse_coo_tensor(*args, dtype=dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _C.Tensor) and instance.is_sparse and instance.dtype is cls.dtype


def _of(name: str, dtype: Any) -> Any:
    return _OfDtype(name, (), {"__module__": __name__, "__doc__": "Sparse tensors of a dtype.", "dtype": dtype})


_named = {str(d).rpartition(".")[2]: d for d in _C.dtypes}
FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor = (
    _of(name, _named[dtype])
    for name, dtype in (
        ("FloatTensor", "float32"), ("DoubleTensor", "float64"), ("HalfTensor", "float16"),
        ("BFloat16Tensor", "bfloat16"),
    )
)  # fmt: skip
IntTensor, LongTensor, ShortTensor, ByteTensor, CharTensor = (
    _of(name, _named[dtype])
    for name, dtype in (
        ("IntTensor", "int32"), ("LongTensor", "int64"), ("ShortTensor", "int16"), ("ByteTensor", "uint8"),
        ("CharTensor", "int8"),
    )
)  # fmt: skip


def sampled_addmm(
    input: Any,  # noqa: A002
    mat1: Any,
    mat2: Any,
    *,
    beta: Any = 1.0,
    alpha: Any = 1.0,
    out: Any = None,
) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of `input` only, in its layout.

    Args:
        input: of a compressed layout, (*batch, n, m). mat1, mat2: dense, (*batch, n, k) and (*batch, k, m).
        out: NotImplementedError.

    >>> s = strided.eye(2).to_sparse_csr()
    >>> strided.sparse.sampled_addmm(s, strided.ones(2, 3), strided.ones(3, 2)).to_dense()
    tensor([[4., 0.],
            [0., 4.]])
    """
    from ._sparse.compressed_products import sampled_addmm as general

    if out is not None:
        raise NotImplementedError("sparse.sampled_addmm: strided has no out= of sparse tensors")
    return general(input, mat1, mat2, beta=beta, alpha=alpha)


def mm(sparse: Any, dense: Any, reduce: str = "sum") -> Any:
    """The product of two matrices, sparse or dense: dense unless both are sparse.

    `reduce` is ``"sum"``, or of a matrix in layout ``sparse_csr`` or ``sparse_csc`` with a dense one ``"mean"``,
    ``"amax"`` (``"max"``), ``"amin"`` (``"min"``) or ``"prod"`` of what is stored; rows without elements are zero.

    >>> strided.sparse.mm(strided.eye(2).to_sparse(), strided.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    check_tensor("mm", "sparse", 1, sparse)
    check_tensor("mm", "dense", 2, dense)
    if reduce != "sum":
        from ._sparse.compressed_products import mm_reduce

        return mm_reduce(sparse, dense, reduce)
    return sparse.mm(dense)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """``beta * mat + alpha * (mat1 @ mat2)``."""
    from . import addmm as general

    return general(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001
    """The sum of all elements, or along axes: sparse unless all sparse axes are gone."""
    s = _only_sparse("sum", input)
    if dtype is None and dim is not None and str(s.layout) == "torch.sparse_coo":
        dims = {d % max(s.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim)}
        if not dims >= set(range(s.sparse_dim())):  # as PyTorch: integers stay what they are in a sparse result
            dtype = s.dtype
    return s.sum(dim, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """``softmax`` of the elements that are stored, along an axis; the others count as minus infinity."""
    return _only_sparse("softmax", input).softmax(dim, dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``softmax``."""
    return _only_sparse("log_softmax", input).log_softmax(dim, dtype=dtype)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with rows of `diagonals` on its diagonals: column j of the matrix has element j of each row.

    Args:
        diagonals: (n, m), or (m,). offsets: n integers, no two of which are equal; positive ones lie above the main
            diagonal. shape: of the matrix. layout: sparse_coo, sparse_csr or sparse_csc.

    >>> strided.sparse.spdiags(strided.tensor([[1, 2, 3]]), strided.tensor([1]), (3, 3)).to_dense()
    tensor([[0, 2, 0],
            [0, 0, 3],
            [0, 0, 0]])
    """
    import strided

    if layout not in (None, strided.sparse_coo, strided.sparse_csr, strided.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    check_tensor("spdiags", "diagonals", 1, diagonals)
    check_tensor("spdiags", "offsets", 2, offsets)
    rows = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    steps = offsets.reshape(-1)
    if rows.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.ndim > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if steps.dtype != strided.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {steps.dtype}")
    if len(steps) != len(rows):
        raise RuntimeError(f"Number of diagonals ({len(rows)}) does not match the number of offsets ({len(steps)})")
    if len(steps.unique()) != len(steps):
        raise RuntimeError("Offset tensor contains duplicate values")
    column = strided.arange(rows.size(1), device=rows.device).expand(rows.shape)
    row = column - steps.unsqueeze(1)
    there = (row >= 0) & (row < shape[0]) & (column < shape[1])
    made = strided.sparse_coo_tensor(strided.stack([row[there], column[there]]), rows[there], tuple(shape))
    return made.to_sparse(layout=layout)


def _only_sparse(name: str, t: Any) -> Any:
    check_tensor(name, "input", 1, t)
    if hasattr(t, "_form"):
        raise NotImplementedError(f"sparse.{name}: strided has it of layout torch.sparse_coo, not of {t.layout}")
    if not t.is_sparse:
        raise RuntimeError(f"sparse.{name}: expected a sparse tensor")
    return t


del annotations
