"""Plain values between ranks: numbers, texts, bytes, None, containers of them, tensors. Nothing is pickled."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from typing import TYPE_CHECKING

from .. import _C
from ._collectives import _member, _peer
from ._comm import flat_bytes

if TYPE_CHECKING:
    from .._typing import Any, Tensor
    from ._comm import Communicator

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list",
]  # fmt: skip

_DTYPES = {str(d).rpartition(".")[2]: d for d in vars(_C).values() if _C.is_dtype(d)}
_f = _C.functions


def _plain(value: Any, tensors: list[Tensor], where: str) -> Any:
    """The value in JSON's types; whatever is not JSON's own is a dict of one item, its kind."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_plain(v, tensors, f"{where}[{k}]") for k, v in enumerate(value)]
    if kind is tuple or kind.__name__ == "Size" and isinstance(value, tuple):
        return {"tuple": [_plain(v, tensors, f"{where}[{k}]") for k, v in enumerate(value)]}
    if kind in (dict, OrderedDict):
        pairs = [[_plain(k, tensors, where), _plain(v, tensors, f"{where}[{k!r}]")] for k, v in value.items()]
        return {kind.__name__: pairs}
    if kind in (set, frozenset):
        return {kind.__name__: [_plain(v, tensors, where) for v in value]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if kind.__module__ == "numpy" and hasattr(value, "dtype") and not value.dtype.hasobject and not value.dtype.names:
        flat = base64.b64encode(value.tobytes()).decode()
        return {"array" if kind.__name__ == "ndarray" else "scalar": [value.dtype.str, list(value.shape), flat]}
    if _C.is_dtype(value):
        return {"dtype": str(value).rpartition(".")[2]}
    if _C.is_device(value):
        return {"device": str(value)}
    if kind is _C.Tensor:
        t = value.detach().cpu().contiguous()
        tensors.append(t)
        return {"tensor": [str(t.dtype).rpartition(".")[2], list(t.shape)]}
    typename = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raise TypeError(
        f"{where} is a {typename}: between ranks go numbers, texts, bytes, None, lists, tuples, "
        "dicts, sets, NumPy's arrays, dtypes, devices and tensors; other objects would have to be pickled, which runs code"
    )


def encode(value: Any) -> Tensor:
    """The value as bytes: the length of a JSON text, the text, and the memory of the tensors in it.

    Raises:
        TypeError: something in it is no plain value; the message says where.
    """
    tensors: list[Tensor] = []
    text = json.dumps(_plain(value, tensors, "the object")).encode()
    head = _C.from_buffer(bytearray(len(text).to_bytes(8, "little") + text), _C.uint8, -1, 0)
    return _f["cat"]([head, *(flat_bytes(t) for t in tensors if t.numel())])


def decode(data: Tensor) -> Any:
    """The value that :func:`encode` made bytes of."""
    n = int.from_bytes(bytes(data[:8].tolist()), "little")
    at = 8 + n

    def tensor(dtype: Any, shape: list[int]) -> Tensor:
        nonlocal at
        made = _f["empty"](shape, dtype=dtype)
        if made.numel():
            flat_bytes(made).copy_(data[at : at + made.nbytes])
        at += made.nbytes
        return made

    return built(json.loads(bytes(memoryview(data[8 : 8 + n].contiguous().numpy()))), tensor) if n else None


def built(found: Any, tensor: Any = None) -> Any:
    """The value that :func:`_plain` made JSON's types of; ``tensor(dtype, shape)`` makes the tensors in it."""
    if isinstance(found, list):
        return [built(v, tensor) for v in found]
    if not isinstance(found, dict):
        return found
    ((kind, inner),) = found.items()
    if kind == "tensor":
        return tensor(_DTYPES[inner[0]], inner[1])
    if kind in ("dict", "OrderedDict"):
        return (dict if kind == "dict" else OrderedDict)((built(k, tensor), built(v, tensor)) for k, v in inner)
    if kind in ("array", "scalar"):
        import numpy

        array = numpy.frombuffer(base64.b64decode(inner[2]), inner[0]).reshape(inner[1])
        return array.copy() if kind == "array" else array[()]
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](built(v, tensor) for v in inner)
    made_of = {"bytes": bytes.fromhex, "complex": lambda p: complex(*p), "dtype": _DTYPES.__getitem__}
    return made_of.get(kind, _C.device)(inner)


def _all_gather(comm: Communicator, data: Tensor) -> list[Tensor]:
    """The bytes of every rank, of any length."""
    sizes = [_f["empty"](1, dtype=_C.int64) for _ in range(comm.size)]
    comm.all_gather(sizes, _f["full"]((1,), data.numel(), dtype=_C.int64))
    found = [_f["empty"](int(n), dtype=_C.uint8) for n in sizes]
    comm.all_gather(found, data)
    return found


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """object_list[r] becomes the value of rank r.

    Values are plain: None, bool, int, float, complex, str, bytes, list, tuple, dict, set, dtype, device, Tensor (which
    arrives on the CPU), nested as they like. Nothing is pickled, here and below.

    Raises:
        TypeError: another type, a subclass of these included; the message says where it stands.

    >>> def program():
    ...     dist = strided.distributed
    ...     dist.init_process_group()
    ...     found = [None] * dist.get_world_size()
    ...     dist.all_gather_object(found, {"rank": dist.get_rank(), "shape": (2, 3)})
    ...     return found
    >>> strided.distributed.simulate(2, program)[0]
    [{'rank': 0, 'shape': (2, 3)}, {'rank': 1, 'shape': (2, 3)}]
    """
    if (pg := _member("all_gather_object", group)) is None:
        return
    if len(object_list) != pg.size():
        raise ValueError(f"all_gather_object: object_list has {len(object_list)} places for {pg.size()} ranks")
    for r, data in enumerate(_all_gather(pg.communicator, encode(obj))):
        object_list[r] = decode(data)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """object_gather_list[r] on rank dst (0 if not given) becomes the value of rank r; others give None."""
    if (pg := _member("gather_object", group)) is None:
        return
    root, comm, data = _peer("gather_object", pg, "dst", dst, group_dst, pg._ranks[0]), pg.communicator, encode(obj)
    if (object_gather_list is not None) != (pg.rank() == root):
        raise ValueError("gather_object: object_gather_list is given on the destination rank, and nowhere else")
    sizes = [_f["empty"](1, dtype=_C.int64) for _ in range(comm.size)]
    comm.all_gather(sizes, _f["full"]((1,), data.numel(), dtype=_C.int64))
    found = [_f["empty"](int(n), dtype=_C.uint8) for n in sizes] if pg.rank() == root else None
    comm.gather(found, data, root)
    if object_gather_list is not None and found is not None:
        object_gather_list[:] = [decode(x) for x in found]


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """The list gets the values of that of rank src (0 if not given), in place; it has the same length on all ranks."""
    if (pg := _member("broadcast_object_list", group)) is None:
        return
    root, comm = _peer("broadcast_object_list", pg, "src", src, group_src, pg._ranks[0]), pg.communicator
    data = encode(object_list) if pg.rank() == root else None
    n = _f["full"]((1,), 0 if data is None else data.numel(), dtype=_C.int64)
    comm.broadcast(n, root)
    data = _f["empty"](int(n), dtype=_C.uint8) if data is None else data
    comm.broadcast(data, root)
    if pg.rank() != root:
        found = decode(data)
        if len(found) != len(object_list):
            raise ValueError(f"broadcast_object_list: a list of {len(object_list)} for {len(found)} values")
        object_list[:] = found


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """The first place of the output list becomes scatter_object_input_list[rank] of rank src (0 if not given)."""
    if (pg := _member("scatter_object_list", group)) is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root, comm = _peer("scatter_object_list", pg, "src", src, group_src, pg._ranks[0]), pg.communicator
    given = None
    if pg.rank() == root:
        if scatter_object_input_list is None or len(scatter_object_input_list) != pg.size():
            raise ValueError("scatter_object_list: the source gives one value for each rank")
        given = [encode(v) for v in scatter_object_input_list]
    sizes = None if given is None else [_f["full"]((1,), d.numel(), dtype=_C.int64) for d in given]
    n = _f["empty"](1, dtype=_C.int64)
    comm.scatter(n, sizes, root)
    data = _f["empty"](int(n), dtype=_C.uint8)
    comm.scatter(data, given, root)
    scatter_object_output_list[0] = decode(data)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Gives the values of a list to rank dst."""
    if (pg := _member("send_object_list", group)) is None:
        return
    peer, data = _peer("send_object_list", pg, "dst", dst, group_dst, None), encode(object_list)
    pg.communicator.send(_f["full"]((1,), data.numel(), dtype=_C.int64), peer)
    pg.communicator.send(data, peer)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """The list gets the values that rank src gives, any rank if it is not given; returns its number."""
    if (pg := _member("recv_object_list", group)) is None:
        return -1
    n = _f["empty"](1, dtype=_C.int64)
    if src is None and group_src is None:
        request = pg.communicator.irecv_any(n)
        request.wait()
        peer = request.source
    else:
        peer = _peer("recv_object_list", pg, "src", src, group_src, None)
        pg.communicator.recv(n, peer)
    data = _f["empty"](int(n), dtype=_C.uint8)
    pg.communicator.recv(data, peer)
    found = decode(data)
    if len(found) != len(object_list):
        raise ValueError(f"recv_object_list: a list of {len(object_list)} for {len(found)} values")
    object_list[:] = found
    return pg._ranks[peer]
