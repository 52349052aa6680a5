"""What the processor can do (``strided.cpu.get_capabilities``), as the operating system says."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

# PyTorch's names; after a colon that of Linux, where it is another one.
_X86 = (
    "sse sse2 sse3:pni ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx512_f:avx512f avx512_cd:avx512cd "
    "avx512_dq:avx512dq avx512_bw:avx512bw avx512_vl:avx512vl avx512_ifma:avx512ifma avx512_vbmi:avx512vbmi avx512_vbmi2 "
    "avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16 avx512_vp2intersect avx512_4vnniw avx512_4fmaps "
    "avx10_1 avx10_2 avx_vnni_int8 avx_vnni_int16 avx_ne_convert amx_bf16 amx_tile amx_int8 amx_fp16 fma3:fma fma4 f16c "
    "bmi:bmi1 bmi2 popcnt lzcnt:abm aes sha:sha_ni clflush clflushopt clwb"
)
_ARM = (
    "neon:asimd fp16_arith:asimdhp bf16 i8mm dot:asimddp sve sve2 sve_bf16:svebf16 sme sme2 atomics fhm:asimdfhm "
    "rdm:asimdrdm crc32 aes sha1 sha2 pmull"
)


def _flags() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, words = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return set(words.split())
    except OSError:
        pass
    raise NotImplementedError("cpu.get_capabilities: /proc/cpuinfo, from which they are read, is not there")


@functools.cache
def get_capabilities() -> Mapping[str, Any]:
    """The instruction sets of the processor: PyTorch's name of each, and whether it is there; and ``architecture``.

    Raises:
        NotImplementedError: the system is not Linux.

    >>> strided.cpu.get_capabilities()["architecture"] in ("x86_64", "aarch64")
    True
    """
    import platform

    machine, flags = platform.machine(), _flags()
    found: dict[str, Any] = {"architecture": machine}
    for word in (_X86 if machine == "x86_64" else _ARM).split():
        name, _, flag = word.partition(":")
        found[name] = (flag or name) in flags
    return MappingProxyType(found)
