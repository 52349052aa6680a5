"""Where factories make tensors: set_default_device, get_default_device, and `with device:`."""

import threading

import pytest
import strided as torch

META = torch.device("meta")

FACTORIES = {
    "empty": lambda: torch.empty(2),
    "zeros": lambda: torch.zeros(2),
    "ones": lambda: torch.ones(2),
    "full": lambda: torch.full((2,), 3),
    "empty_strided": lambda: torch.empty_strided((2,), (1,)),
    "empty_permuted": lambda: torch.empty_permuted((2, 3), (1, 0)),
    "arange": lambda: torch.arange(3),
    "range": lambda: torch.range(0, 3),
    "linspace": lambda: torch.linspace(0, 1, 3),
    "logspace": lambda: torch.logspace(0, 1, 3),
    "eye": lambda: torch.eye(2),
    "tril_indices": lambda: torch.tril_indices(2, 2),
    "triu_indices": lambda: torch.triu_indices(2, 2),
    "rand": lambda: torch.rand(2),
    "randn": lambda: torch.randn(2),
    "randint": lambda: torch.randint(3, (2,)),
    "randperm": lambda: torch.randperm(3),
    "tensor": lambda: torch.tensor([1, 2]),
    "as_tensor": lambda: torch.as_tensor([1, 2]),
    "asarray": lambda: torch.asarray([1, 2]),
    "scalar_tensor": lambda: torch.scalar_tensor(1),
}


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    torch.set_default_device(None)


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_follow(name):
    make = FACTORIES[name]
    assert make().device == torch.device("cpu")
    with META:
        assert make().device == META
        with torch.device("cpu"):
            assert make().device == torch.device("cpu")
        assert make().device == META
    torch.set_default_device("meta")
    assert make().device == META
    torch.set_default_device(None)
    assert make().device == torch.device("cpu")


def test_a_device_that_is_given_goes_first():
    here = torch.ones(2)
    with META:
        assert torch.ones(2, device="cpu").is_cpu and torch.tensor([1], device="cpu").is_cpu
        assert torch.zeros_like(here).is_cpu and here.new_ones(2).is_cpu and (here + 1).is_cpu
        assert torch.zeros(2, out=torch.empty(2, device="cpu")).is_cpu
        assert torch.as_tensor(here).is_meta and torch.tensor(here).is_meta
        assert torch.from_numpy(here.numpy()).is_cpu and torch.Tensor([1.0]).is_cpu and torch.FloatTensor(2).is_cpu


def test_which_it_is():
    assert torch.get_default_device() == torch.device("cpu")
    with META as entered:
        assert entered == META and torch.get_default_device() == META
        torch.set_default_device("cpu")
        assert torch.get_default_device() == META
    assert torch.get_default_device() == torch.device("cpu")


def test_it_is_left_after_an_error():
    with pytest.raises(ZeroDivisionError), META:
        1 / 0  # noqa: B018
    assert torch.ones(1).is_cpu
    with pytest.raises(RuntimeError, match="was not entered"):
        META.__exit__(None, None, None)


def test_other_threads_have_their_own():
    found = []
    with META:
        thread = threading.Thread(target=lambda: found.append(torch.ones(1).device.type))
        thread.start()
        thread.join()
    assert found == ["cpu"]


def test_bad_devices():
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, xla, meta, .*, privateuseone device type"):
        torch.set_default_device("tpu")
    with pytest.raises(TypeError):
        torch.set_default_device(1.5)


def test_names_for_libraries():
    from strided.utils import _device

    with _device.DeviceContext("meta") as context:
        assert context.device.type == "meta" and torch.ones(2).device.type == "meta"
        with _device.DeviceContext("cpu"):
            assert torch.ones(2).device.type == "cpu"
        assert torch.ones(2).device.type == "meta"
    assert torch.ones(2).device.type == "cpu"
    assert _device.set_device("meta")(torch.ones)(2).device.type == "meta"
    constructors = _device._device_constructors()
    assert {torch.ones, torch.tensor, torch.fft.fftfreq} <= constructors and torch.add not in constructors
    # Each of them follows `with device:`.
    with torch.device("meta"):
        assert {f(3).device.type for f in constructors & {torch.ones, torch.arange, torch.eye}} == {"meta"}


def test_what_a_function_makes_for_itself_is_where_its_operands_are():
    from strided.nn.utils import rnn

    x = torch.randn(5, 2, 4).log_softmax(-1)
    loss = torch.nn.functional.ctc_loss(x, torch.tensor([[1, 2], [3, 1]]), (5, 4), (2, 1))
    packed = rnn.pack_padded_sequence(x, [5, 3])
    with torch.device("meta"):
        assert torch.kaiser_window(5).device.type == torch.kaiser_window(5, device="meta").device.type == "meta"
        assert torch.kaiser_window(5, device="cpu").device.type == "cpu"
        assert torch.nn.functional.ctc_loss(x, torch.tensor([[1, 2], [3, 1]], device="cpu"), (5, 4), (2, 1)) == loss
        again = rnn.pack_padded_sequence(x, [5, 3])
        assert again.batch_sizes.equal(packed.batch_sizes)
        assert rnn.pad_packed_sequence(again)[1].tolist() == [5, 3]
