"""State dicts by names of parameters have PyTorch's keys and options."""

import dataclasses
import importlib
import inspect

import pytest
import strided

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

NAME = "distributed.checkpoint.state_dict"
OURS, THEIRS = (importlib.import_module(f"{t}.{NAME}") for t in ("strided", "torch"))


def keys(x):
    if isinstance(x, dict):
        return {k: keys(v) for k, v in x.items()}
    return [keys(v) for v in x] if isinstance(x, list) else x if isinstance(x, (str, float)) else None


def test_arguments():
    for name in OURS.__all__:
        ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (OURS, THEIRS))
        assert [(p.name, p.kind, p.default) for p in ours.values()] == [
            (p.name, p.kind, p.default) for p in theirs.values()
        ]
    assert dataclasses.asdict(OURS.StateDictOptions()) == dataclasses.asdict(THEIRS.StateDictOptions())


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "Adagrad", "RMSprop"])
@pytest.mark.parametrize("frozen", [False, True])
def test_keys(kind, flat, frozen):
    made = []
    for t, m in ((strided, OURS), (torch, THEIRS)):
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3))
        net[0].bias.requires_grad_(not frozen)
        groups = [{"params": [net[0].weight], "lr": 0.5}, {"params": list(net[1].parameters())}]
        optimizer = getattr(t.optim, kind)(groups, lr=0.25)
        options = m.StateDictOptions(flatten_optimizer_state_dict=flat, ignore_frozen_params=frozen)
        made.append(keys([*m.get_state_dict(net, optimizer, options=options)]))
    assert made[0] == made[1]
