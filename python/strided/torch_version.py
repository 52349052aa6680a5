"""The release of PyTorch that strided follows, as programs compare it (``strided.torch_version``)."""

from __future__ import annotations

import re
from typing import Any

from .version import __version__ as _own

__all__ = ["TorchVersion"]

_FORM = re.compile(
    r"\s*v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>alpha|beta|preview|pre|a|b|c|rc)[-_.]?(?P<stage_number>\d*))?"
    r"(?:-(?P<post_only>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*\Z",
    re.IGNORECASE,
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _key(version: str) -> tuple | None:
    """What versions are ordered by; None if it is no version.

    The order is that of Coghlan and Stufft: Version Identification and Dependency Specification (PEP 440), 2013.
    """
    found = _FORM.match(version)
    if found is None:
        return None
    release = tuple(map(int, found["release"].split(".")))
    while release and release[-1] == 0:
        release = release[:-1]
    stage = found["stage"] and (
        _STAGES.get(found["stage"].lower(), found["stage"].lower()),
        _int(found["stage_number"]),
    )
    has_post = found["post"] or found["post_only"]
    post = _int(found["post_number"] or found["post_only"]) if has_post else -1
    dev = _int(found["dev_number"]) if found["dev"] else None
    # A development release precedes the stages of its release, and these precede the release.
    first = (stage,) if stage else (("", 0),) if dev is not None and not has_post else (("z", 0),)
    local = tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part)
        for part in re.split("[-_.]", found["local"].lower() if found["local"] else "")
        if part
    )
    return release, first, post, float("inf") if dev is None else dev, local


def _int(digits: str | None) -> int:
    return int(digits or 0)


class TorchVersion(str):
    """A version as a text that is ordered as versions are: against texts, tuples and ``packaging.version.Version``.

    A text that is no version is ordered as a text.

    >>> torch.torch_version.TorchVersion("2.13.0") >= (2, 4), torch.torch_version.TorchVersion("2.13.0") < "2.9"
    (True, False)
    """

    __slots__ = ()

    def _keys(self, other: Any) -> tuple[Any, Any]:
        text = ".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other)
        mine, its = _key(str(self)), _key(text)
        return (str(self), text) if mine is None or its is None else (mine, its)

    def __eq__(self, other: object) -> bool:
        mine, its = self._keys(other)
        return bool(mine == its)

    def __lt__(self, other: Any) -> bool:
        mine, its = self._keys(other)
        return bool(mine < its)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __gt__(self, other: Any) -> bool:
        mine, its = self._keys(other)
        return bool(mine > its)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


# The local part, which has no part in `>= "2.13"`, says who answers.
__version__ = TorchVersion(f"2.13.0+strided.{_own}")
