"""Stores of keys and bytes: in memory, in a file, over TCP, under a prefix."""

import gc
import multiprocessing
import os
import socket
import struct
import threading
from datetime import timedelta

import pytest
from strided import distributed as dist

SHORT = timedelta(milliseconds=30)
LONG = timedelta(seconds=20)


def _tcp():
    return dist.TCPStore("localhost", 0, is_master=True, timeout=LONG)


@pytest.fixture(params=["hash", "file", "tcp", "prefix", "prefix of tcp"])
def store(request, tmp_path):
    made = {
        "hash": dist.HashStore,
        "file": lambda: dist.FileStore(tmp_path / "store"),
        "tcp": _tcp,
        "prefix": lambda: dist.PrefixStore("p", dist.HashStore()),
        "prefix of tcp": lambda: dist.PrefixStore("p", dist.PrefixStore("q", _tcp())),
    }[request.param]()
    made.set_timeout(LONG)
    return made


def test_values(store):
    store.set("a", "1")
    assert store.get("a") == b"1"
    store.set("a", b"\xff\x00")
    assert store.get("a") == b"\xff\x00"
    store.set("", "")
    assert store.get("") == b""
    store.append("log", "x")
    store.append("log", "yz")
    assert store.get("log") == b"xyz"
    store.multi_set(["k", "ключ"], ["v", "w"])
    assert store.multi_get(["ключ", "k"]) == [b"w", b"v"]
    assert sorted(store.list_keys()) == ["", "a", "k", "log", "ключ"]


def test_add(store):
    assert store.add("n", 5) == 5
    assert store.add("n", -7) == -2
    assert store.get("n") == b"-2"
    store.set("text", "x")
    with pytest.raises(ValueError, match="no integer"):
        store.add("text", 1)
    assert store.get("text") == b"x"  # the store serves on


def test_compare_set(store):
    assert store.compare_set("k", "x", "y") == b"x"
    assert not store.check(["k"])
    assert store.compare_set("k", "", "y") == b"y"
    assert store.compare_set("k", "x", "z") == b"y"
    assert store.compare_set("k", "y", "z") == b"z"
    assert store.get("k") == b"z"


def test_delete_and_count(store):
    before = store.num_keys()
    store.set("a", "1")
    store.set("b", "1")
    assert store.num_keys() == before + 2
    assert store.check(["a", "b"]) is True
    assert store.delete_key("a") is True
    assert store.delete_key("a") is False
    assert store.check(["a", "b"]) is False
    assert store.num_keys() == before + 1


def test_waiting_ends(store):
    with pytest.raises(dist.DistStoreError, match="30ms"):
        store.wait(["never"], SHORT)
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    with pytest.raises(dist.DistStoreError, match="never"):
        store.get("never")
    store.set("a", "1")
    assert store.get("a") == b"1"


def test_another_thread_sets(store):
    other = store.clone()
    thread = threading.Timer(0.03, lambda: other.set("late", "1"))
    thread.start()
    store.wait(["late"])
    assert store.get("late") == b"1"
    thread.join()


def test_barrier(store):
    stores, after = [store.clone() for _ in range(3)], []

    def run(one):
        one.barrier("b", 3)
        after.append(one.add("passed", 1))

    threads = [threading.Thread(target=run, args=(one,)) for one in stores[:2]]
    for t in threads:
        t.start()
    assert not store.check(["passed"])
    run(stores[2])
    for t in threads:
        t.join()
    assert sorted(after) == [1, 2, 3]
    with pytest.raises(dist.DistStoreError):
        store.barrier("alone", 2, SHORT)


def test_queues(store):
    if isinstance(store, dist.FileStore):
        with pytest.raises(NotImplementedError):
            store.queue_push("q", "1")
        return
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert [store.queue_pop("q"), store.queue_pop("q", False)] == [b"1", b"2"]
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)
    store.set_timeout(SHORT)
    with pytest.raises(dist.DistStoreError):
        store.queue_pop("q")


def test_wrong_arguments(store):
    for call in (
        lambda: store.set(1, "a"), lambda: store.set("a", 1), lambda: store.add("a", 1.5), lambda: store.check("ab"),
        lambda: store.wait(["a"], "soon"), lambda: store.get(b"a"), lambda: store.set_timeout(None),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    with pytest.raises(dist.DistStoreError, match="2 keys, but 1 values"):
        store.multi_set(["a", "b"], ["c"])


def test_base_store_holds_nothing():
    with pytest.raises(NotImplementedError):
        dist.Store().get("a")
    with pytest.raises(TypeError):
        dist.PrefixStore("a", {})


def test_prefixes():
    inner = dist.HashStore()
    outer = dist.PrefixStore("b", dist.PrefixStore("a", inner))
    outer.set("k", "1")
    inner.set("k", "2")
    assert inner.get("a/b/k") == b"1"
    assert outer.list_keys() == ["k"]
    assert outer._underlying_non_prefix_store is inner
    outer.set_timeout(SHORT)
    assert inner.timeout == SHORT


def _work(make, *args):
    store = make(*args)
    for _ in range(20):
        store.add("n", 1)
    store.append("who", "x")
    store.barrier("end", 3)


def _run(make, *args):
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=_work, args=(make, *args)) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]


def test_processes_share_a_file(tmp_path):
    path = str(tmp_path / "store")
    _run(dist.FileStore, path)
    store = dist.FileStore(path)
    assert (store.get("n"), store.get("who")) == (b"60", b"xxx")
    assert store.path == path


def test_processes_share_a_server():
    server = _tcp()
    _run(dist.TCPStore, "localhost", server.port)
    assert (server.get("n"), server.get("who")) == (b"60", b"xxx")
    server.set("still", "there")  # children that end do not end the server


def test_last_user_deletes_the_file(tmp_path):
    path = str(tmp_path / "store")
    first, second = dist.FileStore(path, 2), dist.FileStore(path, 2)
    second.set("a", "1")
    assert first.num_keys() == 2  # with the store's own
    del first
    gc.collect()
    assert os.path.exists(path)
    del second
    gc.collect()
    assert not os.path.exists(path)


def test_server_waits_for_all():
    with pytest.raises(dist.DistStoreError, match="1/2 clients"):
        dist.TCPStore("localhost", 0, 2, True, timeout=SHORT)
    alone = dist.TCPStore("localhost", 0, 2, True, timeout=LONG, wait_for_workers=False)
    both = dist.TCPStore("localhost", alone.port, 2, timeout=LONG)
    assert both.num_keys() == 1


def test_no_server():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(dist.DistNetworkError, match="timed out after 30ms"):
            dist.TCPStore("127.0.0.1", port, timeout=SHORT)
    with pytest.raises(ValueError, match="port"):
        dist.TCPStore("localhost", 0)
    with pytest.raises(ValueError, match="port"):
        dist.TCPStore("localhost", 65536)


def test_port_is_taken_or_shared():
    server = _tcp()
    with pytest.raises(dist.DistNetworkError, match="failed to listen"):
        dist.TCPStore("localhost", server.port, is_master=True)
    tenant = dist.TCPStore("localhost", server.port, is_master=True, multi_tenant=True)
    server.set("a", "1")
    del server
    gc.collect()
    assert tenant.get("a") == b"1"


def test_server_that_is_gone():
    server = _tcp()
    client = dist.TCPStore("localhost", server.port, timeout=LONG)
    client.set("a", "1")
    del server
    gc.collect()
    for _ in range(2):
        with pytest.raises(dist.DistNetworkError):
            client.get("a")


def test_server_survives_strangers():
    server = _tcp()
    for data in (b"GET / HTTP/1.1\r\n\r\n", struct.pack("<II", 1, 2**32 - 1), struct.pack("<II", 1, 1) + b"x"):
        with socket.create_connection(("127.0.0.1", server.port)) as stranger:
            stranger.sendall(data)
    server.set("a", "1")
    assert server.get("a") == b"1"


def test_a_group_holds_the_store_that_it_was_given(tmp_path):
    path = str(tmp_path / "store")
    dist.init_process_group("mpi", store=dist.FileStore(path, 1), rank=0, world_size=1)
    assert os.path.exists(path)  # nobody else holds the store, and the last one takes the file away
    dist.destroy_process_group()
    assert not os.path.exists(path)
