"""Settings of PyTorch's compiler: see ``_as_torch/settings.py``."""

from .._as_torch.settings import take

activation_memory_budget = 1.0
donated_buffer = enable_autograd_cache = True
functionalize_rng_ops = False

take(__name__)
