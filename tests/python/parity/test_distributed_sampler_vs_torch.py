"""DistributedSampler gives PyTorch's indices in PyTorch's order."""

import pytest
import strided

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("n", [1, 7, 30])
@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_indices(n, ranks, drop_last):
    for rank in range(ranks):
        for shuffle in (False, True):
            found = []
            for lib in (torch, strided):
                sampler = lib.utils.data.DistributedSampler(
                    range(n), ranks, rank, shuffle=shuffle, seed=3, drop_last=drop_last
                )
                sampler.set_epoch(2)
                found.append((list(sampler), len(sampler), sampler.num_samples, sampler.total_size))
            assert found[0] == found[1]
