"""Masked tensors, and masked reductions of sparse tensors: texts, errors and gradients beside PyTorch's."""

import copy
import warnings

import pytest
import strided

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parts(m):
    d = m.arange(24.0).reshape(2, 3, 4) - 3
    return d, d % 2 == 0


CALLS = {
    "text": lambda m, d, x: x, "row": lambda m, d, x: x[0], "one": lambda m, d, x: x[0, 1, 1],
    "int": lambda m, d, x: x.int(), "bool": lambda m, d, x: x[0].bool(), "double": lambda m, d, x: x[0].to(m.float64),
    "sum": lambda m, d, x: x.sum(), "sum_1": lambda m, d, x: x.sum(1), "mean": lambda m, d, x: x.mean(-1, keepdim=True),
    "amax": lambda m, d, x: x.amax(0), "amin": lambda m, d, x: x.amin(dim=1), "argmin": lambda m, d, x: m.argmin(x, 1),
    "argmax": lambda m, d, x: x.argmax(), "prod": lambda m, d, x: x.prod(2), "var": lambda m, d, x: x.var(1),
    "std": lambda m, d, x: x.std(), "all": lambda m, d, x: x.all(), "all_1": lambda m, d, x: x[0].all(dim=1),
    "add": lambda m, d, x: x + 1, "twice": lambda m, d, x: x + x, "mul": lambda m, d, x: x * m.ones(4),
    "radd": lambda m, d, x: m.add(m.ones(3, 4), x[0]), "maximum": lambda m, d, x: m.maximum(x[0], m.zeros(3, 4)),
    "pow": lambda m, d, x: x[0] ** 2, "clamp": lambda m, d, x: x[0].clamp(1, 5), "less": lambda m, d, x: x[0] < 3,
    "sin": lambda m, d, x: x.sin(), "sin_": lambda m, d, x: x.sin_(), "sqrt": lambda m, d, x: x.sqrt().square(),
    "add_": lambda m, d, x: x.add_(1), "t": lambda m, d, x: x[0].t(), "view": lambda m, d, x: x.view(6, 4),
    "reshape": lambda m, d, x: x.reshape(-1), "split": lambda m, d, x: x.split(1),
    "stack": lambda m, d, x: m.stack([x, x]),
    "cat": lambda m, d, x: m.cat([x, x], 1), "softmax": lambda m, d, x: x.softmax(-1),
    "F_softmax": lambda m, d, x: m.nn.functional.softmax(x, 0), "data": lambda m, d, x: x.get_data(),
    "mask": lambda m, d, x: x.get_mask(), "filled": lambda m, d, x: x.to_tensor(-1),
    "where": lambda m, d, x: m.where(d[0] > 3, x[0], x[0] * 0), "ones_like": lambda m, d, x: m.ones_like(x[0]),
    "coo": lambda m, d, x: x[0].to_sparse(), "csr": lambda m, d, x: x[0].to_sparse_csr(),
    "coo_sum": lambda m, d, x: x[0].to_sparse().sum(), "coo_sin": lambda m, d, x: x[0].to_sparse().sin(),
    "coo_add": lambda m, d, x: x[0].to_sparse() + x[0].to_sparse(),
    "csr_dense": lambda m, d, x: x[0].to_sparse_csr().to_dense(),
    "csr_amax": lambda m, d, x: x[0].to_sparse_csr().amax(),
    "item": lambda m, d, x: x.sum().item(), "len": lambda m, d, x: len(x), "size": lambda m, d, x: x.size(),
    "contiguous": lambda m, d, x: (x[0].is_contiguous(), x[0].t().contiguous()), "clone": lambda m, d, x: x[0].clone(),
    "asked": lambda m, d, x: (x.is_sparse, x.layout, x.dtype, x.requires_grad, x.is_leaf, x.is_sparse_coo()),
    "known": lambda m, d, x: (m.is_tensor(x), m.masked.is_masked_tensor(x), m.masked.is_masked_tensor(d)),
    "copy_": lambda m, d, x: x.copy_(m.masked.masked_tensor(-d, d % 2 == 1)),
    "masked": lambda m, d, x: m.masked.sum(x, 1),
    "deepcopy": lambda m, d, x: copy.deepcopy(x),
    "F_unfold": lambda m, d, x: m.nn.functional.unfold(x[None], 2),
}  # fmt: skip


def text(value):
    return [text(v) for v in value] if isinstance(value, (list, tuple)) else str(value).replace("strided", "torch")


@pytest.mark.parametrize("name", CALLS)
def test_as_torch(name):
    made = []
    for m in (strided, torch):
        d, mask = parts(m)
        made.append(text(CALLS[name](m, d, m.masked.masked_tensor(d, mask))))
    assert made[0] == made[1]


ERRORS = {
    "other mask": lambda m, d, k: m.masked.masked_tensor(d, k) + m.masked.masked_tensor(d, ~k),
    "short mask": lambda m, d, k: m.masked.masked_tensor(d, k[0]),
    "mask of numbers": lambda m, d, k: m.masked.masked_tensor(d, d),
    "number": lambda m, d, k: m.masked.masked_tensor(1, k),
    "complex": lambda m, d, k: m.masked.masked_tensor(d.to(m.complex64), k),
    "layouts": lambda m, d, k: m.masked.MaskedTensor(d[0].to_sparse(), k[0]),
    "integer leaf": lambda m, d, k: m.masked.masked_tensor(d.int(), k, requires_grad=True),
    "csr of three axes": lambda m, d, k: m.masked.masked_tensor(d, k).to_sparse_csr(),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    said = []
    for m in (strided, torch):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as error:
            ERRORS[name](m, *parts(m))
        said.append((error.type, str(error.value).replace("strided", "torch")))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["max", "unique", "mm"])
def test_what_is_missing(name):
    for m in (strided, torch):
        x = m.masked.masked_tensor(*(p[0] for p in parts(m)))
        with pytest.raises(TypeError):
            getattr(x, name)(*([m.ones(4, 2)] if name == "mm" else []))


def test_gradients():
    made = []
    for m in (strided, torch):
        d, mask = (p[0] for p in parts(m))
        x = m.masked.masked_tensor(d, mask, requires_grad=True)
        (x * x).sum().backward()
        first = text([x, x.grad, x.grad.get_mask()])
        x.sqrt().mean(0).sum().backward()  # roots of negative numbers where nothing counts
        made.append([*first, text(x.grad)])
    assert made[0] == made[1]
    a = strided.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    strided.masked.as_masked_tensor(a, strided.tensor([True, False, True])).mean().backward()
    assert a.grad.tolist() == [0.5, 0.0, 0.5]
    x = strided.masked.masked_tensor(d := strided.ones(2), strided.tensor([True, False]), requires_grad=True)
    (made,) = strided.autograd.grad((x * 3).sum(), x)
    assert strided.masked.is_masked_tensor(made) and made.to_tensor(0).tolist() == [3.0, 0.0] and d.grad is None


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, 1, (0, 2), (0, 1, 2), -1])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_reductions_of_coordinates(name, dim, keepdim):
    made = []
    for m in (strided, torch):
        d, mask = parts(m)
        x = (d * (d > 1)).to_sparse()  # places that count and are not stored are zeros
        got = getattr(m.masked, name)(x, dim, keepdim=keepdim, mask=(mask & (d != 7)).to_sparse())
        made.append((tuple(got.shape), got.to_dense().tolist()))
    assert made[0] == made[1]


@pytest.mark.parametrize("dim", [0, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean"])
def test_reductions_of_compressed_rows(name, dim):
    made = []
    for m in (strided, torch):
        d, mask = (p[0] for p in parts(m))
        got = getattr(m.masked, name)(d.to_sparse_csr(), dim, keepdim=True, mask=mask.to_sparse_csr())
        made.append((str(got.layout).split(".")[1], got.to_dense().tolist()))
    assert made[0] == made[1]


def test_reductions_refuse():
    for m in (strided, torch):
        x = parts(m)[0].to_sparse()
        for call in (lambda: m.masked.softmax(x, 0), lambda: m.masked.amax(x, 0), lambda: m.masked.argmax(x, 0)):
            with pytest.raises(ValueError):
                call()


def test_a_false_number_has_no_places():
    for m in (strided, torch):
        s = m.tensor(0.0).to_sparse()
        assert s._nnz() == 0 and tuple(s.values().shape) == (0,) and s.to_dense().item() == 0
