"""Tools around tensors; :mod:`strided.utils.benchmark` times snippets."""
