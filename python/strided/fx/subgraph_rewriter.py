"""Parts of a graph found by a pattern and replaced (``strided.fx.subgraph_rewriter``).

A pattern is itself a recorded program. It is laid on the graph from its results backward: a step fits one with the
same operation, target and arguments, an input of the pattern fits any value, always the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _at, _put
from .node import Node, map_arg

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern lay: the step of the pattern that the search began at, one of its results, and for each step and
    input of the pattern what it fit in the graph."""

    anchor: Node
    nodes_map: dict[Node, Any]


def _graph_of(program: Callable[..., Any] | GraphModule | Graph) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _results(graph: Graph) -> list[Any]:
    result = graph.output_node().args[0]
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _fits(p: Any, g: Any, found: dict[Node, Any]) -> bool:
    """Whether the argument g fits that of the pattern; what fits is noted in `found`."""
    if isinstance(p, Node):
        if p in found:
            known = found[p]
            return known is g or (not isinstance(g, Node) and type(known) is type(g) and bool(known == g))
        if p.op == "placeholder":
            found[p] = g
            return True
        if not isinstance(g, Node) or p.op != g.op or p.target != g.target or p.kwargs.keys() != g.kwargs.keys():
            return False
        found[p] = g
        return _fits(p.args, g.args, found) and all(_fits(v, g.kwargs[k], found) for k, v in p.kwargs.items())
    if isinstance(p, (tuple, list)):
        return isinstance(g, (tuple, list)) and len(p) == len(g) and all(_fits(a, b, found) for a, b in zip(p, g))
    if isinstance(p, slice):
        return isinstance(g, slice) and _fits((p.start, p.stop, p.step), (g.start, g.stop, g.step), found)
    if isinstance(p, dict):
        return isinstance(g, dict) and p.keys() == g.keys() and all(_fits(v, g[k], found) for k, v in p.items())
    return not isinstance(g, Node) and type(p) is type(g) and bool(p == g)


def _places(results: list[Node], nodes: list[Node], found: dict[Node, Any]) -> Iterator[dict[Node, Any]]:
    """All ways to lay the results of a pattern on the steps of a graph."""
    if not results:
        yield found
        return
    for g in nodes:
        trial = dict(found)
        if _fits(results[0], g, trial):
            yield from _places(results[1:], nodes, trial)


def _inner(found: dict[Node, Any]) -> list[Node]:
    return [g for p, g in found.items() if p.op != "placeholder"]


def _is_closed(found: dict[Node, Any], results: list[Node]) -> bool:
    """Whether only results are read outside, and no step serves twice."""
    inner = _inner(found)
    own, outer = set(inner), {found[p] for p in results}
    return len(own) == len(inner) and all(g in outer or own.issuperset(g.users) for g in inner)


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replaces every part of a program that has the form of a pattern, and returns what was found.

    Args:
        gm: the module whose program is changed; its code is made anew.
        pattern, replacement: functions or modules with as many inputs and results as each other. Modules and
            parameters that the replacement uses and `gm` lacks are taken over.

    Parts that overlap an earlier one stay, and so do parts whose inner results are read elsewhere.
    Raises AssertionError if the numbers of inputs differ, RuntimeError if those of results do, or if a result of the
    pattern is no step of it.

    >>> gm = strided.fx.symbolic_trace(lambda x, y: strided.relu(x + y))
    >>> len(strided.fx.replace_pattern(gm, lambda a, b: a + b, lambda a, b: a * b))
    1
    >>> gm(strided.tensor([2.]), strided.tensor([3.]))
    tensor([6.])
    """
    old, new = _graph_of(pattern), _graph_of(replacement)
    inputs, new_inputs = old.find_nodes(op="placeholder"), new.find_nodes(op="placeholder")
    if len(inputs) != len(new_inputs):
        raise AssertionError(
            f"the pattern has {len(inputs)} inputs, the replacement {len(new_inputs)}; they must be as many"
        )
    results = _results(old)
    if len(results) != len(_results(new)):
        raise RuntimeError(f"the pattern has {len(results)} results, the replacement {len(_results(new))}")
    if not results or not all(isinstance(r, Node) and r.op != "placeholder" for r in results):
        raise RuntimeError("replace_pattern: the results of a pattern must be steps of it")
    anchor = next((r for r in results if len(r.users) == 1), results[0])  # one that the pattern itself does not read
    used: set[Node] = set()
    matches: list[Match] = []
    nodes = list(gm.graph.nodes)
    for found in _places(results, nodes, {}):
        if used.isdisjoint(_inner(found)) and _is_closed(found, results):
            used.update(_inner(found))
            matches.append(Match(anchor, found))
    changed: dict[Node, Any] = {}
    done = [m for m in matches if _put_in_place(gm, m, inputs, results, new, new_inputs, changed)]
    if done and hasattr(replacement, "named_modules"):
        _take_over(gm, replacement, new)
    gm.recompile()
    return done


def _put_in_place(
    gm: GraphModule, match: Match, inputs: list[Node], results: list[Node], new: Graph, new_inputs: list[Node],
    changed: dict[Node, Any],
) -> bool:  # fmt: skip
    """Writes the replacement before the first reader of a result; False if an input is computed only later."""
    graph, found = gm.graph, match.nodes_map
    order = {n: i for i, n in enumerate(graph.nodes)}

    def current(value: Any) -> Any:
        while isinstance(value, Node) and value in changed:
            value = changed[value]
        return value

    own = set(_inner(found))
    given = [map_arg(found[p], current) if p in found else None for p in inputs]
    readers = [u for p in results for u in found[p].users if u not in own]
    if not readers:  # nobody reads it: the place of the last step
        before = found[results[-1]]
    else:
        before = min(readers, key=order.__getitem__)
    needed: list[Node] = []
    map_arg(given, needed.append)
    if any(order[n] >= order[before] for n in needed):
        return False
    copies: dict[Node, Any] = dict(zip(new_inputs, given))
    with graph.inserting_before(before):
        for node in new.nodes:
            if node.op not in ("placeholder", "output"):
                copies[node] = graph.node_copy(node, lambda n: copies[n])
    for p, r in zip(results, _results(new)):
        value = map_arg(r, lambda n: copies[n])
        for user in [u for u in found[p].users if u not in own]:
            target = found[p]
            swap = lambda n, t=target, v=value: v if n is t else n  # noqa: E731
            user.args, user.kwargs = map_arg(user.args, swap), map_arg(user.kwargs, swap)
        changed[found[p]] = value
    for node in sorted(own, key=order.__getitem__, reverse=True):
        graph.erase_node(node)
    return True


def _take_over(gm: GraphModule, source: Any, graph: Graph) -> None:
    for node in graph.nodes:
        if node.op in ("get_attr", "call_module"):
            try:
                _at(gm, node.target)
            except AttributeError:
                _put(gm, node.target, _at(source, node.target))
