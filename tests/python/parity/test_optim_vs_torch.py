"""Optimizers and schedulers: twenty steps of the same numbers, the same state dicts, texts and errors as PyTorch."""

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402

OPTIMIZERS = [
    "SGD(p, lr=0.1)",
    "SGD(p, lr=0.1, momentum=0.9)",
    "SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "SGD(p, 0.1, 0.5, dampening=0.3, maximize=True)",
    "Adam(p)",
    "Adam(p, lr=0.05, betas=(0.8, 0.9), eps=1e-4, weight_decay=0.1, amsgrad=True)",
    "Adam(p, maximize=True, foreach=False)",
    "AdamW(p, lr=0.02)",
    "AdamW(p, 0.02, weight_decay=0.3, amsgrad=True, fused=False)",
    "Adamax(p, lr=0.02, weight_decay=0.1)",
    "NAdam(p, lr=0.02)",
    "NAdam(p, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "RAdam(p, lr=0.02)",
    "RAdam(p, lr=0.02, weight_decay=0.1, decoupled_weight_decay=True)",
    "Adagrad(p, lr=0.1, lr_decay=0.01, weight_decay=0.1, initial_accumulator_value=0.5)",
    "Adadelta(p, lr=0.5, weight_decay=0.1)",
    "RMSprop(p)",
    "RMSprop(p, lr=0.02, momentum=0.5, centered=True, weight_decay=0.1)",
    "Rprop(p, lr=0.02)",
    "ASGD(p, lr=0.02, weight_decay=0.1, t0=5)",
    "LBFGS(p, lr=0.5, max_iter=3)",
    "LBFGS(p, line_search_fn='strong_wolfe', max_iter=5, history_size=4)",
    "Adafactor(p, lr=0.02, weight_decay=0.1)",
    "Muon(p[:1], lr=0.02)",
]


@pytest.mark.parametrize(
    "text",
    [
        "SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, differentiable=True)",
        "SGD(p, 0.1, 0.5, dampening=0.3, maximize=True, differentiable=True)",
        "Adam(p, lr=0.05, weight_decay=0.1, differentiable=True)",
        "NAdam(p, lr=0.02, weight_decay=0.1, differentiable=True)",
        "RAdam(p, lr=0.02, differentiable=True)",
        "Adagrad(p, lr=0.1, lr_decay=0.01, weight_decay=0.1, differentiable=True)",
        "Adadelta(p, lr=0.5, weight_decay=0.1, differentiable=True)",
        "RMSprop(p, lr=0.02, differentiable=True)",
        "ASGD(p, lr=0.02, weight_decay=0.1, t0=1, differentiable=True)",
    ],
)
def test_gradients_through_steps(text):
    def run(lib):
        start, *grads = (lib.tensor([1.0, -2.0, 0.5]).double().mul(f).requires_grad_(True) for f in (1, 0.3, 0.7, -0.2))
        p = [start.clone()]
        opt = eval("lib.optim." + text, {"lib": lib, "p": p})
        for grad in grads:
            p[0].grad = grad
            opt.step()
        return [g.numpy() for g in lib.autograd.grad(p[0].square().sum(), [start, *grads], materialize_grads=True)]

    for mine, theirs in zip(run(strided), run(torch)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)  # PyTorch counts steps in float32


def losses(lib, text, steps):
    lib.manual_seed(2)
    net = lib.nn.Sequential(lib.nn.Linear(3, 5), lib.nn.Tanh(), lib.nn.Linear(5, 2))
    x, y = lib.randn(8, 3), lib.randn(8, 2)
    if "LBFGS" in text:  # a line search multiplies the rounding of float32
        net, x, y = net.double(), x.double(), y.double()
    opt = eval("lib.optim." + text, {"lib": lib, "p": list(net.parameters())})
    found = []

    def closure():
        opt.zero_grad()
        loss = lib.nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(steps):
        if "LBFGS" in text:
            found.append(float(opt.step(closure)))
        else:
            found.append(float(closure()))
            opt.step()
    return found, net, opt


def plain(value):
    if isinstance(value, (strided.Tensor, torch.Tensor)):
        return value.detach().double().numpy().round(4).tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def keys(value):
    if isinstance(value, dict):
        return {k: keys(v) for k, v in value.items()}
    return type(value).__name__


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_optimizer(text):
    steps = 8 if "LBFGS" in text else 20
    got, net, opt = losses(strided, text, steps)
    want, their_net, their_opt = losses(torch, text, steps)
    tol = 2e-2 if "Muon" in text else 1e-5 if "LBFGS" in text else 2e-5
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol)
    for a, b in zip(net.parameters(), their_net.parameters()):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=10 * tol, atol=10 * tol)
    assert repr(opt) == repr(their_opt)
    mine, theirs = opt.state_dict(), their_opt.state_dict()
    assert mine["param_groups"] == theirs["param_groups"]
    assert keys(mine["state"]) == keys(theirs["state"])
    again = eval("strided.optim." + text, {"strided": strided, "p": list(net.parameters())})
    again.load_state_dict(mine)
    assert plain(again.state_dict()["state"]) == plain(mine["state"])


@pytest.mark.parametrize("text", [text for text in OPTIMIZERS if "LBFGS" not in text and "Muon" not in text])
def test_steps_of_float64_have_its_precision(text):
    """No number on the way is a float32, and NaN is not passed over."""
    grads = np.random.default_rng(3).standard_normal((6, 5))
    grads[3:, 4] = np.nan

    def run(t):
        p = [t.tensor([1.0, -2.0, 0.5, 3.0, 4.0], dtype=t.float64, requires_grad=True)]
        opt = eval("t.optim." + text, {"t": t, "p": p})
        for grad in grads:
            p[0].grad = t.from_numpy(grad.copy())
            opt.step()
        return p[0].detach().numpy(), {k: np.asarray(v, np.float64) for k, v in opt.state[p[0]].items()}

    (got, state), (want, their_state) = run(strided), run(torch)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    for name in their_state:
        np.testing.assert_allclose(state[name], their_state[name], rtol=1e-12)


def own_optimizer(t):
    class Own(t.optim.Optimizer):
        def __init__(self, params, lr=1.0, fast=False):
            super().__init__(params, {"lr": lr, "fast": fast})

        def __setstate__(self, state):
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("fast", False)

    return Own


@pytest.mark.parametrize(
    "make, options, missing",
    [
        (lambda t: t.optim.Adam, {"amsgrad": True}, ["amsgrad", "capturable", "fused"]),
        (lambda t: t.optim.AdamW, {}, ["decoupled_weight_decay", "differentiable"]),
        (lambda t: type("Mine", (t.optim.NAdam,), {}), {"maximize": True}, ["maximize", "decoupled_weight_decay"]),
        (lambda t: t.optim.SGD, {"lr": 0.1, "nesterov": True, "momentum": 0.5}, ["nesterov", "maximize", "lr"]),
        (lambda t: t.optim.Rprop, {"maximize": True}, ["maximize", "foreach"]),
        (own_optimizer, {"fast": True}, ["fast", "lr"]),
    ],
    ids=["Adam", "AdamW", "subclass", "SGD", "Rprop", "own"],
)
def test_groups_that_were_saved_before_an_option_existed(make, options, missing):
    loaded = []
    for t in (torch, strided):
        opt = make(t)([t.nn.Parameter(t.ones(2))], **options)
        state = opt.state_dict()
        for name in missing:
            del state["param_groups"][0][name]
        opt.load_state_dict(state)
        loaded.append({name: value for name, value in opt.param_groups[0].items() if name != "params"})
    assert loaded[0] == loaded[1]


@pytest.mark.parametrize("saved, reader", [("Adam", "AdamW"), ("AdamW", "Adam"), ("AdamW", "own")])
def test_groups_of_another_optimizer(saved, reader):
    loaded = []
    for t in (torch, strided):
        p = [t.nn.Parameter(t.ones(2))]
        opt = own_optimizer(t)(p) if reader == "own" else getattr(t.optim, reader)(p)
        opt.load_state_dict(getattr(t.optim, saved)(p, lr=0.3).state_dict())
        loaded.append({name: value for name, value in opt.param_groups[0].items() if name != "params"})
    assert loaded[0] == loaded[1]


SCHEDULERS = [
    "StepLR(opt, 3)",
    "StepLR(opt, 2, gamma=0.5)",
    "MultiStepLR(opt, [2, 5, 5], 0.3)",
    "ExponentialLR(opt, 0.9)",
    "ConstantLR(opt, 0.5, 4)",
    "LinearLR(opt, 0.25, 0.75, 6)",
    "PolynomialLR(opt, 8, 2.0)",
    "CosineAnnealingLR(opt, 5, 0.01)",
    "CosineAnnealingWarmRestarts(opt, 3, 2)",
    "LambdaLR(opt, lambda n: 0.9**n)",
    "MultiplicativeLR(opt, lambda n: 0.9)",
    "CyclicLR(opt, 0.01, 0.2, 3, 2)",
    "CyclicLR(opt, 0.01, 0.2, 3, mode='triangular2')",
    "CyclicLR(opt, 0.01, 0.2, 3, mode='exp_range', gamma=0.9)",
    "OneCycleLR(opt, 0.3, total_steps=14)",
    "OneCycleLR(opt, 0.3, epochs=2, steps_per_epoch=7, anneal_strategy='linear', three_phase=True)",
    "SequentialLR(opt, [L.LinearLR(opt, 0.1, total_iters=3), L.ExponentialLR(opt, 0.5)], [4])",
    "ChainedScheduler([L.ConstantLR(opt, 0.1, 3), L.ExponentialLR(opt, 0.9)])",
]


def schedule(lib, text):
    params = [lib.nn.Parameter(lib.ones(1)), lib.nn.Parameter(lib.ones(1))]
    opt = lib.optim.SGD([{"params": [params[0]]}, {"params": [params[1]], "lr": 0.05}], lr=0.1, momentum=0.9)
    L = lib.optim.lr_scheduler
    scheduler = eval("L." + text, {"L": L, "opt": opt})
    found = []
    for _ in range(12):
        found += [[g["lr"], g["momentum"], last] for g, last in zip(opt.param_groups, scheduler.get_last_lr())]
        opt.step()
        scheduler.step()
    state = scheduler.state_dict()
    found_keys = keys(state)
    scheduler.load_state_dict(state)
    return found, found_keys


@pytest.mark.parametrize("text", SCHEDULERS)
def test_scheduler(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (got, mine), (want, theirs) = schedule(strided, text), schedule(torch, text)
    np.testing.assert_allclose(got, want, rtol=1e-9)
    assert mine == theirs


@pytest.mark.parametrize(
    "text",
    [
        "CyclicLR(opt, a, b, base_momentum=c, max_momentum=d)",
        "OneCycleLR(opt, b, total_steps=10, base_momentum=c, max_momentum=d)",
        "SWALR(opt, b)",
    ],
)
def test_numbers_of_a_scheduler_that_are_tensors_are_copied(text):
    found = []
    for lib in (strided, torch):
        numbers = {name: lib.tensor(value) for name, value in zip("abcd", (0.1, 0.2, 0.8, 0.9))}
        opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=lib.tensor(0.1), momentum=0.9)
        make = lib.optim.swa_utils if "SWALR" in text else lib.optim.lr_scheduler
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler = eval("make." + text, {"make": make, "opt": opt, **numbers})
            for _ in range(2):
                for number in numbers.values():
                    number.mul_(0.5)
                opt.step()
                scheduler.step()
        group = {k: float(v) for k, v in opt.param_groups[0].items() if k != "params" and v is not None}
        found.append((group, [float(v) for v in scheduler.base_lrs]))
    (group, base), (their_group, their_base) = found
    assert group == pytest.approx(their_group) and base == pytest.approx(their_base)


class Halves:
    def __init__(self):
        self.factor = 0.5

    def __call__(self, x):
        return self.factor


@pytest.mark.parametrize("f", [None, lambda x: 0.5, Halves()])
def test_a_function_of_cyclic_lr_is_saved_if_it_is_an_object(f):
    states = []
    for lib in (strided, torch):
        opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1, momentum=0.9)
        scheduler = lib.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.2, scale_fn=f)
        states.append(scheduler.state_dict())
        assert "_scale_fn_ref" not in states[-1]
        scheduler.load_state_dict(dict(states[-1]))
        assert scheduler._scale_fn_custom is f
    assert states[0]["_scale_fn_custom"] == states[1]["_scale_fn_custom"]


def test_one_cycle_state_from_before_pytorch_2():
    rates = []
    for lib in (strided, torch):
        opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1, momentum=0.9)
        scheduler = lib.optim.lr_scheduler.OneCycleLR(opt, 25, total_steps=10, anneal_strategy="cos")
        del scheduler._anneal_func_type
        state = scheduler.state_dict()
        state["anneal_func"] = lib.optim.lr_scheduler.OneCycleLR._annealing_linear
        scheduler.load_state_dict(state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(6):
                scheduler.step()
                rates.append(opt.param_groups[0]["lr"])
    assert rates[:6] == pytest.approx(rates[6:])


def plateau(lib, **options):
    opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=0.1)
    s = lib.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, **options)
    found = []
    for value in [1.0, 0.9, 0.9, 0.91, 0.95, 0.7, 0.8, 0.8, 0.8, 0.8]:
        s.step(lib.tensor(value))
        found.append((opt.param_groups[0]["lr"], s.num_bad_epochs, s.best))
    return found, keys(s.state_dict())


@pytest.mark.parametrize(
    "options", [{}, {"mode": "max"}, {"factor": 0.5, "cooldown": 2, "min_lr": 0.02, "threshold_mode": "abs"}]
)
def test_plateau(options):
    (got, mine), (want, theirs) = plateau(strided, **options), plateau(torch, **options)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert mine == theirs


def averages(lib, **options):
    lib.manual_seed(0)
    net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.BatchNorm1d(3))
    swa = lib.optim.swa_utils
    if "decay" in options:
        options = {"multi_avg_fn": swa.get_ema_multi_avg_fn(options.pop("decay")), **options}
    elif "avg_fn" in options:
        options["avg_fn"] = getattr(swa, options["avg_fn"])()
    model, opt = swa.AveragedModel(net, **options), lib.optim.SGD(net.parameters(), lr=0.1)
    rates = swa.SWALR(opt, 0.02, anneal_epochs=3)
    for _ in range(5):
        opt.zero_grad()
        net(lib.randn(6, 2)).square().sum().backward()
        opt.step()
        rates.step()
        model.update_parameters(net)
    seen = plain(model.state_dict())["module.1.num_batches_tracked"]
    swa.update_bn([lib.randn(6, 2), lib.randn(6, 2)], model)
    return {**plain(model.state_dict()), "batches before": seen}, opt.param_groups[0]["lr"]


@pytest.mark.parametrize(
    "options",
    [{}, {"decay": 0.9}, {"use_buffers": True}, {"use_buffers": True, "decay": 0.5},
     {"use_buffers": True, "decay": 0.9}, {"use_buffers": True, "avg_fn": "get_ema_avg_fn"}],
)  # fmt: skip
def test_averaged_models(options):
    (got, a), (want, b) = averages(strided, **options), averages(torch, **options)
    assert list(got) == list(want) and abs(a - b) < 1e-9
    for name in want:
        np.testing.assert_allclose(got[name], want[name], atol=2e-4)


@pytest.mark.parametrize("average", ["", "avg_fn=s.get_ema_avg_fn(.9)", "multi_avg_fn=s.get_ema_multi_avg_fn(.75)"])
def test_averages_of_buffers(average):
    """Of integers, too: num_batches_tracked."""

    def run(t):
        t.manual_seed(0)
        net, s = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.BatchNorm1d(3)), t.optim.swa_utils
        model, seen = eval(f"s.AveragedModel(net, use_buffers=True, {average})", {"s": s, "net": net}), []
        for _ in range(5):
            net(t.randn(6, 2))
            model.update_parameters(net)
            seen.append(plain(model.state_dict()))
        return seen

    for got, want in zip(run(strided), run(torch)):
        for name in want:
            np.testing.assert_allclose(got[name], want[name], atol=2e-4)


def test_lists_of_an_average_have_one_dtype():
    for t in (torch, strided):
        seen = []
        swa = t.optim.swa_utils.AveragedModel(
            t.nn.BatchNorm1d(3), multi_avg_fn=lambda a, c, n: seen.append([str(x.dtype) for x in a]), use_buffers=True
        )
        for _ in range(2):
            swa.update_parameters(t.nn.BatchNorm1d(3))
        assert sorted(seen) == [["torch.float32"] * 4, ["torch.int64"]]


def hooked(t):
    opt, log = t.optim.SGD([t.nn.Parameter(t.ones(1))], 0.1), []
    opt.register_step_pre_hook(lambda o, a, k: log.append("pre"))
    opt.register_step_post_hook(lambda o, a, k: log.append("post"))
    opt.register_state_dict_post_hook(lambda o, d: log.append(sorted(d)))
    opt.register_load_state_dict_pre_hook(lambda o, d: log.append("load"))
    opt.step()
    opt.load_state_dict(opt.state_dict())
    return log


def hooks_that_change_arguments(t):
    opt, log = t.optim.SGD([t.nn.Parameter(t.ones(1))], 0.1), []

    def pre(optimizer, args, kwargs):
        log.append((args[0] is optimizer, len(args), sorted(kwargs)))
        return (*args[:1], lambda: 3.0), {}

    opt.register_step_pre_hook(pre)
    opt.register_step_post_hook(lambda o, args, kwargs: log.append((args[0] is o, args[1]())))
    return [opt.step(), opt.step(closure=lambda: 2.0), log]


def plateau_of_more_groups(t, least):
    optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], 1.0)
    scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, min_lr=least)
    optimizer.add_param_group({"params": [t.nn.Parameter(t.ones(1))], "lr": 2.0})
    for _ in range(4):
        scheduler.step(1)
    return [group["lr"] for group in optimizer.param_groups]


def sequence_of_chain(t):
    optimizer, s = t.optim.SGD([t.nn.Parameter(t.ones(1))], 1.0), t.optim.lr_scheduler
    chain = s.ChainedScheduler([s.ConstantLR(optimizer, 0.5, 2), s.ExponentialLR(optimizer, 0.5)])
    scheduler, seen = s.SequentialLR(optimizer, [chain, s.StepLR(optimizer, 1)], milestones=[3]), []
    for _ in range(5):
        optimizer.step()
        scheduler.step()
        seen.append(float(optimizer.param_groups[0]["lr"]))
    return seen


def sequence_from(first):
    def run(t):
        optimizer, s = t.optim.SGD([t.nn.Parameter(t.ones(1))], 1.0), t.optim.lr_scheduler
        parts = [s.ConstantLR(optimizer, 0.5, 2), s.ExponentialLR(optimizer, 0.5), s.StepLR(optimizer, 1)]
        seen = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler = s.SequentialLR(optimizer, parts, milestones=[first, 3])
            for _ in range(5):
                seen.append(optimizer.param_groups[0]["lr"])
                scheduler.step()
        return seen, scheduler.state_dict(), len(caught)

    return run


CALLS = {
    "empty": lambda t: t.optim.SGD([], 0.1),
    "tensor": lambda t: t.optim.SGD(t.ones(1), 0.1),
    "not tensors": lambda t: t.optim.SGD([1], 0.1),
    "non leaf": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(1)) * 2], 0.1),
    "twice": lambda t: (lambda p: t.optim.SGD([{"params": p}, {"params": p}], 0.1))([t.nn.Parameter(t.ones(1))]),
    "set": lambda t: t.optim.SGD([{"params": {t.nn.Parameter(t.ones(1))}}], 0.1),
    "lr": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(1))], -1),
    "lr adam": lambda t: t.optim.Adam([t.nn.Parameter(t.ones(1))], -1),
    "beta": lambda t: t.optim.Adam([t.nn.Parameter(t.ones(1))], 1, (0.1, 1.0)),
    "eps": lambda t: t.optim.RMSprop([t.nn.Parameter(t.ones(1))], 1, eps=-1),
    "nesterov": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(1))], 1, nesterov=True),
    "groups": lambda t: t.optim.SGD([{"params": [t.nn.Parameter(t.ones(1))], "lr": 3}], 0.1).param_groups[0]["lr"],
    "names": lambda t: t.optim.SGD(t.nn.Linear(1, 1).named_parameters(), 0.1).param_groups[0]["param_names"],
    "load": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(1))], 1).load_state_dict({"state": {}, "param_groups": []}),
    "hooks": hooked,
    "hooks that change arguments": hooks_that_change_arguments,
    "plateau, a group more": lambda t: plateau_of_more_groups(t, [0.1]),
    "plateau, a group more and one bound": lambda t: plateau_of_more_groups(t, 0.1),
    "sequence of a chain": sequence_of_chain,
    "sequence": sequence_from(2),
    "sequence without its first": sequence_from(0),
    "sequence of nothing": lambda t: t.optim.lr_scheduler.SequentialLR(None, [], []),
    "chain of nothing": lambda t: t.optim.lr_scheduler.ChainedScheduler([]),
    "fused, lists": lambda t: t.optim.SGD([t.nn.Parameter(t.ones(1))], 1, fused=True, foreach=True),
    "fused, recorded": lambda t: t.optim.Adagrad([t.nn.Parameter(t.ones(1))], fused=True, differentiable=True),
    "not optimizer": lambda t: t.optim.lr_scheduler.StepLR(3, 1),
    "zero_grad": lambda t: (
        p := t.nn.Parameter(t.ones(1)),
        setattr(p, "grad", t.ones(1)),
        t.optim.SGD([p], 0.1).zero_grad(False),
        p.grad.tolist(),
    )[3],
}


@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name):
    def outcome(t):
        try:
            return repr(CALLS[name](t))
        except Exception as error:
            return type(error).__name__, str(error).replace("strided", "torch")

    assert outcome(strided) == outcome(torch)


def test_lbfgs_goes_on_with_the_state_of_pytorch():
    found = {}
    states = {}
    for t in (torch, strided):
        x = t.arange(1.0, 7.0, dtype=t.float64).view(2, 3) / 3
        p = t.nn.Parameter(t.ones(3, dtype=t.float64))
        opt = t.optim.LBFGS([p], lr=0.5, max_iter=1)

        def closure(p=p, opt=opt, x=x):
            opt.zero_grad()
            loss = ((x @ p - 1) ** 2).sum()
            loss.backward()
            return loss

        opt.step(closure)
        states[t] = copy.deepcopy(opt.state_dict())
        if t is strided:

            def moved(value):
                if isinstance(value, (list, tuple)):
                    return [moved(v) for v in value]
                if isinstance(value, dict):
                    return {k: moved(v) for k, v in value.items()}
                return strided.from_numpy(value.detach().numpy()) if isinstance(value, torch.Tensor) else value

            theirs = moved(states[torch])
            assert theirs["state"][0].keys() == states[strided]["state"][0].keys()
            opt.load_state_dict(theirs)
        for _ in range(3):
            opt.step(closure)
        found[t] = p.tolist()
    assert np.allclose(found[strided], found[torch], rtol=1e-9)


def test_lbfgs_after_a_step_that_ended_before_it_moved():
    def slopes(lib):
        p = lib.nn.Parameter(lib.tensor([1.0, 2.0]))
        opt = lib.optim.LBFGS([p], lr=0.5, max_iter=2)
        scales = iter([1e-5, 1.0, 1.0, 1.0])

        def closure():
            opt.zero_grad()
            loss = (p**2).sum() * next(scales)
            loss.backward()
            return loss

        return [float(opt.step(closure)), float(opt.step(closure)), *p.tolist()]

    np.testing.assert_allclose(slopes(strided), slopes(torch), rtol=1e-6)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_of_a_loss_that_overflows_goes_on_with_nan(search):
    def run(lib):
        p = lib.nn.Parameter(lib.tensor([3.0, -2.0]))
        opt = lib.optim.LBFGS([p], lr=1e3, max_iter=6, line_search_fn=search)

        def closure():
            opt.zero_grad()
            loss = (p**8).sum().exp()
            loss.backward()
            return loss

        return [float(opt.step(closure)) for _ in range(4)] + p.tolist()

    np.testing.assert_array_equal(run(strided), run(torch))


def test_the_warning_for_an_epoch_is_pytorchs_and_has_its_name():
    texts = [lib.optim.lr_scheduler.EPOCH_DEPRECATION_WARNING for lib in (strided, torch)]
    assert texts[0] == texts[1]
    scheduler = strided.optim.lr_scheduler.StepLR(strided.optim.SGD([strided.ones(1)], lr=1.0), 2)
    with pytest.warns(UserWarning) as told:
        scheduler.step(3)
    assert texts[0] in [str(w.message) for w in told]
