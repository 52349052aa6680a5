"""Sparse tensors in coordinate form: results, layouts and texts beside PyTorch's."""

import pytest
import strided

torch = pytest.importorskip("torch")

CALLS = {
    "text": lambda m, s: s,
    "text_dense_axis": lambda m, s: m.arange(8.0).reshape(2, 2, 2).to_sparse(1),
    "inferred_size": lambda m, s: m.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2]),
    "empty": lambda m, s: m.sparse_coo_tensor((2, 3)),
    "leaf": lambda m, s: m.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), dtype=m.float64, requires_grad=True),
    "short_leaf": lambda m, s: m.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), requires_grad=True),
    "long_dtype": lambda m, s: s.to(m.complex128).requires_grad_(),
    "sspaddmm": lambda m, s: m.sspaddmm(s, s @ s.t(), m.ones(2, 3), beta=2, alpha=3).to_dense(),
    "hsmm": lambda m, s: m.hsmm(s, m.ones(3, 2)), "sqrt_": lambda m, s: s.sqrt_(), "neg_": lambda m, s: (s + s).neg_(),
    "resize": lambda m, s: s.sparse_resize_((4, 5), 2, 0), "floor": lambda m, s: s // 2,
    "clear": lambda m, s: s.sparse_resize_and_clear_((4, 5, 2), 2, 1), "narrow": lambda m, s: s.narrow_copy(1, 1, 2),
    "t": lambda m, s: s.t(), "mT": lambda m, s: s.mT, "permute": lambda m, s: s.permute(1, 0),
    "coalesce": lambda m, s: (s + s).coalesce(), "nnz": lambda m, s: s._nnz(),
    "mul": lambda m, s: s * 2, "div": lambda m, s: s / 2, "neg": lambda m, s: -s, "product": lambda m, s: s * s,
    "mul_dense": lambda m, s: s * m.ones(2, 3), "dense_mul": lambda m, s: m.ones(2, 3) * s,
    "dense_add": lambda m, s: m.ones(2, 3) + s, "pow": lambda m, s: s.pow(2), "relu": lambda m, s: s.relu(),
    "sum": lambda m, s: s.sum(), "sum_0": lambda m, s: s.sum(0), "sum_keepdim": lambda m, s: m.sum(s, 1, keepdim=True),
    "sparse_sum": lambda m, s: m.sparse.sum(s, (0, 1)), "norm": lambda m, s: s.norm(),
    "matmul": lambda m, s: s @ m.ones(3, 2), "matmul_dense": lambda m, s: m.ones(4, 2) @ s,
    "matmul_sparse": lambda m, s: s @ s.t(), "mv": lambda m, s: s @ m.ones(3),
    "smm": lambda m, s: m.smm(s, m.ones(3, 2)),
    "hspmm": lambda m, s: m.hspmm(s, m.ones(3, 2)), "dsmm": lambda m, s: m.dsmm(s, m.ones(3, 2)),
    "bmm": lambda m, s: m.bmm(m.stack([s, s]), m.ones(2, 3, 2)),
    "addmm": lambda m, s: m.addmm(m.ones(2, 2), s, m.ones(3, 2)),
    "select": lambda m, s: s[0], "element": lambda m, s: s[0, 2], "column": lambda m, s: s[:, 1],
    "index_select": lambda m, s: s.coalesce().index_select(0, m.tensor([1, 1, 0])), "cat": lambda m, s: m.cat([s, s]),
    "stack": lambda m, s: m.stack([s, s]), "unsqueeze": lambda m, s: s.unsqueeze(0),
    "softmax": lambda m, s: m.sparse.softmax(s, 1), "log_softmax": lambda m, s: m.sparse.log_softmax(s, 1),
    "mask": lambda m, s: m.arange(6.0).reshape(2, 3).sparse_mask(s.coalesce()), "int32": lambda m, s: s.to(m.int32),
    "zeros_like": lambda m, s: m.zeros_like(s), "type": lambda m, s: s.type(), "float64": lambda m, s: s.double(),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_results(name):
    texts = []
    for m in (torch, strided):
        made = CALLS[name](m, m.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)).coalesce())
        texts.append(repr(made))
    assert texts[0] == texts[1]


ERRORS = {
    "nnz": lambda m, s: m.sparse_coo_tensor([[0, 1]], [1.0], (2,)),
    "axes": lambda m, s: m.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 3)),
    "indices": lambda m, s: s.indices(), "values": lambda m, s: s.values(),
    "add": lambda m, s: s + 1, "add_dense": lambda m, s: s + m.ones(2, 3), "numpy": lambda m, s: s.numpy(),
    "coalesce": lambda m, s: m.ones(2).coalesce(), "exp": lambda m, s: s.exp(), "view": lambda m, s: s.view(6),
    "slice": lambda m, s: s[0:1], "shrink": lambda m, s: s.sparse_resize_((1, 3), 2, 0),
    "resize_dims": lambda m, s: s.sparse_resize_((2, 3, 2), 2, 1), "sqrt_": lambda m, s: s.sqrt_(),
    "narrow": lambda m, s: s.narrow_copy(0, 1, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    found = []
    for m in (torch, strided):
        with pytest.raises(Exception) as caught:
            ERRORS[name](m, m.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3)))
        text = "" if caught.type is NotImplementedError else str(caught.value)
        found.append((caught.type, text.partition("\nYou could")[0]))
    assert found[0] == found[1]
