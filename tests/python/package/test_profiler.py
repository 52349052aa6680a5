"""The profiler: which calls there were, how they nest, and what a trace holds."""

import gzip
import json
import threading
import time

import pytest
import strided as torch
from strided.autograd.profiler import profile, record_function
from strided.profiler import ProfilerActivity, schedule, tensorboard_trace_handler


def counts(prof):
    return {row.key: row.count for row in prof.key_averages()}


def test_calls_are_counted():
    x = torch.ones(4, 4)
    with profile() as prof:
        y = x @ x + 1
        y += 2
        torch.linalg.svdvals(-y).sum()
        y.mul_(3)
    assert counts(prof) == {
        "matmul": 1, "add": 1, "add_": 1, "neg": 1, "linalg.svdvals": 1, "sum": 1, "mul_": 1,
    }  # fmt: skip
    x.exp()
    assert "exp" not in counts(prof)


def test_backward_passes_show_their_nodes():
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * 2).sum()
    with profile() as prof:
        y.backward()
    assert {"SumBackward0", "MulBackward0", "ExpBackward0"} <= set(counts(prof))


def test_parts_of_the_users_own():
    with profile() as prof, record_function("outer"):
        with record_function("inner"):
            time.sleep(0.01)
            torch.ones(3)
        record_function("decorated")(time.sleep)(0.001)
    outer, inner, ones, decorated = prof.function_events
    assert [e.name for e in prof.function_events] == ["outer", "inner", "ones", "decorated"]
    assert inner.cpu_parent is outer and ones.cpu_parent is inner and decorated.cpu_parent is outer
    assert outer.is_user_annotation and not ones.is_user_annotation
    assert inner.self_cpu_time_total >= 1e4 and abs(outer.self_cpu_time_total) < outer.cpu_time_total
    assert inner.self_cpu_time_total + ones.cpu_time_total == pytest.approx(inner.cpu_time_total)
    total = prof.self_cpu_time_total
    assert total == pytest.approx(outer.cpu_time_total)


def test_calls_within_calls_of_their_name_count_once():
    with profile() as prof, record_function("f"), record_function("f"):
        time.sleep(0.005)
    (row,) = prof.key_averages()
    assert row.count == 2 and row.cpu_time_total == prof.function_events[0].cpu_time_total


def test_memory():
    with profile(profile_memory=True) as prof:
        kept = torch.ones(2**18)
    (row,) = prof.key_averages()
    assert row.cpu_memory_usage == row.self_cpu_memory_usage >= kept.nbytes
    assert "CPU Mem" in prof.table() and "1.00 MB" in prof.table()


def test_tables():
    with profile() as prof:
        for _ in range(3):
            torch.ones(10).exp()
        time.sleep(0.002)
        record_function("a" * 70)(time.sleep)(0.002)
    table = prof.key_averages().table(sort_by="count", row_limit=2, header="HEAD")
    lines = table.split("\n")
    assert lines[0] == "HEAD" and lines[2].split() == (
        "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls".split()
    )
    assert [line.split()[0] for line in lines[4:6]] == ["ones", "exp"] and "Self CPU time total" in table
    assert lines[4].rstrip().endswith("3")
    assert "..." in prof.key_averages().table() and "a" * 70 in prof.key_averages().table(max_name_column_width=-1)
    shares = sum(float(line.split()[1][:-1]) for line in prof.key_averages().table().split("\n")[3:6])
    assert shares == pytest.approx(100, abs=0.1)
    with pytest.raises(ValueError, match="sort_by"):
        prof.table(sort_by="beauty")


def test_columns_of_devices_are_zero():
    with profile() as prof:
        torch.ones(10).exp()
    rows = prof.key_averages()
    assert rows.table() == rows.table(sort_by="self_cuda_time_total") == rows.table(sort_by="device_memory_usage")
    assert [(r.self_device_time_total, r.device_memory_usage) for r in [*rows, *prof.function_events]] == [(0, 0)] * 4


def test_chrome_traces(tmp_path):
    with profile() as prof, record_function("part"):
        torch.ones(3)
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [(e["name"], e["cat"], e["ph"]) for e in events] == [
        ("part", "user_annotation", "X"),
        ("ones", "cpu_op", "X"),
    ]
    part, ones = events
    assert part["ts"] <= ones["ts"] and ones["ts"] + ones["dur"] <= part["ts"] + part["dur"] + 1


def test_threads_are_told_apart():
    def work():
        for _ in range(50):
            torch.ones(8).exp()

    with profile() as prof:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert counts(prof) == {"ones": 200, "exp": 200} and len({e.thread for e in prof.function_events}) == 4


def test_one_profiler_at_a_time():
    with profile() as prof:
        with pytest.raises(RuntimeError, match="already enabled"), profile():
            pass
        with profile(enabled=False):
            torch.ones(1)
    assert counts(prof) == {"ones": 1}
    with pytest.raises(RuntimeError, match="didn't finish"):
        profile().key_averages()
    with profile() as prof:
        pass
    assert prof.function_events == [] and "Self CPU time total: 0.000us" in str(prof)


def test_errors_end_calls():
    with profile() as prof:
        with pytest.raises(RuntimeError):
            torch.ones(2) @ torch.ones(3)
        torch.ones(1)
    assert counts(prof) == {"ones": 3, "matmul": 1}


def test_what_began_before_is_not_recorded():
    with record_function("before"):
        with profile() as prof:
            torch.ones(1)
    assert counts(prof) == {"ones": 1}
    torch.ones(1)
    with profile() as prof:
        torch.zeros(1)
    assert counts(prof) == {"zeros": 1}


# ---------------------------------------------------------------- steps


def test_schedules():
    def names(n, **options):
        plan = schedule(**options)
        return "".join(
            {"NONE": "-", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "S"}[plan(i).name] for i in range(n)
        )

    assert names(9, wait=1, warmup=1, active=2) == "-wrS-wrS-"
    assert names(9, wait=1, warmup=1, active=2, repeat=1) == "-wrS-----"
    assert names(9, wait=0, warmup=0, active=1, skip_first=2) == "--SSSSSSS"
    assert names(6, wait=2, warmup=0, active=1, skip_first_wait=1) == "S--S--"
    with pytest.raises(AssertionError):
        schedule(wait=0, warmup=0, active=0)


def test_steps(tmp_path):
    found = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2)
    with torch.profiler.profile(
        activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=lambda p: found.append((p.step_num, counts(p)))
    ) as prof:
        for i in range(10):
            torch.ones(1) if i % 2 else torch.zeros(1)
            prof.step()
    assert found == [(4, {"zeros": 1, "ones": 1}), (8, {"zeros": 1, "ones": 1})]  # PyTorch's numbers
    handler = tensorboard_trace_handler(str(tmp_path / "traces"), "me", use_gzip=True)
    with torch.profiler.profile(on_trace_ready=handler):
        torch.ones(1)
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name.startswith("me.") and path.name.endswith(".pt.trace.json.gz")
    assert [e["name"] for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]] == ["ones"]


def test_recordings_may_be_joined():
    for accumulate, expected in ((False, 1), (True, 2)):
        plan = schedule(wait=0, warmup=0, active=1)
        with torch.profiler.profile(schedule=plan, acc_events=accumulate) as prof:
            torch.ones(1)
            prof.step()
            torch.ones(1)
        assert counts(prof) == {"ones": expected}
