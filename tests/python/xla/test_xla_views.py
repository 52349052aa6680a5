"""Views, aliasing, writes and copies on an XLA device: one rule, a storage is one value."""

import copy

import pytest
import strided as torch
from xla_calls import check_program


def test_reading():
    x = torch.arange(120.0).view(2, 3, 4, 5)
    check_program(
        lambda x: [
            v.clone()
            for v in (
                x[1],
                x[:, 1],
                x[:, :, 1:3],
                x[..., ::2],
                x[:, :, 1::2, 3],
                x.permute(3, 1, 0, 2),
                x.transpose(0, 3)[1:4, :, 2],
                x[:, :, :, -1],
                x.flip(0, 2),
                x.expand(2, 2, 3, 4, 5)[1],
                x[0, 0].diagonal(),
                x.diagonal(dim1=1, dim2=2),
                x.unfold(3, 3, 1),
                x.as_strided((3, 4), (2, 7), 5),
                x.view(-1)[7:100:9],
                x.reshape(6, 20).t()[::3],
                x[1, 2, 3, 4],
                x.select(1, 2)[:, None],
                x[:, :0],
                x.movedim(0, -1).flatten(1)[1:, 4:11],
            )
        ],
        x,
        compiled=1,
    )


def test_writing_to_views():
    def program(x):
        results = []

        def write(f):
            y = x.clone()
            f(y)
            results.append(y)

        write(lambda y: y[1].fill_(-1))
        write(lambda y: y[:, 1].add_(100))
        write(lambda y: y[:, :, 1:3].mul_(2))
        write(lambda y: y.transpose(0, 2)[1].zero_())
        write(lambda y: y[..., ::2].copy_(torch.ones((), device=y.device)))
        write(lambda y: y.diagonal(dim1=0, dim2=1).fill_(7))
        write(lambda y: y.view(-1)[5:17:3].sub_(1))
        write(lambda y: y.permute(2, 0, 1).copy_(y.permute(2, 0, 1) * 2))
        write(lambda y: y.as_strided((2, 3), (7, 2), 3).fill_(9))
        write(lambda y: y.__setitem__((0, slice(None, None, 2)), y[1, ::2]))
        write(lambda y: y.__setitem__(y > 20, -5.0))
        write(lambda y: y.flip(0).copy_(y))
        return results

    check_program(program, torch.arange(60.0).view(3, 4, 5))


def test_aliases_see_writes():
    def program(x):
        a, b, c = x.view(-1), x.t(), x[1:]
        x.mul_(10)
        b[0] += 1
        c[0, 0] = -3
        a[::4] = 0
        late = x.view(4, 3)
        x.neg_()
        return [x, a, b, c, late]

    check_program(program, torch.arange(12.0).view(3, 4))


def test_other_dtypes_of_the_same_bytes():
    def program(x, i, z):
        z.real.add_(1)
        w = x.view(torch.int32)
        w[0] = 0
        halves = i.view(torch.int16)
        halves[1] = 5
        return [
            x,
            w,
            i,
            halves,
            z,
            torch.view_as_real(z),
            x.view(torch.uint8),
            torch.view_as_complex(x.view(-1, 2)) * 2,
        ]

    check_program(program, torch.randn(6), torch.arange(4), torch.tensor([1 + 2j, 3 - 1j]))


def test_out_and_overlap():
    def program(x, y):
        out = torch.empty(3, 4, device=x.device)
        torch.add(x, y, out=out)
        part = torch.zeros(6, 4, device=x.device)
        torch.mul(x, y, out=part[::2])
        wrong = torch.empty(0, device=x.device)
        torch.sub(x, y, out=wrong)
        z = x.clone()
        z[:, 1:].copy_(z[:, :-1].clone())
        s = x.clone()
        s[1:].add_(s[:-1].clone())
        return [out, part, wrong, z, s]

    check_program(program, torch.randn(3, 4), torch.randn(3, 4))


def test_copies():
    x = torch.arange(24).view(2, 3, 4)
    on = x.to("xla")
    assert on.is_xla and on.device == torch.device("xla", 0) and not x.is_xla
    assert torch.equal(on.cpu(), x) and torch.equal(on.transpose(0, 2).cpu(), x.transpose(0, 2))
    assert torch.equal(on[1].cpu(), x[1]) and on[1, 2, 3].item() == 23
    assert on.tolist() == x.tolist()
    part = torch.zeros(2, 3, 4, dtype=torch.int64, device="xla")
    part[1].copy_(x[0])
    part[0, 0] = torch.tensor([9, 8, 7, 6])
    expected = torch.zeros(2, 3, 4, dtype=torch.int64)
    expected[1], expected[0, 0] = x[0], torch.tensor([9, 8, 7, 6])
    assert torch.equal(part.cpu(), expected)
    assert repr(on[0, 0]) == "tensor([0, 1, 2, 3], device='xla:0')"
    grown = torch.ones(3, device="xla")
    grown.resize_(5)[3:] = 2
    assert grown.tolist() == [1, 1, 1, 2, 2]


def test_saved_and_copied(tmp_path):
    x = torch.randn(3, 4)
    on = x.to("xla")
    torch.save({"all": on, "row": on[1]}, tmp_path / "x.pt")
    there, here = torch.load(tmp_path / "x.pt"), torch.load(tmp_path / "x.pt", map_location="cpu")
    assert (str(there["row"].device), str(here["row"].device)) == ("xla:0", "cpu")
    assert torch.equal(there["row"].cpu(), x[1]) and torch.equal(here["all"], x)
    there["all"][1] = 0
    assert there["row"].tolist() == [0, 0, 0, 0]  # one storage, as before
    assert torch.equal(copy.deepcopy(on).cpu(), x)
    with pytest.raises(BufferError, match="xla"):
        on.__dlpack__()


def test_creation():
    def program(x):
        d = x.device
        return [
            torch.zeros(2, 3, device=d),
            torch.ones(4, dtype=torch.int32, device=d),
            torch.full((2,), 7.5, device=d),
            torch.arange(10, device=d),
            torch.arange(0.5, 3, 0.25, device=d),
            torch.linspace(-1, 1, 7, device=d),
            torch.eye(3, 4, device=d),
            torch.logspace(0, 3, 4, device=d),
            torch.zeros_like(x),
            x.new_ones(2),
            torch.tril(torch.ones(4, 4, device=d)),
            torch.triu(x, 1),
            torch.cat([x, x * 2], 1),
            torch.stack([x, x]),
            torch.tensor([[1, 2], [3, 4]], device=d),
            torch.empty(0, 3, device=d),
            torch.arange(5, 0, -2, device=d),
            x.repeat(2, 1),
            torch.meshgrid(x[0], x[1], indexing="ij")[1].clone(),
        ]

    check_program(program, torch.randn(3, 3))
