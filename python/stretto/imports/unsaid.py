"""Files whose names tell algorithms of which nobody has said where they stand.

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
from stretto.files.product import product
from stretto.imports.evidence import ALGORITHM_NAMES, sizes_in
from stretto.imports.mpis import NAMED, agree, identity_of, written
from stretto.imports.pattern import DEFAULTS, FileFacts, compile_pattern, match

_DEFAULT = "|".join(DEFAULTS)
#: algo7, alg_2, algorithm-binomial, algdefault
_ALGORITHM = re.compile(
    rf"(?:alg(?:o|orithm)?|ADJUST_[A-Z]+)(?:[-_=.]?(\d+|{_DEFAULT})|[-_=]([a-z]+(?:[-_][a-z]+)*))(?![a-z0-9])",
    re.IGNORECASE,
)
#: allreduce_ring.log; words that say too little are none
_NAMES = sorted(ALGORITHM_NAMES - {"default", "simple", "intra"}, key=len, reverse=True)
_KNOWN = re.compile(rf"(?<![a-z])({'|'.join(_NAMES)})(?![a-z])", re.IGNORECASE)
_BY_ITSELF = re.compile(rf"(?<![a-z])(?:{_DEFAULT})(?![a-z])", re.IGNORECASE)
_LAUNCH = re.compile(r"(?<![a-z])((?:run|rep|launch|trial)[-_]?)\d+", re.IGNORECASE)
#: N8n288, and 8x36; what users call these otherwise is not guessed
_LAYOUTS = (
    (re.compile(r"(?<![a-z0-9])N(\d+)n(\d+)(?!\d)"), "N{nodes}n{nranks}"),
    (re.compile(r"(?<![a-z0-9])(\d+)x(\d+)(?!\d)"), "{nodes}x{ppn}"),
)
MOST_PATTERNS = 3


def refuse_unsaid(
    files: Sequence[tuple[Path, str | None]],
    paths: Sequence[Path],
    facts: FileFacts,
    mpi: MPIIdentity | None,
    note: Callable[[str], None],
) -> None:
    """Refuse files taken for the MPI by itself whose names differ in what may be an algorithm."""
    said = {path: _algorithm(path, paths) for path, _ in files}
    first: dict[str | None, Path] = {}
    for path, word in said.items():
        first.setdefault(word, path)
    if len(first) == 1:
        (word,) = first
        path = first[word]
        more = f" (and {counted(len(said) - 1, 'file')} more)" if len(said) > 1 else ""
        if word is not None and not _BY_ITSELF.fullmatch(word) and _ALGORITHM.search(path.name):
            note(
                f"{path}{more}: by its name this is algorithm {word}, and it counts as what the "
                "MPI does by itself; say which it is: "
                f"--algorithm {word}, or --algorithm default"
            )
        return
    if not {w for w in first if w is not None and not _BY_ITSELF.fullmatch(w)}:
        return
    two = [first[w] for w in sorted(first, key=lambda w: w is None)][:2]
    found = _patterns(files, paths, facts, mpi)
    form = " ".join(f"--pattern {shlex.quote(text)}" for text in found[:MOST_PATTERNS])
    raise UsageError(
        f"the names of {counted(len(said), 'file')} differ in what looks like an algorithm "
        f"({_shown(two[0], paths)}, {_shown(two[1], paths)}), and nothing says that it is one: "
        "all would count as what the MPI does by itself",
        str(two[0]),
        f"say where it stands: {form}; if all are of the MPI by itself: --algorithm default",
    )


def _shown(path: Path, paths: Sequence[Path]) -> Path:
    """Return a path below the directory that the user named."""
    base = next((p for p in paths if p in path.parents), None)
    return path if base is None else path.relative_to(base)


def _algorithm(path: Path, paths: Sequence[Path]) -> str | None:
    """Return the last thing in a path that looks like an algorithm's number or name."""
    text = _shown(path, paths).as_posix()
    found = list(_ALGORITHM.finditer(text))
    if found:
        return (found[-1][1] or found[-1][2]).lower()
    known = list(_KNOWN.finditer(text))
    return known[-1][1].lower() if known else None


def _patterns(
    files: Sequence[tuple[Path, str | None]],
    paths: Sequence[Path],
    facts: FileFacts,
    mpi: MPIIdentity | None,
) -> list[str]:
    """Return patterns that fit the files, those with an algorithm's mark first."""
    found: dict[str, int] = {}
    for path, collective in files:
        shown = _shown(path, paths)
        text = _pattern(shown, collective, facts, mpi)
        marked = bool(_ALGORITHM.search(shown.as_posix()))
        found.setdefault(text, 2 - marked - ("{algorithm}" in text))
    ordered = sorted(found, key=lambda text: found[text])
    fits = [compile_pattern(text) for text in ordered]
    used = {id(next((p for p in fits if match([p], path)), None)) for path, _ in files}
    return [p.text for p in fits if id(p) in used]


def _pattern(shown: Path, collective: str | None, facts: FileFacts, mpi: MPIIdentity | None) -> str:
    """Return the pattern that one path has: fields where they are sure, * for other numbers."""
    whole = shown.as_posix().lstrip("/")
    forms = (_ALGORITHM, _KNOWN, _BY_ITSELF)
    marks = next((found for form in forms if (found := list(form.finditer(whole)))), [])
    if marks:
        group = next((g for g in (1, 2) if marks[-1].re is _ALGORITHM and marks[-1][g]), 0)
        start, end = marks[-1].span(group)
        whole = f"{whole[:start]}\0{whole[end:]}"
    parts = [_part(part, facts, mpi) for part in whole.split("/")]
    text = "/".join(parts)
    for field in ("{launch}", "{nodes}", "{ppn}", "{nranks}", "{mpi}"):  # each of them once
        head, once, rest = text.partition(field)
        text = head + once + rest.replace(field, "*")
    if collective:
        name = re.escape(collective)
        text = re.sub(rf"(?<![a-z{{]){name}(?![a-z}}])", "{collective}", text)
    parts = [p if re.search("[{\0]", p) else "*" for p in text.split("/")]
    while len(parts) > 1 and parts[0] == "*":
        parts = parts[1:]
    return "/".join(parts).replace("\0", "{algorithm}")


def _part(part: str, facts: FileFacts, mpi: MPIIdentity | None) -> str:
    """Return a directory's or file's name with fields for numbers that tell a launch or layout."""
    if _names_mpi(part, mpi):
        return "{mpi}"
    part = _LAUNCH.sub(r"\1{launch}", part)
    for form, fields in _LAYOUTS:
        found = form.search(part)
        if found and _fits(fields, int(found[1]), int(found[2]), facts):
            part = form.sub(fields, part, count=1)
            break
    return "".join(
        word if word.startswith("{") else re.sub(r"\d+", "*", word)
        for word in re.split(r"(\{\w+\})", part)
    )


def _fits(fields: str, nodes: int, other: int, facts: FileFacts) -> bool:
    """Whether two numbers can be what they look like, and contradict nothing that was said."""
    ppn = other if "{ppn}" in fields else -(-other // nodes) if nodes else 0
    return nodes > 0 < ppn and facts.nodes in (None, nodes) and facts.ppn in (None, ppn)


def _names_mpi(part: str, mpi: MPIIdentity | None) -> bool:
    try:
        named = identity_of(part)
    except UsageError:
        return False
    return mpi is None or product(named) == product(mpi)


def refuse_other_mpi(path: Path, paths: Sequence[Path], mpi: MPIIdentity | None) -> None:
    """Refuse a file whose name says another MPI than the user does."""
    if mpi is None:
        return
    for word in re.split(r"[/\s]|(?:\.(?:log|txt|out|gz))+$", _shown(path, paths).as_posix()):
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
    found: dict[str, Path] = {}
    for path in files:
        found.setdefault(_size(_shown(path, paths).as_posix()), path)
    found.pop("", None)
    if len(found) > 1:
        one, two = (_shown(path, paths) for path in list(found.values())[:2])
        raise UsageError(
            f"the names of files differ in what looks like the size of the job ({one}, {two}), and "
            "nothing says that it is: all would be launches on one layout",
            str(next(iter(found.values()))),
            "say where it stands by {nodes}, {ppn} or {nranks} in --pattern; if it is something "
            "else: --pattern '*'",
        )


def _size(text: str) -> str:
    layouts = [m[0] for form, _ in _LAYOUTS for m in form.finditer(text)]
    words = re.sub(r"[_/.-]+|(?<=\d)(?=[a-zA-Z])", " ", text)
    return " ".join([*layouts, sizes_in(words)]).strip()
