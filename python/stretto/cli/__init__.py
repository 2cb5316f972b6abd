"""The command line's entry, and the one place where errors are shown.

What takes long to load is loaded when it is needed: `stretto run -- CMD` needs no Typer, and
`stretto --version` needs nothing (docs/decisions/0031-start-up.md).

How to add one: a module `stretto.cli.NAME` with

- `command`, a Typer function (options as annotated parameters, from `stretto.cli.options` where
  another command has them too; its docstring is the help text; an int that it returns is the exit
  code), or `app`, a `typer.Typer` with sub-commands;
- `EXAMPLE`, one or more example command lines, shown at the end of ``--help``;
- where needed, `CONTEXT`, settings that replace the usual ones (options after arguments, say);
- all imports that its options do not need under ``with lazily():`` (`stretto.cli.lazy`), so that
  ``--help`` and Tab are quick;

and one row in `stretto.cli.app.COMMANDS`. A command that takes the user's ``-- CMD`` declares
a parameter of type `stretto.cli.options.CommandLine`: everything after ``--`` arrives in it
verbatim. Faults are raised as `stretto.errors.StrettoError`; results go to stdout (with ``--json``,
one JSON document and nothing else, by `stretto.output.print_json`), all other words to stderr.
"""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper  # not the module: `stretto.cli.io` is a command

from stretto import light
from stretto.errors import (
    EXIT_DONE,
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    UNREACHABLE,
    Interrupted,
    StrettoError,
    from_oserror,
    missing_package,
)
from stretto.output import say
from stretto.signals import Stopped, interruptible
from stretto.version import __version__

if light.TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: what the system may refuse anywhere, and a person can mend; everything else is a defect
MENDABLE = (
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, *UNREACHABLE,
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    _standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with interruptible():
            result: object = None
            if arguments == ["--version"]:
                print(f"stretto {__version__}")
            elif (read := _plain_start(arguments)) is not None:
                light.starting = True
                light.module("stretto.cli.start").start(**read)
            else:
                result = light.module("stretto.cli.app").run(arguments, argv is None)
        sys.stdout.flush()
        return result if isinstance(result, int) else EXIT_DONE
    except (KeyboardInterrupt, Stopped) as error:
        return _interrupted(error)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_FAULT
    except Exception as error:
        return _failed(error)


#: what `run` and `learn` need no Typer for, as parameters of `start`
_FLAGS = {"--verbose": "verbose", "-v": "verbose"}
_VALUES = {
    "run": {"--table", "--choice", "--settings", "--mpi"},
    "learn": {"--table", "--mpi"},
}


def _plain_start(arguments: Sequence[str]) -> dict[str, object] | None:
    """Read ``run [OPTION VALUE]... -- CMD`` as Typer does; None where that is to read it itself."""
    name, *words = arguments or [""]
    read: dict[str, object] = {"learn": True} if name == "learn" else {}
    while name in _VALUES and words:
        word = words.pop(0)
        if word == "--":
            return {**read, "words": words}
        if word in _FLAGS:
            read[_FLAGS[word]] = True
        elif word in _VALUES[name] and words and words[0][:1] != "-":
            read[word.removeprefix("--")] = words.pop(0)
        else:
            break
    return None


def _failed(error: Exception) -> int:
    """Show an error, and return the exit code."""
    if isinstance(error, BrokenPipeError) and error.errno != errno.ESHUTDOWN:
        # the reader of our output has gone (as in `stretto ... | head`): there is nobody to tell
        with light.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAULT
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if callable(show) and isinstance(code, int):
        # Typer's usage errors; the class's home differs between Typer's versions
        show()
        return code
    known = _explained(error)
    if known is not None:
        for line in known.lines():
            say(line)
        return known.exit_code
    if any(isinstance(cause, KeyboardInterrupt) for cause in _causes(error)):
        return _interrupted(error)  # in an extension module's import it becomes an ImportError
    light.module("stretto.cli.defect").report(error)
    return EXIT_FAULT


def _explained(error: Exception) -> StrettoError | None:
    """Return the error in words, or None: it is a defect."""
    if isinstance(error, StrettoError):
        return error
    if isinstance(error, ModuleNotFoundError):
        return missing_package(error)
    if isinstance(error, OSError):
        if error.errno == errno.ENOENT and _directory_has_gone():
            return StrettoError(
                "this directory has been removed", ".", "cd to an existing directory"
            )
        if error.errno in MENDABLE:
            return from_oserror(error, "the system refused access")
    return None


def _standard_streams() -> None:
    """Have input, output and errors, whoever closed them, and never fail for a letter.

    A closed descriptor would be given to the next file, and be taken from it where a command is
    started (``<&-`` in cron jobs); and what the terminal's encoding, or none, can say is escaped.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free, which is this one
            os.set_inheritable(descriptor, True)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _directory_has_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def _interrupted(error: BaseException) -> int:
    told = (cause.kept for cause in _causes(error) if isinstance(cause, Interrupted))
    kept = next(told, "files that were complete are kept")
    say(f"\nstretto: interrupted; {kept}")
    # An interrupt that went through exec() of a text, as where a dataclass is made, CPython takes
    # for unhandled for ever, and ends the process by SIGINT at its exit; the next exec() clears it.
    exec("")
    return EXIT_INTERRUPTED
