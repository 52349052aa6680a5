"""The CPU's caching allocator, to look at and to limit.

Freed blocks are kept for the next tensor of their size, because fresh memory costs a page fault for every 4 KiB.
"""

from ._C import empty_cache, memory_stats, reset_peak_memory_stats, set_cache_limit

__all__ = ["memory_stats", "empty_cache", "reset_peak_memory_stats", "set_cache_limit"]
