#!/bin/bash
# A job of 2 machines with 4 ranks each, for Slurm:
#
#     sbatch examples/slurm.sh examples/data_parallel.py --epochs 20
#
# The number of ranks and of cores for each is taken from the lines below. With strided[mpi] (MPICH as a wheel) nothing
# else is needed. With the cluster's own MPI load its module here, and install mpi4py from source in that environment.
#SBATCH --job-name=strided
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=00:30:00
#SBATCH --signal=B:TERM@60

set -euo pipefail

# module load mpich python
source "${VENV:-.venv}/bin/activate"

# exec: Slurm's signals go to launch, which hands them on to all ranks, so a program can save its state in time.
exec python -m strided launch "$@"
