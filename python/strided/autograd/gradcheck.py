"""Checks gradients against finite differences: gradcheck and gradgradcheck.

Note [How gradients are checked]
A function of n real numbers with m real results has an m x n matrix J of derivatives.  Column j is had from the
function alone, by the central difference (f(x + h e_j) - f(x - h e_j)) / 2h, whose error is O(h^2) + O(rounding / h)
(J. Nocedal and S. Wright, "Numerical Optimization", 2nd ed., 2006, section 8.1); row i by a backward pass that starts
with e_i.  The two must agree.

A complex number counts as two real ones.  A backward pass takes and gives dL/dx + i dL/dy, which is the ordinary
gradient of the real function L by the pair (x, y) (K. Kreutz-Delgado, "The Complex Gradient Operator and the
CR-Calculus", arXiv:0906.4835, 2009, section 4); so the same matrix J serves, and it tells d/dz from d/dz*.

In fast mode one number is compared in place of the matrix: v^T J u for random u and v, from a difference along u and a
backward pass from v.  A wrong entry changes it unless the errors happen to cancel.

The arithmetic of the comparison is NumPy's, so that no operation takes part in its own examination.
"""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING

from .. import _C
from . import _gradcheck_modes
from .grad_mode import enable_grad, no_grad

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

_f = _C.functions
_run = _f["_backward"]
_DOUBLES = (_C.float64, _C.complex128)


class GradcheckError(RuntimeError):
    """A gradient that gradcheck or gradgradcheck found wrong."""


# ---------------------------------------------------------------- tensors as vectors of real numbers


def _is_differentiable(x):
    return isinstance(x, _C.Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


def _reals(x):
    """The numbers of a tensor as float64, each complex one as two."""
    import numpy as np

    wide = x.detach().to(_C.complex128 if x.dtype.is_complex else _C.float64)
    return np.ascontiguousarray(wide.numpy(force=True)).reshape(-1).view(np.float64).copy()


def _from_reals(values, like):
    """A tensor of like's shape, dtype and device with these numbers."""
    import numpy as np

    values = np.asarray(values, dtype=np.float64)
    values = (values.view(np.complex128) if like.dtype.is_complex else values).reshape(tuple(like.shape))
    return _C.from_numpy(np.array(values)).to(dtype=like.dtype, device=like.device)


def _length(x):
    return x.numel() * (2 if x.dtype.is_complex else 1)


def _place(i, x):
    """Words for the i-th real number of x."""
    i, part = divmod(i, 2) if x.dtype.is_complex else (i, None)
    index = []
    for size in reversed(tuple(x.shape)):
        i, k = divmod(i, size)
        index.insert(0, k)
    return f"[{', '.join(map(str, index))}]" + ("" if part is None else (".real", ".imag")[part])


# ---------------------------------------------------------------- the function under test


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


class _Subject:
    """A function, its inputs, and which of them are examined."""

    def __init__(self, func, inputs):
        self.func = func
        inputs = _as_tuple(inputs)
        if not any(isinstance(x, _C.Tensor) and x.requires_grad for x in inputs):
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        self.which = []
        made = []
        for i, x in enumerate(inputs):
            if isinstance(x, _C.Tensor) and x.requires_grad:
                if x.dtype not in _DOUBLES:
                    warnings.warn(
                        f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                        "check will likely fail if all the inputs are not of double precision floating point or "
                        "complex. ",
                        stacklevel=4,
                    )
                if x.numel() and any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride())):
                    raise RuntimeError(
                        f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                        "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                        ".contiguous on the input before passing it to gradcheck."
                    )
                self.which.append(i)
            made.append(x)
        self.inputs = tuple(made)
        self.examined = [made[i] for i in self.which]

    def outputs(self):
        """All results that could have a gradient."""
        with enable_grad():
            return [y for y in _as_tuple(self.func(*self.inputs)) if _is_differentiable(y)]

    def values(self):
        return [_reals(y) for y in self.outputs()]

    def difference(self, moves, eps):
        """(f(x + eps * d) - f(x - eps * d)) / (2 eps) for each output, where `moves` lists for each examined input the
        (position, direction) of the elements to change; directions are complex for complex inputs."""
        memory = [x.data for x in self.examined]  # writes that graphs from outside are not told of
        old = [[m[at].item() for at, _ in move] for m, move in zip(memory, moves)]
        sides = []
        try:
            for sign in (eps, -eps):
                with no_grad():
                    for m, move, values in zip(memory, moves, old):
                        for (at, d), value in zip(move, values):
                            m[at] = value + sign * d
                sides.append(self.values())
        finally:
            with no_grad():
                for m, move, values in zip(memory, moves, old):
                    for (at, _), value in zip(move, values):
                        m[at] = value
        return [(up - down) / (2 * eps) for up, down in zip(*sides)]

    def backward(self, output, grad_output):
        """The gradients of the examined inputs: as real vectors, zeros where none arrived; and as they came."""
        import numpy as np

        grads = _run([output], [grad_output], True, False, self.examined)
        return [np.zeros(_length(x)) if g is None else _reals(g) for x, g in zip(self.examined, grads)], grads


# ---------------------------------------------------------------- the two matrices


def _positions(x):
    return list(itertools.product(*(range(n) for n in x.shape)))


def _numerical(subject, eps):
    """J[output][input], by columns; None for an input without elements."""
    import numpy as np

    columns = [[[] for _ in subject.examined] for _ in subject.outputs()]
    for j, x in enumerate(subject.examined):
        for at in _positions(x):
            for unit in (1.0, 1.0j) if x.dtype.is_complex else (1.0,):
                moves = [[] for _ in subject.examined]
                moves[j] = [(at, unit)]
                for rows, d in zip(columns, subject.difference(moves, eps)):
                    rows[j].append(d)
    return [[np.array(c).T if c else None for c in rows] for rows in columns]


def _analytical(subject, output):
    """J[input] of one output, by rows."""
    import numpy as np

    n = _length(output)
    rows = [np.zeros((n, _length(x))) for x in subject.examined]
    for i in range(n):
        found, _ = subject.backward(output, _from_reals(np.eye(1, n, i), output))
        for row, values in zip(rows, found):
            row[i] = values
    return rows


def _close(analytical, numerical, atol, rtol):
    import numpy as np

    return np.allclose(analytical, numerical, rtol=rtol, atol=atol, equal_nan=False)


def _mismatch(o, i, numerical, analytical, output, x):
    """The text for a wrong matrix."""
    import numpy as np

    gap = np.abs(analytical - numerical)
    gap = np.where(np.isnan(gap), np.inf, gap)
    row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
    far, want, got = gap[row, column], numerical[row, column], analytical[row, column]
    text = (
        f"Jacobian mismatch for output {o} with respect to input {i}: the largest difference is {far:.6g}, of element "
        f"{_place(int(row), output)} of the output by element {_place(int(column), x)} of the input: "
        f"numerical {want:.8g}, analytical {got:.8g}."
    )
    if gap.size <= 256:
        pairs = (
            " (complex numbers as real and imaginary parts)" if output.dtype.is_complex or x.dtype.is_complex else ""
        )
        text += f"\nOne row for each element of the output{pairs},\nnumerical:\n{numerical}\nanalytical:\n{analytical}"
    return text


# ---------------------------------------------------------------- checks


# Differences first: to change an input in place spoils what was recorded of it, so backward passes run on
# outputs that are computed after the last difference.
def _check_slow(subject, eps, atol, rtol, forward=False):
    numerical = _numerical(subject, eps)
    if forward:
        _check_forward(subject, numerical, atol, rtol)
        return
    outputs = subject.outputs()
    constant = not any(output.requires_grad for output in outputs)  # beside others they are let go, as PyTorch does
    for o, output in enumerate(outputs):
        if not output.requires_grad:
            if constant:
                _check_constant(o, output, subject, numerical[o])
            continue
        for i, x, want, got in zip(subject.which, subject.examined, numerical[o], _analytical(subject, output)):
            if want is not None and not _close(got, want, atol, rtol):
                raise GradcheckError(_mismatch(o, i, want, got, output, x))


def _tangents(subject, j, u):
    return _gradcheck_modes.tangents(subject, j, u, _reals, _from_reals, _is_differentiable)


def _check_forward(subject, numerical, atol, rtol):
    import numpy as np

    outputs = subject.outputs()
    for j, (i, x) in enumerate(zip(subject.which, subject.examined)):
        n = _length(x)
        columns = [_tangents(subject, j, np.eye(1, n, k)) for k in range(n)]
        for o, output in enumerate(outputs):
            if columns and not _close(got := np.array([c[o] for c in columns]).T, want := numerical[o][j], atol, rtol):
                raise GradcheckError("While considering forward mode AD: " + _mismatch(o, i, want, got, output, x))


def _check_forward_fast(subject, eps, atol, rtol):
    """A whole vector J u is compared, not one number: one forward pass gives it."""
    import numpy as np

    random = np.random.default_rng(3)
    for j, (i, x) in enumerate(zip(subject.which, subject.examined)):
        u = random.uniform(0.1, 1, _length(x)) * random.choice([-1.0, 1.0], _length(x))
        moves = [[] for _ in subject.examined]
        moves[j] = list(zip(_positions(x), (u.view(np.complex128) if x.dtype.is_complex else u).tolist()))
        wanted = subject.difference(moves, eps)
        for o, (got, want) in enumerate(zip(_tangents(subject, j, u), wanted)):
            if not _close(got, want, atol * max(np.abs(u).sum(), 1), rtol):
                raise GradcheckError(
                    f"While considering forward mode AD: Jacobian mismatch for output {o} with respect to input {i}, "
                    f"in fast mode: the largest difference is {np.abs(got - want).max():.6g}."
                )


def _check_batched(subject):
    import numpy as np

    random = np.random.default_rng(4)
    for o, output in enumerate(subject.outputs()):
        if not output.requires_grad:
            continue
        vectors = [_from_reals(random.uniform(-1, 1, _length(output)), output) for _ in range(2)]
        for j, got, want in _gradcheck_modes.batched(subject, output, vectors, _reals):
            if not _close(got, want, 1e-8, 1e-5):
                raise GradcheckError(
                    f"A batch of gradients of output {o} gives other values than one gradient after the other, for "
                    f"input {subject.which[j]}: the largest difference is {np.abs(got - want).max():.6g}."
                )


def _check_constant(o, output, subject, numerical):
    import numpy as np

    for i, x, want in zip(subject.which, subject.examined, numerical):
        if want is not None and want.any():
            raise GradcheckError(
                "Numerical gradient for function expected to be zero: "
                + _mismatch(o, i, want, np.zeros_like(want), output, x)
                + f"\n(output {o} does not require a gradient)"
            )


def _check_fast(subject, eps, atol, rtol):
    import numpy as np

    random = np.random.default_rng(0)  # its own numbers: the library's generator is not moved

    def direction(x):
        d = random.uniform(0.1, 1, _length(x)) * random.choice([-1.0, 1.0], _length(x))
        return d / max(np.linalg.norm(d), 1e-300)

    # Each input is moved alone, so that the message can name it.
    us, along = [], []
    for j, x in enumerate(subject.examined):
        us.append(direction(x))
        moves = [[] for _ in subject.examined]
        moves[j] = list(zip(_positions(x), (us[j].view(np.complex128) if x.dtype.is_complex else us[j]).tolist()))
        along.append(subject.difference(moves, eps))
    outputs = subject.outputs()
    constant = not any(output.requires_grad for output in outputs)
    for o, output in enumerate(outputs):
        if not output.requires_grad and not constant:
            continue
        v = direction(output)
        found = [np.zeros(0)] * len(us)
        if output.requires_grad:
            found, _ = subject.backward(output, _from_reals(v, output))
        for i, u, g, d in zip(subject.which, us, found, along):
            numerical = v @ d[o]
            analytical = g @ u if g.size else 0.0
            # atol is meant for an entry of J.
            if not _close(analytical, numerical, atol * np.abs(u).sum() * np.abs(v).sum(), rtol):
                text = (
                    f"Jacobian mismatch for output {o} with respect to input {i}, in fast mode: "
                    f"numerical {numerical:.8g}, analytical {analytical:.8g}."
                )
                try:
                    _check_slow(subject, eps, atol, rtol)
                except GradcheckError as slow:
                    raise GradcheckError(f"{text}\nThe whole matrices: {slow}") from None
                raise GradcheckError(f"{text}\nThe whole matrices agree within atol={atol}, rtol={rtol}.")


def _check_gradients(subject, nondet_tol, check_grad_dtypes):
    """What does not need finite differences: zero in, zero out; the same twice; shapes and dtypes."""
    import numpy as np

    random = np.random.default_rng(1)
    for o, output in enumerate(subject.outputs()):
        if not output.requires_grad:
            continue
        for values in subject.backward(output, _from_reals(np.zeros(_length(output)), output))[0]:
            if values.any():
                raise GradcheckError(
                    f"backward not multiplied by grad_output: a gradient of zeros for output {o} gives {values}"
                )
        v = _from_reals(random.uniform(-1, 1, _length(output)), output)
        once, grads = subject.backward(output, v)
        again, _ = subject.backward(output, v)
        for i, x, g, a, b in zip(subject.which, subject.examined, grads, once, again):
            if g is not None and g.shape != x.shape:
                raise GradcheckError(
                    f"grad is incorrect size: input {i} has shape {tuple(x.shape)}, its gradient for output {o} has "
                    f"{tuple(g.shape)}"
                )
            if check_grad_dtypes and g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"grad is incorrect type: input {i} is {x.dtype}, its gradient for output {o} is {g.dtype}"
                )
            apart = np.abs(a - b).max(initial=0)
            if not apart <= nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient. The tolerance "
                    f"for nondeterminism was {nondet_tol}. Output {o}, input {i}: "
                    f"the largest difference is {apart:.6g}."
                )


def _on_values(func, inputs):
    """The function, and sparse inputs, as those of the stored values."""
    given = _as_tuple(inputs)
    if not any(hasattr(x, "_parts") for x in given):
        return func, inputs

    def on_values(*values):
        made = func(*(x._with(v) if hasattr(x, "_parts") else v for x, v in zip(given, values)))
        if any(hasattr(x, "_parts") for x in _as_tuple(made)):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of "
                "fn for gradcheck."
            )
        return made

    return on_values, tuple(x._own if hasattr(x, "_parts") else x for x in given)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compares the gradients of func with finite differences; True if they agree.

    Args:
        func: takes the inputs, returns a tensor or a tuple of them.  It must give the same results for the same values.
        inputs: a tensor or a tuple; those that require a gradient are examined, others are passed on.  They should be
            float64 or complex128 (a warning says so), and are changed by +-eps in place while func is called;
            afterwards they are as before.
        eps: the step. atol, rtol: an entry may differ by ``atol + rtol * abs(numerical)``.
        raise_exception: False returns False where GradcheckError would be raised.
        nondet_tol: what two backward passes may differ by.
        check_undefined_grad: no effect: each output is checked with the gradients of the others undefined.
        check_grad_dtypes: a gradient must have its input's dtype.
        check_batched_grad: a batch of gradients must give what they give one after the other.
        check_forward_ad: forward passes must give the same matrix; check_backward_ad=False examines nothing else.
        fast_mode: compare one random combination of the entries, at the cost of two calls for each input, not two for
            each element.
        masked: no effect: of a sparse tensor the stored values are examined.

    Raises GradcheckError naming output, input and the largest difference; ValueError if no input requires a gradient;
    NotImplementedError for check_batched_forward_grad.  The method is told in
    Note [How gradients are checked].

    >>> x = strided.tensor([0.5, 2.], dtype=strided.float64, requires_grad=True)
    >>> strided.autograd.gradcheck(lambda x: x.sin() * x, x)
    True
    """
    if not (check_backward_ad or check_forward_ad):
        raise ValueError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise ValueError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_batched_forward_grad:
        raise NotImplementedError(
            "gradcheck: check_batched_forward_grad=True is not implemented; tangents are computed one at a time"
        )
    subject = _Subject(*_on_values(func, inputs))
    try:
        if check_backward_ad:
            (_check_fast if fast_mode else _check_slow)(subject, eps, atol, rtol)
            _check_gradients(subject, nondet_tol, check_grad_dtypes)
        if check_forward_ad and fast_mode:
            _check_forward_fast(subject, eps, atol, rtol)
        elif check_forward_ad:
            _check_slow(subject, eps, atol, rtol, forward=True)
        if check_batched_grad:
            _check_batched(subject)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compares the gradients of the gradients of func with finite differences; True if they agree.

    What is checked, by gradcheck, is the function of the inputs and of `grad_outputs` whose results are the gradients
    of func.  `grad_outputs` are a tensor for each output that requires a gradient; by default random ones, stored with
    gaps if gen_non_contig_grad_outputs is true.  The other arguments are those of gradcheck.

    >>> x = strided.tensor([0.5, 2.], dtype=strided.float64, requires_grad=True)
    >>> strided.autograd.gradgradcheck(lambda x: x.sin() * x, x)
    True
    """
    subject = _Subject(func, inputs)
    outputs = [y for y in subject.outputs() if y.requires_grad]
    if grad_outputs is None:
        import numpy as np

        random = np.random.default_rng(2)
        grad_outputs = []
        for y in outputs:
            g = _from_reals(random.standard_normal(_length(y)), y)
            if gen_non_contig_grad_outputs:
                g = _f["stack"]([g, g], -1)[..., 0]
            grad_outputs.append(g.requires_grad_())
    grad_outputs = _as_tuple(grad_outputs)
    if len(grad_outputs) != len(outputs):
        raise ValueError(
            f"gradgradcheck: {len(outputs)} outputs require a gradient, but {len(grad_outputs)} grad_outputs were given"
        )
    n = len(subject.inputs)

    def gradients(*args):
        with enable_grad():
            results = [y for y in _as_tuple(func(*args[:n])) if _is_differentiable(y) and y.requires_grad]
            if not results:
                return ()
            grads = _run(results, list(args[n:]), True, True, [args[i] for i in subject.which])
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradients, subject.inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode, masked=masked, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
    )  # fmt: skip
