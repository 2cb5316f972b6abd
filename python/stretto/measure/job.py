"""The job that stretto-bench reads, and the lines that it writes (see src/bench/job.c)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stretto.errors import StrettoError
from stretto.files.bench import Excluded, Sample
from stretto.files.parse import json_value
from stretto.files.usage import Usage
from stretto.measure.settings import Case, Settings

STATUS_BYTES = 512


@dataclass(frozen=True)
class Status:
    """What stretto-bench is at: cases done and in all, and what it runs now."""

    done: int
    total: int
    collective: str
    bytes: int
    candidate: str


def format_job(
    settings: Settings,
    launch: int,
    cases: Sequence[Case],
    output: Path,
    status: Path,
    budget_s: float,
    written: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> str:
    """Return the text of a job.

    `budget_s`: for this launch; 0 for none.
    `written`: by candidate, the control variables that the program sets for it, and their numbers.
    """
    for path in (output, status):
        if "\n" in str(path):
            raise StrettoError("a file name with a line break cannot be used here", path)
    lines = [
        "stretto-job 1",
        f"output {output}",
        f"status {status}",
        f"variant {settings.variant_of(launch)}",
        f"launch {launch}",
        f"seed {settings.seed * 1000003 + launch}",
        f"budget {budget_s:.3f}",
        f"ci {settings.relative_ci}",
        f"batch {settings.batch_us}",
        f"batches {settings.batches[0]} {settings.batches[1]}",
        f"buffers {'cold' if settings.cold else 'warm'}",
        f"calls {settings.calls}",
        f"modes {','.join(settings.modes)}",
        f"yield {int(settings.oversubscribed)}",
        f"reference {int(settings.reference)}",
    ]
    for case in cases:
        lines.append(
            f"case {case.collective} {case.bytes} {case.datatype} {case.operation} {case.root}"
            f" {case.pattern}".rstrip()
        )
        for candidate in case.candidates:
            lines.append(f"candidate {candidate}")
            lines += [f"set {name} {value}" for name, value in (written or {}).get(candidate, ())]
    return "\n".join([*lines, "end", ""])


def read_status(path: Path) -> Status | None:
    """Return what the program is at, None when it has not come so far."""
    try:
        line = path.read_bytes()[:STATUS_BYTES].split(b"\n")[0].decode("ascii", "replace")
    except OSError:
        return None
    words = line.split()
    if len(words) != 6 or not all(words[i].isdecimal() for i in (0, 1, 3)):
        return None
    return Status(int(words[0]), int(words[1]), words[2], int(words[3]), words[4])


def parse_line(text: str, launch: int) -> dict[str, Any] | None:
    """Return a complete line of the program as a dict; None for one that is none of ours.

    `launch`: the launch that it must belong to.
    """
    try:
        value = json_value(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("launch") != launch:
        return None
    return value


def parse_usage(value: dict[str, Any]) -> Usage:
    return Usage(
        value["wall_s"], value["cpu_s"], value.get("core_wait_s"), value["involuntary"],
        value.get("load"), value["cores"],
    )  # fmt: skip


def parse_sample(value: dict[str, Any]) -> Sample | Excluded | None:
    """Return what the results file keeps of a sample line; None: nothing was timed.

    A candidate that was refused, gave wrong results, or was silently left to the MPI is an
    exclusion: its times, if any, are those of something else.
    """
    launch, collective = int(value["launch"]), str(value["collective"])
    candidate, size = str(value["candidate"]), int(value["bytes"])
    detail, done_by = str(value.get("detail", "")), str(value.get("done_by", ""))

    def gone(reason: str, words: str) -> Excluded:
        return Excluded(launch, collective, candidate, size, reason, words)  # type: ignore[arg-type]

    if value.get("refused"):
        return gone("refused", detail)
    if not value["correct"]:
        return gone("wrong", detail)
    if not candidate.startswith(("native", "bare")) and done_by.startswith("native"):
        return gone("not_done", f"the library left it to the MPI ({done_by})")
    if not value["times_us"]:
        return None
    return Sample(
        launch=launch,
        collective=collective,
        candidate=candidate,
        bytes=size,
        datatype=value["datatype"],
        operation=value["operation"],
        root=int(value["root"]),
        mode=value["mode"],
        batch=max(1, int(value["batch"])),
        times_us=value["times_us"],
        correct=True,
        missed=int(value.get("missed", 0)),
        reference_us=value.get("reference_us"),
        flag_ns=value.get("flag_ns"),
        pattern=value.get("pattern"),
    )
