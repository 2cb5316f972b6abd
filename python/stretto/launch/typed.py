"""A command as the user would type it again, with the input file that the shell has opened."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path


def typed(words: Sequence[str]) -> str:
    """Return a command line with its quotes, and with ``< FILE`` where CMD reads a file."""
    return shlex.join(words) + _input()


def job_words(words: Sequence[str], mpi: str | None) -> str:
    """Return CMD as `stretto run` is to be given it: with the MPI that was named, if any."""
    return (f"--mpi {shlex.quote(mpi)} " if mpi is not None else "") + f"-- {typed(words)}"


def without(words: Sequence[str], *options: str) -> list[str]:
    """Return a command line without options that take a value, however they are written.

    That is ``--out X``, ``--out=X``, ``-o X`` and ``-oX``, as often as they are there.
    """
    begins = tuple(f"{name}=" if name.startswith("--") else name for name in options)
    out, left = [], iter(words)
    for word in left:
        if word in options:
            next(left, None)
        elif not word.startswith(begins):
            out.append(word)
    return out


def near(path: Path) -> str:
    """Return a path as the user would type it here."""
    with contextlib.suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))


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
