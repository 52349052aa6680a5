"""Reductions, scans, sorts, indexing, products and random numbers on an XLA device."""

import pytest
import strided as torch
from xla_calls import check_program


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int16, torch.bool], ids=str)
def test_reductions(dtype):
    x = torch.randn(3, 4, 5)
    if not dtype.is_floating_point:
        x = (x * 3).to(dtype)
    x = x.to(dtype)

    def program(x):
        every = {}
        for name in "sum prod amax amin count_nonzero all any argmax argmin".split():
            if dtype == torch.bool and name.startswith("arg"):
                continue
            f = getattr(torch, name)
            every[name], every[name + "1"], every[name + "t"] = f(x.flatten(), 0), f(x, 1), f(x.transpose(0, 2), 0)
        every["max"], every["min"] = x.max(2).values, x.min(0).indices
        if dtype.is_floating_point:
            every |= {
                "mean": x.mean((0, 2)),
                "var": x.var(1),
                "std": x.std(),
                "lse": x.logsumexp(2),
                "norm": x.norm(),
                "nansum": x.nansum(1),
                "softmax": x.softmax(1),
                "log_softmax": x.log_softmax(-1),
                "norm1": x.norm(p=1, dim=1),
                "aminmax": x.aminmax().max,
            }
        return every

    check_program(program, x)


def test_reductions_of_nan_and_nothing():
    x = torch.tensor([[1.0, float("nan"), 3.0], [float("-inf"), 2.0, 2.0]])
    check_program(
        lambda x: [
            x.max(1).values,
            x.max(1).indices,
            x.argmin(1),
            x.amax(0),
            x.nansum(1),
            x.logsumexp(1),
            x[:, :0].sum(1),
            x[:0].prod(0),
            x.nanmean(1),
        ],
        x,
    )


def test_scans():
    x, i = torch.randn(3, 7), torch.arange(12).view(3, 4)
    check_program(
        lambda x, i: [
            x.cumsum(0),
            x.cumsum(1),
            x.cumprod(1),
            x.cummax(1).values,
            x.cummax(1).indices,
            x.cummin(0).values,
            x.logcumsumexp(1),
            i.cumsum(1),
            i.cumprod(0),
            x.t().cumsum(0),
        ],
        x,
        i,
    )


def test_sorting():
    x = torch.tensor([[3.0, -1.0, float("nan"), 2.0, -1.0, 0.0], [5.0, 5.0, -0.0, 0.0, float("inf"), -7.0]])
    i = torch.tensor([5, 3, 5, 1, 3, 8])

    def program(x, i):
        s, d, k = x.sort(1, stable=True), x.sort(1, descending=True, stable=True), x.topk(3)
        m, n = x.median(1), x.nanmedian(1)
        return [
            *s,
            *d,
            *k,
            *m,
            *n,
            x.kthvalue(2, 1).values,
            i.argsort(stable=True),
            i.sort(descending=True).values,
            torch.searchsorted(i.sort().values, torch.tensor([0, 3, 4, 9], device=i.device)),
            torch.searchsorted(i.sort().values, torch.tensor([0, 3, 4, 9], device=i.device), right=True),
            torch.isin(i, torch.tensor([3, 8], device=i.device)),
            x.msort(),
        ]

    check_program(program, x, i)


def test_indexing():
    x, i = torch.randn(4, 5, 3), torch.tensor([3, 0, -1, 1])

    def program(x, i):
        y, z, w, v = x.clone(), x.clone(), x.clone(), x.clone()
        y[i[:2]] = 1.5
        z.index_add_(0, i.abs(), x)
        w.scatter_(1, i.abs().view(4, 1, 1).expand(4, 1, 3), -1.0)
        v.index_put_((i, i), x[:, 0], accumulate=True)
        return [
            x[i],
            x[:, i],
            x[i, i],
            x[i[:, None], i],
            x.index_select(1, i.abs()),
            x.gather(1, i.abs().view(4, 1, 1).expand(4, 2, 3)),
            x.take(i.abs()),
            y,
            z,
            w,
            v,
            x[x > 0],
            x.nonzero(),
            (x > 0).nonzero(as_tuple=True)[1],
            x.masked_select(x > 1),
            x[:, [0, 2]],
            x.take_along_dim(i.abs().view(4, 1, 1), 0),
            torch.zeros(6, device=x.device).scatter_add_(0, i.abs(), x[:, 0, 0]),
        ]

    check_program(program, x, i)


def test_rows_of_a_table():
    table, i = torch.randn(6, 3, 2), torch.tensor([[5, 0, 5], [2, 2, 1]])

    def program(table, i):
        w = table[:, :, 0].contiguous().requires_grad_()
        out = torch.nn.functional.embedding(i, w)
        (out * out).sum().backward()
        y, z = table.clone(), table.clone()
        y[i] = 0.5
        z[:, 1] = z[:, 1].index_add(0, i[0], table[:3, 0])
        return [
            table[i],
            table[:, [0, 2, 2]],
            table.transpose(0, 1)[:, i[0]],
            table[::2][i[1]],
            out,
            w.grad,
            y,
            z,
            table.index_select(1, i[1].clamp_max(2)),
            table[1:5, 1:][i[1]],
        ]

    check_program(program, table, i)


def test_an_index_out_of_range_is_raised_when_the_program_has_run():
    x = torch.arange(5.0, device="xla")
    y = x[torch.tensor([1, 7], device="xla")]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 5"):
        y.tolist()
    assert x.tolist() == [0, 1, 2, 3, 4]  # the device goes on


def test_products():
    a, b, v = torch.randn(2, 3, 4), torch.randn(2, 4, 5), torch.randn(4)
    i, h = torch.arange(12).view(3, 4), torch.randn(3, 4).bfloat16()
    check_program(
        lambda a, b, v, i, h: [
            a @ b,
            a[0] @ b[1],
            a @ v,
            v @ b[0],
            v @ v,
            torch.addmm(a[0, :, :3], a[0], b[0][:, :3], beta=0.5, alpha=2),
            a.mT @ a,
            i @ i.t(),
            h @ h.t(),
            torch.einsum("bij,bjk->bik", a, b),
            torch.outer(v, v),
            torch.baddbmm(a[:, :, :1], a, b[:, :, :1]),
            a[:, :, :0] @ b[:, :0],
            torch.nn.functional.linear(a, b[0].t(), b[0, 0]),
            a[:, ::2, ::2] @ b[:, 1::2, ::3],
        ],
        a,
        b,
        v,
        i,
        h,
    )


def test_triangular_and_cholesky():
    m = torch.randn(2, 4, 4, dtype=torch.float64)
    spd, rhs = m @ m.mT + torch.eye(4, dtype=torch.float64), torch.randn(2, 4, 3, dtype=torch.float64)
    check_program(
        lambda s, b: [
            torch.linalg.cholesky(s),
            torch.linalg.cholesky(s, upper=True),
            torch.linalg.solve_triangular(s.tril(), b, upper=False),
            torch.linalg.solve_triangular(s.triu(), b, upper=True),
            torch.cholesky_solve(b, torch.linalg.cholesky(s)),
            torch.linalg.solve_triangular(s.tril(), b, upper=False, unitriangular=True),
        ],
        spd,
        rhs,
    )
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        torch.linalg.cholesky(-torch.eye(2, device="xla")).tolist()


def test_random_numbers():
    def draw(seed):
        torch.manual_seed(seed)
        d = "xla"
        return [
            torch.rand(1000, device=d),
            torch.randn(1001, device=d),
            torch.randint(0, 10, (1000,), device=d),
            torch.randperm(50, device=d),
            torch.bernoulli(torch.full((1000,), 0.3, device=d)),
            torch.empty(1000, device=d).exponential_(2.0),
            torch.rand(7, dtype=torch.float64, device=d),
        ]

    first, again, other = [[t.cpu() for t in draw(seed)] for seed in (3, 3, 4)]
    assert all(torch.equal(a, b) for a, b in zip(first, again))
    assert not any(torch.equal(a, b) for a, b in zip(first, other))
    u, n, i, p, b, e, _ = first
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.05
    assert abs(n.mean()) < 0.1 and abs(n.std() - 1) < 0.1
    assert set(i.tolist()) == set(range(10)) and sorted(p.tolist()) == list(range(50))
    assert 0.2 < b.mean() < 0.4 and abs(e.mean() - 0.5) < 0.1
    x = torch.ones(1000, device="xla")
    kept = torch.nn.functional.dropout(x, 0.25).cpu()
    assert 650 < kept.count_nonzero() < 850 and torch.allclose(kept.unique(), torch.tensor([0.0, 1 / 0.75]))


def test_random_numbers_by_weights_and_rates():
    torch.manual_seed(5)
    weights = torch.tensor([[0.0, 1, 2, 0, 5, 0], [1, 0, 0, 0, 0, 0]])
    many = torch.multinomial(weights.to("xla"), 40000, replacement=True).cpu()
    shares = torch.stack([(many[0] == i).double().mean() for i in range(6)])
    assert shares[weights[0] == 0].tolist() == [0, 0, 0] and many[1].unique().tolist() == [0]
    assert torch.allclose(shares, weights[0].double() / 8, rtol=0, atol=0.02)
    assert torch.multinomial(weights[0].to("xla"), 3).sort().values.tolist() == [1, 2, 4]
    for bad, text in [([-1.0, 2], "entry < 0"), ([float("inf"), 1], "infinity or NaN"), ([0.0, 0], "sum of prob")]:
        with pytest.raises(RuntimeError, match=text):
            torch.multinomial(torch.tensor(bad, device="xla"), 2, replacement=True)

    rates = torch.tensor([0.0, 0.5, 3.0, 9.9, 10.0, 30.0, 1e4], dtype=torch.float64)
    drawn = torch.poisson(rates.expand(10000, 7).contiguous().to("xla")).cpu()
    assert torch.equal(drawn, drawn.floor()) and not torch.equal(drawn[0], drawn[1])
    error = 6 * (rates / 10000).sqrt()
    assert bool(((drawn.mean(0) - rates).abs() <= error).all())
    assert bool(((drawn.var(0) - rates).abs() <= 0.1 * rates).all())
    with pytest.raises(RuntimeError, match="invalid Poisson rate"):
        torch.poisson(torch.tensor([-1.0], device="xla")).cpu()

    z = torch.randn(20000, dtype=torch.complex64, device="xla").cpu()
    assert abs(z.real.std() - 0.5**0.5) < 0.02 and abs(z.imag.std() - 0.5**0.5) < 0.02 and abs(z.mean()) < 0.03


def test_ranges_of_complex_numbers():
    kinds = [(0, 1j, 3), (1 + 2j, -1j, 5), (0.5, 2, 1)]
    for start, end, steps in kinds:
        here, there = [
            [f(start, end, steps, dtype=torch.complex128, device=d).cpu() for f in (torch.linspace, torch.logspace)]
            for d in ("cpu", "xla")
        ]
        torch.testing.assert_close(there, here, rtol=1e-12, atol=1e-12)
