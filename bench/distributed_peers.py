"""Others that solve systems on several processes: ScaLAPACK (MKL's) and PyTorch's DTensor over gloo.

Each is found or not found; what is not found says so in one line.  Operands are made once; each call works on a copy.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import strided as torch


class Missing(Exception):
    """A peer is not installed; the text says what is missing."""


def memory(key: str) -> int:
    """Bytes of this process: key is VmRSS (now) or VmHWM (the most since `forget_peak`)."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(key))


def forget_peak() -> None:
    """VmHWM starts from what there is now, without what the allocators keep for later."""
    torch.memory.empty_cache()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


# ---------------------------------------------------------------- ScaLAPACK


class _Library:
    """Functions of shared libraries that need each other: each is opened for all, and bound when called."""

    def __init__(self, paths: list[str]):
        own = ctypes.CDLL(None)
        own.dlopen.restype, own.dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
        own.dlerror.restype = ctypes.c_char_p
        self.open = []
        for path in paths:
            handle = own.dlopen(path.encode(), os.RTLD_LAZY | os.RTLD_GLOBAL)
            if not handle:
                raise Missing(f"ScaLAPACK: {own.dlerror().decode()}")
            self.open.append(ctypes.CDLL(path, handle=handle))

    def __call__(self, name: str, *values: Any) -> None:
        """A Fortran subroutine: integers, texts, arrays of integers, and tensors, all by address."""
        given = []
        for v in values:
            if isinstance(v, int):
                given.append(ctypes.byref(ctypes.c_int(v)))
            elif isinstance(v, torch.Tensor):
                given.append(ctypes.c_void_p(v.data_ptr()))
            else:
                given.append(v if isinstance(v, (bytes, ctypes.Array)) else ctypes.byref(v))
        function = next(getattr(lib, f"{name}_") for lib in reversed(self.open) if hasattr(lib, f"{name}_"))
        function.restype = None
        function(*given)


class Scalapack:
    """pdgesv and pdposv on the pieces of a grid; column by column, as Fortran has them."""

    name = "ScaLAPACK (MKL)"

    def __init__(self, directory: str | None = None):
        places = [directory, f"{sys.prefix}/lib"] if directory else [f"{sys.prefix}/lib"]
        found = [p for p in places if list(Path(p).glob("libmkl_scalapack_lp64.so*"))]
        if not found:
            raise Missing(
                f"ScaLAPACK: no libmkl_scalapack_lp64 in {', '.join(places)} (pip install mkl; --mkl DIRECTORY)"
            )
        with open("/proc/self/maps", encoding="utf-8") as maps:
            mpi = sorted({line.split()[-1] for line in maps if "/libmpi.so" in line})
        if not mpi or "openmpi" in mpi[0].lower():
            raise Missing("ScaLAPACK: needs MPICH or Intel MPI, which mpiexec starts")
        os.environ["MKL_THREADING_LAYER"] = "SEQUENTIAL"
        names = ("libmkl_rt", "libmkl_blacs_intelmpi_lp64", "libmkl_scalapack_lp64")
        self.call = _Library([*mpi, *(str(next(Path(found[0]).glob(f"{n}.so*"))) for n in names)])

    def prepare(self, A: Any, B: Any) -> None:
        """Of linalg.Matrix of one grid, whose processes BLACS numbers in the same way."""
        context, grid, zero = ctypes.c_int(), A.grid, 0
        self.call("blacs_get", -1, zero, context)
        self.call("blacs_gridinit", context, b"R", grid.rows, grid.columns)
        place = [ctypes.c_int() for _ in range(4)]
        self.call("blacs_gridinfo", context, *place)
        if (place[2].value, place[3].value) != (grid.row, grid.column):
            raise RuntimeError("BLACS numbers the processes in another way")
        self.n, self.columns, self.context = A.shape[0], B.shape[1], context
        self.A, self.B = A.local.mT.contiguous(), B.local.mT.contiguous()
        self.described = [self._describe(M) for M in (A, B)]
        self.pivots = (ctypes.c_int * (A.local.shape[0] + A.block))()

    def _describe(self, M):
        made, info = (ctypes.c_int * 9)(), ctypes.c_int()
        rows = max(1, M.local.shape[0])
        self.call("descinit", made, *M.shape, M.block, M.block, 0, 0, self.context, rows, info)
        if info.value:
            raise RuntimeError(f"descinit: {info.value}")
        return made

    def _solved(self, name, *more):
        A, B, info = self.A.clone(), self.B.clone(), ctypes.c_int()
        self.call(name, *more[0], A, 1, 1, self.described[0], *more[1], B, 1, 1, self.described[1], info)
        if info.value:
            raise RuntimeError(f"{name}: info = {info.value}")
        return B.mT

    def solve(self) -> Any:
        """pdgesv"""
        return self._solved("pdgesv", (self.n, self.columns), (self.pivots,))

    def solve_definite(self) -> Any:
        """pdposv; the lower triangle is read."""
        return self._solved("pdposv", (b"L", self.n, self.columns), ())


# ---------------------------------------------------------------- DTensor


class DTensor:
    """torch.linalg of DTensors whose rows are cut; what it has no rule for raises."""

    name = "PyTorch DTensor (gloo)"

    def __init__(self, comm: Any):
        try:
            import torch as pytorch
            from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh
        except ImportError as error:
            raise Missing(f"DTensor: {error}") from None
        self.torch, self.comm = pytorch, comm
        self.cut = lambda t: distribute_tensor(t, self.mesh, [Shard(0)])
        pytorch.set_num_threads(1)
        path = [tempfile.mktemp() if comm.rank == 0 else ""]
        text = torch.zeros(256, dtype=torch.uint8)
        if comm.rank == 0:
            text[: len(path[0])] = torch.tensor(list(path[0].encode()), dtype=torch.uint8)
        comm.broadcast(text, 0)
        place = bytes(text.tolist()).rstrip(b"\0").decode()
        pytorch.distributed.init_process_group(
            "gloo", init_method=f"file://{place}", rank=comm.rank, world_size=comm.size
        )
        self.mesh = init_device_mesh("cpu", (comm.size,))

    def prepare(self, n: int, columns: int) -> None:
        """Operands of the same kind as the others'; each rank keeps its rows."""
        generator = self.torch.Generator().manual_seed(0)
        whole = self.torch.randn(n, n, dtype=self.torch.float64, generator=generator)
        whole.diagonal().add_(2 * n)
        self.A, self.B = self.cut(whole), self.cut(whole[:, :columns].contiguous())

    def solve(self) -> Any:
        """linalg.solve"""
        return self.torch.linalg.solve(self.A, self.B).to_local()

    def solve_definite(self) -> Any:
        """cholesky_solve of linalg.cholesky"""
        return self.torch.cholesky_solve(self.B, self.torch.linalg.cholesky(self.A)).to_local()

    def close(self) -> None:
        """Ends the process group."""
        self.torch.distributed.destroy_process_group()
