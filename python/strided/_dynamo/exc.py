"""Errors of compilation."""

__all__ = ["TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """The base class of errors of compilation."""


class Unsupported(TorchDynamoException):
    """``compile(fullgraph=True)`` found something that cannot be traced."""
