"""Ways to average gradients (``strided.distributed.algorithms``)."""
