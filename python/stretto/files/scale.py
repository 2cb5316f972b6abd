"""Measured scaling: append-only JSON lines, a run a line (``NAME.scale.jsonl``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stretto.errors import StrettoError
from stretto.files.append import LineDocument, LineFile, line_of
from stretto.files.identity import Host, MPIIdentity
from stretto.files.io import parse_json, read_text
from stretto.files.program import ProgramFile, changed
from stretto.files.schema import decode
from stretto.files.verdict import Metric

WHAT = "measured scaling"
Kind = Literal["native", "tuned"]
_ANEW = "start again with --restart (the old file is kept), or give another --out"


@dataclass
class ScaleHeader:
    """The first line: what was measured, where, and with which command (as it was typed).

    `energy`: where the energy of the runs comes from, in words; None: it was not measured.
    """

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity
    command: list[str]
    metric: Metric
    seed: int = 1
    programs: list[ProgramFile] | None = None
    environment: dict[str, str] | None = None
    energy: str | None = None


@dataclass
class ScaleRun:
    """One run of the command.

    `value`: the metric's; None when the run failed. `wall_s`: seconds from the launcher's start to
    its end. `ranks`: on how many it ran, by its command line or by what a rank told; None: not
    known. `calls`: of a tuned run: calls that Stretto carried out. `threads_seen`: whether a rank
    was seen to have the threads of its point; one run of a point is looked at. `others`: share of
    the processors' time that others used just before; None: not known. `energy_j`: None: not
    measured.
    """

    nodes: int
    ppn: int
    threads: int | None
    kind: Kind
    round: int
    value: float | None
    wall_s: float
    status: int
    ranks: int | None = None
    calls: int | None = None
    detail: str = ""
    threads_seen: bool = False
    others: float | None = None
    energy_j: float | None = None


@dataclass
class ScaleFile:
    """A whole file; `truncated`: a half-written last line was dropped."""

    header: ScaleHeader
    runs: list[ScaleRun] = field(default_factory=list)
    truncated: bool = False


LINES = LineDocument("stretto-scale", ScaleHeader, WHAT)


def parse_scale(text: str, place: str) -> ScaleFile:
    header, lines, truncated = LINES.parse(text, place)
    scale = ScaleFile(header, truncated=truncated)
    for number, line in enumerate(lines, start=2):
        where = f"{place}:{number}"
        run = decode(ScaleRun, parse_json(line, place, "a run", number), where)
        if min(run.nodes, run.ppn, run.threads or 1) < 1 or run.wall_s < 0:
            raise StrettoError("nodes, ppn, threads and wall_s must be positive", where)
        scale.runs.append(run)
    return scale


def read_scale(path: Path) -> ScaleFile:
    return parse_scale(read_text(path, WHAT, "make one with: stretto scale -- CMD"), str(path))


class ScaleWriter(LineFile):
    """Appends runs to a file, or goes on with one; use it in a ``with`` statement."""

    def __init__(self, path: Path, header: ScaleHeader) -> None:
        self.previous = ScaleFile(header)
        super().__init__(path, "another stretto scale", "a run")
        try:
            if text := self.begin(LINES.first(header)):
                self._resume(text, header)
        except BaseException:
            self.close()
            raise

    def _resume(self, text: str, header: ScaleHeader) -> None:
        self.previous = parse_scale(text, str(self.path))
        old = self.previous.header
        facts = (
            ("command", old.command, header.command),
            ("metric", old.metric, header.metric),
            ("CPU", old.host.cpu, header.host.cpu),
        )
        self.go_on(text, self.previous.truncated, facts, _ANEW)
        mine = [Path(p.path) for p in header.programs or []]
        other = changed(old.programs, mine) if old.programs else None
        if other is not None:
            raise StrettoError(
                f"{other} has changed since {old.created}, but these results are of the old one",
                f"{self.path}:1", _ANEW,
            )  # fmt: skip

    def write(self, run: ScaleRun) -> None:
        """Append one run, and bring it to disk: each has cost its time."""
        self.append(line_of(run), sync=True)
