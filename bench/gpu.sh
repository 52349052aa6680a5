#!/usr/bin/env bash
# On a machine with a GPU: builds the CUDA library for it, runs the tests there, checks the kernels with compute-sanitizer, and
# times them. Ten minutes at most. The figures go to bench/results/.
#   bench/gpu.sh [PYTHON]      PYTHON has this strided and what its tests need: after make venv .venv/bin/python, the default
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
build=build/gpu
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr ' /' '__')
mkdir -p bench/results build

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRIDED_CUDA=ON -DSTRIDED_CUDA_ARCHITECTURES="$arch-real" -DSTRIDED_BUILD_TESTS=ON \
  -DSTRIDED_BUILD_PYTHON=OFF -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target strided_cuda cuda_device_tests
export STRIDED_CUDA_LIBRARY=$PWD/$build/cuda/libstrided_cuda.so

# What fails does not keep the rest from running; the exit status tells.
status=0
step() {
  echo "== $*"
  "$@" || { echo "== exit status $? of: $*"; status=1; }
}
step "$python" -m pytest -q tests/gpu
step timeout 240 tests/gpu/sanitize.sh "$build"
timings() { timeout 250 "$python" -u bench/gpu.py --json "bench/results/$name-$(date +%F).json" | tee "bench/results/$name-$(date +%F).txt"; }
step timings
exit $status
