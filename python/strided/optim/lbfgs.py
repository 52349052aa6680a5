"""L-BFGS (``strided.optim.lbfgs``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import strided

from .optimizer import Optimizer, number, one_element

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["LBFGS"]


def _minimum_of_cubic(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with their slopes is least, within bounds (Nocedal and Wright, "Numerical
    Optimization", 2006, equation 3.59)."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:  # NaN too
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


class _Search:
    """A line search for the strong Wolfe conditions (the same book, algorithms 3.5 and 3.6).

    `at(t)` gives the value and the gradient at step t along a direction. Slopes are tensors of one element: what
    overflows becomes inf, and their steps have the rounding of the dtype of the parameters.
    """

    def __init__(self, at, direction, f, g, slope, c1=1e-4, c2=0.9, tolerance=1e-9, most=25):
        self.at, self.direction = at, direction
        self.f, self.slope, self.c1, self.c2 = f, slope, c1, c2
        self.tolerance, self.most, self.calls = tolerance, most, 0
        self.start = (0.0, f, g, slope)

    def _point(self, t):
        f, g = self.at(t)
        self.calls += 1
        return t, f, g.clone(), g.dot(self.direction)

    def _fails(self, point, best):
        return point[1] > self.f + self.c1 * point[0] * self.slope or point[1] >= best

    def run(self, t):
        """(value, gradient, step)."""
        size = self.direction.abs().max()
        before, now, count, bracket = self.start, self._point(t), 0, None
        while count < self.most:
            if now[1] > self.f + self.c1 * now[0] * self.slope or count > 1 and now[1] >= before[1]:
                bracket = [before, now]
                break
            if abs(now[3]) <= -self.c2 * self.slope:
                return now[1], now[2], now[0]
            if now[3] >= 0:
                bracket = [before, now]
                break
            low, high = now[0] + 0.01 * (now[0] - before[0]), now[0] * 10
            t = _minimum_of_cubic(before[0], before[1], before[3], now[0], now[1], now[3], (low, high))
            before, now, count = now, self._point(t), count + 1
        if bracket is None:
            bracket = [self.start, now]
        return self._zoom(bracket, size, count)

    def _inside(self, bracket, stalled):
        """A step within the bracket, not too near to its ends twice in a row."""
        (a, fa, _, ga), (b, fb, _, gb) = bracket
        t, low, high = _minimum_of_cubic(a, fa, ga, b, fb, gb), min(a, b), max(a, b)
        margin = 0.1 * (high - low)
        if not min(high - t, t - low) < margin:
            return t, False
        if stalled or t >= high or t <= low:
            return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
        return t, True

    def _zoom(self, bracket, size, count):
        stalled = False
        low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        while count < self.most:
            if abs(bracket[1][0] - bracket[0][0]) * size < self.tolerance:
                break
            t, stalled = self._inside(bracket, stalled)
            now, count = self._point(t), count + 1
            if self._fails(now, bracket[low][1]):
                bracket[high] = now
                low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
                continue
            done = abs(now[3]) <= -self.c2 * self.slope
            if not done and now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
            if done:
                break
        t, f, g, _ = bracket[low]
        return f, g, t


_cubic_interpolate = _minimum_of_cubic  # PyTorch's name, which libraries of optimizers import; so is the next


def _strong_wolfe(
    obj_func: Callable[[Any, Any, Any], Any],
    x: Any,
    t: Any,
    d: Any,
    f: Any,
    g: Any,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Any, Any, int]:
    """(value, gradient, step, calls) of a line search from x along d, ``obj_func(x, t, d)`` gives the first two."""
    search = _Search(lambda step: obj_func(x, step, d), d, f, g, gtd, c1, c2, tolerance_change, max_ls)
    return (*search.run(t), search.calls)


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989).

    step needs a closure, which clears the gradients, computes the loss, its gradients, and returns the loss.

    Args:
        max_iter, max_eval: iterations and calls of the closure in one step. tolerance_grad, tolerance_change: where it
            ends. history_size: pairs that are kept. line_search_fn: 'strong_wolfe', or None for steps of length lr.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        one_element(lr=lr)
        if number(lr) < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self):
        grads = [strided.zeros_like(p) if p.grad is None else p.grad for p in self._params]
        grads = [g.to_dense() if g.is_sparse else g for g in grads]
        return strided.cat([(strided.view_as_real(g) if g.is_complex() else g).reshape(-1) for g in grads])

    def _move(self, step, direction):
        at = 0
        for p in self._params:
            real = strided.view_as_real(p) if p.is_complex() else p
            real.add_(direction[at : at + real.numel()].view_as(real), alpha=step)
            at += real.numel()

    def _direction(self, state, grad, size):
        """Minus the inverse Hessian, as the kept pairs tell it, times the gradient: two loops over the pairs."""
        q, factors = grad.neg(), []
        pairs = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        for y, s, ro in reversed(pairs):
            factors.append(s.dot(q) * ro)
            q.add_(y, alpha=-factors[-1])
        q.mul_(state["H_diag"])
        state.setdefault("al", [None] * size)[: len(pairs)] = reversed(factors)
        for (y, s, ro), a in zip(pairs, reversed(factors)):
            q.add_(s, alpha=a - y.dot(q) * ro)
        return q

    def _remember(self, state, grad, size):
        y, s = grad.sub(state["prev_flat_grad"]), state["d"].mul(state["t"])
        ys = y.dot(s)
        if not ys > 1e-10:
            return
        for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
            if len(state[name]) == size:
                state[name].pop(0)
            state[name].append(value)
        state["H_diag"] = ys / y.dot(y)

    @strided.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Up to max_iter iterations; gives back the loss at the beginning."""
        closure = strided.enable_grad()(closure)
        group, state = self.param_groups[0], self.state[self._params[0]]
        lr, small = number(group["lr"]), group["tolerance_change"]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        fresh = "d" not in state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, calls = float(first), 1
        state["func_evals"] += 1
        grad = self._gradient()
        if float(grad.abs().max()) <= group["tolerance_grad"]:
            return first
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=grad.neg(), t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                self._remember(state, grad, group["history_size"])
                state["d"] = self._direction(state, grad, group["history_size"])
            direction = state["d"]
            state["prev_flat_grad"], before = grad.clone(), loss
            state["t"] = t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -small:
                break
            if group["line_search_fn"] is not None:
                most = group["max_eval"] - calls
                loss, grad, t, used = self._searched(closure, t, direction, loss, grad, slope, most)
            else:
                self._move(t, direction)
                used = 0
                if n != group["max_iter"]:
                    loss = float(closure())
                    grad, used = self._gradient(), 1
            state["t"] = t
            calls += used
            state["func_evals"] += used
            state["prev_loss"] = before
            if calls >= group["max_eval"] or float(grad.abs().max()) <= group["tolerance_grad"]:
                break
            if float(direction.mul(t).abs().max()) <= small or abs(loss - before) < small:
                break
        if fresh and "al" in state:  # the order of PyTorch's state: the others are kept when a step ends
            for name in [name for name in state if name not in ("func_evals", "n_iter", "al")]:
                state[name] = state.pop(name)
        return first

    def _searched(self, closure, t, direction, loss, grad, slope, most):
        start = [p.clone() for p in self._params]

        def at(step):
            self._move(step, direction)
            value = float(closure())
            found = self._gradient()
            for p, s in zip(self._params, start):
                p.copy_(s)
            return value, found

        search = _Search(at, direction, loss, grad, slope, most=most)
        loss, grad, t = search.run(t)
        self._move(t, direction)
        return loss, grad, t, search.calls
