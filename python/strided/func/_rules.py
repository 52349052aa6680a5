"""Batching rules: what a function does with all samples at once (see ``_batched.py``).

Most follow from a family.  Elementwise functions (those of the op table) broadcast, so the axes of the batch only have
to stand in front of all others.  Functions along axes get these counted from the end, where the batch does not move
them.  Reductions of everything reduce all axes but those of the batch.  The rest is stated here, once, in terms of
other functions of the tensors that the function under vmap sees.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING

from .. import _C, _dispatch
from .._calls.elementwise import OPERATORS, elementwise_names
from ..autograd.grad_mode import no_grad
from . import _batched
from ._batched import (
    NO_REQUIRES_GRAD,
    BatchedTensor,
    OnlyOne,
    Tensor,
    again,
    aligned,
    batched,
    expanded,
    negative,
    union,
)
from ._random import draw_batched

if TYPE_CHECKING:
    from .._typing import Any

_f = _C.functions

RULES: dict[str, Any] = {}  # of functions of the compiled core, by name, without "Tensor."
COMPOSED: dict[str, Any] = {}  # of functions written in Python, where their parts do not say it
_known: dict[Any, Any] = {}


def rule(names, *tables):
    """Decorator: the rule for these functions.  rule(func, args, kwargs)"""

    def register(function):
        for table in tables or (RULES,):
            table.update(dict.fromkeys(names.split(), function))
        return function

    return register


def by_calls(names, *tables):
    """Decorator: the rule is a function of what the function under vmap gives, made of other functions."""

    def register(function):
        parameters = inspect.signature(function).parameters.values()
        known = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)

        def of_batch(func, args, kwargs):
            # Names that the rule takes one by one, as in repeat(repeats=...).
            if not takes_all and not kwargs.keys() <= known and hasattr(func, "_bind"):
                args, kwargs = _in_places(*bind(func, args, kwargs))
            return function(*args, **kwargs)

        return rule(names, *tables)(of_batch) and function

    return register


def rule_of(func: Any) -> Any:
    """The rule for a function as ``__torch_function__`` gets it."""
    try:
        return _known[func]
    except KeyError:
        found = _known[func] = _find(func)
        return found


_batched.rule_of = rule_of


# Functions whose arguments are asked about for one sample: for the whole batch, with an axis more, what one sample may
# not have may pass.
_ASKED = frozenset(
    "dot vdot trace cov corrcoef diag diagflat group_norm prelu conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d linalg.cross cross roll flip flipud fliplr rot90 narrow narrow_copy renorm masked_scatter "
    "unbind select chunk split split_with_sizes diff unflatten "
    "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.hfft2 fft.ihfft2 "
    "fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn".split()
)


def _as_one(value: Any) -> Any:
    """An argument as one sample has it, without its values."""
    if isinstance(value, Tensor):
        return _batched._shell(value.shape, value.dtype)
    return type(value)(map(_as_one, value)) if type(value) in (tuple, list) else value


def _asked(rule: Any) -> Any:
    """The rule, after the function was called for one sample on device meta, which raises what it does not take."""

    def of_batch(func: Any, args: Any, kwargs: Any) -> Any:
        if not _dispatch.state.modes:  # they would be told of it
            named = {k: _as_one(v) for k, v in kwargs.items() if k != "device"}
            with no_grad(), contextlib.suppress(NotImplementedError):  # what depends on data
                func(*map(_as_one, args), **named)
        return rule(func, args, kwargs)

    return of_batch


def _find(func):
    name = getattr(func, "__qualname__", func.__name__).removeprefix("Tensor.")
    return _asked(_rule_for(func)) if name in _ASKED else _rule_for(func)


def _rule_for(func):
    if isinstance(func, _C.Function):
        return _for_name(func.__qualname__.removeprefix("Tensor."), func)
    if isinstance(func, _C.OverridableFunction):
        # A function made of others: these have the rules.
        return COMPOSED.get(func.__name__) or (lambda func, args, kwargs: func.__wrapped__(*args, **kwargs))
    owner = getattr(func, "__self__", None)
    if inspect.isgetsetdescriptor(owner):
        return _property(owner, func.__name__)
    name = func.__name__
    if name in RULES:
        return RULES[name]
    if name in vars(BatchedTensor):
        return lambda func, args, kwargs: vars(BatchedTensor)[name](*args, **kwargs)
    return missing(name)


def _for_name(name, func):
    if any(p[1] == "Generator?" for params in _parameters(func) for p in params):
        return lambda func, args, kwargs: draw_batched(func, args, kwargs)
    if name in RULES:
        return RULES[name]
    if name.endswith("_") and not name.startswith("_") and name[:-1] in RULES:
        return _in_place(name)
    return missing(name)


def missing(name):
    """The rule of a function that has none."""

    def stop(func, args, kwargs):
        # (A backward pass in the function may make what no graph leads to.)
        raise (RuntimeError if name == "_backward" else OnlyOne)(
            f"vmap: there is no batching rule for {name}, and a loop over the samples is not made silently: "
            "call it outside of vmap, or for each sample"
        )

    return stop


# ---------------------------------------------------------------- arguments


@functools.lru_cache(None)
def _parameters(func):
    return [[(p[0], p[1], p[2]) for p in params] for params, _, _ in func.overloads]


def _tensors(values):
    for v in values:
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, (tuple, list)):
            yield from (t for t in v if isinstance(t, Tensor))


def bind(func: Any, args: Any, kwargs: Any) -> tuple[list[tuple[str, str, str]], dict[str, Any]]:
    """(name, type, kind) of each parameter of the overload that is called, and the values by name."""
    which, values = func._bind(*args, **kwargs)
    parameters = _parameters(func)[which]
    found = {p[0]: v for p, v in zip(parameters, values)}
    if found.pop("out", None) is not None:
        raise RuntimeError(f"vmap: {func.__name__} with out= has no batching rule: use its result")
    return [p for p in parameters if p[0] != "out"], found


def _in_places(parameters: Any, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Bound values as positional arguments, and those that have to be named."""
    positional = [values[name] for name, _, kind in parameters if kind != "keyword"]
    return positional, {name: values[name] for name, _, kind in parameters if kind == "keyword"}


def call(func: Any, parameters: Any, values: dict[str, Any]) -> Any:
    """func with these values."""
    positional, named = _in_places(parameters, values)
    return func(*positional, **named)


def sizes_of(given: Any) -> Any:
    """Arguments that may stand one by one or in one list."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


# ---------------------------------------------------------------- elementwise


def _common_dtype(tensors, others):
    """The dtype that tensors of these shapes promote to where one of them is 0-d, which the batch hides."""
    parts = [_f["empty"]((0,) if t.ndim else (), dtype=t.dtype) for t in tensors] + others
    found = parts[0]
    for part in parts[1:]:
        found = _f["empty"]((0,) if getattr(found, "ndim", 0) or getattr(part, "ndim", 0) else (),
                            dtype=_f["result_type"](found, part))  # fmt: skip
    return found.dtype


def _operands(args, kwargs, levels, promotes=True):
    """The arguments as plain tensors that broadcast."""
    tensors = list(_tensors((*args, *kwargs.values())))
    ndim = max(t.ndim for t in tensors)
    values = [t for t in tensors if t.dtype is not _C.bool]
    cast = None
    if promotes and len({t.dtype for t in values}) > 1 and any(t.ndim == 0 for t in values) and ndim:
        cast = _common_dtype(values, [])
    elif promotes and len({t.dtype for t in values}) > 1 and ndim == 0:
        cast = _common_dtype(values, [])

    def plain(x):
        if not isinstance(x, Tensor):
            return x
        value = aligned(x, levels, ndim) if type(x) is BatchedTensor else x
        return value if cast is None or x.dtype is _C.bool else value.to(cast)

    return [plain(a) for a in args], {k: plain(v) for k, v in kwargs.items()}


def elementwise(func: Any, args: Any, kwargs: Any) -> Any:
    """The axes of the batch in front of all others, then as ever."""
    if kwargs.get("out") is not None:
        raise RuntimeError(f"vmap: {func.__name__} with out= has no batching rule: use its result")
    if len(args) == 1 and not kwargs:
        (x,) = args
        return batched(func(x._value), x._levels)
    levels = union((*args, *kwargs.values()))
    args, kwargs = _operands(args, kwargs, levels)
    return again(func(*args, **kwargs), levels)


def _own(name, target, levels):
    """What a write in place is made to; RuntimeError where the target is one and the values are many."""
    if type(target) is not BatchedTensor or any(level not in target._levels for level in levels):
        raise OnlyOne(
            f"vmap: inplace arithmetic is not possible: {name} would write values that differ from sample to sample to a "
            "tensor that is one for all samples. Use an out-of-place operation, or a tensor that is vmapped over."
        )
    return target._value


def elementwise_in_place(func: Any, args: Any, kwargs: Any) -> Any:
    """The same, into the first argument."""
    target = args[0]
    levels = union((*args, *kwargs.values()))
    into = _own(func.__name__, target, levels)
    others, named = _operands((target, *args[1:]), kwargs, levels, promotes=False)
    func(into, *others[1:], **named)
    return target


def _in_place(name):
    """In-place form of a function with a rule: its result, written to the tensor, or its shape taken on."""
    plain = name[:-1]
    function = _f.get(plain) or _f.get(f"Tensor.{plain}")
    reshapes = plain in "t transpose swapdims swapaxes squeeze unsqueeze".split()

    def run(func, args, kwargs):
        target, *rest = args
        result = function(target, *rest, **kwargs)
        if reshapes:
            target._value = result._value
            return target
        return target.copy_(result)

    return run


for _name in (*elementwise_names(), "clamp", "clip", "fill", "copy"):
    RULES[_name], RULES[f"{_name}_"] = elementwise, elementwise_in_place
rule("complex polar")(elementwise)


@rule("where")
def _where(func, args, kwargs):
    return (
        missing("where with a condition only")(func, args, kwargs)
        if len(args) + len(kwargs) == 1
        else elementwise(func, args, kwargs)
    )


@rule(
    "clone contiguous detach to _convert type type_ type_as cpu cuda zeros_like ones_like empty_like full_like "
    "resolve_conj resolve_neg conj zero_ _with_steady_gradient "
    + " ".join(d._traits["method"] for d in _C.dtypes if d._traits["method"]),
    RULES,
    COMPOSED,
)
def same(func: Any, args: Any, kwargs: Any) -> Any:
    """Each element for itself, or the shape as it is: nothing to move."""
    levels = union((*args, *kwargs.values()))
    if any(isinstance(a, Tensor) and getattr(a, "_levels", ()) != levels for a in args[:1]):
        args = (batched(expanded(args[0], levels), levels), *args[1:])
    plain = [getattr(a, "_value", a) if type(a) is BatchedTensor else a for a in args]
    named = {k: v._value if type(v) is BatchedTensor else v for k, v in kwargs.items()}
    result = func(*plain, **named)
    return args[0] if result is plain[0] else again(result, levels)


@rule("requires_grad_", RULES, COMPOSED)
def _requires_grad(func: Any, args: Any, kwargs: Any) -> Any:
    raise RuntimeError(NO_REQUIRES_GRAD)


# ---------------------------------------------------------------- along axes

AXES = {"dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "dimension", "source",
        "destination"}  # fmt: skip


def _from_end(axes, n):
    return [negative(d, n) for d in axes] if isinstance(axes, (tuple, list)) else negative(axes, n)


def along(func: Any, args: Any, kwargs: Any, added: int = 0, widest: bool = False) -> Any:
    """All tensors get the batch in front, and axes are counted from the end.

    added: axes that the result has more, for functions that say where; widest: tensors of fewer axes than the widest
    get axes of size 1.
    """
    parameters, values = bind(func, args, kwargs)
    tensors = list(_tensors(values.values()))
    levels = union(tensors)
    n = max(t.ndim for t in tensors) if widest else tensors[0].ndim
    # One number has no axis: it gets one for the time of the call.
    bare = n == 0 and not added and any(name in AXES for name, _, _ in parameters)

    def plain(t):
        value = expanded(t, levels, n if widest else None)
        return value.unsqueeze(-1) if bare and t.ndim == 0 else value

    for name, kind, _ in parameters:
        value = values[name]
        if isinstance(value, Tensor):
            values[name] = plain(value)
        elif kind == "Tensor[]" and value is not None:
            values[name] = [plain(t) for t in value]
        elif name in AXES and value is not None and not (name == "dims" and kind == "int"):
            values[name] = _from_end(value, max(n, bare) + added)
    result = call(func, parameters, values)
    if not bare or (func.__name__ == "gather" and tensors[1].ndim):
        return again(result, levels)
    return again(result, levels, lambda t: t.squeeze(-1) if t.ndim > len(levels) else t)


@rule("cat concat concatenate")
def joined(func: Any, args: Any, kwargs: Any) -> Any:
    """As `along`, without vectors of no elements, which fit tensors of any number of axes."""
    _, values = bind(func, args, kwargs)
    tensors = values["tensors"]
    rest = [t for t in tensors if t.ndim != 1 or t.shape[0]]
    if not rest or len(rest) == len(tensors) or all(t.ndim == 1 for t in rest):
        return along(func, args, kwargs)
    dtype = functools.reduce(_f["promote_types"], [t.dtype for t in tensors])
    return func([t.to(dtype) for t in rest], values["dim"])


def matrices(func: Any, *tensors: Tensor) -> None:
    """RuntimeError where a sample has no axes for rows and columns: an axis of the batch would be taken for one."""
    for t in tensors:
        if t.ndim < 2:
            raise RuntimeError(f"{func.__name__}: The input tensor must have at least 2 dimensions.")


def _along_matrices(func: Any, args: Any, kwargs: Any, every: bool = False) -> Any:
    """As `along`, for functions of matrices: the first tensor, or every one."""
    _, values = bind(func, args, kwargs)
    tensors = list(_tensors(values.values()))
    matrices(func, *(tensors if every else tensors[:1]))
    return along(func, args, kwargs, widest=every)


rule(
    "softmax log_softmax special.softmax special.log_softmax cumsum cumprod logcumsumexp cummax cummin diff sort argsort "
    "kthvalue mode flip rot90 narrow narrow_copy select chunk split split_with_sizes unbind unfold movedim "
    "moveaxis transpose swapdims swapaxes unflatten diagonal gather scatter scatter_add "
    "scatter_reduce slice_scatter select_scatter diagonal_scatter tril triu real imag view_as_real "
    "view_as_complex unsafe_chunk unsafe_split"
)(along)
rule(
    "adjoint linalg.inv inverse linalg.inverse linalg.inv_ex det linalg.det logdet slogdet linalg.slogdet linalg.lu "
    "linalg.lu_factor linalg.lu_factor_ex lu lu_unpack linalg.cholesky cholesky linalg.cholesky_ex cholesky_inverse "
    "matrix_power linalg.matrix_power linalg.matrix_norm linalg.matrix_transpose linalg.qr qr geqrf "
    "linalg.householder_product orgqr ormqr linalg.svd linalg.svdvals svd linalg.eigh linalg.eigvalsh linalg.eig "
    "linalg.eigvals pinverse linalg.ldl_factor linalg.ldl_factor_ex matrix_exp linalg.matrix_exp "
    "linalg.trace linalg.cond linalg.diagonal"
)(_along_matrices)
rule("unsqueeze diag_embed stack")(functools.partial(along, added=1))
rule("linalg.vecdot linalg.cross")(functools.partial(along, widest=True))
rule("linalg.solve_triangular triangular_solve cholesky_solve cdist")(functools.partial(_along_matrices, every=True))


@rule("linalg.vander")
def _vander(func: Any, args: Any, kwargs: Any) -> Any:
    """Along the last axis; one number is a vector of one element, and its result has the axis."""
    _, values = bind(func, args, kwargs)
    x = values.pop("x")
    return along(func, (x if x.ndim else x.unsqueeze(0),), values)


@rule("topk")
def _topk(func, args, kwargs):
    parameters, values = bind(func, args, kwargs)
    return along(func, (values["input"], values["k"], -1 if values["dim"] is None else values["dim"], values["largest"],
                        values["sorted"]), {})  # fmt: skip


# ---------------------------------------------------------------- reductions


@rule(
    "sum nansum prod mean nanmean count_nonzero var std var_mean std_mean amax amin aminmax max min argmax argmin all any "
    "median nanmedian norm linalg.vector_norm quantile nanquantile logsumexp special.logsumexp"
)
def reduction(func: Any, args: Any, kwargs: Any) -> Any:
    """Along the axes given, or along all that the function under vmap sees."""
    parameters, values = bind(func, args, kwargs)
    if "other" in values:
        return elementwise(func, args, kwargs)
    x, dim, keepdim = values.pop("input"), values.pop("dim", None), values.pop("keepdim", False)
    name, q = func.__name__, values.get("q")
    levels = union([x, q])
    value, k = expanded(x, levels), len(levels)
    if dim is None or dim == () or dim == []:
        kept = [1] * x.ndim if keepdim else []
        if values.get("p") == "nuc":
            value, dim, kept = value, (-2, -1), kept
        else:
            value, dim = value.reshape(*value.shape[:k], x.numel()), -1
        no_axis = "dim" not in {p[0] for p in parameters}
        if no_axis and name in ("max", "min"):
            func = _f[f"a{name}"]
    else:
        value, kept = (value if x.ndim else value.unsqueeze(-1)), None
        dim, no_axis = _from_end(dim, x.ndim or 1), False
        if keepdim and x.ndim:
            values["keepdim"] = True
    rest = {n: v for n, v in values.items() if n != "q"}
    if q is not None:
        return _quantiles(func, value, q, dim, kept, rest, levels)
    result = func(value, dim=dim, **rest)
    if no_axis and name in ("median", "nanmedian"):
        result = result.values
    return again(result, levels, (lambda t: t.reshape(*t.shape[:k], *kept)) if kept else None)


def _quantiles(func, value, q, dim, kept, rest, levels):
    if type(q) is BatchedTensor:
        raise RuntimeError(f"vmap: {func.__name__} has no batching rule for q that differs from sample to sample")
    k, many = len(levels), isinstance(q, Tensor) and q.ndim == 1

    def bring(t):  # the axis of q comes first
        t = t.movedim(0, k) if many else t
        return t.reshape(*t.shape[: k + many], *kept) if kept else t

    return again(func(value, q, dim=dim, **rest), levels, bring)


@rule("linalg.norm")
def _norm(func, args, kwargs):
    _, values = bind(func, args, kwargs)
    x, order, dim = values.pop("input"), values.pop("ord"), values.pop("dim")
    axes = 1 if isinstance(dim, int) else len(dim) if dim is not None else x.ndim
    if order is None or axes == 1:
        return _f["linalg.vector_norm"](x, 2 if order is None else order, dim, **values)
    return _f["linalg.matrix_norm"](x, order, (-2, -1) if dim is None else dim, **values)


@by_calls("dist")
def _dist(input, other, p=2):
    return _f["linalg.vector_norm"](input - other, p)


@by_calls("msort")
def _msort(input):
    return input.sort(0).values


# ---------------------------------------------------------------- answers that are no tensors


@rule("result_type")
def _result_type(func, args, kwargs):
    # A number for each sample is a number here, too: it counts less than a tensor with axes.
    def shaped(a):
        return _f["empty"]((), dtype=a.dtype).expand(a.shape) if type(a) is BatchedTensor else a

    return func(*map(shaped, args), **{k: shaped(v) for k, v in kwargs.items()})


@rule("fill_")
def _fill(func, args, kwargs):
    target, value = bind(func, args, kwargs)[1].values()
    if type(value) is not BatchedTensor:
        return elementwise_in_place(func, args, kwargs)
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    _own("fill_", target, value._levels)
    return target.copy_(value)


@rule("is_floating_point is_complex is_signed is_pinned _has_record")
def _of_dtype(func, args, kwargs):
    return func(*[a._value if type(a) is BatchedTensor else a for a in args], **kwargs)


@by_calls("numel")
def _numel(input):
    return input.shape.numel()


@by_calls("is_same_size")
def _is_same_size(input, other):
    return input.shape == other.shape


@rule("equal allclose is_nonzero __contains__")
def _decides(func, args, kwargs):
    raise OnlyOne(
        f"vmap: {func.__name__} gives a bool, which would differ from sample to sample: data-dependent control flow is "
        "not supported. Use where() or the like."
    )


@by_calls("nonzero_static", COMPOSED)
def _nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    flat = (input != 0).reshape(-1)
    # The places that count come first, in their order.
    places = _f["sort"](flat.logical_not(), stable=True).indices[:size]
    axes = [places // input.shape[d + 1 :].numel() % input.shape[d] for d in range(input.ndim)]
    found = _f["stack"](axes, -1) if axes else places.reshape(-1, 1)[:, :0]
    count = _f["arange"](len(places), device=input.device) < flat.sum()
    found = found.masked_fill(count.logical_not().unsqueeze(-1), fill_value)
    return _f["cat"]([found, found.new_full((size - len(places), input.ndim), fill_value)])


@rule("nonzero argwhere masked_select unique unique_consecutive bincount")
def _dynamic(func, args, kwargs):
    raise OnlyOne(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{func.__name__}, whose result has another shape for each sample."
    )


# ---------------------------------------------------------------- operators and properties

for _name, (_plain, _swapped) in OPERATORS.items():
    _function = _f.get(_plain) or _f[f"Tensor.{_plain}"]
    by_calls(_name)(functools.partial(lambda f, a, b: f(b, a), _function) if _swapped else _function)


_PROPERTIES = {
    "T": lambda x: x.permute(tuple(reversed(range(x.ndim)))),
    "mT": lambda x: x.transpose(-1, -2),
    "H": lambda x: x.T.conj() if x.ndim == 2 else x.mH,
    "mH": lambda x: x.transpose(-1, -2).conj(),
    "real": lambda x: batched(x._value.real, x._levels),
    "imag": lambda x: batched(x._value.imag, x._levels),
    "data": lambda x: batched(x._value.data, x._levels),
    "grad": lambda x: None if x._value.grad is None else batched(x._value.grad, x._levels),
}


def _property(owner, access):
    name = owner.__name__
    if access == "__get__" and name in _PROPERTIES:
        return lambda func, args, kwargs: _PROPERTIES[name](args[0])
    if access == "__get__" and name in vars(BatchedTensor):
        return lambda func, args, kwargs: getattr(args[0], name)
    if access == "__get__":
        return lambda func, args, kwargs: getattr(args[0]._value, name)

    def assign(func, args, kwargs):
        raise RuntimeError(f"vmap: the attribute {name} of a tensor under vmap cannot be assigned to")

    return assign
