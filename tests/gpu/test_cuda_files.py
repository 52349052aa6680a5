"""Files read straight to CUDA devices. On a GPU, or on emulated devices."""

import io

import cuda_device
import pytest
import strided as torch
from strided import files

pytestmark = cuda_device.needs(1)

# Around the pieces of 4 MiB: less than one, one, a byte more than two, several.
SIZES = (0, 1, 1000, (4 << 20) - 1, 4 << 20, (8 << 20) + 1, 17 << 20)


def content():
    g = torch.Generator().manual_seed(3)
    return {f"t{n}": torch.randint(0, 256, (n,), dtype=torch.uint8, generator=g) for n in SIZES}


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, t in wanted.items():
        assert found[name].device == torch.device("cuda:0") and torch.equal(found[name].cpu(), t), name


@pytest.mark.parametrize(
    "place", ["cuda", "cuda:0", torch.device("cuda"), {"cpu": "cuda:0"}, lambda s, place: s.cuda()]
)
def test_places(place, tmp_path):
    wanted = content()
    torch.save(wanted, tmp_path / "x.pt")
    same(torch.load(tmp_path / "x.pt", map_location=place), wanted)
    f = io.BytesIO((tmp_path / "x.pt").read_bytes())
    same(torch.load(f, map_location=place), wanted)


def test_saved_from_the_device(tmp_path):
    wanted = content()
    torch.save({name: t.cuda() for name, t in wanted.items()}, tmp_path / "x.pt")
    same(torch.load(tmp_path / "x.pt"), wanted)
    back = torch.load(tmp_path / "x.pt", map_location="cpu")
    assert all(torch.equal(back[name], t) for name, t in wanted.items())


def test_views_share_their_storage(tmp_path):
    base = torch.arange(3 << 20).cuda()
    torch.save([base, base[5:7], base.view(3, -1).t()], tmp_path / "x.pt")
    found = torch.load(tmp_path / "x.pt")
    found[0][5] = -1
    assert found[1].tolist() == [-1, 6] and found[2][5, 0].item() == -1


def test_damage_is_found(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(9 << 20, dtype=torch.uint8), path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RuntimeError, match="checksum|damaged"):
        torch.load(path, map_location="cuda")
    assert torch.ones(2, device="cuda").sum().item() == 2.0  # the device goes on


def test_a_package_of_the_program_is_asked(tmp_path, monkeypatch):
    from strided import serialization

    torch.save(torch.ones(3), tmp_path / "x.pt")
    monkeypatch.setattr(serialization, "_packages", list(serialization._packages))
    asked = []
    serialization.register_package(1, lambda s: None, lambda s, place: asked.append(place))
    assert torch.load(tmp_path / "x.pt", map_location="cuda").is_cuda and asked == ["cuda"]


def test_safetensors(tmp_path):
    wanted = content()
    wanted["half"] = torch.arange(6.0).view(2, 3).half()
    files.save_file(wanted, tmp_path / "x.safetensors")
    found = files.load_file(tmp_path / "x.safetensors", device="cuda")
    assert list(found) == sorted(wanted) and found["half"].shape == (2, 3) and found["half"].dtype == torch.float16
    same(found, wanted)


def test_progress(tmp_path):
    torch.save(torch.zeros(9 << 20, dtype=torch.uint8), tmp_path / "x.pt")
    told = []
    with files.progress(lambda *now: told.append(now)):
        torch.load(tmp_path / "x.pt", map_location="cuda")
    assert told[0][0] == 0 and told[-1][0] == told[-1][1] >= 9 << 20 and len(told) > 4
    with files.progress(lambda done, total: 1 / (done == 0)), pytest.raises(ZeroDivisionError):
        torch.load(tmp_path / "x.pt", map_location="cuda")
