"""The base of optimizers (``strided.optim.optimizer``)."""

from __future__ import annotations

import functools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy
from inspect import signature
from typing import TYPE_CHECKING

import strided

from ..utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from .._typing import Any, Callable, Tensor

__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

# What an optimizer takes, for annotations: tensors, groups, or tensors with names.
ParamsT = Iterable[strided.Tensor] | Iterable[dict[str, object]] | Iterable[tuple[str, strided.Tensor]]


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()

_FOR_LISTS = (strided.Tensor, strided.nn.Parameter)  # what the functions over lists of tensors take

# The older name of ParamsT, and what state_dict gives, for annotations.
_params_t = ParamsT
StateDict = dict[str, object]

_pre_everywhere: OrderedDict[int, Any] = OrderedDict()
_post_everywhere: OrderedDict[int, Any] = OrderedDict()


def _register(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before step of every optimizer."""
    return _register(_pre_everywhere, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after step of every optimizer."""
    return _register(_post_everywhere, hook)


def refuse_host_counters(optimizer: Any, args: Any, kwargs: Any) -> None:
    """A hook of step, for steps that are captured once and then done again: only what is done on a device is."""
    params = [(p, group) for group in optimizer.param_groups for p in group["params"]]
    could = optimizer._counts_on_device and all(p.is_cuda for p, _ in params)
    if "capturable" in optimizer.defaults and not (could and all(on_device(p, group) for p, group in params)):
        raise NotImplementedError(
            f"{type(optimizer).__name__}.step in a captured step: it counts its steps on the host, "
            "and each replay would repeat the count of the capture"
            + ("; with capturable=True it counts them on the device" if could else "")
        )


def _with_hooks(step):
    @functools.wraps(step)
    def call(*args, **kwargs):  # hooks see the optimizer as the first of args
        self, *_ = args
        for hook in [*_pre_everywhere.values(), *self._optimizer_step_pre_hooks.values()]:
            made = hook(self, args, kwargs)
            if made is not None:
                if not (isinstance(made, tuple) and len(made) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {made}.")
                args, kwargs = made
        result = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_post_everywhere.values()]:
            hook(self, args, kwargs)
        return result

    call.hooked = True
    return call


_HOOKS = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of ``step``: it records only if the optimizer's default ``differentiable`` is True."""

    @functools.wraps(func)
    def call(self, *args, **kwargs):
        with strided.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return call


def _default_to_fused_or_foreach(
    params: Iterable[Tensor | None], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether an optimizer that was not told is to take its fused way, and the way over lists of tensors.

    The second, for parameters on a CUDA device; neither, if the step is recorded or an element of them is elsewhere.
    """
    if differentiable:
        return False, False
    on_device = all(p is None or type(p) in _FOR_LISTS and p.device.type == "cuda" for p in params)
    fused = use_fused and on_device and all(p is None or p.is_floating_point() for p in params)
    return fused, on_device and not fused


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of devices whose optimizers may keep their count of steps in a tensor there."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


@functools.cache
def _off_options(kind: type) -> dict[str, Any]:
    """The options of an optimizer of this package that are off by default: also in groups saved before they existed.

    A class of the user's has none but those of the class that it extends.
    """
    inits = [vars(one)["__init__"] for one in kind.__mro__ if "__init__" in vars(one)]
    own = next((one for one in inits if getattr(one, "__globals__", {}).get("__package__") == __package__), None)
    options = {} if own is None else {name: one.default for name, one in signature(own).parameters.items()}
    return {name: value for name, value in options.items() if value is None or value is False}


class Optimizer:
    """Base of optimizers: groups of parameters with their options, and what is kept for each parameter.

    A subclass has ``step``, or ``_update(param, grad, state, group)``, which changes one parameter. Of a complex one it
    gets real and imaginary parts along a last axis of two.

    Args:
        params: parameters; or dicts with 'params' and options; or (name, parameter) pairs.
        defaults: the options of groups that do not say otherwise.
    """

    _complex = True  # whether _update works for the two parts of complex parameters
    _counts_on_device = False  # whether _update follows on_device
    _sparse = False  # whether _update takes sparse gradients; else
    _refuses_sparse: str | None = None  # is what the error says, or None: the name of the class and the usual words

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        if not getattr(type(self).step, "hooked", False):
            type(self).step = _with_hooks(type(self).step)
        if isinstance(params, strided.Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {strided.typename(params)}"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group: a dict with 'params', and options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, strided.Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change between runs. Please use a list instead."
            )
        params = list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        group = {**param_group, "params": params}
        if names:
            group["param_names"] = names
        for p in params:
            if not isinstance(p, strided.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + strided.typename(p))
            if not self.defaults.get("differentiable", None) and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            now = "with" if "param_names" in group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{now} names to the optimizer"
            )
        param_group.update(group)
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Gradients of all parameters to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()

    def _update(self, param, grad, state, group):
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of all parameters that have a gradient; closure, if given, computes the loss before, which is what
        comes back."""
        loss = None
        if closure is not None:
            with strided.enable_grad():
                loss = closure()
        recorded = bool(self.defaults.get("differentiable"))
        with strided.set_grad_enabled(recorded):
            kept = self.state
            for group in self.param_groups:
                up = group.get("maximize")
                for p in group["params"]:
                    grad = p.grad
                    if grad is None:
                        continue
                    if grad.is_sparse and not self._sparse:
                        name = type(self).__name__
                        raise RuntimeError(self._refuses_sparse or f"{name} does not support sparse gradients")
                    if up:
                        grad = -grad
                    state = kept[p] if p in kept else {}  # the keys of a defaultdict are those with a state
                    if recorded:
                        state = self._update_recorded(p, grad, state, group)
                    elif strided.is_complex(p):
                        state = self._update_complex(p, grad, state, group)
                    else:
                        self._update(p, grad, state, group)
                    if state:  # an optimizer that keeps nothing has no state
                        kept[p] = state
        return loss

    def _update_recorded(self, param, grad, state, group):
        """_update in the graph: for gradients of later values with respect to earlier ones."""
        from ._recorded import recorded_step

        if param.is_complex() and not self._complex:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        return recorded_step(self._update, param, grad, state, group)

    def _update_complex(self, param, grad, state, group):
        """_update of real and imaginary parts, each a parameter of its own; what is kept for them is complex."""
        if not self._complex:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        parts = {k: strided.view_as_real(v) if strided.is_tensor(v) and v.is_complex() else v for k, v in state.items()}
        self._update(strided.view_as_real(param), strided.view_as_real(grad), parts, group)
        shape = (*param.shape, 2)
        return {
            k: strided.view_as_complex(v) if strided.is_tensor(v) and v.shape == shape else v for k, v in parts.items()
        }

    # ------------------------------------------------------------ state

    def state_dict(self) -> dict[str, Any]:
        """'state': what is kept for each parameter, by its number; 'param_groups': options, numbers of parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, strided.Tensor) else k): v for k, v in self.state.items()}
        made: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            given = hook(self, made)
            made = made if given is None else given
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes what state_dict gave; floating tensors get dtype and device of their parameters.

        ValueError for other numbers of groups or parameters.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            given = hook(self, state_dict)
            state_dict = state_dict if given is None else given
        mine, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(mine) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(mine, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = {n: p for a, b in zip(mine, saved) for p, n in zip(a["params"], b["params"])}
        state: defaultdict[Tensor, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            state[params[key] if key in params else key] = self._cast(params.get(key), value)
        groups = []
        for a, b in zip(mine, saved):
            if "param_names" in a and "param_names" not in b:
                b["param_names"] = a["param_names"]
            groups.append({**b, "params": a["params"]})
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _cast(self, param, value, key=None):
        if isinstance(value, strided.Tensor):
            if param is None or key == "step":
                return value.clone() if param is None else value.float()
            # Real numbers beside a complex parameter stay real: step sizes, running products.
            number = param.is_floating_point() or param.is_complex() and value.is_complex()
            return value.to(dtype=param.dtype if number else None, device=param.device)
        if isinstance(value, dict):
            return {k: self._cast(param, v, k) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
            return type(value)(self._cast(param, v) for v in value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        for group in self.param_groups:
            for name, value in _off_options(type(self)).items():
                group.setdefault(name, value)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params")
        return text + ")"

    # ------------------------------------------------------------ hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before step; args begins with the optimizer. The hook may return
        other ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def _register_at(self, hooks, hook, prepend):
        handle = _register(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before state_dict."""
        return self._register_at(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` after state_dict; what it returns, if not None, takes its place."""
        return self._register_at(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` before load_state_dict."""
        return self._register_at(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` after load_state_dict."""
        return self._register_at(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def one_element(**values: Any) -> None:
    """ValueError for an option that is a tensor of several elements, or of none."""
    for name, value in values.items():
        if isinstance(value, strided.Tensor) and value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def at_least(low: float, **values: Any) -> None:
    """ValueError, worded as PyTorch does, for an option below `low`."""
    for name, value in values.items():
        if isinstance(value, strided.Tensor):
            one_element(**{name: value})
        if not low <= value:
            names = {"lr": "learning rate", "eps": "epsilon value", "rho": "rho value"}
            raise ValueError(f"Invalid {names.get(name, name + ' value')}: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """ValueError unless both are in [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def on_device(param: Tensor, group: dict[str, Any]) -> bool:
    """Whether steps are counted, and everything is computed from their number, on the parameter's CUDA device."""
    return bool(group.get("capturable")) and param.is_cuda


def counted(state: dict[str, Any], group: dict[str, Any]) -> float:
    """The number of the step that begins."""
    state["step"] += 1
    return float(state["step"])


def number(x: Any) -> Any:
    """A number from a number or a tensor of one element (a learning rate may be either); the tensor, where its gradient
    is recorded."""
    if not isinstance(x, strided.Tensor):
        return x
    return x if x.requires_grad and strided.is_grad_enabled() else float(x)


def root(x: Any) -> Any:
    """The square root of what ``number`` gave."""
    return x.sqrt() if isinstance(x, strided.Tensor) else math.sqrt(x)


def zeros(p: Tensor) -> Tensor:
    """Zeros in the order of memory of a parameter."""
    return strided.zeros_like(p)
