"""Convolutions and pooling: text, initial parameters, outputs, gradients and errors are PyTorch's."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402
from nn_compare import compare_call, compare_module, x  # noqa: E402

CONVOLUTIONS = {
    "Conv1d(3, 4, 3)": x(2, 3, 9),
    "Conv1d(3, 4, 3) ": x(3, 9),
    "Conv1d(4, 6, 2, stride=2, padding=1, dilation=2, groups=2, bias=False)": x(2, 4, 9),
    "Conv1d(3, 4, 4, padding='same')": x(2, 3, 9),
    "Conv1d(3, 4, 3, padding=2, padding_mode='circular')": x(2, 3, 9),
    "Conv2d(3, 4, 3)": x(2, 3, 7, 6),
    "Conv2d(3, 4, 1)": x(2, 3, 7, 6),
    "Conv2d(4, 6, 1, groups=2)": x(2, 4, 7, 6),
    "Conv2d(3, 4, 1, stride=2)": x(2, 3, 7, 6),
    "Conv2d(3, 4, (2, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2))": x(2, 3, 7, 6),
    "Conv2d(4, 8, 3, groups=4, padding=1)": x(2, 4, 7, 6),
    "Conv2d(4, 4, 3, groups=4, stride=2)": x(2, 4, 7, 6),
    "Conv2d(4, 8, 3, groups=2)": x(2, 4, 7, 6),
    "Conv2d(3, 4, 3, padding='same', dilation=2)": x(2, 3, 7, 6),
    "Conv2d(3, 4, (2, 4), padding='same', padding_mode='reflect')": x(2, 3, 7, 6),
    "Conv2d(3, 4, 3, padding='valid')": x(3, 7, 6),
    "Conv2d(3, 4, 3, padding=1, padding_mode='reflect')": x(2, 3, 7, 6),
    "Conv2d(3, 4, 3, padding=(1, 2), padding_mode='replicate')": x(2, 3, 7, 6),
    "Conv3d(2, 3, 2, padding=1, stride=2)": x(2, 2, 4, 5, 4),
    "Conv3d(2, 2, (1, 2, 3), groups=2)": x(2, 2, 4, 5, 4),
    "ConvTranspose1d(3, 4, 3, stride=2, padding=1, output_padding=1)": x(2, 3, 5),
    "ConvTranspose2d(3, 4, 3)": x(2, 3, 4, 5),
    "ConvTranspose2d(4, 6, (2, 3), stride=(2, 3), padding=1, groups=2, dilation=2, output_padding=(1, 0))": x(
        2, 4, 4, 5
    ),
    "ConvTranspose2d(4, 4, 2, stride=2, groups=4, bias=False)": x(4, 4, 5),
    "ConvTranspose3d(2, 3, 2, stride=2)": x(1, 2, 2, 3, 2),
    "MaxPool1d(2)": x(2, 3, 7),
    "MaxPool1d(3, 2, padding=1)": x(2, 3, 7),
    "MaxPool2d(2)": x(2, 3, 6, 8),
    "MaxPool2d(3, stride=2, padding=1, ceil_mode=True)": x(2, 3, 8, 7),
    "MaxPool2d((2, 3), stride=(1, 2), dilation=(2, 1), return_indices=True)": x(2, 3, 8, 7),
    "MaxPool2d(2, return_indices=True)": x(3, 8, 7),
    "MaxPool3d(2, 1, 1, return_indices=True)": x(2, 3, 4, 5, 3),
    "AvgPool1d(3, 2, 1)": x(2, 3, 8),
    "AvgPool2d(2)": x(2, 3, 6, 8),
    "AvgPool2d(3, stride=2, padding=1, ceil_mode=True)": x(2, 3, 6, 7),
    "AvgPool2d((3, 2), 2, padding=1, count_include_pad=False, ceil_mode=True)": x(2, 3, 6, 7),
    "AvgPool2d(3, 1, divisor_override=4)": x(3, 6, 7),
    "AvgPool3d(2, ceil_mode=True)": x(2, 3, 4, 5, 3),
    "LPPool1d(2, 3)": x(2, 3, 8),
    "LPPool2d(2, (2, 3), stride=2)": x(2, 3, 8, 7),
    "AdaptiveAvgPool1d(4)": x(2, 3, 8),
    "AdaptiveAvgPool1d(5)": x(2, 3, 8),
    "AdaptiveAvgPool2d(1)": x(2, 3, 8, 7),
    "AdaptiveAvgPool2d((3, None))": x(2, 3, 8, 7),
    "AdaptiveAvgPool2d((3, 9))": x(3, 8, 7),
    "AdaptiveAvgPool3d((2, 3, 1))": x(2, 3, 4, 5, 3),
    "AdaptiveMaxPool1d(5)": x(2, 3, 8),
    "AdaptiveMaxPool2d((3, 2), return_indices=True)": x(2, 3, 8, 7),
    "AdaptiveMaxPool3d(2, return_indices=True)": x(2, 3, 4, 5, 3),
}


@pytest.mark.parametrize("text", CONVOLUTIONS)
def test_module(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare_module(lambda nn: eval("nn." + text.strip(), {"nn": nn}), [CONVOLUTIONS[text]])


def test_unpooling():
    def run(lib, x):
        y, at = lib.nn.functional.max_pool2d(x, 2, return_indices=True)
        return lib.nn.functional.max_unpool2d(y * 2, at, 2, output_size=x.shape)

    compare_call(run, [x(2, 3, 5, 6)])
    compare_call(lambda lib, x: lib.nn.MaxUnpool1d(2)(*lib.nn.MaxPool1d(2, return_indices=True)(x)), [x(2, 3, 6)])
    compare_call(lambda lib, x: lib.nn.MaxUnpool3d(2)(*lib.nn.MaxPool3d(2, return_indices=True)(x)), [x(1, 2, 4, 4, 2)])


def second_order(lib, x, w):
    y = lib.nn.functional.conv2d(x, w, stride=2, padding=1)
    gx, gw = lib.autograd.grad((y**3).sum(), (x, w), create_graph=True)
    return gx, (gx**2).sum() + (gw**2).sum()


def test_gradients_of_gradients():
    compare_call(second_order, [x(2, 3, 5, 6), x(4, 3, 3, 3, seed=2)], tol=2e-3)


@pytest.mark.parametrize("name", ["conv1d", "conv_transpose1d"])
@pytest.mark.parametrize("groups", [1, 2])
def test_complex_gradients(name, groups):
    def run(lib, x, w):
        x, w = (lib.complex(t, t.flip(0) * 0.5) for t in (x, w))
        y = getattr(lib.nn.functional, name)(x, w, groups=groups)
        first = lib.autograd.grad((y * y.abs()).real.sum(), (x, w), create_graph=True)
        return (sum((g.abs() ** 2).sum() for g in first),)

    compare_call(run, [x(2, 4, 6), x(4, 4 // groups, 3, seed=2)], tol=2e-3)


def test_output_size_of_a_transpose():
    make = lambda lib: lib.nn.ConvTranspose2d(2, 3, 3, stride=2)
    compare_call(lambda lib, x: make(lib)(x, output_size=[10, 11]), [x(1, 2, 4, 5)])


ERRORS = {
    "dtype of the bias": lambda F, t: F.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), t.ones(1).cfloat()),
    "few outputs": lambda F, t: F.conv1d(t.ones(2, 2, 4), t.ones(2, 2, 2), groups=3),
    "a weight of two axes": lambda F, t: F.conv1d(t.ones(1, 1, 4), t.ones(1, 2)),
    "pool stride": lambda F, t: F.max_pool1d(t.ones(1, 1, 4), 2, stride=0),
    "negative pool padding": lambda F, t: F.avg_pool2d(t.ones(1, 4, 4), 2, padding=-1),
    "no channels": lambda F, t: F.max_pool2d(t.ones(1, 0, 4, 4), 2),
    "few axes": lambda F, t: F.adaptive_avg_pool2d(t.ones(2, 2), (2, 2)),
    "channels": lambda F, t: F.conv2d(t.ones(1, 4, 8, 8), t.ones(6, 3, 3, 3)),
    "axes": lambda F, t: F.conv2d(t.ones(8, 8), t.ones(6, 3, 3, 3)),
    "kernel": lambda F, t: F.conv2d(t.ones(1, 3, 2, 2), t.ones(6, 3, 3, 3)),
    "same": lambda F, t: F.conv2d(t.ones(1, 3, 4, 4), t.ones(6, 3, 3, 3), stride=2, padding="same"),
    "word": lambda F, t: F.conv1d(t.ones(1, 3, 4), t.ones(6, 3, 3), padding="nope"),
    "stride": lambda F, t: F.conv1d(t.ones(1, 3, 4), t.ones(6, 3, 3), stride=0),
    "transposed": lambda F, t: F.conv_transpose2d(t.ones(1, 4, 8, 8), t.ones(3, 6, 3, 3)),
    "pool padding": lambda F, t: F.max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2),
    "groups": lambda F, t: t.nn.Conv2d(3, 4, 3, groups=2),
    "groups 0": lambda F, t: t.nn.Conv2d(3, 4, 3, groups=0),
    "mode": lambda F, t: t.nn.Conv2d(3, 4, 3, padding_mode="nope"),
    "module same": lambda F, t: t.nn.Conv2d(3, 4, 3, stride=2, padding="same"),
    "module word": lambda F, t: t.nn.Conv2d(3, 4, 3, padding="nope"),
    "transposed mode": lambda F, t: t.nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"),
    "output size": lambda F, t: t.nn.ConvTranspose2d(2, 3, 3, stride=2)(t.ones(1, 2, 4, 5), output_size=[10, 18]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(name):
    found = []
    for t in (strided, torch):
        with pytest.raises(Exception) as error:
            ERRORS[name](t.nn.functional, t)
        found.append((type(error.value).__name__, str(error.value)))
    assert found[0][0] == found[1][0]
    assert found[0][1][:30] == found[1][1][:30]
