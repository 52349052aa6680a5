"""Sparse tensors in coordinate form, beside the dense tensors that they stand for."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import strided as torch


def make(size, sparse_dim=None, nnz=7, dtype=torch.float64, seed=0):
    """A tensor with places that repeat and are not in order."""
    rng = np.random.default_rng(seed)
    rank = len(size) if sparse_dim is None else sparse_dim
    at = np.stack([rng.integers(0, n, nnz) for n in size[:rank]])
    own = rng.integers(-4, 5, (nnz, *size[rank:]))
    return torch.sparse_coo_tensor(torch.tensor(at), torch.tensor(own).to(dtype), size)


def dense(s):
    """Summed by NumPy."""
    made = np.zeros(tuple(s.shape), s._values().numpy().dtype)
    np.add.at(made, tuple(s._indices().numpy()), s._values().numpy())
    return torch.tensor(made)


CASES = [make((3, 4)), make((3, 4)).coalesce(), make((3, 4), nnz=0), make((2, 3, 4)), make((3, 4, 2), 2),
         make((5,)), make((3, 4, 2), 1), make((3, 4), dtype=torch.int64)]  # fmt: skip
IDS = ["matrix", "coalesced", "empty", "cube", "dense_axis", "vector", "rows", "int64"]
each = pytest.mark.parametrize("s", CASES, ids=IDS)


def same(got, want):
    got = got.to_dense() if got.is_sparse else got
    torch.testing.assert_close(got, want)


@each
def test_parts(s):
    assert s.is_sparse and s.layout is torch.sparse_coo and isinstance(s, torch.Tensor) and torch.is_tensor(s)
    assert s.device == torch.device("cpu") and not s.is_meta and s.dtype is s._values().dtype
    assert s.sparse_dim() + s.dense_dim() == s.ndim == len(s.shape) and len(s) == s.size(0)
    same(s, dense(s))
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    same(c, dense(s))
    keys = list(map(tuple, c.indices().t().tolist()))
    assert keys == sorted(set(keys)) and len(c.values()) == c._nnz() == len(keys)
    back = dense(s).to_sparse(s.sparse_dim())
    same(back, dense(s))
    assert back.sparse_dim() == s.sparse_dim() and back.is_coalesced()


def test_constructor():
    s = torch.sparse_coo_tensor([[0, 2], [1, 0]], [1.0, 2.0])
    assert s.shape == (3, 2) and s.dtype is torch.float32 and not s.is_coalesced()
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()
    assert torch.sparse_coo_tensor((2, 3))._nnz() == 0
    assert torch.sparse_coo_tensor([[0]], [1], (2,), dtype=torch.float64).dtype is torch.float64
    with pytest.raises(RuntimeError, match="same nnz"):
        torch.sparse_coo_tensor([[0, 1]], [1.0])
    with pytest.raises(RuntimeError, match="size is 2 but found index 2"):
        torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="negative index -1"):
        torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,))
    with pytest.raises(RuntimeError, match="sparse_dim = 1, dense_dim = 0"):
        torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 3))
    old = torch.sparse.DoubleTensor(2)
    assert old.dtype is torch.float64 and isinstance(old, torch.sparse.DoubleTensor)
    assert not isinstance(old, torch.sparse.FloatTensor) and not isinstance(torch.ones(2), torch.sparse.FloatTensor)


def test_text():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    assert repr(s) == (
        "tensor(indices=tensor([[0, 1, 1],\n                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )
    assert ", dtype=torch.float64, layout" in repr(s.double()) and "dtype" not in repr(s.double()).split("size")[0]


@each
def test_arithmetic(s):
    d, other = dense(s), torch.arange(1, s.numel() + 1).reshape(s.shape).to(s.dtype)
    same(s * 3, d * 3)
    same(3 * s, d * 3)
    same(-s, -d)
    same(s / 2, d / 2)
    same(s + s, d * 2)
    same(s.coalesce() + s.coalesce(), d * 2)
    same(s - s * 2, -d)
    same(other + s, other + d)
    same(other - s, other - d)
    same(torch.add(other, s, alpha=2), other + 2 * d)
    same(s * other, d * other)
    same(other * s, d * other)
    same(s * s, d * d)
    same(s.abs(), d.abs())
    same(s.pow(2), d**2)
    same(s.sparse_mask(s), d) if s.is_coalesced() else None
    same(other.sparse_mask(s.coalesce()) * 0, d * 0)
    with pytest.raises(RuntimeError, match="add"):
        s + other
    with pytest.raises(RuntimeError, match="add"):
        s + 1


def test_products_of_tensors_at_other_places():
    a, b = make((4, 5), nnz=9, seed=1), make((4, 5), nnz=9, seed=2)
    same(a * b, dense(a) * dense(b))
    same(a + b, dense(a) + dense(b))
    same(a @ b.t(), dense(a) @ dense(b).t())
    same(torch.sparse.mm(a.t(), b), dense(a).t() @ dense(b))


def test_in_place():
    a, b = make((4, 5), seed=1), make((4, 5), seed=2)
    d = dense(a)
    a += b
    a *= 2
    same(a, (d + dense(b)) * 2)
    t = torch.ones(4, 5, dtype=torch.float64)
    t += b
    same(t, dense(b) + 1)
    same(a.zero_(), d * 0)


@pytest.mark.parametrize("nnz", [0, 1, 9])
def test_matrix_products(nnz):
    s = make((3, 4), nnz=nnz)
    d, x, v = dense(s), torch.arange(8.0, dtype=torch.float64).reshape(4, 2), torch.arange(4.0, dtype=torch.float64)
    for got in (s @ x, s.mm(x), torch.mm(s, x), torch.sparse.mm(s, x), torch.spmm(s, x), torch.dsmm(s, x),
                torch.smm(s, x), torch.hspmm(s, x), torch.matmul(s, x)):  # fmt: skip
        same(got, d @ x)
    same(s @ v, d @ v)
    same(x.t() @ s.t(), x.t() @ d.t())
    same(torch.mm(s, x.flip(0)[:, ::2]), d @ x.flip(0)[:, ::2])
    same(torch.addmm(torch.ones(3, 2, dtype=torch.float64), s, x, beta=2, alpha=3), 2 + 3 * (d @ x))
    same(torch.sparse.addmm(torch.ones(3, 2, dtype=torch.float64), s, x), 1 + d @ x)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        s @ x.t()
    with pytest.raises(RuntimeError, match="same dtype"):
        s @ x.float()


def test_batches():
    s, x = make((2, 3, 4), nnz=12), torch.arange(16.0, dtype=torch.float64).reshape(2, 4, 2)
    same(torch.bmm(s, x), dense(s) @ x)
    same(s @ x, dense(s) @ x)
    same(x.mT @ s.mT, x.mT @ dense(s).mT)


@each
def test_sums(s):
    d = dense(s)
    same(s.sum(), d.sum())
    same(torch.sparse.sum(s), d.sum())
    for n in range(1, s.ndim + 1):
        for dims in itertools.combinations(range(s.ndim), n):
            same(torch.sparse.sum(s, dims), d.sum(dims))
            same(s.sum(dims, keepdim=True), d.sum(dims, keepdim=True))
    if d.is_floating_point():
        same(s.norm(), d.norm())


def test_softmax_is_over_what_is_stored():
    s = make((3, 5), nnz=8)
    d = dense(s)
    stored = torch.zeros(3, 5, dtype=torch.bool).index_put(tuple(s._indices()), torch.tensor(True))
    for dim in (0, 1):
        want = d.masked_fill(~stored, -torch.inf).softmax(dim).masked_fill(~stored, 0)
        same(torch.sparse.softmax(s, dim), want)
        same(torch.sparse.log_softmax(s, dim), want.masked_fill(~stored, 1).log())


@each
def test_shapes(s):
    d = dense(s)
    for dim in range(s.ndim):
        index = torch.tensor([0, s.shape[dim] - 1, 0])
        same(s.index_select(dim, index), d.index_select(dim, index))
        same(s.select(dim, -1), d.select(dim, -1))
    for dim in range(s.sparse_dim()):
        same(torch.cat([s, s * 2], dim), torch.cat([d, d * 2], dim))
        same(torch.stack([s, s * 2], dim), torch.stack([d, d * 2], dim))
    for dim in range(s.ndim + 1):
        same(s.unsqueeze(dim), d.unsqueeze(dim))
        same(s.unsqueeze(dim).squeeze(dim), d)
    if s.sparse_dim() > 1:
        same(s.transpose(0, 1), d.transpose(0, 1))
    if s.ndim == s.sparse_dim() == 2:
        for turned in (s.t(), s.T, s.mT, s.permute(1, 0)):
            same(turned, d.T)
            assert turned.is_coalesced() == (s._nnz() < 2)
        same(s[1, 2], d[1, 2])
        same(s[:, 1], d[:, 1])
        same(s[..., None, 1], d[..., None, 1])
    same(s[-1], d[-1])
    for a, b in zip(s, d):
        same(a, b)


@each
def test_conversions_and_copies(s):
    d = dense(s)
    assert s.float().dtype is torch.float32 and s.to(torch.int32).dtype is torch.int32
    same(s.float(), d.float())
    for other in (copy.copy(s), copy.deepcopy(s), s.clone(), s.detach(), pickle.loads(pickle.dumps(s)), s.cpu()):
        assert other.is_coalesced() == s.is_coalesced()
        same(other, d)
    same(torch.zeros_like(s), d * 0)
    module = torch.nn.Module()
    module.register_buffer("s", s)
    same(module.float().state_dict()["s"], d.float() if d.is_floating_point() else d)


def test_gradients_go_through_values_and_dense_operands():
    at = torch.tensor([[0, 1, 1, 2, 1], [3, 0, 2, 1, 0]])
    own = torch.arange(1.0, 6.0, dtype=torch.float64, requires_grad=True)
    x = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(4, 3).requires_grad_()

    def run(own, x):
        s = torch.sparse_coo_tensor(at, own, (3, 4))
        y = s @ x + s.coalesce().to_dense()[:, :3] + torch.sparse.softmax(s, 1).to_dense()[:, 1:]
        return y, (s * s).sum(), (s.t() @ torch.ones(3, 1, dtype=torch.float64)).cos()

    assert torch.autograd.gradcheck(run, (own, x))
    leaf = torch.sparse_coo_tensor(at, own.detach(), (3, 4), requires_grad=True)
    assert leaf.requires_grad and leaf.is_leaf and leaf.grad is None
    (leaf @ x).sum().backward()
    assert leaf.grad.is_sparse
    torch.testing.assert_close(leaf.grad._values(), x.sum(1)[at[1]].detach())


def test_functions_of_user_code_take_them():
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, s, x):
            ctx.s = s
            return torch.mm(s, x)

        @staticmethod
        def backward(ctx, g):
            return None, ctx.s.mT @ g

    s, x = make((3, 4)), torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    Product.apply(s, x).sum().backward()
    torch.testing.assert_close(x.grad, dense(s).sum(0)[:, None].expand(4, 2))


def test_what_is_missing_says_so():
    s = make((3, 4))
    for call in (torch.exp, torch.Tensor.tolist, lambda s: s.view(12), lambda s: s[0:1], lambda s: s.data_ptr(),
                 lambda s: s == s, lambda s: torch.ones(4, 4, dtype=torch.float64).matmul(s.unsqueeze(0))):  # fmt: skip
        with pytest.raises(NotImplementedError, match="sparse"):
            call(s)
    with pytest.raises(TypeError, match="to_dense"):
        s.numpy()
    with pytest.raises(RuntimeError, match="coalesce expected sparse"):
        torch.ones(2).coalesce()
    t = torch.ones(2)
    assert t.to_dense() is t and t.sparse_dim() == 0 and t.dense_dim() == 1


def test_in_place_functions_of_one_element():
    s = make((3, 4)).coalesce()
    d = dense(s)
    assert s.abs_() is s
    same(s.sqrt_(), d.abs().sqrt())
    same(s.floor_divide(2), d.abs().sqrt() // 2)
    with pytest.raises(RuntimeError, match="requires coalesced"):
        make((3, 4)).sqrt_()
    same(make((3, 4)).neg_(), -d)


@each
def test_narrow_copy(s):
    for dim in range(s.ndim):
        same(s.narrow_copy(dim, 1, s.shape[dim] - 1), dense(s).narrow(dim, 1, s.shape[dim] - 1))
    with pytest.raises(RuntimeError, match="Invalid range"):
        s.narrow_copy(0, 1, s.shape[0])


def test_sizes_change_in_place():
    s, d = make((3, 4, 2), 2), dense(make((3, 4, 2), 2))
    assert s.sparse_resize_((5, 4, 3), 2, 1) is s and s.shape == (5, 4, 3)
    same(s, torch.nn.functional.pad(d, (0, 1, 0, 0, 0, 2)))
    for size, dims, text in (
        ((4, 4, 3), (2, 1), "shrinking"),
        ((5, 4, 3), (3, 0), "changing"),
        ((5,), (2, 1), "number"),
    ):
        with pytest.raises(RuntimeError, match=text):
            s.sparse_resize_(size, *dims)
    s.sparse_resize_and_clear_((2, 2), 1, 1)
    assert s._nnz() == 0 and s.sparse_dim() == 1 and s._values().shape == (0, 2)
    with pytest.raises(RuntimeError, match="coordinate"):
        torch.ones(2).sparse_resize_((2,), 1, 0)


def test_sspaddmm():
    a, b, x = make((3, 4), seed=1), make((3, 2), seed=2), torch.arange(8.0, dtype=torch.float64).reshape(4, 2)
    same(torch.sspaddmm(b, a, x, beta=2, alpha=3), 2 * dense(b) + 3 * (dense(a) @ x))
    same(b.sspaddmm(a, x), dense(b) + dense(a) @ x)
    same(torch.hsmm(a, x), dense(a) @ x)
    with pytest.raises(RuntimeError, match="sspaddmm"):
        torch.sspaddmm(x, x, x)


def test_linear_layers_of_sparse_inputs():
    linear, bias = torch.nn.functional.linear, torch.arange(2.0, dtype=torch.float64)
    s, weight = make((3, 4), seed=1), make((2, 4), seed=2)
    for given in (s, s.to_sparse_csr()):
        same(linear(given, dense(weight)), dense(s) @ dense(weight).t())
        same(linear(given, dense(weight), bias), dense(s) @ dense(weight).t() + bias)
        same(linear(given, weight).to_dense(), dense(s) @ dense(weight).t())
    for given in (dense(s), dense(s)[0], dense(s).expand(2, 3, 4)):
        same(linear(given, weight, bias), given @ dense(weight).t() + bias)
        same(linear(given, weight.to_sparse_csr(), bias), given @ dense(weight).t() + bias)
    layer = torch.nn.Linear(4, 2, dtype=torch.float64)
    layer(s).sum().backward()
    same(layer.weight.grad, dense(s).sum(0).expand(2, 4))
    with pytest.raises(NotImplementedError, match="reshape"):
        linear(make((2, 3, 4)), dense(weight))


def test_gradcheck_takes_sparse_inputs():
    s, x = make((3, 4)).coalesce().requires_grad_(), torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s, x: torch.sparse.mm(s, x).sin(), (s, x), masked=True)
    assert torch.autograd.gradcheck(lambda s: (s * s).to_dense(), s.detach().to_sparse_csr().requires_grad_())
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(lambda s: s.to_dense() * s.detach().to_dense(), s)
    with pytest.raises(ValueError, match="Sparse output"):
        torch.autograd.gradcheck(lambda s: s * 2, s)


def test_new_tensors_of_sparse_ones():
    """tensor() copies them, and no list of them becomes a dense tensor of nothing."""
    for sparse in (torch.eye(2).to_sparse(), torch.eye(2).to_sparse_csr()):
        copy = torch.tensor(sparse, dtype=torch.float64)
        assert copy.layout == sparse.layout and copy.dtype == torch.float64
        assert copy.to_dense().tolist() == [[1, 0], [0, 1]] and torch.tensor(sparse) is not sparse
        with pytest.raises(NotImplementedError, match="cannot be copied one by one"):
            torch.tensor([sparse, sparse])


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_arguments_that_do_not_fit_are_named(layout):
    """No error speaks of the attributes that sparse tensors have inside."""
    s, dense = torch.eye(2).to_sparse(layout=layout), torch.ones(2, 2)
    wrong = [
        (lambda: torch.arcsin(3, out=s), TypeError, r"arcsin\(\): argument 1 must be Tensor, not int"),
        (lambda: torch.arcsin(dense, out=s), RuntimeError, "arcsin: argument 1 must be a sparse tensor, got a dense"),
        (lambda: torch.abs(s, out=3), TypeError, r"abs\(\): argument 'out' must be Tensor, not int"),
        (lambda: dense.type_as(s), RuntimeError, "type_as: argument 1 must be a sparse tensor"),
        (lambda: torch.linalg.matmul(0, s), TypeError, r"matmul\(\): argument .*must be Tensor, not int"),
        (lambda: torch.cat([s.to_sparse_coo(), 3]), TypeError, r"cat\(\): argument 1 must be tuple .*, but holds int"),
        (lambda: torch.Tensor.get_device(s, out=dense), TypeError, "unexpected keyword argument 'out'"),
        (lambda: torch.sparse.mm(3, dense), TypeError, r"mm\(\): argument 'sparse' \(position 1\) must be Tensor"),
        (lambda: torch.sparse.mm(s, 3), TypeError, r"mm\(\): argument 'dense' \(position 2\) must be Tensor, not int"),
        (lambda: torch.sparse.softmax(3, 0), TypeError, r"softmax\(\): argument 'input' .*must be Tensor, not int"),
        (lambda: torch.sparse.spdiags(3, 0, (2, 2)), TypeError, r"spdiags\(\): argument 'diagonals' .*, not int"),
        (lambda: torch.mm(dense, s[0] if layout is torch.sparse_coo else 3), (RuntimeError, TypeError), "matrix|Tensor"),
    ]  # fmt: skip
    for call, kind, words in wrong:
        with pytest.raises(kind, match=words):
            call()


@pytest.mark.parametrize("count", [1, 2**31, 2**62, -1])
def test_more_sparse_axes_than_there_are(count):
    with pytest.raises(RuntimeError, match=r"sparse_dim must be in 0 \.\.\. 0"):
        torch.tensor(1.0).to_sparse(count)
    with pytest.raises(RuntimeError, match=r"sparse_dim must be in 1 \.\.\. 1"):
        torch.ones(3).to_sparse(count + (count == 1))


def test_shape_and_dtype_are_asked_without_a_call(monkeypatch):
    s, wider = (torch.ones(size).to_sparse() for size in ((2, 3), (4, 5)))

    def refuse(cls, func, types, args=(), kwargs=None):
        raise AssertionError(func)

    with monkeypatch.context() as patch:
        patch.setattr(type(s), "__torch_function__", classmethod(refuse))
        assert (s.shape, s.ndim, s.dim(), s.dtype) == ((2, 3), 2, 2, torch.float32)
    s.data = wider
    assert type(s.shape) is torch.Size and (s.shape, s.size(), s.numel()) == ((4, 5), (4, 5), 20)
