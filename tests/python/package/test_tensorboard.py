"""Event files for TensorBoard: frames, sums, messages and pictures, read back without its packages."""

import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
import strided
from strided.utils.tensorboard import SummaryWriter


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_the_sum_is_the_one_of_the_standard():
    assert crc32c(b"123456789") == 0xE3069283  # RFC 3720, and the check value of CRC-32C


def fields(data):
    """The fields of a message: a list of (number, value), values of other messages as bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            n = varint()
            value, at = data[at : at + n], at + n
        else:
            n, form = {1: (8, "<d"), 5: (4, "<f")}[kind]
            value, at = struct.unpack(form, data[at : at + n])[0], at + n
        found.append((key >> 3, value))
    assert at == len(data)
    return found


def one(data, *path):
    for number in path:
        (data,) = (v for n, v in fields(data) if n == number)
    return data


def events(folder):
    """All events of a folder, in the order of its files."""
    out = []
    for name in sorted(n for n in os.listdir(folder) if n.startswith("events.out.tfevents.")):
        data = open(os.path.join(folder, name), "rb").read()
        while data:
            (n,) = struct.unpack("<Q", data[:8])
            assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
            body = data[12 : 12 + n]
            assert struct.unpack("<I", data[12 + n : 16 + n])[0] == masked(body)
            out.append(body)
            data = data[16 + n :]
    return out


def values(folder):
    """(tag, step, message) of each value of a summary."""
    out = []
    for event in events(folder):
        f = dict(fields(event))
        out += [(one(v, 1).decode(), f.get(2, 0), v) for _, v in fields(f.get(5, b""))]
    return out


def test_scalars(tmp_path):
    with SummaryWriter(tmp_path, flush_secs=1000) as w:
        w.add_scalar("loss", strided.tensor([0.25], requires_grad=True), 3)
        w.add_scalar("big", 1e300, -1)
        w.add_scalar("zero", 0)
        w.add_scalar("new", np.float32(2), 1, new_style=True)
        w.add_scalar("exact", 0.1, 1, walltime=5.0, new_style=True, double_precision=True)
        with pytest.raises(AssertionError, match="one element"):
            w.add_scalar("two", strided.ones(2))
        with pytest.raises(NotImplementedError, match="Got <class 'list'>"):
            w.add_scalar("list", [1.0])
        w.add_scalars("a/b", {"x": 1, "y": 2.0}, 7)
    first, *rest = events(tmp_path)
    assert one(first, 3) == b"brain.Event:2" and len(rest) == 5
    found = values(tmp_path)
    assert [(t, s) for t, s, _ in found] == [("loss", 3), ("big", 2**64 - 1), ("zero", 0), ("new", 1), ("exact", 1)]
    assert [one(v, 2) for _, _, v in found[:3]] == [0.25, float("inf"), 0.0]
    assert one(found[3][2], 8, 5) == 2.0 and one(found[3][2], 9, 1, 1) == b"scalars"
    assert struct.unpack("<d", one(found[4][2], 8, 6)) == (0.1,) and one(rest[4], 1) == 5.0
    assert [one(v, 2) for n in "xy" for _, _, v in values(tmp_path / f"a_b_{n}")] == [1.0, 2.0]


def test_histograms(tmp_path):
    x = strided.tensor([-1.0, 0.5, 0.5, 2.0])
    with SummaryWriter(tmp_path) as w:
        w.add_histogram("steps", x, 1)
        w.add_histogram("four", x, 1, bins=[-2.0, 0.0, 1.0, 3.0, 4.0])
        w.add_histogram("few", strided.arange(100), 1, bins=50, max_bins=10)
        with pytest.raises(ValueError, match="no element"):
            w.add_histogram("none", strided.empty(0))
    steps, four, few = (one(v, 5) for _, _, v in values(tmp_path))
    head = dict(fields(steps))
    assert [head[i] for i in range(1, 6)] == [-1.0, 2.0, 4.0, 2.0, 5.5]
    assert sum(np.frombuffer(head[7])) == 4 and len(head[6]) == len(head[7])
    assert np.frombuffer(one(four, 6)).tolist() == [-2.0, 0.0, 1.0, 3.0]
    assert np.frombuffer(one(four, 7)).tolist() == [0, 1, 2, 1]
    assert np.frombuffer(one(few, 7)).tolist() == [0] + [10] * 10


def pixels(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        (n,) = struct.unpack(">I", png[at : at + 4])
        name, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + n]
        assert zlib.crc32(name + body) == struct.unpack(">I", png[at + 8 + n : at + 12 + n])[0]
        if name == b"IHDR":
            width, height, depth, kind = struct.unpack(">IIBB", body[:10])
        data += body if name == b"IDAT" else b""
        at += 12 + n
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, -1)
    assert depth == 8 and not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, {0: 1, 2: 3, 6: 4}[kind])


def test_pictures(tmp_path):
    rgb = strided.arange(3 * 4 * 5, dtype=strided.uint8).view(3, 4, 5)
    batch = strided.rand(10, 1, 2, 3)
    with SummaryWriter(tmp_path) as w:
        w.add_image("rgb", rgb, 1)
        w.add_image("grey", strided.tensor([[0.0, 1.0], [2.0, -1.0]]), 1, dataformats="HW")
        w.add_images("batch", batch, 1)
        w.add_image_with_boxes("box", strided.zeros(3, 4, 4), strided.tensor([[1, 1, 2, 9]]), 1)
        with pytest.raises(AssertionError, match="size of input tensor"):
            w.add_image("bad", batch)
    found = {t: pixels(one(v, 4, 4)) for t, _, v in values(tmp_path)}
    assert (found["rgb"] == rgb.permute(1, 2, 0).numpy()).all()
    assert found["grey"].tolist() == [[[0] * 3, [255] * 3], [[255] * 3, [0] * 3]]
    assert found["batch"].shape == (4, 24, 3)
    assert (found["batch"][2:, 3:6, 0] == (batch[9, 0] * 255).to(strided.uint8).numpy()).all()
    assert found["box"].sum() == 255 * 6 and (found["box"][1:, 1:3, 0] == 255).all()


def test_other_kinds(tmp_path):
    with SummaryWriter(str(tmp_path), purge_step=2) as w:
        w.add_text("notes", "**é**", 1)
        w.add_audio("beep", strided.tensor([[0.0, 1.0, -2.0]]), 1, sample_rate=8000)
        w.add_tensor("whole", strided.arange(6, dtype=strided.int64).view(2, 3), 1)
        w.add_pr_curve("pr", strided.tensor([0, 1, 1]), strided.tensor([0.2, 0.6, 0.9]), 1, num_thresholds=3)
        w.add_custom_scalars({"c": {"lines": ["Multiline", ["a", "b"]]}})
        w.add_hparams({"lr": 0.5, "name": "x", "on": True}, {"acc": 1}, {"lr": [0.5, 1.0]}, run_name="h")
        w.add_embedding(strided.eye(2), metadata=["p", "q"], label_img=strided.rand(2, 3, 2, 2), global_step=4)
        for missing in (w.add_video, w.add_mesh, w.add_onnx_graph):
            with pytest.raises(NotImplementedError, match="strided"):
                missing(*[None] * (1 if missing == w.add_onnx_graph else 2))
    purge = events(tmp_path)[1]
    assert one(purge, 2) == 2 and one(purge, 7, 1) == 1
    text, audio, whole, pr, charts = values(tmp_path)
    assert text[0] == "notes/text_summary" and one(text[2], 8, 8).decode() == "**é**"
    wav = one(audio[2], 6, 4)
    assert wav[:4] == b"RIFF" and np.frombuffer(wav[44:], "<i2").tolist() == [0, 32767, -32767]
    assert np.frombuffer(one(whole[2], 8, 4), "<i8").tolist() == [0, 1, 2, 3, 4, 5] and one(whole[2], 8, 1) == 9
    counts = np.frombuffer(one(pr[2], 8, 4), "<f4").reshape(6, 3)
    assert counts[0].tolist() == [2, 2, 0] and counts[1].tolist() == [1, 0, 0] and counts[4, 1] == 1
    assert [v for _, v in fields(one(charts[2], 8, 8, 2, 2, 2))] == [b"a", b"b"]
    begun = one(values(tmp_path / "h")[1][2], 9, 1, 2, 3)
    chosen = {one(v, 1): one(v, 2) for n, v in fields(begun) if n == 1}
    assert {k: fields(v)[0] for k, v in chosen.items()} == {b"lr": (2, 0.5), b"name": (3, b"x"), b"on": (4, 1)}
    assert [t for t, _, _ in values(tmp_path / "h")][3] == "acc"
    folder = tmp_path / "00004" / "default"
    assert (folder / "tensors.tsv").read_text() == "1.0\t0.0\n0.0\t1.0\n"
    assert pixels((folder / "sprite.png").read_bytes()).shape == (4, 4, 3)
    assert "00004/default/metadata.tsv" in (tmp_path / "projector_config.pbtxt").read_text()


class Net(strided.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = strided.nn.Parameter(strided.ones(3))
        self.layers = strided.nn.Sequential(strided.nn.Linear(4, 3), strided.nn.Dropout())

    def forward(self, x, more):
        parts = self.layers(x).split(1, 1)
        if parts[0].sum().item() > 1e9:  # numbers may decide
            return x
        return {"a": parts[1] * more["by"], "b": self.scale + strided.tensor([1.0, 2.0, 3.0])}


def test_graphs_of_models(tmp_path, capsys):
    net = Net()
    with SummaryWriter(str(tmp_path)) as w:
        w.add_graph(net, (strided.ones(2, 4), {"by": strided.ones(2, 1)}), verbose=True)
        assert net.training and net.layers[1].training and "aten.addmm" in capsys.readouterr().out
        with pytest.raises(TypeError, match="missing"):
            w.add_graph(net, strided.ones(2, 4))
        assert net.training
    _, graph, run = events(tmp_path)
    assert one(run, 8, 1) == b"step1" and one(run, 8, 2, 1, 1, 1) == b"/device:CPU:0"
    steps = {}
    for step in (v for n, v in fields(one(graph, 4)) if n == 1):
        found = fields(step)
        inputs = [v.decode() for n, v in found if n == 3]
        shapes = [one(v, 2, 1, 7) for n, v in found if n == 5 and one(v, 1) == b"_output_shapes"]
        sizes = [[dict(fields(d)).get(1, 0) for _, d in fields(s)] for s in shapes]
        steps[one(step, 1).decode()] = one(step, 2).decode(), inputs, sizes
    linear = "Net/Sequential[layers]/Linear[0]"
    assert steps[f"{linear}/weight"] == ("prim::GetAttr", [], [[3, 4]])
    kind, inputs, sizes = steps[f"{linear}/addmm"]
    assert kind == "aten::addmm" and sizes == [[2, 3]]
    assert inputs == [f"{linear}/bias", "input/x", f"{linear}/t"]
    assert steps["Net/mul"] == ("aten::mul", ["Net/getitem_1", "input/input_1"], [[2, 1]])
    assert steps["Net/getitem_1"][0] == "prim::TupleIndex"
    assert steps["Net/add"][1] == ["Net/scale", "Net/_tensor_constant0"]
    assert steps["output/output.1"] == ("IO Node", ["Net/mul"], []) and steps["output/output.2"][1] == ["Net/add"]
    known = set(steps)
    assert all(i in known for _, inputs, _ in steps.values() for i in inputs)


def test_waiting_events_are_written_at_the_end(tmp_path):
    code = (
        "import os, strided, multiprocessing\n"
        f"w = strided.utils.tensorboard.SummaryWriter({str(tmp_path)!r})\n"
        "w.add_scalar('a', 1)\n"
        "if os.fork() == 0:\n    w.flush(); os._exit(0)\n"
        "os.wait()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
    assert [t for t, _, _ in values(tmp_path)] == ["a"]  # once: the forked process wrote nothing
