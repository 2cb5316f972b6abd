"""A small MPI program of this directory, launched in several environments in turn."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from stretto.measure.idle import idle_warning
from stretto.mpi import MPIInstallation, from_launcher

HERE = Path(__file__).resolve().parent


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with what every such comparison takes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--launcher", default="/usr/bin/mpirun")
    parser.add_argument("--cc", default="mpicc")
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=2)
    return parser


def installation(options: argparse.Namespace) -> MPIInstallation:
    """Return the launcher's MPI; warn of a busy machine."""
    if warning := idle_warning():
        print(f"warning: {warning}", file=sys.stderr)
    return from_launcher(Path(options.launcher))


def launched(
    options: argparse.Namespace,
    mpi: MPIInstallation,
    program: str,
    environments: Mapping[str, dict[str, str]],
    *words: str,
    before: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, str]]:
    """Compile PROGRAM.c; yield the name of each launch's environment, and what it printed."""
    names = list(environments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / program
        source = str(HERE / f"{program}.c")
        subprocess.run([options.cc, "-O2", source, "-o", str(path)], check=True)
        for launch in range(options.launches):
            first = launch % len(names)
            for name in names[first:] + names[:first]:
                before()
                argv, env = mpi.launch(
                    options.ranks, [str(path), *words], variables=environments[name], bind="core"
                )
                done = subprocess.run(
                    argv, env={**os.environ, **env}, capture_output=True, text=True, check=True
                )
                yield name, done.stdout
