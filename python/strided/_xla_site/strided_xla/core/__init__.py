"""What programs written for ``torch_xla.core`` import."""
