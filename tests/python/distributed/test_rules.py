"""Every sharding rule against the unsharded function, with gradients: tables of calls, every placement."""

import elementwise_points
import pytest
import strided as torch
from gradient_cases import CASES
from sharded_cases import MESHES, compare_on, slopes
from strided import _C

dist = torch.distributed


def everywhere(function, makers, ranks=(1, 2, 3, 4, 6, 7), **named):
    for n in ranks:
        for mesh_shape in MESHES[n][-1:]:  # the grid, where there is one: it has rows of ranks too
            torch.manual_seed(n)
            tensors = [make() for make in makers]
            compare_on(n, mesh_shape, function, tensors, **named)


def operand(op, i, shape):
    x = torch.rand(shape, dtype=torch.float64) * 0.8 + 0.1
    return x if "float64" in op["out_dtypes"] else (x * 7).to(torch.int64) + 1


@pytest.mark.parametrize("name", [op["name"] for op in _C.ops_table()])
def test_elementwise(name):
    op = next(o for o in _C.ops_table() if o["name"] == name)
    n = op["arity"] - ("addc" in name)
    params = elementwise_points.params_of(name)
    if "polygamma" in name:
        function = lambda x: _C.functions[name](x, 1)
    elif name in ("threshold", "logit"):
        function = lambda x: _C.functions[name](x, *params.values())
    else:
        function = _C.functions[name]
    makers = [lambda i=i: operand(op, i, [(3, 5), (5,), (3, 1)][i]) for i in range(n)]
    gradients = op["differentiable"] and not any((name, i) in elementwise_points.NONE for i in range(n))
    # All ops have one rule: each takes a third of the combinations, its neighbours in the table the others.
    part = [o["name"] for o in _C.ops_table()].index(name) % 3, 3
    everywhere(function, makers, ranks=(4,), exact=not gradients, gradients=gradients, part=part)


# ---------------------------------------------------------------- everything else that has a gradient

# Cases of functions that have no rule for some placements: NotImplementedError, never a silent gather.
REFUSED = """
celu_
selu_
rrelu_
segment_reduce
segment_reduce mean
segment_reduce prod
segment_reduce max
as_strided overlapping
scatter part of src
scatter_reduce prod long
scatter_reduce prod long zeros
scatter_reduce prod part of src
eig
eigvals
as_strided_scatter
histogramdd
lobpcg
lobpcg smallest
0-d cumsum_ cumprod_
0-d as_strided_
0-d item mask
0-d setitem
0-d put_
0-d scatter into a row
0-d scatter of a row
0-d scatter_
0-d scatter_add_
0-d scatter_reduce index
0-d scatter_reduce_
0-d index_add_
0-d index_copy_
0-d index_fill_
0-d index_reduce_
0-d index_put_
0-d masked_fill_
0-d masked_scatter_
0-d as_strided_scatter
copy_
fill_
zero_
add_ twice
mul_ by itself
iadd isub imul
clamp_
masked_fill_
masked_scatter_
scatter_
scatter_add_
index_add_
index_copy_
index_fill_
index_put_
renorm_
renorm_ of a view
float_power_ mvlgamma_
fill_diagonal_
fill_diagonal_ wrap
index_reduce_
scatter_reduce_
scatter_reduce_ zeros
scatter_reduce_ amax
put_
put_ transposed
t_ triu_
as_strided_
tril_
cumsum_
cumprod_
cumprod_ zero
cumprod_ of a view
addmv_
addr_
addbmm_
baddbmm_
addmm_
setitem mask
setitem ints
setitem slice
setitem int
setitem scalar
"""
REFUSED = {line for line in REFUSED.splitlines() if line}
# Each number of ranks comes up with twenty functions at least; few ranks more often, because they take less time.
RANKS = {name: ((2, 3, 4, 2, 3, 2, 3, 2, 4, 2, 1) * 2 + (6, 7))[i % 24] for i, name in enumerate(CASES)}
# Iterations on a few ranks take long enough; test_linalg_sharded.py has more of these.
RANKS |= dict.fromkeys(["svd", "svd tall", "svd vh", "svd torch", "cond", "cond -2", "eigh vectors", "lstsq wide"], 2)
RANKS |= dict.fromkeys(["frobenius_norm nuclear_norm", "svd_lowrank", "svd_lowrank wide", "pca_lowrank"], 2)


def run_case(name, ranks):
    function, *makers = CASES[name]
    given = makers.pop() if isinstance(makers[-1], dict) else {}
    kind = torch.float64 if "r" in given.get("kinds", "rc") else torch.complex128
    refused = []
    # Of several operands each comes in each placement once: there are 5, 7 or 9 (2 of numbers).
    part = (0, 1 + (len(makers) > 1 and name not in REFUSED and "0-d" not in name))
    everywhere(function, [lambda m=m: m(kind) for m in makers], ranks=ranks, refused=refused, part=part)
    return refused


@pytest.mark.parametrize("name", [name for name in CASES if name not in REFUSED])
def test_function(name):
    assert run_case(name, [RANKS[name]]) == []


# Of gradients that are made of other things than functions with rules.
TWICE = """
det
slogdet
svd
svd u
eigh vectors
qr
inv
solve
cholesky
lstsq
lstsq wide
lu_factor
householder_product
cond -2
renorm some
norm
pinv
sum dim
amax
prod dim
prod zeros
cumprod
logsumexp
matmul 2 2
cumsum
"""


@pytest.mark.parametrize("name", [name for name in TWICE.splitlines() if name in CASES])
def test_second_derivatives(name):
    """Of sums of terms too, whose gradient every rank has."""
    function, *makers = CASES[name]
    given = makers.pop() if isinstance(makers[-1], dict) else {}
    kind = torch.float64 if "r" in given.get("kinds", "rc") else torch.complex128
    makers = [lambda m=m: m(kind) for m in makers]
    # Sums of terms are among these, and on a grid shards without elements.
    everywhere(slopes(function), makers, ranks=(2, 4) if name in ("prod zeros", "cumprod") else (2,), part=(1, 2))


EQUATIONS = {
    "ij,jk": [(2, 3), (3, 4)], "ii": [(3, 3)], "ij->": [(2, 3)], "ij->ji": [(2, 3)], "iij,jk->k": [(2, 2, 3), (3, 2)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)], "...ij,...jk->...ik": [(2, 2, 3), (3, 4)], "ij,kl->": [(2, 2), (3, 2)],
    "ij,jk->ik": [(2, 1), (3, 4)], "ijij->ij": [(2, 3, 2, 3)], "i,i,i->i": [(3,), (3,), (3,)],
}  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation):
    makers = [lambda shape=shape: torch.randn(shape, dtype=torch.float64) for shape in EQUATIONS[equation]]
    everywhere(lambda *x: torch.einsum(equation, *x), makers, ranks=(4,))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "i,jk->ik", "ij,jk->il", "ij->i"])
def test_equations_that_do_not_fit(equation):
    def program():
        x = dist.ones(2, 3, mesh=dist.init_device_mesh("cpu", (2,)), placements=[dist.Shard(0)])
        for a in (torch.ones(2, 3), x):
            with pytest.raises(RuntimeError):
                torch.einsum(equation, a, a)

    dist.simulate(2, program)


def test_plain_tensors_take_the_shape_of_sharded_ones():
    def program():
        x = dist.ones(4, 3, mesh=dist.init_device_mesh("cpu", (2,)), placements=[dist.Shard(0)])
        assert torch.equal(torch.arange(3).expand_as(x), torch.arange(3).expand(4, 3))

    dist.simulate(2, program)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_rule_says_so(name):
    refused = run_case(name, [2])
    assert refused and all("of sharded tensors" in text and "placements" in text for text in refused)
