"""Signals during long work: Ctrl-C ends it, the handler's exception reaches the caller, and the library goes on."""

import signal
import subprocess
import sys

import pytest

# Each of these takes minutes when nothing ends it. None needs much memory: strides are 0.
LONG = {
    "sum": "torch.ones(1).expand(2**40).sum()",
    "sum of casts": "torch.ones(1, dtype=torch.int8).expand(2**40).sum(dtype=torch.float64)",
    "rows": "torch.ones(1).expand(64, 2**36).amax(1)",
    "columns": "torch.ones(32).expand(2**36, 32).sum(0)",
    "positions": "torch.ones(1).expand(2**40).argmax()",
    "many outputs": "torch.ones(1).expand(2**16, 2**24).var(1)",
    "product": "torch.ones(1).expand(60, 2**40) @ torch.ones(1).expand(2**40, 60)",
    "large product": "torch.ones(1).expand(2000, 2**32) @ torch.ones(1).expand(2**32, 2000)",
    "out": "torch.sum(torch.ones(1).expand(2**40), 0, out=torch.empty(()))",
}

PROGRAM = """
import signal
import strided as torch
torch.set_num_threads({threads})
{handler}
print("ready", flush=True)
try:
    {call}
except {error} as e:
    print(type(e).__name__, torch.arange(1000000).sum().item(), torch.ones(300, 300).sum(0)[1].item(), flush=True)
"""


def run(call, threads, handler, error, send):
    """What the program prints when `send` is sent to it while it works."""
    program = PROGRAM.format(call=call, threads=threads, handler=handler, error=error)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):  # it is at work
            child.wait(0.3)
        if send is not None:
            child.send_signal(send)
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0
    return out


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_keyboard_interrupt(name, threads):
    handler = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    out = run(LONG[name], threads, handler, "KeyboardInterrupt", signal.SIGINT)
    assert out == "KeyboardInterrupt 499999500000 300.0\n"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_handler_may_use_the_library_and_raise(threads):
    handler = """
calls = 0
def alarm(number, frame):
    global calls
    calls += 1
    if calls >= 3:  # before the work: on a busy machine an alarm comes while another is handled
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert torch.arange(3000000).sum().item() == 4499998500000
    if calls >= 3:
        raise ValueError("enough")
signal.signal(signal.SIGALRM, alarm)
signal.setitimer(signal.ITIMER_REAL, 0.5, 0.2)
"""
    call = "torch.ones(1).expand(2**40).sum()"
    assert run(call, threads, handler, "ValueError", None) == "ValueError 499999500000 300.0\n"


def test_in_the_backward_pass():
    call = (
        "x = torch.ones(1, requires_grad=True); y = x.expand(2**40); "
        "torch.autograd.grad(y, x, torch.ones(1).expand(2**40))"
    )
    handler = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    assert run(call, 2, handler, "KeyboardInterrupt", signal.SIGINT) == "KeyboardInterrupt 499999500000 300.0\n"


def test_ctrl_c_while_a_library_is_looked_for():
    """The exception reaches the caller, and the next call looks again."""
    program = """
import os, strided as torch
from strided import _C, _lapack
os.environ.pop("STRIDED_LAPACK_LIBRARY", None)
def interrupted():
    raise KeyboardInterrupt("while looking")
_C.set_hook("find_lapack", interrupted)
for threads in (1, 2):
    torch.set_num_threads(threads)
    try:
        torch.linalg.eig(torch.eye(40).expand(3, 40, 40))
    except KeyboardInterrupt as e:
        print(e)
_C.set_hook("find_lapack", _lapack.find)
print(torch.linalg.eigvals(torch.eye(2)).real.tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("while looking\nwhile looking\n[1.0, 1.0]\n", "")
