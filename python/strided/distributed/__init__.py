"""Tensors and programs on several processes (``strided.distributed``).

A program runs as several ranks.  ``world()`` is the Communicator of all of them; ranks are processes of MPI
(``mpiexec -n 4 python program.py``) or, in ``simulate(n)``, threads of one process.

>>> def program():
...     x = strided.tensor([strided.distributed.world().rank])
...     strided.distributed.world().all_reduce(x, "max")
...     return x.item()
>>> strided.distributed.simulate(4, program)
[3, 3, 3, 3]
"""

from __future__ import annotations

import os as _os

from .._as_torch.places import modules_of as _modules_of
from . import tensor
from ._backends import *
from ._backends import __all__ as _names_of_backends
from ._checks import DeadlockError, DistBackendError, DistError, MismatchError, RankError, TimeoutExpired
from ._collectives import *
from ._collectives import __all__ as _names_of_calls
from ._comm import Communicator, Request, Traffic, Transfer
from ._comm import rank_state as _rank_state
from ._comm import this_rank as _this_rank
from ._explain import Explanation, explain
from ._factories import distribute_tensor, empty, full, ones, rand, randint, randn, randperm, zeros
from ._groups import *
from ._groups import __all__ as _names_of_groups
from ._messages import *
from ._messages import __all__ as _names_of_messages
from ._move import set_gather_limit
from ._objects import *
from ._objects import __all__ as _names_of_objects
from ._sharded import ShardedTensor
from ._store_tcp import TCPStore
from ._stores import *
from ._stores import __all__ as _names_of_stores
from ._threads import simulate
from .device_mesh import DeviceMesh, init_device_mesh
from .placement import BlockCyclic, Partial, Placement, Replicate, Shard

DTensor = ShardedTensor

__all__ = [
    "BlockCyclic", "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "ShardedTensor",
    "Explanation", "distribute_tensor", "empty", "explain", "full", "init_device_mesh", "ones", "rand", "randint",
    "randn", "randperm", "set_gather_limit", "tensor", "zeros", "Communicator", "DeadlockError", "DistBackendError",
    "DistError", "MismatchError", "RankError", "Request", "TimeoutExpired", "Traffic", "TCPStore", "Transfer",
    "is_available", "simulate", "world", *_names_of_groups, *_names_of_calls, *_names_of_objects, *_names_of_stores,
    *_names_of_backends, *_names_of_messages,
]  # fmt: skip


def world() -> Communicator:
    """The communicator of all ranks of this program.

    In a simulation it is that of the simulated ranks; under ``mpiexec`` or ``srun`` that of the job, made at the first
    call; else this process is the only rank, and no MPI is needed.  ``STRIDED_DISTRIBUTED_TIMEOUT`` is the number of
    seconds that a call may wait (1800); with ``STRIDED_DISTRIBUTED_CHECKS=0`` calls are not compared across ranks.

    Raises:
        ImportError: several processes, and no mpi4py.

    >>> strided.distributed.world().size
    1
    """
    if _this_rank.world is not None:
        return _this_rank.world
    state = _rank_state()
    if "world" not in state:
        from . import _mpi, _threads

        if _os.environ.get("STRIDED_LOCAL_SIZE", "1") != "1":  # of python -m strided launch --with tcp
            from ._groups import connected_by_tcp

            state["world"] = connected_by_tcp()
            return state["world"]
        checks = _os.environ.get("STRIDED_DISTRIBUTED_CHECKS", "1") != "0"
        timeout = float(_os.environ.get("STRIDED_DISTRIBUTED_TIMEOUT", "1800"))
        state["world"] = _mpi.world(checks, timeout) if _mpi.started_by_mpi() else _threads.alone(checks, timeout)
    return state["world"]


def is_available() -> bool:
    """True: ranks in one process need nothing else."""
    return True


__getattr__ = _modules_of("distributed")
