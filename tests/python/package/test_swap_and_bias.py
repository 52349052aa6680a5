"""swap_tensors, __future__, opcheck and the causal masks of nn.attention.bias."""

import weakref

import pytest
import strided
from strided import nn
from strided.nn import functional as F
from strided.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left


def test_tensors_become_each_other():
    a, b = nn.Parameter(strided.ones(2)), strided.zeros(3, dtype=strided.float64)
    a.note, a.grad, same = 1, strided.full((2,), 5.0), a
    strided.utils.swap_tensors(a, b)
    assert type(a) is strided.Tensor and type(b) is nn.Parameter and same is a
    assert a.tolist() == [0, 0, 0] and a.dtype is strided.float64 and not a.requires_grad and a.grad is None
    assert (
        b.tolist() == [1, 1]
        and b.requires_grad
        and b.grad.tolist() == [5, 5]
        and b.note == 1
        and not hasattr(a, "note")
    )
    (b * 2).sum().backward()
    assert b.grad.tolist() == [7, 7]
    with pytest.raises(NotImplementedError, match="swap_tensors: strided"):
        strided.utils.swap_tensors(a, b * 2)
    kept = weakref.ref(a)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        strided.utils.swap_tensors(b, a)
    assert kept() is a and "swap_tensors" in dir(strided.utils)


@pytest.mark.parametrize("way", ["data", "overwrite", "swap"])
def test_conversions_of_modules(way):
    net = nn.Linear(2, 1)
    net(strided.ones(1, 2)).sum().backward()
    before, memory = net.weight, net.weight.detach()
    settings = strided.__future__
    try:
        if way == "overwrite":
            settings.set_overwrite_module_params_on_conversion(True)
            assert settings.get_overwrite_module_params_on_conversion()
        if way == "swap":
            settings.set_swap_module_params_on_conversion(True)
            assert settings.get_swap_module_params_on_conversion()
        net.double()
    finally:
        settings.set_overwrite_module_params_on_conversion(False)
        settings.set_swap_module_params_on_conversion(False)
    assert (net.weight is before) == (way != "overwrite")
    assert net.weight.dtype is net.weight.grad.dtype is strided.float64 and type(net.weight) is nn.Parameter
    assert net.weight.requires_grad and net.weight.is_leaf and net.weight.grad.tolist() == [[1, 1]]
    assert strided.equal(net.weight.float(), memory) and memory.dtype is strided.float32
    assert dict(net.named_parameters())["weight"] is net.weight


@pytest.mark.parametrize("n, m", [(2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("make", [causal_upper_left, causal_lower_right])
@pytest.mark.filterwarnings("ignore:Lower right")
def test_causal_masks(make, n, m):
    strided.manual_seed(0)
    q, k, v = strided.randn(1, 2, n, 4), strided.randn(1, 2, m, 4), strided.randn(1, 2, m, 4)
    bias = make(n, m)
    shift = 0 if make is causal_upper_left else m - n
    mask = strided.ones(n, m, dtype=strided.bool).tril(shift)
    assert isinstance(bias, CausalBias) and isinstance(bias, strided.Tensor) and repr(bias) == repr(mask)
    made = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    strided.testing.assert_close(made, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), equal_nan=True)


def test_causal_masks_refuse():
    bias, q = causal_upper_left(2, 2), strided.ones(1, 2, 4)
    assert bias.variant is CausalVariant.UPPER_LEFT and (bias.seq_len_q, bias.seq_len_kv) == (2, 2)
    with pytest.raises(ValueError, match="causal=True"):
        F.scaled_dot_product_attention(q, q, q, attn_mask=bias, is_causal=True)
    with pytest.raises(NotImplementedError, match="add: strided"):
        bias + 1
    with pytest.raises(AssertionError, match="CausalVariant"):
        CausalBias(1, 2, 2)
    with pytest.raises(AssertionError, match="2D"):
        causal_upper_left(2)
    with pytest.warns(UserWarning, match="NaNs"):
        causal_lower_right(3, 2)


def opcheck(function, *args, mutates=(), fake=None, backward=None, **options):
    op = strided.library.custom_op(f"checked::{function.__name__}", function, mutates_args=mutates)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward)
    return strided.library.opcheck(op, args, raise_exception=False, **options)


def test_opcheck():
    def good(x: strided.Tensor) -> strided.Tensor:
        return x * 2

    x = strided.ones(3, requires_grad=True)
    found = opcheck(good, x, fake=strided.empty_like, backward=lambda ctx, g: g * 2)
    assert list(found.values()) == ["SUCCESS"] * 4
    assert str(opcheck(good, x)["test_autograd_registration"]).endswith("(register_autograd)")
    assert "no register_fake" in str(opcheck(good, x)["test_faketensor"])
    found = opcheck(good, x, fake=lambda x: x.new_empty(4), backward=lambda ctx, g: g.double()[:2])
    assert "register_fake says [((4,)" in str(found["test_faketensor"])

    def writes(x: strided.Tensor) -> strided.Tensor:
        x.add_(1)
        return x.clone()

    assert "x is not defined as mutable" in str(opcheck(writes, strided.ones(2))["test_schema"])
    assert opcheck(writes, strided.ones(2), mutates=("x",), test_utils="test_schema") == {"test_schema": "SUCCESS"}

    def only_writes(x: strided.Tensor, out: strided.Tensor) -> None:
        out.copy_(x * 3)

    given = strided.ones(2), strided.empty(2)
    assert list(opcheck(only_writes, *given, mutates=("out",)).values()) == ["SUCCESS"] * 4
    empty = strided.empty(2, device="meta")
    assert strided.ops.checked.only_writes(empty, empty) is None
    on_cpu = strided.library.custom_op("checked::on_cpu", only_writes, mutates_args=("out",), device_types="cpu")
    assert str(on_cpu._schema) == "checked::on_cpu(Tensor x, Tensor(a1!) out) -> ()"
    assert list(strided.library.opcheck(on_cpu, given).values()) == ["SUCCESS"] * 4

    def aliases(x: strided.Tensor) -> strided.Tensor:
        return x.view(-1)

    assert "alias" in str(opcheck(aliases, strided.ones(2))["test_schema"])

    def random(x: strided.Tensor) -> strided.Tensor:
        return strided.rand(x.shape)

    assert "not close" in str(opcheck(random, strided.ones(2))["test_aot_dispatch_dynamic"])
    with pytest.raises(ValueError, match="subset"):
        opcheck(good, x, test_utils="test_all")
    with pytest.raises(Exception, match="register_fake"):
        strided.library.opcheck(strided.library.custom_op("checked::plain", good, mutates_args=()), (strided.ones(1),))
