"""Counted arithmetic: forward, backward, by module."""

import strided
from strided import nn
from strided.utils.flop_counter import FlopCounterMode


def counted(program, **options):
    with FlopCounterMode(display=False, **options) as counter:
        program()
    return counter


def test_products():
    a, b = strided.ones(4, 5, 6, requires_grad=True), strided.ones(6, 7)
    assert counted(lambda: a @ b).get_total_flops() == 2 * 4 * 5 * 6 * 7
    assert counted(lambda: (a @ b).sum().backward()).get_total_flops() == 2 * (2 * 4 * 5 * 6 * 7)
    assert counted(lambda: strided.einsum("bij,jk->bik", a, b)).get_total_flops() == 2 * 4 * 5 * 6 * 7
    assert counted(lambda: strided.einsum("...ij,jk->...ik", a, b)).get_total_flops() == 2 * 4 * 5 * 6 * 7
    assert counted(lambda: strided.bmm(a, a.mT)).get_total_flops() == 2 * 4 * 5 * 5 * 6
    assert counted(lambda: strided.addmm(strided.ones(2, 2), b[:2].T[:2], b[:2, :2])).get_total_flops() == 16
    assert counted(lambda: a + a).get_total_flops() == 0


def test_networks():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Flatten(2))
    counter = counted(lambda: net(strided.ones(2, 3, 8, 8)))
    counts = {place: sum(found.values()) for place, found in counter.get_flop_counts().items()}
    assert counts == {"Global": 88064, "Sequential": 88064, "Sequential.0": 55296, "Sequential.1": 32768}
    counter = counted(lambda: net(strided.ones(2, 3, 8, 8)).sum().backward())
    assert counter.get_total_flops() == 2 * 55296 + 3 * 32768  # the input of the first needs no gradient
    assert "Sequential.1" in counter.get_table()
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    q = strided.ones(2, 5, 8)
    # three projections, the scores and their sums, one projection
    assert counted(lambda: attention(q, q, q)).get_total_flops() == 4 * 2 * 10 * 8 * 8 + 2 * 2 * (2 * 2 * 5 * 5 * 4)


def test_formulas_of_the_user_and_the_table(capsys):
    counter = counted(
        lambda: strided.exp(strided.ones(3)), custom_mapping={strided.ops.aten.exp: lambda x, out_shape: 10 * x[0]}
    )
    assert counter.get_total_flops() == 30
    with FlopCounterMode():
        nn.Linear(2, 3)(strided.ones(1, 2))
    assert "Linear" in capsys.readouterr().out
