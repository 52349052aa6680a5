"""The signature texts of the compiled core say what C++ takes; one Python signature serves all overloads."""

import inspect
import pydoc

import pytest
import strided
from strided import _C

FUNCTIONS = _C.functions


def test_texts_say_what_cpp_takes():
    assert _C._signature_mismatches() == []


@pytest.mark.parametrize(
    "name, text, why",
    [
        ("narrow", "narrow(Tensor input, float dim, int start, int length)", "dim C++ takes int"),
        ("narrow", "narrow(Tensor input, dim, int start, int length)", "dim has no type"),
        ("narrow", "narrow(Tensor input, axis dim, int start, int length)", "'axis' is no type"),
        ("narrow", "narrow(Tensor input, int? dim, int start, int length)", "C++ does not take None"),
        ("narrow", "narrow(Tensor input, int dim, int start=None, int length=1)", "start is None by default"),
        ("narrow", "narrow(Tensor input, int dim, int start=0, int length=1.5)", "does not take its own default"),
        ("narrow", "narrow(Tensor input, int dim, int start, int length) -> int", "C++ returns Tensor"),
        ("argmax", "argmax(Tensor input, int dim=0, bool keepdim=False)", "a ? is missing"),
        ("argmax", "argmax(Tensor input, int? dim, bool keepdim, *, Tensor[]? out=None)", "out must be Tensor?"),
        ("cummax", "cummax(Tensor input, int dim, *, Tensor? out=None) -> (values, indices)", "out must be Tensor[]?"),
        ("cummax", "cummax(Tensor input, int dim) -> (values, indices, more)", "C++ returns 2 parts"),
        ("unique", "unique(Tensor input, bool sorted, bool a, bool b, int? dim)", "the result's type is not said"),
        ("round", "round(Tensor input, *, str decimals=0, Tensor? out=None)", "decimals C++ takes float int bool"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_found(name, text, why):
    found = _C._signature_mismatches(name, text)
    assert any(why in line for line in found), found


@pytest.mark.parametrize(
    "function, text",
    [
        (strided.sum, "(input, dim=None, keepdim=False, *, dtype=None, out=None) -> Tensor"),
        (strided.Tensor.sum, "(self, dim=None, keepdim=False, *, dtype=None) -> Tensor"),
        (strided.ones(1).sum, "(dim=None, keepdim=False, *, dtype=None) -> Tensor"),
        (strided.add, "(input, other, *, alpha=1, out=None) -> Tensor"),
        (strided.exp, "(input, *, out=None) -> Tensor"),
        (strided.Tensor.exp_, "(self) -> Tensor"),
        (strided.max, "(input, dim=..., keepdim=False, *, other=..., out=None) -> Tensor | return_types.max"),
        (strided.linalg.svd, "(A, full_matrices=True, *, driver=None, out=None) -> return_types.linalg_svd"),
        (strided.split, "(tensor, split_size_or_sections, dim=0) -> tuple[Tensor, ...]"),
        (strided.Tensor.view, "(self, *size, dtype=...) -> Tensor"),
        (strided.Tensor.uniform_, "(self, from_=0.0, /, to=1.0, *, generator=None) -> Tensor"),
    ],
)
def test_python_signature(function, text):
    assert str(inspect.signature(function)) == text


def test_help():
    shown = pydoc.plain(pydoc.render_doc(strided.sum))
    assert "sum(input, dim=None, keepdim=False, *, dtype=None, out=None) -> Tensor" in shown
    assert "Sum of the elements" in shown and shown.count("The sum of nothing is 0") == 1
    assert strided.sum.__text_signature__ == "(input, dim=None, keepdim=False, *, dtype=None, out=None)"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_signature_takes_what_each_overload_takes(name):
    function = FUNCTIONS[name]
    signature = inspect.signature(function)
    assert function.__text_signature__.startswith("(") and function.__doc__
    positional_only = {n for n, p in signature.parameters.items() if p.kind == p.POSITIONAL_ONLY}
    for params, _, _ in function.overloads:
        places = [p for p in params if p[2] != "keyword"]
        required = [p for p in places if len(p) == 3 and p[2] == "positional"]
        named = {p[0]: None for p in params if p[2] == "keyword" and len(p) == 3}
        # by position: no more than what is required, and all there is; by name, but for a first self and *sizes
        for count in range(len(required), len(places) + 1):
            signature.bind(*range(count), **named)
        if name.startswith("Tensor.") or positional_only or any(p[2] == "variadic" for p in params):
            continue
        first = list(signature.parameters)[:1]
        assert params == () or first[0] in (params[0][0], "input", *(p[0] for o in function.overloads for p in o[0]))
        signature.bind(**{p[0]: None for p in params})


def test_an_unknown_keyword_is_not_in_the_signature():
    for call in ({"nonsense": 1}, {"input": 1, "dims": 2}):
        with pytest.raises(TypeError):
            inspect.signature(strided.sum).bind(**call)


def test_members_of_the_tensor_type():
    x = strided.ones(2, 2)
    assert str(inspect.signature(x.size)) == "(dim=None)"
    assert str(inspect.signature(strided.Tensor.is_contiguous)) == "(self, /, memory_format=None)"
    assert {"sum", "max", "shape", "detach", "to", "requires_grad_"} <= set(dir(x))
    for name in dir(x):
        inspect.getattr_static(x, name)


@pytest.mark.parametrize("module", [strided, strided.linalg, strided.special, strided.return_types])
def test_dir_has_public_names_only(module):
    names = [name for name in dir(module) if not name.startswith("_")]
    assert names and "annotations" not in names
    for name in names:
        getattr(module, name)


# ---------------------------------------------------------------- names of arguments


@pytest.mark.parametrize(
    "name",
    (
        "cholesky cholesky_ex cond eig eigh eigvals eigvalsh ldl_factor matrix_exp matrix_norm matrix_rank norm pinv "
        "vector_norm"
    ).split(),
)
def test_linalg_takes_input_by_name(name):
    x = strided.tensor([[2.0, 1.0], [1.0, 3.0]])
    function = getattr(strided.linalg, name)
    for keyword in ("input", "A"):
        got, want = function(**{keyword: x}), function(x)
        for a, b in zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]:
            assert strided.equal(a, b)


@pytest.mark.parametrize("keyword", ["input", "self", "x", "a"])
def test_functions_in_place_and_detach_take_numpys_names(keyword):
    for name in ("exp_", "neg_", "detach", "detach_", "zero_"):
        x = strided.tensor([0.5, -2.0])
        want = getattr(x.clone(), name)()
        assert strided.equal(getattr(strided, name)(**{keyword: x}), want)
    with pytest.raises(TypeError, match="multiple values"):
        strided.exp(strided.ones(1), **{keyword: strided.ones(1)})


def test_get_device_takes_input_by_name():
    assert strided.get_device(input=strided.ones(1)) == -1


def test_detach_as_a_function():
    x = strided.ones(2, requires_grad=True)
    y = x * 2
    d = strided.detach(input=y)
    assert not d.requires_grad and d.data_ptr() == y.data_ptr()
    assert strided.detach_(y) is y and not y.requires_grad
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        strided.detach_(input=(x * 2).view(2, 1))


def test_generator_takes_none_for_the_device():
    assert strided.Generator(device=None).device == strided.device("cpu")
    with pytest.raises(TypeError):
        strided.Generator(device=2.5)


def test_a_number_operand_is_no_array():
    with pytest.raises(TypeError):
        strided.add(strided.ones(2), __import__("numpy").ones(1), alpha=1)


def test_handles_of_hooks_name_a_module_that_exists():
    import importlib

    handle = strided.ones(1, requires_grad=True).register_hook(lambda g: g)
    module = importlib.import_module(type(handle).__module__)
    assert getattr(module, type(handle).__qualname__) is type(handle)


def test_results_are_there_before_their_functions_are_called():
    assert strided.return_types.linalg_svd.__match_args__ == ("U", "S", "Vh")
    assert not hasattr(strided.return_types.linalg_svd, "_fields")  # by which programs know named tuples of Python's
    assert isinstance(strided.linalg.svd(strided.eye(2)), strided.return_types.linalg_svd)
    with pytest.raises(AttributeError):
        strided.return_types.nonsense
