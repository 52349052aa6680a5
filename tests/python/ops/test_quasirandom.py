"""The Sobol sequence: its first points, its even spread, and the state of the engine."""

import numpy as np
import pytest
import strided
from strided._functions import sobol_numbers
from strided._functions.sobol_numbers import directions
from strided.quasirandom import SobolEngine


def test_first_points():
    points = SobolEngine(3).draw(5, dtype=strided.float64)
    assert points.tolist() == [
        [0, 0, 0],
        [0.5, 0.5, 0.5],
        [0.75, 0.25, 0.25],
        [0.25, 0.75, 0.75],
        [0.375, 0.375, 0.625],
    ]


@pytest.mark.parametrize("scramble", [False, True])
def test_each_interval_has_one_point(scramble):
    points = SobolEngine(1111, scramble=scramble, seed=7).draw(64, dtype=strided.float64).numpy()
    cells = np.sort((points * 64).astype(int), axis=0)
    assert (cells == np.arange(64)[:, None]).all()
    pairs = {(int(a * 8), int(b * 8)) for a, b in points[:, :2]}
    assert len(pairs) == 64  # a (0, 2) net: each square has one point


def test_direction_numbers():
    for row in directions(1111)[::100]:
        numbers = [v >> (30 - j) for j, v in enumerate(row, 1)]
        assert all(m % 2 == 1 and m < 2**j for j, m in enumerate(numbers, 1))
    # d = 5 of the published table: s = 3, a = 2, m = 1, 1, 1
    assert [v >> (30 - j) for j, v in enumerate(directions(6)[4], 1)][:3] == [1, 1, 1]
    assert [v >> (30 - j) for j, v in enumerate(directions(6)[5], 1)][:4] == [1, 1, 3, 3]


def test_parts_are_the_whole():
    whole = SobolEngine(5, scramble=True, seed=1).draw(40)
    engine = SobolEngine(5, scramble=True, seed=1)
    parts = strided.cat([engine.draw(), engine.draw(3), engine.draw(0), engine.draw(12)])
    assert parts.equal(whole[:16]) and engine.num_generated == 16
    assert engine.fast_forward(10).draw(4).equal(whole[26:30])
    assert engine.reset().fast_forward(1).draw(2).equal(whole[1:3])
    out = strided.empty(0)
    assert engine.reset().draw_base2(3, out=out) is out and out.equal(whole[:8])
    with pytest.raises(ValueError, match="n=8\\+2\\*\\*2=12"):
        engine.draw_base2(2)
    for huge in (31, 62, 2**62, 2**100):
        with pytest.raises(RuntimeError, match="points"):
            engine.draw_base2(huge)


def test_seeds_and_errors():
    strided.manual_seed(0)
    a = SobolEngine(2, scramble=True).draw(3)
    assert not a.equal(SobolEngine(2, scramble=True).draw(3))
    strided.manual_seed(0)
    assert a.equal(SobolEngine(2, scramble=True).draw(3))
    for dimension in (0, 1112):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 1111\]"):
            SobolEngine(dimension)
    with pytest.raises(RuntimeError, match="2\\^30 points"):
        SobolEngine(1).draw(2**31)
    assert repr(SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"


def test_direction_numbers_are_found_once(monkeypatch):
    first = SobolEngine(40).draw(5)

    def again(*arguments):
        raise AssertionError("found again")

    monkeypatch.setattr(sobol_numbers, "_times", again)
    assert SobolEngine(40).draw(5).tolist() == first.tolist()
    assert SobolEngine(3).draw(5).tolist() == first[:, :3].tolist()
