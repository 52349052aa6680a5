"""Errors of compilation."""

__all__ = ["TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """The base class of errors of compilation."""


class Unsupported(TorchDynamoException):
    """``compile(fullgraph=True)`` found that Python, or a shape, depends on the values of a tensor."""
