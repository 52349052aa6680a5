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


class Page:
    def __init__(self, root: Path):
        self.root, self.text = root, (root / "docs" / "adding.md").read_text("utf-8")
        # What the first line of a block says -> the rest of it.
        self.blocks = {}
        for block in re.findall(r"^( *)```cpp\n(.*?)^\1```", self.text, re.MULTILINE | re.DOTALL):
            title, code = textwrap.dedent(block[1]).split("\n", 1)
            self.blocks[title.removeprefix("// ")] = code

    def wrong_names(self) -> list[str]:
        wrong = []
        prose = re.sub(r"```cpp.*?```", "", self.text, flags=re.DOTALL)
        for name, path in re.findall(r"`(\w+)`\s+(?:in|of)\s+`([\w./]+)`", prose):
            file = self.root / path
            if not file.is_file() or not re.search(rf"\b{name}\b", file.read_text("utf-8")):
                wrong.append(f"docs/adding.md: {path} has no {name}")
        return wrong


class Sandbox:
    """A copy of the headers that change, which are found before those of the tree."""

    def __init__(self, folder: Path, root: Path, compiler: str, flags: list[str]):
        self.folder, self.root, self.csrc = folder, root, folder / "csrc"
        self.command = [compiler, "-std=c++17", *flags, f"-I{self.csrc}", f"-I{root / 'csrc'}"]
        shutil.copytree(root / "csrc" / "backend", self.csrc / "backend")

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
        "kernel": add_kernel,
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
