"""Every elementwise op beside PyTorch's, on special values: result dtype, value, gradient."""

import functools
import itertools
import math

import pytest
import strided

torch = pytest.importorskip("torch")

ROWS = {row["name"]: row for row in strided._C.ops_table()}
INF, NAN = math.inf, math.nan
FLOAT = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    0.3,
    1.5,
    -1.5,
    2.5,
    -2.5,
    3.0,
    7.0,
    0.1,
    20.0,
    -20.0,
    50.5,
    1000.25,
    0.999,
    5e-3,
    3e4,
    INF,
    -INF,
    NAN,
]
COMPLEX = [complex(a, b) for a in (0.0, 1.0, -1.0, 0.3, -2.5) for b in (0.0, 1.0, -0.7, 3.0)]
INT = [0, 1, -1, 2, -2, 3, -3, 5, 7, -7, 8, 31, 63, 64, 100, -100]
PARAMS = {
    "polygamma": [{"n": 0}, {"n": 1}, {"n": 3}],
    "round": [{}, {"decimals": 2}, {"decimals": -1}],
    "logit": [{}, {"eps": 0.1}],
    "threshold": [{"threshold": 0.5, "value": 7.0}, {"threshold": -1.0, "value": 2.0}],
    "_threshold_grad": [{"threshold": 0.5}, {"threshold": 0.3}],
    "nn.functional.elu": [{}, {"alpha": 0.5, "scale": 2.0, "input_scale": 1.5}],
    "_elu_grad": [{}, {"alpha": 0.5, "scale": 2.0, "input_scale": 1.5}],
    "nn.functional.softplus": [{}, {"beta": 2.0, "threshold": 1.0}],
    "_huber": [{}, {"delta": 0.25}],
    "_huber_slope": [{}, {"delta": 0.25}],
    "_softplus_grad": [{}, {"beta": 2.0, "threshold": 1.0}],
    "nn.functional.hardtanh": [{}, {"min_val": -2.0, "max_val": 0.5}],
    "_hardtanh_grad": [{}, {"min_val": -2.5, "max_val": 0.3}],
    "_softshrink": [{}, {"lambd": 2.0}],
    "nn.functional.leaky_relu": [{}, {"negative_slope": 0.25}],
}
# Which of 0.0 and -0.0 is larger is left open; PyTorch's i1(-0.0) is 0.0.
SIGNLESS = {
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clamp_min",
    "clamp_max",
    "clamp",
    "special.i1",
    "special.i1e",
    "sinc",
    "logaddexp2",
    "_softshrink",
    *(name for name in ROWS if "_polynomial_" in name),
    *(name for name in ROWS if name.startswith(("_gelu", "_prelu", "_silu", "_mish", "_hardswish"))),
}
BESSEL = {name for name in ROWS if "bessel" in name or "airy" in name}
# Where PyTorch's own answer is less exact (factors on the tolerance),
LOOSE = {
    **dict.fromkeys(BESSEL, 1e9),  # test_special_accuracy.py compares with 22 digits
    **dict.fromkeys((name for name in ROWS if "_polynomial_" in name), 1e3),
    "polygamma": 1e8,
    "special.zeta": 1e5,
    "digamma": 100,
    "lgamma": 100,
    "igamma": 1e7,
    "igammac": 1e7,
    "special.log_ndtr": 100,
    "_gelu_grad": 100,
    "_gelu_tanh_grad": 100,
    "_silu_grad": 100,
    "_mish_grad": 100,
}
# rounds what should be 0,
ABSOLUTE = {
    *BESSEL, *(name for name in ROWS if "_polynomial_" in name),
    "sinc", "logaddexp2", "lerp", "special.ndtr", "_gelu", "_gelu_grad", "_gelu_tanh", "_gelu_tanh_grad", "_silu_grad",
    "_mish_grad", "nn.functional.tanhshrink", "_hardswish_grad", "_logsigmoid_grad",
}  # fmt: skip
# or has NaN, or a large number, where there is a limit.
FINITE = {
    "i0", "special.i1", "special.i1e", "igamma", "igammac", "special.zeta", "sinc", "polygamma", "_hardswish_grad",
    "_silu_grad", "_mish_grad", "_gelu_tanh_grad", "_gelu_grad", "_logsigmoid_grad", *BESSEL,
}  # fmt: skip


def derivative(function):
    """(grad, input, ...) -> grad times the derivative of the function at input."""

    def grad(g, x, *rest, **params):
        with torch.enable_grad():
            x = x if x.requires_grad else x.detach().requires_grad_()
            return torch.autograd.grad(function(x, *rest, **params), x, g, create_graph=True)[0]

    return grad


def activation(name):
    """PyTorch's function behind an op of the file elementwise_activation.h or elementwise_piecewise.h; None for
    others."""
    if name.endswith("_grad"):
        of = name[1 : -len("_grad")]
        forward = {"prelu": "_prelu_kernel", "gelu": "_gelu", "gelu_tanh": "_gelu_tanh"}.get(of, "nn.functional." + of)
        return derivative(activation(forward))
    own = {
        "_gelu": torch.nn.functional.gelu,
        "_gelu_tanh": functools.partial(torch.nn.functional.gelu, approximate="tanh"),
        "_prelu_kernel": torch._prelu_kernel,
        "_softsign": torch.nn.functional.softsign,
        "_softshrink": torch.nn.functional.softshrink,
        "nn.functional.elu": torch._C._nn.elu,
        "nn.functional.threshold": functools.partial(torch.nn.functional.threshold, value=0.0),
    }
    if name in own:
        return own[name]
    return getattr(torch.nn.functional, name[14:]) if name.startswith("nn.functional.") else None


def reference(name):
    if activation(name):
        return activation(name)
    if name == "_div_trunc":
        return lambda a, b: torch.div(a, b, rounding_mode="trunc")
    if name in ("_times_number", "_over_number"):
        return lambda x, number=1: x * number if name == "_times_number" else x / number
    if name in ("_cube", "_inverse_square"):
        return lambda x: x ** (3 if name == "_cube" else -2)
    if name == "_huber_slope":
        return lambda a, b, delta=1.0: (a - b).clamp(-delta, delta)
    if name == "_huber":
        return functools.partial(torch.nn.functional.huber_loss, reduction="none")
    if name in ("_sigmoid_backward", "_tanh_backward"):
        return getattr(torch.ops.aten, name[1:])
    if name == "polygamma":
        return lambda x, n: torch.polygamma(n, x)
    if name.startswith("special."):
        return getattr(torch.special, name[8:])
    return getattr(torch, name)


def columns(name, dtype):
    if dtype == "bool":
        values = [False, True]
    elif dtype.startswith("complex"):
        values = COMPLEX
    elif "float" in dtype:
        values = FLOAT
    else:
        info = torch.iinfo(getattr(torch, dtype))
        values = [v for v in INT + [info.max, info.min, info.max - 1] if info.min <= v <= info.max]
    arity = 3 if name in ("addcmul", "addcdiv") else ROWS[name]["arity"]
    if arity == 3:
        values = values[:: max(1, len(values) // 8)]
    rows = list(itertools.product(values, repeat=arity))
    if "_polynomial_" in name:  # beyond, and for other degrees, PyTorch loses digits, or has NaN for infinity
        rows = list(itertools.product([v for v in values if abs(v) <= 3], range(-1, 7)))
    if name in ("_div_trunc", "floor_divide", "remainder", "fmod") and "float" not in dtype:
        rows = [r for r in rows if r[1] != 0 and not (r[1] == -1 and r[0] < -100)]
    if name in ("gcd", "lcm"):  # where the result overflows PyTorch's own depends on the dtype
        rows = [r for r in rows if -128 not in r and abs(r[0] * r[1]) <= torch.iinfo(getattr(torch, dtype)).max]
    if name in FINITE:  # (J1 of PyTorch is 0.0 at -0.0)
        rows = [r for r in rows if all(abs(v) < INF for v in r) and not (name == "polygamma" and r[0] <= 0)]
    if name == "special.zeta":
        rows = [r for r in rows if r[0] > 1 and r[1] > 0]
    if name == "pow" and dtype.startswith("complex"):
        rows = [r for r in rows if r[0] != 0]
    if name == "ldexp":  # where 2^other itself overflows: of floating exponents PyTorch multiplies with that
        most = 10 if dtype in ("float16", "bfloat16") else 120
        rows = [r for r in rows if not abs(r[1]) > most]
    return list(zip(*rows))


def cases():
    # Hardly anything is implemented for these in PyTorch.
    missing = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
    return [pytest.param(n, d, id=f"{n}-{d}") for n, row in ROWS.items() for d in row["out_dtypes"] if d not in missing]


def to_torch(x):
    return torch.tensor(x.tolist(), dtype=getattr(torch, str(x.dtype)[6:]))


def run(name, dtype, module, function, params, grad=False):
    ins = [module.tensor(c, dtype=getattr(module, dtype)) for c in columns(name, dtype)]
    if grad:
        for x in ins:
            x.requires_grad_()
    kw = dict(params, value=2) if name in ("addcmul", "addcdiv") else params
    return ins, function(*ins, **kw)


def compare(name, dtype, got, want, ins):
    if not (want.is_floating_point() or want.is_complex()):
        assert torch.equal(got, want), [
            (x[0], x[1:]) for x in zip(got.tolist(), want.tolist(), *(i.tolist() for i in ins)) if x[0] != x[1]
        ][:5]
        return
    eps = torch.finfo(want.dtype).eps
    tiny = torch.finfo(want.dtype).tiny
    a, b = got.detach(), want.detach()
    scale = b.abs().double()
    if name in ABSOLUTE:
        scale = scale.clamp(min=1)
    if want.is_complex():
        a, b, scale = torch.view_as_real(a), torch.view_as_real(b), scale.unsqueeze(-1)
    a, b = a.double(), b.double()
    same = (a == b) | (a.isnan() & b.isnan())
    if not want.is_complex() and name not in SIGNLESS:
        same &= (a != 0) | (torch.signbit(a) == torch.signbit(b))
    close = (a - b).abs() <= eps * (16 if want.is_complex() else 4) * LOOSE.get(name, 1) * scale + tiny
    ok = same | (close & ((a != 0) | (b != 0)))
    if want.is_complex():
        ok = ok.all(-1)
    bad = (~ok).nonzero().flatten().tolist()
    assert not bad, [(got[i].item(), want[i].item(), [x[i].item() for x in ins]) for i in bad[:5]]


@pytest.mark.parametrize("name, dtype", cases())
def test_values(name, dtype):
    for params in PARAMS.get(name, [{}]):
        try:
            ins, want = run(name, dtype, torch, reference(name), params)
        except (RuntimeError, NotImplementedError):
            continue  # ours accepts more
        _, got = run(name, dtype, strided, strided._C.functions[name], params)
        assert str(got.dtype) == str(want.dtype)
        got = to_torch(got)
        if name in ("fmod", "remainder"):  # PyTorch's vectorised fmod loses large quotients
            keep = (
                ~(ins[0].double() / ins[1].double()).abs().gt(2.0**20)
                if "float" in dtype
                else torch.ones_like(ins[0], dtype=torch.bool)
            )
            got, want, ins = got[keep], want[keep], [x[keep] for x in ins]
        if name == "_hardtanh_grad":  # PyTorch's vectors give 0 for NaN, its other code grad
            keep = ~ins[1].isnan()
            got, want, ins = got[keep], want[keep], [x[keep] for x in ins]
        if name == "_gelu":  # PyTorch's AVX-512 code gives NaN at infinity, its other code infinity
            keep = ~ins[0].isinf()
            got, want, ins = got[keep], want[keep], [x[keep] for x in ins]
        if name in ("_div_trunc", "floor_divide") and dtype in ("float16", "bfloat16"):
            continue  # PyTorch rounds the quotient to 16 bits before it truncates
        compare(name, dtype, got, want, ins)


# At these points the gradients differ on purpose: (operand tuple) -> True.
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_ldexp_with_integer_exponents(dtype):
    values = [0.0, -0.0, 1.0, -1.5, 3e4, 6e-5, INF, -INF]
    for e in (-5000, -1074, -300, -150, -126, -15, 0, 15, 126, 127, 300, 1023, 5000):
        found, want = (
            m.ldexp(m.tensor(values, dtype=getattr(m, dtype)), m.tensor(e, dtype=m.int32)).tolist()
            for m in (strided, torch)
        )
        assert found == want, e


def excused(name, row):
    if any(isinstance(v, float) and not math.isfinite(v) for v in row):
        return True
    if name == "ldexp" and abs(row[1]) > 120:
        return True
    if name == "logit" and not 0 < row[0] < 1 or name in ("digamma", "polygamma") and row[0] <= 0:
        return True  # outside of the domain
    if name in ("hypot", "remainder", "fmod", "floor_divide") and (row == (0, 0) or row[1] == 0):
        return True
    if name == "_mish_grad" and row[1] > 700 or name == "_softplus_grad" and row[1] in (0.5, 20):
        return True  # PyTorch overflows, or is at the threshold
    if name == "_logsigmoid_grad" and abs(row[1]) > 15:
        return True  # PyTorch has 0
    if name == "_huber_slope" and abs(row[0] - row[1]) in (1, 0.25):
        return True  # at the bounds
    if name == "_prelu_grad" and row[1] == 0:
        return True  # at 0 its second derivative is from the right, its first from the left
    if name == "acosh" and row[0] <= 1 or name == "special.entr" and row[0] < 0:
        return True
    return False


@pytest.mark.parametrize(
    "name", [n for n, row in ROWS.items() if row["differentiable"] and "float64" in row["out_dtypes"]]
)
def test_gradients(name):
    if name in ("nextafter", "special.zeta", "igamma", "igammac", "heaviside", "floor_divide", "special.erfcx"):
        pytest.skip("PyTorch has no derivative")
    for params in PARAMS.get(name, [{}]):
        ins, want = run(name, "float64", torch, reference(name), params, grad=True)
        if not want.requires_grad:
            pytest.skip("PyTorch has no derivative")
        mine, got = run(name, "float64", strided, strided._C.functions[name], params, grad=True)
        want = torch.autograd.grad(want, ins, torch.full_like(want, 1.5), allow_unused=True)
        got = strided.autograd.grad(got, mine, strided.full_like(got, 1.5), allow_unused=True)
        rows = list(zip(*(x.tolist() for x in ins)))
        for i, (g, w) in enumerate(zip(got, want)):
            g = [0.0] * len(rows) if g is None else g.tolist()
            w = (
                [0.0] * len(rows) if w is None else (w + torch.zeros(len(rows), dtype=torch.float64)).tolist()
            )  # may be a ZeroTensor
            for a, b, row in zip(g, w, rows):
                # The second derivatives of activations are sums of large terms; PyTorch's 1/6 is rounded to float.
                loose = name in ("_gelu_grad", "_gelu_tanh_grad", "_silu_grad", "_mish_grad", "_softplus_grad")
                near = (1e-6 if loose else 1e-7 if "hards" in name else 1e-9) * abs(b) + (1e-8 if loose else 1e-12)
                same = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= near
                assert same or excused(name, row), (name, i, row, "ours", a, "theirs", b)
