"""Functions of the main namespace that are written in Python."""
