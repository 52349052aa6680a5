"""Nests of containers as trees (``strided.utils._pytree``): their leaves, and the same nest with other leaves.

Nodes are tuples, sizes (which become tuples), lists, dicts, ``OrderedDict``, ``defaultdict``, ``deque``, named tuples,
and the classes that were registered. Anything else is a leaf, None too.

>>> leaves, spec = tree_flatten({"a": [1, 2], "b": (3,)})
>>> leaves
[1, 2, 3]
>>> tree_unflatten([x * 10 for x in leaves], spec)
{'a': [10, 20], 'b': (30,)}
"""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import strided

from .._C import Size

__all__ = [
    "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "keystr", "register_constant",
    "arg_tree_leaves", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any",
    "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves",
    "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path",
    "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


class SequenceKey(NamedTuple):
    """Position `idx` of a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What stands there."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """Key `key` of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What stands there."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """Attribute `name` of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What stands there."""
        return getattr(obj, self.name)


class NodeDef(NamedTuple):
    """How the nodes of a class come apart, and are put together."""

    type: type
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[type, NodeDef] = {}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Makes objects of `cls` (not of its subclasses) nodes.

    Args:
        cls: the class.
        flatten_fn: an object to (its children, whatever else it takes to make it).
        unflatten_fn: the children and the latter to an object.
        serialized_type_name: unused, as the next two: specs are not written to files.
        to_dumpable_context: unused.
        from_dumpable_context: unused.
        flatten_with_keys_fn: as flatten_fn, with a key beside each child; its position if there is none.

    Raises:
        ValueError: the class was registered before.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, *unused: Any, **options: Any) -> None:
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def register_constant(cls: type) -> None:
    """Makes objects of `cls` nodes without children: they are part of the structure."""
    register_pytree_node(cls, lambda obj: ([], obj), lambda _, obj: obj)


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes objects of a dataclass nodes, whose children are the fields that are not None."""
    drop = set(drop_field_names or ())
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.init and f.name not in drop]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        there = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in there], [there, [n for n in names if n not in there]]

    def unflatten(children: Iterable[Any], context: Any) -> Any:
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, context = flatten(obj)
        return [(GetAttrKey(n), c) for n, c in zip(context[0], children)], context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=with_keys)


def _by_keys(mapping: Any, context: Any) -> tuple[list[tuple[Any, Any]], Any]:
    return [(MappingKey(k), v) for k, v in mapping.items()], context


def is_namedtuple(obj: Any) -> bool:
    """Whether it is a named tuple, or the class of some."""
    cls = obj if isinstance(obj, type) else type(obj)
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and isinstance(fields, tuple) and all(isinstance(f, str) for f in fields)


is_namedtuple_instance = is_namedtuple_class = is_namedtuple


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is one of the named tuples of Python in C, as ``os.stat_result``, or of ``return_types``."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is of such a class."""
    return is_structseq_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether an object is such a class, or of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Any]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Any]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    # Classes of return_types have no _make.
    return context._make(values) if hasattr(context, "_make") else tuple.__new__(context, values)


def _is_named(tree: Any) -> bool:
    """Whether it is a named tuple, or what a function of several results returned."""
    if not isinstance(tree, tuple):
        return False
    cls = type(tree)
    return is_namedtuple_class(cls) or vars(strided.return_types).get(cls.__name__) is cls


def _list_flatten(d: list[Any]) -> tuple[list[Any], Any]:
    return d, None


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Any]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], Any]:
    return _by_keys(d, list(d))


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values))


register_pytree_node(tuple, _tuple_flatten, _tuple_unflatten)
register_pytree_node(Size, _tuple_flatten, _tuple_unflatten)  # mapped it need not hold numbers
register_pytree_node(list, _list_flatten, _list_unflatten)
register_pytree_node(dict, _dict_flatten, _dict_unflatten, flatten_with_keys_fn=_dict_flatten_with_keys)
register_pytree_node(
    OrderedDict,
    lambda d: (list(d.values()), list(d)),
    lambda c, keys: OrderedDict(zip(keys, c)),
    flatten_with_keys_fn=lambda d: _by_keys(d, list(d)),
)
register_pytree_node(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda c, context: defaultdict(context[0], zip(context[1], c)),
    flatten_with_keys_fn=lambda d: _by_keys(d, [d.default_factory, list(d)]),
)
register_pytree_node(deque, lambda d: (list(d), d.maxlen), lambda c, most: deque(c, maxlen=most))
_NAMED = NodeDef(
    tuple,
    _namedtuple_flatten,
    _namedtuple_unflatten,
    lambda t: ([(GetAttrKey(n), v) for n, v in zip(type(t).__match_args__, t)], type(t)),
)


SUPPORTED_NODES[namedtuple] = _NAMED  # type: ignore[index]  # the key under which PyTorch has named tuples


def _get_node_type(tree: Any) -> Any:
    """The key of ``SUPPORTED_NODES`` for an object: its type, or ``collections.namedtuple`` for named tuples."""
    return namedtuple if _is_named(tree) else type(tree)


def _node_of(tree: Any) -> NodeDef | None:
    return SUPPORTED_NODES.get(type(tree)) or (_NAMED if _is_named(tree) else None)


class TreeSpec:
    """The structure of a nest: what stands at a node, and the specs of its children.

    Attributes: type, context, children_specs (the arguments), num_nodes, num_leaves, num_children.
    """

    __slots__ = ("type", "context", "children_specs", "num_nodes", "num_leaves", "num_children", "_make")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec], make: Any = None) -> None:
        if make is None and type in SUPPORTED_NODES:  # made by a program, of what SUPPORTED_NODES says
            make = SUPPORTED_NODES[type].unflatten_fn
        self.type, self.context, self.children_specs, self._make = type, context, children_specs, make
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    def is_leaf(self) -> bool:
        """Whether it is that of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """One of them."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The nest with these leaves; ValueError if they are too few or too many."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that "
                f"holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> Any:
        if self.type is None:
            return next(leaves)
        return self._make([c._build(leaves) for c in self.children_specs], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` that stand where this spec has leaves; ValueError where it is another nest."""
        found: list[Any] = []
        self._collect(tree, found)
        return found

    def _collect(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        node = _node_of(tree)
        children, context = ([], None) if node is None else node.flatten_fn(tree)
        mappings = (dict, OrderedDict, defaultdict)
        if self.type in mappings and type(tree) in mappings:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError(f"Node keys mismatch; expected {list(keys)!r}, but got {list(tree)!r}.")
            children = [tree[k] for k in keys]
        elif node is None or type(tree) is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        elif len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        elif context != self.context and self.type is not deque:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        for spec, child in zip(self.children_specs, children):
            spec._collect(child, found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        inside = (",\n" + " " * (indent + 2)).join(c.__repr__(indent + 2) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __repr__(self, indent: int = 0) -> str:
        return "*"


_LEAF = LeafSpec()


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is a leaf: not a node, or is_leaf says so."""
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


_is_leaf = tree_is_leaf


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    return TreeSpec(type(tree), context, [_flatten(c, leaves, is_leaf) for c in children], node.unflatten_fn)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """(leaves, structure); a nest for which is_leaf is true counts as a leaf."""
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The nest of that structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments.

    >>> arg_tree_leaves([1, 2], (3,), key={"a": 4})
    [1, 2, 3, 4]
    """
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_leaves(tree)]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """The leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The nest with func(leaf, and what stands there in each of `rests`) for each leaf.

    >>> tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As tree_map, for what func does; returns `tree`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matcher(kind: Any) -> Callable[[Any], bool]:
    if isinstance(kind, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, kind)
    if callable(kind):
        return kind
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is called for leaves of these types (or for which it is true), others stay."""
    fits = _matcher(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if fits(x) else x


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """tree_map for the leaves of these types (or for which it is true); the others stay.

    >>> tree_map_only(int, lambda n: -n, [1, "a"])
    [-1, 'a']
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As tree_map_only, for what func does; returns `tree`."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is true of some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is true of all leaves of these types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether it is true of some leaf of these types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, type_or_types))


def _with_paths(tree: Any, path: tuple[Any, ...], is_leaf: IsLeaf) -> Iterable[tuple[tuple[Any, ...], Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is not None:
        pairs = node.flatten_with_keys_fn(tree)[0]
    else:
        pairs = [(SequenceKey(i), c) for i, c in enumerate(node.flatten_fn(tree)[0])]
    for key, child in pairs:
        yield from _with_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """(path, leaf) of each; a path is a tuple of keys."""
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """(path, leaf) of each, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """tree_map with func(path, leaf, ...).

    >>> tree_map_with_path(lambda path, x: keystr(path), {"a": [1, 2]})
    {'a': ["['a'][0]", "['a'][1]"]}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [list(column) for column in zip(*pairs)] or [[], []]
    return spec.unflatten(map(func, *columns, *(spec.flatten_up_to(rest) for rest in rests)))


def keystr(kp: tuple[Any, ...]) -> str:
    """A path as a text."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """What stands at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of `tree`, each as often as the structure has leaves below its place; None where it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or type(tree) is not treespec.type:
        return None
    node = _node_of(tree)
    children, context = node.flatten_fn(tree) if node else ([], None)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    parts = [_broadcast_to_and_flatten(c, s, is_leaf) for c, s in zip(children, treespec.children_specs)]
    return None if any(p is None for p in parts) else [x for p in parts for x in p or ()]
