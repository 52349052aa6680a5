"""The operations of torchaudio's compiled library that torchaudio asks for when it is imported, made of ours.

The library itself is compiled for PyTorch. With these, ``ops.load_library`` can answer for it: the filters have their
loops, and there is no alignment and no loss of transducers, which torchaudio says when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..autograd import no_grad

if TYPE_CHECKING:
    from .._typing import Tensor

__all__ = ["LIBRARIES", "install"]

# The files that torchaudio loads, without their endings.
LIBRARIES = ("_torchaudio", "libtorchaudio")


@no_grad()
def _lfilter_core_loop(input: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor) -> None:
    """Writes the output of a recursive filter, one sample of all channels after the other.

    Args:
        input: what is left when the coefficients of the input were applied, (samples, channels, time).
        a_coeff_flipped: the coefficients of the output, the oldest first, (channels, order + 1); the last is 1.
        padded_output_waveform: where it is written to, behind as many zeros as the order.
    """
    n = a_coeff_flipped.size(1)
    for i, x in enumerate(input.unbind(2)):
        known = padded_output_waveform[:, :, i : i + n]  # the last of them is not known yet, and 0
        padded_output_waveform[:, :, i + n - 1] = x - (known * a_coeff_flipped).sum(2)


@no_grad()
def _overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> None:
    """Writes half of the waveform and 0.75 of the distorted one without its constant part, which a filter removes."""
    for i, x in enumerate(temp.unbind(1)):
        last_in, last_out = x, x - last_in + 0.995 * last_out
        output_waveform[:, i] = waveform[:, i] * 0.5 + last_out * 0.75


def install() -> None:
    """Puts them into ``strided.ops``."""
    from .. import ops

    ops._torchaudio.cuda_version = lambda: None
    ops._torchaudio.is_align_available = lambda: False
    for function in (_lfilter_core_loop, _overdrive_core_loop):
        setattr(ops.torchaudio, function.__name__, function)
