"""What was put before each line of a log: ranks, hosts, containers, time stamps, quotation marks.

What stands before a title or heading is the example of a prefix: other lines may have other words
and numbers in the same places. Lines of several ranks, hosts or containers are read by themselves:
one's empty line or title says nothing of what another one prints. hydra, on a busy machine, puts
its tag before each piece of a line that it reads by itself, too.
"""

from __future__ import annotations

import re

#: lines with their numbers in the file
Stream = list[tuple[int, str]]

_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
#: times tell no source of a line: of CI systems, log4j, syslog, ts, dmesg, date +%s
_TIME = (
    rf"\[?(?:\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?: ?Z| ?[+-]\d\d:?\d\d)?"
    rf"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +)?{_MONTH} +\d{{1,2}} +{_CLOCK}"
    r"(?: +(?:[A-Z]{3,4} +)?\d{4})?"
    rf"|{_CLOCK}| *\d+\.\d{{6}}|\d{{10}}(?:\.\d+)?|\d+(?:\.\d+)?s)\]?:?(?: +|$)"
)
_TIMES = re.compile(rf"(?<![\w.:]){_TIME}")
#: a word or a number of the source's name, what parts two of them, other blanks, and signs
_NAME = r"\w[\w.@/-]*"
_PARTS = re.compile(rf"({_NAME})|((?<=[\w.@/-])\s+(?=\w))|(\s+)|(.)")
_HYDRA = re.compile(r"(\[\d+\])(?: |$)")
#: what colours a terminal's text, and marks of CI systems in the same way
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]_PX^][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00\x07\x08]"
)

#: who wrote a line (empty: nobody is named), and what
Split = tuple[tuple[str, ...], str]


def streams(text: str, place: str, mark: re.Pattern[str], problems: list[str]) -> list[Stream]:
    """Return a file's lines without prefixes: one stream, or one for each rank, host or container.

    Lines without the prefix that others have are part of each stream, as far as they cannot be
    taken for a table's: what a job's script says counts for all ranks.
    """
    lines, rest = whole_lines(text)
    prefixes = _prefixes(lines, mark, place, problems)
    _, cut = _split(rest, prefixes) or ((), rest)
    if re.match(r"\s*\d", cut):
        problems.append(f"{place}:{len(lines) + 1}: the last line is cut off and was dropped")
    splits = [_split(line, prefixes) for line in lines]
    names = [s[0] for s in splits if s and s[0]]
    counted = len(names) > 3 and len(set(names)) == len(names)  # numbers of lines, not of ranks
    out: dict[tuple[str, ...], Stream] = {}
    shared: Stream = []
    last: tuple[str, ...] = ()
    for at, (line, found) in enumerate(zip(lines, splits, strict=True), start=1):
        who, plain = found or ((), line)
        if found is None and not line.strip():
            who = last
        if who and not counted:
            last = who
            out.setdefault(last, list(shared)).append((at, plain))
            continue
        out.setdefault((), []).append((at, plain))
        if plain.strip() and not mark.search(plain) and not re.match(r"\s*[\d#]", plain):
            shared.append((at, plain))
            for name, stream in out.items():
                if name:
                    stream.append((at, plain))
    return list(out.values())


def whole_lines(text: str) -> tuple[list[str], str]:
    """Return a file's lines, and what stands behind the last line feed: it may have been cut off.

    A number whose last digits are missing looks like any other: only the missing line feed tells.
    Byte order marks are taken off wherever Windows' editors and shells began a file, which may
    have been joined to others since; so are the colours of terminals.
    """
    text = _ESCAPES.sub("", text.replace("\ufeff", "")).replace("\r\n", "\n")
    complete, _, rest = text.rpartition("\n")
    return complete.split("\n"), rest


def _prefixes(
    lines: list[str], mark: re.Pattern[str], place: str, problems: list[str]
) -> list[re.Pattern[str]]:
    """Return patterns of the prefixes of titles and headings, the longest first.

    A prefix without a time must also precede lines that begin with a number, and must contain a
    punctuation mark. Otherwise the first number of each row would count as a prefix.
    """
    found: dict[str, bool] = {}
    unknown: str | None = None
    for at, line in enumerate(map(_joined, lines), start=1):
        title = mark.search(line)
        before = line[: title.start()] if title else ""
        if not before.strip():
            unknown = "" if title else unknown
            continue
        form = _form(before)
        if form not in found:
            compiled = re.compile(form)
            rows = (compiled.match(x) for x in map(_joined, lines))
            found[form] = _TIMES.search(before) is not None or (
                re.search(r"[^\w\s.@/-]|\t", before) is not None
                and any(m and re.match(r"\s*\d", m.string[m.end() :]) for m in rows)
            )
        if not found[form] and unknown is None:
            unknown = (
                f"{place}:{at}: {before.strip()[:60]!r} precedes a title, but is not a "
                "known line prefix: remove it from all lines"
            )
    forms = [form for form, is_prefix in found.items() if is_prefix]
    if unknown and not forms:
        problems.append(unknown)
    return [re.compile(form) for form in sorted(forms, key=len, reverse=True)]


def _form(before: str) -> str:
    """Return the expression of all prefixes like one; a group is what tells its source."""
    out, at = "", 0
    for time in [*_TIMES.finditer(before), None]:
        part = before[at : time.start() if time else len(before)]
        general = "".join(
            _NAME if name else r"\s+" if gap else r"\s*" if blank else re.escape(sign)
            for name, gap, blank, sign in _PARTS.findall(part)
        )
        out += f"({general})" if part else ""
        if time:
            out, at = out + _TIME, time.end()
    return out


def _split(line: str, prefixes: list[re.Pattern[str]]) -> Split | None:
    """Return a line without its prefix, None where it has none."""
    line = _joined(line)
    found = next((m for m in (form.match(line) for form in prefixes) if m), None)
    if found is None:
        return None
    who = tuple(group.strip() for group in found.groups() if group.strip())
    return who, line[found.end() :]


def _joined(line: str) -> str:
    """Return a line without the tags that hydra has put into the midst of it."""
    tag = _HYDRA.match(line)
    return line[: tag.end()] + line[tag.end() :].replace(f"{tag[1]} ", "") if tag else line
