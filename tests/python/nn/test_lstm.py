"""LSTM layers, which are one operation, against cells in a loop: values, gradients of both orders, and where the loop
still serves."""

import copy
import itertools

import pytest
import strided as torch
from strided import func
from strided.nn.functional import _lstm

STEPS, BATCH, INPUT, HIDDEN = 5, 3, 4, 6


def layer(bias=True, bidirectional=False, **options):
    torch.manual_seed(0)
    return torch.nn.LSTM(INPUT, HIDDEN, bias=bias, bidirectional=bidirectional, dtype=torch.float64, **options)


def by_cells(lstm, x, h, c):
    """What the layer gives, one cell after the other."""
    made, ends = [], []
    for d, suffix in enumerate(["", "_reverse"][: 1 + lstm.bidirectional]):
        w = [getattr(lstm, name + suffix) for name in ("weight_ih_l0", "weight_hh_l0")]
        b = [getattr(lstm, name + suffix) for name in ("bias_ih_l0", "bias_hh_l0")] if lstm.bias else [None, None]
        state, out = (h[d], c[d]), [None] * len(x)
        for t in range(len(x))[:: -1 if d else 1]:
            state = torch.lstm_cell(x[t], state, *w, *b)
            out[t] = state[0]
        made.append(torch.stack(out))
        ends.append(state)
    return torch.cat(made, 2), torch.stack([s[0] for s in ends]), torch.stack([s[1] for s in ends])


def inputs(directions):
    torch.manual_seed(1)
    shapes = [(STEPS, BATCH, INPUT), (directions, BATCH, HIDDEN), (directions, BATCH, HIDDEN)]
    return [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]


def close(got, want):
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_values_and_gradients(bidirectional, bias):
    lstm, (x, h, c) = layer(bias, bidirectional), inputs(1 + bidirectional)
    leaves = [x, h, c, *lstm.parameters()]
    found = []
    for run in (lambda: lstm(x, (h, c)), lambda: by_cells(lstm, x, h, c)):
        out = run()
        y, h_end, c_end = (out[0], *out[1]) if len(out) == 2 else out
        total = y.sin().sum() + (h_end * h_end).sum() + c_end.cos().sum()
        first = torch.autograd.grad(total, leaves, create_graph=True)
        again = torch.autograd.grad(sum((g * g).sum() for g in first), leaves)
        out = run()
        plain = torch.autograd.grad(sum(t.sin().sum() for t in ((out[0], *out[1]) if len(out) == 2 else out)), leaves)
        found.append([y, h_end, c_end, *first, *again, *plain])
    close(*found)


def test_gradients_of_some_inputs():
    lstm, (x, h, c) = layer(), inputs(1)
    for wanted in itertools.chain.from_iterable(itertools.combinations((x, h, c), k) for k in (1, 2)):
        rest = [t if any(t is w for w in wanted) else t.detach() for t in (x, h, c)]
        for p in lstm.parameters():
            p.requires_grad_(False)
        for last_only in (False, True):
            y, (_, c_end) = lstm(rest[0], tuple(rest[1:]))
            y2, _, c2 = by_cells(lstm, *rest)
            close(
                torch.autograd.grad(c_end.sum() if last_only else y.sum(), wanted),
                torch.autograd.grad(c2.sum() if last_only else y2.sum(), wanted),
            )


def test_a_gradient_is_not_left_behind():
    """A second pass over a kept graph gives the same gradients: the backward pass overwrites nothing that is saved."""
    lstm, (x, h, c) = layer(), inputs(1)
    total = lstm(x, (h, c))[0].sin().sum()
    first = torch.autograd.grad(total, [x, *lstm.parameters()], retain_graph=True)
    close(torch.autograd.grad(total, [x, *lstm.parameters()]), first)


def test_saved_states_that_are_changed_are_noticed():
    lstm, (x, h, c) = layer(), inputs(1)
    y, _ = lstm(x, (h, c))
    with torch.no_grad():
        lstm.weight_hh_l0.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_transformed_functions():
    lstm, (x, h, c) = layer(), [t.detach() for t in inputs(1)]
    weights = {k: v.detach() for k, v in lstm.named_parameters()}

    def loss(weights, x):
        return func.functional_call(lstm, weights, (x, (h[:, :1], c[:, :1])))[0].sin().sum()

    each = func.vmap(func.grad(loss), (None, 1))(weights, x.unsqueeze(2))
    for i in range(BATCH):
        close(
            [g[i] for g in each.values()],
            torch.autograd.grad(lstm(x[:, i : i + 1], (h[:, :1], c[:, :1]))[0].sin().sum(), list(lstm.parameters())),
        )
    tangent = torch.randn_like(x)
    _, pushed = func.jvp(lambda x: lstm(x, (h, c))[0], (x,), (tangent,))
    step = 1e-6
    with torch.no_grad():
        moved = (lstm(x + step * tangent, (h, c))[0] - lstm(x - step * tangent, (h, c))[0]) / (2 * step)
    torch.testing.assert_close(pushed, moved, rtol=1e-7, atol=1e-8)


def test_no_rows_and_layouts():
    lstm = layer(batch_first=True)
    assert lstm(torch.ones(0, STEPS, INPUT, dtype=torch.float64))[0].shape == (0, STEPS, HIDDEN)
    x = torch.randn(STEPS, BATCH, INPUT, dtype=torch.float64)
    with torch.no_grad():
        close([lstm(x.transpose(0, 1))[0]], [lstm(x.transpose(0, 1).contiguous())[0]])


@pytest.mark.parametrize("hidden", [1, 15, 16, 17, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_of_every_width(hidden, dtype):
    """Gates that are far from zero, with NaN and infinities among them; with a record and without."""
    torch.manual_seed(3)
    lstm = torch.nn.LSTM(3, hidden, dtype=dtype)
    x = torch.randn(4, 5, 3, dtype=dtype) * torch.tensor([1, 10, 100, 1, 1e5], dtype=dtype).view(5, 1)
    x[0, 3], x[1, 4] = float("nan"), float("inf")
    state = torch.randn(1, 5, hidden, dtype=dtype), torch.randn(1, 5, hidden, dtype=dtype)
    y, (h, c) = lstm(x, state)
    with torch.no_grad():
        again, (h2, c2) = lstm(x, state)
        wanted = by_cells(lstm, x, *state)
    for got, other, want in zip((y, h, c), (again, h2, c2), wanted):
        torch.testing.assert_close(got, other, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5, equal_nan=True)
    y, (h, c) = lstm(x[:, :3], tuple(s[:, :3].contiguous() for s in state))
    total = y.sum() + h.sin().sum() + c.cos().sum()
    (found,) = torch.autograd.grad(total, [lstm.weight_hh_l0], retain_graph=True)
    (want,) = torch.autograd.grad(total, [lstm.weight_hh_l0], create_graph=True)
    assert found.isfinite().all()
    torch.testing.assert_close(found, want.detach(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("recorded", [False, True])
def test_states_of_other_shapes_and_dtypes(recorded):
    """They do not reach the kernel, which reads the memory of a state as that of the outputs."""
    weights = [torch.randn(*shape).requires_grad_(recorded) for shape in ((20, 3), (20, 5), (20,), (20,))]
    x, h = torch.randn(4, 2, 3), torch.zeros(1, 2, 5)
    call = lambda h, c: torch.lstm(x, (h, c), weights, True, 1, 0.0, False, False, False)
    for c in (torch.zeros(1, 2, 4), torch.zeros(1, 2, 6), torch.zeros(1, 3, 5)):
        with pytest.raises(RuntimeError):
            call(h, c)
    with pytest.raises(RuntimeError):
        call(h.double(), h)
    c = torch.randn(1, 1, 5)
    for got, want in zip(call(h, c)[:1], call(h, c.expand(1, 2, 5).contiguous())[:1]):
        torch.testing.assert_close(got, want)


def test_gradients_of_other_shapes_are_refused():
    lstm, (x, h, c) = layer(), inputs(1)
    node = lstm(x, (h, c))[0].grad_fn
    while not hasattr(node, "apply"):
        node = node.next_functions[0][0]
    d, ends = torch.ones(STEPS, BATCH, HIDDEN).double(), torch.ones(BATCH, HIDDEN).double()
    for given in ((d[:2], ends, ends), (d, ends[:1], ends), (d, ends, ends.float())):
        with pytest.raises(RuntimeError, match="of an LSTM must be of their shape and dtype"), torch.no_grad():
            node.apply(*given)


def test_steps_in_operations_are_those_of_the_kernel():
    lstm, (x, h, c) = layer(), inputs(1)
    gates = torch.nn.functional.linear(x, lstm.weight_ih_l0).detach()
    found = []
    for steps, back in (
        (_lstm._steps, _lstm._gradients),
        (_lstm._step_by_step, lambda *args: _lstm._back_step_by_step(*args)[0]),
    ):
        for reverse in (False, True):
            a, (out, cells, tanhs) = gates.clone(), x.new_empty((3, STEPS, BATCH, HIDDEN)).unbind(0)
            first = h[0].detach(), c[0].detach(), lstm.weight_hh_l0.detach()
            steps(a, *first, out, cells, tanhs, reverse)
            d, dh, dc = torch.ones_like(out), torch.ones(BATCH, HIDDEN).double(), torch.ones(BATCH, HIDDEN).double()
            found.append([a, out, cells, back(a, *first[1:], cells, tanhs, d, dh, dc, reverse)])
    close(found[0], found[2])
    close(found[1], found[3])


def test_where_the_operation_serves():
    x = torch.ones(2)
    assert _lstm.serves([x, torch.nn.Parameter(x)]) and not _lstm.serves([x, x.half()])

    class Mine(torch.Tensor):
        pass

    assert not _lstm.serves([x, x.as_subclass(Mine)])


def test_projections_are_of_lstms():
    for kind in (torch.nn.RNN, torch.nn.GRU):
        with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM, not RNN or GRU"):
            kind(3, 4, proj_size=2)
    assert torch.nn.LSTM(3, 4, proj_size=2)(torch.ones(5, 3))[0].shape == (5, 2)


@pytest.mark.parametrize("kind", [torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU])
def test_weights_that_are_given_in_place_of_the_parameters(kind):
    # How programs run a layer with weights of their own, such as those after a step of an inner loop.
    torch.manual_seed(0)
    net, other, x = kind(3, 4), kind(3, 4), torch.randn(2, 1, 3)
    own, weights = net(x)[0], list(other.parameters())
    net._flat_weights = weights
    assert net._flat_weights is weights and torch.equal(net(x)[0], other(x)[0])
    net(x)[0].sum().backward()
    assert net.weight_ih_l0.grad is None and other.weight_ih_l0.grad is not None
    new = torch.nn.Parameter(torch.zeros_like(net.weight_ih_l0))
    old, net.weight_ih_l0 = net.weight_ih_l0, new  # a new parameter goes before the one given
    assert weights[0] is new and weights[1] is other.weight_hh_l0
    net.weight_ih_l0 = old
    for moved in (copy.deepcopy(net), net.double()):
        assert all(a is b for a, b in zip(moved._flat_weights, moved.parameters()))
        torch.testing.assert_close(moved(x.to(moved.weight_ih_l0.dtype))[0].float(), own)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_products_of_16_bits(bidirectional, dtype):
    """Under autocast (None) and with weights of 16 bits a layer is one operation as well: near the values and gradients
    in float64, of weights that are rounded, in one pass over the graph and in two."""
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(INPUT, HIDDEN, 2, bidirectional=bidirectional)
    exact = copy.deepcopy(lstm).double()
    with torch.no_grad():
        for p, q in zip(exact.parameters(), lstm.parameters()):
            p.copy_(q.to(dtype or torch.bfloat16))
    lstm = lstm.to(dtype)
    x = torch.randn(STEPS, BATCH, INPUT).to(dtype or torch.bfloat16).to(lstm.weight_hh_l0.dtype)
    found = []
    for net, low in ((lstm, True), (exact, False)):
        given = (x if low else x.double()).requires_grad_()
        leaves = [given, *net.parameters()]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low and dtype is None):
            with torch.no_grad():
                again = net(given)[0]
            y, (h, c) = net(given)
            total = y.double().sin().sum() + (h.double() * c.double()).sum()
        assert torch.equal(y, again)
        first = torch.autograd.grad(total, leaves, create_graph=True)
        plain = torch.autograd.grad(sum(g.double().square().sum() for g in first), leaves)
        found.append([y, h, c, *first, *plain])
    assert found[0][0].dtype == (dtype or torch.bfloat16)
    assert {g.dtype for g in found[0][3:]} == {dtype or torch.float32}
    for got, want in zip(*found, strict=True):
        error = (got.double() - want).norm() / want.norm()
        assert error < 0.02


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16])
def test_one_operation_with_16_bits(monkeypatch, dtype):
    steps = []
    monkeypatch.setattr(_lstm, "_steps", lambda *args, steps=steps, f=_lstm._steps: steps.append(f(*args)) or steps[-1])
    lstm, x = torch.nn.LSTM(INPUT, HIDDEN, dtype=dtype), torch.ones(STEPS, BATCH, INPUT, dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is None):
        lstm(x)
        with torch.no_grad():
            lstm(x)
    assert steps == [True, True]
