"""Settings of the MPI that were tried on the user's own command (``NAME.settings.json``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stretto.files.document import Document
from stretto.files.identity import Host, MPIIdentity
from stretto.files.outcome import Outcome
from stretto.files.program import ProgramFile
from stretto.files.verdict import Compared, GainInterval, Metric

NATIVE = "native"


@dataclass
class SettingRun:
    """One run of the command.

    `beside`: the setting or combination that is confirmed: fresh runs of it, of native, and of the
    best without it. None: a run of the first part. `round`: counts from 0 in each of these.
    """

    setting: str
    round: int
    value: float | None
    wall_s: float
    status: int
    detail: str = ""
    beside: str | None = None
    #: share of the processors' time that others used just before; None: not known
    others: float | None = None


@dataclass
class Tried:
    """What became of one setting.

    `outcome`: ``faster``, ``slower``, ``same``, ``inconclusive``, ``dropped`` (not faster in the
    first rounds, so that no more runs were spent on it) or ``failed``. Of a combination: against
    the best without it. `gain`: against native, in the first part (of a combination: in its fresh
    runs). `parts`: names of the settings that it puts together; none: it is one of its
    own.
    """

    name: str
    what: str
    environment: dict[str, str]
    outcome: str = "inconclusive"
    why: str = ""
    gain: GainInterval | None = None
    parts: list[str] = field(default_factory=list)


@dataclass
class SettingsFile:
    """What was tried on one command, and what was chosen.

    `confirmed`: the gain of the chosen one in its fresh runs. `conclusion`: as in a verdict.
    `outcome`: of the search: ``faster`` (a setting was chosen), ``same`` (all were tested, none is
    faster) or ``inconclusive``.
    """

    stretto: str
    created: str
    host: Host
    mpi: MPIIdentity
    command: list[str]
    metric: Metric
    nodes: int | None
    ppn: int | None
    tried: list[Tried]
    runs: list[SettingRun] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)
    setting: str | None = None
    confirmed: GainInterval | None = None
    outputs: str | None = None
    compared: list[Compared] = field(default_factory=list)
    conclusion: list[str] = field(default_factory=list)
    outcome: Outcome = "inconclusive"
    programs: list[ProgramFile] | None = None
    environment: dict[str, str] | None = None


def _problems(found: SettingsFile) -> Iterator[str]:
    names = {t.name: t for t in found.tried}
    if len(names) != len(found.tried) or NATIVE in names:
        yield "a setting occurs twice, or is called native"
    for run in found.runs:
        for name in (run.setting, run.beside):
            if name not in (None, NATIVE, *names):
                yield f"a run is of {name!r}, which was not tried"
        if run.wall_s < 0:
            yield "a run has a negative wall time"
    for t in found.tried:
        if not names.keys() >= set(t.parts):
            yield f"{t.name!r} combines settings that were not tried"
    if min(found.nodes or 1, found.ppn or 1) < 1:
        yield "nodes and ppn must be at least 1"
    chosen = names.get(found.setting or "")
    if found.chosen != (chosen.environment if chosen else {}) or (found.setting and not chosen):
        yield f"{found.setting!r} was chosen, but not tried like that"


DOCUMENT = Document(
    "stretto-settings", SettingsFile, "tried settings", "stretto settings -- CMD", _problems
)
read_settings, write_settings = DOCUMENT.read, DOCUMENT.write
