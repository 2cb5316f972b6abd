"""Runs of the user's command, native and tuned in turn, each on fresh files."""

from __future__ import annotations

import functools
import os
import random
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stretto.errors import CommandFailedError, StrettoError, UsageError, from_oserror
from stretto.files.verdict import Gain, Metric, Run
from stretto.launch.execute import Result, run
from stretto.launch.inject import prepare
from stretto.launch.job import Job, understand

Kind = Literal["native", "tuned"]
MOST_COPY_BYTES = 2 << 30
MOST_COPY_FILES = 100_000
#: directory for the copies; only what has this name is ever removed as a whole
COPIES = "stretto-copies"


@dataclass(frozen=True)
class Place:
    """Where the command runs: each time in a fresh copy of `base`, or in `base` itself.

    Attributes
    ----------
    reset
        Shell command that puts `base` back into its first state before each run.
    in_place
        Run in `base` without either.
    work
        Directory for the copies.
    """

    base: Path
    work: Path
    reset: str | None = None
    in_place: bool = False

    def words(self) -> str:
        """Say it."""
        if self.reset is not None:
            return f"in {self.base}, after `{self.reset}` each time"
        return f"in {self.base} itself" if self.in_place else f"each in a fresh copy of {self.base}"


def check_copy(place: Place, own: Path) -> None:
    """Refuse to copy a directory that is too large to be one job's, before anything was run.

    Parameters
    ----------
    place
        The place.
    own
        Our own output directory, which is not copied.
    """
    if place.in_place or place.reset is not None:
        return
    remedy = "give --reset-command, or --in-place when CMD may run again on its own results"
    if place.base in (Path("/"), Path.home()):
        raise StrettoError("CMD is not run in a copy of this directory", place.base, remedy)
    total = files = 0
    for root, directories, names in os.walk(place.base):
        directories[:] = [d for d in directories if not _ours(Path(root) / d, own)]
        for name in names:
            files += 1
            try:
                total += (Path(root) / name).lstat().st_size
            except OSError:
                continue
        if total > MOST_COPY_BYTES or files > MOST_COPY_FILES:
            raise StrettoError(
                f"this directory is too large to be copied for each run "
                f"(more than {MOST_COPY_BYTES >> 30} GiB or {MOST_COPY_FILES} files)",
                place.base,
                remedy,
            )


def _ours(path: Path, own: Path) -> bool:
    return path.resolve() == own.resolve() or path.name.startswith("stretto-")


def _mend_links(base: Path, copy: Path) -> None:
    """Let links in a copy lead where they did: to the copy's own files, or out of it as before.

    A relative link out of the directory (``mesh -> ../mesh``) would lead nowhere, and an absolute
    one into it would have CMD write to the original.
    """
    for root, directories, names in os.walk(copy):
        for link in (Path(root) / n for n in [*directories, *names]):
            if not link.is_symlink():
                continue
            place = base / link.relative_to(copy)
            target = Path(os.path.normpath(place.parent / link.readlink()))
            inside = target == base or base in target.parents
            if inside and not link.readlink().is_absolute():
                continue
            link.unlink()
            link.symlink_to(copy / target.relative_to(base) if inside else target)


@functools.cache
def _input_at() -> int | None:
    """Return where the input file stood before the first run; None where it is no file."""
    with suppress(OSError):
        if stat.S_ISREG(os.fstat(0).st_mode):
            return os.lseek(0, 0, os.SEEK_CUR)
    return None


def _rewind_input() -> None:
    """Give every run the whole of what CMD reads (``< input``): all of them share one offset."""
    at = _input_at()
    if at is not None:
        os.lseek(0, at, os.SEEK_SET)


@contextmanager
def fresh(place: Place) -> Iterator[Path]:
    """Give the directory for one run; a copy is removed afterwards.

    Parameters
    ----------
    place
        The place.
    """
    _rewind_input()
    if place.reset is not None:
        done = subprocess.run(
            place.reset,
            shell=True,
            cwd=place.base,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise CommandFailedError(
                f"the reset command ended with {done.returncode}: {last}", place.reset
            )
    if place.reset is not None or place.in_place:
        yield place.base
        return
    try:
        place.work.mkdir(parents=True, exist_ok=True)
        holder = Path(tempfile.mkdtemp(prefix="run.", dir=place.work))
    except OSError as error:
        raise from_oserror(error, "cannot make a copy of the directory", place.work) from error
    try:
        target = holder / (place.base.name or "copy")
        try:
            shutil.copytree(
                place.base,
                target,
                symlinks=True,
                ignore=lambda where, names: [
                    n for n in names if _ours(Path(where) / n, place.work.parent)
                ],
            )
            _mend_links(place.base, target)
        except (OSError, shutil.Error) as error:
            raise StrettoError(
                f"the directory cannot be copied: {str(error)[:300]}",
                place.base,
                "free space, or give --reset-command or --in-place",
            ) from error
        yield target
    finally:
        shutil.rmtree(holder, ignore_errors=True)
        with suppress(OSError):
            place.work.rmdir()


@dataclass(frozen=True)
class Trial:
    """One run of the command and what it printed."""

    run: Run
    output: str


def find_value(metric: Metric, result: Result) -> float | None:
    """Return the metric's value of one run, None when the command printed none.

    The last match counts (a program that prints its rate now and then ends with the final one).

    Parameters
    ----------
    metric
        What to find.
    result
        Of the run.
    """
    if metric.pattern is None:
        return result.wall_s
    found = re.findall(metric.pattern, result.stdout + "\n" + result.stderr, re.MULTILINE)
    if not found:
        return None
    try:
        return float(str(found[-1]).replace("D", "E"))
    except ValueError:
        return None


def make_metric(pattern: str | None, better: str, unit: str | None) -> Metric:
    """Return the metric that the user asked for.

    Parameters
    ----------
    pattern
        Regular expression with one group; None for wall time.
    better
        ``lower`` or ``higher``.
    unit
        For print-outs.
    """
    if better not in ("lower", "higher"):
        raise UsageError(f"--metric-better {better} means nothing", None, "say lower or higher")
    if pattern is None:
        return Metric()
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise UsageError(
            f"--metric {pattern!r} is not a regular expression: {error}", None, "quote it"
        ) from error
    if groups != 1:
        raise UsageError(
            f"--metric has {groups} groups", None, r"mark the number: 'iterations/min: ([\d.]+)'"
        )
    return Metric(pattern, unit or "", "higher" if better == "higher" else "lower", pattern)


def once(
    words: Sequence[str],
    place: Place,
    libraries: Sequence[Path],
    variables: dict[str, str],
    timeout: float | None,
    mpi: str | None,
) -> Result:
    """Run the command once.

    Parameters
    ----------
    words
        The user's command.
    place
        Where.
    libraries, variables
        What every rank gets.
    timeout
        Seconds; None for no limit.
    mpi
        What the user says the MPI is.
    """
    with fresh(place) as cwd:
        job: Job = understand(words, mpi=mpi, cwd=cwd)
        argv, environ = prepare(job, libraries, variables)
        if not libraries:
            environ = {k: v for k, v in environ.items() if not k.startswith("STRETTO_")}
        return run(argv, environ, cwd=cwd, timeout=timeout, capture="yes")


def order(pairs: int, seed: int, done: Sequence[Run] = ()) -> list[Kind]:
    """Return the kinds of the runs still to be made: pairs, each in an order of its own.

    Parameters
    ----------
    pairs
        How many of each kind there shall be in all.
    seed
        Of the order.
    done
        Runs of an earlier, interrupted attempt; they are the first of the same order.
    """
    source = random.Random(seed)
    out: list[Kind] = []
    for _ in range(pairs):
        pair: list[Kind] = ["native", "tuned"]
        source.shuffle(pair)
        out += pair
    return out[len(done) :]


def gain(runs: Sequence[Run], metric: Metric) -> Gain | None:
    """Return the measured gain with its interval and p; None without a pair.

    Parameters
    ----------
    runs
        In their order; runs that failed have no value and count for nothing.
    metric
        Which way is better.
    """
    from stretto.campaign.compare import compare_times

    sides: dict[str, dict[int, float]] = {"native": {}, "tuned": {}}
    for r in runs:
        if r.value is not None and r.value > 0 and r.exit == 0:
            sides[r.kind][r.order // 2] = r.value
    both = sorted(set(sides["native"]) & set(sides["tuned"]))
    if not both:
        return None
    tuned = {i: sides["tuned"][i] for i in both}
    native = {i: sides["native"][i] for i in both}
    ratio, ratios, p, _ = compare_times(tuned, native)
    low = ratio.low if ratio.low is not None else min(ratios)
    high = ratio.high if ratio.high is not None else max(ratios)
    if metric.better == "higher":
        return Gain(low - 1, ratio.median - 1, high - 1, p)
    return Gain(1 - high, 1 - ratio.median, 1 - low, p)


def same_outputs(native: Sequence[str], tuned: Sequence[str]) -> bool | None:
    """Tell whether tuned runs printed what native ones did, apart from what changes anyway.

    Lines in which native runs differ among themselves (times, dates, process ids) do not count.

    Parameters
    ----------
    native, tuned
        Outputs.

    Returns
    -------
    bool or None
        None when it cannot be told: fewer than two native runs, or nothing printed.
    """
    if len(native) < 2 or not tuned:
        return None
    lines = [text.splitlines() for text in native]
    if len({len(x) for x in lines}) != 1:
        return None
    fixed = [i for i, line in enumerate(lines[0]) if all(x[i] == line for x in lines)]
    if not fixed:
        return None
    for text in tuned:
        other = text.splitlines()
        if len(other) != len(lines[0]) or any(other[i] != lines[0][i] for i in fixed):
            return False
    return True
