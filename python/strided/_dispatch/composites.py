"""Public functions as the operations that they consist of in PyTorch: ``linear`` as ``t`` and ``addmm``, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _C
from . import call, run_backward

if TYPE_CHECKING:
    from .._typing import Callable

_Tensor = _C.Tensor
COMPOSED: dict[str, Callable[..., Any]] = {}
# Functions written in Python that are one operation each: what they compute is done by functions of the core that are
# not public, so that nobody would see it.
PYTHON_LEAVES = frozenset(
    """
native_layer_norm native_batch_norm native_group_norm native_dropout
avg_pool1d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool3d lp_pool1d lp_pool2d lp_pool3d
max_pool1d max_pool1d_with_indices max_pool3d max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d
adaptive_max_pool2d adaptive_max_pool3d
adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices
interpolate upsample upsample_nearest upsample_bilinear grid_sample
pixel_shuffle pixel_unshuffle channel_shuffle im2col col2im multi_margin_loss multilabel_margin_loss
""".split()
)


def composed(*names: str) -> Callable[..., Any]:
    """Under these names: a function of a public function's arguments."""

    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            COMPOSED[name] = lambda func, args, kwargs: f(*args, **kwargs)
        return f

    return add


def again(func: Any, args: Any, kwargs: Any) -> Any:
    """The public function itself, with the operations that it calls seen."""
    from . import _layer, redispatch_function, subclass_calls, subclasses

    if subclasses.objects(args, kwargs):
        return subclass_calls._through(func, (), args, kwargs)
    with _layer:
        return redispatch_function(func, (), args, kwargs)


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
