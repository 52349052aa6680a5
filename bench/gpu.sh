#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds the CUDA library for it, runs the tests there, times, and checks the kernels with
# compute-sanitizer, in this order, each step with a limit of time. What fails does not keep the rest from running. Everything
# that is said goes to bench/results/DEVICE-DATE.txt too, the figures to .json beside it.
#   bench/gpu.sh [PYTHON]      PYTHON: one that has this strided and what its tests need; without it .venv/bin/python, which
#                              make venv makes where it is not there. PyTorch and CuPy are measured where that Python has them.
# Needed: a driver, nvcc 12 or newer (no newer than the driver knows), Python 3.10 or newer with venv, a C++ compiler.
set -uo pipefail
cd "$(dirname "$0")/.."

problem() {
  echo "gpu.sh: $*" >&2
  exit 2
}
export PATH=$PWD/.venv/bin:$PATH
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
  [ -n "$folder" ] && [ -d "$folder/bin" ] && PATH=$PATH:$folder/bin
done
command -v nvidia-smi > /dev/null || problem "there is no nvidia-smi: this machine has no NVIDIA driver, or the container does not see it (docker run --gpus all)"
visible=${CUDA_VISIBLE_DEVICES:-0}
ask() { nvidia-smi "--query-gpu=$1" --format=csv,noheader --id="${visible%%,*}" 2>&1 | head -1; }
name=$(ask name)
capability=$(ask compute_cap)
[[ $capability =~ ^[0-9]+\.[0-9]+$ ]] || problem "nvidia-smi names no device: $name"
command -v nvcc > /dev/null || problem "there is no nvcc on the PATH, nor in /usr/local/cuda/bin. Install a CUDA toolkit, or: pip install nvidia-cuda-nvcc, with its bin folder on the PATH"
toolkit=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64  # cuSOLVER and cuFFT
nvcc_release=$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
driver_release=$(nvidia-smi | sed -n 's/.*CUDA[A-Za-z ]* Version: *\([0-9.]*\).*/\1/p' | head -1)
[ "${nvcc_release%%.*}" -ge 12 ] || problem "nvcc is of CUDA $nvcc_release; 12 or newer is needed"
if [ -n "$driver_release" ] && [ "${nvcc_release%%.*}" -gt "${driver_release%%.*}" ]; then
  problem "nvcc is of CUDA $nvcc_release, but the driver runs programs up to CUDA $driver_release: use an older toolkit (CUDA_HOME), or a newer driver"
fi
architecture=${capability/./}
[ "$architecture" = 90 ] && architecture=90a  # products of warpgroups are instructions of 90a alone

mkdir -p bench/results build
results=bench/results/$(tr ' /' '__' <<< "$name")-$(date +%F)
exec > >(tee "$results.txt") 2>&1
echo "$name, compute capability $capability, driver $(ask driver_version) (CUDA ${driver_release:-unknown}), nvcc $nvcc_release, $(nproc) processors, $(git rev-parse --short HEAD 2> /dev/null)"

status=0
summary=()
# step SECONDS COMMAND...
step() {
  local seconds=$1 begin=$SECONDS code
  shift
  echo "== $*"
  timeout --kill-after=10 "$seconds" "$@"
  code=$?
  [ $code = 0 ] || status=1
  [ $code = 124 ] && echo "== stopped after $seconds s: $*"
  summary+=("exit status $code after $((SECONDS - begin)) s: $*")
  return $code
}
finish() {
  printf '== %s\n' "${summary[@]}"
  echo "written to $results.txt"
  exit $status
}

# ---- build
architectures="$architecture-real"
if [ $# -gt 0 ]; then
  python=$1
  PATH=$(dirname "$("$python" -c 'import sys; print(sys.executable)')"):$PATH
else
  python=.venv/bin/python
  if ! "$python" -c 'import strided' 2> /dev/null; then
    step 1500 make venv CUDA="-Ccmake.define.STRIDED_CUDA=ON -Ccmake.define.STRIDED_CUDA_ARCHITECTURES=$architectures" || finish
  fi
fi
"$python" -c 'import strided' || problem "$python cannot import strided"
# The build folder of make venv serves, if its CUDA library is for this architecture.
build=build/make
if [ $# -gt 0 ] || ! grep -qs "^STRIDED_CUDA_ARCHITECTURES:.*=$architectures$" $build/CMakeCache.txt || [ ! -e $build/cuda/libstrided_cuda.so ]; then
  build=build/gpu
  for tool in cmake ninja; do
    command -v $tool > /dev/null || problem "there is no $tool on the PATH, nor beside $python: pip install $tool"
  done
  step 120 cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRIDED_CUDA=ON -DSTRIDED_CUDA_ARCHITECTURES="$architectures" \
    -DSTRIDED_BUILD_TESTS=ON -DSTRIDED_BUILD_PYTHON=OFF -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" || finish
fi
step 1200 cmake --build $build --target strided_cuda || finish
export STRIDED_CUDA_LIBRARY=$PWD/$build/cuda/libstrided_cuda.so
step 120 "$python" tests/gpu/run.py first || finish  # where these few operations fail, nothing else has a meaning
step 900 cmake --build $build --target cuda_device_tests

# ---- tests, figures, sanitizers: about ten minutes
begin=$SECONDS
tests=$build/cuda/cuda_device_tests
step 130 "$python" tests/gpu/run.py kernels $tests --seconds 120
step 190 "$python" tests/gpu/run.py python --seconds 180
step 220 "$python" -u bench/gpu.py --seconds 200 --json "$results.json"
step 160 "$python" tests/gpu/run.py sanitize $tests --seconds 150
echo "== $((SECONDS - begin)) s after the build"
finish
