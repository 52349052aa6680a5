"""Functions composed of others, other names and copies of views, switches: what test_statistics_vs_torch.py says,
without PyTorch."""

import pytest
import strided as torch


def test_copies_of_views_share_nothing():
    x = torch.arange(6.0).reshape(2, 3)
    for name, args in (
        ("t", ()),
        ("expand", ((2, 2, 3),)),
        ("slice", (1, 0, 2)),
        ("alias", ()),
        ("select", (0, 1)),
        ("view", ((3, 2),)),
        ("detach", ()),
    ):
        made = getattr(torch, name + "_copy")(x, *args)
        assert made.is_contiguous() and made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        if hasattr(x, name):
            assert torch.equal(made, getattr(x, name)(*args))
    assert torch.equal(torch.slice_copy(x, -1, 1), x[:, 1:]) and torch.slice_copy(x, 0, end=-1).shape == (1, 3)
    out = torch.empty(3, 2)
    assert torch.t_copy(x, out=out) is out and torch.equal(out, x.t())
    pair = [torch.empty(1, 3), torch.empty(1, 3)]
    assert torch.split_copy(x, 1, out=pair) is pair and torch.equal(torch.cat(pair), x)
    with pytest.raises(ValueError):
        torch.split_copy(x, 1, out=pair[:1])
    with pytest.warns(UserWarning, match="was resized"):
        assert torch.equal(torch.t_copy(x, out=torch.empty(2, 2)), x.t())


def test_methods_that_are_functions_too():
    x = torch.tensor([1.0, 5.0])
    assert torch.clamp_max_(x, 2) is x and x.tolist() == [1, 2]
    assert torch.detach(x).tolist() == [1, 2] and torch.is_signed(x) and torch.get_device(x) == -1
    assert torch.gcd_(torch.tensor([4, 6]), torch.tensor(6)).tolist() == [2, 6]
    assert not torch.is_conj(x) and not torch.is_neg(x) and not torch.is_inference(x) and torch.resolve_neg(x) is x


def test_in_place_forms():
    x = torch.tensor([2.0, 3.0], dtype=torch.float64)
    assert x.float_power_(2) is x and x.tolist() == [4, 9]
    with pytest.raises(RuntimeError, match="the base given to float_power_ has dtype"):
        x.float().float_power_(2)
    assert torch.tensor([4.0]).mvlgamma_(1).item() == pytest.approx(1.791759)


def test_as_strided_scatter():
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.as_strided_scatter(x, torch.full((2,), 9.0), (2,), (4,)).tolist() == [[9, 1, 2], [3, 9, 5]]
    assert x[1].as_strided_scatter(torch.full((2,), 9.0), (2,), (2,)).tolist() == [9, 4, 9] and x[1, 0].item() == 3
    assert x.t().as_strided_scatter(torch.zeros(3), (3,), (1,)).tolist() == [[0, 3], [0, 4], [0, 5]]
    # An offset counts from the beginning of the storage; what is not shown is not copied.
    assert x[1].as_strided_scatter(torch.full((2,), 9.0), (2,), (1,), 4).tolist() == [3, 9, 9]
    assert x[1].as_strided_scatter(torch.full((2,), 9.0), (2,), (1,), 0).tolist() == [3, 4, 5]
    with pytest.raises(RuntimeError, match="storage of size"):
        x[1].as_strided_scatter(torch.full((2,), 9.0), (2,), (1,), 5)
    with pytest.raises(RuntimeError, match="invalid storage offset -1"):
        x[1].as_strided_scatter(torch.full((2,), 9.0), (2,), (1,), -1)
    with pytest.raises(RuntimeError, match="src size = \\[3\\], slice size = \\[2\\]"):
        x.as_strided_scatter(torch.zeros(3), (2,), (1,))
    with pytest.raises(RuntimeError):
        x.as_strided_scatter(torch.zeros(2), (2,), (100,))


def test_sum_to_size():
    x = torch.ones(2, 3, 4)
    assert (
        x.sum_to_size(3, 1).tolist() == [[8]] * 3
        and x.sum_to_size(()).item() == 24
        and x.sum_to_size((2, 3, 4)).shape == x.shape
    )
    assert torch.ones(1, 3).sum_to_size(1, 3).shape == (1, 3) and torch.ones(0, 3).sum_to_size(3).tolist() == [0] * 3
    for size in ((2,), (5, 2, 3, 4), (-1,), (3, 3, 4)):
        with pytest.raises(RuntimeError, match="is not expandable"):
            x.sum_to_size(*size)


def test_python_functions_over_elements():
    x = torch.arange(6).reshape(2, 3)
    assert x.t().apply_(lambda a: a * a) is not None and x.tolist() == [[0, 1, 4], [9, 16, 25]]
    assert x.map_(torch.tensor([1, 2, 3]), lambda a, b: a + b)[0].tolist() == [1, 3, 7]
    assert torch.zeros(2).map2_(torch.ones(2), torch.tensor(3.0), lambda a, b, c: a + b + c).tolist() == [4, 4]
    assert (
        torch.zeros(0).apply_(lambda a: 1 / 0).shape == (0,) and torch.tensor(2.0).apply_(lambda a: a + 1).item() == 3
    )
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda a: 1 / 0)
    with pytest.raises(RuntimeError):
        x.map_(torch.ones(4), lambda a, b: a)
    for made in ("text", None, [1]):
        with pytest.raises(TypeError, match="must give real numbers"):
            x.apply_(lambda a, made=made: made)


def test_sizes_and_names():
    assert (
        torch.empty_permuted((2, 3, 4), (0, 2, 1), dtype=torch.int8).stride() == (12, 1, 3)
        and torch.empty_permuted((), ()).shape == ()
    )
    for layout in ((0, 0, 1), (0, 1), (0, 1, 3), (0, 1, -1)):
        with pytest.raises(RuntimeError):
            torch.empty_permuted((2, 3, 4), layout)
    assert torch.nonzero_static(torch.tensor([[0, 1], [2, 0]]), size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.nonzero_static(torch.ones(2), size=-1)
    assert (
        torch.typename(torch.ones(1)) == "torch.FloatTensor"
        and torch.typename(1) == "int"
        and torch.typename(int) == "int"
    )
    assert torch.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2] and "capsule" in repr(
        torch.to_dlpack(torch.arange(3))
    )
    assert torch.norm_except_dim(torch.tensor([3.0, -4.0])).tolist() == [3, 4] and torch.rsub(
        torch.tensor([1, 2]), 5
    ).tolist() == [4, 3]
    with pytest.raises(IndexError):
        torch.norm_except_dim(torch.ones(2, 2), 2, 2)
    assert not any(
        getattr(torch.ones(1), f"is_{kind}") for kind in ("mps", "nested", "sparse_csr", "xla", "xpu", "meta")
    )


def test_switches_for_determinism():
    try:
        assert torch.get_deterministic_debug_mode() == 0 and not torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(False, warn_only=True)  # remembered, too
        assert (
            not torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
        )
        torch.set_deterministic_debug_mode("error")
        assert torch.get_deterministic_debug_mode() == 2 and not torch.is_deterministic_algorithms_warn_only_enabled()
        for mode in ("abc", 3, -1):
            with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
                torch.set_deterministic_debug_mode(mode)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0
