"""What is behind ``strided.compile``: functions are traced once for each kind of call, and chains of elementwise
operations in the trace run as fused programs (Note [Fused programs] in ``csrc/backend/fused_plan.h``).

=====================  ===========================================================================================
``_guards.py``         what a function reads besides its arguments, and whether that can be checked before each call
``_trace.py``          a run of the function that writes down the calls it makes
``_groups.py``         which calls become one program
``_replay.py``         the trace as a Python function of its own
``_function.py``       the compiled function: traces by kind of call
``_module.py``         compiled modules
``_explain.py``        what became of a trace, in words
=====================  ===========================================================================================
"""

from ._explain import Explanation
from ._function import CompiledFunction
from ._trace import Untraceable

__all__ = ["CompiledFunction", "Explanation", "Untraceable"]
