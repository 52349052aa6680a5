"""What programs are warned of: the same words as PyTorch's, of the same class, at the same line."""

import re
import warnings

import pytest

torch = pytest.importorskip("torch")

import strided  # noqa: E402

PROGRAMS = """
m.meshgrid(m.arange(3), m.arange(2))
m.meshgrid(m.arange(3), m.arange(2), indexing="xy")
m.ones(2, 3, 4).T
m.ones(3).T
m.ones(()).T
m.ones(2, 3).T
m.ones(()).mT
m.ones(()).mH
m.ones(()).H
m.ones(()).adjoint()
m.cross(m.ones(2, 3), m.ones(2, 3))
m.ones(2, 3).cross(m.ones(2, 3))
m.cross(m.ones(2, 3), m.ones(2, 3), dim=1)
m.qr(m.eye(3))
m.eye(3).qr()
m.cholesky(m.eye(3))
m.eye(3).cholesky()
m.lu_solve(m.ones(3, 1), *m.linalg.lu_factor(m.eye(3)))
m.triangular_solve(m.ones(3, 1), m.eye(3))
m.zeros(3).index_reduce_(0, m.tensor([0]), m.ones(1), "prod")
m.zeros(3).index_reduce(0, m.tensor([0]), m.ones(1), "amax")
m.zeros(3).scatter(0, m.tensor([0]), m.ones(1), reduce="add")
m.zeros(3).scatter_(0, m.tensor([0]), m.ones(1), reduce="multiply")
m.zeros(3).scatter(0, m.tensor([0]), 1.0, reduce="add")
m.searchsorted(m.arange(6.0).view(3, 2).t(), m.ones(2, 2).t())
m.bucketize(m.ones(2, 3).t(), m.arange(3.0))
m.nn.functional.conv1d(m.ones(1, 1, 5), m.ones(1, 1, 3), padding="same")
m.std(m.ones(1))
m.autograd.detect_anomaly()
m.var(m.ones(2, 1), 1)
m.var(m.ones(0, 2), 0)
m.var(m.ones(3, 0), 1, correction=0)
m.var(m.ones(2), correction=2)
m.var_mean(m.ones(1))
m.std_mean(m.ones(2, 1), dim=1)
m.ones(1).std()
m.ones(1).var(unbiased=False)
m.range(0, 3)
m.testing.make_tensor((2,), dtype=m.float32, device="cpu", low=1, high=1)
m.asarray(m.ones(3, requires_grad=True))
m.asarray(m.ones(3, requires_grad=True), requires_grad=True)
m.zeros(3).random_(2**24 + 1)
m.zeros(3).random_(2**24 + 2)
m.zeros(3).random_(-2**30, 2**30)
m.zeros(3, dtype=m.float16).random_(2**12)
m.zeros(3, dtype=m.bfloat16).random_(2**8, 2**9)
m.zeros(3, dtype=m.float64).random_(2**60)
m.randint(0, 2**30, (3,), dtype=m.float32)
m.lu(m.eye(3))
m.chain_matmul(m.eye(2), m.eye(2))
m.stft(m.ones(20), 8, window=m.ones(8), return_complex=False)
m.ones(3).storage().size()
m.where(m.ones(3, dtype=m.uint8), m.ones(3), m.zeros(3))
m.ones(3, dtype=m.complex64).float()
m.ones(3, dtype=m.complex64).to(m.int64)
m.ones(3, dtype=m.complex64).bool()
m.ones(3).copy_(m.ones(3, dtype=m.complex64))
m.ones(3)[:2].copy_(m.ones(2, dtype=m.complex64))
m.ones(3).__setitem__(0, m.ones((), dtype=m.complex64))
m.normal(m.zeros(3), m.ones(3), out=m.ones(2))
m.normal(0.0, m.ones(3), out=m.ones(2))
m.normal(0.0, 1.0, (3,), out=m.ones(2))
m.ones(3).resize(3)
m.ones(3).resize_as(m.ones(3))
m.tensor([np.ones(3), np.ones(3)])
m.as_tensor([np.ones(3), np.ones(3)])
m.tensor([[1.0, 2.0]])
m.ones(3, requires_grad=True).sum().backward(create_graph=True)
m.autograd.backward(m.ones(3, requires_grad=True).sum(), create_graph=True)
float(m.ones(1, requires_grad=True))
m.get_autocast_gpu_dtype()
m.is_autocast_cpu_enabled()
m.set_autocast_cpu_dtype(m.bfloat16)
m.nn.functional.gumbel_softmax(m.ones(3), eps=1e-3)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2), 1)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 1, batch_first=True), 1)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2, batch_first=True), 1)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2, batch_first=True, bias=False), 1)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2, batch_first=True, activation=m.tanh), 1)
m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2), 1, enable_nested_tensor=False)
m.nn.Linear(3, 3).to(m.complex64)
m.backends.cuda.sdp_kernel()
m.nn.NLLLoss2d()
m.nn.InstanceNorm1d(4)(m.ones(2, 3, 4))
m.distributions.Multinomial(3, m.ones(3)).sample_n(2)
m.utils.checkpoint.checkpoint(m.sin, m.ones(3, requires_grad=True))
m.testing.assert_allclose(m.ones(1), m.ones(1))
m.autograd.backward(m.ones(1, requires_grad=True).sum(), grad_variables=m.ones(()))
""".strip().splitlines()
# PyTorch gives these from within its own modules.
ELSEWHERE = re.compile(
    r"conv1d|meshgrid|as_tensor|sdp_kernel|sum\(\).backward|chain_matmul|m.lu\(|stft|InstanceNorm|TransformerEncoder\(|Linear|backward\(m|checkpoint"
)


def warned(lib, program):
    """[class, text, whether the program itself is blamed] of each warning."""
    code = compile(program, "program", "eval")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        eval(code, {"m": lib, "np": __import__("numpy")})
    place = "program" if not ELSEWHERE.search(program) else None
    texts = [re.sub(r"\s*\(Triggered internally.*", "", str(w.message), flags=re.S) for w in given]
    found = [(w.category, text, place and w.filename) for w, text in zip(given, texts)]
    return list(dict.fromkeys(found))  # PyTorch looks at a list twice


@pytest.fixture(autouse=True)
def every_time():
    before = torch.is_warn_always_enabled(), strided.is_warn_always_enabled()
    torch.set_warn_always(True), strided.set_warn_always(True)
    torch.storage._reset_warn_typed_storage_removal()  # PyTorch tells this once, whatever was set
    yield
    torch.set_warn_always(before[0]), strided.set_warn_always(before[1])


@pytest.mark.parametrize("program", PROGRAMS)
def test_warnings(program):
    assert warned(strided, program) == warned(torch, program)


def test_once():
    """What is told once is not told again, but for set_warn_always(True)."""
    program = "m.ones(2, 3, 4).T"
    assert len(warned(strided, program)) == 1
    strided.set_warn_always(False)
    assert warned(strided, program) == []
    strided.set_warn_always(True)
    assert len(warned(strided, program)) == 1
