#!/usr/bin/env bash
# The kernel tests of tests/cpp on this machine's GPU, alone and then under compute-sanitizer: memcheck (addresses outside of
# allocations, misaligned ones) and racecheck (hazards in shared memory).
#   tests/gpu/sanitize.sh BUILD [--gtest_filter=...]     BUILD: a build folder with STRIDED_CUDA=ON and STRIDED_BUILD_TESTS=ON
set -euo pipefail
build=${1:?usage: tests/gpu/sanitize.sh BUILD [options for the tests]}
shift
if [ ! -e /dev/nvidia0 ]; then
  echo "sanitize.sh: there is no GPU here (no /dev/nvidia0)" >&2
  exit 2
fi
cmake --build "$build" --target cuda_device_tests
tests=$build/cuda/cuda_device_tests
"$tests" --gtest_brief=1 "$@"
if ! command -v compute-sanitizer > /dev/null; then
  echo "sanitize.sh: compute-sanitizer is not installed, so the kernels were not checked by it" >&2
  exit 2
fi
for tool in memcheck racecheck; do
  # (A call of the run time that fails raises an exception here, which the tests are about.)
  compute-sanitizer --tool "$tool" --error-exitcode 9 --report-api-errors no "$tests" --gtest_brief=1 "$@"
done
