#!/usr/bin/env bash
# On a machine with a GPU: builds the CUDA library for it, runs the tests there, checks the kernels with compute-sanitizer, and
# times them. Ten minutes at most. The figures go to bench/results/.
#   bench/gpu.sh [PYTHON]      PYTHON has the build and test requirements (make venv makes such a one); default .venv/bin/python
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-.venv/bin/python}
build=build/gpu
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr ' /' '__')
mkdir -p bench/results build

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRIDED_CUDA=ON -DSTRIDED_CUDA_ARCHITECTURES="$arch-real" -DSKBUILD_PROJECT_VERSION=0.1.0 \
  -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" > "$build.log" 2>&1 \
  || { cat "$build.log"; exit 1; }
cmake --build "$build" --target _C strided_cuda
export STRIDED_CUDA_LIBRARY=$PWD/$build/cuda/libstrided_cuda.so

"$python" -m pytest -q tests/python/test_cuda.py tests/python/test_cuda_ops.py tests/python/test_cuda_fusion.py
if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck; do
    timeout 150 compute-sanitizer --tool "$tool" --error-exitcode 9 --target-processes all \
      "$python" -m pytest -q -x tests/python/test_cuda_ops.py -k "sizes or indexing or float32-contiguous" || echo "compute-sanitizer $tool: exit status $?"
  done
else
  echo "compute-sanitizer is not installed: the kernels were not checked by it"
fi
timeout 240 "$python" bench/gpu.py --json "bench/results/$name-$(date +%F).json" | tee "bench/results/$name-$(date +%F).txt"
