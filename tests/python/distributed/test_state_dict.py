"""State dicts of models and optimizers by the names of parameters."""

import pytest
import strided
from strided import nn, optim
from strided.distributed.checkpoint import state_dict as sd


def _net(seed=0):
    strided.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


def _train(net, *optimizers, steps=3):
    x = strided.randn(8, 3, generator=strided.Generator().manual_seed(5))
    for _ in range(steps):
        net.zero_grad()
        net(x).square().mean().backward()
        for o in optimizers:
            o.step()
    return [p.detach().clone() for p in net.parameters()]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "Adagrad"])
def test_training_goes_on_with_another_order_of_parameters(kind, flat):
    options = sd.StateDictOptions(flatten_optimizer_state_dict=flat)

    def made(net, order):
        more = {"momentum": 0.9} if kind == "SGD" else {}
        groups = [
            {"params": list(net[0].parameters()), "lr": 0.1},
            {"params": [*net[1].parameters(), *net[2].parameters()]},
        ]
        return getattr(optim, kind)(groups[::order], lr=0.01, **more)

    first = _net()
    o = made(first, 1)
    _train(first, o)
    model, state = sd.get_state_dict(first, o, options=options)
    model, state = ({k: v.clone() if strided.is_tensor(v) else v for k, v in d.items()} for d in (model, state))
    if not flat:
        state["state"] = {n: {k: v.clone() for k, v in kept.items()} for n, kept in state["state"].items()}
    want = _train(first, o)
    second = _net(1)
    other = made(second, -1)
    missing = sd.set_state_dict(second, other, model_state_dict=model, optim_state_dict=state, options=options)
    assert missing.missing_keys == missing.unexpected_keys == []
    assert [g["lr"] for g in other.param_groups] == [0.01, 0.1]
    for ours, theirs in zip(_train(second, other), want):
        strided.testing.assert_close(ours, theirs)


def test_names():
    net = _net()
    net[0].bias.requires_grad_(False)
    names = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
             "2.weight", "2.bias"]  # fmt: skip
    assert list(sd.get_model_state_dict(net)) == names
    unfrozen = sd.get_model_state_dict(net, options=sd.StateDictOptions(ignore_frozen_params=True))
    assert list(unfrozen) == [n for n in names if n != "0.bias"]
    assert list(sd.get_model_state_dict(net, submodules={net[2]})) == ["2.weight", "2.bias"]
    short = sd.StateDictOptions(keep_submodule_prefixes=False)
    assert list(sd.get_model_state_dict(net, submodules={net[2]}, options=short)) == ["weight", "bias"]
    assert not any(v.requires_grad for v in sd.get_model_state_dict(net).values())


def test_optimizer_without_a_step():
    net = _net()
    before = [p.detach().clone() for p in net.parameters()]
    o = optim.Adam(net.parameters(), lr=0.5)
    made = sd.get_optimizer_state_dict(net, o, submodules={net[2]})
    assert list(made["state"]) == made["param_groups"][0]["params"] == ["2.weight", "2.bias"]
    assert made["state"]["2.bias"]["exp_avg"].tolist() == [0.0]
    assert made["param_groups"][0]["lr"] == o.param_groups[0]["lr"] == 0.5
    assert all(strided.equal(p, b) and p.grad is None for p, b in zip(net.parameters(), before))


def test_several_optimizers():
    net = _net()
    both = [optim.SGD(net[0].parameters(), lr=0.1, momentum=0.5), optim.Adam(net[2].parameters())]
    _train(net, *both)
    made = sd.get_optimizer_state_dict(net, both)
    assert list(made["state"]) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    again = [optim.SGD(net[0].parameters(), lr=0.7), optim.Adam(net[2].parameters(), lr=0.7)]
    sd.set_optimizer_state_dict(net, again, made)
    assert again[0].param_groups[0]["lr"] == 0.1 and again[0].param_groups[0]["momentum"] == 0.5
    assert strided.equal(again[1].state[net[2].weight]["exp_avg"], both[1].state[net[2].weight]["exp_avg"])


def _wrapped():
    strided.distributed.init_process_group("mpi")
    net = nn.parallel.DistributedDataParallel(_net())
    inner = sd.get_model_state_dict(net.module)
    assert list(sd.get_model_state_dict(net)) == list(inner) == list(_net().state_dict())
    o = optim.SGD(net.parameters(), lr=0.1)
    assert sd.get_optimizer_state_dict(net, o)["param_groups"][0]["params"][0] == "0.weight"
    assert sd.set_model_state_dict(net, {k: v * 0 for k, v in inner.items()}).missing_keys == []
    assert float(net.module[0].weight.abs().sum()) == 0
    strided.distributed.destroy_process_group()


def test_names_of_wrapped_models():
    strided.distributed.simulate(2, _wrapped)


def test_errors():
    net = _net()
    o = optim.SGD(net.parameters(), lr=0.1)
    with pytest.raises(RuntimeError, match="Missing key"):
        sd.set_model_state_dict(net, {"0.weight": strided.ones(4, 3)})
    loose = sd.set_model_state_dict(net, {"q": strided.ones(1)}, options=sd.StateDictOptions(strict=False))
    assert loose.unexpected_keys == ["q"] and "0.weight" in loose.missing_keys
    with pytest.raises(KeyError, match="does not have"):
        sd.get_optimizer_state_dict(net, optim.SGD([strided.ones(2, requires_grad=True)], lr=0.1))
    with pytest.raises(ValueError, match=r"no options for 0\.weight"):
        sd.set_optimizer_state_dict(net, o, {"state": {}, "param_groups": []})
    split = [{"params": [n], "lr": 0.1 * i} for i, (n, _) in enumerate(net.named_parameters())]
    with pytest.raises(ValueError, match="different options"):
        sd.set_optimizer_state_dict(net, o, {"state": {}, "param_groups": split})
    with pytest.raises(ValueError, match="broadcast"):
        sd.get_model_state_dict(net, options=sd.StateDictOptions(broadcast_from_rank0=True))
