"""What tuning will cost, in words, and whether the user wants it."""

from __future__ import annotations

import sys

from stretto.errors import Interrupted

#: up to this long nobody is asked (s)
ASK_ABOVE_S = 120.0


def ask(seconds: float, agreed: bool) -> None:
    """Ask on a terminal whether to go on; elsewhere, having said the cost must do.

    `agreed`: the user has said so already, by ``--yes`` or by a budget.
    """
    if agreed or seconds <= ASK_ABOVE_S or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    print("stretto: go on? [Y/n] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
        raise Interrupted("nothing was measured; --budget 5m, say, makes it shorter")
