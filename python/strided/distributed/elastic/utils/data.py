"""A sampler that goes on in the middle of an epoch (``strided.distributed.elastic.utils.data``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ....utils.data.distributed import DistributedSampler

if TYPE_CHECKING:
    from ...._typing import Any, Iterator

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """A DistributedSampler whose epoch begins at an index, where an earlier run has ended.

    Args:
        dataset: to draw from. num_replicas, rank: of the default group if None.
        start_index: how many places of the shuffled data are done.
    """

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, start_index: int = 0
    ) -> None:
        super().__init__(dataset, num_replicas=num_replicas, rank=rank)
        if not 0 <= start_index < len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        from .... import Generator, randperm

        draw = Generator().manual_seed(self.epoch)
        places = randperm(len(self.dataset) - self.start_index, generator=draw).tolist()  # type: ignore[arg-type]
        places = [self.start_index + i for i in places]
        places += places[: self.total_size - len(places)]
        return iter(places[self.rank : self.total_size : self.num_replicas])
