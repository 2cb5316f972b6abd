"""Where the user's command runs: each time in a fresh copy of its directory, on the same input."""

from __future__ import annotations

import functools
import os
import select
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stretto.errors import CommandFailedError, StrettoError, UsageError, from_oserror
from stretto.files.lock import hold
from stretto.home import home

MOST_COPY_BYTES = 2 << 30
MOST_COPY_FILES = 100_000
#: directory for the copies; only what has this name is ever removed as a whole
COPIES = "stretto-copies"
#: held by the one `stretto` that works in an output directory
LOCK = ".stretto-lock"
#: lies in a directory that tune has made: there is nothing in it of the case's
MARK = ".made-by-stretto-tune"
#: what tune writes beside other files, after the application's name
KINDS = (
    ".profile.json", ".failed.profile.json", ".bench.jsonl", ".bench.jsonl.old", ".table",
    ".verdict.json", ".settings.json",
)  # fmt: skip
#: what `shutil.copytree` copies as it is (0: it says itself what is wrong), and what is made anew
_AS_FILES = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, 0)
_COPIED = (*_AS_FILES, stat.S_IFIFO)
#: a pipe that is silent for so long before its end is none that can be read to its end
SILENCE_S = 10.0
MOST_INPUT_BYTES = 1 << 30


@dataclass(frozen=True)
class Place:
    """Where the command runs: in a fresh copy of `base` below `work`, or in `base` itself.

    `reset`: shell command that puts `base` back before each run. `in_place`: nothing does.
    """

    base: Path
    work: Path
    reset: str | None = None
    in_place: bool = False

    @property
    def copied(self) -> bool:
        return self.reset is None and not self.in_place

    @property
    def own(self) -> Path:
        return self.work.parent

    def words(self) -> str:
        if self.reset is not None:
            return f"in {self.base}, after `{self.reset}` each time"
        return f"in {self.base} itself" if self.in_place else f"each in a fresh copy of {self.base}"

    def written_by_us(self, path: Path) -> bool:
        """Tell whether tune wrote this, so that it is not part of the case."""
        if (path / MARK).is_file():
            return True
        if path.parent.resolve() != self.own.resolve():
            return False
        return path.name in (COPIES, LOCK, "outputs") or path.name.endswith(KINDS)


def make_output(directory: Path) -> None:
    """Make tune's output directory; one that is made here is marked as holding nothing else."""
    if directory.is_dir():
        return
    try:
        directory.mkdir(parents=True)
        directory.chmod(directory.stat().st_mode & ~0o022)  # or `stretto run` would not trust it
        with (directory / MARK).open("x", encoding="utf-8") as stream:
            stream.write("stretto tune leaves this directory out of its copies\n")
    except OSError as error:
        raise from_oserror(error, "cannot make the directory", directory) from error


@contextmanager
def alone_in(directory: Path) -> Iterator[None]:
    """Hold an output directory, which is made when missing, or refuse: another process has it.

    Two would take each other's files away. The lock goes with the process; its file stays.
    """
    if ";" in str(directory) or "\n" in str(directory):
        raise UsageError(
            "a semicolon or a line feed in this name would not reach the ranks", str(directory),
            "give another directory (--out), or run from another directory",
        )  # fmt: skip
    here = directory.is_dir()
    make_output(directory)
    with hold(directory / LOCK) as who:
        if who is not None:
            raise StrettoError(
                f"another stretto uses this directory ({who or 'just begun'})",
                directory,
                "wait until it ends, or give another directory (--out)",
            )
        try:
            yield
        finally:
            if not here and {p.name for p in directory.glob("*")} <= {MARK, LOCK}:
                shutil.rmtree(directory, ignore_errors=True)


def check_copy(place: Place) -> None:
    """Refuse to copy a directory that is too large to be one job's, before anything was run."""
    if not place.copied:
        return
    remedy = (
        "run CMD in a new directory with links to its input, or use "
        "--reset-command, or --in-place if CMD can run again on its results"
    )
    if place.base in (Path("/"), home()):
        raise StrettoError("CMD is not run in a copy of this directory", place.base, remedy)
    total = 0
    for files, path in enumerate(case_files(place, place.base), start=1):
        with suppress(OSError):
            total += path.lstat().st_size
        if total > MOST_COPY_BYTES or files > MOST_COPY_FILES:
            raise StrettoError(
                "this directory is too large to copy for each run "
                f"(more than {MOST_COPY_BYTES >> 30} GiB or {MOST_COPY_FILES} files)",
                place.base,
                remedy,
            )


def case_files(place: Place, directory: Path) -> Iterator[Path]:
    """Yield the files (and links) of a directory in which CMD runs, without what tune wrote."""
    for root, directories, names in os.walk(directory):
        here = Path(root)
        directories[:] = [d for d in directories if not place.written_by_us(here / d)]
        links = [d for d in directories if (here / d).is_symlink()]
        for name in [*names, *links]:
            if not place.written_by_us(here / name):
                yield here / name


def uncopied(place: Place) -> list[str]:
    """Return the sockets and devices that no copy has, relative to the directory.

    A socket leads to the process that listens on it, whichever directory it is found in, and a
    device may have no end.
    """
    found = (p for p in case_files(place, place.base) if _kind(p) not in _COPIED)
    return sorted(str(p.relative_to(place.base)) for p in found)


def _kind(path: Path) -> int:
    """Return what a name stands for, as `stat.S_IFMT` has it; 0 where that cannot be told."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except OSError:
        return 0


def _copy(place: Place, target: Path) -> None:
    def left_out(where: str, names: list[str]) -> list[str]:
        paths = [Path(where) / n for n in names]
        return [p.name for p in paths if place.written_by_us(p) or _kind(p) not in _AS_FILES]

    shutil.copytree(place.base, target, symlinks=True, ignore=left_out)
    for path in case_files(place, place.base):
        if _kind(path) == stat.S_IFIFO:
            os.mkfifo(target / path.relative_to(place.base), stat.S_IMODE(path.lstat().st_mode))


def _why(error: OSError) -> str:
    """Return why a copy failed, in words; `shutil.Error` holds a list of all that it could not."""
    if not isinstance(error, shutil.Error):
        return str(error)
    failed = error.args[0]
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{failed[0][0]}: {failed[0][2]}{more}"


def _mend_links(base: Path, copy: Path) -> None:
    """Let links in a copy lead where they did: to the copy's own files, or out of it as before.

    ``mesh -> ../mesh`` would lead nowhere, and a full path would have CMD write to the original.
    """
    real_base = base.resolve()
    for root, directories, names in os.walk(copy):
        for link in (Path(root) / n for n in [*directories, *names]):
            if not link.is_symlink():
                continue
            place = base / link.relative_to(copy)
            target = Path(os.path.normpath(place.parent / link.readlink()))
            if not link.readlink().is_absolute() and base in (target, *target.parents):
                continue
            real = Path(os.path.realpath(place))
            inside = real_base in (real, *real.parents)
            link.unlink()
            link.symlink_to(copy / real.relative_to(real_base) if inside else target)


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


def keep_input(silence_s: float = SILENCE_S) -> None:
    """Keep what comes through a pipe (``gen | stretto tune -- ...``), so that every run reads it.

    `silence_s`: seconds without a byte after which the pipe is taken to have no end.
    """
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return
    with tempfile.TemporaryFile(prefix="stretto-input.") as file:
        while True:
            ready, _, _ = select.select([0], [], [], silence_s)
            if not ready or file.tell() > MOST_INPUT_BYTES:
                problem = "does not come to an end" if not ready else "is larger than 1 GiB"
                raise StrettoError(
                    f"CMD runs several times with the same standard input, but the pipe {problem}",
                    "standard input",
                    "redirect it from a file (< input), or from /dev/null if CMD reads nothing",
                )
            piece = os.read(0, 1 << 16)
            if not piece:
                break
            file.write(piece)
        file.flush()
        file.seek(0)
        os.dup2(file.fileno(), 0)
    _input_at.cache_clear()


def _remove_left_over(work: Path) -> None:
    """Remove copies that an earlier, killed `stretto` has left on this host."""
    for path in work.glob(f"run.{socket.gethostname()}.*") if work.is_dir() else []:
        owner = path.suffixes[-2][1:] if len(path.suffixes) > 1 else ""
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def fresh(place: Place) -> Iterator[Path]:
    """Give the directory for one run; a copy is removed afterwards."""
    _rewind_input()
    if place.reset is not None:
        _reset(place.reset, place.base)
    if not place.copied:
        yield place.base
        return
    # the same name for all runs: CMD may print it, and outputs are compared
    holder = place.work / f"run.{socket.gethostname()}.{os.getpid()}.copy"
    try:
        try:
            place.work.mkdir(parents=True, exist_ok=True)
            _remove_left_over(place.work)
            shutil.rmtree(holder, ignore_errors=True)  # of an earlier process of this number
            holder.mkdir(mode=0o700)
        except OSError as error:
            raise from_oserror(error, "cannot make a copy of the directory", place.work) from error
        target = holder / (place.base.name or "copy")
        try:
            _copy(place, target)
            _mend_links(place.base, target)
        except OSError as error:
            raise StrettoError(
                f"the directory cannot be copied: {_why(error)[:300]}",
                place.base,
                "free some space, or use --reset-command or --in-place",
            ) from error
        yield target
    finally:
        shutil.rmtree(holder, ignore_errors=True)
        with suppress(OSError):
            place.work.rmdir()


def _reset(command: str, base: Path) -> None:
    null = subprocess.DEVNULL
    done = subprocess.run(
        command, shell=True, cwd=base, stdin=null, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise CommandFailedError(f"the reset command ended with {done.returncode}: {last}", command)
