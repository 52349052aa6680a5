"""Public functions as the operations that they consist of in PyTorch: ``linear`` as ``t`` and ``addmm``, and so on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import _C
from . import call, run_backward

if TYPE_CHECKING:
    from .._typing import Callable, Tensor

_Tensor = _C.Tensor
COMPOSED: dict[str, Callable[..., Any]] = {}
# Functions written in Python that are one operation each.
PYTHON_LEAVES = frozenset("native_layer_norm native_batch_norm native_group_norm native_dropout".split())
_REDUCTION = {"none": 0, "mean": 1, "sum": 2}
_END = 2**63 - 1


def _composed(*names: str) -> Callable[..., Any]:
    """Under these names: a function of a public function's arguments."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            COMPOSED[name] = lambda func, args, kwargs: f(*args, **kwargs)
        return f

    return add


def _again(func: Any, args: Any, kwargs: Any) -> Any:
    """The public function itself, with the operations that it calls seen."""
    from . import _layer, redispatch_function, subclass_calls, subclasses

    if subclasses.objects(args, kwargs):
        return subclass_calls._through(func, (), args, kwargs)
    with _layer:
        return redispatch_function(func, (), args, kwargs)


# ---------------------------------------------------------------- products


@_composed("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is None or weight.dim() != 2:
        made = matmul(input, call("t", weight))
        return made if bias is None else call("add.Tensor", made, bias)
    if input.dim() == 2:
        return call("addmm", bias, input, call("t", weight))
    flat = reshape(input, [math.prod(input.shape[:-1]), input.shape[-1]])
    made = call("addmm", bias, flat, call("t", weight))
    return call("view", made, [*input.shape[:-1], weight.shape[0]])


@_composed("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    a, b = input, other
    dims = (a.dim(), b.dim())
    if 0 in dims:
        return a @ b  # the error
    if dims == (1, 1):
        return call("dot", a, b)
    if dims == (2, 1):
        return call("mv", a, b)
    if dims == (1, 2):
        return call("squeeze_.dim", call("mm", call("unsqueeze", a, 0), b), 0)
    if dims == (2, 2):
        return call("mm", a, b)
    if dims[0] >= 3 and dims[1] <= 2:
        flat = reshape(a, [math.prod(a.shape[:-1]), a.shape[-1]])
        made = call("mv" if dims[1] == 1 else "mm", flat, b)
        return call("_unsafe_view", made, [*a.shape[:-1], *b.shape[1:]])
    one, two = dims[0] == 1, dims[1] == 1
    a = call("unsqueeze", a, 0) if one else a
    b = call("unsqueeze", b, 1) if two else b
    batch = _broadcast(a.shape[:-2], b.shape[:-2])
    count, n, m, k = math.prod(batch), a.shape[-2], a.shape[-1], b.shape[-1]
    a = reshape(call("expand", a, [*batch, n, m]), [count, n, m])
    b = reshape(call("expand", b, [*batch, b.shape[-2], k]), [count, b.shape[-2], k])
    shape = [*batch, *([] if one else [n]), *([] if two else [k])]
    return call("_unsafe_view", call("bmm", a, b), shape)


@_composed("rmatmul")
def _rmatmul(input: Tensor, other: Tensor) -> Tensor:
    return matmul(other, input)


@_composed("einsum")
def _einsum(equation: Any, *operands: Any) -> Tensor:
    import strided

    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):  # tensors and lists of numbers, one behind the other
        given = [equation, *operands]
        words = ["".join("..." if i is Ellipsis else chr(0x61 + i) for i in given[k]) for k in range(1, len(given), 2)]
        out = f"->{''.join('...' if i is Ellipsis else chr(0x61 + i) for i in given[-1])}" if len(given) % 2 else ""
        return _einsum(",".join(words) + out, *given[: 2 * len(words) : 2])
    left, arrow, out = equation.replace(" ", "").partition("->")
    words = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        out = "..." * ("..." in left) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    # "..." as letters, aligned at its right end
    counts = [t.dim() - len(w.replace("...", "")) if "..." in w else 0 for w, t in zip(words, operands)]
    dots = "".join(chr(0x3B1 + i) for i in range(max([0, *counts])))
    words = [w.replace("...", dots[len(dots) - n :]) for w, n in zip(words, counts)]
    out = out.replace("...", dots)
    if any(len(set(w)) < len(w) for w in words):  # diagonals
        return call("einsum", equation, list(operands))
    if len(words) != len(operands) or any(len(w) != t.dim() for w, t in zip(words, operands)):
        return strided.einsum(equation, *operands)  # the error
    x, have = operands[0], words[0]
    for i, (t, word) in enumerate(zip(operands[1:], words[1:])):
        later = set("".join(words[i + 2 :]) + out)
        x, have = _contract(x, have, t, word, later)
    gone = [have.index(c) for c in have if c not in out]
    if gone:
        x, have = call("sum.dim_IntList", x, gone), "".join(c for c in have if c in out)
    order = [have.index(c) for c in out]
    return x if order == list(range(len(order))) else call("permute", x, order)


def _contract(a: Tensor, one: str, b: Tensor, two: str, kept: set[str]) -> tuple[Tensor, str]:
    """Two operands of einsum as one product of batches of matrices."""
    for which in (0, 1):  # axes of one operand that nobody else has are summed first
        t, own, other = (a, one, two) if which == 0 else (b, two, one)
        gone = [i for i, c in enumerate(own) if c not in other and c not in kept]
        if gone:
            t, own = call("sum.dim_IntList", t, gone), "".join(c for c in own if c in other or c in kept)
        a, one, b, two = (t, own, b, two) if which == 0 else (a, one, t, own)
    batch = [c for c in one if c in two and c in kept]
    inner = [c for c in one if c in two and c not in kept]
    rows, columns = [c for c in one if c not in two], [c for c in two if c not in one]
    sizes: dict[str, int] = {}
    for c, n in (*zip(one, a.shape), *zip(two, b.shape)):
        sizes[c] = max(n, sizes.get(c, n)) if n != 0 and sizes.get(c, n) != 0 else 0

    def matrices(t: Tensor, word: str, *groups: list[str]) -> Tensor:
        letters = [c for g in groups for c in g]
        t = call("permute", t, [word.index(c) for c in letters])
        if list(t.shape) != [sizes[c] for c in letters]:
            t = call("expand", t, [sizes[c] for c in letters])
        return reshape(t, [math.prod(sizes[c] for c in g) for g in groups])

    made = call("bmm", matrices(a, one, batch, rows, inner), matrices(b, two, batch, inner, columns))
    letters = [*batch, *rows, *columns]
    return call("view", made, [sizes[c] for c in letters]), "".join(letters)


def _tensordot(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = {**dict(zip(("a", "b", "dims"), args)), **kwargs}
    a, b, dims = given["a"], given["b"], given.get("dims", 2)
    if isinstance(dims, int):
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    elif isinstance(dims, _Tensor):
        left, right = dims.tolist()
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [d % a.dim() for d in left], [d % b.dim() for d in right]
    if [a.shape[d] for d in left] != [b.shape[d] for d in right]:
        return func(*args, **kwargs)  # the error
    rows, columns = ([d for d in range(t.dim()) if d not in own] for t, own in ((a, left), (b, right)))
    count = math.prod(a.shape[d] for d in left)
    made = call(
        "mm",
        reshape(call("permute", a, [*rows, *left]), [math.prod(a.shape[d] for d in rows), count]),
        reshape(call("permute", b, [*right, *columns]), [count, math.prod(b.shape[d] for d in columns)]),
    )
    return reshape(made, [*(a.shape[d] for d in rows), *(b.shape[d] for d in columns)])


COMPOSED["tensordot"] = _tensordot


def _broadcast(*shapes: Any) -> list[int]:
    import strided

    return list(strided.broadcast_shapes(*shapes))


def _where_of(func: Any, args: Any, kwargs: Any) -> Any:
    if func is _Tensor.where:  # (self, condition, other)
        given = {**dict(zip(("self", "condition", "other"), args)), **kwargs}
        return _where(given["condition"], given["self"], given["other"])
    return _where(*args, **kwargs)


COMPOSED["where"] = _where_of


def _where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None and other is None:
        return tuple(call("unbind.int", call("nonzero", condition), 1))
    import strided

    if not isinstance(condition, _Tensor) or not (isinstance(input, _Tensor) or isinstance(other, _Tensor)):
        return strided.where(condition, input, other)
    dtype = strided.result_type(input, other)
    a, b = (
        (call("_to_copy", v, dtype=dtype) if v.dtype != dtype else v)
        if isinstance(v, _Tensor)
        else call("scalar_tensor", v, dtype=dtype)
        for v in (input, other)
    )
    return call("where.self", condition, a, b)


@_composed("outer")
def _outer(input: Tensor, vec2: Tensor) -> Tensor:
    return call("mul.Tensor", call("view", input, [input.shape[0], 1]), vec2)


@_composed("rdiv")
def _rdiv(input: Tensor, other: Any) -> Tensor:
    return call("mul.Tensor", call("reciprocal", input), other)


@_composed("rpow")
def _rpow(input: Tensor, other: Any) -> Tensor:
    return call("pow.Scalar", other, input)


@_composed("square")
def _square(input: Tensor) -> Tensor:
    return call("pow.Tensor_Scalar", input, 2)


@_composed("square_")
def _square_(input: Tensor) -> Tensor:
    return call("pow_.Scalar", input, 2)


def _norm(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = dict(zip(("input", "p", "dim", "keepdim", "dtype"), args))
    given.update(kwargs)
    p, dim = given.get("p", "fro"), given.get("dim")
    if p not in ("fro", None) and (isinstance(p, str) or isinstance(dim, (list, tuple))):
        return func(*args, **kwargs)
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    options: list[Any] = [2 if p in ("fro", None) else p, dims, given.get("keepdim", False)]
    for default in (False, None, 2):
        if options[-1] != default:
            break
        options.pop()
    named = {"dtype": given["dtype"]} if given.get("dtype") is not None else {}
    return call("linalg_vector_norm", given.get("input", given.get("self")), *options, **named)


COMPOSED["norm"] = _norm


def _linalg_norm(func: Any, args: Any, kwargs: Any) -> Tensor:
    given = {**dict(zip(("A", "ord", "dim", "keepdim"), args)), **kwargs}
    x, ord, dim = given.get("A", given.get("input")), given.get("ord"), given.get("dim")
    one = isinstance(dim, int) or (dim is not None and len(dim) == 1) or (dim is None and x.dim() == 1)
    if isinstance(ord, str) or not (ord is None or one):
        return func(*args, **kwargs)
    dims = [dim] if isinstance(dim, int) else None if dim is None else list(dim)
    options: list[Any] = [2 if ord is None else ord, dims, given.get("keepdim", False)]
    for default in (False, None, 2):
        if options[-1] != default:
            break
        options.pop()
    named = {"dtype": given["dtype"]} if given.get("dtype") is not None else {}
    return call("linalg_vector_norm", x, *options, **named)


COMPOSED["linalg_norm"] = _linalg_norm


# ---------------------------------------------------------------- shapes


@_composed("reshape")
def _reshape(self: Any = None, *sizes: Any, input: Any = None, shape: Any = None) -> Tensor:
    if shape is None:
        shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return reshape(input if self is None else self, list(shape))


def reshape(x: Tensor, shape: list[int]) -> Tensor:
    """``view`` where the memory allows it, else a copy."""
    try:
        shape = list(_without_values(x).view(shape).shape)  # the question: nothing is copied, nothing is reported
    except RuntimeError:
        shape = list(_C.functions["empty"](tuple(x.shape), device=_C.device("meta")).view(shape).shape)
        return call("_unsafe_view", call("clone", x, memory_format=_contiguous()), shape)
    return call("view", x, shape)


def _without_values(x: Tensor) -> Tensor:
    """A tensor to ask about shapes: of a class with a ``__torch_dispatch__`` only the shape, strides and dtype."""
    if not hasattr(type(x), "__strided_dispatch__"):
        return x.detach()
    from .subclasses import shell

    return shell(x)


def _contiguous() -> Any:
    import strided

    return strided.contiguous_format


@_composed("flatten", "ravel")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    made = _without_values(input).flatten(start_dim, end_dim) if input.numel() < 2 else None
    n = input.dim()
    if made is None:
        a, b = (d + n if d < 0 else d for d in (start_dim, end_dim))
        if not 0 <= a <= b < max(n, 1):
            return input.flatten(start_dim, end_dim)  # the error
        shape = [*input.shape[:a], math.prod(input.shape[a : b + 1]), *input.shape[b + 1 :]]
    else:
        shape = list(made.shape)
    return input if shape == list(input.shape) else reshape(input, shape)


@_composed("unflatten")
def _unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    dim = dim + input.dim() if dim < 0 else dim
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = input.shape[dim] // max(-math.prod(sizes), 1)
    return call("view", input, [*input.shape[:dim], *sizes, *input.shape[dim + 1 :]])


@_composed("view_as", "reshape_as")
def _view_as(self: Tensor, other: Tensor) -> Tensor:
    return reshape(self, list(other.shape))


@_composed("expand_as")
def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    return call("expand", self, list(other.shape))


@_composed("broadcast_tensors")
def _broadcast_tensors(*tensors: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = _broadcast(*(t.shape for t in given))
    return tuple(t if list(t.shape) == shape else call("expand", t, shape) for t in given)


@_composed("broadcast_to")
def _broadcast_to(input: Tensor, size: Any) -> Tensor:
    return call("expand", input, list(size))


@_composed("movedim")
def _movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    n = input.dim()
    a, b = ([d % n for d in ([x] if isinstance(x, int) else x)] for x in (source, destination))
    rest = iter([d for d in range(n) if d not in a])
    return call("permute", input, [a[b.index(i)] if i in b else next(rest) for i in range(n)])


@_composed("narrow")
def _narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    return call("slice.Tensor", input, dim, start, start + length)


@_composed("chunk")
def _chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    size = -(-input.shape[dim] // chunks)
    return call("split.Tensor", input, size, *([dim] if dim else []))


@_composed("T__get__")
def _T(self: Tensor) -> Tensor:
    return call("permute", self, list(range(self.dim()))[::-1])


@_composed("mT__get__", "adjoint")
def _mT(self: Tensor) -> Tensor:
    if self.is_complex():
        return self.mT
    return call("transpose.int", self, -2, -1)


@_composed("H__get__")
def _H(self: Tensor) -> Tensor:
    return self.H if self.is_complex() else call("transpose.int", self, 0, 1)


@_composed("data__get__")
def _data(self: Tensor) -> Tensor:
    made = call("detach", self)
    return made if hasattr(type(made), "__strided_dispatch__") else made.detach()


@_composed("contiguous")
def _make_contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    kind = memory_format or _contiguous()
    if self.is_contiguous(memory_format=kind):
        return self
    return call("clone", self, memory_format=kind)


def _at_least(n: int) -> Callable[..., Any]:
    def of(*tensors: Any) -> Any:
        several = len(tensors) > 1 or isinstance(tensors[0], (list, tuple))
        given = tensors[0] if len(tensors) == 1 and several else tensors
        made = []
        for t in given:
            if t.dim() == 0 and n > 0:
                t = reshape(t, [1] * n)
            elif t.dim() == 1 and n > 1:
                t = call("unsqueeze", t, 0)
            if t.dim() == 2 and n > 2:
                t = call("unsqueeze", t, -1)
            made.append(t)
        return tuple(made) if several else made[0]

    return of


for _name, _dims in (("atleast_1d", 1), ("atleast_2d", 2), ("atleast_3d", 3)):
    _composed(_name)(_at_least(_dims))


@_composed("vstack", "row_stack")
def _vstack(tensors: Any) -> Tensor:
    return call("cat", [call("unsqueeze", t, 0) if t.dim() == 1 else t for t in tensors])


@_composed("hstack")
def _hstack(tensors: Any) -> Tensor:
    return call("cat", list(tensors), *([1] if tensors[0].dim() > 1 else []))


@_composed("msort")
def _msort(input: Tensor) -> Tensor:
    return call("sort", input, 0)[0]


@_composed("argsort")
def _argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Tensor:
    if stable is None:
        given = [dim, descending] if descending else [] if dim == -1 else [dim]
        return call("sort", input, *given)[1]
    options = {"dim": dim} if dim != -1 else {}
    return call("sort.stable", input, stable=stable, **options, **({"descending": True} if descending else {}))[1]


@_composed("__iter__")
def _iterate(self: Tensor) -> Any:
    return iter(call("unbind.int", self))


@_composed("__contains__")
def _contains(self: Tensor, element: Any) -> bool:
    kind = "Tensor" if isinstance(element, _Tensor) else "Scalar"
    return call("_local_scalar_dense", call("any", call(f"eq.{kind}", self, element)))


# ---------------------------------------------------------------- types and places


def _converted(func: Any, args: Any, kwargs: Any) -> Tensor:
    self = args[0]
    if hasattr(type(self), "__strided_dispatch__"):
        return _converted_class(func, self, args[1:], kwargs)
    made = func(*args, **kwargs)
    if made is self:
        return self
    options = {k: getattr(made, k) for k in ("dtype", "device") if getattr(made, k) != getattr(self, k)}
    return call("_to_copy", self, **(options or {"dtype": made.dtype}))


def _converted_class(func: Any, self: Tensor, args: Any, kwargs: Any) -> Tensor:
    """The same of a class with a ``__torch_dispatch__``: what its values are cannot be tried."""
    import strided

    kwargs = dict(kwargs)
    name, options = func.__name__, {}
    copies = kwargs.pop("copy", False)
    blocks = not kwargs.pop("non_blocking", False)
    format = kwargs.pop("memory_format", None)
    if name in ("to", "type_as") and args and isinstance(args[0], _Tensor):
        given = [args[0].dtype, *([args[0].device] if name == "to" else []), *args[1:]]
    elif name in ("to", "type"):
        other = kwargs.pop("other", None)
        given = [*args, kwargs.pop("dtype", None), kwargs.pop("device", None)]
        given += [other.dtype, other.device] if other is not None else []
    elif name == "cpu":
        given = ["cpu"]
    else:
        kind = {"chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}.get(name, name)
        given = [getattr(strided, kind)]
    flags = []
    for value in given:
        if isinstance(value, _C.dtype):
            options["dtype"] = value
        elif isinstance(value, bool):
            flags.append(value)
        elif isinstance(value, (str, int, _C.device)):
            options["device"] = _C.device(value)
    blocks, copies = blocks and not any(flags[:1]), copies or any(flags[1:2])
    if options.get("dtype") == self.dtype and not copies:
        del options["dtype"]
    if "device" in options and options["device"] == self.device and not copies:
        del options["device"]
    if format is not None and not options and not copies:
        return _make_contiguous(self, format) if format is not strided.preserve_format else self
    if not options and not copies:
        return self
    if not blocks:
        options["non_blocking"] = True
    if format is not None:
        options["memory_format"] = format
    return call("_to_copy", self, **options)


def _cuda(func: Any, args: Any, kwargs: Any) -> Tensor:
    if not hasattr(type(args[0]), "__strided_dispatch__"):
        return func(*args, **kwargs)
    return _cuda_class(*args, **kwargs)


COMPOSED["cuda"] = _cuda


def _cuda_class(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    place = _C.device("cuda") if device is None else _C.device("cuda", device) if isinstance(device, int) else device
    return self.to(place, non_blocking=non_blocking, memory_format=memory_format)


for _name in (
    "to type type_as float double half bfloat16 int long short char byte bool cfloat cdouble chalf cpu"
).split():
    COMPOSED[_name] = _converted


@_composed("item")
def _item(self: Tensor) -> Any:
    return call("_local_scalar_dense", self)


for _name in ("__bool__", "__int__", "__float__", "__complex__", "__index__"):
    _kind = {"__bool__": bool, "__int__": int, "__float__": float, "__complex__": complex, "__index__": int}[_name]
    COMPOSED[_name] = lambda func, args, kwargs, _kind=_kind: _kind(call("_local_scalar_dense", args[0]))


def _made(func: Any, args: Any, kwargs: Any) -> Tensor:
    made = func(*args, **kwargs)
    return made if args and isinstance(args[0], _Tensor) else call("lift_fresh", made)


for _name in ("tensor", "as_tensor", "asarray"):
    COMPOSED[_name] = _made


# ---------------------------------------------------------------- indexing


def _pieces(key: Any) -> list[Any]:
    return list(key) if isinstance(key, tuple) else [key]


def _view_of(x: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """The view of the basic pieces of a key, and the indices that are left for ``index``."""
    pieces = _pieces(key)
    if not any(p is Ellipsis for p in pieces):
        pieces.append(Ellipsis)
    dim, indices = 0, []
    for p in pieces:
        if p is Ellipsis:
            skipped = max(x.dim() - dim - _rest(pieces, p), 0)
            indices += [None] * skipped
            dim += skipped
        elif p is None:
            x = call("unsqueeze", x, dim)
            indices.append(None)
            dim += 1
        elif isinstance(p, slice):
            size = x.shape[dim]
            start, stop, step = (None if i is None else i.__index__() for i in (p.start, p.stop, p.step))
            if (start or 0) != 0 or (stop is not None and stop != _END and stop < size) or (step or 1) != 1:
                given = [start or 0, _END if stop is None else stop]
                x = call("slice.Tensor", x, dim, *given, *([step] if (step or 1) != 1 else []))
            indices.append(None)
            dim += 1
        elif hasattr(p, "__index__") and not isinstance(p, _Tensor):
            x = call("select.int", x, dim, p.__index__())
        elif isinstance(p, _Tensor) and p.dim() == 0 and p.dtype is not _bool_dtype():
            x = call("select.int", x, dim, int(p))
        else:
            p = p if isinstance(p, _Tensor) else call("lift_fresh", _tensor(p))
            indices.append(p)
            dim += p.dim() if p.dtype is _bool_dtype() else 1
    while indices and indices[-1] is None:
        indices.pop()
    return x, indices


def _rest(pieces: list[Any], ellipsis: Any) -> int:
    """How many axes the pieces behind the ellipsis take."""
    count = 0
    for p in pieces[next(i for i, q in enumerate(pieces) if q is ellipsis) + 1 :]:
        if isinstance(p, _Tensor) and p.dtype is _bool_dtype():
            count += p.dim()
        elif p is not None and not isinstance(p, bool):
            count += 1
    return count


def _bool_dtype() -> Any:
    import strided

    return strided.bool


def _tensor(value: Any, **options: Any) -> Tensor:
    import strided

    return strided.tensor(value, **options)


def _plain(key: Any) -> bool:
    """Are the pieces of a key of the kinds that are taken apart?"""
    return not any(isinstance(p, bool) or type(p).__module__ == "numpy" for p in _pieces(key))


@_composed("__getitem__")
def _getitem(self: Tensor, key: Any) -> Tensor:
    if not _plain(key) or not self.dim() and _pieces(key) not in ([Ellipsis], [None], []):
        return call("index.Tensor", self, _pieces(key))
    view, indices = _view_of(self, key)
    if not indices:
        return view if view is not self else call("alias", self)
    return call("index.Tensor", view, indices)


@_composed("__setitem__")
def _setitem(self: Tensor, key: Any, value: Any) -> None:
    if not _plain(key):
        self[key] = value
        return
    number = not isinstance(value, _Tensor)
    if number:
        value = call("lift_fresh", _tensor(value, dtype=self.dtype, device=self.device))
    view, indices = _view_of(self, key)
    if indices:
        call("index_put_", view, indices, value)
    elif number and value.dim() == 0:
        call("fill_.Tensor", view, value)
    else:
        call("copy_", view, value)


# ---------------------------------------------------------------- backward passes


def _backward(func: Any, args: Any, kwargs: Any) -> None:
    self, *rest = args
    if not rest and kwargs.get("gradient") is None and self.numel() == 1 and self.requires_grad:
        kwargs = {**kwargs, "gradient": call("ones_like", self)}
    run_backward(func, (), (self, *rest), kwargs)


COMPOSED["backward"] = _backward


def _gradient(func: Any, args: Any, kwargs: Any) -> Any:
    outputs = args[0] if args else kwargs["outputs"]
    if isinstance(outputs, _Tensor) and outputs.requires_grad and outputs.numel() == 1 and len(args) < 3:
        if kwargs.get("grad_outputs") is None:
            kwargs = {**kwargs, "grad_outputs": call("ones_like", outputs)}
    return run_backward(func, (), args, kwargs)


COMPOSED["grad"] = _gradient

from . import composites_nn  # noqa: E402, F401
