"""Mixed precision: what is cast, contexts in contexts, gradients, and what is computed again under the same casts."""

import pickle
import threading
import warnings

import pytest
import strided
from strided import nn
from strided.nn import functional as F
from strided.utils.checkpoint import checkpoint

BF16, F16, F32, F64 = strided.bfloat16, strided.float16, strided.float32, strided.float64


def test_products_are_lowered_and_losses_are_not():
    x = strided.randn(4, 4, generator=strided.Generator().manual_seed(0))
    with strided.autocast("cpu", dtype=BF16):
        low = [x @ x, x.mm(x), strided.einsum("ij,jk", x, x), F.linear(x, x), F.conv1d(x[None], x[:, :, None])]
        assert [y.dtype for y in low] == [BF16] * len(low)
        assert strided.equal(low[0], x.to(BF16) @ x.to(BF16))
        own = [x + x, x.exp(), x.softmax(-1), x.sum(), F.layer_norm(x, (4,)), x[0].dot(x[0])]
        assert [y.dtype for y in own] == [F32] * len(own)
        full = [F.mse_loss(low[0], low[1]), F.cross_entropy(low[0], strided.arange(4)), low[0].prod()]
        assert [y.dtype for y in full] == [F32] * len(full)
        assert strided.linalg.inv(strided.eye(2, dtype=BF16)).dtype == F32
        counts = strided.arange(4).view(2, 2)
        assert (x.double() @ x.double()).dtype == F64 and (counts @ counts).dtype == strided.int64
        out = strided.empty(4, 4)
        assert strided.mm(x, x, out=out).dtype == F32 and not strided.equal(out, low[1].float())
        assert F.pad(low[0][None], (1, 1), mode="reflect").dtype == F32 and F.pad(low[0], (1, 1)).dtype == BF16
    assert (x @ x).dtype == F32 and not strided.is_autocast_enabled("cpu")


def test_contexts_in_contexts():
    x = strided.ones(2, 2)
    context = strided.autocast("cpu", dtype=BF16)
    with context:
        assert strided.is_autocast_enabled("cpu") and strided.is_autocast_cpu_enabled()
        assert not strided.is_autocast_enabled("cuda") and strided.get_autocast_dtype("cpu") == BF16
        with strided.autocast("cpu", enabled=False):
            assert (x @ x).dtype == F32
            with strided.autocast("cpu", dtype=F16):
                assert (x @ x).dtype == F16 and strided.get_autocast_dtype("cpu") == F16
        with context:
            assert (x @ x).dtype == BF16
        assert (x @ x).dtype == BF16
    assert (x @ x).dtype == F32

    @strided.autocast("cpu", dtype=F16)
    def product(a):
        return a @ a

    assert product(x).dtype == F16 and product.__name__ == "product"
    with pytest.raises(ZeroDivisionError), context:
        1 / 0
    assert not strided.is_autocast_enabled("cpu")


def test_threads_have_their_own():
    seen = []
    with strided.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((strided.ones(1, 1) @ strided.ones(1, 1)).dtype))
        thread.start()
        thread.join()
    assert seen == [F32]


def test_what_cannot_be_cast_to():
    with pytest.warns(UserWarning, match="target dtype is not supported"):
        with strided.autocast("cpu", dtype=F32):
            assert not strided.is_autocast_enabled("cpu")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        strided.autocast("meta")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        strided.autocast(strided.device("cpu"))
    with pytest.raises(RuntimeError, match="unknown device type for autocast"):
        strided.set_autocast_enabled("meta", True)
    assert strided.amp.is_autocast_available("cpu") and not strided.amp.is_autocast_available("meta")


def test_casts_are_switched_without_a_context():
    x = strided.ones(1, 1)
    depth = strided._C._len_torch_function_stack()
    try:
        strided.set_autocast_enabled("cpu", True)
        strided.set_autocast_cpu_dtype(strided.float16)
        assert strided.is_autocast_enabled("cpu") and (x @ x).dtype == strided.float16
        with strided.autocast("cpu", dtype=strided.bfloat16):
            assert (x @ x).dtype == strided.bfloat16
            strided.set_autocast_cpu_enabled(False)
            assert (x @ x).dtype == F32
        assert (x @ x).dtype == strided.float16
        with strided.autocast("cpu", enabled=False):
            assert (x @ x).dtype == F32
            strided.set_autocast_enabled("cpu", True)
            assert (x @ x).dtype == strided.float16
        assert strided.autocast_increment_nesting() == 1 and strided.autocast_increment_nesting() == 2
        assert strided.autocast_decrement_nesting() == 1 and strided.autocast_decrement_nesting() == 0
        strided.set_autocast_cache_enabled(False)
        assert not strided.is_autocast_cache_enabled()
    finally:
        strided.set_autocast_cpu_enabled(False)
        strided.set_autocast_cpu_dtype(strided.bfloat16)
        strided.set_autocast_cache_enabled(True)
    assert (x @ x).dtype == F32 and strided._C._len_torch_function_stack() == depth
    with strided.autocast("cpu"):
        strided.set_autocast_enabled("cpu", True)
    assert strided._C._len_torch_function_stack() == depth


def test_parameters_get_gradients_of_their_dtype():
    layer = nn.Linear(3, 2)
    x = strided.arange(6.0).view(2, 3)
    with strided.autocast("cpu"):
        loss = (layer(x) + layer(2 * x)).sum()
    loss.backward()
    assert layer.weight.grad.dtype == F32 and layer.weight.grad.tolist() == [[9, 15, 21]] * 2


def test_casts_of_parameters_are_kept_until_they_change():
    w = nn.Parameter(strided.ones(1, 1))
    x = strided.ones(1, 1)
    with strided.autocast("cpu"):
        first = x @ w
        with strided.no_grad():
            w.mul_(3)
        assert (first.item(), (x @ w).item()) == (1, 3)
        with strided.no_grad():
            assert not (x @ w).requires_grad
        assert (x @ w).requires_grad
        strided.clear_autocast_cache()
        assert (x @ w).item() == 3


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_compute_again_under_the_same_casts(reentrant):
    layer, seen = nn.Linear(3, 3), []

    def run(x):
        y = layer(x)
        seen.append(y.dtype)
        return F.relu(y)

    x = strided.ones(2, 3, requires_grad=True)
    with strided.autocast("cpu"):
        y = checkpoint(run, x, use_reentrant=reentrant)
    y.float().sum().backward()
    assert seen == [BF16, BF16] and x.grad.dtype == F32


def test_functions_of_the_user_s_own():
    seen = []

    class Product(strided.autograd.Function):
        @staticmethod
        @strided.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            y = a @ b
            seen.append(y.dtype)
            return y

        @staticmethod
        @strided.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad @ b.t()).dtype)
            return (grad @ b.t()).float(), (a.t() @ grad).float()

    class InFull(strided.autograd.Function):
        @staticmethod
        @strided.amp.custom_fwd(device_type="cpu", cast_inputs=F32)
        def forward(ctx, a):
            seen.append((a @ a).dtype)
            return a * 2

        @staticmethod
        @strided.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            seen.append(strided.is_autocast_enabled("cpu"))
            return grad * 2

    a = strided.ones(2, 2, requires_grad=True)
    with strided.autocast("cpu"):
        y = Product.apply(a, a)
    y.sum().backward()
    assert seen == [BF16, BF16]
    seen.clear()
    b = strided.ones(2, 2, dtype=BF16, requires_grad=True)
    with strided.autocast("cpu"):
        y = InFull.apply(b)
    y.sum().backward()
    assert seen == [F32, False] and y.dtype == F32 and b.grad.dtype == BF16


def test_a_training_loop():
    strided.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = strided.optim.Adam(net.parameters(), lr=0.05)
    scaler = strided.amp.GradScaler("cpu", enabled=False)
    x = strided.randn(64, 4)
    losses = []
    for _ in range(60):
        with strided.autocast("cpu", dtype=BF16):
            loss = F.mse_loss(net(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_only_contractions_are_lowered():
    x = strided.ones(3, 3)
    with strided.autocast("cpu", dtype=BF16):
        assert strided.einsum("ij,jk->ik", x, x).dtype == BF16
        assert strided.einsum(x, [0, 1], x, [1, 2]).dtype == BF16
        for equation in ("ij,ij->ij", "i...,i...->i...", "ij,kl->il"):
            assert strided.einsum(equation, x, x).dtype == F32
        assert strided.einsum("ij->j", x).dtype == F32
        assert [strided.tensordot(x, x, n).dtype for n in (0, 1, 2)] == [BF16, BF16, F32]
        assert strided.tensordot(x, x, ([0], [1])).dtype == BF16
        powers = {n: strided.linalg.matrix_power(strided.eye(3), n).dtype for n in (-2, -1, 0, 1, 2)}
    assert powers == {-2: BF16, -1: F32, 0: F32, 1: F32, 2: BF16}


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks(kind):
    strided.manual_seed(0)
    net = getattr(nn, kind)(4, 8, 2)
    x = strided.randn(5, 2, 4)
    full, _ = net(x)
    with pytest.raises(ValueError, match="does not match weight dtype"):
        net(x.to(BF16))
    with strided.autocast("cpu", dtype=BF16):
        y, states = net(x)
        low, _ = net(x.to(BF16))
    want = F32 if kind == "GRU" else BF16  # a GRU adds its state of float32
    assert y.dtype == want and all(s.dtype == want for s in (states if kind == "LSTM" else [states]))
    assert low.dtype == BF16
    strided.testing.assert_close(y.float(), full, atol=0.03, rtol=0.03)
    strided.testing.assert_close(low.float(), full, atol=0.05, rtol=0.05)
    y.float().square().sum().backward()
    assert {p.grad.dtype for p in net.parameters()} == {F32}


def test_optimizers_that_unscale_themselves():
    class Told(strided.optim.SGD):
        def step(self, closure=None):
            told.append((self.grad_scale, self.found_inf.item(), self.param_groups[0]["params"][0].grad.tolist()))

    class Given(Told):
        def step(self, closure=None, *, grad_scaler=None):
            told.append((grad_scaler, hasattr(self, "found_inf")))

    told, x = [], strided.ones(2, requires_grad=True)
    scaler = strided.amp.GradScaler("cpu", init_scale=8.0)
    for kind, unscale, factor in (
        (Told, False, 3.0),
        (Told, True, 3.0),
        (Told, False, float("inf")),
        (Given, False, 3.0),
    ):
        optimizer = kind([x], lr=0.1)
        optimizer._step_supports_amp_scaling = True
        x.grad = None
        scaler.scale((x * factor).sum()).backward()
        if unscale:
            scaler.unscale_(optimizer)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scaler.step(optimizer)
        assert [w.category for w in caught] == ([FutureWarning] if kind is Given else [])
        assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
        scaler.update()
    assert told[0][0].item() == 8.0 and told[0][1:] == (0.0, [24.0, 24.0]) and told[1] == (None, 0.0, [3.0, 3.0])
    assert told[2][1] == 1.0 and told[3] == (scaler, False) and scaler.get_scale() == 4.0


def test_parts_of_a_scaler():
    x = strided.ones(2, requires_grad=True)
    optimizer = strided.optim.SGD([x], lr=0.1)
    scaler = strided.amp.GradScaler("cpu", init_scale=3.0)
    assert scaler._scale is None and scaler.get_scale() == 3.0
    for early in (scaler.unscale_, scaler.step, lambda _: scaler.update()):
        with pytest.raises(AssertionError, match="_scale is None"):
            early(optimizer)
    assert scaler.scale(strided.tensor([4.0])) == 12
    assert scaler._scale.dtype is F32 and scaler._scale.shape == ()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler.update(4.0)
    scaler.scale((x * strided.tensor([1.0, float("inf")])).sum()).backward()
    scaler.unscale_(optimizer)
    found = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
    assert [v.item() for v in found.values()] == [1.0]
    with pytest.raises(AssertionError, match="only be pickled at the beginning"):
        pickle.dumps(scaler)
    scaler.step(optimizer)
    scaler.update()
    again = pickle.loads(pickle.dumps(scaler))
    assert again.get_scale() == scaler.get_scale() == 2.0 and again.scale(strided.ones(1)) == 2


def test_a_scaler_refuses_gradients_of_16_bits():
    x = strided.ones(2, dtype=strided.float16, requires_grad=True)
    scaler = strided.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(x.sum()).backward()
    optimizer = strided.optim.SGD([x], lr=0.1)
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(optimizer)
    found = scaler._unscale_grads_(optimizer, strided.tensor(0.5), strided.tensor(0.0), True)
    assert x.grad.tolist() == [1, 1] and [v.item() for v in found.values()] == [0.0]


def test_scaling_looks_at_no_numbers():
    """On device meta there are none; on a GPU each look would wait for it."""
    meta = dict(device="meta")
    grads = [strided.ones(3, **meta), strided.ones(0, **meta), strided.ones((), dtype=strided.float16, **meta)]
    found, scale = strided.zeros((), **meta), strided.ones(1, **meta)
    strided._amp_foreach_non_finite_check_and_unscale_(grads, found, scale)
    count = strided.zeros((), dtype=strided.int32, **meta)
    assert strided._amp_update_scale_(scale, count, found, 2.0, 0.5, 10) is scale


def test_scales_follow_what_was_found():
    for dtype in (strided.float32, strided.bfloat16, strided.float64, strided.complex64):
        for bad in (None, float("inf"), float("nan")):
            grads = [strided.ones(2, 3, dtype=dtype).t(), strided.ones(0, dtype=dtype), strided.ones((), dtype=dtype)]
            if bad is not None:
                grads[0][1, 1] = bad
            for before in (0.0, 1.0):
                found = strided.tensor([before])
                strided._amp_foreach_non_finite_check_and_unscale_(grads, found, strided.tensor([1.0]))
                assert found.tolist() == [1.0 if bad is not None else before]
    found = strided.tensor(1.0)
    strided._amp_foreach_non_finite_check_and_unscale_([], found, strided.tensor(1.0))
    assert found.item() == 1
    for shape in ((), (1,)):
        for found, interval, start, want, counted in (
            (0.0, 3, 8.0, 8.0, 2), (0.0, 2, 8.0, 16.0, 0), (1.0, 2, 8.0, 4.0, 0), (0.0, 2, 3e38, 3e38, 0),
        ):  # fmt: skip
            scale, count = strided.full(shape, start), strided.full((1,), 1, dtype=strided.int32)
            assert strided._amp_update_scale_(scale, count, strided.tensor([found]), 2.0, 0.5, interval) is scale
            assert scale.shape == shape and scale.item() == strided.tensor(want).item() and count.tolist() == [counted]
