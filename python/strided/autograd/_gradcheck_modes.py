"""What gradcheck examines beside single backward passes: tangents carried forward, and batches of gradients.

Note [How gradients are checked] is in gradcheck.py.  A forward pass from the tangent e_j gives column j of the same
matrix J; a complex tangent counts as two real ones there as well.
"""

from __future__ import annotations

from . import forward_ad
from .grad_mode import enable_grad


def tangents(subject, j, u, reals, from_reals, is_differentiable):
    """J u of each output as real vectors, where u moves examined input j alone; zeros where no tangent arrives."""
    import numpy as np

    x = subject.examined[j]
    at = subject.which[j]
    with enable_grad(), forward_ad.dual_level():
        dual = forward_ad.make_dual(x, from_reals(u, x))
        made = subject.func(*subject.inputs[:at], dual, *subject.inputs[at + 1 :])
        found = []
        for y in made if isinstance(made, (tuple, list)) else (made,):
            if is_differentiable(y):
                tangent = forward_ad.unpack_dual(y).tangent
                found.append(np.zeros_like(reals(y)) if tangent is None else reals(tangent))
        return found


def batched(subject, output, vectors, reals):
    """For each examined input the gradients of a batch of `vectors`: (together, one by one), as real numbers."""
    from . import grad

    def run(v, **batch):
        grads = grad([output], subject.examined, [v], retain_graph=True, allow_unused=True, **batch)
        return [None if g is None else reals(g) for g in grads]

    import numpy as np

    from .. import _C

    alone = [run(v) for v in vectors]
    together = run(_C.functions["stack"](vectors, 0), is_grads_batched=True)
    for i, (all_at_once, *each) in enumerate(zip(together, *alone)):
        if all_at_once is None or each[0] is None:
            continue
        yield i, all_at_once, np.concatenate(each)
