"""Calls of every function with arguments that fit, or with one or two that are wrong.

The arguments are made from the declared types of the signatures: wrong kinds, shapes, dtypes, axes, sizes and memory.
The calls are the same in every run.
"""

import importlib
import inspect
import operator
import random
import re

from hostile_objects import Index, Raising, odd_objects
from hostile_receivers import makers, method_names

# What changes how later calls behave, so that a call could not be repeated alone.
LEFT_OUT = {
    "set_autocast_enabled", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_cpu_dtype",
    "set_autocast_gpu_dtype", "set_autocast_cache_enabled", "autocast_increment_nesting", "autocast_decrement_nesting",
    "set_num_threads", "set_printoptions", "printoptions", "set_cache_limit", "set_default_device",
    "set_default_tensor_type", "set_anomaly_enabled", "install_as_torch", "enter_dual_level", "exit_dual_level",
    "add_safe_globals", "clear_safe_globals", "register_package", "set_default_load_endianness",
    "set_default_mmap_options", "set_crc32_options", "set_default_backend", "set_stance",
}  # fmt: skip


def _hostile_integers():
    return [0, 1, -1, 2, 3, -2, 5, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), 2**63, 2**100, True]


def _junk(strided):
    """Wrong for almost every parameter."""
    import numpy

    return [
        None, "x", "", "\0", b"x", 1.5, float("nan"), float("inf"), -float("inf"), 1j, object(), [], (), {}, [1, "x"],
        [None], [[1], [2, 3]],
        range(3), ..., slice(None), int, strided, strided.float32, "float32", strided.device("cpu"), numpy.float32(1),
        numpy.arange(3),
        numpy.array("x"), numpy.array(None), strided.tensor(1), strided.tensor(2.5), strided.tensor([1, 2]),
        strided.Tensor, lambda: 1,
        Index(2**70), Raising(), *_hostile_integers(),
    ]  # fmt: skip


# What a parameter of this name holds, whatever the others are.
ROLES = {
    **dict.fromkeys(("index", "indices", "repeats", "pivots", "LU_pivots"), "int64"),
    "mask": "bool",
    "condition": "bool",
}


# What parameters of type str understand, and nothing else does.
WORDS = (
    "mean sum prod amax amin ij xy fro nuc floor trunc linear lower higher midpoint nearest tanh none left right L x"
).split()


SHAPES = [
    (),
    (0,),
    (1,),
    (3,),
    (4,),
    (2, 3),
    (3, 2),
    (3, 3),
    (4, 4),
    (0, 3),
    (3, 0),
    (2, 3, 4),
    (2, 3, 3),
    (1, 2, 1, 3),
    (1,) * 12,
    (1,) * 64,
]


class Arguments:
    """Makes arguments, and remembers the read-only memory they were made with."""

    def __init__(self, seed):
        import numpy
        import strided

        self.rng, self.numpy, self.strided, self.read_only = random.Random(seed), numpy, strided, []
        self.dtypes = [str(d)[6:] for d in strided._C.dtypes]
        self.last = None  # the tensor made last, so that others may overlap it
        # Most tensors of one call agree, so that many calls go all the way.
        self.shape = self.rng.choice([(3, 3), (4, 4), (2, 3), (3,), (2, 3, 3), *SHAPES])
        self.dtype = self.rng.choice(["float32", "float32", "float64", "complex64", "int64", *self.dtypes])

    def tensor(self, role=""):
        rng, strided = self.rng, self.strided
        shape = self.shape if rng.random() < 0.75 else rng.choice(SHAPES)
        dtype = self.dtype if rng.random() < 0.8 else rng.choice(self.dtypes)
        if rng.random() < 0.9:
            dtype = ROLES.get(role, dtype)
            if role in ROLES and rng.random() < 0.4:
                shape = rng.choice([(), (2,), (3,), (4,)])
        dtype = getattr(strided, dtype)
        n = 1
        for s in shape:
            n *= s
        t = (strided.arange(n) * 7 % (3 if role in ROLES else 5)).to(dtype).reshape(shape)
        kind = rng.randrange(16)
        if kind == 0 and len(shape) >= 2:
            t = t.transpose(0, -1)
        elif kind == 1 and len(shape) >= 1:
            t = t[::-1]
        elif kind == 2 and len(shape) < 60:
            t = t.unsqueeze(0).expand(2, *shape)
        elif kind == 3 and len(shape) >= 1:
            t = t[1:]
        elif kind == 4 and (t.is_floating_point() or t.is_complex()):
            t.requires_grad_()
        elif kind == 5:
            t = self.read_only_tensor(shape)
        elif kind == 6 and self.last is not None:
            t = self.last  # the same tensor twice
        elif kind == 7 and self.last is not None and self.last.dim() > 0:
            t = self.last[::2]
        self.last = t
        return t

    def read_only_tensor(self, shape):
        array = self.numpy.ones(shape, self.rng.choice(["f4", "f8", "i8"]))
        self.read_only.append((array, array.copy()))
        array = array.view()
        array.flags.writeable = False
        return self.strided.from_numpy(array)

    def hostile_tensor(self):
        rng, strided = self.rng, self.strided
        values = rng.choice(
            [
                [2**63 - 1, -(2**63), 0],
                [5, -5, 10**9],
                [float("nan"), float("inf"), -1.0],
                [True, False, True],
                [0.5, -7.25, 1e38],
            ]
        )
        return rng.choice(
            [
                lambda: self.tensor(),
                lambda: self.read_only_tensor(rng.choice(SHAPES[:12])),
                lambda: strided.tensor(values).reshape(rng.choice([(3,), (1, 3), (3, 1)])),
                lambda: strided.tensor(values[0]),
                lambda: strided.ones(3).expand(2, 3),
                lambda: strided.ones(1).expand(2**30, 2**20)[:0],
                lambda: strided.empty(0, 2**31, 2**20),
                lambda: strided.empty(0, dtype=strided.complex64),
            ]
        )()

    def number(self):
        return self.rng.choice([0, 1, -1, 2, 2.5, -0.0, 1e300, float("nan"), float("inf"), True, 1j, 2**63, 2**64])

    def sizes(self):
        rng = self.rng
        return [rng.choice([0, 1, 2, 3, -1]) for _ in range(rng.randrange(4))]

    def hostile_sizes(self):
        rng = self.rng
        return rng.choice(
            [
                [rng.choice(_hostile_integers()) for _ in range(rng.randrange(1, 5))],
                [2**31, 2**31], [2**62, 4], [0, 2**62, 2**62], [1] * 65, [1] * 1000, [-(2**63)], [2.5], ["x"], [None],
                (3,), 2**40,
                Index(3), [Index(2**70)], [Raising()], [[2], [3]], self.strided.tensor([2, 3]),
                self.numpy.array([2, 3]),
            ]
        )  # fmt: skip

    def make(self, kind, name=""):
        """One argument of a declared type, usually one that fits."""
        rng, strided = self.rng, self.strided
        if kind.endswith("?"):
            return None if rng.random() < 0.4 else self.make(kind[:-1], name)
        if kind in ("Tensor[]", "Tensor?[]"):
            return [self.tensor(name) for _ in range(rng.randrange(4))]
        makers = {
            "Tensor": lambda: self.tensor(name),
            "TensorOrNumber": lambda: self.tensor() if rng.random() < 0.6 else self.number(),
            "Number": self.number,
            "int": lambda: rng.choice([0, 0, -1, 1] if name.startswith(("dim", "axis")) else [0, 1, -1, 2, 3]),
            "int[]": self.sizes,
            "float": lambda: rng.choice([0.0, 1.0, 2.5, -1.5, 1, float("nan"), float("inf")]),
            "bool": lambda: rng.random() < 0.5,
            "str": lambda: rng.choice(WORDS),
            "dtype": lambda: getattr(strided, rng.choice(self.dtypes)),
            "int[][]": lambda: [self.sizes(), self.sizes()],
            "Generator": strided.Generator,
            "device": lambda: rng.choice(["cpu", "cuda", "cuda:99", strided.device("cpu")]),
        }
        if kind in makers:
            return makers[kind]()
        named = {
            "params": lambda: [strided.nn.Parameter(strided.ones(3, 3))],
            "optimizer": lambda: strided.optim.SGD([strided.nn.Parameter(strided.ones(3, 3))], lr=0.1),
            "module": lambda: strided.nn.Linear(3, 3),
            **dict.fromkeys(("func", "fn"), lambda: lambda *args: args[0].sum()),
        }
        if name in named and rng.random() < 0.8:
            return named[name]()
        return self.tensor() if rng.random() < 0.4 else rng.choice(_junk(strided))

    def odd(self):
        return self.rng.choice(odd_objects(self.strided, self.rng, lambda: self.last))()

    def hostile(self, kind):
        rng = self.rng
        if rng.random() < 0.25:
            return self.odd()
        if rng.random() < 0.4:
            return rng.choice(_junk(self.strided))
        if "Tensor" in kind and "[]" not in kind:
            return self.hostile_tensor()
        if kind.rstrip("?") in ("Tensor[]", "Tensor?[]"):
            return rng.choice(
                [
                    [self.hostile_tensor(), self.tensor()],
                    (self.tensor(),) * 3,
                    [self.tensor(), None],
                    self.tensor(),
                    [[self.tensor()]],
                ]
            )
        if kind.startswith("int["):
            return self.hostile_sizes()
        if kind.startswith("int"):
            return rng.choice([*_hostile_integers(), Index(2**62), Raising()])
        return rng.choice(_junk(self.strided))


def parse(signature):
    """(type, name, has a default, keyword only, variadic) of each parameter, from a signature's text."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")", 0, (signature + " ->").index(" ->") + 1)]
    parts, depth, part = [], 0, ""
    for c in inside + ",":
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    keyword_only, parameters = False, []
    for text in filter(None, parts):
        if text == "*":
            keyword_only = True
            continue
        declaration, _, default = text.partition("=")
        kind, _, name = declaration.strip().rpartition(" ")
        parameters.append(
            (kind, name.lstrip("*"), bool(default) or kind.endswith("?"), keyword_only, name.startswith("*"))
        )
    return parameters


def make_call(name, signature, number):
    """(positional arguments, keyword arguments, Arguments) of one call; the same for the same name and number."""
    source = Arguments(f"{name} {signature} {number}")
    rng, parameters = source.rng, parse(signature)
    count = 0 if number % 2 == 0 else rng.choice([1, 1, 1, 2])
    hostile = set(rng.sample(range(len(parameters)), min(len(parameters), count)))
    args, keywords, positional = [], {}, True
    for i, (kind, parameter, optional, keyword_only, variadic) in enumerate(parameters):
        if optional and i not in hostile and rng.random() < 0.5:
            positional = False  # what follows must be named
            continue
        value = source.hostile(kind) if i in hostile else source.make(kind, parameter)
        if variadic and isinstance(value, list) and positional:
            args += value if rng.random() < 0.5 else [value]
        elif positional and not keyword_only:
            args.append(value)
        else:
            keywords[parameter] = value
    if count and rng.random() < 0.06:
        keywords[rng.choice(["out", "dtype", "dim", "axis", "nonsense", "input"])] = rng.choice(_junk(source.strided))
    if count and rng.random() < 0.06:
        args.append(rng.choice(_junk(source.strided)))
    return args, keywords, source


def make_operator_call(name, number):
    """The same for what syntax calls: a function of no arguments, and the Arguments."""
    source = Arguments(f"{name} {number}")
    rng, junk = source.rng, _junk(source.strided)
    t = source.tensor()

    def index():
        return rng.choice(
            [
                *_hostile_integers(), None, ..., slice(None), slice(None, None, -1), slice(2**62, -(2**62), -(2**62)),
                slice(0, 2**100, 2**99),
                slice(None, None, 0), slice("a"), [], [0, -1], [10**9], [[0], [1, 2]], [True, False],
                source.hostile_tensor(), source.tensor(),
                source.numpy.array([0, 5]), source.numpy.array([1.5]), rng.choice(junk),
            ]
        )  # fmt: skip

    if rng.random() < 0.2:
        junk = [source.odd() for _ in range(3)]
    key = index() if rng.random() < 0.5 else tuple(index() for _ in range(rng.choice([0, 1, 2, 3, 65])))
    value = rng.choice([source.tensor(), source.hostile_tensor(), source.number(), rng.choice(junk)])
    if name == "[]":
        return (lambda: t[key]), source
    if name == "[]=":
        return (lambda: operator.setitem(t, key, value)), source
    if name == "tensor":
        value = rng.choice([value, [value], [[value], [value]], [[1, 2], [3, value]], [[]] * 3, [[], [1]], [1] * 1000])
        return (
            lambda: source.strided.tensor(value, dtype=rng.choice([None, source.strided.int8, source.strided.float16]))
        ), source
    a, b = (t, value) if rng.random() < 0.6 else (value, t)
    return (lambda: getattr(operator, name)(a, b)), source


OPERATORS = [
    "[]",
    "[]=",
    "tensor",
    *"add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq lt iadd imul ipow iand".split(),
]


ANNOTATIONS = {
    **{name: name for name in ("Tensor", "int", "float", "bool", "str")},
    **{name + " | None": name + "?" for name in ("Tensor", "int", "float", "bool", "str")},
}


def python_signature(name, function, annotations=()):
    """The signature of a callable without declared types, with types guessed from the names of its parameters."""
    guesses = {
        "dtype": "dtype?",
        "device": "device?",
        "size": "int[]",
        **dict.fromkeys(("input", "self", "other", "tensor", "tensors"), "Tensor"),
    }
    method = name.startswith("Tensor.")
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.kind != p.VAR_KEYWORD]
    except (ValueError, TypeError):  # built-in, without a signature
        return f"{name}(" + "Tensor self, " * method + "Any a=None, Any b=None)"
    words = []
    for p in parameters:
        if p.kind == p.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        kind = guesses.get(p.name) or dict(annotations).get(str(p.annotation), "Any")
        words += [f"{kind} {p.name}" + "=None" * (p.default is not p.empty or p.kind == p.VAR_POSITIONAL)] * (
            1 + (p.kind == p.VAR_POSITIONAL)
        )
    return f"{name}({', '.join(words)})"


# Where functions in Python are, besides the table's.
PYTHON_PLACES = (
    "", "Tensor.", "linalg.", "special.", "autograd.", "random.", "memory.", "testing.", "accelerator.", "compiler.",
    "jit.", "cpu.", "profiler.", "utils.checkpoint.", "utils.dlpack.",
)  # fmt: skip
# And those whose calls need a limit on memory, as arguments of no declared type may be large sizes.
UNTYPED_PLACES = (
    "nn.", "nn.functional.", "nn.init.", "nn.utils.", "nn.utils.rnn.", "nn.utils.parametrize.",
    "nn.utils.parametrizations.", "nn.utils.prune.", "func.", "masked.", "signal.windows.", "autograd.functional.",
    "autograd.forward_ad.", "distributions.", "optim.", "optim.lr_scheduler.", "optim.swa_utils.", "quasirandom.",
    "sparse.", "serialization.", "files.", "fx.",
)  # fmt: skip


def python_functions(strided, places=PYTHON_PLACES):
    """Public callables that are not in the table: what is written in Python, and the members of the Tensor type."""
    for prefix in places:
        place = strided
        if prefix and prefix != "Tensor.":
            place = importlib.import_module("strided." + prefix.rstrip("."))
        elif prefix:
            place = strided.Tensor
        for name in sorted(dir(place)):
            value = getattr(place, name)
            if not name.startswith("_") and callable(value) and not isinstance(value, strided._C.Function):
                yield prefix + name, value


def untyped_targets(strided):
    """(name, signature) of the functions and classes of the untyped places."""
    found = [(name, python_signature(name, f, ANNOTATIONS)) for name, f in python_functions(strided, UNTYPED_PLACES)]
    return [(name, signature) for name, signature in found if name.rpartition(".")[2] not in LEFT_OUT]


def method_targets(strided):
    """(name, signature) of methods of objects."""
    found = [(name, python_signature(name, lookup(strided, name), ANNOTATIONS)) for name in method_names(strided)]
    return [(name, signature) for name, signature in found if name.rpartition(".")[2] not in LEFT_OUT]


def all_targets(strided):
    """(name, signature or None for an operator) of everything public that is called, but for the untyped places."""
    table = strided._C.functions
    targets = [(name, s) for name in sorted(table) for s in table[name].signatures]
    # A method that is the function once more needs no second round.
    known = {s for name, s in targets if not name.startswith("Tensor.")}
    targets = [(name, s) for name, s in targets if not (name.startswith("Tensor.") and s in known)]
    targets += [(name, python_signature(name, function)) for name, function in python_functions(strided)]
    last = [name.rpartition(".")[2] for name, _ in targets]
    return [t for t, name in zip(targets, last) if not name.startswith("_") and name not in LEFT_OUT] + [
        (name, None) for name in OPERATORS
    ]


def lookup(strided, name):
    receiver, is_method, method = name.partition("().")
    if is_method:
        return getattr(makers(strided)[receiver](), method)
    return strided._C.functions.get(name) or operator.attrgetter(name)(strided)


def read(result):
    """Reads every element that a result shows."""
    if isinstance(result, (tuple, list)):
        for part in result[:100]:
            read(part)
    elif hasattr(result, "numel") and hasattr(result, "tolist"):
        str(result.shape), result.stride(), result.dtype
        if result.numel() <= 10000:
            result.tolist()
            repr(result)


def use(strided, result, source):
    """Asks objects for what they are there for."""
    if isinstance(result, strided.nn.Module):
        repr(result)
        read(result(source.tensor()))
    elif isinstance(result, strided.distributions.Distribution):
        repr(result)
        read(result.log_prob(result.sample()))
    elif isinstance(result, strided.optim.Optimizer):
        repr(result)
        result.step()
        result.load_state_dict(result.state_dict())


def text_of(error):
    """The message, which may be made of an object whose text raises."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return ""


INTERNAL = re.compile(r"std::|basic_string|vector::|bad_alloc|\b_M_")  # messages of C++'s own library


def _written_to(strided, name, args, keywords):
    """The tensors that a call is to write to."""
    out = keywords.get("out")
    first = args[:1] if name.endswith("_") and not name.endswith("__") else []
    return [t for t in [*first, *(out if isinstance(out, list) else [out])] if isinstance(t, strided.Tensor)]


def _state(t):
    """What must be the same after a call that is refused."""
    return t.shape, t.stride(), t.dtype, t.requires_grad, repr(t.tolist())


def perform(strided, name, signature, number):
    """Makes the call. Returns what is wrong with how it ended, or None."""
    before = []
    if signature is None:
        call, source = make_operator_call(name, number)
    else:
        args, keywords, source = make_call(name, signature, number)
        function = lookup(strided, name)
        if number % 2 == 0 and name in strided._C.functions:  # no object among the arguments that acts by itself
            before = [(t, _state(t)) for t in _written_to(strided, name, args, keywords)]

        def call():
            return function(*args, **keywords)

    try:
        result = call()
        before = []
        read(result)
        use(strided, result, source)
        problem = None
    except SystemError as error:  # an extension broke the interpreter's rules
        problem = f"SystemError: {error}"
    except Exception as error:  # noqa: BLE001  (any other answer is fine)
        problem = f"not a message for users: {error!r}" if INTERNAL.search(text_of(error)) else None
    except BaseException as error:  # noqa: BLE001
        problem = f"not an ordinary exception: {error!r}"
    if any(_state(t) != state for t, state in before):
        problem = "refused, but what it writes to was changed"
    strided.set_default_dtype(strided.float32)
    strided.set_grad_enabled(True)
    for array, before in source.read_only:
        if not (array == before).all():
            problem = "read-only memory was written"
    return problem


def describe(name, signature, number):
    import strided

    def short(value):
        if isinstance(value, strided.Tensor):
            return f"tensor of {value.dtype}, shape {tuple(value.shape)}, stride {value.stride()}, offset {value.storage_offset()}"
        return repr(value)[:200]

    if signature is None:
        return f"operator {name}"
    args, keywords, _ = make_call(name, signature, number)
    return f"{signature}\n    " + "\n    ".join(
        [short(a) for a in args] + [f"{k}={short(v)}" for k, v in keywords.items()]
    )
