"""gradcheck on right and wrong gradients; then gradcheck and gradgradcheck of everything that has a gradient."""

import elementwise_points as elementwise
import pytest
import strided as torch
from gradient_cases import CASES
from gradient_checks import check_both
from strided.autograd import GradcheckError, gradcheck, gradgradcheck

DOUBLE, COMPLEX = torch.float64, torch.complex128


def leaf(*shape, dtype=DOUBLE):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


# ---------------------------------------------------------------- gradcheck itself


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("dtype", [DOUBLE, COMPLEX], ids=str)
class TestRightAndWrong:
    def test_right(self, dtype, fast):
        x, y = leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype)
        before = x.tolist(), y.tolist()
        for check in (gradcheck, gradgradcheck):
            assert check(lambda x, y: (x * y.exp(), x.sum(), 3), (x, y), fast_mode=fast)
            assert check(lambda x, y, s: x * y + s.sin(), (x, y, 2 * leaf(dtype=dtype)), fast_mode=fast)
        assert (x.tolist(), y.tolist()) == before
        assert x.grad is None

    def test_wrong(self, dtype, fast):
        x, y = leaf(2, 3, dtype=dtype), leaf(3, dtype=dtype)

        def wrong_in_one(x, y):  # row 1 of x counts twice, its gradient once
            doubled = torch.stack([x[0], x[1] + x[1].detach()])
            return x * x, doubled * y

        with pytest.raises(
            GradcheckError, match="Jacobian mismatch for output 1 with respect to input 0.*the largest difference"
        ) as caught:
            gradcheck(wrong_in_one, (x, y), fast_mode=fast)
        assert isinstance(caught.value, RuntimeError)
        assert gradcheck(wrong_in_one, (x, y), raise_exception=False, fast_mode=fast) is False

    def test_wrong_only_in_the_second_order(self, dtype, fast):
        x = leaf(3, dtype=dtype)

        def f(x):  # x^2: its gradient 2 x is right as a number, but half of it counts as constant
            return x * x.detach() + (x - x.detach()) * x.detach()

        def g(x):
            return 2 * x * x.detach() - x.detach() ** 2

        for h in (f, g):
            with pytest.raises(GradcheckError):
                gradgradcheck(h, x, fast_mode=fast)

    def test_gradient_that_is_missing(self, dtype, fast):
        with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
            gradcheck(lambda x: x.detach() * 2, leaf(2, dtype=dtype), fast_mode=fast)
        assert gradcheck(lambda x: torch.zeros(2) + 1, leaf(2, dtype=dtype), fast_mode=fast)


def test_conjugates_are_told_apart():
    z = leaf(3, dtype=COMPLEX)
    # The same function of |z|, right and with the conjugate forgotten.
    assert gradcheck(lambda z: (z * z.conj()).real, z)
    with pytest.raises(GradcheckError):
        gradcheck(lambda z: (z * (z + (z.conj() - z).detach())).real, z)


def test_message_names_the_place():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=DOUBLE, requires_grad=True)

    def f(x):
        return x + torch.tensor([[0.0, 0.0], [1.0, 0.0]]) * x.detach()

    with pytest.raises(
        GradcheckError,
        match=r"is 1, of element \[1, 0\] of the output by element \[1, 0\] of the input: numerical 2, analytical 1\.",
    ):
        gradcheck(f, x)
    z = torch.tensor([1.0 + 1j], requires_grad=True, dtype=COMPLEX)
    with pytest.raises(GradcheckError, match=r"\[0\]\.imag of the output by element \[0\]\.imag of the input"):
        gradcheck(lambda z: torch.complex(z.real, z.imag + z.detach().imag), z)


def test_tolerances():
    x = leaf(3)

    def off(x):
        return x + 1e-4 * x.detach()

    assert gradcheck(off, x)
    with pytest.raises(GradcheckError):
        gradcheck(off, x, atol=1e-6, rtol=1e-6)
    assert gradcheck(lambda x: x**3, x, eps=1e-4, rtol=1e-6, atol=1e-6)


def test_backward_that_is_not_reentrant():
    # A function that is not the same each time is no function.
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x * torch.rand(3, dtype=DOUBLE), leaf(3))


def test_bad_arguments():
    x = leaf(2)
    with pytest.raises(ValueError, match="gradcheck expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, torch.ones(2))
    with pytest.raises(RuntimeError, match="The 1th input has a dimension with stride 0"):
        gradcheck(lambda x, y: x + y, (x, torch.ones(1, dtype=DOUBLE).expand(2).requires_grad_()))
    with pytest.raises(NotImplementedError, match="check_batched_forward_grad"):
        gradcheck(lambda x: x, x, check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="requires check_forward_ad to be True"):
        gradcheck(lambda x: x, x, check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(lambda x: x, x, check_backward_ad=False)
    with pytest.raises(ValueError, match="at least one of check_forward_ad or check_backward_ad"):
        gradgradcheck(lambda x: x, x, check_rev_over_rev=False)
    with pytest.raises(ValueError, match="1 outputs require a gradient, but 2 grad_outputs"):
        gradgradcheck(lambda x: x * x, x, (leaf(2), leaf(2)))
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x, torch.ones(2, requires_grad=True), raise_exception=False)
    assert gradcheck(
        lambda x: x * 1, x, check_undefined_grad=False, check_grad_dtypes=True, nondet_tol=1e-9, masked=True
    )
    assert gradgradcheck(lambda x: x**3, x, [leaf(2)], gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


def test_inputs_keep_their_values_after_an_error():
    x = leaf(2)
    before, calls = x.tolist(), []

    def fails_late(x):
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("mine")
        return x * 2

    with pytest.raises(KeyError, match="mine"):
        gradcheck(fails_late, x)
    assert x.tolist() == before


def test_computed_inputs_and_empty_ones():
    x = leaf(3).exp() * 2
    assert not x.is_leaf and gradcheck(torch.sin, x) and gradgradcheck(torch.sin, x)
    for fast in (False, True):
        for check in (gradcheck, gradgradcheck):
            assert check(lambda x, y: (x * 2, y * y), (leaf(0, 3), leaf(2)), fast_mode=fast)


# ---------------------------------------------------------------- layouts


def laid_out(x, layout):
    """The values of x in other strides, as a leaf that requires a gradient."""
    if layout == "transposed":
        x = x.permute([*reversed(range(x.ndim))]).contiguous().permute([*reversed(range(x.ndim))])
    elif layout == "gaps":
        x = torch.stack([x, x], -1)[..., 0]
    return x.detach().requires_grad_()


# ---------------------------------------------------------------- the elementwise table

LAYOUTS = ["contiguous", "transposed", "gaps", "broadcast", "0-d"]
NONE = elementwise.NONE  # operands without a derivative, in PyTorch too


def elementwise_inputs(name, layout, complex_):
    arrays = elementwise.points(name, complex_)[: elementwise.arity(name)]
    inputs = []
    for i, a in enumerate(arrays):
        if layout == "0-d":
            x = torch.tensor(a[0])
        elif layout == "broadcast":  # (2, 1), (3,) and a number meet
            x = torch.tensor([a[:2, None], a[2:5], a[5]][i % 3])
        else:
            x = torch.tensor(a[:6].reshape(2, 3))
        inputs.append(x.detach() if (name, i) in NONE else laid_out(x, layout))
    return inputs


TABLE = [
    pytest.param(name, layout, kind == "complex128", id=f"{name} {kind} {layout}")
    for name, row in elementwise.ROWS.items()
    if name not in elementwise.ONCE
    for kind in ("float64", "complex128")
    for layout in LAYOUTS
    if kind in row["out_dtypes"] and any((name, i) not in NONE for i in range(elementwise.arity(name)))
]


@pytest.mark.parametrize("name, layout, complex_", TABLE)
def test_elementwise(name, layout, complex_):
    inputs = elementwise_inputs(name, layout, complex_)

    def f(*xs):
        if layout == "broadcast" and len(xs) == 1:
            xs = [xs[0].expand(2, 3)]
        return elementwise.call(name, xs)

    check_both(f, inputs, fast=layout != "contiguous")


@pytest.mark.parametrize("name", [n for n, row in elementwise.ROWS.items() if row["inplace"] and (n, 0) not in NONE])
def test_elementwise_in_place(name):
    """The same gradients through the form that overwrites a computed tensor."""
    if "." in name:
        pytest.skip("has no method")
    xs = elementwise_inputs(name, "contiguous", False)
    params = {"value": 1.5} if name in ("addcmul", "addcdiv") else elementwise.params_of(name)
    overwrite = getattr(torch.Tensor, name + "_", None) or getattr(torch, name + "_")

    def f(x, *rest):
        y = overwrite(x * 1, *params.values(), *rest) if name == "polygamma" else overwrite(x * 1, *rest, **params)
        return y * x

    check_both(f, xs)


# ---------------------------------------------------------------- everything else


def irregular():
    for name, case in CASES.items():
        options = case[-1] if isinstance(case[-1], dict) else {}
        makers = [m for m in case[1:] if not isinstance(m, dict)]
        for letter in options.get("kinds", "rc"):
            layouts = ["contiguous"] if name.startswith("0-d") else ["contiguous", "transposed", "gaps"]
            if options.get("broadcast", True) and not name.startswith("0-d"):
                layouts.append("broadcast")
            for layout in layouts:
                dtype = DOUBLE if letter == "r" else COMPLEX
                yield pytest.param(case[0], makers, dtype, layout, id=f"{name} {str(dtype)[6:]} {layout}")


@pytest.mark.parametrize("f, makers, dtype, layout", list(irregular()))
def test_irregular(f, makers, dtype, layout):
    inputs = [make(dtype) for make in makers]
    if layout == "broadcast":  # each input is one row of what the function gets
        shapes = [x.shape for x in inputs]
        inputs = [laid_out(x[:1] if x.ndim else x, "contiguous") for x in inputs]
        check_both(lambda *xs: f(*(x.expand(s) for x, s in zip(xs, shapes))), inputs)
    else:
        check_both(f, [laid_out(x, layout) for x in inputs], fast=layout != "contiguous")


# Formulas that use what the forward saved: results, factors.
THIRD_ORDER = [
    "prod", "prod zeros", "cumprod", "cumprod zeros", "logcumsumexp", "softmax", "log_softmax", "logsumexp", "std",
    "norm 3 keepdim", "dist", "inv", "solve", "solve right", "solve vector", "lu_factor", "lu_solve", "cholesky",
    "cholesky_solve", "det", "det singular", "slogdet", "solve_triangular", "scatter_reduce prod",
    "scatter_reduce prod long zeros", "vdot", "vecdot", "linalg.cross",
]  # fmt: skip


@pytest.mark.parametrize("name", THIRD_ORDER)
def test_third_order(name):
    f, *makers = CASES[name]
    options = makers.pop() if isinstance(makers[-1], dict) else {}
    dtype = COMPLEX if "c" in options.get("kinds", "rc") else DOUBLE
    inputs = [make(dtype).requires_grad_() for make in makers]

    def gradient(*xs):
        results = f(*xs)
        results = list(results) if isinstance(results, tuple) else [results]
        weights = [torch.ones(r.shape, dtype=r.dtype) * (1 - 0.5j if r.dtype.is_complex else 1) for r in results]
        return torch.autograd.grad(results, xs, weights, create_graph=True)

    assert gradgradcheck(gradient, inputs, fast_mode=True, atol=1e-4)


def test_a_constant_output_beside_others_is_let_go():
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    for fast in (False, True):
        assert gradcheck(lambda x: (x * 2, x.detach() * 3), x, fast_mode=fast)
        with pytest.raises(RuntimeError, match="expected to be zero"):
            gradcheck(lambda x: x.detach() * 3, x, fast_mode=fast)


def test_an_input_that_is_no_leaf_is_the_function_s_own():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True) * 2
    assert gradcheck(lambda _: (x * x).sum(), (x,))  # the function reads the object that was given


@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_that_are_parts_of_one_tensor(fast_mode):
    """Elements are changed without word to the graphs of such views, which nobody may write to."""
    q, k = (part.view(2, 4, 2).transpose(1, 2) for part in leaf(2, 4, 4).chunk(2, dim=-1))
    kept, version = q.clone(), q._version
    assert gradcheck(torch.matmul, (q, k.transpose(1, 2)), fast_mode=fast_mode)
    assert torch.equal(q, kept) and q._version == version
