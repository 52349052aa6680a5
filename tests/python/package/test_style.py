"""tests/style.py finds what it is for, and the versions of the formatters stand in two places alike."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests"))
import style  # noqa: E402

WIDE = "x" * 121


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.h", f"// {WIDE}\n", ["csrc/a.h:1: 124 columns"]),
        ("a.h", f"int {WIDE};\n", ["csrc/a.h:1: 126 columns"]),
        ("a.cpp", f'call("{WIDE}");\n', []),
        ("a.cpp", f'call("{WIDE}", {WIDE});\n', ["csrc/a.cpp:1: 253 columns"]),
        ("a.cpp", f'call("{WIDE}", "b");\n', ["csrc/a.cpp:1: 135 columns"]),
        ("a.py", f'"""{WIDE}"""\n', ["csrc/a.py:1: 127 columns"]),
        ("a.py", f"x = '{WIDE}'\n", []),
        ("a.py", f'    """A function.\n\n    >>> f("{WIDE}")\n', []),
        ("a.h", "// Note [Alone]\n// text\n", ["csrc/a.h:1: nothing cites Note [Alone]"]),
        ("a.h", "// See Note [Lost].\n", ["csrc/a.h:1: there is no Note [Lost]"]),
        ("a.h", "// Note [Told]: text\nint x;  // Note [Told]\n", []),
        ("a.py", '"""Note [Broken\nname] says why."""\n# Note [Broken name]\n', []),
        ("a.md", "Notes [A], [B] and [C].\n\n## Note [A]\n## Note [B]\n## Note [C]\n", []),
        ("a.h", "// As csrc/a.h, docs/PAGE.md and other/b.h do.\n", []),
        ("a.h", "// csrc/<family>/a.cpp, csrc/b_*.h, csrc/c.{h,cpp}\n", []),
        ("a.h", "int x;  // csrc/b.h has it\n", ["csrc/a.h:1: there is no csrc/b.h"]),
        ("a.py", "x = 1  # as in csrc/family\n", ["csrc/a.py:1: there is no csrc/family"]),
        ("a.py", 'open("csrc/b.h")\n', []),
        ("a.md", "[Here](a.md#top), [there](https://a.org/b.md), `csrc/a.md`.\n", []),
        ("a.md", "[Here](b.md), `csrc/c.h`\n", ["csrc/a.md:1: there is no csrc/c.h", "csrc/a.md:1: there is no b.md"]),
        ("a.h", "// Note [A]\n// text\n// Note [A]\n// Note [A] is cited.\n", None),
    ],
)
def test_rules(tmp_path, name, text, found):
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / name).write_text(text)
    if found is None:
        found = ["csrc/a.h:3: Note [A] is written at csrc/a.h:1 too"]
    assert style.check(tmp_path) == found


def test_pre_commit_has_the_versions_of_make_lint():
    pinned = (ROOT / "pyproject.toml").read_text()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    for package, hook in (("ruff", "ruff-pre-commit"), ("clang-format", "mirrors-clang-format")):
        version = re.search(rf'"{package}==([\d.]+)"', pinned)[1]
        assert re.search(rf"/{hook}\n    rev: v{re.escape(version)}\n", hooks), package
