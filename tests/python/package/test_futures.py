"""futures: values that are set once, from any thread, and what waits for them."""

import pickle
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
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_result(4)
    assert Future[torch.Tensor] and isinstance(future, Future)


def test_exceptions_go_to_who_waits():
    future = Future()
    later = future.then(lambda f: f.value() + 1)
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    with pytest.raises(
        RuntimeError, match="(?s)Got the following error when running the callback.*ValueError: no"
    ) as raised:
        later.wait()
    assert isinstance(raised.value.__cause__, ValueError)
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


def test_what_a_callback_raises_is_logged_and_stops_nobody(caplog):
    calls, future = [], Future()
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(calls.append)
    later = future.then(lambda f: f.value() + 1)
    future.set_result(1)
    future.add_done_callback(lambda: None)
    assert calls == [future] and later.wait() == 2
    assert [r.exc_info[0] for r in caplog.records] == [ZeroDivisionError, TypeError]


def test_none_is_no_future_and_futures_are_not_pickled():
    for function in (collect_all, wait_all):
        with pytest.raises(RuntimeError, match="Future can't be None"):
            function([Future(), None])
    with pytest.raises(RuntimeError, match=r"Can not pickle torch\.futures\.Future"):
        pickle.dumps(Future())
