"""Parametrizations, norms of weights, calls without state, fusion: as PyTorch has them."""

import inspect
import subprocess
import sys
import warnings
import weakref

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")

import strided  # noqa: E402
from nn_compare import compare_call, x  # noqa: E402


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
    "functional_call": lambda t, x: t.func.functional_call(
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
    m = strided.nn.utils.parametrizations.orthogonal(strided.nn.Linear(3, 5), orthogonal_map=how)
    eye = m.weight.t() @ m.weight
    assert float((eye - strided.eye(3)).abs().max()) < 1e-5
    m(strided.ones(2, 3)).sum().backward()
    assert m.parametrizations.weight.original.grad is not None


def pair(lib):
    class Pair(lib.nn.Module):
        def forward(self, x):
            return x, x

    return Pair()


def static_key(lib):
    m, q = lib.nn.MultiheadAttention(4, 2, add_bias_kv=True), lib.ones(3, 1, 4)
    lib.nn.functional.multi_head_attention_forward(
        q, q, q, 4, 2, m.in_proj_weight, m.in_proj_bias, m.bias_k, m.bias_v, False, 0.0, m.out_proj.weight,
        m.out_proj.bias, static_k=lib.ones(2, 3, 2),
    )  # fmt: skip


REFUSED = {
    "amount": lambda t, p: p.l1_unstructured(t.nn.Linear(2, 2), "weight", amount=1.5),
    "too many": lambda t, p: p.l1_unstructured(t.nn.Linear(2, 2), "weight", amount=9),
    "kind of amount": lambda t, p: p.random_unstructured(t.nn.Linear(2, 2), "weight", amount="all"),
    "vector": lambda t, p: p.ln_structured(t.nn.Linear(2, 2), "bias", amount=1, n=2, dim=0),
    "dim": lambda t, p: p.random_structured(t.nn.Linear(2, 2), "weight", amount=1, dim=2),
    "not pruned": lambda t, p: p.remove(t.nn.Linear(2, 2), "weight"),
    "type": lambda t, p: p.global_unstructured([(t.nn.Linear(2, 2), "weight")], p.LnStructured, amount=1, n=1),
    "skip_init": lambda t, p: t.nn.utils.skip_init(t.nn.ReLU),
    "a tuple as parametrization": lambda t, p: t.nn.utils.parametrize.register_parametrization(
        t.nn.utils.parametrizations.weight_norm(t.nn.Linear(2, 2)), "weight", pair(t)
    ),
    "no sequences": lambda t, p: t.nn.utils.rnn.pad_sequence(5),
    "spectral norm of a lazy module": lambda t, p: t.nn.utils.spectral_norm(t.nn.LazyLinear(2)),
    "weight norm of a lazy module": lambda t, p: t.nn.utils.weight_norm(t.nn.LazyLinear(2)),
    "dtype of factors of a bag": lambda t, p: t.nn.functional.embedding_bag(
        t.tensor([[1, 2]]), t.ones(3, 2), mode="sum", per_sample_weights=t.ones(1, 2).double()
    ),
    "padding_idx of a bag": lambda t, p: t.nn.functional.embedding_bag(t.tensor([[1, 2]]), t.ones(3, 2), padding_idx=3),
    "padding_idx of bags": lambda t, p: t.nn.EmbeddingBag(3, 2, padding_idx=3),
    "padding_idx of a table": lambda t, p: t.nn.Embedding(3, 2, padding_idx=-4),
    "last offset": lambda t, p: t.nn.EmbeddingBag(3, 2)(t.tensor([1, 2]), t.tensor([0, 3])),
    "no last offset": lambda t, p: t.nn.EmbeddingBag(3, 2, include_last_offset=True)(
        t.tensor([1, 2]), t.tensor([], dtype=t.int64)
    ),
    "mask of unbatched attention": lambda t, p: t.nn.MultiheadAttention(4, 4)(
        *[t.ones(4, 4)] * 3, attn_mask=t.ones(5, 4, 4).bool()
    ),
    "bias beside a static key": lambda t, p: static_key(t),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    found = []
    for t in (strided, torch):
        with pytest.raises(Exception) as error:
            REFUSED[name](t, t.nn.utils.prune)
        found.append((type(error.value), str(error.value).replace("strided", "torch")[:35]))
    assert found[0] == found[1]


def further(lib, forward, right_inverse):
    """Registers a second parametrization of a weight."""
    step = type("Step", (lib.nn.Module,), {"forward": lambda self, x: forward(x)})
    if right_inverse:
        step.right_inverse = lambda self, x: right_inverse(x)
    m = lib.nn.Linear(2, 2)
    lib.nn.utils.parametrize.register_parametrization(m, "weight", lib.nn.Identity())
    lib.nn.utils.parametrize.register_parametrization(m, "weight", step())


FURTHER = {
    "shape": (lambda x: x[0], None),
    "dtype": (lambda x: x.double(), None),
    "no tensor": (lambda x: 5, None),
    "shape of the inverse": (lambda x: x, lambda x: x[0]),
    "dtype of the inverse": (lambda x: x, lambda x: x.double()),
    "inverse is no tensor": (lambda x: x, lambda x: 5),
}


@pytest.mark.parametrize("name", FURTHER)
def test_further_parametrizations_keep_dtype_and_shape(name):
    texts = []
    for t in (strided, torch):
        with pytest.raises(ValueError) as error:
            further(t, *FURTHER[name])
        texts.append(str(error.value).replace("strided", "torch"))
    assert texts[0] == texts[1]


def test_skip_init():
    m = strided.nn.utils.skip_init(strided.nn.Linear, 3, 2, bias=False)
    assert m.weight.device.type == "cpu" and m.weight.shape == (2, 3) and m.weight.requires_grad


def spectral(lib):
    m = lib.nn.Linear(2, 2, dtype=lib.complex64)
    m.weight.data = lib.diag(lib.tensor([1 + 2j, 3 - 1j]))
    lib.nn.utils.parametrizations.spectral_norm(m, n_power_iterations=20)
    return m.weight.abs()


def old_names(lib):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        old = lib.nn.utils.weight_norm(lib.nn.Linear(3, 2))
    new = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    return (new.weight - old.weight).abs().max() < 1e-6


def scaled_rows(lib):
    m = lib.nn.EmbeddingBag(4, 2, max_norm=1.0, mode="sum")
    m.weight.data = lib.arange(8.0).view(4, 2)
    return m(lib.tensor([1, 3], dtype=lib.int32), lib.tensor([0], dtype=lib.int32))


def empty_rows(lib):
    weight = lib.ones(0, 0, requires_grad=True)
    lib.nn.functional.embedding(lib.zeros(0, dtype=lib.int64), weight, sparse=True).sum().backward()
    return weight.grad.to_dense()


def mask_dtype(lib):
    p = lib.nn.utils.prune
    method = p.L1Unstructured(amount=2)
    method._tensor_name = "weight"
    container = p.PruningContainer(method)
    return container.compute_mask(lib.tensor([3.0, 1.0, 2.0]), lib.ones(3, dtype=lib.int64))


def packed(lib):
    p = lib.nn.utils.rnn.pack_sequence([lib.tensor([1.5, 2.0]), lib.tensor([3.0])])
    return [getattr(p, name)().data for name in ("long", "int", "short", "char", "byte", "half")]


def materialized(lib):
    p = lib.nn.UninitializedParameter()
    p.materialize(3)
    return lib.zeros_like(p)


def meta_warning(lib):
    m = lib.nn.Linear(2, 1, device="meta")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        m.load_state_dict(lib.nn.Linear(2, 1).state_dict())
    return [str(w.message) for w in seen]


def hook_of_a_dead_module(lib):
    m = lib.nn.Linear(2, 1)
    m.register_load_state_dict_pre_hook(lambda module, *rest: None)
    ref = weakref.ref(m)
    del m
    return ref() is None


def backward_hooks_everywhere(lib):
    seen, module = [], lib.nn.modules.module
    model = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Tanh())
    with module.register_module_backward_hook(lambda m, gi, go: seen.append((type(m).__name__, len(go)))):
        model(lib.ones(2, requires_grad=True)).sum().backward()
        try:
            module.register_module_full_backward_hook(lambda *args: None)
        except RuntimeError as error:
            seen.append(str(error))
    return seen


PROGRAMS = [
    spectral, old_names, scaled_rows, empty_rows, mask_dtype, packed, materialized, meta_warning, hook_of_a_dead_module,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    ours, theirs = program(strided), program(torch)
    ours, theirs = ([r] if not isinstance(r, list) else r for r in (ours, theirs))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        if isinstance(b, torch.Tensor):
            assert str(b.dtype) == str(a.dtype) and b.shape == a.shape
            assert torch.allclose(torch.tensor(a.tolist(), dtype=b.dtype), b.detach())
        else:
            assert a == b


def test_backward_hooks_everywhere():
    """In a process of its own: the kind of hooks of all modules stays chosen."""
    found = []
    for name in ("strided", "torch"):
        code = f"import {name} as lib\n{inspect.getsource(backward_hooks_everywhere)}\nprint(backward_hooks_everywhere(lib))"
        made = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
        found.append(made.stdout)
    assert found[0] == found[1] and "Cannot use both" in found[0]


def test_functional_call_by_its_older_name():
    for t in (strided, torch):
        m = t.nn.Linear(3, 2)
        with pytest.warns(FutureWarning, match="torch.nn.utils.stateless.functional_call"):
            made = t.nn.utils.stateless.functional_call(m, {"weight": t.ones(2, 3), "bias": t.zeros(2)}, t.ones(3))
        assert made.tolist() == [3, 3]
        with t.nn.utils.stateless._reparametrize_module(m, {"bias": t.full((2,), 5.0)}):
            assert m.bias.tolist() == [5, 5]
        assert m.bias.tolist() != [5, 5]


def maps(t):
    class Double(t.nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, x):
            return x / 2

    class OneMore(t.nn.Module):
        def forward(self, x):
            return x + 1

    class Product(t.nn.Module):
        def forward(self, x, y):
            return x @ y

        def right_inverse(self, z):
            return z[:, :1].clone(), z[:1].clone()

    class Halves(t.nn.Module):
        def forward(self, x):
            return x

        def right_inverse(self, x):
            return x[:1]

    class Ints(Halves):
        def right_inverse(self, x):
            return x.int()

    class Whole(t.nn.Module):
        def forward(self, x):
            return x.int()

    return {c.__name__: c for c in (Double, OneMore, Product, Halves, Ints, Whole)}


@pytest.mark.parametrize(
    "names", ["Double Double", "OneMore Double", "Double OneMore", "Product Double", "Product OneMore Double"]
)
def test_parametrizations_on_top_of_others(names):
    """The later ones are applied to what is there: nothing is set back by their right_inverse."""
    found = []
    for t in (strided, torch):
        m = t.nn.Linear(3, 3)
        with t.no_grad():
            m.weight.copy_(t.arange(9.0).view(3, 3) / 4 + 1)
        for name in names.split():
            t.nn.utils.parametrize.register_parametrization(m, "weight", maps(t)[name]())
        found.append([m.weight.tolist()] + [p.tolist() for n, p in m.named_parameters() if "original" in n])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["Halves", "Ints", "Whole", "Product"])
def test_errors_of_a_parametrization_on_top_of_another(name):
    said = []
    for t in (strided, torch):
        m = t.nn.Linear(3, 3)
        p = t.nn.utils.parametrize
        p.register_parametrization(m, "weight", maps(t)["Double"]())
        with pytest.raises(Exception) as caught:
            p.register_parametrization(m, "weight", maps(t)[name]())
        said.append((type(caught.value).__name__, str(caught.value)))
        assert len(m.parametrizations.weight) == 1
    assert said[0][0] == said[1][0]
    if said[0][0] == "ValueError":
        assert said[0][1] == said[1][1]


def test_what_right_inverse_gives_later_is_checked():
    for t in (strided, torch):

        class Fickle(t.nn.Module):
            made = staticmethod(lambda x: x)

            def forward(self, x):
                return x

            def right_inverse(self, x):
                return self.made(x)

        m = t.nn.Linear(2, 2)
        t.nn.utils.parametrize.register_parametrization(m, "weight", Fickle())
        for made, text in ((lambda x: x.double(), "has dtype"), (lambda x: (x, x), "should return a tensor")):
            Fickle.made = staticmethod(made)
            with pytest.raises(ValueError, match=text):
                m.weight = t.ones(2, 2)


def test_orders_of_weights_of_convolutions():
    found = []
    for t in (strided, torch):
        net = t.nn.Sequential(t.nn.Conv2d(2, 3, 2), t.nn.Sequential(t.nn.ConvTranspose3d(2, 3, 2)), t.nn.Linear(2, 2))
        u = t.nn.utils
        assert u.convert_conv2d_weight_memory_format(net, t.channels_last) is net
        assert u.convert_conv3d_weight_memory_format(net, t.channels_last_3d) is net
        found.append([p.stride() for p in net.parameters()])
    assert found[0] == found[1]
