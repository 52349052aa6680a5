"""Arguments of the wrong type are refused in PyTorch's words: positions without self, lists as tuples of something."""

import math

import numpy as np
import pytest
import strided

torch_ref = pytest.importorskip("torch")


def attention(T, bias_k, bias_v):
    x, out = T.ones(2, 1, 4), T.ones(4, 4)
    function = T.nn.functional.multi_head_attention_forward
    return function(x, x, x, 4, 2, T.ones(12, 4), None, bias_k, bias_v, False, 0.0, out, None)


CALLS = {
    "tolerance with a gradient": lambda T: T.isclose(T.ones(1), T.ones(1), 1.5, T.tensor(1.0, requires_grad=True)),
    "exponent with a gradient": lambda T: T.renorm(T.ones(2, 2), T.tensor(1.0, requires_grad=True), 0, 1.0),
    "device of another type": lambda T: T.DoubleTensor([1], device="meta"),
    "new on another device": lambda T: T.ones(1).new([1], device="meta"),
    "a copy of another dtype": lambda T: T.asarray(T.ones(1), dtype=T.float64, copy=False),
    "a copy on another device": lambda T: T.asarray(T.ones(1), device="meta", copy=False),
    "no tensors and one": lambda T: T._foreach_add([], [T.ones(1)]),
    "no tensors and one number": lambda T: T._foreach_add([], [1]),
    "one tensor and two numbers": lambda T: T._foreach_add([T.ones(1)], [1, 2]),
    "first size": lambda T: T.ones((3.0, 4)),
    "second size": lambda T: T.empty([3, "a"]),
    "second size, one by one": lambda T: T.zeros(3, 2.5),
    "second size is a word": lambda T: T.empty(3, "a", dtype=T.float64),
    "second size is a list": lambda T: T.zeros(3, (2,)),
    "features that are no integers": lambda T: T.nn.Linear(2.5, 3),
    "second tensor of several": lambda T: T.block_diag(T.ones(1), 2),
    "array to linear": lambda T: T.nn.functional.linear(np.ones(2), T.ones(3, 2)),
    "list to linear": lambda T: T.nn.Linear(2, 3)([1.0, 2.0]),
    "array to batch_norm": lambda T: T.nn.functional.batch_norm(np.ones((2, 2)), T.zeros(2), T.ones(2)),
    "array to layer_norm": lambda T: T.nn.functional.layer_norm(np.ones(2), (2,)),
    "array to dropout": lambda T: T.nn.functional.dropout(np.ones(2)),
    "number of NumPy to relu": lambda T: T.nn.functional.relu(np.float64(1)),
    "second dim": lambda T: T.ones(1).sum((0, 1.5)),
    "first of dims to flip": lambda T: T.flip(T.ones(2), [1.5]),
    "second of shifts": lambda T: T.roll(T.ones(2), (1, 2.0)),
    "first length of a transform": lambda T: T.fft.fftn(T.ones(2, 2), (1.5,)),
    "size by keyword": lambda T: T.zeros(size=(1, None)),
    "cat tensor": lambda T: T.cat(T.ones(2)),
    "cat number": lambda T: T.cat(3),
    "cat none": lambda T: T.cat([T.ones(2), None]),
    "cat keyword": lambda T: T.cat(tensors=None),
    "stack numbers": lambda T: T.stack([1, 2]),
    "permute": lambda T: T.ones(2, 2).permute("a"),
    "permute function": lambda T: T.permute(T.ones(2, 2), "a"),
    "zeros": lambda T: T.zeros("a"),
    "repeat": lambda T: T.ones(2).repeat("a"),
    "expand": lambda T: T.ones(2).expand(1.5),
    "roll": lambda T: T.roll(T.ones(2), 1.5),
    "dim of 65 bits": lambda T: T.ones(2).sum(2**64),
    "index of 65 bits": lambda T: T.ones(2)[2**64],
    "length of 65 bits": lambda T: T.ones(2).narrow(0, 0, 2**64),
    "narrow from a vector": lambda T: T.ones(4).narrow(0, T.tensor([1]), 2),
    "narrow from a fraction": lambda T: T.narrow(T.ones(4), 0, T.tensor(1.0), 2),
    "linspace from a vector": lambda T: T.linspace(T.ones(2), 2, 3),
    "logspace to a matrix": lambda T: T.logspace(1, T.ones(2, 2), 3),
    "cat into integers": lambda T: T.cat([T.ones(1)] * 2, out=T.ones(2).int()),
    "vstack into integers": lambda T: T.vstack([T.ones(1)] * 2, out=T.ones(2, 1).int()),
    "threshold beyond int32": lambda T: T.nn.functional.threshold(T.ones(1).int(), 5, 2**33),
    "threshold beyond uint8": lambda T: T.nn.functional.threshold(T.ones(1).byte(), 5, 300),
    "count of 65 bits": lambda T: T.eye(-(2**64)),
    "seed of 65 bits": lambda T: T.Generator().manual_seed(2**64),
    "negative seed of 65 bits": lambda T: T.manual_seed(-(2**63) - 1),
    "threads of 65 bits": lambda T: T.set_num_threads(2**65),
    "no shape": lambda T: T.tensor(5.0).reshape(),
    "no dims": lambda T: T.ones(2, 2).permute(),
    "no repeats": lambda T: T.ones(2).repeat(),
    "no dims to tile": lambda T: T.ones(2).tile(),
    "no dims to flip": lambda T: T.ones(2).flip(),
    "no dims to flip of a function": lambda T: T.flip(T.ones(2)),
    "no size to expand to": lambda T: T.ones(2).expand(),
    "no size to resize to": lambda T: T.ones(2).resize_(),
    "no size to broadcast to": lambda T: T.tensor(5.0).broadcast_to(),
    "flip": lambda T: T.flip(T.ones(2), None),
    "mm": lambda T: T.mm(T.ones(2, 2), 3),
    "mm method": lambda T: T.ones(2, 2).mm(3),
    "index_select": lambda T: T.index_select(T.ones(3), 0, [1]),
    "gather method": lambda T: T.ones(3).gather(0, [1]),
    "type": lambda T: T.ones(2).cumsum(0, dtype="a"),
    "too many": lambda T: T.ones(2).unsqueeze(1, 2),
    "cross": lambda T: T.linalg.cross(T.ones(5, 3), T.ones(5, 1)),
    "window": lambda T: T.hann_window(T.ones(2, 2)),
    "window of a float": lambda T: T.kaiser_window(2.0),
    "window of bool": lambda T: T.bartlett_window(True),
    "complex alpha": lambda T: T.add(T.ones(2), T.ones(2), alpha=1j),
    "complex alpha in place": lambda T: T.ones(2).sub_(1, alpha=1j),
    "complex alpha of integers": lambda T: T.add(T.ones(2).int(), 1, alpha=1j),
    "loss of no labels": lambda T: T.nn.functional.ctc_loss(T.ones(0, 0, 4), *[T.tensor([]).long()] * 3),
    "loss of no samples": lambda T: T.nn.functional.ctc_loss(T.ones(5, 0, 4), *[T.tensor([]).long()] * 3),
    "angle with a negative length": lambda T: T.cosine_similarity(T.ones(3), T.ones(3), 0, eps=-1.5),
    "image larger than memory": lambda T: T.nn.functional.interpolate(T.ones(1, 1, 4), scale_factor=1e20),
    "image of a negative size": lambda T: T.nn.functional.interpolate(T.ones(1, 1, 4, 4), scale_factor=-1e20),
    "pixels beyond 63 bits": lambda T: T.nn.functional.pixel_shuffle(T.ones(4, 1, 1), 2**40),
    "kernel": lambda T: T.nn.functional.max_pool2d(T.ones(1, 4, 4), "a"),
    "kernel of a float": lambda T: T.nn.functional.avg_pool3d(T.ones(1, 4, 4, 4), 2.0),
    "kernel of floats": lambda T: T.nn.functional.avg_pool2d(T.ones(1, 4, 4), [2, 2.0]),
    "kernel of words": lambda T: T.nn.functional.max_pool1d(T.ones(1, 4), ["a"]),
    "kernel of a tensor": lambda T: T.nn.functional.max_pool2d(T.ones(1, 4, 4), T.ones(2)),
    "no kernel": lambda T: T.nn.functional.max_pool3d(T.ones(1, 4, 4, 4), None),
    "stride": lambda T: T.nn.functional.max_pool2d(T.ones(1, 4, 4), 2, "a"),
    "padding": lambda T: T.nn.functional.max_pool2d(T.ones(1, 4, 4), 2, 2, None),
    "dilation": lambda T: T.nn.functional.max_pool2d(T.ones(1, 4, 4), 2, 2, 0, 1.5),
    "pad": lambda T: T.nn.functional.pad(T.ones(2, 2), "ab"),
    "pad by a number": lambda T: T.nn.functional.pad(T.ones(2, 2), 3),
    "pad by floats": lambda T: T.nn.functional.pad(T.ones(2, 2), (1.0, 2)),
    "constant_pad_nd": lambda T: T.constant_pad_nd(T.ones(2, 2), None),
    "pixel_shuffle": lambda T: T.nn.functional.pixel_shuffle(T.ones(1, 4, 2, 2), 2.0),
    "pixel_unshuffle": lambda T: T.nn.functional.pixel_unshuffle(T.ones(2, 2), None),
    "channel_shuffle": lambda T: T.nn.functional.channel_shuffle(T.ones(2, 2), "a"),
    "one_hot": lambda T: T.nn.functional.one_hot(T.tensor([1]), 2.5),
    "batch_norm of doubles": lambda T: T.nn.functional.batch_norm(T.ones(3, 2).double(), T.zeros(2), T.ones(2)),
    "batch_norm by doubles": lambda T: T.nn.functional.batch_norm(T.ones(3, 2), T.zeros(2).double(), T.ones(2)),
    "instance_norm by doubles": lambda T: T.nn.functional.instance_norm(T.ones(1, 2, 3), weight=T.ones(2).double()),
    "layer_norm of doubles": lambda T: T.nn.functional.layer_norm(T.ones(3, 2).double(), [2], T.ones(2)),
    "group_norm by halves": lambda T: T.nn.functional.group_norm(T.ones(3, 2, 2), 1, T.ones(2).half()),
    "end of another dtype": lambda T: T.lerp(T.ones(2), T.ones(2).double(), 0.5),
    "weights of another dtype": lambda T: T.lerp(T.ones(2), T.ones(2), T.ones(2).half()),
    "probabilities of another dtype": lambda T: T.nn.functional.binary_cross_entropy(T.ones(2), T.ones(2).long()),
    "classes as probabilities": lambda T: T.nn.functional.binary_cross_entropy_with_logits(T.ones(2), T.ones(2).int()),
    "classes of 32 bits": lambda T: T.nn.functional.nll_loss(T.ones(2, 3), T.ones(2).int()),
    "cross entropy of 32 bits": lambda T: T.nn.functional.cross_entropy(T.ones(2, 3), T.ones(2).int()),
    "kl_div of integers": lambda T: T.nn.functional.kl_div(T.ones(2), T.ones(2).long()),
    "huber_loss of integers": lambda T: T.nn.functional.huber_loss(T.ones(2).long(), T.ones(2)),
    "soft_margin_loss of integers": lambda T: T.nn.functional.soft_margin_loss(T.ones(2).long(), T.ones(2)),
    "beta of integers": lambda T: T.addr(T.ones(2, 2).long(), T.ones(2).long(), T.ones(2).long(), beta=1.5),
    "alpha of integers": lambda T: T.addr(T.ones(2, 2).long(), T.ones(2).long(), T.ones(2).long(), alpha=1.5),
    "bool beta": lambda T: T.addr(T.ones(2, 2), T.ones(2), T.ones(2), beta=True),
    "bool alpha": lambda T: T.addr(T.ones(2, 2), T.ones(2), T.ones(2), alpha=True),
    "multi_dot": lambda T: T.linalg.multi_dot([T.ones(2, 2), T.ones(2, 2).double()]),
    "histogram": lambda T: T.histogram(T.ones(3), T.ones(3).double()),
    "complex vector_norm": lambda T: T.linalg.vector_norm(T.ones(2), 1j),
    "complex matrix_norm": lambda T: T.linalg.matrix_norm(T.ones(2, 2), 1j),
    "complex norm": lambda T: T.linalg.norm(T.ones(2), 1j),
    "abs_ of complex numbers": lambda T: T.ones(2, dtype=T.complex64).abs_(),
    "aminmax of nothing": lambda T: T.aminmax(T.ones(5, 0, 5), dim=1),
    "three by position": lambda T: T.add(T.ones(2), T.ones(2), True),
    "three tensors to mul": lambda T: T.mul(T.ones(2), T.ones(2), T.ones(2)),
    "two to alias_copy": lambda T: T.alias_copy(T.ones(2), T.ones(2)),
    "places in a tuple into a tensor": lambda T: T.nonzero(T.ones(2), as_tuple=True, out=T.ones(2, 1).long()),
    "places into floats": lambda T: T.nonzero(T.ones(2), out=T.ones(2, 1)),
    "no device": lambda T: T.device(),
    "device of None": lambda T: T.device(None),
    "device of a float": lambda T: T.device(1.5),
    "device of a list": lambda T: T.device(["cpu"]),
    "device of three": lambda T: T.device(1, 2, 3),
    "device by another name": lambda T: T.device(foo="cpu"),
    "number of a device": lambda T: T.device("cpu", 1.5),
    "number of a device as text": lambda T: T.device("cpu", "1"),
    "negative device": lambda T: T.device(-1),
    "negative number of a device": lambda T: T.device("cpu", -2),
    "sum into": lambda T: T.ones(2).sum(0, out=T.ones(1)),
    "mul into": lambda T: T.ones(2).mul(T.ones(2), out=T.ones(1)),
    "matmul into": lambda T: T.ones(2, 2).matmul(T.ones(2, 2), out=T.ones(1)),
    "cumsum into": lambda T: T.ones(2).cumsum(0, out=T.ones(1)),
    "gather into": lambda T: T.ones(2).gather(0, T.tensor([0]), out=T.ones(1)),
    "solve of one": lambda T: T.linalg.solve(T.ones(2, 2)),
    "inv of a number": lambda T: T.linalg.inv(3),
    "svd of too many": lambda T: T.linalg.svd(T.ones(1), True, 1),
    "fft of a text": lambda T: T.fft.fft("a"),
    "erf of nothing": lambda T: T.special.erf(),
    "gelu of a number": lambda T: T.nn.functional.gelu(3),
    "a tensor of 65 bits": lambda T: T.tensor([1, 2**64]),
    "a negative tensor of 65 bits": lambda T: T.tensor(-(2**63) - 1, dtype=T.int8),
    "storage of 65 bits": lambda T: T.LongTensor([2**64]),
    "abs of 65 bits": lambda T: T.abs(2**64),
    "isnan of 65 bits": lambda T: T.isnan(-(2**64)),
    "gradient of a number": lambda T: T.autograd.grad(T.ones(1, requires_grad=True) * 2, [3]),
    "gradient of None": lambda T: T.autograd.backward(T.ones(1, requires_grad=True) * 2, inputs=[None]),
    "variable of a list": lambda T: T.autograd.Variable([1.0]),
    "alias_copy of a list": lambda T: T.alias_copy([1]),
    "nothing to pack": lambda T: T.nn.utils.rnn.pack_padded_sequence(T.ones(0, 1), T.ones(2, 2)),
    "list of a list to pad": lambda T: T.nn.utils.rnn.pad_sequence([T.ones(2), [1]]),
    "too many, of which one has a default": lambda T: T.roll(T.ones(2), 1, 1, 1),
    "too many for softmax": lambda T: T.softmax(T.ones(2), 0, T.float32, 1),
    "too many for triu": lambda T: T.ones(2, 2).triu(1, 2),
    "too many for a method": lambda T: T.ones(2).sin(2),
    "too many for t": lambda T: T.ones(2).t(1, 2),
    "two for relu": lambda T: T.relu(T.ones(1), 2),
    "a method of a text": lambda T: T.Tensor.add("a", 2),
    "a method of a number": lambda T: T.Tensor.sum(3),
    "a method of a list": lambda T: T.Tensor.expand([1.0], 2),
    "quantile of a number along 3": lambda T: T.quantile(T.tensor(1.0), 0.5, dim=3),
    "nanquantile of a number along -2": lambda T: T.nanquantile(T.tensor(1.0), 0.5, dim=-2),
    "running mean alone": lambda T: T.nn.functional.instance_norm(T.ones(2, 3, 4), T.zeros(3), None),
    "running variance alone": lambda T: T.nn.functional.instance_norm(T.ones(2, 3, 4), None, T.ones(3)),
    "short weight of instance_norm": lambda T: T.nn.functional.instance_norm(T.ones(2, 3, 4), weight=T.ones(2)),
    "weight matrix of instance_norm": lambda T: T.nn.functional.instance_norm(T.ones(2, 3, 4), weight=T.ones(1, 3)),
    "bias of instance_norm": lambda T: T.nn.functional.instance_norm(T.ones(2, 3, 4), bias=T.ones(())),
    "negative eps": lambda T: T.cosine_similarity(T.ones(2, 3), T.ones(2, 3), eps=-1.0),
    "eps of nan": lambda T: T.cosine_similarity(T.ones(2, 3), T.ones(2, 3), eps=math.nan),
    "delta of nan": lambda T: T.nn.functional.huber_loss(T.ones(2), T.ones(2), delta=math.nan),
    "bias of keys alone": lambda T: attention(T, T.ones(1, 1, 4), None),
    "bias of values alone": lambda T: attention(T, None, T.ones(1, 1, 4)),
    "a tensor and a word": lambda T: T.ones(2) + "a",
    "a word and a tensor": lambda T: "a" @ T.ones(2),
    "a tensor is called": lambda T: T.ones(2)(1),
    "a state of floats": lambda T: T.set_rng_state(T.zeros(3).int()),
    "padding of nothing": lambda T: T.nn.Embedding(3, 2, padding_idx=4),
    "four sides of a matrix": lambda T: T.nn.functional.pad(T.ones(2, 2), (1, 1, 1, 1), "reflect"),
    "three sizes of two axes": lambda T: T.nn.functional.adaptive_avg_pool2d(T.ones(1, 2, 2), (1, 2, 3)),
    "classes of two axes": lambda T: T.nn.functional.cross_entropy(T.ones(2, 3), T.ones(2, 2)),
    "keys of other features": lambda T: T.nn.MultiheadAttention(4, 2)(T.ones(2, 4), T.ones(2, 3), T.ones(2, 4)),
    "more keys than values": lambda T: T.nn.MultiheadAttention(4, 2, kdim=3)(T.ones(2, 4), T.ones(3, 3), T.ones(2, 4)),
    "lanczos": lambda T: T.nn.functional.interpolate(T.ones(1, 1, 4, 4), 2, mode="lanczos"),
    "lanczos of corners": lambda T: T.nn.functional.interpolate(T.ones(1, 1, 4, 4), 2, None, "lanczos", True),
    "antialias of a signal": lambda T: T.nn.functional.interpolate(T.ones(1, 1, 4), 2, mode="linear", antialias=True),
    "aminmax of nothing at all": lambda T: T.aminmax(T.ones(5, 0, 5)),
}


def words(call, T):
    with pytest.raises((TypeError, RuntimeError, IndexError, ValueError, AssertionError)) as caught:
        call(T)
    return type(caught.value).__name__, str(caught.value).split("\n")[0].strip()


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name):
    assert words(CALLS[name], strided) == words(CALLS[name], torch_ref)


def test_methods_have_no_out():
    """Those of strided's core; Python's are compared by name."""
    found = strided._C.functions.items()
    takes = {name for name, f in found if any(p[0] == "out" for parameters, _, _ in f.overloads for p in parameters)}
    assert "add" in takes and not [name for name in takes if name.startswith("Tensor.")]


@pytest.mark.parametrize("name", ["add", "sin", "cat"])
def test_functions_of_pytorch_take_no_tensors_of_ours(name):
    x = strided.ones(2)
    with pytest.raises(TypeError, match=r"(?s)__torch_function__.*strided\.Tensor"):
        getattr(torch_ref, name)(*([[x]] if name == "cat" else [x, x] if name == "add" else [x]))


def test_tensors_of_no_axes_are_numbers():
    for T in (strided, torch_ref):
        two = T.tensor(2)
        assert T.hann_window(two).shape == (2,)
        assert T.nn.functional.max_pool2d(T.ones(1, 4, 4), two, two).shape == (1, 2, 2)
        assert T.nn.functional.pixel_shuffle(T.ones(1, 4, 2, 2), two).shape == (1, 1, 4, 4)
        assert [len(f(T.ones(4, 4, 4), two)) for f in (T.hsplit, T.vsplit, T.dsplit)] == [2, 2, 2]
        assert T.ones(4, 4)[:, 2:].vsplit(two)[1].shape == T.ones(8).view(two, two, 2)[0].shape == (2, 2)


def test_integer_division_by_addcdiv():
    for T in (strided, torch_ref):
        x = T.tensor([6, 7])
        for call in (lambda x=x: x.addcdiv(x, x), lambda x=x: x.addcdiv_(x, x)):
            with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
                call()
        with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
            T.ones(2).addcdiv(x, x)
        assert T.ones(2).addcdiv(x, x.float()).tolist() == [2, 2]


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float16", "float32", "complex64"])
def test_value_of_addcmul_is_cast(dtype):
    for value in (2.5, True, 2, 1j):
        seen = []
        for T in (strided, torch_ref):
            x = T.tensor([1, 2], dtype=getattr(T, dtype))
            for call in (
                lambda x=x: x.addcmul(x, x, value=value),
                lambda x=x: x.clone().addcmul_(x, x, value=value),
                lambda x=x, T=T: T.ones(2).addcmul(x, x, value=value),
            ):
                try:
                    made = call()
                    seen.append((str(made.dtype), made.tolist()))
                except RuntimeError as error:
                    seen.append(type(error).__name__)
        assert seen[:3] == seen[3:]


@pytest.mark.parametrize("alpha", [True, False, 0, 1, 2, -1])
def test_alpha_of_bool_tensors_keeps_them_bool(alpha):
    seen = []
    for T in (strided, torch_ref):
        a, b = T.tensor([True, False, True, False]), T.tensor([True, True, False, False])
        for made in (T.add(a, b, alpha=alpha), a.clone().add_(b, alpha=alpha), T.add(a, True, alpha=alpha)):
            seen.append((str(made.dtype), made.tolist()))
    assert seen[:3] == seen[3:]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32"])
def test_value_of_threshold(dtype):
    """A negative integer wraps around in an unsigned dtype."""
    made = [
        T.nn.functional.threshold(T.tensor([1, 7, 100], dtype=getattr(T, dtype)), 7, value).tolist()
        for T in (strided, torch_ref)
        for value in (-9, 5)
    ]
    assert made[:2] == made[2:]


def test_the_class_is_named_without_its_module():
    for T in (strided, torch_ref):
        with pytest.raises(AttributeError, match="^'Tensor' object has no attribute 'absent'$"):
            T.ones(2).absent
        assert (T.Tensor.__name__, T.Tensor.__module__) == ("Tensor", T.__name__)


@pytest.mark.parametrize("dtype", ["U2", "S2", "M8[D]", "O", "f4,i4", "g"])
def test_arrays_of_other_kinds_are_named(dtype):
    array = np.zeros(1, dtype)
    texts = []
    for lib in (strided, torch_ref):
        with pytest.raises(TypeError, match="can't convert np.ndarray of type") as e:
            lib.as_tensor(array)
        texts.append(str(e.value).partition(". ")[0])  # ours names more dtypes after it
    assert texts[0] == texts[1]
