"""Every public function either is differentiated by a case (gradient_cases.py, the elementwise table), or stands here
with the reason why it is not."""

import ast
import copy
import sys

import gradient_cases
import gradient_checks
import pytest
import strided as torch
from gradient_cases import CASES

# ---------------------------------------------------------------- what needs no case

# Results are truth values, positions, counts, or Python objects.
NO_REAL_RESULT = """
    all any allclose equal isin is_nonzero is_same_size argmax argmin argsort argwhere nonzero searchsorted bucketize
    count_nonzero nonzero_static unravel_index tril_indices triu_indices histc linalg.matrix_rank bool byte char short
    int long item tolist numpy
""".split()
# PyTorch lets these pass too, and raises in the backward pass: test_no_derivative.
NO_DERIVATIVE = "unique unique_consecutive histogram bincount".split()
# The same: test_decompositions.py.
NO_DERIVATIVE_OF_FACTORS = "geqrf linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve".split()
# New tensors, from numbers, from other objects, or like another tensor.
FACTORIES = """
    arange as_tensor asarray empty empty_like empty_permuted empty_strided eye from_dlpack from_numpy frombuffer full
    full_like linspace logspace new_empty new_empty_strided new_full new_ones new_tensor new_zeros ones ones_like rand
    rand_like randint randint_like randn randn_like randperm range scalar_tensor tensor zeros zeros_like
""".split()
# Random numbers: as functions of what they are drawn with their gradient is zero, in PyTorch too (test_random.py).
RANDOM = """
    bernoulli bernoulli_ binomial
    cauchy_ exponential_ geometric_ log_normal_ multinomial normal normal_ poisson random_ uniform_
""".split()
# What is asked about tensors, dtypes and shapes.
QUESTIONS = """
    broadcast_shapes can_cast data_ptr device dim dtype element_size get_default_dtype get_device is_complex is_conj
    is_contiguous is_cpu is_cuda is_floating_point is_inference is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_neg
    is_nested is_pinned is_quantized is_read_only is_set_to is_shared is_signed is_sparse is_sparse_csr is_storage
    is_tensor is_vulkan is_xla is_xpu itemsize layout names nbytes ndim ndimension nelement numel promote_types
    result_type shape size storage storage_offset stride sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt
    sym_sum to_dlpack typename untyped_storage
""".split()
# Of automatic differentiation itself: test_autograd*.py.
AUTOGRAD = """
    backward data detach detach_ detach_copy grad grad_fn is_grad_enabled is_inference_mode_enabled is_leaf output_nr
    register_hook register_post_accumulate_grad_hook requires_grad requires_grad_ retain_grad retains_grad
""".split()
SETTINGS = """
    are_deterministic_algorithms_enabled get_deterministic_debug_mode is_deterministic_algorithms_warn_only_enabled
    set_deterministic_debug_mode use_deterministic_algorithms
    fork_rng get_float32_matmul_precision get_num_interop_threads get_num_threads get_printoptions get_rng_state
    initial_seed manual_seed printoptions seed set_default_dtype set_float32_matmul_precision set_num_threads
    set_printoptions set_rng_state
""".split()
# They raise for a tensor that requires a gradient.
NEVER_RECORDED = "resize_ resize_as_".split()
# They round, which no difference quotient bears: test_rounding_conversions.
ROUNDING = "bfloat16 cfloat float half".split()
# They raise, or are made of functions of dense tensors: test_sparse_coo.py and those beside it.
SPARSE = """
    ccol_indices ccol_indices_copy coalesce col_indices col_indices_copy crow_indices crow_indices_copy dense_dim
    dsmm hsmm hspmm indices indices_copy is_coalesced native_norm row_indices row_indices_copy smm sparse_bsc_tensor
    sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparse_dim
    sparse_mask sparse_resize_ sparse_resize_and_clear_ spmm sspaddmm to_dense to_sparse to_sparse_bsc to_sparse_bsr
    to_sparse_coo to_sparse_csc to_sparse_csr values values_copy
""".split()
# What a Python function makes of numbers.
MAPPED = "apply_ map_ map2_".split()
# The Array API's names of functions that have cases under PyTorch's, and the class behind them: test_array_api.py.
STANDARD = """
    astype bitwise_invert broadcast_arrays cumulative_prod cumulative_sum expand_dims isdtype matrix_transpose
    permute_dims take_along_axis to_device unique_all unique_counts unique_inverse unique_values unstack vecdot
""".split()
# Made of recorded functions, which have cases: tests/python/fft, tests/python/func.
COMPOSED = "istft stft vmap".split()
WINDOWS = "bartlett_window blackman_window hamming_window hann_window kaiser_window".split()
# Files, programs, and what is asked of the process: tests/python/files, test_program_names.py, test_as_torch.py.
PROGRAMS = """
    as_subclass autocast_decrement_nesting autocast_increment_nesting
    clear_autocast_cache compile compiled_with_cxx11_abi const_data_ptr dim_order from_file
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_default_device get_device_module grad_dtype
    hash_tensor install_as_torch is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
    is_autocast_cpu_enabled is_autocast_enabled is_distributed is_vulkan_available is_warn_always_enabled load
    module_load name new reinforce resize resize_as save set_ set_anomaly_enabled set_autocast_dtype
    set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype
    set_autocast_enabled set_default_device set_default_tensor_type set_flush_denormal set_num_interop_threads
    set_warn_always share_memory_ storage_type volatile
""".split()
# Another device: test_cuda.py.
DEVICES = "cuda pin_memory record_stream".split()
WITHOUT_CASE = [
    *NO_REAL_RESULT, *NO_DERIVATIVE, *NO_DERIVATIVE_OF_FACTORS, *FACTORIES, *RANDOM, *QUESTIONS, *AUTOGRAD, *SETTINGS,
    *NEVER_RECORDED, *ROUNDING,
    *MAPPED, *SPARSE, *DEVICES, *STANDARD, *COMPOSED, *WINDOWS, *PROGRAMS,
]  # fmt: skip

# Other names: the cases of the second are run with the first.
ALIASES = {
    "concat": "cat", "concatenate": "cat", "ger": "outer", "linalg.outer": "outer", "moveaxis": "movedim",
    "row_stack": "vstack", "swapdims": "transpose", "swapdims_": "transpose_", "swapaxes_": "transpose_",
    "qr": "linalg.qr", "inverse": "linalg.inv", "linalg.inverse": "linalg.inv", "det": "linalg.det",
    "slogdet": "linalg.slogdet",
    "cholesky": "linalg.cholesky", "linalg.matmul": "matmul", "linalg.matrix_power": "matrix_power",
    "linalg.tensordot": "tensordot", "linalg.trace": "trace", "linalg.matrix_transpose": "adjoint",
    "trapz": "trapezoid", "special.multigammaln": "mvlgamma",
    "unsafe_chunk": "chunk", "unsafe_split": "split", "unsafe_split_with_sizes": "split_with_sizes",
    **{f"{name}_copy": name for name in (
        "as_strided", "diagonal", "expand", "permute", "select", "split", "split_with_sizes", "squeeze", "t",
        "transpose", "unbind",
        "unfold", "unsqueeze", "view", "view_as_complex",
    )},
    "special.softmax": "softmax", "special.log_softmax": "log_softmax", "special.logsumexp": "logsumexp",
}  # fmt: skip


# ---------------------------------------------------------------- the names


def public_names():
    table = {name.removeprefix("Tensor.") for name in torch._C.functions}
    modules = {
        prefix + name
        for prefix, module in (("", torch), ("linalg.", torch.linalg), ("special.", torch.special))
        for name in vars(module)
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
    }
    names = table | modules | set(dir(torch.Tensor))
    names = {n for n in names if not n.startswith("nn.")}  # elementwise, so in the table of operations
    return {n for n in names if not n.rpartition(".")[2].startswith("_")}


def elementwise_names():
    names = {n for row in torch._C.ops_table() for n in (row["name"], *row["aliases"].split())}
    return names | {n + "_" for n in names} | {"special.polygamma"}


class Mentions(ast.NodeVisitor):
    """Names of functions that an expression calls or hands over."""

    def __init__(self):
        self.names = set()

    def visit_Attribute(self, node):
        self.names.add(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id == "linalg":
            self.names.discard(node.attr)
            self.names.add(f"linalg.{node.attr}")
        if isinstance(node.value, ast.Attribute) and node.value.attr == "fft":
            self.names.add(f"fft.{node.attr}")
        self.generic_visit(node)


def nodes_of_cases():
    for name in gradient_cases.FILES:
        with open(sys.modules[name].__file__, encoding="utf-8") as file:
            yield from ast.walk(ast.parse(file.read()))


def cases_of_names():
    """name: the keys of its cases"""
    found = {}
    for node in nodes_of_cases():
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values):
            if not (isinstance(key, ast.Constant) and key.value in CASES):
                continue
            mentions = Mentions()
            mentions.visit(value)
            words = key.value.split()
            for name in mentions.names & public_names():
                if name in words or name.rpartition(".")[2] in words:
                    found.setdefault(name, []).append((key.value, value))
    for key in CASES:  # those made by functions
        if key.startswith(("scatter_reduce", "index_reduce")):
            found.setdefault(key.split()[0], []).append((key, None))
    return found


COVERED = cases_of_names()


def test_every_differentiable_function_has_a_case():
    names = public_names()
    accounted = elementwise_names() | set(COVERED) | set(WITHOUT_CASE) | set(ALIASES)
    assert not names - accounted, "without a case: " + " ".join(sorted(names - accounted))


def test_lists_hold_no_name_twice_and_no_old_one():
    assert len(set(WITHOUT_CASE)) == len(WITHOUT_CASE)
    assert not set(WITHOUT_CASE) - public_names()
    assert not set(ALIASES) - public_names() and not set(ALIASES.values()) - set(COVERED)
    assert not set(ALIASES) & set(COVERED)
    assert not set(WITHOUT_CASE) & set(COVERED), set(WITHOUT_CASE) & set(COVERED)


# ---------------------------------------------------------------- other names of a function


class Rename(ast.NodeTransformer):
    """Puts another function in the place of one."""

    def __init__(self, name, alias):
        self.name, self.alias, self.done = name, alias, False

    def is_it(self, node):
        if not isinstance(node, ast.Attribute):
            return False
        namespace = getattr(node.value, "id", None)
        return (f"linalg.{node.attr}" if namespace == "linalg" else node.attr) == self.name

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not self.is_it(node):
            return node
        self.done = True
        if getattr(node.value, "id", None) in ("torch", "linalg"):
            return ast.parse(f"torch.{self.alias}", mode="eval").body
        return ast.Attribute(node.value, self.alias, ast.Load())

    def visit_Call(self, node):
        is_method = self.is_it(node.func) and getattr(node.func.value, "id", None) not in ("torch", "linalg")
        if is_method and not hasattr(torch.Tensor, self.alias):
            node.args.insert(0, node.func.value)  # a method: the alias is none
            node.func = ast.Attribute(ast.Name("torch", ast.Load()), node.func.attr, ast.Load())
        self.generic_visit(node)
        return node


def renamed():
    names = {k: v for file in gradient_cases.FILES for k, v in vars(sys.modules[file]).items()}
    for alias, name in ALIASES.items():
        key, node = COVERED[name][0]
        rename = Rename(name, alias)
        f = ast.fix_missing_locations(ast.Expression(rename.visit(copy.deepcopy(node.elts[0]))))
        assert rename.done
        yield pytest.param(alias, key, eval(compile(f, alias, "eval"), names), id=alias)


@pytest.mark.parametrize("alias, key, f", list(renamed()))
def test_other_names(alias, key, f):
    inputs = [make(torch.float64).requires_grad_() for make in CASES[key][1:] if not isinstance(make, dict)]
    gradient_checks.check_both(f, inputs)


# ---------------------------------------------------------------- 0-d tensors


def points(n, dtype):
    return [torch.tensor((0.55 + 0.25 * i) * (1 + 0.3j if dtype.is_complex else 1), dtype=dtype) for i in range(n)]


def zero_d():
    for key, case in CASES.items():
        if key.startswith("0-d"):
            continue
        options = case[-1] if isinstance(case[-1], dict) else {}
        n = sum(not isinstance(m, dict) for m in case[1:])
        for letter in options.get("kinds", "rc"):
            dtype = torch.float64 if letter == "r" else torch.complex128
            try:
                out = case[0](*points(n, dtype))
            except (RuntimeError, IndexError, TypeError, ValueError):
                continue
            outputs = out if isinstance(out, (tuple, list)) else [out]
            if not any(x.isnan().any() for x in outputs):  # such as the variance of one number
                yield key, dtype


ZERO_D = list(zero_d())


@pytest.mark.parametrize("key, dtype", ZERO_D, ids=[f"{key} {str(dtype)[6:]}" for key, dtype in ZERO_D])
def test_zero_d(key, dtype):
    n = sum(not isinstance(m, dict) for m in CASES[key][1:])
    gradient_checks.check_both(CASES[key][0], [x.requires_grad_() for x in points(n, dtype)], fast=False)


# A 0-d tensor is no input for them: they want an axis, or a matrix.
NEEDS_AXES = (
    """
    bmm cartesian_prod cat chain_matmul cholesky_inverse cholesky_solve chunk combinations cross diag diag_embed
    diagonal diagonal_scatter diff dot dsplit fill_diagonal_ fliplr flipud gradient hsplit linalg.cholesky
    linalg.cholesky_ex linalg.cond linalg.cross linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals
    linalg.eigvalsh linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.lu linalg.lu_factor
    linalg.lu_factor_ex linalg.lu_solve linalg.matrix_exp linalg.matrix_norm linalg.multi_dot linalg.pinv linalg.qr
    linalg.slogdet linalg.solve linalg.solve_ex linalg.svd linalg.svdvals matrix_exp orgqr ormqr pinverse svd
    linalg.solve_triangular linalg.tensorinv linalg.tensorsolve logdet lu_solve lu_unpack matmul
    matrix_power mm mv narrow narrow_copy outer rot90 select select_scatter slice_scatter split split_with_sizes
    tensor_split trace tril tril_ triu triu_ unbind unflatten vander vdot view_as_complex vsplit
    addbmm_ addmm_ addmv_ addr_ baddbmm_
    cdist corrcoef cumulative_trapezoid histogramdd lobpcg lu nuclear_norm pca_lowrank pdist renorm renorm_ slice_copy
    svd_lowrank trapezoid triangular_solve segment_reduce
""".split()
    + [key for key in CASES if key.startswith("fft.") and key != "fft.ifftn"]
)


def test_every_function_that_takes_0d_tensors_has_a_case_of_one():
    taken = {key for key, _ in ZERO_D} | {key for key in CASES if key.startswith("0-d")}
    without = {name for name, cases in COVERED.items() if not any(key in taken for key, _ in cases)}
    assert without == set(NEEDS_AXES), sorted(without ^ set(NEEDS_AXES))


# ---------------------------------------------------------------- what has no case


def leaf(*shape, dtype=torch.float64):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize(
    "name, f",
    [
        ("_unique2", lambda x: torch.unique(x)),
        ("_unique2", lambda x: torch.unique(x, return_inverse=True, return_counts=True)),
        ("unique_dim", lambda x: torch.unique(x, dim=1)),
        ("unique_consecutive", lambda x: torch.unique_consecutive(x)),
        ("histogram", lambda x: torch.histogram(x, 3)),
        ("histogram", lambda x: torch.histogram(x.detach(), 3, weight=x)),
        ("histogram", lambda x: torch.histogram(x.detach(), x.flatten().sort().values)),
        ("bincount", lambda x: torch.bincount(torch.tensor([0, 2, 2]), weights=x[0])),
    ],
)
def test_no_derivative(name, f):
    """As in PyTorch: the values can be had, what hangs on them in other ways can be differentiated, they cannot."""
    x = leaf(2, 3)
    out = f(x)
    values, *rest = out if isinstance(out, tuple) else (out,)
    assert values.requires_grad and (name == "histogram" or not any(v.requires_grad for v in rest))
    (x * values.detach().sum()).sum().backward()
    assert x.grad.tolist() == [[values.sum().item()] * 3] * 2
    with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented"):
        values.sum().backward()


def test_counts_have_no_record():
    x = leaf(5)
    for out in (torch.histc(x, 3), torch.count_nonzero(x), torch.argmax(x), torch.bucketize(x, x.sort().values)):
        assert not out.requires_grad
    norm = torch.linalg.vector_norm(x, 0)
    assert norm.requires_grad
    assert torch.autograd.grad(norm, x, allow_unused=True) == (None,)


@pytest.mark.parametrize("name", ROUNDING)
def test_rounding_conversions(name):
    x = leaf(2, 3)
    y = getattr(x, name)()
    assert y.dtype != x.dtype
    (g,) = torch.autograd.grad(y, x, torch.full((2, 3), 0.5, dtype=y.dtype), create_graph=True)
    assert g.dtype == torch.float64 and g.tolist() == [[0.5] * 3] * 2
    weight = torch.ones(2, 3, dtype=y.dtype, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, weight, create_graph=True)
    assert torch.autograd.grad(g.sum(), weight)[0].dtype == y.dtype
