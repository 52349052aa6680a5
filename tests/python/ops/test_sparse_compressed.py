"""Compressed sparse tensors of the four layouts, beside the dense tensors that they stand for."""

import copy
import itertools
import pickle

import pytest
import strided as torch
from compressed_cases import BATCH, LAYOUTS, D, X, each, make, same


@each
@pytest.mark.parametrize("dense", [D, D.int(), D[:, :0], D * 0, BATCH, BATCH.reshape(1, 3, 4, 6), D != 0],
                         ids=["matrix", "int32", "no_columns", "zero", "batch", "batches", "bool"])  # fmt: skip
def test_dense_and_back(name, dense):
    s = make(name, dense)
    assert s.layout is LAYOUTS[name] and not s.is_sparse and s.is_sparse_csr == (name == "csr")
    assert s.device == torch.device("cpu") and s.dtype is dense.dtype and isinstance(s, torch.Tensor)
    assert s.sparse_dim() == 2 and s.dense_dim() == 0 and s.values().shape[dense.ndim - 2] == s._nnz()
    same(s, dense)
    same(s.to_sparse(), dense)
    with pytest.raises(RuntimeError, match="to_dense|to_sparse|coordinate"):
        s.indices()


@each
@pytest.mark.parametrize("other", LAYOUTS)
def test_between_layouts(name, other):
    for dense in (D, D * 0, BATCH):
        s = make(name, dense)
        block = [(2, 3)] if other[0] == "b" else []
        got = getattr(s, f"to_sparse_{other}")(*block)
        assert got.layout is LAYOUTS[other]
        same(got, dense)
        if other[0] == "b":
            for block in ((1, 1), (4, 2), (2, 6)):
                same(s.to_sparse(layout=LAYOUTS[other], blocksize=block), dense)
        same(getattr(dense.to_sparse(), f"to_sparse_{other}")(*([(2, 3)] if other[0] == "b" else [])), dense)
        same(s + got, dense * 2)
        assert (s + got).layout is LAYOUTS[name]


def test_dense_axes():
    dense = torch.stack([D, -D], -1)
    for name in LAYOUTS:
        s = make(name, dense, dense_dim=1)
        assert s.dense_dim() == 1 and s.values().shape[-1] == 2
        same(s, dense)
        same(s.transpose(0, 1), dense.transpose(0, 1))
        same(s.select(2, 1), -D)
        same(s * 2 + s, dense * 3)
    with pytest.raises(RuntimeError, match="dense_dim argument must be in"):
        D.to_sparse_csr(dense_dim=1)


def test_parts():
    s, c = make("csr"), make("csc")
    assert s.crow_indices().tolist() == [0, 2, 3, 4, 5] and s.col_indices().tolist() == [1, 2, 0, 5, 1]
    assert c.ccol_indices().tolist() == [0, 1, 3, 4, 4, 4, 5] and c.row_indices().tolist() == [1, 0, 3, 0, 2]
    assert make("bsr").crow_indices().tolist() == [0, 1, 3] and make("bsr").values().shape == (3, 2, 3)
    for call in (
        s.ccol_indices,
        s.row_indices,
        c.crow_indices,
        c.col_indices,
        D.crow_indices,
        D.to_sparse().row_indices,
    ):
        with pytest.raises(RuntimeError, match=r"(row|col)_indices|compressed tensor layout"):
            call()


BAD = [  # crow, col, number of values, size, text
    ([0, 2, 4], [0, 1, 0, 1], 3, (2, 2), "col_indices.shape"), ([0, 2, 4], [0, 1, 0, 1], 4, (3, 2), "number of rows"),
    ([0, 2, 4], [0, 1, 0, 2], 4, (2, 2), "< ncols"), ([0, 2, 4], [0, 1, 0, -1], 4, (2, 2), "< ncols"),
    ([1, 2, 4], [0, 1, 0, 1], 4, (2, 2), "== 0"), ([0, 2, 3], [0, 1, 0, 1], 4, (2, 2), "== nnz"),
    ([0, 5, 4], [0, 1, 0, 1], 4, (2, 2), "<= ncols"), ([0, 2, 4], [0, 1, 0, 1], 4, (2,), "got 1"),
    ([0.0, 2, 4], [0, 1, 0, 1], 4, (2, 2), "same dtype"), (0, [0], 1, (1, 1), ">= 1 but got 0"),
    ([[0, 2, 4]], [0, 1, 0, 1], 4, (2, 2), "must be equal but got 2 and 1"),
]  # fmt: skip


@pytest.mark.parametrize("crow, col, nnz, size, text", BAD)
def test_parts_that_do_not_fit(crow, col, nnz, size, text):
    with pytest.raises(RuntimeError, match=text):
        torch.sparse_csr_tensor(crow, col, torch.ones(nnz), size)
    with pytest.raises(RuntimeError, match=text.replace("col", "row").replace("of rows", "of columns")):
        torch.sparse_csc_tensor(crow, col, torch.ones(nnz), size[::-1])


def test_order_is_checked_where_asked():
    checks = torch.sparse.check_sparse_tensor_invariants
    for col in ([1, 0, 0, 1], [1, 1, 0, 1]):
        s = torch.sparse_csr_tensor([0, 2, 4], col, [1.0, 2.0, 3.0, 4.0])
        want = torch.zeros(2, 2).index_put((torch.tensor([0, 0, 1, 1]), torch.tensor(col)), s.values(), accumulate=True)
        same(s, want)
        same(s @ torch.eye(2), want)
        same(s.to_sparse_csc(), want)
        same(s.to_sparse().coalesce(), want)
        with pytest.raises(RuntimeError, match="sorted and distinct"):
            torch.sparse_csr_tensor([0, 2, 4], col, [1.0, 2.0, 3.0, 4.0], check_invariants=True)
        with checks(), pytest.raises(RuntimeError, match="sorted and distinct"):
            torch.sparse_csr_tensor([0, 2, 4], col, [1.0, 2.0, 3.0, 4.0])
        with checks(), checks(False):
            torch.sparse_csr_tensor([0, 2, 4], col, [1.0, 2.0, 3.0, 4.0])
    assert not checks.is_enabled() and checks(True)(checks.is_enabled)()
    checks.enable()
    assert checks.is_enabled()
    checks.disable()


def test_constructors():
    for name, layout in LAYOUTS.items():
        for dense in (D, BATCH):
            s = make(name, dense)
            ends = ("crow", "col") if name[2] == "r" else ("ccol", "row")
            parts = [getattr(s, f"{e}_indices")() for e in ends] + [s.values()]
            for size in ((), (dense.shape,)):
                same(getattr(torch, f"sparse_{name}_tensor")(*parts, *size, check_invariants=True), dense)
                same(torch.sparse_compressed_tensor(*parts, *size, layout=layout), dense)
    s = torch.sparse_csr_tensor(torch.tensor([0, 1], dtype=torch.int32), torch.tensor([2], dtype=torch.int32), [1],
                                dtype=torch.float16)  # fmt: skip
    assert s.crow_indices().dtype is s.t().row_indices().dtype is s.to_sparse_csc().row_indices().dtype is torch.int32
    assert s.shape == (1, 3) and s.dtype is torch.float16
    with pytest.raises(RuntimeError, match="got none"):
        torch.sparse_compressed_tensor([0, 1], [0], [1.0])
    with pytest.raises(RuntimeError, match="layout must be SparseCsr but got SparseCsc"):
        torch.sparse_csr_tensor([0, 1], [0], [1.0], layout=torch.sparse_csc)
    with pytest.raises(RuntimeError, match="divisible"):
        torch.sparse_bsr_tensor([0, 2, 4], [0, 1, 0, 1], torch.ones(4, 2, 2), (4, 5))
    with pytest.raises(RuntimeError, match="divisible by given blocksize"):
        D.to_sparse_bsr((3, 2))
    with pytest.raises(RuntimeError, match="without blocksize"):
        D.to_sparse(layout=torch.sparse_bsc)
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        torch.stack([D, D + 1]).to_sparse_csr()
    with pytest.raises(NotImplementedError, match="jagged"):
        D.to_sparse(layout=torch.jagged)


@each
@pytest.mark.parametrize("dense", [D, BATCH], ids=["matrix", "batch"])
def test_arithmetic(name, dense):
    s, other = make(name, dense), torch.arange(1.0, dense.numel() + 1, dtype=torch.float64).reshape(dense.shape)
    for got, want in ((s * 3, dense * 3), (3 * s, dense * 3), (s * torch.tensor(3.0), dense * 3), (-s, -dense),
                      (s / 2, dense / 2), (s + s, dense * 2), (s - s * 2, -dense),
                      (torch.add(s, s, alpha=2), dense * 3),
                      (s * other, dense * other), (other * s, dense * other), (s * s, dense * dense),
                      (s.abs(), dense.abs()), (s**2, dense**2), (s.sin(), dense.sin()),
                      (torch.relu(-s), dense * 0)):  # fmt: skip
        assert got.layout is s.layout
        same(got, want)
    same(other + s, other + dense)
    same(s + other, other + dense)
    same(other - s, other - dense)
    same(other.sparse_mask(s), other * torch.ones_like(s).to_dense())
    torch.testing.assert_close(s.sum(), dense.sum())
    torch.testing.assert_close(s.norm(), dense.norm())
    assert s.isinf().dtype is torch.bool


@each
def test_arithmetic_at_other_places(name):
    a, b, d = make(name), make(name, D.flip(1)), D.flip(1)
    same(a + b, D + d)
    same(a * b, D * d)
    same(a + d.to_sparse(), D + d)
    same(d.to_sparse() + a, D + d)
    same(a * d.to_sparse(), D * d)
    same(d.to_sparse() * a, D * d)
    with pytest.raises(RuntimeError, match="same shape"):
        a + a.t()
    with pytest.raises(RuntimeError, match="same size"):
        a + 1
    with pytest.raises(RuntimeError, match="divisor"):
        a / d


@each
def test_in_place(name):
    a, dense = make(name), D.clone()
    a += a
    a *= 2
    a.neg_()
    same(a, D * -4)
    a.add_(make(name, D.flip(1)))
    same(a, D * -4 + D.flip(1))
    dense += make(name)
    same(dense, D * 2)
    assert a.copy_(make(name)) is a
    same(a, D)
    assert a.zero_()._nnz() == 0
    same(a, D * 0)
    with pytest.raises(RuntimeError, match="dense result"):
        a += D


@each
def test_products(name):
    s = make(name)
    for got in (s @ X, s.mm(X), torch.mm(s, X), torch.sparse.mm(s, X), torch.matmul(s, X), torch.dsmm(s, X),
                s @ X.flip(0).flip(0), torch.mm(s, X.mT.contiguous().mT)):  # fmt: skip
        same(got, D @ X)
    same(s @ X[:, 0], D @ X[:, 0])
    same(s.mv(X[:, 0]), D @ X[:, 0])
    same(X.t() @ s.t(), X.t() @ D.t())
    same(X[:4].t() @ s, X[:4].t() @ D)
    same(X[:4, 0] @ s, X[:4, 0] @ D)
    same(torch.addmm(X[:4], s, X, beta=2, alpha=3), 2 * X[:4] + 3 * (D @ X))
    same(torch.sparse.addmm(X[:4], s, X), X[:4] + D @ X)
    same(torch.addmv(X[:4, 0], s, X[:, 1]), X[:4, 0] + D @ X[:, 1])
    same(torch.nn.functional.linear(X.t(), s), X.t() @ D.t())
    for got in (s @ s.t(), s @ make("csr").t(), s @ make("csr", D.t().contiguous()), s @ D.t().to_sparse()):
        assert got.layout is torch.sparse_csr
        same(got, D @ D.t())
    same(D.to_sparse() @ s.t(), D @ D.t())
    same(torch.addmm(make("csr", D @ D.t()), s, s.t()), 2 * (D @ D.t()))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        s @ X.t()
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
        s @ X.float()
    with pytest.raises(RuntimeError, match="size mismatch"):
        s @ X[:4, 0]


@each
def test_products_of_batches(name):
    s, x = make(name, BATCH), torch.stack([X, X + 1, -X])
    same(s @ x, BATCH @ x)
    same(torch.bmm(s, x), BATCH @ x)
    same(s @ X, BATCH @ X)
    same(x.mT @ s.mT, x.mT @ BATCH.mT)
    with pytest.raises(NotImplementedError, match=f"matmul.*sparse_{name}"):
        s @ s.mT


@each
def test_samples_of_a_product(name):
    a, b = X[:4], X.t()
    s = make(name)
    mask = torch.ones_like(s).to_dense()
    same(torch.sparse.sampled_addmm(s, a, b), D + (a @ b) * mask)
    same(torch.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2), 0.5 * D + 2 * (a @ b) * mask)
    batch = make(name, BATCH)
    a3, b3 = a.expand(3, 4, 2), b.expand(3, 2, 6)
    same(torch.sparse.sampled_addmm(batch, a3, b3, beta=0), (a @ b) * torch.ones_like(batch).to_dense())
    with pytest.raises(RuntimeError, match="sampled_addmm"):
        torch.sparse.sampled_addmm(s, b, a)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.sparse.sampled_addmm(s, 1, a)
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        s @ 3


def test_other_reductions_of_products():
    filled = D.clone()
    filled[1] = 0
    stored = (filled != 0)[:, :, None]
    terms = filled[:, :, None] * X
    for name in ("csr", "csc"):
        s = make(name, filled)
        count = stored.sum(1).clamp(min=1)
        same(torch.sparse.mm(s, X, "sum"), filled @ X)
        same(torch.sparse.mm(s, X, "mean"), (filled @ X) / count)
        empty = ~stored.any(1)
        same(torch.sparse.mm(s, X, "amax"), terms.masked_fill(~stored, -torch.inf).amax(1).masked_fill(empty, 0))
        same(torch.sparse.mm(s, X, "amin"), terms.masked_fill(~stored, torch.inf).amin(1).masked_fill(empty, 0))
        for short in ("max", "min"):
            same(torch.sparse.mm(s, X, reduce=short), torch.sparse.mm(s, X, f"a{short}"))
        with pytest.raises(RuntimeError, match="reduce argument"):
            torch.sparse.mm(s, X, "median")
    with pytest.raises(NotImplementedError, match="'mean'.*sparse_bsr"):
        torch.sparse.mm(make("bsr"), X, "mean")
    with pytest.raises(NotImplementedError, match="softmax.*sparse_bsr"):
        torch.sparse.softmax(make("bsr"), 1)
    own, x = make("csr").values().requires_grad_(), X.clone().requires_grad_()
    ends = make("csr").crow_indices(), make("csr").col_indices()
    for reduce in ("sum", "mean", "amax", "amin"):
        run = lambda own, x: torch.sparse.mm(torch.sparse_csr_tensor(*ends, own, (4, 6)), x, reduce)  # noqa: B023, E731
        assert torch.autograd.gradcheck(run, (own, x))


@each
def test_shapes(name):
    turned = {"csr": "csc", "csc": "csr", "bsr": "bsc", "bsc": "bsr"}[name]
    s, b = make(name), make(name, BATCH)
    for got in (s.t(), s.T, s.mT, s.transpose(0, 1), s.transpose(-1, -2)):
        assert got.layout is LAYOUTS[turned] and got._nnz() == s._nnz()
        same(got, D.t())
    same(b.mT, BATCH.mT)
    same(make(name, BATCH[None]).transpose(0, 1), BATCH[:, None])
    with pytest.raises(RuntimeError, match="same type"):
        b.transpose(0, 1)
    for got, want in ((s[1], D[1]), (s[-1], D[-1]), (s[:, 1], D[:, 1]), (s[..., 2], D[..., 2]), (s[0, 1], D[0, 1]),
                      (s[:], D), (b[1], BATCH[1]), (b[1, 2], BATCH[1, 2]), (b[:, 2], BATCH[:, 2]),
                      (b[0, 1, 2], BATCH[0, 1, 2]), (s.select(0, 2), D[2])):  # fmt: skip
        same(got, want)
    assert b[1].layout is s.layout and s[1].layout is torch.sparse_coo
    for got, want in zip(b, BATCH):
        same(got, want)
    if name[0] == "c":
        for dim in (0, 1, (0, 1), -1):
            got = s.sum(dim, keepdim=True)
            assert got.layout is s.layout
            same(got, D.sum(dim, keepdim=True))
    with pytest.raises(NotImplementedError if name[0] == "b" else RuntimeError, match="keepdim|sum"):
        s.sum(0)
    with pytest.raises(IndexError, match="out of range"):
        s[4]
    with pytest.raises(IndexError, match="too many"):
        s[0, 0, 0]


@each
def test_copies_and_conversions(name):
    s = make(name, BATCH)
    assert s.float().dtype is torch.float32 and s.to(torch.int32).dtype is torch.int32 and s.cfloat().is_complex()
    same(s.float(), BATCH.float())
    for other in (copy.copy(s), copy.deepcopy(s), s.clone(), s.detach(), pickle.loads(pickle.dumps(s)), s.cpu()):
        assert other.layout is s.layout and other.is_sparse_csr == s.is_sparse_csr
        same(other, BATCH)
    assert s.clone().values().data_ptr() != s.values().data_ptr()
    same(torch.zeros_like(s), BATCH * 0)
    assert torch.empty_like(s, dtype=torch.float32)._nnz() == s._nnz()
    module = torch.nn.Module()
    module.register_buffer("s", s)
    same(module.float().state_dict()["s"], BATCH.float())


@each
def test_gradients_go_through_values_and_dense_operands(name):
    s, x = make(name), X.clone().requires_grad_()
    ends = [s._comp, s._plain]

    def run(own, x):
        s = torch.sparse_compressed_tensor(*ends, own, (4, 6), layout=LAYOUTS[name])
        return (s @ x, x.t() @ s.t(), s.to_dense(), (s * D.cos() + s * 2).sin().sum(), (s @ s.t()).to_dense(),
                torch.sparse.sampled_addmm(s, x[:4], x.t()).values(), s.values(), (s + s).sum())  # fmt: skip

    own = s.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(run, (own, x))
    made = torch.sparse_compressed_tensor(*ends, own, (4, 6), layout=LAYOUTS[name])
    assert made.requires_grad and not made.is_leaf
    leaf = torch.sparse_compressed_tensor(*ends, own.detach(), (4, 6), layout=LAYOUTS[name], requires_grad=True)
    assert leaf.requires_grad and leaf.is_leaf and leaf.grad is None
    (leaf @ x).sum().backward()
    assert leaf.grad.layout is leaf.layout
    same(leaf.grad, x.detach().sum(1).expand(4, 6) * torch.ones_like(s).to_dense())
    dense = D.clone().requires_grad_()
    (make(name, dense) @ X).sum().backward()
    torch.testing.assert_close(dense.grad, X.sum(1).expand(4, 6) * torch.ones_like(s).to_dense())


@each
def test_what_is_missing_says_so(name):
    s = make(name)
    for call in (torch.exp, torch.Tensor.tolist, lambda s: s.view(24), lambda s: s[0:1], lambda s: s.data_ptr(),
                 lambda s: s == s, lambda s: torch.cat([s, s]), lambda s: s.reshape(24), torch.cumsum):  # fmt: skip
        with pytest.raises(NotImplementedError, match=f"sparse_{name}|compressed layout"):
            call(s)
    with pytest.raises(TypeError, match="to_dense"):
        s.numpy()
    with pytest.raises(RuntimeError, match="do not have"):
        s.is_contiguous()


def test_text():
    assert repr(make("csr")[...].t()) == (
        "tensor(ccol_indices=tensor([0, 2, 3, 4, 5]),\n       row_indices=tensor([1, 2, 0, 5, 1]),\n"
        "       values=tensor([1., 2., 3., 4., 5.]), size=(6, 4), nnz=5,\n"
        "       dtype=torch.float64, layout=torch.sparse_csc)"
    )


@each
def test_sizes_of_zero(name):
    for batch in ((), (0,), (2, 1)):
        for rows, columns, dense in itertools.product((0, 4), (0, 6), ((), (0,), (2,))):
            d = torch.ones(*batch, rows, columns, *dense, dtype=torch.float64)
            s = make(name, d, dense_dim=len(dense))
            same(s, d)
            same(s.to_sparse(), d)
            same(s.to_sparse_csc(), d)
            same(s.to_sparse_bsr((2, 3)), d)
            same(s + s.clone(), d * 2)
            if not dense:
                x = torch.ones(*batch, columns, 2, dtype=torch.float64)
                same(s @ x, d @ x)
