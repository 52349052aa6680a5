"""The printed text of tensors, character for character (PyTorch 2.13's, written down)."""

import pytest
import strided as torch

# An expression after >>>, its text until the next one.
TRANSCRIPT = """
>>> torch.tensor(3)
tensor(3)
>>> torch.tensor(3.0)
tensor(3.)
>>> torch.tensor(2.5)
tensor(2.5000)
>>> torch.tensor(True)
tensor(True)
>>> torch.tensor(-0.0)
tensor(-0.)
>>> torch.tensor(1e-5)
tensor(1.0000e-05)
>>> torch.tensor(1 + 2j)
tensor(1.+2.j)
>>> torch.tensor(7, dtype=torch.uint8)
tensor(7, dtype=torch.uint8)
>>> torch.tensor([1, 2, 30])
tensor([ 1,  2, 30])
>>> torch.tensor([1.0, 2.0])
tensor([1., 2.])
>>> torch.tensor([1.5, 10.0])
tensor([ 1.5000, 10.0000])
>>> torch.tensor([True, False])
tensor([ True, False])
>>> torch.tensor([-1.0, 0.5, 100.25])
tensor([ -1.0000,   0.5000, 100.2500])
>>> torch.tensor([1e-5, 1.0])
tensor([1.0000e-05, 1.0000e+00])
>>> torch.tensor([1e9, 1.0])
tensor([1.0000e+09, 1.0000e+00])
>>> torch.tensor([1e8, 1e7])
tensor([100000000.,  10000000.])
>>> torch.tensor([0.001, 1.0])
tensor([0.0010, 1.0000])
>>> torch.tensor([0.0009, 1.0])
tensor([9.0000e-04, 1.0000e+00])
>>> torch.tensor([1000.0, 1.0])
tensor([1000.,    1.])
>>> torch.tensor([1001.0, 1.0])
tensor([1.0010e+03, 1.0000e+00])
>>> torch.tensor([float('nan'), 1.0])
tensor([nan, 1.])
>>> torch.tensor([float('inf'), -1.5])
tensor([    inf, -1.5000])
>>> torch.tensor([float('-inf'), float('nan')])
tensor([-inf, nan])
>>> torch.tensor([0.0, 0.0])
tensor([0., 0.])
>>> torch.tensor([float('nan'), 1e-9])
tensor([       nan, 1.0000e-09])
>>> torch.tensor([1.5], dtype=torch.float64)
tensor([1.5000], dtype=torch.float64)
>>> torch.tensor([1.5], dtype=torch.float16)
tensor([1.5000], dtype=torch.float16)
>>> torch.tensor([0.1], dtype=torch.bfloat16)
tensor([0.1001], dtype=torch.bfloat16)
>>> torch.tensor([1, 2], dtype=torch.int32)
tensor([1, 2], dtype=torch.int32)
>>> torch.tensor([1, 2], dtype=torch.uint64)
tensor([1, 2], dtype=torch.uint64)
>>> torch.tensor([1 + 2j, 3.5 - 4j])
tensor([1.0000+2.j, 3.5000-4.j])
>>> torch.tensor([1j, -1j, 1e5], dtype=torch.complex128)
tensor([     0.+1.j,     -0.-1.j, 100000.+0.j], dtype=torch.complex128)
>>> torch.tensor([])
tensor([])
>>> torch.zeros(2, 0)
tensor([], size=(2, 0))
>>> torch.zeros(0, dtype=torch.int64)
tensor([], dtype=torch.int64)
>>> torch.zeros(0, 3, dtype=torch.float64)
tensor([], size=(0, 3), dtype=torch.float64)
>>> torch.arange(6).reshape(2, 3)
tensor([[0, 1, 2],
        [3, 4, 5]])
>>> torch.arange(6.0).reshape(2, 3).t()
tensor([[0., 3.],
        [1., 4.],
        [2., 5.]])
>>> torch.arange(8).reshape(2, 2, 2)
tensor([[[0, 1],
         [2, 3]],

        [[4, 5],
         [6, 7]]])
>>> torch.arange(4).reshape(1, 2, 1, 2)
tensor([[[[0, 1]],

         [[2, 3]]]])
>>> torch.arange(24.0)
tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,
        14., 15., 16., 17., 18., 19., 20., 21., 22., 23.])
>>> torch.arange(2000)
tensor([   0,    1,    2,  ..., 1997, 1998, 1999])
>>> torch.arange(2000.0).reshape(20, 100)
tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,
         9.9000e+01],
        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,
         1.9900e+02],
        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,
         2.9900e+02],
        ...,
        [1.7000e+03, 1.7010e+03, 1.7020e+03,  ..., 1.7970e+03, 1.7980e+03,
         1.7990e+03],
        [1.8000e+03, 1.8010e+03, 1.8020e+03,  ..., 1.8970e+03, 1.8980e+03,
         1.8990e+03],
        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9970e+03, 1.9980e+03,
         1.9990e+03]])
>>> torch.zeros(10, 2, 60)
tensor([[[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        ...,

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]],

        [[0., 0., 0.,  ..., 0., 0., 0.],
         [0., 0., 0.,  ..., 0., 0., 0.]]])
>>> torch.ones(2, requires_grad=True)
tensor([1., 1.], requires_grad=True)
>>> torch.ones(2, requires_grad=True) * 2
tensor([2., 2.], grad_fn=<MulBackward0>)
>>> torch.ones(3, 3, dtype=torch.float64, requires_grad=True).sum()
tensor(9., dtype=torch.float64, grad_fn=<SumBackward0>)
>>> torch.full((12,), 0.25, dtype=torch.float64)
tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
        0.2500, 0.2500, 0.2500], dtype=torch.float64)
>>> torch.full((11,), 0.25, dtype=torch.float64, requires_grad=True) * 1
tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500,
        0.2500, 0.2500], dtype=torch.float64, grad_fn=<MulBackward0>)
"""

CASES = [case.split("\n", 1) for case in TRANSCRIPT.strip().removeprefix(">>> ").split("\n>>> ")]


@pytest.fixture(autouse=True)
def restored():
    """Options and default dtype are as before after every test."""
    options, dtype = torch.get_printoptions(), torch.get_default_dtype()
    yield
    torch.set_printoptions(**options)
    torch.set_default_dtype(dtype)


@pytest.mark.parametrize(("code", "expected"), CASES, ids=[code for code, _ in CASES])
def test_repr(code, expected):
    t = eval(code)
    assert repr(t) == expected
    assert str(t) == expected


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        ({"precision": 2}, "[1.12345]", "tensor([1.12])"),
        ({"precision": 0}, "[1.5, 20.0]", "tensor([ 2, 20])"),
        ({"sci_mode": True}, "[1.0, 20.0]", "tensor([1.0000e+00, 2.0000e+01])"),
        ({"sci_mode": False}, "[1e-6, 1.0]", "tensor([0.0000, 1.0000])"),
        ({"threshold": 5}, "list(range(10))", "tensor([0, 1, 2,  ..., 7, 8, 9])"),
        ({"threshold": 5, "edgeitems": 1}, "list(range(10))", "tensor([0,  ..., 9])"),
        ({"threshold": 5, "edgeitems": 0}, "list(range(10))", "tensor([...], size=(10,))"),
        ({"linewidth": 20}, "list(range(6))", "tensor([0, 1, 2, 3,\n        4, 5])"),
        ({"profile": "short", "threshold": 4}, "[0.125] * 6", "tensor([0.12, 0.12,  ..., 0.12, 0.12])"),
        ({"profile": "full", "precision": 1}, "[0.25]", "tensor([0.2])"),
    ],
)
def test_options(options, code, expected):
    torch.set_printoptions(**options)
    assert repr(torch.tensor(eval(code))) == expected


def test_summary_does_not_hide_what_decides():
    # The hidden 1e9 would make the notation scientific, were it looked at.
    t = torch.ones(2000)
    t[1000] = 1e9
    assert repr(t) == "tensor([1., 1., 1.,  ..., 1., 1., 1.])"


def test_full_profile_shows_all():
    torch.set_printoptions(profile="full")
    assert repr(torch.arange(1500)).count(",") == 1499


def test_summary_of_a_huge_view_reads_only_its_edges():
    t = torch.zeros(1).expand(10**6, 10**6)
    assert repr(t).count("...") == 7


def test_options_round_trip_and_context():
    before = torch.get_printoptions()
    assert before == {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    torch.set_printoptions(precision=7, sci_mode=False)
    assert torch.get_printoptions()["precision"] == 7 and torch.get_printoptions()["sci_mode"] is False
    torch.set_printoptions(profile="default")  # resets sci_mode too
    assert torch.get_printoptions() == before


@pytest.mark.parametrize("wrong", [{"profile": "long"}, {"precision": -1}, {"edgeitems": -3}, {"linewidth": -80}])
def test_wrong_options_change_nothing(wrong):
    before = torch.get_printoptions()
    with pytest.raises(ValueError, match="set_printoptions"):
        torch.set_printoptions(threshold=7, **wrong)
    assert torch.get_printoptions() == before


def test_default_dtype_goes_without_saying():
    torch.set_default_dtype(torch.float64)
    assert repr(torch.ones(1, dtype=torch.float64)) == "tensor([1.])"
    assert repr(torch.ones(1, dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    assert repr(torch.ones(1, dtype=torch.complex128)) == "tensor([1.+0.j])"
    assert repr(torch.ones(0, dtype=torch.complex128)) == "tensor([], dtype=torch.complex128)"


def test_format():
    assert f"{torch.tensor(3.14159):.2f}" == "3.14"
    assert f"{torch.tensor(7):>4d}" == "   7"
    assert f"{torch.tensor(2.0, requires_grad=True)}" == "2.0"
    assert f"{torch.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor.__format__"):
        f"{torch.tensor([1, 2]):.2f}"


def test_a_view_whose_record_is_refused_can_be_printed():
    w = torch.ones(2, 2, requires_grad=True)
    base = torch.zeros(2, 2)
    row = base.split(1)[0]
    base.mul_(w)
    assert repr(row) == "tensor([[0., 0.]], grad_fn=<Invalid>)"
