"""What libraries ask about vmap by PyTorch's inner names: ``_C._functorch`` and ``_functorch.vmap``."""

import pytest
import strided
from strided._C import _functorch as levels
from strided._functorch import vmap as parts


def test_questions_about_tensors():
    seen = []

    def f(x, y):
        outer = levels.current_level()

        def g(z):
            t = x * z
            seen.append((levels.maybe_get_level(t) == levels.current_level() > outer, levels.maybe_get_bdim(t)))
            inner = levels.get_unwrapped(t)  # one axis less is hidden, and it comes first
            seen.append((tuple(t.shape), tuple(inner.shape), levels.maybe_get_level(inner) == outer))
            seen.append((levels.is_batchedtensor(inner), levels.is_batchedtensor(levels.get_unwrapped(inner))))
            return t

        seen.append(levels.is_batchedtensor(y))
        return strided.vmap(g)(strided.ones(4))

    made = strided.vmap(f, (0, None))(strided.ones(3, 2), strided.ones(2))
    assert made.shape == (3, 4, 2)
    assert seen == [False, (True, 0), ((2,), (4, 2), True), (True, False)]
    plain = strided.ones(2)
    assert not levels.is_batchedtensor(plain) and not levels.is_gradtrackingtensor(plain)
    assert (levels.maybe_get_bdim(plain), levels.maybe_get_level(plain), levels.maybe_current_level()) == (-1, -1, None)
    with pytest.raises(RuntimeError, match="no axis"):
        levels.get_unwrapped(plain)
    with pytest.raises(RuntimeError, match="no vmap"):
        levels.current_level()


def test_vmap_by_hand():
    x = strided.arange(6.0).view(2, 3)
    level = levels._vmap_increment_nesting(3, "error")
    try:
        inside = levels._add_batch_dim(x, 1, level)
        assert inside.shape == (2,) and levels.maybe_get_level(inside) == level
        made = parts._maybe_remove_batch_dim("f", inside.sum(), level, 3, 0)
        constant = parts._maybe_remove_batch_dim("f", strided.ones(2), level, 3, 1)
        assert parts._maybe_remove_batch_dim("f", 7, level, 3, None) == 7
        with pytest.raises(ValueError, match="can not return a BatchedTensor"):
            parts._maybe_remove_batch_dim("f", inside, level, 3, None)
        with pytest.raises(ValueError, match="must only return Tensors, got type <class 'int'>"):
            parts._maybe_remove_batch_dim("f", 7, level, 3, 0)
        with pytest.raises(RuntimeError, match="batches of 3"):
            levels._remove_batch_dim(inside, level, 4, 0)
    finally:
        assert levels._vmap_decrement_nesting() == level
    assert made.equal(x.sum(0)) and constant.shape == (2, 3) and levels.maybe_current_level() is None
    with pytest.raises(RuntimeError, match="no vmap began"):
        levels._vmap_decrement_nesting()
    with pytest.raises(RuntimeError, match=f"no vmap of level {level}"):
        levels._add_batch_dim(x, 0, level)
    assert parts._get_name(len) == "len" and parts.vmap is strided.func.vmap


def test_steps_that_a_library_exchanges(monkeypatch):
    from strided._functorch import vmap as steps

    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    def process(in_dims, args, func):
        (pair,) = args
        return pair.x.shape[0], [0], [pair], None

    def create(dims, leaves, number, spec):
        (pair,) = leaves
        return (Pair(*(steps._add_batch_dim(t, dims[0], number) for t in (pair.x, pair.y))),)

    def unwrap(made, out_dims, number, size, func):
        return Pair(
            *(steps._maybe_remove_batch_dim(func.__name__, t, number, size, out_dims) for t in (made.x, made.y))
        )

    def swapped(pair):
        assert pair.x.shape == (4,)
        return Pair(pair.y, pair.x.sum())

    for name, step in (
        ("_process_batched_inputs", process),
        ("_create_batched_inputs", create),
        ("_unwrap_batched", unwrap),
    ):
        monkeypatch.setattr(steps, name, step)
    made = strided.vmap(swapped)(Pair(strided.ones(3, 4), strided.zeros(3, 4)))
    assert made.x.equal(strided.zeros(3, 4)) and made.y.equal(strided.full((3,), 4.0))
