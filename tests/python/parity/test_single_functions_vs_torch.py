"""Single functions beside PyTorch's own: what they return, the layout of it, and which calls they refuse."""

import copy
import math
import pickle

import numpy as np
import pytest
import strided

torch_ref = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


def described(result):
    if isinstance(result, (tuple, list)):
        return [described(part) for part in result]
    if hasattr(result, "requires_grad"):
        values = result.detach()
        values = values if values.dtype.is_complex else values.double()
        layout = tuple(result.shape), tuple(result.stride())
        return str(result.dtype), layout, str(np.array(values.tolist()).round(5).tolist()), result.requires_grad
    return result


def outcome(call, module):
    try:
        return described(call(module))
    except (RuntimeError, TypeError, ValueError, IndexError) as error:  # NotImplementedError is a RuntimeError
        return type(error).__name__


def same(call):
    ours, theirs = outcome(call, strided), outcome(call, torch_ref)
    assert ours == theirs
    return ours


LOOKS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "stepped": lambda x: x[:, ::2],
    "offset": lambda x: x[1:],
    "expanded": lambda x: x[:1].expand(3, -1),
    "empty": lambda x: x[:0],
    "one": lambda x: x[0, 0],
}
looks = pytest.mark.parametrize("look", LOOKS)
VALUES = [[1.0, 2.0, 4.0], [5.0, 7.0, 3.0]]


def base(T, look, dtype="float32"):
    return LOOKS[look](T.tensor(VALUES).to(getattr(T, dtype)))


# ---------------------------------------------------------------- real and imaginary parts


@looks
@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "int64"])
@pytest.mark.parametrize(
    "value", [5, 2.5, True, lambda T: T.tensor(7), lambda T: T.tensor([1.5, 2.5]), lambda T: T.ones(2, 1) * 3]
)
def test_parts_are_assigned_to(look, part, dtype, value):
    def call(T):
        x = base(T, look, dtype)
        setattr(x, part, value(T) if callable(value) else value)
        return x

    same(call)


def test_assigning_to_a_part_is_recorded():
    def call(T):
        x, y = T.ones(2, dtype=T.complex64, requires_grad=True), T.ones(2, requires_grad=True)
        z = x * 2
        z.real = y * 3
        T.view_as_real(z).sum().backward()
        return T.view_as_real(x.grad), y.grad

    assert isinstance(same(call), list)


# ---------------------------------------------------------------- arguments


@looks
@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: T.roll(x, 1, dims=None),
        lambda T, x: x.roll(1, None),
        lambda T, x: T.roll(x, (1, 2), dims=None),
        lambda T, x: x.roll((1,), ()),
        lambda T, x: T.histogram(x),
        lambda T, x: x.histogram(range=(0.0, 3.0), density=True),
        lambda T, x: T.diff(x, 0),
        lambda T, x: T.diff(x, 0, prepend=T.ones(x.shape[:-1] + (1,))),
        lambda T, x: T.diff(x, 0, append=T.ones(x.shape[:-1] + (2,))),
        lambda T, x: T.diff(x, 0, append=T.ones(5, 5, 5)),
        lambda T, x: T.gradient(x + 1, spacing=None, dim=None),
        lambda T, x: T.gradient(x, spacing=None, dim=0),
        lambda T, x: (x.clone() + 3).mvlgamma_(p=2),
        lambda T, x: T.mvlgamma(T.tensor([0.0, 0.5, 1.0, -1.0, 2.0, float("nan")]), 3),
        lambda T, x: T.set_num_threads("2"),
        lambda T, x: T.set_num_threads(1.5),
        lambda T, x: T.set_num_threads(0),
        lambda T, x: x.double().float_power_(exponent=2),
        lambda T, x: x.__rdiv__(2),
        lambda T, x: x.__div__(2),
        lambda T, x: x.clone().__idiv__(2),
    ],
)
def test_arguments_are_taken_as_there(look, call):
    same(lambda T: call(T, base(T, look)))


@looks
@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("number", [True, 7, 7.5])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_numbers_are_divided_with_rounding(look, mode, number, dtype):
    assert isinstance(same(lambda T: T.div(number, base(T, look, dtype), rounding_mode=mode)), tuple)


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
@pytest.mark.parametrize("name", ["sub", "rsub", "heaviside", "sub_", "bitwise_and_", "bitwise_or_", "bitwise_xor_"])
@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2), ()])
def test_pairs_of_dtypes_are_refused_as_there(left, right, name, shape):
    def call(T):
        x, y = T.ones(2, dtype=getattr(T, left)), T.ones(shape, dtype=getattr(T, right))
        return getattr(x if name.endswith("_") else T, name)(*([y] if name.endswith("_") else [x, y]))

    ours, theirs = outcome(call, strided), outcome(call, torch_ref)
    assert (ours if isinstance(ours, str) else "result") == (theirs if isinstance(theirs, str) else "result")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_subtraction_of_bools_and_numbers_is_refused_as_there(dtype, number):
    x = lambda T: T.ones(2, dtype=getattr(T, dtype))
    for call in (
        lambda T: x(T) - number,
        lambda T: number - x(T),
        lambda T: x(T).sub_(number),
        lambda T: T.sub(x(T), number, alpha=1),
    ):
        same(call)


def test_in_place_bitwise_operations_look_at_the_target_before_the_dtype():
    ints = strided.ones(2, dtype=strided.int32)
    with pytest.raises(RuntimeError, match="output with shape"):
        ints.bitwise_or_(strided.ones(2, 2))
    with pytest.raises(RuntimeError, match="can't be cast"):
        ints.bitwise_and_(strided.ones(2))
    with pytest.raises(NotImplementedError):
        strided.ones(2).bitwise_and_(strided.ones(2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["positive", "conj_physical", "__pos__"])
def test_operations_with_nothing_to_do_return_the_tensor(dtype, name):
    def call(T):
        x = T.ones(2, dtype=getattr(T, dtype))
        return getattr(x, name)() is x

    same(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda T: T.arange(0, 1, 0),
        lambda T: T.arange(0, -1, 1),
        lambda T: T.arange(0, float("inf")),
        lambda T: T.arange("a"),
        lambda T: T.arange(),
        lambda T: T.range(0, 1, 0),
        lambda T: T.linspace(0, 1),
        lambda T: T.linspace(0, 1, -1),
        lambda T: T.linspace(0, 1, 2.5),
        lambda T: T.linspace(0, 1, None),
        lambda T: T.linspace("a", 1, 3),
        lambda T: T.logspace(0, 1, -1),
    ],
)
def test_ranges_raise_the_same_errors(call):
    assert isinstance(same(call), str)


# ---------------------------------------------------------------- memory formats

FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
SHAPES = [(2, 3, 4, 5), (1, 3, 1, 2), (2, 3, 2, 4, 5), (2, 3), (3,), ()]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", [False, True])
def test_memory_formats(name, shape, turned):
    def x(T):
        made = T.arange(float(np.prod(shape))).reshape(shape)
        return made.transpose(0, -1) if turned and shape else made

    for use in (
        lambda T, f: x(T).contiguous(memory_format=f),
        lambda T, f: x(T).is_contiguous(memory_format=f),
        lambda T, f: x(T).clone(memory_format=f),
        lambda T, f: x(T).clone(memory_format=f).is_contiguous(memory_format=f),
        lambda T, f: x(T).clone(memory_format=f).clone(),
        lambda T, f: x(T).to(T.float64, memory_format=f),
        lambda T, f: x(T).double(memory_format=f),
        lambda T, f: T.zeros_like(x(T), memory_format=f),
        lambda T, f: T.ones_like(x(T), memory_format=f),
        lambda T, f: T.full_like(x(T), 3.0, memory_format=f),
        lambda T, f: T.empty_like(x(T), memory_format=f).stride(),
        lambda T, f: T.rand_like(x(T), memory_format=f).stride(),
        lambda T, f: T.empty(shape, memory_format=f).stride(),
        lambda T, f: T.empty(3).resize_(shape, memory_format=f).stride(),
        lambda T, f: T.clone(x(T).requires_grad_() * 1, memory_format=f),
    ):
        same(lambda T: use(T, getattr(T, name)))


def test_gradients_pass_through_memory_formats():
    x = strided.arange(120.0).reshape(2, 3, 4, 5).requires_grad_()
    weights = strided.arange(120.0).reshape(2, 3, 4, 5)
    (x.contiguous(memory_format=strided.channels_last) * weights).sum().backward()
    assert x.grad.equal(weights)


def test_an_unknown_memory_format_is_refused():
    with pytest.raises(TypeError, match="memory_format"):
        strided.ones(2).clone(memory_format=3)


# ---------------------------------------------------------------- pickles and NumPy


@looks
@pytest.mark.parametrize("record", [False, True])
def test_pickles_keep_the_layout_and_requires_grad(look, record):
    def call(T):
        x = base(T, look)
        return pickle.loads(pickle.dumps(x.requires_grad_() * 2 if record else x.clone()))

    ours = pickle.loads(pickle.dumps(base(strided, look).requires_grad_() * 2))
    assert ours.is_leaf
    same(call)


def test_a_shallow_copy_of_a_result_is_a_leaf_on_its_memory():
    for T in (strided, torch_ref):
        y = T.ones(2, requires_grad=True) * 2
        made = copy.copy(y)
        assert made.is_leaf and made.requires_grad and made.data_ptr() == y.data_ptr()


def test_pickled_parameters_keep_their_attributes():
    for T in (strided, torch_ref):
        p = T.nn.Parameter(T.ones(2), requires_grad=False)
        assert pickle.loads(pickle.dumps(p)).__dict__ == {}
        p.note = [1]
        made = pickle.loads(pickle.dumps(p))
        assert type(made) is T.nn.Parameter and not made.requires_grad and made.__dict__ == {"note": [1]}


@looks
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "function",
    [
        np.sqrt,
        np.negative,
        np.conjugate,
        lambda x: np.add(x, x),
        lambda x: np.add(np.ones((), np.float32), x),
        lambda x: np.add(x, np.ones(1, np.float64)),
        lambda x: np.sqrt(x, out=np.zeros(x.shape, np.complex128)),
        lambda x: np.sqrt(x, out=x.clone()),
        lambda x: np.frexp(x),
    ],
)
def test_functions_of_numpy_give_tensors(look, dtype, function):
    def call(T):
        result = function(base(T, look, dtype))
        return ["array", result.tolist()] if isinstance(result, np.ndarray) else result

    same(call)


def test_functions_of_numpy_give_bool_tensors_and_refuse_recorded_ones():
    assert np.isnan(strided.tensor([1.0, float("nan")])).tolist() == [False, True]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.sin(strided.ones(2, requires_grad=True))


def test_operators_of_arrays_and_tensors_give_tensors_with_gradients():
    x = strided.ones(2, requires_grad=True)
    for result in (np.ones(2) + x, np.float64(2) * x, np.ones((2, 2)) @ x.double(), np.float32(1) - x):
        assert isinstance(result, strided.Tensor) and result.requires_grad


# ---------------------------------------------------------------- kernels' names, initial values


NATIVE = {
    "layer_norm": lambda T, x, w: T.native_layer_norm(x, [4], None, None, 1e-5),
    "group_norm": lambda T, x, w: T.native_group_norm(x, w, w, 2, 3, 4, 3, 1e-5),
    "batch_norm": lambda T, x, w: T.native_batch_norm(x, w, None, None, None, True, 0.1, 1e-5),
    "batch_norm, not training": lambda T, x, w: T.native_batch_norm(x, w, w, w - 1, w, False, 0.1, 1e-5),
    "dropout": lambda T, x, w: (T.manual_seed(3), T.native_dropout(x, 0.4, True))[1],
    "all dropped": lambda T, x, w: (T.manual_seed(3), T.native_dropout(x, 1.0, None), T.rand(2))[1:],
    "softmax": lambda T, x, w: T._softmax_backward_data(x, x.softmax(1), 1, x.dtype),
    "log_softmax": lambda T, x, w: T._log_softmax_backward_data(x, x.log_softmax(1), 1, x.dtype),
}


@pytest.mark.parametrize("name", NATIVE)
def test_names_of_kernels(name):
    def call(T):
        x = T.arange(24.0, dtype=T.float64).reshape(2, 3, 4).sin()
        return NATIVE[name](T, x, T.tensor([1.0, 2.0, 3.0], dtype=T.float64))

    same(call)


@pytest.mark.parametrize("a, b", [(-2.0, 2.0), (1.0, 2.0), (-2.0, -1.5), (0.0, 9.0)])
@pytest.mark.parametrize("std", [1.0, 0.5])
@pytest.mark.filterwarnings("ignore:mean is more than 2 std")
def test_trunc_normal(a, b, std):
    def call(T):
        T.manual_seed(5)
        return T.nn.init.trunc_normal_(T.empty(6, 5, dtype=T.float64), 0.2, std, a, b), T.rand(1)

    same(call)


@pytest.mark.parametrize("wanted", [None, True, False])
@pytest.mark.parametrize("made", ["plain", "leaf", "computed"])
@pytest.mark.filterwarnings("ignore:torch.asarray")
def test_asarray_of_a_tensor(made, wanted):
    def call(T):
        x = T.ones(2, requires_grad=made != "plain")
        return T.asarray(x + 1 if made == "computed" else x, requires_grad=wanted)

    same(call)


# ---------------------------------------------------------------- truth values, complex exponentials, tolerances


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (3, 2), (True, False), (1, 0.5)])
def test_addr_of_bool(beta, alpha):
    def call(T):
        x, y, z = (T.tensor(v) for v in ([[True, False], [False, False]], [True, False], [True, True]))
        return T.addr(x, y, z, beta=beta, alpha=alpha)

    same(call)


@pytest.mark.parametrize("dim", [0, 1, (0, 1), -1])
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logsumexp_of_complex(dim, keepdim, dtype):
    def call(T):
        x = T.tensor([[1 + 2j, 3 - 1j, -4j], [-math.inf, 2.0, 800 + 1j]]).to(getattr(T, dtype)).requires_grad_()
        y = T.logsumexp(x, dim, keepdim)
        (gradient,) = T.autograd.grad(y, x, T.ones_like(y) * (1 - 0.5j))
        return y, gradient, T.special.logsumexp(x[:, :0], 1)

    same(call)


@pytest.mark.parametrize("tolerance", [{"rtol": -1.0}, {"atol": -0.5}, {"rtol": 0.0, "atol": 0.0}])
@pytest.mark.parametrize("name", ["isclose", "allclose"])
def test_tolerances(name, tolerance):
    same(lambda T: getattr(T, name)(T.ones(2), T.ones(2), **tolerance))


def test_writes_to_nothing():
    """Without elements there is none twice."""
    same(lambda T: T.empty(0).expand(3, 0).fill_(1))
    same(lambda T: T.rand_like(T.empty_strided((3, 0, 2), (0, 2, 1))).shape)


# ---------------------------------------------------------------- functions of networks under the core's names


CORE = {
    "log_sigmoid": lambda f, T: f(T.tensor([-1.0, 2.0])),
    "elu_": lambda f, T: f(T.tensor([-1.0, 2.0])),
    "silu_": lambda f, T: f(T.tensor([-1.0, 2.0])),
    "hardtanh_": lambda f, T: f(T.tensor([-1.5, 2.0])),
    "leaky_relu_": lambda f, T: f(T.tensor([-1.5, 2.0])),
    "im2col": lambda f, T: f(T.arange(16.0).view(1, 1, 4, 4), (2, 2), (1, 1), (0, 0), (1, 1)),
    "adaptive_max_pool2d": lambda f, T: f(T.arange(16.0).view(1, 4, 4), (2, 2)),
    "adaptive_max_pool3d": lambda f, T: f(T.arange(8.0).view(1, 2, 2, 2), (1, 1, 1)),
    "max_pool2d_with_indices": lambda f, T: f(T.arange(16.0).view(1, 4, 4), (2, 2)),
    "l1_loss": lambda f, T: f(T.ones(2), T.zeros(2), 1),
}


@pytest.mark.parametrize("name", CORE)
def test_functions_of_the_core(name):
    same(lambda T: CORE[name](getattr(T._C._nn, name), T))


def test_what_the_core_has_in_another_place():
    assert not any(hasattr(T._C._nn, name) for T in (strided, torch_ref) for name in ("add", "view", "rsub", "t"))


# ---------------------------------------------------------------- the dtype of gradients


def with_dtype(T, dtype):
    x = T.ones(2, requires_grad=True)
    x.grad_dtype = dtype and getattr(T, dtype)
    return x


def widened(T, x):
    class Widened(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.double()

    return Widened.apply(x)


def backward_of(T, dtype, f, *assigned):
    x = with_dtype(T, dtype)
    for given in assigned:
        x.grad = T.ones(2, dtype=getattr(T, given))
    f(T, x).sum().backward()
    return str(x.grad_dtype), x.grad


def named(T, x, dtype):
    x.grad_dtype = dtype
    return str(x.grad_dtype)


GRAD_DTYPES = {
    "half": lambda T: backward_of(T, "float16", lambda T, x: x * 3),
    "wide": lambda T: backward_of(T, "float64", lambda T, x: x * 3),
    "any": lambda T: backward_of(T, None, lambda T, x: x * 3),
    "any, and a wide one comes": lambda T: backward_of(T, None, widened),
    "own, and a wide one comes": lambda T: backward_of(T, "float32", widened),
    "any beside a wide one": lambda T: backward_of(T, None, lambda T, x: x * 3, "float64"),
    "another one is there": lambda T: backward_of(T, "float16", lambda T, x: x * 3, "float32"),
    "gradient of another leaf": lambda T: (lambda x: T.autograd.grad((x * 2).sum(), x))(with_dtype(T, "float64")),
    "not set": lambda T: [str(T.ones(2, dtype=t).grad_dtype) for t in (T.float32, T.int64, T.complex64)],
    "no gradient wanted": lambda T: named(T, T.ones(2), T.float16),
    "result": lambda T: str((T.ones(2, requires_grad=True) * 2).grad_dtype),
    "of a result": lambda T: named(T, T.ones(2, requires_grad=True) * 2, T.float16),
    "text": lambda T: named(T, T.ones(2), "float16"),
}


@pytest.mark.parametrize("name", GRAD_DTYPES)
def test_dtype_of_gradients(name):
    same(GRAD_DTYPES[name])


def test_words_about_dtypes_of_gradients():
    said = []
    for T in (strided, torch_ref):
        x, words = with_dtype(T, "float16"), []
        x.grad = T.ones(2).half()
        for attribute, value in (("grad", T.ones(2)), ("grad_dtype", T.float32), ("grad_dtype", "a")):
            with pytest.raises(RuntimeError) as caught:
                setattr(x, attribute, value)
            words.append(str(caught.value).split(". ")[0].rstrip("."))
        said.append(words)
    assert said[0] == said[1]
