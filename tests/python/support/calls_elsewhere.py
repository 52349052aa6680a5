"""The calls of hostile_calls.py whose arguments fit, made on the CPU and then with every tensor on another device."""

import warnings

from hostile_calls import all_targets, lookup, make_call

# These are given a device, move data to the CPU, print, or change how later calls behave.
LEFT_OUT = {
    "set_default_device", "set_default_tensor_type", "install_as_torch", "compile", "manual_seed", "seed",
    "fork_rng", "set_rng_state", "set_default_dtype", "set_grad_enabled", "set_anomaly_enabled", "apply_", "map_",
    "map2_", "UntypedStorage", "set_flush_denormal", "set_detect_anomaly", "set_anomaly_mode", "set_warn_always",
}  # fmt: skip


def is_tensor(value):
    return hasattr(value, "data_ptr") and hasattr(value, "dim") and not isinstance(value, type)


class Move:
    """Moves arguments to a device, in their layouts; tensors that share memory share it there."""

    def __init__(self, strided, device):
        self.strided, self.device, self.storages, self.tensors = strided, device, {}, {}

    def __call__(self, value):
        if type(value) in (list, tuple):
            return type(value)(map(self, value))
        if not is_tensor(value):
            return value
        if id(value) not in self.tensors:
            self.tensors[id(value)] = value, self.tensor(value)  # which keeps the id alive
        return self.tensors[id(value)][1]

    def tensor(self, t):
        core, storage = self.strided._C, t.untyped_storage()
        if hash(storage) not in self.storages:
            there = core.storage_as_tensor(storage, core.uint8).to(self.device)
            self.storages[hash(storage)] = storage, core.untyped_storage(there)
        whole = core.storage_as_tensor(self.storages[hash(storage)][1], t.dtype)
        made = whole.as_strided(t.size(), t.stride(), t.storage_offset()).detach()
        return made.requires_grad_() if t.requires_grad else made


def outcome(strided, name, signature, number, device=None):
    """The result of a call, or the exception it raised; None for a call that says itself where it is."""
    args, keywords, _ = make_call(name, signature, number)
    flat = [*args, *keywords.values()]
    if any(isinstance(v, (strided.device, strided.Generator)) for v in flat) or {"device", "generator"} & set(keywords):
        return None
    if device is not None:
        move = Move(strided, device)
        args, keywords = move(args), {k: move(v) for k, v in keywords.items()}
        del move, flat  # `out` may be resized where nobody else has its memory, as on the CPU
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lookup(strided, name)(*args, **keywords)
    except Exception as error:  # noqa: BLE001
        return error
    finally:
        strided.set_default_dtype(strided.float32)


def pairs(strided, device, calls):
    """(what was called, result on the CPU, result or exception on the device) of every call that the CPU answers."""
    for name, signature in all_targets(strided):
        if signature is None or name.rpartition(".")[2] in LEFT_OUT:
            continue
        for number in range(0, 2 * calls, 2):
            strided.manual_seed(0)
            here = outcome(strided, name, signature, number)
            if here is None or isinstance(here, Exception):
                continue
            yield (name, signature, number), here, outcome(strided, name, signature, number, device)


def tensors_of(result):
    """The tensors in a result, in order."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors_of(part)]
    return [result] if is_tensor(result) else []
