"""Intel MPI Benchmarks' print-outs (IMB-MPI1 Allreduce, Bcast, ...).

A block a benchmark and number of processes: ``# Benchmarking Allreduce``, ``# #processes = 4``, a
line that names the columns, a line a size; the times are over the ranks, per call. Since 2019 calls
are timed one by one, a barrier between them (counted by running 2021.11), unless ``-sync off`` was
given; before that, and of a barrier itself, the calls of a size are a loop. The root stays 0 since
2019 unless ``-root_shift on`` was given (counted, too); before that each call has the next rank as
its root, by the users' guide of those versions: ``i%num_procs in iteration i``.

Of messages between ranks (IMB-MPI1, IMB-MT), PingPong's time is half of a round trip; Uniband and
Biband have 64 messages in flight, and Sendrecv and Exchange are rings whose slowest rank's time is
taken. A MB of IMB-MPI1 is 10^6 bytes or 2^20, by version: the message rate beside it is taken.

Left out is what is no collective of ranks that fill node after node (``-map PxQ``), of whole
buffers (``-contig_type``) in the host's memory (``IMB-MPI1-GPU``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from stretto.imports.evidence import StreamEvidence
from stretto.imports.prefixes import Stream, streams
from stretto.imports.printed import (
    REDUCTIONS,
    ROOTED,
    SAME_SIZES,
    MessageKind,
    Printed,
    Reading,
    TableLine,
    conclude,
    count,
    decimals,
    foreign,
    number,
)

_TITLE = re.compile(r"#\s*Benchmarking\s+(\S+)\s*$")
#: what no other program prints
_MARK = re.compile(
    r"#\s*Benchmarking\s+\S+\s*$|#\s*Intel ?\(R\) MPI Benchmarks|#bytes\s+#repetitions"
)
#: columns of a table of several groups (-multi), which has an empty line before each size
_GROUP = "Group"
_RANKS = re.compile(r"#\s*#processes\s*=\s*(\d+)")
_WAITING = re.compile(r"#\s*\(\s*(\d+) additional process(?:es)? waiting")
_FACTS = {
    "tool": re.compile(r"#\s*Intel ?\(R\) MPI Benchmarks\s*(.*?)(?:, \S+ part)?\s*$"),
    "date": re.compile(r"#\s*Date\s*:\s*(.+?)\s*$"),
    "kernel": re.compile(r"#\s*Release\s*:\s*(\S+)\s*$"),
    "datatype": re.compile(r"#\s*MPI_Datatype\s+:\s*(\w+)"),
    "reductions": re.compile(r"#\s*MPI_Datatype for reductions\s*:\s*(\w+)"),
}
#: the year of the version that first has a barrier after each call, and a root that stays
_SINCE = 2019
_SYNC = re.compile(r"\s-sync\s+(\S+)")
_SHIFT = re.compile(r"\s-root_shift\s+(\S+)")
_MAP = re.compile(r"\s-map\s+(\d+)x(\d+)")
_ORDER = "its ranks are not node after node (-map)"
_REORDERED = "rank order (rowwise)"
_CONTIGUOUS = re.compile(r"\s-contig_type\s+(\S+)")
_GPU = re.compile(r"IMB-MPI1-GPU\b")
_MEMORY = re.compile(r"\s-mem_alloc_type\s+(\S+)")
_COLD = re.compile(r"\s-off_cache\s")
_SIZES = re.compile(r"\s-msg(?:len|size)\s")
#: the first line behind the words of the command
_WORDS_END = re.compile(r"Minimum message length|Message lengths were user defined")
_OFF = ("0", "off", "no", "disable")
_SIZE, _TIMES, _LARGEST, _AVERAGE = "#bytes", "#repetitions", "t_max[usec]", "t_avg[usec]"
_TIME, _RATE, _BANDWIDTH = "t[usec]", "Msg/sec", "Mbytes/sec"
_PAIRS = {
    "pingpong": MessageKind("latency", "us", 1),
    "pingping": MessageKind("pingping", "us", 1),
    "sendrecv": MessageKind("sendrecv", "us"),
    "exchange": MessageKind("exchange", "us"),
    "uniband": MessageKind("bandwidth", "MB/s", None, 64),
    "biband": MessageKind("bidirectional", "MB/s", None, 64),
    # IMB-MT, several threads of a rank, a communicator each; bytes are those of all threads
    "pingpongmt": MessageKind("threads", "us", None, 1, None, "multiple"),
    "unibandmt": MessageKind("bandwidth", "MB/s", None, 64, None, "multiple"),
    "bibandmt": MessageKind("bidirectional", "MB/s", None, 64, None, "multiple"),
}
_THREADS = re.compile(r"\(threads: (\d+)\)")
_WINDOW = re.compile(r"#\s*window_size\s*=\s*(\d+)")
_DEFECTS = "defects"
#: the largest defect that IMB itself lets pass
_TOLERANCE = 0.01


def read(text: str, place: str) -> Reading:
    out = Reading(foreign=foreign(text, "imb"))
    if out.foreign is not None:
        return out
    for stream in streams(text, place, _MARK, out.problems):
        _Reader(out, place).read(stream)
    out.part()
    return out


@dataclass
class _Reader:
    out: Reading
    file: str
    evidence: StreamEvidence = field(default_factory=StreamEvidence)
    facts: dict[str, str] = field(default_factory=dict)
    table: Printed | None = None
    columns: list[str] | None = None
    asked: bool = False
    ended: bool = False
    placed: list[Printed] = field(default_factory=list)

    def read(self, stream: Stream) -> None:
        for at, line in stream:
            place = f"{self.file}:{at}"
            self._facts(line)
            if not self._block(line.strip(), place) and not self._row(line, place):
                if line.lstrip().startswith("#"):
                    self.evidence.comment(line, place)
                else:
                    self.evidence.line(line, place)
        conclude(self.evidence, self.placed)

    def _facts(self, line: str) -> None:
        """Take what IMB says of itself before its blocks."""
        for name, pattern in _FACTS.items():
            if found := pattern.match(line.strip()):
                self.facts[name] = found.group(1)
        if "Calling sequence was" in line:  # the words follow, on as many lines as it takes
            self.asked, self.facts["words"] = True, " "
        elif self.asked:
            self.asked = not _WORDS_END.search(line)
            self.facts["words"] += line.lstrip("# ") + " "

    def _block(self, line: str, place: str) -> bool:
        """Take a line of a block's head; return whether it is one."""
        if title := _TITLE.match(line):
            self.table = _begin(title.group(1), place, self.facts, self.out)
            self.columns, self.ended = None, False
        elif ranks := _RANKS.match(line):
            if self.table is not None and _REORDERED in line:
                self.out.problems.append(_reordered(self.table.place))
                self.table = None
            elif self.table is not None:
                self.table.nranks = count(ranks.group(1))
                if self.table.exchange is not None:
                    self._pairs(self.table, self.table.exchange, line, place)
        elif (window := _WINDOW.match(line)) and self.table is not None:
            if self.table.exchange is not None:
                self.table.exchange = replace(self.table.exchange, window=int(window[1]))
        elif waiting := _WAITING.match(line):
            if self.table is not None:
                self.table.waiting = count(waiting.group(1)) or 0
        elif _LARGEST in line or (self.table is not None and self.table.exchange
                                  and line.startswith(_SIZE)):  # fmt: skip
            self.columns = line.split()
        else:
            return False
        return True

    def _pairs(self, table: Printed, kind: MessageKind, line: str, place: str) -> None:
        """Take the number of threads; leave out what is no pairs of ranks, or of one thread."""
        threads = _THREADS.search(line)
        several = threads is not None and int(threads[1]) > 1
        if kind.threads is None and threads is not None and several:
            table.exchange = replace(kind, threads=int(threads[1]))
        why = ""
        if kind.threads is None and not several:
            why = "of one thread, or of a number that is not printed"
        elif (table.nranks or 0) % 2:
            why = "of an odd number of ranks"
        if why:
            self.out.problems.append(f"{place}: {table.collective} {why}; left out")
            self.table = None

    def _row(self, line: str, place: str) -> bool:
        """Take a line of a table, or the empty one behind it; return whether it is one."""
        if self.table is None or self.columns is None or self.ended:
            if self.table is not None and self.columns and self._line(line.split()):
                self.out.behind(place, line)
                self.table = None
            return not line.strip()
        if not line.strip():
            self.ended = bool(self.table.lines) and _GROUP not in self.columns
            return True
        if not re.match(r"\s*\d", line):
            return False
        if not any(self.table is t for t in self.placed[-1:]):
            self.placed.append(self.table)
            self.table.context = self.evidence.at_table(self.table.collective)
        row = self._line(line.split())
        if self.table.exchange is not None and re.match(r"\s*0\s", line) and row is None:
            return True  # no bandwidth of no bytes
        if row is None or self.table.is_cut(row):
            self.out.problems.append(f"{place}: this line of the table is broken: {line[:60]}")
        elif self.table.goes_on_with(row, bool(_SIZES.search(_words(self.facts)))):
            self.table.lines.append(replace(row, place=place))
        else:
            self.out.behind(place, line)
            self.table = None
        return True

    def _line(self, words: list[str]) -> TableLine | None:
        assert self.table is not None and self.columns is not None
        if self.table.exchange is None:
            return _line(words, self.columns)
        return _message_line(words, self.columns, self.table.exchange)


def _begin(name: str, place: str, facts: dict[str, str], out: Reading) -> Printed | None:
    collective = name.lower()
    why = _why_not(collective, facts)
    if why is not None:
        out.problems.append(f"{place}: {name}: {why}; left out")
        return None
    kind = facts.get("reductions") if collective in REDUCTIONS else facts.get("datatype")
    tool = f"IMB {facts.get('tool', '')}".strip()
    table = Printed(
        collective, None, kind, _mode(collective, facts), tool, place,
        kernel=facts.get("kernel"), date=facts.get("date"), cold=bool(_COLD.search(_words(facts))),
        exchange=_PAIRS.get(collective),
    )  # fmt: skip
    out.tables.append(table)
    return table


def _why_not(collective: str, facts: dict[str, str]) -> str | None:
    words = _words(facts)
    if collective not in (*SAME_SIZES, *_PAIRS):
        return f"not one of {', '.join((*SAME_SIZES, *_PAIRS))}"
    if collective in _PAIRS and _COLD.search(words):
        return "of buffers in no cache (-off_cache)"
    if collective in ROOTED and _root_moves(facts):
        return (
            "its root moves from call to call (-root_shift, or an IMB before 2019), and a result "
            "here is of one root"
        )
    if any("1" not in grid for grid in _MAP.findall(words)[-1:]):
        return _ORDER
    if any(kind.lower() != "base" for kind in _CONTIGUOUS.findall(words)[-1:]):
        return "of a derived datatype (-contig_type), whose packing is in the times"
    if _GPU.search(words) and [m.lower() for m in _MEMORY.findall(words)[-1:]] != ["cpu"]:
        return "of device memory, which is the MPI's"
    return None


def _reordered(place: str) -> str:
    return f"{place}: {_ORDER}; left out"


def _words(facts: dict[str, str]) -> str:
    """Return the words of the command, with a blank before and behind each."""
    return facts.get("words", "")


def _is_new(facts: dict[str, str]) -> bool:
    year = re.match(r"\d{4}", facts.get("tool", ""))
    return year is not None and int(year[0]) >= _SINCE


def _root_moves(facts: dict[str, str]) -> bool:
    words = _SHIFT.findall(_words(facts))
    return words[-1].lower() not in _OFF if words else not _is_new(facts)


def _mode(collective: str, facts: dict[str, str]) -> Literal["latency", "throughput"]:
    """Return whether the ranks met before each call."""
    words = _SYNC.findall(_words(facts))
    met = words[-1].lower() not in _OFF if words else _is_new(facts)
    return "latency" if met and collective != "barrier" else "throughput"


def _line(words: list[str], columns: list[str]) -> TableLine | None:
    if len(words) != len(columns):
        return None
    row = dict(zip(columns, words, strict=True))
    size, times = count(row.get(_SIZE, "0")), count(row.get(_TIMES, "1"))
    values = [number(row[c]) for c in (_AVERAGE, _LARGEST) if c in row]
    if size is None or times is None or None in values or _LARGEST not in row:
        return None
    average = number(row[_AVERAGE]) if _AVERAGE in row else None
    try:
        correct = float(row.get(_DEFECTS, "0")) <= _TOLERANCE
    except ValueError:
        return None
    digits = min(decimals(row[c]) for c in (_AVERAGE, _LARGEST) if c in row)
    return TableLine(size, average, number(row[_LARGEST]), times, correct, digits)


def _message_line(words: list[str], columns: list[str], kind: MessageKind) -> TableLine | None:
    if len(words) != len(columns):
        return None
    row = dict(zip(columns, words, strict=True))
    size, times = count(row.get(_SIZE, "")), count(row.get(_TIMES, ""))
    threads = kind.threads or 1
    rate = _RATE if threads == 1 else _BANDWIDTH  # in IMB-MT a MB has always been 10^6 bytes
    name = next((n for n in (_TIME, _LARGEST, rate) if n in row), None)
    value = number(row[name]) if name else None
    if size is None or times is None or name is None or value is None:
        return None
    size //= threads
    if name == _RATE:  # to the message, and in no unit that has changed
        value *= 1e-6 * size
        if not size:
            return None
    elif kind.test == "threads":
        value *= 2  # of half of a round trip
    return TableLine(size, value, None, times, decimals=decimals(row[name]))
