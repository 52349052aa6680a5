"""Sparse tensors in coordinate form: results, layouts and texts beside PyTorch's."""

import pytest
import strided

torch = pytest.importorskip("torch")

CALLS = {
    "text": lambda m, s: s,
    "text_dense_axis": lambda m, s: m.arange(8.0).reshape(2, 2, 2).to_sparse(1),
    "inferred_size": lambda m, s: m.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2]),
    "empty": lambda m, s: m.sparse_coo_tensor((2, 3)),
    **{
        f"legacy_{name}": lambda m, s, name=name: getattr(m.sparse, name)(
            m.tensor([[0, 1]]), m.tensor([1, 2], dtype=m.float64), m.Size([2])
        )
        for name in ("FloatTensor", "DoubleTensor", "LongTensor")
    },
    "legacy_without_size": lambda m, s: m.sparse.HalfTensor(m.tensor([[0, 1]]), m.tensor([1, 2])),
    "legacy_size": lambda m, s: m.sparse.DoubleTensor(2), "legacy_sizes": lambda m, s: m.sparse.FloatTensor(2, 3),
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
    "norm of all axes": lambda m, s: [m.norm(s, 1, (0, -1)), m.native_norm(s + s),
                                      m.native_norm(s, 1, (0, 1), False, None)],
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
    **{f"element of {d}": lambda m, s, d=d: (s.to(getattr(m, d))[0, 2], (s + s).to(getattr(m, d))[0])
       for d in ("int8", "int16", "uint8", "bool", "float16")},
    **{f"sums of {d}": lambda m, s, d=d: [m.sparse.sum(s.to(getattr(m, d)), *dim) for dim in ((), (0,), ((0, 1),))]
       for d in ("int8", "int16", "uint8", "float64")},
    "mask of sparse": lambda m, s: s.sparse_mask(m.sparse_coo_tensor([[0, 1, 1], [2, 1, 2]], [1.0, 1.0, 1.0], (2, 3))),
    "empty_like": lambda m, s: m.empty_like(s), "new_zeros": lambda m, s: s.new_zeros(4, 5),
    "new_empty": lambda m, s: s.new_empty((4, 5), dtype=m.int8),
    "zeros_like dense": lambda m, s: m.zeros_like(s, layout=m.strided),
    "permute by name": lambda m, s: s.permute(dims=(1, 0)), "transpose_": lambda m, s: s.clone().transpose_(0, 1),
    "t_": lambda m, s: s.clone().t_(), "floor_": lambda m, s: s.clone().coalesce().floor_divide_(2),
    "div_ to floor": lambda m, s: s.clone().coalesce().div_(2, rounding_mode="floor"),
    "copy_ of another dtype": lambda m, s: s.clone().copy_((s * 2).double()),
    "resize_as": lambda m, s: m.sparse_coo_tensor((2, 3)).resize_as_(s.new_empty(4, 5)),
    "nonzero": lambda m, s: [m.sparse_coo_tensor([[0], [0]], [v], (1, 1)).is_nonzero() for v in (0.0, 5.0)],
    "out": lambda m, s: m.abs(s, out=m.zeros(1, 3).to_sparse()),
    "linear": lambda m, s: m.nn.functional.linear(m.ones(2, 4, 3), s, m.ones(2)),
    "mul 0d": lambda m, s: (s * m.tensor(2.0).to_sparse()).to_dense(),
    "mul of dense axes": lambda m, s: m.ones(2, 3, 4).to_sparse(2) * m.ones(2, 3, 1).to_sparse(2),
    "bmm of nothing": lambda m, s: [m.bmm(m.zeros(2, n, 3).to_sparse(), m.zeros(2, 3, k)) for n, k in ((0, 4), (3, 0))],
    "div to floor of places twice": lambda m, s: (
        m.sparse_coo_tensor([[0, 0, 1], [2, 2, 2]], [3.0, 4.0, 5.0], (2, 3)).div(2, rounding_mode="floor").to_dense()
    ),
    "spread": lambda m, s: (m.arange(12.0).view(2, 2, 3) * s).to_dense(),
    "sum with nothing": lambda m, s: [m.sparse_coo_tensor((2, 3)) + m.ones(2, 3).to_sparse(1),
                                      (m.sparse_coo_tensor((2, 3)) - s).to_dense()],
    "negative_": lambda m, s: m.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 3)).negative_(),
    "new": lambda m, s: [s.new(m.tensor([[1], [0]]), m.tensor([5.0]), (4, 5)), s.new(4, 5), s.new()],
    "empty turned": lambda m, s: m.sparse_coo_tensor((2, 3)).t().is_coalesced(),
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
    "axis twice": lambda m, s: m.sparse.sum(s, [0, 0]), "unsqueeze": lambda m, s: s.unsqueeze(-4),
    "many": lambda m, s: s.is_nonzero(), "two dtypes": lambda m, s: m.sparse.mm(s.double(), s.t()),
    "copy of dense": lambda m, s: s.copy_(m.ones(2, 3)), "permute": lambda m, s: s.permute(1),
    "offsets": lambda m, s: m.sparse.spdiags(m.ones(2, 3), m.tensor([[0, 1]]), (3, 3)),
    "format": lambda m, s: m.zeros_like(s, memory_format=m.channels_last),
    "dense out": lambda m, s: m.neg(s, out=m.zeros(2, 3)),
    "out of integers": lambda m, s: m.sqrt(s, out=m.zeros(2, 3, dtype=m.int32).to_sparse()),
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
