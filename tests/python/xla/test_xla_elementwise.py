"""The elementwise table on an XLA device: every op that has a lowering, all of a dtype in one program."""

import elementwise_points
import pytest
import strided as torch
from xla_calls import check_program

ROWS = {row["name"]: row for row in torch._C.ops_table()}
ELSEWHERE = {"positive", "addcmul", "addcdiv"}  # of which one does nothing, and two have a keyword: below


def function(name):
    f = torch
    for part in name.split("."):
        f = getattr(f, part, None) or getattr(torch._C, part)
    return f


def arguments(name, dtype):
    """Tensors in the domain of an op, with the values that are special."""
    row = ROWS[name]
    domains = elementwise_points.DOMAINS.get(name, [(-3, 3)] * row["arity"])
    made = []
    for k in range(row["arity"]):
        low, high = domains[k] if k < len(domains) else (-3, 3)
        x = torch.linspace(0, 1, 12, dtype=torch.float64)
        x = low + (high - low) * (x if k % 2 == 0 else x.flip(0))
        if not dtype.is_floating_point and not dtype.is_complex:
            x = torch.tensor([1, 2, 3, 0, 7, 5, 1, 2, 9, 4, 100, 6]).roll(k)
            if k == 1:
                x = x.clamp_min(1)
        made.append(x.to(dtype))
    return made


def numbers_of(row):
    return {"polygamma": [1], "threshold": [0.1, 20.0]}.get(row["name"], [])


def names_for(dtype):
    name = str(dtype).removeprefix("torch.")
    return [n for n, row in ROWS.items() if name in row["out_dtypes"] and n not in ELSEWHERE and not n.startswith("_")]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.bool], ids=str)
def test_each_op(dtype):
    names = names_for(dtype)
    assert len(names) > (20 if dtype == torch.bool else 40)

    def program(*inputs):
        results, at = {}, 0
        for name in names:
            row = ROWS[name]
            mine = inputs[at : at + row["arity"]]
            at += row["arity"]
            args = [*numbers_of(row), *mine] if name == "polygamma" else [*mine, *numbers_of(row)]
            results[name] = function(name)(*args)
        return results

    check_program(program, *[t for name in names for t in arguments(name, dtype)])


COMPLEX = "abs neg sgn angle conj_physical sqrt rsqrt square reciprocal exp log sin cos tanh sigmoid".split()


def test_complex():
    z = torch.tensor([1 + 2j, -0.5 + 0.1j, 3 - 1j, -2 - 2j], dtype=torch.complex64)
    check_program(
        lambda z, w: {
            **{n: getattr(torch, n)(z) for n in COMPLEX},
            "mul": z * w,
            "div": z / w,
            "eq": z == w,
            "real": z.real + 1,
        },
        z,
        z.flip(0),
    )


def test_special_values():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 2.5, -2.5, 0.5])
    y = torch.tensor([1.0, -1.0, nan, inf, 2.0, -0.0, 1.0, 2.0, 2.0, -inf])
    two = "maximum minimum fmax fmin copysign atan2 hypot logaddexp heaviside xlogy isclose fmod remainder".split()
    one = "round sign signbit isnan isinf isfinite isposinf nan_to_num sinc relu trunc frac sigmoid log1p exp".split()
    check_program(
        lambda x, y: {**{n: getattr(torch, n)(x) for n in one}, **{n: getattr(torch, n)(x, y) for n in two}}, x, y
    )


def test_casts():
    x = torch.tensor([0.0, 1.5, -2.5, 300.0, -70000.0, 3e9, -3e9, 1e20, float("inf"), float("nan"), 2.0**63])
    i = torch.tensor([0, 1, -1, 127, 128, -129, 65536, 2**31, -(2**31) - 1, 2**62])
    dtypes = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split()
    check_program(
        lambda x, i: {f"{k}{d}": t.to(getattr(torch, d)) for d in dtypes for k, t in (("x", x), ("i", i))}, x, i
    )


def test_broadcast_numbers_and_promotion():
    x, y, i = torch.randn(3, 1, 4), torch.randn(5, 1), torch.arange(4)
    check_program(
        lambda x, y, i: [
            x + y,
            x * 2.5,
            1 - x,
            i * 2,
            i + x,
            i / 2,
            i // 3,
            x > i,
            x**2,
            2**i,
            (i > 1) & (i < 3),
            i.float() ** -1.5,
        ],
        x,
        y,
        i,
    )


def test_where_clamp_lerp():
    x, y = torch.randn(4, 5), torch.randn(4, 5)
    check_program(
        lambda x, y: [
            torch.where(x > y, x, y),
            torch.where(x > 0, x, 0.0),
            x.clamp(-0.5, 0.5),
            x.clamp(min=y),
            x.lerp(y, 0.3),
            torch.addcmul(x, y, y, value=0.5),
            torch.addcdiv(x, y, y.exp(), value=2),
            x.masked_fill(y > 0, -1.0),
        ],
        x,
        y,
    )
