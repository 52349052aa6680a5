"""Settings of PyTorch's compiler: see ``_as_torch/settings.py``."""

from types import SimpleNamespace

from .._as_torch.settings import take

allow_buffer_reuse = epilogue_fusion = fx_graph_cache = pattern_matcher = shape_padding = True
autotune_in_subproc = conv_1x1_as_mm = coordinate_descent_check_all_directions = coordinate_descent_tuning = False
cpp_wrapper = debug = fallback_random = force_fuse_int_mm_with_mul = freezing = permute_fusion = False
max_autotune = max_autotune_gemm = max_autotune_pointwise = reorder_for_compute_comm_overlap = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
use_mixed_mm = True

aot_inductor, cpp, cuda, rocm, test_configs, trace = (SimpleNamespace() for _ in range(6))
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)

take(__name__)
