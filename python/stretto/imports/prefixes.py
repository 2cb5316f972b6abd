"""What was put before each line of a log: ranks, hosts, containers, time stamps, quotation marks.

A form of prefix is stripped where it stands before a benchmark's title or heading, or before all
lines of a file. Any other text there is a prefix where it stands before rows as well. Lines of
several ranks, hosts or containers are read by themselves: one's empty line or title says nothing of
what another one prints. hydra, on a busy machine, puts its tag before each piece of a line that it
reads by itself, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: lines with their numbers in the file
Stream = list[tuple[int, str]]

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?"
_LEVEL = r"(?:\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR)\]?:? +)?"
#: A group is what tells one source of lines from another; time stamps and quotes have none.
_FORMS = {
    # [1,0]<stdout>:, with a blank behind it since Open MPI 5; [0]<stdout>: of --output rank
    "rank": r"(\[(?:[^\[\]\s]*@)?\d+(?:,\d+)?\]<std(?:out|err|diag)>:) ?",
    "hydra": r"(\[\d+\])(?: |$)",  # -prepend-rank
    # GitHub, GitLab (00O is its stream), Kubernetes (stdout F), log4j, ts '%FT%T'
    "iso": rf"\[?\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?Z| ?[+-]\d\d:?\d\d)?\]?:?"
    rf"(?: +|$)(?:\d\d[OE]\+? ?|std(?:out|err) [FP] )?{_LEVEL}",
    # ts, syslog
    "date": rf"\[?(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +)?{_MONTH} +\d{{1,2}} +{_CLOCK}"
    r"(?: +(?:[A-Z]{3,4} +)?\d{4})?\]?:?(?: +|$)",
    "clock": rf"(?:\[{_CLOCK}\]|{_CLOCK}):?(?: +|$){_LEVEL}",  # Jenkins, ts -s
    "seconds": r"(?:\[ *\d+\.\d+\]|\d+\.\d{6})(?: +|$)",  # ts '%.s', dmesg
    "epoch": r"(?:\d{10}(?:\.\d+)?|\d+(?:\.\d+)?s)(?: +|$)",  # date +%s, seconds since the start
    "number": r" *(\d+):(?: |$)",  # srun -l, ctest -V
    "label": r" *(\d+):",  # IBM's launchers (jsrun, LSF, POE), without a blank
    "pod": r"(\[pod/[^\]\s]+\])(?: |$)",
    "compose": r"([A-Za-z0-9][\w./-]*) +\|(?: |$)",  # docker compose, foreman
    "job": r"([^\t|#]*)\t(?:[^\t|#]*\t)?",  # gh run view --log, parallel --tag
    "process": r"([A-Za-z][\w.-]* [\w./-]+\[\d+\]):(?: |$)",  # HOST PROGRAM[PID]: of syslog
    "host": r"([A-Za-z][\w.-]*|\d+(?:\.\d+){3}):(?: |$)",  # pdsh, clush
    "quote": r"(?:> ?)+",
}
_COMPILED = {name: re.compile(form) for name, form in _FORMS.items()}
#: what colours a terminal's text, and marks of CI systems in the same way
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]_PX^][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00\x07\x08]"
)
#: so many of them may stand before one line
_DEEPEST = 5
#: the forms that may be all that a file without titles shows
_BEFORE_ALL = ("rank", "hydra", "number", "iso", "date", "clock", "seconds", "quote", "compose")

#: forms in order; "=" and a text stands for that text
Shape = tuple[str, ...]


@dataclass(frozen=True)
class _Split:
    """A line taken apart: who wrote it (empty: nobody is named), and what."""

    who: tuple[str, ...]
    text: str


def streams(text: str, place: str, mark: re.Pattern[str], problems: list[str]) -> list[Stream]:
    """Return a file's lines without prefixes: one stream, or one for each rank, host or container.

    Lines without the prefix that others have are part of each stream, as far as they cannot be
    taken for a table's: what a job's script says counts for all ranks.
    """
    lines, rest = whole_lines(text)
    shapes = _shapes(lines, mark)
    cut = next((s.text for shape in shapes if (s := _split(rest, shape))), rest)
    if re.match(r"\s*\d", cut):
        problems.append(f"{place}:{len(lines) + 1}: the last line is cut off and was dropped")
    if not shapes and (behind := _behind(lines, mark)):
        problems.append(
            f"{place}:{behind[0]}: {behind[1]!r} stands before a title, and is not known as a "
            "prefix of lines: take it off all lines first"
        )
    splits = [next((s for x in shapes if (s := _split(line, x))), None) for line in lines]
    names = [s.who for s in splits if s and s.who]
    counted = len(names) > 3 and len(set(names)) == len(names)  # numbers of lines, not of ranks
    out: dict[tuple[str, ...], Stream] = {}
    shared: Stream = []
    last: tuple[str, ...] = ()
    for at, (line, found) in enumerate(zip(lines, splits, strict=True), start=1):
        if found is not None and counted:
            found = _Split((), found.text)
        if found is None and not line.strip():
            found = _Split(last, "")
        if found is not None and found.who:
            last = found.who
            out.setdefault(last, list(shared)).append((at, found.text))
            continue
        plain = line if found is None else found.text
        out.setdefault((), []).append((at, plain))
        if plain.strip() and not mark.search(plain) and not re.match(r"\s*[\d#]", plain):
            shared.append((at, plain))
            for who, stream in out.items():
                if who:
                    stream.append((at, plain))
    return list(out.values())


def _behind(lines: list[str], mark: re.Pattern[str]) -> tuple[int, str] | None:
    """Return what stands before the first title or heading, where none begins its line."""
    first: tuple[int, str] | None = None
    for at, line in enumerate(lines, start=1):
        if title := mark.search(line):
            before = line[: title.start()].strip()
            if not before:
                return None
            first = first or (at, before[:60])
    return first


def whole_lines(text: str) -> tuple[list[str], str]:
    """Return a file's lines, and what stands behind the last line feed: it may have been cut off.

    A number whose last digits are missing looks like any other: only the missing line feed tells.
    Byte order marks are taken off wherever Windows' editors and shells began a file, which may
    have been joined to others since; so are the colours of terminals.
    """
    text = _ESCAPES.sub("", text.replace("\ufeff", "")).replace("\r\n", "\n")
    complete, _, rest = text.rpartition("\n")
    return complete.split("\n"), rest


def _shapes(lines: list[str], mark: re.Pattern[str]) -> list[Shape]:
    """Return the prefixes that stand before titles and headings, the longest ones first."""
    found: dict[Shape, None] = {}
    for line in lines:
        whole = _joined(line)
        if (title := mark.search(whole)) and (shape := _shape(whole, title.start())):
            found[shape] = None
    others = [x for x in found if x[-1].startswith("=") and not _before_rows(lines, x)]
    for shape in others:
        del found[shape]
    said = [line for line in lines if line.strip()]
    if not found and said:
        # a table without a title, or a title that hydra's tags stand in
        alone = (n for n in _BEFORE_ALL if all(_COMPILED[n].match(line) for line in said))
        found |= {(name,): None for name in alone}
    return sorted(found, key=len, reverse=True)


def _before_rows(lines: list[str], shape: Shape) -> bool:
    """Return whether a prefix stands before lines that begin with a number."""
    return any((s := _split(line, shape)) and re.match(r"\s*\d", s.text) for line in lines)


def _shape(line: str, end: int) -> Shape | None:
    """Return the forms that fill a line as far as `end`; what no form fits is a text of its own."""
    forms: list[str] = []
    at = 0
    while at < end and len(forms) < _DEEPEST:
        if not line[at:end].strip():
            return tuple(forms) or None
        step = next(_steps(line, at, end), None)
        if step is None:
            return (*forms, f"={line[at:end]}")
        forms.append(step[0])
        at = step[1]
    return tuple(forms) if at >= end and forms else None


def _steps(line: str, at: int, end: int) -> Iterator[tuple[str, int]]:
    for name, form in _COMPILED.items():
        found = form.match(line, at)
        if found and at < found.end() <= end:
            yield name, found.end()


def _split(line: str, shape: Shape) -> _Split | None:
    """Return a line without a prefix of this shape, None where it has another or none."""
    line, at, who = _joined(line), 0, []
    for name in shape:
        if name.startswith("="):
            if not line.startswith(name[1:], at) and line[at:] != name[1:].rstrip():
                return None
            at += len(name) - 1
            who.append(name[1:].strip())
            continue
        found = _COMPILED[name].match(line, at)
        if found is None:
            return None
        who += [group.strip() for group in found.groups() if group is not None]
        at = found.end()
    return _Split(tuple(who), line[at:])


def _joined(line: str) -> str:
    """Return a line without the tags that hydra has put into the midst of it."""
    tag = _COMPILED["hydra"].match(line)
    return line[: tag.end()] + line[tag.end() :].replace(f"{tag[1]} ", "") if tag else line
