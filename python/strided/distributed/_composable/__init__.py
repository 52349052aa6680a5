"""PyTorch's names for modules spread over ranks."""
