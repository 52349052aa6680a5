"""Elementwise kernels of the user's own, compiled at run time.

The source is put together for the dtypes and the number of axes of a call, and compiled by NVRTC, which needs no GPU
and no toolkit: ``pip install strided[cuda]`` brings it (packages cuda-bindings and nvidia-cuda-nvrtc).  Compiled
kernels are kept for the life of the process.
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import TYPE_CHECKING

from .. import _C
from .._calls.broadcast import broadcast_shapes
from ._device import device, get_device_capability

if TYPE_CHECKING:
    from .._typing import Any, Sequence, dtype

__all__ = ["ElementwiseKernel"]

_DTYPES = {d._traits["name"]: d for d in _C.dtypes}


# Numbers are passed by value in these types; the key is the letter of the struct module, which dtypes have too.
_BY_VALUE = {
    t._type_: t
    for t in (ctypes.c_bool, ctypes.c_ubyte, ctypes.c_byte, ctypes.c_short, ctypes.c_ushort, ctypes.c_int,
              ctypes.c_uint, ctypes.c_long, ctypes.c_ulong, ctypes.c_float, ctypes.c_double)
}  # fmt: skip


def _c_name(name):
    """The type of a dtype's elements in the kernel's text: C++'s own, or one of ``_PREAMBLE``."""
    traits = _DTYPES[name]._traits
    own = not traits["type_name"].startswith("c10::")
    if own or f"struct {name} " in _PREAMBLE:
        return traits["type_name"] if own else name
    if traits["kind"] == "complex":
        return f"complex<{_DTYPES[name].to_real()._traits['type_name']}>"
    raise TypeError(f"ElementwiseKernel: not implemented for torch.{name}")


# NVRTC comes without headers: the 16-bit floats are kept as bits and computed with as float, complex numbers are a
# pair.
_PREAMBLE = r"""
struct float16 {
  unsigned short bits;
  __device__ float16() {}
  __device__ float16(float v) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v)); }
  __device__ operator float() const { float v; asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits)); return v; }
};
struct bfloat16 {
  unsigned short bits;
  __device__ bfloat16() {}
  __device__ bfloat16(float v) {
    const unsigned u = __float_as_uint(v);
    bits = v != v ? (u >> 16 & 0x8000) | 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
  }
  __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};
template <class T> struct complex {
  T re, im;
  __device__ complex(T r = 0, T i = 0) : re(r), im(i) {}
  __device__ T real() const { return re; }
  __device__ T imag() const { return im; }
};
template <class T> __device__ complex<T> operator+(complex<T> a, complex<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> __device__ complex<T> operator-(complex<T> a, complex<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> __device__ complex<T> operator-(complex<T> a) { return {-a.re, -a.im}; }
template <class T> __device__ complex<T> operator*(complex<T> a, complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> __device__ complex<T> operator/(complex<T> a, complex<T> b) {
  const T d = b.re * b.re + b.im * b.im;
  return {(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}
template <class T> __device__ complex<T> conj(complex<T> a) { return {a.re, -a.im}; }
"""

_cache = {}
_lock = threading.Lock()


def _toolkit():
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as error:
        raise RuntimeError(
            "strided.cuda.ElementwiseKernel needs the packages cuda-bindings and nvidia-cuda-nvrtc: pip install strided[cuda]"
        ) from error
    return driver, nvrtc


def _parse(text, what):
    """[(type, name), ...] of "T x, float32 y"."""
    params = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"([A-Za-z_]\w*)\s+([A-Za-z_]\w*)", part)
        if not match:
            raise ValueError(f"ElementwiseKernel: {what} must read like 'T x, float32 y', got {part!r}")
        kind, name = match.groups()
        if kind not in _DTYPES and not re.fullmatch(r"[A-Z]\w*", kind):
            raise ValueError(
                f"ElementwiseKernel: {kind!r} is no dtype, and a type to be found out begins with a capital letter"
            )
        params.append((kind, name))
    return params


class ElementwiseKernel:
    """``ElementwiseKernel(in_params, out_params, operation)``: a function of tensors that computes ``operation``, a
    piece of CUDA C++, for each element.

    in_params, out_params: as ``"T x, T y, float32 a"``.  A type is a dtype's name, or a word with a capital letter that
    stands for the dtype of the tensors given there (the same in all of them).  Operands are strided and broadcast;
    inputs may be numbers.  In ``operation``, ``i`` is the number of the element and ``n`` how many there are.  float16
    and bfloat16 compute as float; complex numbers have ``+ - * /``, ``conj``, ``.real()`` and ``.imag()``.

    Called with the inputs, and perhaps with the outputs after them, or as ``out=``; returns the output, or a tuple of
    them.
    Not recorded for autograd: RuntimeError for an input that requires grad.

    >>> axpy = strided.cuda.ElementwiseKernel("T x, T y, T a", "T z", "z = a * x + y")
    >>> axpy.name
    'kernel'
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", preamble: str = ""
    ) -> None:
        self.inputs, self.outputs = _parse(in_params, "in_params"), _parse(out_params, "out_params")
        self.operation, self.name, self.preamble = operation, name, preamble
        names = [n for _, n in self.inputs + self.outputs]
        if len(set(names)) != len(names) or {"i", "n"} & set(names):
            raise ValueError(f"ElementwiseKernel: names must differ, and not be 'i' or 'n', got {names}")
        if not self.outputs:
            raise ValueError("ElementwiseKernel: there must be an output")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"ElementwiseKernel: name must be an identifier, got {name!r}")

    # ---------------------------------------------------------------- source

    def source(self, dtypes: Sequence[dtype], ndim: int, by_value: Sequence[int] = ()) -> str:
        """The kernel's text for the dtypes of all operands (names), a number of axes, and the inputs given as
        numbers."""
        operands = list(zip(self.inputs + self.outputs, dtypes))
        args, reads, writes = [], [], []
        for k, ((_, name), dtype) in enumerate(operands):
            c = _c_name(dtype)
            if k in by_value:
                args.append(f"{c} {name}")
                continue
            args.append(f"{c}* _{name}")
            at = " + ".join(f"_i{d} * _s{k}_{d}" for d in range(ndim)) or "0"
            args += [f"long long _s{k}_{d}" for d in range(ndim)]
            if k < len(self.inputs):
                reads.append(f"const {c} {name} = _{name}[{at}];")
            else:
                reads.append(f"{c} {name};")
                writes.append(f"_{name}[{at}] = {name};")
        args += [f"long long _n{d}" for d in range(ndim)]
        split = []
        for d in range(ndim):  # innermost first
            split.append(
                f"const long long _i{d} = _r % _n{d}; _r /= _n{d};" if d < ndim - 1 else f"const long long _i{d} = _r;"
            )
        types = {kind: _c_name(dtype) for (kind, _), dtype in operands if kind not in _DTYPES}
        lines = [_PREAMBLE, self.preamble, f'extern "C" __global__ void {self.name}({", ".join(args)}, long long n) {{']
        lines += [f"  using {kind} = {c};" for kind, c in types.items()]
        lines += [
            "  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {",
            "    long long _r = i;", *("    " + s for s in split), *("    " + s for s in reads),
            f"    {self.operation};",
            *("    " + s for s in writes), "  }", "}",
        ]  # fmt: skip
        return "\n".join(lines)

    def compile(self, dtypes: Sequence[dtype], ndim: int, arch: str, by_value: Sequence[int] = ()) -> bytes:
        """The machine code (a cubin) for an architecture as "sm_90".  RuntimeError with the compiler's words for bad
        code."""
        _, nvrtc = _toolkit()
        text = self.source(dtypes, ndim, by_value)
        key = (text, arch)
        with _lock:
            if key in _cache:
                return _cache[key]
        _, program = nvrtc.nvrtcCreateProgram(text.encode(), f"{self.name}.cu".encode(), 0, [], [])
        try:
            options = [f"--gpu-architecture={arch}".encode(), b"--std=c++17"]
            (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                _, size = nvrtc.nvrtcGetProgramLogSize(program)
                log = b" " * size
                nvrtc.nvrtcGetProgramLog(program, log)
                raise RuntimeError(
                    f"ElementwiseKernel {self.name}: the code does not compile\n{log.decode().rstrip(chr(0)).strip()}"
                )
            _, size = nvrtc.nvrtcGetCUBINSize(program)
            code = b" " * size
            nvrtc.nvrtcGetCUBIN(program, code)
        finally:
            nvrtc.nvrtcDestroyProgram(program)
        with _lock:
            return _cache.setdefault(key, code)

    # ---------------------------------------------------------------- call

    def _types(self, tensors):
        """The dtype (name) of every operand, and what each capital word stands for."""
        bound = {}
        for (kind, name), t in zip(self.inputs + self.outputs, tensors):
            if kind in _DTYPES or not isinstance(t, _C.Tensor):
                continue
            dtype = str(t.dtype)[6:]
            if bound.setdefault(kind, dtype) != dtype:
                raise TypeError(f"{self.name}: {kind} is {bound[kind]}, but {name} is {dtype}")
        names = []
        for (kind, name), t in zip(self.inputs + self.outputs, tensors):
            dtype = kind if kind in _DTYPES else bound.get(kind)
            if dtype is None:
                raise TypeError(f"{self.name}: no tensor tells what {kind} of {name} is")
            if isinstance(t, _C.Tensor) and str(t.dtype)[6:] != dtype:
                raise TypeError(f"{self.name}: {name} must be {dtype}, got {t.dtype}")
            names.append(dtype)
        return names

    def __call__(self, *args: Any, out: Any = None) -> Any:
        n_in, n_out = len(self.inputs), len(self.outputs)
        if out is not None:
            args += tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(args) not in (n_in, n_in + n_out):
            raise TypeError(
                f"{self.name}: {n_in} inputs (and perhaps {n_out} outputs) are expected, got {len(args)} arguments"
            )
        tensors = list(args) + [None] * (n_in + n_out - len(args))
        given = [t for t in tensors if isinstance(t, _C.Tensor)]
        where = {t.device for t in given}
        if len(where) != 1 or not given[0].is_cuda:
            raise RuntimeError(f"{self.name}: the tensors must be on one CUDA device, got {sorted(map(str, where))}")
        if any(t.requires_grad for t in given):
            raise RuntimeError(f"{self.name}: an ElementwiseKernel is not recorded for autograd; detach() its operands")
        names = self._types(tensors)
        shape = broadcast_shapes(*(t.shape for t in given))
        at = given[0].device.index
        for k in range(n_in, n_in + n_out):
            if tensors[k] is None:
                tensors[k] = _C.functions["empty"](shape, dtype=_DTYPES[names[k]], device=given[0].device)
            elif tensors[k].shape != shape:
                raise RuntimeError(
                    f"{self.name}: output {self.outputs[k - n_in][1]} has shape {list(tensors[k].shape)}, expected {list(shape)}"
                )
            else:
                _C.functions["_before_write"](tensors[k], self.name)
        with device(at):
            self._launch(tensors, names, tuple(shape), at)
        for t in tensors[n_in:]:
            _C.functions["_bump_version"](t)
        results = tuple(tensors[n_in:])
        return results[0] if n_out == 1 else results

    def _launch(self, tensors, names, shape, at):
        driver, _ = _toolkit()
        by_value = tuple(k for k, t in enumerate(tensors) if not isinstance(t, _C.Tensor))
        axes = _merged(shape, [t.expand(shape).stride() for t in tensors if isinstance(t, _C.Tensor)])
        n = 1
        for s in shape:
            n *= s
        if n == 0:
            return
        major, minor = get_device_capability(at)
        code = self.compile(names, len(axes), f"sm_{major}{minor}", by_value)
        values, types = [], []

        def push(value, kind):
            values.append(value)
            types.append(kind)

        which = 0
        for k, (t, name) in enumerate(zip(tensors, names)):
            if k in by_value:
                number = _BY_VALUE.get(_DTYPES[name]._traits["buffer_format"])
                if number is None:
                    raise TypeError(f"{self.name}: a number cannot be passed as {name}; give a 0-d tensor")
                push(t, number)
                continue
            push(t.data_ptr(), ctypes.c_void_p)
            for _, strides in axes:
                push(strides[which], ctypes.c_longlong)
            which += 1
        for size, _ in axes:
            push(size, ctypes.c_longlong)
        push(n, ctypes.c_longlong)
        function = _function(driver, code, self.name, at)
        blocks = min((n + 255) // 256, 1 << 20)
        stream = _C.functions["_cuda_current_stream"](at)
        (status,) = driver.cuLaunchKernel(
            function, blocks, 1, 1, 256, 1, 1, 0, stream, (tuple(values), tuple(types)), 0
        )
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"{self.name}: launch failed: {status.name}")


def _merged(shape, strides):
    """[(size, strides), ...], innermost first: axes of size 1 gone, neighbours merged where memory allows."""
    axes = []
    for d in range(len(shape) - 1, -1, -1):
        step = [s[d] for s in strides]
        if shape[d] == 1:
            continue
        if axes and all(a * axes[-1][0] == b for a, b in zip(axes[-1][1], step)):
            axes[-1] = (axes[-1][0] * shape[d], axes[-1][1])
        else:
            axes.append((shape[d], step))
    return axes


_functions = {}


def _function(driver, code, name, at):
    """The loaded kernel; loaded once for each device."""
    key = (code, at)
    with _lock:
        if key not in _functions:
            status, module = driver.cuModuleLoadData(code)
            if status != driver.CUresult.CUDA_SUCCESS:
                raise RuntimeError(f"{name}: the compiled kernel could not be loaded: {status.name}")
            _, found = driver.cuModuleGetFunction(module, name.encode())
            _functions[key] = (module, found)
        return _functions[key][1]
