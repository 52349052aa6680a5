"""One step of a recorded program (``strided.fx.node``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Node", "map_aggregate", "map_arg"]

# What programs annotate steps with.
Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The argument with every leaf of its tuples, lists, dicts and slices replaced by ``fn(leaf)``."""
    if isinstance(a, tuple):
        items = [map_aggregate(x, fn) for x in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The argument with every Node in it replaced by ``fn(node)``."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _format(a):
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple):
        return f"({', '.join(map(_format, a))}{',' * (len(a) == 1)})"
    if isinstance(a, list):
        return f"[{', '.join(map(_format, a))}]"
    if isinstance(a, dict):
        return f"{{{', '.join(f'{k}: {_format(v)}' for k, v in a.items())}}}"
    return str(a)


def _qualified(target):
    from ._code import public_name

    if isinstance(target, str):
        return target
    name = getattr(target, "__name__", str(target))
    module = (getattr(target, "__module__", None) or "").replace("_operator", "operator")
    return public_name(target) or (f"{module}.{name}" if module else name)


class Node:
    """A step: what is called, with what, and who reads the result. ``Graph`` makes them.

    Attributes:
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
        target: the name of an input, attribute, method or module; the function itself for "call_function".
        args, kwargs: of the call; nodes stand for their results. users: nodes that read this one, as a dict.
        meta: for notes of programs that work on graphs. type: an annotation, or None.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Any, args: Any, kwargs: Any, return_type: Any = None
    ) -> None:
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self._inputs: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._before = self._after = self
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args, kwargs):
        for used in self._inputs:
            used.users.pop(self, None)
        self._inputs = {}
        self._args, self._kwargs = tuple(args), dict(kwargs)
        map_arg((self._args, self._kwargs), lambda n: self._inputs.setdefault(n))
        for used in self._inputs:
            used.users.setdefault(self)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, args: Any) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Any) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._inputs)

    @property
    def next(self) -> Node:
        """The step after this one."""
        return self._after

    @property
    def prev(self) -> Node:
        """The step before this one."""
        return self._before

    def _unlink(self):
        self._before._after, self._after._before = self._after, self._before

    def prepend(self, x: Node) -> None:
        """Moves x to the place before this node."""
        if x is self:
            return
        x._unlink()
        x._before, x._after = self._before, self
        self._before._after = self._before = x

    def append(self, x: Node) -> None:
        """Moves x to the place after this node."""
        self._after.prepend(x)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces one positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Puts a positional argument before another one, or after the last."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError(f"insert_args index must be between 0 and len(self.args), got {idx}")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replaces one argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Reads another node in the place of one."""

        def swap(n: Node) -> Node:
            return new_input if n is old_input else n

        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True
    ) -> list[Node]:
        """Lets the users of this node, those the callback says yes to, read another one, and returns them."""
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    def is_impure(self) -> bool:
        """Whether the step counts even if nobody reads it: inputs and outputs."""
        return self.op in ("placeholder", "output")

    def format_node(self) -> str:
        """One line about the node."""
        from ._code import type_name

        if self.op == "output":
            return f"return {self._args[0]}"
        kind = "" if self.type is None else f"{type_name(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target={_qualified(self.target)}]"
        if self.op == "placeholder":
            return head + (f"(default={self._args[0]})" if self._args else "")
        if self.op == "get_attr":
            return head
        return f"{head}(args = {_format(self._args)}, kwargs = {_format(self._kwargs)})"

    def __repr__(self) -> str:
        return self.name
