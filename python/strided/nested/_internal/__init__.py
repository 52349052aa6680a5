"""The class of nested tensors, and what functions do with it."""
