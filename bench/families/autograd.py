"""Forward and backward. NumPy has none; JAX's compiled gradients are another kind of thing and are left out."""

from case import Case, arrays

NETWORK = """
def work():
    for p in (w, b, u, c): p.grad = None
    scores = (x @ w + b).relu() @ u + c
    (-scores.log_softmax(1).gather(1, y).mean()).backward()
for p in (w, b, u, c): p.requires_grad_()
y = y % 10
"""

CHAIN = """
x.requires_grad_()
g = xp.ones(4)
def forward():
    y = x
    for _ in range(50): y = (y + 1).sin()
    return y
def work():
    x.grad = None
    forward().backward(g)
"""

SECOND = """
x.requires_grad_()
def work():
    (g,) = xp.autograd.grad((x * x * x).sum(), [x], create_graph=True)
    return xp.autograd.grad(g.sum(), [x])
"""

OWN = """
class Double(xp.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
x.requires_grad_()
g = xp.ones(4)
def work():
    x.grad = None
    Double.apply(x).backward(g)
"""

SOLVE = """
a = (a + 20 * xp.eye(200)).requires_grad_()
b.requires_grad_()
def work():
    a.grad = b.grad = None
    xp.linalg.solve(a, b).sum().backward()
"""

LAYERS = """
layers = xp.nn.Sequential(xp.nn.Linear(64, 64), xp.nn.ReLU(), xp.nn.Linear(64, 64), xp.nn.ReLU(), xp.nn.Linear(64, 1))
steps = xp.optim.Adam(layers.parameters(), lr=1e-3)
def work():
    steps.zero_grad()
    layers(x).square().mean().backward()
    steps.step()
"""

CONVOLUTION = """
layer = xp.nn.Conv2d(16, 32, 3, padding=1)
def work():
    layer.zero_grad()
    layer(x).sum().backward()
"""


def one(name, data, setup, text="work()"):
    return Case(name, data, text, None, setup=setup)


def cases():
    tiny = arrays(x=("f4", 4))
    square = "x.requires_grad_()\ndef work():\n    x.grad = None\n    (x * x).sum().backward()"
    yield one("(x * x).sum(), 4 floats", tiny, square)
    yield one("chain of 100 tiny ops", tiny, CHAIN)
    yield one("  its forward alone", tiny, CHAIN, "forward()")
    sizes = arrays(
        x=("f4", 256, 784), w=("f4", 784, 256), b=("f4", 256), u=("f4", 256, 10), c=("f4", 10), y=("i8", 256, 1)
    )
    yield one("network 256x784x256x10", sizes, NETWORK)
    yield one("solve n = 200", arrays(a=("f4", 200, 200), b=("f4", 200, 1)), SOLVE)
    yield one("second derivative", tiny, SECOND)
    yield one("autograd.Function", tiny, OWN)
    yield one("three layers and Adam, batch 64", arrays(x=("f4", 64, 64)), LAYERS)
    yield one("Conv2d 8x16x32x32", arrays(x=("f4", 8, 16, 32, 32)), CONVOLUTION)
    exp = "x.requires_grad_()\ndef work():\n    x.grad = None\n    x.exp().sum().backward()"
    yield one("exp().sum() 1e6", arrays(x=("f4", 10**6)), exp)


def curves():
    return ()
