"""The Typer application: commands loaded only when they run."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from stretto.cli import lazy
from stretto.errors import EXIT_DONE
from stretto.signals import Stopped
from stretto.version import __version__

#: name, one line of help; in the order in which a user meets them
COMMANDS: list[tuple[str, str]] = [
    ("diagnose", "Show where the time of CMD goes, and whether tuning can help."),
    ("check", "Check MPI, launcher, network, binding and kernel of a job."),
    ("profile", "Record one run of CMD: collectives, messages, waiting, I/O."),
    ("bench", "Benchmark collectives: algorithms of the MPI and of Stretto."),
    ("tune", "Tune the collectives of CMD, and verify the gain on CMD."),
    ("learn", "Learn faster algorithms during one run of CMD."),
    ("settings", "Try settings of the MPI on CMD, and save the fastest."),
    ("table", "Make, simulate, merge and show tables for all applications."),
    ("campaign", "Measure all layouts of a cluster: plan, run, status, submit."),
    ("run", "Run CMD with the tuned collectives of a table."),
    ("env", "Print shell lines for a job script without Python."),
    ("net", "Measure the network: latency, bandwidth, message rate, rails."),
    ("io", "Compare ways to read a file: all ranks, one rank, MPI-IO."),
    ("place", "Assign ranks to nodes and cores by their communication."),
    ("scale", "Measure strong scaling of CMD, native and tuned."),
    ("export", "Write tuning files for the MPI itself, from measurements."),
    ("simulate", "Simulate collectives or a recorded job on another cluster."),
    ("compare", "Compare several MPIs and all their algorithms."),
    ("import", "Import OSU and IMB results; explain tuning files of an MPI."),
    ("platform", "List, show and fit platforms for simulation."),
    ("plan", "Show, verify, simulate or draw one algorithm."),
    ("serial", "Compile an MPI program for one process, without an MPI."),
    ("report", "Write one HTML page from the files of the other commands."),
    ("bundle", "Collect files for a bug report."),
    ("completion", "Print the completion script of a shell."),
]

#: options end at the first word that is not one, so that CMD's own options are never eaten
_CONTEXT = {"allow_interspersed_args": False, "help_option_names": ["--help", "-h"]}


@contextlib.contextmanager
def _told_apart() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        raise Stopped from interrupt


class _Root(TyperGroup):
    """All commands; an interrupt in any of them comes out of it as `Stopped`."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _told_apart():
            return super().make_context(*args, **more)

    def invoke(self, *args: Any, **more: Any) -> Any:
        with _told_apart():
            return super().invoke(*args, **more)


class _Command(TyperCommand):
    """A command whose --help shows its options in groups, in the order of its parameters."""

    def invoke(self, ctx: Any) -> Any:
        lazy.load()
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            group = getattr(parameter, "rich_help_panel", None)
            if group is None:
                group = "Arguments" if parameter.param_type_name == "argument" else "Options"
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


def _placeholder() -> None:
    """Stand in, in the list of commands, for one that is not being run."""


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"stretto {__version__}")
        raise typer.Exit(EXIT_DONE)


def build_app(name: str | None) -> typer.Typer:
    """Build the Typer application, with only the command `name` imported."""
    app = typer.Typer(
        name="stretto",
        cls=_Root,
        help="Make MPI collectives faster, without changes to the application.",
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

    for command, summary in COMMANDS:
        if command != name:
            app.command(command, help=summary)(_placeholder)
            continue
        module = importlib.import_module(f"stretto.cli.{command}")
        example: str = module.EXAMPLE
        epilog = "Example:\n\n\b\n" + "\n".join(f"  {line}" for line in example.splitlines())
        group: typer.Typer | None = getattr(module, "app", None)
        if group is not None:
            for inner in group.registered_commands:
                inner.cls = _Command
            app.add_typer(group, name=command, help=summary, epilog=epilog)
        else:
            function: Callable[..., Any] = module.command
            app.command(
                command,
                cls=_Command,
                help=inspect.getdoc(function),
                short_help=summary,
                epilog=epilog,
                context_settings={**_CONTEXT, **getattr(module, "CONTEXT", {})},
            )(function)
    return app


def run(arguments: Sequence[str], alone: bool = False) -> object:
    """Run a command; `alone`: this process does nothing else, and is the program ``stretto``."""
    lazy.waiting = alone
    name = next((a for a in arguments if not a.startswith("-")), None)
    try:
        return build_app(name)(list(arguments), prog_name="stretto", standalone_mode=False)
    except typer.Abort as abort:
        raise Stopped from abort
