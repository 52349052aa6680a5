"""nn.functional of sharded tensors against the unsharded one: values, gradients, every placement."""

import inspect
import itertools

import pytest
import strided as torch
from sharded_cases import MESHES, assert_shard, compare_on
from strided import nn
from strided.distributed import Replicate, Shard, distribute_tensor, explain, init_device_mesh, simulate
from strided.distributed.tensor import distribute_module

F = nn.functional


def normal(*shape):
    return torch.randn(shape, dtype=torch.float64)


def positive(*shape):
    return torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1


def signs(*shape):
    return torch.where(normal(*shape) > 0, 1.0, -1.0).double()


def whole(high, *shape):
    return torch.randint(0, high, shape)


LENGTHS = torch.tensor([6, 5, 6])
IMAGES, LINES, SPACES = (3, 4, 6, 6), (3, 4, 9), (2, 4, 4, 4, 4)

# name: (function, operands); "name 2" is another call of it
CASES = {
    **{name: (lambda x, name=name: getattr(F, name)(x), lambda: normal(3, 4)) for name in (
        "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish normalize relu relu6 selu "
        "sigmoid silu softplus softshrink softsign tanh tanhshrink"
    ).split()},
    "glu": (F.glu, lambda: normal(3, 4)),
    "threshold": (lambda x: F.threshold(x, 0.1, 0.5), lambda: normal(3, 4)),
    "prelu": (F.prelu, lambda: normal(*LINES), lambda: positive(4)),
    **{f"{name} {dim}": (lambda x, name=name, dim=dim: getattr(F, name)(x, dim), lambda: normal(3, 4))
       for name in ("softmax", "log_softmax", "softmin") for dim in (0, -1)},
    **{name: (lambda x, y, name=name: getattr(F, name)(x, y), lambda: normal(3, 4), lambda: positive(3, 4))
       for name in (
        "binary_cross_entropy_with_logits cosine_similarity huber_loss l1_loss mse_loss multilabel_soft_margin_loss "
        "pairwise_distance poisson_nll_loss smooth_l1_loss kl_div"
    ).split()},
    "binary_cross_entropy": (F.binary_cross_entropy, lambda: positive(3, 4), lambda: positive(3, 4)),
    "soft_margin_loss": (F.soft_margin_loss, lambda: normal(3, 4), lambda: signs(3, 4)),
    "hinge_embedding_loss": (F.hinge_embedding_loss, lambda: normal(3, 4), lambda: signs(3, 4)),
    "gaussian_nll_loss": (F.gaussian_nll_loss, *[lambda: positive(3, 4)] * 3),
    "cross_entropy": (F.cross_entropy, lambda: normal(3, 4), lambda: whole(4, 3)),
    "cross_entropy 2": (lambda x, w, t: F.cross_entropy(x, t, w, label_smoothing=0.1), lambda: normal(3, 4, 2),
                        lambda: positive(4), lambda: whole(4, 3, 2)),
    "cross_entropy 3": (F.cross_entropy, lambda: normal(3, 4), lambda: positive(3, 4)),
    "nll_loss": (lambda x, t: F.nll_loss(x, t, ignore_index=1), lambda: normal(3, 4), lambda: torch.tensor([0, 1, 3])),
    "multi_margin_loss": (F.multi_margin_loss, lambda: normal(3, 4), lambda: whole(4, 3)),
    "multilabel_margin_loss": (F.multilabel_margin_loss, lambda: normal(3, 4),
                               lambda: torch.tensor([[1, 2, -1, 0], [0, -1, 0, 0], [-1, 0, 0, 0]])),
    "multilabel_margin_loss 2": (lambda x, t: F.multilabel_margin_loss(x, t, reduction="none"), lambda: normal(3, 4),
                                 lambda: torch.tensor([[1, 2, -1, 0], [0, -1, 0, 0], [-1, 0, 0, 0]])),
    "margin_ranking_loss": (F.margin_ranking_loss, lambda: normal(5), lambda: normal(5), lambda: signs(5)),
    "cosine_embedding_loss": (F.cosine_embedding_loss, lambda: normal(3, 4), lambda: normal(3, 4), lambda: signs(3)),
    "triplet_margin_loss": (F.triplet_margin_loss, *[lambda: normal(3, 4)] * 3),
    "triplet_margin_with_distance_loss": (F.triplet_margin_with_distance_loss, *[lambda: normal(3, 4)] * 3),
    "ctc_loss": (lambda x, t: F.ctc_loss(x, t, LENGTHS, [2, 3, 1]), lambda: normal(6, 3, 5).log_softmax(-1),
                 lambda: whole(4, 3, 3) + 1),
    "ctc_loss 2": (lambda x, t, n: F.ctc_loss(x, t, LENGTHS, n, reduction="sum"),
                   lambda: normal(6, 3, 5).log_softmax(-1), lambda: whole(4, 6) + 1, lambda: torch.tensor([2, 3, 1])),
    "ctc_loss 3": (lambda x, t: F.ctc_loss(x, t, torch.tensor(6), torch.tensor(2), reduction="none"),
                   lambda: normal(6, 5).log_softmax(-1), lambda: whole(4, 2) + 1),
    "linear": (F.linear, lambda: normal(3, 4), lambda: normal(5, 4), lambda: normal(5)),
    "bilinear": (F.bilinear, lambda: normal(3, 4), lambda: normal(3, 2), lambda: normal(5, 4, 2), lambda: normal(5)),
    "embedding": (F.embedding, lambda: whole(5, 3, 2), lambda: normal(5, 4)),
    "embedding 2": (lambda x, w: F.embedding(x, w, padding_idx=-4), lambda: whole(5, 3, 2), lambda: normal(5, 4)),
    "embedding_bag": (F.embedding_bag, lambda: whole(5, 3, 2), lambda: normal(5, 4)),
    "one_hot": (F.one_hot, lambda: whole(5, 3, 2)),
    "one_hot 2": (lambda x: F.one_hot(x, 7), lambda: whole(5, 3)),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, 2, 1), lambda: normal(*LINES), lambda: normal(6, 4, 3),
               lambda: normal(6)),
    "conv2d": (F.conv2d, lambda: normal(*IMAGES), lambda: normal(4, 4, 3, 3), lambda: normal(4)),
    "conv2d 2": (lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 2), lambda: normal(*IMAGES), lambda: normal(6, 2, 3, 3)),
    "conv2d 3": (lambda x, w: F.conv2d(x, w, padding="same"), lambda: normal(4, 6, 6), lambda: normal(5, 4, 3, 3)),
    "conv3d": (F.conv3d, lambda: normal(*SPACES), lambda: normal(3, 4, 2, 2, 2)),
    "conv_transpose1d": (F.conv_transpose1d, lambda: normal(*LINES), lambda: normal(4, 6, 3), lambda: normal(6)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1), lambda: normal(*IMAGES),
                         lambda: normal(4, 3, 3, 3)),
    "conv_transpose2d 2": (lambda x, w: F.conv_transpose2d(x, w, groups=2), lambda: normal(*IMAGES),
                           lambda: normal(4, 3, 2, 2)),
    "conv_transpose3d": (F.conv_transpose3d, lambda: normal(*SPACES), lambda: normal(4, 3, 2, 2, 2)),
    "conv_tbc": (F.conv_tbc, lambda: normal(6, 3, 4), lambda: normal(3, 4, 5), lambda: normal(5)),
    **{f"{name}{k}d": (lambda x, name=name, k=k: getattr(F, f"{name}{k}d")(x, 2),
                       lambda k=k: normal(*(LINES, IMAGES, SPACES)[k - 1]))
       for name in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool") for k in (1, 2, 3)},
    **{f"lp_pool{k}d": (lambda x, k=k: getattr(F, f"lp_pool{k}d")(x, 2.0, 2),
                        lambda k=k: positive(*(LINES, IMAGES, SPACES)[k - 1])) for k in (1, 2, 3)},
    "max_pool2d 2": (lambda x: F.max_pool2d(x, 2, return_indices=True), lambda: normal(*IMAGES)),
    "max_pool2d 3": (lambda x: F.max_pool2d(x, 2), lambda: normal(4, 6, 6)),
    "max_pool1d_with_indices": (lambda x: F.max_pool1d_with_indices(x, 2), lambda: normal(*LINES)),
    "max_pool2d_with_indices": (lambda x: F.max_pool2d_with_indices(x, 2), lambda: normal(*IMAGES)),
    "max_pool3d_with_indices": (lambda x: F.max_pool3d_with_indices(x, 2), lambda: normal(*SPACES)),
    **{f"adaptive_max_pool{k}d_with_indices": (
        lambda x, k=k: getattr(F, f"adaptive_max_pool{k}d_with_indices")(x, 2),
        lambda k=k: normal(*(LINES, IMAGES, SPACES)[k - 1])) for k in (1, 2, 3)},
    **{f"max_unpool{k}d": (
        lambda x, k=k: getattr(F, f"max_unpool{k}d")(*getattr(F, f"max_pool{k}d")(x, 2, return_indices=True), 2),
        lambda k=k: normal(*((3, 4, 8), IMAGES, SPACES)[k - 1])) for k in (1, 2, 3)},
    "fractional_max_pool2d": (lambda x, at: F.fractional_max_pool2d(x, 2, 3, _random_samples=at),
                              lambda: normal(*IMAGES), lambda: positive(3, 4, 2)),
    "fractional_max_pool3d": (lambda x, at: F.fractional_max_pool3d(x, 2, 2, _random_samples=at),
                              lambda: normal(*SPACES), lambda: positive(2, 4, 3)),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), lambda: normal(*LINES), lambda: normal(4),
                   lambda: normal(4)),
    "batch_norm 2": (lambda x, m, v: F.batch_norm(x, m.detach(), v.detach()), lambda: normal(*LINES), lambda: normal(4),
                     lambda: positive(4)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), lambda: normal(3, 4), lambda: normal(4),
                   lambda: normal(4)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), lambda: normal(*LINES), lambda: normal(4),
                   lambda: normal(4)),
    "instance_norm": (F.instance_norm, lambda: normal(*LINES)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), lambda: normal(3, 4), lambda: normal(4)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), lambda: normal(*LINES)),
    **{f"pad {mode}": (lambda x, mode=mode: F.pad(x, (1, 2), mode), lambda: normal(*LINES))
       for mode in ("constant", "reflect", "replicate", "circular")},
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2), lambda: normal(*LINES)),
    "interpolate 2": (lambda x: F.interpolate(x, (5, 7), mode="bilinear"), lambda: normal(*IMAGES)),
    "upsample_nearest": (lambda x: F.upsample_nearest(x, scale_factor=2), lambda: normal(*IMAGES)),
    "upsample_bilinear": (lambda x: F.upsample_bilinear(x, scale_factor=2), lambda: normal(*IMAGES)),
    "grid_sample": (lambda x, at: F.grid_sample(x, at, align_corners=False), lambda: normal(*IMAGES),
                    lambda: positive(3, 2, 5, 2)),
    "affine_grid": (lambda x: F.affine_grid(x, (3, 1, 2, 5), align_corners=False), lambda: normal(3, 2, 3)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), lambda: normal(*IMAGES)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), lambda: normal(*IMAGES)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), lambda: normal(*LINES)),
    "native_channel_shuffle": (lambda x: F.native_channel_shuffle(x, 2), lambda: normal(*LINES)),
    "unfold": (lambda x: F.unfold(x, 2, stride=2), lambda: normal(*IMAGES)),
    "fold": (lambda x: F.fold(x, (4, 4), 2, stride=2), lambda: normal(3, 8, 4)),
    "fold 2": (lambda x: F.fold(x, (4, 4), 2, stride=2), lambda: normal(8, 4)),
    "scaled_dot_product_attention": (F.scaled_dot_product_attention, *[lambda: normal(3, 2, 4, 5)] * 3),
    "scaled_dot_product_attention 2": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                       *[lambda: normal(3, 2, 4, 5)] * 3),
    "pdist": (F.pdist, lambda: normal(4, 3)),
    "linear_cross_entropy": (F.linear_cross_entropy, lambda: normal(3, 4), lambda: normal(5, 4), lambda: whole(5, 3)),
}  # fmt: skip
# Random, or compared elsewhere (test_rules_random.py); names of other ones; more than a case can say; without a rule.
ELSEWHERE = """alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout gumbel_softmax rrelu
fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices hardtanh multi_head_attention_forward upsample
grouped_mm"""


def test_every_function_has_a_case():
    functions = {
        name for name in dir(F)
        if callable(f := getattr(F, name)) and name[0] != "_" and name[-1] != "_" and not inspect.isclass(f)
    }  # fmt: skip
    assert functions - {name.partition(" ")[0] for name in CASES} <= set(ELSEWHERE.split())


# Each number of ranks comes up with several functions; on grids and on many ranks some shards are empty.
RANKS = dict(zip(CASES, itertools.cycle((2, 3, 2, 4, 2, 3, 2, 2, 6, 2, 3, 7))))


@pytest.mark.parametrize("name", CASES)
def test_function(name):
    function, *makers = CASES[name]
    n = RANKS[name]
    torch.manual_seed(n)
    compare_on(n, MESHES[n][-1], function, [make() for make in makers], part=(0, 1 + (len(makers) > 1)))


def test_random_places_of_pools_are_those_of_any_number_of_ranks():
    x = normal(3, 4, 6, 6)

    def program(placement):
        torch.manual_seed(3)
        mesh = init_device_mesh("cpu", (torch.distributed.world().size,))
        return F.fractional_max_pool2d(distribute_tensor(x, mesh, [placement]), 2, 3).full_tensor()

    one = simulate(1, program, Replicate())[0]
    assert all(torch.equal(simulate(3, program, p)[2], one) for p in (Replicate(), Shard(0), Shard(1), Shard(2)))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: F.embedding(x.long() * 0, x, max_norm=1.0), "no rule with max_norm="),
        (lambda x: F.one_hot(x.long() - 9), "Class values must be non-negative"),
        (lambda x: F.conv2d(x, x), "conv2d"),
        (lambda x: F.max_pool2d(x, 7), "max_pool2d"),
    ],
)
def test_what_does_not_fit_says_so(call, words):
    def program():
        x = distribute_tensor(torch.rand(4, 4), init_device_mesh("cpu", (2,)), [Shard(0)])
        with pytest.raises((RuntimeError, NotImplementedError), match=words):
            call(x)

    simulate(2, program)


LAYERS = {
    "LSTM": (lambda: nn.LSTM(4, 6, batch_first=True), lambda m, x: m(x)[0]),
    "GRU": (lambda: nn.GRU(4, 6, 2, bidirectional=True), lambda m, x: m(x)[0]),
    "RNN": (lambda: nn.RNN(4, 6, batch_first=True), lambda m, x: m(x)[1]),
    "LSTMCell": (lambda: nn.LSTMCell(4, 6), lambda m, x: m(x[:, 0])[1]),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2, batch_first=True), lambda m, x: m(x, x, x)[0]),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), lambda m, x: m(x)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), lambda m, x: m(x)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_batches_that_are_cut(name):
    """Results, gradients of parameters, and running statistics."""
    make, call = LAYERS[name]
    x = normal(4, 3, 4)

    def run(make, x):
        torch.manual_seed(1)
        layer = make().double()
        out = call(layer, x)
        out.square().sum().backward()
        return [out.detach(), *(p.grad for p in layer.parameters()), *layer.buffers()]

    want = run(make, x)

    def program(placement):
        mesh = init_device_mesh("cpu", (2,))
        found = run(lambda: distribute_module(make(), mesh), distribute_tensor(x, mesh, [placement]))
        for a, b in zip(found, want, strict=True):
            assert_shard(a, b, (name, placement))

    for placement in (Shard(0), Shard(1), Replicate()):
        simulate(2, program, placement)


def test_losses_of_logits_that_are_cut_along_the_classes_gather_nothing():
    def program():
        mesh = init_device_mesh("cpu", (4,))
        x = distribute_tensor(torch.rand(64, 32), mesh, [Shard(1)]).requires_grad_()
        target = distribute_tensor(torch.arange(64) % 32, mesh, [Replicate()])
        moved = explain(lambda: F.cross_entropy(x, target).backward())()
        return max(t.received for t in moved.transfers), x.to_local().nbytes

    received, share = simulate(4, program)[1]
    assert received <= share
