"""What PyTorch has as modules of its compiled module (``torch._C._functorch``)."""
