"""`python -m strided launch`: the command it makes, what ranks find, and how jobs end. A stand-in for srun starts ranks
without MPI; the tests of mpiexec are skipped where there is none."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from strided import _launch
from strided._launch import rank

SRUN = """\
#!{python}
# Starts ranks as srun does, on this machine, and ends all when one fails.
import os, signal, subprocess, sys, time
words = sys.argv[1:]
n = int(words[words.index("-n") + 1])
command = words[next(k for k, word in enumerate(words) if word == {python!r}):]
place = lambda k: {{"SLURM_PROCID": str(k), "SLURM_LOCALID": str(k), "SLURM_STEP_ID": "0",
                    "SLURM_STEP_NUM_TASKS": str(n), "SLURM_STEP_TASKS_PER_NODE": str(n)}}
ranks = [subprocess.Popen(command, env=os.environ | place(k)) for k in range(n)]
signal.signal(signal.SIGTERM, lambda *_: [r.terminate() for r in ranks])
while any(r.poll() is None for r in ranks) and not any(r.poll() for r in ranks):
    time.sleep(0.01)
for r in ranks:
    if r.poll() is None:
        r.kill()
sys.exit(max(r.wait() for r in ranks))
"""
SHOW = """\
import os, sys
found = [os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "OMP_NUM_THREADS")]
print(*found, __name__, *sys.argv[1:])
"""
FAULT = """\
import os, signal, sys, time
if os.environ["RANK"] == "1":
    {fault}
time.sleep(60)
"""
FAULTS = {
    "raise": ("raise ValueError('no data')", 1, "raised ValueError: no data"),
    "exit": ("sys.exit(3)", 3, "called sys.exit(3)"),
    "text": ("sys.exit('stop here')", 1, "called sys.exit with: stop here"),
    "_exit": ("os._exit(5)", 5, "ended with status 5"),
    "kill": ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
    "abort": ("os.abort()", 134, "was killed by SIGABRT"),
}
HAS_MPI = bool(_launch.find_mpiexec(os.environ) and importlib.util.find_spec("mpi4py"))
needs_mpi = pytest.mark.skipif(not HAS_MPI, reason="no mpiexec or no mpi4py: pip install 'strided[mpi]'")
STARTERS = ["srun", pytest.param("mpiexec", marks=needs_mpi)]


@pytest.fixture
def starter(request, tmp_path, monkeypatch):
    if request.param == "mpiexec":
        return ["--with", _launch.find_mpiexec(os.environ)]
    fake = tmp_path / "srun"
    fake.write_text(SRUN.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return ["--with", str(fake)]


def start(*words, **options):
    environment = os.environ | options.pop("env", {})
    return subprocess.Popen(
        [sys.executable, "-m", "strided", "launch", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment, **options,
    )  # fmt: skip


def run(*words, **options):
    job = start(*words, **options)
    try:
        out, err = job.communicate(timeout=60)
    finally:
        job.kill()
    return job.returncode, out, err


# ---------------------------------------------------------------- whole jobs


@pytest.mark.parametrize("starter", STARTERS, indirect=True)
def test_ranks_know_their_place(starter, tmp_path):
    script = tmp_path / "show.py"
    script.write_text(SHOW)
    status, out, err = run(*starter, "-n", 3, "--threads", 2, script, "-n", "x y")
    assert (status, err) == (0, "")
    assert sorted(out.splitlines()) == [f"{k} 3 {k} 3 2 __main__ -n x y" for k in range(3)]
    status, out, err = run(*starter, "-n", 2, "-c", SHOW, "word")
    assert sorted(line.split()[0] for line in out.splitlines()) == ["0", "1"] and "word" in out
    assert {line.split()[4] for line in out.splitlines()} == {str(max(1, rank.cores() // 2))}


@pytest.mark.parametrize("starter", STARTERS, indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_rank_ends_the_job(starter, fault, tmp_path):
    code, expected, text = FAULTS[fault]
    script = tmp_path / "fault.py"
    script.write_text(FAULT.format(fault=code))
    begin = time.monotonic()
    status, out, err = run(*starter, "-n", 3, script)
    assert time.monotonic() - begin < 30  # the other ranks sleep for a minute
    assert status == expected and out == ""
    said = [line for line in err.splitlines() if line.startswith("strided launch:")]
    assert len(said) == 1 and "rank 1 of 3" in said[0] and said[0].endswith(text)
    trace = err.splitlines()[:-1]
    assert ("fault.py" in err and "rank.py" not in err) if fault == "raise" else trace == []


@pytest.mark.parametrize("starter", STARTERS, indirect=True)
def test_signals_reach_the_ranks(starter, tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(
        # os.write: a handler that prints while print() runs would raise.
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'saved\\n'), sys.exit(0)))\n"
        "os.write(1, b'ready\\n')\ntime.sleep(60)\n"
    )
    job = start(*starter, "-n", 2, script)
    try:
        assert [job.stdout.readline(), job.stdout.readline()] == ["ready\n"] * 2
        job.send_signal(signal.SIGTERM)
        out, err = job.communicate(timeout=30)
    finally:
        job.kill()
    assert out.count("saved") == 2 and job.returncode in (0, 143) and "Traceback" not in err


@needs_mpi
def test_as_torch_and_modules(tmp_path):
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(2), torch.__name__, __name__)\n")
    status, out, err = run("-n", 2, "--as-torch", "-m", "program", cwd=tmp_path, env=package_path())
    assert (status, out) == (0, "tensor([1., 1.]) torch __main__\n" * 2), err


def package_path():
    import strided

    return {"PYTHONPATH": os.path.dirname(os.path.dirname(strided.__file__))}


def test_inside_a_job_it_is_a_rank(tmp_path):
    """srun python -m strided launch script.py: nothing is started, this process is the rank."""
    slurm = {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "1",
             "SLURM_STEP_TASKS_PER_NODE": "2(x2)", "SLURM_NODEID": "1", "SLURM_CPUS_PER_TASK": "1"}  # fmt: skip
    status, out, err = run("-c", SHOW, env=slurm)
    assert (status, out, err) == (0, "2 4 0 2 1 __main__\n", "")
    status, out, err = run("-n", 8, "-c", SHOW, env=slurm)
    assert status == 2 and "-n 8 differs from the 4 ranks that were started already" in err


# ---------------------------------------------------------------- simulated ranks

PROGRAM = """\
import sys
import strided
from strided import distributed as dist
dist.init_process_group()
mine = dist.get_rank()
x = strided.tensor([mine])
dist.all_reduce(x)
assert x.item() == 3 and mine == dist.get_rank()  # each rank has globals of its own
{fault}
dist.barrier()
if mine == 0:
    print("sum", x.item(), __name__, sys.argv)
sys.exit(0)
"""


def test_simulated_ranks(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(fault=""))
    assert run("-n", 3, "--simulate", script, "a") == (0, f"sum 3 __main__ {[str(script), 'a']}\n", "")
    status, out, err = run("-n", 3, "--simulate", "-m", "program", cwd=tmp_path, env=package_path())
    assert (status, out.split(" [")[0], err) == (0, "sum 3 __main__", "")
    assert run("-n", 3, "--simulate", "-c", PROGRAM.format(fault="")) == (0, "sum 3 __main__ ['-c']\n", "")


@pytest.mark.parametrize(
    ("fault", "expected", "text"),
    [
        ("if mine == 1: raise ValueError('no data')", 1, "simulated rank 1 of 3 raised ValueError: no data"),
        ("if mine == 1: sys.exit(3)", 3, "simulated rank 1 of 3 called sys.exit(3)"),
        ("if mine == 1: sys.exit()", 1, "no rank can go on"),
    ],
)
def test_simulated_ranks_that_fail(fault, expected, text):
    status, out, err = run("-n", 3, "--simulate", "-c", PROGRAM.format(fault=fault))
    assert (status, out) == (expected, "") and text in err.splitlines()[-1]
    assert "_threads.py" not in err and "simulated.py" not in err


# ---------------------------------------------------------------- errors before anything is started


def launch(capsys, *words, environment=None):
    status = _launch.launch(list(words), {} if environment is None else environment)
    return status, capsys.readouterr()


def test_without_mpi(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    status, said = launch(capsys, "-n", "2", "-c", "pass")
    assert status == 2 and said.err.count("\n") == 1 and "pip install 'strided[mpi]'" in said.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-n", "2", "/no/such.py"], "there is no file '/no/such.py'"),
        (["-n", "0", "-c", "pass"], "-n must be 1 or more, got 0"),
        (["-c", "pass"], "how many ranks? Say -n 4"),
        (["-n", "2", "--with", "nothing-of-that-name", "-c", "pass"], "there is no such program"),
        (["-n", "2", "--with", "srun", "-c", "pass"], "there is no srun in PATH"),
        (["-n", "2"], "usage:"),
        ([], "usage:"),
    ],
)
def test_errors_of_use(capsys, words, text):
    status, said = launch(capsys, *words)
    assert status == 2 and text in said.err and "Traceback" not in said.err


# ---------------------------------------------------------------- places, threads, commands


SLURM = {"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1", "SLURM_STEP_TASKS_PER_NODE": "4(x2)"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}, (1, 4, 1, 2)),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
          "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "1"}, (3, 4, 1, 2)),
        (SLURM | {"SLURM_STEP_ID": "0"}, (5, 8, 1, 4)),
        (SLURM | {"SLURM_STEP_ID": "0", "SLURM_NODEID": "2", "SLURM_STEP_TASKS_PER_NODE": "3(x2),2"}, (5, 8, 1, 2)),
        (SLURM | {"SLURM_STEP_ID": "0", "PMI_RANK": "5", "PMI_SIZE": "8", "PMI_FD": "7"}, (5, 8, 1, 4)),
        ({"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2", "MV2_COMM_WORLD_LOCAL_RANK": "1",
          "MV2_COMM_WORLD_LOCAL_SIZE": "2"}, (1, 2, 1, 2)),
        (SLURM | {"SLURM_STEP_ID": str(0xFFFFFFFA)}, None),  # an interactive shell
        (SLURM, None),  # a batch script
    ],
)  # fmt: skip
def test_places(environment, expected):
    found = rank.place(environment)
    assert (None if found is None else tuple(found)) == expected


def test_threads_share_the_cores():
    here = rank.Place(1, 8, 1, 4)
    found = rank.variables(here, {}, None, 16)
    assert found["STRIDED_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "4"
    assert rank.variables(here, {}, None, 2)["OMP_NUM_THREADS"] == "1"
    assert rank.variables(here, {"SLURM_CPUS_PER_TASK": "3"}, None, 16)["MKL_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in rank.variables(here, {"OMP_NUM_THREADS": "7"}, None, 16)
    assert rank.variables(here, {"OMP_NUM_THREADS": "7"}, 2, 16)["OMP_NUM_THREADS"] == "2"
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"], found["LOCAL_WORLD_SIZE"]) == ("1", "8", "1", "4")


def test_commands():
    options = _launch._parser().parse_args(["--label", "--mpi-args", "--bind-to core", "--threads", "3"])
    made = {
        kind: _launch.command(f"/bin/{kind}", kind, 4, options, ["a.py", "x"]) for kind in ("srun", "hydra", "openmpi")
    }
    assert made["srun"][:5] == ["/bin/srun", "-n", "4", "--kill-on-bad-exit=1", "--label"]
    assert made["hydra"][3:5] == ["-prepend-pattern", "[%r] "] and made["openmpi"][3] == "--tag-output"
    for words in made.values():
        at = words.index(sys.executable)
        assert words[at - 2 : at] == ["--bind-to", "core"] and words[at + 1 :] == [
            rank.__file__,
            "3",
            "0",
            "4",
            "a.py",
            "x",
        ]


def test_in_an_allocation(capsys, monkeypatch, tmp_path):
    """The number of ranks is Slurm's; srun is taken unless MPI is the wheel beside this Python."""
    for name in ("srun", "mpiexec"):
        (tmp_path / name).write_text("#!/bin/sh\necho HYDRA\n")
        (tmp_path / name).chmod(0o755)
    allocation = {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "6", "PATH": str(tmp_path)}
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere" / "python"))
    status, said = launch(capsys, "--dry-run", "-c", "pass", environment=allocation)
    assert status == 0 and said.out.startswith(f"{tmp_path}/srun -n 6 --kill-on-bad-exit=1 ")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    status, said = launch(capsys, "--dry-run", "-n", "2", "-c", "pass", environment=allocation)
    assert status == 0 and said.out.startswith(f"{tmp_path}/mpiexec -n 2 ")


def test_a_second_job_does_not_inherit_the_first():
    kept = _launch.outside(
        {"PMI_RANK": "1", "HYDI_CONTROL_FD": "7", "SLURM_PROCID": "0", "SLURM_JOB_ID": "5", "A": "b"}
    )
    assert kept == {"SLURM_JOB_ID": "5", "A": "b"}


def test_the_banner_of_mpiexec_is_dropped():
    import io

    rule = b"=" * 83 + b"\n"
    text = (
        b"first\n\nsecond\n"
        + rule
        + b"own rule\n\n"
        + rule
        + b"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
    )
    text += b"=   PID 10558 RUNNING AT vm\n=   EXIT CODE: 9\n" + rule
    text += b"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\nThis typically refers to a problem\n"
    text += b"Please see the FAQ page for debugging suggestions\nlast\n"
    shown = io.BytesIO()
    _launch._copy_output(io.BytesIO(text), shown)
    assert shown.getvalue() == b"first\n\nsecond\n" + rule + b"own rule\nlast\n"


def test_the_slurm_script_is_a_shell_script():
    script = os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "examples", "slurm.sh")
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    subprocess.run(["bash", "-n", script], check=True)
    with open(script) as f:
        assert "exec python -m strided launch" in f.read()


# ---------------------------------------------------------------- torchrun's options


@pytest.mark.parametrize(
    ("words", "launched"),
    [
        (["--standalone", "--nproc-per-node=4", "a.py", "--lr", "3"], ["-n", "4", "a.py", "--lr", "3"]),
        (["--nproc_per_node", "2", "--master_port=1234", "--nnodes=1:1", "a.py"], ["-n", "2", "a.py"]),
        (["-m", "--rdzv-backend=c10d", "--rdzv_endpoint", "h:1", "pack.mod"], ["-n", "1", "-m", "pack.mod"]),
    ],
)
def test_options_of_torchrun(words, launched, monkeypatch):
    from strided.distributed import run

    seen = []
    monkeypatch.setattr(_launch, "find_mpiexec", lambda environment: "mpiexec")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(_launch, "launch", lambda words, environment: seen.append((words, environment)) or 5)
    with pytest.raises(SystemExit) as ended:
        run.main(words)
    assert ended.value.code == 5 and seen[0][0] == launched
    port = "1234" if "1234" in " ".join(words) else "29500"
    assert seen[0][1]["MASTER_ADDR"] == "127.0.0.1" and seen[0][1]["MASTER_PORT"] == port


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nnodes=2", "a.py"], "srun or mpiexec starts ranks on several machines"),
        (["--no-python", "a.sh"], "--no-python"),
        (["--nproc-per-node=x", "a.py"], "Unsupported nproc_per_node value: x"),
        (["--nproc-per-node=gpu", "a.py"], "there is no GPU"),
    ],
)
def test_what_torchrun_does_that_run_does_not(words, text, capsys, monkeypatch):
    from strided.distributed import run

    monkeypatch.setattr("strided.cuda.device_count", lambda: 0)
    with pytest.raises(SystemExit) as ended:
        run.main(words)
    assert ended.value.code == 2 and text in capsys.readouterr().err


def test_names_of_launchers():
    from strided.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
    from strided.distributed.elastic.utils.data import ElasticDistributedSampler
    from strided.distributed.elastic.utils.distributed import get_free_port, get_socket_with_port

    error = ChildFailedError("a.py", {1: ProcessFailure(1, 77, 3)})
    assert "rank 1 (local_rank 1, pid 77) exit code 3" in str(error) and error.failures[1].exitcode == 3
    with get_socket_with_port() as held:
        assert get_free_port() != held.getsockname()[1] > 0
    samplers = [ElasticDistributedSampler(range(10), 2, rank, start_index=4) for rank in range(2)]
    assert sorted(i for s in samplers for i in s) == [4, 5, 6, 7, 8, 9] and len(samplers[0]) == 3
    with pytest.raises(ValueError, match="Start index 10"):
        ElasticDistributedSampler(range(10), 2, 0, start_index=10)


# ---------------------------------------------------------------- functions on ranks


def sum_of_ranks(x):
    import strided as torch
    from strided import distributed as dist

    dist.init_process_group("gloo")
    total = torch.full((2,), x + dist.get_rank())
    dist.all_reduce(total)
    assert dist.is_torchelastic_launched() and os.environ["LOCAL_RANK"] == os.environ["RANK"]
    return total, os.environ["WORLD_SIZE"]


def fail_once(path, how):
    from pathlib import Path

    if os.environ["RANK"] != "1":
        return how
    if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) == 1:
        return Path(path).read_text()
    Path(path).write_text("again")
    if how == "raise":
        raise ValueError("no data")
    os.kill(os.getpid(), signal.SIGKILL)


def launch_config(**options):
    from strided.distributed import launcher

    return launcher.LaunchConfig(1, 1, 2, run_id="x", rdzv_backend="c10d", **options)


def test_functions_on_ranks():
    from strided.distributed import launcher

    found = launcher.elastic_launch(launch_config(), sum_of_ranks)(10)
    assert {rank: (total.tolist(), size) for rank, (total, size) in found.items()} == {
        0: ([21, 21], "2"), 1: ([21, 21], "2")}  # fmt: skip
    with pytest.raises(ValueError, match="min_nodes=2: srun or mpiexec"):
        launcher.elastic_launch(launcher.LaunchConfig(2, 2, 1), sum_of_ranks)(10)
    with pytest.raises(TypeError, match="an entrypoint is a function, not 'a.py'"):
        launcher.launch_agent(launch_config(), "a.py", [])
    with pytest.raises(ValueError, match="shutdown_timeout must be non-negative, got -1"):
        launch_config(shutdown_timeout=-1)


@pytest.mark.parametrize(
    ("how", "code", "text"), [("raise", 1, "ValueError: no data"), ("kill", -9, "Signal 9 (SIGKILL)")]
)
def test_functions_on_ranks_that_fail(tmp_path, how, code, text):
    from strided.distributed.elastic.multiprocessing.errors import ChildFailedError
    from strided.distributed.launcher.api import elastic_launch

    given = elastic_launch(launch_config(max_restarts=1, start_method="fork"), fail_once)(str(tmp_path / "a"), how)
    assert given == {0: how, 1: "again"}
    with pytest.raises(ChildFailedError, match="fail_once FAILED") as error:
        elastic_launch(launch_config(max_restarts=0, start_method="fork"), fail_once)(str(tmp_path / "a"), how)
    rank, failure = error.value.get_first_failure()
    assert (rank, failure.exitcode) == (1, code) and text in failure.message


# ---------------------------------------------------------------- without MPI

WITH_TCP = """
import os, signal, subprocess, sys, time
import strided as torch
from strided import distributed as dist
rank, size = dist.world().rank, dist.world().size
assert (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])) == (rank, size, rank)
x = torch.ones(2) * rank
dist.world().all_reduce(x)
dist.init_process_group(*sys.argv[2:])
dist.all_reduce(x)
how = sys.argv[1]
if how == "raise" and rank == 1:
    raise ValueError("no")
if how == "kill" and rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
if how == "late" and rank == 1:  # the process that reports this rank's end comes after the others have heard of it
    os.kill(os.getppid(), signal.SIGSTOP)
    subprocess.Popen(["sh", "-c", f"sleep 2; kill -CONT {os.getppid()}"])
    raise ValueError("no")
if how in ("raise", "kill", "late"):
    dist.barrier()
print(rank, x[0].item(), dist.get_backend(), flush=True)
"""


@pytest.mark.parametrize("backend", [(), ("mpi",)])
def test_ranks_connect_by_tcp(tmp_path, backend):
    script = tmp_path / "program.py"
    script.write_text(WITH_TCP)
    status, out, err = run("-n", 2, "--with", "tcp", script, "well", *backend)
    assert (status, sorted(out.splitlines()), err) == (0, ["0 2.0 gloo", "1 2.0 gloo"], "")


@pytest.mark.parametrize(
    ("how", "status", "text"),
    [
        ("raise", 1, "raised ValueError: no"),
        ("late", 1, "raised ValueError: no"),
        ("kill", 137, "was killed by SIGKILL"),
    ],
)
def test_a_rank_that_fails_ends_a_job_without_mpi(tmp_path, how, status, text):
    script = tmp_path / "program.py"
    script.write_text(WITH_TCP)
    found, _, err = run("-n", 2, "--with", "tcp", script, how)
    assert found == status and "strided launch: rank 1 of 2" in err and text in err and "rank 0 of 2" not in err


def test_what_needs_mpi_says_so(capsys):
    status = _launch.launch(["-n", "2", "--with", "tcp", "--label", "-c", "pass"], {})
    assert status == 2 and "not --with tcp" in capsys.readouterr().err


def test_torchrun_without_mpi_connects_by_tcp(monkeypatch, capsys):
    from strided.distributed import run as torchrun

    seen = []
    monkeypatch.setattr(_launch, "find_mpiexec", lambda environment: None)
    monkeypatch.setattr(_launch, "launch", lambda words, environment: seen.append(words) or 0)
    with pytest.raises(SystemExit):
        torchrun.main(["--nproc-per-node=2", "a.py"])
    assert seen == [["-n", "2", "--with", "tcp", "a.py"]] and "connect by TCP" in capsys.readouterr().err


def test_the_older_command_gives_the_local_rank(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("import sys, os; print(sys.argv[1:], __name__, os.path.basename(__file__))\n")
    words = [sys.executable, "-m", "strided.distributed.launch", "--nproc_per_node=2", str(script), "--x"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert sorted(done.stdout.splitlines()) == [f"['--local-rank={k}', '--x'] __main__ old.py" for k in range(2)]


def test_names_of_distributed(monkeypatch):
    from strided import distributed as dist

    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched() and dist.distributed_c10d.is_torchelastic_launched is not None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    assert dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "detail")
    assert dist.get_debug_level() is dist.DebugLevel.DETAIL and issubclass(dist.DistBackendError, RuntimeError)
