"""Gradients of layout sparse_coo: how they flow, where they stay, and what optimizers make of them."""

import gc

import pytest
import strided as torch
from strided import nn

IDS = torch.tensor([[0, 1, 2], [2, 5, 0]])


def table(sparse=True, seed=0, **options):
    torch.manual_seed(seed)
    return nn.Embedding(6, 2, sparse=sparse, **options)


def loss(layer, ids=IDS):
    return (layer(ids) ** 2).sum()


def gradient(layer, ids=IDS):
    layer.weight.grad = None
    loss(layer, ids).backward()
    return layer.weight.grad


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"padding_idx": 0, "max_norm": 0.5}])
def test_holds_the_rows_that_were_used(options):
    made, dense = gradient(table(**options)), gradient(table(sparse=False, **options))
    assert made.layout is torch.sparse_coo and not made.is_coalesced() and made.sparse_dim() == 1
    assert made._nnz() == int((options.get("padding_idx", -1) != IDS).sum())
    assert torch.equal(made.to_dense(), dense)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding_idx", [None, 2])
@pytest.mark.parametrize("offsets", [None, [0, 2, 2]])
def test_bags(mode, padding_idx, offsets):
    made = []
    for sparse in (True, False):
        torch.manual_seed(1)
        bag = nn.EmbeddingBag(6, 2, mode=mode, sparse=sparse, padding_idx=padding_idx)
        out = bag(IDS) if offsets is None else bag(IDS.reshape(-1), torch.tensor(offsets))
        (out**2).sum().backward()
        made.append(bag.weight.grad)
    assert made[0].is_sparse and not made[1].is_sparse
    torch.testing.assert_close(made[0].to_dense(), made[1])


def test_weights_of_samples_get_a_dense_gradient():
    bag, factors = nn.EmbeddingBag(6, 2, mode="sum", sparse=True), torch.rand(2, 3, requires_grad=True)
    bag(IDS, per_sample_weights=factors).sum().backward()
    torch.testing.assert_close(factors.grad, bag.weight.detach()[IDS].sum(-1))
    want = torch.zeros(6).index_add(0, IDS.reshape(-1), factors.detach().reshape(-1))
    torch.testing.assert_close(bag.weight.grad.to_dense(), want[:, None].expand(6, 2).contiguous())


def test_two_backward_passes_add():
    layer = table()
    once = gradient(layer).to_dense()
    kept = layer.weight.grad
    loss(layer).backward()
    assert layer.weight.grad is kept  # in place, as a dense one is
    assert torch.equal(kept.to_dense(), 2 * once)
    loss(layer, torch.tensor([3, 3])).backward()
    assert kept.is_sparse and torch.equal(kept.to_dense()[3], 4 * layer.weight.detach()[3])


def test_a_dense_one_and_a_sparse_one_make_a_dense_one():
    for order in (1, -1):
        layer = table()
        made = [lambda layer=layer: loss(layer), lambda layer=layer: (layer.weight**2).sum()][::order]
        for part in made:  # in two passes
            part().backward()
        apart, layer.weight.grad = layer.weight.grad, None
        sum(part() for part in made).backward()  # in one
        want = gradient(table(sparse=False)) + 2 * layer.weight.detach()
        for got in (apart, layer.weight.grad):
            assert not got.is_sparse
            torch.testing.assert_close(got, want)


def test_a_dense_gradient_stays_the_same_object():
    layer = table()
    layer.weight.grad = before = torch.ones(6, 2)
    loss(layer).backward()
    assert layer.weight.grad is before and not torch.equal(before, torch.ones(6, 2))


def test_autograd_grad_and_hooks_see_it():
    layer, seen = table(), []
    layer.weight.register_hook(lambda g: seen.append(g.layout))
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.layout))
    (made,) = torch.autograd.grad(loss(layer), layer.weight)
    assert made.is_sparse and seen == [torch.sparse_coo] and layer.weight.grad is None
    gradient(layer)
    assert seen == [torch.sparse_coo] * 3
    layer.weight.register_hook(lambda g: g * 2)
    assert torch.equal(gradient(layer).to_dense(), 2 * made.to_dense())


def test_functions_before_it_get_the_dense_sum():
    weight = torch.randn(6, 2, requires_grad=True)
    nn.functional.embedding(IDS, weight * 3, sparse=True).sum().backward()
    counts = torch.bincount(IDS.reshape(-1), minlength=6)
    assert torch.equal(weight.grad, (3.0 * counts)[:, None].expand(6, 2))


def test_gradients_of_gradients():
    layer = table()
    (made,) = torch.autograd.grad(loss(layer), layer.weight, create_graph=True)
    made.to_dense().sum().backward()
    counts = torch.bincount(IDS.reshape(-1), minlength=6)
    assert torch.equal(layer.weight.grad.to_dense(), (2.0 * counts)[:, None].expand(6, 2))


def test_anomaly_mode_and_no_indices():
    with torch.autograd.detect_anomaly(check_nan=True):
        assert gradient(table()).is_sparse
    made = gradient(table(), torch.zeros(0, dtype=torch.int64))
    assert made._nnz() == 0 and made.shape == (6, 2)


def test_zero_grad():
    layer = table()
    gradient(layer)
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad._nnz() == 0 and layer.weight.grad.is_sparse


def test_set_by_hand():
    layer = table()
    layer.weight.grad = torch.sparse_coo_tensor([[1]], [[1.0, 2.0]], (6, 2))
    gc.collect()
    assert layer.weight.grad.to_dense()[1].tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        layer.weight.grad = torch.sparse_coo_tensor([[1]], [[1.0, 2.0]], (7, 2))


class Tagged(torch.Tensor):
    pass


def test_an_object_of_a_subclass_comes_back():
    """Its class and its attributes stay while C++ holds the tensor."""
    x = torch.zeros(3, requires_grad=True)
    made = torch.ones(3).as_subclass(Tagged)
    made.note = ["kept"]
    x.grad = made
    del made
    gc.collect()
    for _ in range(2):
        assert type(x.grad) is Tagged and x.grad.note == ["kept"]
    x.grad.note.append("again")
    assert x.grad.note == ["kept", "again"]
    note = x.grad.note
    x.grad = None
    gc.collect()
    assert len(gc.get_referrers(note)) <= 1  # nothing but this frame


def steps(name, layer, n=3, **options):
    opt = getattr(torch.optim, name)(layer.parameters(), lr=0.1, **options)
    for ids in [IDS, torch.tensor([4, 4, 1]), IDS][:n]:
        opt.zero_grad()
        loss(layer, ids).backward()
        opt.step()
    return layer.weight.detach()


@pytest.mark.parametrize("name, options", [("SGD", {}), ("SGD", {"maximize": True}), ("Adagrad", {"lr_decay": 0.1})])
def test_the_same_steps_as_with_dense_gradients(name, options):
    """Where a row without gradient stays as it is."""
    torch.testing.assert_close(steps(name, table(), **options), steps(name, table(sparse=False), **options))


def test_sgd_with_momentum():
    once = steps("SGD", table(), 1, momentum=0.9)
    torch.testing.assert_close(once, steps("SGD", table(sparse=False), 1, momentum=0.9))
    assert torch.isfinite(steps("SGD", table(), momentum=0.9)).all()
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        steps("SGD", table(), weight_decay=0.1)


@pytest.mark.parametrize("maximize", [False, True])
def test_sparse_adam_is_adam_on_the_rows_that_were_used(maximize):
    used, all_rows = table(), torch.arange(6)
    opt = torch.optim.SparseAdam(used.parameters(), lr=0.1, maximize=maximize)
    dense = table(sparse=False)
    adam = torch.optim.Adam(dense.parameters(), lr=0.1, maximize=maximize)
    for _ in range(4):  # every row at every step: nothing differs
        for layer, o in ((used, opt), (dense, adam)):
            o.zero_grad()
            loss(layer, all_rows).backward()
            o.step()
    torch.testing.assert_close(used.weight, dense.weight)
    before, average = used.weight.detach().clone(), opt.state[used.weight]["exp_avg"].clone()
    opt.zero_grad()
    loss(used, torch.tensor([3])).backward()
    opt.step()
    changed = (used.weight != before).any(1)
    assert changed.tolist() == [False, False, False, True, False, False]
    assert torch.equal((opt.state[used.weight]["exp_avg"] != average).any(1), changed)
    assert opt.state[used.weight]["step"] == 5


def test_sparse_adam_on_elements_of_any_rank():
    p = torch.zeros(2, 3, requires_grad=True)
    opt = torch.optim.SparseAdam([p], lr=0.5)
    p.grad = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3))
    opt.step()
    torch.testing.assert_close(p.detach(), torch.tensor([[0.0, 0.0, -0.5], [-0.5, 0.0, 0.0]]))


def test_state_of_sparse_adam_is_saved_and_loaded():
    layer = table()
    opt = torch.optim.SparseAdam(layer.parameters(), lr=0.1)
    gradient(layer)
    opt.step()
    other = torch.optim.SparseAdam(layer.parameters())
    other.load_state_dict(opt.state_dict())
    assert other.state[layer.weight]["step"] == 1 and other.param_groups[0]["lr"] == 0.1


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "ASGD", "Adadelta", "Adafactor"]
)
def test_others_refuse(name):
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        steps(name, table())


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: torch.optim.SparseAdam([]), ValueError, "empty"),
        (lambda: torch.optim.SparseAdam(table().parameters(), lr=0.0), ValueError, "Invalid learning rate: 0.0"),
        (lambda: torch.optim.SparseAdam(table().parameters(), eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda: torch.optim.SparseAdam(table().parameters(), betas=(0.9, 1.0)), ValueError, "at index 1: 1.0"),
        (lambda: torch.optim.SparseAdam([torch.eye(2).to_sparse()]), ValueError, r"indices \[\[0, 0\]\]"),
        (lambda: steps("SparseAdam", table(sparse=False)), RuntimeError, "does not support dense gradients"),
        (lambda: steps("Adagrad", table(), weight_decay=0.1), RuntimeError, "not compatible with sparse"),
        (lambda: gradient(table(scale_grad_by_freq=True)), RuntimeError, "scale_grad_by_freq not supported"),
        (lambda: nn.EmbeddingBag(6, 2, mode="max", sparse=True)(IDS), ValueError, "max mode does not support sparse"),
        (
            lambda: nn.EmbeddingBag(6, 2, mode="max", scale_grad_by_freq=True)(IDS),
            ValueError,
            "max mode does not support scaling",
        ),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_zero_grad_of_a_sparse_gradient_in_place():
    layer = nn.Embedding(4, 2, sparse=True)
    layer(torch.tensor([1, 2])).sum().backward()
    assert layer.weight.grad.detach_() is layer.weight.grad
    torch.optim.SGD(layer.parameters(), lr=0.1).zero_grad(set_to_none=False)
    assert layer.weight.grad.is_sparse and bool((layer.weight.grad.to_dense() == 0).all())
