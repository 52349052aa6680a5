"""While the package loads, its modules import each other in one direction only (docs/architecture.md)."""

import ast
from pathlib import Path

import strided

PACKAGE = Path(strided.__file__).parent


def module_name(path):
    parts = ["strided", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_while_loading(tree, name, is_package):
    """Names of modules and of what they hold, as far as a statement outside functions imports them."""

    def absolute(node):
        if not node.level:
            return node.module
        parts = name.split(".")
        base = parts[: len(parts) + is_package - node.level]
        return ".".join([*base, *([node.module] if node.module else [])])

    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name != "strided")
        if isinstance(node, ast.ImportFrom):
            yield from (f"{absolute(node)}.{a.name}" for a in node.names)
        waiting += ast.iter_child_nodes(node)


def graph_of(files):
    """{module: the modules that it imports while it loads}; the compiled core is not among them."""
    graph = {}
    for name, path in files.items():
        tree = ast.parse(path.read_text("utf-8"))
        found = set()
        for full in imported_while_loading(tree, name, path.name == "__init__.py"):
            if full.startswith("strided._C"):
                continue
            found.add(full if full in files else full.rpartition(".")[0])
        graph[name] = found & files.keys() - {name}
    return graph


def circle(graph):
    """Modules that import each other, in order, or nothing."""
    done, path = set(), []

    def visit(one):
        if one in path:
            return path[path.index(one) :]
        if one in done:
            return []
        path.append(one)
        for other in sorted(graph[one]):
            if found := visit(other):
                return found
        done.add(path.pop())
        return []

    for one in sorted(graph):
        if found := visit(one):
            return found
    return []


def test_modules_import_each_other_in_one_direction():
    graph = graph_of({module_name(path): path for path in PACKAGE.rglob("*.py")})
    assert len(graph) > 500 and graph["strided._tensor"] >= {"strided._objects.printing", "strided._objects.layouts"}
    assert not circle(graph)


def test_a_circle_is_found():
    graph = {"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": set()}
    assert circle(graph) == ["a", "b", "c"]
    graph["c"] = {"d"}
    assert circle(graph) == []


def test_imports_of_functions_and_annotations_do_not_count():
    text = """
import strided
from . import one
from .two import x
if TYPE_CHECKING:
    from . import three
def f():
    from . import four
"""
    found = set(imported_while_loading(ast.parse(text), "strided.nn.act", False))
    assert found == {"strided.nn.one", "strided.nn.two.x"}
