"""SyncBatchNorm over ranks is BatchNorm over the whole batch: results, running statistics, gradients."""

import pytest
import strided
from strided import distributed as dist
from strided import nn
from strided.nn.parallel import DistributedDataParallel as DDP

RANKS = [1, 2, 3, 4, 6, 7]


def close(a, b, tolerance=1e-9):
    strided.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def grouped(n, program):
    def ranked():
        dist.init_process_group()
        return program(dist.get_rank(), n)

    return dist.simulate(n, ranked)


def data(*shape):
    generator = strided.Generator()
    generator.manual_seed(5)
    return strided.randn(*shape, dtype=strided.float64, generator=generator) * 2 + 100


def part(n, ranks, rank):
    """Uneven parts; none is empty for n >= 2 ranks."""
    cuts = [r * n // ranks + (r % 2) * (0 < r < ranks) for r in range(ranks + 1)]
    return slice(cuts[rank], cuts[rank + 1])


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("shape", [(21, 3), (14, 2, 5), (14, 2, 3, 2)], ids=str)
@pytest.mark.parametrize("momentum", [0.1, None])
def test_like_one_process(n, shape, momentum):
    x, weights = data(*shape), data(*shape)
    one = nn.BatchNorm1d(shape[1], momentum=momentum).double()
    whole = x.clone().requires_grad_()
    flat = whole if len(shape) < 4 else whole.flatten(2)
    for _ in range(2):
        y = one(flat).reshape(shape)
    (y * weights).sum().backward()

    def program(rank, n):
        rows = part(shape[0], n, rank)
        layer = nn.SyncBatchNorm(shape[1], momentum=momentum).double()
        mine = x[rows].clone().requires_grad_()
        for _ in range(2):
            y = layer(mine)
        (y * weights[rows]).sum().backward()
        for p in layer.parameters():
            dist.all_reduce(p.grad)
        return rows, y.detach(), mine.grad, layer

    for rows, found, gradient, layer in grouped(n, program):
        close(found, y.detach()[rows])
        close(gradient, whole.grad[rows], 1e-7)
        close(layer.running_mean, one.running_mean)
        close(layer.running_var, one.running_var)
        assert layer.num_batches_tracked == 2
        for p, q in zip(layer.parameters(), one.parameters()):
            close(p.grad, q.grad, 1e-7)


def test_second_derivatives():
    x = data(6, 2)

    def penalty(layer, x):
        x = x.clone().requires_grad_()
        (g,) = strided.autograd.grad(layer(x).pow(3).sum(), x, create_graph=True)
        g.square().sum().backward()
        return x.grad

    expected = penalty(nn.BatchNorm1d(2).double(), x)
    results = grouped(3, lambda rank, n: penalty(nn.SyncBatchNorm(2).double(), x[2 * rank : 2 * rank + 2]))
    close(strided.cat(results), expected, 1e-6)


def test_networks_train_as_one():
    x, y = data(24, 4), data(24, 1)

    def net():
        strided.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 1)).double()

    def train(model, x, y):
        optimizer = strided.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(4):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        return [p.detach() for p in model.parameters()]

    def program(rank, n):
        return train(DDP(nn.SyncBatchNorm.convert_sync_batchnorm(net())), x[rank::n], y[rank::n])

    expected = train(net(), x, y)
    for found in grouped(4, program):
        for a, b in zip(found, expected):
            close(a, b, 1e-7)


def test_half_precision_and_one_value():
    def program(rank, n):
        layer = nn.SyncBatchNorm(1).to(strided.bfloat16)
        assert layer(strided.full((3, 1), float(rank), dtype=strided.bfloat16)).dtype == strided.bfloat16
        with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
            nn.SyncBatchNorm(1)(strided.ones(1 - rank, 1))
        return True

    assert grouped(2, program) == [True, True]
    assert nn.SyncBatchNorm(1).eval()(strided.ones(1, 1)).item() == pytest.approx(1, abs=1e-4)


def test_evaluation_does_not_communicate():
    def program(rank, n):
        layer = nn.SyncBatchNorm(2).eval()
        traffic = dist.group.WORLD.communicator.traffic
        traffic.reset()
        layer(strided.ones(2 + rank, 2))
        return traffic.calls

    assert grouped(2, program) == [{}, {}]
