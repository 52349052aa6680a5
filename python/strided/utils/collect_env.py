"""What a report of a bug should say of the machine: ``python -m strided.utils.collect_env``."""

from __future__ import annotations

import io

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """The report of ``python -m strided info``, without the self-test.

    >>> "python" in get_pretty_env_info()
    True
    """
    import strided

    from .._info import info
    from .._terminal import Screen

    out = io.StringIO()
    info(strided, Screen(out))
    return out.getvalue().partition("\nSelf-test")[0].strip() + "\n"


def main() -> None:
    """Prints it."""
    print("Collecting environment information...")
    print(get_pretty_env_info(), end="")


if __name__ == "__main__":
    main()
