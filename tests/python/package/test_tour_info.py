"""The command line: usage, info, tour, and the screen they write on."""

import io

import pytest
import strided as torch
from strided.__main__ import main
from strided._commands import tour as _tour
from strided._commands.info import info, self_test
from strided._commands.terminal import DotPlot, Screen


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


class Ascii(io.StringIO):
    encoding = "ascii"


def test_usage(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert "usage: python -m strided" in text and "info" in text and "tour" in text
    with pytest.raises(SystemExit):
        main(["no-such-command"])


def test_self_test_passes_and_leaves_the_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    assert [result for result in self_test(torch) if not result[1]] == []
    assert torch.rand(3).tolist() == expected


def test_self_test_reports_failures():
    class Broken:
        """A package in which everything is missing."""

    results = self_test(Broken)
    assert results and not any(passed for _, passed, _ in results)
    assert all("AttributeError" in detail for _, _, detail in results if "NumPy" not in detail)


def test_info():
    out = io.StringIO()
    assert info(torch, Screen(out)) == 0
    text = out.getvalue()
    for word in ("version", "threads", "devices", "lapack", "ml_dtypes", "passed"):
        assert word in text
    assert "FAIL" not in text and "\033" not in text


def test_boxes_and_walks():
    boxes = _tour._boxes([1.0, 2.0, 3.0])
    assert [len(line) for line in boxes[1:]] == [33, 33, 33]
    at = [boxes[2].index(c) for c in "123"]
    assert [_tour._walk("", 0, 1, 3).index(c) for c in "012"] == at
    assert [_tour._walk("", 2, -1, 3).index(c) for c in "012"] == at[::-1]
    assert "◀" in _tour._walk("", 2, -2, 2) and "▶" in _tour._walk("", 0, 2, 2)


@pytest.mark.parametrize("chapter", [_tour.views, _tour.numpy_memory, _tour.mistakes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("stream", [Terminal, Ascii, io.StringIO])
def test_chapters(chapter, stream, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    out = stream()
    chapter(torch, Screen(out))
    text = out.getvalue()
    assert ("\033[" in text) == (stream is Terminal)
    assert text.isascii() or stream is not Ascii
    assert "no error" not in text and "different" not in text


def test_fit_by_hand_agrees_with_solve():
    torch.manual_seed(0)
    x, y, w = (torch.rand(*shape, dtype=torch.float64) for shape in ((20, 3), (20,), (20,)))
    expected = torch.linalg.solve(x.T @ (x * w.unsqueeze(1)), x.T @ (w * y)).tolist()
    assert _tour._fit_by_hand(x.tolist(), y.tolist(), w.tolist()) == pytest.approx(expected, rel=1e-10)


def test_without_the_data_the_fit_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(_tour, "_load_cars", lambda: None)
    out = io.StringIO()
    _tour.least_squares(torch, Screen(out))
    assert "pip install 'strided[tour]'" in out.getvalue()


def test_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Screen(Terminal()).paint("x", "good") == "\033[32mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Screen(Terminal()).paint("x", "good") == "x"


def test_progress():
    out = Terminal()
    assert list(Screen(out).progress(range(50), "loop")) == list(range(50))
    assert "98 %" in out.getvalue() and out.getvalue().endswith("\r\033[K")
    out = io.StringIO()
    assert list(Screen(out).progress([1, 2], "loop")) == [1, 2]
    assert out.getvalue() == ""


def test_dot_plot():
    plot = DotPlot(2, 1, (0, 3), (0, 3))
    plot.add([(i, i) for i in range(4)] + [(9, 9)])
    assert plot.lines() == ["⡠⠊"]
    plot = DotPlot(3, 3, (0, 2), (0, 2), unicode=False)
    plot.add([(0, 2), (2, 0)])
    plot.add([(1, 1)], "mark")
    assert plot.lines() == [".", " #", "  ."]
