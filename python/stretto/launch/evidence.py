"""What the ranks of a run said about Stretto: a run counts as tuned only when they had it.

Each rank that loads the interposer leaves a file in ``$STRETTO_EVIDENCE`` (src/engine/evidence.c).
LD_PRELOAD is lost on the way more easily than it seems: ``env -i``, sudo, a container, a wrapper
that sets its own, a program that is linked statically.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stretto.counted import counted
from stretto.errors import CommandFailedError

VARIABLE = "STRETTO_EVIDENCE"
_FIRST = "stretto-evidence"


@dataclass(frozen=True)
class Evidence:
    """What all ranks of a run report together.

    `active`: ranks on which it looked at calls: a table was there, and the MPI was its own.
    `finished`: ranks that reached MPI_Finalize, and so reported their calls. `ours`, `native`:
    calls by collective, of all ranks: executed by Stretto, and left to the MPI.
    """

    loaded: int = 0
    active: int = 0
    finished: int = 0
    ours: Mapping[str, int] = field(default_factory=dict)
    native: Mapping[str, int] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        return sum(self.ours.values())


def read_evidence(directory: Path) -> Evidence:
    """Return what the ranks of a run left in a directory (nothing, when it is not there)."""
    loaded = active = finished = 0
    ours: Counter[str] = Counter()
    native: Counter[str] = Counter()
    for path in sorted(directory.glob("rank*")) if directory.is_dir() else []:
        with contextlib.suppress(OSError):
            lines = path.read_text("utf-8", "replace").splitlines()
            if not lines or not lines[0].startswith(_FIRST):
                continue
            loaded += 1
            active += lines[0].endswith(" active")
            finished += lines[-1] == "end"
            for line in lines[1:]:
                words = line.split()
                if len(words) == 3 and words[1].isdecimal() and words[2].isdecimal():
                    ours[words[0]] += int(words[1])
                    native[words[0]] += int(words[2])
    return Evidence(loaded, active, finished, dict(ours), dict(native))


def require_tuned(found: Evidence, nranks: int, command: str, said: str = "") -> None:
    """Refuse a run that was to be tuned and was not."""
    ours = [line for line in said.splitlines() if line.startswith("stretto: ")]
    if found.loaded < nranks:
        raise CommandFailedError(
            f"{found.loaded} of {counted(nranks, 'rank')} loaded Stretto in the tuned run, so the "
            "run was not tuned and does not count",
            command,
            "check that LD_PRELOAD and the STRETTO_ variables reach the ranks: `env -i`, sudo, "
            "containers and scripts that set LD_PRELOAD drop them (then put the lines of `stretto "
            "env` right before mpirun). Static programs cannot load Stretto. All nodes must see "
            "this directory",
        )
    if found.active < found.loaded:
        why = f": {ours[-1].removeprefix('stretto: ')}" if ours else ""
        raise CommandFailedError(
            f"Stretto was loaded but left everything to the MPI on {found.loaded - found.active} "
            f"of {counted(found.loaded, 'rank')}, so the run was not tuned{why}",
            command,
            "check that STRETTO_TABLE reaches the ranks, and that its file is readable there",
        )
    if found.finished and not found.calls:
        why = f" ({ours[-1].removeprefix('stretto: ')})" if ours else ""
        raise CommandFailedError(
            f"Stretto was active on {counted(found.loaded, 'rank')}, but executed no call{why}, "
            "so the run was not tuned and does not count",
            command,
            "run it with `stretto run --verbose`, which prints the reason for each call",
        )


def require_native(found: Evidence, command: str) -> None:
    """Refuse a run that was to be native, and in which ranks had Stretto."""
    if found.active:
        raise CommandFailedError(
            f"{counted(found.active, 'rank')} loaded Stretto in the native run, so runs with and "
            "without it cannot be compared",
            command,
            "remove the lines of `stretto env` from the script",
        )
