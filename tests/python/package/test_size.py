"""torch.Size: a tuple that prints its name."""

import copy
import gc
import pickle
import sys

import pytest
import strided as torch

Size = torch.Size


def test_text():
    assert repr(Size([2, 3])) == "torch.Size([2, 3])"
    assert str(Size()) == "torch.Size([])"
    assert f"{Size((1,))}" == "torch.Size([1])"


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (Size([1, 2, 3])[1:], (2, 3)),
        (Size([1, 2, 3])[::-1], (3, 2, 1)),
        (Size([1, 2]) + (3,), (1, 2, 3)),
        ((0,) + Size([1, 2]), (0, 1, 2)),
        (Size([1]) + Size([2]), (1, 2)),
        (Size([1, 2]) * 2, (1, 2, 1, 2)),
        (2 * Size([1, 2]), (1, 2, 1, 2)),
        (copy.copy(Size([1, 2])), (1, 2)),
        (copy.deepcopy(Size([1, 2])), (1, 2)),
        (pickle.loads(pickle.dumps(Size([1, 2]))), (1, 2)),
    ],
)
def test_stays_a_size(got, expected):
    assert type(got) is Size
    assert got == expected


def test_is_a_tuple():
    s = Size([2, 3])
    assert isinstance(s, tuple) and s == (2, 3) and hash(s) == hash((2, 3)) and {s: 1}[2, 3] == 1
    assert s[-1] == 3 and type(s[0]) is int and [*s] == [2, 3] and s.index(3) == 1
    with pytest.raises(IndexError):
        s[2]


def test_numel():
    assert Size([]).numel() == 1
    assert Size([2, 3, 4]).numel() == 24
    assert Size([2**40, 2**40]).numel() == 2**80
    assert Size([5, 0]).numel() == 0


def test_concatenation_takes_tuples_only():
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\) to torch.Size"):
        Size([1]) + [2]
    with pytest.raises(TypeError):
        [2] + Size([1])


def test_shapes_are_sizes():
    t = torch.zeros(2, 3)
    assert type(t.shape) is Size and type(t.size()) is Size
    assert t.shape == t.size() == (2, 3)
    assert torch.zeros(t.shape[1:]).shape == (3,)


def test_sizes_are_integers():
    made = Size((2, torch.tensor(3), torch.tensor([4])))
    assert made == (2, 3, 4) and all(type(k) is int for k in made)
    assert all(type(k) is int for k in Size([1, 2]) + (torch.tensor(3),))
    assert Size(iter([1, True])) == (1, 1) and Size(range(2)) == (0, 1)
    for bad, i, name in (
        ([2.0], 0, "float"),
        ([1, None], 1, "NoneType"),
        ("ab", 0, "str"),
        ([torch.tensor(3.0)], 0, "Tensor"),
    ):
        with pytest.raises(TypeError, match=rf"iterable of 'int' \(item {i} is '{name}'\)"):
            Size(bad)
    with pytest.raises(TypeError, match="item 1 is 'float'"):
        Size([1]) + (2.5,)


def test_positions_of_every_kind():
    s = Size([2, 3, 4])
    assert [s[k] for k in (0, -1, True, -3)] == [2, 4, 3, 2] and s[torch.tensor(1)] == 3
    for bad in (3, -4, 2**70, -(2**70)):
        with pytest.raises(IndexError):
            s[bad]
    with pytest.raises(TypeError, match="indices must be integers or slices"):
        s[1.0]
    assert type(s[::-2]) is Size and s[::-2] == (4, 2) and s[5:] == ()


def test_objects_are_counted():
    big = 10**6  # an object of its own
    shape = torch.zeros(0, big).shape
    counts = [sys.getrefcount(shape[1])]
    copies = [shape[:] for _ in range(100)]
    counts.append(sys.getrefcount(shape[1]))
    del copies
    counts.append(sys.getrefcount(shape[1]))
    assert counts == [counts[0], counts[0] + 100, counts[0]]
    types = sys.getrefcount(Size)
    for _ in range(100):
        shape[:1], Size([1, 2]), shape + shape, torch.zeros(2).shape
    after = sys.getrefcount(Size)
    assert after == types


def test_subclasses():
    class Named(Size):
        label = "x"

    made = Named([1, torch.tensor(2)])
    made.label = "y"
    assert type(made) is Named and made == (1, 2) and made.label == "y" and repr(made) == "torch.Size([1, 2])"
    assert made.numel() == 2 and type(made[:1]) is Size
    made.itself = made  # a cycle
    del made
    gc.collect()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(protocol):
    found = pickle.loads(pickle.dumps(torch.zeros(2, 3).shape, protocol))
    assert type(found) is Size and found == (2, 3)


def test_sum_with_another_type():
    class Any:
        def __add__(self, other):
            return "sum", other

        __radd__ = __add__

    assert Size([1, 2]) + Any() == Any() + Size([1, 2]) == ("sum", (1, 2))
    with pytest.raises(TypeError, match="can only concatenate tuple .not list. to torch.Size"):
        Size([1]) + [2]
