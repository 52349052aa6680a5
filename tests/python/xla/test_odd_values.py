"""What once gave wrong numbers or hung: the ends of the range, forks, bytes read as bool."""

import os
import subprocess
import sys

import pytest
import strided as torch
from xla_calls import check_program


def test_logcumsumexp_of_a_wide_range():
    inf = float("inf")
    for values in [0.0, 1.0, 200.0], [-inf, -inf, 0.0, 1000.0], [1.0, inf, 2.0], [float("nan"), 1.0]:
        check_program(lambda x: [x.logcumsumexp(0)], torch.tensor(values))


@pytest.mark.parametrize("index", [-(2**63), 2**63 - 1, -6, 5])
def test_an_index_that_is_out_of_range(index):
    x = torch.arange(5, device="xla")
    with pytest.raises(IndexError, match=f"index {index} is out of bounds"):
        x[torch.tensor([0, index], device="xla")].cpu()


def test_probabilities_outside_0_and_1():
    for p in 2.0, -1.0, float("nan"):
        with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1"):
            torch.bernoulli(torch.tensor([0.5, p], device="xla")).cpu()
    assert torch.bernoulli(torch.tensor([0.0, 1.0], device="xla")).tolist() == [0, 1]


def test_bytes_read_as_bool():
    x = torch.tensor([2, 0, 255], dtype=torch.uint8, device="xla").view(torch.bool)
    assert x.sum().item() == 2
    assert x.to(torch.uint8).tolist() == [1, 0, 1]


FORKED = """
import os, sys
import strided

x = strided.ones(3, device="xla")
assert (x * 2).sum().item() == 6
y = x * 3
child = os.fork()
if not child:
    try:
        y.cpu()
    except RuntimeError as e:
        os._exit(7 if "forked process" in str(e) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert y.tolist() == [3, 3, 3]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_says_that_it_cannot():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_special_functions_at_their_poles():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([0.0, -0.0, -1.0, -3.0, -1.5, 0.5, 1.0, 2.5, 30.0, inf, -inf, nan], dtype=torch.float64)
    s = torch.tensor([inf, 1.0, 0.5, 2.0, 3.0, 2.5, nan, -inf, 0.0], dtype=torch.float64)

    def program(x, s):
        every = {f"polygamma{n}": torch.polygamma(n, x) for n in (0, 1, 2, 3, 171)}
        every["zeta"] = torch.special.zeta(s[:, None], x)
        for eps in 0.7, 0.5, 1e-6, 0.0, 1.5:
            every[f"logit{eps}"] = torch.logit(x, eps)
        return every

    check_program(program, x, s)
    check_program(lambda x: [torch.polygamma(40, x[5:]), torch.logit(x, 1e-6)], x.float())


def test_triangles_of_one_element():
    check_program(lambda x: [f(x, d) for f in (torch.tril, torch.triu) for d in (-1, 0, 1)], torch.full((2, 1, 1), 3.0))
