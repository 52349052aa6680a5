"""Every function of the table meets tensors of a device: it computes, or raises; it never touches device memory from
the host."""

import json
import subprocess
import sys

import cuda_device
import pytest
import strided as torch

pytestmark = cuda_device.needs(1)
NAMES = sorted(n for n in torch._C.functions if not n.startswith("_") and not n.startswith("Tensor."))

PROGRAM = """
import json, sys
import strided as torch
functions = torch._C.functions
def arguments():
    m = torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]], device="cuda", requires_grad=True)
    v = torch.tensor([1.0, 0.0, 2.0], device="cuda", requires_grad=True)
    i, b = torch.tensor([0, 2, 1], device="cuda"), torch.tensor([[True, False, True]] * 3, device="cuda")
    return [(m,), (v,), (i,), (b,), (m, m), (v, v), (i, i), (m, v), (v, i), (m, i), (m, b), (m, 0), (m, 2), ([m, m],),
            (m, [0]), (m, 1, i), (m, 2, 0), (m, [1, 0]), (m, i, v), (m, m, m), (v, v, v), (m, 0, i, m), (m, 0, i, 1.0),
            (3,), (2, 3)]
for name in json.loads(sys.argv[1]):
    for n, args in enumerate(arguments()):
        print(name, n, flush=True)
        try:
            made = functions[name](*args)
            for t in made if isinstance(made, (tuple, list)) else (made,):
                if isinstance(t, torch.Tensor) and t.requires_grad and not t.is_leaf:
                    t.abs().sum().backward(retain_graph=True)
        except Exception:
            pass
        try:
            torch.cuda.synchronize()  # what kernels found wrong
        except Exception:
            pass
"""


@pytest.mark.parametrize("part", range(4))
def test_functions_on_a_device(part):
    names = NAMES[part::4]
    assert len(names) > 50
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.returncode, done.stdout.splitlines()[-1:], done.stderr[-500:])
