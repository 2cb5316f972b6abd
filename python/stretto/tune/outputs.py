"""Whether tuned runs put out what native ones did: what they printed, and every file they wrote.

Runs are compared after they have ended, from digests and kept texts, so that nothing of this lies
in the time that is measured. What native runs do differently among themselves (times, dates,
process ids) says nothing about tuned ones; everything else must be the same, bit for bit.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import StrettoError, UsageError, from_oserror
from stretto.files.io import write_atomic, write_bytes
from stretto.files.parse import json_value
from stretto.files.verdict import Compared, Run
from stretto.launch.execute import Result
from stretto.tune.lines import compare_texts

#: what the command printed, in lists of files
PRINTED = "standard output"
#: texts larger than this are compared as a whole only, by their digest
MOST_TEXT_BYTES = 16 << 20
#: and so many bytes of all runs together are kept for comparing line by line
MOST_KEPT_BYTES = 512 << 20
#: of a failed run: files as large as this are kept, and so many of them
MOST_LOG_BYTES, MOST_LOGS = 1 << 20, 64
_PIECE = 1 << 20
#: what came of comparing, in words behind a number
_OUTCOMES = {
    "differs": "DIFFER",
    "same": "the same bit for bit",
    "times": "the same apart from lines with times",
    "order": "with the same lines in an order that varies",
    "varies": "not comparable, as native runs differ among themselves",
    "unknown": "not compared",
}
#: the same of standard output, where that is all
_ONE = {
    "differs": "DIFFERS: ",
    "same": "is the same bit for bit",
    "times": "is the same, except ",
    "order": "has the same lines in an order that varies",
    "varies": "cannot be compared: ",
}


@dataclass(frozen=True)
class Rules:
    """What is compared: no lines that match `ignore`; where given, only files like `only`."""

    ignore: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern in self.ignore:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(
                    f"--ignore {shlex.quote(pattern)} is not a regular expression: {error}",
                    None,
                    "quote it",
                ) from error

    def wanted(self, name: str) -> bool:
        return not self.only or any(fnmatch.fnmatch(name, p) for p in self.only)

    def lines(self, text: str) -> list[str]:
        lines = text.splitlines()
        if not self.ignore:
            return lines
        pattern = re.compile("|".join(f"(?:{p})" for p in self.ignore))
        return [line for line in lines if not pattern.search(line)]


Stamp = tuple[int, int, int]


def stamps(directory: Path, files: Iterable[Path]) -> dict[str, Stamp]:
    """Return what tells a file that was written from one that was not: size, time, inode."""
    out: dict[str, Stamp] = {}
    for path in files:
        try:
            found = path.lstat()
        except OSError:
            continue
        name = str(path.relative_to(directory))
        out[name] = (found.st_size, found.st_mtime_ns, found.st_ino)
    return out


def written(directory: Path, files: Iterable[Path], before: dict[str, Stamp]) -> list[Path]:
    """Return the files that a run has written or changed; `before`: their stamps when it began."""
    paths = list(files)
    now = stamps(directory, paths)
    names = {str(p.relative_to(directory)): p for p in paths}
    return [p for n, p in names.items() if now.get(n) != before.get(n) and p.is_file()]


def keep_logs(directory: Path, files: Iterable[Path], target: Path) -> None:
    """Keep the short texts of a failed run, whose copy is removed: its error may only be there."""
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(files)[:MOST_LOGS]:
        with suppress(OSError):
            if path.stat().st_size <= MOST_LOG_BYTES and b"\0" not in (data := path.read_bytes()):
                kept = target / path.relative_to(directory)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(data)


class Outputs:
    """What the runs put out, kept in a directory: a list a run, and each different text once."""

    def __init__(self, directory: Path, rules: Rules) -> None:
        self.directory = directory
        self.rules = rules

    def printed(self, run: Run) -> Path:
        return self.directory / f"{run.order:03d}-{run.kind}.txt"

    def _list(self, run: Run) -> Path:
        return self.directory / f"{run.order:03d}-{run.kind}.files.json"

    def _text(self, digest: str) -> Path:
        return self.directory / "texts" / digest

    def keep(
        self, run: Run, ended: Result, place: Path, before: dict[str, Stamp], files: Iterable[Path]
    ) -> None:
        """Take down what a run has printed and, if it ended well, what it has written.

        `before`: `stamps` of the files before it began.
        """
        try:
            (self.directory / "texts").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_oserror(error, "cannot make the directory", self.directory) from error
        write_atomic(self.printed(run), ended.stdout, "what CMD printed")
        if ended.status != 0:
            return
        found: dict[str, str] = {}
        paths = list(files)
        now = stamps(place, paths)
        for path in paths:
            name = str(path.relative_to(place))
            if now.get(name) == before.get(name) or not self.rules.wanted(name):
                continue
            if path.is_file():
                found[name] = self._take(path)
        for name in sorted(set(before) - set(now)):
            if self.rules.wanted(name):
                found[name] = "removed"
        write_atomic(self._list(run), json.dumps(found, indent=1) + "\n", "the list of outputs")

    def _take(self, path: Path) -> str:
        """Return a file's digest; small texts are kept as well."""
        digest = hashlib.blake2b(digest_size=16)
        try:
            with path.open("rb") as stream:
                first = stream.read(MOST_TEXT_BYTES + 1)
                digest.update(first)
                while piece := stream.read(_PIECE):
                    digest.update(piece)
        except OSError as error:
            raise from_oserror(error, "cannot read what the command wrote", path) from error
        name = digest.hexdigest()
        kept = self._text(name)
        if len(first) <= MOST_TEXT_BYTES and b"\0" not in first and not kept.exists():
            try:
                used = sum(p.stat().st_size for p in kept.parent.iterdir())
            except OSError as error:
                raise from_oserror(error, "cannot keep what the command wrote", kept) from error
            if used + len(first) <= MOST_KEPT_BYTES:
                write_bytes(kept, first, "what the command wrote")
        return name

    def compare(self, runs: Sequence[Run]) -> list[Compared]:
        """Compare what tuned runs put out with what native ones did, file by file."""
        lists: dict[str, list[dict[str, str]]] = {"native": [], "tuned": []}
        printed: dict[str, list[str]] = {"native": [], "tuned": []}
        for run in runs:
            try:
                printed[run.kind].append(self.printed(run).read_text("utf-8", "replace"))
                lists[run.kind].append(json_value(self._list(run).read_text("utf-8")))
            except OSError:
                continue
            except ValueError as error:
                raise StrettoError(
                    f"the list of outputs is damaged: {error}", self._list(run), "use --restart"
                ) from error
        out: list[Compared] = []
        if any(any(text.strip() for text in texts) for texts in printed.values()):
            texts = [[self.rules.lines(t) for t in printed[k]] for k in ("native", "tuned")]
            out.append(_judge(PRINTED, texts[0], texts[1], ordered=False))
        names = sorted({n for kind in lists.values() for files in kind for n in files})
        for name in names:
            out.append(
                self._compare(
                    name, [f.get(name) for f in lists["native"]],
                    [f.get(name) for f in lists["tuned"]],
                )
            )  # fmt: skip
        return out

    def _compare(
        self, name: str, native: Sequence[str | None], tuned: Sequence[str | None]
    ) -> Compared:
        if len(native) < 2 or not tuned:
            return Compared(name, "unknown", "too few runs")
        if len({*native, *tuned}) == 1:
            return Compared(name, "same", "")
        special = (None, "removed")
        if any(d in special for d in [*native, *tuned]):
            if len(set(native)) > 1:
                return Compared(name, "varies", "not every native run writes it")
            words = {None: "was not written", "removed": "was removed"}
            at = words.get(native[0], "was written")
            other = next(d for d in tuned if d != native[0])
            return Compared(
                name, "differs", f"{at} by native runs, {words.get(other, 'was written')} by tuned"
            )
        texts = [[self._lines(d) for d in side] for side in (native, tuned)]
        whole = [[t for t in side if t is not None] for side in texts]
        if len(whole[0]) < len(native) or len(whole[1]) < len(tuned):
            if len(set(native)) > 1:
                return Compared(
                    name, "varies", "native runs differ, and the file is not a short text"
                )
            return Compared(name, "differs", "not a text file, so the position is unknown")
        return _judge(name, whole[0], whole[1], ordered=True)

    def _lines(self, digest: str | None) -> list[str] | None:
        try:
            return self.rules.lines(self._text(digest or "").read_text("utf-8", "replace"))
        except OSError:
            return None


def _judge(
    name: str, native: Sequence[list[str]], tuned: Sequence[list[str]], ordered: bool
) -> Compared:
    if len(native) < 2 or not tuned:
        return Compared(name, "unknown", "too few runs")
    outcome, detail = compare_texts(native, tuned, ordered)
    return Compared(name, outcome, detail)


def equal(found: Sequence[Compared]) -> bool | None:
    """Tell whether the outputs are the same; None when nothing could be compared."""
    if any(c.outcome == "differs" for c in found):
        return False
    return True if any(c.outcome in ("same", "times", "order") for c in found) else None


def words(found: Sequence[Compared], rules: Rules) -> str:
    """Return what was compared, and what came of it, as a sentence."""
    if not found:
        return "CMD printed and wrote nothing that could be compared"
    if all(c.outcome == "unknown" for c in found):
        return "outputs not compared: too few runs"
    if [c.name for c in found] == [PRINTED] and not rules.only and not rules.ignore:
        return f"{found[0].name} {_ONE[found[0].outcome]}{found[0].detail}"
    by: dict[str, list[Compared]] = {}
    for c in found:
        by.setdefault(c.outcome, []).append(c)
    files = sum(c.name != PRINTED for c in found)
    what = [PRINTED] if len(found) > files else []
    if files or rules.only:
        which = f" matching {' or '.join(rules.only)}" if rules.only else " that CMD wrote"
        what.append(f"{files} file{'' if files == 1 else 's'}{which}")
    text = f"outputs compared: {' and '.join(what)}"
    if rules.ignore:
        text += f", without lines that match {' or '.join(rules.ignore)}"
    parts: list[str] = []
    for outcome, what_of in _OUTCOMES.items():
        members = by.get(outcome, [])
        if members:
            names = ", ".join(f"{c.name} ({c.detail})" if c.detail else c.name for c in members[:3])
            more = f" and {len(members) - 3} more" if len(members) > 3 else ""
            shown = f": {names}{more}" if outcome != "same" else ""
            parts.append(f"{len(members)} {what_of}{shown}")
    return f"{text}; {'; '.join(parts)}"
