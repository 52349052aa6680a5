"""A function on several ranks of this machine (``strided.distributed.launcher``)."""

from .api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
