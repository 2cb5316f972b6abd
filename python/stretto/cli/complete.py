"""What a shell offers for a word of the command line; everything heavy is loaded when asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

#: a function of what was typed so far
Completer = Callable[[str], list[str]]


def _listed(names: Iterable[str], typed: str) -> list[str]:
    """Return the names that go on from what was typed; of ``a,b`` only the last is completed."""
    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def collectives(incomplete: str) -> list[str]:
    from stretto.files.table import TUNABLE

    return _listed(TUNABLE, incomplete)


def choices(incomplete: str) -> list[str]:
    from stretto.plan import algorithms

    names = [*dict.fromkeys(a.name for a in algorithms())]
    node, plus, _ = incomplete.rpartition(",")[2].rpartition("+")
    return _listed(
        [f"{node}+{n}" for n in names] if plus else ["native", "bare", "shm", *names], incomplete
    )


def mpis(incomplete: str) -> list[str]:
    return [x for x in ("openmpi", "mpich", "intel") if x.startswith(incomplete)]


def platforms(incomplete: str) -> list[str]:
    from stretto.model.platform_file import shipped, user_directory

    own = (p.stem for p in user_directory().glob("*.toml"))
    return _listed(dict.fromkeys([*own, *shipped()]), incomplete)


def files(*suffixes: str) -> Completer:
    """Return a function that completes directories, and files that end in one of these."""

    def complete(incomplete: str) -> list[str]:
        directory, _, name = incomplete.rpartition("/")
        before = f"{directory}/" if "/" in incomplete else ""
        try:
            found = sorted(os.scandir(Path(before or ".").expanduser()), key=lambda e: e.name)
        except OSError:
            return []
        return [
            f"{before}{e.name}{'/' if e.is_dir() else ''}"
            for e in found
            if e.name.startswith(name) and (name or not e.name.startswith("."))
            and (e.is_dir() or e.name.endswith(suffixes))
        ]  # fmt: skip

    return complete


def completions(root: Any, words: Sequence[str]) -> list[str]:
    """Return what may stand in place of the last word; the others stand before it.

    `words`: of the command line, without the program's name. Behind ``--`` nothing is offered: the
    shell completes names of files.
    """
    from typer._completion_classes import BashComplete  # its base class has moved between versions

    *before, last = [w for w in words if w != "="] or [""]  # bash cuts --out=x at the sign
    if "--" in before:
        return []
    found = BashComplete(root, {}, "stretto", "").get_completions(before, last)
    return [item.value for item in found if item.type == "plain"]
