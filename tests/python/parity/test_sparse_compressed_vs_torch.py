"""Compressed sparse tensors of the four layouts: results, layouts, texts and errors beside PyTorch's."""

import warnings

import pytest
import strided

torch = pytest.importorskip("torch")

ROWS = [[0, 1.0, 2, 0], [3, 0, 0, 0], [0, 0, 0, 4], [0, 5, 0, 0]]
NAMES = ("csr", "csc", "bsr", "bsc")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, about a state of beta
        torch.ones(1, 1).to_sparse_csr()
        yield


def make(m, name, dense=None):
    dense = m.tensor(ROWS) if dense is None else dense
    return dense.to_sparse(layout=getattr(m, f"sparse_{name}"), **({"blocksize": (2, 2)} if name[0] == "b" else {}))


def batch(m):
    d = m.tensor(ROWS)
    return m.stack([d, d.flip(0)])


CALLS = {  # of all four layouts
    "text": lambda m, s: s, "double": lambda m, s: s.double(), "int32": lambda m, s: s.to(m.int32),
    "bool": lambda m, s: s.bool(), "leaf": lambda m, s: s.requires_grad_(), "t": lambda m, s: s.t(),
    "mT": lambda m, s: s.mT, "transpose": lambda m, s: s.transpose(0, 1), "mul": lambda m, s: s * 2,
    "rmul": lambda m, s: 2 * s, "mul_0d": lambda m, s: s * m.tensor(2.0), "neg": lambda m, s: -s,
    "abs": lambda m, s: s.abs(), "relu": lambda m, s: m.relu(-s), "sin": lambda m, s: s.sin(),
    "isinf": lambda m, s: s.isinf(), "angle": lambda m, s: (-s).angle(), "sum": lambda m, s: s.sum(),
    "round": lambda m, s: s.round(), "add": lambda m, s: s + s, "add_alpha": lambda m, s: m.add(s, s, alpha=2),
    "dense": lambda m, s: s.to_dense(), "coo": lambda m, s: s.to_sparse_coo(), "sparse": lambda m, s: s.to_sparse(),
    "bsr": lambda m, s: s.to_sparse_bsr((2, 2)), "bsc": lambda m, s: s.to_sparse_bsc((2, 2)),
    "nnz": lambda m, s: (s._nnz(), s.sparse_dim(), s.dense_dim(), s.is_sparse, s.is_sparse_csr, str(s.layout)),
    "values": lambda m, s: s.values(), "clone": lambda m, s: s.clone(), "zeros_like": lambda m, s: m.zeros_like(s),
    "ones_like": lambda m, s: m.ones_like(s), "mask": lambda m, s: m.arange(16.0).reshape(4, 4).sparse_mask(s),
    "iadd": lambda m, s: s.add_(s), "imul": lambda m, s: s.mul_(2), "zero_": lambda m, s: s.zero_(),
    "fill_": lambda m, s: s.fill_(7), "copy_": lambda m, s: (s * 2).copy_(s), "sin_": lambda m, s: s.sin_(),
    "complex": lambda m, s: s.cfloat().conj(), "batch_select": lambda m, s: make(m, "csr", batch(m))[1],
    "size": lambda m, s: s.size(), "device": lambda m, s: str(s.device),
}  # fmt: skip
PLAIN = {  # of layouts without blocks
    "mm": lambda m, s: s.mm(m.ones(4, 2)), "dense_mm": lambda m, s: m.ones(2, 4) @ s, "mv": lambda m, s: s @ m.ones(4),
    "mm_sparse": lambda m, s: (s @ s).to_dense(), "mm_layout": lambda m, s: str((s @ s).layout),
    "dense_add": lambda m, s: m.ones(4, 4) + s, "add_dense": lambda m, s: s + m.ones(4, 4),
    "row": lambda m, s: s[0], "column": lambda m, s: s[:, 1], "element": lambda m, s: s[0, 1],
    "csr": lambda m, s: s.to_sparse_csr(), "csc": lambda m, s: s.to_sparse_csc(),
    "csr_of_coo": lambda m, s: s.to_sparse().to_sparse_csr(),
    "addmm": lambda m, s: m.addmm(m.ones(4, 4), s, m.ones(4, 4), beta=2, alpha=3),
    "addmv": lambda m, s: m.addmv(m.ones(4), s, m.ones(4)),
    "linear": lambda m, s: m.nn.functional.linear(m.ones(2, 4), s),
    "iter": lambda m, s: list(s),
    "spdiags": lambda m, s: m.sparse.spdiags(m.ones(1, 3), m.tensor([1]), (3, 3), m.sparse_csr),
}  # fmt: skip
ROW = {  # of csr only
    "mul_dense": lambda m, s: s * m.arange(16.0).reshape(4, 4), "dense_mul": lambda m, s: m.ones(4, 4) * s,
    "mul_sparse": lambda m, s: s * s, "mul_coo": lambda m, s: s * s.to_sparse(),
    "sum_0": lambda m, s: s.sum(0, keepdim=True), "sum_1": lambda m, s: s.sum(1, keepdim=True),
    "sum_all": lambda m, s: m.sum(s, (0, 1), keepdim=True),
    "mean": lambda m, s: m.sparse.mm(s, m.ones(4, 2), "mean"),
    "amax": lambda m, s: m.sparse.mm(s, m.ones(4, 2), "amax"),
    "amin": lambda m, s: m.sparse.mm(s, m.ones(4, 2), "amin"),
    "sampled": lambda m, s: m.sparse.sampled_addmm(s, m.ones(4, 2), m.ones(2, 4), beta=0.5, alpha=2.0),
    "grad_fn": lambda m, s: (s.requires_grad_() * 2).to_dense().detach(),
    "empty": lambda m, s: m.zeros(2, 3).to_sparse_csr(), "int32": lambda m, s: m.sparse_csr_tensor(
        m.tensor([0, 2], dtype=m.int32), m.tensor([0, 1], dtype=m.int32), m.tensor([1, 2])).to_dense(),
    "unsorted": lambda m, s: m.sparse_csr_tensor([0, 2, 4], [1, 0, 0, 1], m.arange(4.0)).to_dense(),
    "dense_axis": lambda m, s: m.tensor(ROWS)[:, :, None].expand(4, 4, 2).to_sparse_csr(dense_dim=1),
    "long": lambda m, s: m.eye(300).to_sparse_csr(), "inferred": lambda m, s: m.sparse_csr_tensor([0, 1], [3], [1.0]),
}  # fmt: skip
CASES = [(n, c) for n in NAMES for c in CALLS] + [(n, c) for n in NAMES[:2] for c in PLAIN] + [("csr", c) for c in ROW]
FUNCTIONS = CALLS | PLAIN | {f"csr {c}": f for c, f in ROW.items()}


@pytest.mark.parametrize("name, call", CASES)
def test_results(name, call):
    function = ROW[call] if name == "csr" and call in ROW else FUNCTIONS[call]
    want, got = (repr(function(m, make(m, name))) for m in (torch, strided))
    assert got == want


@pytest.mark.parametrize("name", NAMES)
def test_batches(name):
    for call in (lambda m, s: s, lambda m, s: s.to_dense(), lambda m, s: s * 2, lambda m, s: s.mT, lambda m, s: s[1],
                 lambda m, s: s + s, lambda m, s: s.unbind(0)):  # fmt: skip
        want, got = (repr(call(m, make(m, name, batch(m)))) for m in (torch, strided))
        assert got == want


CHECKED = [  # compressed, plain, number of values, size
    ([0, 2, 4], [0, 1, 0, 1], 3, (2, 2)), ([0, 2, 4], [0, 1, 0, 1], 4, (3, 3)), ([0, 2, 4], [0, 1, 0, 2], 4, (2, 2)),
    ([0, 2, 4], [0, 1, 0, -1], 4, (2, 2)), ([1, 2, 4], [0, 1, 0, 1], 4, (2, 2)), ([0, 2, 3], [0, 1, 0, 1], 4, (2, 2)),
    ([0, 2, 4], [1, 0, 0, 1], 4, (2, 2)), ([0, 2, 4], [1, 1, 0, 1], 4, (2, 2)), ([0, 5, 4], [0, 1, 0, 1], 4, (2, 2)),
    ([0.0, 2, 4], [0, 1, 0, 1], 4, (2, 2)), ([0, 2, 4], [0, 1, 0, 1], 4, (2,)), ([[0, 2, 4]], [0, 1, 0, 1], 4, (2, 2)),
    (0, [0], 1, (1, 1)), ([0, 2, 4], [0, 1, 0, 1], 4, (2, 2, 2)), ([0, 2, 1, 4], [0, 1, 0, 1], 4, (3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("compressed, plain, nnz, size", CHECKED)
def test_checks(name, compressed, plain, nnz, size):
    found = []
    for m in (torch, strided):
        with pytest.raises(RuntimeError) as caught:
            getattr(m, f"sparse_{name}_tensor")(compressed, plain, m.ones(nnz), size, check_invariants=True)
        found.append(str(caught.value))
    assert found[0] == found[1]


ERRORS = {
    "layout": lambda m, s: m.sparse_compressed_tensor([0, 1], [0], [1.0]),
    "layout_coo": lambda m, s: m.sparse_compressed_tensor([0, 1], [0], [1.0], layout=m.sparse_coo),
    "layout_other": lambda m, s: m.sparse_csr_tensor([0, 1], [0], [1.0], layout=m.sparse_csc),
    "blocksize": lambda m, s: m.ones(4, 4).to_sparse_bsr((3, 2)),
    "blocks": lambda m, s: m.ones(4, 4).to_sparse_bsr((2,)),
    "no_blocksize": lambda m, s: m.ones(4, 4).to_sparse(layout=m.sparse_bsr),
    "with_blocksize": lambda m, s: m.ones(4, 4).to_sparse(layout=m.sparse_csr, blocksize=(2, 2)),
    "dense_dim": lambda m, s: m.ones(4, 4).to_sparse_csr(dense_dim=1), "ccol": lambda m, s: s.ccol_indices(),
    "row": lambda m, s: s.row_indices(), "indices": lambda m, s: s.indices(), "coalesce": lambda m, s: s.coalesce(),
    "crow_dense": lambda m, s: m.ones(2).crow_indices(), "crow_coo": lambda m, s: s.to_sparse().crow_indices(),
    "values_dense": lambda m, s: m.ones(2).values(), "numpy": lambda m, s: s.numpy(),
    "t": lambda m, s: make(m, "csr", batch(m)).t(),
    "mm": lambda m, s: s @ m.ones(3, 2), "mv": lambda m, s: s @ m.ones(3),
    "dtype": lambda m, s: s @ m.ones(4, 2).double(),
    "add_shape": lambda m, s: s + m.ones(2, 4).to_sparse_csr(), "sum": lambda m, s: s.sum(0),
    "unequal": lambda m, s: m.stack([m.eye(2), m.ones(2, 2)]).to_sparse_csr(), "select": lambda m, s: s.select(0, 4),
    "stride": lambda m, s: s.stride(), "contiguous": lambda m, s: s.is_contiguous(),
    "transpose": lambda m, s: make(m, "csr", batch(m)).transpose(0, 1),
    "reduce": lambda m, s: m.sparse.mm(s, m.ones(4, 2), "x"),
    "divisible": lambda m, s: m.sparse_bsr_tensor([0, 1], [0], m.ones(1, 2, 2), (2, 3), check_invariants=True),
    "blocks_missing": lambda m, s: m.sparse_bsr_tensor([0, 1], [0], m.ones(1), (2, 2), check_invariants=True),
    "block_rows": lambda m, s: m.sparse_bsr_tensor([0, 1], [0], m.ones(1, 2, 2), (4, 2), check_invariants=True),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    found = []
    for m in (torch, strided):
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, make(m, "csr"))
        found.append((caught.type, str(caught.value)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", NAMES[:2])
def test_gradients(name):
    texts = []
    for m in (torch, strided):
        s = make(m, name).requires_grad_()
        x = m.ones(4, 2, requires_grad=True)
        (s @ x).sum().backward()
        y = m.tensor(ROWS, requires_grad=True)
        (make(m, name, y).to_dense() * 3).sum().backward()
        stored = m.ones_like(make(m, name)).to_dense()
        texts.append(repr((s.grad.to_dense() * stored, x.grad, y.grad * stored)))
    assert texts[0] == texts[1]


def test_checks_are_switched_alike():
    found = []
    for m in (torch, strided):
        kind = m.sparse.check_sparse_tensor_invariants
        with kind():
            inside = kind.is_enabled()
            with kind(False):
                nested = kind.is_enabled()
        found.append((inside, nested, kind(True)(kind.is_enabled)(), kind.is_enabled()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [*NAMES, "coo"])
def test_files(name, tmp_path):
    for m, other in ((torch, strided), (strided, torch)):
        s = make(m, name)
        m.save({"s": s}, tmp_path / "s")
        assert repr(other.load(tmp_path / "s")["s"]) == repr(s)


@pytest.mark.parametrize("name", NAMES)
def test_assert_close(name):
    for change in (lambda m, s: s * 2, lambda m, s: make(m, name, m.tensor(ROWS).flip(0)), lambda m, s: s.to_sparse(),
                   lambda m, s: m.zeros_like(s), lambda m, s: s.double()):  # fmt: skip
        texts = []
        for m in (torch, strided):
            s = make(m, name)
            m.testing.assert_close(s, s.clone())
            with pytest.raises(AssertionError) as caught:
                m.testing.assert_close(change(m, s), s)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", NAMES)
def test_zeros_in_another_layout(name):
    other = {"csr": "csc", "csc": "csr", "bsr": "bsc", "bsc": "bsr"}[name]
    layouts = [m.zeros_like(make(m, name), layout=getattr(m, f"sparse_{other}")).layout for m in (torch, strided)]
    assert str(layouts[0]) == str(layouts[1])
    for m in (torch, strided):
        with pytest.raises(RuntimeError, match="different sparse layout"):
            m.ones_like(make(m, name), layout=getattr(m, f"sparse_{other}"))
