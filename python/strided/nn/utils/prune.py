"""Parameters with some elements held at zero by a mask (``strided.nn.utils.prune``).

The parameter ``name`` of a module becomes ``name_orig``, with a buffer ``name_mask``; ``name`` itself is their product,
made anew before each forward pass.

>>> layer = strided.nn.Linear(4, 2)
>>> layer = strided.nn.utils.prune.l1_unstructured(layer, "weight", amount=3)
>>> (layer.weight == 0).sum(), sorted(layer.state_dict())
(tensor(3), ['bias', 'weight_mask', 'weight_orig'])
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import strided

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def _methods(module, name):
    """{key: method} of the hooks that prune a parameter."""
    return {
        key: hook
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    }


class BasePruningMethod(ABC):
    """A way to choose elements; subclasses define ``compute_mask`` and ``PRUNING_TYPE``.

    ``PRUNING_TYPE`` is "unstructured", "structured" (whole slices along ``self.dim``) or "global": what a further
    method sees of a parameter that is pruned already.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask, for the importances `t`; what `default_mask` holds at zero stays so."""

    def apply_mask(self, module: Any) -> Tensor:
        """The parameter times its mask."""
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter of a module, beside what pruned it before, and returns the method.

        Args:
            importance_scores: what ``compute_mask`` gets; the parameter itself if None. Others go to the class.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = _methods(module, name)
        original = getattr(module, name + "_orig") if before else getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter                     {name} of {module}"
            )
        scores = original if importance_scores is None else importance_scores
        if before:
            container = PruningContainer(*before.values())
            container.add_pruning_method(method)
            method = container
            old_mask = getattr(module, name + "_mask").to(original.dtype)
        else:
            old_mask = strided.ones_like(original)
        mask = method.compute_mask(scores.detach(), default_mask=old_mask.detach())
        for key in before:
            del module._forward_pre_hooks[key]
        if not before:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor that no module has."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = strided.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Makes the pruned values the parameter, without a mask."""
        name = self._tensor_name
        if not hasattr(module, name + "_mask"):
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods of one parameter, one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and isinstance(args[0], Iterable) and not isinstance(args[0], BasePruningMethod):
            args = tuple(args[0])
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Appends a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._tensor_name = method._tensor_name
        parts = method._pruning_methods if isinstance(method, PruningContainer) else (method,)
        self._pruning_methods += tuple(parts)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]  # the masks of the others are in default_mask
        kind = method.PRUNING_TYPE
        where: Any
        if kind == "unstructured":
            where = default_mask == 1
        elif kind == "structured":
            axis = method.dim % t.dim()  # type: ignore[attr-defined]
            kept = default_mask.sum(dim=[d for d in range(t.dim()) if d != axis]) != 0
            where = (slice(None),) * axis + (kept,)
        elif kind == "global":
            where = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[where] = method.compute_mask(t[where], default_mask=default_mask[where]).to(mask.dtype)
        return mask


# What classes of programs call, by PyTorch's names.


def _validate_pruning_amount_init(amount):
    """Errors for what is no number of elements, nor a part of them."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (
        isinstance(amount, numbers.Integral)
        and amount < 0
        or not isinstance(amount, numbers.Integral)
        and not (0 <= float(amount) <= 1)
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    """An error for more elements than there are."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size):
    """The number of elements or slices, of so many."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _validate_structured_pruning(t):
    """An error for what has no slices."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. "
            f"Found tensor of shape {t.shape} with {t.dim()} dims"
        )


def _validate_pruning_dim(t, dim):
    """An error for an axis that is not there."""
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t, n, dim):
    """The norms of the slices along an axis."""
    return strided.norm(t, p=n, dim=[d for d in range(t.dim()) if d != dim % t.dim()])


def _how_many(amount, size):
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Elements(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        mask = default_mask.clone(memory_format=strided.contiguous_format)
        n = _how_many(self.amount, t.nelement())
        if n:
            mask.view(-1)[self._least(t, n)] = 0
        return mask

    def _least(self, t, n):
        raise NotImplementedError


class RandomUnstructured(_Elements):
    """Prunes elements at random. amount: how many, or which part of them (a float)."""

    def _least(self, t, n):
        return strided.topk(strided.rand_like(t).view(-1), k=n).indices


class L1Unstructured(_Elements):
    """Prunes the elements that are smallest by magnitude. amount: how many, or which part of them (a float)."""

    def _least(self, t, n):
        return strided.topk(t.abs().reshape(-1), k=n, largest=False).indices


class _Slices(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount, self.dim = amount, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        n = _how_many(self.amount, size)
        if not n:
            return default_mask
        axis = self.dim % t.dim()
        least = strided.topk(self._importance(t, axis), k=n, largest=False).indices
        kept = strided.ones(size, dtype=default_mask.dtype, device=t.device)
        kept[least] = 0
        return default_mask * kept.view([-1] + [1] * (t.dim() - 1 - axis))

    def _importance(self, t, axis):
        raise NotImplementedError


class RandomStructured(_Slices):
    """Prunes whole slices along an axis, at random."""

    def _importance(self, t, axis):
        return strided.rand(t.shape[axis])


class LnStructured(_Slices):
    """Prunes the slices along an axis whose norms, of order n, are smallest."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _importance(self, t, axis):
        return _compute_norm(t, self.n, axis)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Gives a parameter a mask of ones, and returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prunes elements of a parameter at random, and returns the module."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prunes the elements of a parameter that are smallest by magnitude, and returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes slices of a parameter at random, and returns the module."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prunes the slices of a parameter with the smallest norms, and returns the module."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes a parameter by a mask, and returns the module."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Any,
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes elements of several parameters, chosen among all of them.

    Args:
        parameters: (module, name) of each. pruning_method: a class for unstructured pruning; kwargs go to it.
        importance_scores: of some of the parameters; their values for the others.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = [given.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in pairs]
    masks = [getattr(m, n + "_mask", strided.ones_like(getattr(m, n))).reshape(-1) for m, n in pairs]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    mask = container.compute_mask(strided.cat(scores), strided.cat(masks).to(scores[0].dtype))
    for (module, name), part in zip(pairs, mask.split([len(s) for s in scores])):
        custom_from_mask(module, name, part.view(getattr(module, name).shape))


def remove(module: Any, name: str) -> Any:
    """Makes the pruned values the parameter, without mask and hook, and returns the module. ValueError without any."""
    found = _methods(module, name)
    if not found:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    for key, method in found.items():
        method.remove(module)
        del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module, or of one in it, has a mask."""
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())
