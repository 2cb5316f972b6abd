"""Running a command with the recorder, and keeping what was recorded whatever becomes of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import (
    EXIT_COMMAND,
    CommandFailedError,
    Interrupted,
    StrettoError,
    UsageError,
    from_oserror,
)
from stretto.files.profile import Profile, write_profile
from stretto.files.room import look_for_room, require_parent
from stretto.launch.execute import Capture, Result, run
from stretto.launch.inject import Applied, prepare, with_settings
from stretto.launch.job import Job, understand
from stretto.launch.library import library_for
from stretto.launch.naming import app_name
from stretto.mpi.detect import which
from stretto.profile.join import Joined, join_run, load_runs, rank_words
from stretto.progress import Progress

#: bytes that the recorder of a rank needs at least
ROOM = 1 << 20


@dataclass
class Recorded:
    """A run of the user's command: how it ended, and the profiles of its MPI programs.

    `joined` holds one for each MPI_COMM_WORLD, the one with the most time first.
    """

    job: Job
    result: Result
    joined: list[Joined]
    paths: list[Path]

    @property
    def profile(self) -> Profile:
        return self.joined[0].profile


def default_path(job: Job) -> Path:
    """Return a file name made of the program's or script's; one in use gets a number."""
    return job.cwd / f"{app_name(job)}.profile.json"


def profiles_here(job: Job) -> list[Path]:
    """Return the profiles of the job's program under default names, newest first."""
    first = default_path(job)
    stem = re.escape(first.name.removesuffix(".profile.json"))
    name = re.compile(rf"{stem}(-\d+)?\.profile\.json")
    found = [p for p in first.parent.glob("*.profile.json") if name.fullmatch(p.name)]
    return sorted(found, key=lambda p: p.stat().st_mtime_ns, reverse=True)


def _write_new(profile: Profile, paths: Iterable[Path]) -> Path:
    """Write a profile to the first of the names that nobody uses, and return that.

    The name is taken in one step: another profile that ends at this moment gets the next.
    """
    for path in paths:
        try:
            path.open("x").close()
        except FileExistsError:
            continue
        except OSError as error:
            raise from_oserror(error, "cannot write the profile", path) from error
        try:
            write_profile(profile, path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path
    raise AssertionError("names do not end")


def _names(path: Path) -> Iterator[Path]:
    yield path
    yield from (_numbered(path, number) for number in itertools.count(2))


@contextlib.contextmanager
def _directory(beside: Path) -> Iterator[Path]:
    """Make a directory for the raw files where all nodes see it, and remove it in the end."""
    try:
        made = Path(tempfile.mkdtemp(prefix=".stretto-recording-", dir=beside))
    except OSError as error:
        raise from_oserror(error, "cannot make a directory for the recording", beside) from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def record(
    words: Sequence[str],
    output: Path | None = None,
    mpi: str | None = None,
    applied: Callable[[Job], Applied] | None = None,
    timeout: float | None = None,
    capture: Capture = "no",
    environ: Mapping[str, str] | None = None,
    typed: Sequence[str] | None = None,
) -> Recorded:
    """Run a command with the recorder and write its profile.

    A command that fails or is killed leaves its profile all the same; look at ``result``. Ctrl-C
    keeps the profile as well and goes on as `Interrupted`.

    `output`: where the profile goes, instead of what is there; by default a name made of the
    program's that is not in use. Profiles of further programs never replace a file.
    `applied`: returns what ``stretto run`` would apply to the job, which is recorded with it.
    `environ`: of the run; the process's own by default.
    """
    if not words:
        raise UsageError(
            "no command is given", remedy="write the command after --: -- mpirun -n 4 ./app"
        )
    job = understand(words, mpi=mpi, environ=environ)
    path = default_path(job) if output is None else output
    _check_writable(path)
    libraries = [library_for("record", job.mpi)]
    variables: dict[str, str] = {}
    if applied is not None:
        added = applied(job)
        libraries += added.libraries
        variables |= added.variables
        job = with_settings(job, added.settings)
    with _directory(path.parent) as raw:
        variables["STRETTO_PROFILE_DIR"] = str(raw.resolve())
        argv, given = prepare(job, libraries, variables)
        interrupted: Interrupted | None = None
        try:
            result = run(argv, given, timeout=timeout, capture=capture, scratch=raw)
        except Interrupted as stop:
            interrupted, result = stop, Result(130, 0.0)
        try:
            # where the output of the command is hidden, its progress is shown by the caller
            with Progress("reading what the ranks recorded", quiet=capture == "yes"):
                joined = [join_run(files, typed or words) for files in load_runs(raw)]
        except StrettoError as error:
            kept = _rescue(raw, path)
            error.remedy = f"{error.remedy}; the recorder's files are kept in {kept}"
            raise error
        if not joined:
            _require_room(raw, job.layout.nranks or 1)
    if not joined:
        if interrupted is not None:
            raise interrupted
        _explain_nothing(job, result)
    paths: list[Path] = []
    names = _names(path)
    for item in joined:
        if output is not None and not paths:  # the user said so: what is there is replaced
            write_profile(item.profile, output)
            paths.append(next(names))
        else:
            paths.append(_write_new(item.profile, names))
    if len(paths) > 1:
        now = time.time_ns()
        os.utime(paths[0], ns=(now, now))  # `profiles_here`: the longest program is the newest
    if interrupted is not None:
        raise Interrupted(f"the recorded part is in {paths[0]}") from interrupted
    return Recorded(job, result, joined, paths)


def failure_of(recorded: Recorded) -> str:
    """Return how the user's command failed; empty where it succeeded."""
    result = recorded.result
    if result.status == 0 and not result.timed_out:
        return ""
    how = "took too long and was stopped" if result.timed_out else f"ended with {result.status}"
    profile = recorded.profile
    ranks = ""
    if profile.cut_short:
        ranks = f" (ranks that did not reach MPI_Finalize: {rank_words(profile.cut_short)})"
    return f"the command {how}{ranks}"


def check_result(recorded: Recorded) -> None:
    """Raise an error with exit code 3 when the user's command failed and its output was shown."""
    failure = failure_of(recorded)
    if failure:
        path = shlex.quote(str(recorded.paths[0]))
        raise CommandFailedError(
            f"{failure}; its output is above",
            " ".join(recorded.profile.command),
            "first make the command succeed without Stretto; if it ran for long, the recorded part "
            f"may help: stretto diagnose --profile {path}",
        )


def _check_writable(path: Path) -> None:
    require_parent(path)
    if path.is_dir():
        raise StrettoError("this is a directory", path, "name a file: -o NAME.profile.json")


def _numbered(path: Path, number: int) -> Path:
    stem = path.name.removesuffix(".profile.json").removesuffix(".json")
    return path.with_name(f"{stem}-{number}.profile.json")


def _rescue(raw: Path, path: Path) -> Path:
    for number in itertools.count(1):
        kept = path.with_name(f"{path.name}.raw" + (f"-{number}" if number > 1 else ""))
        with contextlib.suppress(FileExistsError):
            shutil.copytree(raw, kept)
            return kept
    raise AssertionError("numbers do not end")


def _require_room(raw: Path, nranks: int) -> None:
    try:
        look_for_room(raw, ROOM * nranks)
    except OSError as error:
        raise from_oserror(error, "the run was not recorded", raw.parent) from error


def _explain_nothing(job: Job, result: Result) -> None:
    words = " ".join(job.command.words)
    given = {**job.environ, **job.command.assignments}
    named = [
        job.command.words[a.program] for a in job.command.applications if a.program is not None
    ]
    missing = [f"there is no program {w} here" for w in named if not which(w, given, job.cwd)]
    result.require(
        job.command.words,
        f"check its name and PATH: {missing[0]}" if missing
        else "first make the command succeed without Stretto",
    )  # fmt: skip
    if job.between:
        raise StrettoError(
            f"the command succeeded, but no rank was recorded: {', '.join(job.between)} "
            "prevented the recorder from seeing its MPI calls",
            words,
            "record without it, or run stretto inside the container or on the other machine",
        )
    raise StrettoError(
        "the command succeeded, but no rank was recorded: it did not call MPI_Init of "
        f"{job.mpi.name}, the MPI is linked statically, or the recording directory is not shared "
        "by all nodes",
        words,
        "name the MPI with --mpi if the command is a script; give -o FILE on a shared file system",
        exit_code=EXIT_COMMAND if result.status else 1,
    )
