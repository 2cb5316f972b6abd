"""A command as the user would type it again, with the input file that the shell has opened."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path


def typed(words: Sequence[str]) -> str:
    """Return a command line with its quotes, and with ``< FILE`` where CMD reads a file."""
    return shlex.join(words) + _input()


def _input() -> str:
    """Return the redirection of standard input; empty where it is no file that has a name."""
    try:
        mine = os.fstat(0)
        path = Path("/proc/self/fd/0").readlink()
        if not stat.S_ISREG(mine.st_mode) or not os.path.samestat(mine, path.stat()):
            return ""
        here = Path.cwd()
    except OSError:
        return ""
    near = path.relative_to(here) if here in path.parents else path
    return f" < {shlex.quote(str(near))}"
