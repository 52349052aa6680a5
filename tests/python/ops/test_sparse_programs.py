"""Compressed sparse tensors where programs use them: files, modules, optimisers, transforms, comparison."""

import copy
import io
import pickle

import pytest
import strided as torch
from compressed_cases import BATCH, LAYOUTS, D, X, each, make, same


@each
def test_files_parameters_and_out(name):
    s = make(name, BATCH)
    for value in (s, D.to_sparse()):
        file = io.BytesIO()
        torch.save({"s": value}, file)
        file.seek(0)
        got = torch.load(file)["s"]
        assert got.layout is value.layout
        same(got, value.to_dense())
    p = torch.nn.Parameter(s)
    assert (
        isinstance(p, torch.nn.Parameter) and p.requires_grad and repr(p).startswith("Parameter containing:\ntensor(")
    )
    module = torch.nn.Module()
    module.p = p
    assert list(module.parameters())[0] is p
    out = torch.empty(0, dtype=torch.float64)
    assert torch.mm(make(name), X, out=out) is out
    same(out, D @ X)
    sparse = make(name)
    assert torch.add(s.detach(), s.detach(), out=sparse) is sparse
    same(sparse, (s + s).detach().to_dense())
    with pytest.raises(RuntimeError, match="Tensor should be sparse"):
        torch.add(s, s, out=torch.empty(0))


@each
def test_gradients_by_hooks_and_autograd(name):
    s, seen = make(name).requires_grad_(), []
    s.register_hook(lambda g: seen.append(g.layout) or g * 2)
    (got,) = torch.autograd.grad((s * s).sum(), s)
    same(got, D * 4)
    assert seen == [s.layout] and s.grad is None
    one = torch.autograd.grad((s * 3).sum(), {"s": s})["s"]
    same(one, torch.ones_like(s).to_dense() * 6)


def test_assert_close():
    s = make("csr")
    torch.testing.assert_close(s, s.clone())
    torch.testing.assert_close(s, D.to_sparse(), check_layout=False)
    for other, text in ((s * 2, "Sparse CSR values are not close"), (D.flip(1).to_sparse_csr(), "col_indices are not"),
                        (torch.zeros_like(s), "number of specified values"), (make("csc"), "layout")):  # fmt: skip
        with pytest.raises(AssertionError, match=text):
            torch.testing.assert_close(s, other)
    c = D.to_sparse()
    torch.testing.assert_close(c, c.clone())
    with pytest.raises(AssertionError, match="Sparse COO values are not close"):
        torch.testing.assert_close(c, c * 2)


def test_copies_of_parts():
    s, c = make("csr"), make("csc")
    for got, want in ((torch.crow_indices_copy(s), s.crow_indices()), (torch.col_indices_copy(s), s.col_indices()),
                      (torch.ccol_indices_copy(c), c.ccol_indices()), (torch.row_indices_copy(c), c.row_indices()),
                      (torch.values_copy(s), s.values()),
                      (torch.indices_copy(D.to_sparse()), D.to_sparse().indices())):  # fmt: skip
        assert torch.equal(got, want) and got.data_ptr() != want.data_ptr()
    with pytest.raises(RuntimeError, match="compressed tensor layout"):
        torch.crow_indices_copy(D)


def test_files_with_wrong_indices_are_refused(tmp_path):
    s = make("csr")
    s._plain[0] = 99
    torch.save(s, tmp_path / "s")
    with pytest.raises(pickle.UnpicklingError, match="< ncols"):
        torch.load(tmp_path / "s")


@pytest.mark.parametrize("name", [*LAYOUTS, "coo"])
def test_optimisers_write_into_leaves(name):
    p = torch.nn.Parameter(D.to_sparse() if name == "coo" else make(name))
    optimiser = torch.optim.SGD([p], lr=0.1, momentum=0.5)
    step = X.sum(1).expand(4, 6) * torch.ones_like(make("bsr" if name[0] == "b" else "csr")).to_dense()
    for factor in (1.0, 2.5):  # of the gradient, all steps together
        optimiser.zero_grad()
        (p @ X).sum().backward()
        optimiser.step()
        same(p.detach(), D - 0.1 * factor * step)
        assert p.requires_grad and p.is_leaf
    with pytest.raises(RuntimeError, match="leaf"):
        p.add_(D.to_sparse() if name == "coo" else make(name, D.flip(1)))


@pytest.mark.parametrize("name", [*LAYOUTS, "coo"])
def test_modules_with_sparse_parameters(name):
    module = torch.nn.Module()
    module.p = torch.nn.Parameter(D.to_sparse() if name == "coo" else make(name))
    (module.p @ X).sum().backward()
    p = module.p
    assert module.float().p is p and p.dtype is torch.float32 and p.grad.dtype is torch.float32 and p.requires_grad
    same(p.detach(), D.float())
    other = copy.deepcopy(module)
    assert isinstance(other.p, torch.nn.Parameter) and other.p.layout is p.layout and other.p.requires_grad
    p.data = p.data * 2
    same(p.detach(), D.float() * 2)
    same(other.p.detach(), D.float())
    other.load_state_dict(module.state_dict())
    same(other.p.detach(), D.float() * 2)
    with pytest.raises(RuntimeError, match="must have this layout"):
        p.data = D


@pytest.mark.parametrize("name", [*LAYOUTS, "coo"])
def test_transforms_of_functions(name):
    s = D.to_sparse() if name == "coo" else make(name)
    own = s.values()

    def product(own):
        if name == "coo":
            return torch.sparse_coo_tensor(s.indices(), own, (4, 6)) @ X
        ends = s._comp, s._plain
        return torch.sparse_compressed_tensor(*ends, own, (4, 6), layout=LAYOUTS[name]) @ X

    want = torch.func.jacrev(product)(own)
    torch.testing.assert_close(torch.func.jacfwd(product)(own), want)
    torch.testing.assert_close((want * own).sum(tuple(range(2, want.ndim))), D @ X)
    torch.testing.assert_close(torch.vmap(product)(torch.stack([own, own * 2])), torch.stack([D @ X, D @ X * 2]))
    torch.testing.assert_close(torch.vmap(lambda x: s @ x)(torch.stack([X, -X])), torch.stack([D @ X, -(D @ X)]))
    module = torch.nn.Module()
    module.register_buffer("s", s)
    module.forward = lambda x: module.s @ x
    torch.testing.assert_close(torch.fx.symbolic_trace(module.forward)(X), D @ X)


KINDS = ("dense", "sparse", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("come", KINDS)
def test_backward_between_layouts(come, to):
    def convert(t, kind):
        return getattr(t, f"to_{kind}")(*([2] if kind[-3:-1] == "bs" else []))

    torch.manual_seed(0)
    gradient = torch.rand(4, 4, dtype=torch.float64) + 1
    for given in (gradient, convert(gradient, to)):
        x = convert(torch.rand(4, 4, dtype=torch.float64) + 1, come).requires_grad_()
        convert(x, to).backward(given)
        assert x.grad.layout == x.layout and torch.equal(x.grad.to_dense(), gradient)
    for kind in KINDS:  # in another layout, whose values stand in another order
        (made,) = torch.autograd.grad(convert(x, to), x, convert(gradient, kind))
        assert made.layout == x.layout and torch.equal(made.to_dense(), gradient)


def test_backward_at_the_places():
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse().requires_grad_()
    torch.autograd.backward([x * 2, x.sum()], [torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor(1.0)])
    assert x.grad.to_dense().tolist() == [[0, 5], [7, 0]]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(torch.ones(3))


def test_a_gradient_that_is_assigned_keeps_its_places():
    p = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse().requires_grad_()
    other = torch.tensor([[0.0, 5, 0], [0, 7, 0]]).to_sparse()
    p.grad = other
    assert torch.equal(p.grad.to_dense(), other.to_dense())
    (p * 2).sum().backward()
    assert torch.equal(p.grad.to_dense(), other.to_dense() + 2 * (p.detach().to_dense() != 0))
    p.grad = None
    assert p.grad is None
    p.grad = p.detach() * 4
    assert torch.equal(p.grad.to_dense(), 4 * p.detach().to_dense())
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        p.grad = torch.ones(3, 3).to_sparse()
