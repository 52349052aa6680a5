"""Laziness, the cache of programs, several devices, training, and errors."""

import threading

import pytest
import strided as torch
from xla_calls import check_program, metrics, strided_xla, xm


def compiled():
    return metrics.counter_value("UncachedCompile")


def executed():
    return metrics.counter_value("ExecuteComputation")


def test_nothing_runs_before_it_is_wanted():
    xm.mark_step()
    before = executed()
    x = torch.ones(4, device="xla")
    y = (x * 3 + 1).sum()
    assert executed() == before
    assert y.item() == 16
    assert executed() == before + 1
    xm.mark_step()
    assert executed() == before + 1  # nothing was left


def test_a_second_step_compiles_nothing():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).to("xla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, target = torch.randn(6, 5).to("xla"), torch.tensor([0, 1, 2, 0, 1, 2]).to("xla")
    losses, counts = [], []
    for step in range(6):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (step + 1)  # a number is an argument of the program
        optimizer.step()
        xm.mark_step()
        losses.append(loss.detach())
        counts.append(compiled())
    assert counts[3] == counts[4] == counts[5]
    values = [v.item() for v in losses]
    assert values[-1] < values[0]


def test_training_gives_the_cpu_s_numbers():
    def program(x, w1, w2):
        w1, w2 = w1.detach().requires_grad_(), w2.detach().requires_grad_()
        optimizer = torch.optim.Adam([w1, w2], lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            loss = (torch.tanh(x @ w1) @ w2).square().mean() + w1[:, ::2].abs().sum()
            loss.backward()
            optimizer.step()
        return [w1, w2, w1.grad, loss]

    check_program(program, torch.randn(7, 4), torch.randn(4, 6), torch.randn(6, 2))


def test_gradients():
    def program(x, y):
        x, y = x.detach().requires_grad_(), y.detach().requires_grad_()
        z = (
            (x * y).sin().sum(1)
            + x.max(1).values
            + (x @ y.t()).diagonal()
            + x[:, [0, 2]].prod(1)
            + torch.cat([x, y], 1).logsumexp(1)
        )
        w = x.clone()
        w[1:] *= 2
        (z.sum() + w.pow(3).sum()).backward(create_graph=True)
        second = torch.autograd.grad(x.grad.square().sum(), y)[0]
        return [x.grad, y.grad, second]

    check_program(program, torch.randn(3, 4), torch.randn(3, 4))


def test_several_devices():
    n = strided_xla.device_count()
    assert [str(d) for d in strided_xla.devices()] == [f"xla:{i}" for i in range(n)]
    assert xm.get_xla_supported_devices(max_devices=1) == ["xla:0"] and len(xm.xla_real_devices()) == n
    assert xm.get_xla_supported_devices("nothing") is None and xm.xla_device_hw("cpu") == "CPU"
    if n < 2:
        pytest.skip("the plugin has one device")
    a = torch.arange(3.0, device="xla:1") + 1
    b = a.to("xla:0")
    assert (str(a.device), str(b.device), b.tolist(), (a * 2).tolist()) == ("xla:1", "xla:0", [1, 2, 3], [2, 4, 6])
    with pytest.raises(RuntimeError, match="same device"):
        a + b


def test_long_chains_are_freed_and_run():
    x = torch.zeros(2, device="xla")
    for _ in range(300):
        x = x + 1
    assert x.tolist() == [300, 300]
    for _ in range(100_000):
        x = x + 1  # never run
    del x


def test_threads():
    results = {}

    def work(k):
        a = torch.full((100,), float(k), device="xla")
        for i in range(20):
            a = a + 1
            if i % 7 == 0:
                a.sum().item()
        results[k] = a.sum().item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 100.0 * (k + 20) for k in range(4)}


def test_errors():
    with pytest.raises(RuntimeError, match=r"there is no device xla:99"):
        torch.ones(2, device="xla:99")
    with pytest.raises(RuntimeError, match=r"there is no device xla:99"):
        xm.xla_device(99)
    with pytest.raises(TypeError, match="xla"):
        torch.ones(2, device="xla").numpy()


@pytest.mark.parametrize("seed", range(4))
def test_arrays_that_something_holds_keep_their_memory(seed):
    """Results take the memory of arrays that nothing holds; what is held, in whatever way, keeps its values."""
    drawn = torch.Generator().manual_seed(seed)

    def number(n):
        return int(torch.randint(n, (), generator=drawn))

    here = [torch.arange(6.0).reshape(2, 3) + i for i in range(3)]
    there = [x.to("xla") for x in here]
    for _ in range(60):
        i, j, what = number(len(here)), number(len(here)), number(8)
        for values in (here, there):
            x, y = values[i], values[j]
            if what == 0:
                values.append(x * 0.5 + y)
            elif what == 1:
                x.mul_(0.5).add_(y, alpha=0.25)
            elif what == 2:
                values.append(x.clone())
            elif what == 3:
                x[:, 1] = y[:, 0]
            elif what == 4:
                values.append(x.t().contiguous().t())
            elif what == 5:
                values.append(x.detach())  # the same memory
            elif what == 6:
                values[i] = x - y
            elif len(values) > 3:
                del values[i]
        if number(2):
            xm.mark_step(wait=number(2) == 1)
    for x, y in zip(here, there, strict=True):
        torch.testing.assert_close(y.cpu(), x)


@pytest.mark.parametrize("wait", [True, False])
def test_a_bad_index_is_told_to_who_waits(wait):
    x = torch.arange(4.0).to("xla")
    y = x[torch.tensor([1, 9]).to("xla")]
    if wait:
        with pytest.raises(IndexError, match="9"):
            xm.mark_step(wait=True)
    else:
        xm.mark_step()
        with pytest.raises(IndexError, match="9"):
            y.cpu()
    assert x.cpu().tolist() == [0, 1, 2, 3]  # it is told once


def test_operations_that_differ_in_their_attributes_alone():
    """Texts are kept once and found by numbers: neither offsets, axes, constants nor dtypes may be mixed up."""
    a = torch.arange(24.0).reshape(2, 3, 4)
    x = a.to("xla")
    for _ in range(2):  # written, then found
        for i in range(2):
            assert (x[:, i : i + 2] + 0).cpu().tolist() == a[:, i : i + 2].tolist()
            assert x.select(2, i).contiguous().cpu().tolist() == a.select(2, i).tolist()
        for axes in [(0, 2, 1), (1, 0, 2), (2, 1, 0), (2, 0, 1)]:
            assert x.permute(axes).contiguous().cpu().tolist() == a.permute(axes).tolist()
        for axis in range(3):
            assert x.flip(axis).cpu().tolist() == a.flip(axis).tolist()
            assert x.sum(axis).cpu().tolist() == a.sum(axis).tolist()
            assert x.amax(axis).cpu().tolist() == a.amax(axis).tolist()
        for dtype in [torch.int32, torch.int64, torch.float32, torch.complex64, torch.complex128]:
            for value in [3, -7]:
                made = torch.full((3,), value, dtype=dtype, device="xla").cpu()
                assert made.dtype == dtype and made.tolist() == [value] * 3
        assert [bool(v) for v in (x < x + 1).cpu().flatten()] == [True] * 24
        assert [bool(v) for v in (x > x + 1).cpu().flatten()] == [False] * 24


def test_operations_with_many_operands_and_a_long_chain():
    """More operands than are kept in a node; nodes of a chain are freed one after the other."""
    parts = [torch.full((2,), float(i)).to("xla") for i in range(7)]
    assert torch.cat(parts).cpu().tolist() == [float(i) for i in range(7) for _ in range(2)]
    y = parts[1]
    for _ in range(50_000):
        y = y + parts[0]
    del y
    assert (parts[1] + 1).cpu().tolist() == [2.0, 2.0]


def test_what_is_too_large_is_raised_to_who_reads_it():
    large = torch.ones(2**40, device="xla")
    assert (torch.ones(3, device="xla") + 1).tolist() == [2, 2, 2]
    with pytest.raises(torch.OutOfMemoryError, match="Out of memory"):
        large[3].item()
    with pytest.raises(torch.OutOfMemoryError, match="Out of memory"):  # said where the result is read
        torch.ones(2**36, device="xla").cumsum(0)[5].item()
    bad = torch.arange(4.0, device="xla")[torch.tensor([9], device="xla")]
    del large
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        bad.tolist()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_copies_to_and_from_cuda():
    x = torch.arange(6.0, device="xla").view(2, 3)
    there = x.t().cuda()
    assert there.device.type == "cuda" and there.tolist() == [[0, 3], [1, 4], [2, 5]]
    back = there.double().to("xla")
    assert back.device.type == "xla" and back.dtype == torch.float64 and back.tolist() == there.tolist()
    x[:, 1].copy_(there[0])
    assert x.tolist() == [[0, 0, 2], [3, 3, 5]]
