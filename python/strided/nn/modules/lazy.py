"""Modules that learn the size of their input from the first one (``strided.nn.modules.lazy``)."""

from __future__ import annotations

from typing import Any

from ...autograd import no_grad
from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """What makes a module lazy: it stands before the module's class among the bases.

    The module makes UninitializedParameter and UninitializedBuffer in ``__init__``, and gives them their shapes in
    ``initialize_parameters``, which gets the arguments of the first call. After it the module is of class
    `cls_to_become`, unless that is None. A state dict with initialized parameters gives them their shapes as well.

    >>> layer = strided.nn.LazyLinear(2)
    >>> layer.weight
    <UninitializedParameter>
    >>> layer(strided.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(  # type: ignore[attr-defined]
            self._infer_parameters, with_kwargs=True
        )

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        """Gives parameters the shapes of those that are about to be loaded."""
        with no_grad():
            for name, own in (*self._parameters.items(), *self._buffers.items()):
                given = state_dict.get(prefix + name)
                if given is not None and is_lazy(own) and not is_lazy(given):
                    own.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes and values; for subclasses to define.

        Args:
            args, kwargs: of the first call of the module.
        """
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of the module has no shape yet."""
        own = (*self._parameters.values(), *self._buffers.values())  # type: ignore[attr-defined]
        return any(is_lazy(value) for value in own)

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )
