"""Steps that are recorded once and done again (strided_xla.Graph)."""

import copy
import gc

import pytest
import strided
from xla_calls import metrics
from xla_calls import strided_xla as xla

F = strided.nn.functional


def executed():
    return metrics.counter_value("ExecuteComputation")


def captured(step):
    graph = xla.Graph()
    with graph:
        result = step()
    return graph, result


def network():
    strided.manual_seed(0)
    layers = [strided.nn.Linear(6, 8), strided.nn.Tanh(), strided.nn.Linear(8, 3)]
    return strided.nn.Sequential(*layers)


def train(model, optimizer, x, target):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    return loss


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}])
def test_training_goes_as_without(options):
    plain, other = network().to("xla"), network().to("xla")
    batches = [(strided.randn(5, 6), strided.randint(0, 3, (5,))) for _ in range(6)]
    optimizers = [strided.optim.SGD(m.parameters(), lr=0.1, **options) for m in (plain, other)]
    wanted = [train(plain, optimizers[0], x.to("xla"), t.to("xla")).item() for x, t in batches]
    x, t = (part.to("xla") for part in batches[0])
    found = [train(other, optimizers[1], x, t).item()]  # momentum buffers are made by the first step
    graph, loss = captured(lambda: train(other, optimizers[1], x, t))
    compiled = metrics.counter_value("UncachedCompile")
    for batch in batches[1:]:
        x.copy_(batch[0])
        t.copy_(batch[1])
        graph.replay()
        found.append(loss.item())
    assert metrics.counter_value("UncachedCompile") == compiled
    assert found == pytest.approx(wanted, rel=1e-6)
    for p, q in zip(plain.parameters(), other.parameters()):
        strided.testing.assert_close(p, q)
        strided.testing.assert_close(p.grad, q.grad)


def test_a_capture_runs_nothing():
    x = strided.tensor([1.0, 2.0], device="xla")
    xla.sync()
    before = executed()

    def step():
        x.add_(1)
        return x * 2

    graph, y = captured(step)
    assert executed() == before
    assert x.tolist() == [1, 2] and y.tolist() == [0, 0]
    for expected in ([2, 3], [3, 4]):
        graph.replay()
        assert x.tolist() == expected and y.tolist() == [2 * e for e in expected]


def test_storages_that_share_an_array_are_told_apart():
    x = strided.ones(3, device="xla")
    y = strided.zeros(3, device="xla")
    y.copy_(x)
    graph, z = captured(lambda: x + 10 * y)
    y.fill_(2)
    graph.replay()
    assert z.tolist() == [21, 21, 21]


def test_a_result_that_is_an_argument():
    x, y = strided.ones(3, device="xla"), strided.zeros(3, device="xla")
    graph, _ = captured(lambda: y.copy_(x))
    x.fill_(5)
    graph.replay()
    x.add_(1)
    assert y.tolist() == [5, 5, 5] and x.tolist() == [6, 6, 6]


def test_two_results_of_one_value():
    x = strided.ones(2, device="xla")

    def step():
        y = x + 1
        z = strided.empty_like(y)
        z.copy_(y)
        return y, z

    graph, (y, z) = captured(step)
    graph.replay()
    y.mul_(3)
    assert y.tolist() == [6, 6] and z.tolist() == [2, 2]


@pytest.mark.parametrize("dtype", [strided.float32, strided.int64, strided.bool, strided.complex64])
def test_a_tensor_that_nobody_has_written_is_read_anew(dtype):
    x = strided.empty(3, dtype=dtype, device="xla")
    graph, y = captured(lambda: x.clone())
    x.copy_(strided.tensor([0, 1, 1]).to(dtype))
    graph.replay()
    assert y.tolist() == strided.tensor([0, 1, 1]).to(dtype).tolist()


def test_parts_and_other_dtypes_of_a_storage():
    x = strided.arange(6.0, device="xla").view(2, 3)

    def step():
        x[:, 1] += 10
        return x.t().contiguous(), x.view(strided.int32).clone()

    graph, (y, bits) = captured(step)
    graph.replay()
    graph.replay()
    expected = strided.tensor([[0.0, 21, 2], [3, 24, 5]])
    assert strided.equal(x.cpu(), expected) and strided.equal(y.cpu(), expected.t())
    assert strided.equal(bits.cpu(), expected.view(strided.int32))
    x.copy_(strided.zeros(2, 3, dtype=strided.int32).view(strided.float32))
    graph.replay()
    assert x.tolist() == [[0, 10, 0], [0, 10, 0]]


def test_constants_from_the_cpu():
    x = strided.ones(2, device="xla")
    graph, y = captured(lambda: x * strided.tensor([2.0, 3.0]).to("xla"))
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [8, 12]


def test_random_numbers_go_on():
    strided.manual_seed(5)
    wanted = [strided.rand(3, device="xla").cpu() for _ in range(4)]
    strided.manual_seed(5)
    graph, x = captured(lambda: strided.rand(3, device="xla"))
    found = []
    for _ in range(2):
        graph.replay()
        found.append(x.cpu())
    found.append(strided.rand(3, device="xla").cpu())
    graph.replay()
    found.append(x.cpu())
    assert all(strided.equal(a, b) for a, b in zip(found, wanted))
    strided.manual_seed(5)
    graph.replay()
    assert strided.equal(x.cpu(), wanted[0])


def test_dropout_drops_other_elements_each_time():
    x = strided.ones(64, device="xla")
    graph, y = captured(lambda: F.dropout(x, 0.5))
    seen = set()
    for _ in range(4):
        graph.replay()
        seen.add(tuple(y.tolist()))
    assert len(seen) == 4


def test_a_generator_of_ones_own_is_refused():
    generator = strided.Generator(device="xla")
    graph = xla.Graph()
    with pytest.raises(NotImplementedError, match="default generator"), graph:
        strided.rand(3, device="xla", generator=generator)


def test_seeding_within_a_step_is_refused():
    for seed in (1, strided.initial_seed()):
        with pytest.raises(RuntimeError, match="seeded within a captured step"), xla.Graph():
            strided.rand(5, device="xla")
            strided.manual_seed(seed)
            strided.rand(5, device="xla")
    with pytest.raises(RuntimeError, match="no captured step"):
        strided._C.functions["_xla_replay"](2**62)


def test_what_cannot_be_in_a_step():
    x = strided.ones(3, device="xla")
    y = x + 1
    for read in (
        lambda: x.sum().item(),
        lambda: (x * 2).tolist(),
        lambda: bool(x[0] > 0),
        lambda: repr(x + 1),
        xla.sync,
    ):
        with pytest.raises(RuntimeError, match="while a step is captured"), xla.Graph():
            x.add_(1)
            read()
    with pytest.raises(RuntimeError, match="copied from the CPU"), xla.Graph():
        x.copy_(strided.zeros(3))
    with pytest.raises(RuntimeError, match="captured already"), xla.Graph():
        xla.Graph().capture_begin()
    # What was recorded before the error stays recorded.
    assert x.tolist() == [6, 6, 6] and y.tolist() == [2, 2, 2]
    adam = strided.optim.Adam([strided.nn.Parameter(strided.ones(2, device="xla"))])
    with pytest.raises(NotImplementedError, match="Adam.step in a captured step"), xla.Graph():
        adam.step()
    adam.step()


def test_the_order_of_calls():
    graph = xla.Graph()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="capture_begin was not called"):
        graph.capture_end()
    x = strided.ones(1, device="xla")
    graph.capture_begin()
    x.add_(1)
    graph.capture_end()
    with pytest.raises(RuntimeError, match="call reset"):
        graph.capture_begin()
    graph.replay()
    graph.reset()
    with pytest.raises(RuntimeError, match="nothing was captured"):
        graph.replay()
    with graph:
        x.mul_(3)
    graph.replay()
    assert x.tolist() == [6]
    with pytest.raises(RuntimeError, match="no device"):
        xla.Graph(device=10**6).capture_begin()
    with xla.Graph() as nothing:
        pass
    assert nothing is None


def test_an_empty_step():
    graph, _ = captured(lambda: None)
    graph.replay()


def test_a_bad_index_is_raised_by_the_replay_that_has_it():
    table, index = strided.arange(4.0, device="xla"), strided.tensor([1, 3], device="xla")
    graph, y = captured(lambda: table[index])
    graph.replay()
    assert y.tolist() == [1, 3]
    index.fill_(7)
    graph.replay()
    with pytest.raises(IndexError, match="7"):
        y.tolist()
    index.fill_(2)
    graph.replay()
    assert y.tolist() == [2, 2]


def test_tensors_may_go_before_the_step():
    tensors = {"w": strided.ones(2, device="xla"), "x": strided.full((2,), 3.0, device="xla")}
    graph, y = captured(lambda: (tensors["w"].add_(tensors["x"]) * 2).sum())
    del tensors["x"]
    gc.collect()
    other = strided.zeros(2, device="xla")  # takes the place of x, if it was let go
    for expected in (16, 28):
        graph.replay()
        assert y.item() == expected
    tensors.clear()
    del y
    gc.collect()
    graph.replay()
    assert other.tolist() == [0, 0]
    del graph
    assert (strided.ones(2, device="xla") + other).tolist() == [1, 1]


def test_recorded_operations_come_before_a_replay():
    x = strided.ones(2, device="xla")
    graph, y = captured(lambda: x + 1)
    x.mul_(10)  # recorded, not run
    z = x.detach().clone()
    graph.replay()
    assert y.tolist() == [11, 11] and z.tolist() == [10, 10]


def test_an_array_that_others_hold_is_not_overwritten():
    x, before = strided.ones(2, device="xla"), strided.zeros(2, device="xla")
    graph, _ = captured(lambda: x.add_(1))
    for n in range(1, 4):
        before.copy_(x)
        graph.replay()
        assert before.tolist() == [n, n] and x.tolist() == [n + 1, n + 1]


def test_two_steps_on_the_same_tensors():
    x = strided.ones(2, device="xla")
    add, _ = captured(lambda: x.add_(1))
    twice, _ = captured(lambda: x.mul_(2))
    for graph in (add, twice, twice, add):
        graph.replay()
    assert x.tolist() == [9, 9]


def test_copies_of_a_model():
    model = network().to("xla")
    x = strided.ones(2, 6, device="xla")
    graph, y = captured(lambda: model(x))
    graph.replay()
    other = copy.deepcopy(model)
    strided.testing.assert_close(other(x), y)


@pytest.mark.skipif(xla.device_count() < 2, reason="one XLA device")
def test_other_devices():
    x = strided.ones(2, device="xla:1")
    graph = xla.Graph(device=1)
    with graph:
        y = x * 3
        here = strided.ones(2, device="xla:0") + 1
        assert here.tolist() == [2, 2]  # of another device
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [6, 6]


@pytest.mark.skipif(xla.device_count() < 4, reason="fewer than four XLA devices")
def test_sharded_tensors():
    import strided_xla.distributed.spmd as spmd

    mesh = spmd.Mesh(range(4), (2, 2), ("data", "model"))
    w = spmd.mark_sharding(strided.arange(16.0).view(4, 4).to("xla"), mesh, ("data", "model"))
    w = w.global_tensor if hasattr(w, "global_tensor") else w
    x = strided.ones(4, device="xla")

    def step():
        w.add_(1)
        return w @ x

    graph, y = captured(step)
    plain = strided.arange(16.0).view(4, 4)
    for n in (1, 2):
        graph.replay()
        strided.testing.assert_close(y.cpu(), (plain + n) @ strided.ones(4))
    strided.testing.assert_close(w.cpu(), plain + 2)
