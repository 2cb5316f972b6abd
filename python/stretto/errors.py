"""Errors that say what is wrong, where, and what to do next.

Every fault that a person can cause or mend is a `StrettoError`; the command line prints it in a few
lines and exits with its code. Any other exception is a defect of Stretto.
"""

from __future__ import annotations

import errno
import sys

from stretto.light import TYPE_CHECKING, later

if TYPE_CHECKING:
    import difflib
    from collections.abc import Collection
    from pathlib import Path
    from types import TracebackType
else:
    difflib = later("difflib")

EXIT_DONE = 0
EXIT_FAULT = 1
EXIT_USAGE = 2
EXIT_COMMAND = 3
#: `stretto check` found what costs speed, and nothing that will not work
EXIT_WARNINGS = 4
#: the same command may succeed in a while (EX_TEMPFAIL): a campaign's job goes back to the queue
EXIT_AGAIN = 75
EXIT_INTERRUPTED = 130
#: what a network's file system says where its server is away, or has put this client out
UNREACHABLE = (
    errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ESHUTDOWN, errno.ETIMEDOUT,
)  # fmt: skip


class StrettoError(Exception):
    """A fault that is explained to the user.

    `message`: what is wrong, in one sentence, without a full stop. `place`: ``file``,
    ``file:line``, a host, a command. `remedy`: what the user can do about it. `exit_code`: of the
    command line (``docs/explanation/architecture.md``).
    """

    def __init__(
        self,
        message: str,
        place: str | Path | None = None,
        remedy: str | None = None,
        exit_code: int = EXIT_FAULT,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = None if place is None else str(place)
        self.remedy = remedy
        self.exit_code = exit_code
        # what Python 3.11 and IPython print below a traceback, as in a notebook
        self.__notes__ = [] if remedy is None else [f"try: {remedy}"]

    def __str__(self) -> str:
        """Message and place in one line, as for a log."""
        return self.message if self.place is None else f"{self.place}: {self.message}"

    def lines(self) -> list[str]:
        """Return what the command line prints, a line an item."""
        out = [f"stretto: error: {self.message}"]
        if self.place is not None:
            out.append(f"  at: {self.place}")
        if self.remedy is not None:
            out.append(f"  try: {self.remedy}")
        return out


#: packages that only some commands need -> the extra that installs each
EXTRAS = {
    "altair": "report", "vl_convert": "report", "jinja2": "report", "scipy": "fit",
    "pandas": "data", "xarray": "data",
}  # fmt: skip


def pip_install(extra: str) -> str:
    """Return the command that installs an extra into this Python, whose pip PATH may not have."""
    return f"{sys.executable} -m pip install 'stretto[{extra}]'"


def missing_package(error: ImportError) -> StrettoError | None:
    """Return what to install where a package of an extra is missing; None: it is another one."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    return StrettoError(
        f"{package} is needed but not installed", None,
        f"{pip_install(extra)} (or stretto[all])",
    )  # fmt: skip


class UsageError(StrettoError):
    """Options or arguments that make no sense; exit code 2."""

    def __init__(self, message: str, place: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, place, remedy, EXIT_USAGE)


class CommandFailedError(StrettoError):
    """The user's own command failed; exit code 3, with the command's own code in the message."""

    def __init__(self, message: str, place: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, place, remedy, EXIT_COMMAND)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with a sentence on what was kept."""

    def __init__(self, kept: str) -> None:
        super().__init__(kept)
        self.kept = kept


class keeping:
    """Say `kept` to the user when Ctrl-C ends the block.

    A sentence such as ``"measurements so far are in x.bench.jsonl; the same command continues"``.
    """

    def __init__(self, kept: str) -> None:
        self.kept = kept

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt) and not isinstance(error, Interrupted):
            raise Interrupted(self.kept) from error


def meant(word: str, known: Collection[str]) -> str:
    """Return a remedy for a name that is not known: the one that is nearest, or all."""
    near = difflib.get_close_matches(word, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def from_oserror(error: OSError, doing: str, place: str | Path | None = None) -> StrettoError:
    """Turn an operating-system error into a `StrettoError` with a remedy.

    `doing`: what was being done, as in ``"cannot write the table"``. `place`: the file concerned;
    taken from `error` when not given.
    """
    away = "the file system or its server did not respond: repeat the command later"
    remedies = {
        **dict.fromkeys(UNREACHABLE, away),
        errno.ENOSPC: "free some space (see df -h), or write to another directory (-o)",
        errno.EDQUOT: "your disk quota is used up; remove files or write to another directory (-o)",
        errno.EROFS: "the file system is read-only; write to another directory (-o)",
        errno.EACCES: "check the permissions of the file and of its directory",
        errno.EPERM: "check the permissions of the file and of its directory",
        errno.ENOENT: "check the path for typing mistakes",
        errno.ENOTDIR: "check the path for typing mistakes",
        errno.EEXIST: "a file of that name exists; use another name, or remove it",
        errno.EISDIR: "name a file, not a directory",
        errno.EINVAL: "give a regular file",
        errno.EFBIG: "check that this is the intended file",
        errno.ELOOP: "name the file itself, or remove the link",
        errno.EMLINK: "remove the file, and repeat the command",
        errno.EMFILE: "raise the limit on open files (ulimit -n)",
    }
    reason = error.strerror or str(error)
    where = place if place is not None else error.filename
    remedy = remedies.get(error.errno) if error.errno is not None else None
    code = EXIT_AGAIN if error.errno in UNREACHABLE else EXIT_FAULT
    return StrettoError(f"{doing}: {reason}", None if where is None else str(where), remedy, code)
