"""State dicts of ``FullyShardedDataParallel`` and of its optimizers: names without wrappers, tensors of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from .._factories import distribute_tensor
from .._sharded import ShardedTensor
from ._options import OptimStateKeyType, StateDictType

if TYPE_CHECKING:
    from ..._typing import Any

INSIDE = "_fsdp_wrapped_module."


def short(name: str) -> str:
    """A name without wrappers, also those of checkpoint_wrapper."""
    return name.replace(INSIDE, "").replace("_checkpoint_wrapped_module.", "")


def _told(t: Any, kind: StateDictType, config: Any) -> Any:
    """A tensor as state dicts of a kind have it."""
    if not isinstance(t, _C.Tensor):
        return t
    if isinstance(t, ShardedTensor):
        local = t._local
        if kind is StateDictType.FULL_STATE_DICT:
            t = t.detach().full_tensor()
        elif kind is StateDictType.LOCAL_STATE_DICT:
            t = local.detach()
        if not isinstance(t, ShardedTensor) and t.data_ptr() == local.data_ptr():
            t = t.clone()  # the next steps do not change what a program keeps
    return t.cpu() if config.offload_to_cpu else t


def given(module: Any, state_dict: Any, prefix: str, local: Any) -> None:
    """Hook: the entries of a wrapper, under the names of its module."""
    settings, inner = module._settings, prefix + INSIDE
    config = settings.state_dict_config
    first = getattr(config, "rank0_only", False) and module._mesh.comm.rank
    for key in [k for k in state_dict if k.startswith(prefix)]:
        value = _told(state_dict.pop(key), settings.state_dict_type, config)
        if first:
            continue
        name = key.removeprefix(inner) if key.startswith(inner) else key.removeprefix(prefix)
        kept = module._buffers_were.get(name)
        state_dict[prefix + name] = value if kept is None else value.to(kept)


def taken(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    """Hook: entries with the names of the module go to the wrapper, whole tensors into the placements of its own."""
    for key in [k for k in state_dict if k.startswith(prefix)]:
        state_dict[prefix + INSIDE + key.removeprefix(prefix).removeprefix(INSIDE)] = state_dict.pop(key)
    kind = module._settings.state_dict_type
    for path, m in module.module.named_modules():
        for name, param in m._parameters.items():
            key = prefix + INSIDE + short(f"{path}.{name}" if path else name)
            if key in state_dict and isinstance(param, ShardedTensor):
                state_dict[key] = _placed(state_dict[key], param, kind)


def _placed(t: Any, own: ShardedTensor, kind: StateDictType) -> Any:
    """A plain tensor as a sharded one like another; others, and what does not fit, as it is."""
    if not isinstance(t, _C.Tensor) or isinstance(t, ShardedTensor):
        return t
    spec = own._spec
    if kind is StateDictType.LOCAL_STATE_DICT:
        if t.shape == own._local.shape:
            return ShardedTensor.from_local(t.to(own.device), spec.mesh, spec.placements, shape=spec.shape)
    elif t.shape == spec.shape:
        return distribute_tensor(t.to(own.device), spec.mesh, spec.placements, src_data_rank=None)
    return t


# ---------------------------------------------------------------- optimizers


def _names(model: Any, optim: Any) -> list[str]:
    """The names of an optimizer's parameters, in the order of their numbers."""
    from ..checkpoint.state_dict import _named, _parameters

    name_of = _parameters(model)
    return [_named(name_of, p) for group in optim.param_groups for p in group["params"]]


def of_optimizer(model: Any, optim: Any, known: Any, settings: Any) -> dict[str, Any]:
    """The state dict of an optimizer by names."""
    from ...optim.optimizer import Optimizer
    from . import _wrapper

    wrappers = _wrapper.FullyShardedDataParallel.fsdp_modules(model)
    if not isinstance(optim, Optimizer):
        raise TypeError(f"optim_state_dict: an Optimizer is required, got {type(optim).__name__}")
    known = optim.state_dict() if known is None else known
    config, kind = settings.optim_state_dict_config, settings.state_dict_type
    names = _names(model, optim)
    state = {
        names[number]: {k: _told(v, kind, config) for k, v in kept.items()} for number, kept in known["state"].items()
    }
    groups = [{**group, "params": [names[i] for i in group["params"]]} for group in known["param_groups"]]
    if getattr(config, "rank0_only", False) and wrappers and wrappers[0]._mesh.comm.rank:
        return {}
    return {"state": state, "param_groups": groups}


def to_load(model: Any, optim: Any, dict_by_name: Any, kind: StateDictType, first: bool) -> dict[str, Any]:
    """What ``optim.load_state_dict`` takes, of a dict by names."""
    from ..checkpoint import state_dict as dcp

    options = dcp.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    if first:
        dict_by_name = dcp._sent(dict_by_name, options)
    params = [p for group in optim.param_groups for p in group["params"]]
    names = _names(model, optim)
    numbers = {name: i for i, name in enumerate(names)}
    groups = dict_by_name["param_groups"]
    missing = set(names) - {name for group in groups for name in group["params"]}
    if missing:
        raise ValueError(f"the state dict has no options for {', '.join(sorted(missing))}")

    def own(value: Any, param: Any) -> Any:
        if isinstance(value, dcp._Coming):
            fits = isinstance(param, ShardedTensor) and tuple(param.shape) == value.shape
            return value.into(param if fits else None)
        return _placed(value, param, kind) if isinstance(param, ShardedTensor) else value

    state = {}
    for name, kept in dict_by_name["state"].items():
        if name in numbers:
            number = numbers[name]
            state[number] = {k: own(v, params[number]) for k, v in kept.items()}
    made = []
    for group in groups:
        own_numbers = [numbers[name] for name in group["params"] if name in numbers]
        if own_numbers:
            made.append({**group, "params": own_numbers})
    return {"state": state, "param_groups": made}


def rekeyed(known: dict[str, Any], kind: OptimStateKeyType, model: Any, optim: Any) -> dict[str, Any]:
    """The dict with names for numbers, or numbers for names."""
    names = _names(model, optim)
    keys: Any = dict(enumerate(names)) if kind is OptimStateKeyType.PARAM_NAME else {n: i for i, n in enumerate(names)}
    return {
        "state": {keys[k]: dict(v) for k, v in known["state"].items()},
        "param_groups": [{**g, "params": [keys[k] for k in g["params"]]} for g in known["param_groups"]],
    }
