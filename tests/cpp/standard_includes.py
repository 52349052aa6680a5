"""Checks that what a source file uses of the standard library is declared by a header that it includes.

    python standard_includes.py ROOT [FOLDER...]     the files below ROOT/FOLDER; includes are looked for in both

A compiler accepts more: its own headers include each other, and every release includes less (GCC 13 and 15 each broke
programs that used std::uint8_t without <cstdint>). Included through another file of the project counts; through another
standard header it counts where DECLARES_TOO says so.
"""

import re
import sys
from pathlib import Path

# What each header declares, as far as it is used here: names of namespace std.
DECLARES = {
    "algorithm": "all_of any_of binary_search clamp copy copy_backward copy_n count count_if equal fill fill_n "
    "find find_if for_each generate is_sorted lexicographical_compare lower_bound make_heap max max_element merge min "
    "min_element minmax mismatch next_permutation none_of nth_element partial_sort partition pop_heap push_heap "
    "remove_if reverse rotate sort stable_partition stable_sort swap_ranges transform unique upper_bound",
    "array": "array",
    "atomic": "atomic atomic_flag memory_order memory_order_acquire memory_order_relaxed memory_order_release",
    "bitset": "bitset",
    "cctype": "isalnum isalpha isdigit isspace tolower toupper",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "atan2 cbrt ceil copysign cos exp expm1 fabs floor fma fmod frexp hypot ilogb isfinite isinf isnan ldexp "
    "lgamma llround log log10 log1p log2 lround nearbyint nextafter pow remainder rint round scalbn signbit sin "
    "sqrt tan tgamma trunc",
    "complex": "complex",
    "condition_variable": "condition_variable",
    "cstdio": "FILE fflush fopen fprintf fputs printf snprintf",
    "cstdlib": "abort aligned_alloc atexit exit free getenv malloc strtod strtol strtoll system",
    "cstring": "memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strstr",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception terminate uncaught_exceptions",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function greater hash less multiplies plus reference_wrapper",
    "future": "future promise",
    "iomanip": "hex setfill setprecision setw",
    "iostream": "cerr cout",
    "iterator": "advance back_inserter begin distance end make_move_iterator next prev reverse_iterator",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map",
    "memory": "addressof make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "align_val_t bad_alloc launder nothrow",
    "numeric": "accumulate gcd inner_product iota lcm partial_sum",
    "optional": "nullopt optional",
    "ostream": "ostream",
    "queue": "priority_queue queue",
    "random": "mt19937 mt19937_64 normal_distribution uniform_int_distribution uniform_real_distribution",
    "set": "set",
    "shared_mutex": "shared_lock shared_mutex",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "domain_error invalid_argument length_error logic_error out_of_range overflow_error runtime_error",
    "string": "getline stoi stoll string to_string",
    "string_view": "string_view",
    "thread": "this_thread thread",
    "tuple": "apply make_tuple tie tuple",
    "type_traits": "conditional conditional_t decay_t enable_if_t false_type integral_constant invoke_result_t "
    "is_integral_v is_same is_same_v is_signed_v is_unsigned_v make_signed_t make_unsigned_t remove_reference_t "
    "true_type void_t",
    "typeindex": "type_index",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "declval exchange forward index_sequence make_index_sequence make_pair move pair swap",
    "variant": "holds_alternative variant visit",
    "vector": "vector",
}
# Headers that declare the names of another one too, in every library there is.
DECLARES_TOO = {
    "exception": "memory new stdexcept",
    "iterator": "array deque map set string vector",
    "mutex": "condition_variable shared_mutex",
    "new": "memory",
    "ostream": "iostream sstream",
    "string_view": "string",
    "tuple": "functional map memory",
    "type_traits": "algorithm atomic functional limits memory optional string tuple utility variant vector",
    "utility": "algorithm array deque functional map memory optional set string tuple unordered_map variant vector",
}
PATTERNS = {header: rf"\bstd::(?:{'|'.join(names.split())})\b" for header, names in DECLARES.items()}
PATTERNS["cstdint"] = r"\bu?int(?:8|16|32|64|ptr)_t\b"
PATTERNS = {header: re.compile(pattern) for header, pattern in PATTERNS.items()}

FAULT = "missing_include"  # a folder whose file lacks a header, for the test of this script

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')


def missing(folders: list[Path]) -> tuple[int, list[str]]:
    """The number of files, and one line for each header that a file lacks."""
    code, includes = {}, {}
    for path in sorted(path for folder in folders for path in folder.rglob("*")):
        if path.suffix in {".h", ".cpp", ".cu", ".inc"} and (path.parent.name != FAULT or path.parent in folders):
            text = path.read_text("utf-8")
            code[path] = TEXT.sub('""', COMMENT.sub("", text))
            includes[path] = INCLUDE.findall(text)
    # (An include of a project's file is written from its root, or from beside the file that has it.)
    known = {path.relative_to(folder).as_posix(): path for folder in folders for path in code if folder in path.parents}

    found = {}  # of each file: the headers that it and its files include

    def headers(path: Path) -> set[str]:
        if path not in found:
            found[path] = set()  # (files that include each other are a finding of layering.py)
            for name in includes[path]:
                beside = path.parent / name
                file = known.get(name) or (beside if beside in code else None)
                found[path] |= headers(file) if file else {name}
        return found[path]

    lines = []
    for path, text in code.items():
        if path.suffix == ".inc":  # a part of the file that includes it
            continue
        at_hand = headers(path)
        for header, pattern in PATTERNS.items():
            use = pattern.search(text)
            if use and not at_hand & {header, *DECLARES_TOO.get(header, "").split()}:
                lines.append(f"{path}: {use.group()} needs <{header}>")
    return len(code), lines


if __name__ == "__main__":
    root, *names = sys.argv[1:]
    count, lines = missing([Path(root) / name for name in names] or [Path(root)])
    print("\n".join(lines) or f"{count} files include the standard headers that they need")
    sys.exit(1 if lines or not count else 0)
