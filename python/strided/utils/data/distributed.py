"""Each rank of a job takes its part of the samples (``strided.utils.data.distributed``).

>>> samplers = [strided.utils.data.DistributedSampler(range(7), 3, rank, shuffle=False) for rank in range(3)]
>>> [list(sampler) for sampler in samplers]
[[0, 3, 6], [1, 4, 0], [2, 5, 1]]
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import strided

from .sampler import Sampler

if TYPE_CHECKING:
    from ..._typing import Iterator

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """The indices of one rank: every ``num_replicas``-th of all of them, from the rank's own number on.

    All ranks get the same number of indices. Where they do not go into the ranks evenly, indices from the beginning
    are taken again (each rank then has ``ceil(n / num_replicas)``), or with ``drop_last`` some from the end are left
    out. The order is that of PyTorch for the same seed and epoch.

    Args:
        dataset: anything with a length.
        num_replicas: how many ranks share the samples; those of the default group if None.
        rank: which of them this is; the rank in the default group if None.
        shuffle: whether the order is random, anew for each epoch (:meth:`set_epoch`), the same on all ranks.
        seed: of that order. All ranks must give the same.
        drop_last: leave samples out, instead of taking some twice.

    Raises:
        RuntimeError: num_replicas or rank is None and there is no default group.
        ValueError: rank is not one of the num_replicas.

    >>> sampler = strided.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False, drop_last=True)
    >>> list(sampler), len(sampler)
    ([1, 3], 2)
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            group: Any = strided.distributed
            if not group.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = group.get_world_size() if num_replicas is None else num_replicas
            rank = group.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[Any]:
        n = len(self.dataset)
        if self.shuffle:
            generator = strided.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = strided.randperm(n, generator=generator).tolist()
        else:
            indices = list(range(n))
        if n and not self.drop_last:
            indices *= -(-self.total_size // n)
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The number of the epoch, which is added to the seed. Without it every epoch has the same order."""
        self.epoch = epoch
