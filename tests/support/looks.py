"""Ranks that live until Stretto has looked at them, however long their launcher takes to start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from processes import executable
from stretto.tune import seen, trials


def until_seen(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program for ranks: it ends once a look has found ranks, or at once where none looks.

    Parameters
    ----------
    directory
        For the program, and the file that it waits for.
    """
    mark, program = directory / "seen", directory / "until-seen"
    mark.touch()
    executable(program, f"#!/bin/sh\nuntil [ -e '{mark}' ]; do sleep 0.05; done\n")
    look, watching = seen._look, trials.watching

    def marking(*words: Any) -> list[dict[str, str]]:
        found = look(*words)
        if found:
            mark.touch()
        return found

    @contextlib.contextmanager
    def waiting(*words: Any) -> Iterator[seen.RanksSeen]:
        mark.unlink()
        try:
            with watching(*words) as found:
                yield found
        finally:
            mark.touch()

    monkeypatch.setattr(seen, "_look", marking)
    monkeypatch.setattr(trials, "watching", waiting)
    return program
