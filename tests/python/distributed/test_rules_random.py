"""Random functions of sharded tensors: the same numbers for every number of ranks and all placements."""

import itertools
import math

import pytest
import strided as torch
import strided.distributed as dist
from sharded_cases import MESHES
from strided.distributed import BlockCyclic, Partial, Replicate, Shard, distribute_tensor, init_device_mesh, simulate

F = torch.nn.functional
X = ((torch.arange(35.0).reshape(5, 7) * 3) % 8 - 2) / 6  # both signs
P = X.abs()


def written(name, *args, dtype=None):
    return lambda x: getattr(x.detach().to(x.dtype if dtype is None else dtype).clone(), name)(*args)


CASES = {
    "uniform_": (written("uniform_"), X),
    "uniform_ bounds": (written("uniform_", -3, 5, dtype=torch.float16), X),
    "uniform_ complex": (written("uniform_", dtype=torch.complex64), X),
    "normal_": (written("normal_", 1, 2), X),
    "normal_ complex": (written("normal_", dtype=torch.complex128), X),
    "log_normal_": (written("log_normal_"), X),
    "exponential_": (written("exponential_", 2.0), X),
    "cauchy_": (written("cauchy_"), X),
    "geometric_": (written("geometric_", 0.3, dtype=torch.int32), X),
    "bernoulli_": (written("bernoulli_", 0.3), X),
    "bernoulli_ of a tensor": (lambda x: torch.zeros_like(x, dtype=torch.int64).bernoulli_(x), P),
    "random_": (written("random_"), X),
    "random_ uint8": (written("random_", dtype=torch.uint8), X),
    "random_ bounds": (written("random_", -5, 17, dtype=torch.int64), X),
    "random_ 64 bits": (written("random_", -(1 << 63), None, dtype=torch.int64), X),
    "rand_like": (torch.rand_like, X),
    "randn_like": (lambda x: torch.randn_like(x, dtype=torch.bfloat16), X),
    "randint_like": (lambda x: torch.randint_like(x, -4, 9, dtype=torch.int16), X),
    "bernoulli": (torch.bernoulli, P),
    "bernoulli p": (lambda x: torch.bernoulli(x, 0.25), X),
    "normal mean": (lambda x: torch.normal(x, 2.0), X),
    "normal std": (lambda x: torch.normal(1.0, x), P),
    "normal both": (lambda x: torch.normal(x, x[0]), P),
    "poisson": (lambda x: torch.poisson(x * 60), P),
    "rrelu": (lambda x: torch.rrelu(x, training=True), X),
    "rrelu_": (lambda x: F.rrelu_(x.detach().clone(), training=True), X),
    "rrelu at rest": (F.rrelu, X),
    "dropout": (lambda x: F.dropout(x, 0.4), X),
    "dropout inplace": (lambda x: F.dropout(x.detach().clone(), 0.4, inplace=True), X),
    "alpha_dropout": (lambda x: F.alpha_dropout(x, 0.4, True), X),
    "dropout1d": (lambda x: F.dropout1d(x, 0.4), X),
    "gumbel_softmax": (lambda x: F.gumbel_softmax(x, dim=0), X),
    "multinomial": (lambda x: torch.multinomial(x, 3), P),
    "multinomial of a vector": (lambda x: torch.multinomial(x[0], 3), P),
    "multinomial with replacement": (lambda x: torch.multinomial(x, 9, True), P),
    "multinomial of a vector with replacement": (lambda x: torch.multinomial(x[1], 9, True), P),
    "nn.init": (lambda x: torch.nn.init.trunc_normal_(torch.nn.init.xavier_uniform_(x.detach().clone())), X),
}


def computed(mesh, placements, function, x):
    torch.manual_seed(4)
    given = distribute_tensor(x.clone().requires_grad_(), mesh, placements, src_data_rank=None)
    made = function(given)
    gradient = None
    if made.requires_grad:
        made.sum().backward()
        gradient = given.grad.full_tensor()
    # What everyone has must be the same everywhere, which full_tensor alone does not show.
    return made.detach().full_tensor(), gradient, made.placements, made.to_local().detach()


def computed_all(shape, choices, function, x):
    mesh = init_device_mesh("cpu", shape)
    return [computed(mesh, placements, function, x) for placements in choices]


@pytest.mark.parametrize("name", CASES)
def test_numbers_do_not_depend_on_ranks_and_placements(name):
    function, x = CASES[name]
    wanted, gradient, *_ = simulate(1, computed_all, (1,), [[Replicate()]], function, x)[0][0]
    assert (wanted != wanted.reshape(-1)[0]).any()
    writes = name.split()[0].endswith("_") or name in ("dropout inplace", "nn.init")
    partial = [] if writes else [Partial()]
    same = torch.allclose if name == "gumbel_softmax" else torch.equal  # sums of exponentials are rounded
    choices = [Replicate(), Shard(0), Shard(1), BlockCyclic(0, 2), *partial]
    for i, (n, shape) in enumerate((n, shape) for n, shapes in MESHES.items() for shape in shapes):
        of_one = [[p] for p in choices] if len(shape) == 1 else list(itertools.permutations(choices, 2))[i % 3 :: 5]
        if len(shape) == 1 and 2 < n < 7:  # each placement comes up with two of these
            of_one = of_one[i % 2 :: 2]
        ranks = simulate(n, computed_all, shape, of_one, function, x)
        for placements, found in zip(of_one, zip(*ranks, strict=True), strict=True):
            for made, slope, placed, local in found:
                assert made.dtype == wanted.dtype and same(made, wanted), (shape, placements)
                assert (slope is None) == (gradient is None)
                assert slope is None or torch.allclose(slope, gradient, atol=1e-6)
                if not any(p.is_shard() or p.is_partial() for p in placed):
                    assert same(local, wanted)


def test_laws():
    def program():
        def new(dtype=torch.float64):
            return dist.zeros(40000, dtype=dtype)

        torch.manual_seed(1)
        ones = dist.ones(40000, dtype=torch.float64)
        made = {
            "exponential": new().exponential_(2.0), "cauchy": new().cauchy_(1.0, 0.5).atan(),
            "geometric": new().geometric_(0.25), "bernoulli": new().bernoulli_(0.3), "normal": new().normal_(3, 2),
            "log_normal": new().log_normal_(0, 0.5), "uniform": new().uniform_(-1, 3),
            "random": new(torch.int64).random_(-3, 4), "few": torch.poisson(ones * 4), "many": torch.poisson(ones * 30),
            "wide": new(torch.int64).random_(-(1 << 62), 1 << 62), "complex": new(torch.complex128).normal_(),
        }  # fmt: skip
        return {k: v.full_tensor() for k, v in made.items()}

    made = simulate(1, program)[0]
    moments = {
        "exponential": (0.5, 0.25), "geometric": (4, 12), "bernoulli": (0.3, 0.21), "normal": (3, 4),
        "log_normal": (math.exp(0.125), (math.exp(0.25) - 1) * math.exp(0.25)), "uniform": (1, 4 / 3),
        "random": (0, 4), "few": (4, 4), "many": (30, 30), "complex": (0, 1),
    }  # fmt: skip
    for name, (mean, variance) in moments.items():
        x = made[name] if name == "complex" else made[name].double()
        assert abs(x.mean() - mean) < 5 * math.sqrt(variance / 40000), name
        assert abs(x.var() / variance - 1) < 0.06, name
    assert (made["cauchy"] > math.atan(1)).double().mean().sub(0.5).abs() < 0.02
    assert made["random"].unique().tolist() == [-3, -2, -1, 0, 1, 2, 3] and made["geometric"].min() == 1
    assert made["wide"].min() < -(1 << 61) and made["wide"].max() > 1 << 61 and made["wide"].abs().max() <= 1 << 62


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_draws_by_weight(replacement):
    def program():
        torch.manual_seed(2)
        weights = dist.ones(20000, 4) * distribute_tensor(torch.tensor([0.0, 1.0, 2.0, 5.0]))
        return torch.multinomial(weights, 2, replacement).full_tensor()

    drawn = simulate(1, program)[0]
    share = torch.bincount(drawn[:, 0]) / 20000
    assert torch.allclose(share, torch.tensor([0, 0.125, 0.25, 0.625]), atol=0.015)
    assert replacement or (drawn[:, 0] != drawn[:, 1]).all()


def test_factories_of_integers():
    def program(shape):
        torch.manual_seed(3)
        mesh = init_device_mesh("cpu", shape)
        cut = [Shard(0), BlockCyclic(0, 2)][: len(shape)]
        made = [dist.randint(-5, 6, (13,), mesh=mesh, placements=cut), dist.randint(4, (3, 2), mesh=mesh),
                dist.randperm(17, mesh=mesh, placements=cut), dist.randperm(0, mesh=mesh, placements=cut)]  # fmt: skip
        assert made[2].placements == tuple(cut)
        return [t.full_tensor() for t in made]

    first = simulate(1, program, (1,))[0]
    assert sorted(first[2].tolist()) == list(range(17)) != first[2].tolist()
    for n, shapes in MESHES.items():
        for shape in shapes:
            assert all(torch.equal(a, b) for a, b in zip(simulate(n, program, shape)[0], first))


def test_generators_and_errors():
    def program():
        mesh = init_device_mesh("cpu", (2,))
        x = dist.zeros(6, mesh=mesh, placements=[Shard(0)])
        # The numbers are those of the first rank's generator.
        own = [torch.Generator().manual_seed(5 + dist.world().rank) for _ in range(2)]
        a, b = (torch.rand_like(x, generator=g).full_tensor() for g in own)
        assert torch.equal(a, b)
        bad = distribute_tensor(torch.tensor([0.5, 0.5, 0.5, 2.0]), mesh, [Shard(0)])  # one shard has it
        for call, error, text in (
            (lambda: x.normal_(0, -1), RuntimeError, "std >= 0"),
            (lambda: x.long().uniform_(), NotImplementedError, "Long"),
            (lambda: torch.bernoulli(bad), RuntimeError, "Expected p_in"),
            (lambda: bad.clone().bernoulli_(bad), RuntimeError, "Expected p_in"),
            (lambda: torch.normal(0.0, -bad), RuntimeError, "std >= 0"),
            (lambda: torch.poisson(-bad), RuntimeError, "rate"),
            (lambda: torch.multinomial(1 - bad, 2), RuntimeError, "element < 0"),
            (lambda: torch.multinomial(bad * 0, 2, True), RuntimeError, "sum of probabilities"),
            (lambda: torch.multinomial(bad, 5), RuntimeError, "without replacement"),
            (lambda: torch.binomial(x, x), NotImplementedError, "generator"),
            (lambda: torch.randint_like(x, 3, 3), RuntimeError, "from"),
        ):
            with pytest.raises(error, match=text):
                call()
        terms = x.redistribute(placements=[Partial()])
        for name in ("normal_", "uniform_", "random_", "exponential_", "bernoulli_"):
            with pytest.raises(NotImplementedError, match="a sum of terms cannot be written into"):
                getattr(terms, name)()

    simulate(2, program)
