"""Dictionaries and references that keep nothing alive (``utils.weak``)."""

import copy
import gc

import pytest
import strided
from strided.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_objects_and_are_let_go():
    x, y = strided.ones(2), strided.ones(2)
    d = WeakTensorKeyDictionary({x: 1})
    d[y] = [2]
    assert d[x] == 1 and d[y] == [2] and len(d) == 2 and x in d and strided.ones(2) not in d and 3 not in d
    assert [id(k) for k in d] == [id(x), id(y)] and list(d.values()) == [1, [2]]
    other = copy.deepcopy(d)
    assert other[y] == [2] and other[y] is not d[y] and other == d and d.copy() == d and other is not d
    assert (d | {x: 5})[x] == 5 and ({x: 5} | d)[x] == 1
    del y
    gc.collect()
    assert len(d) == len(other) == 1 and list(d.keyrefs())[0]() is x
    d |= {x: 3}
    assert d.pop(x) == 3 and d.get(x) is None and d.setdefault(x, 4) == 4
    key, value = d.popitem()
    assert key is x and value == 4
    with pytest.raises(KeyError):
        d.popitem()
    with pytest.raises(KeyError):
        d[x]


def test_a_dictionary_does_not_keep_itself_alive():
    x = strided.ones(1)
    d = WeakIdKeyDictionary({x: 1})
    gone = WeakIdRef(d)
    del d
    assert gone() is None
    del x


def test_references():
    x, y = strided.ones(2), strided.ones(2)
    assert WeakIdRef(x) == WeakIdRef(x) != WeakIdRef(y) and hash(WeakIdRef(x)) == hash(WeakIdRef(x))
    reference, tensor = WeakIdRef(y), TensorWeakRef(y)
    assert tensor() is y
    del y
    assert reference() is None and tensor() is None and reference == reference and reference != WeakIdRef(x)
    with pytest.raises(AssertionError, match="expected torch.Tensor"):
        TensorWeakRef(3)
