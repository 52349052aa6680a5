"""strided: tensors, automatic differentiation and linear algebra, in megabytes.

``import strided as torch`` runs code written for PyTorch tensors: the same names, keywords, result dtypes, views,
printing, errors and random numbers.  What differs on purpose is listed in ``docs/differences.md``.

>>> import strided
>>> strided.arange(6).view(2, 3).t()
tensor([[0, 3],
        [1, 4],
        [2, 5]])
"""

from __future__ import annotations

import importlib as _importlib
import math as _math
import os as _os

from . import _C

# Of strided._C._functorch and the like: PyTorch's core has such modules. They stand beside this file; in an editable
# installation the compiled module does not.
_C.__path__ = [f"{_os.path.dirname(__file__)}/_core_modules"]

from ._C import Generator, Tensor, UntypedStorage, device, dtype
from ._C import dtypes as _dtypes
from ._C import Size
from ._calls import signature as _signature
from ._as_torch import places as _places
from . import _xla as _xla
from .version import __version__
from ._as_torch import install_as_torch

# ---------------------------------------------------------------- names of the core

e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None

for _d in _dtypes:
    globals()[_d._traits["name"]] = _d
    if _d._traits["alias"]:
        globals()[_d._traits["alias"]] = _d  # half, float, long, ...
for _d in _C.dtypes_without_tensors:
    globals()[str(_d).removeprefix("torch.")] = _d
bit, chalf = _C.uint1, _C.complex32

from ._objects.layouts import (
    OutOfMemoryError,
    _mkldnn,
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)

# ---------------------------------------------------------------- functions of the compiled core, by their names

from ._calls import namespaces as _namespaces

_namespaces.fill(globals())

from . import linalg, return_types, special
from ._as_torch import core_names as _core_names
from ._as_torch.core_names import StorageBase
from ._as_torch.dispatch_keys import Tag

# Numbers whose values a compiler does not know: sizes of tensors are ints here, so that nothing is one.
SymBool, SymFloat, SymInt = (_core_names.absent(name, __name__) for name in ("SymBool", "SymFloat", "SymInt"))
# TorchScript's types of values: programs write them in annotations.
AnyType, BoolType, ComplexType, DeviceObjType, DictType, FloatType, FutureType, IntType = (
    _core_names.absent(f"{name}Type", __name__)
    for name in ("Any", "Bool", "Complex", "DeviceObj", "Dict", "Float", "Future", "Int")
)
ListType, NoneType, NumberType, OptionalType, StreamObjType, StringType, TensorType, TupleType = (
    _core_names.absent(f"{name}Type", __name__)
    for name in ("List", "None", "Number", "Optional", "StreamObj", "String", "Tensor", "Tuple")
)

from ._objects.typeinfo import finfo, iinfo
from ._objects.printing import get_printoptions, printoptions, set_printoptions
from ._functions.activations import *
from ._functions.segments import *
from ._functions.creation import *
from ._functions.composite import *
from ._lowrank import *
from ._functions.determinism import *
from ._functions.spectral import *
from ._functions.random import *
from ._functions.samplers import *
from ._functions.transforms import vmap
from ._calls.broadcast import broadcast_shapes
from ._functions.standard import *
from ._functions.sparse import *
from ._functions.checks import *
from ._functions.numbers import sym_float, sym_int, sym_ite, sym_max, sym_min, sym_not, sym_sqrt, sym_sum
from ._objects import storage as _storage

_storage.install(globals(), _C.storage_as_tensor, lambda nbytes, device: UntypedStorage(nbytes, device=device))

from ._functions import sparse as _sparse_functions
from . import _tensor
from ._objects import tensor_memory as _tensor_memory

_tensor.install(Tensor)
_core_names.install()
_tensor_memory.install(Tensor)
_sparse_functions.install(Tensor)

from . import autograd, backends, cuda, memory, random, utils
from ._functions.aliases import *
from .autograd import enable_grad, inference_mode, is_inference_mode_enabled, no_grad, set_grad_enabled
from ._lobpcg import lobpcg
from ._functions import switches as _switches
from ._functions.switches import *
from .amp import GradScaler, autocast
from .compiler import compile
from .futures import Future
from ._as_torch.core_names import PyTorchFileReader

from ._objects.streams import Event, Stream

from ._functions.from_file import from_file
from ._calls import old_calls as _old_calls
from .serialization import load, save
from ._objects import untyped_storage as _untyped_storage

_untyped_storage.install()

get_num_threads, set_num_threads = _C.get_num_threads, _C.set_num_threads


def get_num_interop_threads() -> int:  # noqa: A001
    """Threads that run independent operations side by side: always 1, there is one queue."""
    return 1


get_float32_matmul_precision = backends.get_float32_matmul_precision
set_float32_matmul_precision = backends.set_float32_matmul_precision


def is_tensor(obj: object) -> bool:  # noqa: A001
    """True if obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:  # noqa: A001
    """True if obj is a storage."""
    return isinstance(obj, (UntypedStorage, _storage.TypedStorage))


# ---------------------------------------------------------------- namespaces that load when they are first used

# `strided.fft` needs no import of its own, and costs nothing until somebody asks for it.
_later = _places.names_of_modules("") - globals().keys()

# Other names that load when they are first used, by module.
_elsewhere = {
    name: module
    for module, names in {
        "jit": "ScriptModule",
        "_C": "Graph ScriptFunction ScriptMethod Value",
        "_higher_order_ops": "cond while_loop",
        "distributions._samples": "_standard_gamma _sample_dirichlet",
        "_functions.segments": "_segment_reduce",
        "amp._scale": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
        "_functions.sparse": "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo",
        "_objects.tensor_memory": "_has_compatible_shallow_copy_type",
        "_functions.creation": "_tensor_classes",
        "nn._native": "_addmm_activation _int_mm _softmax_backward_data _log_softmax_backward_data",
        "nn._registered": "_batch_norm_with_update _chunk_cat _native_batch_norm_legit _unsafe_masked_index "
        "_unsafe_masked_index_put_accumulate native_dropout_backward",
    }.items()
    for name in names.split()
}


def __getattr__(name):
    if name in _later:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _elsewhere or name.startswith("_foreach_"):
        return getattr(_importlib.import_module(f"{__name__}.{_elsewhere.get(name, '_functions.foreach')}"), name)
    if not name.startswith("_") and name in _of_networks():
        return getattr(_importlib.import_module(f"{__name__}.nn._top"), name)
    if name in _switches.OLDER_QUESTIONS:
        return _switches.answer_of(name)
    if name == "torch":  # `import strided.torch` is a frequent slip
        raise AttributeError("strided takes torch's place itself: `import strided as torch`")
    raise AttributeError(f"module 'strided' has no attribute {name!r}")


def _of_networks():
    """The names of strided.nn that PyTorch has here too.  Looking for one loads strided.nn, once."""
    return _importlib.import_module(f"{__name__}.nn._top").__all__


def __dir__():
    later = {name for name in (*_later, *_elsewhere) if not name.startswith("_")}
    return sorted(globals().keys() | later | set(_of_networks()))


del _d, annotations
