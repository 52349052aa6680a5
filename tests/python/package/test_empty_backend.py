"""A device whose backend has memory and nothing else: what would compute says so, and nothing crashes."""

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parents[1] / "support")
CALLS = 6  # of each overload

# Whose results show what the memory held before, or that are about the host's memory.
UNINITIALISED = {
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}
ABOUT_THE_HOST = {"frombuffer", "Tensor.numpy"}


def problem(name, here, there):
    """What is wrong with the answer of a device that has no functions, or None."""
    from calls_elsewhere import tensors_of

    if isinstance(there, NotImplementedError) and ": its backend has no " in str(there):
        function, _, rest = str(there).partition(" on device 'xla'")
        return None if rest and function and " " not in function else f"does not name function and device: {there}"
    if isinstance(there, BufferError) and str(there) == "Cannot pack tensors on xla":  # DLPack is about memory
        return None
    if isinstance(there, Exception):
        return None if name in ABOUT_THE_HOST else f"{type(there).__name__}: {there}"
    # Nothing was computed: views, questions about shapes, and what is made of numbers on the host.
    for a, b in zip(tensors_of(here), tensors_of(there)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"shape or dtype: {a.shape} {a.dtype}, {b.shape} {b.dtype}"
        whole = b.detach().is_contiguous() and name.rpartition(".")[2] not in UNINITIALISED
        if whole and str(a.detach().tolist()) != str(b.detach().cpu().tolist()):
            return "a result that nobody can have computed"
    return None


def work():
    import strided
    from calls_elsewhere import pairs

    strided._C.functions["_register_empty_backend"]()
    refused = computed = 0
    for (name, signature, number), here, there in pairs(strided, "xla", CALLS):
        refused += isinstance(there, NotImplementedError)
        computed += not isinstance(there, Exception)
        if text := problem(name, here, there):
            print(f"{name} {number}: {text}\n  {signature}")
    print(refused, computed)


def test_each_function_names_itself_and_the_device():
    # Without CUDA devices, to which `cuda()` and pinned memory would go.
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRIDED_")} | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=100, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    *problems, counts = done.stdout.strip().split("\n")
    assert not problems, "\n".join(problems)
    refused, computed = map(int, counts.split())
    assert refused > 1000 and computed > 500  # most functions compute; views and questions about shapes do not


if __name__ == "__main__":  # in a process of its own: the device is there until its end
    sys.path.insert(0, SUPPORT)
    work()
