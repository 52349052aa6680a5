"""``python -m strided tour``: five things worth seeing, on real and on random numbers, in under a minute.

Every chapter is a function of the module ``xp``, of which it uses PyTorch's names only, and of the screen it writes on.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import time
from collections.abc import Callable
from typing import Any

from .terminal import DotPlot, Screen

__all__ = ["tour"]

_CELL = 6  # characters from one element of a drawn storage to the next
_MARGIN = 14  # characters before the first


def _span(seconds: float) -> str:
    """A time with its unit.

    >>> _span(0.0025)
    '2.5 ms'
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _times(ratio: float) -> str:
    """A speed ratio to two digits: ``7.2 times``, ``130 times``."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{round(ratio, 1 - int(math.log10(ratio))):.0f} times"


def _best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of the runs that fit into 0.2 seconds (three at least, after a warm-up), and a result."""
    result = work()
    runs: list[float] = []
    while len(runs) < 3 or sum(runs) < 0.2:
        start = time.perf_counter()
        result = work()
        runs.append(time.perf_counter() - start)
    return min(runs), result


# ---------------------------------------------------------------- a storage and its views


def _centre(position: int) -> int:
    return _MARGIN + _CELL * position + _CELL // 2


def _boxes(values: list[float]) -> list[str]:
    """The storage as a row of boxes under the positions of its elements."""
    left, n, bar = " " * _MARGIN, len(values), "─" * (_CELL - 1)
    return [
        "position".ljust(_MARGIN) + "".join(str(i).center(_CELL) for i in range(n)).rstrip(),
        left + "┌" + "┬".join([bar] * n) + "┐",
        "storage".ljust(_MARGIN) + "│" + "│".join(f"{v:g}".center(_CELL - 1) for v in values) + "│",
        left + "└" + "┴".join([bar] * n) + "┘",
    ]


def _walk(label: str, offset: int, stride: int, size: int) -> str:
    """One row of a view: the indices 0, 1, ... under the elements they mean, with arrows from each to the next."""
    stops = [_centre(offset + stride * j) for j in range(size)]
    line = [" "] * (max(stops) + 1)
    line[: len(label)] = label
    for here, there in zip(stops, stops[1:]):
        low, high = sorted((here, there))
        line[low + 1 : high] = "─" * (high - low - 1)
        line[there - 1 if there > here else there + 1] = "▶" if there > here else "◀"
    for j, stop in enumerate(stops):
        line[stop] = str(j)
    return "".join(line)


def _draw_view(screen: Screen, name: str, view: Any) -> None:
    """A heading with size, stride and offset, and a walk for each row."""
    size, stride, offset = tuple(view.shape), view.stride(), view.storage_offset()
    screen.write()
    screen.write(f"{screen.paint(name, 'code')}   size {size}, stride {stride}, offset {offset}")
    if len(size) == 1:
        screen.write(_walk("", offset, stride[0], size[0]))
    else:
        for i in range(size[0]):
            screen.write(_walk(f"  row {i}", offset + i * stride[0], stride[1], size[1]))


def views(xp: Any, screen: Screen) -> None:
    """One storage; a tensor, its transpose, a slice and a reversed row on it, drawn."""
    t = xp.arange(10.0, 16.0).view(2, 3)
    screen.write("A tensor is a view of a storage: element (i, j) is storage[offset + i*stride[0] + j*stride[1]].")
    screen.write("Below, the digits are the column indices j of each view, under the element each one means.\n")
    for line in _boxes(t.view(-1).tolist()):
        screen.write(line)
    _draw_view(screen, "t = arange(10., 16.).view(2, 3)", t)
    _draw_view(screen, "t.t()", t.t())
    _draw_view(screen, "t[:, 1:]", t[:, 1:])
    try:
        _draw_view(screen, "t[1, ::-1]", t[1, ::-1])
    except ValueError as error:  # PyTorch has no negative strides
        screen.write(f"\n{screen.paint('t[1, ::-1]', 'code')}   ValueError: {error}")
    screen.write()
    screen.write(f"None of them copied anything. So after {screen.paint('t.t()[2, 0] = 99', 'code')}, t is")
    t.t()[2, 0] = 99
    screen.write(str(t))


# ---------------------------------------------------------------- least squares


def _load_cars() -> list[tuple[float, float, float]] | None:
    """(weight in 1000 lb, horsepower / 100, miles per gallon) of each car for which all three are known.

    The file is read where it lies: importing the package would import pandas.
    """
    spec = importlib.util.find_spec("vega_datasets")
    if spec is None or not spec.submodule_search_locations:
        return None
    with open(os.path.join(spec.submodule_search_locations[0], "_data", "cars.json"), encoding="utf-8") as file:
        cars = json.load(file)
    rows = ((c["Weight_in_lbs"], c["Horsepower"], c["Miles_per_Gallon"]) for c in cars)
    return [(w / 1000, h / 100, m) for w, h, m in rows if None not in (w, h, m)]


def _solve_by_hand(a: list[list[float]], b: list[float]) -> list[float]:
    """Solves a small positive definite system in plain Python: elimination and back substitution."""
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
            b[i] -= factor * b[k]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


def _fit_by_hand(rows: list[list[float]], y: list[float], weights: list[float]) -> list[float]:
    """Weighted least squares in plain Python: the normal equations summed row by row."""
    n = len(rows[0])
    a, b = [[0.0] * n for _ in range(n)], [0.0] * n
    for row, target, weight in zip(rows, y, weights):
        for i in range(n):
            scaled = weight * row[i]
            b[i] += scaled * target
            for j in range(n):
                a[i][j] += scaled * row[j]
    return _solve_by_hand(a, b)


def _plot_fit(screen: Screen, predicted: list[float], measured: list[float]) -> None:
    low, high = 0.0, 50.0
    plot = DotPlot(60, 15, (low, high), (low, high), screen.unicode)
    plot.add(zip(predicted, measured))
    plot.add(((low + (high - low) * i / 400,) * 2 for i in range(401)), "mark")
    screen.write("\nmiles per gallon, measured (up) against predicted (across); the line is a perfect prediction")
    lines = plot.lines(screen)
    for i, line in enumerate(lines):
        tick = f"{high - (high - low) * i / (len(lines) - 1):.0f}" if i % 7 == 0 else ""
        screen.write(f"{tick:>6} │{line}")
    screen.write(" " * 7 + "└" + "─" * 60)
    screen.write(" " * 8 + f"{low:<20.0f}{(low + high) / 2:^20.0f}{high:>20.0f}")


def least_squares(xp: Any, screen: Screen) -> None:
    """Fuel consumption of cars explained by weight and power, with error bars from thousands of refits."""
    cars = _load_cars()
    if cars is None:
        screen.write("This chapter needs the data of the package vega_datasets: pip install 'strided[tour]'")
        return
    rows, targets = [[1.0, w, h] for w, h, _ in cars], [m for _, _, m in cars]
    x, y = xp.tensor(rows, dtype=xp.float64), xp.tensor(targets, dtype=xp.float64)
    screen.write(f"{len(cars)} cars of 1970 to 1982: miles per gallon = b0 + b1 * weight + b2 * horsepower.")
    screen.write(f"The normal equations {screen.paint('linalg.solve(X.T @ X, X.T @ y)', 'code')} give b; then,")

    b = xp.linalg.solve(x.T @ x, x.T @ y)
    error = y - x @ b
    r2 = 1 - (error @ error).item() / ((y - y.mean()) @ (y - y.mean())).item()

    # D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9(1), 1981: weights from the exponential
    # distribution stand for the samples one might have drawn instead.
    count = 4000
    weights = -(1 - xp.rand(count, len(cars), dtype=xp.float64)).log()

    def refit() -> Any:
        pairs = (x.unsqueeze(2) * x.unsqueeze(1)).reshape(len(cars), 9)
        a = (weights @ pairs).reshape(count, 3, 3)
        return xp.linalg.solve(a, (weights @ (x * y.unsqueeze(1))).unsqueeze(2)).squeeze(2)

    seconds, refits = _best(refit)
    spread = refits.std(0).tolist()
    screen.write(f"for error bars, the same fit {count} more times, each with random weights on the cars.\n")
    names = ("b0 (mpg)", "b1 (mpg per 1000 lb)", "b2 (mpg per 100 hp)")
    for name, value, width in zip(names, b.tolist(), spread):
        screen.write(f"  {name:<22} {value:8.3f} ± {width:.3f}")
    screen.write(f"  variance explained (R²) {r2:6.3f}")

    lists = weights.tolist()
    start = time.perf_counter()
    by_hand = [_fit_by_hand(rows, targets, w) for w in screen.progress(lists, "plain Python loop")]
    loop_seconds = time.perf_counter() - start
    apart = (xp.tensor(by_hand, dtype=xp.float64) - refits).abs().max().item()
    screen.write()
    screen.write(f"  {count} fits as one batch of 3x3 systems   {_span(seconds)}")
    ratio = _times(loop_seconds / seconds)
    screen.write(f"  the same by a loop in plain Python       {_span(loop_seconds)}, {ratio} as long")
    screen.write(f"  largest difference of a coefficient      {apart:.1e}")
    _plot_fit(screen, (x @ b).tolist(), targets)


# ---------------------------------------------------------------- many small systems


def batches(xp: Any, screen: Screen) -> None:
    """100000 systems of 3 equations in one call."""
    count, sample = 100_000, 5_000
    a = xp.rand(count, 3, 3) + 2 * xp.eye(3)
    b = xp.rand(count, 3, 1)
    call = screen.paint("x = linalg.solve(a, b)", "code")
    screen.write(f"a has shape {tuple(a.shape)}, b {tuple(b.shape)}: {call}\n")
    seconds, x = _best(lambda: xp.linalg.solve(a, b))
    residual = (a @ x - b).abs().max().item()
    start = time.perf_counter()
    for i in screen.progress(range(sample), "one by one"):
        xp.linalg.solve(a[i], b[i])
    single = (time.perf_counter() - start) / sample
    each = seconds / count
    screen.write(f"  {count} systems at once   {_span(seconds)}, {_span(each)} a system")
    ratio = _times(single / each)
    screen.write(f"  one call for each        {_span(single)} a system ({sample} of them), {ratio} as long")
    screen.write(f"  largest residual |a x - b|  {residual:.1e} in {a.dtype}")


# ---------------------------------------------------------------- NumPy


def numpy_memory(xp: Any, screen: Screen) -> None:
    """The same bytes seen from both sides."""
    import numpy

    array = numpy.arange(6.0).reshape(2, 3)
    t = xp.from_numpy(array)
    same = screen.paint("the same", "good") if t.data_ptr() == array.ctypes.data else screen.paint("different", "bad")
    screen.write(f"{screen.paint('t = from_numpy(array)', 'code')}: address of the data {same}, {t.data_ptr():#x}\n")
    t[0, 0] = 100
    screen.write(f"after {screen.paint('t[0, 0] = 100', 'code')} the array is\n{array}\n")
    back = t.t().numpy()
    back[2, 1] = -1
    screen.write(f"after {screen.paint('t.t().numpy()[2, 1] = -1', 'code')} the tensor is\n{t}")


# ---------------------------------------------------------------- mistakes

_MISTAKES = (
    "torch.ones(2, 3) + torch.ones(2, 4)",
    "torch.ones(2, 3) @ torch.ones(4, 2)",
    "torch.ones(2, 3).view(4, 2)",
    "torch.arange(5)[7]",
    "torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))",
)


def mistakes(xp: Any, screen: Screen) -> None:
    """Five calls that cannot be answered, and what they say."""
    for code in _MISTAKES:
        screen.write(f">>> {screen.paint(code, 'code')}")
        try:
            screen.write(screen.paint(f"no error: {eval(code, {'torch': xp})}", "bad"))  # noqa: S307  (text above)
        except Exception as error:  # noqa: BLE001  (whatever it says is the point)
            screen.write(f"{screen.paint(type(error).__name__, 'bad')}: {error}\n")


_CHAPTERS = (
    ("1  A storage and its views", views),
    ("2  A fit with error bars", least_squares),
    ("3  A hundred thousand small systems", batches),
    ("4  Memory shared with NumPy", numpy_memory),
    ("5  Five mistakes", mistakes),
)


def tour(xp: Any, screen: Screen) -> None:
    """Goes through all chapters.

    Args:
        xp: this package, or another with PyTorch's names.
        screen: where to write.
    """
    start = time.perf_counter()
    for title, chapter in _CHAPTERS:
        screen.title(title)
        chapter(xp, screen)
    seconds = time.perf_counter() - start
    screen.write(screen.paint(f"The tour took {seconds:.1f} s, with {xp.get_num_threads()} threads.", "dim"))
