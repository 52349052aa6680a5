"""The checks of ``library.opcheck``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import strided

from ..utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from ..library import CustomOpDef


class OpCheckError(Exception):
    """An operation does not behave as it was registered."""


def _tensors(tree: Any) -> list[Any]:
    return [t for t in tree_leaves(tree) if isinstance(t, strided.Tensor)]


def _copied(tree: Any) -> Any:
    def copy(t: Any) -> Any:
        return t.detach().clone().requires_grad_(t.requires_grad) if isinstance(t, strided.Tensor) else t

    return tree_map(copy, tree)


def _schema(op: CustomOpDef, args: Any, kwargs: Any, near: Any) -> None:
    mutates = op._mutates
    args, kwargs = _copied((args, kwargs))
    given = op._signature.bind(*args, **kwargs).arguments
    before = _copied(given)
    with strided.no_grad():
        results = _tensors(op(*args, **kwargs))
    for name, now in given.items():
        changed = any(not strided.equal(a, b) for a, b in zip(_tensors(before[name]), _tensors(now)))
        if changed and mutates != "unknown" and name not in mutates:
            raise OpCheckError(
                f"opcheck(op, ...): test_schema failed: Argument {name} is not defined as mutable but was mutated"
            )
        memory = {t.untyped_storage().data_ptr() for t in _tensors(now) if t.numel()}
        if any(r.numel() and r.untyped_storage().data_ptr() in memory for r in results):
            raise OpCheckError(
                f"opcheck(op, ...): test_schema failed: Argument {name} is not defined to alias output but was aliasing"
            )


def _wants(args: Any, kwargs: Any) -> bool:
    return any(t.requires_grad for t in _tensors((args, kwargs)))


def _autograd(op: CustomOpDef, args: Any, kwargs: Any, near: Any) -> None:
    if _wants(args, kwargs) and op._backward is None:
        raise OpCheckError(
            "opcheck(op, ...): test_autograd_registration failed: an argument requires a gradient, and "
            f"{op._qualname} has none (register_autograd)"
        )


def _fake(op: CustomOpDef, args: Any, kwargs: Any, near: Any) -> None:
    if op._shapes() is None:
        raise OpCheckError(f"opcheck(op, ...): test_faketensor failed: {op._qualname} has no register_fake")

    def to_meta(t: Any) -> Any:
        return t.detach().to("meta") if isinstance(t, strided.Tensor) else t

    with strided.no_grad():
        real = _tensors(op(*_copied(args), **_copied(kwargs)))
        made = _tensors(op(*tree_map(to_meta, args), **tree_map(to_meta, kwargs)))
    if [(tuple(t.shape), t.dtype) for t in real] != [(tuple(t.shape), t.dtype) for t in made]:
        raise OpCheckError(
            f"opcheck(op, ...): test_faketensor failed: results are {[(tuple(t.shape), t.dtype) for t in real]}, "
            f"register_fake says {[(tuple(t.shape), t.dtype) for t in made]}"
        )


def _twice(op: CustomOpDef, args: Any, kwargs: Any, near: Any) -> None:
    found = []
    for _ in range(2):
        given = _copied((args, kwargs))
        results = [t for t in _tensors(op(*given[0], **given[1]))]
        leaves = [t for t in _tensors(given) if t.requires_grad]
        recorded = [r for r in results if r.requires_grad]
        grads: list[Any] = []
        if leaves and recorded:
            ones = [strided.ones_like(r) for r in recorded]
            grads = list(strided.autograd.grad(recorded, leaves, ones, allow_unused=True))
            for leaf, g in zip(leaves, grads):
                if g is not None and (g.shape != leaf.shape or g.dtype != leaf.dtype):
                    raise OpCheckError(
                        f"opcheck(op, ...): test_aot_dispatch_dynamic failed: a gradient of shape {tuple(g.shape)} and "
                        f"{g.dtype} for an argument of shape {tuple(leaf.shape)} and {leaf.dtype}"
                    )
        found.append([*results, *(g for g in grads if g is not None)])
    for one, two in zip(*found):
        try:
            strided.testing.assert_close(one, two, equal_nan=True, **near)
        except AssertionError as error:
            raise OpCheckError(f"opcheck(op, ...): test_aot_dispatch_dynamic failed: {error}") from None


CHECKS = {
    "test_schema": _schema,
    "test_autograd_registration": _autograd,
    "test_faketensor": _fake,
    "test_aot_dispatch_dynamic": _twice,
}


def run(op: CustomOpDef, args: Any, kwargs: Any, names: Any, raising: bool, atol: Any, rtol: Any) -> dict[str, Any]:
    """{name: "SUCCESS" or the failure}."""
    unknown = set(names) - CHECKS.keys()
    if unknown:
        raise ValueError(f"opcheck(op, ..., test_utils={names}), expected test_utils to be subset of {tuple(CHECKS)}")
    near = {} if atol is None and rtol is None else {"atol": atol or 0.0, "rtol": rtol or 0.0}
    found: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS[name](op, args, kwargs, near)
            found[name] = "SUCCESS"
        except Exception as error:
            if raising:
                raise
            found[name] = error
    return found
