"""Views: shapes, strides, offsets and shared memory against literal values and NumPy; gradients of every one of
them."""

import numpy as np
import pytest
import strided as torch


def ints(*shape):
    return torch.arange(int(np.prod(shape))).reshape(shape)


def same(got, expected):
    """Shape, strides (in elements) and values of a NumPy array."""
    assert tuple(got.shape) == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


def is_view(part, whole):
    return part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()


# ---------------------------------------------------------------- literal strides, as PyTorch has them


@pytest.mark.parametrize(
    "make, shape, stride, offset",
    [
        (lambda x: x.view(4, 6), (4, 6), (6, 1), 0),
        (lambda x: x.view(-1), (24,), (1,), 0),
        (lambda x: x.view((2, -1, 2)), (2, 6, 2), (12, 2, 1), 0),
        (lambda x: x.transpose(0, 2).view(4, 3, 1, 2), (4, 3, 1, 2), (1, 4, 24, 12), 0),
        (lambda x: x.transpose(0, 2), (4, 3, 2), (1, 4, 12), 0),
        (lambda x: x.permute(2, 0, 1), (4, 2, 3), (1, 12, 4), 0),
        (lambda x: x.movedim(0, -1), (3, 4, 2), (4, 1, 12), 0),
        (lambda x: x.T, (4, 3, 2), (1, 4, 12), 0),
        (lambda x: x.mT, (2, 4, 3), (12, 1, 4), 0),
        (lambda x: x[0].t(), (4, 3), (1, 4), 0),
        (lambda x: x.unsqueeze(0), (1, 2, 3, 4), (24, 12, 4, 1), 0),
        (lambda x: x.unsqueeze(-1), (2, 3, 4, 1), (12, 4, 1, 1), 0),
        (lambda x: x.select(1, -1), (2, 4), (12, 1), 8),
        (lambda x: x.narrow(1, 1, 2), (2, 2, 4), (12, 4, 1), 4),
        (lambda x: x.narrow(1, 3, 0), (2, 0, 4), (12, 4, 1), 12),
        (lambda x: x.diagonal(1, 1, 2), (2, 3), (12, 5), 1),
        (lambda x: x.diagonal(-9), (4, 0), (1, 16), 0),
        (lambda x: x.unfold(2, 2, 1), (2, 3, 3, 2), (12, 4, 1, 1), 0),
        (lambda x: x[:1].expand(5, 3, 4), (5, 3, 4), (0, 4, 1), 0),
        (lambda x: x.expand(1, 2, 3, 4), (1, 2, 3, 4), (24, 12, 4, 1), 0),
        (lambda x: x.as_strided((2, 2), (1, 2), 3), (2, 2), (1, 2), 3),
        (lambda x: x.as_strided((3,), (-2,), 5), (3,), (-2,), 5),
        (lambda x: x.flatten(1), (2, 12), (12, 1), 0),
        (lambda x: x.unflatten(2, (2, -1)), (2, 3, 2, 2), (12, 4, 2, 1), 0),
        (lambda x: x[:, :1].squeeze(1), (2, 4), (12, 1), 0),
        (lambda x: x.split(2, 1)[1], (2, 1, 4), (12, 4, 1), 8),
        (lambda x: x.unbind(2)[3], (2, 3), (12, 4), 3),
    ],
)
def test_strides(make, shape, stride, offset):
    x = ints(2, 3, 4)
    y = make(x)
    assert (tuple(y.shape), y.stride(), y.storage_offset()) == (shape, stride, offset)
    assert is_view(y, x)


def test_a_write_shows_in_the_base():
    x = torch.zeros(2, 3)
    x.t()[2].fill_(7)
    x.diagonal().fill_(1)
    x.view(-1).unfold(0, 1, 5)[1] = 9
    assert x.tolist() == [[1, 0, 7], [0, 1, 9]]


# ---------------------------------------------------------------- against NumPy

SHAPES = [(), (1,), (5,), (0,), (2, 3), (3, 1), (1, 0, 2), (2, 3, 4), (2, 1, 4, 3)]


@pytest.mark.parametrize("shape", SHAPES)
def test_numpy_twins(shape):
    a = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    x = torch.from_numpy(a)
    same(x.T, a.T)
    same(x.ravel(), a.ravel())
    same(x.squeeze(), a.squeeze())
    same(x.reshape(-1), a.reshape(-1))
    same(torch.atleast_1d(x), np.atleast_1d(a))
    same(torch.atleast_2d(x), np.atleast_2d(a))
    same(torch.atleast_3d(x), np.atleast_3d(a))
    same(torch.broadcast_to(x, (2,) + shape), np.broadcast_to(a, (2,) + shape))
    for axis in range(-a.ndim - 1, a.ndim + 1):
        same(x.unsqueeze(axis), np.expand_dims(a, axis))
    for i in range(a.ndim):
        same(x.movedim(i, 0), np.moveaxis(a, i, 0))
        same(x.swapaxes(i, -1), np.swapaxes(a, i, -1))
        for sections in (1, 2, 3, 7):
            for got, want in zip(torch.tensor_split(x, sections, i), np.array_split(a, sections, i), strict=True):
                same(got, want)
        for got, want in zip(x.unbind(i), np.moveaxis(a, i, 0), strict=True):
            same(got, np.asarray(want))
    if a.ndim >= 2:
        same(x.mT, np.swapaxes(a, -2, -1))
        for offset in (-2, 0, 1, 9):
            same(x.diagonal(offset, -1, 0), np.diagonal(a, offset, -1, 0))


def test_rows_outlive_what_they_were_taken_of():
    """Memory of dead objects is used again: many that live and die in any order stay apart."""
    x = torch.arange(5000)
    rows = list(x)
    assert [int(r) for r in rows[::7]] == list(range(0, 5000, 7))
    assert all(r._base is x for r in rows[::99]) and len({id(r) for r in rows}) == 5000
    del rows[::2]
    again = list(torch.arange(-3000, 0))
    assert [int(r) for r in rows] == list(range(1, 5000, 2)) and int(again[0]) == -3000
    rows[0].add_(10)
    assert int(x[1]) == 11 and x._version == 1
    named = x[2]
    named.label = "kept"
    del x
    assert int(named) == 2 and named.label == "kept" and not hasattr(torch.arange(3)[2], "label")


def test_windows():
    a = np.arange(7)
    x = torch.arange(7)
    for size in range(1, 8):
        for step in (1, 2, 3):
            same(x.unfold(0, size, step), np.lib.stride_tricks.sliding_window_view(a, size)[::step])
    assert x.unfold(0, 0, 1).shape == (8, 0)
    assert torch.tensor(3.0).unfold(0, 1, 1).tolist() == [3.0]


def test_reshape_copies_only_when_it_must():
    x = ints(2, 3, 4)
    assert is_view(x.reshape(6, 4), x)
    assert is_view(x.transpose(0, 1).reshape(3, 2, 2, 2), x)
    y = x.transpose(0, 1).reshape(6, 4)
    assert not is_view(y, x)
    assert y.tolist() == np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2).reshape(6, 4).tolist()
    assert is_view(x.flatten(1, 2), x) and x.flatten(1, 1) is x
    assert x.view_as(torch.zeros(4, 6)).shape == x.reshape_as(torch.zeros(4, 6)).shape == (4, 6)


def test_reversed_memory_can_be_viewed():
    x = torch.arange(6)[torch.arange(6) >= 0]
    y = x.as_strided((6,), (-1,), 5)
    assert y.view(2, 3).tolist() == [[5, 4, 3], [2, 1, 0]]
    assert y.view(2, 3).stride() == (-3, -1)
    assert y.narrow(0, 1, 2).tolist() == [4, 3] and y.select(0, 5).item() == 0


def test_splits():
    x = torch.arange(5)
    assert [t.tolist() for t in x.split(2)] == [[0, 1], [2, 3], [4]]
    assert [t.tolist() for t in torch.split(x, [2, 0, 3])] == [[0, 1], [], [2, 3, 4]]
    assert [t.tolist() for t in x.chunk(4)] == [[0, 1], [2, 3], [4]]
    assert [tuple(t.shape) for t in torch.zeros(0, 3).chunk(3)] == [(0, 3)] * 3
    assert [tuple(t.shape) for t in torch.zeros(0).split(0)] == [(0,)]
    assert [t.tolist() for t in torch.tensor_split(x, (1, -1))] == [[0], [1, 2, 3], [4]]
    assert [t.tolist() for t in torch.tensor_split(x, (3, 1))] == [[0, 1, 2], [], [1, 2, 3, 4]]
    assert [t.tolist() for t in torch.tensor_split(x, torch.tensor([1, 3]))] == [[0], [1, 2], [3, 4]]
    assert [t.tolist() for t in torch.tensor_split(x, torch.tensor(2))] == [[0, 1, 2], [3, 4]]
    y = ints(2, 3, 4)
    assert [tuple(t.shape) for t in torch.hsplit(y, 3)] == [(2, 1, 4)] * 3
    assert [tuple(t.shape) for t in y.vsplit(2)] == [(1, 3, 4)] * 2
    assert [tuple(t.shape) for t in y.dsplit((1, 3))] == [(2, 3, 1), (2, 3, 2), (2, 3, 1)]
    assert isinstance(x.split(2), tuple) and isinstance(x.unbind(), tuple)


def test_other_item_sizes():
    x = torch.tensor([1.0, -2.0])
    assert x.view(torch.int32).tolist() == [0x3F800000, 0xC0000000 - (1 << 32)]
    assert x.view(torch.uint8).tolist() == list(x.numpy().tobytes())
    assert x.view(torch.float64).shape == (1,)
    assert x.view(torch.uint8)[4:].view(torch.float32).tolist() == [-2.0]
    assert x.view(torch.float32) is not x and x.view(torch.float32).data_ptr() == x.data_ptr()  # as PyTorch's


def test_complex_parts():
    z = torch.tensor([[1 + 2j, 3 - 4j]])
    assert torch.view_as_real(z).tolist() == [[[1, 2], [3, -4]]]
    assert z.real.stride() == (4, 2) and z.imag.storage_offset() == 1
    assert z.imag.tolist() == [[2, -4]]
    z.real.fill_(5)
    assert z.tolist() == [[5 + 2j, 5 - 4j]]
    assert torch.view_as_complex(torch.tensor([[1.0, 2.0]], dtype=torch.float64)).dtype == torch.complex128
    assert z.H.tolist() == z.mH.tolist() == z.adjoint().tolist() == [[5 - 2j], [5 + 4j]]
    x = torch.ones(2)
    assert torch.real(x) is x


def test_in_place_forms_keep_the_object():
    x = ints(2, 3)
    before = id(x), x.data_ptr()
    assert x.t_() is x and x.shape == (3, 2)
    assert x.unsqueeze_(0) is x and x.shape == (1, 3, 2)
    assert x.transpose_(0, 2) is x and x.shape == (2, 3, 1)
    assert x.squeeze_() is x and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.as_strided_((2, 2), (1, 1)) is x and x.tolist() == [[0, 1], [1, 2]]
    assert (id(x), x.data_ptr()) == before


def test_resize():
    x = torch.arange(6)
    y = x[2:]
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_(3).tolist() == [0, 1, 2]
    x.resize_(100)
    assert x.tolist()[:6] == [0, 1, 2, 3, 4, 5]
    assert y.tolist() == [2, 3, 4, 5] and is_view(y, x)  # the storage moved, and y with it
    y.resize_as_(torch.zeros(2, 1))
    assert y.tolist() == [[2], [3]] and y.storage_offset() == 2
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        torch.from_numpy(np.zeros(3)).resize_(5)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(3, requires_grad=True).resize_(2)


# ---------------------------------------------------------------- gradients

VIEWS = {
    "view": lambda x: x.view(4, 6),
    "reshape": lambda x: x.transpose(0, 1).reshape(6, 4),
    "flatten": lambda x: x.permute(2, 0, 1).flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "transpose": lambda x: x.transpose(0, 2),
    "t": lambda x: x[1].t(),
    "permute": lambda x: x.permute(2, -3, 1),
    "movedim": lambda x: x.movedim((0, 1), (2, 0)),
    "T": lambda x: x[0].T,
    "mT": lambda x: x.mT,
    "H": lambda x: x[0].H,
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x[:, :1].expand(3, 2, 5, 4),
    "expand_one": lambda x: x.select(0, 0).select(0, 1).select(0, 2).expand(2, 2),
    "select": lambda x: x.select(1, -1),
    "narrow": lambda x: x.narrow(2, -3, 2),
    "narrow_copy": lambda x: x.narrow_copy(2, 1, 2),
    "slice": lambda x: x[:, ::2, 1:],
    "diagonal": lambda x: x.diagonal(1, 1, 2),
    "unfold": lambda x: x.unfold(2, 3, 1),
    "unfold_far": lambda x: x.reshape(-1).unfold(0, 2, 3),
    "unfold_few": lambda x: x.reshape(-1).unfold(0, 20, 2),
    "as_strided": lambda x: x.as_strided((3, 2), (1, 2), 1),
    "as_strided_back": lambda x: x.as_strided((3, 2), (-1, 2), 4),
    "split": lambda x: x.split(2, 2)[1],
    "split_sizes": lambda x: x.split([1, 3], 2)[1],
    "chunk": lambda x: torch.stack(x.chunk(2, 2), 0),
    "tensor_split": lambda x: x.tensor_split(3, 2)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "broadcast": lambda x: torch.broadcast_tensors(x[:, :1], torch.zeros(5, 4, dtype=torch.float64))[0],
    "atleast": lambda x: torch.atleast_3d(x[0, 0]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_gradient(name):
    """A view copies places, so its gradient adds up at the places: those of the view of arange. Twice, for its own."""
    look = VIEWS[name]
    rng = np.random.default_rng(0)
    places = look(torch.arange(24, dtype=torch.float64).reshape(2, 3, 4)).numpy().astype(int)
    a, w, u = rng.normal(size=24), rng.normal(size=places.shape), rng.normal(size=24)

    def gather_back(values):
        out = np.zeros(24)
        np.add.at(out, places.ravel(), values.ravel())
        return out

    x = torch.tensor(a).reshape(2, 3, 4).requires_grad_()
    y = look(x)
    assert y.requires_grad
    (g,) = torch.autograd.grad((y * y * torch.tensor(w)).sum(), x, create_graph=True)
    assert g.shape == x.shape
    np.testing.assert_allclose(g.detach().numpy().ravel(), gather_back(2 * w * a[places]), atol=1e-12)
    (g * torch.tensor(u).reshape(2, 3, 4)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy().ravel(), gather_back(2 * w * u[places]), atol=1e-12)


def test_gradients_of_complex_views():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z.real * torch.tensor([1.0, 2.0]) + z.imag * 3).sum().backward()
    assert z.grad.tolist() == [1 + 3j, 2 + 3j]
    x = torch.tensor([[1.0, 2.0]], requires_grad=True)
    y = torch.view_as_complex(x)
    (y.real * y.imag).sum().backward()
    assert x.grad.tolist() == [[2.0, 1.0]]
    z = torch.tensor([[1 + 2j, 3j]], requires_grad=True)
    torch.view_as_real(z.H).sum().backward()
    assert z.grad.tolist() == [[1 - 1j, 1 - 1j]]


def test_as_strided_of_an_expanded_tensor_shares_its_gradient():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.unsqueeze(1).expand(2, 3).as_strided((2,), (1,)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_partly_used_splits():
    x = torch.arange(5.0, requires_grad=True)
    a, b, c = x.split(2)
    (b * 2).sum().backward()
    assert x.grad.tolist() == [0, 0, 2, 2, 0]


def test_in_place_views_record():
    x = torch.arange(6.0, requires_grad=True)
    y = (x * 2).view(2, 3)
    z = x * 1
    z.unsqueeze_(0)
    (z * torch.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0, 1, 2, 3, 4, 5]
    assert y.grad_fn is not None
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.unsqueeze_(0)
    with torch.no_grad():
        x.unsqueeze_(0)
    assert x.shape == (1, 6)


def test_names_in_the_graph():
    x = torch.zeros(2, 3, 4, requires_grad=True)
    names = {
        "ViewBackward0": x.view(24),
        "UnsafeViewBackward0": x.transpose(0, 1).reshape(24),
        "TransposeBackward0": x.mT,
        "PermuteBackward0": x.permute(1, 0, 2),
        "ExpandBackward0": x.expand(1, 2, 3, 4),
        "UnsqueezeBackward0": x.unsqueeze(0),
        "SqueezeBackward0": x.squeeze(),
        "SelectBackward0": x.select(0, 0),
        "SliceBackward0": x.narrow(0, 0, 1),
        "UnbindBackward0": x.unbind()[1],
        "SplitBackward0": x.split(1)[0],
    }
    for name, y in names.items():
        assert y.grad_fn.name() == name


# ---------------------------------------------------------------- errors

X = torch.arange(24.0).reshape(2, 3, 4)
Z = torch.tensor(3.0)
V = torch.arange(5.0)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: X.view(5, 5), RuntimeError, "shape '[5, 5]' is invalid for input of size 24"),
        (lambda: X.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (lambda: X.view(-2, 12), RuntimeError, "invalid shape dimension -2"),
        (
            lambda: X.transpose(0, 1).view(24),
            RuntimeError,
            "view size is not compatible with input tensor's size and stride",
        ),
        (
            lambda: torch.zeros(0).view(-1, 0),
            RuntimeError,
            "the unspecified dimension size -1 can be any value and is ambiguous",
        ),
        (lambda: torch.zeros(0).view(0, 2**62, 2**62), RuntimeError, "does not fit"),
        (
            lambda: Z.view(torch.uint8),
            RuntimeError,
            "self.dim() cannot be 0 to view Float as Byte (different element sizes)",
        ),
        (lambda: V.view(torch.float64), RuntimeError, "self.size(-1) must be divisible by 2 to view Float as Double"),
        (lambda: X.t(), RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
        (lambda: X.H, RuntimeError, "tensor.H is only supported on matrices (2-D tensors). Got 3-D tensor."),
        (lambda: V.mT, RuntimeError, "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."),
        (
            lambda: X.transpose(0, 3),
            IndexError,
            "Dimension out of range (expected to be in range of [-3, 2], but got 3)",
        ),
        (lambda: X.permute(0, 1), RuntimeError, "input.dim() = 3 is not equal to len(dims) = 2"),
        (lambda: X.permute(0, 1, 1), RuntimeError, "duplicate dims are not allowed"),
        (lambda: X.movedim((0, 0), (1, 2)), RuntimeError, "movedim: repeated dim in `source` ([0, 0])"),
        (lambda: X.squeeze((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (lambda: X.unsqueeze(4), IndexError, "[-4, 3], but got 4"),
        (
            lambda: X.expand(3, 4),
            RuntimeError,
            "expand(torch.FloatTensor{[2, 3, 4]}, size=[3, 4]): the number of sizes provided (2)",
        ),
        (
            lambda: X.expand(2, 5, 4),
            RuntimeError,
            "The expanded size of the tensor (5) must match the existing size (3) at non-singleton dimension 1.  Target sizes: [2, 5, 4].  Tensor sizes: [2, 3, 4]",
        ),
        (lambda: Z.expand(2**40, 2**40), RuntimeError, "does not fit"),
        (
            lambda: torch.broadcast_tensors(torch.zeros(2), torch.zeros(3)),
            RuntimeError,
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
        ),
        (
            lambda: X.select(1, 3),
            IndexError,
            "select(): index 3 out of range for tensor of size [2, 3, 4] at dimension 1",
        ),
        (lambda: Z.select(0, 0), IndexError, "select() cannot be applied to a 0-dim tensor."),
        (lambda: X.narrow(1, -1, 2), RuntimeError, "start (2) + length (2) exceeds dimension size (3)."),
        (lambda: X.narrow(1, 4, 0), IndexError, "start out of range (expected to be in range of [-3, 3], but got 4)"),
        (lambda: V.diagonal(), IndexError, "[-1, 0], but got 1"),
        (lambda: X.diagonal(0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical 1, 1"),
        (lambda: X.unfold(2, 5, 1), RuntimeError, "maximum size for tensor at dimension 2 is 4 but size is 5"),
        (lambda: X.unfold(2, 2, 0), RuntimeError, "step is 0 but must be > 0"),
        (
            lambda: X.as_strided((2, 30), (1, 2)),
            RuntimeError,
            "setStorage: sizes [2, 30], strides [1, 2], storage offset 0, and itemsize 4 requiring a storage size of 240 are out of bounds for storage of size 96",
        ),
        (lambda: X.as_strided((2,), (-1,)), RuntimeError, "reach before the start of the storage"),
        (lambda: X.as_strided((2,), (1,), -1), RuntimeError, "invalid storage offset -1"),
        (lambda: X.as_strided((2, 2), (2**62, 2**62)), RuntimeError, "Storage size calculation overflowed"),
        (lambda: X.as_strided((2, 2), (1,)), RuntimeError, "mismatch in length of strides and shape"),
        (lambda: X.as_strided((2**31, 2**31), (0, 0)), RuntimeError, "does not fit"),
        (lambda: X.flatten(1, 0), RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"),
        (
            lambda: X.unflatten(2, (3, 2)),
            RuntimeError,
            "unflatten: Provided sizes [3, 2] don't multiply up to the size of dim 2 (4) in the input tensor",
        ),
        (
            lambda: V.split(0),
            RuntimeError,
            "split_size can only be 0 if dimension size is 0, but got dimension size of 5",
        ),
        (
            lambda: V.split([2, 2]),
            RuntimeError,
            "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at dimension 0), but got split_sizes=[2, 2]",
        ),
        (lambda: V.split([2**63 - 1, 2**63 - 1]), RuntimeError, "to sum exactly to 5"),
        (lambda: V.split([6, -1]), RuntimeError, "only non-negative entries"),
        (lambda: V.chunk(0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
        (lambda: V.tensor_split(0), RuntimeError, "number of sections must be larger than 0, got 0"),
        (
            lambda: V.hsplit(2),
            RuntimeError,
            "torch.hsplit attempted to split along dimension 0, but the size of the dimension 5 is not divisible by the split_size 2!",
        ),
        (
            lambda: V.vsplit(1),
            RuntimeError,
            "torch.vsplit requires a tensor with at least 2 dimension, but got a tensor with 1 dimensions!",
        ),
        (lambda: Z.unbind(), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
        (lambda: X.imag, RuntimeError, "imag is not implemented for tensors with non-complex dtypes."),
        (lambda: torch.view_as_real(X), RuntimeError, "view_as_real is only supported for complex tensors"),
        (lambda: torch.view_as_complex(X), RuntimeError, "Tensor must have a last dimension of size 2"),
        (
            lambda: torch.view_as_complex(torch.zeros(5)[1:3]),
            RuntimeError,
            "Tensor must have a storage_offset divisible by 2",
        ),
        (lambda: torch.zeros(3).resize_(-1), RuntimeError, "negative dimension"),
        (lambda: torch.zeros(3).resize_(2**58, 2**10), RuntimeError, "does not fit"),
        (lambda: torch.zeros(3).resize_(2**65), TypeError, "failed to unpack the object at pos 1 with error"),
        (lambda: X.reshape((2, 2**65)), TypeError, 'at pos 2 with error "Overflow when unpacking long long"'),
        (lambda: X.permute(0, 1, 2**65), TypeError, 'at pos 3 with error "Overflow when unpacking long long"'),
        (lambda: X.unsqueeze(2**65), ValueError, "Overflow when unpacking long long"),
        (lambda: Z.unflatten(0, (1,)), RuntimeError, "unexpected error: Dimension specified as 0 but tensor has no"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_many_axes():
    x = torch.zeros([1] * 64)
    assert x.permute(*range(63, -1, -1)).shape == x.T.shape == x.shape
    assert x.squeeze().shape == () and x.flatten().shape == (1,)
    for call in (lambda: x.unsqueeze(0), lambda: x.expand([1] * 65), lambda: x.view([1] * 65)):
        with pytest.raises(RuntimeError, match="at most 64"):
            call()


def test_written_through_an_expanded_view():
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
    ):
        torch.zeros(1, 2).expand(3, 2).add_(1)
    x = torch.zeros(1, 2)
    x.expand(3, 2).fill_(1)  # one value for all
    assert x.tolist() == [[1, 1]] and x.expand(3, 2).zero_().sum() == 0


def test_broadcast_tensors_gives_what_has_the_shape():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    a, b = torch.broadcast_tensors(x, y)
    assert a is x and b is not y and b.shape == (2, 3)
    assert torch.distributions.Normal(x, torch.ones(2, 3)).loc is x


def test_copies_in_a_format_are_no_views():
    x = torch.ones(2, 3, 4, 5, requires_grad=True)
    for y in (x.contiguous(memory_format=torch.channels_last), x.clone(memory_format=torch.channels_last)):
        assert y._base is None and y.stride() == (60, 1, 15, 3)
