"""The operators of PyTorch's own database: the first samples of each as functions, as methods and with out=, their
gradients of both orders and tangents, and its wrong arguments with the words of their errors.  docs/differences.md says
why some are different."""

import re
import warnings

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_methods_invocations")

import operator_database as db  # noqa: E402
import strided  # noqa: E402

OPS = db.ops()
MANY = 2

# Not there: complex32.
ABSENT = {"chalf"}
# Factors whose signs or phases are free, and memory that nobody wrote to.
FREE = set(
    "svd linalg.svd linalg.eig linalg.eigh pca_lowrank svd_lowrank linalg.qr qr geqrf linalg.householder_product ormqr "
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided".split()
)
# Positions among equal elements; integers with fractional factors; sums in 64 bits.
DIFFERENT = set("addmv addbmm baddbmm kthvalue median nanmedian topk mode trapz trapezoid cumulative_trapezoid".split())
# Of bools, where almost all are equal: positions.
TIES = {"sort", "argsort"}
# PyTorch's out= functions that return without writing, or write to another order of axes than the result has.
WRITES_NOTHING = {"fft.ihfft2", "fft.ihfftn"}
# Zeros where PyTorch has NaN; by elements that are overwritten; of nextafter, which has none; of what does not depend
# on the input.
DIFFERENT_GRADIENTS = set(
    "linalg.norm.subgradients_at_zero as_strided_scatter nextafter max_pool2d_with_indices_backward".split()
)


def outputs(function, args, kwargs):
    db.seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def pairs(name, dtype, grad=False):
    """(PyTorch's arguments, strided's, the leaves of both) for samples."""
    for s in db.samples(OPS[name], dtype, MANY, grad):
        leaves = []
        try:
            args = db.converted((s.input, *s.args), leaves)
            kwargs = db.converted(s.kwargs, leaves)
        except db.LeftOut:
            continue
        yield s, ((s.input, *s.args), s.kwargs), (args, kwargs), leaves


@pytest.mark.parametrize("name", [n for n in OPS if n not in ABSENT | DIFFERENT])
def test_values(name):
    op = OPS[name]
    ours = db.function_of(op)
    for dtype in (torch.float64, torch.int64, torch.complex128, torch.bool, torch.int32):
        if dtype is torch.bool and name in TIES:
            continue
        for _, theirs, mine, _ in pairs(name, dtype):
            try:
                want = outputs(op.op, *theirs)
            except Exception:
                continue  # a sample for other devices
            db.same(outputs(ours, *mine), want, op.name not in FREE)


def random_like(x, i):
    generator = torch.Generator().manual_seed(i)
    return torch.randn(x.shape, dtype=x.dtype, generator=generator)


def nonzero(x):
    return x is not None and bool((x != 0).any())


@pytest.mark.parametrize(
    "name", [n for n, op in OPS.items() if op.supports_autograd and n not in ABSENT | FREE | DIFFERENT_GRADIENTS]
)
def test_gradients(name):
    op = OPS[name]
    dtype = torch.float64 if torch.float64 in op.dtypes else torch.complex128
    function = db.function_of(op)
    for s, theirs, mine, leaves in pairs(name, dtype, True):
        if not leaves:
            continue
        finished = s.output_process_fn_grad
        found = []
        for lib, f, call, x in zip((torch, strided), (op.op, function), (theirs, mine), zip(*leaves)):
            try:
                y = db.flat((finished if lib is torch else db.rebound(finished) or finished)(outputs(f, *call)))
                y = [t for t in y if isinstance(t, lib.Tensor) and t.requires_grad]
                if lib is torch:
                    weights = [random_like(t, i) for i, t in enumerate(y)]
                v = weights if lib is torch else db.converted(weights)
                first = lib.autograd.grad(y, x, v, create_graph=True, allow_unused=True)
                again = [g for g in first if g is not None and g.requires_grad]
                total = sum((g.abs() ** 2).sum() for g in again)
                second = lib.autograd.grad(total, x, allow_unused=True) if again else []
            except Exception:
                if lib is torch:
                    break  # no gradient, or none of it
                raise
            found.append((first, second))
        if len(found) < 2:
            continue
        for theirs_of, ours_of in zip(*found):
            for a, b in zip(theirs_of, ours_of):
                if nonzero(a) and not bool(a.isnan().any()):
                    assert b is not None
                    scale = max(1.0, float(a.detach().abs().max()))
                    assert float((db.converted(a.detach().clone()) - b).abs().max()) < 1e-6 * scale


def variants(op):
    """(name of the method, whether it writes to the tensor) of what the operator has beside its function."""
    for method, writes in ((op.method_variant, False), (op.inplace_variant, True)):
        name = getattr(method, "__name__", "")
        if hasattr(torch.Tensor, name):
            yield name, writes


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if any(variants(op)) and n not in ABSENT | DIFFERENT])
def test_methods(name):
    op = OPS[name]
    for dtype in (torch.float64, torch.int64):
        for s, (theirs, options), (mine, own_options), _ in pairs(name, dtype):
            if not isinstance(s.input, torch.Tensor):
                continue
            for method, writes in variants(op):
                x, y = theirs[0].detach().clone(), mine[0].detach().clone()
                try:
                    want = outputs(getattr(torch.Tensor, method), (x, *theirs[1:]), options)
                except Exception:
                    continue  # integers that would become floats, results of another shape
                got = outputs(getattr(strided.Tensor, method), (y, *mine[1:]), own_options)
                db.same(got, want, op.name not in FREE)
                if writes:
                    assert got is y
                    db.same(y, x, op.name not in FREE)


def places(lib, result, start):
    """Tensors to write the results to: of their shapes, or empty ones."""
    if isinstance(result, (list, tuple)):
        return tuple(places(lib, t, start) for t in result)
    dtype = getattr(lib, str(result.dtype)[6:])
    return lib.zeros(tuple(result.shape) if start == "filled" else (0,), dtype=dtype)


@pytest.mark.parametrize(
    "name", [n for n, op in OPS.items() if op.supports_out and n not in ABSENT | DIFFERENT | FREE | WRITES_NOTHING]
)
def test_out(name):
    op = OPS[name]
    function = db.function_of(op)
    for dtype in (torch.float64, torch.int64):
        for _, (theirs, options), (mine, own_options), _ in pairs(name, dtype):
            try:
                result = outputs(op.op, theirs, options)
                wanted = {start: places(torch, result, start) for start in ("filled", "empty")}
                returned = {k: outputs(op.op, theirs, {**options, "out": out}) for k, out in wanted.items()}
            except Exception:
                continue
            for start, want in wanted.items():
                got = places(strided, result, start)
                back = outputs(function, mine, {**own_options, "out": got})
                db.same(got, want)
                assert isinstance(got, tuple) or (back is got) == (returned[start] is want)


# The tangents of PyTorch are wrong where an element is written twice, and of triangular_solve; of logcumsumexp they
# lose digits (ops/test_scans.py); those of cholesky have another part that no Hermitian matrix sees; statistics have
# none here.
DIFFERENT_TANGENTS = set(
    "nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d triangular_solve "
    "logcumsumexp linalg.cholesky linalg.cholesky_ex cholesky native_group_norm masked.logsumexp".split()
)


@pytest.mark.parametrize(
    "name",
    [
        n
        for n, op in OPS.items()
        if op.supports_forward_ad and n not in ABSENT | FREE | DIFFERENT_GRADIENTS | DIFFERENT_TANGENTS
    ],
)
def test_tangents(name):
    op = OPS[name]
    dtype = torch.float64 if torch.float64 in op.dtypes else torch.complex128
    function = db.function_of(op)
    for s, theirs, mine, leaves in pairs(name, dtype, True):
        if not leaves:
            continue
        finished = s.output_process_fn_grad
        directions = [random_like(x, i) for i, (x, _) in enumerate(leaves)]
        found = []
        calls = ((torch, op.op, theirs, directions), (strided, function, mine, db.converted(directions)))
        for (lib, f, call, tangents), points in zip(calls, zip(*leaves)):
            ad = lib.autograd.forward_ad
            with ad.dual_level():
                duals = [(x, ad.make_dual(x.detach(), t)) for x, t in zip(points, tangents)]
                try:
                    y = (finished if lib is torch else db.rebound(finished) or finished)(
                        outputs(f, *replaced(call, duals))
                    )
                except Exception:
                    if lib is torch:
                        break  # no forward derivative
                    raise
                found.append([ad.unpack_dual(t).tangent for t in db.flat(y) if isinstance(t, lib.Tensor)])
        if len(found) < 2:
            continue
        for a, b in zip(*found):
            if nonzero(a) and not bool(a.isnan().any()):
                assert b is not None
                scale = max(1.0, float(a.detach().abs().max()))
                assert float((db.converted(a.detach().clone()) - b).abs().max()) < 1e-6 * scale
            elif b is not None and a is None:
                assert not nonzero(b)


def replaced(x, pairs):
    """The arguments with one tensor in another's place."""
    for old, new in pairs:
        if x is old:
            return new
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(replaced(y, pairs) for y in x)
    if isinstance(x, dict):
        return {k: replaced(y, pairs) for k, y in x.items()}
    return x


# No rule, as there would be a loop over the samples; results of a size that depends on data; PyTorch's sizes that are
# not those of the scales; as_strided, which shows the memory of the whole batch.
WITHOUT_RULE = set(
    "hash_tensor histc histogram argwhere bincount masked_select resize_ resize_as_ new_empty_strided "
    "nn.functional.ctc_loss _upsample_bilinear2d_aa as_strided as_strided.partial_views as_strided_copy".split()
)


@pytest.mark.parametrize("name", [n for n in OPS if n not in ABSENT | FREE | WITHOUT_RULE])
def test_under_vmap(name):
    """What PyTorch's vmap takes: the results are those of one call for each sample."""
    op = OPS[name]
    function = db.function_of(op)
    for dtype in (torch.float64,) if name in DIFFERENT else (torch.float64, torch.int64):
        for _, theirs, mine, _ in pairs(name, dtype):
            at = [i for i, x in enumerate(mine[0]) if isinstance(x, strided.Tensor)]
            for chosen in [at, *([i] for i in at if len(at) > 1)]:
                for dim in (0, -1) if chosen else ():
                    compare_with_loop(op, function, theirs, mine, chosen, dim)


def compare_with_loop(op, function, theirs, mine, chosen, dim):
    def pair(lib, x):
        second = x * 0.5 if x.dtype.is_floating_point else x.clone()
        return lib.stack([x, second], dim)

    in_dims = tuple(dim if i in chosen else None for i in range(len(mine[0])))
    given = []
    for lib, args in ((torch, theirs[0]), (strided, mine[0])):
        given.append([pair(lib, x) if i in chosen else x for i, x in enumerate(args)])
    try:
        outputs(torch.vmap(op.op, in_dims, randomness="same"), given[0], theirs[1])
    except Exception:  # PyTorch's vmap does not take it
        return
    rows = []
    for k in range(2):
        args = [x.select(dim, k).clone() if i in chosen else x for i, x in enumerate(given[1])]
        rows.append(db.flat(outputs(function, args, mine[1])))
    want = [strided.stack(row) for row in zip(*rows)]
    got = db.flat(outputs(strided.vmap(function, in_dims, randomness="same"), given[1], mine[1]))
    assert len(got) == len(want)
    for x, y in zip(got, want):
        assert x.dtype is y.dtype and x.shape == y.shape
        assert strided.allclose(x, y, rtol=1e-6, atol=1e-6, equal_nan=True)


# The type of the error is another one, or there is none: functions of two tensors take a number for either; an index
# out of range is an IndexError; results are cast to the dtype of out; tensors are no numbers.
ERRORS = {
    "atan2", "clamp_max", "clamp_min", "copysign", "eq", "float_power", "fmax", "fmin", "fmod", "gather", "gcd",
    "ge", "gt", "heaviside", "hypot", "igamma", "igammac", "isclose", "lcm", "ldexp", "le", "logaddexp",
    "logical_and", "logical_or", "logical_xor", "lt", "maximum", "minimum", "ne", "nextafter", "rsub",
    "scatter", "scatter_add", "__rdiv__", "__rmod__", "__rpow__", "__rsub__", "aminmax", "arange", "complex",
    "narrow_copy", "take",
}  # fmt: skip


# The same error in other words, which name the shapes or dtypes.
WORDS = {"amax", "amin", "cat", "kthvalue", "masked_select", "ormqr"}


@pytest.mark.parametrize("name", [n for n, op in OPS.items() if op.error_inputs_func and n not in ABSENT | ERRORS])
def test_errors(name):
    op = OPS[name]
    function = db.function_of(op)
    try:
        wrong = list(op.error_inputs_func(op, "cpu"))
    except ValueError:
        pytest.skip("the database needs another NumPy for it")
    for case in wrong:
        s = case.sample_input
        try:
            args, kwargs = db.converted((s.input, *s.args)), db.converted(s.kwargs)
        except (db.LeftOut, RuntimeError, ValueError):
            continue
        with pytest.raises(Exception) as theirs:
            outputs(op.op, (s.input, *s.args), s.kwargs)
        with pytest.raises(Exception) as ours:
            outputs(function, args, kwargs)
        assert issubclass(ours.type, theirs.type) or ours.type.__name__ == theirs.type.__name__
        assert name in WORDS or re.search(case.error_regex, str(ours.value))
