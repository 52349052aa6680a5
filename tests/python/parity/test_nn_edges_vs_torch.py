"""nn at its edges, empty batches, lengths of zero and arguments that do not fit: values, gradients and errors as
PyTorch's."""

import warnings

import numpy as np
import pytest
import strided

torch = pytest.importorskip("torch")

LABELS = "t.tensor([[1, 1, 2], [3, 1, 2]])"
VALUES = [
    # pooling of nothing
    *(f"F.max_pool{n}d(x(0, 4{', 6' * n}), 2)" for n in (1, 2, 3)),
    *(f"nn.MaxPool{n}d(3, 2, 1, return_indices=True)(x(0, 4{', 6' * n}))[0]" for n in (1, 2, 3)),
    *(f"F.avg_pool{n}d(x(0, 4{', 6' * n}), 2)" for n in (1, 2, 3)),
    *(f"F.adaptive_avg_pool{n}d(x(0{', 6' * n}), 3)" for n in (1, 2, 3)),
    *(f"F.adaptive_max_pool{n}d(x(0, 4{', 6' * n}), 3)" for n in (1, 2, 3)),
    "nn.AdaptiveAvgPool2d(1)(x(1, 4, 0, 0))",
    *(f"F.max_unpool{n}d(x(0, 4{', 3' * n}), t.zeros(0, 4{', 3' * n}, dtype=t.int64), 2)" for n in (1, 2, 3)),
    "F.fractional_max_pool2d(x(0, 4, 6, 6), 2, (3, 3))",
    "F.fractional_max_pool2d(x(2, 3, 10, 12), 2, (0, 1))",
    "F.fractional_max_pool3d(x(2, 3, 10, 12, 14), (3, 2, 2), (0, 1, 1))",
    # losses
    f"F.ctc_loss(x(5, 2, 4).log_softmax(2), {LABELS}, t.tensor([0, 0]), t.tensor([0, 0]), reduction='none')",
    f"F.ctc_loss(x(5, 2, 4).log_softmax(2), {LABELS}, t.tensor([0, 0]), t.tensor([1, 0]), reduction='none')",
    f"F.ctc_loss(x(5, 2, 4).log_softmax(2), {LABELS}, t.tensor([0, 3]), t.tensor([1, 2]), reduction='none')",
    f"F.ctc_loss(x(5, 2, 4).log_softmax(2), {LABELS}, t.tensor([2, 5]), t.tensor([3, 3]), reduction='none')",
    f"F.ctc_loss(x(5, 2, 4).log_softmax(2), {LABELS}, (2, 5), (3, 3), zero_infinity=True)",
    "F.multi_margin_loss(x(3), t.tensor([1]), reduction='none')",
    "F.multi_margin_loss(x(3), t.tensor(1), reduction='none')",
    *(f"F.cross_entropy(x({s}), t.rand({s}), reduction='{r}')" for s in ("5, 0", "0, 5", "0,", "5, 0, 3")
      for r in ("mean", "sum", "none")),
    "t.margin_ranking_loss(x(3), x(3, 1), t.ones(3), 0.5)",
    "t.margin_ranking_loss(x(3), x(3), t.ones(2, 1), 0.5, 2)",
    "F.multilabel_soft_margin_loss(x(5, 1), t.ones(4), reduction='none')",
    # images of one element: the grid has a gradient
    *(f"F.grid_sample(t.ones(1, 1, 1, 1), x(1, 2, 2, 2), '{mode}', '{padding}', align_corners={align})"
      for mode in ("bilinear", "nearest", "bicubic") for padding in ("zeros", "border", "reflection")
      for align in (True, False)),
]  # fmt: skip


def values(t, text):
    numbers = np.random.RandomState(0)
    given = []

    def x(*shape):
        given.append(t.from_numpy(np.asarray(numbers.randn(*shape), dtype=np.float32)).requires_grad_())
        return given[-1]

    made = eval(text, {"t": t, "F": t.nn.functional, "nn": t.nn, "x": x})
    made.sum().backward()
    return made.detach().numpy(), given[0].grad.numpy()


@pytest.mark.parametrize("text", VALUES)
def test_values_and_gradients(text):
    for got, want in zip(values(strided, text), values(torch, text)):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(0, 5), (0, 5, 3), (2, 5, 0), (0, 5, 3, 3)])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_statistics_of_empty_batches(name, shape):
    seen = []
    for t in (strided, torch):
        kept = [t.zeros(5), t.ones(5)]
        try:
            seen.append(getattr(t.nn.functional, name)(t.ones(shape), *kept, None, None, True).shape)
        except ValueError as error:
            seen.append(str(error))
        seen += [np.array(x.tolist()) for x in kept]
    for got, want in zip(seen[:3], seen[3:]):
        np.testing.assert_equal(got, want)


ERRORS = [
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5.0, 5.0]), t.tensor([3, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5, 5]), t.tensor([3.0, 2.0]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5, 5]), t.tensor([4, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([-1, 5]), t.tensor([3, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5, 5]), t.tensor([-1, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([6, 5]), t.tensor([3, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5]), t.tensor([3, 2]))",
    f"F.ctc_loss(t.zeros(5, 2, 4), {LABELS}, t.tensor([5, 5]), t.tensor([3]))",
    "F.ctc_loss(t.zeros(5, 2, 4), t.ones(4, dtype=t.int64), t.tensor([5, 5]), t.tensor([3, 2]))",
    "F.grid_sample(t.ones(1, 2, 2), t.ones(1, 1, 1, 2))",
    "F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 1, 3))",
    "F.grid_sample(t.ones(1, 1, 2, 2), t.ones(2, 1, 1, 2))",
    "F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 3))",
    "F.grid_sample(t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 2).double())",
    "F.fold(t.ones(1, 12, 12), (4, 5), 2, dilation=8)",
    "F.adaptive_avg_pool2d(t.ones(2, 3, 10, 12), (2,))",
    "F.adaptive_max_pool2d(t.ones(2, 3, 10, 12), [2])",
    "F.adaptive_max_pool2d(t.ones(1, 0, 10, 12), 2)",
    "F.max_unpool3d(t.ones(1, 3, 1, 1, 1, 1), t.zeros(1, 3, 1, 1, 1, 1, dtype=t.int64), 3)",
    "F.max_unpool2d(t.ones(1, 3), t.zeros(1, 3, dtype=t.int64), 3)",
    "F.fractional_max_pool2d(t.ones(2, 3, 10, 12), 2, output_ratio=[0.5, 0.5, 0.6])",
    "F.fractional_max_pool2d(t.ones(1, 0, 10, 12), 2, 3)",
    "F.fractional_max_pool2d(t.ones(2, 3, 10, 12), 2, 10)",
    "F.fractional_max_pool2d(t.ones(2, 3, 10, 12), (2,), 3)",
    "F.fractional_max_pool3d(t.ones(2, 3, 10, 12, 9), 2, (3, 3))",
    *(f"F.fractional_max_pool2d(t.ones(2, 3, 10, 12), 2, 5, _random_samples=t.rand({s}))"
      for s in ("0, 3, 2", "2, 2, 2", "2, 3, 3", "2, 3, 2, dtype=t.float64")),
]  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    said = []
    for t in (strided, torch):
        with warnings.catch_warnings(), pytest.raises(Exception) as caught:
            warnings.simplefilter("ignore")
            eval(text, {"t": t, "F": t.nn.functional})
        said.append((type(caught.value).__name__, str(caught.value).split("\n")[0]))
    assert said[0] == said[1]


@pytest.mark.parametrize("arguments", ["[1, 1, 2, 1], True", "[1, 1, 2, 1], False", "[1, 1, 2, 2]"])
def test_warnings_of_affine_grid(arguments):
    said = []
    for t in (strided, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            eval(f"t.nn.functional.affine_grid(t.ones(1, 2, 3), {arguments})", {"t": t})
        said.append([str(w.message) for w in caught])
    assert said[0] == said[1]


def test_batch_norm_takes_an_old_state_into_meta_tensors():
    for t in (strided, torch):
        old = t.nn.BatchNorm1d(3).state_dict()
        del old["num_batches_tracked"]
        old._metadata[""]["version"] = 1
        with t.device("meta"):
            layer = t.nn.BatchNorm1d(3)
        layer.load_state_dict(old, assign=True)
        assert layer.num_batches_tracked.device.type == "cpu" and int(layer.num_batches_tracked) == 0


def test_register_buffer_without_persistent():
    for t in (strided, torch):

        class Old(t.nn.Module):
            def register_buffer(self, name, value):
                super().register_buffer(name, value)

        made = Old()
        made.state = t.nn.Buffer(t.ones(2))
        assert "state" in made.state_dict()
        with pytest.raises(RuntimeError, match="Registering a non-persistent buffer"):
            made.other = t.nn.Buffer(t.ones(2), persistent=False)


def test_lists_of_parameters_on_meta_are_described():
    for text in ("ParameterList([p])", "ParameterDict({'a': p})"):
        said = [
            str(eval(f"t.nn.{text}", {"t": t, "p": t.nn.Parameter(t.empty(1, device="meta"))}))
            for t in (strided, torch)
        ]
        assert said[0] == said[1]


@pytest.mark.parametrize("loss", ["mse_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"])
@pytest.mark.parametrize("dtypes", [("float32", "bool"), ("float32", "float64"), ("float16", "float32")], ids=str)
def test_losses_of_two_dtypes(loss, dtypes):
    seen = []
    for T in (strided, torch):
        x = T.tensor([0.5, -1.5, 2.0], dtype=getattr(T, dtypes[0]))
        y = T.tensor([1, 0, 1], dtype=getattr(T, dtypes[1]))
        made = getattr(T.nn.functional, loss)(x, y)
        seen.append((str(made.dtype), round(float(made), 4)))
    assert seen[0] == seen[1]


def test_weights_keep_the_dtype_of_the_losses():
    for T in (strided, torch):
        x, y, w = T.tensor([0.25, 0.5]), T.tensor([0.0, 1.0]), T.tensor([1.0, 2.0]).double()
        assert T.nn.functional.binary_cross_entropy(x, y, w).dtype is T.float32
        assert T.nn.functional.binary_cross_entropy_with_logits(x.double(), y).dtype is T.float32


DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES[:4])
@pytest.mark.parametrize("of_mask", DTYPES)
def test_dtypes_of_attention_masks(dtype, of_mask):
    seen = []
    for T in (strided, torch):
        query = T.ones(1, 2, 2, dtype=getattr(T, dtype))
        try:
            made = T.nn.functional.scaled_dot_product_attention(
                query, query, query, T.ones(2, 2).to(getattr(T, of_mask))
            )
            seen.append((str(made.dtype), made.tolist()))
        except RuntimeError as error:
            seen.append(str(error))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("margin", [0, 0.5])
def test_ranking_loss_of_integers(margin, reduction):
    def loss(t):
        x, y = t.tensor([1, 2, 3]), t.tensor([3, 2, 1])
        made = t.nn.functional.margin_ranking_loss(x, y, t.tensor([1, -1, 1]), margin, reduction=reduction)
        return str(made.dtype), made.tolist()

    assert loss(strided) == loss(torch)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [f"adaptive_{kind}_pool{n}d" for kind in ("max", "avg") for n in (1, 2, 3)])
def test_dtypes_of_adaptive_pools(name, size, dtype):
    """Which of them are refused, with which error; and batches of nothing."""
    made = []
    for t in (strided, torch):
        for batch in (2, 0):
            x = t.ones([batch, 2] + [4] * int(name[-2])).to(getattr(t, dtype))
            try:
                y = getattr(t.nn.functional, name)(x, size)
                made.append((y.tolist(), tuple(y.shape), str(y.dtype).rpartition(".")[2]))
            except (NotImplementedError, RuntimeError) as error:
                made.append((type(error), str(error)))
    assert made[:2] == made[2:]


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x: f.pixel_unshuffle(x[..., :2], 2),
        lambda f, x: f.pixel_unshuffle(x[:, :, ::2, ::2], 1),
        lambda f, x: f.pixel_shuffle(x[..., :1, :1], 2),
        lambda f, x: f.channel_shuffle(x[:, :, :1], 4),
        lambda f, x: f.channel_shuffle(x[:, :, :1], 1),
    ],
)
def test_shuffled_elements_lie_in_memory_of_their_own(call):
    found = []
    for t in (strided, torch):
        x = t.arange(128.0).view(2, 4, 4, 4)
        made = call(t.nn.functional, x)
        found.append((made.tolist(), made.stride()))
        before = x.clone()
        assert t.equal(x, before) and made.add_(1) is made and t.equal(x, before)
    assert found[0] == found[1]
