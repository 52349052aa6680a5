"""Automatic differentiation beside PyTorch: forward and backward, in one process, in turns; and the peak of memory.

    python bench/autograd.py [--threads 1] [--only TEXT] [--seconds 1.0] [--json FILE]

As bench/side_by_side.py, whose clock this uses: a figure is the best of many runs, and only the ratios mean something
elsewhere. Without PyTorch (pip install 'strided[bench]') strided stands alone. Memory is what a process of its own
needed at most, beyond what it had before.
"""

import argparse
import importlib
import importlib.util
import json
import os
import platform
import subprocess
import sys

import environment
from side_by_side import best_times, span

LIBRARIES = ("strided", "torch")


def square(lib):
    x = lib.ones(4, requires_grad=True)

    def work():
        x.grad = None
        (x * x).sum().backward()

    return work


def chain(lib):
    x, g = lib.ones(4, requires_grad=True), lib.ones(4)

    def work():
        x.grad = None
        y = x
        for _ in range(50):
            y = (y + 1).sin()
        y.backward(g)

    return work


def forward_of_chain(lib):
    x = lib.ones(4, requires_grad=True)

    def work():
        y = x
        for _ in range(50):
            y = (y + 1).sin()

    return work


def network(lib):
    lib.manual_seed(0)
    pictures, digits = lib.randn(256, 784), lib.randint(0, 10, (256, 1))
    sizes = [784, 256, 10]
    params = [t for n, m in zip(sizes, sizes[1:]) for t in (lib.randn(n, m) / n**0.5, lib.zeros(m))]
    for p in params:
        p.requires_grad_()
    w1, b1, w2, b2 = params

    def work():
        for p in params:
            p.grad = None
        scores = (pictures @ w1 + b1).relu() @ w2 + b2
        (-scores.log_softmax(1).gather(1, digits).mean()).backward()

    return work


def solve(lib):
    lib.manual_seed(0)
    a = (lib.randn(200, 200) + 20 * lib.eye(200)).requires_grad_()
    b = lib.randn(200, 1, requires_grad=True)

    def work():
        a.grad = b.grad = None
        lib.linalg.solve(a, b).sum().backward()

    return work


def second_derivative(lib):
    x = lib.ones(4, requires_grad=True)

    def work():
        (g,) = lib.autograd.grad((x * x * x).sum(), [x], create_graph=True)
        lib.autograd.grad(g.sum(), [x])

    return work


def own_function(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x, g = lib.ones(4, requires_grad=True), lib.ones(4)

    def work():
        x.grad = None
        Double.apply(x).backward(g)

    return work


CASES = {
    "(x * x).sum(), 4 floats": square,
    "chain of 100 tiny ops": chain,
    "  its forward alone": forward_of_chain,
    "256 x 784 x 256 x 10 network": network,
    "solve, n = 200": solve,
    "second derivative, 4 floats": second_derivative,
    "autograd.Function, 4 floats": own_function,
}


def memory_in_kib(field):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))


def peak_of_chain(name, threads):
    """KiB that forward and backward of 50 layers, x = tanh(x @ w), need beside x and w. For a process of its own."""
    lib = importlib.import_module(name)
    lib.set_num_threads(threads)
    x = lib.ones(512, 512) / 512
    w = (lib.eye(512) * 0.9).requires_grad_()
    (x @ w).tanh().sum().backward()  # whatever is made once
    w.grad = None
    before = memory_in_kib("VmRSS")
    y = x
    for _ in range(50):
        y = (y @ w).tanh()
    y.sum().backward()
    return memory_in_kib("VmHWM") - before


def measured_peak(name, threads):
    command = [sys.executable, __file__, "--peak-of", name, "--threads", str(threads)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each library in each case")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--peak-of", choices=LIBRARIES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    environment.clean(arguments.threads)
    if arguments.peak_of:
        print(peak_of_chain(arguments.peak_of, arguments.threads))
        return 0

    libraries = {}
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed and is left out", file=sys.stderr)
            continue
        libraries[name] = importlib.import_module(name)
        libraries[name].set_num_threads(arguments.threads)
    versions = {name: lib.__version__ for name, lib in libraries.items()}
    print(f"{platform.machine()}, threads: {arguments.threads}, " + ", ".join(f"{n} {v}" for n, v in versions.items()))
    print(f"{'forward and backward':30}" + "".join(f"{name:>12}" for name in libraries) + f"{'torch/strided':>16}")

    def row(case, values, shown):
        ratio = f"{values['torch'] / values['strided']:>16.2f}" if "torch" in values else ""
        print(f"{case:30}" + "".join(f"{shown(v):>12}" for v in values.values()) + ratio, flush=True)
        return values

    figures = {}
    for case, make in CASES.items():
        if arguments.only in case:
            works = {name: make(lib) for name, lib in libraries.items()}
            figures[case] = row(case, best_times(works, arguments.seconds), span)
    case = "peak memory, 50 layers of 512"
    if arguments.only in case and os.path.exists("/proc/self/status"):
        peaks = {name: measured_peak(name, arguments.threads) for name in libraries}
        figures[case] = row(case, peaks, lambda kib: f"{kib / 1024:.1f} MiB")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"threads": arguments.threads, "versions": versions, "figures": figures}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
