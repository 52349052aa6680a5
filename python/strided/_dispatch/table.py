"""What operations consist of, and their gradients: the tables, filled by the modules that are imported here."""

from . import (
    composites_indexing,  # noqa: F401
    composites_nn,  # noqa: F401
    composites_products,  # noqa: F401
    composites_shapes,  # noqa: F401
    composites_types,  # noqa: F401
    gradients_more,  # noqa: F401
)
from .composites import COMPOSED, PYTHON_LEAVES
from .gradients import rule_of, watch

__all__ = ["COMPOSED", "PYTHON_LEAVES", "rule_of", "watch"]
