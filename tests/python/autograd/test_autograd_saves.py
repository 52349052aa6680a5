"""What an operation says it saves is what its gradient reads: no more, and no less.

Every case of the derived tests (test_gradcheck.py) runs forward; then one tensor is overwritten with NaN. The backward
pass must either refuse ("modified by an inplace operation": the tensor was saved), or give what it gives otherwise.
"""

import gc
import math

import elementwise_points as elementwise
import gradient_cases
import pytest
import strided as torch
from gradient_cases import CASES

DOUBLE, COMPLEX = torch.float64, torch.complex128
# The second is about outputs of split and the like, which PyTorch gives up when anything is written to their memory.
REFUSALS = ("modified by an inplace operation", "its base or another view of its base has been modified inplace")
ROWS = elementwise.ROWS


def poison(t, value=math.nan, counted=True):
    """Overwrites t behind the back of autograd; `counted`: not behind the back of its version counter."""
    with torch.no_grad():
        (t if counted else t.data).fill_(complex(value, value) if t.dtype.is_complex else value)


def can_be_written(t):
    """Does no element of t stand for several?"""
    return all(step != 0 or size == 1 for size, step in zip(t.shape, t.stride()))


def equal(found, expected):
    """Are two lists of gradients the same? But for rounding: a view whose base was written to gets its formula from the
    base, and may add in another order."""

    def same(a, b):
        if a is None or b is None:
            return a is b
        return a.dtype == b.dtype and torch.allclose(a, b, rtol=1e-13, atol=1e-14, equal_nan=True)

    return len(found) == len(expected) and all(same(a, b) for a, b in zip(found, expected))


def as_tuple(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


class Case:
    """A function and its inputs; each run has fresh leaves of the same values and the same gradients of the results."""

    def __init__(self, f, inputs, wanted=None):
        self.f, self.values = f, [x.detach().clone() for x in inputs]
        self.wanted = [x.requires_grad for x in inputs] if wanted is None else wanted
        self.weights = None

    def forward(self):
        self.leaves = [v.clone().requires_grad_(w) for v, w in zip(self.values, self.wanted)]
        results = [r for r in as_tuple(self.f(*self.leaves)) if isinstance(r, torch.Tensor)]
        self.results = results
        self.differentiable = [r for r in results if r.requires_grad]
        if self.weights is None:
            self.weights = [torch.randn(r.shape, dtype=r.dtype) for r in self.differentiable]
        return self

    def backward(self, order=1):
        """The gradients of the leaves (order 2: of the gradients), or None if a saved tensor was modified."""
        wanted = [x for x in self.leaves if x.requires_grad]
        if not self.differentiable:
            return []
        outputs, weights = (self.differentiable, self.weights) if order == 1 else (self.second, self.second_weights)
        try:
            return torch.autograd.grad(outputs, wanted, weights, allow_unused=True)
        except RuntimeError as error:
            if not any(text in str(error) for text in REFUSALS):
                raise
            return None

    def forward_and_gradient(self):
        """The forward pass of a second derivative: a first backward pass that is recorded."""
        self.forward()
        wanted = [x for x in self.leaves if x.requires_grad]
        weights = [w.clone().requires_grad_() for w in self.weights]
        grads = torch.autograd.grad(self.differentiable, wanted, weights, allow_unused=True, create_graph=True)
        self.second = [g for g in grads if g is not None and g.requires_grad]
        torch.manual_seed(1)
        self.second_weights = [torch.randn(g.shape, dtype=g.dtype) for g in self.second]
        return bool(self.second)


def allocated():
    return torch.memory.memory_stats()["allocated_bytes"]


def retained_bytes(f, inputs):
    """(memory that the graph of f(*inputs) keeps beside the inputs, memory of the results that are no views of them)"""
    f(*inputs)  # whatever is made once
    gc.collect()  # nothing of earlier tests may go meanwhile
    before = allocated()
    results = as_tuple(f(*inputs))
    nodes = [r.grad_fn for r in results if isinstance(r, torch.Tensor)]
    whole = allocated() - before
    with torch.no_grad():
        ends = allocated()
        plain = as_tuple(f(*inputs))
        result = allocated() - ends
    del results, plain
    held = allocated() - before
    del nodes
    assert allocated() == before, "dropping the graph does not free what it kept"
    assert held <= whole
    return held, result


def check_honest(case):
    """Poisons every input and every result, one at a time. Which of them were saved."""
    expected = case.forward().backward()
    assert equal(case.forward().backward(), expected), "not the same twice: nothing could be told"
    saved = set()
    for kind, count in (("leaves", len(case.leaves)), ("results", len(case.results))):
        for i in range(count):
            target = getattr(case.forward(), kind)[i]
            if not can_be_written(target):
                assert kind == "results"  # an expanded input; poisoned as that already
                continue
            poison(target)
            got = case.backward()
            if got is None:
                saved.add((kind, i))
            else:
                assert equal(got, expected), f"number {i} of the {kind} is not saved, yet it was read"
    return saved


def check_honest_twice(case):
    case.forward()
    if not case.differentiable or not case.forward_and_gradient():
        return
    expected = case.backward(order=2)
    for i in range(len(case.leaves)):
        case.forward_and_gradient()
        poison(case.leaves[i])
        got = case.backward(order=2)
        assert got is None or equal(got, expected), f"input {i} is not saved for the second derivative, yet it was read"


# ---------------------------------------------------------------- the elementwise table


def operands(name, complex_):
    return [
        torch.tensor(a, requires_grad=(name, i) not in elementwise.NONE)
        for i, a in enumerate(elementwise.points(name, complex_)[: elementwise.arity(name)])
    ]


TABLE = [
    pytest.param(name, kind == "complex128", id=f"{name} {kind}")
    for name, row in ROWS.items()
    if name not in elementwise.ONCE
    for kind in ("float64", "complex128")
    if kind in row["out_dtypes"] and any((name, i) not in elementwise.NONE for i in range(elementwise.arity(name)))
]


@pytest.mark.parametrize("name, complex_", TABLE)
def test_elementwise_as_declared(name, complex_):
    """A tensor is saved exactly if the table says that a gradient that is wanted reads it."""
    row, inputs = ROWS[name], operands(name, complex_)
    n = len(inputs)
    for only in [None, *range(n)]:
        wanted = [x.requires_grad and only in (None, i) for i, x in enumerate(inputs)]
        if not any(wanted):
            continue
        case = Case(lambda *xs: elementwise.call(name, xs), inputs, wanted)
        declared = {("leaves", k) for i in range(n) for k in range(n) if wanted[i] and row["reads"][i] >> k & 1}
        if row["reads_output"]:
            declared.add(("results", 0))
        assert check_honest(case) == declared
    check_honest_twice(Case(lambda *xs: elementwise.call(name, xs), inputs))


POINTS = {"xlogy": [(-2, 2), (-3, -1)], "special.xlog1py": [(-2, 2), (-4, -2)]}  # where it matters whether `input` is 0


@pytest.mark.parametrize("name", sorted({p.values[0] for p in TABLE}))
def test_elementwise_needs_what_it_declares(name, monkeypatch):
    """Whatever is declared to be read matters, for real or for complex numbers: with some other value of it, put there
    behind autograd's back, the gradient is another one."""
    if name in POINTS:
        monkeypatch.setitem(elementwise.DOMAINS, name, POINTS[name])
    row = ROWS[name]
    kinds = [operands(name, p.values[1]) for p in TABLE if p.values[0] == name]
    n = len(kinds[0])

    def matters(i, kind, k):
        for inputs in kinds:
            case = Case(lambda *xs: elementwise.call(name, xs), inputs, [j == i for j in range(n)])
            expected = case.forward().backward()
            for value in (math.nan, 1e3, -0.7, 0.0, 0.3):
                poison(getattr(case.forward(), kind)[k], value, counted=False)
                if not equal(case.backward(), expected):
                    return True
        return False

    wanted = [i for i in range(n) if (name, i) not in elementwise.NONE]
    for i in wanted:
        for k in range(n):
            if row["reads"][i] >> k & 1:
                assert matters(i, "leaves", k), f"the gradient for operand {i} does not read operand {k}"
    assert not row["reads_output"] or any(matters(i, "results", 0) for i in wanted), "no gradient reads the result"


@pytest.mark.parametrize("name, complex_", TABLE)
def test_elementwise_keeps_no_copies(name, complex_):
    """All that a recorded operation holds on to, beside the tensors it was given, is its result if it reads that."""
    inputs = operands(name, complex_)
    held, result = retained_bytes(lambda *xs: elementwise.call(name, xs), inputs)
    assert held == (result if ROWS[name]["reads_output"] else 0)


# ---------------------------------------------------------------- everything else


def irregular():
    for name, case in CASES.items():
        options = case[-1] if isinstance(case[-1], dict) else {}
        makers = [m for m in case[1:] if not isinstance(m, dict)]
        for letter in options.get("kinds", "rc"):
            dtype = DOUBLE if letter == "r" else COMPLEX
            yield pytest.param(name, case[0], makers, dtype, id=f"{name} {str(dtype)[6:]}")


IRREGULAR = list(irregular())


@pytest.mark.parametrize("name, f, makers, dtype", IRREGULAR)
def test_irregular_as_declared(name, f, makers, dtype):
    inputs = [make(dtype).requires_grad_() for make in makers]
    check_honest(Case(f, inputs))
    for i in range(len(inputs) if len(inputs) > 1 else 0):
        check_honest(Case(f, inputs, [i == k for k in range(len(inputs))]))
    check_honest_twice(Case(f, inputs))


@pytest.mark.parametrize("name, f, makers, dtype", IRREGULAR)
def test_what_is_not_recorded_takes_tensors_of_inference_mode(name, f, makers, dtype):
    """They cannot be saved, so nothing may be saved where no gradient is wanted: in the mode, and after it."""
    with torch.inference_mode():
        inputs = [make(dtype) for make in makers]
        f(*(x.clone() for x in inputs))
    assert all(x.is_inference() for x in inputs)
    f(*(x.clone() if name.endswith("_") else x for x in inputs))


@pytest.mark.parametrize("name, f, makers, dtype", IRREGULAR)
def test_gradients_have_memory_of_their_own(name, f, makers, dtype):
    """What lands in .grad is nobody else's: not the incoming gradient, not another leaf's, not an input or a result."""
    case = Case(f, [make(dtype).requires_grad_() for make in makers]).forward()
    torch.autograd.backward(case.differentiable, case.weights)
    grads = [x.grad for x in case.leaves if x.grad is not None]
    memory = [t.untyped_storage() for t in grads]
    others = {t.untyped_storage() for t in [*case.weights, *case.leaves, *case.results]}
    assert len(set(memory)) == len(memory)
    assert not others & set(memory)


def size_class(nbytes):
    """Bytes of a block of the allocator (csrc/core/allocator.cpp)."""
    if nbytes <= 64:
        return 64 if nbytes else 0
    quarter = 1 << (nbytes - 1).bit_length() - 3
    return -(-nbytes // quarter) * quarter


# Composed of operations that keep something in between, where PyTorch computes it again. With the kind of number.
KEEPS_MORE = {
    "segment_reduce mean r",
    "polar r", "combinations r", "combinations c", "mvlgamma r",
    # conj() of vectors is a copy here
    "svd c", "svd tall c", "svd wide batch c", "svd full c", "eigh c", "eigh upper batch c",
    "float_power_ mvlgamma_ r", "corrcoef r", "corrcoef c",
    *(f"{name} c" for name in ("cov", "svd_lowrank", "svd_lowrank wide", "pca_lowrank")),  # conjugates are copies
}  # fmt: skip
# Or without a derivative there.
NOT_IN_TORCH = {
    "segment_reduce max r",  # that is there, and keeps one tensor less for each segment
    *(f"{name} {kind}" for kind in "rc" for name in (
        "item reversed", "scatter add", "scatter multiply", "scatter add value", "scatter multiply value",
        "0-d scatter_",
        "0-d take_along_dim", "0-d index_put", "0-d index_put_",
    )),
    "histogramdd r", "alias_copy slice_copy c", "lobpcg c", "lobpcg smallest c",
    "select_scatter c", "slice_scatter c", "scatter_reduce prod complex c", "scatter_reduce mean complex c",
}  # fmt: skip


def kind_of(name, dtype):
    return f"{name} {'c' if dtype.is_complex else 'r'}"


IN_BOTH = [p for p in IRREGULAR if kind_of(p.values[0], p.values[3]) not in NOT_IN_TORCH]


@pytest.fixture(scope="module")
def torch_cases():
    """The cases as functions of PyTorch."""
    theirs = pytest.importorskip("torch")
    theirs.backends.opt_einsum.enabled = False  # where that package is installed, it changes the order of products
    return gradient_cases.of_torch()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, f, makers, dtype", IN_BOTH)
def test_irregular_keeps_no_more_than_torch(name, f, makers, dtype, torch_cases):
    import torch as theirs

    kind = kind_of(name, dtype)

    inputs = [make(dtype).requires_grad_() for make in makers]
    held, _ = retained_bytes(f, inputs)
    same = [theirs.tensor(x.detach().numpy(), requires_grad=True) for x in inputs]
    storages = {}

    def pack(t):
        storages[t.untyped_storage().data_ptr()] = t, t.untyped_storage().nbytes()
        return t

    with theirs.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        results = torch_cases[name][0](*same)
    del results
    for x in same:
        storages.pop(x.untyped_storage().data_ptr(), None)
    most = sum(size_class(nbytes) for _, nbytes in storages.values())
    if kind in KEEPS_MORE:
        assert held > most, "remove it from KEEPS_MORE"
        most += 2 * sum(size_class(x.nbytes) for x in inputs)
    assert held <= most


# ---------------------------------------------------------------- one by one


def test_numbers_are_not_saved_with_tensors():
    x = torch.ones(3, requires_grad=True)
    for f in (lambda: x * 2, lambda: 2 + x, lambda: x / 2, lambda: -x, lambda: x - 1.5):
        held, _ = retained_bytes(f, [])
        assert held == 0
        y = f()
        poison(x)
        y.sum().backward()
        assert bool(torch.isfinite(x.grad).all())
        poison(x, 1.0)


def contracted(x, w):
    return torch.einsum("ij,jk->ik", x, w)


@pytest.mark.parametrize("f", [torch.mul, torch.matmul, torch.dot, contracted])
@pytest.mark.parametrize("which", [0, 1])
def test_products_save_the_other_factor_alone(f, which):
    shape = (3,) if f is torch.dot else (3, 3)
    factors = [torch.rand(shape), torch.rand(shape)]
    factors[which].requires_grad_()
    y = f(*factors)
    poison(factors[which])
    y.sum().backward()
    assert bool(torch.isfinite(factors[which].grad).all())
    factors[which].grad = None
    y = f(*factors)
    poison(factors[1 - which])
    with pytest.raises(RuntimeError, match=REFUSALS[0]):
        y.sum().backward()
