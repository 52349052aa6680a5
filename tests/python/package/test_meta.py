"""Device meta: shapes, dtypes, strides and errors, without data."""

import copy
import pickle

import pytest
import strided as torch
from calls_elsewhere import pairs, tensors_of

CALLS = 6  # of each overload

# Functions whose results are made of data: numbers in Python, other memory, shapes that depend on elements.
READ = "Tensor.item() cannot be called on meta tensors"
DATA = "Cannot copy out of meta tensor; no data!"
DEPENDS = "depends on data, and there is none"
OF_DATA = {
    **dict.fromkeys(["allclose", "equal", "is_nonzero", "Tensor.is_nonzero", "Tensor.item"], READ),
    **dict.fromkeys(["Tensor.cpu", "Tensor.cuda", "Tensor.tolist", "Tensor.numpy", "repeat_interleave"], DATA),
    **dict.fromkeys(["nonzero", "argwhere", "where", "unique", "unique_consecutive", "masked_scatter", "histc",
                     "histogram", "linalg.lstsq", "masked_select", "bincount", "unique_all", "unique_counts",
                     "unique_inverse", "unique_values", "Tensor.to_sparse", "Tensor.to_sparse_coo",
                     "Tensor.to_sparse_csr", "Tensor.to_sparse_csc"], DEPENDS),
    **dict.fromkeys(["to_dlpack", "from_dlpack", "utils.dlpack.to_dlpack", "utils.dlpack.from_dlpack"],
                    "Cannot pack tensors on meta"),
    "frombuffer": "not on the CPU",
}  # fmt: skip


def allowed(name, args, error):
    """Whether an exception is one that only tensors without data raise."""
    words = OF_DATA.get(name) or OF_DATA.get(name.removeprefix("Tensor."), "nothing")
    if words in str(error) or (name == "Tensor.numpy" and "meta" in str(error)):
        return True
    if "only dense CPU tensors can be pinned" in str(error):  # where there is a device to pin memory for
        return True
    return READ in str(error)  # a tensor of one element, where a number is declared


def layouts(result):
    return [(t.shape, t.dtype, t.stride()) for t in tensors_of(result)]


def test_every_function_gives_what_the_cpu_gives():
    problems, compared = [], 0
    for (name, signature, number), here, there in pairs(torch, "meta", CALLS):
        if isinstance(there, Exception):
            if not allowed(name, signature, there):
                problems.append(f"{name} {number}: {type(there).__name__}: {there}")
            continue
        compared += 1
        if layouts(here) != layouts(there):
            problems.append(f"{name} {number}: {layouts(here)} on the CPU, {layouts(there)} on meta\n  {signature}")
    assert not problems, "\n".join(problems)
    assert compared > 2000


def test_errors_are_those_of_the_cpu():
    m = torch.ones(2, 3, device="meta")
    with pytest.raises(RuntimeError, match="must match"):
        m + torch.ones(4, device="meta")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        m @ m
    with pytest.raises(IndexError):
        m.sum(2)
    with pytest.raises(RuntimeError, match="at least two devices, meta and cpu"):
        m + torch.ones(2, 3)
    assert (m + torch.tensor(1.0)).shape == (2, 3)


@pytest.mark.parametrize(
    "read",
    [
        lambda m: m.cpu(),
        lambda m: m.tolist(),
        lambda m: torch.zeros(2, 3).copy_(m),
        lambda m: m.to(torch.float64).to("cpu"),
    ],
)
def test_there_is_no_data_to_copy(read):
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        read(torch.ones(2, 3, device="meta"))


@pytest.mark.parametrize("read", [bool, float, int, complex, torch.Tensor.item])
def test_there_is_no_number(read):
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        read(torch.ones((), device="meta"))


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("nonzero", lambda m: m.nonzero()),
        ("index", lambda m: m[m > 0]),
        ("index", lambda m: m.masked_select(m > 0)),
        ("unique", lambda m: torch.unique(m)),
        ("unique_consecutive", lambda m: torch.unique_consecutive(m)),
    ],
)
def test_shapes_that_depend_on_data(function, call):
    with pytest.raises(NotImplementedError, match=f"{function} on device 'meta'"):
        call(torch.ones(2, 3, device="meta"))


def test_no_memory_is_taken():
    m = torch.empty(2**20, 2**20, device="meta")
    assert m.untyped_storage().nbytes() == 2**42 and m.data_ptr() == m[5:, 3:].data_ptr() == 0
    assert (m @ m).shape == m.shape and (m * 2).sum().shape == ()
    assert m.add_(1) is m and m.is_meta and not m.is_cpu and m.get_device() == -1
    assert m.type() == "torch.meta.FloatTensor" and str(m.device) == "meta" and m.device == torch.device("meta")


def test_text():
    assert repr(torch.ones(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    assert (
        repr(torch.ones((), device="meta", dtype=torch.int64))
        == "tensor(..., device='meta', size=(), dtype=torch.int64)"
    )
    wants = torch.ones(2, device="meta", requires_grad=True)
    assert f"{wants}" == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert "grad_fn=<MulBackward0>" in repr(wants * 2)
    with pytest.raises(TypeError):
        f"{wants:.2f}"


def test_copies_to_it():
    x = torch.arange(6.0).view(2, 3).t()
    m = x.to("meta")
    assert m.stride() == x.stride() and m.dtype == x.dtype
    assert m.to("meta") is m and m.copy_(torch.ones(2)) is m
    with pytest.raises(RuntimeError):
        m.copy_(torch.ones(5))
    assert copy.deepcopy(m).is_meta and copy.copy(m).is_meta
    again = pickle.loads(pickle.dumps(m.requires_grad_()))
    assert again.is_meta and again.shape == m.shape and again.stride() == m.stride() and again.requires_grad


def test_gradients():
    w = torch.ones(3, 4, device="meta", requires_grad=True)
    x = torch.ones(2, 3, device="meta")
    (torch.linalg.svdvals((x @ w).exp().cumprod(0)).prod() + w[0].sum()).backward()
    assert w.grad.is_meta and w.grad.shape == (3, 4) and w.grad.dtype == torch.float32


def test_random_numbers_are_not_drawn():
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    assert torch.randn(1000, device="meta").normal_().bernoulli_(0.5).shape == (1000,)
    assert (torch.rand(2) == first).all()


def test_scratch_memory_of_other_devices_is_not_mixed_in():
    with pytest.raises(BufferError):
        torch.ones(2, device="meta").__dlpack__()
    with pytest.raises(BufferError):
        memoryview(torch.ones(2, device="meta"))
    with pytest.raises(TypeError):
        torch.ones(2, device="meta").numpy()
