"""utils.benchmark: what is measured, how it is printed."""

import os
import pickle
import re
import subprocess
import sys

import pytest
import strided as torch
import strided.utils.benchmark as benchmark
from strided.utils.benchmark import Compare, Measurement, TaskSpec, Timer

NUMBER = r"\d+\.\d\d (?:ns|us|ms|s)"
OBJECT = r"<strided\.utils\.benchmark\.Measurement object at 0x[0-9a-f]+>\n"


class Clock:
    """A clock that a statement can move."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


def fake(seconds, **options):
    clock = Clock()
    return Timer(f"clock.work({seconds})", globals={"clock": clock}, timer=clock, **options)


def test_timeit_prints_as_pytorch_does():
    m = Timer("t.sum()", globals={"t": torch.ones(10)}).timeit(100)
    assert re.fullmatch(OBJECT + r"t\.sum\(\)\n  " + NUMBER + r"\n  1 measurement, 100 runs , 1 thread", str(m))
    m = Timer("f(t)", setup="from math import sqrt as f", globals={"t": 2.0}, num_threads=2).timeit(10)
    assert re.fullmatch(
        OBJECT + r"f\(t\)\nsetup: from math import sqrt as f\n  " + NUMBER + r"\n  1 measurement, 10 runs , 2 threads",
        repr(m),
    )


def test_setup_can_import_from_main(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "timed_by_test", lambda: None, raising=False)
    m = Timer("timed_by_test()", setup="from __main__ import timed_by_test").timeit(3)
    assert m.number_per_run == 3 and m.mean > 0


def test_numbers():
    m = fake(0.25).timeit(8)
    assert m.raw_times == [2.0] and m.times == [0.25] and m.mean == m.median == 0.25 and m.iqr == 0
    assert not m.has_warnings
    m = Measurement(2, [8.0, 2.0, 4.0, 6.0, 14.0], TaskSpec("x", "pass"))
    assert (m.mean, m.median, m.iqr) == (3.4, 3.0, 2.0)
    assert m.has_warnings and m.significant_figures == 1


def test_several_times_print_median_spread_and_warning():
    m = Measurement(1, [1.0, 2.0, 3.0, 4.0, 7.0], TaskSpec("x", "pass", label="Name", sub_label="sub"))
    assert str(m).split("\n")[1:] == [
        "Name: sub",
        "  Median: 3.00 s",
        "  IQR:    2.00 s (2.00 to 4.00)",
        "  5 measurements, 1 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 66.7% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]


def test_statement_of_several_lines():
    m = Timer("""
        a = 1
        b = 2
        """, setup="c = 1\nd = 2").timeit(1)  # fmt: skip
    assert "stmt:\n  a = 1\n  b = 2\n\nsetup:\n  c = 1\n  d = 2\n\n" in str(m)


@pytest.mark.parametrize(
    ("seconds", "unit"),
    [(2e-9, "ns"), (1e-10, "ns"), (1e-6, "us"), (0.5e-3, "us"), (1e-3, "ms"), (1.0, "s"), (90, "s")],
)
def test_unit(seconds, unit):
    assert benchmark.select_unit(seconds)[0] == unit


def test_warm_up():
    calls = []
    Timer("calls.append(1)", globals={"calls": calls}).timeit(1000)
    assert len(calls) == 1010
    calls.clear()
    Timer("calls.append(1)", globals={"calls": calls}).timeit(5)
    assert len(calls) == 7


def test_blocked_autorange():
    blocks = []
    m = fake(1e-3).blocked_autorange(callback=lambda *block: blocks.append(block), min_run_time=0.1)
    assert m.number_per_run == 1 and 99 <= len(m.times) <= 101
    assert m.median == pytest.approx(1e-3) and [s for _, s in blocks] == m.raw_times
    m = fake(1e-7).blocked_autorange(min_run_time=0.2)
    assert m.number_per_run == 10_000  # 1 ms: a 200th of the time asked for


def test_adaptive_autorange():
    m = fake(1e-3).adaptive_autorange(min_run_time=0.001)
    assert len(m.times) == 4 and m.median == pytest.approx(1e-3)
    clock = Clock()
    noisy = Timer("clock.work(0.01 + clock.now % 0.1)", globals={"clock": clock}, timer=clock)
    assert sum(noisy.adaptive_autorange(threshold=1e-9, max_run_time=0.5).raw_times) < 0.7


def test_threads_are_set_and_restored():
    before = torch.get_num_threads()
    seen = []
    timer = Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=2)
    timer.timeit(2)
    assert set(seen) == {2} and torch.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=2).timeit(1)
    assert torch.get_num_threads() == before


def test_globals_are_not_changed():
    names = {"x": 1}
    Timer("x", globals=names).timeit(1)
    assert names == {"x": 1}


def test_wrong_arguments():
    with pytest.raises(ValueError, match="Currently only a `str` stmt is supported"):
        Timer(lambda: None)
    with pytest.raises(ValueError, match="global_setup is C"):
        Timer("x", global_setup="#include <x>")
    with pytest.raises(ValueError, match="Compare: an instance of Measurement is required, got int"):
        Compare([1])
    with pytest.raises(ValueError, match="at least one time is required"):
        Measurement(1, [], TaskSpec("x", "pass")).median  # noqa: B018
    with pytest.raises(AttributeError):
        fake(1).timeit(1).no_such_thing  # noqa: B018


def test_task_fields_and_pickle():
    m = fake(1e-3, label="L", sub_label="S", description="D", env="E").timeit(2)
    m = pickle.loads(pickle.dumps(m))
    assert (m.label, m.sub_label, m.description, m.env, m.num_threads) == ("L", "S", "D", "E", 1)
    assert m.title == "L: S" and m.as_row_name == "S"


def test_merge():
    a, b = fake(1e-3, label="a"), fake(2e-3, label="b")
    merged = Measurement.merge([a.timeit(2), b.timeit(1), a.timeit(4)])
    assert [len(m.times) for m in merged] == [2, 1]
    assert merged[0].median == pytest.approx(1e-3)


def measurements():
    for threads in (1, 2):
        for i, sub in enumerate(("add", "exp")):
            for j, size in enumerate(("n=1", "n=10")):
                yield fake(1e-6 * (1 + i + 10 * j) / threads, label="ops", sub_label=sub, description=size,
                           num_threads=threads).timeit(1)  # fmt: skip


def test_compare():
    assert str(Compare(measurements())).split("\n") == [
        "ops (ns)    n=1      n=10  ".rstrip(),
        "--------  -------  --------",
        "1 thread",
        "  add     1000.00  11000.00",
        "  exp     2000.00  12000.00",
        "2 threads",
        "  add      500.00   5500.00",
        "  exp     1000.00   6000.00",
    ]


def test_compare_options(capsys):
    table = Compare(measurements())
    table.trim_significant_figures()
    table.colorize()
    table.highlight_warnings()
    table.extend_results([Measurement(1, [1e-6, 2e-6, 3e-6, 9e-6], TaskSpec("other", "pass"))])
    table.print()
    text = capsys.readouterr().out
    assert "\033[1;32m" in text and "(! " in text
    assert text.count("(ns)") == 1 and text.count("(us)") == 1


def test_languages():
    for language in (benchmark.Language.PYTHON, "py", "python"):
        assert Timer("1", language=language).timeit(3).number_per_run == 3
    for language in (benchmark.Language.CPP, "c++"):
        with pytest.raises(NotImplementedError, match="Python only"):
            Timer("1;", language=language)
    with pytest.raises(ValueError, match="Invalid language"):
        Timer("1", language="fortran")


def test_after_a_device_was_asked_for_in_vain():
    """Where the CUDA library is there and a device is not, having asked for one changes nothing."""
    code = """if True:
        import strided as torch
        from strided.utils.benchmark import Timer
        try:
            torch.ones(1).cuda()
        except RuntimeError:
            pass
        assert not torch.cuda.is_available() and not torch.cuda.is_initialized()
        torch.manual_seed(1)
        assert not torch.ones(1).is_pinned()
        assert Timer("x + 1", setup="x = torch.ones(3)").timeit(10).number_per_run == 10
        """
    environment = os.environ | {"STRIDED_EMULATE_CUDA": "0", "CUDA_VISIBLE_DEVICES": ""}
    if library := os.environ.get("STRIDED_TEST_CUDA_LIBRARY"):
        environment["STRIDED_CUDA_LIBRARY"] = library
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
