"""Masks of attention that are stored by blocks (``strided.nn.attention.flex_attention``)."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any

import strided

from ..._C import Tensor

DEFAULT_BLOCK_SIZE = 128

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True: every query sees every key."""
    return batch.new_ones((), dtype=strided.bool)


def sliced_mask(*args: Any) -> Tensor:
    """The function of a mask that was indexed: places of the new mask are not those that the old function knows."""
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask. Assign a new mask_mod before using it.")


def _joined(mask_mods: tuple[MaskMod, ...], first: bool, join: Callable[[Tensor, Tensor], Tensor]) -> MaskMod:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_full((), first, dtype=strided.bool)
        for mod in mask_mods:
            result = join(result, mod(b, h, q_idx, kv_idx))
        return result

    joined.__name__ = "and_mask" if first else "or_mask"  # what a BlockMask prints
    return joined


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The function that is True where one of the functions is.

    Raises:
        RuntimeError: an argument is no function.
    """
    return _joined(mask_mods, False, lambda a, b: a | b)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The function that is True where all functions are.

    >>> from strided.nn.attention.flex_attention import and_masks, create_mask
    >>> band = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> create_mask(band, None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)

    Raises:
        RuntimeError: an argument is no function.
    """
    return _joined(mask_mods, True, lambda a, b: a & b)


def over_grid(function: Callable[..., Tensor], has_score: bool) -> Callable[..., Tensor]:
    """A function of scalars as a function of the four ranges that they run through: batches, heads, queries, keys. With
    `has_score` the first argument has an element for each point of the grid.
    """
    score = (0,) if has_score else ()
    for axis in (3, 2, 1, 0):
        function = strided.vmap(function, in_dims=(*score, *(0 if i == axis else None for i in range(4))))
    return function


def _takes_score(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(p.kind in positional and p.default is p.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """What a function of indices says for each query and key.

    Args:
        mod_fn: ``mask_mod(b, h, q_idx, kv_idx)``, whose values are taken, or ``score_mod(score, b, h, q_idx, kv_idx)``,
            of which is asked where it makes 0 to minus infinity. Its arguments are scalars (under ``vmap``).
        B, H: batches and heads; None for 1.
        Q_LEN, KV_LEN: how many queries and keys.
        device: where the mask is made (the CPU).

    Returns:
        bool, (B, H, Q_LEN, KV_LEN).

    >>> from strided.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, 1, 1, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])

    Raises:
        AssertionError: the function has neither four nor five arguments.
    """
    grid = [strided.arange(n, device=device) for n in (B or 1, H or 1, Q_LEN, KV_LEN)]
    if _takes_score(mod_fn):
        zeros = strided.zeros([len(g) for g in grid], device=device)
        return ~strided.isneginf(over_grid(mod_fn, True)(zeros, *grid))
    return over_grid(mod_fn, False)(*grid)


def blocks_of_rows(num_blocks: Tensor, indices: Tensor, columns: int) -> Tensor:
    """int32, 1 for the blocks that a row lists: the first ``num_blocks[..., row]`` of ``indices[..., row, :]``."""
    used = strided.arange(indices.size(-1), device=indices.device) < num_blocks.unsqueeze(-1)
    places = strided.where(used & (indices < columns), indices, columns).long()  # one column more for what is not used
    dense = strided.zeros((*indices.shape[:-1], columns + 1), dtype=strided.int32, device=indices.device)
    return dense.scatter(-1, places, 1)[..., :columns].contiguous()


def rows_of_blocks(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each row has, and their columns, then those of the others: int32."""
    order = blocks.argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(dim=-1).to(strided.int32), order.to(strided.int32).contiguous()


def _turned(num_blocks: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    return rows_of_blocks(blocks_of_rows(num_blocks, indices, indices.size(-1)).transpose(-2, -1))


class BlockMask:
    """Which blocks of queries and keys attention computes, and the function that says more inside of them.

    A row of blocks lists the columns of its blocks: ``kv_indices[..., row, :kv_num_blocks[..., row]]`` where
    `mask_mod` is asked, ``full_kv_indices`` where every element counts. ``q_num_blocks``, ``q_indices`` and their full
    kin list the same blocks by columns. Made by :func:`create_block_mask` or :meth:`from_kv_blocks`.

    Attributes:
        kv_num_blocks: int32, (B, H, rows). kv_indices: int32, (B, H, rows, columns).
        full_kv_num_blocks, full_kv_indices: the same, or None.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same with rows and columns exchanged, or None.
        BLOCK_SIZE: queries and keys of a block.
        seq_lengths: queries and keys.
        mask_mod: the function of batch, head, query and key.

    Source: the layout is that of PyTorch's FlexAttention (Dong et al. 2024, arXiv:2412.05496).

    >>> from strided.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256)
    >>> mask.kv_num_blocks, mask.full_kv_num_blocks, mask.sparsity()
    (tensor([[[1, 1]]], dtype=torch.int32), tensor([[[0, 1]]], dtype=torch.int32), 25.0)
    >>> print(mask)
    BlockMask(shape=(1, 1, 256, 256), sparsity=25.00%,
    (0, 0)
    ██
    ████
    )
    """

    _TENSORS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
        "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices",
    )  # fmt: skip

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for kind, count, indices in (
            ("kv", full_kv_num_blocks, full_kv_indices),
            ("q", full_q_num_blocks, full_q_indices),
        ):
            if (count is None) != (indices is None):
                raise AssertionError(f"full_{kind}_num_blocks and full_{kind}_indices must be both provided or omitted")
        self.seq_lengths = tuple(seq_lengths)
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of the blocks that each row of queries has.

        Args:
            kv_num_blocks, kv_indices: the blocks where `mask_mod` is asked.
            full_kv_num_blocks, full_kv_indices: the blocks that count whole.
            BLOCK_SIZE: queries and keys of a block, or one number for both.
            mask_mod: the function (True everywhere).
            seq_lengths: queries and keys (as many as the blocks have).
            compute_q_blocks: whether the blocks are listed by columns too.

        Raises:
            RuntimeError: `kv_indices` has less than two axes.
            AssertionError: of the full blocks one tensor is missing.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        none = (None, None)
        turned = _turned(kv_num_blocks, kv_indices) if compute_q_blocks else none
        full = none
        if compute_q_blocks and full_kv_num_blocks is not None and full_kv_indices is not None:
            full = _turned(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.size(-2) * size[0], kv_indices.size(-1) * size[1])
        mod = noop_mask if mask_mod is None else mask_mod
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *turned, *full, size, mod
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, tensors, sizes of blocks and the function; with `flatten` pairs of numbers as two entries."""
        lengths, size = (self.seq_lengths, self.BLOCK_SIZE) if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*lengths, *(getattr(self, name) for name in self._TENSORS), *size, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batches, heads, queries, keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many elements the mask would have."""
        return math.prod(self.shape)

    def _full(self) -> tuple[Tensor, Tensor] | None:
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return None
        return self.full_kv_num_blocks, self.full_kv_indices

    def sparsity(self) -> float:
        """The percentage of elements that are in no block; 0 where there are no elements."""
        if self.numel() == 0:
            return 0.0
        full = self._full()
        blocks = int(self.kv_num_blocks.sum()) + (int(full[0].sum()) if full else 0)
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """int32, (B, H, rows, columns): 1 for each block that there is."""
        dense = blocks_of_rows(self.kv_num_blocks, self.kv_indices, self.kv_indices.size(-1))
        full = self._full()
        return dense if full is None else dense | blocks_of_rows(*full, full[1].size(-1))

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks. An integer keeps its axis. `mask_mod` is to be set."""
        padded = (*(index if isinstance(index, tuple) else (index,)), slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks.shape[:3]
        places = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else slice(n, n) if isinstance(i, int) else i
            for i, n in zip(padded, sizes)
        )
        full = self._full()
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[places],
            self.kv_indices[places],
            *((full[0][places], full[1][places]) if full else (None, None)),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=sliced_mask,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left part of the mask."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def cropped(num_blocks: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
            dense = blocks_of_rows(num_blocks, indices, indices.size(-1))
            return rows_of_blocks(dense[..., :rows, :columns])

        full = self._full()
        return BlockMask.from_kv_blocks(
            *cropped(self.kv_num_blocks, self.kv_indices),
            *(cropped(*full) if full else (None, None)),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on a device; the function stays what it is."""
        tensors = [getattr(self, name) for name in self._TENSORS]
        moved = [None if t is None else t.to(device) for t in tensors]
        return BlockMask(self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)  # type: ignore[arg-type]

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture for each batch and head: a full block of characters where all blocks of a part are there, a light
        one where some are.

        Args:
            grid_size: the most rows and columns of a picture, or one number for both; -1 for all.
            limit: the most pictures.
        """
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        row_step, column_step = (1 if m < 0 else max(1, -(-n // m)) for m, n in zip(most, (rows, columns)))
        pictures = []
        for at in itertools.islice(itertools.product(*map(range, batch)), limit):
            lines = [f"{at}\n"]
            for r in range(0, rows, row_step):
                parts = [dense[at][r : r + row_step, c : c + column_step] for c in range(0, columns, column_step)]
                shares = [float(part.float().mean()) for part in parts]
                lines.append("".join(("█" if s == 1 else "░" if s else " ") * 2 for s in shares) + "\n")
            pictures.append("".join(lines))
        if math.prod(batch) > limit:
            pictures.append("...")
            pictures.append("To print out more, set BlockMask.to_string(limit=N)")
            pictures.append("You can also index (BlockMask[batch, head]) to choose a specific batch or head")
        return "\n".join(pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        shapes = {name: getattr(self, name) for name in self._TENSORS}
        lines = [f"{name}={None if t is None else t.shape}" for name, t in shapes.items()]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}", f"sparsity={self.sparsity():.2f}%"]
        lines += [f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}"]
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The :class:`BlockMask` of a function of indices. The mask is made once in full, one byte an element.

    Args:
        mask_mod: ``mask_mod(b, h, q_idx, kv_idx)``, True where a query sees a key. Its arguments are scalars.
        B, H: batches and heads; None where the mask is the same for all.
        Q_LEN, KV_LEN: how many queries and keys.
        device: where the mask is made (the CPU).
        BLOCK_SIZE: queries and keys of a block, or one number for both.
        separate_full_blocks: whether blocks that are True throughout are listed apart, where the function is not asked.
        _compile, dq_kv_order: accepted, without effect.
        compute_dq_write_order: an order for kernels that are not here.

    >>> from strided.nn.attention.flex_attention import create_block_mask
    >>> def causal(b, h, q_idx, kv_idx):
    ...     return q_idx >= kv_idx
    >>> create_block_mask(causal, None, None, 512, 512).kv_indices.shape
    torch.Size([1, 1, 4, 4])

    Raises:
        AssertionError: `mask_mod` takes scores, or gives other values than bool.
        ValueError: a size of blocks is not positive.
        NotImplementedError: `compute_dq_write_order`.
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    if compute_dq_write_order:
        raise NotImplementedError("create_block_mask: compute_dq_write_order is for kernels that strided does not have")
    q_size, kv_size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    if min(q_size, kv_size) < 1:
        raise ValueError(f"create_block_mask: BLOCK_SIZE must be positive, got {BLOCK_SIZE}")
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype != strided.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    mask = strided.nn.functional.pad(mask, (0, -KV_LEN % kv_size, 0, -Q_LEN % q_size))
    counts = mask.unflatten(-1, (-1, kv_size)).unflatten(-3, (-1, q_size)).sum(dim=(-3, -1))
    whole = counts == q_size * kv_size
    partial = (counts > 0) & ~whole if separate_full_blocks else counts > 0
    full = rows_of_blocks(whole.int()) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(
        *rows_of_blocks(partial.int()),
        *full,
        BLOCK_SIZE=(q_size, kv_size),
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )
