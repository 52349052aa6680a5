"""Pictures of what bench/compare.py measured: ratios, the part of the machine's limits, curves over sizes."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path


def draw(result: dict, folder: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("no pictures: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    ending = f"{result['threads']}-threads.png"
    if any(case["size"] for case in result["cases"]):
        curves(plt, result, folder / f"curves-{ending}")
    else:
        ratios(plt, result, folder / f"ratios-{ending}")
        parts(plt, result, folder / f"limits-{ending}")


def ratios(plt, result, path):
    """A row for each family, a mark for each case and peer: the peer's time by strided's."""
    names = list(dict.fromkeys(case["family"] for case in result["cases"]))
    peers = [name for name in result["versions"] if name != "strided"]
    figure, axes = plt.subplots(figsize=(9, 0.5 * len(names) + 1.5), layout="constrained")
    for k, peer in enumerate(peers):
        points = [(c["ratio"][peer], names.index(c["family"])) for c in result["cases"] if peer in c["ratio"]]
        if points:
            axes.plot(*zip(*((x, y + 0.15 * (k - 1.5)) for x, y in points), strict=True), "|", label=peer, markersize=9)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(f"the peer's time by strided's, {result['threads']} threads (right of 1: strided is ahead)")
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def parts(plt, result, path):
    """The part of the machine's limit that each case reaches, sorted within its family."""
    by_family = defaultdict(list)
    for case in result["cases"]:
        if "limit" in case:
            by_family[case["family"]].append(case["limit"])
    if not by_family:
        return
    figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
    start = 0
    for family, values in by_family.items():
        axes.bar(range(start, start + len(values)), sorted(values, reverse=True), label=family, width=1.0)
        start += len(values) + 2
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([])
    axes.set_ylabel("part of the machine's limit")
    axes.legend(ncols=3, fontsize="small")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def curves(plt, result, path):
    """Time by size for each curve, all libraries in one panel."""
    panels = defaultdict(lambda: defaultdict(list))
    for case in result["cases"]:
        for library, seconds in case["seconds"].items():
            panels[case["case"]][library].append((case["size"], seconds))
    colour = {library: f"C{k}" for k, library in enumerate(result["versions"])}
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = plt.subplots(rows, columns, figsize=(3.4 * columns, 2.6 * rows), layout="constrained", squeeze=False)
    for axes, (title, lines) in zip(grid.flat, panels.items()):
        for library, points in lines.items():
            axes.loglog(*zip(*sorted(points), strict=True), color=colour[library], marker=".", markersize=4)
        axes.set_title(title, fontsize="medium")
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_axis_off()
    lines = [plt.Line2D([], [], color=c, marker=".", label=library) for library, c in colour.items()]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines))
    figure.supxlabel(f"size; seconds of one call, {result['threads']} threads")
    figure.savefig(path, dpi=75)
    plt.close(figure)
