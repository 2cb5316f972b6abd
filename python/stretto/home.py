"""The user's home directory, where there is one."""

from __future__ import annotations

from stretto.light import TYPE_CHECKING
from stretto.paths import Path

if TYPE_CHECKING:
    from collections.abc import Mapping


def home() -> Path:
    """Return the user's home directory; where he has none, a place where nothing is.

    A container's user that the system has no name for, without HOME, has none.
    """
    try:
        return Path.home()
    except RuntimeError:
        return Path("/nonexistent")


def state(environ: Mapping[str, str]) -> Path:
    """Return the user's directory of Stretto's tracebacks."""
    return Path(environ.get("XDG_STATE_HOME") or home() / ".local" / "state") / "stretto"
