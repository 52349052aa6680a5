"""Parametrizations, norms of weights, calls without state, fusion: as PyTorch has them."""

import warnings

import pytest

torch = pytest.importorskip("torch")

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


CASES = {
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
