"""A command of Stretto in this process: a new interpreter takes longer to start than most take."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from pathlib import Path

from stretto.cli import main


def stretto(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(cwd or before)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
