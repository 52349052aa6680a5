"""ElementwiseKernel: its parsing and its code, which NVRTC compiles without a GPU. tests/gpu runs it."""

import pytest
import strided as torch
from strided.cuda import ElementwiseKernel


def test_parameters():
    k = ElementwiseKernel("T x, float32 a", "U y", "y = a * x", name="scale")
    assert (k.inputs, k.outputs, k.name) == ([("T", "x"), ("float32", "a")], [("U", "y")], "scale")


@pytest.mark.parametrize(
    "args, text",
    [
        (("T", "T y", ""), "must read like"),
        (("float31 x", "T y", ""), "'float31' is no dtype"),
        (("T x", "T x", ""), "names must differ"),
        (("T i", "T y", ""), "names must differ"),
        (("T x", "", ""), "there must be an output"),
        (("T x", "T y", "", "a b"), "name must be an identifier"),
    ],
)
def test_bad_parameters(args, text):
    with pytest.raises(ValueError, match=text):
        ElementwiseKernel(*args)


def test_calls_that_cannot_be():
    k = ElementwiseKernel("T x, T y", "T z", "z = x + y")
    x = torch.ones(3)
    with pytest.raises(TypeError, match="2 inputs"):
        k(x)
    with pytest.raises(RuntimeError, match="must be on one CUDA device, got \\['cpu'\\]"):
        k(x, x)
    with pytest.raises(RuntimeError, match="must be on one CUDA device, got \\[\\]"):
        k(1, 2)
    with pytest.raises(TypeError, match="T is float32, but y is float64"):
        k._types([x, x.double(), None])
    with pytest.raises(TypeError, match="no tensor tells what T"):
        k._types([1, 2, None])
    with pytest.raises(TypeError, match="x must be int32"):
        ElementwiseKernel("int32 x", "T y", "")._types([x, x])


def test_every_dtype_has_a_name():
    from strided.cuda._elementwise_kernel import _c_name

    names = [_c_name(str(d)[6:]) for d in torch._C.dtypes if not str(d).startswith("torch.float8")]
    assert len(set(names)) == len(names)
    with pytest.raises(TypeError, match="not implemented for torch.float8_e5m2"):
        _c_name("float8_e5m2")


def test_axes():
    from strided.cuda._elementwise_kernel import _merged

    assert _merged((2, 3, 4), [(12, 4, 1), (12, 4, 1)]) == [(24, [1, 1])]
    assert _merged((2, 3, 4), [(12, 4, 1), (0, 4, 1)]) == [(12, [1, 1]), (2, [12, 0])]
    assert _merged((2, 1, 4), [(1, 7, 2)]) == [(4, [2]), (2, [1])]
    assert _merged((), [()]) == [] == _merged((1, 1), [(5, 5)])


def compiled(kernel, *args, **kwargs):
    pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    try:
        return kernel.compile(*args, **kwargs)
    except Exception as error:
        if "DynamicLib" in type(error).__name__:
            pytest.skip("NVRTC is not installed")
        raise


@pytest.mark.parametrize("ndim, arch", [(0, "sm_80"), (1, "sm_90"), (3, "sm_80")])
def test_it_compiles(ndim, arch):
    k = ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y", name="axpy")
    for dtype in ("float32", "float16", "bfloat16", "float64", "complex64", "int8", "uint64"):
        code = compiled(k, [dtype] * 4, ndim, arch)
        assert code[:4] == b"\x7fELF" and b"axpy" in code
    assert code is not compiled(k, ["int32"] * 4, ndim, arch)
    assert code is compiled(k, ["uint64"] * 4, ndim, arch)
    assert compiled(k, ["float32"] * 4, ndim, arch, by_value=(2,))[:4] == b"\x7fELF"


def test_two_outputs_and_a_preamble():
    k = ElementwiseKernel(
        "T x",
        "T s, int64 at",
        "s = twice(x); at = i + n",
        preamble="template <class T> __device__ T twice(T v) { return v + v; }",
    )
    assert compiled(k, ["float32", "float32", "int64"], 2, "sm_80")[:4] == b"\x7fELF"


def test_code_that_does_not_compile():
    k = ElementwiseKernel("T x", "T y", "y = nonsense(x)")
    with pytest.raises(RuntimeError, match='the code does not compile(.|\n)*"nonsense" is undefined'):
        compiled(k, ["float32"] * 2, 1, "sm_80")
