"""Modules of PyTorch whose contents strided keeps elsewhere: ``optim.adagrad`` is a part of ``optim.adaptive``.

Programs import from these names: ``from torch.optim.adagrad import Adagrad``.  Each is a module without contents of its
own; its names are looked up in their home whenever they are asked for.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Any, Callable, Sequence

_PLACEMENTS = "Partial Placement Replicate Shard"
# The module: its home, and what it has of it; "*": all public names.
PLACES = {
    "_functorch.apis": ("func", "grad grad_and_value vmap"),
    "_ops": ("ops", "HigherOrderOperator OpOverload OpOverloadPacket _OpNamespace"),
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
    "distributed._composable.fsdp": (
        "distributed.fsdp",
        "CPUOffloadPolicy FSDPModule MixedPrecisionPolicy OffloadPolicy fully_shard",
    ),
    "distributed._tensor": (
        "distributed.tensor",
        f"DTensor DeviceMesh {_PLACEMENTS} distribute_module distribute_tensor empty full init_device_mesh ones rand "
        "randn zeros",
    ),
    "distributed._tensor.api": ("distributed.tensor", "DTensor distribute_module distribute_tensor"),
    "distributed._tensor.debug": ("distributed.tensor.debug", "*"),
    "distributed._tensor.device_mesh": ("distributed.device_mesh", "*"),
    "distributed._tensor.experimental": ("distributed.tensor.experimental", "implicit_replication"),
    "distributed._tensor.placement_types": ("distributed.placement", _PLACEMENTS),
    "distributed._tensor.random": ("distributed.tensor._random", "*"),
    "distributed.checkpoint.default_planner": ("distributed.checkpoint", "DefaultLoadPlanner DefaultSavePlanner"),
    "distributed.checkpoint.filesystem": ("distributed.checkpoint", "FileSystemReader FileSystemWriter"),
    "distributed.checkpoint.state_dict_loader": ("distributed.checkpoint", "load load_state_dict"),
    "distributed.checkpoint.state_dict_saver": ("distributed.checkpoint", "async_save save save_state_dict"),
    "distributed.fsdp.api": ("distributed.fsdp._options", "*"),
    "distributed.fsdp.fully_sharded_data_parallel": ("distributed.fsdp", "*"),
    "distributed.tensor.device_mesh": ("distributed.device_mesh", "*"),
    "distributed.tensor.parallel.api": ("distributed.tensor.parallel", "parallelize_module"),
    "distributed.tensor.parallel.style": (
        "distributed.tensor.parallel",
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput "
        "RowwiseParallel SequenceParallel",
    ),
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
        if package != _HERE or place not in PLACES:
            return None
        is_package = any(other.startswith(f"{place}.") for other in PLACES)
        return ModuleSpec(name, _Loader, is_package=is_package)  # type: ignore[arg-type]


class _Loader:
    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        home_name, text = PLACES[module.__name__.partition(".")[2]]
        home = importlib.import_module(f"{_HERE}.{home_name}")
        names = home.__all__ if text == "*" else text.split()

        def __getattr__(name: str) -> Any:
            if name in names:
                return getattr(home, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__doc__ = f"Names of ``{_HERE}.{home_name}``, where PyTorch has them."
        module.__dict__.update(
            __getattr__=__getattr__, __dir__=lambda: sorted(names), __all__=[n for n in names if n[0] != "_"]
        )


@functools.lru_cache(None)
def names_of_modules(package: str) -> set[str]:
    """The modules right below a package ("" for the whole): those of its folder, and those of the table."""
    owner = sys.modules[f"{_HERE}.{package}".rstrip(".")]
    assert owner.__spec__ is not None
    found = {module.name for module in pkgutil.iter_modules(owner.__spec__.submodule_search_locations)}
    found |= {place.rpartition(".")[2] for place in PLACES if place.rpartition(".")[0] == package}
    # `__main__` is the command line; libraries of devices are no modules.
    return {name for name in found if name != "__main__" and not name.startswith("libstrided")}


def modules_of(package: str) -> Callable[[str], Any]:
    """A ``__getattr__`` for a package: its modules load when they are first asked for."""
    full = f"{_HERE}.{package}"

    def __getattr__(name: str) -> Any:
        if not name.startswith("__") and name in names_of_modules(package):
            return importlib.import_module(f"{full}.{name}")
        raise AttributeError(f"module {sys.modules[full].__name__!r} has no attribute {name!r}")

    return __getattr__


sys.meta_path.append(_Finder)  # type: ignore[arg-type]
