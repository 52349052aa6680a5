"""State dicts of models and optimizers by the names of parameters (``torch.distributed.checkpoint.state_dict``).

The state dict of an optimizer numbers its parameters. Here they have the names that the model gives them, without what
`DistributedDataParallel` puts before them, so a program with other ranks or another order of parameters can load it.

>>> net = strided.nn.Linear(1, 1)
>>> opt = strided.optim.SGD(net.parameters(), lr=0.5)
>>> strided.distributed.checkpoint.state_dict.get_optimizer_state_dict(net, opt)["param_groups"][0]["params"]
['weight', 'bias']
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

import strided

from .. import world
from .._factories import distribute_tensor
from .._objects import _plain, built
from .._sharded import ShardedTensor

if TYPE_CHECKING:
    from ..._typing import Any

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclasses.dataclass
class StateDictOptions:
    """What state dicts have in them.

    Args:
        full_state_dict: sharded tensors whole; loading whole ones, each rank takes its parts of them.
        cpu_offload: tensors are copied to the CPU; with full_state_dict, of several ranks only the first has them, and
            the others get empty dicts. ignore_frozen_params: without parameters that want no gradient.
        keep_submodule_prefixes: names in `submodules` begin with that of the submodule.
        strict: a model must have all names, and no others. flatten_optimizer_state_dict: one dict, with names of the
            form ``state.<parameter>.<what>`` and ``param_groups.<parameter>.<option>``.
        broadcast_from_rank0: whole tensors are loaded from the first rank's dict; others may give empty ones.
        dsd_fqn_modifiers: accepted, without effect.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _options(options: StateDictOptions | None) -> StateDictOptions:
    options = StateDictOptions() if options is None else options
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("broadcast_from_rank0: full_state_dict=True is required too")
    return options


def _kept(made: dict, options: StateDictOptions) -> dict:
    """The dict; an empty one on ranks that get no whole tensors."""
    return {} if options.full_state_dict and options.cpu_offload and world().rank else made


class _Coming:
    """A tensor that the first rank has, in its place in a state dict."""

    def __init__(self, dtype: Any, shape: Any, tensor: Any) -> None:
        self.dtype, self.shape, self.tensor = dtype, tuple(shape), tensor

    def into(self, own: Any) -> Any:
        """The tensor, from the first rank; each rank gets its parts where `own` is sharded over all of them."""
        device = own.device if isinstance(own, strided.Tensor) else "cpu"
        t = (
            strided.empty((), dtype=self.dtype, device=device).expand(self.shape)
            if self.tensor is None
            else self.tensor
        )
        comm, t = world(), t.to(device)
        fits = isinstance(own, ShardedTensor) and own.shape == t.shape
        if fits and own.device_mesh.comm.size == comm.size:
            return distribute_tensor(t, own.device_mesh, own.placements)
        t = t.contiguous()
        comm.broadcast(t, 0)
        return _cut(own, t) if fits else t


def _sent(given: dict, options: StateDictOptions) -> dict:
    """The first rank's dict on every rank, with tensors that are still to come."""
    if not options.broadcast_from_rank0:
        return given
    tensors: list[Any] = []
    comm = world()
    text = comm.broadcast_object(_plain(dict(given), tensors, "the state dict") if comm.rank == 0 else None, 0)
    mine = iter(tensors)
    return built(text, lambda dtype, shape: _Coming(dtype, shape, next(mine, None)))


def _cut(own: Any, t: Any) -> Any:
    return distribute_tensor(t, own.device_mesh, own.placements, src_data_rank=None)


def _as(own: Any, given: Any) -> Any:
    """A whole tensor in the placements of a sharded one."""
    if isinstance(given, _Coming):
        return given.into(own)
    if not isinstance(own, ShardedTensor) or not isinstance(given, strided.Tensor) or own.shape != given.shape:
        return given
    return given if isinstance(given, ShardedTensor) else _cut(own, given.to(own.device))


def _value(value: Any, options: StateDictOptions) -> Any:
    if not isinstance(value, strided.Tensor):
        return value
    if options.full_state_dict and isinstance(value, ShardedTensor):
        value = value.detach().full_tensor()
    return value.cpu() if options.cpu_offload else value


def _names(model: Any) -> list[tuple[str, str]]:
    """(beginning of names in the model, what stands for it) of each wrapper, the innermost first."""
    from ...nn.parallel import DistributedDataParallel

    found = [
        _bare(f"{name}." if name else "") for name, m in model.named_modules() if isinstance(m, DistributedDataParallel)
    ]
    return [(f"{start}module.", start) for start in reversed(found)]


def _bare(name: str) -> str:
    """A name without what other wrappers put into it."""
    return name.replace("_fsdp_wrapped_module.", "").replace("_checkpoint_wrapped_module.", "")


def _short(name: str, wrappers: list[tuple[str, str]]) -> str:
    name = _bare(name)
    for long, short in wrappers:
        if name.startswith(long):
            name = short + name[len(long) :]
    return name


def _parameters(model: Any) -> dict[int, str]:
    """The name of each parameter, by its id."""
    wrappers = _names(model)
    return {id(p): _short(name, wrappers) for name, p in model.named_parameters()}


def get_model_state_dict(model: Any, *, submodules: Any = None, options: StateDictOptions | None = None) -> dict:
    """Parameters and buffers by name; those of `submodules` only, if there are any."""
    options = _options(options)
    wrappers = _names(model)
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    made = {
        name: _value(value, options)
        for name, value in model.state_dict().items()
        if not (options.ignore_frozen_params and name in frozen)
    }
    if submodules:
        chosen = [f"{name}." for name, m in model.named_modules() if m in set(submodules)]
        made = {
            name if options.keep_submodule_prefixes else name[len(start) :]: value
            for name, value in made.items()
            for start in chosen
            if name.startswith(start)
        }
    return _kept({_short(name, wrappers): value for name, value in made.items()}, options)


def set_model_state_dict(model: Any, model_state_dict: dict, *, options: StateDictOptions | None = None) -> Any:
    """Loads what get_model_state_dict gave; ``(missing_keys, unexpected_keys)``.

    RuntimeError for names that are missing or unknown, if ``options.strict``.
    """
    options = _options(options)
    wrappers = _names(model)
    there = model.state_dict()
    own = {_short(name, wrappers): name for name in there}
    given = {own.get(name, name): value for name, value in _sent(model_state_dict, options).items()}
    if options.full_state_dict:
        given = {name: _as(there.get(name), value) for name, value in given.items()}
    return model.load_state_dict(given, strict=options.strict)


def _each(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _prepare(optimizer: Any) -> None:
    """What the optimizer keeps exists after the first step: here one that changes nothing."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    try:
        for p in params:
            if p.requires_grad:
                p.grad = strided.zeros_like(p)
        for group in optimizer.param_groups:
            if "lr" in group:
                group["lr"] = strided.tensor(0.0) if isinstance(group["lr"], strided.Tensor) else 0.0
        optimizer.step()
    finally:
        for group, rate in zip(optimizer.param_groups, rates):
            if "lr" in group:
                group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)


def _named(name_of: dict[int, str], param: Any) -> str:
    if id(param) not in name_of:
        raise KeyError(f"the optimizer has a parameter of shape {tuple(param.shape)} that the model does not have")
    return name_of[id(param)]


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict:
    """State and options of one or several optimizers by the names of the model's parameters.

    An optimizer that has not made a step makes one, with gradients of zero and a rate of zero, so that its state is
    there.

    Args:
        submodules: only their parameters.
    Raises:
        KeyError: an optimizer has a parameter that the model does not have.
    """
    options = _options(options)
    name_of = _parameters(model)
    chosen = {id(p) for m in submodules for p in m.parameters()} if submodules else None
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _each(optimizers):
        _prepare(optimizer)
        for group in optimizer.param_groups:
            params = [p for p in group["params"] if chosen is None or id(p) in chosen]
            for p in params:
                if p in optimizer.state:
                    kept = optimizer.state[p]
                    state[_named(name_of, p)] = {k: _value(v, options) for k, v in kept.items()}
            names = [_named(name_of, p) for p in params]
            if names:
                rest = {k: v for k, v in group.items() if k not in ("params", "param_names")}
                groups.append({**rest, "params": names})
    if not options.flatten_optimizer_state_dict:
        return _kept({"state": state, "param_groups": groups}, options)
    flat = {f"state.{name}.{k}": v for name, kept in state.items() for k, v in kept.items()}
    for group in groups:
        kept = {k: v for k, v in group.items() if k != "params"}
        flat.update({f"param_groups.{name}.{k}": v for name in group["params"] for k, v in kept.items()})
    return _kept(flat, options)


def _unflattened(given: dict, names: list[str]) -> tuple[dict, list[dict]]:
    """State and groups of one optimizer, from the dict with long names."""
    state: dict[str, Any] = {name: {} for name in names}
    options: dict[str, Any] = {name: {} for name in names}
    by_length = sorted(names, key=len, reverse=True)  # "a.b" before "a"
    for key, value in given.items():
        kind, _, rest = key.partition(".")
        into = {"state": state, "param_groups": options}.get(kind, {})
        for name in by_length:
            if into and rest.startswith(f"{name}."):
                into[name][rest[len(name) + 1 :]] = value
                break
    return {k: v for k, v in state.items() if v}, [{**options[name], "params": [name]} for name in names]


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict, *, options: StateDictOptions | None = None
) -> None:
    """Loads what get_optimizer_state_dict gave into one or several optimizers, whatever the order of their parameters.

    Raises:
        KeyError: an optimizer has a parameter that the model does not have.
        ValueError: the dict has no options for a parameter of an optimizer, or different ones within a group.
    """
    options = _options(options)
    name_of = _parameters(model)
    optim_state_dict = _sent(optim_state_dict, options)
    flat = "param_groups" not in optim_state_dict
    for optimizer in _each(optimizers):
        names = [_named(name_of, p) for group in optimizer.param_groups for p in group["params"]]
        if flat:
            state, saved = _unflattened(optim_state_dict, names)
        else:
            state, saved = optim_state_dict["state"], optim_state_dict["param_groups"]
        group_of = {n: {k: v for k, v in group.items() if k != "params"} for group in saved for n in group["params"]}
        numbers = {name: i for i, name in enumerate(names)}
        if options.full_state_dict:
            _prepare(optimizer)
            own_state = {_named(name_of, p): kept for p, kept in optimizer.state.items()}
            state = {
                name: {k: _as(own_state.get(name, {}).get(k), v) for k, v in kept.items()}
                for name, kept in state.items()
            }
        groups = []
        for group in optimizer.param_groups:
            own = [_named(name_of, p) for p in group["params"]]
            found = [group_of.get(name) for name in own]
            if any(not f for f in found):
                lost = [name for name, f in zip(own, found) if not f]
                raise ValueError(f"the state dict has no options for {', '.join(lost)}")
            if any(f != found[0] for f in found):
                raise ValueError(f"the state dict has different options for {', '.join(own)}, which are one group here")
            groups.append({**(found[0] or {}), "params": [numbers[name] for name in own]})
        optimizer.load_state_dict({
            "state": {numbers[name]: dict(kept) for name, kept in state.items() if name in numbers},
            "param_groups": groups,
        })  # fmt: skip


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> tuple[dict, dict]:
    """get_model_state_dict and get_optimizer_state_dict."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Any,
    optimizers: Any,
    *,
    model_state_dict: dict,
    optim_state_dict: dict,
    options: StateDictOptions | None = None,
) -> Any:
    """set_model_state_dict and set_optimizer_state_dict."""
    made = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return made
