"""Modules that libraries import from ``torch._functorch``; ``functorch`` itself is ``deprecated``, with strided in
PyTorch's place."""
