"""Modules of PyTorch whose contents strided keeps elsewhere: ``optim.adagrad`` is a part of ``optim.adaptive``.

Programs import from these names: ``from torch.optim.adagrad import Adagrad``.  Each is a module without contents of its
own; its names are looked up in their home whenever they are asked for.
"""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable, Sequence

# The module: its home, and what it has of it.
PLACES = {
    "_ops": ("ops", "HigherOrderOperator OpOverload OpOverloadPacket"),
    "autograd.variable": ("autograd", "Variable"),
    "cpu.amp.autocast_mode": ("cpu.amp", "autocast"),
    "cpu.amp.grad_scaler": ("cpu.amp", "GradScaler"),
    "cuda.amp.autocast_mode": ("cuda.amp", "autocast custom_bwd custom_fwd"),
    "cuda.amp.grad_scaler": ("cuda.amp", "GradScaler"),
    "cuda.graphs": ("cuda", "CUDAGraph graph graph_pool_handle is_current_stream_capturing"),
    "cuda.memory": (
        "cuda",
        "empty_cache max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated "
        "memory_cached memory_reserved memory_stats memory_summary reset_max_memory_allocated reset_peak_memory_stats",
    ),
    "cuda.random": (
        "cuda",
        "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state "
        "set_rng_state_all",
    ),
    "cuda.streams": ("cuda", "Event Stream"),
    "optim._adafactor": ("optim.matrices", "Adafactor"),
    "optim._muon": ("optim.matrices", "Muon"),
    "optim.adadelta": ("optim.adaptive", "Adadelta"),
    "optim.adagrad": ("optim.adaptive", "Adagrad"),
    "optim.adamax": ("optim.adam", "Adamax"),
    "optim.adamw": ("optim.adam", "AdamW"),
    "optim.asgd": ("optim.adaptive", "ASGD"),
    "optim.nadam": ("optim.adam", "NAdam"),
    "optim.radam": ("optim.adam", "RAdam"),
    "optim.rmsprop": ("optim.adaptive", "RMSprop"),
    "optim.rprop": ("optim.adaptive", "Rprop"),
    "profiler.profiler": (
        "profiler",
        "ProfilerAction ProfilerActivity profile schedule supported_activities tensorboard_trace_handler",
    ),
    "utils.data._utils.worker": ("utils.data._worker", "WorkerInfo _generate_state _worker_info get_worker_info"),
}

_HERE = __package__.partition(".")[0]


class _Finder:
    """Finds the modules of the table, after all others."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        package, _, place = name.partition(".")
        return ModuleSpec(name, _Loader) if package == _HERE and place in PLACES else None  # type: ignore[arg-type]


class _Loader:
    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        home_name, text = PLACES[module.__name__.partition(".")[2]]
        home = importlib.import_module(f"{_HERE}.{home_name}")
        names = text.split()

        def __getattr__(name: str) -> Any:
            if name in names:
                return getattr(home, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__doc__ = f"Names of ``{_HERE}.{home_name}``, where PyTorch has them."
        module.__dict__.update(
            __getattr__=__getattr__, __dir__=lambda: sorted(names), __all__=[n for n in names if n[0] != "_"]
        )


def modules_of(package: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package: its modules in the table load when they are first asked for."""

    def __getattr__(name: str) -> Any:
        if f"{package}.{name}" in PLACES:
            return importlib.import_module(f"{_HERE}.{package}.{name}")
        shown = sys.modules[f"{_HERE}.{package}"].__name__
        raise AttributeError(f"module {shown!r} has no attribute {name!r}")

    return __getattr__


sys.meta_path.append(_Finder)  # type: ignore[arg-type]
