"""What tests of PyTorch's libraries take from ``torch.testing._internal``: a TestCase, and tests over parameters."""
