"""Settings of PyTorch's compiler: see ``_as_torch/settings.py``."""

from .._as_torch.settings import take

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = False
compiled_autograd = disable = error_on_recompile = fail_on_recompile_limit_hit = False
force_parameter_static_shapes = guard_nn_modules = inline_inbuilt_nn_modules = skip_nnmodule_hook_guards = True
optimize_ddp = True
specialize_int = suppress_errors = verbose = False

take(__name__)
