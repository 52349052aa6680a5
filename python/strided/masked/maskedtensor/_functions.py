"""What functions do with masked tensors: of each element, of all that count, and moving elements with their mask."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._calls.elementwise import OPERATORS, elementwise_names, function_of
from ..._calls.rules import Rules, name_of
from ...nn import functional as F
from .. import _ops
from .core import MaskedTensor, _masks_match, places, same_places

if TYPE_CHECKING:
    from ..._typing import Any, Callable

# Functions of each element alone, and of two operands, one of which may have no mask.
UNARY, BINARY = ({name.rpartition(".")[2] for name in elementwise_names(arity)} for arity in (1, 2))
UNARY |= set("clamp clip clamp_min clamp_max pow".split())
BINARY.add("rsub")
_ELEMENTWISE = UNARY | BINARY
# Functions that choose or move elements, and do the same to the mask.
_MOVES = frozenset(
    """
select t transpose permute view reshape expand expand_as index slice __getitem__ split chunk tensor_split unbind cat
concat concatenate stack hstack vstack dstack unsqueeze squeeze unfold flatten unflatten ravel movedim moveaxis swapaxes
swapdims narrow flip fliplr flipud roll rot90 repeat repeat_interleave tile broadcast_to diagonal diag index_select take
gather adjoint T__get__ mT__get__ H__get__ mH__get__ __iter__
""".split()
)
_MADE_LIKE = frozenset("ones_like zeros_like full_like empty_like rand_like randn_like randint_like".split())
_CASTS = frozenset("to float double half int long short char bool type type_as cpu cuda".split())
_OF_SHAPE = frozenset(
    """
shape__get__ dtype__get__ ndim__get__ size dim ndimension numel nelement is_floating_point is_complex is_signed
element_size itemsize__get__ __len__ __hash__ result_type
""".split()
)
_OF_DATA = frozenset(
    """
stride storage_offset register_hook retain_grad is_inference get_device is_pinned output_nr__get__ retains_grad__get__
register_post_accumulate_grad_hook nbytes__get__
""".split()
)
_RULES = Rules()
_rule = _RULES.of


def call(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a public function with masked tensors among its arguments; NotImplemented: there is none."""
    name = name_of(func)
    rule = _RULES.get(name)
    if rule is not None:
        return rule(*args, **kwargs)
    if function_of(name)[0] in _ELEMENTWISE:
        return _elementwise(func, name, args, kwargs)
    if name in _MOVES:
        return _moved(func, args, kwargs)
    if name in _OF_SHAPE:
        with _C.DisableTorchFunction():
            return func(*args, **kwargs)
    if name in _OF_DATA:
        return func(*_part(args, _data), **_part(kwargs, _data))
    if name in _CASTS or name in _MADE_LIKE:
        return _made_like(func, args, kwargs)
    warnings.warn(f"{name} is not implemented for MaskedTensor.", UserWarning, stacklevel=3)
    return NotImplemented


def _data(t: MaskedTensor) -> Any:
    return t._masked_data


def _mask(t: MaskedTensor) -> Any:
    return t._masked_mask


def _part(args: Any, part: Callable[[MaskedTensor], Any]) -> Any:
    """Arguments, with a part of each masked tensor in its place."""
    if isinstance(args, MaskedTensor):
        return part(args)
    if isinstance(args, (list, tuple)) and not isinstance(args, strided.Size):
        return type(args)(_part(a, part) for a in args)
    return {k: _part(a, part) for k, a in args.items()} if isinstance(args, dict) else args


def _wrapped(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)(_wrapped(d, m) for d, m in zip(data, mask))
    return MaskedTensor._of(data, mask)


def _values(first: MaskedTensor, t: Any) -> Any:
    """What stands for an operand where the elements of sparse ones are taken alone."""
    if not isinstance(t, _C.Tensor) or (t.dim() == 0 and not isinstance(t, MaskedTensor)):
        return t
    if t.layout != first.layout:
        raise TypeError(f"MaskedTensor of layout {first.layout} and a tensor of layout {t.layout}: layouts must match")
    t = t._masked_data if isinstance(t, MaskedTensor) else t._merged()
    if t.shape != first.shape:
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    if any(a.shape != b.shape for a, b in zip(places(t), places(first._masked_data))) or not same_places(
        t, first._masked_data
    ):
        kind = "sparse_coo" if first.layout is strided.sparse_coo else "sparse_csr"
        raise ValueError(f"{kind} indices must match. If you need support for this, please open an issue on Github.")
    return t._own


def _elementwise(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    plain, in_place = function_of(name)
    operands = [a for a in (*args, *kwargs.values()) if isinstance(a, MaskedTensor)]
    first = operands[0]
    if plain in UNARY and name not in OPERATORS and len([a for a in args if isinstance(a, _C.Tensor)]) > 1:
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    for other in operands[1:]:
        if not _masks_match(first, other):
            raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    if first.is_sparse:
        values = func(*(_values(first, a) for a in args), **kwargs)
        data = first._masked_data._with(values)
    else:
        data = func(*_part(args, _data), **_part(kwargs, _data))
    if in_place:
        if args[0] is not first:
            return args[0]  # a tensor without a mask has taken what the masked one holds
        if first.is_sparse:
            first._masked_data = data
        return first
    mask = first._masked_mask
    return MaskedTensor._of(data, mask if first.is_sparse or mask.shape == data.shape else mask.expand_as(data))


def _moved(func: Any, args: Any, kwargs: Any) -> Any:
    bare = func is F.unfold or func is F.fold

    def whole(t: Any) -> Any:
        """The mask of an operand, all True where it has none."""
        if isinstance(t, (list, tuple)) and any(isinstance(a, MaskedTensor) for a in t):
            return [_mask(a) if isinstance(a, MaskedTensor) else strided.ones_like(a, dtype=strided.bool) for a in t]
        made = _mask(t) if isinstance(t, MaskedTensor) else t
        return made.to(strided.float32) if bare and isinstance(t, MaskedTensor) else made

    data = func(*_part(args, _data), **_part(kwargs, _data))
    mask = func(*(whole(a) for a in args), **{k: whole(a) for k, a in kwargs.items()})
    if not isinstance(data, (_C.Tensor, list, tuple)):
        return (_wrapped(d, m) for d, m in zip(data, mask))
    return _wrapped(data, mask != 0 if bare else mask)


def _made_like(func: Any, args: Any, kwargs: Any) -> Any:
    first = args[0]
    if not isinstance(first, MaskedTensor):  # plain.type_as(masked)
        return func(*_part(args, _data), **_part(kwargs, _data))
    data = func(*_part(args, _data), **_part(kwargs, _data))
    if not isinstance(data, _C.Tensor):  # type() without arguments is a text
        return data
    if data is first._masked_data:
        return first
    return MaskedTensor._of(data, first._masked_mask.to(data.device))


# ---------------------------------------------------------------- what counts, reduced


def _axes_any(mask: Any, dim: Any, keepdim: bool) -> Any:
    """Whether something counts, in each row."""
    return mask.any() if dim is None else mask.any(dim, keepdim=keepdim)


def _reduction(name: str) -> Callable[..., Any]:
    of_mask = getattr(_ops, name)

    def reduced(input: Any, dim: Any = None, *args: Any, keepdim: bool = False, **options: Any) -> Any:
        if args and isinstance(args[-1], bool):
            args, keepdim = args[:-1], args[-1]
        if dim is not None or not input.is_sparse:
            if input.is_sparse:
                warnings.warn(f"{name} of a sparse MaskedTensor along an axis is not implemented.", stacklevel=4)
                return NotImplemented
            mask = input._masked_mask
            made = of_mask(input._masked_data, *_head(name, dim, args), keepdim=keepdim, mask=mask, **options)
            return MaskedTensor._of(made, _axes_any(mask, dim, keepdim))
        data, mask = input._masked_data, input._masked_mask._own
        made = of_mask(data._own, *_head(name, None, args), mask=mask, **options)
        if name in ("argmin", "argmax"):  # the place in all of the tensor
            at = (data if input.is_sparse_coo() else data.to_sparse_coo()).indices()[:, made.long()]
            made = sum((at[i] * data.shape[i + 1 :].numel() for i in range(input.dim())), at.new_zeros(())).to(
                made.dtype
            )
        return MaskedTensor._of(made, mask.any())

    reduced.__name__ = name
    return reduced


def _head(name: str, dim: Any, args: Any) -> Any:
    """What stands before the keywords in the function of strided.masked."""
    return (args[0] if args else 2.0, dim) if name == "norm" else (dim, *args)


for _reduced in ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "var", "std", "logsumexp"):
    _RULES[_reduced] = _reduction(_reduced)


@_rule("norm")
def norm(input: Any, p: Any = 2.0, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reduction("norm")(input, dim, p, keepdim, dtype=dtype)


def _truth(name: str, neutral: bool) -> Callable[..., Any]:
    def truth(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        data, mask = input._masked_data, input._masked_mask
        if input.is_sparse:
            if dim is not None:
                return NotImplemented
            data, mask = data._own, mask._own
        data = strided.where(mask, data.to(strided.bool), neutral)
        made = getattr(data, name)() if dim is None else getattr(data, name)(dim, keepdim=keepdim)
        return MaskedTensor._of(made, _axes_any(mask, dim, keepdim))

    return truth


_RULES["all"], _RULES["any"] = _truth("all", True), _truth("any", False)
_RULES["_is_any_true"] = _RULES["any"]


def _normalised(name: str) -> Callable[..., Any]:
    of_mask = getattr(_ops, name)

    def normalised(input: Any, dim: Any, *args: Any, dtype: Any = None, **ignored: Any) -> Any:
        made = of_mask(input._masked_data, dim, dtype=dtype, mask=input._masked_mask)
        return MaskedTensor._of(made, input._masked_mask)

    return normalised


for _softened in ("softmax", "log_softmax", "softmin"):
    _RULES[_softened] = _normalised(_softened)
for _summed in ("cumsum", "cumprod"):
    _RULES[_summed] = _normalised(_summed)


# ---------------------------------------------------------------- one by one


@_rule("where")
def where(condition: Any, input: Any, other: Any) -> Any:
    def parts(t: Any) -> Any:
        if isinstance(t, MaskedTensor):
            return t._masked_data, t._masked_mask
        return t, strided.ones_like(t, dtype=strided.bool) if isinstance(t, _C.Tensor) else strided.tensor(True)

    (a, m), (b, n) = parts(input), parts(other)
    return MaskedTensor._of(strided.where(condition, a, b), strided.where(condition, m, n))


@_rule("detach", "alias")
def detach(input: Any) -> Any:
    return MaskedTensor._of(input._masked_data.detach(), input._masked_mask)


@_rule("clone")
def clone(input: Any, *, memory_format: Any = None) -> Any:
    return MaskedTensor._of(input._masked_data.clone(), input._masked_mask.clone())


@_rule("contiguous")
def contiguous(input: Any, memory_format: Any = None) -> Any:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have contiguous")
    if input._masked_data.is_contiguous():
        return input
    return MaskedTensor._of(input._masked_data.contiguous(), input._masked_mask.contiguous())


@_rule("is_contiguous")
def is_contiguous(input: Any, memory_format: Any = None) -> bool:
    if input.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return input._masked_data.is_contiguous()


@_rule("requires_grad_")
def requires_grad_(input: Any, requires_grad: bool = True) -> Any:
    input._masked_data.requires_grad_(requires_grad)
    return input


@_rule("copy_")
def copy_(input: Any, other: Any, non_blocking: bool = False) -> Any:
    _part(input, _data).copy_(_part(other, _data))
    return input


@_rule("item")
def item(input: Any) -> Any:
    if not input._masked_mask.all():
        raise ValueError("item: expected a mask tensor")
    return input._masked_data.item()


@_rule("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    return input.shape == other.shape


@_rule("to_dense")
def to_dense(input: Any, *args: Any, **options: Any) -> Any:
    if not input.is_sparse:
        return input
    return MaskedTensor._of(input._masked_data.to_dense(), input._masked_mask.to_dense())


@_rule("to_sparse_coo", "to_sparse")
def to_sparse(input: Any, *args: Any, layout: Any = None, **options: Any) -> Any:
    if layout is strided.sparse_csr:
        return to_sparse_csr(input)
    if input.is_sparse_coo():
        return input
    mask = input._masked_mask.to_sparse_coo().coalesce()
    data = input._masked_data
    return MaskedTensor._of(data.to_sparse_coo() if input.is_sparse else data.sparse_mask(mask), mask)


@_rule("to_sparse_csr")
def to_sparse_csr(input: Any, dense_dim: Any = None) -> Any:
    if input.dim() != 2:
        raise ValueError(f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {input.shape}")
    if input.is_sparse_csr():
        return input
    mask, data = input._masked_mask.to_sparse_csr(), input._masked_data
    return MaskedTensor._of(data.to_sparse_csr() if input.is_sparse else data.sparse_mask(mask), mask)


def _of_sparse(name: str) -> Callable[..., Any]:
    def part(input: Any) -> Any:
        made = getattr(input._masked_data, name)()
        return MaskedTensor._of(made, strided.ones_like(made, dtype=strided.bool))

    return part


for _stored in ("indices", "values", "crow_indices", "col_indices", "_indices", "_values"):
    _RULES[_stored] = _of_sparse(_stored)


@_rule("coalesce")
def coalesce(input: Any) -> Any:
    return input


@_rule("_nnz")
def _nnz(input: Any) -> int:
    return input._masked_data._nnz()


@_rule("data__get__")
def data(input: Any) -> Any:
    return detach(input)


@_rule("backward")
def backward(tensors: Any, *args: Any, **options: Any) -> None:
    if isinstance(tensors, MaskedTensor):
        tensors._masked_data.backward(*_part(args, _data), **_part(options, _data))
    else:
        strided.autograd.backward(_part(tensors, _data), *_part(args, _data), **_part(options, _data))


@_rule("grad")
def grad(outputs: Any, inputs: Any, *args: Any, **options: Any) -> Any:
    made = strided.autograd.grad(
        _part(outputs, _data), _part(inputs, _data), *_part(args, _data), **_part(options, _data)
    )
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return tuple(
        MaskedTensor._of(g, t._masked_mask) if isinstance(t, MaskedTensor) and g is not None else g
        for t, g in zip(given, made)
    )
