"""A function on several ranks of this machine (``strided.distributed.launcher.api``).

Each rank is a process with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in its environment, as ranks of torchrun have
them.  Results and errors come back through files of a temporary folder.
"""

from __future__ import annotations

import itertools
import os
import pickle
import tempfile
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._typing import Callable

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]


@dataclass
class LaunchConfig:
    """How elastic_launch() starts ranks.

    `nproc_per_node` ranks start on this machine by `start_method` ("spawn", "fork" or "forkserver"); when one fails,
    all start again, at most `max_restarts` times.  `rdzv_endpoint` is "host:port" where ranks meet with the backend
    "static"; else a free port is taken.  The other fields are PyTorch's, and are kept without effect.

    >>> LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2, rdzv_timeout=60).rdzv_configs
    {'timeout': 60}
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
    duplicate_stdout_filters: list[str] | None = None
    duplicate_stderr_filters: list[str] | None = None
    virtual_local_rank: bool = False
    shutdown_timeout: int | None = None

    def __post_init__(self) -> None:
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout
        self.rdzv_configs.setdefault("timeout", 900)
        if self.shutdown_timeout is None:
            self.shutdown_timeout = int(os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "30"))
        elif self.shutdown_timeout < 0:
            raise ValueError(f"shutdown_timeout must be non-negative, got {self.shutdown_timeout}")


class elastic_launch:
    """Runs a function on the ranks of a LaunchConfig.

    Args:
        config: how many, and how they start.
        entrypoint: the function; with the start method "spawn" it is at the top level of a module.

    Calling the object runs ``entrypoint(*args)`` on each rank, and returns what each gave, by rank: see launch_agent().

    >>> launched = elastic_launch(LaunchConfig(1, 1, nproc_per_node=2, start_method="fork"), lambda x: x + 1)
    >>> launched(4)
    {0: 5, 1: 5}
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any], health_check_server: None = None) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any], args: list[Any], health_check_server: None = None
) -> dict[int, Any]:
    """Runs ``entrypoint(*args)`` on the ranks of a LaunchConfig, and waits until all have ended.

    Args:
        config: how many, and how they start.
        entrypoint: the function.
        args: for it.
        health_check_server: accepted, without effect.

    Returns:
        What each rank gave, by rank; it travels pickled.

    Raises:
        ChildFailedError: a rank failed at the last try; the others are ended.
        ValueError: several machines, which srun and mpiexec start.
        TypeError: the entrypoint is no function: ``python -m strided launch`` starts programs.
    """
    from ...multiprocessing.spawn import ProcessException, start_processes
    from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

    if config.min_nodes != 1:
        raise ValueError(
            f"elastic_launch: min_nodes={config.min_nodes}: srun or mpiexec starts ranks on several machines, "
            "and python -m strided launch asks them to"
        )
    if not callable(entrypoint):
        raise TypeError(
            f"elastic_launch: an entrypoint is a function, not {entrypoint!r}: python -m strided launch starts programs"
        )
    config.run_id = config.run_id or str(uuid.uuid4().int)
    for tried in itertools.count():
        with tempfile.TemporaryDirectory() as folder:
            try:
                start_processes(
                    _rank,
                    (entrypoint, tuple(args), _environment(config, tried), folder),
                    config.nproc_per_node,
                    start_method=config.start_method,
                )
            except ProcessException as error:
                if tried < config.max_restarts:
                    continue
                i = error.error_index
                code = getattr(error, "exit_code", 1)  # an exception ends a process with 1
                failure = ProcessFailure(i, error.error_pid, code, str(_error_file(folder, i)))
                name = getattr(entrypoint, "__name__", type(entrypoint).__name__)
                raise ChildFailedError(name, {i: failure}) from error
            return {i: pickle.loads(_result_file(folder, i).read_bytes()) for i in range(config.nproc_per_node)}
    raise AssertionError("the loop ends with a result or an error")


def _environment(config: LaunchConfig, tried: int) -> dict[str, str]:
    """What all ranks find in their environment."""
    from ..elastic.utils.distributed import get_free_port

    host, _, port = config.rdzv_endpoint.strip().rpartition(":") if config.rdzv_backend == "static" else ("", "", "")
    n = str(config.nproc_per_node)
    return {
        "MASTER_ADDR": host or "127.0.0.1",
        "MASTER_PORT": port or str(get_free_port()),
        "WORLD_SIZE": n,
        "LOCAL_WORLD_SIZE": n,
        "ROLE_WORLD_SIZE": n,
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_NAME": config.role,
        "TORCHELASTIC_RUN_ID": config.run_id,
        "TORCHELASTIC_RESTART_COUNT": str(tried),
        "TORCHELASTIC_MAX_RESTARTS": str(config.max_restarts),
    }


def _error_file(folder: str, rank: int) -> Path:
    return Path(folder, f"{rank}.error")


def _result_file(folder: str, rank: int) -> Path:
    return Path(folder, f"{rank}.result")


def _rank(rank: int, fn: Callable[..., Any], args: tuple[Any, ...], environment: dict[str, str], folder: str) -> None:
    """What the process of a rank does."""
    from ..elastic.multiprocessing.errors import record

    own = dict.fromkeys(("RANK", "LOCAL_RANK", "ROLE_RANK"), str(rank))
    os.environ.update(environment, TORCHELASTIC_ERROR_FILE=str(_error_file(folder, rank)), **own)
    result = record(fn)(*args)
    _result_file(folder, rank).write_bytes(pickle.dumps(result))
