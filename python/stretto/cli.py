"""The command line: commands loaded only when they run, and one place where errors are shown."""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.util
import inspect
import io
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stretto.errors import (
    EXIT_DONE,
    EXIT_FAULT,
    EXIT_INTERRUPTED,
    UNREACHABLE,
    Interrupted,
    StrettoError,
    from_oserror,
)
from stretto.home import home
from stretto.output import say
from stretto.signals import interruptible
from stretto.version import __version__

#: name, one line of help; in the order in which a user meets them
COMMANDS: list[tuple[str, str]] = [
    ("diagnose", "One run of CMD: where its time goes, and whether tuning can help."),
    ("check", "What MPI, launcher, network, binding and kernel give, and what is wrong."),
    ("profile", "Run CMD with the recorder: collectives, messages, waiting, I/O."),
    ("bench", "Measure collectives: the MPI's own algorithms and Stretto's."),
    ("tune", "Measure, decide, write the table; with CMD, verify the gain on it."),
    ("campaign", "Look at a tuning campaign over many layouts, or submit it to Slurm."),
    ("run", "Run CMD with the tuned collectives of a table."),
    ("env", "Print the lines for a job script which then needs no Python."),
    ("net", "Measure point-to-point: latency, bandwidth, message rate, rails."),
    ("scale", "Measured strong scaling of CMD, native against tuned."),
    ("export", "Write native tuning files from the measurements."),
    ("simulate", "Price collectives, tables or a profile at another scale."),
    ("compare", "All MPIs and all their algorithms side by side."),
    ("import", "Results of the OSU and Intel MPI benchmarks, made elsewhere."),
    ("platform", "Descriptions of clusters for simulating: list, show, fit."),
    ("plan", "Look at one algorithm: show, verify, price, draw."),
    ("serial", "Where the compilers of the one-process MPI are (no MPI needed)."),
    ("table", "Look at table files: show, check, find."),
    ("report", "One self-contained HTML page from the files of the other commands."),
]

#: what the system may refuse anywhere, and a person can mend; everything else is a defect
MENDABLE = (
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, *UNREACHABLE,
)  # fmt: skip

#: options end at the first word that is not one, so that CMD's own options are never eaten
_CONTEXT = {"allow_interspersed_args": False, "help_option_names": ["--help", "-h"]}


def available() -> list[tuple[str, str]]:
    """Return the commands that this installation has: name and one line of help."""
    return [c for c in COMMANDS if importlib.util.find_spec(f"stretto.commands.{c[0]}")]


class _Stopped(Exception):
    """Ctrl-C on its way through Typer, which makes the bare exit code 130 of a KeyboardInterrupt.

    A command may end with 130 by itself: a campaign that is not complete, of which nobody has
    interrupted anything.
    """


@contextlib.contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise _Stopped from interrupt


class _Root(TyperGroup):
    """All commands; an interrupt in any of them comes out of it as `_Stopped`."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _told_apart():
            return super().make_context(*args, **more)

    def invoke(self, *args: Any, **more: Any) -> Any:
        with _told_apart():
            return super().invoke(*args, **more)


def _placeholder() -> None:
    """Stand in, in the list of commands, for one that is not being run."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"stretto {__version__}")
        raise typer.Exit(EXIT_DONE)


def build_app(name: str | None) -> typer.Typer:
    """Build the Typer application, with only the command `name` imported.

    Parameters
    ----------
    name
        The command that will run; the others appear in ``--help`` by name and one line.
    """
    app = typer.Typer(
        name="stretto",
        cls=_Root,
        help="Make MPI collectives fast on your cluster, for applications you cannot change.",
        epilog="Example: stretto diagnose -- mpirun -n 64 ./app",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @app.callback()
    def root(
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                help="Print the version and exit.",
                is_eager=True,
                callback=_show_version,
            ),
        ] = False,
    ) -> None:
        del version  # done by its callback, which needs no command to follow

    for command, summary in available():
        if command != name:
            app.command(command, help=summary)(_placeholder)
            continue
        module = importlib.import_module(f"stretto.commands.{command}")
        example: str = module.EXAMPLE
        epilog = "Example:\n\n\b\n" + "\n".join(f"  {line}" for line in example.splitlines())
        group: typer.Typer | None = getattr(module, "app", None)
        if group is not None:
            app.add_typer(group, name=command, help=summary, epilog=epilog)
        else:
            function: Callable[..., Any] = module.command
            text = (inspect.getdoc(function) or summary).split("\n\nParameters\n")[0]
            app.command(
                command,
                help=text,
                short_help=summary,
                epilog=epilog,
                context_settings={**_CONTEXT, **getattr(module, "CONTEXT", {})},
            )(function)
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        The arguments after the program's name; the process's own when not given.
    """
    _standard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = next((a for a in arguments if not a.startswith("-")), None)
    try:
        with interruptible():
            result = build_app(name)(arguments, prog_name="stretto", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else EXIT_DONE
    except StrettoError as error:
        for line in error.lines():
            say(line)
        return error.exit_code
    except (KeyboardInterrupt, _Stopped, typer.Abort) as error:
        return _interrupted(error)
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.errno != errno.ESHUTDOWN:
            # The reader of our output has gone (as in `stretto ... | head`): there is nobody to
            # tell.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_FAULT
        if error.errno == errno.ENOENT and _directory_has_gone():
            mended = StrettoError("this directory has been removed", ".", "cd to one that is there")
        elif error.errno in MENDABLE:
            mended = from_oserror(error, "the system refuses")
        else:
            return _unexpected(error)
        for line in mended.lines():
            say(line)
        return mended.exit_code
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_FAULT
    except Exception as error:
        show = getattr(error, "show", None)
        code = getattr(error, "exit_code", None)
        if callable(show) and isinstance(code, int):
            # Typer's usage errors; the class's home differs between Typer's versions.
            show()
            return code
        return _unexpected(error)


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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _directory_has_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and what has led to it."""
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


def _unexpected(error: Exception) -> int:
    """Report a defect of Stretto: one line, and where the traceback is."""
    if any(isinstance(cause, KeyboardInterrupt) for cause in _causes(error)):
        return _interrupted(error)  # in an extension module's import it becomes an ImportError
    text = "".join(traceback.format_exception(error))
    summary = f"{type(error).__name__}: {error}".splitlines()[0]
    say(f"stretto: error: this is a defect of Stretto: {summary}")
    if os.environ.get("STRETTO_DEBUG", "0") not in ("", "0"):
        say(text)
        return EXIT_FAULT
    state = Path(os.environ.get("XDG_STATE_HOME") or home() / ".local" / "state") / "stretto"
    name = f"traceback-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    words = " ".join(sys.argv)
    for directory in (state, Path(tempfile.gettempdir())):
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)
            path = directory / name
            whole = f"stretto {__version__}\n{words}\n\n{text}"
            with path.open("xb") as stream:  # the temporary directory is everybody's
                stream.write(whole.encode(errors="backslashreplace"))  # words may be no UTF-8
            say(f"  at: {path} holds the traceback")
            say("  try: report it with that file; STRETTO_DEBUG=1 shows the traceback at once")
            return EXIT_FAULT
    say(text)
    return EXIT_FAULT
