"""``stretto diagnose``: one run, the causes of its lost time in order, and what to do next."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, TextIO

from stretto.cli import options as o
from stretto.cli.complete import files
from stretto.cli.lazy import lazily
from stretto.counted import seconds
from stretto.errors import UsageError
from stretto.output import beside_command, print_json, say
from stretto.progress import Progress

with lazily():
    from rich.console import Console

    from stretto.diagnose import MINOR, Diagnosis, Network, diagnose
    from stretto.diagnose.programs import other_program, others_words, ranks_apart
    from stretto.files.profile import read_profile
    from stretto.launch.said import ending
    from stretto.launch.typed import typed
    from stretto.profile.record import check_result, failure_of, record

EXAMPLE = """\
stretto diagnose -- mpirun -n 64 ./app input.dat
stretto diagnose --profile app.profile.json"""


def command(
    cmd: o.CommandLine = None,
    profile: Annotated[
        Path | None,
        o.option(
            o.RUNS, "Run nothing: diagnose this profile.", autocompletion=files(".profile.json")
        ),
    ] = None,
    bandwidth: Annotated[
        float | None,
        o.option(
            o.JOB, "Network bandwidth between two nodes in GB/s (2).", min=0.001, callback=o.finite
        ),
    ] = None,
    latency: Annotated[
        float | None,
        o.option(o.JOB, "Network latency in microseconds (10).", min=0.01, callback=o.finite),
    ] = None,
    mpi: o.ScriptMpi = None,
    out: o.OutProfile = None,
    as_json: o.Json = False,
) -> None:
    """Run CMD once; report where its time goes, the possible gain, and the next command.

    Each cause of lost time has a remedy and an estimated gain. Causes are computation imbalance,
    late senders or receivers, collective algorithms, bandwidth, many messages, packing of derived
    datatypes, unnecessary barriers, empty blocks, file access, more ranks or threads than cores,
    and the creation of communicators. Unclassified time is reported separately, and so is the
    overlap of nonblocking collectives. If CMD fails, no causes are reported. If a script starts
    several MPI programs, the longest one is diagnosed and the others are listed. If stdout is a
    file or a pipe, the diagnosis goes to stderr.
    """
    network = Network()
    if bandwidth is not None:
        network = dataclasses.replace(network, bandwidth=bandwidth * 1e9)
    if latency is not None:
        network = dataclasses.replace(network, latency_s=latency * 1e-6)
    if profile is not None:
        if cmd:
            raise UsageError("--profile runs nothing", remedy="leave out --profile or CMD")
        _print(diagnose(read_profile(profile), profile, network), as_json, sys.stdout)
        return
    # without --json CMD itself shows on the terminal how far it is
    with Progress("running the command", quiet=not as_json):
        recorded = record(cmd or [], out, mpi, capture="yes" if as_json else "no")
    if as_json:
        sys.stderr.write(recorded.result.stdout + recorded.result.stderr)
    for note in [*recorded.job.notes, *recorded.joined[0].notes]:
        say(f"stretto: note: {note}")
    again = typed(cmd or [])
    if failure := failure_of(recorded):
        if as_json:
            last = ending(recorded.result.stdout, recorded.result.stderr)
            failure += f"; last output: {last or 'none'}"
            _print(Diagnosis.failed(recorded.profile, failure, again), True, sys.stdout)
        check_result(recorded)
    say(f"stretto: the profile is in {recorded.paths[0]}")
    found = diagnose(recorded.profile, recorded.paths[0], network, again)
    rest = zip(recorded.joined[1:], recorded.paths[1:], strict=True)
    for item, path in rest:
        verdict = diagnose(item.profile, path, network).verdict
        found.others.append(other_program(item.profile, path, verdict, recorded.profile))
    if (apart := ranks_apart([item.profile for item in recorded.joined])) is not None:
        found.verdict, found.can_help, found.next_command = apart, None, "stretto check"
    _print(found, as_json, beside_command())


def _print(found: Diagnosis, as_json: bool, stream: TextIO) -> None:
    if as_json:
        print_json({"schema": "stretto-diagnosis", "version": 1, **dataclasses.asdict(found)})
        return
    console = Console(highlight=False, markup=False, soft_wrap=True, file=stream)
    of = ", mean over the ranks:" if found.parts else ""
    console.print(f"{seconds(found.wall_s)} from MPI_Init to MPI_Finalize{of}")
    for name, share in found.parts.items():
        console.print(f"{100 * share:7.1f} % {name}")
    for warning in found.warnings:
        console.print(f"note: {warning}")
    shown = [c for c in found.causes if c.share >= MINOR] or found.causes[:1]
    for number, cause in enumerate(shown, 1):
        console.print(
            f"\n{number}. {cause.title}\n"
            f"   lost: an estimated {seconds(cause.lost_s)}, {100 * cause.share:.1f} % of the run"
        )
        for line in cause.evidence:
            console.print(f"   seen: {line}")
        if cause.because is not None:
            console.print(f"   tuning cannot help, because {cause.because}")
        elif cause.tuning_s > 0:
            console.print(
                f"   tuning could gain an estimated {seconds(cause.tuning_s)} "
                f"({100 * cause.tuning_s / found.wall_s:.1f} %)"
            )
        console.print(f"   what helps: {cause.advice}")
        for line in cause.steps:
            console.print(f"   do: {line}")
        if cause.next_command.startswith(("stretto io ", "stretto settings ")):
            console.print(f"   measure: {cause.next_command}")
    minor = len(found.causes) - len(shown)
    if minor > 0:
        console.print(f"\n{minor} more below {100 * MINOR:.0f} % of the run (--json has them)")
    if any(o.blocking_s >= MINOR * found.wall_s for o in found.overlaps):
        console.print("")
    for overlap in found.overlaps:
        if overlap.blocking_s >= MINOR * found.wall_s:
            console.print(f"overlap: {overlap.words}")
    for line in others_words(found.program, found.others):
        console.print(line)
    console.print(f"\n{found.verdict}")
    console.print(f"next: {found.next_command}")
