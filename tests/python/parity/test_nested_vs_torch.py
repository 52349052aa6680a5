"""strided.nested beside torch.nested: values, shapes, gradients, errors.

PyTorch 2.13 has no gradients of some reductions, and a wrong one of softmax along the ragged axis: these are detached.
"""

import importlib

import pytest
import strided

torch = pytest.importorskip("torch")

PROGRAMS = """
x * 2 + lib.ones(4)
x + lib.arange(12.0).view(3, 1, 4)
F.linear(x, w, w[:, 0])
F.layer_norm(x, (4,))
x.softmax(-1)
x.detach().softmax(1)
x.detach().sum(-1)
x.detach().sum(1)
x.detach().mean(1, keepdim=True)
x.amax(1)
x.unflatten(-1, (2, 2)).transpose(1, 2)
x.unflatten(-1, (2, 2)).transpose(1, 2).transpose(1, 2).flatten(-2)
x.view(3, -1, 2, 2)
x.chunk(2, -1)[1]
lib.cat([x, -x], -1)
x[1]
x.unbind()[2]
x @ w.T
x.masked_fill(x > 0.5, 0.0)
lib.nested.to_padded_tensor(x, -1.0)
x.to_padded_tensor(0.0, (3, 5, 4))
F.scaled_dot_product_attention(*[x.unflatten(-1, (2, 2)).transpose(1, 2)] * 3)
lib.nested.narrow(lib.arange(30.0).view(2, 5, 3), 1, lib.tensor([0, 1]), lib.tensor([2, 3]), layout=lib.jagged)
lib.nested.masked_select(lib.ones(2, 3), lib.tensor([[True, False, True], [True, False, False]]))
lib.nested.nested_tensor_from_jagged(lib.arange(10.0).view(2, 5), lib.tensor([0, 2, 5]), jagged_dim=2)
x.view(3, -1)
x.flatten(1)
x.squeeze(0)
x + lib.ones(2, 3, 4)
x.sum((1, 2))
lib.nested.nested_tensor([], layout=lib.jagged)
"""


def result(lib, program):
    importlib.import_module(f"{lib.__name__}.nested")
    rows = [lib.arange(4.0 * n).view(n, 4).sin() for n in (2, 4, 1)]
    x = lib.nested.nested_tensor(rows, layout=lib.jagged, requires_grad=True)
    names = {"lib": lib, "F": lib.nn.functional, "x": x, "w": lib.arange(12.0).view(3, 4).cos()}
    try:
        made = eval(program, names)
    except RuntimeError as error:
        return type(error).__name__
    if made.requires_grad:
        (made.values() if made.is_nested else made).pow(2).sum().backward()
    shape = [n if "j" not in str(n) else "j" for n in made.shape]
    parts = made.unbind() if made.is_nested else [made]
    grad = None if x.grad is None else x.grad.values().tolist()
    return made.is_nested, shape, [t.detach().reshape(-1).tolist() for t in parts], grad


@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_results(program):
    ours, theirs = result(strided, program), result(torch, program)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours[:2] == theirs[:2]
    for one, two in zip(ours[2], theirs[2]):
        assert one == pytest.approx(two, rel=1e-5, abs=1e-6)
    assert (ours[3] is None) == (theirs[3] is None)
    for one, two in zip(ours[3] or [], theirs[3] or []):
        assert one == pytest.approx(two, rel=1e-4, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_is_same_size(layout):
    def answers(lib):
        def nested(*lengths):
            return lib.nested.nested_tensor([lib.ones(n, 4) for n in lengths], layout=getattr(lib, layout))

        x = nested(2, 3)
        same = [x.is_same_size(y) for y in (x, x * 2, nested(2, 3), nested(2, 2), nested(2, 3, 1))]
        for pair in ((x, lib.ones(2)), (lib.ones(2), x)):
            with pytest.raises((RuntimeError, ValueError)) as error:
                lib.is_same_size(*pair)
            same += [str(error.value)] if layout == "strided" else []
        return same

    assert answers(strided) == answers(torch)
