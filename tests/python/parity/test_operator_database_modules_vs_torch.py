"""PyTorch's own databases of modules and optimizers: samples of each, their gradients, states and wrong arguments."""

import copy
import functools
import pickle
import re
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_modules")
pytest.importorskip("torch.testing._internal.common_optimizers")

import operator_database as db  # noqa: E402
import strided  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

MODULES = {m.name: m for m in module_db if hasattr(strided.nn, m.name.removeprefix("nn."))}
OPTIMIZERS = {o.optim_cls.__name__: o for o in optim_db}
FEW = 12
# Zeros where PyTorch has NaN; the gradient of NaN.
NO_GRADIENTS = {"nn.LPPool1d", "nn.LPPool2d", "nn.LPPool3d", "nn.KLDivLoss"}
# Gradients at the same point of a maximum are in the same place; the random samples are checked elsewhere.
CALLS_PYTORCH = re.compile("function (relu|gelu)")


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def inputs(info, training):
    """(PyTorch's and strided's arguments of the module, and of the call, the leaves of both)."""
    db.seed()
    dtype = torch.float64 if torch.float64 in info.dtypes else torch.complex128
    made = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
    for m in [m for m in made if m.forward_input is not None][:FEW]:
        init, call, leaves = m.constructor_input, m.forward_input, []
        if CALLS_PYTORCH.search(repr(init.args) + repr(init.kwargs)):
            continue
        try:
            mine = db.converted((init.args, init.kwargs))
            ours = db.converted((call.args, call.kwargs), leaves)
        except (db.LeftOut, TypeError):
            continue
        yield dtype, (init.args, init.kwargs), mine, (call.args, call.kwargs), ours, leaves


def made(cls, arguments, dtype, training):
    db.seed()
    return cls(*arguments[0], **arguments[1]).to(dtype).train(training)


def gradients(lib, result, leaves):
    parts = [t.abs().sum() for t in db.flat(result) if isinstance(t, lib.Tensor) and t.requires_grad]
    return lib.autograd.grad(sum(parts), leaves, allow_unused=True) if parts and leaves else []


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_modules(name, training):
    info = MODULES[name]
    cls = getattr(strided.nn, name.removeprefix("nn."))
    for dtype, theirs, mine, call, own_call, leaves in inputs(info, training):
        a, b = made(info.module_cls, theirs, dtype, training), made(cls, mine, db.DTYPES[dtype], training)
        assert repr(a) == repr(b)
        if "Lazy" in name:  # the first call makes the parameters
            db.seed()
            a(*call[0], **call[1])
            db.seed()
            b(*own_call[0], **own_call[1])
        assert list(a.state_dict()) == list(b.state_dict())
        db.same(list(b.state_dict().values()), list(a.state_dict().values()))
        db.seed()
        want = a(*call[0], **call[1])
        db.seed()
        got = b(*own_call[0], **own_call[1])
        db.same(got, want)
        db.same(list(b.state_dict().values()), list(a.state_dict().values()))  # statistics, of empty batches too
        assert str(pickle.loads(pickle.dumps(copy.deepcopy(b)))) == str(b)
        if name not in NO_GRADIENTS:
            first = gradients(torch, want, [x for x, _ in leaves] + list(a.parameters()))
            second = gradients(strided, got, [x for _, x in leaves] + list(b.parameters()))
            assert [g is None for g in first] == [g is None for g in second]
            db.same([g for g in second if g is not None], [g for g in first if g is not None])


def message(call, *args):
    try:
        call(*args)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", [n for n, m in MODULES.items() if m.module_error_inputs_func])
def test_wrong_arguments_of_modules(name):
    info = MODULES[name]
    cls = getattr(strided.nn, name.removeprefix("nn."))
    for case in info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=True
    ):
        init, call = case.module_error_input.constructor_input, case.module_error_input.forward_input
        mine = db.converted((init.args, init.kwargs))

        def run(cls, init, call):
            module = cls(*init[0], **init[1])
            if call is not None:
                module(*call[0], **call[1])

        theirs = message(run, info.module_cls, (init.args, init.kwargs), call and (call.args, call.kwargs))
        ours = message(run, cls, mine, call and db.converted((call.args, call.kwargs)))
        assert (theirs is None) == (ours is None)
        assert theirs is None or isinstance(ours, type(theirs)) and re.search(case.error_regex, str(ours))


def trained(lib, cls, steps, needs_closure, dtype, options):
    db.seed()
    values = [torch.randn(*shape, dtype=dtype) for shape in ((4, 3), (3, 2), (5, 4), (5, 2))]
    w, v, x, y = values if lib is torch else db.converted(values)
    w.requires_grad_(), v.requires_grad_()
    opt = cls([w, v], **options)

    def closure():
        opt.zero_grad()
        loss = ((x @ w @ v - y).abs() ** 2).sum()
        loss.backward()
        return loss

    for i in range(steps):
        if needs_closure:
            opt.step(closure)
        else:
            closure()
            opt.step()
        if i == 0:  # a new optimizer goes on with the state
            saved = copy.deepcopy(opt.state_dict())
            opt = cls([w, v], **options)
            opt.load_state_dict(saved)
    state = opt.state_dict()["state"]
    kept = [x for of_one in state.values() for x in of_one.values() if isinstance(x, lib.Tensor) and not needs_closure]
    return [w, v], kept, {k: list(of_one) for k, of_one in state.items()}, repr(opt)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=["float64", "complex128"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, dtype):
    info, cls = OPTIMIZERS[name], getattr(strided.optim, name)
    run = functools.partial(trained, steps=3, needs_closure=info.step_requires_closure, dtype=dtype)
    for case in info.optim_inputs_func(device="cpu", dtype=dtype):
        options = dict(case.kwargs)
        mine = db.converted(options)
        try:
            theirs = run(torch, info.optim_cls, options=options)
        except (RuntimeError, ValueError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                run(strided, cls, options=mine)
            continue
        ours = run(strided, cls, options=mine)
        for mine_of, theirs_of in zip(ours[:2], theirs[:2]):
            db.same([x.detach() for x in mine_of], [x.detach() for x in theirs_of])
        assert ours[2:] == theirs[2:]


def one_by_one(x, known):
    """Parameters in strided's words, the same tensor for the same tensor."""
    if isinstance(x, torch.Tensor):
        return known.setdefault(id(x), db.converted(x))
    if isinstance(x, dict):
        return {k: one_by_one(v, known) for k, v in x.items()}
    return type(x)(one_by_one(v, known) for v in x) if isinstance(x, (list, tuple, set)) else x


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_wrong_arguments_of_optimizers(name):
    info, cls = OPTIMIZERS[name], getattr(strided.optim, name)
    for case in info.optim_error_inputs_func(device="cpu", dtype=torch.float32):
        given = case.optimizer_error_input
        options = db.converted(dict(given.kwargs))
        theirs = message(lambda: info.optim_cls(given.params, **given.kwargs))  # noqa: B023
        ours = message(lambda: cls(one_by_one(given.params, {}), **options))  # noqa: B023
        if isinstance(ours, db.LeftOut):
            continue  # sparse parameters: nn/test_sparse_gradients.py
        if theirs is not None:
            assert isinstance(ours, type(theirs)) and re.search(case.error_regex, str(ours))
