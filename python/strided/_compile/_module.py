"""Compiled modules."""

from __future__ import annotations

from typing import Any

from ..nn import Module
from ._explain import Explanation
from ._function import CompiledFunction


class OptimizedModule(Module):
    """A module whose calls are compiled.  All else is the original's, which is ``_orig_mod``: attributes, parameters
    (named ``_orig_mod.weight`` as in PyTorch), the mode of training."""

    def __init__(self, mod: Module, fullgraph: bool = False, most_traces: int | None = None):
        super().__init__()
        self._wrap(mod, fullgraph, most_traces)
        self.training = mod.training

    def _wrap(self, mod: Module, fullgraph: bool, most_traces: int | None) -> None:
        self._modules["_orig_mod"] = mod
        self.__dict__["_compiled_call"] = CompiledFunction(mod, fullgraph, most_traces)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled_call(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled_call(*args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        return self._compiled_call.explain(*args, **kwargs)

    def train(self, mode: bool = True) -> OptimizedModule:
        self._modules["_orig_mod"].train(mode)
        self.__dict__["training"] = mode
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "training" or "_modules" not in self.__dict__ or "_orig_mod" not in self._modules:
            return super().__setattr__(name, value)
        if name == "_orig_mod":  # libraries take wrappers out from under it
            return self._wrap(value, self._compiled_call._fullgraph, self._compiled_call._most_traces)
        setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._modules["_orig_mod"], name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)

    def __reduce__(self) -> Any:
        return OptimizedModule, (self._orig_mod, self._compiled_call._fullgraph, self._compiled_call._most_traces)
