"""What the text between a log's tables says of how they were measured.

Commands, variables, the MPI's name, an algorithm's, the size of the job: what was said last before
a table counts for it. A command's settings are its own; an exported one stays until it is changed.
What is said of a table behind it cannot be told from what is said of the next one: it is refused.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from stretto.imports.launches import VARIABLE, LaunchLine, launch_in, matters
from stretto.imports.mpis import named_by, named_in
from stretto.imports.pattern import DEFAULTS
from stretto.mpi.algorithms.openmpi_names import HAN, TUNED

_ASSIGNED = re.compile(
    rf"(?<![\w$])({VARIABLE}|coll_\w+)(?:\s*[=:]\s*|\s+(?=\d+\b))(\"[^\"]*\"|'[^']*'|[^\s;\"'`)]+)"
)
_MAY_SET = re.compile(r"unset|_|mca|export")
_SETENV = re.compile(rf"\bsetenv\s+({VARIABLE})\s+(\S+)")
_UNSET = re.compile(r"\bunset(?:env)?\s+(?:-v\s+)?((?:[A-Za-z_]\w*\s*)+)")
_MCA = re.compile(r"(?<!\S)`?-{1,2}g?mca\s+(\S+)\s+([^\s`,;]+)")
_FIRM = re.compile(r"\b(?:export|declare|setenv|typeset|env)\b")
#: commands that may choose another MPI
_PREPARES = re.compile(
    r"\++\s+(?:source|\.|spack load|conda activate|module|ml|(?:export\s+)?(?:LD_\w+|PATH)=)"
)
_TRACED = re.compile(r"\s*\++\s")
#: what a person or a shell writes before a command
_PROMPT = re.compile(r"\s*(?:\++\s+|\S*[\])~:\w][$#%]\s+|[$%]\s+|>\s+)")

#: words behind "algorithm" that are none's name
_STOP = (
    "is|are|was|were|used|uses|using|for|of|in|to|and|or|the|selection|selected|that|which|with|by"
    "|from|on|has|can|available|list|names?|numbers?|based|it|this|as|at"
)
_WORD = re.compile(
    r"(?:\b|_)(?:algorithm|algo|alg|variant)s?(?=[\d _:=#-])"
    r"[ \t#:=_-]{0,9}(?:(?:no\.?|number|id|nr\.?)(?![a-z]))?[ \t#:=_-]{0,9}"
    rf"['\"]?(\d+|(?!(?:{_STOP})\b)[A-Za-z][\w+-]*)",
    re.IGNORECASE,
)
_SIZES = (
    ("ppn", r"(\d+)\s*(?:MPI )?(?:ranks?|processes|procs|tasks|ppn)\s*(?:/|per)\s*node"),
    (
        "ppn",
        r"\b(?:ppn|npernode|(?:ranks?|processes|procs|tasks)[ _-]per[ _-]node)\s*[=:]?\s*(\d+)",
    ),
    ("ppn", r"\b(\d+)\s*ppn\b"),
    ("nranks", r"\b(\d+)\s+(?:MPI )?(?:ranks|processes|procs|tasks|cores)\b(?!\s*(?:/|per))"),
    (
        "nranks",
        r"(?<![\w-])-{0,2}(?:np|n_?procs|n_?ranks|n_?tasks|ranks|processes|procs|tasks)"
        r"\s*[=:_-]?\s*(\d+)",
    ),
    ("nodes", r"\b(\d+)[ -]+nodes?\b"),
    ("nodes", r"\b(?:n_?nodes|nodes)\s*[=:]?\s*(\d+)"),
)
_MAY_SIZE = re.compile(
    r"\d[ -]*(?:MPI )?(?:rank|proc|task|ppn|node|core)|(?:np|procs|ranks|tasks|processes|node|nodes"
    r"|ppn|npernode)\s*[=:_-]?\s*\d",
    re.IGNORECASE,
)
_COMPILED = tuple((kind, re.compile(form, re.IGNORECASE)) for kind, form in _SIZES)

_COUNTS = (
    "run|rep|repeat|repetition|iteration|iter|trial|launch|pass|attempt|try|round|loop|sample|job"
    "|jobid|pid|step|seed|experiment"
)
#: what differs from launch to launch: dates, times, hosts, numbers of runs and jobs
_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[t ]?|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?|\b0x[0-9a-f]+\b|\[[^\]]*\]"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\w*\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s+\d+"
    r"|\b(?:utc|gmt|ce?s?t|[ecmp][ds]t|am|pm)\b(?:\s+\d{4})?|\b(?:real|user|sys)\s+\S+"
    rf"|\b(?:{_COUNTS})s?\b[ \t]*[#:=_-]*[ \t]*(?:no\.?|number|id)?[ \t]*[#:=_-]*"
    r"\s*(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)?(?:[ \t]*(?:/|of)[ \t]*\d+)?"
    r"|\b(?:first|second|third|fourth|fifth|sixth|last|\d+(?:st|nd|rd|th))\b"
    r"|\b\d+(?:\.\d+)?\s*(?:s|sec|seconds|min|minutes|h|hours)\b"
    r"|\b(?:host(?:name|s)?|node(?:list|s)?)\s*[:=]\s*\S+|\bip(?:-\d+){4}\b"
    r"|\bon\s+[a-z][\w.-]*\[[\d,-]+\]"
    r"|\bon\s+(?:node\s+|host\s+)?[a-z][\w.-]*\d[\w.-]*|\w*(?:job_?id|pid)\w*\s*[=:]?\s*\d+"
    rf"|\b(?:{_COUNTS}|[a-z]+-?(?:node|host|cn|gpu|cpu|compute)|node|host|cn|compute)[_-]?\d+\b",
)
_TIMED = re.compile(r"elapsed|\btime\b|took|duration|load|walltime|finished|completed")
ALGORITHM_NAMES = frozenset(
    word for names in (*TUNED.values(), *HAN.values()) for word in names.split()
)
#: so many lines before a table are compared with those before others
MOST_LINES = 30
#: so much of a line is looked at, for commands and for words
LONGEST, LONGEST_WORDS = 10_000, 300
DEFAULT_WORDS = (*DEFAULTS, "baseline", "ignore", "none")
_BY_ITSELF = re.compile(rf"\b(?:{'|'.join(DEFAULT_WORDS[:2])}|baseline)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """What a line or a file's name says, and where it stands; `remedy`: how to say it, if known."""

    value: str
    place: str
    remedy: str = ""


@dataclass
class Context:
    """All that was said before a table.

    `lines`: those since the table before it, by what of them lasts. `unclear`: why it cannot be
    told what was said of this table, with the place.
    """

    mpis: tuple[Said, ...] = ()
    settings: Mapping[str, Said] = field(default_factory=dict)
    launch: LaunchLine | None = None
    place: str = ""
    algorithm: Said | None = None
    size: Said | None = None
    lines: Mapping[str, Said] = field(default_factory=dict)
    unclear: Said | None = None

    @property
    def says_anything(self) -> bool:
        return bool(self.launch or self.settings or self.mpis or self.algorithm or self.unclear)


@dataclass(frozen=True)
class _Command:
    launch: LaunchLine
    place: str
    mpis: tuple[Said, ...]
    shown: bool  # by the shell as it ran it


class StreamEvidence:
    """Gathers what one stream's lines say; `at_table` gives what holds for the next table."""

    def __init__(self) -> None:
        self._now = Context()
        self._environment: dict[str, Said] = {}
        self._words: dict[str, Said] = {}
        self._commands: list[_Command] = []
        self._loose: dict[str, int] = {}
        self._gap = 0
        self._fresh: set[str] = set()
        self._given: list[Context] = []
        self._begun = ""
        self._lines: deque[Said] = deque(maxlen=MOST_LINES)

    def line(self, text: str, place: str) -> None:
        text = f"{self._begun}{text.strip()}"[:LONGEST]
        if text.endswith("\\"):  # the next line goes on
            self._begun = text.rstrip("\\")
            return
        self._begun = ""
        launch = launch_in(text)
        if launch is None:
            self._mpis(text, place)
        else:
            if "commands" not in self._fresh:
                self._commands, self._words = [], {}
            self._fresh.add("commands")
            shown = bool(_PROMPT.match(text))
            names = named_in(text) or named_by(launch.paths)
            mpis = tuple(Said(words, place) for words in names)
            self._commands.append(_Command(launch, place, mpis, shown))
            return
        if not self._assignments(text, place):
            self._in_words(text[:LONGEST_WORDS], place)

    def comment(self, text: str, place: str) -> None:
        """Take a line of a benchmark's own remarks: commands and variables alone."""
        text = text.strip().lstrip("# ")
        if launch_in(text) is not None or _ASSIGNED.search(text):
            self.line(text, place)

    def _mpis(self, text: str, place: str) -> None:
        if re.search(r"\bmodule\s+(?:purge|unload|rm|swap|switch)\b", text):
            self._now = replace(self._now, mpis=())
        found = [Said(words, place) for words in named_in(text)]
        if not found:
            return
        before = self._now.mpis if "mpis" in self._fresh else ()
        self._fresh.add("mpis")
        known = {s.value for s in before}
        new = (s for s in found if s.value not in known)
        self._now = replace(self._now, mpis=(*before, *new))

    def _assignments(self, text: str, place: str) -> bool:
        """Take variables that a line sets, shows or removes."""
        found = False
        if not _MAY_SET.search(text):
            return False
        for names in _UNSET.findall(text):
            for name in names.split():
                found = self._environment.pop(_plain(name), None) is not None or found
                self._fresh.add("settings")
        for name, value in [*_ASSIGNED.findall(text), *_SETENV.findall(text)]:
            if "(default)" in text or not matters(name):
                continue
            found = True
            self._fresh.add("settings")
            self._environment[_plain(name)] = Said(value.strip("\"'"), place)
            self._loose.pop(_plain(name), None)
            if _TRACED.match(text) and not _FIRM.search(text):
                self._loose[_plain(name)] = self._gap
        for name in re.findall(r"\bexport\s+(\w+)\s*$", text):
            self._loose.pop(_plain(name), None)
        words = {n: Said(v, place) for n, v in _MCA.findall(text) if matters(n)}
        if words:
            self._words = words if "words" not in self._fresh else {**self._words, **words}
            self._fresh |= {"words", "settings"}
            found = True
        return found

    def _in_words(self, text: str, place: str) -> None:
        text = re.sub(r"^\++\s+(?:echo|printf)\s+(?:-\w+\s+)?", "", text).strip("'\"` ")
        if re.match(r"\++\s", text) and not _PREPARES.match(text):
            return  # another command, as the shell shows it
        if word := _WORD.search(text):
            self._fresh.add("algorithm")
            self._now = replace(self._now, algorithm=Said(word[1].lower(), place))
        elif _BY_ITSELF.search(text) and len(re.findall(r"\w+", text)) < 4:
            self._fresh.add("algorithm")
            self._now = replace(self._now, algorithm=Said("default", place))
        if words := sizes_in(text) or _hosts_in(text):
            self._now = replace(self._now, size=Said(words, place))
        self._lines.append(Said(text, place))

    def number(self, text: str, place: str) -> None:
        """Take a line that is a number alone and no table's: what it counts is not known."""
        self._lines.append(Said(text.strip(), place))

    def at_table(self, collective: str | None) -> Context:
        """Return what holds for a table, whose first line of numbers was read."""
        context = replace(self._now, lines=_telling(self._lines))
        command, unclear = self._command(collective)
        settings = {**self._environment, **self._words}
        if command is not None:
            settings |= {_plain(n): Said(v, command.place) for n, v in command.launch.settings}
            context = replace(context, launch=command.launch, place=command.place)
            if command.mpis:
                beside = self._now.mpis if "mpis" in self._fresh else ()
                context = replace(context, mpis=(*beside, *command.mpis))
        for name, gap in self._loose.items():
            if gap != self._gap and "commands" in self._fresh and name in settings:
                unclear = replace(settings[name], value=f"whether {name} was still set")
        set_here = "settings" in self._fresh or (command is not None and command.launch.settings)
        if set_here and "algorithm" not in self._fresh:  # what was said in words is over
            self._now = replace(self._now, algorithm=None)
            context = replace(context, algorithm=None)
        context = replace(context, settings=settings, unclear=unclear)
        self._given.append(context)
        self.passed()
        return context

    def passed(self) -> None:
        """Begin a new gap: a table, taken or not, ends what was said for it."""
        self._gap += 1
        self._fresh = set()
        self._lines.clear()

    def _command(self, collective: str | None) -> tuple[_Command | None, Said | None]:
        mine = [c for c in self._commands if _may_print(c.launch.program, collective)]
        if not mine:
            return None, None
        if all(not c.shown for c in mine) or "commands" not in self._fresh:
            kinds = {(x.settings, x.nranks, x.nodes, x.ppn) for x in (c.launch for c in mine)}
            if len(kinds) > 1:
                return mine[-1], Said("which of several commands printed a table", mine[0].place)
        return mine[-1], None

    def finish(self) -> None:
        """Mark tables of which something was said behind them alone."""
        if not self._given:
            return
        first, last = self._given[0], self._given[-1]
        behind: Said | None = None
        if "settings" in self._fresh and not first.settings:
            after = {**self._environment, **self._words}
            behind = next((s for n, s in after.items() if last.settings.get(n) != s), None)
        if "algorithm" in self._fresh and first.algorithm is None:
            behind = behind or self._now.algorithm
        if not first.lines:
            behind = behind or _alike(last.lines, _telling(self._lines))
        if behind is not None:
            words = "whether this line belongs to the table before or after it"
            for context in self._given:
                context.unclear = replace(behind, value=words)
            return
        at = next((i for i, c in enumerate(self._given) if c.launch and c.launch.settings), 0)
        for context in self._given[:at]:
            if context.launch is None:
                context.unclear = Said("which command printed a table", self._given[at].place)


def _alike(before: Mapping[str, Said], behind: Mapping[str, Said]) -> Said | None:
    """Return a line behind the last table that differs in a word from one before it."""
    for one, (other, said) in itertools.product(before, behind.items()):
        words, others = one.split(), other.split()
        unlike = sum(a != b for a, b in zip(words, others, strict=False))
        if len(words) == len(others) and 0 < unlike < len(words):
            return said
    return None


def _telling(lines: Iterable[Said]) -> dict[str, Said]:
    """Return the lines that say something, by their words without what differs between launches."""
    out: dict[str, Said] = {}
    for said in lines:
        lasting = said.value.lower()
        if not lasting.isdecimal():
            lasting = _CHANGING.sub(" ", lasting)
        if _TIMED.search(lasting):
            lasting = re.sub(r"\d[\d.:]*", "", lasting)
        words = " ".join(re.findall(r"[\w.+@%/]+", lasting))
        # of openmpi@4.1.5%gcc@12 the compiler counts, too
        if re.search(r"\w", words) and ("%" in words or not named_in(said.value)):
            out.setdefault(words, replace(said, value=words))
    return out


def _may_print(program: str, collective: str | None) -> bool:
    return collective is None or not program.startswith("osu_") or program == f"osu_{collective}"


def _plain(name: str) -> str:
    return name.removeprefix("OMPI_MCA_")


def _hosts_in(text: str) -> str:
    """Return the number of nodes that Slurm's list names: ``on n[01-04,7]``."""
    if not re.search(r"\bon\b|node|host", text, re.IGNORECASE):
        return ""
    nodes = 0
    for ranges in re.findall(r"[A-Za-z][\w.-]*\[([\d,-]{1,200})\]", text):
        for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", ranges):
            nodes += int(last or first) - int(first) + 1
    return f"nodes {nodes}" if nodes > 0 else ""


def sizes_in(text: str) -> str:
    """Return what a text says of a job's size (``nodes 4, ppn 8``), empty where it says nothing."""
    sizes: dict[str, str] = {}
    if not _MAY_SIZE.search(text):
        return ""
    for kind, form in _COMPILED:
        if kind not in sizes and (size := form.search(text)):
            sizes[kind] = size[1]
    return ", ".join(f"{kind} {sizes[kind]}" for kind in sorted(sizes))
