"""What workers of a launcher import (``strided.distributed.elastic``): errors and a sampler, no agent."""
