"""A direction of an LSTM over sequences of one length, as one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from ..._C import Tensor

if TYPE_CHECKING:
    from ..._typing import Any


def serves(tensors: Any) -> bool:
    """Whether LstmLayer takes these tensors: those of float32 and float64, of no class of their own."""
    plain = (Tensor, strided.nn.Parameter)
    return all(type(t) in plain and t.dtype in (strided.float32, strided.float64) for t in tensors)


class LstmLayer(strided.autograd.Function):
    """``apply(plain, given, h, c, w_hh, b_hh, reverse)``: outputs (steps, batch, n), and the last h and c.

    given: (steps, batch, 4 n), what the input adds to the gates i, f, g, o. plain: the same function of (given, h, c,
    w_hh, b_hh), made of recorded operations; gradients of gradients come from it.

    All that does not depend on the step before is computed for all steps at once: the factors between the gradients of
    states and gates, and the gradient of w_hh, which is one product.
    """

    @staticmethod
    def forward(ctx, plain, given, h, c, w_hh, b_hh, reverse):
        steps, batch, width = given.shape
        n = width // 4
        gates = given.clone(memory_format=strided.contiguous_format) if b_hh is None else given + b_hh
        outputs, cells, tanhs = given.new_empty((3, steps, batch, n)).unbind(0)
        turned = w_hh.t()
        order = range(steps - 1, -1, -1) if reverse else range(steps)
        previous_h, previous_c = h, c
        for t in order:
            a, cell, tanh, out = gates[t], cells[t], tanhs[t], outputs[t]
            a.addmm_(previous_h, turned)
            a[:, : 2 * n].sigmoid_()
            g = a[:, 2 * n : 3 * n].tanh_()
            o = a[:, 3 * n :].sigmoid_()
            strided.mul(a[:, :n], g, out=cell).addcmul_(a[:, n : 2 * n], previous_c)
            strided.tanh(cell, out=tanh)
            strided.mul(o, tanh, out=out)
            previous_h, previous_c = out, cell
        ctx.plain, ctx.reverse, ctx.has_bias = plain, reverse, b_hh is not None
        biases = () if b_hh is None else (b_hh,)
        ctx.save_for_backward(given, h, c, w_hh, *biases, gates, cells, tanhs, outputs)
        return outputs, previous_h.clone(), previous_c.clone()

    @staticmethod
    def backward(ctx, d_outputs, dh, dc):
        *inputs, gates, cells, tanhs, outputs = ctx.saved_tensors
        if strided.is_grad_enabled():
            if not ctx.has_bias:
                inputs.append(None)
            wanted = [x for x, needed in zip(inputs, ctx.needs_input_grad[1:6]) if needed]
            made = ctx.plain(*inputs)
            found = iter(strided.autograd.grad(made, wanted, (d_outputs, dh, dc), create_graph=True, allow_unused=True))
            return None, *(next(found) if needed else None for needed in ctx.needs_input_grad[1:6]), None
        _, h, c, w_hh, *_ = inputs
        steps, batch, n = outputs.shape
        before_h, before_c = (_before(first, rest, ctx.reverse) for first, rest in ((h, outputs), (c, cells)))
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
        for t in range(steps) if ctx.reverse else range(steps - 1, -1, -1):
            d = d_gates[t]
            dh = dh + d_outputs[t]
            dc = strided.addcmul(dc, dh, by_cell[t])
            d[:, 3 * n :].mul_(dh)
            d.view(batch, 4, n)[:, :3].mul_(dc.unsqueeze(1))
            dh = d @ w_hh
            dc = dc * f[t]
        rows = d_gates.view(steps * batch, 4 * n)
        _, _, _, _, for_w, for_b, _ = ctx.needs_input_grad
        d_w = rows.t() @ before_h.view(steps * batch, n) if for_w else None
        return None, d_gates, dh, dc, d_w, rows.sum(0) if for_b else None, None


def _before(first, rest, reverse):
    """The state that each step began with."""
    return strided.cat([rest[1:], first.unsqueeze(0)] if reverse else [first.unsqueeze(0), rest[:-1]])
