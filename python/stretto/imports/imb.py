"""Output of the Intel MPI Benchmarks (IMB-MPI1 Allreduce, Bcast, ...).

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

from stretto.imports.printed import (
    REDUCTIONS,
    SAME_SIZES,
    Columns,
    MessageKind,
    Printed,
    Reading,
    StreamReader,
    TableLine,
    count,
    read_streams,
    row_of,
)

_TITLE = re.compile(r"#\s*Benchmarking\s+(\S+)\s*$")
#: what no other program prints
_MARK = re.compile(
    r"#\s*Benchmarking\s+\S+\s*$|#\s*Intel ?\(R\) MPI Benchmarks|#bytes\s+#repetitions"
)
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
_ORDER = "its ranks do not fill one node after another (-map)"
_ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")
_REORDERED = "rank order (rowwise)"
_CONTIGUOUS = re.compile(r"\s-contig_type\s+(\S+)")
_GPU = re.compile(r"IMB-MPI1-GPU\b")
_MEMORY = re.compile(r"\s-mem_alloc_type\s+(\S+)")
_COLD = re.compile(r"\s-off_cache\s")
_SIZES = re.compile(r"\s-msg(?:len|size)\s")
#: the first line behind the words of the command
_WORDS_END = re.compile(r"Minimum message length|Message lengths were user defined")
_OFF = ("0", "off", "no", "disable")
_SIZE, _LARGEST, _RATE = "#bytes", "t_max[usec]", "Msg/sec"
#: IMB itself lets a defect of a hundredth pass
_COLUMNS = Columns(_SIZE, ("t_avg[usec]",), _LARGEST, "#repetitions", ("defects", 0.01))
_TIMES = ("t[usec]", _LARGEST)
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


def read(text: str, place: str) -> Reading:
    return read_streams(text, place, "imb", _MARK, _Reader)


@dataclass
class _Reader(StreamReader):
    """`facts`: what IMB says of itself before its blocks; `asked`: its command is being read."""

    facts: dict[str, str] = field(default_factory=dict)
    asked: bool = False

    def line(self, line: str, place: str) -> None:
        self._facts(line)
        if not self._block(line.strip(), place) and not self._row(line, place):
            if line.lstrip().startswith("#"):
                self.evidence.comment(line, place)
            else:
                self.evidence.line(line, place)

    @property
    def _words(self) -> str:
        """The words of the command, with a blank before and behind each."""
        return self.facts.get("words", "")

    def _facts(self, line: str) -> None:
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
        table = self.table
        if title := _TITLE.match(line):
            self._begin(title.group(1), place)
        elif ranks := _RANKS.match(line):
            if table is not None:
                table.nranks = count(ranks.group(1))
                self._check_ranks(table, line, place)
        elif window := _WINDOW.match(line):
            if table is not None and table.exchange is not None:
                table.exchange = replace(table.exchange, window=count(window[1]))
        elif waiting := _WAITING.match(line):
            if table is not None:
                table.waiting = count(waiting.group(1)) or 0
        elif _LARGEST in line or (table is not None and table.exchange and line.startswith(_SIZE)):
            self.columns = line.split()
        else:
            return False
        return True

    def _begin(self, name: str, place: str) -> None:
        self.begin(None)
        collective = name.lower()
        why = _why_not(collective, self.facts, self._words)
        if why is not None:
            self.problem(place, f"{name}: {why}; left out")
            return
        reduces = collective in REDUCTIONS
        self.begin(Printed(
            collective, None, self.facts.get("reductions" if reduces else "datatype"),
            _mode(collective, self.facts, self._words), f"IMB {self.facts.get('tool', '')}".strip(),
            place, kernel=self.facts.get("kernel"), date=self.facts.get("date"),
            cold=bool(_COLD.search(self._words)), exchange=_PAIRS.get(collective),
        ))  # fmt: skip

    def _check_ranks(self, table: Printed, line: str, place: str) -> None:
        """Take the number of threads; leave out what is no pairs of ranks, or of one thread."""
        kind, found = table.exchange, _THREADS.search(line)
        threads = (count(found[1]) or 0) if found else 1
        why = None
        if _REORDERED in line:
            why = _ORDER
        elif kind is not None and kind.threads is None and threads < 2:
            why = "of one thread, or of a number that is not printed"
        elif kind is not None and (table.nranks or 0) % 2:
            why = "of an odd number of ranks"
        elif kind is not None and kind.threads is None:
            table.exchange = replace(kind, threads=threads)
        if why is not None:
            self.problem(place, f"{table.collective}: {why}; left out")
            self.table = None

    def _row(self, line: str, place: str) -> bool:
        """Take a line of a table, or the empty one behind it; return whether it is one."""
        table = self.table
        if not line.strip():
            # tables of several groups (-multi) have an empty line before each size
            groups = "Group" in (self.columns or ())
            if table is not None and table.lines and not groups and not self.ended:
                self.end()
            return True
        if table is None or self.columns is None or not re.match(r"\s*\d", line):
            return False
        found = self._line(table, line)
        if self.ended and found is None:  # a heading of what follows, "4 nodes"
            return False
        nothing = table.exchange is not None and re.match(r"\s*0\s", line)
        if found is not None or not nothing:  # no bandwidth of no bytes
            self.row(line, found, place, bool(_SIZES.search(self._words)))
        return True

    def _line(self, table: Printed, line: str) -> TableLine | None:
        row = row_of(line.split(), self.columns)
        if row is None or table.exchange is None:
            return None if row is None else _COLUMNS.line(row)
        return _message(row, table.exchange)


def _message(row: dict[str, str], kind: MessageKind) -> TableLine | None:
    threads = kind.threads or 1
    # in IMB-MT a MB has always been 10^6 bytes
    times = (*_TIMES, _RATE if threads == 1 else "Mbytes/sec")
    line = replace(_COLUMNS, average=times, largest="").line(row)
    if line is None or line.average is None:
        return None
    size, value = line.bytes // threads, line.average
    if _RATE in row and not set(_TIMES) & set(row) and threads == 1:
        value *= 1e-6 * size  # to the message, and in no unit that has changed
    elif kind.test == "threads":
        value *= 2  # of half of a round trip
    return replace(line, bytes=size, average=value) if value else None


def _why_not(collective: str, facts: dict[str, str], words: str) -> str | None:
    if collective not in (*SAME_SIZES, *_PAIRS):
        return f"not one of {', '.join((*SAME_SIZES, *_PAIRS))}"
    if collective in _PAIRS and _COLD.search(words):
        return "of buffers in no cache (-off_cache)"
    if collective in _ROOTED and _last(_SHIFT, words, "on" if _year(facts) < _SINCE else "off"):
        return (
            "its root changes from call to call (-root_shift, or IMB before 2019), but a "
            "result needs one root"
        )
    if any("1" not in grid for grid in _MAP.findall(words)[-1:]):
        return _ORDER
    if any(kind.lower() != "base" for kind in _CONTIGUOUS.findall(words)[-1:]):
        return "of a derived datatype (-contig_type): the times include packing"
    if _GPU.search(words) and [m.lower() for m in _MEMORY.findall(words)[-1:]] != ["cpu"]:
        return "of device memory, which Stretto leaves to the MPI"
    return None


def _year(facts: dict[str, str]) -> int:
    year = re.match(r"\d{4}", facts.get("tool", ""))
    return int(year[0]) if year else 0


def _last(option: re.Pattern[str], words: str, default: str) -> bool:
    """Return whether an option is on, as it was given last."""
    return [default, *option.findall(words)][-1].lower() not in _OFF


def _mode(collective: str, facts: dict[str, str], words: str) -> Literal["latency", "throughput"]:
    """Return whether the ranks met before each call."""
    met = _last(_SYNC, words, "off" if _year(facts) < _SINCE else "on")
    return "latency" if met and collective != "barrier" else "throughput"
