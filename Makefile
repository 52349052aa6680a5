# make tour    builds, then a guided run in the terminal
# make test    builds, then all tests: lint, C++ (ctest) and Python (pytest)
# make parity  builds, installs PyTorch (CPU) beside it, and runs the tests that compare the two
# make fuzz    gives each reader of files guided and random changes of good files, FUZZ_SECONDS=60; the random ones in the sanitized build
# make bench   installs the peers (PyTorch, JAX, SciPy) and compares speed, one thread and all; figures and pictures in bench/results
# make lint    checks the text of the sources: format, rules, widths, notes (part of make test; needs no compiler)
# make format  formats the sources
# make venv    builds only: `import strided` works in .venv/bin/python, with the Python sources in place
# make sanitized  builds with the address, leak and undefined-behaviour sanitizers, then all tests
# make clean   removes what these made (.venv and build)
#
# STRIDED_ISAS=v3 builds the loops for one instruction set only (v2, v3, v4; several: 'v2;v4').
# Needed: Python >= 3.10 (another one: make clean; make PYTHON=python3.12 ...) and a C++17 compiler. CMake and Ninja come as wheels
# where they are missing; ccache is used where it is present.

PYTHON ?= python3
VENV := .venv
BUILD := build/make
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Modules that these name, for another Python often, would hide those of the virtual environment.
unexport PYTHONPATH PYTHONHOME
ifneq ($(shell command -v ccache 2>/dev/null),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif
SOURCES := pyproject.toml CMakeLists.txt $(shell find csrc python tests/cpp -name __pycache__ -prune -o -print)

JOBS := $(shell getconf _NPROCESSORS_ONLN)

.PHONY: tour test parity fuzz bench lint format venv sanitized-build sanitized clean FORCE
.DELETE_ON_ERROR:

tour: $(VENV)/with-tour
	@$(PY) -m strided tour

test parity: export STRIDED_TEST_CUDA_LIBRARY := $(CURDIR)/$(BUILD)/cuda/libstrided_cuda_emulated.so
test: lint $(VENV)/with-test
	@printf 'optional tools:'; for tool in ccache nvcc hipcc mpiexec; do \
	  command -v $$tool >/dev/null 2>&1 && printf ' %s found;' $$tool || printf ' %s absent;' $$tool; done; echo
	ctest --test-dir $(BUILD) --progress --output-on-failure --no-tests=error -j $(JOBS)
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m "not alone"
	$(PY) -m pytest -m alone tests/python/package

# PyTorch is large, so nothing else installs it. TORCH_INDEX names a further index that it may come from:
# https://download.pytorch.org/whl/cpu has it without CUDA.
parity: PIP_OPTIONS := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
parity: $(VENV)/with-test $(VENV)/tools-parity
	$(PY) -m pytest -n $(JOBS) --dist worksteal -m parity tests/python

# Guided by coverage where atheris has a wheel for this Python, by chance otherwise; then by chance in the sanitized build,
# as the address sanitizer of GCC brings counters of coverage that count nothing. What fails is left in this folder.
FUZZ_SECONDS ?= 60
fuzz: $(VENV)/with-test sanitized-build
	-$(PIP) install -q atheris
	for reader in archive pickle stream safetensors npy npz gguf; do \
	  $(PY) tests/python/files/file_fuzzing.py $(FUZZ_SECONDS) $$reader && \
	  $(SANITIZED_PY) tests/python/files/file_fuzzing.py $(FUZZ_SECONDS) $$reader || exit 1; done

# JAX at its best has all of its package; PyTorch as for parity.
bench: PIP_OPTIONS := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
bench: $(VENV)/with-test $(VENV)/tools-parity $(VENV)/tools-bench
	for threads in $$(printf '1\n$(JOBS)\n' | uniq); do for kind in compare curves; do \
	  $(PY) bench/compare.py --threads $$threads $$(test $$kind = compare || echo --$$kind) --pictures bench/results \
	    --json bench/results/$$kind-$$threads.json || exit 1; done; done

# A virtual environment and a build of its own. Python itself leaves memory behind, so leaks are looked for in C++ only.
SANITIZED := VENV=build/sanitized/venv BUILD=build/sanitized/make DEFINES=-Ccmake.define.STRIDED_SANITIZE=ON
STRIDED_ISAS_SANITIZED := $(or $(STRIDED_ISAS),v3)
SANITIZED_TESTS := ops autograd func nn fft files data distributions package/test_hostile.py
library = $$($(or $(CXX),c++) -print-file-name=$(1))
# Clang's holds the undefined-behaviour sanitizer, too. A compiler that has no such file says the bare name.
ASAN = $$(found="$(call library,libclang_rt.asan-$$(uname -m).so)"; test -e "$$found" || found="$(call library,libasan.so)"; echo "$$found")
# A finding of the undefined-behaviour sanitizer is a line of output otherwise, which pytest hides when the test passes.
sanitized fuzz: export UBSAN_OPTIONS := halt_on_error=1:print_stacktrace=1
# Python is linked with neither library. Without C++'s own beside it, the address sanitizer dies at the first exception.
SANITIZED_PY = LD_PRELOAD="$(ASAN) $(call library,libstdc++.so.6)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 build/sanitized/venv/bin/python
sanitized-build:
	$(MAKE) venv $(SANITIZED) STRIDED_ISAS='$(STRIDED_ISAS_SANITIZED)'
sanitized: sanitized-build
	ctest --test-dir build/sanitized/make --output-on-failure --no-tests=error -j $(JOBS)
	$(SANITIZED_PY) -m pytest -n $(JOBS) --dist worksteal $(addprefix tests/python/,$(SANITIZED_TESTS))

# The versions stand in pyproject.toml: another release of a formatter has another opinion.
CXX_TEXT := $(shell find csrc tests/cpp -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.inc')

lint: $(VENV)/tools-lint
	@echo '$(VENV)/bin/clang-format --dry-run -Werror' on $(words $(CXX_TEXT)) files
	@$(VENV)/bin/clang-format --dry-run -Werror $(CXX_TEXT)
	$(VENV)/bin/ruff format --check --quiet --diff .
	$(VENV)/bin/ruff check --quiet .
	$(PY) tests/style.py

format: $(VENV)/tools-lint
	@$(VENV)/bin/clang-format -i $(CXX_TEXT)
	$(VENV)/bin/ruff check --quiet --fix .
	$(VENV)/bin/ruff format --quiet .

venv: $(VENV)/with-test
	@echo "Ready: $(PY) -c 'import strided'"

clean:
	rm -rf $(VENV) build
	find python tests -name __pycache__ -prune -exec rm -rf {} +

# The package, built without isolation (pip would throw the tools away after each build, and the incremental build with
# them). -v shows the compiler's progress. Every option is given each time: CMake keeps the last value of one that is not.
OPTIONS := $(DEFINES) -Ccmake.define.STRIDED_ISAS='$(or $(STRIDED_ISAS),auto)'
INSTALL := $(PIP) install -v --no-deps --no-build-isolation -Cbuild-dir=$(BUILD) $(OPTIONS)

# The options of the last build: others build again.
$(VENV)/options: FORCE | $(PY)
	@echo "$(OPTIONS) $(CUDA)" | cmp -s - $@ || echo "$(OPTIONS) $(CUDA)" > $@
FORCE:

$(VENV)/with-tour: $(VENV)/tools-tour $(VENV)/options $(SOURCES)
	$(INSTALL) -e .
	@touch $@

# Where there is an nvcc that works, the CUDA library is compiled too, for one architecture.
CUDA := -Ccmake.define.STRIDED_CUDA=AUTO -Ccmake.define.STRIDED_CUDA_ARCHITECTURES=90a-real

$(VENV)/with-test: $(VENV)/tools-test $(VENV)/options $(SOURCES)
	$(INSTALL) -Ccmake.define.STRIDED_BUILD_TESTS=ON $(CUDA) -e .
	@touch $@

# What the build, the package and one of its extras need, from pyproject.toml (of lint, parity and bench the extra alone).
# scikit-build-core asks for CMake and Ninja when this machine has none that will do.
define REQUIREMENTS
import json, subprocess, sys
def ask(*words):
    return json.loads(subprocess.check_output([sys.executable, "-m", "scikit_build_core", "build", *words]))
project, extra = ask("project-table"), sys.argv[1]
base = [] if extra in ("lint", "parity", "bench") else [*ask("requires", "--mode", "editable"), *project["dependencies"]]
print(*base, *project["optional-dependencies"][extra], sep="\n")
endef
export REQUIREMENTS

$(VENV)/tools-%: pyproject.toml | $(PY)
	$(PIP) install -q --upgrade pip scikit-build-core
	@$(PY) -c "$$REQUIREMENTS" $* > $@
	@$(PIP) install -q $(PIP_OPTIONS) -r $@ || { echo "make: could not install, for the extra '$*' of pyproject.toml:" \
	  $$(tr '\n' ' ' < $@) >&2; exit 1; }

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
	  { echo "strided needs Python 3.10 or newer, and '$(PYTHON)' is none. Name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
	  echo "strided could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
