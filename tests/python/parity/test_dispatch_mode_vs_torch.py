"""TorchDispatchMode and FlopCounterMode beside PyTorch: the same operations, the same counts."""

import importlib

import pytest
import strided

torch = pytest.importorskip("torch")

# Bookkeeping that strided has no operation for: copies of handles, empty buffers, sums of gradients of one tensor.
LEFT_OUT = {"detach.default", "empty.memory_format", "alias.default"}


def operations(lib, program):
    mode_class = importlib.import_module(f"{lib.__name__}.utils._python_dispatch").TorchDispatchMode

    class Record(mode_class):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found.append((str(func).removeprefix("aten."), [described(a) for a in args]))
            return func(*args, **(kwargs or {}))

    def described(a):
        if isinstance(a, lib.Tensor):
            return tuple(a.shape)
        return (
            [described(i) for i in a]
            if isinstance(a, (list, tuple))
            else str(a)
            if not isinstance(a, (int, float))
            else a
        )

    found = []
    given = {
        "x": lib.arange(12.0).reshape(4, 3).div(12).requires_grad_(), "w": lib.ones(3, 5).requires_grad_(),
        "q": lib.ones(2, 3, 4).requires_grad_(), "im": lib.arange(384.0).reshape(2, 3, 8, 8).sin().requires_grad_(),
        "lib": lib, "F": lib.nn.functional, "nn": lib.nn, "k": lib.ones(3, 3, 2, 2).requires_grad_(),
    }  # fmt: skip
    prepared, _, program = program.rpartition(";")
    exec(prepared.strip(), given)
    with Record():
        exec(program.strip(), given)
    return [(name, args) for name, args in found if name not in LEFT_OUT]


PROGRAMS = """
x + 2, 1 - x, 2 / x, x // 2, x % 2, 2 ** x, x ** 2, x == 1, -x, abs(x)
2 // x.clamp_min(1), 2 % x, 2 - x, 2 << x.long(), 2 >> x.long(), 1 & x.long(), 1 ^ x.long()
y = x.detach().clone(); y //= 2; y %= 2; y **= 2; y /= 2; y = y.long(); y &= 1; y |= 2; y ^= 1
x.T, x.mT, x[0], x[1:, 0], x[None], x[..., 0], x[x > 0], x[:, ::2], list(x)
y = x.detach().clone(); y[0] = 1.0; y[0, 1:] = lib.ones(2)
y = x.detach().clone(); y += 1; y.mul_(2).relu_(); y.fill_(3); y.zero_()
bool(x.sum() > 0), x.sum().item(), x.max(1), x.max(), x.argmax(1), x.sort(1), x.topk(2)
x.sum(1), x.sum((0, 1), keepdim=True), x.mean(), x.mean(0), x.var(0), x.std(), x.norm(), x.cumsum(0)
x.double(), x.float(), x.t().contiguous(), x.t().reshape(-1), x.flatten(), x.view(-1, 2), x.unflatten(1, (1, 3))
lib.cat([x, x]), lib.stack([x, x], 1), x.chunk(3, 1), x.split([1, 2], 1), x.unbind(), lib.where(x > 0, x, x)
lib.zeros(2, 3), lib.ones(2), lib.full((2,), 3.0), lib.arange(3), lib.zeros_like(x), lib.tensor([1.0])
F.linear(x, w.t()), F.linear(x[None], w.t(), w[0]), lib.matmul(q, w[:1].T.expand(5, 4).T), lib.matmul(x, x[0])
net = nn.BatchNorm2d(3); net(im).sum().backward()
lib.mm(x, w).sum().backward()
lib.bmm(q, q.mT).sum()
lib.bmm(q, lib.ones(2, 4, 5)).mean().backward()
F.conv2d(im, k, padding=1, stride=2).sum().backward()
F.conv_transpose2d(im, k).sum().backward()
F.layer_norm(x, (3,)).sum().backward()
F.cross_entropy(x, lib.tensor([0, 1, 2, 0])).backward()
F.mse_loss(x, x.detach()).backward()
F.max_pool2d(im, 2).sum().backward()
F.avg_pool2d(im, 2).sum().backward()
F.adaptive_avg_pool2d(im, 1).flatten(1).sum().backward()
F.gelu(F.silu(x)).sum().backward()
lib.autograd.grad(x.t().sigmoid().tanh().unsqueeze(0).expand(2, 3, 4).reshape(-1).sum(), x)
F.log_softmax(x, 1)[:, 0].sum().backward()
x.exp().log().sqrt().sum().backward()
F.relu(x).sum(0).mean().backward()
net = nn.Linear(3, 2); net(x).sum().backward()
lib.autograd.grad(F.scaled_dot_product_attention(q[None], q[None].detach(), q[None].detach()).sum(), q)
net = nn.Embedding(5, 3); net(lib.tensor([1, 2])).sum().backward()
lib.optim.SGD([x], lr=0.1, momentum=0.9)
"""


@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_operations(program):
    theirs, ours = operations(torch, program), operations(strided, program)
    assert [name for name, _ in ours] == [name for name, _ in theirs if not name.startswith("_record")]
    for (name, mine), (_, other) in zip(ours, theirs):
        shapes = [a for a in mine if isinstance(a, tuple)]
        assert shapes == [a for a in other if isinstance(a, tuple)], name


COUNTED = """
lib.mm(x, w).sum().backward()
lib.addmm(w[:4, :].sum(0), x, w).sum().backward()
lib.bmm(q, q.mT).sum().backward()
lib.baddbmm(lib.ones(2, 3, 3), q, q.mT).sum().backward()
(q @ q[0].mT).sum().backward()
F.linear(q, w.sum() * lib.ones(3, 4), w[0, :3]).sum().backward()
F.conv2d(im, k, stride=2, padding=1).sum().backward()
F.conv2d(im, k[:, :1], groups=3).sum().backward()
F.conv_transpose2d(im, k, stride=2).sum().backward()
F.conv1d(q, lib.ones(5, 3, 2).requires_grad_()).sum().backward()
F.conv3d(im[None], lib.ones(1, 2, 2, 2, 2)).sum().backward()
lib.einsum("bij,bkj->bik", q, q).sum().backward()
lib.einsum("bij,kj->bk", q, lib.ones(2, 4)).sum()
nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))(im).sum().backward()
nn.MultiheadAttention(4, 2, batch_first=True)(q, q, q)[0].sum().backward()
"""


def counts(lib, program):
    counter = importlib.import_module(f"{lib.__name__}.utils.flop_counter").FlopCounterMode(display=False)
    given = {"x": lib.ones(4, 3).requires_grad_(), "w": lib.ones(3, 5).requires_grad_(), "lib": lib, "nn": lib.nn,
             "q": lib.ones(2, 3, 4).requires_grad_(), "im": lib.ones(2, 3, 8, 8).requires_grad_(),
             "F": lib.nn.functional, "k": lib.ones(3, 3, 2, 2).requires_grad_()}  # fmt: skip
    with counter:
        exec(program, given)
    found = {place: sum(ops.values()) for place, ops in counter.get_flop_counts().items()}
    return found, counter.get_total_flops()


@pytest.mark.parametrize("program", COUNTED.strip().splitlines())
def test_flop_counts(program):
    (places, total), (their_places, theirs) = counts(strided, program), counts(torch, program)
    assert total == theirs > 0
    if "Multihead" not in program:
        assert places == their_places


@pytest.mark.parametrize(
    "name", ["mm_flop", "bmm_flop", "conv_flop_count", "sdpa_flop_count", "sdpa_backward_flop_count"]
)
def test_formulas(name):
    shapes = {
        "mm_flop": [(3, 4), (4, 5)], "bmm_flop": [(2, 3, 4), (2, 4, 5)],
        "conv_flop_count": [(2, 3, 8, 9), (4, 3, 2, 3), (2, 4, 7, 7)],
        "sdpa_flop_count": [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)],
        "sdpa_backward_flop_count": [(2, 3, 4, 7), (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)],
    }[name]  # fmt: skip
    one, two = (importlib.import_module(f"{lib}.utils.flop_counter") for lib in ("strided", "torch"))
    assert getattr(one, name)(*shapes) == getattr(two, name)(*shapes)
    if name == "conv_flop_count":
        assert one.conv_flop_count(*shapes, transposed=True) == two.conv_flop_count(*shapes, transposed=True)
