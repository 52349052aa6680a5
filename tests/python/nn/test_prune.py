"""Pruned parameters: masks, several methods on one parameter, and the way back."""

import pytest
import strided
from strided import nn
from strided.nn.utils import prune


def layer():
    made = nn.Linear(4, 2, bias=False)
    made.weight.data = strided.tensor([[1.0, -8, 3, -4], [5, -6, 7, -2]])
    return made


def test_smallest_elements():
    m = layer()
    assert prune.l1_unstructured(m, "weight", 2) is m and prune.is_pruned(nn.Sequential(m))
    assert m.weight.tolist() == [[0, -8, 3, -4], [5, -6, 7, 0]]
    assert [n for n, _ in m.named_parameters()] == ["weight_orig"]
    prune.l1_unstructured(m, "weight", 0.5)  # of the six that are left
    assert m.weight_mask.tolist() == [[0, 1, 0, 0], [0, 1, 1, 0]]
    assert m(strided.ones(1, 4)).tolist() == [[-8, 1]]
    m(strided.ones(1, 4)).sum().backward()
    assert m.weight_orig.grad.tolist() == m.weight_mask.tolist()
    m.weight_orig.data.mul_(2)
    assert m(strided.ones(1, 4)).tolist() == [[-16, 2]]
    prune.remove(m, "weight")
    assert m.weight.tolist() == [[0, -16, 0, 0], [0, -12, 14, 0]] and not prune.is_pruned(m)
    assert list(m.state_dict()) == ["weight"] and not m._forward_pre_hooks
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(m, "weight")


def test_slices():
    m = prune.ln_structured(layer(), "weight", 1, n=1, dim=1)
    assert m.weight_mask.tolist() == [[0, 1, 1, 1]] * 2
    prune.ln_structured(m, "weight", 1, n=2, dim=0)
    assert m.weight_mask.tolist() == [[0, 0, 0, 0], [0, 1, 1, 1]] or m.weight_mask[0].sum() == 3
    assert int(m.weight_mask.sum()) == 3
    strided.manual_seed(0)
    m = prune.random_structured(layer(), "weight", 0.5, dim=1)
    assert m.weight_mask.sum(0).sort().values.tolist() == [0, 0, 2, 2]
    assert int(prune.random_unstructured(layer(), "weight", 3).weight_mask.sum()) == 5


def test_among_several():
    a, b = layer(), layer()
    b.weight.data *= 10
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=8)
    assert int(a.weight_mask.sum()) == 0 or a.weight_mask.sum() + b.weight_mask.sum() == 8
    assert b.weight_mask.tolist() == [[1, 1, 1, 1], [1, 1, 1, 1]]
    prune.custom_from_mask(b, "weight", strided.eye(2, 4))
    assert b.weight.tolist() == [[10, 0, 0, 0], [0, -60, 0, 0]]
    assert prune.identity(layer(), "weight").weight.equal(layer().weight)
    assert prune.L1Unstructured(2).prune(strided.tensor([1.0, -3, 2])).tolist() == [0, -3, 0]


@pytest.mark.parametrize(("amount", "error"), [("a", TypeError), (-1, ValueError), (1.5, ValueError), (9, ValueError)])
def test_refuses(amount, error):
    m = layer()
    with pytest.raises(error, match="amount"):
        prune.l1_unstructured(m, "weight", amount)
    assert list(m.state_dict()) == ["weight"] and not m._forward_pre_hooks
    with pytest.raises(ValueError, match="multidimensional"):
        prune.ln_structured(nn.Linear(2, 2), "bias", 1, 2, 0)


def test_helpers_that_classes_of_programs_call():
    prune = strided.nn.utils.prune

    class Last(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def __init__(self, amount):
            prune._validate_pruning_amount_init(amount)
            self.amount = amount

        def compute_mask(self, t, default_mask):
            prune._validate_pruning_amount(self.amount, t.nelement())
            count = prune._compute_nparams_toprune(self.amount, t.nelement())
            mask = default_mask.clone()
            mask.view(-1)[-count:] = 0
            return mask

    layer = strided.nn.Linear(4, 2)
    Last.apply(layer, "weight", 0.5)
    assert layer.weight_mask.tolist() == [[1] * 4, [0] * 4]
    for amount, error in ((9, ValueError), (-1, ValueError), (1.5, ValueError), ("a", TypeError)):
        with pytest.raises(error):
            Last.apply(strided.nn.Linear(4, 2), "weight", amount)
    with pytest.raises(ValueError, match="multidimensional"):
        prune._validate_structured_pruning(strided.ones(3))
    with pytest.raises(IndexError, match="Invalid index 2"):
        prune._validate_pruning_dim(strided.ones(3, 3), 2)
    assert prune._compute_norm(strided.ones(2, 4), 2, -2).tolist() == [2, 2]
