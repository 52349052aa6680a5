"""Losses of classes in one step, beside the steps themselves, over layouts, dtypes and every argument."""

import math

import pytest
import strided
from strided.nn import functional as F


def stepwise(log_p, target, weight=None, ignore_index=-100, reduction="mean"):
    """nll_loss by a loop over samples."""
    axis = 0 if log_p.ndim == 1 else 1
    last = log_p.movedim(axis, -1).reshape(-1, log_p.size(axis))
    losses, total = [], 0.0
    for row, t in zip(last, target.reshape(-1).tolist()):
        factor = 0.0 if t == ignore_index else 1.0 if weight is None else weight[t].item()
        losses.append(-row[t] * factor if t != ignore_index else row.new_zeros(()))
        total += factor
    made = strided.stack(losses) if losses else log_p.new_zeros(0)
    if reduction == "none":
        return made.reshape(target.shape)
    return made.sum() / total if reduction == "mean" and total else made.sum() / (total if reduction == "mean" else 1)


def layouts(x):
    back = list(range(x.ndim))[::-1]
    yield x
    yield x.permute(back).contiguous().permute(back)
    yield x.flip(-1)[..., strided.arange(x.size(-1) - 1, -1, -1)]
    yield strided.stack([x, x], -1)[..., 1]
    yield x[..., :1].expand(x.shape)


def margins(x, target, p, margin, weight):
    """multi_margin_loss and multilabel_margin_loss by a loop over labels."""
    losses = []
    for row, labels in zip(x, target.reshape(len(x), -1).tolist()):
        kept = labels[: next((k for k, t in enumerate(labels) if t < 0), len(labels))]
        others = [i for i in range(len(row)) if i not in kept]
        total = row.new_zeros(())
        for t in kept:
            gap = (margin - row[t] + row[others]).clamp_min(0) ** p
            total = total + gap.sum() * (1 if weight is None else weight[t])
        losses.append(total / len(row))
    return strided.stack(losses)


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
@pytest.mark.parametrize("classes", [1, 2, 8, 9, 40])
def test_losses_of_margins(dtype, classes):
    weight = strided.rand(classes, dtype=dtype)
    one = strided.randint(classes, (5,))
    several = strided.stack([strided.randperm(classes) for _ in range(5)])
    several[1, classes // 2 :] = -1
    several[2] = -1
    several[3, 1::2] = several[3, 0]  # a label more than once
    for x in layouts(strided.randn(5, classes, dtype=dtype)):
        for p, margin, w in ((1, 1.0, None), (2, 0.5, None), (1, 0.25, weight), (2, 1.0, weight)):
            for reduction in ("none", "mean"):
                leaf = x.detach().requires_grad_()
                want = margins(leaf, one, p, margin, w)
                want = want if reduction == "none" else want.mean()
                with strided.no_grad():
                    alone = F.multi_margin_loss(x, one, p, margin, w, reduction=reduction)
                made = F.multi_margin_loss(leaf, one, p, margin, w, reduction=reduction)
                strided.testing.assert_close(alone, want.detach())
                strided.testing.assert_close(made, want)
                g = strided.randn(want.shape, dtype=dtype)
                slope = strided.autograd.grad(want, leaf, g)[0]
                for further in (False, True):
                    got = strided.autograd.grad(made, leaf, g, retain_graph=True, create_graph=further)[0]
                    strided.testing.assert_close(got.detach(), slope)
        leaf = x.detach().requires_grad_()
        want, made = margins(leaf, several, 1, 1.0, None), F.multilabel_margin_loss(leaf, several, reduction="none")
        strided.testing.assert_close(made, want)
        g = strided.randn(5, dtype=dtype)
        strided.testing.assert_close(*(strided.autograd.grad(loss, leaf, g)[0] for loss in (made, want)))
    assert F.multi_margin_loss(strided.zeros(0, classes, dtype=dtype), one[:0], reduction="none").shape == (0,)
    x = strided.tensor([[0.0, -math.inf, 1.0]], dtype=dtype, requires_grad=True)
    F.multi_margin_loss(x, one[:1] * 0).backward()
    strided.testing.assert_close(x.grad, strided.tensor([[-1 / 3, 0.0, 1 / 3]], dtype=dtype))
    x = strided.zeros(2, 3, dtype=dtype)
    x[0, 1] = math.nan
    assert F.multi_margin_loss(x, strided.tensor([0, 0]), reduction="none").isnan().tolist() == [True, False]
    for wrong in (3, -1):
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.multi_margin_loss(x, strided.tensor([0, wrong]))
    with pytest.raises(IndexError):
        F.multilabel_margin_loss(x, strided.tensor([[0, 3, -1]] * 2))


SHAPES = [(5,), (4, 3), (1, 1), (7, 10), (3, 4, 5), (2, 3, 4, 5), (2, 3, 2, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
def test_nll_loss(shape, reduction, dtype):
    strided.manual_seed(0)
    axis = 0 if len(shape) == 1 else 1
    rest = shape[:axis] + shape[axis + 1 :]
    target = strided.randint(0, shape[axis], rest)
    for x in layouts(strided.randn(shape, dtype=dtype)):
        for weight in (None, strided.rand(shape[axis], dtype=dtype), strided.rand(2 * shape[axis], dtype=dtype)[::2]):
            for ignore in (-100, 0):
                options = {"weight": weight, "ignore_index": ignore, "reduction": reduction}
                a, b = x.detach().requires_grad_(), x.detach().requires_grad_()
                made, wanted = F.nll_loss(a, target, **options), stepwise(b, target, **options)
                if (target == ignore).all():
                    assert made.isnan() if reduction == "mean" else not made.any()
                    continue
                assert made.dtype is dtype and made.shape == wanted.shape
                strided.testing.assert_close(made, wanted)
                g = strided.randn(made.shape, dtype=dtype)
                (first,) = strided.autograd.grad(made, a, g)
                (second,) = strided.autograd.grad(wanted, b, g)
                strided.testing.assert_close(first, second)


@pytest.mark.parametrize("shape", SHAPES[1:5])
def test_cross_entropy_is_nll_loss_of_log_softmax(shape):
    strided.manual_seed(1)
    x = strided.randn(shape, dtype=strided.float64, requires_grad=True)
    target = strided.randint(0, shape[1], shape[:1] + shape[2:])
    for reduction in ("mean", "sum", "none"):
        made = F.cross_entropy(x, target, reduction=reduction)
        strided.testing.assert_close(made, F.nll_loss(x.log_softmax(1), target, reduction=reduction))
        (one,) = strided.autograd.grad(made.sum(), x)
        (two,) = strided.autograd.grad(F.nll_loss(x.log_softmax(1), target, reduction=reduction).sum(), x)
        strided.testing.assert_close(one, two)
    # Other calls give the same numbers: 16 bits, targets on other terms, flags of old.
    strided.testing.assert_close(F.cross_entropy(x, target.to(strided.uint8)), F.cross_entropy(x, target))
    with pytest.warns(UserWarning, match="reduction='sum'"):
        strided.testing.assert_close(
            F.cross_entropy(x, target, None, False), F.cross_entropy(x, target, reduction="sum")
        )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients_of_both_orders(reduction):
    strided.manual_seed(2)
    weight = strided.rand(3, dtype=strided.float64)
    target = strided.tensor([[0, 2], [1, 1], [2, 0]])
    x = strided.randn(3, 3, 2, dtype=strided.float64, requires_grad=True)

    def call(x):
        return F.cross_entropy(x, target, weight, ignore_index=1, reduction=reduction)

    assert strided.autograd.gradcheck(call, (x,)) and strided.autograd.gradgradcheck(call, (x,))
    _, tangent = strided.func.jvp(call, (x.detach(),), (strided.ones_like(x),))
    assert tangent.abs().max() < 1e-12  # the same added to all classes changes nothing
    several = x.detach().transpose(1, 2)  # batches of two samples
    each = strided.func.vmap(lambda a, t: F.cross_entropy(a, t, weight, reduction=reduction))(several, target)
    wanted = strided.stack([F.cross_entropy(a, t, weight, reduction=reduction) for a, t in zip(several, target)])
    strided.testing.assert_close(each, wanted)


def test_inf_and_nan():
    x = strided.tensor([[0.0, -math.inf], [math.nan, 1.0], [2.0, 3.0]])
    made = F.nll_loss(x, strided.tensor([1, 1, 0]), reduction="none")
    assert made.tolist() == [math.inf, -1.0, -2.0]
    assert F.nll_loss(x, strided.tensor([0, 0, 0]), reduction="sum").isnan()
    assert F.nll_loss(x, strided.tensor([0, -100, -100])).item() == 0  # what is left out is not read
    assert F.nll_loss(x, strided.tensor([-100, -100, -100])).isnan()
    assert F.nll_loss(x, strided.tensor([-100, -100, -100]), reduction="sum").item() == 0


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_no_samples(reduction):
    x = strided.zeros(0, 3, requires_grad=True)
    made = F.nll_loss(x, strided.zeros(0, dtype=strided.int64), reduction=reduction)
    assert made.shape == ((0,) if reduction == "none" else ())
    assert reduction != "mean" or made.isnan()
    assert strided.autograd.grad(made.sum(), x)[0].shape == (0, 3)


@pytest.mark.parametrize("wrong", [3, -1, 2**40])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_a_class_that_there_is_not(wrong, reduction):
    for n in (1, 5000, 9000):
        target = strided.zeros(n, dtype=strided.int64)
        target[n // 2] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds"):
            F.nll_loss(strided.zeros(n, 3), target, reduction=reduction)
        assert F.nll_loss(strided.zeros(n, 3), target, ignore_index=wrong, reduction="sum").item() == 0


def test_sums_do_not_depend_on_threads():
    strided.manual_seed(3)
    x, target = strided.randn(30000, 5), strided.randint(0, 5, (30000,))
    threads = strided.get_num_threads()
    try:
        made = []
        for n in (1, 2, 3):
            strided.set_num_threads(n)
            a = x.clone().requires_grad_()
            loss = F.cross_entropy(a, target)
            loss.backward()
            made.append((loss.detach(), a.grad))
    finally:
        strided.set_num_threads(threads)
    assert all(loss.equal(made[0][0]) and g.equal(made[0][1]) for loss, g in made)
    strided.testing.assert_close(made[0][0], stepwise(x[:, :].log_softmax(1), target).float(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [strided.softmax, strided.log_softmax])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10, 31, 63, 64, 65, 100, 128, 129])
def test_softmax_of_short_rows(function, n):
    strided.manual_seed(4)
    for dtype in (strided.float32, strided.float64, strided.float16, strided.bfloat16):
        x = (strided.randn(130, n) * 5).to(dtype)
        x[3, 0], x[7, n // 2], x[64, -1] = math.inf, math.nan, -math.inf
        wide = x.double()
        made, exact = function(x, 1), wide.exp() / wide.exp().sum(1, keepdim=True)
        usual = [i for i in range(130) if i not in (3, 7, 64)]
        exact = exact if function is strided.softmax else exact.log()
        strided.testing.assert_close(made[usual].double(), exact[usual], **TOLERANCE[dtype])
        assert made[3].isnan().any() and made[7].isnan().all()
        for rows in (0, 1, 2, 3, 4, 5, 17, 33, 63, 64, 65, 67, 129):  # a row's numbers do not depend on its neighbours
            assert made[:rows].isnan().equal(function(x[:rows], 1).isnan())
            assert made[:rows].nan_to_num().equal(function(x[:rows], 1).nan_to_num())


TOLERANCE = {
    strided.float32: {"rtol": 2e-6, "atol": 2e-6},
    strided.float64: {"rtol": 1e-14, "atol": 1e-14},
    strided.float16: {"rtol": 2e-3, "atol": 2e-3},
    strided.bfloat16: {"rtol": 1e-2, "atol": 1e-2},
}


@pytest.mark.parametrize("dtype", [strided.float32, strided.float64])
@pytest.mark.parametrize("steps, batch, longest", [(1, 1, 1), (7, 4, 3), (30, 5, 9), (12, 3, 40), (3, 0, 2)])
def test_sums_over_labels_are_those_of_single_steps(dtype, steps, batch, longest):
    from strided.nn.functional import _ctc

    strided.manual_seed(steps)
    labels = strided.randint(1, 3, (batch, longest))  # repeated ones among them
    wanted, given = strided.randint(0, longest + 1, (batch,)), strided.randint(0, steps + 1, (batch,))
    states, skips = _ctc._extended(labels, wanted.tolist(), 0, longest)
    log_p = strided.randn(steps, batch, 4, dtype=dtype).log_softmax(2)
    log_p[0, :1, 1] = -math.inf
    scores = log_p.gather(2, states.expand(steps, *states.shape))
    layouts = (scores, scores.transpose(0, 1).contiguous().transpose(0, 1), scores.flip(2).contiguous().flip(2))
    for x in layouts:
        for backward in (False, True):
            made = strided._C.functions["_label_sums"](x, skips, given, wanted, backward)
            one = (
                _ctc._backward_sums(scores, skips, given, wanted)
                if backward
                else _ctc._forward_sums(scores, skips, given)
            )
            tolerance = 1e-4 if dtype is strided.float32 else 1e-12
            strided.testing.assert_close(made, one, rtol=tolerance, atol=tolerance)
    functions = strided._C.functions["_label_sums"]
    assert functions(scores.half(), skips, given, wanted, False) is None  # others are made step by step
    assert functions(scores, skips, given.int(), wanted, False) is None


@pytest.mark.parametrize("lengths", [[3, 1, 0], [2, 2, 2], [0, 0, 0]])
def test_labels_in_rows_and_in_one_axis_are_the_same(lengths):
    x, rows = strided.randn(8, 3, 5).log_softmax(2), strided.randint(1, 5, (3, 4))
    joined = strided.cat([row[:n] for row, n in zip(rows, lengths)])
    losses = [
        strided.nn.functional.ctc_loss(x, labels, [8, 8, 7], lengths, reduction="none") for labels in (rows, joined)
    ]
    alone = [
        strided.nn.functional.ctc_loss(x[:, i], rows[i, :n], [steps], [n], reduction="none")
        for i, (steps, n) in enumerate(zip([8, 8, 7], lengths))
    ]
    assert strided.equal(*losses) and strided.allclose(losses[0], strided.stack(alone).reshape(3))


def test_labels_of_a_sample_are_compared_with_its_classes_alone():
    """Among 20000 classes, of which all pairs would take gigabytes."""
    x = strided.randn(3, 20000)
    y = strided.full((3, 20000), -1)
    y[0, :3], y[1, :1] = strided.tensor([5, 0, 19999]), 7
    want = []
    for row, labels in zip(x, ([5, 0, 19999], [7], [])):
        others = row[[i for i in range(20000) if i not in labels]]
        want.append(sum(((1 - row[i] + others).clamp(min=0).sum() for i in labels), strided.tensor(0.0)) / 20000)
    made = strided.nn.functional.multilabel_margin_loss(x, y, reduction="none")
    assert strided.allclose(made, strided.stack(want))


def test_sums_over_labels_beside_inf_and_nan():
    scores = strided.zeros(5, 3, 5)
    scores[2, 0, 1], scores[2, 1, 1] = float("nan"), float("inf")
    skips = strided.tensor([False, False, False, True, False]).expand(3, 5)
    lengths, labels = strided.full((3,), 5), strided.full((3,), 2)
    for backward in (False, True):
        made = strided._C.functions["_label_sums"](scores, skips, lengths, labels, backward)
        assert made[:, 0].isnan().any() and (made[:, 1] == math.inf).any() and not made[:, 2].isnan().any()
        assert not (made[:, 2] == math.inf).any()


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 5), (2, 3, 0), (2, 3, 5, 0), (2, 3, 5, 7, 0)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_images_of_no_pixels(shape, reduction):
    x = strided.rand(*shape, requires_grad=True)
    target = strided.zeros(shape[0], *shape[2:], dtype=strided.int64)
    loss = strided.nn.functional.nll_loss(x, target, reduction=reduction)  # divided by zero, and ended the process
    loss.sum().backward()
    assert x.grad.shape == x.shape
    if reduction == "none":
        assert loss.shape == target.shape
    else:
        assert loss.item() == 0 if reduction == "sum" else loss.isnan()


@pytest.mark.parametrize(
    "steps, labels, given, wanted, options",
    [
        (6, [[1, 2], [3, 1]], [6, 5], [2, 2], {}),
        (6, [[1, 1], [3, 1], [2, 0]], [6, 3, 4], [2, 2, 1], {"reduction": "sum"}),
        (5, [[1, 1, 1], [3, 1, 2], [2, 0, 0]], [5, 2, 4], [3, 3, 0], {"reduction": "none", "zero_infinity": True}),
    ],
)
def test_second_derivatives_of_ctc_loss(steps, labels, given, wanted, options):
    """One is of labels that do not fit, one of no labels."""
    strided.manual_seed(1)
    x = strided.randn(steps, len(labels), 4, dtype=strided.float64, requires_grad=True)

    def loss(x):
        return F.ctc_loss(x.log_softmax(2), strided.tensor(labels), given, wanted, **options)

    assert strided.autograd.gradcheck(loss, x) and strided.autograd.gradgradcheck(loss, x)
    plain, recorded = (strided.autograd.grad(loss(x).sum(), x, create_graph=c)[0] for c in (False, True))
    strided.testing.assert_close(plain, recorded)


def test_a_traced_loss_of_margins_is_no_constant():
    from strided.fx.experimental.proxy_tensor import make_fx

    target = strided.tensor([[0, 1, -1]] * 2)
    graph = make_fx(F.multilabel_margin_loss)(strided.ones(2, 3), target)
    x = strided.tensor([[5.0, 0.0, 0.0]] * 2)
    assert graph(x, target).item() == F.multilabel_margin_loss(x, target).item() != 2 / 3


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_ctc_loss_wants_a_row_of_labels_for_each_sample(rows):
    scores, lengths = strided.rand(8, 3, 5).log_softmax(2), strided.tensor([3, 3, 3])
    with pytest.raises(RuntimeError, match=f"to have size 3 at dimension 0, but got size {rows} for argument #2"):
        F.ctc_loss(scores, strided.ones(rows, 3, dtype=strided.int64), strided.full((3,), 8), lengths)
