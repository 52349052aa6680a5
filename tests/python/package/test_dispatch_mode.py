"""TorchDispatchMode: which operations are reported, what modes can change, and that they change nothing else."""

import subprocess
import sys

import pytest
import strided
from strided import nn
from strided.nn import functional as F
from strided.overrides import TorchFunctionMode, resolve_name
from strided.utils import _python_dispatch as dispatch
from strided.utils._python_dispatch import TorchDispatchMode

aten = strided.ops.aten


class Record(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, args, kwargs))
        return func(*args, **(kwargs or {}))

    @property
    def names(self):
        return [str(func).removeprefix("aten.") for func, *_ in self.calls]


def names(program):
    with Record() as mode:
        program()
    return " ".join(mode.names)


x, w, b = strided.ones(2, 3), strided.ones(4, 3), strided.ones(4)


@pytest.mark.parametrize(
    "program, expected",
    [
        (lambda: x + 1, "add.Tensor"),
        (lambda: 1 - x, "rsub.Scalar"),
        (lambda: 2 / x, "reciprocal.default mul.Tensor"),
        (lambda: x.T @ x, "permute.default mm.default"),
        (lambda: strided.matmul(strided.ones(2, 2, 3), x.t()),
         "ones.default t.default view.default mm.default _unsafe_view.default"),
        (lambda: F.linear(x, w, b), "t.default addmm.default"),
        (lambda: F.linear(x[None], w, b), "unsqueeze.default view.default t.default addmm.default view.default"),
        (lambda: x[0, 1:], "select.int slice.Tensor"),
        (lambda: x[x > 0], "gt.Scalar index.Tensor"),
        (lambda: x.sum(1, keepdim=True), "sum.dim_IntList"),
        (lambda: x.mean(), "mean.default"),
        (lambda: x.max(1), "max.dim"),
        (lambda: strided.max(x, x), "maximum.default"),
        (lambda: bool(x.sum() > 0), "sum.default gt.Scalar _local_scalar_dense.default"),
        (lambda: x.double().reshape(-1), "_to_copy.default view.default"),
        (lambda: x.float(), ""),
        (lambda: x.t().reshape(-1), "t.default clone.default _unsafe_view.default"),
        (lambda: F.cross_entropy(x, strided.tensor([0, 1])),
         "lift_fresh.default _log_softmax.default nll_loss_forward.default"),
        (lambda: strided.einsum("ij,kj->ik", x, w),
         "permute.default view.default permute.default view.default bmm.default view.default"),
        (lambda: x.clone().add_(1).relu_(), "clone.default add_.Tensor relu_.default"),
        (lambda: strided.add(x, 1, out=strided.empty(2, 3)), "empty.memory_format add.out"),
        (lambda: (x.shape, x.dtype, x.dim(), x.is_contiguous(), len(x), repr(x), x.numpy()), ""),
        (lambda: F.softmax(x, -1), "_softmax.default"),
        (lambda: F.gelu(x), "gelu.default"),
        (lambda: x.norm(), "linalg_vector_norm.default"),
        (lambda: strided.linalg.qr(x), "linalg_qr.default"),
    ],
    ids=lambda case: "" if callable(case) else case.replace(" ", "-") or "nothing",
)  # fmt: skip
def test_operations(program, expected):
    assert names(program) == expected


def test_arguments_have_the_places_of_the_schema():
    with Record() as mode:
        strided.sum(x, dim=1, keepdim=True)
        F.conv2d(strided.ones(1, 1, 4, 4), strided.ones(2, 1, 3, 3), padding="same")
        x.view(3, -1).permute(1, 0)
        x.add(x, alpha=2)
    calls = {str(func): (args, kwargs) for func, args, kwargs in mode.calls}
    assert calls["aten.sum.dim_IntList"][0][1:] == ([1], True)
    assert calls["aten.convolution.default"][0][2:] == (None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    assert calls["aten.permute.default"][0][1] == [1, 0] and calls["aten.view.default"][0][1] == [3, -1]
    assert calls["aten.add.Tensor"][1] == {"alpha": 2}
    func = mode.calls[0][0]
    assert func is aten.sum.dim_IntList and func._overloadpacket is aten.sum and func.namespace == "aten"
    assert func.name() == "aten::sum.dim_IntList" and func._schema.name == "aten::sum"
    assert resolve_name(func) == "aten.sum.dim_IntList" and aten.mm.default.name() == "aten::mm"


def test_backward_passes():
    a, c = strided.ones(2, 3, requires_grad=True), strided.ones(3, 4, requires_grad=True)
    assert names(lambda: (a @ c).sum().backward()) == (
        "mm.default sum.default ones_like.default expand.default t.default mm.default t.default mm.default"
    )
    assert names(lambda: strided.autograd.grad(strided.sigmoid(a * 2), a, strided.ones(2, 3))) == (
        "mul.Tensor sigmoid.default ones.default sigmoid_backward.default mul.Tensor"
    )
    loss = (a * a).sum()
    assert names(loss.backward) == "ones_like.default"  # operations from before the mode have no hooks


def net():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 2, bias=False), nn.Softmax(-1),
    )  # fmt: skip


def test_a_mode_changes_no_numbers():
    def run():
        strided.manual_seed(3)
        model = net()
        optimizer = strided.optim.Adam(model.parameters(), 0.1)
        given = strided.randn(4, 3, 8, 8)
        for _ in range(2):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(given), strided.tensor([0, 1, 1, 0]))
            loss.backward()
            optimizer.step()
        return [loss, *model.parameters(), *model.buffers()]

    plain = run()
    with Record() as mode:
        seen = run()
    for one, two in zip(plain, seen):
        assert strided.equal(one, two)
    assert {"convolution.default", "convolution_backward.default", "native_batch_norm.default", "addcmul_.default",
            "native_batch_norm_backward.default", "native_layer_norm_backward.default"} <= set(mode.names)  # fmt: skip


@pytest.mark.parametrize("make", [
    lambda: (F.conv2d, strided.randn(2, 4, 5, 5), strided.randn(6, 2, 3, 3), None, 2, 1, 1, 2),
    lambda: (F.conv_transpose2d, strided.randn(2, 4, 5, 5), strided.randn(4, 3, 3, 3), None, 2),
    lambda: (F.layer_norm, strided.randn(2, 5), (5,), strided.randn(5), strided.randn(5)),
    lambda: (F.group_norm, strided.randn(2, 4, 3), 2, strided.randn(4), strided.randn(4)),
    lambda: (F.batch_norm, strided.randn(3, 4, 2), None, None, strided.randn(4), strided.randn(4), True),
    lambda: (F.cross_entropy, strided.randn(3, 4), strided.tensor([0, 3, 1])),
    lambda: (F.mse_loss, strided.randn(3, 4), strided.randn(3, 4)),
    lambda: (F.gelu, strided.randn(3, 4)),
    lambda: (F.silu, strided.randn(3, 4)),
    lambda: (F.avg_pool2d, strided.randn(1, 2, 4, 4), 2),
    lambda: (F.max_pool2d, strided.randn(1, 2, 4, 4), 2),
    lambda: (F.scaled_dot_product_attention, *[strided.randn(1, 2, 3, 4)] * 3, None, 0.0, True),
    lambda: (strided.tanh, strided.randn(3)),
    lambda: (strided.sigmoid, strided.randn(3)),
    lambda: (strided.matmul, strided.randn(2, 3, 4), strided.randn(2, 4, 5)),
    lambda: (strided.matmul, strided.randn(3, 4), strided.randn(4, 5)),
    lambda: (strided.div, strided.randn(3), strided.randn(3).exp()),
], ids=range(17))  # fmt: skip
def test_reported_gradients_are_the_gradients(make):
    """What the operations of the backward pass compute is among the gradients that the engine finds."""
    strided.manual_seed(0)
    f, *args = make()
    args = [a.requires_grad_() if isinstance(a, strided.Tensor) and a.is_floating_point() else a for a in args]
    found = []

    class Results(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            found.extend(
                t for t in (result if isinstance(result, tuple) else [result]) if isinstance(t, strided.Tensor)
            )
            return result

    with Results():
        loss = (f(*args) * 2).sum()
        del found[:]
        loss.backward()
    for a in args[:1] if f is F.scaled_dot_product_attention else args:
        if isinstance(a, strided.Tensor) and a.requires_grad:
            near = [t for t in found if t.shape == a.shape and strided.allclose(t, a.grad, atol=1e-5)]
            if f is F.scaled_dot_product_attention:  # one tensor in three places: the sum of three gradients
                parts = [t for t in found if t.shape == a.shape][-3:]
                near = [strided.allclose(sum(parts), a.grad, atol=1e-5)]
            assert near and near[0] is not False, f


def test_functions_of_the_users_own_are_seen_in_backward_passes():
    class Cube(strided.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x.pow(2)

    a = strided.ones(2, requires_grad=True)
    assert names(lambda: Cube.apply(a).sum().backward()) == (
        "pow.Tensor_Scalar sum.default ones_like.default expand.default mul.Tensor pow.Tensor_Scalar mul.Tensor"
    )
    assert a.grad.tolist() == [3, 3]
    # Functions of the package that are written so are one operation each.
    assert "rsqrt" not in names(lambda: F.layer_norm(a, (2,)).sum().backward())


def test_what_a_mode_returns_is_the_result():
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == () and not strided.is_grad_enabled()
            result = func(*args, **(kwargs or {}))
            return result * 2 if func._overloadpacket is aten.add else result

    a = strided.ones(2)
    with Doubles():
        assert (a + 1).tolist() == [4, 4]
        assert aten.add.Tensor(a, 1).tolist() == aten.add(a, 1).tolist() == [4, 4]
    assert (a + 1).tolist() == [2, 2] == aten.add(a, 1).tolist()
    assert strided.is_grad_enabled()


def test_modes_in_modes():
    log = []

    class Says(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((self.name, str(func)))
            if self.name == "inner":
                strided.neg(args[0])
            return func(*args, **(kwargs or {}))

    with Says("outer") as outer, Says("inner") as inner:
        assert dispatch._get_current_dispatch_mode() is inner and dispatch.is_in_torch_dispatch_mode()
        assert dispatch._get_current_dispatch_mode_stack() == [outer, inner]
        strided.exp(x)
        with dispatch._pop_mode_temporarily() as mode:
            assert mode is inner and dispatch._get_current_dispatch_mode() is outer
        with dispatch._disable_current_modes() as modes:
            assert modes == [outer, inner] and dispatch._get_current_dispatch_mode() is None
            strided.log(x)
    assert log == [("inner", "aten.exp.default"), ("outer", "aten.neg.default"), ("outer", "aten.exp.default")]
    assert not dispatch.is_in_torch_dispatch_mode() and not dispatch.any_torch_dispatch_mode_on_stack()


def test_beside_function_modes_and_types():
    order = []

    class Above(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append("function")
            return func(*args, **(kwargs or {}))

    class Below(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(str(func))
            return func(*args, **(kwargs or {}))

    with Above(), Below():  # function modes are asked first, whichever was entered first
        strided.exp(x)
    with Below(), Above():
        strided.exp(x)
    assert order == ["function", "aten.exp.default"] * 2
    del order[:]

    class Mine(strided.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    with Below():
        made = strided.exp(x.as_subclass(Mine))
    assert type(made) is Mine and order == ["Mine", "aten.exp.default"]
    with Below():
        assert strided.func.vmap(strided.exp)(x).shape == (2, 3)


def test_errors_leave_no_mode_behind():
    class Fails(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Fails():
        x + 1
    with pytest.raises(NotImplementedError), TorchDispatchMode():
        x + 1
    with pytest.raises(RuntimeError), Record():
        x @ x
    assert not dispatch.is_in_torch_dispatch_mode() and strided.is_grad_enabled()
    assert strided._C._len_torch_function_stack() == 0 and names(lambda: x + 1) == "add.Tensor"


def test_without_modes_nothing_is_loaded():
    code = "import strided, sys; strided.ones(2) + 1; strided.ops.aten; import strided.utils._python_dispatch as d;" \
           "assert not d.is_in_torch_dispatch_mode(); assert not [m for m in sys.modules if '_dispatch.' in m]"  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "program",
    """
    x.var(), x.var(0), x.var(0, True, True), x.std(1, keepdim=True), x.var(False), x.var((0, 1), correction=2)
    strided.var_mean(x, [1], unbiased=False), x.prod(1), x.logsumexp(1), x.norm(1), x.norm(dim=1), x.amax((0, 1))
    strided.einsum(x, [0, 1], [1, 0]), strided.einsum("i,j->ij", x[0], x[1]), strided.einsum("...i->...", x)
    strided.einsum("ii->i", x[:, :2]), strided.einsum("bi,bi->b", x, x), strided.einsum("bi,ci,di->bcd", x, x, x)
    x.view(strided.int32), x.view(-1, 2), x.view_as(x), x.reshape(3, 2), x.unflatten(1, (3, -1)), x.movedim(0, 1)
    i << 1, i >> 1, i % 2, i // 2, i & 1, ~i, 7 ^ i, float(i[1]), int(i[1]), [5, 6, 7][i[1]]
    x[i], x[i, i], x[:, i], x[i[:, None], i], x[..., None, 0], x[[0, 1]], x[True], x[-1], x[0, ..., 1], x[None, :, ::2]
    2**x, x**x, x / 2, 2 / x, 2 - x, x.max(), x.min(0), x.sort(1, True)
    x.topk(2), x.kthvalue(1), x.unique(), x.nonzero(), x.median(1), x.cumsum(0)
    x.split(1), x.chunk(2), x.unbind(1), x.hsplit(3), x.tile(2), x.roll(1, 0), x.diagonal(), x.broadcast_to((2, 2, 3))
    strided.linalg.svd(x)[1], strided.linalg.norm(x), strided.fft.fft(x), strided.special.erf(x), strided.cdist(x, x)
    strided.where(x > 0, x, 0.0), strided.where(x > 0), x.clamp(min=0), x.lerp(x, 0.5), strided.rsub(x, 2), x.isfinite()
    F.interpolate(x[None], 6), F.pad(x, (1, 1)), F.huber_loss(x, x * 2), F.kl_div(x, x), F.cosine_similarity(x, x)
    F.instance_norm(x[None]), F.embedding(i, x), F.one_hot(i), F.pixel_shuffle(strided.ones(1, 4, 2, 2), 2)
    F.max_pool1d(x, 2), F.adaptive_avg_pool1d(x, 1), F.conv1d(x[None], x[None]), F.conv2d(x[None], x[None, None, :1])
    strided.func.vmap(lambda t: (t * t).sum())(x), strided.func.grad(lambda t: (t * t).sum())(x)
    x.to(strided.float64), x.half(), x.to("cpu"), x.type_as(i), x.new_zeros(2), strided.full_like(x, 2.0), x.tolist()
    """.strip().splitlines(),
    ids=range(17),
)
def test_programs_give_what_they_give_without_a_mode(program):
    names = {"x": strided.arange(6.0).view(2, 3) - 2, "i": strided.tensor([0, 1]), "strided": strided, "F": F}
    plain = eval(program.strip(), dict(names))
    with Record() as mode:
        seen = eval(program.strip(), dict(names))
    assert mode.calls
    for one, two in zip(strided.utils._pytree.tree_leaves(plain), strided.utils._pytree.tree_leaves(seen)):
        assert type(one) is type(two)
        strided.testing.assert_close(one, two, equal_nan=True, rtol=1e-6, atol=1e-6)
