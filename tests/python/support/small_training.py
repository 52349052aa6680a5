"""A small network and its data, of which each rank trains on a part."""

import strided
from strided import distributed, nn

X = strided.linspace(-1, 1, 60).view(12, 5).sin()
Y = strided.arange(12) % 3


def network():
    strided.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Tanh(), nn.Linear(7, 3))


def part():
    """The rows of X and Y of this rank."""
    n = 12 // distributed.get_world_size()
    return slice(distributed.get_rank() * n, (distributed.get_rank() + 1) * n)


OPTIMIZERS = {
    "SGD": lambda p: strided.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "AdamW": lambda p: strided.optim.AdamW(p, lr=0.01),
    "Adam": lambda p: strided.optim.Adam(p, lr=0.01, amsgrad=True),
    "RMSprop": lambda p: strided.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    **{
        k: lambda p, k=k: getattr(strided.optim, k)(p)
        for k in ("Adagrad", "RAdam", "NAdam", "Adamax", "Adadelta", "ASGD", "Rprop")
    },
}


def losses(net, x=X, y=Y, make=None, steps=3, clip=True):
    """The losses of some steps, of the whole batch."""
    optimizer = (make or OPTIMIZERS["AdamW"])(net.parameters())
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        loss = loss.detach()
        if not isinstance(loss, distributed.ShardedTensor):
            loss = loss.clone()
            distributed.world().all_reduce(loss, "avg")
        found.append(float(loss))
    return found


def assert_same_losses(a, b):
    strided.testing.assert_close(strided.tensor(a), strided.tensor(b), rtol=3e-6, atol=3e-6)
