"""Parametrizations, norms of weights, calls without state, fusion: as PyTorch has them."""

import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")

from nn_compare import compare_call  # noqa: E402


def x(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def used(lib, m, x):
    """Outputs, the state dict, and gradients of a module that was changed."""
    y = m(x)
    y.square().sum().backward()
    state = m.state_dict()
    return [y.detach(), *state.values(), *(p.grad for p in m.parameters()), lib.tensor([len(k) for k in state])]


def parametrised(lib, x):
    m = lib.nn.Linear(3, 3)
    p = lib.nn.utils.parametrize
    p.register_parametrization(m, "weight", symmetric(lib))
    assert type(m).__name__ == "ParametrizedLinear" and p.is_parametrized(m, "weight")
    m.weight = lib.ones(3, 3)
    made = used(lib, m, x)
    p.remove_parametrizations(m, "weight")
    assert type(m) is lib.nn.Linear and list(m.state_dict()) == ["bias", "weight"]
    return [*made, m.weight.detach()]


def pruned(how):
    """A module after a method of pruning, with what is left when the pruning ends."""

    def run(lib, x):
        lib.manual_seed(3)
        m = lib.nn.Sequential(lib.nn.Linear(3, 6), lib.nn.Linear(6, 4))
        p = lib.nn.utils.prune
        how(lib, p, m)
        assert p.is_pruned(m)
        names = [name for name, _ in m.named_parameters()] + [name for name, _ in m.named_buffers()]
        made = used(lib, m, x)
        p.remove(m[0], "weight")
        assert [name for name, _ in m[0].named_parameters()] == ["bias", "weight"]
        return [*made, m[0].weight.detach(), lib.tensor([len(name) for name in names])]

    return run


def twice(t, p, m):
    p.ln_structured(m[0], "weight", amount=2, n=2, dim=0)
    p.l1_unstructured(m[0], "weight", amount=0.5)
    assert type(next(iter(m[0]._forward_pre_hooks.values()))).__name__ == "PruningContainer"


CASES = {
    "prune identity": pruned(lambda t, p, m: p.identity(m[0], "weight")),
    "prune l1": pruned(lambda t, p, m: p.l1_unstructured(m[0], "weight", amount=0.4)),
    "prune random": pruned(lambda t, p, m: p.random_unstructured(m[0], "weight", amount=5)),
    "prune channels": pruned(lambda t, p, m: p.random_structured(m[0], "weight", amount=2, dim=0)),
    "prune columns": pruned(lambda t, p, m: p.ln_structured(m[0], "weight", amount=1, n=1, dim=1)),
    "prune twice": pruned(twice),
    "prune mask": pruned(lambda t, p, m: p.custom_from_mask(m[0], "weight", mask=t.eye(6, 3))),
    "prune all": pruned(
        lambda t, p, m: p.global_unstructured([(m[0], "weight"), (m[1], "weight")], p.L1Unstructured, amount=0.3)
    ),
    "parametrize": parametrised,
    "weight_norm": lambda t, x: used(t, t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4)), x),
    "weight_norm all": lambda t, x: used(t, t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4), dim=None), x),
    "spectral_norm": lambda t, x: used(t, t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(3, 4)), x),
    "orthogonal": lambda t, x: used(t, t.nn.utils.parametrizations.orthogonal(t.nn.Linear(3, 3)), x)[0].shape,
    "old weight_norm": lambda t, x: used(t, t.nn.utils.weight_norm(t.nn.Linear(3, 4)), x),
    "old spectral_norm": lambda t, x: used(t, t.nn.utils.spectral_norm(t.nn.Linear(3, 4)), x),
    "removed": lambda t, x: used(t, t.nn.utils.remove_weight_norm(t.nn.utils.weight_norm(t.nn.Linear(3, 4))), x),
    "removed too": lambda t, x: used(
        t, t.nn.utils.remove_spectral_norm(t.nn.utils.spectral_norm(t.nn.Linear(3, 4))), x
    ),
    "functional_call": lambda t, x: t.nn.utils.stateless.functional_call(
        t.nn.Sequential(t.nn.Linear(3, 2), t.nn.Tanh()), {"0.weight": x[:2] * 2}, (x,)
    ),
    "fusion": lambda t, x: t.nn.utils.fuse_linear_bn_eval(t.nn.Linear(3, 4).eval(), t.nn.BatchNorm1d(4).eval())(x),
}


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_call(CASES[name], [x(5, 3)])


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
def test_orthogonal(how):
    import strided

    m = strided.nn.utils.parametrizations.orthogonal(strided.nn.Linear(3, 5), orthogonal_map=how)
    eye = m.weight.t() @ m.weight
    assert float((eye - strided.eye(3)).abs().max()) < 1e-5
    m(strided.ones(2, 3)).sum().backward()
    assert m.parametrizations.weight.original.grad is not None


REFUSED = {
    "amount": lambda t, p: p.l1_unstructured(t.nn.Linear(2, 2), "weight", amount=1.5),
    "too many": lambda t, p: p.l1_unstructured(t.nn.Linear(2, 2), "weight", amount=9),
    "kind of amount": lambda t, p: p.random_unstructured(t.nn.Linear(2, 2), "weight", amount="all"),
    "vector": lambda t, p: p.ln_structured(t.nn.Linear(2, 2), "bias", amount=1, n=2, dim=0),
    "dim": lambda t, p: p.random_structured(t.nn.Linear(2, 2), "weight", amount=1, dim=2),
    "not pruned": lambda t, p: p.remove(t.nn.Linear(2, 2), "weight"),
    "type": lambda t, p: p.global_unstructured([(t.nn.Linear(2, 2), "weight")], p.LnStructured, amount=1, n=1),
    "skip_init": lambda t, p: t.nn.utils.skip_init(t.nn.ReLU),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    import strided

    found = []
    for t in (strided, torch):
        with pytest.raises(Exception) as error:
            REFUSED[name](t, t.nn.utils.prune)
        found.append((type(error.value), str(error.value).replace("strided", "torch")[:35]))
    assert found[0] == found[1]


def test_skip_init():
    import strided

    m = strided.nn.utils.skip_init(strided.nn.Linear, 3, 2, bias=False)
    assert m.weight.device.type == "cpu" and m.weight.shape == (2, 3) and m.weight.requires_grad
