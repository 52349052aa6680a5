"""futures: values that are set once, from any thread, and what waits for them."""

import threading
import time

import pytest
import strided as torch
from strided.futures import Future, collect_all, wait_all


def test_a_value_is_set_once_and_waited_for():
    future = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="before the value was set"):
        future.value()
    thread = threading.Thread(target=lambda: (time.sleep(0.02), future.set_result(3)))
    thread.start()
    assert future.wait() == future.value() == 3 and future.done()
    thread.join()
    with pytest.raises(RuntimeError, match="set before"):
        future.set_result(4)
    assert Future[torch.Tensor] and isinstance(future, Future)


def test_exceptions_go_to_who_waits():
    future = Future()
    later = future.then(lambda f: f.value() + 1)
    future.set_exception(ValueError("no"))
    for f in (future, later):
        with pytest.raises(ValueError, match="no"):
            f.wait()
    with pytest.raises(AssertionError):
        Future().set_exception("no exception")


def test_callbacks_run_in_order_and_at_once_when_it_is_late():
    calls, future = [], Future()
    future.add_done_callback(lambda f: calls.append(("first", f.value())))
    second = future.then(lambda f: f.value() * 2).then(lambda f: f.value() * 5)
    future.set_result(1)
    future.add_done_callback(lambda f: calls.append(("late", f.value())))
    assert calls == [("first", 1), ("late", 1)] and second.wait() == 10


def test_many():
    futures = [Future() for _ in range(5)]
    collected = collect_all(futures)
    threads = [threading.Thread(target=f.set_result, args=(i,)) for i, f in enumerate(futures)]
    for t in threads:
        t.start()
    assert [f.value() for f in collected.wait()] == wait_all(futures) == [0, 1, 2, 3, 4]
    for t in threads:
        t.join()
    assert collect_all([]).wait() == []
