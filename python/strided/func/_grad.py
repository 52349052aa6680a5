"""Derivatives as functions of functions: grad, vjp, jvp, jacrev, jacfwd, hessian, linearize.

A transform gives the function inputs of its own, at which a recorded graph begins, and takes gradients by the ordinary
backward pass.  Whether the pass is itself recorded follows from the graph: it is if the inputs, or something else that
the function reads, want a gradient from outside; so transforms nest, and their results can be differentiated by
``backward`` too.  Inside vmap an input is expanded to the batch first: the gradient of each sample by its own copy
(Note [Inputs that do not vary] has the exception).  Forward mode is two backward passes (Note [Two backward passes make
a forward one]).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .. import _C, _dispatch
from .._functions.random import States
from ..autograd.grad_mode import enable_grad
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from ._batched import NO_REQUIRES_GRAD, BatchedTensor, OnlyOne, Tensor, batched, expanded, running, union
from ._vmap import vmap

if TYPE_CHECKING:
    from .._typing import Any, Callable
    from ._batched import Level

_f = _C.functions
_leads_elsewhere, _zeros_like, _ones_like = (_f[n] for n in ("_leads_elsewhere", "zeros_like", "ones_like"))


def _backward(*args: Any) -> Any:
    """A backward pass, of which modes below autograd are told; its gradients may be a batch, where the graph is not."""
    if any(type(g) is BatchedTensor for g in args[1]):
        from ._backward import run

        return run(*args)
    if _dispatch.state.modes:
        return _dispatch.run_backward(_f["_backward"], (), args, {})
    return _f["_backward"](*args)


# Note [Inputs that do not vary]
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A function may ask for what a batch does not give: the value of a number, the places of a mask, one draw for all.
# Where the inputs of a transform are the same for all samples, PyTorch answers: only gradients and tangents are a
# batch there. Here the inputs were expanded, so the function met an OnlyOne. It is called once more, with the random
# numbers of the first call and with the inputs as they are. If its results do not vary either, the batch of gradients
# or tangents goes through the one graph; if they do, the first error stands.


def _for_the_batch(of: Callable[[Any, Any], Any], leaves: Any) -> Any:
    """of(levels of the inputs, None) for all vmaps that run; else of((), the error's text), where no input varies."""
    levels = running()
    if not levels:
        return of(levels, None)
    random = States()
    try:
        return of(levels, None)
    except OnlyOne as error:
        if union(leaves):
            raise
        met = str(error)  # not the error, whose traceback holds the first call's tensors
    random.put_back()
    return of((), met)


# ---------------------------------------------------------------- one level of differentiation


class Inputs:
    """The inputs that a function is differentiated by: plain tensors with an axis for each of the levels.

    `met` is the text of the error that the function met when it was called for a batch (Note [Inputs that do not
    vary]).
    """

    def __init__(self, leaves: Any, levels: tuple[Level, ...], met: str | None = None) -> None:
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
            if not (x.dtype.is_floating_point or x.dtype.is_complex):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.records = _f["is_grad_enabled"]()
        self.levels, self.met = levels, met
        given = [expanded(x, self.levels) for x in leaves]
        self.from_outside = any(_f["_has_record"](x) for x in given) and self.records
        with enable_grad():
            self.plain = [
                x.view_as(x) if self.from_outside and _f["_has_record"](x) else x.detach().requires_grad_()
                for x in given
            ]
        self.leaves = [batched(x, self.levels) for x in self.plain]

    def outputs(self, leaves: Any) -> list[Tensor]:
        """Results of the function as plain tensors."""
        if self.met is not None and union(leaves):
            raise OnlyOne(self.met)
        return [expanded(y, self.levels) for y in leaves]

    def along(self, vectors: Any) -> list[Tensor]:
        """Gradients of the results, or tangents of the inputs: a batch of them goes through the graph of one call."""
        return [expanded(v, self.levels) for v in vectors] if self.levels else vectors

    def matters(self, tensors: Any) -> bool:
        """Does anything outside want a gradient of what follows from these?"""
        return self.records and (self.from_outside or any(_f["_has_record"](t) for t in tensors if t is not None))

    def wanted(self, outputs: list[Tensor]) -> bool:
        """Does a gradient from outside pass through these results of the function?"""
        return self.records and (self.from_outside or _leads_elsewhere(outputs, self.plain))

    def pull(self, outputs: list[Tensor], cotangents: list[Tensor], create_graph: bool) -> list[Tensor]:
        """The gradient by each input; zeros by one that the outputs do not depend on."""
        if not all(x.requires_grad for x in self.plain):
            raise RuntimeError(NO_REQUIRES_GRAD)
        pairs = [(y, g) for y, g in zip(outputs, cotangents) if _f["_has_record"](y)]
        grads = (
            _backward([y for y, _ in pairs], [g for _, g in pairs], True, create_graph, self.plain)
            if pairs
            else [None] * len(self.plain)
        )
        return [_zeros_like(x.detach()) if g is None else g for g, x in zip(grads, self.plain)]

    def lead_to(self, output: Tensor) -> bool:
        """Does a result of the function depend on an input?"""
        if not _f["_has_record"](output):
            return False
        grads = _backward([output], [_zeros_like(output.detach())], True, False, self.plain)
        return any(g is not None for g in grads)

    def give(self, tensors: list[Tensor], keep: bool) -> list[Tensor]:
        """Results as the caller sees them."""
        kept = [t if keep else t.detach() for t in tensors]
        return [t if type(t) is BatchedTensor else batched(t, self.levels) for t in kept]


def _tensors_only(leaves, message):
    for y in leaves:
        if not isinstance(y, Tensor):
            raise RuntimeError(message.format(type(y)))


def _some(leaves, name):
    if not leaves or leaves == [None]:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {leaves})")


def _aux(aux, keep):
    """What a function gives besides: not connected to the inputs of its own."""

    def cut(x):
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
        return x if keep else x.detach()

    return tree_map(cut, aux)


def _pair(result, has_aux, function):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{function}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def _chosen(argnums, args):
    """The arguments that argnums names, and a function that puts others into their place."""
    if not (isinstance(argnums, int) or (isinstance(argnums, tuple) and all(isinstance(i, int) for i in argnums))):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    numbers = tuple(i % len(args) for i in numbers)
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    chosen = args[numbers[0]] if isinstance(argnums, int) else tuple(args[i] for i in numbers)

    def replaced(values):
        new = list(args)
        for i, v in zip(numbers, (values,) if isinstance(argnums, int) else values):
            new[i] = v
        return new

    return chosen, replaced


# ---------------------------------------------------------------- reverse mode


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """A function that gives (gradient, value) of func, whose value is one number.

    As ``grad``; with has_aux the value is (value, aux).

    >>> strided.func.grad_and_value(lambda x: (x * x).sum())(strided.tensor([1., 3.]))
    (tensor([2., 6.]), tensor(10.))
    """

    @functools.wraps(func)
    def of(*args, **kwargs):
        name = "grad_and_value(f)(*args)"
        chosen, replaced = _chosen(argnums, args)
        leaves, spec = tree_flatten(chosen)

        def at(levels: Any, met: Any) -> Any:
            inputs = Inputs(leaves, levels, met)
            with enable_grad():
                result = func(*replaced(tree_unflatten(inputs.leaves, spec)), **kwargs)
                value, aux = _pair(result, has_aux, name)
                if not isinstance(value, Tensor):
                    raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
                if value.ndim:
                    raise RuntimeError(
                        f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. Maybe "
                        "you wanted to use the vjp or jacrev APIs instead?"
                    )
                if value.dtype.is_complex:
                    raise RuntimeError(
                        f"grad can be implicitly created only for real scalar outputs but got {value.dtype}"
                    )
                outputs = inputs.outputs([value])
                keep = inputs.wanted(outputs)
                grads = inputs.pull(outputs, [_ones_like(outputs[0].detach())], keep)
            found = tree_unflatten(inputs.give(grads, keep), spec)
            (value,) = inputs.give(outputs, keep)
            return found, (value, _aux(aux, keep)) if has_aux else value

        return _for_the_batch(at, leaves)

    return of


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func, whose value is one number.

    Args:
        func: returns a tensor without axes.
        argnums: the argument, or several, to differentiate by; each may be a nest of tensors.
        has_aux: func returns (value, aux), and the new function (gradient, aux).

    Raises:
        RuntimeError: the value is no number, or an input of integers.

    >>> strided.func.grad(strided.sin)(strided.tensor(0.))
    tensor(1.)
    >>> strided.vmap(strided.func.grad(lambda x: x ** 3))(strided.tensor([1., 2.]))
    tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def of(*args, **kwargs):
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return of


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), a function of cotangents of its shape that gives the cotangents of primals); with has_aux, where
    func returns (output, aux), aux as well.

    >>> y, pull = strided.func.vjp(strided.sin, strided.zeros(2))
    >>> pull(strided.tensor([1., 10.]))
    (tensor([ 1., 10.]),)
    """
    leaves, _ = tree_flatten(primals)
    return _for_the_batch(lambda levels, met: _vjp(func, primals, has_aux, levels, met), leaves)


def _vjp(func: Any, primals: Any, has_aux: bool, levels: Any, met: Any = None) -> Any:
    """vjp by inputs of these levels."""
    leaves, spec = tree_flatten(primals)
    inputs = Inputs(leaves, levels, met)
    random = States()
    with enable_grad():
        result, aux = _pair(func(*tree_unflatten(inputs.leaves, spec)), has_aux, "vjp(f, *primals)")
        outputs, structure = tree_flatten(result)
        _some(outputs, "vjp(f, *primals)")
        _tensors_only(outputs, "vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {}")
        for y in outputs:
            if not (y.dtype.is_floating_point or y.dtype.is_complex):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{y.dtype}"
                )
        plain = inputs.outputs(outputs)
    keep = inputs.wanted(plain)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, of = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if of != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {of}, primal output: {structure}"
            )
        for i, (g, y) in enumerate(zip(given, outputs)):
            if g.shape != y.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {y.shape}."
                )
        if any(level not in inputs.levels for level in union(given)):
            # The batch of the cotangents began after the function was called: it is called once more, for the batch.
            try:

                def values(*xs: Any) -> Any:
                    return _pair(func(*xs), has_aux, "vjp(f, *primals)")[0]

                with random.again():
                    _, again = _vjp(values, primals, False, running())
                    return again(*cotangents)
            except OnlyOne:
                if inputs.levels:
                    raise
            ys = given
        else:
            ys = inputs.along(given)
        record = create_graph
        if record is None:
            record = _f["is_grad_enabled"]() and (keep or inputs.matters(ys))
        with enable_grad():
            grads = inputs.pull(plain, ys, record)
        return tree_unflatten(inputs.give(grads, record), spec)

    value = tree_unflatten(inputs.give(plain, keep), structure)
    return (value, pull, _aux(aux, keep)) if has_aux else (value, pull)


# ---------------------------------------------------------------- forward mode


def _push(inputs, outputs, tangents, record):
    """J t for each output (Note [Two backward passes make a forward one] in autograd/functional.py)."""
    w = [_zeros_like(y.detach()).requires_grad_() for y in outputs]
    grads = inputs.pull(outputs, w, True)
    pairs = [(g, t) for g, t in zip(grads, tangents) if _f["_has_record"](g)]
    products = _backward([g for g, _ in pairs], [t for _, t in pairs], True, record, w) if pairs else [None] * len(w)
    return [_zeros_like(y.detach()) if p is None else p for p, y in zip(products, outputs)]


def _check_tangents(leaves, given):
    for x, t in zip(leaves, given):
        if x.shape != t.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size "
                f"{list(t.shape)}."
            )


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """(func(*primals), its derivative along tangents); with has_aux, where func returns (output, aux), aux as well.

    primals is a tuple, tangents is one of the same structure and shapes.  Complex functions are differentiated as their
    gradient is, without conjugation of the tangents. With strict, an output that does not depend on the primals is a
    RuntimeError.

    >>> strided.func.jvp(strided.sin, (strided.zeros(2),), (strided.tensor([1., 2.]),))
    (tensor([0., 0.]), tensor([1., 2.]))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(primals)
    given, of = tree_flatten(tangents)
    if of != spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple "
            f"of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {of}"
        )
    if not leaves:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    for what, values in (("primals", leaves), ("tangents", given)):
        _tensors_only(values, f"{name}: Expected {what} to be a tuple that only contain Tensors, got {{}}")
    _check_tangents(leaves, given)

    def at(levels: Any, met: Any) -> Any:
        inputs = Inputs(leaves, levels, met)
        with enable_grad():
            # With nodes of their own, not leaves: the function may write to its inputs.
            duals = [batched(_f["_dual"](x), inputs.levels) for x in inputs.plain]
            result, aux = _pair(func(*tree_unflatten(duals, spec)), has_aux, name)
            outputs, structure = tree_flatten(result)
            _some(outputs, name)
            _tensors_only(outputs, name + ": expected f(*primals) to return only tensors, got unsupported type {}")
            plain, ts = inputs.outputs(outputs), inputs.along(given)
            if strict and not all(map(inputs.lead_to, plain)):
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                    "allowed with strict=True."
                )
            keep = inputs.wanted(plain)
            record = keep or inputs.matters(ts)
            pushed = _push(inputs, plain, ts, record)
        value = tree_unflatten(inputs.give(plain, keep), structure)
        tangent = tree_unflatten(inputs.give(pushed, record), structure)
        return (value, tangent, _aux(aux, keep)) if has_aux else (value, tangent)

    return _for_the_batch(at, leaves)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """(func(*primals), a function of tangents that gives the derivative along them).  func is called once.

    >>> y, push = strided.func.linearize(strided.sin, strided.zeros(2))
    >>> push(strided.tensor([1., 2.]))
    tensor([1., 2.])
    """
    leaves, spec = tree_flatten(primals)
    if not leaves:
        raise RuntimeError("Expected at least one primal")
    inputs = Inputs(leaves, running())
    with enable_grad():
        outputs, structure = tree_flatten(func(*tree_unflatten(inputs.leaves, spec)))
        _tensors_only(outputs, "linearize: expected func to return only tensors, got unsupported type {}")
        plain = inputs.outputs(outputs)
    keep = inputs.wanted(plain)

    def push(*tangents: Any) -> Any:
        given, of = tree_flatten(tangents)
        if of != spec:
            raise RuntimeError(
                f"Expected the tangents {tangents} to have the same structure as the primals: {of} and {spec}"
            )
        for i, (x, t) in enumerate(zip(leaves, given)):
            if x.shape != t.shape:
                raise RuntimeError(
                    f"tangent:{i} with shape {t.shape} in flattened pytree doesn't match the shape {x.shape} of the "
                    "corresponding primal."
                )
            if x.dtype != t.dtype:
                raise RuntimeError(
                    f"tangent:{i} with dtype {t.dtype} in flattened pytree doesn't match the dtype {x.dtype} of the "
                    "corresponding primal."
                )
        if any(level not in inputs.levels for level in union(given)):
            return jvp(func, primals, tangents)[1]
        ts = inputs.along(given)
        record = keep or inputs.matters(ts)
        with enable_grad():
            pushed = _push(inputs, plain, ts, record)
        return tree_unflatten(inputs.give(pushed, record), structure)

    return tree_unflatten(inputs.give(plain, keep), structure), push


# ---------------------------------------------------------------- matrices of derivatives


def _basis(tensors):
    """For each tensor the rows of the unit matrix over all their elements: one nest of vectors for each row."""
    total = sum(t.numel() for t in tensors)
    start, found = 0, []
    for t in tensors:
        n = t.numel()
        rows = _f["zeros"](total, n, dtype=t.dtype, device=t.device)
        rows.diagonal(-start).fill_(1)
        found.append(rows.reshape(total, *t.shape))
        start += n
    return found


def _rows(function, basis, total, chunk_size, randomness="error"):
    """function of each row of the basis, stacked: by vmap, or one after the other for chunk_size=1."""
    if chunk_size == 1:
        columns = zip(*(function(*[b[i] for b in basis]) for i in range(total)))
        return [_f["stack"](list(column)) for column in columns]
    return list(vmap(function, randomness=randomness, chunk_size=chunk_size)(*basis))


def _by_rows(pull, outputs, structure, leaves, spec, chunk_size):
    """The Jacobian by ``vjp``: for each output the derivatives by each input."""
    shapes, basis = [y.shape for y in outputs], _basis(outputs)

    def row(*cotangents):
        return pull(tree_unflatten(cotangents, structure))

    grads = _rows(row, basis, sum(shape.numel() for shape in shapes), chunk_size)  # for each input: (total, *input)
    parts = [g.split([shape.numel() for shape in shapes]) for g in grads]
    by_output = [
        tree_unflatten([p[i].reshape((*shapes[i], *x.shape)) for p, x in zip(parts, leaves)], spec)
        for i in range(len(shapes))
    ]
    return tree_unflatten(by_output, structure)


_FEW_COLUMNS = 128  # a call of the function, to see how many rows there are, takes longer than their passes


def _by_few_rows(of_leaves, leaves, spec, has_aux, chunk_size):
    """What ``jacfwd`` gives, by rows: a pass for each takes two thirds of the time of one for a column (Note [Two
    backward passes make a forward one]). None where there are more rows than columns, or they are not the same thing:
    gradients of complex numbers, and of other dtypes than the output's."""
    random = States()
    try:
        value, pull, *aux = vjp(of_leaves, *leaves, has_aux=has_aux)
    except RuntimeError:  # columns have their own words for it
        random.put_back()
        return None
    outputs, structure = tree_flatten(value)
    dtypes = {t.dtype for t in (*outputs, *leaves)}
    few = sum(y.numel() for y in outputs) <= sum(x.numel() for x in leaves)
    if not few or len(dtypes) != 1 or dtypes.pop().is_complex or random.moved():  # columns refuse to draw
        random.put_back()
        return None
    found = _by_rows(pull, outputs, structure, leaves, spec, chunk_size)
    return (found, aux[0]) if has_aux else found


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of func, a row for each element of the output, by reverse mode.

    The result has the axes of the output, then those of the input; it is a nest as the outputs are, of nests as the
    inputs are.

    Args:
        chunk_size: rows that are computed at once, None for all; 1: without vmap, so that func may be made of anything.

    >>> strided.func.jacrev(lambda x: x * x)(strided.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def of(*args, **kwargs):
        chosen, replaced = _chosen(argnums, args)
        leaves, spec = tree_flatten(chosen)

        def of_leaves(*xs):
            return func(*replaced(tree_unflatten(xs, spec)), **kwargs)

        value, pull, *aux = vjp(of_leaves, *leaves, has_aux=has_aux)
        outputs, structure = tree_flatten(value)
        if not all(x.dtype.is_complex for x in leaves):  # whose gradients are real: half of the derivative is not there
            for i, y in enumerate(outputs):
                if y.dtype.is_complex:
                    raise RuntimeError(
                        "jacrev: Expected all outputs to be real but received complex tensor at flattened input idx: "
                        f"{i}"
                    )
        found = _by_rows(pull, outputs, structure, leaves, spec, chunk_size)
        return (found, aux[0]) if has_aux else found

    return of


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The same by forward mode, a column for each element of the input; by rows, which take less time, where there are
    many columns and no more rows (and chunk_size is not 1).

    >>> strided.func.jacfwd(lambda x: x * x)(strided.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacfwd: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def of(*args, **kwargs):
        chosen, replaced = _chosen(argnums, args)
        leaves, spec = tree_flatten(chosen)
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")

        def of_leaves(*xs):
            return func(*replaced(tree_unflatten(xs, spec)), **kwargs)

        total = sum(x.numel() for x in leaves)
        if total > _FEW_COLUMNS and chunk_size != 1 and randomness == "error":
            by_rows = _by_few_rows(of_leaves, leaves, spec, has_aux, chunk_size)
            if by_rows is not None:
                return by_rows
        kept = {}

        def column(*tangents):
            value, tangent, *aux = jvp(of_leaves, tuple(leaves), tangents, has_aux=has_aux)
            found, kept["structure"] = tree_flatten(tangent)
            extra, kept["aux"] = tree_flatten(aux)
            kept["n"] = len(found)
            return (*found, *extra)

        columns = _rows(column, _basis(leaves), total, chunk_size, randomness)
        by_output = []
        for y in columns[: kept["n"]]:
            parts = y.movedim(0, -1).split([x.numel() for x in leaves], dim=-1)
            by_output.append(
                tree_unflatten([p.reshape((*p.shape[:-1], *x.shape)) for p, x in zip(parts, leaves)], spec)
            )
        found = tree_unflatten(by_output, kept["structure"])
        if not has_aux:
            return found
        return found, tree_unflatten([y[0] for y in columns[kept["n"] :]], kept["aux"])[0]

    return of


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of func: forward over reverse mode.

    >>> strided.func.hessian(lambda x: (x ** 3).sum())(strided.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
