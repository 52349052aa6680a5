"""Functions of sharded tensors whose results have a shape that depends on values; values and errors."""

import pytest
import strided as torch
from sharded_cases import MESHES, assert_shard, leaves
from strided.distributed import BlockCyclic, Partial, Replicate, Shard, distribute_tensor, init_device_mesh, simulate

NAN = float("nan")
NUMBERS = torch.tensor([[3, 0, 1, 0], [0, 0, 2, 1], [5, 0, 0, 0]])
FLOATS = torch.tensor([[0.5, -0.0, NAN, 2.0], [0.0, 1.0, -3.0, 0.0], [NAN, 0.0, 7.0, 1.0]])
LINE = torch.tensor([2, 2, 0, 7, 7, 7, 0, 1, 1])
WITH_NAN = torch.tensor([1.0, 1.0, NAN, NAN, 2.0])

CASES = {
    "nonzero": (lambda x: x.nonzero(), NUMBERS),
    "nonzero of floats": (lambda x: torch.nonzero(x, as_tuple=True), FLOATS),
    "nonzero of nothing": (lambda x: x.nonzero(), NUMBERS[:0]),
    "nonzero of zeros": (lambda x: x.nonzero(), NUMBERS[2:, 1:]),
    "nonzero 0-d": (lambda x: (x.nonzero(), *torch.nonzero(x, as_tuple=True)), NUMBERS[0, 0]),
    "argwhere": (lambda x: torch.argwhere(x), LINE),
    "where": (lambda x: torch.where(x > 1), FLOATS),
    "masked_select": (lambda x: x.masked_select(x > 0), FLOATS),
    "masked_select broadcast": (lambda x: torch.masked_select(x[:1], x.t()[2:3].t() > 0), NUMBERS),
    "mask": (lambda x: x[x > 0], NUMBERS),
    "mask of rows": (lambda x: x[x[:, 0] > 0], NUMBERS),
    "mask and slices": (lambda x: x[x[:, 0] > 0, :], NUMBERS),
    "plain mask": (lambda x: x[torch.tensor([False, True, True])], NUMBERS),
    "mask of nothing": (lambda x: x[x > 9], NUMBERS),
    "assigned": (lambda x: assigned(x, x > 1, 9), NUMBERS),
    "assigned rows": (lambda x: assigned(x, x[:, 0] > 0, x.sum()), NUMBERS),
    "assigned elements": (lambda x: assigned(x, x > 1, x.flatten()[:3]), NUMBERS),
    "assigned chosen rows": (lambda x: assigned(x, x[:, 0] > 0, x[1:] + 1), NUMBERS),
    "masked_scatter": (lambda x: x.masked_scatter(x == 0, x.t().flatten() + 10), NUMBERS),
    "masked_scatter_": (lambda x: x.clone().masked_scatter_(x[0] > 0, x.t().flatten() + 10), NUMBERS),
    "assigned places": (lambda x: assigned(x, torch.tensor([2, -3]), x[:2] + 1), NUMBERS),
    "assigned columns": (lambda x: assigned(x, (slice(None), torch.tensor([[3], [0]])), 8), NUMBERS),
    "two indices": (lambda x: x[[0, 2, -1], [1, -1, 0]], NUMBERS),
    "bincount": (lambda x: (torch.bincount(x), x.bincount(minlength=11)), LINE),
    "bincount weights": (lambda x: torch.bincount(x, x * 0.5), LINE),
    "bincount of nothing": (lambda x: torch.bincount(x, minlength=2), LINE[:0]),
    "histc": (lambda x: (torch.histc(x, 5), torch.histc(x, 4, 1, 5)), LINE.double()),
    "histc of equals": (lambda x: torch.histc(x, 4), LINE[:2].double()),
    "unique": (lambda x: torch.unique(x, return_inverse=True, return_counts=True), LINE),
    "unique NaN": (lambda x: torch.unique(x, return_inverse=True, return_counts=True), WITH_NAN),
    "unique_consecutive": (lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), LINE),
    "unique_consecutive NaN": (lambda x: torch.unique_consecutive(x, return_counts=True), WITH_NAN),
    "quantile NaN": (lambda x: (x.quantile(0.3), x.nanquantile(0.3), x.nanmedian(), x.median()), FLOATS.double()),
    "quantile kinds": (lambda x: tuple(x.quantile(torch.tensor([0.1, 0.55]).double(), interpolation=kind, keepdim=True)
                                       for kind in ("lower", "higher", "nearest", "midpoint")), LINE.double()),
}  # fmt: skip


def assigned(x, key, value):
    made = x.clone()
    made[key] = value
    return made


def options(t):
    found = [Replicate(), *(p for d in range(t.ndim) for p in (Shard(d), BlockCyclic(d, 1)))]
    return [*found, Partial()] if t.dtype.is_floating_point else found


def program(shape, function, x, expected):
    mesh = init_device_mesh("cpu", shape)
    for i, p in enumerate(options(x)):
        placements = [p, *options(x)[i - 1 :][: len(shape) - 1]]
        given = distribute_tensor(x, mesh, placements, src_data_rank=None)
        found = leaves(function(given))
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            assert_shard(a, b, placements, exact=b.dtype is not torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_same_as_of_whole_tensors(name):
    function, x = CASES[name]
    for n in (2, 6 + list(CASES).index(name) % 2):
        simulate(n, program, MESHES[n][-1], function, x, leaves(function(x)))


def test_no_rank_gets_more_than_a_share():
    def program():
        mesh = init_device_mesh("cpu", (4,))
        x = distribute_tensor(torch.arange(4000).remainder(2), mesh, [Shard(0)])
        mesh.comm.traffic.reset()
        found = x.nonzero()
        assert found.shape == (2000, 1) and found.to_local().shape == (500, 1)
        assert mesh.comm.traffic.sent < 2000

    simulate(4, program)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x[torch.ones(3, 3, dtype=torch.bool)], IndexError),
        (lambda x: assigned(x, torch.ones(2, dtype=torch.bool), 1), IndexError),
        (lambda x: assigned(x, x > 1, x.flatten()[:2]), RuntimeError),
        (lambda x: x.masked_scatter(x > 1, x[0, :2]), RuntimeError),
        (lambda x: x[torch.tensor([4]), torch.tensor([0])], IndexError),
        (lambda x: assigned(x, torch.tensor([3]), 1), IndexError),
        (lambda x: torch.bincount(x), RuntimeError),
        (lambda x: torch.bincount(x.reshape(-1) - 1), RuntimeError),
        (lambda x: torch.bincount(x.reshape(-1), x), RuntimeError),
        (lambda x: torch.histc(x / 0.0, 3), RuntimeError),
        (lambda x: torch.quantile(x, 0.5), RuntimeError),
        (lambda x: torch.quantile(x.double(), 1.5), RuntimeError),
        (lambda x: x.double().reshape(-1).quantile(0.5, 1), IndexError),
        (lambda x: torch.nn.functional.pad(x, (-3, -3)), RuntimeError),
        (lambda x: torch.cdist(x.double(), x[:, :2].double()), RuntimeError),
        (lambda x: x.repeat_interleave(-1), RuntimeError),
        (lambda x: x.repeat_interleave(torch.tensor([1, 2]), 0), RuntimeError),
    ],
    ids=["mask", "mask assigned", "values assigned", "masked_scatter", "two indices", "place", "bincount matrix",
         "bincount negative", "bincount weights", "histc inf", "quantile int", "quantile 1.5", "quantile axis", "pad",
         "cdist", "repeats", "counts"],
)  # fmt: skip
def test_what_a_plain_tensor_refuses_a_sharded_one_refuses(call, error):
    def program():
        mesh = init_device_mesh("cpu", (2,))
        for x in (NUMBERS, distribute_tensor(NUMBERS, mesh, [Shard(0)])):
            with pytest.raises(error):
                call(x)

    simulate(2, program)
