"""Classes of tensors with a ``__torch_dispatch__``, and programs with them, for strided and for PyTorch alike."""

import importlib
import types


def classes(lib):
    """The classes of one library; ``log`` has the names of the operations that arrived."""
    dispatch = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")
    tree_map = importlib.import_module(f"{lib.__name__}.utils._pytree").tree_map
    log = []
    aten = lib.ops.aten

    class Logging(lib.Tensor):
        """A wrapper of one tensor."""

        elem: lib.Tensor
        __slots__ = ["elem"]
        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = lib.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=requires_grad,
            )  # fmt: skip
            made.elem = elem
            return made

        def __repr__(self):
            return super().__repr__(tensor_contents=f"{self.elem}")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten."))
            args, kwargs = tree_map(lambda x: x.elem if isinstance(x, cls) else x, (args, kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, lib.Tensor) else x, func(*args, **kwargs))

    class Two(lib.Tensor):
        """A wrapper of two tensors, with the class's usual ``__torch_function__``."""

        @staticmethod
        def __new__(cls, a, b, outer_size=None, outer_stride=None, requires_grad=False):
            return lib.Tensor._make_wrapper_subclass(
                cls, a.size() if outer_size is None else outer_size,
                strides=a.stride() if outer_stride is None else outer_stride, storage_offset=a.storage_offset(),
                device=a.device, dtype=a.dtype, requires_grad=requires_grad,
            )  # fmt: skip

        def __init__(self, a, b, outer_size=None, outer_stride=None, requires_grad=False):
            self.a, self.b = a, b

        def __repr__(self):
            return f"Two({self.a}, {self.b})"

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            return Two(inner["a"], inner["b"], size, stride)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten."))
            kwargs = kwargs or {}
            made = []
            for name in "ab":
                inner = tree_map(lambda x, name=name: getattr(x, name) if isinstance(x, cls) else x, (args, kwargs))
                made.append(func(*inner[0], **inner[1]))
            if isinstance(made[0], lib.Tensor):
                out = cls(*made)
            elif isinstance(made[0], (tuple, list)):
                out = type(made[0])([cls(*pair) for pair in zip(*made)])
            else:
                out = made[0]
            return dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    class Int8(lib.Tensor):
        """A weight of eight-bit integers with a scale for each row, of which only ``linear`` is known."""

        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, data, scale, dtype):
            return lib.Tensor._make_wrapper_subclass(cls, data.shape, dtype=dtype, device=data.device)

        def __init__(self, data, scale, dtype):
            self.data_int8, self.scale = data, scale

        @classmethod
        def quantized(cls, x):
            scale = x.abs().amax(1) / 127
            return cls((x / scale[:, None]).round().to(lib.int8), scale, x.dtype)

        def dequantized(self):
            return self.data_int8.to(self.dtype) * self.scale.to(self.dtype)[:, None]

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten."))
            if func in (aten.detach.default, aten.alias.default):
                return cls(args[0].data_int8, args[0].scale, args[0].dtype)
            if func is aten.clone.default:
                return cls(args[0].data_int8.clone(), args[0].scale.clone(), args[0].dtype)
            if func is aten._to_copy.default:
                return cls(args[0].data_int8, args[0].scale, kwargs.get("dtype", args[0].dtype))
            if func is aten.t.default:
                return args[0].dequantized().t()
            raise NotImplementedError(f"Int8: {func}")

    class Real(lib.Tensor):
        """A subclass that has values of its own; operations on it are operations on these."""

        __torch_function__ = lib._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten."))
            args, kwargs = tree_map(lambda x: plain[id(x)] if isinstance(x, cls) else x, (args, kwargs or {}))
            return func(*args, **kwargs)

    class Shapes(lib.Tensor):
        """Shapes alone: operations are done on the device meta."""

        __torch_function__ = lib._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, meta, device):
            return lib.Tensor._make_wrapper_subclass(
                cls, meta.shape, strides=meta.stride(), dtype=meta.dtype, device=device
            )

        def __init__(self, meta, device):
            self.meta = meta

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func).removeprefix("aten."))
            device = next(x.device for x in args if isinstance(x, cls))
            args, kwargs = tree_map(lambda x: x.meta if isinstance(x, cls) else x, (args, kwargs or {}))
            return tree_map(lambda x: cls(x, device) if isinstance(x, lib.Tensor) else x, func(*args, **kwargs))

    plain = {}

    def real(x, requires_grad=False):
        made = lib.Tensor._make_subclass(Real, x, requires_grad)
        plain[id(made)] = x
        return made

    class Names(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append(f"mode:{str(func).removeprefix('aten.')}:{','.join(t.__name__ for t in types)}")
            return func(*args, **(kwargs or {}))

    return types.SimpleNamespace(
        lib=lib, F=lib.nn.functional, nn=lib.nn, dispatch=dispatch, log=log, Logging=Logging, Two=Two, Int8=Int8,
        real=real, Shapes=Shapes, Names=Names,
    )  # fmt: skip


class Given:
    """What programs are made of: the classes of a library, and tensors of them with the same numbers everywhere."""

    def __init__(self, lib):
        self.__dict__.update(vars(classes(lib)))

    def values(self, *shape):
        n = 1
        for size in shape:
            n *= size
        return (self.lib.arange(float(n)).reshape(shape) * 0.37 + 0.2).sin()

    def one(self, *shape, grad=False):
        return self.Logging(self.values(*shape), grad)

    def two(self, *shape, grad=False):
        return self.Two(self.values(*shape), self.values(*shape).cos(), requires_grad=grad)

    def described(self, value):
        """Classes, shapes, numbers: what is compared."""
        lib = self.lib
        if isinstance(value, (self.Logging, self.Two)):
            inner = [value.elem] if isinstance(value, self.Logging) else [value.a, value.b]
            kind = type(value).__name__
            return [kind, str(value.dtype), tuple(value.shape), tuple(value.stride()), value.requires_grad,
                    *map(self.described, inner)]  # fmt: skip
        if isinstance(value, lib.Tensor) and type(value) is lib.Tensor:
            return [str(value.dtype), tuple(value.shape), value.requires_grad, value.detach().tolist()]
        if isinstance(value, lib.Tensor):
            return [type(value).__name__, str(value.dtype), tuple(value.shape), str(value.device)]
        if isinstance(value, dict):
            return {k: self.described(v) for k, v in value.items()}
        return [self.described(v) for v in value] if isinstance(value, (tuple, list)) else value
