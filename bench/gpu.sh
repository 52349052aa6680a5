#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: builds the CUDA library for it, tries an operation of each family, takes the shortest
# figures, runs the tests, takes the other figures, and checks the kernels with compute-sanitizer: what says most first,
# each step with a limit of time. What fails does not keep the rest from running, nor does a kernel that breaks its
# process's use of the device.
# Everything that is said goes to bench/results/DEVICE-DATE.txt too, as it is said, the figures to .json beside it.
#   bench/gpu.sh [--seconds N] [PYTHON]
#     PYTHON   one that has this strided and what its tests need; or one that has only what building needs (its packages
#              scikit-build-core, pybind11, numpy, cmake, ninja; pytest and pytest-xdist for the tests in Python): then
#              strided is built into an environment of its own beside the build, with nothing from the network. Without
#              PYTHON, .venv/bin/python, which make venv makes where it is not there. PyTorch and CuPy are measured where
#              that Python has them.
#     N        seconds for everything (a day, if not given): steps that would begin later are left out, others are cut. The
#              build goes on where it was when the script is called again.
#     STRIDED_CUDA_LIBRARY in the environment: the CUDA library, built elsewhere for this device (and the tests of kernels,
#              cuda_device_tests, beside it), so that nothing of it is compiled here.
# Needed: a driver, nvcc 12 or newer (no newer than the driver knows), Python 3.10 or newer with venv, a C++ compiler. The tests
# of kernels need GoogleTest (libgtest-dev, or the Python package ros-gtest-vendor).
set -uo pipefail
cd "$(dirname "$0")/.."

problem() {
  echo "gpu.sh: $*" >&2
  exit 2
}
limit=86400
if [ "${1:-}" = --seconds ]; then
  [[ ${2:-} =~ ^[0-9]+$ ]] || problem "--seconds needs a number"
  limit=$2
  shift 2
fi
given=${1:-}
[ -z "$given" ] || command -v "$given" > /dev/null || problem "there is no $given"
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
library=${STRIDED_CUDA_LIBRARY:+$(realpath "$STRIDED_CUDA_LIBRARY")}
[ -z "$library" ] || [ -e "$library" ] || problem "there is no $library"
nvcc_release=none
driver_release=$(nvidia-smi | sed -n 's/.*CUDA[A-Za-z ]* Version: *\([0-9.]*\).*/\1/p' | head -1)
if [ -z "$library" ]; then
  command -v nvcc > /dev/null || problem "there is no nvcc on the PATH, nor in /usr/local/cuda/bin. Install a CUDA toolkit, or: pip install nvidia-cuda-nvcc, with its bin folder on the PATH"
  # Where strided looks for cuSOLVER and cuFFT after Python's packages. (Not LD_LIBRARY_PATH: libraries of packages,
  # PyTorch's among them, would get those of the toolkit that they need, which may be older.)
  export CUDA_HOME=${CUDA_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")}
  nvcc_release=$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
  [ "${nvcc_release%%.*}" -ge 12 ] || problem "nvcc is of CUDA $nvcc_release; 12 or newer is needed"
  if [ -n "$driver_release" ] && [ "${nvcc_release%%.*}" -gt "${driver_release%%.*}" ]; then
    problem "nvcc is of CUDA $nvcc_release, but the driver runs programs up to CUDA $driver_release: use an older toolkit (CUDA_HOME), or a newer driver"
  fi
fi
architecture=${capability/./}
[ "$architecture" = 90 ] && architecture=90a  # products of warpgroups are instructions of 90a alone

mkdir -p bench/results build/gpu
results=bench/results/$(tr ' /' '__' <<< "$name")-$(date +%F)
exec > >(tee "$results.txt") 2>&1
echo "$name, compute capability $capability, driver $(ask driver_version) (CUDA ${driver_release:-unknown}), nvcc $nvcc_release, $(nproc) processors, $(git rev-parse --short HEAD 2> /dev/null)"

status=0
summary=()
left() { echo $((limit - SECONDS)); }
# share PERCENT MOST: so many seconds of those that are left, at most MOST
share() { echo $(($(left) * $1 / 100 < $2 ? $(left) * $1 / 100 : $2)); }
# within SECONDS: as many, or as are left but for the time to end
within() { echo $(($1 < $(left) - 10 ? $1 : $(left) - 10)); }
# step SECONDS COMMAND...
step() {
  local seconds begin=$SECONDS code
  seconds=$(within "$1")
  shift
  if [ "$seconds" -lt 5 ]; then
    status=1
    summary+=("left out for want of time: $*")
    return 1
  fi
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

# ---- build: for this device, and the loops of the CPU for this processor alone
architectures="$architecture-real"
case " $(sed -n 's/^flags.*: //p' /proc/cpuinfo | head -1) " in
  *" avx512bw "*) isas=v4 ;;
  *" avx2 "*) isas=v3 ;;
  *) isas=auto ;;
esac
command -v ccache > /dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
python=${given:-.venv/bin/python}
if ! "$python" -c 'import strided' 2> /dev/null; then
  offline=
  if [ -z "$given" ]; then
    step 600 make .venv/tools-test || finish
  else
    offline=--no-index
    python=$PWD/build/gpu/venv/bin/python
    [ -e "$python" ] || "$given" -m venv --system-site-packages build/gpu/venv > /dev/null ||
      "$given" -m venv --clear --without-pip --system-site-packages build/gpu/venv || problem "$given cannot make a virtual environment"
    # A virtual environment does not show the packages of another one, so a file names their folders.
    "$given" -c 'import site; print(*site.getsitepackages(), sep="\n")' > "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/given.pth"
  fi
  if ! "$python" -c 'import strided' 2> /dev/null; then
    PATH=$(dirname "$(command -v "${given:-$python}")"):$PATH  # cmake and ninja
    step 900 "$python" -m pip install -v $offline --no-build-isolation --no-deps -Cbuild-dir=build/gpu/extension \
      -Ccmake.define.STRIDED_ISAS=$isas -Ccmake.define.STRIDED_CUDA=OFF -e . || finish
  fi
fi
"$python" -c 'import strided' || problem "$python cannot import strided"
PATH=$PATH:$(dirname "$(command -v "${given:-$python}")")
if [ -n "$library" ]; then
  export STRIDED_CUDA_LIBRARY=$library
  tests=$(dirname "$library")/cuda_device_tests
else
  for tool in cmake ninja; do
    command -v $tool > /dev/null || problem "there is no $tool on the PATH, nor beside $python: pip install $tool"
  done
  build=build/gpu/device
  step 120 cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTRIDED_CUDA=ON -DSTRIDED_CUDA_ARCHITECTURES="$architectures" \
    -DSTRIDED_ISAS=$isas -DSTRIDED_BUILD_TESTS=ON -DSTRIDED_BUILD_PYTHON=OFF -DPython_EXECUTABLE="$("${given:-$python}" -c 'import sys; print(sys.executable)')" || finish
  step 1200 cmake --build $build --target strided_cuda || finish
  export STRIDED_CUDA_LIBRARY=$PWD/$build/cuda/libstrided_cuda.so
  tests=$build/cuda/cuda_device_tests
fi
begin=$SECONDS
figures=(-u bench/gpu.py --json "$results.json")
step 150 "$python" tests/gpu/run.py first --seconds "$(within 140)"
[ $? = 2 ] && finish  # where these few operations fail, nothing else has a meaning

# ---- figures, tests, sanitizers: about ten minutes. The tests of kernels are built beside those in Python, which the
# processors have little to do with.
step "$(($(share 20 60) + 15))" "$python" "${figures[@]}" --seconds "$(share 20 60)"
builds=
if [ -z "$library" ]; then
  timeout $(($(left) > 900 ? 900 : $(left) > 0 ? $(left) : 1)) cmake --build $build --target cuda_device_tests > build/gpu/device_tests.log 2>&1 &
  builds=$!
fi
seconds=$(share 40 240)
step $((seconds + 10)) "$python" tests/gpu/run.py python --seconds "$seconds"
seconds=$(share 50 240)
more=
[ -e "$results.json" ] && more=--resume
step $((seconds + 15)) "$python" "${figures[@]}" $more --tiles --seconds "$seconds"
[ -z "$builds" ] || wait $builds
if [ -x "$tests" ]; then
  seconds=$(share 60 130)
  step $((seconds + 10)) "$python" tests/gpu/run.py kernels $tests --seconds "$seconds"
  step 160 "$python" tests/gpu/run.py sanitize $tests --seconds "$(within 150)"
else
  status=1
  echo "== the tests of kernels were not built:"
  [ -z "$builds" ] || tail -5 build/gpu/device_tests.log
  summary+=("left out, not built: the tests of kernels, and the sanitizers")
fi
echo "== $((SECONDS - begin)) s after the build"
finish
