"""``torch.fx.experimental``: see ``strided.fx``."""
