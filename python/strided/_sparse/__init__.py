"""Sparse tensors: coordinates (``coo``), and one compressed axis (``compressed``).

Each layout has a table of functions, which the modules beside it fill when they are imported.
"""

from . import (
    compressed_functions,  # noqa: F401
    compressed_products,  # noqa: F401
    coo_functions,  # noqa: F401
    coo_sizes,  # noqa: F401
)
