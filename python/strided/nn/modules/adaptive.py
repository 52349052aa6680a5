"""A softmax over many classes of which few are frequent (``strided.nn.modules.adaptive``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import strided

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

if TYPE_CHECKING:
    from ..._typing import Any, Sequence, Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes in clusters: frequent ones are computed at once, others where they are needed
    (E. Grave, A. Joulin, M. Cissé, D. Grangier, H. Jégou, "Efficient softmax approximation for GPUs", 2017).

    Classes are numbered from the most frequent one.  The head computes those before ``cutoffs[0]`` and one number for
    each cluster; cluster i, of the classes from ``cutoffs[i]`` to the next cutoff, has a product with fewer features.

    Args:
        in_features: features F of the input. n_classes: how many classes C there are.
        cutoffs: where clusters begin, upwards, within 1 to C - 1.
        div_value: cluster i has F / div_value ** (i + 1) features. head_bias: whether the head has a bias.

    Shapes: input (N, F) or (F,), target (N,) or () of int64, output (N,) or (), loss ().

    Raises:
        ValueError: cutoffs that are none. RuntimeError: shapes that do not fit, targets that are no classes.

    >>> layer = strided.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
    >>> output, loss = layer(strided.ones(3, 8), strided.tensor([0, 5, 19]))
    >>> output.shape, layer.log_prob(strided.ones(3, 8)).shape
    (torch.Size([3]), torch.Size([3, 20]))
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        grows = all(a < b for a, b in zip(cutoffs, cutoffs[1:]))
        if not grows or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // div_value ** (i + 1))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, features, False, device, dtype), Linear(features, classes, False, device, dtype)
                )
            )

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for projection, classes in self.tail:  # type: ignore[misc]
            projection.reset_parameters()
            classes.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of each target, and the mean of their negatives."""
        input, target = input_, target_
        single = target.dim() == 0
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != target.dim() + 1:
            shape = "1D" if single else "2D"
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {shape} input tensors, but found inputs with size {list(input.shape)}"
            )
        if single:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        elif input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target.numel() and not ((target >= 0) & (target < self.n_classes)).all():
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        # The number of each target's cluster; 0 for classes of the head.
        bounds = strided.tensor(self.cutoffs[:-1], device=target.device)
        cluster = strided.bucketize(target, bounds, right=True)
        place = strided.where(cluster == 0, target, self.shortlist_size - 1 + cluster)
        output = F.log_softmax(self.head(input), 1).gather(1, place.unsqueeze(1)).squeeze(1)
        for i, part in enumerate(self.tail):
            rows = (cluster == i + 1).nonzero().squeeze(1)
            if rows.numel():
                inner = F.log_softmax(part(input[rows]), 1)
                found = inner.gather(1, (target[rows] - self.cutoffs[i]).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, found)
        loss = -output.mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, (N, n_classes), for an input (N, in_features)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, part in enumerate(self.tail):
            parts.append(F.log_softmax(part(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return strided.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, (N,): clusters are computed for the rows whose head prefers one."""
        found = self.head(input).argmax(1)
        rows = (found >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel():
            found[rows] = self.log_prob(input[rows]).argmax(1)
        return found
