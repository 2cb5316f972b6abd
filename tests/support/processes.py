"""Programs that tests write and start, and processes that may be left of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_program(argv: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing to read; return its status and what it printed.

    `more`: arguments of `subprocess.run`.
    """
    more = {"check": False} | ({} if "input" in more else {"stdin": subprocess.DEVNULL}) | more
    return subprocess.run(argv, capture_output=True, text=True, **more)


def executable(path: Path, text: str) -> Path:
    """Write a script that can be started."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def script(path: Path, text: str = "") -> Path:
    """Write a script of /bin/sh."""
    return executable(path, f"#!/bin/sh\n{text}\n")


def alive(pid: int | str) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
