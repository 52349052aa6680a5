"""What programs written for ``torch_xla.debug`` import."""
