"""The base of all modules (``strided.nn.modules.module``)."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import OrderedDict
from types import ModuleType
from typing import TYPE_CHECKING

from ... import _C, typename
from ...autograd import no_grad
from ..parameter import Buffer, Parameter
from . import _hooks
from ._hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._registration import HookRegistration
from ._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from ._state import StateDicts
from ._state import _IncompatibleKeys as _IncompatibleKeys

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Device, DType, Iterator, Tensor

__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

# PyTorch's names of the hooks of all modules, and where each lies.  Libraries run them, and tests put new ones there.
_GLOBAL_HOOKS: dict[str, tuple[dict[str, Any], str]] = {
    "_global_forward_pre_hooks": (_hooks.everywhere, "forward_pre"),
    "_global_forward_hooks": (_hooks.everywhere, "forward"),
    "_global_backward_pre_hooks": (_hooks.everywhere, "backward_pre"),
    "_global_backward_hooks": (_hooks.everywhere, "backward"),
    "_global_forward_hooks_always_called": (vars(_hooks), "always_everywhere"),
    "_global_forward_hooks_with_kwargs": (vars(_hooks), "kwargs_everywhere"),
    "_global_parameter_registration_hooks": (_hooks.parts, "parameter"),
    "_global_buffer_registration_hooks": (_hooks.parts, "buffer"),
    "_global_module_registration_hooks": (_hooks.parts, "module"),
}
_parts = _hooks.parts


class _ThisModule(ModuleType):
    """The class of this Python module: a name of _GLOBAL_HOOKS is read and written where the calls read it."""


def _shared(place: dict[str, Any], key: str) -> property:
    return property(lambda _: place[key], lambda _, hooks: place.__setitem__(key, hooks))


for _name, _place in _GLOBAL_HOOKS.items():
    setattr(_ThisModule, _name, _shared(*_place))
sys.modules[__name__].__class__ = _ThisModule

_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks",
    "_state_dict_pre_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


# How parameters are converted, where strided.__future__ says so: "swap", "overwrite"; None: by their data.
_conversion: str | None = None


def _is_dispatched(t):
    """Is a tensor of a class with a ``__torch_dispatch__``? Its values may be in attributes."""
    return hasattr(type(t), "__strided_dispatch__")


def _converted(param, made, grad):
    """A parameter, after its conversion to another tensor."""
    other = Parameter(made.detach(), param.requires_grad)
    if _conversion == "swap":
        from ...utils import swap_tensors

        swap_tensors(param, other)
        other = param
    other.grad = grad
    return other


def _addindent(text: str, count: int) -> str:
    return text.replace("\n", "\n" + " " * count)


def _check_name(module, kind, name, known):
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        detail = f", got: {name}" if kind == "module" else ""
        raise KeyError(f'{kind} name can\'t contain "."{detail}')
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if hasattr(module, name) and name not in known:
        raise KeyError(f"attribute '{name}' already exists")


def _may_be_buffer(value):
    return value is None or isinstance(value, _C.Tensor) or hasattr(value, "__torch_function__")


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of ``to``."""
    given = dict(kwargs)
    rest = list(args)
    if rest and isinstance(rest[0], _C.Tensor) or "tensor" in given:
        other = rest.pop(0) if rest and isinstance(rest[0], _C.Tensor) else given.pop("tensor")
        given.setdefault("device", other.device)
        given.setdefault("dtype", other.dtype)
    elif rest and _C.is_dtype(rest[0]):
        given["dtype"] = rest.pop(0)
    else:
        if rest and (rest[0] is None or _C.is_device(rest[0])):
            given["device"] = rest.pop(0)
        if rest and (rest[0] is None or _C.is_dtype(rest[0])):
            given["dtype"] = rest.pop(0)
    if rest and isinstance(rest[0], bool):
        given["non_blocking"] = rest.pop(0)
    device, dtype = given.pop("device", None), given.pop("dtype", None)
    non_blocking, order = given.pop("non_blocking", False), given.pop("memory_format", None)
    if given.pop("copy", False):
        raise RuntimeError(".to() does not accept copy argument")
    if rest or given or not (dtype is None or _C.is_dtype(dtype)):
        raise TypeError("to() received an invalid combination of arguments")
    return None if device is None else _C.device(device), dtype, bool(non_blocking), order


def _parameters_of(module):
    return module._parameters.items()


def _buffers_of(module):
    return module._buffers.items()


class Module(StateDicts, HookRegistration):
    """Base of modules: a tree of parameters, buffers and submodules, with a ``forward`` of its own.

    What is assigned to an attribute is registered: a Parameter, a Buffer, or another Module.

    >>> class Twice(strided.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = strided.nn.Linear(3, 3)
    ...     def forward(self, x):
    ...         return self.linear(self.linear(x))
    >>> Twice()
    Twice(
      (linear): Linear(in_features=3, out_features=3, bias=True)
    )
    """

    dump_patches = False
    training: bool
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else (
                f"takes 1 positional argument but {len(args) + 1} were given"
            )  # fmt: skip
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        state = self.__dict__
        state["training"] = True
        state["_parameters"], state["_buffers"], state["_modules"] = {}, {}, {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        for name in _HOOKS:
            state[name] = OrderedDict()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input: Any) -> Any:
        """What the module computes; every subclass has its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        compiled = self.__dict__.get("_compiled_call_impl")
        return self._call_impl(*args, **kwargs) if compiled is None else compiled(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the calls of this module, in place: ``strided.compile`` with the same arguments.

        >>> m = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())
        >>> m.compile()
        >>> m(torch.zeros(2))
        tensor([0.5000, 0.5000])
        """
        from ... import compile

        made = compile(self, *args, **kwargs)
        if made is self:  # disable=True
            return
        compiled = made._compiled_call
        compiled._run = self._call_impl  # the module itself would come back to what is compiled
        self.__dict__["_compiled_call_impl"] = compiled

    def _call_impl(self, *args, **kwargs):
        state = self.__dict__
        if (
            state["_forward_hooks"] or state["_forward_pre_hooks"] or state["_backward_hooks"]
            or state["_backward_pre_hooks"] or any(_hooks.everywhere.values()) or "_scripted" in state
        ):  # fmt: skip
            return _hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # ------------------------------------------------------------ attributes

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None keeps the name, for a parameter that is left out."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, "parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        if param is not None and _parts["parameter"]:
            param = _hooks.replaced_part("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is no parameter; persistent=False leaves it out of the state dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, "buffer", name, self._buffers)
        if not _may_be_buffer(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        if _parts["buffer"]:
            tensor = _hooks.replaced_part("buffer", self, name, tensor)
        self._buffers[name] = tensor
        (self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        _check_name(self, "module", name, self._modules)
        if _parts["module"]:
            module = _hooks.replaced_part("module", self, name, module)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as add_module."""
        self.add_module(name, module)

    def __getattr__(self, name: str) -> Any:
        # Called when the attribute was not found in the usual way.
        state = self.__dict__
        if name in (found := state.get("_parameters", ())):
            return found[name]
        if name in (found := state.get("_modules", ())):
            return found[name]
        if name in (found := state.get("_buffers", ())):
            return found[name]
        why = "; strided has no TorchScript, jit gives back the module itself" if "_scripted" in state else ""
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'{why}")

    def _forget(self, name, *kinds):
        for kind in kinds:
            found = self.__dict__ if kind == "__dict__" else self.__dict__.get(kind, ())
            if name in found:
                found.discard(name) if isinstance(found, set) else found.pop(name)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in state:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "__dict__", "_buffers", "_modules", "_non_persistent_buffers_set")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in state:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "__dict__", "_parameters", "_buffers", "_non_persistent_buffers_set")
            if _parts["module"]:
                value = _hooks.replaced_part("module", self, name, value)
            state["_modules"][name] = value
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            if _parts["module"]:
                value = _hooks.replaced_part("module", self, name, value)
            state["_modules"][name] = value
        elif name in state.get("_buffers", ()) or type(value) is not bool and isinstance(value, Buffer):
            if not _may_be_buffer(value):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            if isinstance(value, Buffer):
                self._forget(name, "_parameters", "_modules")
                self._register_buffer_as_it_can(name, value)
            else:
                if _parts["buffer"]:
                    value = _hooks.replaced_part("buffer", self, name, value)
                state["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _register_buffer_as_it_can(self, name, value):
        """register_buffer, which a subclass may have without `persistent`."""
        own = getattr(self.register_buffer, "__func__", None)
        if own is Module.register_buffer or "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, value.persistent)
        elif value.persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._buffers, *self._modules}
        return sorted(n for n in names if not n[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()  # subclasses take from it what cannot be pickled
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:  # which a file of an older release may lack
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self):
        """A module with the same members and no parameters, for a replica whose parameters are results."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = {}
        replica._buffers, replica._modules = self._buffers.copy(), self._modules.copy()
        replica._is_replica = True
        return replica

    # ------------------------------------------------------------ parts, by name

    def _at(self, target):
        """The module that has what a dotted name means, and the last part of the name."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name

    def get_submodule(self, target: str) -> Module:
        """The submodule of a dotted name; the module itself for ''.  AttributeError if there is none."""
        module = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at the place of a dotted name; with strict=True one must be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name.  AttributeError if there is none."""
        module, name = self._at(target)
        param = getattr(module, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name.  AttributeError if there is none."""
        module, name = self._at(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    # ------------------------------------------------------------ parts, one after the other

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (path + "." + name if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once; recurse=False: those of the module itself."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of all parameters."""
        return self._named_members(_parameters_of, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of all buffers."""
        return self._named_members(_buffers_of, prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct submodules."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of the module and all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    # ------------------------------------------------------------ changes of all parts

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """Calls fn with every submodule and then the module itself, which it returns."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replaces the memory of parameters, their gradients and buffers by what fn makes of them."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                made = fn(param)
                grad = None if param.grad is None else fn(param.grad)
                if made is not param and _conversion is not None:
                    self._parameters[name] = _converted(param, made, grad)
                elif made is not param and (_is_dispatched(made) or _is_dispatched(param)):
                    from ...utils import swap_tensors

                    made = Parameter(made, param.requires_grad)
                    made.grad = grad
                    swap_tensors(param, made)
                elif made is not param:
                    param.grad = None
                    param.data = made
                    param.grad = grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Brings parameters and buffers to a device, and floating ones to a dtype, in place; returns the module.

        Called as ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``.  TypeError for a dtype that is
        neither floating nor complex.
        """
        device, dtype, non_blocking, order = parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and some modules might "
                "not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work as "
                "expected.",
                stacklevel=2,
            )

        def convert(t):
            kind = dtype if t.dtype.is_floating_point or t.dtype.is_complex else None
            shaped = order if order is not None and t.dim() in (4, 5) else None
            return t.to(device=device, dtype=kind, non_blocking=non_blocking, memory_format=shaped)

        return self._apply(convert)

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Any:
        """Floating parameters and buffers as float32."""
        return self._cast(_C.float32)

    def double(self) -> Any:
        """Floating parameters and buffers as float64."""
        return self._cast(_C.float64)

    def half(self) -> Any:
        """Floating parameters and buffers as float16."""
        return self._cast(_C.float16)

    def bfloat16(self) -> Any:
        """Floating parameters and buffers as bfloat16."""
        return self._cast(_C.bfloat16)

    def type(self, dst_type: DType | str) -> Any:
        """All parameters and buffers as another dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def cuda(self, device: Device | None = None) -> Any:
        """All parameters and buffers on a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def cpu(self) -> Any:
        """All parameters and buffers in the memory of the CPU."""
        return self._apply(lambda t: t.cpu())

    def to_empty(self, *, device: Device | None, recurse: bool = True) -> Any:
        """All parameters and buffers on a device, with memory of any content."""
        return self._apply(lambda t: _C.functions["empty_like"](t, device=device), recurse)

    def train(self, mode: bool = True) -> Any:
        """Switches to training (dropout, statistics of batches), in all submodules too."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        """Switches to evaluation: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Whether gradients of all parameters are collected."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Gradients of all parameters to None, or to zeros."""
        for param in self.parameters():
            if set_to_none:
                param.grad = None
            elif param.grad is not None:
                param.grad = param.grad.detach().zero_()

    # ------------------------------------------------------------ text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of the text of the module."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): {_addindent(repr(m), 2)}" for name, m in self._modules.items()]
        extras = extra.split("\n") if extra else []
        if not lines and len(extras) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extras + lines) + "\n)"

    def share_memory(self) -> Any:
        """The module itself, whose parameters and buffers are moved to memory that other processes see.

        See ``Tensor.share_memory_``.
        """
        return self._apply(lambda t: t.share_memory_())
