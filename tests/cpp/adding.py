"""Does what docs/adding.md says, in a copy of the sources: adding.py ROOT COMPILER PYTHON_INCLUDE [FLAG ...]

The code of the page is put where its first line says, compiled with what is made of it, and run. A file holds the names
that the page says are `name` in `file`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ELEMENTWISE = r"""
#include <cmath>
#include <cstdio>

#include "backend/elementwise.h"

namespace strided {
inline namespace STRIDED_ISA {
template <class Op, class... V>
auto apply(const V&... v) {
  return Op::fwd(v...);
}
}  // namespace STRIDED_ISA
}  // namespace strided

using namespace strided;

int main() {
  int named = 0;
  for_each(ElementwiseOps{}, [&](auto tag, int id) {
    using Op = typename decltype(tag)::type;
    if constexpr (std::is_same_v<Op, Haversine>) named += id == elementwise_id<Haversine>;
  });
  bool right = named == 1 && op_arity<Haversine> == 1;
  right = right && op_supports<Haversine, double> && op_supports<Haversine, Complex<float>>;
  for (double x : {-3.0, -0.5, 0.0, 1.0, 20.0}) {
    const double h = 1e-6, difference = (Haversine::fwd(x + h) - Haversine::fwd(x - h)) / (2 * h);
    Saved<double> saved{};
    saved.in[0] = x;
    right = right && std::abs(Haversine::fwd(x) - (1 - std::cos(x)) / 2) < 1e-15;
    right = right && std::abs(Haversine::vjp<0, double>(2.0, saved) - 2 * difference) < 1e-8;
  }
  std::puts(right ? "right" : "wrong");
}
"""

KERNEL = r"""
#include <cstdio>

#include "backend/backend.h"
#include "base/error.h"

int main() {
  try {
    strided::backend(strided::Device{strided::DeviceType::CPU})
        .swap_halves({"gain", 0}, strided::DType::Float32, nullptr, 0);
  } catch (const strided::Error& error) {
    std::puts(error.what());
  }
}
"""


REDUCTION = r"""
#include <cstdio>

#include "backend/reduce.h"

using namespace strided;
using Op = SumOfSquares;

int main() {
  int named = 0;
  for_each(ReductionOps{}, [&](auto tag, int id) {
    using Each = typename decltype(tag)::type;
    if constexpr (std::is_same_v<Each, Op>) named += id == reduction_id<Op>;
  });
  using S = Op::State<float>;
  S state = Op::identity<S>();
  for (float x : {1.f, -2.f, 3.f}) state = Op::Fold::combine(state, Op::map<S>(x, 0));
  const bool right = named == 1 && Op::finish<float>(state, 3, 0) == 14;
  std::puts(right && reduction_supports<Op, double> && !reduction_supports<Op, bool> ? "right" : "wrong");
}
"""

DTYPE = r"""
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/promotion.h"

using namespace strided;

int main() {
  const DType dtype = DType::Float8_e3m4;
  bool right = dtype_of<Float8_e3m4> == dtype && size_of(dtype) == 1 && is_floating(dtype) && !has_loops(dtype);
  right = right && !std::strcmp(name_of(dtype), "float8_e3m4") && info_of(dtype).greatest == float(Float8_e3m4(15.5f));
  right = right && float(Float8_e3m4(1.03f)) == 1.0f && std::isinf(float(Float8_e3m4(17.f)));
  right = right && promote_types(dtype, dtype) == dtype;
  try {
    promote_types(dtype, DType::Float32);
    right = false;
  } catch (const Error&) {
  }
  std::puts(right ? "right" : "wrong");
}
"""

BACKEND = r"""
#include <cstdio>

#include "backend/backend.h"
#include "base/error.h"

namespace strided {
void fill_mine();
}
using namespace strided;

int main() {
  fill_mine();
  const Device mine = parse_device("mine");
  double to[3];
  RangeSpec spec;
  spec.start[0] = 1;
  spec.step = 2;
  backend(mine).range({"arange", 0}, RangeKind::Arange, DType::Float64, to, 3, spec);
  if (to[0] != 1 || to[1] != 3 || to[2] != 5) return std::puts("wrong"), 0;
  try {
    backend(mine).cholesky({"cholesky", 0}, DType::Float64, 1, 1, to, false, nullptr);
  } catch (const Error& error) {
    std::puts(error.what());
  }
}
"""


class Page:
    def __init__(self, root: Path):
        self.root, self.text = root, (root / "docs" / "adding.md").read_text("utf-8")
        # What the first line of a block says -> the rest of it.
        self.blocks = {}
        for block in re.findall(r"^( *)```(?:cpp|python)\n(.*?)^\1```", self.text, re.MULTILINE | re.DOTALL):
            title, code = textwrap.dedent(block[1]).split("\n", 1)
            self.blocks[title.lstrip("/# ")] = code

    def wrong_names(self) -> list[str]:
        wrong = []
        prose = re.sub(r"```(cpp|python).*?```", "", self.text, flags=re.DOTALL)
        for name, path in re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w./]+)`", prose):
            file = self.root / path
            if not file.is_file() or not re.search(rf"\b{name}\b", file.read_text("utf-8")):
                wrong.append(f"docs/adding.md: {path} has no {name}")
        return wrong


class Sandbox:
    """A copy of the folders that change, whose headers are found before those of the tree."""

    def __init__(self, folder: Path, root: Path, compiler: str, flags: list[str]):
        self.folder, self.root, self.csrc = folder, root, folder / "csrc"
        self.command = [compiler, "-std=c++17", *flags, f"-I{self.csrc}", f"-I{root / 'csrc'}"]
        for changed in ("base", "core", "backend"):
            shutil.copytree(root / "csrc" / changed, self.csrc / changed)

    def edit(self, path: str, pattern: str, replacement: str) -> None:
        file = self.folder / path
        text, count = re.subn(pattern, lambda m: m.expand(r"\g<1>") + replacement, file.read_text("utf-8"), count=1)
        assert count == 1, f"{path} has no {pattern}"
        file.write_text(text, "utf-8")

    def compile(self, *arguments: str) -> None:
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, " ".join([*self.command, *arguments]) + "\n" + done.stderr

    def run(self, code: str, *sources: str) -> str:
        main = self.folder / "main.cpp"
        main.write_text(code)
        self.compile("-O0", "-o", str(self.folder / "main"), str(main), *sources)
        return subprocess.run([self.folder / "main"], capture_output=True, text=True, check=True).stdout.strip()


def add_elementwise(page: Page, box: Sandbox) -> None:
    ((where, code),) = [(t, c) for t, c in page.blocks.items() if t.endswith(": TranscendentalOps")]
    path, list_ = where.split(": ")
    name = re.search(r"struct (\w+)", code)[1]
    box.edit(path, rf"()(?=using {list_} =)", code + "\n")
    box.edit(path, rf"(using {list_} =\s+List<)", f"{name}, ")
    assert box.run(ELEMENTWISE) == "right", "the op of docs/adding.md computes something else"
    box.compile(
        "-fsyntax-only", str(box.root / "csrc" / "ops" / "table.cpp")
    )  # its row of the table, with its gradient


def add_reduction(page: Page, box: Sandbox) -> None:
    path, list_ = "csrc/backend/reduce.h", "ReductionOps"
    code = page.blocks[f"{path}: {list_}"]
    box.edit(path, rf"()(?=using {list_} =)", code + "\n")
    box.edit(path, rf"(using {list_} =\s+List<)", re.search(r"struct (\w+)", code)[1] + ", ")
    assert box.run(REDUCTION) == "right", "the reduction of docs/adding.md computes something else"
    # Its gradient and its row of the table.
    for source in ("reduce/reduction.cpp", "call_reduction.cpp"):
        box.compile("-fsyntax-only", str(box.root / "csrc" / "ops" / source))


def add_dtype(page: Page, box: Sandbox) -> None:
    header = "csrc/core/dtype.h"
    storage, row, block = (
        page.blocks[title]
        for title in ("csrc/base/float8.h: after Float8_e5m2", f"{header}: STRIDED_DTYPES", f"{header}: DTypeTraits")
    )
    box.edit("csrc/base/float8.h", r"(using Float8_e5m2 = .*\n)", storage)
    box.edit(header, r"(#define STRIDED_DTYPES\(X\)) *(?=\\)", f" {row.strip()} ")
    box.edit(header, r"()(?=template <>\nstruct DTypeTraits<Half>)", block)
    core = box.csrc / "core"
    assert box.run(DTYPE, str(core / "promotion.cpp"), str(core / "scalar.cpp")) == "right", "another dtype"
    for source in ("ops/table.cpp", "xla/plugin.cpp"):  # a table of all dtypes, and one of some
        box.compile("-fsyntax-only", str(box.root / "csrc" / source))


def add_backend(page: Page, box: Sandbox) -> None:
    device = page.blocks["csrc/core/device.h: STRIDED_DEVICE_TYPES"]
    box.edit("csrc/core/device.h", r"()(?=  X\(Meta,)", f"  {device.strip()} \\\n")
    source = box.csrc / "mine" / "backend.cpp"
    source.parent.mkdir()
    source.write_text(page.blocks["mine/backend.cpp"])
    said = box.run(
        BACKEND, str(source), str(box.csrc / "backend" / "backend.cpp"), str(box.csrc / "core" / "device.cpp")
    )
    assert said == "cholesky on device 'mine': its backend has no cholesky", said
    layering = box.folder / "layering.py"
    shutil.copy(box.root / "tests" / "cpp" / "layering.py", layering)
    call = [sys.executable, str(layering), str(box.csrc)]
    assert "csrc/mine is no known floor" in subprocess.run(call, capture_output=True, text=True).stdout
    box.edit("layering.py", r"(FLOORS = \{\n)", page.blocks["tests/cpp/layering.py: FLOORS"])
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def add_kernel(page: Page, box: Sandbox) -> None:
    ((where, code),) = [(t, c) for t, c in page.blocks.items() if t.endswith(": STRIDED_KERNEL_SLOTS")]
    path, macro = where.split(": ")
    box.edit(path, rf"(#define {macro}\(X\)) *(?=\\)", f" {code.strip()} ")
    said = box.run(KERNEL, str(box.csrc / "backend" / "backend.cpp"), str(box.root / "csrc" / "core" / "device.cpp"))
    assert said == "gain on device 'cpu': its backend has no swap_halves", said


def add_function(page: Page, box: Sandbox, python_include: str) -> None:
    bound = (
        page.blocks["function"]
        + '\n#include "python/bind/bind.h"\nnamespace strided::python {\nvoid bind_gain() {\n'
        + page.blocks["binding"]
        + "}\n}  // namespace strided::python\n"
    )
    source = box.folder / "function.cpp"
    source.write_text(bound)
    box.compile("-fsyntax-only", f"-isystem{python_include}", str(source))


def main(root: Path, compiler: str, python_include: str, flags: list[str]) -> int:
    page = Page(root)
    wrong = page.wrong_names()
    steps = {
        "elementwise op": add_elementwise,
        "reduction": add_reduction,
        "kernel": add_kernel,
        "dtype": add_dtype,
        "backend": add_backend,
        "function": lambda page, box: add_function(page, box, python_include),
    }
    for name, step in steps.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                step(page, Sandbox(Path(folder), root, compiler, flags))
            except (AssertionError, subprocess.CalledProcessError) as error:
                wrong.append(f"docs/adding.md, {name}: {error}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if not wrong:
        print(f"docs/adding.md: {len(steps)} things were added as it says, and all names are where it says")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], sys.argv[4:]))
