"""CUDA graphs: work that is captured once and then done again."""

import copy
import threading

import cuda_device
import pytest
import strided as torch
from strided import cuda, nn
from strided.nn import functional as F

pytestmark = cuda_device.needs(1)


def captured(work, **options):
    graph = cuda.CUDAGraph()
    with cuda.graph(graph, **options):
        result = work()
    return graph, result


def test_a_capture_is_done_when_it_is_replayed():
    x = torch.arange(4.0, device="cuda")
    total = torch.zeros((), device="cuda")

    def work():
        total.add_(x.sum())
        return x * 2 + 1

    graph, y = captured(work)
    assert total.item() == 0  # captured, not done
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [2 * value + 1] * 4
    assert total.item() == 4 * 1 + 4 * 5
    assert not cuda.is_current_stream_capturing()


def test_memory_of_a_capture_is_nobody_elses():
    x = torch.ones(1000, device="cuda")
    graph, y = captured(lambda: (x + 1).mul_(3).sub(x))  # with memory that is free again when the capture ends
    others = [torch.full((1000,), 7.0, device="cuda") for _ in range(20)]
    stream = cuda.graph.default_capture_stream
    with cuda.stream(stream):  # which is where memory of the capture would be free
        others += [torch.full((1000,), 7.0, device="cuda") for _ in range(20)]
    cuda.synchronize()
    graph.replay()
    assert y.tolist() == [5.0] * 1000
    assert all(bool((o == 7).all()) for o in others)
    # A result that nobody holds any longer is still the graph's to write.
    del y
    others += [torch.full((1000,), 7.0, device="cuda") for _ in range(20)]
    graph.replay()
    assert all(bool((o == 7).all()) for o in others)
    before = cuda.memory_reserved()
    graph.reset()
    cuda.empty_cache()
    assert cuda.memory_reserved() < before
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def step_of(model, optimizer, x, target):
    optimizer.zero_grad(set_to_none=True)
    loss = F.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    return loss


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.05, capturable=True),
        lambda p: torch.optim.AdamW(p, lr=0.05, capturable=True, amsgrad=True),
    ],
    ids=["SGD", "Adam", "AdamW"],
)
def test_a_training_step(make):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)).cuda()
    batches = [(torch.randn(5, 6), torch.randn(5, 1)) for _ in range(6)]
    x, target = batches[0][0].cuda(), batches[0][1].cuda()

    twin = copy.deepcopy(model)
    optimizer, of_twin = make(model.parameters()), make(twin.parameters())
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):  # as programs do it: before the capture, on another stream
        for _ in range(2):
            step_of(model, optimizer, x, target)
    cuda.current_stream().wait_stream(side)
    for _ in range(2):
        step_of(twin, of_twin, x, target)

    graph, loss = captured(lambda: step_of(model, optimizer, x, target))
    for a, b in batches:
        x.copy_(a)
        target.copy_(b)
        graph.replay()
        want = step_of(twin, of_twin, a.cuda(), b.cuda())
        torch.testing.assert_close(loss, want, rtol=1e-5, atol=1e-6)
    for p, q in zip(model.parameters(), twin.parameters()):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)


def test_adam_agrees_with_itself_when_it_counts_on_the_device():
    p, q = (torch.nn.Parameter(torch.linspace(-1, 1, 7, device="cuda")) for _ in range(2))
    here = torch.optim.Adam([p], lr=0.1, weight_decay=0.01)
    there = torch.optim.Adam([q], lr=torch.tensor(0.1, device="cuda"), weight_decay=0.01, capturable=True)
    for k in range(4):
        for parameter in (p, q):
            parameter.grad = torch.sin(parameter.detach() * (k + 1))
        here.step()
        there.step()
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
    assert there.state[q]["step"].is_cuda and there.state[q]["step"].item() == 4
    assert not here.state[p]["step"].is_cuda


def test_an_optimizer_that_counts_on_the_host_says_so():
    p = torch.nn.Parameter(torch.ones(3, device="cuda"))
    p.grad = torch.ones_like(p)
    optimizer = torch.optim.Adam([p])
    optimizer.step()
    with pytest.raises(NotImplementedError, match="counts its steps on the host.*with capturable=True"):
        captured(optimizer.step)
    assert not cuda.is_current_stream_capturing()
    optimizer.step()


def test_random_numbers_are_other_ones_in_each_replay():
    x = torch.ones(64, device="cuda")
    torch.cuda.manual_seed(5)
    graph, (a, b, mask) = captured(
        lambda: (torch.rand(64, device="cuda"), torch.randn(64, device="cuda"), F.dropout(x, 0.5))
    )
    torch.cuda.manual_seed(5)
    wanted = []
    for _ in range(3):
        wanted.append((torch.rand(64, device="cuda"), torch.randn(64, device="cuda"), F.dropout(x, 0.5)))
    torch.cuda.manual_seed(5)
    for want in wanted:
        graph.replay()
        for got, expected in zip((a, b, mask), want):
            assert torch.equal(got, expected)
    after = torch.rand(4, device="cuda")
    torch.cuda.manual_seed(5)
    for _ in range(3):
        torch.rand(64, device="cuda"), torch.randn(64, device="cuda"), F.dropout(x, 0.5)
    assert torch.equal(after, torch.rand(4, device="cuda"))
    with pytest.raises(RuntimeError, match="generator other than the default"):
        mine = torch.Generator(device="cuda")
        mine.manual_seed(1)
        captured(lambda: torch.rand(4, device="cuda", generator=mine))


@pytest.mark.parametrize(
    "what",
    [
        lambda x: x.sum().item(),
        lambda x: x.cpu(),
        lambda x: torch.ones(3).cuda(),
        lambda x: x.copy_(torch.ones(4).pin_memory(), non_blocking=True),
        lambda x: x.nonzero(),
        lambda x: torch.linalg.qr(x.reshape(2, 2)),
        lambda x: torch.linalg.svdvals(x.reshape(2, 2)),
        lambda x: cuda.synchronize(),
        lambda x: cuda.current_stream().synchronize(),
    ],
)
def test_what_cannot_be_captured_says_so(what):
    x = torch.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="operation not permitted when stream is capturing"):
        captured(lambda: what(x))

    # Nothing is left of it: also where somebody caught the error before the capture ended.
    def caught():
        with pytest.raises(RuntimeError):
            what(x)

    with pytest.raises(RuntimeError, match="previous error during capture"):
        captured(caught)
    assert not cuda.is_current_stream_capturing()
    graph, y = captured(lambda: x + 1)
    graph.replay()
    assert y.tolist() == [2.0] * 4


def test_fourier_transforms_whose_plans_are_made_in_the_capture():
    """The memory of a plan is the graph's: it is kept, however many other plans come after it."""
    x = torch.ones(3, 21, device="cuda")
    graph, (y, z) = captured(lambda: (torch.fft.fft(x), torch.fft.irfft(torch.fft.rfft(x))))
    for n in range(2, 270):
        torch.fft.fft(torch.ones(n, device="cuda"))
    for seed in range(2):
        torch.manual_seed(seed)
        new = torch.randn(3, 21)
        x.copy_(new)
        graph.replay()
        torch.testing.assert_close(y.cpu(), torch.fft.fft(new), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(z.cpu(), torch.fft.irfft(torch.fft.rfft(new)), rtol=1e-4, atol=1e-4)


def test_streams_that_join_a_capture():
    x = torch.arange(8.0, device="cuda")
    side = cuda.Stream()

    def work():
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            a = x * 2
        b = x + 1
        cuda.current_stream().wait_stream(side)
        a.record_stream(cuda.current_stream())
        return a + b

    graph, y = captured(work)
    x.fill_(3)
    graph.replay()
    assert y.tolist() == [10.0] * 8

    def lost():
        side.wait_stream(cuda.current_stream())
        with cuda.stream(side):
            x * 2

    with pytest.raises(RuntimeError, match="unjoined"):
        captured(lost)
    with cuda.stream(side):
        assert (x + 1).tolist() == [4.0] * 8


def test_graphs_that_share_memory():
    x = torch.ones(1 << 16, device="cuda")
    first, y = captured(lambda: (x + 1) * 2)
    reserved = cuda.memory_reserved()
    second, z = captured(lambda: (y + 1) * 2, pool=first.pool())
    assert cuda.memory_reserved() == reserved and second.pool() == first.pool()
    first.reset()
    x.fill_(2)
    y.fill_(6)
    second.replay()
    assert z.tolist()[:2] == [14.0, 14.0]
    handle = cuda.graph_pool_handle()
    third, w = captured(lambda: x + 1, pool=handle)
    assert third.pool() == handle
    third.replay()
    assert w[0].item() == 3
    with pytest.raises(RuntimeError, match="no pool"):
        captured(lambda: x + 1, pool=(10**9, 0))


def test_what_a_capture_wants():
    graph = cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="must be captured on a non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="capture_begin was not called"):
        graph.capture_end()
    with pytest.raises(RuntimeError, match="Unknown capture error mode"), cuda.graph(graph, capture_error_mode="x"):
        pass
    x = torch.ones(2, device="cuda")
    with cuda.graph(graph):
        assert cuda.is_current_stream_capturing()
        y = x + 1
    with pytest.raises(RuntimeError, match="already owns a captured graph"), cuda.graph(graph):
        pass
    with pytest.raises(ZeroDivisionError):
        captured(lambda: 1 // 0)
    graph.replay()
    assert y.tolist() == [2.0, 2.0]


def test_other_threads_work_on_while_one_captures():
    x = torch.ones(4, device="cuda")
    torch.ones(4).pin_memory()
    found = []

    def other():
        with cuda.stream(cuda.Stream()):
            big = torch.ones(3 << 20, device="cuda")  # memory of the driver
            found.append((big + 1).sum().item())
            found.append(cuda.is_current_stream_capturing())

    def work():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x + 1

    graph, y = captured(work, capture_error_mode="thread_local")
    graph.replay()
    assert y.tolist() == [2.0] * 4 and found == [2.0 * (3 << 20), False]


def test_an_index_out_of_range_in_a_replay():
    x, at = torch.arange(4.0, device="cuda"), torch.tensor([1, 2], device="cuda")
    graph, y = captured(lambda: x[at])
    graph.replay()
    assert y.tolist() == [1.0, 2.0]
    at.fill_(9)
    graph.replay()
    with pytest.raises(IndexError, match="out of"):
        cuda.synchronize()
    at.fill_(3)
    graph.replay()
    assert y.tolist() == [3.0, 3.0]
