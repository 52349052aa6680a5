"""Wrappers of modules that keep less for the backward pass."""
