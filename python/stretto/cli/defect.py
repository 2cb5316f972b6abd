"""Reporting a defect of Stretto: one line, and where the traceback is."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from stretto.home import state
from stretto.output import say
from stretto.version import __version__


def report(error: Exception) -> None:
    """Keep the traceback in a file, and say so."""
    text = "".join(traceback.format_exception(error))
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    say(f"stretto: error: this is a defect of Stretto: {summary}")
    if os.environ.get("STRETTO_DEBUG", "0") not in ("", "0"):
        say(text)
        return
    name = f"traceback-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    words = " ".join(sys.argv)
    for directory in (state(os.environ), Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / name
            whole = f"stretto {__version__}\n{words}\n\n{text}"
            with path.open("xb") as stream:  # the temporary directory is everybody's
                stream.write(whole.encode(errors="backslashreplace"))  # words may be no UTF-8
            say(f"  at: {path} holds the traceback")
            say(
                "  try: stretto bundle, and report it with that; STRETTO_DEBUG=1 prints the "
                "traceback"
            )
            return
    say(text)
