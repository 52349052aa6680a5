"""What functions do with nested tensors: most are functions of the values, the others know the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._calls.elementwise import elementwise_names, function_of
from ..._calls.rules import Rules, name_of
from ...nn import functional as F
from .nested_tensor import NestedTensor

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Tensor

# Functions of each element alone, beside those of the core's table; arguments broadcast.
_ELEMENTWISE = frozenset(
    """
clamp clip clone contiguous detach double fill float bfloat16 half int long short bool masked_fill rsub to type_as where
zero zeros_like ones_like empty_like full_like rand_like randn_like dropout alpha_dropout celu gelu relu6 rrelu selu
softshrink softsign copy cpu cuda normal uniform polar real imag retain_grad
""".split()
) | {name.rpartition(".")[2] for name in elementwise_names()}
# Questions about the elements that the values answer.
_OF_VALUES = frozenset(
    """
dtype__get__ device__get__ requires_grad__get__ is_leaf__get__ grad_fn__get__ is_cuda__get__ requires_grad__set__
is_floating_point is_complex element_size numel nelement is_signed data_ptr storage_offset is_cpu__get__ is_meta__get__
itemsize__get__ nbytes__get__ register_hook is_inference untyped_storage get_device retains_grad__get__ _version__get__
output_nr__get__ is_sparse__get__ is_pinned is_quantized__get__ backward max min sum mean all any is_xpu__get__
register_post_accumulate_grad_hook
""".split()
)

RULES = Rules()
_rule = RULES.of


def call(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a public function with nested tensors among its arguments."""
    name = name_of(func)
    rule = RULES.get(name)
    if rule is not None:
        return rule(*args, **kwargs)
    if function_of(name)[0] in _ELEMENTWISE:
        return _elementwise(func, name, args, kwargs)
    if name in _OF_VALUES:
        return func(*(a._values if isinstance(a, NestedTensor) else a for a in args), **kwargs)
    raise NotImplementedError(f"{name}: strided has no such function of nested tensors")


def _elementwise(func: Any, name: str, args: Any, kwargs: Any) -> Any:
    nested = [a for a in (*args, *kwargs.values()) if isinstance(a, NestedTensor)]
    first = nested[0]
    for other in nested[1:]:
        same = other._ragged is first._ragged or (
            other._ragged.lengths == first._ragged.lengths and other._ragged.offsets is first._ragged.offsets
        )
        if not same or other._ragged_idx != first._ragged_idx or other.dim() != first.dim():
            raise RuntimeError(
                f"cannot call binary pointwise function {name} with inputs of shapes {tuple(first.shape)} and "
                f"{tuple(other.shape)}"
            )

    def plain(a: Any) -> Any:
        if isinstance(a, NestedTensor):
            return a._values
        if isinstance(a, _C.Tensor) and a.dim() and name not in ("to", "type_as"):
            return _spread(first, a, name)
        return a

    made = func(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    if function_of(name)[1]:
        return first
    return first._like(made) if isinstance(made, _C.Tensor) else made


def _spread(x: NestedTensor, t: Tensor, name: str) -> Tensor:
    """A tensor that broadcasts with the nested one, as one that broadcasts with its values."""
    n, at = x.dim(), x._ragged_idx
    shape = (1,) * (n - t.dim()) + tuple(t.shape)
    if t.dim() > n or shape[at] != 1 or shape[0] not in (1, len(x._ragged)):
        raise RuntimeError(
            f"cannot call binary pointwise function {name} with inputs of shapes {x.shape} and {t.shape}"
        )
    t = t.reshape(shape)
    if shape[0] == 1:
        return t[0]
    return t.squeeze(at).index_select(0, x._ragged.samples()).movedim(0, at - 1)


# ---------------------------------------------------------------- padding


def padded(x: NestedTensor, value: Any, longest: int | None = None) -> Tensor:
    """(samples, ..., longest, ...), with a value behind the shorter samples."""
    ragged, at = x._ragged, x._ragged_idx
    longest = ragged.longest if longest is None else longest
    values = x._values.movedim(at - 1, 0)
    flat = values.new_full((len(ragged) * longest, *values.shape[1:]), value)
    made = flat.index_copy(0, ragged.places(longest), values)
    return made.unflatten(0, (len(ragged), longest)).movedim(1, at)


def unpadded(x: NestedTensor, t: Tensor, dim: int) -> NestedTensor:
    """The samples of a padded tensor; x says how long they are, dim which axis is the ragged one."""
    flat = t.movedim(dim, 1).flatten(0, 1).index_select(0, x._ragged.places(t.shape[dim]))
    return x._like(flat.movedim(0, dim - 1), dim)


# ---------------------------------------------------------------- shapes


def _shape(x: NestedTensor) -> Any:
    sizes: list[Any] = [len(x._ragged), *x._values.shape]
    sizes[x._ragged_idx] = x._ragged.size
    return strided.Size(sizes)


RULES["shape__get__"] = _shape
RULES["dim"] = RULES["ndim__get__"] = RULES["ndimension"] = lambda x: x._values.dim() + 1
RULES["__len__"] = lambda x: len(x._ragged)
RULES["is_contiguous"] = lambda x, memory_format=None: x._values.is_contiguous()
RULES["values"], RULES["offsets"], RULES["lengths"] = (
    lambda x: x._values, lambda x: x._ragged.offsets, lambda x: None,
)  # fmt: skip
RULES["__repr__"] = RULES["__str__"] = lambda x, **options: NestedTensor.__repr__(x)
RULES["__format__"] = lambda x, spec: NestedTensor.__repr__(x)
RULES["__hash__"] = id
RULES["_is_view"] = lambda x: False


@_rule("is_same_size")
def _is_same_size(a: Any, b: Any) -> bool:
    if not (a.is_nested and b.is_nested):
        first, second = ("is" if x.is_nested else "is not" for x in (a, b))
        raise RuntimeError(
            f"Expected both self and other to be nested tensors. Self {first} nested. While Other {second} nested."
        )
    if a.layout is b.layout is strided.strided:  # by the sizes of the samples
        alike = (a._ragged_idx, a._ragged.lengths) == (b._ragged_idx, b._ragged.lengths)
        return alike and a._values.shape == b._values.shape
    return tuple(a.shape) == tuple(b.shape)


@_rule("size")
def _size(x: NestedTensor, dim: int | None = None) -> Any:
    if dim is None:
        return _shape(x)
    at = _axis(x, dim)
    if at == x._ragged_idx and x._kind is strided.strided and len(set(x._ragged.lengths)) > 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return x._ragged.lengths[0] if at == x._ragged_idx and x._kind is strided.strided else _shape(x)[at]


def _axis(x: NestedTensor, dim: int, name: str = "", inner: bool = False) -> int:
    n = x.dim()
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    at = dim % n
    if inner and at == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if inner and at == x._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return at


@_rule("unbind")
def _unbind(x: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    at = _axis(x, dim)
    if at == 0:
        return tuple(x._values.split(x._ragged.lengths, x._ragged_idx - 1))
    if at == x._ragged_idx:
        raise RuntimeError("unbind(): not supported for NestedTensor on ragged dim")
    ragged = x._ragged_idx - (at < x._ragged_idx)
    return tuple(x._like(v, ragged) for v in x._values.unbind(at - 1))


RULES["__iter__"] = lambda x: iter(_unbind(x))
RULES["tolist"] = lambda x: [t.tolist() for t in _unbind(x)]


@_rule("select")
def _select(x: NestedTensor, dim: int, index: int) -> Tensor:
    return _unbind(x, dim)[index]


@_rule("__getitem__")
def _getitem(x: NestedTensor, key: Any) -> Tensor:
    pieces = list(key) if isinstance(key, tuple) else [key]
    if isinstance(pieces[0], int):
        found = _unbind(x)[pieces[0]]
        return found[tuple(pieces[1:])] if pieces[1:] else found
    if Ellipsis in [p for p in pieces if not isinstance(p, _C.Tensor)]:
        i = next(i for i, p in enumerate(pieces) if p is Ellipsis)
        pieces[i : i + 1] = [slice(None)] * (x.dim() - len(pieces) + 1)
    whole = slice(None)
    pieces += [whole] * (x._ragged_idx + 1 - len(pieces))
    if pieces[0] != whole or pieces[x._ragged_idx] != whole or not all(isinstance(p, (int, slice)) for p in pieces):
        raise NotImplementedError(
            "__getitem__: strided indexes nested tensors by one sample, or along axes of equal length"
        )
    ragged = x._ragged_idx - sum(isinstance(p, int) for p in pieces[1 : x._ragged_idx])
    return x._like(x._values[tuple(pieces[1:])], ragged)


@_rule("transpose", "swapaxes", "swapdims")
def _transpose(x: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = _axis(x, dim0), _axis(x, dim1)
    if a == b:
        return x
    if 0 in (a, b):
        raise RuntimeError("Transpose is not supported on the batch dimension for jagged NT")
    swap = {a: b, b: a}
    return x._like(x._values.transpose(a - 1, b - 1), swap.get(x._ragged_idx, x._ragged_idx))


RULES["mT__get__"] = lambda x: _transpose(x, -2, -1)


@_rule("permute")
def _permute(x: NestedTensor, *dims: Any) -> NestedTensor:
    order = [_axis(x, d) for d in (dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims)]
    if order[0] != 0:
        raise RuntimeError("Permute is not supported on the batch dimension for jagged NT")
    return x._like(x._values.permute([d - 1 for d in order[1:]]), order.index(x._ragged_idx))


@_rule("unsqueeze")
def _unsqueeze(x: NestedTensor, dim: int) -> NestedTensor:
    at = dim % (x.dim() + 1)
    if at == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return x._like(x._values.unsqueeze(at - 1), x._ragged_idx + (at <= x._ragged_idx))


@_rule("squeeze")
def _squeeze(x: NestedTensor, dim: int) -> NestedTensor:
    at = _axis(x, dim, "squeeze", inner=True)
    if x._values.shape[at - 1] != 1:
        return x
    return x._like(x._values.squeeze(at - 1), x._ragged_idx - (at < x._ragged_idx))


@_rule("flatten")
def _flatten(x: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    a, b = _axis(x, start_dim), _axis(x, end_dim)
    if a == 0 or a <= x._ragged_idx <= b:
        where = "dim=0" if a == 0 else "ragged dim"
        raise RuntimeError(f"flatten(): not supported for NestedTensor on {where}")
    return x._like(x._values.flatten(a - 1, b - 1), x._ragged_idx - (b - a if b < x._ragged_idx else 0))


@_rule("unflatten")
def _unflatten(x: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    at = _axis(x, dim, "unflatten", inner=True)
    return x._like(x._values.unflatten(at - 1, sizes), x._ragged_idx + (len(sizes) - 1 if at < x._ragged_idx else 0))


@_rule("view", "reshape")
def _view(x: NestedTensor, *shape: Any) -> NestedTensor:
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    at = next((i for i, n in enumerate(sizes) if n is x._ragged.size), None)
    if at is None and -1 in sizes and sizes.index(-1) == x._ragged_idx:
        at = x._ragged_idx
    if at is None or len(sizes) < 3 or sizes[0] != len(x._ragged) or at != x._ragged_idx:
        raise RuntimeError(f"view(): cannot view shape {tuple(x.shape)} as {sizes}")
    sizes[at] = x._values.shape[at - 1]
    return x._like(x._values.reshape(sizes[1:]), at)


def _parts(name: str) -> Callable[..., Any]:
    def of(x: NestedTensor, n: Any, dim: int = 0) -> tuple[Tensor, ...]:
        if _axis(x, dim) == 0 and name == "chunk":
            rows = _unbind(x)
            size = -(-len(rows) // n)
            return tuple(_joined(rows[i : i + size], x) for i in range(0, len(rows), size))
        at = _axis(x, dim, name, inner=True)
        return tuple(x._like(v) for v in getattr(x._values, name)(n, at - 1))

    return of


RULES["chunk"], RULES["split"] = _parts("chunk"), _parts("split")


def _joined(rows: Any, x: NestedTensor) -> NestedTensor:
    at = x._ragged_idx - 1
    lengths = strided.tensor([0, *(t.shape[at] for t in rows)], device=x._values.device)
    return NestedTensor._of(strided.cat(list(rows), at), lengths.cumsum(0), at + 1, x._kind)


@_rule("cat", "concat", "concatenate")
def _cat(tensors: Any, dim: int = 0) -> NestedTensor:
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    at = _axis(first, dim)
    if at == 0:
        return _joined([row for t in tensors for row in t.unbind()], first)
    if not all(isinstance(t, NestedTensor) and t._ragged_idx == first._ragged_idx for t in tensors):
        raise RuntimeError("cat(): expected nested tensors with the same ragged axis")
    if at == first._ragged_idx:
        return _joined([strided.cat(rows, at - 1) for rows in zip(*(t.unbind() for t in tensors))], first)
    if any(t._ragged.lengths != first._ragged.lengths for t in tensors):
        raise RuntimeError("cat(): the lengths of the samples differ")
    return first._like(strided.cat([t._values for t in tensors], at - 1))


# ---------------------------------------------------------------- reductions


def _reduction(name: str) -> Callable[..., Any]:
    def of(x: NestedTensor, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        if dim is None:
            return getattr(x._values, name)(**options)
        dims = sorted({_axis(x, d) for d in ([dim] if isinstance(dim, int) else dim)})
        at = x._ragged_idx
        if at in dims and dims not in ([at], [0, at]):
            raise RuntimeError(
                f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
            )
        if dims == [at]:
            return _over_samples(name, x, keepdim, options)
        if dims == [0, at]:
            made = getattr(x._values, name)(at - 1, keepdim=keepdim, **options)
            return made.unsqueeze(0) if keepdim else made
        if 0 in dims:
            raise RuntimeError(f"{name}(): reducing across the batch dimension is not supported for nested tensors")
        inner = [d - 1 for d in dims]
        made = getattr(x._values, name)(inner[0] if len(inner) == 1 else inner, keepdim=keepdim, **options)
        ragged = at if keepdim else at - sum(d < at for d in dims)
        if isinstance(made, _C.Tensor):
            return x._like(made, ragged)
        return type(made)([x._like(part, ragged) for part in made])

    return of


_STARTS = {"sum": 0, "mean": 0, "prod": 1, "all": True, "any": False}


def _over_samples(name: str, x: NestedTensor, keepdim: bool, options: Any) -> Any:
    at = x._ragged_idx
    if name in ("max", "amax", "min", "amin"):
        limits = strided.finfo(x.dtype) if x.is_floating_point() else strided.iinfo(x.dtype)
        low = limits.min if "max" in name else limits.max
        start: Any = (-float("inf") if "max" in name else float("inf")) if x.is_floating_point() else low
    else:
        start = _STARTS[name]
    if name == "mean":
        made = padded(x, 0).sum(at, keepdim=keepdim, **options)
        counts = x._ragged.offsets.diff().to(made.dtype)
        return made / counts.view([-1] + [1] * (made.dim() - 1))
    return getattr(padded(x, start), name)(at, keepdim=keepdim, **options)


for _n in ("sum", "mean", "prod", "all", "any", "max", "amax", "min", "amin"):
    RULES[_n] = _reduction(_n)


def _soft(f: Callable[..., Tensor]) -> Callable[..., Any]:
    def of(x: NestedTensor, dim: int, *rest: Any, dtype: Any = None, **options: Any) -> NestedTensor:
        at = _axis(x, dim)
        if at == 0:
            raise RuntimeError("softmax(): not supported when reducing along the batch dimension for NestedTensor")
        if at == x._ragged_idx:
            return unpadded(x, f(padded(x, -float("inf")), at, dtype=dtype), at)
        return x._like(f(x._values, at - 1, dtype=dtype))

    return of


RULES["softmax"], RULES["log_softmax"] = _soft(strided.softmax), _soft(strided.log_softmax)


# ---------------------------------------------------------------- networks


def _last_axis(x: NestedTensor, name: str) -> None:
    if x._ragged_idx == x.dim() - 1:
        raise RuntimeError(f"{name}(): not supported for NestedTensor whose last axis is the ragged one")


@_rule("linear")
def _linear(input: NestedTensor, weight: Tensor, bias: Tensor | None = None) -> NestedTensor:
    _last_axis(input, "linear")
    return input._like(F.linear(input._values, weight, bias))


@_rule("matmul", "__matmul__", "bmm")
def _matmul(a: Any, b: Any) -> Any:
    if isinstance(a, NestedTensor) and not isinstance(b, NestedTensor) and b.dim() == 2:
        _last_axis(a, "matmul")
        return a._like(a._values @ b)
    if isinstance(a, NestedTensor) and isinstance(b, NestedTensor) and a._ragged.lengths == b._ragged.lengths:
        if a._ragged_idx == a.dim() - 2 and b._ragged_idx == b.dim() - 1:
            raise NotImplementedError("matmul: strided has no nested tensors with two ragged axes")
        if a._ragged_idx == a.dim() - 1 and b._ragged_idx == b.dim() - 2:
            return padded(a, 0) @ padded(b, 0)
    if isinstance(a, NestedTensor) and not isinstance(b, NestedTensor) and b.shape[0] == len(a._ragged):
        _last_axis(a, "matmul")
        return unpadded(a, padded(a, 0) @ b, a._ragged_idx)
    raise NotImplementedError("matmul: strided has no product of nested tensors of these shapes")


@_rule("layer_norm")
def _layer_norm(input: NestedTensor, normalized_shape: Any, *rest: Any, **options: Any) -> NestedTensor:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if input.dim() - len(shape) <= input._ragged_idx:
        raise RuntimeError("layer_norm(): normalizing over ragged dim not supported for nested tensors")
    return input._like(F.layer_norm(input._values, shape, *rest, **options))


@_rule("rms_norm")
def _rms_norm(input: NestedTensor, normalized_shape: Any, *rest: Any, **options: Any) -> NestedTensor:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if input.dim() - len(shape) <= input._ragged_idx:
        raise RuntimeError("rms_norm(): normalizing over ragged dim not supported for nested tensors")
    return input._like(F.rms_norm(input._values, shape, *rest, **options))


@_rule("normalize")
def _normalize(input: NestedTensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> NestedTensor:
    at = _axis(input, dim, "normalize", inner=True)
    return input._like(F.normalize(input._values, p, at - 1, eps))


@_rule("embedding")
def _embedding(input: NestedTensor, weight: Tensor, *rest: Any, **options: Any) -> NestedTensor:
    return input._like(F.embedding(input._values, weight, *rest, **options))


@_rule("scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    if attn_mask is not None:
        raise NotImplementedError("scaled_dot_product_attention: strided takes no attn_mask with nested tensors")
    first = next(t for t in (query, key, value) if isinstance(t, NestedTensor))
    for t in (query, key, value):
        if isinstance(t, NestedTensor) and t._ragged_idx != t.dim() - 2:
            raise RuntimeError(
                "scaled_dot_product_attention(): the ragged axis of nested tensors must be the last but one"
            )
    dense = [padded(t, 0) if isinstance(t, NestedTensor) else t for t in (query, key, value)]
    mask = None
    if isinstance(key, NestedTensor) and len(set(key._ragged.lengths)) > 1:
        counts = key._ragged.offsets.diff()
        there = strided.arange(dense[1].shape[-2], device=counts.device) < counts[:, None]
        mask = there.view(len(key._ragged), *[1] * (first.dim() - 2), -1)
        if is_causal:
            lower = strided.ones(
                dense[0].shape[-2], dense[1].shape[-2], dtype=strided.bool, device=counts.device
            ).tril()
            mask, is_causal = mask & lower, False
    made = F.scaled_dot_product_attention(
        *dense, attn_mask=mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )
    return unpadded(query, made, made.dim() - 2) if isinstance(query, NestedTensor) else made


# ---------------------------------------------------------------- gradients


@_rule("grad__get__")
def _grad(x: NestedTensor) -> Any:
    return None if x._values.grad is None else x._like(x._values.grad)


@_rule("grad__set__")
def _set_grad(x: NestedTensor, value: Any) -> None:
    x._values.grad = value._values if isinstance(value, NestedTensor) else value


@_rule("requires_grad_")
def _requires(x: NestedTensor, requires_grad: bool = True) -> NestedTensor:
    x._values.requires_grad_(requires_grad)
    return x


@_rule("backward")
def _backward(x: Any, gradient: Any = None, *rest: Any, **options: Any) -> None:
    given = gradient._values if isinstance(gradient, NestedTensor) else gradient
    (x._values if isinstance(x, NestedTensor) else x).backward(given, *rest, **options)


@_rule("grad")
def _gradients(outputs: Any, inputs: Any, grad_outputs: Any = None, *rest: Any, **options: Any) -> Any:
    def plain(t: Any) -> Any:
        if isinstance(t, (list, tuple)):
            return [plain(i) for i in t]
        return t._values if isinstance(t, NestedTensor) else t

    found = strided.autograd.grad(plain(outputs), plain(inputs), plain(grad_outputs), *rest, **options)
    given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return tuple(x._like(g) if isinstance(x, NestedTensor) and g is not None else g for x, g in zip(given, found))


@_rule("equal")
def _equal(a: Any, b: Any) -> bool:
    if not (isinstance(a, NestedTensor) and isinstance(b, NestedTensor)):
        return False
    return a._ragged.lengths == b._ragged.lengths and strided.equal(a._values, b._values)
