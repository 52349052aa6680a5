"""A direction of an LSTM over sequences of one length, as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ... import _C
from ..._C import Tensor

if TYPE_CHECKING:
    from ..._typing import Any


_steps, _gradients = _C.functions["_lstm_steps"], _C.functions["_lstm_gradients"]


def serves(tensors: Any, low: Any = None) -> bool:
    """Whether LstmLayer takes these tensors: those of float32, float64 and the dtype of products, of no class of their
    own."""
    plain, dtypes = (Tensor, strided.nn.Parameter), (strided.float32, strided.float64, low)
    return all(type(t) in plain and t.dtype in dtypes for t in tensors)


def _times(a: Tensor, b: Tensor) -> Tensor:
    """a @ b; where b has 16 bits, in its dtype, and back in that of a."""
    return (a.to(b.dtype) @ b).to(a.dtype) if b.itemsize == 2 else a @ b


def without_record(given: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, reverse: bool) -> Any:
    """What LstmLayer gives, where nothing wants a gradient; None where the device has no kernel. ``given``, which
    nobody else may hold, is written to."""
    steps, batch, width = given.shape
    outputs, state = given.new_empty((steps, batch, width // 4)), c.clone(memory_format=strided.contiguous_format)
    if not _steps(given, h, state, w_hh, outputs, state, None, reverse):
        return None
    return outputs, outputs[0 if reverse else -1].clone(), state


class LstmLayer(strided.autograd.Function):
    """``apply(plain, given, h, c, w_hh, reverse)``: outputs (steps, batch, n), and the last h and c.

    given: (steps, batch, 4 n), what the input and all biases add to the gates i, f, g, o. w_hh may have 16 bits: then
    the states are rounded where they are multiplied with it. plain: the same function of (given, h, c, w_hh), made of
    recorded operations; gradients of gradients come from it.
    """

    @staticmethod
    def forward(ctx, plain, given, h, c, w_hh, reverse):
        steps, batch, width = given.shape
        gates = given.clone(memory_format=strided.contiguous_format)
        outputs, cells, tanhs = given.new_empty((3, steps, batch, width // 4)).unbind(0)
        at_once = _steps(gates, h, c, w_hh, outputs, cells, tanhs, reverse)
        if not at_once:
            _step_by_step(gates, h, c, w_hh, outputs, cells, tanhs, reverse)
        ctx.plain, ctx.reverse, ctx.at_once = plain, reverse, at_once
        ctx.save_for_backward(given, h, c, w_hh, gates, cells, tanhs, outputs)
        last = 0 if reverse else -1
        return outputs, outputs[last].clone(), cells[last].clone()

    @staticmethod
    def backward(ctx, d_outputs, dh, dc):
        *inputs, gates, cells, tanhs, outputs = ctx.saved_tensors
        _, *needed, _ = ctx.needs_input_grad
        if strided.is_grad_enabled():
            wanted = [x for x, need in zip(inputs, needed) if need]
            made = ctx.plain(*inputs)
            found = iter(strided.autograd.grad(made, wanted, (d_outputs, dh, dc), create_graph=True, allow_unused=True))
            return None, *(next(found) if need else None for need in needed), None
        _, h, c, w_hh = inputs
        if ctx.at_once:
            dh, dc = (d.clone(memory_format=strided.contiguous_format) for d in (dh, dc))
            d_gates = _gradients(gates, c, w_hh, cells, tanhs, d_outputs, dh, dc, ctx.reverse)
        else:
            d_gates, dh, dc = _back_step_by_step(gates, c, w_hh, cells, tanhs, d_outputs, dh, dc, ctx.reverse)
        before = _before(h, outputs, ctx.reverse).flatten(0, 1) if needed[3] else None
        d_w = d_gates.flatten(0, 1).t().to(w_hh.dtype) @ before.to(w_hh.dtype) if needed[3] else None
        return None, d_gates, dh, dc, d_w, None


def _before(first, rest, reverse):
    """The state that each step began with."""
    return strided.cat([rest[1:], first.unsqueeze(0)] if reverse else [first.unsqueeze(0), rest[:-1]])


def _step_by_step(gates, h, c, w_hh, outputs, cells, tanhs, reverse):
    """`_steps` in operations."""
    steps, n, turned = len(gates), h.size(1), w_hh.t()
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        a, cell, tanh, out = gates[t], cells[t], tanhs[t], outputs[t]
        a.add_(_times(h, turned))
        a[:, : 2 * n].sigmoid_()
        g = a[:, 2 * n : 3 * n].tanh_()
        o = a[:, 3 * n :].sigmoid_()
        strided.mul(a[:, :n], g, out=cell).addcmul_(a[:, n : 2 * n], c)
        strided.tanh(cell, out=tanh)
        strided.mul(o, tanh, out=out)
        h, c = out, cell


def _back_step_by_step(gates, c, w_hh, cells, tanhs, d_outputs, dh, dc, reverse):
    """`_gradients` in operations; dh and dc are returned too. All that does not depend on the step before is computed
    for all steps at once: the factors between the gradients of states and gates."""
    steps, batch, n = cells.shape
    before_c = _before(c, cells, reverse)
    # The derivatives of the cell by the gates i, f, g, and of h by the gate o and by the cell.
    i, f, g, o = gates.chunk(4, 2)
    factors = strided.addcmul(gates, gates, gates, value=-1)  # s (1 - s) of the gates that are sigmoids
    by_i, by_f, by_g, by_o = factors.chunk(4, 2)
    by_i.mul_(g)
    by_f.mul_(before_c)
    strided.addcmul(i, i, g * g, value=-1, out=by_g)
    by_o.mul_(tanhs)
    by_cell = strided.addcmul(o, o, tanhs * tanhs, value=-1)
    d_gates = factors  # each step's are read before they are written
    for t in range(steps) if reverse else range(steps - 1, -1, -1):
        d = d_gates[t]
        dh = dh + d_outputs[t]
        dc = strided.addcmul(dc, dh, by_cell[t])
        d[:, 3 * n :].mul_(dh)
        d.view(batch, 4, n)[:, :3].mul_(dc.unsqueeze(1))
        dh = _times(d, w_hh)
        dc = dc * f[t]
    return d_gates, dh, dc
