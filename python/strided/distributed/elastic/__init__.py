"""What workers of a launcher import (``strided.distributed.elastic``): ``multiprocessing.errors.record``, no agent."""
