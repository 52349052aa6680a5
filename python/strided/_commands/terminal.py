"""Writing to a terminal: colours, a progress bar, a plot of dots; and what becomes of them in a file."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

__all__ = ["Screen", "DotPlot"]

T = TypeVar("T")

_CODES = {"title": "1;36", "code": "33", "good": "32", "bad": "31", "dim": "2", "mark": "35"}

# For an output that has no box-drawing or braille characters: what stands in for each.
_PLAIN = str.maketrans("─│┌┬┐└┴┘▶◀█░·×±", "-|++++++><#..x~") | {ord("²"): "^2"}


class Screen:
    """An output stream that knows what it can show.

    Attributes:
        tty: the stream is a terminal; only then there are colours (unless the variable NO_COLOR is set, see
            no-color.org) and a moving progress bar.
        unicode: the stream's encoding has box-drawing and braille characters; else similar ASCII ones are written.
        width: columns of the terminal, 80 in a file.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.tty = self.stream.isatty()
        self.color = self.tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = shutil.get_terminal_size((80, 24)).columns if self.tty else 80
        try:
            "─▶█⣿²".encode(getattr(self.stream, "encoding", None) or "ascii")
            self.unicode = True
        except (UnicodeEncodeError, LookupError):
            self.unicode = False

    def paint(self, text: Any, style: str) -> str:
        """``text`` in a colour, one of: title, code, good, bad, dim, mark."""
        return f"\033[{_CODES[style]}m{text}\033[0m" if self.color else str(text)

    def write(self, text: str = "", end: str = "\n") -> None:
        """Prints a text, in ASCII if need be."""
        if not self.unicode:
            # An error message, say, may hold any character.
            text = text.translate(_PLAIN).encode("ascii", "replace").decode()
        self.stream.write(text + end)
        self.stream.flush()

    def title(self, text: str) -> None:
        """A headline with a rule under it."""
        self.write()
        self.write(self.paint(text, "title"))
        self.write(self.paint("─" * min(len(text), self.width), "title"))

    def progress(self, items: Sequence[T], label: str) -> Iterator[T]:
        """Goes through ``items`` and, on a terminal, shows how far it is; the line is gone at the end."""
        start, shown = time.perf_counter(), -1
        try:
            for i, item in enumerate(items):
                if 100 * i // len(items) != shown:
                    shown = 100 * i // len(items)
                    self.bar(i, len(items), label, start)
                yield item
        finally:
            self.bar_gone()

    def bar(self, done: int, total: int, label: str, start: float) -> None:
        """Shows a bar on a terminal, over the one before; ``start`` is a time of ``time.perf_counter``."""
        if self.tty:
            percent = 100 * done // total
            bar = "█" * (percent * 24 // 100)
            self.write(f"\r  {label} {bar:░<24} {percent:3d} %  {time.perf_counter() - start:.1f} s", end="")

    def bar_gone(self) -> None:
        """Takes the bar away."""
        if self.tty:
            self.write("\r\033[K", end="")


class DotPlot:
    """A plane of dots on character cells: 2 x 4 braille dots a cell, or one ASCII sign a cell.

    Args:
        columns, rows: size in characters.
        x_range, y_range: (lowest, highest) of the data.

    >>> plot = DotPlot(2, 1, (0, 3), (0, 3))
    >>> plot.add([(0, 0), (1, 1), (2, 2), (3, 3)])
    >>> plot.lines()
    ['⡠⠊']
    """

    # Unicode, block "Braille Patterns": bits of the left and of the right column, top to bottom.
    _BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))

    def __init__(
        self, columns: int, rows: int, x_range: tuple[float, float], y_range: tuple[float, float], unicode: bool = True
    ) -> None:
        self._columns, self._rows, self._unicode = columns, rows, unicode
        self._per_cell = (2, 4) if unicode else (1, 1)
        self._x_range, self._y_range = x_range, y_range
        self._dots: dict[tuple[int, int], int] = {}
        self._style: dict[tuple[int, int], str] = {}

    def add(self, points: Iterable[tuple[float, float]], style: str = "") -> None:
        """Sets the dots nearest to the points; points outside the plane are left out."""
        wide, high = self._columns * self._per_cell[0], self._rows * self._per_cell[1]
        (x0, x1), (y0, y1) = self._x_range, self._y_range
        for x, y in points:
            column = round((x - x0) / (x1 - x0) * (wide - 1))
            row = round((y1 - y) / (y1 - y0) * (high - 1))
            if 0 <= column < wide and 0 <= row < high:
                (across, i), (down, j) = divmod(column, self._per_cell[0]), divmod(row, self._per_cell[1])
                self._dots[down, across] = self._dots.get((down, across), 0) | self._BITS[i][j]
                self._style[down, across] = style

    def lines(self, screen: Screen | None = None) -> list[str]:
        """The plot as text, top line first; coloured if a screen is given."""

        def cell(at: tuple[int, int]) -> str:
            if at not in self._dots:
                return " "
            style = self._style[at]
            text = chr(0x2800 + self._dots[at]) if self._unicode else "#" if style else "."
            return screen.paint(text, style) if screen is not None and style else text

        return ["".join(cell((r, c)) for c in range(self._columns)).rstrip() for r in range(self._rows)]
