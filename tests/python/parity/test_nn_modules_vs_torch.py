"""Modules with the arguments they take: text, initial parameters, outputs and gradients are PyTorch's."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from nn_compare import compare_module  # noqa: E402


def x(*shape, grad=True, seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g).requires_grad_(grad)


def i(high, *shape, seed=1):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(seed))


def p(*shape):
    return x(*shape, grad=False).sigmoid().requires_grad_()


def sign(*shape):
    return x(*shape, grad=False, seed=9).sign()


CASES = {
    # linear
    "Identity()": [x(2, 3)],
    "Linear(3, 4)": [x(5, 3)],
    "Linear(3, 4, bias=False)": [x(2, 5, 3)],
    "Linear(3, 1)": [x(3)],
    "Linear(3, 4) ": [x(2, 2, 5, 3)],
    "Bilinear(3, 4, 5)": [x(6, 3), x(6, 4)],
    "Bilinear(3, 4, 2, bias=False)": [x(2, 6, 3), x(2, 6, 4)],
    "Flatten()": [x(2, 3, 4)],
    "Flatten(0, 1)": [x(2, 3, 4)],
    "Unflatten(1, (2, 3))": [x(2, 6)],
    # activations
    **{
        f"{name}()": [x(4, 6)]
        for name in "ReLU ReLU6 ELU CELU SELU GELU SiLU Mish Hardtanh Hardsigmoid Hardswish LeakyReLU LogSigmoid Softplus Softshrink "
        "Hardshrink Softsign Tanh Tanhshrink Sigmoid PReLU RReLU GLU".split()
    },
    "RReLU(0.1, 0.4)": [x(5, 7)],
    "Threshold(0.1, 20)": [x(4, 5)],
    "ELU(0.5)": [x(4, 5)],
    "CELU(0.7)": [x(4, 5)],
    "GELU(approximate='tanh')": [x(4, 5)],
    "Hardtanh(-0.3, 0.6)": [x(4, 5)],
    "LeakyReLU(0.2)": [x(4, 5)],
    "Softplus(2, 1)": [x(4, 5)],
    "Softshrink(0.3)": [x(4, 5)],
    "Hardshrink(0.3)": [x(4, 5)],
    "PReLU(3)": [x(4, 3, 2)],
    "GLU(0)": [x(4, 5)],
    "Softmax(1)": [x(4, 5)],
    "LogSoftmax(0)": [x(4, 5)],
    "Softmin(1)": [x(4, 5)],
    "Softmax()": [x(4, 5)],
    "Softmax2d()": [x(2, 3, 4, 5)],
    **{
        f"Sequential(nn.Linear(3, 4), nn.{name})": [x(5, 3)]
        for name in (
            "ReLU(True)",
            "ELU(0.5, True)",
            "LeakyReLU(0.2, True)",
            "CELU(2.0, True)",
            "SELU(True)",
            "Hardtanh(inplace=True)",
            "ReLU6(True)",
            "SiLU(True)",
            "Mish(True)",
            "Hardswish(True)",
            "Hardsigmoid(True)",
            "Threshold(0.1, 2, True)",
            "RReLU(inplace=True)",
        )
    },
    # dropout
    "Dropout()": [x(20, 30)],
    "Dropout(0.2)": [x(7)],
    "Dropout(0.0)": [x(7)],
    "Dropout(1.0)": [x(7)],
    "Dropout1d(0.4)": [x(4, 6, 5)],
    "Dropout2d(0.3)": [x(4, 6, 2, 3)],
    "Dropout3d(0.3)": [x(4, 6, 2, 3, 2)],
    "AlphaDropout(0.3)": [x(10, 11)],
    "FeatureAlphaDropout(0.3)": [x(4, 6, 3)],
    # normalisation
    "BatchNorm1d(3)": [x(6, 3)],
    "BatchNorm1d(3) ": [x(4, 3, 5)],
    "BatchNorm2d(3)": [x(4, 3, 5, 2)],
    "BatchNorm3d(2)": [x(3, 2, 3, 2, 2)],
    "BatchNorm2d(3, affine=False)": [x(4, 3, 5, 2)],
    "BatchNorm1d(3, track_running_stats=False)": [x(6, 3)],
    "BatchNorm1d(3, momentum=None, eps=0.1)": [x(6, 3)],
    "LayerNorm(5)": [x(3, 4, 5)],
    "LayerNorm([4, 5], eps=1e-3)": [x(3, 4, 5)],
    "LayerNorm(5, bias=False)": [x(3, 5)],
    "LayerNorm(5, elementwise_affine=False)": [x(3, 5)],
    "GroupNorm(2, 6)": [x(3, 6, 4, 2)],
    "GroupNorm(3, 6, affine=False)": [x(3, 6)],
    "RMSNorm(5)": [x(3, 5)],
    "RMSNorm([4, 5], eps=0.1)": [x(3, 4, 5)],
    "InstanceNorm1d(3)": [x(2, 3, 6)],
    "InstanceNorm1d(3) ": [x(3, 6)],
    "InstanceNorm2d(3, affine=True, track_running_stats=True)": [x(2, 3, 6, 4)],
    "InstanceNorm3d(2)": [x(2, 2, 3, 4, 2)],
    "LocalResponseNorm(3)": [x(2, 5, 4)],
    "LocalResponseNorm(2, 0.1, 0.5, 2.0)": [x(2, 5, 4, 3)],
    # tables
    "Embedding(7, 3)": [i(7, 4, 5)],
    "Embedding(7, 3, padding_idx=2)": [i(7, 10)],
    "Embedding(7, 3, max_norm=1.0)": [i(7, 10)],
    "Embedding(7, 3, scale_grad_by_freq=True)": [i(7, 20)],
    "Embedding(7, 3, norm_type=1.0, max_norm=2)": [i(7, 2, 2)],
    "EmbeddingBag(7, 3)": [i(7, 4, 5)],
    "EmbeddingBag(7, 3, mode='sum')": [i(7, 9), torch.tensor([0, 3, 3, 7])],
    "EmbeddingBag(7, 3, mode='max')": [i(7, 4, 5)],
    "EmbeddingBag(7, 3, padding_idx=1)": [i(7, 4, 5)],
    "EmbeddingBag(7, 3, mode='sum') ": [i(7, 4, 5), None, x(4, 5)],
    "EmbeddingBag(7, 3, include_last_offset=True)": [i(7, 9), torch.tensor([0, 3, 3, 9])],
    # distances, places
    "CosineSimilarity()": [x(4, 5), x(4, 5, seed=2)],
    "CosineSimilarity(0, 0.1)": [x(4, 5), x(4, 5, seed=2)],
    "PairwiseDistance()": [x(4, 5), x(4, 5, seed=2)],
    "PairwiseDistance(1, keepdim=True)": [x(4, 5), x(4, 5, seed=2)],
    "PixelShuffle(2)": [x(2, 8, 3, 2)],
    "PixelUnshuffle(2)": [x(2, 3, 4, 6)],
    "ChannelShuffle(2)": [x(2, 6, 3, 2)],
    "Unfold(2)": [x(2, 3, 4, 5)],
    "Unfold((2, 3), dilation=2, padding=1, stride=(2, 1))": [x(2, 3, 6, 7)],
    "Fold((4, 5), 2)": [x(2, 12, 12)],
    "Fold((6, 7), (2, 3), dilation=2, padding=1, stride=(2, 1))": [x(2, 18, 15)],
    # padding
    "ZeroPad1d((1, 2))": [x(2, 3, 4)],
    "ZeroPad2d(1)": [x(2, 3, 4)],
    "ZeroPad3d(1)": [x(2, 2, 3, 4)],
    "ConstantPad1d(2, 3.5)": [x(2, 4)],
    "ConstantPad2d((1, -1, 2, 0), 1)": [x(2, 3, 4)],
    "ConstantPad3d((1, 0, 2, 1, 0, 1), 1.0)": [x(2, 2, 3, 4)],
    "ReflectionPad1d((2, 1))": [x(2, 3, 4)],
    "ReflectionPad2d((1, 2, 0, 1))": [x(2, 3, 4, 5)],
    "ReflectionPad3d(1)": [x(1, 2, 3, 4, 5)],
    "ReplicationPad1d((5, 1))": [x(2, 3, 4)],
    "ReplicationPad2d((1, 2, 3, 0))": [x(3, 4, 5)],
    "ReplicationPad3d(2)": [x(1, 2, 3, 4, 5)],
    "CircularPad1d((2, 1))": [x(2, 3, 4)],
    "CircularPad2d((1, 2, 2, 0))": [x(2, 3, 4, 5)],
    "CircularPad3d(1)": [x(1, 2, 3, 4, 5)],
    "ReflectionPad1d((-1, 2))": [x(2, 3, 6)],
    # losses
    **{
        f"{name}({r})": [x(4, 5), x(4, 5, seed=2)]
        for r in ("", "reduction='sum'", "reduction='none'")
        for name in "L1Loss MSELoss SmoothL1Loss HuberLoss".split()
    },
    "SmoothL1Loss(beta=0.3)": [x(4, 5), x(4, 5, seed=2)],
    "HuberLoss(delta=0.4)": [x(4, 5), x(4, 5, seed=2)],
    "NLLLoss()": [x(4, 5), i(5, 4)],
    "NLLLoss(ignore_index=1)": [x(9, 3), i(3, 9)],
    "NLLLoss(torch.tensor([0.5, 1, 2]), ignore_index=1)": [x(9, 3), i(3, 9)],
    "NLLLoss(reduction='none') ": [x(4, 5, 2, 3), i(5, 4, 2, 3)],
    "CrossEntropyLoss()": [x(4, 5), i(5, 4)],
    "LinearCrossEntropyLoss(3, 5)": [x(4, 3), i(5, 4)],
    "LinearCrossEntropyLoss(3, 5, bias=True, label_smoothing=0.1, ignore_index=2)": [x(4, 3), i(5, 4)],
    "LinearCrossEntropyLoss(3, 5, out_features=(2, 6), bias=True, reduction='none')": [x(4, 3), i(5, 4, 2, 6)],
    "CrossEntropyLoss() ": [x(5), i(5)],
    "CrossEntropyLoss(ignore_index=0, label_smoothing=0.2)": [x(9, 5), i(5, 9)],
    "CrossEntropyLoss(torch.tensor([0.5, 1, 2]), label_smoothing=0.1)": [x(9, 3), i(3, 9)],
    "CrossEntropyLoss(torch.tensor([0.5, 1, 2]), label_smoothing=0.1, ignore_index=2, reduction='sum')": [
        x(9, 3),
        i(3, 9),
    ],
    "CrossEntropyLoss(reduction='none')": [x(4, 5, 2, 3), i(5, 4, 2, 3)],
    "CrossEntropyLoss()  ": [x(4, 5), x(4, 5, seed=2, grad=False).softmax(1).requires_grad_()],
    "CrossEntropyLoss(torch.tensor([0.5, 1, 2]), label_smoothing=0.3)  ": [x(4, 3, 6), x(4, 3, 6, seed=2)],
    "CrossEntropyLoss(reduction='none')  ": [x(4, 3, 6), x(4, 3, 6, seed=2)],
    "BCELoss()": [p(4, 5), x(4, 5, seed=2, grad=False).sigmoid()],
    "BCELoss(torch.tensor([0.5, 1, 2]), reduction='sum')": [p(4, 3), x(4, 3, seed=2, grad=False).sigmoid()],
    "BCEWithLogitsLoss()": [x(4, 5), x(4, 5, seed=2, grad=False).sigmoid()],
    "BCEWithLogitsLoss(torch.tensor([0.5, 1, 2]), pos_weight=torch.tensor([3, 1, 2.]))": [
        x(4, 3),
        x(4, 3, seed=2, grad=False).sigmoid(),
    ],
    "KLDivLoss()": [x(4, 5), p(4, 5)],
    "KLDivLoss(reduction='batchmean', log_target=True)": [x(4, 5), x(4, 5, seed=2)],
    "PoissonNLLLoss()": [x(4, 5), p(4, 5)],
    "PoissonNLLLoss(log_input=False, full=True)": [p(4, 5), i(9, 4, 5).float()],
    "GaussianNLLLoss()": [x(4, 5), x(4, 5, seed=2), p(4, 5)],
    "GaussianNLLLoss(full=True)": [x(4, 5), x(4, 5, seed=2), p(4, 1)],
    "HingeEmbeddingLoss()": [x(4, 5), sign(4, 5)],
    "HingeEmbeddingLoss(0.4, reduction='sum')": [x(4, 5), sign(4, 5)],
    "SoftMarginLoss()": [x(4, 5), sign(4, 5)],
    "MarginRankingLoss(0.2)": [x(6), x(6, seed=2), sign(6)],
    "CosineEmbeddingLoss(0.1)": [x(4, 5), x(4, 5, seed=2), sign(4)],
    "TripletMarginLoss()": [x(4, 5), x(4, 5, seed=2), x(4, 5, seed=3)],
    "TripletMarginLoss(0.4, 1, swap=True)": [x(4, 5), x(4, 5, seed=2), x(4, 5, seed=3)],
    "TripletMarginWithDistanceLoss(swap=True)": [x(4, 5), x(4, 5, seed=2), x(4, 5, seed=3)],
    "MultiMarginLoss()": [x(4, 5), i(5, 4)],
    "MultiMarginLoss(2, 0.4, torch.tensor([0.5, 1, 2]))": [x(4, 3), i(3, 4)],
    "MultiLabelMarginLoss()": [x(2, 4), torch.tensor([[3, 0, -1, 1], [0, -1, 2, 1]])],
    "MultiLabelSoftMarginLoss()": [x(4, 5), i(2, 4, 5).float()],
    # containers
    "Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 4), nn.Dropout()), nn.LayerNorm(4))": [x(5, 3)],
}


@pytest.mark.parametrize("text", CASES)
def test_module(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_module(lambda nn: make(nn, text), CASES[text])


def make(nn, text):
    import strided

    return eval("nn." + text.strip(), {"nn": nn, "torch": torch if nn is torch.nn else strided})
