"""Which operation of ``ops.aten`` a public function is: its name, its overload, its arguments in PyTorch's order."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from .. import _C, ops
from .._calls.elementwise import OPERATORS
from ..overrides import _names

if TYPE_CHECKING:
    from .._typing import Callable

_Tensor = _C.Tensor

# Questions, and what is about Python: no operations.
_SILENT = frozenset(
    """
dim size numel nelement stride storage_offset is_contiguous is_complex is_floating_point is_tensor is_signed is_neg
is_conj is_inference is_nonzero is_same_size is_set_to is_pinned is_shared is_storage is_coalesced data_ptr
element_size storage storage_type untyped_storage type get_device has_names ndimension names dim_order apply_ map_
requires_grad_ register_hook register_post_accumulate_grad_hook retain_grad result_type can_cast promote_types
broadcast_shapes numpy __array__ __array_wrap__ tolist __len__ __repr__ __str__ __format__ __hash__ __dir__ __reduce__
__reduce_ex__ __deepcopy__ __setstate__ __dlpack__ __dlpack_device__ __array_namespace__ as_subclass
_make_subclass share_memory_ is_grad_enabled is_inference_mode_enabled set_ resolve_conj resolve_neg conj positive
get_default_dtype is_autocast_enabled detach_ _is_view is_same __torch_function__ from_numpy from_dlpack frombuffer
data_ptr pin_memory to_dense record_stream seed manual_seed initial_seed get_rng_state set_rng_state _version
compiled_with_cxx11_abi is_distributed refine_names rename_ rename align_to align_as _has_compatible_shallow_copy_type
_make_wrapper_subclass
""".split()
)

_DUNDER = {name: function for name, (function, _) in OPERATORS.items()} | {
    "__rsub__": "rsub", "__rpow__": "rpow", "__rtruediv__": "rdiv", "__rdiv__": "rdiv",
    "__matmul__": "matmul", "__rmatmul__": "rmatmul",
}  # fmt: skip
# Operations of a number and a tensor, in this order; those that do not mind the order have the tensor first.
_REFLECTED = frozenset("__rfloordiv__ __rmod__ __rlshift__ __rrshift__".split())
_SAME = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "concat": "cat",
    "concatenate": "cat", "clip": "clamp", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arccosh": "acosh",
    "arcsinh": "asinh", "arctanh": "atanh", "arctan2": "atan2", "fix": "trunc", "swapaxes": "transpose",
    "swapdims": "transpose", "moveaxis": "movedim", "det": "linalg_det", "inverse": "linalg_inv_ex", "ger": "outer",
    "cross": "linalg_cross", "matrix_exp": "linalg_matrix_exp", "special_expit": "sigmoid",
}  # fmt: skip

_ALWAYS_TENSOR = frozenset("add sub mul div add_ sub_ mul_ div_ floor_divide_".split())
_BY_OTHER = frozenset(
    "eq ne lt le gt ge remainder fmod bitwise_and bitwise_or bitwise_xor rsub copysign xlogy ldexp "
    "bitwise_left_shift bitwise_right_shift float_power".split()
)
_NUMBER_FIRST = frozenset("remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split())
_BY_FIXED = {
    "transpose": "int", "select": "int", "unbind": "int", "slice": "Tensor", "empty": "memory_format",
    "index": "Tensor",
    "scatter_reduce": "two", "bucketize": "Tensor", "searchsorted": "Tensor", "isin": "Tensor_Tensor",
    "frexp": "Tensor",
    "var": "correction", "std": "correction", "var_mean": "correction", "std_mean": "correction", "split": "Tensor",
}  # fmt: skip
_LISTS = {  # arguments that are lists, at this place
    "sum": 1, "mean": 1, "amax": 1, "amin": 1, "flip": 1, "permute": 1, "view": 1, "expand": 1, "reshape": 1,
    "repeat": 1,
    "logsumexp": 1, "nansum": 1, "nanmean": 1, "zeros": 0, "ones": 0, "empty": 0, "rand": 0, "randn": 0, "full": 0,
    "new_zeros": 1, "new_ones": 1, "new_empty": 1, "new_full": 1, "roll": 1, "tile": 1, "randint": -1,
    "var": 1, "std": 1, "var_mean": 1, "std_mean": 1,
}  # fmt: skip


def _is_tensor(args: list[Any], at: int) -> bool:
    return len(args) > at and isinstance(args[at], _Tensor)


def _of_several(kind: str) -> Callable[[list[Any], dict[str, Any]], str]:
    """Those that are called otherwise when they have more arguments than one."""
    return lambda args, kwargs: kind if len(args) > 1 else "default"


def _one_axis_or_several(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "default" if len(args) < 2 else "dims" if isinstance(args[1], (list, tuple)) else "dim"


def _by_argument(at: int, tensor: str, number: str) -> Callable[[list[Any], dict[str, Any]], str]:
    """Those of which one argument is a tensor or a number."""
    return lambda args, kwargs: tensor if _is_tensor(args, at) else number


def _pow(args: list[Any], kwargs: dict[str, Any]) -> str:
    if not isinstance(args[0], _Tensor):
        return "Scalar"
    return "Tensor_Tensor" if _is_tensor(args, 1) else "Tensor_Scalar"


def _clamp(args: list[Any], kwargs: dict[str, Any]) -> str:
    return "Tensor" if any(isinstance(a, _Tensor) for a in (*args[1:], *kwargs.values())) else "default"


def _where(args: list[Any], kwargs: dict[str, Any]) -> str:
    kinds = [isinstance(a, _Tensor) for a in args[1:3]]
    return {(True, True): "self", (False, True): "ScalarSelf", (True, False): "ScalarOther",
            (False, False): "Scalar"}.get(tuple(kinds), "default")  # fmt: skip


def _scatter(args: list[Any], kwargs: dict[str, Any]) -> str:
    if "reduce" in kwargs:
        return "reduce" if _is_tensor(args, 3) else "value_reduce"
    return "src" if _is_tensor(args, 3) else "value"


# What the overload depends on, by the operation's name; that of an operation in place is looked up first, and then the
# name without its "_".
_RULES: dict[str, Callable[[list[Any], dict[str, Any]], str]] = {
    "pow": _pow,
    "pow_": _by_argument(1, "Tensor", "Scalar"),
    "sum": _of_several("dim_IntList"),
    "prod": _of_several("dim_int"),
    **dict.fromkeys(("mean", "max", "min", "median", "nanmedian"), _of_several("dim")),
    **dict.fromkeys(("any", "all", "squeeze"), _one_axis_or_several),
    **dict.fromkeys(("clamp", "clamp_min", "clamp_max"), _clamp),
    "where": _where,
    **dict.fromkeys(("masked_fill", "lerp"), _by_argument(2, "Tensor", "Scalar")),
    "fill": _by_argument(1, "Tensor", "Scalar"),
    "index_fill": _by_argument(3, "int_Tensor", "int_Scalar"),
    "scatter": _scatter,
    "arange": lambda args, kwargs: ("default", "start", "start_step")[min(len(args), 3) - 1],
    "randint": lambda args, kwargs: "low" if len(args) > 2 else "default",
    "eye": _of_several("m"),
    "sort": lambda args, kwargs: "stable" if "stable" in kwargs else "default",
    "round": lambda args, kwargs: "decimals" if kwargs.get("decimals") else "default",
    "bernoulli": _of_several("p"),
    "bernoulli_": _by_argument(1, "Tensor", "float"),
    "normal": lambda args, kwargs: "_".join("Tensor" if isinstance(a, _Tensor) else "float" for a in args[:2]),
    "normal_": lambda args, kwargs: "default",
    "count_nonzero": lambda args, kwargs: (
        "dim_IntList" if len(args) > 1 and isinstance(args[1], (list, tuple)) else "default"
    ),
}


def overload(name: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """The overload that PyTorch's operation of that name has for these arguments."""
    given = dict(enumerate(args))
    other = given.get(1)
    plain = name.removesuffix("_") if not name.endswith("__") else name
    if plain in ("mm", "bmm", "addmm", "baddbmm") and any(isinstance(a, _C.dtype) for a in (*args, *kwargs.values())):
        return "dtype" if kwargs.get("out") is None else "dtype_out"
    if kwargs.get("out") is not None:
        return "out"
    if plain in ("div", "divide") and kwargs.get("rounding_mode") is not None:
        return "Tensor_mode"
    if name in _ALWAYS_TENSOR:
        return "Tensor"
    if plain in _NUMBER_FIRST and not isinstance(given[0], _Tensor):
        return "Scalar_Tensor"
    if plain in ("bitwise_left_shift", "bitwise_right_shift"):
        return "Tensor" if isinstance(other, _Tensor) else "Tensor_Scalar"
    if plain == "view" and isinstance(other, _C.dtype):
        return "dtype"
    if plain in _BY_OTHER:
        return "Tensor" if isinstance(other, _Tensor) else "Scalar"
    if plain in _BY_FIXED:
        return _BY_FIXED[plain]
    rule = _RULES.get(name) or _RULES.get(plain)
    return rule(args, kwargs) if rule else "default"


@functools.lru_cache(None)
def _parameters(func: Any) -> list[tuple[str, Any, bool, bool, bool]] | None:
    """(name, default, takes all that are left, has no position, need not be given) of each; None if nobody knows."""
    try:
        known = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        (p.name, p.default, p.kind is p.VAR_POSITIONAL, p.kind is p.KEYWORD_ONLY,
         p.default is not p.empty and type(p.default).__name__ != "_Word")
        for p in known
    ]  # fmt: skip


@functools.lru_cache(None)
def _plain_positions(func: Any) -> int:
    """How many parameters, before any other, take one argument each by position."""
    known = _parameters(func) or []
    return next((i for i, (_, _, takes_all, only_named, _) in enumerate(known) if takes_all or only_named), len(known))


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, (_Tensor, list, tuple)) or isinstance(default, _Tensor):
        return False
    return (
        value is default
        or (type(value) in (int, float, bool, str) and type(default) is not str and value == default)
        or (isinstance(value, str) and isinstance(default, str) and str.__eq__(value, default))
    )


def schema_order(func: Any, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by position as far as they have one; what has its default is left out at the end."""
    known = _parameters(func)
    if known is None:
        return list(args), dict(kwargs)
    if not kwargs and len(args) <= _plain_positions(func):
        made = list(args)
        while made and _is_default(made[-1], known[len(made) - 1][1]):
            made.pop()
        return made, {}
    made: list[Any] = []
    defaults: list[Any] = []
    left, rest = dict(kwargs), list(args)
    for name, default, takes_all, only_named, has_default in known:
        if takes_all:
            if rest:
                many = len(rest) != 1 or not isinstance(rest[0], (list, tuple))
                made.append(rest if many else list(rest[0]))
                defaults.append(inspect.Parameter.empty)
                rest = []
            continue
        if only_named:
            if name in left and (left[name] is None or _is_default(left[name], default)):
                del left[name]
            continue
        if rest:
            made.append(rest.pop(0))
        elif name in left:
            made.append(left.pop(name))
        elif not (has_default and left):
            break
        elif name == "out":
            continue
        else:
            made.append(default)
        defaults.append(default)
    made += rest
    while made and len(defaults) == len(made) and _is_default(made[-1], defaults[-1]):
        made.pop()
        defaults.pop()
    return made, left


def operation(name: str, func: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    """(the overload of ``ops.aten``, its arguments) of a public call."""
    made, left = schema_order(func, args, kwargs)
    if name in ("max", "min") and (
        isinstance(left.get("other"), _Tensor) or (len(made) > 1 and isinstance(made[1], _Tensor))
    ):
        name += "imum"
        if "other" in left:
            made.append(left.pop("other"))
    elif name == "split" and len(made) > 1 and isinstance(made[1], (list, tuple)):
        name = "split_with_sizes"
        return ops.aten.split_with_sizes.default, made, left
    elif name in ("hsplit", "vsplit", "dsplit") and isinstance(args[-1], int):
        made = [made[0], args[-1]]
    elif name == "view" and len(made) > 1 and isinstance(made[1], list) and isinstance(made[1][0], _C.dtype):
        made = [made[0], made[1][0]]
    elif name in ("var", "std", "var_mean", "std_mean"):
        _, dim, unbiased, keepdim = (made + [None, True, False])[:2] + (made[2:] + [True, False][len(made[2:]) :])[:2]
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if "unbiased" in left:
            unbiased = left.pop("unbiased")
        keepdim = left.pop("keepdim", keepdim)
        made = [made[0]] if dim is None else [made[0], dim]
        if not unbiased and left.get("correction") is None:
            left["correction"] = 0
        if keepdim:
            left["keepdim"] = True
    elif name in ("any", "all", "median", "prod") and len(made) > 1 and made[1] is None:
        made = made[:1]
    elif name == "sort" and "stable" in left:  # whose other arguments have names, too
        left.update(zip(("dim", "descending"), made[1:]))
        made = made[:1]
        for word, default in (("dim", -1), ("descending", False)):
            if left.get(word) == default:
                del left[word]
    elif name == "squeeze" and len(made) > 1 and isinstance(made[1], list):
        made = (
            made[:1]
            if not made[1] and not args[1:]
            else [made[0], made[1][0] if len(made[1]) == 1 and not isinstance(args[1], (list, tuple)) else made[1]]
        )
    at = _LISTS.get(name.removesuffix("_"))
    if (
        at is not None
        and -len(made) <= at < len(made)
        and isinstance(made[at], (int, tuple))
        and not isinstance(made[at], bool)
    ):
        made[at] = [made[at]] if isinstance(made[at], int) else list(made[at])
    left.pop("requires_grad", None) if not left.get("requires_grad") else None
    return getattr(getattr(ops.aten, name), overload(name, made, left)), made, left


def _generic(name: str, reflected: bool = False) -> Callable[..., Any]:
    from . import dispatch

    def report(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        op, made, left = operation(name, func, args[::-1] if reflected else args, kwargs)
        return dispatch(op, made, left)

    return report


_OF_NETWORKS = {"unfold": "im2col", "fold": "col2im"}  # functions of nn.functional with names of their own


@functools.lru_cache(None)
def handlers() -> dict[Any, Callable[..., Any]]:
    """{public function: what reports it}; functions written in Python that are absent are seen through."""
    from . import run_backward
    from .table import COMPOSED, PYTHON_LEAVES

    found: dict[Any, Callable[..., Any]] = {}
    for func, full in _names().items():
        space, _, name = full.removeprefix("torch.").rpartition(".")
        if name in ("__get__", "__set__"):
            name = space.rpartition(".")[2] + name
        elif space in ("linalg", "fft", "special"):
            name = f"{space}_{name}"
        elif space == "nn.functional":
            name = _OF_NETWORKS.get(name, name)
        if name in _SILENT:
            found[func] = _silent
            continue
        if name.endswith("__") and name not in _DUNDER and name not in COMPOSED:
            continue
        reflected = name in _REFLECTED
        name = _DUNDER.get(name, name)
        name = _SAME.get(name, name)
        if name in COMPOSED:
            found[func] = functools.partial(_composed, COMPOSED[name])
        elif not hasattr(func, "__wrapped__") or name in PYTHON_LEAVES:
            found[func] = _generic(name, reflected)
    import strided

    for name in ("tensor", "as_tensor", "asarray"):
        found[getattr(strided, name)] = functools.partial(_composed, COMPOSED[name])
    found[strided.autograd.grad] = functools.partial(_composed, COMPOSED["grad"])
    found[strided.autograd.backward] = run_backward
    return found


def _silent(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


def _composed(handler: Callable[..., Any], func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("out") is not None:
        op, made, left = operation(func.__name__, func, args, kwargs)
        from . import dispatch

        return dispatch(op, made, left)
    return handler(func, args, kwargs)
