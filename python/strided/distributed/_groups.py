"""The default group and groups of some ranks, under PyTorch's names."""

from __future__ import annotations

import enum
import os
from datetime import timedelta
from typing import TYPE_CHECKING

from .._calls.once import warn_once
from ._backends import Backend, named_elsewhere
from ._comm import Communicator, rank_state, this_rank

if TYPE_CHECKING:
    from .._typing import Any, Iterable, Sequence

__all__ = [
    "GroupMember", "ProcessGroup", "ReduceOp", "destroy_process_group", "get_backend", "get_global_rank",
    "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size",
    "group", "init_process_group", "is_initialized", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "split_group",
]  # fmt: skip


class ReduceOp(enum.Enum):
    """How tensors of several ranks become one. ``AVG`` takes floating point and complex tensors, ``BAND``, ``BOR`` and
    ``BXOR`` integers and bool."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's operations are of an inner type


class ProcessGroup:
    """Some ranks of the program, or all. Made by :func:`init_process_group` and :func:`new_group`."""

    def __init__(self, comm: Communicator, ranks: Sequence[int], desc: str) -> None:
        self._comm, self._ranks, self.group_desc = comm, list(ranks), desc
        self._destroyed = False

    def rank(self) -> int:
        """This rank's number in the group."""
        return self._comm.rank

    def size(self) -> int:
        """How many ranks the group has."""
        return self._comm.size

    def name(self) -> str:
        """The backend: ``"mpi"``, or ``"gloo"`` for processes that MPI has not started."""
        return self._comm.backend

    @property
    def group_name(self) -> str:
        """What errors call the group."""
        return self._comm.name

    @property
    def communicator(self) -> Communicator:
        """What carries the group's calls, and counts them (``communicator.traffic``)."""
        return self._comm

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name}: rank {self.rank()} of {self.size()}>"


class _Known(type):
    """The default group of the rank that asks."""

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802  (PyTorch's name)
        return _state().get("default")

    @WORLD.setter
    def WORLD(cls, pg: ProcessGroup | None) -> None:  # noqa: N802
        _state()["default"] = pg


class group(metaclass=_Known):  # noqa: N801  (PyTorch's name)
    """``group.WORLD`` is the default group; None before :func:`init_process_group`."""


class GroupMember(metaclass=_Known):
    """``WORLD``; ``NON_GROUP_MEMBER``, which ranks that are not in a group get for it."""

    NON_GROUP_MEMBER = -100


def _state() -> dict[str, Any]:
    return rank_state().setdefault("groups", {})


def resolve(pg: Any) -> ProcessGroup | None:
    """The group itself, the default one for None; None where this rank is not in it."""
    if pg is None:
        pg = _state().get("default")
        if pg is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
    if isinstance(pg, ProcessGroup):
        if pg._destroyed:
            raise ValueError("Invalid process group specified: it was destroyed")
        return pg
    if pg is GroupMember.NON_GROUP_MEMBER:
        return None
    if isinstance(pg, Communicator):  # of an axis of a mesh
        known = _state().setdefault("of communicators", {})
        return known.setdefault(pg, ProcessGroup(pg, pg.members(), "of a communicator"))
    raise TypeError(f"a ProcessGroup is required, got {type(pg).__name__}")


# ---------------------------------------------------------------- the default group


def _seconds(timeout: Any) -> float:
    return float(timeout.total_seconds() if hasattr(timeout, "total_seconds") else timeout)


_INSTEAD = "this group talks over MPI, and get_backend() is 'mpi'"
_BY_TCP = "processes that MPI has not started connect by TCP, and get_backend() is 'gloo'"


def _where(init_method: str | None, world_size: int, rank: int) -> tuple[str, str | None, int, int, int]:
    """(kind, host or path, port, number of ranks, rank) of processes that no MPI has started.

    Raises:
        ValueError: init_method, or the environment, says too little.
    """
    from urllib.parse import parse_qs, urlparse

    method = "env://" if init_method is None else init_method
    if not isinstance(method, str):
        raise TypeError(f"init_process_group: init_method is a str, got {type(method).__name__}")
    url = urlparse(method)
    asked = {k: v[-1] for k, v in parse_qs(url.query).items()}

    def number(name: str, given: int) -> int:
        if given != -1:
            return given
        if name.lower() in asked:
            return int(asked[name.lower()])
        if name not in os.environ or url.scheme != "env":
            what = f"environment variable {name}" if url.scheme == "env" else f"the parameter {name.lower()}"
            raise ValueError(f"Error initializing torch.distributed using {url.scheme}:// rendezvous: {what} expected")
        return int(os.environ[name])

    if url.scheme not in ("env", "tcp", "file"):
        raise ValueError(f"init_process_group: init_method is env://, tcp://host:port or file:///path, got {method!r}")
    size, me = number("WORLD_SIZE", world_size), number("RANK", rank)
    if url.scheme == "file":
        return "file", url.path, 0, size, me
    if url.scheme == "tcp":
        if url.hostname is None or url.port is None:
            raise ValueError(f"init_process_group: tcp://host:port is required, got {method!r}")
        return "tcp", url.hostname, url.port, size, me
    if size == 1:
        return "env", None, 0, size, me
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise ValueError(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, "
                f"but not set. To start the program on {size} ranks: python -m strided launch -n {size}, mpiexec or srun"
            )
    # A server of another language may be at that port where a launcher holds one.
    beside = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return "env", os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + beside, size, me


def _by_tcp(init_method: str | None, world_size: int, rank: int, store: Any, timeout: Any) -> Communicator | None:
    """The communicator of processes that no MPI has started; None for one process alone."""
    from ._sockets import connect
    from ._store_tcp import TCPStore
    from ._stores import FileStore, PrefixStore, Store

    if store is not None:
        if not isinstance(store, Store):
            raise TypeError(f"init_process_group: a Store is required, got {type(store).__name__}")
        if init_method is not None:
            raise AssertionError("Cannot specify both init_method and store.")
        if world_size < 1 or rank < 0:
            raise AssertionError("world_size and rank must be positive if using store")
        kind, host, port, size, me = "store", None, 0, world_size, rank
        under = store
        while isinstance(under, PrefixStore):
            under = under.underlying_store
        if isinstance(under, TCPStore):
            host, port = under.host, under.port
    else:
        kind, host, port, size, me = _where(init_method, world_size, rank)
    if not 0 <= me < size:
        raise ValueError(f"init_process_group: rank is {me}, but ranks go from 0 to {size - 1}")
    if size == 1:
        return None
    limit = 1800.0 if timeout is None else _seconds(timeout)
    checks = os.environ.get("STRIDED_DISTRIBUTED_CHECKS", "1") != "0"
    calls = float(os.environ.get("STRIDED_DISTRIBUTED_TIMEOUT", limit))
    if kind == "file":
        store = FileStore(host, size)
        store.set_timeout(timedelta(seconds=limit))
        host = None
    elif kind != "store":
        store = TCPStore(str(host), port, size, me == 0, timedelta(seconds=limit), wait_for_workers=False)
    known = rank_state()
    turn = known["rendezvous"] = known.get("rendezvous", 0) + 1  # a second group of a process looks for other keys
    made = connect(PrefixStore(f"strided/{turn}", store), me, size, host, port, checks, calls, limit)
    known["store"], known["world"] = store, made
    return made


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Makes the default group: all ranks of ``mpiexec``, ``srun`` or ``python -m strided launch``, or of a simulation.

    Each simulated rank has a default group of its own. MPI knows who the ranks are: ``init_method`` is not needed, and
    ``world_size`` and ``rank`` are compared with what MPI says. Processes that MPI has not started, such as children of
    ``multiprocessing.spawn``, say who they are, and connect by TCP. A process that says nothing is a group of one.

    Args:
        backend: ``"mpi"``, ``"gloo"`` or None. Under MPI ``"gloo"``, ``"nccl"`` and ``"ucc"`` (also
            ``"cpu:gloo,cuda:nccl"``) give MPI, with one warning, so that programs written for PyTorch run as they are;
            elsewhere all but ``"mpi"`` give connections by TCP.
        init_method: where processes without MPI meet: ``env://`` (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which
            is the default), ``tcp://host:port``, ``file:///path``.
        timeout: a timedelta, or seconds, that a call may wait for other ranks; 30 minutes if None.
        world_size, rank: what the program expects; -1 for whatever is.
        store: where processes without MPI meet, in the place of init_method; MPI needs none. pg_options: not used.
        group_name: what errors call the group.
        device_id: not used.

    Raises:
        ValueError: there is a default group already; no such backend; init_method and the environment say too little.
        RuntimeError: the ranks are not those that world_size, rank, or WORLD_SIZE in the environment say.
        TimeoutExpired: not all processes came.
        ImportError: several processes, and no mpi4py.

    >>> def program():
    ...     dist = strided.distributed
    ...     dist.init_process_group("mpi")
    ...     x = strided.tensor([dist.get_rank() + 1.])
    ...     dist.all_reduce(x)
    ...     dist.destroy_process_group()
    ...     return x.item()
    >>> strided.distributed.simulate(3, program)
    [6.0, 6.0, 6.0]
    """
    from . import world
    from ._mpi import started_by_mpi
    from ._stores import Store

    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    foreign = named_elsewhere("init_process_group", backend)
    connected = _connected(backend, init_method, world_size, rank, store, timeout)
    if store is not None and not isinstance(store, Store):
        raise TypeError(f"init_process_group: a Store is required, got {type(store).__name__}")
    comm = world() if connected is None else connected
    if connected is not None:
        world_size, rank = comm.size, comm.rank
    by_mpi = this_rank.world is not None or started_by_mpi() or str(backend).lower() == "mpi"
    if not by_mpi:
        foreign = [name for name in foreign if name != "gloo"]
    wanted = os.environ.get("WORLD_SIZE", "") if this_rank.world is None else ""
    for what, size in (("world_size", world_size), ("WORLD_SIZE", int(wanted) if wanted.isdigit() else -1)):
        if size not in (-1, comm.size):
            raise RuntimeError(
                f"init_process_group: {what} is {size}, but MPI has {comm.size} rank(s). Start the program with "
                f"python -m strided launch -n {size}, mpiexec or srun; torchrun starts no MPI, and an mpiexec of another "
                "MPI than mpi4py's starts programs of one rank each"
            )
    if rank not in (-1, comm.rank):
        raise RuntimeError(f"init_process_group: rank is {rank}, but MPI says {comm.rank}")
    for name in foreign if comm.rank == 0 else ():
        warn_once(f"init_process_group(backend={name!r})", _INSTEAD if by_mpi else _BY_TCP)
    comm = comm.split(0, comm.rank)
    if not by_mpi:
        comm.backend = "gloo"  # of one process, too
    comm.name = group_name or "the default group"
    if timeout is not None:
        comm.timeout = _seconds(timeout)
    state = _state()
    state["default"] = ProcessGroup(comm, range(comm.size), "default_pg")
    state["all"] = [state["default"]]
    state["store"] = store  # a FileStore that nobody holds takes its file away


def connected_by_tcp() -> Communicator | None:
    """The communicator of the processes that the environment names (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT)."""
    return _by_tcp(None, -1, -1, None, None)


def _connected(
    backend: Any, init_method: str | None, world_size: int, rank: int, store: Any, timeout: Any
) -> Communicator | None:
    """The communicator of several processes that no MPI has started, and that say who they are; else None."""
    from . import _mpi

    if this_rank.world is not None or _mpi.started_by_mpi():
        return None
    if backend is not None and str(backend).lower() == "mpi":
        return None
    told = store is not None or init_method not in (None, "env://") or world_size > 1
    here = all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"))
    if not told and not (here and os.environ["WORLD_SIZE"] != "1"):
        return None
    known = rank_state().get("world")
    if known is not None and known.size > 1:  # after destroy_process_group
        return known
    return _by_tcp(init_method, world_size, rank, store, timeout)


def _foreign(call: str, backend: Any, pg: ProcessGroup) -> list[tuple[str, str]]:
    """(name, text) for one warning, on the first rank, about each backend that stands for the one that there is."""
    text = _INSTEAD if pg.name() == "mpi" else _BY_TCP
    names = named_elsewhere(call, backend)
    return [(f"{call}(backend={name!r})", text) for name in names if name != pg.name() and pg.rank() == 0]


def destroy_process_group(group: Any = None) -> None:
    """Takes a group away; all of them if it is None or the default one."""
    pg = resolve(group)
    if pg is None:
        raise ValueError("Invalid process group specified")
    state = _state()
    gone = list(state["all"]) if pg is state["default"] else [pg]
    state["all"] = [other for other in state["all"] if other not in gone]
    if pg is state["default"]:
        state["default"] = None
        state.pop("of communicators", None)
        state.pop("store", None)
    for other in gone:
        other._destroyed = True


def is_initialized() -> bool:
    """Whether this rank has a default group."""
    return _state().get("default") is not None


# ---------------------------------------------------------------- who is who


def get_rank(group: Any = None) -> int:
    """This rank's number in the group, the default one if None; -1 where it is not in it."""
    pg = resolve(group)
    return -1 if pg is None else pg.rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks the group has, the default one if None; -1 on ranks that are not in it."""
    pg = resolve(group)
    return -1 if pg is None else pg.size()


def get_backend(group: Any = None) -> Backend:
    """``"mpi"``, whatever was asked for; ``"gloo"`` for processes that MPI has not started."""
    pg = resolve(group)
    if pg is None:
        raise ValueError("Invalid process group specified")
    return Backend(pg.name())


def get_process_group_ranks(group: Any) -> list[int]:
    """The group's ranks, by their numbers in the default group."""
    pg = resolve(group)
    if pg is None:
        raise ValueError("Invalid process group specified")
    return list(pg._ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in the group of a rank of the default group; ValueError if it is not in it."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the default group of a rank of the group; ValueError if the group is smaller."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this rank on its machine: LOCAL_RANK, as ``python -m strided launch`` sets it.

    Raises:
        RuntimeError: LOCAL_RANK is not set, and no fallback was given.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("get_node_local_rank: LOCAL_RANK is not set; give fallback_rank")


def get_pg_count() -> int:
    """How many groups this rank is in."""
    return len(_state().get("all", ()))


# ---------------------------------------------------------------- groups of some ranks


def new_group(
    ranks: Iterable[int] | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks. Every rank of the default group must call this, members or not, in the same order.

    Args:
        ranks: numbers in the default group; all if None.
        timeout: a timedelta or seconds; as the default group if None.
        backend: as for :func:`init_process_group`.
        pg_options: None.
        use_local_synchronization: False: members alone cannot make a group.
        group_desc: a description.
        device_id: not used.
        sort_ranks: whether numbers in the group follow those in the default group, else the order given.

    Returns:
        The group; ``GroupMember.NON_GROUP_MEMBER`` on ranks that are not in it.

    Raises:
        RuntimeError: ranks are not different numbers of ranks.
        NotImplementedError: pg_options, or use_local_synchronization.

    >>> def program():
    ...     dist = strided.distributed
    ...     dist.init_process_group()
    ...     even = dist.new_group([0, 2])
    ...     x = strided.tensor([dist.get_rank()])
    ...     if dist.get_rank(even) >= 0:
    ...         dist.all_reduce(x, group=even)
    ...     return x.item()
    >>> strided.distributed.simulate(3, program)
    [2, 1, 2]
    """
    default = resolve(None)
    for told in _foreign("new_group", backend, default):
        warn_once(*told)
    if pg_options is not None or use_local_synchronization:
        raise NotImplementedError("new_group: pg_options and use_local_synchronization are not there")
    members = list(range(default.size())) if ranks is None else list(ranks)
    if sort_ranks:
        members.sort()
    if len(members) > default.size():
        raise RuntimeError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    if any(not 0 <= r < default.size() for r in members):
        raise RuntimeError("The new group's rank should be within the world_size set by init_process_group")
    if len(set(members)) != len(members):
        raise RuntimeError(f"new_group: ranks must differ, got {members}")
    return _made(default, members, timeout, group_desc)


def _made(parent: ProcessGroup, members: list[int], timeout: Any, desc: str | None) -> Any:
    """The group of members, given by their numbers in the default group; all ranks of the parent come here."""
    me = parent._ranks[parent.rank()]
    inside = me in members
    comm = parent.communicator.split(
        "-".join(map(str, members)) if inside else None, members.index(me) if inside else 0
    )
    if comm is None:
        return GroupMember.NON_GROUP_MEMBER
    comm.name = f"group of ranks {members}" if len(members) <= 16 else f"group of {len(members)} ranks"
    if timeout is not None:
        comm.timeout = _seconds(timeout)
    pg = ProcessGroup(comm, members, desc or "undefined")
    _state()["all"].append(pg)
    return pg


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """(the group of this rank, None where it is in none; all groups): one for each list of ranks, which are disjoint.

    Raises:
        ValueError: no lists, or a rank in two of them.
    """
    outer = ranks_per_subgroup_list
    if not isinstance(outer, (tuple, list)) or not all(isinstance(ranks, (tuple, list, range)) for ranks in outer):
        raise TypeError(f"new_subgroups_by_enumeration: lists of ranks are required, got {ranks_per_subgroup_list!r}")
    lists = [list(ranks) for ranks in ranks_per_subgroup_list]
    if not lists:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    flat = [r for ranks in lists for r in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError("new_subgroups_by_enumeration: a rank is in two lists")
    groups = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in lists]
    mine = [pg for pg in groups if pg is not GroupMember.NON_GROUP_MEMBER]
    return (mine[0] if mine else None), groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """(the group of this rank, all groups): consecutive ranks, group_size in each; those of one machine if None.

    Raises:
        ValueError: the number of ranks is no multiple of group_size.
    """
    if group is not None:
        raise NotImplementedError("new_subgroups: group is not there; the default group is cut")
    size = get_world_size()
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0 or size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by the group size ({group_size})")
    lists = [list(range(k, k + group_size)) for k in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: Any = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """Cuts a group into several at once, and gives the one of this rank; None where it is in none.

    Args:
        parent_pg: the group; the default one if None. All its ranks must call this.
        split_ranks: for each new group its ranks, by their numbers in parent_pg.
        timeout, group_desc, backend: as for :func:`new_group`.

    Raises:
        ValueError: no lists, or a rank in two of them.
    """
    parent = resolve(parent_pg)
    if parent is None:
        raise ValueError("Invalid process group specified")
    for told in _foreign("split_group", backend, parent):
        warn_once(*told)
    if pg_options is not None:
        raise NotImplementedError("split_group: pg_options are not there")
    lists = [list(ranks) for ranks in split_ranks or ()]
    flat = [r for ranks in lists for r in ranks]
    if not lists or len(set(flat)) != len(flat) or any(not 0 <= r < parent.size() for r in flat):
        raise ValueError("split_group: split_ranks are disjoint lists of ranks of the group")
    mine = next((ranks for ranks in lists if parent.rank() in ranks), [])
    made = _made(parent, [parent._ranks[r] for r in mine], timeout, group_desc)
    return None if made is GroupMember.NON_GROUP_MEMBER else made
