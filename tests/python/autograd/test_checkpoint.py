"""utils.checkpoint: what is computed again gives the same gradients, and takes less memory meanwhile."""

import functools
import gc
import weakref

import pytest
import strided as torch
from strided.utils._python_dispatch import TorchDispatchMode
from strided.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

BOTH = pytest.mark.parametrize("use_reentrant", [True, False])


def block(x, w):
    return ((x @ w).sin().exp() * x).cumsum(0)


def leaves():
    torch.manual_seed(1)
    return torch.randn(3, 3, dtype=torch.float64).requires_grad_(), torch.randn(
        3, 3, dtype=torch.float64
    ).requires_grad_()


@BOTH
def test_gradients_are_the_same(use_reentrant):
    x, w = leaves()
    block(block(x, w), w).sum().backward()
    expected = [x.grad, w.grad]
    x.grad = w.grad = None
    y = checkpoint(block, x, w, use_reentrant=use_reentrant)
    checkpoint(block, y, w, use_reentrant=use_reentrant).sum().backward()
    assert (x.grad == expected[0]).all() and (w.grad == expected[1]).all()


def test_autograd_grad_and_higher_orders():
    x, w = leaves()

    def second(run):
        y = run(x, w).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return torch.autograd.grad(g.pow(2).sum(), w)[0]

    again = second(lambda *args: checkpoint(block, *args, use_reentrant=False))
    assert torch.allclose(again, second(block))


def test_what_the_function_only_sees_gets_gradients():
    x, w = leaves()
    checkpoint(lambda t: block(t, w), x.detach(), use_reentrant=False).sum().backward()
    expected = torch.autograd.grad(block(x, w).sum(), w)[0]
    assert (w.grad == expected).all()


@BOTH
def test_random_numbers_are_drawn_again(use_reentrant):
    x = torch.ones(1000, requires_grad=True)
    torch.manual_seed(5)
    y = checkpoint(lambda t: t * torch.rand(1000), x, use_reentrant=use_reentrant)
    after = torch.rand(1)
    y.sum().backward()
    assert (x.grad == y.detach()).all()
    torch.manual_seed(5)
    torch.rand(1000)
    assert torch.rand(1) == after


@BOTH
def test_several_results_and_keywords(use_reentrant):
    x = torch.ones(2, requires_grad=True)
    a, n, b = checkpoint(lambda t, scale=2: (t * scale, 3, t.exp()), x, use_reentrant=use_reentrant)
    assert n == 3
    (a.sum() + b.sum()).backward()
    assert torch.allclose(x.grad, 2 + torch.ones(2).exp())
    if use_reentrant:
        with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
            checkpoint(lambda t, scale: t, x, scale=3, use_reentrant=True)
    else:
        assert checkpoint(lambda t, scale: t * scale, x, scale=3, use_reentrant=False).tolist() == [3, 3]


def test_nothing_is_kept():
    kept = []

    def watched(t):
        middle = t.exp()
        kept.append(weakref.ref(middle))
        return middle.sin()

    x = torch.ones(5, requires_grad=True)
    y = checkpoint(watched, x, use_reentrant=False)
    gc.collect()
    assert len(kept) == 1 and kept[0]() is None
    y.sum().backward()
    assert len(kept) == 2  # once more


def test_the_second_run_stops_early():
    ends = []

    def steps(t):
        y = t.exp().sin()
        ends.append(1)
        return y

    for early, count in ((True, 1), (False, 2)):
        ends.clear()
        x = torch.ones(2, requires_grad=True)
        checkpoint(steps, x, use_reentrant=False, early_stop=early).sum().backward()
        assert len(ends) == count
        ends.clear()
        with set_checkpoint_early_stop(early):
            y = checkpoint(steps, x, use_reentrant=False)
        y.sum().backward()
        assert len(ends) == count


def test_a_function_that_differs():
    calls = []

    def f(t):
        calls.append(1)
        return t.exp() if len(calls) == 1 else t.exp().sum() * t.sin().exp()

    def g(t):
        calls.append(1)
        return t.exp() if len(calls) == 1 else t[:1].exp()

    for function, message in ((f, "trying to save more tensors"), (g, "different metadata")):
        calls.clear()
        x = torch.ones(2, requires_grad=True)
        y = checkpoint(function, x, use_reentrant=False, early_stop=False)
        with pytest.raises(CheckpointError, match=message):
            y.sum().backward()


def test_the_reentrant_one_is_for_passes_to_all_leaves():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)

    def part(t):
        return t * w

    for run in (lambda y: torch.autograd.grad(y, x), lambda y: y.backward(inputs=[x])):
        with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\) or passing an `inputs`"):
            run(checkpoint(part, x, use_reentrant=True).sum())
        assert w.grad is None  # the inner pass did not run
    # In one another too; and the mark is gone with the pass.
    outer = checkpoint(lambda t: checkpoint(part, t, use_reentrant=True).exp(), x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="incompatible"):
        torch.autograd.grad(outer, x)
    checkpoint(part, x, use_reentrant=True).sum().backward()
    assert torch.equal(w.grad, torch.ones(2))


def test_warnings_and_wrong_arguments():
    x = torch.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter"):
        checkpoint(torch.exp, x)
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(torch.exp, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(torch.exp, x, use_reentrant=False, determinism_check="maybe")
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(torch.exp, x, use_reentrant=True, debug=True)


@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequences(use_reentrant, segments):
    steps = [torch.sin, torch.exp, torch.cos, torch.sinh, torch.tanh]
    x = torch.ones(3, requires_grad=True)
    y = x
    for step in steps:
        y = step(y)
    (expected,) = torch.autograd.grad(y.sum(), x)
    checkpoint_sequential(steps, segments, x, use_reentrant=use_reentrant).sum().backward()
    assert torch.allclose(x.grad, expected)


@pytest.mark.parametrize("segments", [4, 2**31, 2**63 - 1])
def test_sequences_of_fewer_functions_than_segments(segments):
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match=f"3 functions do not make {segments} groups"):
        checkpoint_sequential([torch.sin, torch.exp, torch.cos], segments, x, use_reentrant=False)


def test_states_of_devices_that_are_not_there():
    from strided.utils.checkpoint import get_device_states, set_device_states

    devices, states = get_device_states(torch.ones(2), [torch.ones(2), 3])
    assert devices == [] and states == []
    set_device_states(devices, states)


class Counted(TorchDispatchMode):
    """How often each operation is computed."""

    def __init__(self):
        super().__init__()
        self.calls = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[func] = self.calls.get(func, 0) + 1
        return func(*args, **(kwargs or {}))


def selective(policy, **options):
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


aten = torch.ops.aten
BY_POLICY = {
    "list": [aten.mm.default],
    "policy": lambda ctx, op, *a, **k: (
        CheckpointPolicy.MUST_SAVE if op is aten.mm.default else CheckpointPolicy.MUST_RECOMPUTE
    ),
    "bool": lambda ctx, op, *a, **k: op is aten.mm.default,
    "all": lambda ctx, op, *a, **k: CheckpointPolicy.PREFER_SAVE,
    "none": lambda ctx, op, *a, **k: CheckpointPolicy.PREFER_RECOMPUTE,
}


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("policy", BY_POLICY)
def test_selective_gradients_are_the_same(policy, early_stop):
    x, w = leaves()
    expected = torch.autograd.grad(block(block(x, w), w).sum(), (x, w))
    y = checkpoint(
        lambda t: block(block(t, w), w),
        x,
        use_reentrant=False,
        context_fn=selective(BY_POLICY[policy]),
        early_stop=early_stop,
    )
    found = torch.autograd.grad(y.sum(), (x, w))
    assert all((f == e).all() for f, e in zip(found, expected))


@pytest.mark.parametrize("policy", ["list", "policy", "bool", "none"])
def test_kept_operations_are_not_computed_again(policy):
    x, w = leaves()
    y = checkpoint(
        lambda t: (t @ w).sin() @ w, x, use_reentrant=False, context_fn=selective(BY_POLICY[policy]), early_stop=False
    )
    with Counted() as counted:
        loss = y.sum()
        counted.calls.clear()
        loss.backward()
    own = 4  # of the gradients of two products
    assert counted.calls[aten.mm.default] == own + (2 if policy == "none" else 0)
    assert counted.calls[aten.sin.default] == 1


def test_selective_keeps_results_and_nothing_else():
    x, w = leaves()
    contexts = create_selective_checkpoint_contexts([aten.mm.default])
    y = checkpoint(lambda t: (t.exp() @ w).sin(), x, use_reentrant=False, context_fn=lambda: contexts)
    storage = contexts[0].storage
    kept = storage[aten.mm.default][0]
    assert (kept.val == x.exp() @ w).all() and kept.saved == [("given", 1), ("given", 0)] and not kept.val.requires_grad
    y.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.sum().backward()


def test_selective_writes_to_kept_results():
    def f(t):
        return t.sin().mul_(2).cos().exp()

    x, _ = leaves()
    expected = torch.autograd.grad(f(x).sum(), x)[0]
    with pytest.raises(RuntimeError, match="has been mutated"):
        checkpoint(f, x, use_reentrant=False, context_fn=selective([aten.sin.default])).sum().backward()
    y = checkpoint(f, x, use_reentrant=False, context_fn=selective([aten.sin.default], allow_cache_entry_mutation=True))
    y.sum().backward()
    assert x.grad is not None and x.grad.shape == expected.shape


def test_selective_several_results_and_functions_that_change():
    def f(t):
        a, b = torch.var_mean(t)
        return a * b

    x, _ = leaves()
    y = checkpoint(f, x, use_reentrant=False, context_fn=selective([aten.var_mean.correction]))
    assert (torch.autograd.grad(y, x)[0] == torch.autograd.grad(f(x), x)[0]).all()
    runs = []

    def changes(t):
        runs.append(1)
        return t.sin().exp() if len(runs) == 1 else t.cos().exp()

    with pytest.raises(RuntimeError, match="cos.*encountered during backward"):
        checkpoint(changes, x, use_reentrant=False, context_fn=selective([aten.sin.default])).sum().backward()


def test_selective_arguments():
    with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload"):
        create_selective_checkpoint_contexts([2])
    with pytest.raises(ValueError, match="update the OpOverloadPacket to a specific OpOverload"):
        create_selective_checkpoint_contexts([aten.sin])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(2)
    seen = []
    x, _ = leaves()
    checkpoint(
        lambda t: t.sin(), x, use_reentrant=False,
        context_fn=selective(lambda ctx, op, *a, **k: seen.append((ctx.is_recompute, op, ctx.op_output, a))),
    )  # fmt: skip
    assert (
        len(seen) == 1
        and seen[0][:2] == (False, aten.sin.default)
        and (seen[0][2] == x.sin()).all()
        and seen[0][3][0] is x
    )


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_backward_pass_within_the_function(early_stop):
    def slope(f):
        def g(t):
            with torch.enable_grad():
                return torch.autograd.grad(f(t), t, create_graph=True)[0]

        return g

    def cubed_sine(t):
        return t.sin() ** 3

    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    inner = lambda t: checkpoint(slope(cubed_sine), t, use_reentrant=False, early_stop=early_stop)
    assert slope(inner)(x) == slope(slope(cubed_sine))(x)


def test_registered_operations_are_kept():
    calls = []

    @torch.library.custom_op("strided_checkpoint_test::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x.sin()

    sine.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    op = torch.ops.strided_checkpoint_test.sine.default
    x, _ = leaves()
    expected = torch.autograd.grad(x.sin().exp().sum(), x)[0]
    for context_fn, runs in ((selective([op]), 1), (selective([aten.exp.default]), 2)):
        calls.clear()
        y = checkpoint(lambda t: op(t).exp(), x, use_reentrant=False, context_fn=context_fn)
        assert (torch.autograd.grad(y.sum(), x)[0] == expected).all() and len(calls) == runs
