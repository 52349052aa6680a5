"""``FullyShardedDataParallel``: a module around another one, whose parameters are sharded over the ranks.

The wrapper is to its module what ``fully_shard`` makes of a module (Note [Fully sharded modules]); it has PyTorch's
arguments, policies, and state dicts.  Names of parameters do not show it.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import TYPE_CHECKING

from ... import _C
from ...autograd.grad_mode import no_grad
from ...nn import Module
from ...nn.parameter import Parameter
from .._factories import distribute_tensor
from .._sharded import ShardedTensor
from ..device_mesh import DeviceMesh
from ..placement import Replicate, Shard
from . import _dicts
from ._fully_shard import MixedPrecisionPolicy, Sharding, _cast, _State, shard_parameters
from ._options import CONFIGS, CPUOffload, MixedPrecision, ShardingStrategy, StateDictSettings, StateDictType
from .wrap import wrap_by_policy

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Iterator, Tensor
    from ._options import OptimStateDictConfig, OptimStateKeyType, StateDictConfig

__all__ = ["FullyShardedDataParallel"]

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_KEEPS = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)  # whole parameters until backward


class _Wrapped(_State):
    """What a wrapper knows of its module's parameters."""

    casts_at_root = False  # inputs, of the outermost wrapper

    def casts_inputs(self) -> bool:
        return self.policy.cast_forward_inputs or (self.casts_at_root and bool(self.outermost))


def _grid(strategy: ShardingStrategy, group: Any, kind: str) -> DeviceMesh:
    """The mesh of the ranks of a group; of (machines, ranks on each) for hybrid strategies."""
    from .._groups import resolve

    if strategy not in _HYBRID:
        if isinstance(group, tuple):
            raise ValueError(f"FullyShardedDataParallel: {strategy} takes one process_group, got a tuple")
        return DeviceMesh.from_group(group, kind)
    if isinstance(group, tuple):
        pg = resolve(None)
        inner = resolve(group[0])
        if pg is None or inner is None:
            raise ValueError("FullyShardedDataParallel: this rank is not in its process_group")
        n = inner.size()
        begin = pg.rank() - pg.rank() % n
        if list(inner._ranks) != list(range(begin, begin + n)):
            raise NotImplementedError(
                f"FullyShardedDataParallel: the first group of {strategy} has ranks in a row, got {inner._ranks}; "
                "device_mesh says more"
            )
    else:
        pg = resolve(group)
        if pg is None:
            raise ValueError("FullyShardedDataParallel: this rank is not in its process_group")
        local = os.environ.get("LOCAL_WORLD_SIZE", "")
        n = int(local) if local.isdigit() and int(local) else pg.size()
    if pg.size() % n:
        raise ValueError(f"FullyShardedDataParallel: {pg.size()} ranks do not make machines of {n}")
    return DeviceMesh(kind, None, comm=pg.communicator, _shape=(pg.size() // n, n))


def _ignored(modules: Any, states: Any) -> tuple[set[Any], set[int]]:
    """(modules that are left alone, ids of parameters that are)"""
    found = set(modules or ())
    states = list(states or ())
    if found and states:
        raise ValueError("Cannot pass both ignored_modules and ignored_states at the same time")
    for m in found:
        if not isinstance(m, Module):
            raise TypeError(f"ignored_modules expects nn.Module list elements but got {type(m)}")
    found |= {m for m in states if isinstance(m, Module)}
    below = {child for m in found for child in m.modules()}
    ids = {id(p) for m in below for p in m._parameters.values() if p is not None}
    return below, ids | {id(p) for p in states if not isinstance(p, Module)}


def _materialized(module: Module, init: Callable[[Module], Any] | None, device: Any, below: set[Any]) -> None:
    """Gives memory and values to modules of the device "meta"."""
    for m in module.modules():
        own = [*m._parameters.values(), *m._buffers.values()]
        if m in below or isinstance(m, Sharding) or not any(t is not None and t.is_meta for t in own):
            continue
        if init is not None:
            init(m)
            continue
        m.to_empty(device=device, recurse=False)
        if not hasattr(m, "reset_parameters"):
            raise NotImplementedError(
                f"FullyShardedDataParallel: {type(m).__name__} on meta has no reset_parameters(); give param_init_fn"
            )
        with no_grad():
            m.reset_parameters()


class FullyShardedDataParallel(Sharding, Module):
    """A module of whose parameters, gradients and optimizer's state every rank keeps a part.

    Whole parameters are gathered for each call and for backward; each rank has its part of a batch, and gradients are
    averages over the ranks. With a loss that is a mean and equal parts, a step is that of one process with the whole
    batch. The optimizer is made of the wrapper's parameters. ``fully_shard`` does the same without a wrapper.

    Parameters keep their names and shapes (as with use_orig_params=True), and are sharded tensors between calls.

    Args:
        module: the network.
        process_group: who takes part; the default group if None. For hybrid strategies also (the ranks that share,
            those that have the same).
        sharding_strategy: FULL_SHARD if None.
        cpu_offload: accepted for modules of the CPU, whose shards are there.
        auto_wrap_policy: modules inside that get wrappers of their own, with the same arguments: a function, a
            ``ModuleWrapPolicy``, or a ``CustomPolicy`` (``fsdp.wrap``).
        mixed_precision: dtypes of the computation and of averages.
        ignored_modules, ignored_states: modules, parameters that stay as they are; nobody averages their gradients.
        param_init_fn: makes modules that are on meta; ``reset_parameters()`` if None.
        device_id: the module goes there first.
        sync_module_states: parameters and buffers begin as those of the first rank; else all must have the same.
        device_mesh: a mesh of one axis, or of two for hybrid strategies, in the place of process_group.
        backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params: accepted, without effect.

    Raises:
        ValueError: there is no default group; arguments do not fit; a policy, and wrappers in the module already.
        NotImplementedError: cpu_offload of a module that is elsewhere.

    >>> def program():
    ...     from strided.distributed.fsdp import FullyShardedDataParallel
    ...     strided.distributed.init_process_group()
    ...     strided.manual_seed(0)
    ...     net = FullyShardedDataParallel(strided.nn.Linear(4, 6))
    ...     optimizer = strided.optim.Adam(net.parameters(), lr=0.1)
    ...     net(strided.ones(1, 4)).square().mean().backward()
    ...     optimizer.step()
    ...     return net.weight.to_local().shape, net.state_dict()["weight"].shape
    >>> strided.distributed.simulate(3, program)[0]
    (torch.Size([2, 4]), torch.Size([6, 4]))
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Any = None,
        param_init_fn: Callable[[Module], Any] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        Module.__init__(self)
        if not isinstance(module, Module):
            raise TypeError(f"FullyShardedDataParallel: a Module is required, got {type(module).__name__}")
        if device_mesh is not None and process_group is not None:
            raise ValueError(
                "Cannot pass both process_group and device_mesh at the same time. Please just pass only one."
            )
        strategy = ShardingStrategy.FULL_SHARD if sharding_strategy is None else sharding_strategy
        if not isinstance(strategy, ShardingStrategy):
            raise TypeError(f"FullyShardedDataParallel: a ShardingStrategy is required, got {strategy!r}")
        below, ids = _ignored(ignored_modules, ignored_states)
        if device_id is not None:
            module.to(_C.device("cuda", device_id) if isinstance(device_id, int) else _C.device(device_id))
        tensors = [t for t in (*module.parameters(), *module.buffers()) if id(t) not in ids]
        kinds = {t.device.type for t in tensors} - {"meta"}
        kind = device_mesh.device_type if device_mesh is not None else next(iter(kinds), "cpu")
        mesh = _grid(strategy, process_group, kind) if device_mesh is None else device_mesh
        if mesh.ndim != (2 if strategy in _HYBRID else 1):
            raise ValueError(f"FullyShardedDataParallel: {strategy} of a mesh of {mesh.ndim} axes, {mesh!r}")
        if getattr(cpu_offload, "offload_params", False) and kind != "cpu":
            raise NotImplementedError(f"FullyShardedDataParallel: cpu_offload of a module that is on {kind}")
        if auto_wrap_policy is not None:
            options = {
                "sharding_strategy": strategy, "cpu_offload": cpu_offload, "mixed_precision": mixed_precision,
                "param_init_fn": param_init_fn, "sync_module_states": sync_module_states, "device_mesh": mesh,
                "use_orig_params": use_orig_params, "ignored_states": [p for p in module.parameters() if id(p) in ids],
            }  # fmt: skip
            if any(isinstance(m, FullyShardedDataParallel) for m in module.modules()):
                raise ValueError(
                    "FullyShardedDataParallel: auto_wrap_policy, and the module has wrappers in it already; either a "
                    "policy or the program wraps"
                )
            if mixed_precision is not None:
                _keep_wide(module, mixed_precision, below, options)
            wrap_by_policy(module, auto_wrap_policy, FullyShardedDataParallel, options, below, ids)
        _materialized(module, param_init_fn, mesh.device_type, below)
        source = 0 if sync_module_states else None
        self._of_wrapper(module, mesh, strategy, mixed_precision, cpu_offload, below, ids, source)

    def _of_wrapper(self, module, mesh, strategy, mixed, offload, below, ids, source) -> None:
        self._fsdp_wrapped_module = module
        self.sharding_strategy, self.mixed_precision, self._mesh = strategy, mixed, mesh
        self.cpu_offload = CPUOffload() if offload is None else offload
        whole = strategy is ShardingStrategy.NO_SHARD

        def placement(name: str, param: Any) -> Any:
            return Replicate() if whole or param.ndim == 0 else Shard(0)

        if source is not None:
            with no_grad():
                for _, m in _named_until_wrappers(module, below):
                    for buffer in m._buffers.values():
                        if buffer is not None:
                            mesh.comm.broadcast(buffer, source)
        mixed = MixedPrecision(cast_root_forward_inputs=False) if mixed is None else mixed
        policy = MixedPrecisionPolicy(mixed.param_dtype, mixed.reduce_dtype, None, mixed.cast_forward_inputs)
        entries = shard_parameters([module], mesh, ids, placement, source)
        state = _Wrapped(entries, policy, False if strategy in _KEEPS or whole else None)
        state.casts_at_root = mixed.cast_root_forward_inputs
        self.__dict__["_fully_sharded"] = state
        self.__dict__["_buffers_were"] = {}
        if mixed.buffer_dtype is not None:
            for path, m in _named_until_wrappers(module, below):
                for key, buffer in m._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        self._buffers_were[f"{path}.{key}" if path else key] = buffer.dtype
                        m._buffers[key] = buffer.to(mixed.buffer_dtype)
        self._settings = _settings(StateDictType.FULL_STATE_DICT, None, None)
        self._register_state_dict_hook(_dicts.given)
        self._register_load_state_dict_pre_hook(_dicts.taken, with_module=True)

    # ------------------------------------------------------------ as the module

    @property
    def module(self) -> Any:
        """The module inside."""
        return self._modules["_fsdp_wrapped_module"]

    @property
    def process_group(self) -> Any:
        """The ranks that share parameters."""
        from .._groups import resolve

        return resolve(self._mesh.get_group(self._mesh.ndim - 1))

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            inside = self.__dict__.get("_modules", {}).get("_fsdp_wrapped_module")
            if inside is None:
                raise
            return getattr(inside, name)

    def __getitem__(self, key: int) -> Any:
        return self.module[key]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's."""
        return self.module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Names are those that the module has without wrappers."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield _dicts.short(name), param

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Names are those that the module has without wrappers."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield _dicts.short(name), buffer

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """fn is called while the whole parameters are there, and may change them."""
        with FullyShardedDataParallel.summon_full_params(self, recurse=False):
            return super().apply(fn)

    # ------------------------------------------------------------ wrappers of a module

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module, and itself; only those that are in no other wrapper with root_only."""
        if not isinstance(module, Module):
            raise TypeError(f"FullyShardedDataParallel: a Module is required, got {type(module).__name__}")
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {m for outer in found for m in outer.module.modules()}
        return [m for m in found if m not in inner]

    def check_is_root(self) -> bool:
        """Whether it was the outermost wrapper in its first call."""
        return bool(self._fully_sharded.outermost)

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Context in which parameters are whole, plain ones.

        Args:
            recurse: those of wrappers inside too.
            writeback: what the program changes stays; all ranks must make the same changes.
            rank0_only: only the first rank has whole ones; writeback must be False.
            offload_to_cpu: accepted, for modules of the CPU.
            with_grads: gradients are whole too.
        """
        if rank0_only and writeback:
            raise NotImplementedError("summon_full_params: writeback=True and rank0_only=True; ranks would differ")
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            wrappers = [m for m in wrappers if m is module]
        places: list[tuple[Any, Any]] = []  # (entry, what stood there)
        made: dict[int, Tensor] = {}  # by the id of what stood there
        with no_grad():
            for m in wrappers:
                if m._fully_sharded.unsharded is not None:
                    raise AssertionError("summon_full_params: the whole parameters are there already")
                for entry in m._fully_sharded.entries:
                    param = entry.owner._parameters[entry.name]
                    if not isinstance(param, ShardedTensor):
                        raise AssertionError("summon_full_params: the module runs, and its whole parameters are there")
                    places.append((entry, param))
                    if id(param) not in made:
                        made[id(param)] = _summoned(param, entry.mesh, rank0_only, with_grads)
        for entry, param in places:
            entry.owner._parameters[entry.name] = made[id(param)]
        try:
            yield
        finally:
            with no_grad():
                for entry, param in places:
                    entry.owner._parameters[entry.name] = param
                    whole = made.pop(id(param), None)
                    if whole is not None and writeback:
                        _write_back(param, whole, with_grads)

    # ------------------------------------------------------------ training

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context: backward keeps gradients, whole, for the first one after it, which averages their sums."""
        states = self._in()
        before = [s.averages for s in states]
        for s in states:
            s.averages = False
        try:
            yield
        finally:
            for s, averages in zip(states, before):
                s.averages = averages

    @no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scales gradients so that the norm of all of them is at most max_norm; the norm before, on every rank."""
        from ...nn.utils.clip_grad import clip_grads_with_norm_, get_total_norm

        params = [p for p in self.parameters() if p.grad is not None]
        if not params:
            warnings.warn(f"clip_grad_norm_: no parameter of rank {self._mesh.get_rank()} has a gradient", stacklevel=2)
        norms = []
        for parts in (True, False):
            grads = [p.grad for p in params if isinstance(p, ShardedTensor) is parts]
            if grads:
                norm = get_total_norm(grads, norm_type)
                norms.append(norm.full_tensor() if isinstance(norm, ShardedTensor) else norm)
        total = get_total_norm(norms, norm_type)
        clip_grads_with_norm_(params, max_norm, total)
        return total

    # ------------------------------------------------------------ state dicts

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """What state dicts of the wrappers in a module have in them from now on; the settings before."""
        before = FullyShardedDataParallel.get_state_dict_type(module)
        made = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        for m in FullyShardedDataParallel.fsdp_modules(module):
            m._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The settings of the wrappers in a module; AssertionError where they differ."""
        found = [m._settings for m in FullyShardedDataParallel.fsdp_modules(module)]
        if any(s != found[0] for s in found):
            raise AssertionError("get_state_dict_type: wrappers in the module have different settings")
        return found[0] if found else _settings(StateDictType.FULL_STATE_DICT, None, None)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Context in which state dicts have this in them; set_state_dict_type sets it for good.

        FULL_STATE_DICT has whole tensors, which all ranks gather; SHARDED_STATE_DICT sharded ones, for
        ``distributed.checkpoint``; LOCAL_STATE_DICT this rank's parts. Dicts of each kind are loaded again under it.
        """
        own = FullyShardedDataParallel
        before = own.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)
        try:
            yield
        finally:
            for m in own.fsdp_modules(module):
                m._settings = before

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The state dict of an optimizer by the names of parameters, with what the settings say in it.

        Args:
            optim_state_dict: one that ``optim.state_dict()`` gave; that of now if None.
        """
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        return _dicts.of_optimizer(model, optim, optim_state_dict, settings)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Any,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """What ``optim.load_state_dict`` takes, of a dict by names; load_directly: loads it too.

        With whole tensors and rank0_only the first rank's dict counts; others may give empty ones.
        """
        if is_named_optimizer:
            raise NotImplementedError("optim_state_dict_to_load: is_named_optimizer; optimizers have numbers here")
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        first = getattr(settings.optim_state_dict_config, "rank0_only", False)
        made = _dicts.to_load(model, optim, optim_state_dict, settings.state_dict_type, first)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """An older name: optim_state_dict with whole tensors."""
        return _dicts.of_optimizer(model, optim, None, _full(rank0_only))

    @staticmethod
    def sharded_optim_state_dict(model: Module, optim: Any, group: Any = None) -> dict[str, Any]:
        """An older name: optim_state_dict with sharded tensors."""
        return _dicts.of_optimizer(model, optim, None, _settings(StateDictType.SHARDED_STATE_DICT, None, None))

    @staticmethod
    def shard_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any], model: Module, optim_input: Any = None, optim: Any = None
    ) -> dict[str, Any]:
        """An older name: optim_state_dict_to_load of whole tensors, which every rank has."""
        return _dicts.to_load(model, _required(optim), full_optim_state_dict, StateDictType.FULL_STATE_DICT, False)

    @staticmethod
    def scatter_full_optim_state_dict(
        full_optim_state_dict: dict[str, Any] | None,
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
        group: Any = None,
    ) -> dict[str, Any]:
        """An older name: optim_state_dict_to_load of whole tensors that the first rank has."""
        given = full_optim_state_dict or {}
        return _dicts.to_load(model, _required(optim), given, StateDictType.FULL_STATE_DICT, True)

    @staticmethod
    def flatten_sharded_optim_state_dict(
        sharded_optim_state_dict: dict[str, Any], model: Module, optim: Any
    ) -> dict[str, Any]:
        """An older name: optim_state_dict_to_load of sharded tensors."""
        return _dicts.to_load(model, optim, sharded_optim_state_dict, StateDictType.SHARDED_STATE_DICT, False)

    @staticmethod
    def rekey_optim_state_dict(
        optim_state_dict: dict[str, Any],
        optim_state_key_type: OptimStateKeyType,
        model: Module,
        optim_input: Any = None,
        optim: Any = None,
    ) -> dict[str, Any]:
        """The dict with names of parameters in the place of their numbers, or the other way round.

        Args:
            model: a network of which optim has the parameters, with or without wrappers.
        """
        return _dicts.rekeyed(optim_state_dict, optim_state_key_type, model, _required(optim))


def _required(optim: Any) -> Any:
    if optim is None:
        raise NotImplementedError("FullyShardedDataParallel: optim_input says too little; give optim")
    return optim


def _settings(kind: StateDictType, config: Any, optim_config: Any) -> StateDictSettings:
    if not isinstance(kind, StateDictType):
        raise TypeError(f"a StateDictType is required, got {kind!r}")
    wanted, wanted_of_optim = CONFIGS[kind]
    config = wanted() if config is None else config
    optim_config = wanted_of_optim() if optim_config is None else optim_config
    for given, right in ((config, wanted), (optim_config, wanted_of_optim)):
        if type(given) is not right:
            raise RuntimeError(f"Expected {kind} to come with a {right.__name__}, got {type(given).__name__}")
    return StateDictSettings(kind, config, optim_config)


def _full(rank0_only: bool) -> StateDictSettings:
    from ._options import FullOptimStateDictConfig

    return _settings(StateDictType.FULL_STATE_DICT, None, FullOptimStateDictConfig(rank0_only=rank0_only))


def _named_until_wrappers(module: Module, below: set[Any], path: str = "") -> Iterator[tuple[str, Module]]:
    """(name, module) of a module and those in it that no other wrapper has, and that are not among `below`."""
    yield path, module
    for name, child in module.named_children():
        if not isinstance(child, Sharding) and child not in below:
            yield from _named_until_wrappers(child, below, f"{path}.{name}" if path else name)


def _summoned(param: Any, mesh: Any, first: bool, with_grads: bool) -> Any:
    """A whole, plain parameter; the shard itself on ranks that are to have none."""
    whole = param.detach().full_tensor()
    grad = param.grad.full_tensor() if with_grads and param.grad is not None else None
    if first and mesh.comm.rank:
        return param
    kept = Parameter(whole.clone() if whole.data_ptr() == param._local.data_ptr() else whole, param.requires_grad)
    if grad is not None:
        kept.grad = grad.clone() if grad.data_ptr() == param._local.grad.data_ptr() else grad
    return kept


def _write_back(param: Any, whole: Any, with_grads: bool) -> None:
    spec = param._spec
    if whole.shape != spec.shape:
        raise RuntimeError(
            f"summon_full_params: a parameter of shape {tuple(spec.shape)} has got the shape {tuple(whole.shape)}"
        )

    def own(t: Any) -> Any:
        return distribute_tensor(t.detach(), spec.mesh, spec.placements, src_data_rank=None)._local

    param._local.detach().copy_(own(whole))
    if with_grads:
        param._local.grad = None if whole.grad is None else own(whole.grad)


def _keep_wide(module: Module, mixed: MixedPrecision, below: set[Any], options: dict[str, Any]) -> None:
    """Gives modules that are to compute in float32 wrappers, in place, and has inputs and outputs cast there."""
    if not mixed._module_classes_to_ignore:
        return
    wide = MixedPrecision(param_dtype=_C.float32, cast_forward_inputs=True, cast_root_forward_inputs=True)
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if child in below or not isinstance(child, tuple(mixed._module_classes_to_ignore)):
                continue
            made = FullyShardedDataParallel(child, **{**options, "mixed_precision": wide})
            if mixed.param_dtype is not None:
                made.register_forward_hook(lambda module, inputs, outputs: _cast(outputs, mixed.param_dtype))
            setattr(parent, name, made)
            below.update(made.modules())
