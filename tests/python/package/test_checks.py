"""Conditions that programs state, and functions of lists of tensors."""

import pytest
import strided
from strided.nn.attention import SDPBackend, sdpa_kernel
from strided.utils._foreach_utils import _group_tensors_by_device_and_dtype


@pytest.mark.parametrize(
    ("name", "error"),
    [("_check", RuntimeError), ("_check_index", IndexError), ("_check_value", ValueError), ("_check_type", TypeError),
     ("_check_not_implemented", NotImplementedError)],
)  # fmt: skip
def test_check(name, error):
    check = getattr(strided, name)
    check(True)
    check(True, lambda: 1 / 0)
    with pytest.raises(error, match="^3 is not 4$"):
        check(False, lambda: "3 is not 4")
    with pytest.raises(error, match="Expected cond to be True"):
        check(False)
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "text")


def test_assert():
    strided._assert(strided.ones(1), "no")
    with pytest.raises(AssertionError, match="no"):
        strided._assert(strided.zeros(1), "no")
    strided._assert_async(strided.ones(1, 1))
    with pytest.raises(RuntimeError, match="single nonzero value"):
        strided._assert_async(strided.zeros(1))
    with pytest.raises(RuntimeError, match="more than one value"):
        strided._assert_async(strided.ones(2))
    strided._check_is_size(0)
    with pytest.raises(RuntimeError):
        strided._check_is_size(-1)
    with pytest.raises(RuntimeError):
        strided._check_is_size(5, max=4)


def test_assert_allclose():
    strided.testing.assert_allclose([1.0, float("nan")], strided.tensor([1.00005, float("nan")], dtype=strided.float64),
                                    rtol=1e-3, atol=0)  # fmt: skip
    strided.testing.assert_allclose(strided.ones(1), strided.full((1,), 1.0001))
    with pytest.raises(AssertionError):
        strided.testing.assert_allclose(strided.ones(1), strided.full((1,), 1.001))


# ---------------------------------------------------------------- lists of tensors


def lists():
    generator = strided.Generator().manual_seed(1)
    return [strided.rand(shape, generator=generator) + 0.5 for shape in ((3,), (2, 2), ())]


def same(found, expected):
    assert isinstance(found, tuple) and len(found) == len(expected)
    assert all(a.equal(b) for a, b in zip(found, expected))


@pytest.mark.parametrize("name", ["abs", "exp", "log", "neg", "reciprocal", "rsqrt", "sigmoid", "sign", "sqrt", "tanh"])
def test_foreach_of_one(name):
    xs = lists()
    expected = [getattr(x, name)() for x in xs]
    same(getattr(strided, f"_foreach_{name}")(xs), expected)
    assert getattr(strided, f"_foreach_{name}_")(xs) is xs
    same(tuple(xs), expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min"])
@pytest.mark.parametrize("kind", ["number", "numbers", "tensors"])
def test_foreach_of_two(name, kind):
    xs, ys = lists(), [x.flip(tuple(range(x.dim()))) + 0.1 for x in lists()]
    other = {"number": 0.75, "numbers": [0.75, 1, 2.0], "tensors": ys}[kind]
    each = other if isinstance(other, list) else [other] * 3
    plain = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)
    expected = [getattr(x, plain)(y) for x, y in zip(xs, each)]
    same(getattr(strided, f"_foreach_{name}")(xs, other), expected)
    assert getattr(strided, f"_foreach_{name}_")(xs, other) is xs
    same(tuple(xs), expected)


def test_foreach_of_three():
    xs, ys, zs = lists(), lists(), [x + 1 for x in lists()]
    for name in ("addcmul", "addcdiv"):
        for value in (0.5, [0.5, 1.0, 2.0], strided.tensor([0.5, 1.0, 2.0])):
            each = [0.5] * 3 if isinstance(value, float) else [0.5, 1.0, 2.0]
            expected = [getattr(x, name)(y, z, value=v) for x, y, z, v in zip(xs, ys, zs, each)]
            same(getattr(strided, f"_foreach_{name}")(xs, ys, zs, value), expected)
    same(strided._foreach_lerp(xs, zs, 0.25), [x.lerp(z, 0.25) for x, z in zip(xs, zs)])
    same(strided._foreach_lerp(xs, zs, ys), [x.lerp(z, y) for x, y, z in zip(xs, ys, zs)])
    same(strided._foreach_norm(xs, 1), [x.abs().sum() for x in xs])
    same(strided._foreach_pow(2, xs), [2**x for x in xs])
    same(strided._foreach_add(xs, ys, alpha=3), [x.add(y, alpha=3) for x, y in zip(xs, ys)])
    assert strided._foreach_addcmul_(xs, ys, zs) is strided._foreach_lerp_(xs, zs, ys) is xs
    same(strided._foreach_powsum(xs, 3), [(x.abs() ** 3).sum() for x in xs])
    assert strided._foreach_copy_(xs, zs) is xs
    same(tuple(xs), zs)
    assert strided._foreach_zero_(xs) is xs
    assert not any(x.any() for x in xs)


def test_foreach_operands_by_name():
    xs, ys = lists(), lists()
    same(strided._foreach_add(xs, scalar=2), [x + 2 for x in xs])
    same(strided._foreach_mul(xs, scalars=[1, 2, 3]), [x * (i + 1) for i, x in enumerate(xs)])
    same(strided._foreach_pow(xs, exponent=2), [x**2 for x in xs])
    same(strided._foreach_sub(self=xs, other=ys), [x - y for x, y in zip(xs, ys)])
    assert strided._foreach_div_(xs, scalar=2) is strided._foreach_addcmul_(xs, ys, ys, scalars=[1, 2, 3]) is xs
    same(strided._foreach_lerp(xs, ys, weights=ys), [x.lerp(y, y) for x, y in zip(xs, ys)])
    same(strided._foreach_addcmul(xs, ys, ys, scalars=strided.tensor([1.0, 2.0, 3.0])),
         [x.addcmul(y, y, value=i + 1) for i, (x, y) in enumerate(zip(xs, ys))])  # fmt: skip
    with pytest.raises(TypeError, match="one of other, scalar"):
        strided._foreach_add(xs)
    with pytest.raises(TypeError, match="must be given, got 2"):
        strided._foreach_add(xs, 1, scalar=2)
    with pytest.raises(RuntimeError, match="to be of dimension 1"):
        strided._foreach_addcmul(xs, ys, ys, strided.tensor(1.0))
    with pytest.raises(RuntimeError, match="Expected length of scalars"):
        strided._foreach_addcmul(xs, ys, ys, strided.ones(2))


def test_foreach_clone_and_mm():
    xs = lists()
    copies = strided._foreach_clone(xs)
    same(copies, xs)
    copies[0].zero_()
    assert xs[0].all()
    image = strided.ones(2, 3, 4, 5)
    assert strided._foreach_clone([image], memory_format=strided.channels_last)[0].stride() == (60, 1, 15, 3)
    a, b = [strided.rand(2, 3), strided.rand(1, 2)], [strided.rand(3, 4), strided.rand(2, 2)]
    same(strided._foreach_mm(a, b), [x @ y for x, y in zip(a, b)])
    with pytest.raises(RuntimeError, match="same number of tensors"):
        strided._foreach_mm(a, b[:1])
    with pytest.raises(RuntimeError, match="non-empty"):
        strided._foreach_mm([], [])


def test_steps_of_gradient_scaling():
    unscale, update = strided._amp_foreach_non_finite_check_and_unscale_, strided._amp_update_scale_
    grads, found = [strided.tensor([2.0, 4.0]), strided.tensor([2.0], dtype=strided.float16)], strided.tensor([0.0])
    unscale(grads, found, strided.tensor(0.5))
    assert [g.tolist() for g in grads] == [[1, 2], [1]] and found.item() == 0
    small = [strided.tensor([2.0**15], dtype=strided.float16)]  # 3e-7 itself is 2.98e-7 in float16
    unscale(small, found, strided.tensor(3e-7))
    assert small[0].item() == strided.tensor(2.0**15 * 3e-7).half().item()
    unscale([strided.ones(1), strided.tensor([float("nan")])], found, strided.tensor([0.5]))
    assert found.item() == 1
    with pytest.raises(RuntimeError, match="inv_scale must be a 1-element tensor"):
        unscale(grads, found, strided.ones(2))
    scale, count, none = strided.tensor([8.0]), strided.tensor([0], dtype=strided.int32), strided.zeros(1)
    assert update(scale, count, none, 2.0, 0.5, 2) is scale and (scale.item(), count.item()) == (8, 1)
    update(scale, count, none, 2.0, 0.5, 2)
    assert (scale.item(), count.item()) == (16, 0)
    update(scale, count.fill_(1), strided.ones(1), 2.0, 0.5, 2)
    assert (scale.item(), count.item()) == (8, 0)
    scale.fill_(3e38)
    update(scale, count, none, 2.0, 0.5, 1)
    assert scale.item() < float("inf")
    with pytest.raises(RuntimeError, match="must be an int tensor"):
        update(scale, count.long(), none, 2.0, 0.5, 2)


def test_functions_of_the_compiled_core():
    core, image = strided._C._nn, strided.arange(12.0).reshape(1, 1, 3, 4)
    resize = strided.nn.functional.interpolate
    assert core.upsample_nearest2d(image, [6, 8]).equal(resize(image, (6, 8)))
    assert core.upsample_nearest2d(image, None, [2.0, 2.0]).equal(resize(image, (6, 8)))
    assert core.upsample_nearest2d(image, [6, 8], 2.0, 2.0).equal(resize(image, (6, 8)))
    assert core.upsample_nearest1d(image[0], [8]).equal(resize(image[0], 8))
    assert core.upsample_bilinear2d(image, [5, 7], True).equal(
        resize(image, (5, 7), mode="bilinear", align_corners=True)
    )
    assert core._upsample_bilinear2d_aa(image, [2, 2], False).equal(
        resize(image, (2, 2), mode="bilinear", align_corners=False, antialias=True)
    )
    with pytest.raises(NotImplementedError, match="not those of the scales"):
        core.upsample_nearest2d(image, [6, 9], 2.0, 2.0)
    assert core.linear(image, strided.ones(2, 4)).shape == (1, 1, 3, 2) and core.gelu(image).shape == image.shape
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        core.nothing  # noqa: B018


def test_foreach_refuses():
    with pytest.raises(RuntimeError, match="at least one tensor"):
        strided._foreach_add([], 1)
    with pytest.raises(RuntimeError, match="same number of tensors, got 3 and 2"):
        strided._foreach_mul(lists(), lists()[:2])
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        strided._foreach_mul(lists(), [1.0])
    with pytest.raises(AttributeError):
        strided._foreach_nothing


def test_groups_of_tensors():
    a, b, c = strided.ones(1), strided.ones(1, dtype=strided.float64), strided.zeros(1)
    cpu = strided.device("cpu")
    groups = _group_tensors_by_device_and_dtype([[a, b, c], [b, a, a]], with_indices=True)
    assert [*groups] == [(cpu, strided.float32), (cpu, strided.float64)]
    (first, second), indices = groups[cpu, strided.float32]
    assert first[0] is a and first[1] is c and second[0] is b and second[1] is a and indices == [0, 2]


def test_kernels_of_attention():
    x = strided.rand(1, 2, 3, 4)
    attend = strided.nn.functional.scaled_dot_product_attention
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert attend(x, x, x).equal(attend(x, x, x))
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("math"):
        pass
