"""Functions of networks, forward and backward, as the layers of common models call them. PyTorch is the only peer."""

from case import Case, arrays

IMAGES, ROWS, TOKENS = ("f4", 8, 16, 32, 32), ("f4", 512, 512), ("f4", 2, 8, 128, 32)
# name: (expression with f for nn.functional, what gradients are of, data)
FUNCTIONS = {
    "relu": ("f.relu(x)", "x", {"x": ROWS}),
    "gelu": ("f.gelu(x)", "x", {"x": ROWS}),
    "silu": ("f.silu(x)", "x", {"x": ROWS}),
    "sigmoid": ("x.sigmoid()", "x", {"x": ROWS}),
    "tanh": ("x.tanh()", "x", {"x": ROWS}),
    "softplus": ("f.softplus(x)", "x", {"x": ROWS}),
    "x ** 2": ("x ** 2", "x", {"x": ROWS}),
    "x ** 3": ("x ** 3", "x", {"x": ROWS}),
    "softmax": ("x.softmax(1)", "x", {"x": ROWS}),
    "log_softmax": ("x.log_softmax(1)", "x", {"x": ROWS}),
    "layer_norm": ("f.layer_norm(x, (512,), w, b)", "x, w, b", {"x": ROWS, "w": ("f4", 512), "b": ("f4", 512)}),
    "layer_norm 4096x64": ("f.layer_norm(x, (64,))", "x", {"x": ("f4", 4096, 64)}),
    "rms_norm": ("f.rms_norm(x, (512,), w)", "x, w", {"x": ROWS, "w": ("f4", 512)}),
    "batch_norm": (
        "f.batch_norm(x, None, None, w, b, True)", "x, w, b", {"x": IMAGES, "w": ("f4", 16), "b": ("f4", 16)},
    ),
    "group_norm": ("f.group_norm(x, 4, w, b)", "x, w, b", {"x": IMAGES, "w": ("f4", 16), "b": ("f4", 16)}),
    "mse_loss": ("f.mse_loss(x, y)", "x", {"x": ROWS, "y": ROWS}),
    "huber_loss": ("f.huber_loss(x, y)", "x", {"x": ROWS, "y": ROWS}),
    "cross_entropy": ("f.cross_entropy(x, t % 512)", "x", {"x": ROWS, "t": ("i8", 512)}),
    "bce with logits": ("f.binary_cross_entropy_with_logits(x, y.sigmoid())", "x", {"x": ROWS, "y": ROWS}),
    "linear": ("f.linear(x, w, b)", "x, w, b", {"x": ROWS, "w": ROWS, "b": ("f4", 512)}),
    "embedding": ("f.embedding(t, x)", "x", {"x": ("f4", 1000, 64), "t": ("i8", 32, 128)}),
    "attention": ("f.scaled_dot_product_attention(x, y, z)", "x, y, z", {"x": TOKENS, "y": TOKENS, "z": TOKENS}),
    "causal attention": (
        "f.scaled_dot_product_attention(x, y, z, is_causal=True)", "x, y, z", {"x": TOKENS, "y": TOKENS, "z": TOKENS},
    ),
    "conv1d": ("f.conv1d(x, w, padding=1)", "x, w", {"x": ("f4", 8, 32, 512), "w": ("f4", 32, 32, 3)}),
    "conv2d": ("f.conv2d(x, w, padding=1)", "x, w", {"x": IMAGES, "w": ("f4", 32, 16, 3, 3)}),
    "conv2d, stride 2": ("f.conv2d(x, w, stride=2, padding=1)", "x, w", {"x": IMAGES, "w": ("f4", 32, 16, 3, 3)}),
    "conv2d 1x1": ("f.conv2d(x, w)", "x, w", {"x": IMAGES, "w": ("f4", 32, 16, 1, 1)}),
    "conv2d, depthwise": ("f.conv2d(x, w, padding=1, groups=16)", "x, w", {"x": IMAGES, "w": ("f4", 16, 1, 3, 3)}),
    "conv_transpose2d": ("f.conv_transpose2d(x, w, stride=2)", "x, w", {"x": IMAGES, "w": ("f4", 16, 16, 2, 2)}),
    "max_pool2d": ("f.max_pool2d(x, 2)", "x", {"x": IMAGES}),
    "avg_pool2d": ("f.avg_pool2d(x, 2)", "x", {"x": IMAGES}),
    "bilinear upsampling": ("f.interpolate(x, scale_factor=2, mode='bilinear')", "x", {"x": IMAGES}),
    "antialiased": ("f.interpolate(x, (14, 14), mode='bilinear', antialias=True)", "x", {"x": IMAGES}),
    "lstm": (
        "xp.lstm(x, (h, h), [w, v, b, b], True, 1, 0.0, False, False, False)[0]", "x, w, v, b",
        {"x": ("f4", 50, 32, 64), "h": ("f4", 1, 32, 128), "w": ("f4", 512, 64), "v": ("f4", 512, 128),
         "b": ("f4", 512)},
    ),
    "gru": (
        "xp.gru(x, h, [w, v, b, b], True, 1, 0.0, False, False, False)[0]", "x, w, v, b",
        {"x": ("f4", 50, 32, 64), "h": ("f4", 1, 32, 128), "w": ("f4", 384, 64), "v": ("f4", 384, 128),
         "b": ("f4", 384)},
    ),
    "grid_sample": (
        "f.grid_sample(x, g.tanh(), align_corners=False)", "x", {"x": IMAGES, "g": ("f4", 8, 32, 32, 2)},
    ),
}  # fmt: skip

BACKWARD = """
f, leaves = xp.nn.functional, [{leaves}]
for leaf in leaves: leaf.requires_grad_()
made = {expression}
g = xp.ones_like(made)
def work(): return xp.autograd.grad(made, leaves, g, retain_graph=True)
"""


def cases():
    for name, (expression, leaves, data) in FUNCTIONS.items():
        yield Case(name, arrays(**data), expression, None, setup="f = xp.nn.functional")
        setup = BACKWARD.format(leaves=leaves, expression=expression)
        yield Case(f"  backward of {name}", arrays(**data), "work()", None, setup=setup)


def curves():
    return ()
