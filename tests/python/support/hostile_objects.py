"""Objects that lie, raise, or change the arguments while a function reads them."""


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Raising:
    """Raises whatever it is asked for."""

    def __index__(self):
        raise ZeroDivisionError("asked for an index")

    def __float__(self):
        raise ZeroDivisionError("asked for a float")

    def __len__(self):
        raise ZeroDivisionError("asked for a length")

    def __bool__(self):
        raise ZeroDivisionError("asked for a truth value")

    def __array__(self, *args, **kwargs):
        raise ZeroDivisionError("asked for an array")

    def __getitem__(self, key):
        raise ZeroDivisionError("asked for an item")


class Acting:
    """A number, and a sequence of two, that acts whenever it is read."""

    def __init__(self, act, value):
        self.act, self.value = act, value

    def __index__(self):
        self.act()
        return int(self.value)

    __int__ = __index__

    def __float__(self):
        self.act()
        return float(self.value)

    def __bool__(self):
        self.act()
        return True

    def __len__(self):
        self.act()
        return 2

    def __getitem__(self, i):
        self.act()
        if i not in (0, 1):
            raise IndexError(i)
        return self.value

    def __repr__(self):
        return f"Acting({self.value})"


class Lying:
    """Has more elements than it says, or fewer, and gives texts for numbers."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return 1

    def __index__(self):
        return "x"

    def __float__(self):
        return "x"


class OddInt(int):
    def __index__(self):
        raise KeyError("index")


class OddText(str):
    __slots__ = ()

    def __eq__(self, other):
        raise KeyError("eq")

    __hash__ = str.__hash__


class Showing:
    """Has one attribute."""

    def __init__(self, name, value):
        setattr(self, name, value)


class Packed:
    """Says by __dlpack__ and __dlpack_device__ whatever it was given."""

    def __init__(self, capsule, device):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


INTERFACES = [
    None, 5, {}, {"shape": (-1,), "typestr": "<f4", "data": b"1234", "version": 3},
    {"shape": (3,), "typestr": "<f4", "data": (0, False), "version": 3},
    {"shape": ("x",), "typestr": "<f4", "data": (1, 2, 3), "version": 3},
    {"shape": (2**62, 2**62), "typestr": "<f4", "data": (4096, True), "version": 3},
    {"shape": (0,), "typestr": "nonsense", "data": (0, False), "version": 3},
    {"shape": (2,), "typestr": "<f4", "data": b"12", "version": 3},
    {"shape": (2,), "typestr": "<f4", "data": b"12345678", "strides": (2**62,), "version": 3},
]  # fmt: skip


def nested(depth):
    made = []
    for _ in range(depth):
        made = [made]
    return made


def within_itself():
    made = [1]
    made.append(made)
    return made


def odd_objects(strided, rng, victim):
    """Functions that make one odd object each.  victim() is the tensor that some of them shrink while they are read."""
    numbers = []  # the list that clears itself

    def shrink():
        with strided.no_grad():
            victim().resize_(0)

    def empty():
        with strided.no_grad():
            victim().set_()

    def grow():
        victim().untyped_storage().resize_(1 << 16)  # elsewhere

    def clear():
        numbers[:] = [1, 2, Acting(numbers.clear, 1), 3]
        return numbers

    def acting():
        return Acting(rng.choice([shrink, empty, grow]), rng.choice([0, 1, -1, 2, 2.5]))

    def subclass():
        class Kind(strided.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return rng.choice([None, NotImplemented, 1, args])

        return strided.ones(3).as_subclass(Kind)

    interfaces = ("__array_interface__", "__cuda_array_interface__", "__array_struct__")
    devices = [(1, 0), None, (99, 0), ("x",), (2**70, 0), (2, 0)]
    return [
        acting, acting, lambda: [acting(), acting()], clear, subclass, within_itself,
        lambda: Lying(rng.choice([0, 2, 10**9, 2**62])), lambda: OddInt(3), lambda: OddText("mean"),
        lambda: nested(rng.choice([70, 3000, 100000])), lambda: "\ud800", lambda: "x" * 10**5, lambda: "a\0b",
        lambda: bytearray(12), lambda: memoryview(bytes(12))[::-2], lambda: (n for n in [1, 2]),
        lambda: Showing(rng.choice(interfaces), rng.choice(INTERFACES)),
        lambda: Packed(rng.choice([None, 5, strided.ones(3).__dlpack__()]), rng.choice(devices)),
        lambda: strided.empty(2**40, device="meta"), lambda: strided.ones(3).untyped_storage(),
        lambda: strided.nn.Parameter(strided.ones(3)), lambda: [strided.nn.Parameter(strided.ones(3, 3))],
        lambda: strided.nn.Linear(3, 3), lambda: {"a": strided.ones(3)},
        lambda: lambda *args, **kwargs: args[0] if args else None, lambda: lambda *args: 1 / 0,
    ]  # fmt: skip
