"""What the backends can do, and the few switches they have, under PyTorch's names."""

from __future__ import annotations

from .. import _C
from . import cpu, cuda, cudnn, cusparselt, kleidiai, mha, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "flags_frozen", "get_float32_matmul_precision", "kleidiai", "mha", "mkl",
    "mkldnn", "mps", "openmp", "opt_einsum", "set_float32_matmul_precision",
]  # fmt: skip


def flags_frozen() -> bool:
    """False: the switches may be set, also outside of ``flags()``.

    >>> import strided as torch
    >>> torch.backends.flags_frozen()
    False
    """
    return False


def get_float32_matmul_precision() -> str:
    """``"highest"``, or ``"high"`` once products of float32 matrices on a CUDA device may use tf32.

    >>> import strided as torch
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return "high" if _C.functions["_tf32"]() else "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Lets products of float32 matrices on a CUDA device round their factors (``"high"``, ``"medium"``), or not
    (``"highest"``).

    Rounded factors have 10 bits of fraction instead of 23 (tf32, PTX ISA); sums stay float32. ``"medium"`` allows
    bfloat16 in PyTorch; here it means tf32 too. The CPU always computes in float32.

    >>> import strided as torch
    >>> torch.set_float32_matmul_precision("high"); torch.backends.cuda.matmul.allow_tf32
    True
    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"set_float32_matmul_precision: precision must be 'highest', 'high' or 'medium', got {precision!r}"
        )
    _C.functions["_set_tf32"](precision != "highest")
