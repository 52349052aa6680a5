"""``MaskedTensor``: a tensor and a mask of its shape. What functions do with one: ``_functions``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import strided

from ... import _C

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]

_LAYOUTS = frozenset((strided.strided, strided.sparse_coo, strided.sparse_csr))
_DTYPES = frozenset((
    strided.float16, strided.float32, strided.float64, strided.bool, strided.int8, strided.int16, strided.int32,
    strided.int64,
))  # fmt: skip


def is_masked_tensor(obj: Any, /) -> bool:
    """True for a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def places(t: Tensor) -> tuple[Tensor, ...]:
    """The indices of a sparse tensor; of a dense one there are none."""
    if t.layout is strided.sparse_coo:
        return (t.indices(),)
    return (t.crow_indices(), t.col_indices()) if t.layout is strided.sparse_csr else ()


def same_places(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors of one layout have their elements at the same places."""
    return all(strided.equal(x, y) for x, y in zip(places(a), places(b)))


def _tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors without masks have equal elements (``exact=False``: close ones) at equal places."""
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    if not all(x.shape == y.shape for x, y in zip(places(a), places(b))) or not same_places(a, b):
        return False
    if a.layout != strided.strided:
        a, b = a.values(), b.values()
    b = b.to(a.dtype)
    if a.dim() != b.dim():
        return False
    return bool(strided.eq(a, b).all()) if exact else bool(strided.allclose(a, b, rtol=rtol, atol=atol))


def _masks_match(a: Any, b: Any) -> bool:
    """Whether two operands have one mask. One without a mask matches each."""
    if not (is_masked_tensor(a) and is_masked_tensor(b)):
        return True
    a, b = a._masked_mask, b._masked_mask
    return a is b or (a.layout == b.layout and a.shape == b.shape and _tensors_match(a, b))


class MaskedTensor(_C.Tensor):
    """A tensor of which only what a mask names counts: reductions leave the rest out, printing shows ``--`` for it.

    Functions of each element compute all of them and keep the mask; two operands have to have one mask. What moves
    elements moves those of the mask with them. Anything else raises TypeError.

    Args:
        data, mask, requires_grad: see ``masked_tensor``.
    """

    _masked_data: Tensor
    _masked_mask: Tensor
    _values_are_elsewhere = True

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        if is_masked_tensor(data) or not strided.is_tensor(data):
            raise TypeError("data must be a Tensor")
        if is_masked_tensor(mask) or not strided.is_tensor(mask):
            raise TypeError("mask must be a Tensor")
        warnings.warn(
            "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a "
            "Github issue for features requests and see our documentation on the torch.masked module for further "
            "information about the project.",
            UserWarning,
            stacklevel=2,
        )
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. "
                "To avoid this, you can use data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        data, mask = _checked(data, mask)
        made = cls._of(data.detach().clone(), mask.clone())
        if requires_grad:
            if not data.is_floating_point():
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            made._masked_data.requires_grad_()
        return made

    @classmethod
    def _of(cls, data: Tensor, mask: Tensor) -> MaskedTensor:
        """A masked tensor of these two, which are not copied."""
        shell = strided.empty((), dtype=data.dtype, device="meta").expand(tuple(data.shape))
        made = _C.Tensor._make_subclass(cls, shell)
        made.__dict__.update(_masked_data=data, _masked_mask=mask)
        return made

    @staticmethod
    def _from_values(data: Tensor, mask: Tensor) -> MaskedTensor:
        """A masked tensor through which gradients reach data."""
        if is_masked_tensor(data) or not strided.is_tensor(data):
            raise TypeError("data must be a Tensor")
        if is_masked_tensor(mask) or not strided.is_tensor(mask):
            raise TypeError("mask must be a Tensor")
        data, mask = _checked(data, mask)
        own = data.clone()
        if own.requires_grad and own.layout is strided.strided:
            own = strided.where(mask, own, own.detach())  # no gradient of what does not count
        return MaskedTensor._of(own, mask.clone())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        from ._functions import call

        return call(func, args, kwargs or {})

    @classmethod
    def unary(cls, fn: Callable[[Tensor], Tensor], data: Tensor, mask: Tensor) -> MaskedTensor:
        """A function of data, with a mask."""
        return MaskedTensor(fn(data), mask)

    def get_data(self) -> Tensor:
        """All elements, those that do not count too; gradients pass."""
        own = self._masked_data
        return own.view_as(own) if own.requires_grad and own.layout is strided.strided else own.detach()

    def get_mask(self) -> Tensor:
        """What counts."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A tensor without a mask, with value where nothing counts."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """Whether the layout is ``sparse_coo``."""
        return self.layout is strided.sparse_coo

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether the layout is ``sparse_csr``."""
        return self.layout is strided.sparse_csr

    # What the data answer. (The tensor that this class is made of has shape and dtype only.)
    is_sparse = property(lambda self: self.layout is not strided.strided)
    layout = property(lambda self: self._masked_data.layout)
    device = property(lambda self: self._masked_data.device)
    is_cpu = property(lambda self: self._masked_data.is_cpu)
    is_cuda = property(lambda self: self._masked_data.is_cuda)
    is_meta = property(lambda self: self._masked_data.is_meta)
    is_leaf = property(lambda self: self._masked_data.is_leaf)
    grad_fn = property(lambda self: self._masked_data.grad_fn)
    _version = property(lambda self: self._masked_data._version)
    _base = None
    requires_grad = property(
        lambda self: self._masked_data.requires_grad, lambda self, value: self._masked_data.requires_grad_(value)
    )

    @property
    def grad(self) -> Any:
        """The gradient, with the mask."""
        made = self._masked_data.grad
        return None if made is None else MaskedTensor._of(made, self._masked_mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._masked_data.grad = value._masked_data if is_masked_tensor(value) else value

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        data, mask = self._masked_data.detach(), self._masked_mask
        if self.dim() == 0:
            number = data.item()
            shown = _shown(number) if mask.item() else "--"
            return f"MaskedTensor({shown}, {mask.item()})"
        if self.is_sparse:
            data, mask = data.to_dense(), mask.to_dense()
        return "MaskedTensor(\n" + _indented(_text(data.tolist(), mask.tolist(), self.dim())) + "\n)"

    __str__ = __repr__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return MaskedTensor, (self._masked_data.detach(), self._masked_mask, self.requires_grad)

    def __deepcopy__(self, memo: Any) -> MaskedTensor:
        made = MaskedTensor._of(self._masked_data.detach().clone(), self._masked_mask.clone())
        made.requires_grad_(self.requires_grad)
        memo[id(self)] = made
        return made


def _checked(data: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Data and mask, sparse ones with their elements at the same places."""
    if data.layout != mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout not in _LAYOUTS:
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if data.layout is strided.sparse_coo:
        data, mask = data.coalesce(), mask.coalesce()
    if data.layout is not strided.strided and data.shape == mask.shape:
        if data._nnz() != mask._nnz():
            data = data.sparse_mask(mask)
        if not same_places(data, mask):
            coo = data.layout is strided.sparse_coo
            raise ValueError(
                "data and mask are both sparse COO tensors but do not have the same indices."
                if coo
                else "data and mask are both sparse CSR tensors but do not share either crow or col indices."
            )
    if mask.dtype is not strided.bool:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.shape != mask.shape:
        raise ValueError("data.size() must equal mask.size()")
    return data, mask


def _shown(number: Any) -> str:
    return f"{number:8.4f}" if isinstance(number, float) else str(number)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _text(data: Any, mask: Any, dims: int) -> str:
    """The text of nested lists: rows in a line each, with what does not count as ``--``."""
    if dims > 1:
        return "[\n" + ",\n".join(_indented(_text(d, m, dims - 1)) for d, m in zip(data, mask)) + "\n]"
    shown = [_shown(d) if m else None for d, m in zip(data, mask)]
    width = max((8 if s is None else len(s) for s in shown), default=0)
    return "[" + ", ".join("--".rjust(width) if s is None else s for s in shown) + "]"
