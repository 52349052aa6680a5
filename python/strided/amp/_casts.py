"""What ``autocast`` casts: the lists of functions, and the mode that sees the calls.

A call of a listed function gets its floating-point tensors on the context's device (not those of float64) in 16 bits,
or in float32; every other function computes in the dtype of its operands.  The lists are those of PyTorch's
documentation, "Autocast Op Reference".
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .. import _C
from ..overrides import TorchFunctionMode

if TYPE_CHECKING:
    from .._typing import Any, Callable, DType

_LOW = """
    conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
    linear matmul __rmatmul__ mm bmm addmm addbmm baddbmm inner chain_matmul affine_grid
    linalg.multi_dot linalg.vecdot linalg.matmul
    scaled_dot_product_attention multi_head_attention_forward prelu
""".split()
# Which products they are made of depends on the arguments.
_PRODUCTS = ["einsum", "tensordot", "matrix_power", "linalg.matrix_power"]
_LOW_CPU = "cov corrcoef".split()
_LOW_CUDA = "addmv addr mv lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split()

_FULL = """
    cdist cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss
    mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss binary_cross_entropy_with_logits
    smooth_l1_loss soft_margin_loss triplet_margin_loss prod
""".split()
_FULL_CPU = """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cholesky cholesky_inverse cholesky_solve
    ctc_loss fractional_max_pool2d fractional_max_pool3d geqrf grid_sample grid_sampler inverse lu lu_solve max_pool3d
    max_unpool2d max_unpool3d nanquantile orgqr ormqr pinverse polar qr quantile stft svd trace triangular_solve
    view_as_complex
    linalg.cholesky linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
    linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.qr linalg.solve
    linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
    fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft fft.irfft fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn
    fft.hfft fft.ihfft
""".split()
_FULL_CUDA = """
    acos asin cosh cosine_similarity dist erfinv exp expm1 group_norm layer_norm log log10 log1p log2 logsumexp pdist
    pow __pow__ __rpow__ reciprocal renorm rsqrt sinh softplus tan
""".split()
# The result is of float32, unless the caller names a dtype.
_ACCUMULATED_CUDA = """
    cumprod cumsum log_softmax norm prod softmax softmin sum linalg.matrix_norm linalg.norm linalg.vector_norm
""".split()
_WIDEST = ["index_copy"]
_WIDEST_CUDA = "addcdiv addcmul atan2 bilinear cross dot grid_sample grid_sampler index_put scatter_add vdot".split()

_LISTS = {
    "cpu": {"low": _LOW + _LOW_CPU, "full": _FULL + _FULL_CPU, "widest": _WIDEST, "product": _PRODUCTS},
    "cuda": {
        "product": _PRODUCTS,
        "low": _LOW + _LOW_CUDA,
        "full": _FULL + _FULL_CUDA,
        "sum": _ACCUMULATED_CUDA,
        "widest": _WIDEST + _WIDEST_CUDA,
    },
}
_SPATIAL = ("reflect", "replicate")  # the modes of pad that compute in float32 on the CPU


class State(threading.local):
    """What the contexts of this thread ask for: by device, whether to cast, and to what."""

    def __init__(self) -> None:
        self.enabled = {"cpu": False, "cuda": False}
        self.dtype = {"cpu": _C.bfloat16, "cuda": _C.float16}
        self.keeps = True  # casts of parameters, until the outermost context ends
        self.depth = 0
        self.kept: dict[int, tuple[Any, int, Any]] = {}
        self.switched = False  # whether `switch` was called for what still holds
        self.mode: CastingMode | None = None  # that of `switch`; contexts have their own


state = State()
_tables: dict[str, dict[Any, str]] = {}


def _table(device: str) -> dict[Any, str]:
    """{function: what to do with its operands}, made when a device's first context is entered."""
    if device not in _tables:
        import strided

        table = {}
        for rule, names in _LISTS[device].items():
            for name in names:
                place, _, last = name.rpartition(".")
                homes = [getattr(strided, place)] if place else [strided, strided.Tensor, strided.nn.functional]
                for home in homes:
                    if (found := getattr(home, last, None)) is not None:
                        table[found] = rule
        if device == "cpu":
            table[strided.nn.functional.pad] = "pad"
        _tables[device] = table
    return _tables[device]


def _cast(value: Any, device: str, dtype: DType) -> Any:
    if isinstance(value, _C.Tensor):
        if not value.is_floating_point() or value.dtype in (dtype, _C.float64) or value.device.type != device:
            return value
        keep = (
            state.keeps and dtype != _C.float32 and value.dtype == _C.float32
            and value.is_leaf and value.requires_grad and _C.functions["is_grad_enabled"]()
        )  # fmt: skip
        if not keep:
            return value.to(dtype)
        known = state.kept.get(id(value))
        if known is None or known[1] != value._version or known[2].dtype != dtype:
            known = state.kept[id(value)] = (value, value._version, value.to(dtype))
        return known[2]
    if type(value) in (list, tuple):
        return type(value)(_cast(v, device, dtype) for v in value)
    return value


def _has_full(values: Any, device: str) -> bool:
    for v in values:
        if type(v) in (list, tuple):
            if _has_full(v, device):
                return True
        elif isinstance(v, _C.Tensor) and v.dtype == _C.float32 and v.device.type == device:
            return True
    return False


def _of_product(func: Any, device: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DType | None:
    """16 bits where numbers are multiplied and summed; None for what only multiplies, moves or sums."""
    name = func.__name__
    if name == "einsum":
        return state.dtype[device] if _contracts(args) else None
    if name == "matrix_power":
        n = kwargs.get("n", args[1] if len(args) > 1 else None)
        if n in (-1, 0, 1):
            return _C.float32 if n == -1 and device == "cpu" else None
        return state.dtype[device]
    a, b = (kwargs.get(k, args[i] if len(args) > i else None) for i, k in enumerate("ab"))
    dims = kwargs.get("dims", args[2] if len(args) > 2 else 2)
    if isinstance(dims, int) and isinstance(a, _C.Tensor) and isinstance(b, _C.Tensor):
        if a.shape[: a.ndim - dims].numel() == 1 == b.shape[dims:].numel():
            return None  # one number: a sum of products, and no product of matrices
    return state.dtype[device]


def _contracts(args: tuple[Any, ...]) -> bool:
    """Whether two operands of einsum share an axis that is summed."""
    if not args or not isinstance(args[0], str):  # einsum(operand, axes, operand, axes, ..., axes of the result)
        terms = [tuple(a) for a in args[1::2] if isinstance(a, (list, tuple))]
        result = tuple(args[-1]) if len(args) % 2 and isinstance(args[-1], (list, tuple)) else None
    else:
        left, arrow, right = args[0].replace(" ", "").replace("...", "").partition("->")
        terms = [tuple(term) for term in left.split(",")]
        result = tuple(right) if arrow else None
    shared = {k for i, term in enumerate(terms) for k in term if any(k in other for other in terms[i + 1 :])}
    if result is None:  # axes that appear once are kept
        return bool(shared)
    return bool(shared - set(result))


def _target(rule: str, func: Any, device: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> DType | None:
    """The dtype that the operands of a call get, None for their own."""
    if rule == "low":
        return state.dtype[device]
    if rule == "sum" and (kwargs.get("dtype") is not None or any(isinstance(a, _C.dtype) for a in args)):
        return None
    if rule == "product":
        return _of_product(func, device, args, kwargs)
    if rule == "widest":
        return _C.float32 if _has_full((*args, *kwargs.values()), device) else None
    if rule == "pad":
        mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
        return _C.float32 if mode in _SPATIAL else None
    return _C.float32


class CastingMode(TorchFunctionMode):
    """Casts the operands of listed functions, on the devices whose casts are on at the time of the call."""

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for device, on in state.enabled.items():
            rule = _tables[device].get(func) if on else None
            if rule is None or kwargs.get("out") is not None:
                continue
            dtype = _target(rule, func, device, args, kwargs)
            if dtype is not None:
                args = tuple(_cast(a, device, dtype) for a in args)
                kwargs = {k: _cast(v, device, dtype) for k, v in kwargs.items()}
        return func(*args, **kwargs)


def switch(device: str, on: bool) -> None:
    """Casts on this device or not, without a context."""
    if device not in state.enabled:
        raise RuntimeError(f"unknown device type for autocast in get_autocast_dispatch_key_from_device_type: {device}")
    if on:
        prepare(device)
    state.enabled[device] = on
    state.switched = state.switched or on
    settle()


def settle() -> None:
    """The mode of `switch` is there, below all others, while any device casts."""
    on = any(state.enabled.values())
    state.switched = state.switched and (on or state.depth > 0)
    wanted = state.switched and on
    if wanted == (state.mode is not None):
        return
    modes = [_C._pop_torch_function_stack() for _ in range(_C._len_torch_function_stack())]
    before, state.mode = state.mode, CastingMode() if wanted else None
    for mode in [state.mode, *reversed(modes)]:
        if mode is not None and mode is not before:
            _C._push_on_torch_function_stack(mode)


def nest(step: int) -> int:
    """Counts a context entered (1) or left (-1), and gives how many are open; with the last one go the kept casts."""
    state.depth += step
    if state.depth == 0:
        state.kept.clear()
    return state.depth


def prepare(device: str) -> None:
    """Looks the functions up, before a mode asks for them."""
    _table(device)
