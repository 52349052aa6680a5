"""Inputs of the gradient cases (gradient_cases.py): makers of a tensor of a dtype, options, masks and indices."""

import math

import strided as torch

REAL, NO_TIES, REAL_NO_TIES = {"kinds": "r"}, {"broadcast": False}, {"kinds": "r", "broadcast": False}


def normal(*shape):
    return lambda kind: torch.randn(shape, dtype=kind)


def apart(*shape):
    """Values in mixed order with gaps between them and around zero: a small step changes no maximum and no sign."""

    def make(kind):
        n = math.prod(shape)
        x = (torch.randperm(n) * 0.4 + 0.1 * torch.rand(n, dtype=torch.float64) - 1.05).reshape(shape)
        return x.to(kind) * (1 - 0.5j) if kind.is_complex else x

    return make


def positive(*shape):
    return lambda kind: (torch.rand(shape, dtype=torch.float64) + 0.5).to(kind) * (1 + 0.3j if kind.is_complex else 1)


def regular(*shape):
    n = shape[-1]
    return lambda kind: 0.5 * torch.randn(shape, dtype=kind) + (2 + n**0.5) * torch.eye(n, dtype=kind).roll(1, -1)


def definite(*shape):
    def make(kind):
        x = torch.randn(shape, dtype=kind)
        return x @ x.mH / shape[-1] + 2 * torch.eye(shape[-1], dtype=kind)

    return make


def zeros_at(shape, *columns):
    def make(kind):
        x = torch.randn(shape, dtype=kind)
        x[..., list(columns)] = 0
        return x

    return make


def singular(rank, *shape):
    n = shape[-1]
    return lambda kind: torch.randn(*shape[:-1], rank, dtype=kind) @ torch.randn(rank, n, dtype=kind)


def fractions(*values):
    return lambda kind: torch.tensor(values, dtype=kind)


def index(*values):
    return torch.tensor(values)


MASK = torch.tensor([[True, False, True], [False, True, True]])
GATHERED = torch.tensor([[0, 2, 0], [1, 1, 2]])
