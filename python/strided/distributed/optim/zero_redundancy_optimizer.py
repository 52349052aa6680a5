"""An optimizer whose state is spread over ranks (``strided.distributed.optim.zero_redundancy_optimizer``).

S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020: its first stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ...autograd.grad_mode import no_grad
from ...optim.optimizer import Optimizer
from ..algorithms.join import Joinable, JoinHook

if TYPE_CHECKING:
    from ..._typing import Any, Callable

__all__ = ["ZeroRedundancyOptimizer"]

_f = _C.functions


class _Follow(JoinHook):
    """A rank without more batches makes the steps of the others: its part of the parameters is nobody else's."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of which each rank keeps the state of some parameters: it steps these, and gives them to the others.

    Parameters and gradients are whole and equal on every rank, as after ``DistributedDataParallel``. Steps are those of
    the optimizer itself.

    Args:
        params: parameters or groups of them, the same on every rank.
        optimizer_class: the optimizer, whose options come as keywords.
        process_group: the default group if None.
        parameters_as_bucket_view: accepted, without effect.
        overlap_with_ddp: False.

    Raises:
        NotImplementedError: overlap_with_ddp.
        ValueError: there is no group.

    >>> def program():
    ...     from strided.distributed.optim import ZeroRedundancyOptimizer
    ...     strided.distributed.init_process_group()
    ...     strided.manual_seed(0)
    ...     net = strided.nn.parallel.DistributedDataParallel(strided.nn.Linear(2, 3))
    ...     optimizer = ZeroRedundancyOptimizer(net.parameters(), strided.optim.Adam, lr=0.1)
    ...     net(strided.ones(1, 2)).square().sum().backward()
    ...     optimizer.step()
    ...     return [tuple(p.shape) for p in optimizer.optim.state]
    >>> strided.distributed.simulate(2, program)
    [[(3, 2)], [(3,)]]
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        from .._groups import resolve

        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp is not there")
        if not (isinstance(optimizer_class, type) and issubclass(optimizer_class, Optimizer)):
            raise TypeError(
                f"ZeroRedundancyOptimizer: optimizer_class is a class of optimizers, got {optimizer_class!r}"
            )
        pg = resolve(process_group)
        if pg is None:
            raise ValueError("ZeroRedundancyOptimizer: this rank is not in process_group")
        self.process_group, self._comm = pg, pg.communicator
        self._optimizer_class, self._options = optimizer_class, defaults
        self.optim: Any = None  # of this rank's parameters
        Joinable.__init__(self)
        Optimizer.__init__(self, params, defaults)
        self._all_state_dicts: list[Any] = []
        self._deal()

    # ------------------------------------------------------------ who has which parameter

    def _deal(self) -> None:
        """Deals parameters to ranks, the largest first, each to the rank that has least."""
        params = [p for group in self.param_groups for p in group["params"]]
        held = [0] * self._comm.size
        self._owner: dict[int, int] = {}
        for p in sorted(params, key=lambda p: -p.numel()):
            rank = held.index(min(held))
            held[rank] += p.numel()
            self._owner[id(p)] = rank
        own = [
            {**group, "params": [p for p in group["params"] if self._owner[id(p)] == self._comm.rank]}
            for group in self.param_groups
        ]
        if not any(group["params"] for group in own):
            self.optim, self._groups = None, [None] * len(own)
            self._defaults_from(params)
            return
        before = {} if self.optim is None else self.optim.state
        self.optim = self._optimizer_class([group for group in own if group["params"]], **self._options)
        for p in [p for group in own for p in group["params"]]:
            if p in before:
                self.optim.state[p] = before[p]
        made = iter(self.optim.param_groups)
        self._groups = [next(made) if group["params"] else None for group in own]
        self._defaults_from(params)

    def _defaults_from(self, params: list[Any]) -> None:
        """Gives the groups the options that the optimizer fills in."""
        options = (
            self.optim.defaults if self.optim is not None else self._optimizer_class(params, **self._options).defaults
        )
        for group in self.param_groups:
            for name, value in options.items():
                group.setdefault(name, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, whose parameters are dealt to the ranks with the others."""
        super().add_param_group(param_group)
        if getattr(self, "_groups", None) is not None:
            self._deal()

    def _tell_options(self) -> None:
        """Options that the program, or a scheduler, has changed."""
        for group, own in zip(self.param_groups, self._groups):
            if own is not None:
                own.update({k: v for k, v in group.items() if k not in ("params", "param_names")})

    # ------------------------------------------------------------ steps

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Steps this rank's parameters, and gets those of the others."""
        from ..algorithms.join import Join

        Join.notify_join_context(self)
        self._tell_options()
        if self.optim is not None:
            loss = self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        else:
            loss = closure() if closure is not None else None
        self._exchange()
        return loss

    @no_grad()
    def _exchange(self) -> None:
        """Every rank gives its parameters to all; those of a dtype in one call."""
        kinds: dict[Any, list[list[Any]]] = {}
        for group in self.param_groups:
            for p in group["params"]:
                ranks = kinds.setdefault((p.dtype, p.device), [[] for _ in range(self._comm.size)])
                ranks[self._owner[id(p)]].append(p)
        for (dtype, device), ranks in kinds.items():
            whole = [
                _f["cat"]([p.detach().reshape(-1) for p in owned]) if r == self._comm.rank and owned
                else _f["empty"](sum(p.numel() for p in owned), dtype=dtype, device=device)
                for r, owned in enumerate(ranks)
            ]  # fmt: skip
            self._comm.all_gather(whole, whole[self._comm.rank])
            for r, (flat, owned) in enumerate(zip(whole, ranks)):
                if r != self._comm.rank and owned:
                    for p, part in zip(owned, flat.split([p.numel() for p in owned])):
                        p.detach().copy_(part.view(p.shape))

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What ``Join`` has a rank do that has no more batches: the steps of the others."""
        return _Follow(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks that share the state."""
        return self.process_group

    # ------------------------------------------------------------ state dicts

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Brings the state of all parameters to one rank, whose ``state_dict()`` has it then. Every rank calls it.

        Args:
            to: the rank, by its number in the default group.
        """
        from .. import _groups, _objects

        params = [p for group in self.param_groups for p in group["params"]]
        numbers = {id(p): i for i, p in enumerate(params)}
        own = {} if self.optim is None else {numbers[id(p)]: dict(kept) for p, kept in self.optim.state.items()}
        root = _groups.get_group_rank(self.process_group, to)
        found: Any = [None] * self._comm.size if self._comm.rank == root else None
        _objects.gather_object(own, found, to, self.process_group)
        self._all_state_dicts = found or []

    def state_dict(self) -> dict[str, Any]:
        """The state dict of the optimizer, of all parameters, on the rank that ``consolidate_state_dict`` named.

        Raises:
            RuntimeError: it was not called, or for another rank.
        """
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.process_group._ranks[self._comm.rank]})` on all ranks beforehand if you meant to save the global state."
            )
        self._tell_options()
        made = Optimizer.state_dict(self)
        made["state"] = {i: kept for states in self._all_state_dicts for i, kept in sorted(states.items())}
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes a state dict of all parameters, and keeps this rank's part of it."""
        Optimizer.load_state_dict(self, state_dict)
        kept, self.state = self.state, type(self.state)(dict)
        if self.optim is not None:
            for group in self._groups:
                for p in group["params"] if group is not None else ():
                    if p in kept:
                        self.optim.state[p] = kept[p]
        self._all_state_dicts = []
        self._tell_options()
