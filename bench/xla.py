"""Times of the XLA device beside jax.jit on the same plugin, in turns in one process: docs/xla.md, "Figures".

    python bench/xla.py [--seconds 2] [--only TEXT] [--profile]

Needs the extra ``xla`` and JAX. Both libraries open the same PJRT plugin, so that the programs are compiled by one
compiler and what differs is what each records, passes and waits for. Each call reads one number of its result, so that
both wait. ``--jaxlib`` takes the XLA of jaxlib for JAX instead.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "python"), str(Path(__file__).resolve().parent)]

from clock import compare, span  # noqa: E402

Work = Callable[[], object]


def keep_freed_memory() -> None:
    """glibc's allocator gives no pages back. Else what one library frees goes to the system, and the next one pays for
    new pages: a matter of their order, which does not occur where a process uses one library."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    trim_threshold, mmap_threshold = -1, -3
    mallopt(trim_threshold, 1 << 30)
    mallopt(mmap_threshold, 1 << 25)


def plugin_path() -> str:
    import strided._xla

    path = os.environ.get("STRIDED_PJRT_PLUGIN") or strided._xla.find()
    if not path:
        raise SystemExit("no PJRT plugin: pip install 'strided[xla]'")
    return path


def jax_on(plugin: str | None) -> Any:
    """JAX, on the plugin of that path or on its own XLA for the CPU."""
    if plugin:
        os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"benchplugin:{plugin}"
        os.environ["JAX_PLATFORMS"] = "benchplugin"
    else:
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    return jax


def replayed(step: Callable[[], Any]) -> Work:
    """A step that returns the one number to be read, recorded once: what jax.jit does with its function."""
    import strided_xla

    step().item()
    graph = strided_xla.Graph()
    with graph:
        result = step()

    def replay() -> None:
        graph.replay()
        result.item()

    return replay


def pointwise(torch: Any, jax: Any, start: Any) -> dict[str, Work]:
    """Twenty elementwise operations on a million numbers."""
    x = torch.tensor(start).to("xla")
    z = jax.numpy.asarray(start)

    def chain(v: Any) -> Any:
        for _ in range(5):
            v = v * 0.9 + 0.1 - v * v
        return v

    @jax.jit
    def chained(v: Any) -> Any:
        y = chain(v)
        return y, y[0]

    kept = [x]

    def ours() -> Any:
        kept[0] = chain(x)
        return kept[0][0]

    return {"strided": lambda: ours().item(), "captured": replayed(ours), "jax": lambda: chained(z)[1].item()}


def products(torch: Any, jax: Any, start: Any) -> dict[str, Work]:
    """Four products of 1000 x 1000."""
    a = torch.tensor(start).reshape(1000, 1000).to("xla")
    b = jax.numpy.asarray(start).reshape(1000, 1000)

    @jax.jit
    def chained(v: Any) -> Any:
        y = v @ v @ v @ v @ v
        return y, y[0, 0]

    kept = [a]

    def ours() -> Any:
        kept[0] = a @ a @ a @ a @ a
        return kept[0][0, 0]

    return {"strided": lambda: ours().item(), "captured": replayed(ours), "jax": lambda: chained(b)[1].item()}


def network(torch: Any, jax: Any, start: Any) -> dict[str, Work]:
    """A step of a network of three layers (64, 128, 128, 10; batch 256) with cross-entropy and SGD."""
    jnp = jax.numpy
    sizes = [64, 128, 128, 10]
    x, label = start[: 256 * 64].reshape(256, 64), [i % 10 for i in range(256)]
    layers, at = [], 0
    for n, m in zip(sizes, sizes[1:]):
        layers.append((start[at : at + n * m].reshape(m, n) * 0.1, start[:m] * 0.0))
        at += n * m
    linears = [torch.nn.Linear(n, m) for n, m in zip(sizes, sizes[1:])]
    with torch.no_grad():
        for linear, (w, b) in zip(linears, layers):
            linear.weight.copy_(torch.tensor(w))
            linear.bias.copy_(torch.tensor(b))
    parts = [part for linear in linears for part in (linear, torch.nn.ReLU())][:-1]
    model = torch.nn.Sequential(*parts).to("xla")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data, target = torch.tensor(x).to("xla"), torch.tensor(label).to("xla")

    def ours() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        return loss

    def loss_of(params: Any, data: Any, target: Any) -> Any:
        v = data
        for i, (w, b) in enumerate(params):
            v = v @ w.T + b
            if i < 2:
                v = jnp.maximum(v, 0)
        return -jnp.take_along_axis(jax.nn.log_softmax(v), target[:, None], 1).mean()

    @jax.jit
    def step(params: Any, data: Any, target: Any, rate: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, data, target)
        return jax.tree.map(lambda p, g: p - rate * g, params, gradients), loss

    state = [[(jnp.asarray(w), jnp.asarray(b)) for w, b in layers]]
    theirs_x, theirs_label = jnp.asarray(x), jnp.asarray(label)

    def theirs() -> None:
        state[0], loss = step(state[0], theirs_x, theirs_label, 0.01)
        loss.item()

    return {"strided": lambda: ours().item(), "captured": replayed(ours), "jax": theirs}


CASES = {"20 elementwise ops on 1e6": pointwise, "4 products of 1000 x 1000": products, "step of a network": network}


def recording(torch: Any) -> float:
    """Seconds to record one operation: the least of several."""
    x, best = torch.ones(8, device="xla"), 1.0
    for _ in range(20):
        y, start = x, time.perf_counter()
        for _ in range(500):
            y = y + 1
        best = min(best, (time.perf_counter() - start) / 500)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each case and library")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--jaxlib", action="store_true", help="JAX on its own XLA, not on the plugin")
    parser.add_argument("--profile", action="store_true", help="where strided's Python spends its time")
    options = parser.parse_args()

    keep_freed_memory()
    import strided as torch
    from strided_xla.debug import metrics

    jax = jax_on(None if options.jaxlib else plugin_path())
    start = torch.rand(1_000_000, generator=torch.Generator().manual_seed(0)).numpy()
    print(f"recording an operation: {span(recording(torch))}")
    for name, make in CASES.items():
        if options.only not in name:
            continue
        works = make(torch, jax, start)
        for work in works.values():
            work()
            work()
        before = metrics.counter_value("UncachedCompile")
        timed = compare(works, options.seconds)
        compiled = metrics.counter_value("UncachedCompile") - before
        best = ", ".join(f"{library} {span(t)}" for library, t in timed.best.items())
        ratios = f"{1 / timed.ratio['jax']:.2f}, captured {timed.ratio['captured'] / timed.ratio['jax']:.2f}"
        print(f"{name}: {best}; ours / theirs {ratios}; compiled {compiled}")
        if options.profile:
            import cProfile

            profile = cProfile.Profile()
            profile.enable()
            for _ in range(100):
                works["strided"]()
            profile.disable()
            import pstats

            pstats.Stats(profile).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
