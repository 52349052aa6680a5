"""The Sobol sequence beside PyTorch's: the same points, scrambled too."""

import pytest
import strided

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dimension", [1, 6, 1111])
@pytest.mark.parametrize("scramble", [False, True])
def test_points(dimension, scramble):
    seed = 5 if scramble else None
    ours = strided.quasirandom.SobolEngine(dimension, scramble, seed)
    theirs = torch.quasirandom.SobolEngine(dimension, scramble, seed)
    assert repr(ours) == repr(theirs)
    for call in (
        lambda e: e.draw(),
        lambda e: e.draw(7),
        lambda e: e.fast_forward(13).draw(4),
        lambda e: e.reset().fast_forward(5).draw(2),
        lambda e: e.reset().draw_base2(5),
    ):
        assert call(ours).tolist() == call(theirs).tolist()
