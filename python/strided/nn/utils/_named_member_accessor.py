"""Parameters, buffers and modules by their paths (``nn.utils._named_member_accessor``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..._C import Tensor
from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_ABSENT = object()


def _checked(module: Any, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Puts a tensor, or None, where a module has a parameter, a buffer or an attribute of that name."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Puts a tensor, or None, into a module, and gives what was there; it need not be a Parameter.

    Args:
        tensor: the object that NamedMemberAccessor gives for a tensor that was not there takes the tensor away.
        allow_missing: whether there may have been none.

    Raises:
        TypeError: no module, or no tensor. KeyError: a name with dots, or an empty one.
        AttributeError: there is none of that name.
    """
    _checked(module, name)
    if tensor is not _ABSENT and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for place in (module._parameters, module._buffers):
        if name in place:
            before = place[name]
            if tensor is _ABSENT:
                del place[name]
            else:
                place[name] = tensor
            return before
    before = getattr(module, name, _ABSENT)
    if before is _ABSENT and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _ABSENT and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _ABSENT:
        setattr(module, name, tensor)
    elif before is not _ABSENT:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Puts a module in the place of one below another, and gives what was there.

    Raises:
        TypeError: no module. KeyError: a name with dots, or an empty one. AttributeError: there is none of that name.
    """
    _checked(module, name)
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    before = module._modules.get(name)
    if before is None:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Tensors and modules below a module by their paths, each of which is looked for once.

    >>> from strided.nn.utils._named_member_accessor import NamedMemberAccessor
    >>> at = NamedMemberAccessor(torch.nn.Sequential(torch.nn.Linear(1, 2)))
    >>> at.swap_tensor("0.bias", torch.ones(2)).shape, at.get_tensor("0.bias")
    (torch.Size([2]), tensor([1., 1.]))
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        """The module at a path. AttributeError if there is none, TypeError if it is something else."""
        if not name:
            return self.module
        found = self.memo.get(name)
        if found is None:
            folder, _, last = name.rpartition(".")
            found = getattr(self.get_submodule(folder), last)
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
            self.memo[name] = found
        return found

    def _place(self, name: str) -> tuple[Module, str]:
        folder, _, last = name.rpartition(".")
        return self.get_submodule(folder), last

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Puts a module in the place of one, and gives what was there."""
        place, last = self._place(path)
        before = swap_submodule(place, last, value)
        self.memo = {k: v for k, v in self.memo.items() if k != path and not k.startswith(path + ".")}
        return before

    def get_tensor(self, name: str) -> Any:
        """The tensor at a path. AttributeError if there is none, TypeError if it is something else."""
        place, last = self._place(name)
        found = getattr(place, last)
        if found is not None and not isinstance(found, Tensor):
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found

    def set_tensor(self, name: str, value: Any) -> None:
        """Puts a tensor at a path."""
        place, last = self._place(name)
        set_tensor(place, last, value)

    def del_tensor(self, name: str) -> None:
        """Takes a tensor away. AttributeError if there is none."""
        place, last = self._place(name)
        swap_tensor(place, last, _ABSENT)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Puts a tensor at a path, and gives what was there."""
        place, last = self._place(name)
        return swap_tensor(place, last, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """The tensors at some paths."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Puts tensors at some paths. ValueError unless there are as many of both."""
        self.swap_tensors(names, values, allow_missing=True)

    def set_tensors_dict(self, named_tensors: Mapping[str, Any]) -> None:
        """Puts tensors at their paths."""
        self.set_tensors(named_tensors, named_tensors.values())

    def del_tensors(self, names: Iterable[str]) -> None:
        """Takes tensors away."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """Puts tensors at some paths, and gives what was there. ValueError unless there are as many of both."""
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise ValueError("names and values must have the same length")
        return [self.swap_tensor(name, value, allow_missing) for name, value in zip(names, values)]

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Puts tensors at their paths; what was there by path, and the paths that had none."""
        before: dict[str, Any] = {}
        missing = []
        try:
            for name, tensor in named_tensors.items():
                found = self.swap_tensor(name, tensor, allow_missing=True)
                before[name] = found
                if found is _ABSENT:
                    missing.append(name)
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        if missing and not allow_missing:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The paths that are not among the keys, and the keys that are no paths."""
        given, valid = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(valid - given), sorted(given - valid)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The parameters with their paths."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The buffers with their paths."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The parameters and buffers with their paths."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The modules with their paths."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
