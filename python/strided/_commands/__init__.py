"""The commands of ``python -m strided`` that show something: ``info`` and ``tour``."""
