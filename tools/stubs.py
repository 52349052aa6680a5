"""Writes the stubs (.pyi) of the modules whose names arrive when the package is imported.

    python tools/stubs.py            writes them beside the modules
    python tools/stubs.py --check    says which ones are not as they would be written

What the compiled core registers carries its types in its signatures (compared with the C++ parameters by a test), and
functions written in Python carry annotations.  Only the members of the C types are listed here, in CORE; a member
without a line in it, or a line without a member, is an error.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import keyword
import re
import sys
import types
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "strided"
MODULES = ("__init__", "_C", "linalg", "return_types", "special")

HEADER = """# Written by `python tools/stubs.py`; changes by hand are lost.
from builtins import (
    bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list,
    object as _object, str as _str, tuple as _tuple, type as _type,
)
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, overload

from numpy import ndarray

"""
# (module, name, name in the stub); where a stub has a name of its own, that one is meant.
IMPORTS = [
    *(("._typing", name, name) for name in ("DType", "Device", "Index", "Number", "Sizes", "TensorOrNumber")),
    *(("._C", name, name) for name in ("Generator", "Size", "Tensor", "UntypedStorage")),
    ("._C", "device", "_device"),
    ("._C", "dtype", "_dtype"),
    ("._objects", "storage", "_storage"),
    (".", "layout", "_layout"),
    (".", "memory_format", "_memory_format"),
    (".", "return_types", "return_types"),
]

# The types of signatures (csrc/python/function.h) in Python's words.
TYPES = {
    "Tensor": "Tensor",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor?[]": "Sequence[Tensor | None]",
    "TensorOrNumber": "TensorOrNumber",
    "Number": "Number",
    "int": "_int",
    "int[]": "Sizes",
    "int[][]": "Sequence[Sequence[_int]]",
    "float": "_float",
    "float[]": "Sequence[_float]",
    "bool": "_bool",
    "str": "_str",
    "dtype": "DType",
    "device": "Device",
    "layout": "_layout",
    "memory_format": "_memory_format",
    "Generator": "Generator",
    "Any": "Any",
}
RESULTS = TYPES | {
    "Tensor[]": "_tuple[Tensor, ...]",
    "dtype": "_dtype",
    "Size": "Size",
    "None": "None",
    "dict": "_dict[_str, Any]",
}

_unary = "(self) -> Tensor"
_binary = "(self, other: TensorOrNumber) -> Tensor"
BASES = {"FunctionNode": "(Node)", "Size": "(_tuple[_int, ...])"}
# The members of the types that C makes: a type for an attribute that is read only, `= type` for one that can be set,
# `(...) -> type` for a method, several of them for one with several forms.
CORE = {
    "Tensor": {
        "__new__": "(cls, *args: Any, device: Device | None = None) -> Tensor",
        **{f"__{n}__": _unary for n in "neg pos abs invert".split()},
        **{
            f"__{r}{n}__": _binary
            for n in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
            for r in ("", "r")
        },
        **{f"__i{n}__": _binary for n in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()},
        **{f"__{n}__": _binary for n in "div rdiv idiv lt le gt ge".split()},
        "__eq__": "(self, other: Any) -> Tensor:  # type: ignore[override]",
        "__ne__": "(self, other: Any) -> Tensor:  # type: ignore[override]",
        "__hash__": "(self) -> _int",
        "__bool__": "(self) -> _bool",
        "__int__": "(self) -> _int",
        "__float__": "(self) -> _float",
        "__complex__": "(self) -> _complex",
        "__index__": "(self) -> _int",
        "__len__": "(self) -> _int",
        "__iter__": "(self) -> Iterator[Tensor]",
        "__getitem__": "(self, index: Index) -> Tensor",
        "__setitem__": "(self, index: Index, value: TensorOrNumber | ndarray[Any, Any]) -> None",
        "__buffer__": "(self, flags: _int, /) -> memoryview",
        "shape": "Size",
        "ndim": "_int",
        "dtype": "_dtype",
        "device": "_device",
        "itemsize": "_int",
        "nbytes": "_int",
        "is_cpu": "_bool",
        "is_cuda": "_bool",
        "is_meta": "_bool",
        "is_xla": "_bool",
        **{
            f"is_{name}": "_bool"
            for name in "ipu maia mkldnn mps mtia nested quantized sparse sparse_csr vulkan xpu".split()
        },
        "grad_dtype": "_dtype | None",
        "name": "None",
        "volatile": "_bool",
        "is_read_only": "_bool",
        "T": "Tensor",
        "mT": "Tensor",
        "H": "Tensor",
        "mH": "Tensor",
        "real": "Tensor",
        "imag": "Tensor",
        "is_leaf": "_bool",
        "grad_fn": "Node | None",
        "output_nr": "_int",
        "retains_grad": "_bool",
        "requires_grad": "= _bool",
        "grad": "= Tensor | None",
        "data": "= Tensor",
        "item": "(self) -> _int | _float",
        "tolist": "(self) -> Any",
        "size": ("(self) -> Size", "(self, dim: _int) -> _int"),
        "stride": ("(self) -> _tuple[_int, ...]", "(self, dim: _int) -> _int"),
        "is_contiguous": "(self, memory_format: _memory_format | None = None) -> _bool",
        **dict.fromkeys("dim ndimension numel nelement storage_offset data_ptr element_size".split(), "(self) -> _int"),
        "detach": "(self) -> Tensor",
        "detach_": "(self) -> Tensor",
        "retain_grad": "(self) -> None",
        "register_hook": "(self, hook: Callable[[Tensor], Any]) -> RemovableHandle",
        "register_post_accumulate_grad_hook": "(self, hook: Callable[[Tensor], Any]) -> RemovableHandle",
        "type": ("(self) -> _str", "(self, dtype: DType | _str, non_blocking: _bool = False) -> Tensor"),
        "layout": "_layout",
        "names": "_tuple[None, ...]",
        "__format__": "(self, spec: _str) -> _str",
        "as_subclass": "(self, cls: _type[Any], /) -> Any",
        "__torch_dispatch__": "(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any",
        "__torch_function__": "(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ..., /) -> Any",
    },
    "dtype": {
        "is_floating_point": "_bool",
        "is_complex": "_bool",
        "is_signed": "_bool",
        "itemsize": "_int",
        "to_real": "(self) -> _dtype",
        "to_complex": "(self) -> _dtype",
    },
    "device": {
        "__new__": "(cls, type: Device = ..., index: _int | None = None, *, device: Device = ...) -> _device",
        "__enter__": "(self) -> _device",
        "__exit__": "(self, *exc: object) -> None",
        "type": "_str",
        "index": "_int | None",
        "__eq__": "(self, other: _object) -> _bool",
        "__hash__": "(self) -> _int",
    },
    "Size": {
        "__new__": "(cls, iterable: Iterable[SupportsIndex] = ()) -> Size",
        "__getitem__": ("(self, at: SupportsIndex) -> _int", "(self, at: slice) -> Size"),
        "__add__": "(self, other: _tuple[_int, ...]) -> Size:  # type: ignore[override]",
        "__radd__": "(self, other: _tuple[_int, ...]) -> Size",
        "__mul__": "(self, times: SupportsIndex) -> Size",
        "__rmul__": "(self, times: SupportsIndex) -> Size",
        "__reduce__": "(self) -> _tuple[Any, ...]",
        "numel": "(self) -> _int",
    },
    "Generator": {
        "__init__": "(self, device: Device | None = None) -> None",
        "device": "_device",
        "manual_seed": "(self, seed: _int) -> Generator",
        "seed": "(self) -> _int",
        "initial_seed": "(self) -> _int",
        "get_state": "(self) -> Tensor",
        "set_state": "(self, state: Tensor) -> Generator",
        "clone_state": "(self) -> Generator",
    },
    "UntypedStorage": {
        "__new__": "(cls, nbytes: _int | Sequence[_int] = 0, *, device: Any = None) -> UntypedStorage",
        "device": "_device",
        "is_read_only": "_bool",
        **dict.fromkeys("nbytes size __len__ data_ptr __hash__".split(), "(self) -> _int"),
        "resize_": "(self, size: _int) -> None",
        "resizable": "(self) -> _bool",
        "from_file": "(cls, filename: Any, shared: _bool = False, nbytes: _int = 0) -> UntypedStorage",
        "from_buffer": "(cls, buffer: Any, byte_order: _str | None = None, count: _int = -1, offset: _int = 0, *, "
        "dtype: DType | None = None) -> UntypedStorage",
        "is_cuda": "_bool",
        "is_sparse": "_bool",
        "filename": "None",
        "__eq__": "(self, other: _object) -> _bool",
    },
    "OverridableFunction": {
        "__call__": "(self, *args: Any, **kwargs: Any) -> Any",
        "__get__": "(self, instance: Any, owner: Any = None) -> Any",
        "__wrapped__": "Any",
        "__signature__": "Any",
    },
    "DisableTorchFunction": {},
    "DisableTorchFunctionSubclass": {},
    "Graph": {},
    "ScriptFunction": {},
    "ScriptMethod": {},
    "Value": {},
    "Function": {
        "__call__": "(self, *args: Any, **kwargs: Any) -> Any",
        "signatures": "_tuple[_str, ...]",
        "overloads": "_tuple[Any, ...]",
        "__get__": "(self, instance: Any, owner: Any = None) -> Any",
        "__name__": "_str",
        "__qualname__": "_str",
        "__signature__": "Any",
        "__kwdefaults__": "dict[str, Any] | None",
        "__text_signature__": "_str",
    },
    "Node": {
        "metadata": "_dict[Any, Any]",
        "requires_grad": "_bool",
        "variable": "Tensor",
        "name": "(self) -> _str",
        "next_functions": "_tuple[Any, ...]",
        "__call__": "(self, *grads: Tensor | None) -> Any",
        "register_hook": "(self, hook: Callable[..., Any]) -> RemovableHandle",
        "register_prehook": "(self, hook: Callable[..., Any]) -> RemovableHandle",
    },
    "FunctionNode": {},
    "RemovableHandle": {
        "remove": "(self) -> None",
        "id": "_int",
        "__enter__": "(self) -> RemovableHandle",
        "__exit__": "(self, *exc: _object) -> None",
    },
}
# Members of every object, or ones that no program names.
UNNAMED = set(dir(object)) | {
    "__buffer__",
    "__delitem__",
    "__module__",
    "__doc__",
    "__dict__",
    "__weakref__",
    "__annotations__",
    "__release_buffer__",
    "__static_attributes__",
    "__firstlineno__",
    "__array_priority__",
    "__array_ufunc__",
    "__cuda_array_interface__",
    "__vectorcalloffset__",
    "__dictoffset__",
    "__weaklistoffset__",
}
# The parts of a result that are no tensors.
FIELDS = {("histogramdd", "bin_edges"): "_tuple[Tensor, ...]"}


problems: list[str] = []

# ---------------------------------------------------------------- functions of the compiled core


def python_type(text: str) -> str:
    optional = text.endswith("?")
    parts = [TYPES[part] for part in text.removesuffix("?").split("|")]
    return " | ".join(parts + ["None"] * optional)


def default_text(value) -> str:
    plain = (
        value is None or isinstance(value, (bool, int, str, tuple)) or isinstance(value, float) and abs(value) < 1e300
    )
    return repr(value) if plain else "..."


class Form:
    """One signature of a function: parameters (name, type, kind, default or None), and the result's type."""

    def __init__(self, params, result):
        self.params, self.result = tuple(params), result

    def text(self) -> str:
        words = []
        for name, kind_of, kind, default in self.params:
            if kind == "keyword" and not any(w.startswith("*") for w in words):
                words.append("*")
            reserved = keyword.iskeyword(name)  # `from` cannot be written as a name: by position only
            name += "_" * reserved
            words.append(
                f"*{name}: {kind_of}"
                if kind == "variadic"
                else name
                if kind_of is None
                else f"{name}: {kind_of}" + (f" = {default}" if default else "")
            )
            words += ["/"] * reserved
        return f"({', '.join(words)}) -> {self.result}"

    def is_served_by(self, other: Form) -> bool:
        """Whether every call of this form is one of the other."""
        if self.result != other.result:
            return False
        mine, theirs = {p[0]: p for p in self.params}, {p[0]: p for p in other.params}
        places = [[p[0] for p in form.params if p[2] != "keyword"] for form in (self, other)]
        if places[1][: len(places[0])] != places[0]:
            return False
        for name, (_, kind_of, kind, default) in mine.items():
            if name not in theirs:
                return False
            _, wider, its_kind, its_default = theirs[name]
            if (kind == "variadic") != (its_kind == "variadic") or kind == "positional" and its_kind != kind:
                return False
            if kind_of is not None and not set(kind_of.split(" | ")) <= set(wider.split(" | ")):
                return False
            if default and not its_default:
                return False
        return all(name in mine or p[3] or p[2] == "variadic" for name, p in theirs.items())


def forms_of(function, method: bool = False) -> list[Form]:
    name = function.__qualname__
    found = []
    for params, result, fields in function.overloads:
        words = []
        for i, (param, kind_of, kind, *default) in enumerate(params):
            if i == 0 and method:
                words.append(("self", None, kind, None))
                continue
            if i == 0 and param == "self":
                param = "input"
            words.append((param, python_type(kind_of), kind, default_text(default[0]) if default else None))
        if result.startswith("("):
            n = result.count("Tensor")
            made = (
                f"return_types.{name.removeprefix('Tensor.').replace('.', '_')}"
                if fields
                else f"_tuple[{', '.join(['Tensor'] * n)}]"
            )
            found += variadic_forms(words, made)
        elif ";" in result:
            found += conditional_forms(words, result)
        else:
            found += variadic_forms(words, RESULTS[result])
    kept: list[Form] = []
    for i, form in enumerate(found):
        others = kept + found[i + 1 :]
        if not any(form.is_served_by(other) for other in others):
            kept.append(form)
    return kept


def variadic_forms(words, result) -> list[Form]:
    """`*size` also takes one list: two forms."""
    at = next((i for i, p in enumerate(words) if p[2] == "variadic"), None)
    if at is None:
        return [Form(words, result)]
    name, kind_of, _, _ = words[at]
    one = {"Sizes": "_int", "Sequence[Tensor]": "Tensor"}[kind_of]
    many = f"Sequence[{one}]"
    return [
        Form([*words[:at], (name, one, "variadic", None), *words[at + 1 :]], result),
        Form([*words[:at], (name, many, "positional", None), *words[at + 1 :]], result),
    ]


def conditional_forms(words, text) -> list[Form]:
    """`-> Tensor; Tensor[] if a or b`: a form for no flag, one for each flag, and one for flags that are not known."""
    plain, _, rest = text.partition("; ")
    other, _, condition = rest.partition(" if ")
    plain, other, flags = RESULTS[plain], RESULTS[other], condition.split(" or ")
    found = [Form([(n, "Literal[False]" if n in flags else t, k, d) for n, t, k, d in words], plain)]
    for flag in flags:
        made, named = [], False
        for n, t, k, d in words:
            # What follows a flag that must be given, and so has no default, is given by keyword.
            named = named or n == flag
            made.append((n, "Literal[True]" if n == flag else t, "keyword" if named else k, None if n == flag else d))
        found.append(Form(made, other))
    return [*found, Form(words, f"{plain} | {other}")]


def function_lines(shown: str, forms: list[str], decorator: str = "") -> list[str]:
    lines = []
    for form in forms:
        head, colon, comment = form.partition(":  #")
        lines += ["@overload"] * (len(forms) > 1) + [decorator] * bool(decorator)
        lines.append(f"def {shown}{head}: ...{'  #' + comment if colon else ''}")
    return lines


# ---------------------------------------------------------------- what is written in Python


class Renames(ast.NodeTransformer):
    """Names that a stub hides by names of its own (float, dtype) as the aliases of its header."""

    def visit_Name(self, node):  # noqa: N802
        known = {"dtype", "device"} | {
            n for n in "bool bytes complex dict float int list object str tuple type".split()
        }
        return ast.Name("_" + node.id) if node.id in known else node

    def visit_Attribute(self, node):  # noqa: N802
        if isinstance(node.value, ast.Name) and node.value.id == "_C":
            return ast.Name("_" + node.attr if node.attr in ("dtype", "device") else node.attr)
        return node


def annotation_text(annotation) -> str:
    if not isinstance(annotation, str):
        annotation = "None" if annotation is None else inspect.formatannotation(annotation)
    return ast.unparse(Renames().visit(ast.parse(annotation, mode="eval")).body)


def written_form(where: str, function) -> str:
    signature = inspect.signature(function)
    words, star = [], False
    for i, p in enumerate(signature.parameters.values()):
        if p.kind == p.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        name = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        star = star or p.kind == p.VAR_POSITIONAL
        receiver = i == 0 and ("." in where and "Tensor." in where or p.name in ("self", "cls"))
        if receiver:
            words.append("self" if where.startswith("Tensor.") else p.name)
            continue
        if p.annotation is p.empty:
            problems.append(f"{where}: parameter {p.name} has no annotation")
            continue
        default = "" if p.default is p.empty else f" = {default_text(p.default)}"
        words.append(f"{name}: {annotation_text(p.annotation)}{default}")
    if signature.return_annotation is signature.empty:
        problems.append(f"{where}: no annotation of the result")
        return "()"
    return f"({', '.join(words)}) -> {annotation_text(signature.return_annotation)}"


_sources: dict[str, dict[str, str]] = {}


def stands_in(module: str, name: str) -> bool:
    """Whether the source of a module has a top-level `def name` or `class name`."""
    if module not in _sources:
        path = Path(importlib.import_module(module).__file__)
        tree = ast.parse(path.read_text("utf-8")) if path.suffix == ".py" else ast.Module([], [])
        _sources[module] = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return name in _sources[module]


def relative(module: str) -> str:
    return "." + module.removeprefix("strided").lstrip(".")


def class_lines(where: str, cls: type) -> list[str]:
    """A class that is written in the module itself, or made while it is imported."""
    bases = [b.__name__ for b in cls.__bases__ if b is not object]
    lines = []
    for name, value in vars(cls).items():
        if isinstance(value, types.FunctionType) and (
            not name.startswith("_") or name in ("__init__", "__enter__", "__exit__")
        ):
            lines += function_lines(name, [written_form(f"{where}.{name}", value)])
    head = f"class {cls.__name__}{'(' + ', '.join(bases) + ')' if bases else ''}:"
    return [head + " ..."] if not lines else [head, *("    " + line for line in lines)]


# ---------------------------------------------------------------- the members of the C types


def written(value):
    """A function as it was written in Python."""
    return value.__wrapped__ if isinstance(value, _C.OverridableFunction) else value


def core_lines(cls: type) -> list[str]:
    name, table = cls.__name__, dict(CORE[cls.__name__])
    lines = [f"class {name}{BASES.get(name, '')}:"]
    body = []
    if "__buffer__" in table:  # which Python shows since 3.12 only
        body += function_lines("__buffer__", [table.pop("__buffer__")])
    for member, value in sorted(vars(cls).items()):
        forms, value = table.pop(member, None), written(value)
        if forms is None and isinstance(value, (types.FunctionType, _C.Function)):
            if member.startswith("_") and not member.startswith("__"):
                continue
            if isinstance(value, _C.Function):
                body += function_lines(member, [f.text() for f in forms_of(value, method=True)])
            elif member not in UNNAMED:
                body += function_lines(member, [written_form(f"{name}.{member}", value)])
        elif forms is None and isinstance(value, bool):
            body.append(f"{member}: _bool")
        elif forms is None:
            if (
                member not in UNNAMED
                and not (member.startswith("_") and not member.startswith("__"))
                and not member.startswith("_pybind")
            ):
                problems.append(f"CORE has no line for {name}.{member}")
        elif isinstance(forms, str) and forms.startswith("= "):
            body.append(f"{member}: {forms[2:]}")
        elif isinstance(forms, str) and not forms.startswith("("):
            body += ["@property", f"def {member}(self) -> {forms}: ..."]
        else:
            forms = [forms] if isinstance(forms, str) else list(forms)
            of_class = forms[0].startswith("(cls") and member != "__new__"
            body += function_lines(member, forms, "@classmethod" if of_class else "")
    if table:
        problems.append(f"CORE has lines for members that {name} does not have: {', '.join(table)}")
    return lines + ["    " + line for line in body or ["..."]]


def pybind_form(function) -> str:
    """From the first line of what pybind11 writes into the docstring: name(arg0: type, ...) -> type."""
    known = {
        "int": "_int",
        "bool": "_bool",
        "float": "_float",
        "str": "_str",
        "None": "None",
        "dict": "_dict[_str, Any]",
    }
    text = (function.__doc__ or "").splitlines()[0] if function.__doc__ else ""
    match = re.fullmatch(r"\w+\((.*)\) -> (.+)", text)
    if match is None:
        return "(*args: Any, **kwargs: Any) -> Any"
    words = []
    for part in filter(None, match[1].split(", ")):
        name, _, rest = part.partition(": ")
        kind, _, default = rest.partition(" = ")
        kind = "_int" if "SupportsInt" in kind else "_float" if "SupportsFloat" in kind else known.get(kind, "Any")
        words.append(f"{name}: {kind}" + (f" = {default}" if default else ""))
    return f"({', '.join(words)}) -> {known.get(match[2], match[2] if match[2] == 'Generator' else 'Any')}"


# ---------------------------------------------------------------- modules


def value_type(value) -> str:
    kind = type(value)
    if value is None:
        return "None"
    if kind in (bool, int, float, str):
        return "_" + kind.__name__
    if kind is dict:
        return (
            "_dict[_str, Any]"
            if not value or not isinstance(next(iter(value.values())), _C.Function)
            else "_dict[_str, Function]"
        )
    if kind is tuple:
        return "_tuple[_dtype, ...]"
    return {"dtype": "_dtype", "device": "_device"}.get(kind.__name__, kind.__name__)


def public_names(module) -> list[str]:
    return [n for n in dir(module) if not n.startswith("_") or n == "__version__"]


def lines_for(stub: str, module, name: str) -> list[str]:
    value, here = getattr(module, name), module.__name__
    function = written(value)
    if isinstance(value, types.ModuleType):
        return [f"from . import {name} as {name}"]
    if isinstance(value, _C.Function):
        return function_lines(name, [f.text() for f in forms_of(value)])
    if stub == "_C" and isinstance(value, type) and value.__module__ == "strided._as_torch.dispatch_keys":
        return [f"from ._as_torch.dispatch_keys import {name} as {name}"]
    if stub == "_C" and isinstance(value, type):
        return core_lines(value)
    if isinstance(value, types.BuiltinFunctionType):
        return function_lines(name, [pybind_form(value)]) if stub == "_C" else [f"from ._C import {name} as {name}"]
    if isinstance(value, type) and vars(_C).get(name) is value:
        return [f"from ._C import {name} as {name}"]
    if isinstance(value, type) and stub == "return_types":
        types_of = {f: FIELDS.get((name, f), "Tensor") for f in value.__match_args__}
        return [f"class {name}(_tuple[{', '.join(types_of.values())}]):"] + [
            line for f, kind in types_of.items() for line in ("    @property", f"    def {f}(self) -> {kind}: ...")
        ]
    if isinstance(function, (type, types.FunctionType)):
        origins = [m for m in sorted(sys.modules) if m.startswith("strided.") and stands_in_module(m, name, value)]
        if origins and origins[0] != here:
            return [f"from {relative(origins[0])} import {name} as {name}"]
        if isinstance(value, type):
            if name.endswith("Tensor"):
                return [f"class {name}(Tensor): ..."]
            return class_lines(f"{here}.{name}", value)
        return function_lines(name, [written_form(f"{here}.{name}", function)])
    return [f"{name}: {value_type(value)}"]


def stands_in_module(module: str, name: str, value) -> bool:
    loaded = sys.modules[module]
    return (
        (getattr(loaded, "__file__", None) or "").endswith(".py")
        and vars(loaded).get(name) is value
        and stands_in(module, name)
    )


def stub_of(stub: str) -> str:
    module = importlib.import_module("strided" if stub == "__init__" else f"strided.{stub}")
    body = []
    for name in public_names(module):
        body += lines_for(stub, module, name)
    own = set(public_names(module))
    imports = [
        f"from {where} import {name}" + f" as {alias}" * (alias != name)
        for where, name, alias in IMPORTS
        if alias not in own and (stub, where) != ("_C", "._C")
    ]
    imports += {"_C": ["_dtype = dtype", "_device = device"], "__init__": ["from . import _C as _C"]}.get(stub, [])
    return HEADER + "\n".join([*imports, "", *body]) + "\n"


def main() -> int:
    stale = []
    for stub in MODULES:
        path, text = PACKAGE / f"{stub}.pyi", stub_of(stub)
        if problems:
            sys.exit("tools/stubs.py: " + "\n  ".join(problems))
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, "utf-8")
    for name in stale:
        print(("stale: " if "--check" in sys.argv else "written: ") + name)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.path.insert(0, str(PACKAGE.parent))

from strided import _C  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
