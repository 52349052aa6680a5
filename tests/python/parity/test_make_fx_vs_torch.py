"""make_fx and export beside PyTorch: the same steps, the same signatures."""

import importlib
import inspect

import pytest
import strided

torch = pytest.importorskip("torch")

PROGRAMS = """
x + 2 * w
F.linear(x, w, x[0, 0]).relu().sum()
F.linear(x[None], w).softmax(-1).max(1)
[x.t() @ x, x[1:, 0], x[..., None]]
x.clone().add_(1).mul_(w).mean(0, keepdim=True)
F.conv2d(x[None, None], w[None, None, :2, :2], padding=1).flatten(1)
F.layer_norm(x, (3,)) + lib.zeros(3)
lib.cat([x, w]).view(-1).exp()[2]
F.cross_entropy(x, (x[:, 0] > 9).long())
{"a": x.var(0), "b": (x > w, 3)}
"""


def steps(lib, program):
    make_fx = importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx
    names = {"lib": lib, "F": lib.nn.functional}
    recorded = make_fx(eval(f"lambda x, w: {program}", names))(lib.ones(4, 3), lib.ones(4, 3) * 2)

    def plain(a):
        return [plain(i) for i in a] if isinstance(a, (list, tuple)) else str(a)

    rows = [(n.op, n.name, str(n.target).replace("<built-in function getitem>", "getitem"), plain(n.args))
            for n in recorded.graph.nodes]  # fmt: skip
    return rows[:-1]


@pytest.mark.parametrize("program", PROGRAMS.strip().splitlines())
def test_steps(program):
    # PyTorch copies constants made in the program, and makes empty buffers, for which strided has no step.
    theirs = [r for r in steps(torch, program) if "lift_fresh" not in r[2] and "detach" not in r[2]]
    assert [(op, target) for op, _, target, _ in steps(strided, program)] == [
        (op, target) for op, _, target, _ in theirs
    ]
    if not any(op == "get_attr" for op, *_ in theirs):
        assert steps(strided, program) == theirs


def exported(lib):
    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = lib.nn.Linear(3, 2)
            self.register_buffer("b", lib.ones(2))

        def forward(self, x):
            return self.l(x).relu() + self.b

    program = importlib.import_module(f"{lib.__name__}.export").export(Net(), (lib.ones(4, 3),)).run_decompositions()
    signature = program.graph_signature
    targets = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    return (
        targets,
        signature.parameters,
        signature.buffers,
        dict(signature.inputs_to_parameters),
        list(program.state_dict),
    )


def test_export():
    ours, theirs = exported(strided), exported(torch)
    assert ours[1:] == (tuple(theirs[1]), tuple(theirs[2]), *theirs[3:])
    functional = [t.replace("permute", "t") for t in theirs[0]]  # PyTorch's table makes permute of t
    assert ours[0] == functional


def test_steps_have_options_by_name_where_pytorch_s_have():
    # PyTorch's functions in Python hand a call that is traced on with options by name; its compiled ones do not.
    from strided.fx import proxy

    def is_python(function):
        return inspect.isfunction(getattr(function, "__wrapped__", function))

    shared = [n for n in dir(torch.nn.functional) if not n.startswith("__") and hasattr(strided.nn.functional, n)]
    public = [n for n in shared if proxy.resolve_name(getattr(strided.nn.functional, n)) is not None]
    theirs = {
        n
        for n in public
        if callable(getattr(torch.nn.functional, n)) and not is_python(getattr(torch.nn.functional, n))
    }
    assert len(public) > 100
    assert theirs == proxy._AS_GIVEN & set(public)
