"""Where no PJRT plugin is, or what is named as one is none."""

import importlib.util
import os
import subprocess
import sys

import pytest
import strided as torch


def test_there_is_no_package_where_no_plugin_is(monkeypatch):
    monkeypatch.delenv("STRIDED_PJRT_PLUGIN", raising=False)
    monkeypatch.setattr(torch._xla, "find", lambda: "")
    monkeypatch.delitem(sys.modules, "strided_xla", raising=False)
    assert importlib.util.find_spec("strided_xla") is None
    monkeypatch.setenv("STRIDED_PJRT_PLUGIN", "/nowhere/plugin.so")
    assert importlib.util.find_spec("strided_xla") is not None


SCRIPT = """
import strided, strided_xla
import strided_xla.core.xla_model as xm
print(strided_xla.device_count(), strided.device("xla:1"))
for f in (lambda: strided.ones(2, device="xla"), lambda: strided.ones(2).to("xla"), xm.xla_device):
    try:
        print("no error", f())
    except RuntimeError as error:
        print(error)
"""


@pytest.mark.parametrize(
    "plugin, what",
    [
        ("/nowhere/plugin.so", "the PJRT plugin could not be opened"),
        (torch._C.__file__, "is no PJRT plugin: it has no function GetPjrtApi"),
    ],
    ids=["missing", "another library"],
)
def test_without_a_plugin(plugin, what):
    env = dict(os.environ, STRIDED_PJRT_PLUGIN=plugin)
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr[-1000:]
    first, *errors = done.stdout.strip().split("\n")
    assert first == "0 xla:1"
    assert len(errors) == 3 and all(e.startswith("XLA is not available: ") and what in e for e in errors), errors


def test_in_torch_s_place():
    code = "import torch, torch_xla.core.xla_model as xm, torch_xla; print(xm.mark_step.__module__, torch_xla.device_count() == 0)"
    env = dict(os.environ, STRIDED_PJRT_PLUGIN="/nowhere/plugin.so")
    command = [sys.executable, "-m", "strided", "run", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout.split()[1:] == ["True"], done.stderr[-1000:]


@pytest.mark.parametrize("number", ["abc", "0", "-1", "129", "99999999999", "2x"])
def test_an_odd_number_of_devices(number):
    env = dict(os.environ, STRIDED_XLA_CPU_DEVICES=number)
    if torch._xla.find() == "":
        pytest.skip("no PJRT plugin")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr[-1000:]
    assert f"STRIDED_XLA_CPU_DEVICES is a number from 1 to 128, not '{number}'" in done.stdout
