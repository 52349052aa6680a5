"""DistributedSampler: the ranks' indices together are all samples, in the order that one process would take them."""

import pytest
import strided
from strided.utils.data import DataLoader, DistributedSampler, TensorDataset


def parts(n, ranks, **options):
    samplers = [DistributedSampler(range(n), ranks, rank, **options) for rank in range(ranks)]
    found = [list(sampler) for sampler in samplers]
    assert [len(sampler) for sampler in samplers] == [len(part) for part in found]
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("n", [0, 1, 5, 12, 13])
def test_every_sample_is_taken(n, ranks):
    found = parts(n, ranks)
    assert {len(part) for part in found} == {-(-n // ranks)}
    assert set().union(*found) == set(range(n))
    taken = sum(parts(n, ranks, drop_last=True), [])
    assert len(taken) == len(set(taken)) == n // ranks * ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_side_by_side_they_are_the_order_of_one_process(ranks):
    whole = parts(21, 1, seed=5)[0]
    found = parts(21, ranks, seed=5)
    assert [found[k % ranks][k // ranks] for k in range(21)] == whole


def test_epochs_have_orders_of_their_own():
    sampler = DistributedSampler(range(50), 2, 0, seed=1)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    second = list(sampler)
    assert second != first and second == list(DistributedSampler(range(50), 2, 0, seed=2))


def test_in_a_loader():
    data = TensorDataset(strided.arange(10))
    batches = [
        [batch.tolist() for (batch,) in DataLoader(data, 2, sampler=DistributedSampler(data, 2, rank, shuffle=False))]
        for rank in range(2)
    ]
    assert batches == [[[0, 2], [4, 6], [8]], [[1, 3], [5, 7], [9]]]


@pytest.mark.parametrize("rank", [-1, 2])
def test_ranks_outside(rank):
    with pytest.raises(ValueError, match=rf"Invalid rank {rank}, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(3), 2, rank)


def test_without_a_group():
    with pytest.raises((RuntimeError, ValueError)):
        DistributedSampler(range(3))
