"""The environment that the tests run in, whatever shell they are started from."""

# Set for tests on purpose: which instruction set, which libraries.
ASKED_FOR = {
    "STRIDED_ISA",
    "STRIDED_PRODUCTS",
    "STRIDED_STREAM_BYTES",
    "STRIDED_CUDA_LIBRARY",
    "STRIDED_EMULATE_CUDA",
    "STRIDED_EMULATE_CUDA_CLOSED",
    "STRIDED_EMULATE_LATE",
    "STRIDED_LAPACK_LIBRARY",
    "STRIDED_TEST_CUDA_LIBRARY",
    "STRIDED_TEST_LAPACK",
    "STRIDED_WATCH",
    "STRIDED_ARRAY_API_TESTS",
    "STRIDED_ARRAY_API_EXAMPLES",
    "PYTHONPATH",  # where strided is, for processes that tests start
    "PYTHONHOME",
}
# What libraries for linear algebra and threads read, what changes how Python runs, what starters of ranks set, and what
# programs print.
PREFIXES = ("STRIDED_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "OMP_", "GOMP_", "KMP_", "VECLIB_", "NUMEXPR_", "PYTHON",
            "SLURM_", "PMI_", "PMIX_", "OMPI_", "MPI_LOCAL", "HYDI_")  # fmt: skip
NAMES = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "PY_COLORS",
}


def clean(environment) -> None:
    """Leaves out what a user may have set for other programs. Called before anything reads it."""
    for name in list(environment):
        if name not in ASKED_FOR and (name in NAMES or name.startswith(PREFIXES)):
            del environment[name]
