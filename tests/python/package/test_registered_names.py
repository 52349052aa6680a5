"""``ops``, ``classes`` and untyped storages, as libraries use them."""

import os
import pathlib

import numpy as np
import pytest
import strided


def test_ops():
    aten = strided.ops.aten
    assert aten.mul is aten.mul and aten.mul.Tensor is aten.mul.Tensor and aten.mul.Tensor is not aten.mul.Scalar
    assert aten.add(strided.ones(2), 1).tolist() == [2, 2] and aten.relu.default(strided.tensor([-1.0])).item() == 0
    assert str(aten.add.Tensor) == "aten.add.Tensor" and {aten.add.Tensor: 1}[aten.add.Tensor] == 1
    with pytest.raises(NotImplementedError, match="_fused_adam_"):
        aten._fused_adam_(1)
    assert not hasattr(strided.ops.torchvision, "qnms")
    with pytest.raises(AttributeError, match="'_OpNamespace' 'pyg' object has no attribute 'x'"):
        strided.ops.pyg.x
    with pytest.raises(NotImplementedError, match="load_library"):
        strided.ops.load_library("x.so")
    with pytest.raises(RuntimeError, match="Class pyg.CPUHashMap is not registered"):
        strided.classes.pyg.CPUHashMap


def test_bytes():
    x = strided.tensor([1, 2, 3, 4], dtype=strided.uint8)
    s = x.untyped_storage()
    assert s[1] == 2 and s[-1] == 4 and list(s) == s.tolist() == [1, 2, 3, 4] and s.untyped() is s
    part = s[1:3]
    assert part.tolist() == [2, 3] and part.data_ptr() == s.data_ptr() + 1
    part[0] = 9
    assert x.tolist() == [1, 9, 3, 4]
    assert strided.asarray(part, dtype=strided.uint8).data_ptr() == part.data_ptr()
    assert strided.asarray(s, dtype=strided.int16).tolist() == [0x0901, 0x0403]
    copy = s.clone()
    copy[0] = 0
    assert x[0] == 1 and copy.nbytes() == 4 and s.element_size() == 1 and not s.is_cuda and s.cpu() is s
    with pytest.raises(RuntimeError, match="step of 2"):
        s[::2]
    with pytest.raises(IndexError):
        s[4]
    with pytest.raises(TypeError, match="can't index"):
        s["a"]
    assert strided.storage.UntypedStorage is strided.UntypedStorage


def test_a_file_as_memory(tmp_path):
    path = os.path.join(tmp_path, "x")
    with open(path, "wb") as f:
        f.write(bytes(range(10)))
    s = strided.UntypedStorage.from_file(path, nbytes=10)
    assert s[2:5].tolist() == [2, 3, 4]
    s[0] = 7
    shared = strided.UntypedStorage.from_file(path, True, 10)
    shared[1] = 8
    with open(path, "rb") as f:
        assert list(f.read())[:3] == [0, 8, 2]


def test_text_of_numbers():
    names = strided._tensor_str
    x = strided.tensor([1.0, 2.0])
    assert names._tensor_str(x, 0) == "[1., 2.]" and names.PRINT_OPTS.threshold == 1000
    assert names._str_intern(x, tensor_contents="[..]") == "tensor([..])" and names._str(x) == repr(x)
    assert names._add_suffixes("Index([1", ["a=1", "b=2"], 6, False) == "Index([1, a=1, b=2)"


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
def test_loops_of_audio_filters(dtype):
    strided.ops.load_library("lib/_torchaudio.abi3.so")
    strided.ops.load_library(pathlib.Path("lib/libtorchaudio.so"))
    ops = strided.ops.torchaudio
    assert strided.ops._torchaudio.cuda_version() is None and not strided.ops._torchaudio.is_align_available()
    assert not hasattr(ops, "rnnt_loss_forward")
    strided.manual_seed(0)
    x, a = (
        strided.randn(2, 3, 20, dtype=dtype),
        strided.tensor([[0.5, -0.25, 1], [0, 0.1, 1], [-0.3, 0, 1]], dtype=dtype),
    )
    padded = strided.zeros(2, 3, 22, dtype=dtype)
    before = x.clone()
    ops._lfilter_core_loop(x.requires_grad_(), a, padded)
    want = np.zeros((2, 3, 22))
    for n, c, t in np.ndindex(2, 3, 20):  # y[t] + a1 y[t-1] + a2 y[t-2] = x[t]
        want[n, c, t + 2] = before[n, c, t].item() - want[n, c, t + 1] * a[c, 1].item() - want[n, c, t] * a[c, 0].item()
    np.testing.assert_allclose(padded.numpy(), want, rtol=1e-5, atol=1e-6)
    assert x.equal(before) and not padded.requires_grad

    waveform, temp, out = (
        strided.randn(2, 9, dtype=dtype),
        strided.randn(2, 9, dtype=dtype),
        strided.zeros(2, 9, dtype=dtype),
    )
    ops._overdrive_core_loop(waveform, temp, strided.zeros(2, dtype=dtype), strided.zeros(2, dtype=dtype), out)
    state, last = np.zeros(2), np.zeros(2)
    for i in range(9):
        state, last = temp[:, i].numpy() - last + 0.995 * state, temp[:, i].numpy()
        np.testing.assert_allclose(out[:, i].numpy(), waveform[:, i].numpy() * 0.5 + state * 0.75, rtol=1e-5, atol=1e-6)


def test_losses_of_aten_take_the_reduction_as_a_number():
    x, y = strided.tensor([[0.1, 0.7, 0.3], [0.2, 0.9, 0.4]]), strided.tensor([1, 2])
    other = strided.tensor([[0.5, 0.2, 0.6], [0.1, 0.8, 0.3]])
    sign, places = strided.tensor([[1.0, -1, 1], [1, 1, -1]]), strided.tensor([[1, 0, -1], [2, -1, -1]])
    f = strided.nn.functional
    cases = {
        "l1_loss": (f.l1_loss, (x, other), ()),
        "soft_margin_loss": (f.soft_margin_loss, (x, sign), ()),
        "multilabel_margin_loss": (f.multilabel_margin_loss, (x, places), ()),
        "multi_margin_loss": (f.multi_margin_loss, (x, y), (1, 1, None)),
        "nll_loss": (f.nll_loss, (x, y), (None,)),
        "nll_loss_nd": (f.nll_loss, (x, y), (None,)),
        "cross_entropy_loss": (f.cross_entropy, (x, y), (None,)),
        "mse_loss": (f.mse_loss, (x, other), ()),
        "smooth_l1_loss": (f.smooth_l1_loss, (x, other), ()),
        "huber_loss": (f.huber_loss, (x, other), ()),
        "binary_cross_entropy": (f.binary_cross_entropy, (x, other), (None,)),
    }
    with pytest.raises(ValueError, match="5 is not a valid value for reduction"):
        strided.ops.aten.l1_loss(x, other, 5)
    from strided._as_torch.core_names import _Networks

    for name, (function, args, options) in cases.items():
        for number, word in enumerate(("none", "mean", "sum")):
            want = function(*args, reduction=word)
            for space in (strided.ops.aten, _Networks()):
                got = getattr(space, name)(*args, *options, number)
                assert got.shape == want.shape and strided.allclose(got, want), (name, word)
        assert getattr(strided.ops.aten, name)(*args).ndim == 0
    smooth = strided.ops.aten.cross_entropy_loss(x, y, None, 2, 1, 0.1)
    assert strided.allclose(smooth, f.cross_entropy(x, y, reduction="sum", ignore_index=1, label_smoothing=0.1))
