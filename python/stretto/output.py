"""Printing: results to stdout, sentences for people to stderr."""

from __future__ import annotations

import sys

from stretto.light import TYPE_CHECKING, later

if TYPE_CHECKING:
    import json
    from collections.abc import Sequence
    from typing import Any, TextIO
else:
    json = later("json")


def print_json(value: Any) -> None:
    """Print one JSON document to stdout (the whole of a command's output with ``--json``)."""
    plain = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=plain, allow_nan=False) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Print a sentence for people to stderr."""
    print(text, file=sys.stderr, flush=True)


def conclusion(sentences: Sequence[str]) -> str:
    """Return what was concluded as it is printed: a line for each sentence."""
    return "stretto: " + ".\n         ".join(sentences)


def beside_command() -> TextIO:
    """Return where a result goes after a run of CMD: to stdout on a terminal, else to stderr.

    A file or pipe at stdout is for CMD's own output.
    """
    return sys.stdout if sys.stdout.isatty() else sys.stderr
