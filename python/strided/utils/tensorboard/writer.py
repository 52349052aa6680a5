"""Writers of event files (``strided.utils.tensorboard``)."""

from __future__ import annotations

import itertools
import json
import os
import socket
import threading
import time
import weakref
from typing import TYPE_CHECKING

from . import _wire as w
from . import summary as s

if TYPE_CHECKING:
    from ..._typing import Any, Mapping

__all__ = ["FileWriter", "SummaryWriter"]

_numbers = itertools.count()


class _File:
    """An event file: records wait in memory until there are many of them, or until the last ones went out long ago."""

    def __init__(self, folder, max_queue, flush_secs, suffix):
        os.makedirs(folder, exist_ok=True)
        name = (
            f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
        )
        self.path, self.most, self.seconds = os.path.join(folder, name), max_queue, flush_secs
        self.waiting, self.lock, self.last, self.pid = [], threading.Lock(), time.monotonic(), os.getpid()
        self.add(w.double(1, time.time()) + w.block(3, "brain.Event:2"))
        self.flush()

    def add(self, event):
        with self.lock:
            self.waiting.append(w.record(event))
            full = len(self.waiting) > self.most or time.monotonic() - self.last >= self.seconds
        if full:
            self.flush()

    def flush(self):
        with self.lock:
            if self.waiting and self.pid == os.getpid():  # a forked process leaves the records to its parent
                with open(self.path, "ab") as f:
                    f.write(b"".join(self.waiting))
            self.waiting.clear()
            self.last = time.monotonic()


class FileWriter:
    """One event file in a folder.  What waits is written by ``flush``, ``close`` and at the end of the program.

    Args:
        log_dir: the folder, made where it is missing. max_queue: events that may wait. flush_secs: how long they may.
        filename_suffix: at the end of the file's name.
    """

    def __init__(
        self, log_dir: str | os.PathLike[str], max_queue: int = 10, flush_secs: float = 120, filename_suffix: str = ""
    ) -> None:
        self._folder, self._settings = str(log_dir), (max_queue, flush_secs, filename_suffix)
        self.reopen()

    def get_logdir(self) -> str:
        """The folder."""
        return self._folder

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Adds an event, as the bytes of its message or as an object with ``SerializeToString``; the time is added."""
        data = event if isinstance(event, bytes) else event.SerializeToString()
        head = w.double(1, time.time() if walltime is None else walltime)
        self._file.add(head + (b"" if step is None else w.integer(2, int(step))) + data)

    def add_summary(self, summary: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """Adds a summary."""
        self.add_event(w.block(5, summary.SerializeToString()), global_step, walltime)

    def flush(self) -> None:
        """Writes what waits."""
        self._file.flush()

    def close(self) -> None:
        """Writes what waits.  A later event goes to the same file."""
        self._file.flush()

    def reopen(self) -> None:
        """Begins another file in the folder."""
        self._file = _File(self._folder, *self._settings)
        weakref.finalize(self, self._file.flush)


class SummaryWriter:
    """Writes what a program tells of its run, for TensorBoard.  Needs no other package; also a context.

    Args:
        log_dir: the folder; ``runs/<date>_<host><comment>`` where it is None.
        comment: behind the name of that folder.
        purge_step: TensorBoard forgets what an earlier, broken run wrote for this step and later ones.
        max_queue, flush_secs: how many events may wait in memory, and how long.
        filename_suffix: at the end of the file's name.

    >>> import tempfile
    >>> with strided.utils.tensorboard.SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     writer.add_scalar("loss", strided.tensor(0.5), 1)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", f"{time.strftime('%b%d_%H-%M-%S')}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        bounds = [1e-12]
        while bounds[-1] * 1.1 < 1e20:
            bounds.append(bounds[-1] * 1.1)
        self.default_bins = [-v for v in reversed(bounds)] + [0.0] + bounds

    def _writer_of(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._writer_of(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(w.block(7, w.integer(1, 1)), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The folder with the event files."""
        return self.log_dir  # type: ignore[return-value]

    def _add(self, summary, global_step, walltime):
        self._get_file_writer().add_summary(summary, global_step, walltime)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """A number."""
        made = s.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Several numbers in one chart: each has a folder and a file of its own."""
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._writer_of(name)
            self.all_writers[name].add_summary(s.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, walltime: float | None = None) -> None:
        """A tensor, as it is."""
        self._add(s.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How values are distributed.  bins: "tensorflow" (steps of a tenth), or what ``numpy.histogram`` takes."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(s.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: float, max: float, num: float, sum: float, sum_squares: float, bucket_limits: Any,
        bucket_counts: Any, global_step: int | None = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A histogram that was counted elsewhere: upper bounds and counts of its buckets."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = s.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """A picture: uint8, or floats of 0 to 1."""
        self._add(s.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: int | None = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """A batch of pictures, as one picture of rows of eight."""
        self._add(s.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: int | None = None,
        walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW", labels: Any = None,
    ) -> None:  # fmt: skip
        """A picture with rectangles (n, 4): left, top, right, bottom.  ``labels`` raise NotImplementedError."""
        self._add(s.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: int | None = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A figure of matplotlib, or a list of them.  ``close``: matplotlib forgets it then."""
        import numpy as np
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for f in figures:
            canvas = FigureCanvasAgg(f)
            canvas.draw()
            pictures.append(np.asarray(canvas.buffer_rgba())[..., :3])
            if close:
                import matplotlib.pyplot as plt

                plt.close(f)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(pictures), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, pictures[0], global_step, walltime, "HWC")

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: int | None = None, sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A sound (1, n): floats of -1 to 1."""
        self._add(s.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text in Markdown."""
        self._add(s.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: int | None = None, num_thresholds: int = 127,
        weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A curve of precision and recall: ``labels`` 0 or 1, ``predictions`` in 0 to 1."""
        self._add(s.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
        false_negative_counts: Any, precision: Any, recall: Any, global_step: int | None = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A curve of precision and recall that was counted elsewhere."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        made = s.pr_curve_raw(tag, *counts, precision, recall, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout: Mapping[str, Any]) -> None:
        """Charts of several scalars: ``{category: {title: ["Multiline" or "Margin", [tags]]}}``."""
        self._add(s.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart with a line for each tag."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One chart with a line and its margins: tags of the value, the lower and the upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Mapping[str, list[Any]] | None = None, run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:  # fmt: skip
        """Hyperparameters and what came out of them, in a folder of their own (``run_name``, or the time)."""
        parts = s.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for part in parts:
                run._add(part, None, None)
            for name, value in metric_dict.items():
                run.add_scalar(name, value, global_step)

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: int | None = None,
        tag: str = "default", metadata_header: list[str] | None = None,
    ) -> None:  # fmt: skip
        """Points (n, d) for the projector, with a label (or several under ``metadata_header``) and a picture each."""
        points = s.array_of(mat)
        if points.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        place = f"{0 if global_step is None else global_step:05d}/{tag}"
        folder = os.path.join(self._get_file_writer().get_logdir(), place)
        os.makedirs(folder, exist_ok=True)
        config = (
            f'embeddings {{\n  tensor_name: {json.dumps(f"{tag}:{place[:5]}")}\n  tensor_path: "{place}/tensors.tsv"\n'
        )
        _rows(os.path.join(folder, "tensors.tsv"), (map(repr, row) for row in points.tolist()))
        if metadata is not None:
            if len(metadata) != len(points):
                raise AssertionError("#labels should equal with #data points")
            rows = ([str(v) for v in row] if metadata_header else [str(row)] for row in metadata)
            _rows(
                os.path.join(folder, "metadata.tsv"),
                itertools.chain([metadata_header] if metadata_header else [], rows),
            )
            config += f'  metadata_path: "{place}/metadata.tsv"\n'
        if label_img is not None:
            import numpy as np

            pictures = s.array_of(label_img)
            if len(pictures) != len(points):
                raise AssertionError("#images should equal with #data points")
            n, channels, height, wide = pictures.shape
            across = int(np.ceil(np.sqrt(n)))
            sheet = np.zeros((across * across, channels, height, wide), pictures.dtype)
            sheet[:n] = pictures
            sheet = sheet.reshape(across, across, channels, height, wide).transpose(2, 0, 3, 1, 4)
            with open(os.path.join(folder, "sprite.png"), "wb") as f:
                f.write(w.png(s._pixels(sheet.reshape(channels, across * height, across * wide), "CHW")))
            config += f'  sprite {{\n    image_path: "{place}/sprite.png"\n'
            config += f"    single_image_dim: {wide}\n    single_image_dim: {height}\n  }}\n"
        with open(os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt"), "a") as f:
            f.write(config + "}\n")

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The operations of one forward pass of a model, under the names of its modules.

        The model runs once, in evaluation mode and without gradients.

        Args:
            model: a module or a function. input_to_model: a tensor, or the list of arguments.
            verbose: prints the operations. use_strict_trace: read by PyTorch's tracer, and here by nothing.
        """
        from . import _graph

        for event in _graph.events(model, input_to_model, verbose):
            self._get_file_writer().add_event(event)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """NotImplementedError: strided reads no ONNX files."""
        raise NotImplementedError("add_onnx_graph: strided reads no ONNX files")

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: int | None = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """NotImplementedError: strided writes no GIF files."""
        raise NotImplementedError("add_video: strided writes no GIF files")

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None,
        global_step: int | None = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """NotImplementedError: strided writes no meshes."""
        raise NotImplementedError("add_mesh: strided writes no meshes")

    def flush(self) -> None:
        """Writes all events that wait in memory."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Writes all events.  A later one begins another file."""
        self.flush()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _rows(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("\t".join(row) + "\n" for row in rows)
