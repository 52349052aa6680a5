"""What a module saves and loads: state dicts."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict, namedtuple
from typing import TYPE_CHECKING

from ... import _C
from ... import __future__ as _conversions
from ...autograd import no_grad
from ..parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from ..._typing import Any, Mapping

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _OfModule:
    """A hook that is called with the module it belongs to, which it does not keep alive."""

    def __init__(self, hook, module):
        self.hook, self.module = hook, weakref.ref(module)

    def __call__(self, *args):
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self):
        return self.hook, self.module()

    def __setstate__(self, state):
        self.hook, self.module = state[0], weakref.ref(state[1])


def _quoted(keys):
    return ", ".join(f'"{k}"' for k in keys)


def _as_parameter(given, own):
    """A tensor as the parameter that takes the place of another."""
    made = given if isinstance(given, Parameter) else Parameter(given, own.requires_grad)
    return made.requires_grad_(own.requires_grad)


def _swap(own, given, assign):
    """Loads a tensor into another, which stays the object that it is and gets the class that module_load gives it."""
    from ...utils import swap_tensors

    made = own.module_load(given, assign=assign)
    if made is given or made is own:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs in "
            "module_load"
        )
    swap_tensors(own, _as_parameter(made, own) if isinstance(own, Parameter) else made)


class StateDicts:
    """The part of Module that saves and loads."""

    _version: int = 1

    def get_extra_state(self) -> Any:
        """What the state dict keeps beside parameters and buffers; for subclasses to define, with set_extra_state."""
        raise RuntimeError(f"{type(self).__name__} has no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Takes what get_extra_state gave."""
        raise RuntimeError(f"{type(self).__name__} has no set_extra_state")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars or is_lazy(param) else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars or is_lazy(buffer) else buffer.detach()
        if type(self).get_extra_state is not StateDicts.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by their dotted names, in an OrderedDict: the tensors themselves, detached.

        Args:
            destination: a dict to put them into. prefix: goes before each name.
            keep_vars: True: the parameters, not detached.

        >>> list(strided.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            made = hook(self, destination, prefix, local)
            if getattr(hook, "_from_public_api", False):
                if made is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif made is not None:
                destination = made
        return destination

    def _load_one(self, key, name, own, given, local, errors):
        """Copies (or assigns) one entry of a state dict."""
        if not isinstance(given, _C.Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but received {type(given)}'
            )
            return
        if is_lazy(own) and is_lazy(given):
            return  # neither has a shape
        if not is_lazy(own) and not is_lazy(given) and own.ndim == 0 and given.ndim == 1:
            given = given[0]  # what was saved by PyTorch before 0.4
        if given.shape != own.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model is {own.shape}."
            )
            return
        assign = local.get("assign_to_params_buffers", False)
        if own.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            with no_grad():
                if _conversions.get_swap_module_params_on_conversion():
                    _swap(own, given, assign)
                elif not assign:
                    own.copy_(given)
                elif isinstance(own, Parameter):
                    setattr(self, name, _as_parameter(given, own))
                else:
                    setattr(self, name, given)
        except Exception as error:
            errors.append(
                f'While {"swapping" if _conversions.get_swap_module_params_on_conversion() else "copying"} the parameter named "{key}", whose dimensions in the model are {own.size()} and whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}.'
            )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        mine = self._local_names()
        for name, own in mine.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(key, name, own, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDicts.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else mine):
                        unexpected_keys.append(key)

    def _local_names(self):
        mine = {k: v for k, v in self._parameters.items() if v is not None}
        if self._buffers:
            passing = self._non_persistent_buffers_set
            mine.update((k, v) for k, v in self._buffers.items() if v is not None and k not in passing)
        return mine

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copies the tensors of a state dict into parameters and buffers.

        Args:
            strict: RuntimeError for keys that are missing or not known. assign: the tensors take the place of the
                module's own, so that dtype and device become theirs.

        Returns a tuple of missing_keys and unexpected_keys.  RuntimeError for sizes that differ.

        >>> m = strided.nn.Linear(2, 1)
        >>> m.load_state_dict(strided.nn.Linear(2, 1).state_dict())
        <All keys matched successfully>
        """
        from collections.abc import Mapping

        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        self._load_children(state_dict, "", metadata, strict, assign, (missing, unexpected, errors))
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_children(self, state_dict, prefix, metadata, strict, assign, found):
        local = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local["assign_to_params_buffers"] = assign
        self._load_from_state_dict(state_dict, prefix, local, True, *found)
        if assign:
            local.pop("assign_to_params_buffers")
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {k: v for k, v in state_dict.items() if k.startswith(below)}
                child._load_children(part, below, metadata, strict, assign, found)
        keys = _IncompatibleKeys(*found[:2])
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def register_state_dict_post_hook(self, hook: Any) -> Any:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after state_dict() has collected a module."""
        hook._from_public_api = True
        return self._register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via register_state_dict_post_hook"
            )
        return self._register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any) -> Any:
        """Calls ``hook(module, prefix, keep_vars)`` before state_dict() collects a module."""
        return self._register(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Any) -> Any:
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before a module loads."""
        return self._register(self._load_state_dict_pre_hooks, _OfModule(hook, self))

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._register(self._load_state_dict_pre_hooks, _OfModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Any) -> Any:
        """Calls ``hook(module, incompatible_keys)`` after a module has loaded."""
        return self._register(self._load_state_dict_post_hooks, hook)
