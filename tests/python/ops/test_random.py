"""Random numbers: recorded ones of PyTorch 2.13, states of the generator, layouts, errors, gradients."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
import random_cases as cases
import strided as torch

EXPECTED = json.loads(cases.RECORD.read_text())


def seeded(f, seed=0):
    torch.manual_seed(seed)
    return f()


# ---------------------------------------------------------------- PyTorch's numbers


def test_recorded_cases_are_all_there():
    assert set(EXPECTED) == {f"{name}, {dtype}" for name, (_, dtypes, _) in cases.CASES.items() for dtype in dtypes}


@pytest.mark.parametrize("key", EXPECTED)
def test_numbers_and_state_are_pytorchs(key):
    name, dtype = key.split(", ")
    for size, (values, state) in zip(cases.SIZES, EXPECTED[key]):
        x = cases.run(torch, name, dtype, size)
        assert cases.state_digest(torch) == state, f"state after {size}"
        if isinstance(values, int):
            assert cases.digest(torch, x) == values, f"{size} numbers"
        else:
            total = abs(values[1]) + 1e-30
            for got, expected in zip(cases.summary(torch, x), values):
                assert abs(got - expected) < (4e-3 if "16" in dtype else 1e-6) * total, f"{size} numbers"


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: torch.rand(3), [0.49625658988952637, 0.7682217955589294, 0.08847743272781372]),
        (lambda: torch.randn(3), [1.5409960746765137, -0.293428897857666, -2.1787893772125244]),
        (lambda: torch.randn(2, dtype=torch.float64), [1.5409961082440433, -0.2934289057609464]),
        (lambda: torch.randint(0, 1000, (6,)), [44, 239, 933, 760, 963, 379]),
        (lambda: torch.randint(1000, (6,)), [44, 239, 933, 760, 963, 379]),
        (lambda: torch.randperm(4), [0, 1, 3, 2]),
        (lambda: torch.zeros(2).exponential_(), [3.508326292037964, 1.2303847074508667]),
        (lambda: torch.bernoulli(torch.full((4,), 0.3)), [0.0, 0.0, 1.0, 1.0]),
        (lambda: torch.zeros(4).bernoulli_(0.3), [0.0, 0.0, 0.0, 0.0]),
        (lambda: torch.randint(0, 2**28, (3,)), [130329135, 136432832, 195187451]),
        (lambda: torch.randint(0, 2**28 - 1, (3,)), [209652404, 130329144, 118924928]),
        (lambda: torch.zeros(2, dtype=torch.int64).random_(), [900450186894289455, 3969543146641149120]),
        (lambda: torch.poisson(torch.tensor([0.0, 3, 100])), [0.0, 6.0, 96.0]),
        (lambda: torch.multinomial(torch.tensor([0.0, 10, 3, 0]), 2), [1, 2]),
    ],
)
def test_literal_values(call, expected):
    assert seeded(call).tolist() == pytest.approx(expected, rel=1e-6)


def test_wider_blocks_of_normal_numbers():
    # The last 16 numbers are drawn anew when 16 does not divide their number; the others are those of a shorter tensor.
    a, b = seeded(lambda: torch.randn(32)), seeded(lambda: torch.randn(33))
    assert a[:16].tolist() == b[:16].tolist()
    assert a[17:].tolist() != b[17:32].tolist()


# ---------------------------------------------------------------- generators and seeds


def test_same_seed_same_numbers():
    assert torch.equal(seeded(lambda: torch.rand(100), 5), seeded(lambda: torch.rand(100), 5))
    assert not torch.equal(seeded(lambda: torch.rand(100), 5), seeded(lambda: torch.rand(100), 6))


def test_negative_seeds_count_from_above():
    a = seeded(lambda: torch.rand(3), -1)
    assert torch.initial_seed() == 2**64 - 1
    assert torch.equal(a, seeded(lambda: torch.rand(3), 2**64 - 1))


def test_own_generator_leaves_the_default_one_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    g = torch.Generator().manual_seed(7)
    x = torch.rand(5, generator=g)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(x, seeded(lambda: torch.rand(5), 7))
    assert torch.Generator().initial_seed() == 67280421310721


@pytest.mark.parametrize("draw", [lambda g: torch.rand(1000, generator=g), lambda g: torch.randn(3, generator=g)])
def test_state_round_trip(draw):
    g = torch.Generator().manual_seed(1)
    torch.randn(3, generator=g)  # leaves a number waiting
    state = g.get_state()
    assert state.shape == (5056,) and state.dtype == torch.uint8
    a = draw(g)
    after = g.get_state()
    other = torch.Generator()
    other.set_state(state)
    assert torch.equal(draw(other), a)
    assert torch.equal(other.get_state(), after)


def test_bad_states_are_refused():
    g = torch.Generator().manual_seed(1)
    good = g.get_state()
    for bad in (good[:-1], torch.zeros(5056, dtype=torch.uint8), torch.full((5056,), 255, dtype=torch.uint8)):
        with pytest.raises(RuntimeError):
            g.set_state(bad)
    with pytest.raises(TypeError):
        g.set_state(good.to(torch.float32))
    assert torch.equal(g.get_state(), good)


def test_every_function_takes_a_generator():
    g = torch.Generator()
    x, p = torch.zeros(4), torch.full((4,), 0.5)
    calls = [
        lambda g: torch.rand(4, generator=g), lambda g: torch.randn(4, generator=g),
        lambda g: torch.randint(9, (4,), generator=g), lambda g: torch.randint(1, 9, (4,), generator=g),
        lambda g: torch.randperm(4, generator=g), lambda g: torch.rand_like(x, generator=g),
        lambda g: torch.randn_like(x, generator=g), lambda g: torch.randint_like(x, 9, generator=g),
        lambda g: torch.normal(x, 1.0, generator=g), lambda g: torch.normal(0.0, p, generator=g),
        lambda g: torch.normal(x, p, generator=g), lambda g: torch.normal(0.0, 1.0, (4,), generator=g),
        lambda g: x.uniform_(generator=g), lambda g: x.normal_(generator=g), lambda g: x.random_(generator=g),
        lambda g: x.random_(9, generator=g), lambda g: x.random_(1, 9, generator=g),
        lambda g: x.bernoulli_(generator=g), lambda g: x.bernoulli_(p, generator=g),
        lambda g: torch.bernoulli(p, generator=g),
        lambda g: x.exponential_(generator=g), lambda g: x.cauchy_(generator=g), lambda g: x.log_normal_(generator=g),
        lambda g: x.geometric_(0.5, generator=g), lambda g: torch.poisson(p, g),
        lambda g: torch.multinomial(p, 2, generator=g),
        lambda g: torch.multinomial(p, 2, True, generator=g),
    ]  # fmt: skip
    for call in calls:
        default = torch.get_rng_state()
        g.manual_seed(11)
        a = call(g).tolist()
        assert torch.equal(torch.get_rng_state(), default)
        torch.manual_seed(11)
        assert call(None).tolist() == a


# ---------------------------------------------------------------- layouts and dtypes


def test_in_place_draws_follow_memory():
    base = seeded(lambda: torch.zeros(3, 4).uniform_())
    assert torch.equal(seeded(lambda: torch.zeros(4, 3).t().uniform_()).t(), base.reshape(4, 3))
    inner = torch.zeros(3, 8)
    assert seeded(lambda: inner[:, ::2].uniform_()).tolist() == base.tolist()
    assert inner[:, 1::2].abs().sum() == 0
    cube = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert torch.equal(seeded(cube.exponential_).permute(1, 2, 0), seeded(lambda: torch.zeros(2, 3, 4).exponential_()))


def test_negative_strides():
    x = torch.zeros(4)
    assert seeded(lambda: x[::-1].uniform_()).tolist() == seeded(lambda: torch.rand(4)).tolist()
    assert x.tolist() == seeded(lambda: torch.rand(4)).tolist()[::-1]


def test_normal_numbers_of_strided_tensors_come_in_pairs():
    a = seeded(lambda: torch.zeros(40, 2)[:, 1].normal_())
    assert torch.allclose(a, seeded(lambda: torch.cat([torch.randn(10) for _ in range(4)])), rtol=1e-6)


def test_like_keeps_shape_dtype_and_order():
    x = torch.zeros(3, 4, dtype=torch.float64).t()
    for made in (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 5), torch.randint_like(x, 2, 5)):
        assert (made.shape, made.dtype, made.stride()) == (x.shape, x.dtype, x.stride())
    assert torch.rand_like(x, dtype=torch.float32).dtype == torch.float32
    assert torch.equal(seeded(lambda: torch.rand_like(x)).t(), seeded(lambda: torch.rand(3, 4, dtype=torch.float64)))


def test_out():
    out = torch.zeros(3)
    assert seeded(lambda: torch.rand(3, out=out)) is out
    assert torch.equal(out, seeded(lambda: torch.rand(3)))
    for call in (
        lambda out: torch.rand(3, out=out), lambda out: torch.randn(3, out=out),
        lambda out: torch.randint(9, (3,), out=out),
        lambda out: torch.normal(0.0, 1.0, (3,), out=out),
        lambda out: torch.normal(torch.zeros(3), torch.ones(3), out=out),
        lambda out: torch.bernoulli(torch.full((3,), 0.5), out=out), lambda out: torch.poisson(torch.ones(3), out=out),
    ):  # fmt: skip
        assert torch.equal(seeded(lambda: call(torch.zeros(3))), seeded(lambda: call(torch.empty(0))))
    order = torch.zeros(4, dtype=torch.int32)
    assert seeded(lambda: torch.randperm(4, out=order)) is order and order.tolist() == [0, 1, 3, 2]
    with pytest.raises(NotImplementedError):
        torch.rand(3, out=torch.zeros(3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="multinomial expects Long tensor out, got: Float"):
        torch.multinomial(torch.ones(3), 2, out=torch.zeros(2))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3)])
def test_shapes(shape):
    for x in (torch.rand(shape), torch.randn(shape), torch.randint(5, shape), torch.normal(0.0, 1.0, shape)):
        assert x.shape == shape
    if shape:
        assert torch.rand(*shape).shape == torch.randn(*shape).shape == shape


def test_empty_tensors_draw_nothing():
    before = torch.get_rng_state()
    x = torch.zeros(0)
    for call in (x.uniform_, x.normal_, x.random_, x.bernoulli_, x.exponential_, x.cauchy_, x.log_normal_):
        assert call() is x
    torch.poisson(x), torch.bernoulli(x), torch.randperm(0), torch.normal(x, x), torch.multinomial(torch.zeros(0, 3), 2)
    assert torch.equal(torch.get_rng_state(), before)


def test_default_dtypes():
    assert torch.rand(1).dtype == torch.randn(1).dtype == torch.normal(0.0, 1.0, (1,)).dtype == torch.float32
    for x in (torch.randint(3, (1,)), torch.randperm(3), torch.multinomial(torch.ones(3), 1)):
        assert x.dtype == torch.int64
    torch.set_default_dtype(torch.float64)
    assert torch.rand(1).dtype == torch.randn(1).dtype == torch.float64


def test_integer_ranges_are_covered():
    assert set(torch.randint(-3, 4, (1000,)).tolist()) == set(range(-3, 4))
    assert set(torch.zeros(5000, dtype=torch.uint8).random_().tolist()) == set(range(256))
    assert set(torch.zeros(5000, dtype=torch.int8).random_().tolist()) == set(range(128))
    assert set(torch.zeros(5000, dtype=torch.int8).random_(-128, None).tolist()) == set(range(-128, 128))
    assert set(torch.zeros(100, dtype=torch.bool).random_().tolist()) == {False, True}
    high = torch.zeros(1000, dtype=torch.uint64).random_(0, None)
    assert max(high.tolist()) > 2**63
    for dtype in (torch.uint16, torch.uint32):
        x = torch.zeros(1000, dtype=dtype).random_()
        assert max(x.tolist()) > 0.9 * 2 ** (8 * x.itemsize)


def test_uniform_numbers_stay_below_the_end():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        assert (torch.rand(100000, dtype=dtype) < 1).all()
        x = torch.zeros(10000, dtype=dtype).uniform_(1, 1.015625)
        assert (x >= 1).all() and (x < 1.015625).all()
    assert torch.zeros(3).uniform_(2, 2).tolist() == [2, 2, 2]


def test_permutations_hold_every_number():
    for dtype in (torch.int64, torch.int16, torch.float32, torch.float64, torch.uint32):
        assert sorted(torch.randperm(257, dtype=dtype).tolist()) == list(range(257))
    assert sorted(torch.randperm(256, dtype=torch.uint8).tolist()) == list(range(256))


@pytest.mark.parametrize("n", [16, 4096, 100001])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_moments(n, dtype):
    x = torch.randn(n, dtype=getattr(torch, dtype)).numpy().astype(np.float64)
    assert abs(x.mean()) < 5 / math.sqrt(n)
    assert abs(x.var() - 1) < 8 / math.sqrt(n)
    z = torch.randn(n, dtype=torch.complex64).numpy()
    assert abs((abs(z) ** 2).mean() - 1) < 8 / math.sqrt(n)


def test_parameters_in_tensors():
    mean, std = torch.arange(3.0).reshape(3, 1), torch.tensor([0.0, 0.0, 0.0, 1.0])
    x = torch.normal(mean, std)
    assert x.shape == (3, 4) and x[:, :3].tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert torch.normal(torch.zeros(2, dtype=torch.float64), torch.ones(2)).dtype == torch.float64
    assert torch.normal(torch.zeros(2)).shape == (2,)
    assert torch.normal(5.0, torch.zeros(2)).tolist() == [5, 5]
    p = torch.tensor([[0.0, 1.0]]).expand(3, 2)
    assert torch.zeros(3, 2, dtype=torch.int32).bernoulli_(p).tolist() == [[0, 1]] * 3
    assert torch.zeros(2, 3).t().bernoulli_(p).tolist() == [[0, 1]] * 3
    q = torch.tensor([0.0, 1.0, 0.0])
    assert q.bernoulli_(q).tolist() == [0, 1, 0]
    assert torch.bernoulli(torch.ones(2, 2, dtype=torch.int64), 1.0).tolist() == [[1, 1], [1, 1]]
    assert torch.poisson(torch.zeros(2, 2)).tolist() == [[0, 0], [0, 0]]


def test_multinomial():
    w = torch.tensor([[0.0, 1, 0, 3], [2, 0, 0, 0]])
    x = torch.multinomial(w, 1000, replacement=True)
    assert x.shape == (2, 1000) and set(x[0].tolist()) == {1, 3} and set(x[1].tolist()) == {0}
    assert (x[0] == 3).float().mean().item() == pytest.approx(0.75, abs=0.05)
    assert sorted(torch.multinomial(torch.ones(50), 50).tolist()) == list(range(50))
    first = torch.stack([torch.multinomial(torch.tensor([1.0, 2, 7]), 2) for _ in range(2000)])[:, 0]
    shares = [(first == k).float().mean().item() for k in range(3)]
    assert shares == pytest.approx([0.1, 0.2, 0.7], abs=0.04)
    weights = torch.arange(12.0).reshape(3, 4)
    assert torch.multinomial(weights.t(), 2).shape == (4, 2)


# ---------------------------------------------------------------- gradients


def test_no_gradient_comes_through():
    x = torch.ones(3, requires_grad=True)
    for call in (
        lambda: (x * 2).uniform_(), lambda: (x * 2).normal_(), lambda: (x * 2).bernoulli_(),
        lambda: (x * 2).exponential_(),
        lambda: torch.bernoulli(x * 0.5), lambda: torch.poisson(x * 1), lambda: torch.normal(x * 1, 1.0),
        lambda: torch.normal(x * 1, x * 1), lambda: torch.normal(0.0, x * 1),
    ):  # fmt: skip
        y = call()
        assert y.requires_grad
        x.grad = None
        y.sum().backward()
        assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.uniform_()
    assert torch.rand(2, requires_grad=True).requires_grad
    assert not torch.rand_like(x).requires_grad
    assert not torch.multinomial(x, 2).requires_grad


def test_writes_are_noticed():
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    z = y * y
    y.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


# ---------------------------------------------------------------- errors, in PyTorch's words

T = torch
ERRORS = [
    (lambda: T.rand(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (lambda: T.rand(2, dtype=T.int64), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
    (lambda: T.randn(2, dtype=T.bool), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Bool'"),
    (lambda: T.randint(5, 5, (2,)), RuntimeError,
     "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
    (lambda: T.randint(5, 3, (0,)), RuntimeError,
     "random_ expects 'from' to be less than 'to', but got from=5 >= to=3"),
    (lambda: T.randint(0, 300, (2,), dtype=T.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
    (lambda: T.randint(-1, 3, (2,), dtype=T.uint8), RuntimeError, "from is out of bounds for unsigned char"),
    (lambda: T.randint(-1, 3, (2,), dtype=T.uint64), RuntimeError, "from is out of bounds for long unsigned int"),
    (lambda: T.randint(0, 3, (2,), dtype=T.bool), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda: T.randint(0, 70000, (2,), dtype=T.float16), RuntimeError, "to - 1 is out of bounds for c10::Half"),
    (lambda: T.randint(0, 10, (2,), dtype=T.complex64), RuntimeError,
     "check_random_bounds handles only integral, floating-point and boolean types"),
    (lambda: T.randint(10, (2,), requires_grad=True), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    (lambda: T.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (lambda: T.randperm(257, dtype=T.uint8), RuntimeError,
     "value cannot be converted to type uint8_t without overflow"),
    (lambda: T.randperm(3000, dtype=T.float16), RuntimeError, "n cannot be greater than 2049 for Half type."),
    (lambda: T.randperm(3, dtype=T.bool), NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
    (lambda: T.zeros(2).uniform_(2, 1), RuntimeError,
     "uniform_ expects to return a [from, to) range, but found from=2 > to=1"),
    (lambda: T.zeros(2).uniform_(0, 1e39), RuntimeError, "to is out of bounds for float"),
    (lambda: T.zeros(2).uniform_(math.nan, 1), RuntimeError, "from is out of bounds for float"),
    (lambda: T.zeros(2).uniform_(-3e38, 3e38), RuntimeError,
     "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 which result "
     "in to-from to exceed the limit"),
    (lambda: T.zeros(2).normal_(0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda: T.zeros(2).normal_(0, math.nan), RuntimeError, "normal expects std >= 0.0, but found std nan"),
    (lambda: T.zeros(2, dtype=T.complex64).random_(), NotImplementedError,
     "\"random_kernel_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: T.zeros(2, dtype=T.int32).random_(2**31, None), RuntimeError, "from is out of bounds for int"),
    (lambda: T.zeros(2, dtype=T.int32).random_(-(2**63), None), RuntimeError,
     "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16"),
    (lambda: T.zeros(2).random_(2**24, None), RuntimeError,
     "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got from=16777216 "
     "> to_inc=16777216"),
    (lambda: T.bernoulli(T.tensor([1.5])), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    (lambda: T.bernoulli(T.tensor([math.nan])), RuntimeError,
     "Expected p_in >= 0 && p_in <= 1 to be true, but got false."),
    (lambda: T.bernoulli(T.tensor([1, 0])), NotImplementedError,
     "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'"),
    (lambda: T.zeros(2).bernoulli_(1.5), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (lambda: T.zeros(2).bernoulli_(T.zeros(3)), RuntimeError,
     "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 0.  Target sizes: [2].  Tensor sizes: [3]"),
    (lambda: T.zeros(2).exponential_(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (lambda: T.zeros(2, dtype=T.int64).exponential_(), RuntimeError,
     "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified Long"),
    (lambda: T.zeros(2).cauchy_(0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (lambda: T.zeros(2, dtype=T.int64).cauchy_(), RuntimeError, "Cauchy distribution is a continuous probability "
     "distribution. dtype must be a floating point but you specified long int"),
    (lambda: T.zeros(2).log_normal_(1, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (lambda: T.zeros(2).geometric_(1), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    (lambda: T.poisson(T.tensor([-1.0])), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    (lambda: T.poisson(T.tensor([1])), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
    (lambda: T.normal(T.zeros(2), T.tensor([1.0, -1])), RuntimeError, "normal expects all elements of std >= 0.0"),
    (lambda: T.normal(T.zeros(2), T.ones(2) + 0j), RuntimeError, "normal expects standard deviation to be non-complex"),
    (lambda: T.normal(T.zeros(2), T.ones(3)), RuntimeError,
     "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
    (lambda: T.multinomial(T.ones(3), 5), RuntimeError,
     "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
    (lambda: T.multinomial(T.ones(3), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
    (lambda: T.multinomial(T.ones(2, 2, 2), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
    (lambda: T.multinomial(T.tensor([1, 2]), 1), RuntimeError,
     "multinomial only supports floating-point dtypes for input, got: Long"),
    (lambda: T.multinomial(T.tensor([-1.0, 2]), 1), RuntimeError,
     "probability tensor contains either `inf`, `nan` or element < 0"),
    (lambda: T.multinomial(T.tensor([-1.0, 2]), 2, True), RuntimeError,
     "invalid multinomial distribution (encountering probability entry < 0)"),
    (lambda: T.multinomial(T.tensor([math.inf, 2]), 2, True), RuntimeError,
     "invalid multinomial distribution (encountering probability entry = infinity or NaN)"),
    (lambda: T.multinomial(T.zeros(2), 2), RuntimeError,
     "invalid multinomial distribution (sum of probabilities <= 0)"),
    (lambda: T.zeros(1).expand(3).uniform_(), RuntimeError,
     "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
     "clone() the tensor before performing the operation."),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, text", ERRORS)
def test_errors(call, kind, text):
    before = torch.get_rng_state()
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(text)
    assert torch.equal(torch.get_rng_state(), before)  # and nothing was drawn


def test_read_only_memory_is_refused():
    a = np.zeros(3, np.float32)
    a.flags.writeable = False
    with pytest.raises(RuntimeError):
        torch.from_numpy(a).uniform_()
    assert a.tolist() == [0, 0, 0]


def test_copies_of_a_generator_go_on_where_it_stands():
    g = torch.Generator().manual_seed(12345)
    torch.rand(7, generator=g)
    others = pickle.loads(pickle.dumps(g)), copy.copy(g), copy.deepcopy(g), g.clone_state()
    wanted = torch.rand(5, generator=g)
    for other in others:
        assert other.initial_seed() == 12345 and other.device == g.device
        assert torch.equal(torch.rand(5, generator=other), wanted)


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, -1, -(2**63)])
def test_all_seeds_of_64_bits(seed):
    assert torch.Generator().manual_seed(seed).initial_seed() == seed % 2**64


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_seeds_of_more_bits_change_nothing(seed):
    before = torch.get_rng_state()
    for call in (torch.manual_seed, torch.Generator().manual_seed):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            call(seed)
    assert torch.equal(torch.get_rng_state(), before)


def test_normal_of_nothing_takes_integers():
    # PyTorch's kernel, which refuses them, is not called for no elements.
    assert torch.randn([0], dtype=torch.int32).dtype == torch.int32
    assert torch.empty(0, 3, dtype=torch.int64).normal_().shape == (0, 3)
    with pytest.raises(NotImplementedError, match="normal_kernel_cpu"):
        torch.randn([1], dtype=torch.int32)
