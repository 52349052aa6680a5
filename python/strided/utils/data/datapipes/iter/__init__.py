"""Names of PyTorch's pipes of data, of which there are none."""
