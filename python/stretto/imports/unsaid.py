"""Files whose names tell an algorithm, an MPI or a size of which nobody has said what it is.

All of them would count as what the MPI does by itself, and its times be those of any algorithm.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from stretto.counted import counted
from stretto.errors import UsageError
from stretto.files.identity import MPIIdentity
from stretto.imports.evidence import ALGORITHM_NAMES, sizes_in
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


def refuse_unsaid(
    files: Sequence[Path], paths: Sequence[Path], note: Callable[[str], None]
) -> None:
    """Refuse files taken for the MPI by itself whose names differ in what may be an algorithm."""
    found = [(path, _algorithm(_shown(path, paths))) for path in files]
    words = {mark[0] if mark else None: path for path, mark in reversed(found)}
    named = [(path, mark) for path, mark in found if mark and mark[0] not in DEFAULTS]
    if not named:
        return
    path, (word, pattern) = named[0]
    if len(words) == 1:
        if _ALGORITHM.search(path.name):
            more = f" (and {counted(len(files) - 1, 'file')} more)" if len(files) > 1 else ""
            note(
                f"{path}{more}: by its name this is algorithm {word}, and it counts as what the "
                f"MPI does by itself; say which it is: --algorithm {word}, or --algorithm default"
            )
        return
    other = next(p for w, p in words.items() if w != word)
    raise UsageError(
        f"the names of {counted(len(files), 'file')} differ in what looks like an algorithm "
        f"({_shown(path, paths)}, {_shown(other, paths)}), and nothing says that it is one: "
        "all would count as what the MPI does by itself",
        str(path),
        f"say where it stands, as in --pattern {shlex.quote(pattern)}; if all are of the MPI by "
        "itself: --algorithm default",
    )


def _shown(path: Path, paths: Sequence[Path]) -> str:
    """Return a path below the directory that the user named."""
    base = next((p for p in paths if p in path.parents), None)
    return (path if base is None else path.relative_to(base)).as_posix()


def _algorithm(text: str) -> tuple[str, str] | None:
    """Return the last thing in a path that looks like an algorithm, and a pattern with its place.

    In the pattern ``*`` stands for other numbers.
    """
    marks = list(_ALGORITHM.finditer(text)) or list(_KNOWN.finditer(text))
    if not marks:
        return None
    mark = marks[-1]
    group = 1 if mark[1] else 2
    start = text.rfind("/", 0, mark.start()) + 1
    before, behind = text[start : mark.start(group)], text[mark.end(group) :]
    pattern = "{algorithm}".join(re.sub(r"\d+", "*", part) for part in (before, behind))
    return mark[group].lower(), pattern


def refuse_other_mpi(path: Path, paths: Sequence[Path], mpi: MPIIdentity | None) -> None:
    """Refuse a file whose name says another MPI than the user does."""
    if mpi is None:
        return
    for word in re.split(r"[/\s]|(?:\.(?:log|txt|out|gz))+$", _shown(path, paths)):
        named = NAMED.search(word)
        for text in [word, *([named[0]] if named else [])]:
            try:
                said = identity_of(re.sub(r"(?<=[a-z2])[-_](?=v?\d)", "@", text))
            except UsageError:
                continue
            if not agree(said, mpi):
                raise UsageError(
                    f"the file's name says {written(said)}, and --mpi says {written(mpi)}",
                    str(path),
                    "correct --mpi; several MPIs: {mpi} in --pattern; if the name means something "
                    "else: --pattern '*'",
                )
            break


def refuse_unlike_sizes(files: Sequence[Path], paths: Sequence[Path]) -> None:
    """Refuse files whose names differ in what looks like the size of the job."""
    found: dict[str, str] = {}
    for text in (_shown(path, paths) for path in files):
        found.setdefault(_size(text), text)
    found.pop("", None)
    if len(found) > 1:
        one, two = list(found.values())[:2]
        raise UsageError(
            f"the names of files differ in what looks like the size of the job ({one}, {two}), and "
            "nothing says that it is: all would be launches on one layout",
            one,
            "say where it stands by {nodes}, {ppn} or {nranks} in --pattern; if it is something "
            "else: --pattern '*'",
        )


def _size(text: str) -> str:
    words = re.sub(r"[_/.-]+|(?<=\d)(?=[a-zA-Z])", " ", text)
    return " ".join([*_LAYOUT.findall(text), sizes_in(words)]).strip()
