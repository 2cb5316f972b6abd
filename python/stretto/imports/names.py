"""What a file's name says where --pattern does not: an algorithm, a size, an MPI.

It counts as the text before a table does: two names that differ in it are no launches of one thing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from stretto.errors import UsageError
from stretto.files.identity import MPIIdentity
from stretto.imports.evidence import ALGORITHM_NAMES, Said, sizes_in
from stretto.imports.mpis import NAMED, agree, identity_of, written
from stretto.imports.pattern import DEFAULTS

_DEFAULT = "|".join(DEFAULTS)
#: algo7, alg_2, algorithm-binomial, algdefault
_ALGORITHM = re.compile(
    rf"(?:alg(?:o|orithm)?|ADJUST_[A-Z]+)(?:[-_=.]?(\d+|{_DEFAULT})|[-_=]([a-z]+(?:[-_][a-z]+)*))(?![a-z0-9])",
    re.IGNORECASE,
)
#: allreduce_ring.log; words that say too little are none
_NAMES = sorted(ALGORITHM_NAMES - {"default", "simple", "intra"}, key=len, reverse=True)
_KNOWN = re.compile(rf"(?<![a-z])({'|'.join(_NAMES)})(?![a-z])", re.IGNORECASE)
#: N8n288, and 8x36
_LAYOUT = re.compile(r"(?<![a-z0-9])N\d+n\d+(?!\d)|(?<![a-z0-9])\d+x\d+(?!\d)")


def shown(path: Path, paths: Sequence[Path]) -> str:
    """Return a path below the directory that the user named."""
    base = next((p for p in paths if p in path.parents), None)
    return (path if base is None else path.relative_to(base)).as_posix()


def algorithm_in(name: str, path: Path) -> Said | None:
    """Return the last thing in a name that looks like an algorithm; other numbers are ``*``."""
    marks = list(_ALGORITHM.finditer(name)) or list(_KNOWN.finditer(name))
    if not marks:
        return None
    mark = marks[-1]
    group = 1 if mark[1] else 2
    start = name.rfind("/", 0, mark.start()) + 1
    before, behind = name[start : mark.start(group)], name[mark.end(group) :]
    pattern = "{algorithm}".join(re.sub(r"\d+", "*", part) for part in (before, behind))
    return Said(
        mark[group].lower(), str(path),
        f"give its position, as in --pattern {shlex.quote(pattern)}; if all are native: "
        "--algorithm default",
    )  # fmt: skip


def size_in(name: str, path: Path) -> Said | None:
    """Return what looks like the size of the job."""
    words = re.sub(r"[_/.-]+|(?<=\d)(?=[a-zA-Z])", " ", name)
    size = " ".join([*_LAYOUT.findall(name), sizes_in(words)]).strip()
    return Said(
        size, str(path),
        "mark it as {nodes}, {ppn} or {nranks} in --pattern; if it is something else: --pattern "
        "'*'",
    ) if size else None  # fmt: skip


def refuse_other_mpi(name: str, path: Path, mpi: MPIIdentity | None) -> None:
    """Refuse a file whose name says another MPI than the user does."""
    for word in re.split(r"[/\s]|(?:\.(?:log|txt|out|gz))+$", name) if mpi else ():
        named = NAMED.search(word)
        for text in [word, *([named[0]] if named else [])]:
            try:
                said = identity_of(re.sub(r"(?<=[a-z2])[-_](?=v?\d)", "@", text))
            except UsageError:
                continue
            if mpi is not None and not agree(said, mpi):
                raise UsageError(
                    f"the file's name contains {written(said)}, but --mpi names {written(mpi)}",
                    str(path),
                    "correct --mpi; for several MPIs use {mpi} in --pattern; if the name means "
                    "something else: --pattern '*'",
                )
            break
