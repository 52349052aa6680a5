"""Memory that a call, made many times, leaves behind."""

import ctypes
import gc
import sys

import strided as torch

CALLS = 1000  # of each case that returns
FAILURES = 300  # of each case that raises


class _MallInfo(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_size_t)
        for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def heap_bytes():
    """Bytes handed out by the C library's malloc, or 0 where it cannot tell."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return 0
    mallinfo2.restype = _MallInfo
    info = mallinfo2()
    return info.uordblks + info.hblkhd


def tensor_bytes():
    return torch.memory.memory_stats()["allocated_bytes"]


def growth(call, times):
    """(tensor bytes, Python blocks, C heap bytes) that `times` calls left behind. The cache is emptied around them,
    because what it keeps is the heap's but nobody's loss."""

    def state():
        for _ in range(3):  # what a cycle kept may be another one
            gc.collect()
        torch.memory.empty_cache()
        return tensor_bytes(), sys.getallocatedblocks(), heap_bytes()

    gc.collect()
    gc.freeze()  # for good: the collector need not look at all that was there before, nor in the tests that follow
    for _ in range(max(60, times // 2)):  # what is made once; this thread's list of free blocks is full after 64
        call()
    before = state()
    for _ in range(times):
        call()
    return [b - a for a, b in zip(before, state())]


def check(call, times):
    # Of two measurements the smaller: the interpreter's own caches grow, too, but not twice.
    tensors, blocks, heap = (min(pair) for pair in zip(growth(call, times), growth(call, times)))
    assert tensors == 0
    assert blocks < times // 4 + 20
    assert (
        heap < 8 * times + 4 * 8192
    )  # the smallest C++ block is larger; some slack for the thread's list of free blocks


def _subclass():
    class Mine(torch.Tensor):
        pass

    return Mine


MINE = _subclass()
