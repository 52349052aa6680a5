"""Modules that libraries import from ``torch._functorch``; ``functorch`` itself is ``apis``, with strided in PyTorch's
place."""
