"""What is said of an export's rows when the MPI was seen by itself, with the files, and forced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stretto.counted import counted
from stretto.export.cases import CheckCase
from stretto.export.openmpi_words import COMPOUND
from stretto.export.probe import Print, Prints
from stretto.files.export import REMEDY, ExportManifest

Status = Literal["proven", "unproven", "wrong"]
#: what was seen of a launch's calls, by its settings
Seen = Sequence[tuple[list[CheckCase], Prints]]

#: how a reason ends where evidence is missing without which nothing is proven
UNSEEN = "is unknown: there was no evidence, or it differed between two launches (busy machine?)"
_ANOTHER = "another algorithm"
#: the files do as they should, and so does the MPI without them
_ALIKE = "native does the same here, as far as can be observed"


@dataclass(frozen=True)
class RowCheck:
    """What was found of one row, or of what has no row (``row`` None)."""

    row: int | None
    words: str
    status: Status
    why: str
    remedy: str | None = None
    place: str | None = None


def prints_of(case: CheckCase, seen: Seen) -> list[Print]:
    """Return what was seen of a call: by itself, with the files, and (inside a row) forced."""
    return [p.seen[case.call] for mine, p in seen if case in mine and case.call in p.seen]


def verdicts_of(
    manifest: ExportManifest, cases: Sequence[CheckCase], seen: Seen, strongest: str
) -> dict[int | None, RowCheck]:
    """Return the verdicts of rows; None: of what has no row."""
    out: dict[int | None, RowCheck] = {}
    for index in dict.fromkeys(c.row for c in cases):
        found = _found([c for c in cases if c.row == index], seen, strongest)
        if index is not None and _compound(manifest, index):
            words = "it calls other collectives, which also have rows"
            found = [
                (c, "unproven", words) if s == "wrong" and why.startswith(_ANOTHER) else (c, s, why)
                for c, s, why in found
            ]
        words = "calls without a row" if index is None else manifest.rows[index].words
        out[index] = _joined(index, words, found)
    return out


def unseen_of(cases: Sequence[CheckCase], seen: Seen, strongest: str) -> list[CheckCase]:
    """Return the calls of which too little was seen, or not the same twice."""
    rows = dict.fromkeys(c.row for c in cases)
    each = (_found([c for c in cases if c.row == index], seen, strongest) for index in rows)
    return [c for found in each for c, _, why in found if why.endswith(UNSEEN)]


def _found(
    mine: Sequence[CheckCase], seen: Seen, strongest: str
) -> list[tuple[CheckCase, Status, str]]:
    default, files = seen[0][1], seen[1][1]
    forced = [p for some, p in seen[2:] if any(c in some for c in mine)]
    launches = default, files, forced[0] if forced else default
    return [(c, *_one(c, *launches, strongest)) for c in mine]


def _joined(
    index: int | None, words: str, found: Sequence[tuple[CheckCase, Status, str]]
) -> RowCheck:
    """Return the verdict on a row whose calls were judged one by one."""
    wrong = [f"{c.words}: {why}" for c, status, why in found if status == "wrong"]
    if wrong:
        return RowCheck(index, words, "wrong", wrong[0], REMEDY)
    proven = [c for c, status, _ in found if status == "proven"]
    if index is None:
        why = "as without the files" if proven else found[0][2]
        return RowCheck(index, words, "proven" if proven else "unproven", why)
    inside = [(c, why) for c, status, why in found if c.inside]
    # At one of its ends another algorithm may do the same: the other one must have been seen. No
    # end may be one of which nothing is known, or at which something else was seen.
    open_ = [f"{c.words}: {why}" for c, why in inside if c not in proven and why != _ALIKE]
    if open_ or not any(c.inside for c in proven):
        reasons = open_ or [why for _, why in inside] or ["nothing observable"]
        return RowCheck(index, words, "unproven", reasons[0])
    sizes = ", ".join(str(c.bytes) for c in proven if c.inside)
    beside = sum(not c.inside for c in proven)
    why = f"it applies at {sizes} {'byte' if sizes == '1' else 'bytes'}"
    if beside:
        verb = "is" if beside == 1 else "are"
        why += f", and {counted(beside, 'call')} outside it {verb} untouched"
    return RowCheck(index, words, "proven", why)


def _compound(manifest: ExportManifest, index: int) -> bool:
    """Tell whether a row's algorithm is built of collectives that have rows themselves."""
    row = manifest.rows[index]
    values = {value for name, value in row.settings if name.endswith("_algorithm")}
    return any((row.collective, value) in COMPOUND for value in values) and any(
        r.collective != row.collective and r.nranks == row.nranks for r in manifest.rows
    )


def _one(
    case: CheckCase, default: Prints, files: Prints, forced: Prints, strongest: str
) -> tuple[Status, str]:
    call = case.call
    if call in default.failed:
        return "unproven", f"native fails here: {default.failed[call]}"
    if call in files.failed:
        return "wrong", f"with the files {files.failed[call]}"
    if call not in files.seen or call not in default.seen:
        return "unproven", "it was not reached"
    ours, own = files.seen[call], default.seen[call]
    if not case.inside:
        as_default = ours.same(own)
        if as_default is False:
            return "wrong", "the files change it, although its row is native"
        if as_default is None:
            return "unproven", f"whether the files change it {UNSEEN}"
        return "proven", "untouched"
    if call in forced.failed:
        return "unproven", f"the forced algorithm fails here: {forced.failed[call]}"
    if call not in forced.seen:
        return "unproven", "it was not reached"
    return _inside(own, ours, forced.seen[call], strongest)


def _inside(own: Print, ours: Print, forced: Print, strongest: str) -> tuple[Status, str]:
    if ours.same(forced) is False:
        what = "the native selection" if ours.same(own) else _ANOTHER
        return "wrong", f"{what} runs instead of the algorithm of the row"
    if not ours.told_by(strongest, forced):
        return "unproven", f"whether the row's algorithm runs {UNSEEN}"
    if own.same(forced) is False:
        return "proven", "as when forced"
    if not own.told_by(strongest, forced):
        return "unproven", f"whether native differs {UNSEEN}"
    return "unproven", _ALIKE
