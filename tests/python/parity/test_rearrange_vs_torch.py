"""func.rearrange gives what PyTorch's gives."""

import pytest
import strided

torch = pytest.importorskip("torch")

PATTERNS = [
    ("a b c -> c b a", {}), ("a b c -> (a b) c", {}), ("... c -> c ...", {}), ("a ... -> a (...)", {}),
    ("(a d) b c -> d a b c", {"a": 2}), ("a b c -> a b 1 c", {}), ("a b c -> a b c ()", {}),
    ("(a b) (c d) e -> b d (a c e)", {"a": 2, "c": 1}), ("a  b   c->c (b a )", {}), ("a b c ... -> ... a b c", {}),
    ("(a 1) b c -> (a 1) b c", {}), ("a b c -> c", {}), ("a b", {}), ("a b -> a b", {}), ("a b c -> c b a", {"z": 1}),
    ("a b c -> a b c", {"a": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "sizes"), PATTERNS, ids=[p for p, _ in PATTERNS])
def test_results(pattern, sizes):
    made = []
    for t in (strided, torch):
        try:
            made.append(t.func.rearrange(t.arange(24).reshape(2, 3, 4), pattern, **sizes).tolist())
        except (ValueError, TypeError) as error:
            made.append(type(error).__name__)
    assert made[0] == made[1]
