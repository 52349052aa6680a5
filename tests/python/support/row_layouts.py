"""Ways in which a tensor of rows can lie in memory."""

import strided

LAYOUTS = {
    "plain": lambda t: t,
    "transposed": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1),
    "turned": lambda t: t.flip(-1).contiguous().flip(-1),
    "part": lambda t: strided.cat([t, t, t], -1)[..., t.shape[-1] : 2 * t.shape[-1]],
    "one row": lambda t: t[:1].expand(t.shape),
    "one number": lambda t: t.flatten()[:1].expand(t.shape) if t.numel() else t,
}
