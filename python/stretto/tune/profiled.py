"""The first stage of ``stretto tune -- CMD``: the profile of one run of it."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from stretto.errors import CommandFailedError, StrettoError
from stretto.files.io import write_atomic
from stretto.files.profile import Profile, read_profile, write_profile
from stretto.files.program import take
from stretto.launch.execute import Result
from stretto.launch.said import ending
from stretto.profile.record import failure_of, profiles_here, record
from stretto.profile.show import tools_note
from stretto.progress import Progress
from stretto.tune.outputs import MOST_TEXT_BYTES, Stamp, stamps
from stretto.tune.place import case_files, fresh, make_output
from stretto.tune.session import Tuning
from stretto.tune.trials import find_value
from stretto.tune.unchanged import program_files, refuse_other

#: what starting a job takes beside its own time, where only that was recorded
START_S = 0.5


def has_profile(session: Tuning) -> bool:
    """Whether the profile of a run that ended well is there: CMD need not run for it."""
    path = session.path("profile.json")
    return not session.o.restart and path.exists() and read_profile(path).command_s is not None


def recorded_here(session: Tuning) -> tuple[Path, Profile] | None:
    """Return the newest profile of the same command that is in the directory."""
    if session.o.restart:
        return None
    paths = profiles_here(session.job)
    for path in paths:
        found = read_profile(path)
        if found.command == session.o.words and found.mpi.family == session.job.mpi.family:
            session.run_s = float(np.median(found.wall_s)) + START_S
            session.say(f"stretto: as recorded in {path} ({found.created})")
            return path, found
    if paths:
        names = ", ".join(path.name for path in paths[:3])
        session.say(f"stretto: note: {names}: of another command or MPI, and not used")
    return None


def profile_of(session: Tuning) -> Profile:
    path = session.path("profile.json")
    if path.exists() and not session.o.restart:
        found = read_profile(path)
        refuse_other(
            (
                ("command", " ".join(found.command), " ".join(session.o.words)),
                ("MPI", found.mpi.family, session.job.mpi.family),
                ("layout", found.asked, found.asked and _asked_layout(session)),
            ),
            path, "start again with --restart, or give another directory with --out",
        )  # fmt: skip
        if found.command_s is not None:
            session.run_s = found.command_s
            session.say(
                f"stretto: continuing with the profile in {path}, of {found.created} "
                "(--restart measures again)"
            )
            session.going_on(found.programs, found.created)
            return found
        session.say(f"stretto: {path} is the profile of a failed run; CMD runs again")

    make_output(session.o.out)
    session.programs = [take(p) for p in program_files(session.job)]
    title = f"one run of {session.name}, recorded"
    began = time.monotonic()
    with Progress(title), fresh(session.o.place) as cwd, _directory(cwd):
        before = stamps(cwd, case_files(session.o.place, cwd))
        recorded = record(
            session.run_words(cwd),
            output=path.resolve() if path.is_absolute() else session.home / path,
            mpi=session.o.mpi,
            timeout=session.within(session.o.timeout_s),
            capture="yes",
            environ=session.run_environ(cwd),
            typed=session.o.words,
        )
        session.keep_failed(recorded.result, cwd, before)
        in_file = _file_with_metric(session, recorded.result, cwd, before)
    took = time.monotonic() - began
    session.require_in_budget(recorded.result)
    if failure := failure_of(recorded):
        last = ending(recorded.result.stdout, recorded.result.stderr)
        path.rename(path.with_name(f"{session.name}.failed.profile.json"))
        raise CommandFailedError(
            f"{failure}; last output: {last or 'none'}",
            " ".join(recorded.profile.command),
            "first make CMD run without Stretto; if it needs files outside its directory, use "
            f"--in-place or --reset-command{session.logs_words()}",
        )
    found = recorded.profile
    if (missing := tools_note(found)) is not None:
        raise StrettoError(
            missing, path, "run CMD without that tool (LD_PRELOAD, -l) while it is tuned"
        )
    found.programs = session.programs
    session.since, session.run_s = found.created, recorded.result.wall_s
    found.command_s, found.asked = session.run_s, _asked_layout(session)
    write_profile(found, path)
    session.beside_s = took - session.run_s
    _check_metric(session, recorded.result, in_file)
    for note in recorded.joined[0].notes:
        session.say(f"stretto: note: {note}")
    return found


def _asked_layout(session: Tuning) -> str:
    """What the command and the job that it is in ask for, as far as they show it."""
    layout = session.job.layout
    parts = (layout.nodes, layout.ppn, layout.nranks)
    return "{} x {} (nodes x ranks), {} ranks".format(*("?" if n is None else n for n in parts))


def _file_with_metric(
    session: Tuning, result: Result, cwd: Path, before: dict[str, Stamp]
) -> str | None:
    """Return a text that CMD wrote with a metric that it did not print: WRF has its times there."""
    if find_value(session.o.metric, result) is not None:
        return None
    for path in sorted(session.changed_files(cwd, before)):
        with suppress(OSError):
            if path.stat().st_size > MOST_TEXT_BYTES:
                continue
            text = replace(result, stdout=path.read_text("utf-8", "replace"), stderr="")
            if find_value(session.o.metric, text) is not None:
                return str(path.relative_to(cwd))
    return None


def _check_metric(session: Tuning, result: Result, in_file: str | None) -> None:
    """Refuse a metric that CMD does not print before anything is measured for it."""
    if find_value(session.o.metric, result) is not None:
        return
    printed = session.o.out / "outputs" / "profiled.txt"
    write_atomic(printed, f"{result.stdout}\n{result.stderr}", "what the command printed")
    pattern = shlex.quote(session.o.metric.pattern or "")
    remedy = "test the expression on that file with grep -P; the profile is kept"
    if in_file is not None:
        both = f"{shlex.join(session.o.words)} && cat {shlex.quote(in_file)}"
        remedy = f"CMD writes it to {in_file}; print that file: sh -c {shlex.quote(both)}"
    raise StrettoError(
        f"the command printed no number that matches --metric {pattern}", printed, remedy
    )


@contextmanager
def _directory(path: Path) -> Iterator[None]:
    """Work in another directory for a while (contextlib.chdir is younger than Python 3.10)."""
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)
