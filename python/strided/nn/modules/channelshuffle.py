"""Channels shuffled between groups (``strided.nn.modules.channelshuffle``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import functional as F
from .module import Module

if TYPE_CHECKING:
    from ..._typing import Tensor

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Channels of `groups` groups, taken in turn from each."""

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
