"""Derivatives of functions: Jacobian and Hessian, and their products with vectors (``strided.autograd.functional``).

Every function takes ``func`` and ``inputs`` (a tensor or a tuple of tensors), calls ``func(*inputs)`` on its own copies
of them, and returns results of the shape of a tensor or a tuple as they are.  Common arguments:

    create_graph: the results can be differentiated again, also by what `inputs` were computed from.
    strict: RuntimeError for an output that does not depend on an input, in place of zeros.
    vectorize: changes nothing but which errors are raised: rows are computed one after the other.
    strategy: "reverse-mode": a backward pass for each output; "forward-mode": one for each input, and one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _C
from .grad_mode import enable_grad

if TYPE_CHECKING:
    from .._typing import Any, Callable

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_f = _C.functions
_run = _f["_backward"]

_NOT_IN_STRICT = "This is not allowed in strict mode"
_HESSIAN_OF_LINEAR = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs "
    "(this would be violated by a linear function for example)."
)

# ---------------------------------------------------------------- arguments and results


def _tuple_of(x, what, function):
    """(x is a tuple, x as a tuple); TypeError for anything but tensors."""
    if isinstance(x, _C.Tensor):
        return False, (x,)
    if not isinstance(x, tuple):
        raise TypeError(
            f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has "
            f"type {type(x)}."
        )
    for i, one in enumerate(x):
        if not isinstance(one, _C.Tensor):
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value at index "
                f"{i} has type {type(one)}."
            )
    return True, x


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """_tuple_of() by PyTorch's name, which libraries import; without names any value, and the tuple alone."""
    if arg_name is None and fn_name is None:
        return tuple(inp) if isinstance(inp, (tuple, list)) else (inp,)
    return _tuple_of(inp, arg_name, fn_name)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Tensors, in tuples of tuples of any depth, without their graphs unless ``create_graph``."""
    if not isinstance(inputs[0], _C.Tensor):
        return tuple(_grad_postprocess(one, create_graph) for one in inputs)
    return inputs if create_graph else tuple(t.detach() for t in inputs)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """The only element of res where ``to_unpack`` is false; of two flags the second is for the elements of res."""
    if isinstance(to_unpack, tuple):
        to_unpack, inside = to_unpack
        res = res if inside else tuple(one[0] for one in res)
    return res if to_unpack else res[0]


def _inputs(inputs, function, create_graph):
    """(a tuple was given, copies that can be differentiated by): views of what was given if a graph shall reach it."""
    is_tuple, inputs = _tuple_of(inputs, "inputs", function)

    def own(x):
        if create_graph and x.requires_grad:
            return x.view_as(x)
        return x.detach().requires_grad_()

    return is_tuple, tuple(own(x) for x in inputs)


def _call(func, inputs, function, strict):
    is_tuple, outputs = _tuple_of(func(*inputs), "outputs of the user-provided function", function)
    if strict:
        for i, y in enumerate(outputs):
            if not y.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be "
                    f"computed in a differentiable manner "
                    "from the input when running in strict mode."
                )
    return is_tuple, outputs


def _single(func, inputs, function, strict):
    """The one element that func gives."""
    is_tuple, (y, *rest) = _call(func, inputs, function, strict)
    if is_tuple or rest:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if y.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return y.reshape(()) if y.ndim else y


def _vector(v, likes, likes_are_tuple, function, of):
    """v as a tuple of tensors shaped as likes; ones if it is None and there is one element."""
    if v is None:
        if len(likes) != 1 or likes[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {of} a single Tensor with a single element.")
        return tuple(_f["ones_like"](x.detach()) for x in likes)
    _, v = _tuple_of(v, "v", function)
    if len(v) != len(likes):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(likes)} but got {len(v)}."
            if likes_are_tuple
            else "The given v should contain a single Tensor."
        )
    for i, (a, x) in enumerate(zip(v, likes)):
        if a.shape != x.shape:
            entry = f"Entry {i} in " if likes_are_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {x.shape} but got {a.shape}.")
    return tuple(v)


_INPUT_IS, _FUNCTION_RETURNS = "the input to the user-provided function is", "the user-provided function returns"


def _grads(outputs, inputs, grad_outputs, create_graph):
    """As autograd.grad, with None for whatever does not depend on an input."""
    pairs = [(y, g) for y, g in zip(outputs, grad_outputs) if y.requires_grad]
    if not pairs:
        return [None] * len(inputs)
    return _run([y for y, _ in pairs], [g for _, g in pairs], True, create_graph, list(inputs))


def _filled(grads, inputs, strict, missing, create_graph, constant):
    """Zeros for None; under strict an error: `missing` for None, `constant` for what cannot be differentiated again."""
    result = []
    for i, (g, x) in enumerate(zip(grads, inputs)):
        if strict and g is None:
            raise RuntimeError(missing.format(i))
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(constant.format(i))
        result.append(_f["zeros_like"](x.detach()) if g is None else g)
    return tuple(result)


_INDEPENDENT = "The output of the user-provided function is independent of input {}. " + _NOT_IN_STRICT + "."
_CONSTANT = (
    "The jacobian of the user-provided function is independent of input {}. "
    + _NOT_IN_STRICT
    + " when create_graph=True."
)


def _give(is_tuple, tensors, create_graph):
    tensors = tuple(t if create_graph else t.detach() for t in tensors)
    return tensors if is_tuple else tensors[0]


# ---------------------------------------------------------------- products with vectors


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T J): one backward pass.

    v has the shape of the output, or shapes of the outputs; None for a single element means 1.

    >>> strided.autograd.functional.vjp(lambda x: x * x, strided.tensor([1., 2.]), strided.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        one, inputs = _inputs(inputs, "vjp", create_graph)
        many, outputs = _call(func, inputs, "vjp", strict)
        v = _vector(v, outputs, many, "vjp", _FUNCTION_RETURNS)
        grads = _filled(_grads(outputs, inputs, v, create_graph), inputs, strict, _INDEPENDENT, create_graph, _CONSTANT)
    return _give(many, outputs, create_graph), _give(one, grads, create_graph)


def _forward(outputs, inputs, v, create_graph, strict):
    """J v for each output.

    Note [Two backward passes make a forward one]: the gradient J^T w is linear in w, so the gradient of <J^T w, v> by
    w, at any w, is J v (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
    """
    w = [_f["zeros_like"](y.detach()).requires_grad_() for y in outputs]
    grads = _grads(outputs, inputs, w, True)
    used = [(g, a) for g, a in zip(grads, v) if g is not None and g.requires_grad]
    if strict:
        for i, g in enumerate(grads):
            if g is None:
                raise RuntimeError(_INDEPENDENT.format(i))
    products = _grads([g for g, _ in used], w, [a for _, a in used], create_graph)
    return _filled(products, outputs, strict, _INDEPENDENT, create_graph, _CONSTANT)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), J v), by two backward passes.

    v has the shape of the input, or shapes of the inputs; None for a single element means 1.

    >>> strided.autograd.functional.jvp(lambda x: x.sum() * x, strided.tensor([1., 2.]), strided.tensor([1., 0.]))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    with enable_grad():
        one, inputs = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, inputs, one, "jvp", _INPUT_IS)
        many, outputs = _call(func, inputs, "jvp", strict)
        products = _forward(outputs, inputs, v, create_graph, strict)
    return _give(many, outputs, create_graph), _give(many, products, create_graph)


def _value_and_gradient(func, inputs, name, strict):
    """The single element that func gives, and its gradient, which can be differentiated again."""
    y = _single(func, inputs, name, strict)
    first = _grads([y], inputs, [_f["ones_like"](y.detach())], True)
    return y, _filled(first, inputs, strict, _INDEPENDENT, True, _HESSIAN_OF_LINEAR)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), v^T H) for a func with a single element: two backward passes (B. Pearlmutter, "Fast exact
    multiplication by the Hessian", Neural Computation 6, 1994), the cheaper of vhp and hvp.

    >>> strided.autograd.functional.vhp(lambda x: (x ** 3).sum(), strided.tensor([1., 2.]), strided.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        one, inputs = _inputs(inputs, "vhp", create_graph)
        v = _vector(v, inputs, one, "vhp", _INPUT_IS)
        y, jac = _value_and_gradient(func, inputs, "vhp", strict)
        products = _filled(
            _grads(jac, inputs, v, create_graph), inputs, strict, _HESSIAN_OF_LINEAR, create_graph, _HESSIAN_OF_LINEAR
        )
    return _give(False, (y,), create_graph), _give(one, products, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), H v) for a func with a single element; equal to vhp where H is symmetric, and slower.

    >>> strided.autograd.functional.hvp(lambda x: (x ** 3).sum(), strided.tensor([1., 2.]), strided.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        one, inputs = _inputs(inputs, "hvp", create_graph)
        v = _vector(v, inputs, one, "hvp", _INPUT_IS)
        y, jac = _value_and_gradient(func, inputs, "hvp", strict)
        w = [_f["zeros_like"](x.detach()).requires_grad_() for x in inputs]
        turned = _grads(jac, inputs, w, True)
        used = [(g, a) for g, a in zip(turned, v) if g is not None and g.requires_grad]
        if strict:
            _filled(turned, inputs, True, _HESSIAN_OF_LINEAR, False, "")
        products = _grads([g for g, _ in used], w, [a for _, a in used], create_graph)
        products = _filled(products, inputs, strict, _HESSIAN_OF_LINEAR, create_graph, _HESSIAN_OF_LINEAR)
    return _give(False, (y,), create_graph), _give(one, products, create_graph)


# ---------------------------------------------------------------- whole matrices


_TOGETHER = (
    "torch.autograd.functional.jacobian: `strict=True` and `{}` are not supported together{}. "
    "Please either set `strict=False` or `{}`."
)


def _units(like):
    """For each element of a tensor: 1 there and 0 elsewhere."""
    for i in range(like.numel()):
        unit = _f["zeros"](like.numel(), dtype=like.dtype, device=like.device)
        unit[i] = 1
        yield unit.reshape(like.shape)


def _construct_standard_basis_for(tensors: Any, tensor_numels: tuple[int, ...]) -> tuple[Any, ...]:
    """The grad_outputs of a jacobian by is_grads_batched: the identity matrix of sum(tensor_numels) rows, its columns
    shared out to the tensors, (rows, numel) in the dtype and on the device of each."""
    if not tensors or len(tensors) != len(tensor_numels):
        raise AssertionError(
            f"expected as many numbers of elements as tensors, got {len(tensor_numels)}, {len(tensors)}"
        )
    n, ends = sum(tensor_numels), [sum(tensor_numels[: i + 1]) for i in range(len(tensors))]
    return tuple(
        _f["eye"](n, dtype=t.dtype, device=t.device)[:, end - numel : end]
        for t, numel, end in zip(tensors, tensor_numels, ends)
    )


def _by_rows(outputs, inputs, create_graph, strict, allow_complex):
    """Row by row: [of an output][of an input]."""
    for o, y in enumerate(outputs):
        # d/dz and d/dz* would be needed; view_as_real says which numbers are meant.
        if y.dtype.is_complex and not allow_complex and y.requires_grad and y.numel() > 0:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {y.dtype}")
        missing = f"Output {o} of the user-provided function is independent of input {{}}. {_NOT_IN_STRICT}."
        rows = []
        for unit in _units(y):
            grads = _grads([y], inputs, [unit], create_graph)
            rows.append(_filled(grads, inputs, strict, missing, create_graph, _CONSTANT))
        yield [
            _f["stack"]([row[j] for row in rows]).reshape((*y.shape, *x.shape))
            if rows
            else _f["zeros"]((*y.shape, *x.shape), dtype=x.dtype, device=x.device)
            for j, x in enumerate(inputs)
        ]


def _by_columns(outputs, inputs, create_graph):
    """As _by_rows, column by column: Note [Two backward passes make a forward one], of which the first serves all."""
    w = [_f["zeros_like"](y.detach()).requires_grad_() for y in outputs]
    grads = _grads(outputs, inputs, w, True)
    columns = [[] for _ in inputs]  # [of an input][element][of an output]
    for j, (x, g) in enumerate(zip(inputs, grads)):
        for unit in _units(x):
            products = [None] * len(w) if g is None else _grads([g], w, [unit], create_graph)
            columns[j].append(_filled(products, outputs, False, "", create_graph, ""))
    for o, y in enumerate(outputs):
        yield [
            _f["stack"]([column[o] for column in columns[j]], -1).reshape((*y.shape, *x.shape))
            if columns[j]
            else _f["zeros"]((*y.shape, *x.shape), dtype=y.dtype, device=y.device)
            for j, x in enumerate(inputs)
        ]


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of the outputs by the inputs: for one output and one input a tensor of shape ``output.shape +
    input.shape``; for a tuple of inputs a tuple of them; for a tuple of outputs a tuple of those.

    One backward pass for each element of the outputs or, with strategy "forward-mode", of the inputs.  Complex inputs
    give ``d/dx + i d/dy``; complex outputs a RuntimeError (``view_as_real`` makes them real), unless vectorize or
    forward-mode ask for the derivative of a holomorphic function (conjugate in reverse mode).

    >>> strided.autograd.functional.jacobian(lambda x: x * x, strided.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    forward = strategy == "forward-mode"
    if strict and forward:
        raise RuntimeError(_TOGETHER.format('strategy="forward-mode"', " (yet)", 'strategy="reverse-mode"'))
    with enable_grad():
        one, inputs = _inputs(inputs, "jacobian", create_graph)
        many, outputs = _call(func, inputs, "jacobian", strict)
        if strict and vectorize:
            raise RuntimeError(_TOGETHER.format("vectorized=True", "", "vectorize=False"))
        if forward:
            blocks = _by_columns(outputs, inputs, create_graph)
        else:
            blocks = _by_rows(outputs, inputs, create_graph, strict, vectorize)
        result = [_give(one, b, create_graph) for b in blocks]
    return tuple(result) if many else result[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a func with a single element: a tensor of shape ``input.shape + input.shape``, or for
    a tuple of inputs a tuple of tuples, one for each pair.  outer_jacobian_strategy: see jacobian.

    >>> strided.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, strided.tensor([1., 2.]))
    tensor([[0., 4.],
            [4., 2.]])
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    one, inputs = _tuple_of(inputs, "inputs", "hessian")

    def first(*xs):
        y = _single(func, xs, "hessian", strict)
        jac = _grads([y], xs, [_f["ones_like"](y.detach())], True)
        return _filled(jac, xs, strict, _HESSIAN_OF_LINEAR, True, _HESSIAN_OF_LINEAR)

    blocks = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if one else blocks[0][0]
