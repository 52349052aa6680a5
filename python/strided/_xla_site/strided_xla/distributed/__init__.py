"""Processes and loaders, by the names of ``torch_xla.distributed``."""
