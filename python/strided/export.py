"""Programs of single operations, without Python (``strided.export``), recorded while a module runs.

They cannot be written to files: ``save`` keeps weights, and pickle keeps ``ExportedProgram.module()``.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ._as_torch.core_names import absent
from .utils._pytree import register_dataclass

__all__ = [
    "Dim", "ExportGraphSignature", "ExportedProgram", "UnflattenedModule", "default_decompositions", "dims",
    "draft_export", "export", "load",
    "register_dataclass", "save", "unflatten",
]  # fmt: skip

UnflattenedModule = absent("UnflattenedModule", __name__)


def _none(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: strided keeps exported programs in the process; pickle keeps their module(), save the weights"
    )


class Dim:
    """A size that may change from call to call, for tables of such sizes.

    Args:
        name: a name of Python. min, max: the least and the greatest size.

    Raises:
        ValueError: max is not greater than min, or the name is none of Python.
    """

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min = 0 if min is None else min
        self.max: float = float("inf") if max is None else max
        if self.max <= self.min:
            raise ValueError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={self.max})"


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A ``Dim`` for each name."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class InputKind(enum.Enum):
    """What an input of an exported program is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()


class OutputKind(enum.Enum):
    """What an output of an exported program is."""

    USER_OUTPUT = enum.auto()


@dataclasses.dataclass
class TensorArgument:
    """A tensor, by the name of its step."""

    name: str


@dataclasses.dataclass
class ConstantArgument:
    """Anything else, with its value."""

    name: str
    value: Any


@dataclasses.dataclass
class InputSpec:
    """One input: its kind, its step, and the path of the parameter or buffer."""

    kind: InputKind
    arg: Any
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        words = [f"{self.arg.name}: {self.kind.name}"]
        words += [f"target={self.target!r}"] if self.target is not None else []
        return " ".join(words + ([f"persistent={self.persistent}"] if self.persistent is not None else []))


@dataclasses.dataclass
class OutputSpec:
    """One output: its kind and its step."""

    kind: OutputKind
    arg: Any
    target: str | None

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


@dataclasses.dataclass
class ExportGraphSignature:
    """What the inputs and outputs of the graph of an exported program are."""

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _targets(self, kind: InputKind) -> dict[str, str]:
        return {s.arg.name: s.target for s in self.input_specs if s.kind is kind and s.target is not None}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """{step: path} of the parameters."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """{step: path} of the buffers."""
        return self._targets(InputKind.BUFFER)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The paths of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The paths of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The steps of the arguments; of a constant its value."""
        mine = [s.arg for s in self.input_specs if s.kind is InputKind.USER_INPUT]
        return tuple(a.value if isinstance(a, ConstantArgument) else a.name for a in mine)

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The steps of the results; of a constant its value."""
        return tuple(s.arg.value if isinstance(s.arg, ConstantArgument) else s.arg.name for s in self.output_specs)

    def __str__(self) -> str:
        rows = ["# inputs", *map(str, self.input_specs), "", "# outputs", *map(str, self.output_specs)]
        return "\n".join(rows) + "\n"


class ExportedProgram:
    """A program without Python: a graph of operations of ``ops.aten``, and the tensors that it starts from.

    ``module()`` runs it. ``export`` makes it.
    """

    def __init__(
        self, program: Any, graph: Any, signature: ExportGraphSignature, state: dict[str, Any], **more: Any
    ) -> None:
        from .fx import GraphModule

        self._program, self._graph_signature, self._state_dict = program, signature, state
        self._graph_module = GraphModule({}, graph)
        self._example_inputs, self._constants = more["example_inputs"], more["constants"]

    @property
    def graph_module(self) -> Any:
        """The graph whose inputs are the parameters and buffers, and then the arguments, as a module."""
        return self._graph_module

    @property
    def graph(self) -> Any:
        """That graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What its inputs and outputs are."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """The parameters and persistent buffers, by path."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Other tensors, and buffers that are not persistent."""
        return self._constants

    @property
    def example_inputs(self) -> Any:
        """(args, kwargs) of the call that was recorded."""
        return self._example_inputs

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """Nothing: all sizes are constants."""
        return {}

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """(path, parameter) of each parameter that the program reads."""
        for name in self.graph_signature.parameters:
            yield name, self._state_dict[name]

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return (p for _, p in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """(path, buffer) of each buffer that the program reads."""
        for name in self.graph_signature.buffers:
            yield name, self._state_dict.get(name, self._constants.get(name))

    def buffers(self) -> Iterator[Any]:
        """The buffers."""
        return (b for _, b in self.named_buffers())

    def module(self, check_guards: bool = True) -> Any:
        """A module with the program as ``forward``, called as the one that was exported. It shares the tensors."""
        return self._program

    def run_decompositions(self, decomp_table: Any = None, **options: Any) -> ExportedProgram:
        """The program itself, which consists of single operations already.

        Raises:
            NotImplementedError: a table with operations in it.
        """
        if decomp_table:
            raise NotImplementedError(
                "run_decompositions: strided exports single operations, and replaces none by a table"
            )
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    def __str__(self) -> str:
        return f"ExportedProgram:\n{self._graph_module.code}\nGraph signature:\n{self._graph_signature}"

    __repr__ = __str__


def export(
    mod: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    **options: Any,
) -> ExportedProgram:
    """Runs a module and records the operations of ``ops.aten`` that it consists of, as ``make_fx`` does.

    Composite functions are recorded as what they consist of (PyTorch's keep ``linear`` and the like whole until
    ``run_decompositions``), and writes to buffers stay writes.

    Args:
        args, kwargs: of the call that is recorded. Tensors and numbers in trees; numbers are constants.
        dynamic_shapes: None.

    Raises:
        NotImplementedError: dynamic_shapes; a backward pass inside the module.
        RuntimeError: the number in a tensor decides what the module does.
        TypeError: args is not a tuple.
        ValueError: mod is not a module.

    >>> net = strided.nn.Sequential(strided.nn.Linear(2, 1), strided.nn.ReLU())
    >>> program = strided.export.export(net, (strided.ones(3, 2),))
    >>> program.graph_signature.parameters
    ('0.weight', '0.bias')
    >>> strided.equal(program.module()(strided.ones(3, 2)), net(strided.ones(3, 2)))
    True
    """
    from ._export import record

    return record(mod, args, kwargs or {}, dynamic_shapes)


def draft_export(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> Any:
    """NotImplementedError: would give a program, and what is doubtful in it."""
    _none("draft_export")


def save(ep: Any, f: Any, **options: Any) -> None:
    """NotImplementedError: would write an exported program."""
    _none("export.save")


def load(f: Any, **options: Any) -> Any:
    """NotImplementedError: would read an exported program."""
    _none("export.load")


def unflatten(module: Any, flat_args_adapter: Callable[..., Any] | None = None) -> Any:
    """NotImplementedError: would make modules of an exported program."""
    _none("unflatten")


def default_decompositions() -> Any:
    """NotImplementedError: would give what operations of exported programs are made of."""
    _none("default_decompositions")
