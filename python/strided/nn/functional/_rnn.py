"""Recurrent networks: cells, and layers of them over sequences, padded or packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from . import _lstm
from ._dropout import dropout
from ._linear import linear

if TYPE_CHECKING:
    from ..._typing import Any, Callable, Sequence, Tensor


# ---------------------------------------------------------------- one step


def _lstm_step(given, state, w_hh, b_hh, w_hr):
    """Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; with forget gates, and a projection w_hr or None."""
    h, c = state
    i, f, g, o = (given + linear(h, w_hh, b_hh)).chunk(4, 1)
    c = strided.addcmul(i.sigmoid() * g.tanh(), f.sigmoid(), c)
    h = o.sigmoid() * c.tanh()
    return (h if w_hr is None else linear(h, w_hr)), c


def _gru_step(given, state, w_hh, b_hh, w_hr):
    """Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014."""
    (h,) = state
    ir, iz, i_n = given.chunk(3, 1)
    hr, hz, hn = linear(h, w_hh, b_hh).chunk(3, 1)
    n = strided.addcmul(i_n, (ir + hr).sigmoid(), hn).tanh()
    return (strided.addcmul(n, (iz + hz).sigmoid(), h - n),)


def _tanh_step(given, state, w_hh, b_hh, w_hr):
    """Elman, "Finding Structure in Time", 1990."""
    return ((given + linear(state[0], w_hh, b_hh)).tanh(),)


def _relu_step(given, state, w_hh, b_hh, w_hr):
    return ((given + linear(state[0], w_hh, b_hh)).relu(),)


STEPS: dict[str, Callable[..., Any]] = {
    "LSTM": _lstm_step, "GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step,
}  # fmt: skip


def cell(mode: str, input: Tensor, state: tuple[Tensor, ...], w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    """One step of a network, as a tuple of states."""
    return STEPS[mode](linear(input, w_ih, b_ih), state, w_hh, b_hh, None)


# ---------------------------------------------------------------- sequences


def _direction(step, rows, sizes, state, weights, reverse, low):
    """One layer in one direction over rows that are sorted by time: sizes[t] rows for step t, never more than before.
    low: the dtype of the products of an LSTM, None for that of the rows.

    Returns the outputs in the same order, and the last states of all sequences.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if step is _lstm_step and w_hr is None and sizes[0] == sizes[-1]:
        made = _lstm_direction(rows, len(sizes), state, weights, reverse, low)
        if made is not None:
            return made
    given = linear(rows, w_ih, b_ih).split(sizes)
    outputs: list[Any] = [None] * len(sizes)
    if reverse:
        start, state = state, tuple(s[: sizes[-1]] for s in state)
        for t in range(len(sizes) - 1, -1, -1):
            have = state[0].size(0)
            if sizes[t] > have:  # sequences that end here begin
                state = tuple(strided.cat([s, a[have : sizes[t]]]) for s, a in zip(state, start))
            state = step(given[t], state, w_hh, b_hh, w_hr)
            outputs[t] = state[0]
        return strided.cat(outputs), state
    ended: list[Any] = []
    for t, size in enumerate(sizes):
        if size < state[0].size(0):  # sequences that were shorter
            ended.append(tuple(s[size:] for s in state))
            state = tuple(s[:size] for s in state)
        state = step(given[t], state, w_hh, b_hh, w_hr)
        outputs[t] = state[0]
    if ended:
        state = tuple(strided.cat(parts) for parts in zip(state, *reversed(ended)))
    return strided.cat(outputs), state


def _lstm_direction(rows, steps, state, weights, reverse, low):
    """``_direction`` for sequences of one length as one operation, or None where that does not serve."""
    w_ih, w_hh, b_ih, b_hh, _ = weights
    tensors = [t for t in (rows, *state, *weights) if t is not None]
    if not _lstm.serves(tensors, low):
        return None
    if low is None and strided.is_autocast_enabled(rows.device.type):
        return None
    bias = b_ih if b_hh is None else b_hh if b_ih is None else b_ih + b_hh
    given = linear(rows if low is None else rows.to(low), w_ih, bias).to(rows.dtype)
    given = given.view(steps, state[0].size(0), w_ih.size(0))
    w_hh = w_hh if low is None else w_hh.to(low)
    if not (strided.is_grad_enabled() and any(t.requires_grad for t in tensors)):
        found = _lstm.without_record(given, *state, w_hh, reverse)
        if found is not None:
            made, *state = found
            return made.flatten(0, 1), tuple(state)

    def plain(given, h, c, w_hh):
        made: list[Any] = [None] * steps
        state = h, c
        for t in range(steps - 1, -1, -1) if reverse else range(steps):
            h, c = state
            state = _lstm_step(given[t], (h if low is None else h.to(low), c), w_hh, None, None)
            made[t] = state[0]
        return strided.stack(made), *state

    made, h, c = _lstm.LstmLayer.apply(plain, given, *state, w_hh, reverse)
    return made.flatten(0, 1), (h, c)


def _grouped(params, has_biases, projected):
    """The flat list of weights, as (w_ih, w_hh, b_ih, b_hh, w_hr) for each layer and direction."""
    n = 2 + 2 * has_biases + projected
    for i in range(0, len(params), n):
        group = params[i : i + n]
        b_ih, b_hh = group[2:4] if has_biases else (None, None)
        yield group[0], group[1], b_ih, b_hh, group[-1] if projected else None


def _low_dtype(tensors: list[Tensor], sizes: Sequence[int]) -> Any:
    """The dtype of 16 bits of an LSTM's products and results: where autocast has one for it, bfloat16 on the CPU, as
    PyTorch's kernel; that of the tensors, if sequences are of one length. None where there is none."""
    dtype, device = tensors[0].dtype, tensors[0].device.type
    if not strided.is_autocast_enabled(device):
        low = dtype in (strided.bfloat16, strided.float16) and sizes[0] == sizes[-1]
        low = low and all(t.dtype is dtype for t in tensors) and _lstm.serves(tensors, dtype)
    else:
        low = device == "cpu" and dtype in (strided.float32, strided.bfloat16)
        dtype = strided.get_autocast_dtype(device)
        low = low and dtype is strided.bfloat16
    return dtype if low else None


def layers(
    mode: str,
    rows: Tensor,
    sizes: Sequence[int],
    states: tuple[Tensor, ...],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    p: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """All layers over rows sorted by time; states have a first axis of layers * directions.

    Returns the outputs of the last layer, and the last states.
    """
    projected = mode == "LSTM" and states[0].size(2) != states[1].size(2)
    weights = list(_grouped(list(params), has_biases, projected))
    directions, finals = 1 + bidirectional, []
    sizes = list(sizes)
    low = None if mode != "LSTM" or projected else _low_dtype([rows, *states, *params], sizes)
    if low is not None:  # products in 16 bits, states in float32; what comes out is rounded
        rows, states = rows.float(), tuple(s.float() for s in states)
    for layer in range(num_layers):
        made = []
        for d in range(directions):
            k = layer * directions + d
            state = tuple(s[k] for s in states)
            output, final = _direction(STEPS[mode], rows, sizes, state, weights[k], d == 1, low)
            made.append(output)
            finals.append(final)
        rows = made[0] if directions == 1 else strided.cat(made, 1)
        if p and train and layer < num_layers - 1:
            rows = dropout(rows, p, True)
    ends = tuple(strided.stack(parts) for parts in zip(*finals))
    return (rows, ends) if low is None else (rows.to(low), tuple(s.to(low) for s in ends))


def sequences(
    mode: str,
    input: Tensor,
    states: tuple[Tensor, ...],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    p: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """``layers`` for a padded input (length, batch, features), or (batch, length, features) with batch_first."""
    x = input.transpose(0, 1) if batch_first else input
    length, batch = x.shape[:2]
    if length == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    # Dropout draws in the order of the memory of (length, batch, features), which these rows have.
    rows, states = layers(
        mode, x.reshape(length * batch, x.size(2)), [batch] * length, states, params, has_biases, num_layers, p, train,
        bidirectional,
    )  # fmt: skip
    made = rows.view(length, batch, rows.size(1))
    return (made.transpose(0, 1) if batch_first else made), states
