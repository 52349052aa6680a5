"""fx.replace_pattern and fx.passes.shape_prop."""

import operator

import pytest
import strided as torch
from strided import fx, nn
from strided.fx.passes.shape_prop import ShapeProp


def targets(gm):
    return [node.target for node in gm.graph.nodes if node.op.startswith("call")]


def test_every_place_is_replaced():
    def f(x, w):
        return torch.relu(torch.add(x, w)) + torch.add(x, w)

    gm = fx.symbolic_trace(f)
    matches = fx.replace_pattern(gm, lambda a, b: torch.add(a, b), lambda a, b: torch.mul(a, b))
    assert [m.anchor.target for m in matches] == [torch.add] * 2
    assert [[p.name for p in m.nodes_map] for m in matches] == [["add", "a", "b"]] * 2
    assert [m.nodes_map[m.anchor].name for m in matches] == ["add", "add_1"]
    assert targets(gm) == [torch.mul, torch.relu, torch.mul, operator.add]
    x, w = torch.tensor([-2.0, 3.0]), torch.tensor([5.0, 7.0])
    assert gm(x, w).tolist() == [-10.0, 42.0]
    gm.graph.lint()
    assert fx.replace_pattern(gm, lambda a, b: torch.add(a, b), lambda a, b: a) == []


def test_chains_and_replacements_that_are_inputs():
    gm = fx.symbolic_trace(lambda x: ((x + 1).neg().neg().neg().neg(), x * 2))
    assert len(fx.replace_pattern(gm, lambda a: a.neg().neg(), lambda a: a)) == 2
    assert targets(gm) == [operator.add, operator.mul]
    assert [y.item() for y in gm(torch.tensor(3.0))] == [4.0, 6.0]
    gm = fx.symbolic_trace(lambda x: x.exp().sin().exp().sin())
    assert len(fx.replace_pattern(gm, lambda a: a.exp().sin(), lambda a: a * a)) == 2
    assert gm(torch.tensor(3.0)).item() == 81.0


def test_what_does_not_fit():
    def f(x):
        y = x.exp()
        return y.sin() + y  # the inner result is read elsewhere

    gm = fx.symbolic_trace(f)
    assert fx.replace_pattern(gm, lambda a: a.exp().sin(), lambda a: a) == []
    gm = fx.symbolic_trace(lambda x, y: torch.clamp(x * y, min=0) + x * x)
    assert fx.replace_pattern(gm, lambda a: torch.clamp(a, min=1), lambda a: a) == []
    assert fx.replace_pattern(gm, lambda a: torch.clamp(a, max=0), lambda a: a) == []
    (match,) = fx.replace_pattern(gm, lambda a: a * a, lambda a: a.square())  # both inputs the same
    assert (match.anchor.name, match.nodes_map[match.anchor].name) == ("mul", "mul_1")
    assert len(fx.replace_pattern(gm, lambda a: torch.clamp(a, min=0), lambda a: a.relu())) == 1
    assert gm(torch.tensor(2.0), torch.tensor(-3.0)).item() == 4.0


def test_several_results_and_numbers():
    gm = fx.symbolic_trace(lambda x: (x.sin() * 3) + (x.cos() * 5))
    matches = fx.replace_pattern(gm, lambda a: (a.sin(), a.cos()), lambda a: (a + 1, a + 2))
    assert len(matches) == 1
    assert gm(torch.tensor(1.0)).item() == 2 * 3 + 3 * 5
    assert len(fx.replace_pattern(gm, lambda a, k: a * k, lambda a, k: a - k)) == 2
    assert gm(torch.tensor(1.0)).item() == (2 - 3) + (3 - 5)


def test_modules_of_the_replacement_are_taken_over():
    class New(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Linear(2, 2)

        def forward(self, x):
            return self.scale(x)

    new = New()
    gm = fx.symbolic_trace(lambda x: x.relu().sum())
    fx.replace_pattern(gm, lambda a: a.relu(), fx.symbolic_trace(new))
    x = torch.ones(2)
    assert gm(x).item() == new(x).sum().item()
    assert len(list(gm.parameters())) == 2


def test_errors():
    gm = fx.symbolic_trace(lambda x: x + 1)
    with pytest.raises(AssertionError, match="1 inputs, the replacement 2"):
        fx.replace_pattern(gm, lambda a: a.sin(), lambda a, b: a)
    with pytest.raises(RuntimeError, match="1 results, the replacement 2"):
        fx.replace_pattern(gm, lambda a: a.sin(), lambda a: (a, a))
    with pytest.raises(RuntimeError, match="must be steps of it"):
        fx.replace_pattern(gm, lambda a: a, lambda a: a)


def test_shapes_of_all_steps():
    gm = fx.symbolic_trace(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 5)))
    out = ShapeProp(gm).propagate(torch.ones(2, 3, 4, 4))
    metas = [node.meta["tensor_meta"] for node in gm.graph.nodes]
    assert [tuple(m.shape) for m in metas] == [(2, 3, 4, 4), (2, 4, 2, 2), (2, 16), (2, 5), (2, 5)]
    assert [m.requires_grad for m in metas] == [False, True, True, True, True]
    assert metas[0].memory_format == torch.contiguous_format
    assert metas[2].stride == (16, 1)
    assert metas[2].dtype == torch.float32
    assert out.shape == (2, 5)
    gm = fx.symbolic_trace(lambda x: x.split(1)[0].size(0))
    ShapeProp(gm).propagate(torch.ones(2, 3))
    nodes = list(gm.graph.nodes)
    assert [tuple(m.shape) for m in nodes[1].meta["tensor_meta"]] == [(1, 3), (1, 3)]
    assert "tensor_meta" not in nodes[3].meta
    assert nodes[3].meta["type"] is int
