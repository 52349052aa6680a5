"""Errors of communication, and the comparison of calls across ranks that finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._typing import Sequence


class DistError(RuntimeError):
    """Base of the errors of communication."""


class DistBackendError(DistError):
    """PyTorch's name for errors of what moves the bytes: DistError itself is raised here."""


class MismatchError(DistError):
    """Ranks made different calls, or gave tensors that do not fit together.  Raised on every rank alike."""


class RankError(DistError):
    """A rank raised, and the program ended on all ranks.  ``rank``: which; ``__cause__``: what it raised."""

    rank = -1


class DeadlockError(DistError):
    """Every rank waits, for something that no rank will do."""


class TimeoutExpired(DistError):
    """A rank waited longer than the communicator's ``timeout``."""


# ---------------------------------------------------------------- headers


def check_headers(headers: Sequence[tuple], name: str) -> str | None:
    """What is wrong with the headers ((number, call, dtype, op, root), sizes) of all ranks; None if they agree."""
    fields = ("call number", "call", "dtype", "op", "root")
    first = headers[0][0]
    if any(h[0] != first for h in headers):
        for i in (1, 0, 2, 3, 4):  # the call first: what differs in it differs in the rest too
            if any(h[0][i] != first[i] for h in headers):
                return f"{name}: ranks differ in {fields[i]}: {_by_value([h[0][i] for h in headers])}"
    call, root, n = first[1].removeprefix("async "), first[4], len(headers)
    sizes = [h[1] for h in headers]
    if call in ("all_reduce", "broadcast", "reduce"):
        if any(s != sizes[0] for s in sizes):
            return f"{call} on {name}: ranks differ in number of elements: {_by_value([s[0] for s in sizes])}"
        return None
    if call in ("all_gather", "reduce_scatter"):
        if any(s[1:] != sizes[0][1:] for s in sizes):
            return f"{call} on {name}: ranks differ in sizes of the list: {_by_value([list(s[1:]) for s in sizes])}"
        wrong = [r for r in range(n) if sizes[r][0] != sizes[0][1 + r]]
        at = sizes[0][1:]
    elif call in ("gather", "scatter"):
        at = sizes[root][1:]
        wrong = [r for r in range(n) if sizes[r][0] != at[r]]
    elif call == "all_to_all":
        for r in range(n):
            for s in range(n):
                if sizes[r][s] != sizes[s][n + r]:
                    return (
                        f"all_to_all on {name}: rank {r} gives {sizes[r][s]} elements to rank {s}, which expects "
                        f"{sizes[s][n + r]}"
                    )
        return None
    else:
        return None
    if wrong:
        r = wrong[0]
        return f"{call} on {name}: the tensor of rank {r} has {sizes[r][0]} elements, the list has {at[r]} for it"
    return None


def _by_value(values):
    """'all_reduce on ranks 0, 2; broadcast on rank 1'"""
    groups: dict[str, list[str]] = {}
    for r, value in enumerate(values):
        groups.setdefault(str(value), []).append(str(r))
    return "; ".join(f"{v} on rank{'s' * (len(r) > 1)} {', '.join(r)}" for v, r in groups.items())
