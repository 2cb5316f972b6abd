#!/usr/bin/env python3
"""Make man pages from the commands: stretto.1, and stretto-NAME.1 for each.

tools/make_man.py DIRECTORY
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from stretto.cli.app import COMMANDS, build_app  # noqa: E402
from stretto.version import __version__  # noqa: E402

DATE = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))


def roff(text: str) -> str:
    """Return text as groff and mandoc show it: no line begins with a control character."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.splitlines())


def prose(text: str) -> str:
    parts = [part.strip() for part in text.split("\f")[0].replace("\b\n", "").split("\n\n")]
    return "\n.PP\n".join(roff("\n".join(x.strip() for x in p.splitlines())) for p in parts if p)


def options(command: Any) -> str:
    """Return the arguments and options of a command."""
    out = ""
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "argument":
            name = parameter.metavar or parameter.name.upper()
        else:
            name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        helped = " ".join((getattr(parameter, "help", None) or "").split())
        out += f".TP\n.B {roff(name)}\n{roff(helped)}\n"
    return out


def page(name: str, summary: str) -> str:
    """Return the page of one command and its subcommands."""
    root: Any = typer.main.get_command(build_app(name))
    command = root.commands[name]
    lines = f'.TH STRETTO\\-{name.upper()} 1 {DATE} "stretto {__version__}" "User Commands"\n'
    lines += f".SH NAME\nstretto\\-{name} \\- {roff(summary.rstrip('.'))}\n"
    lines += f".SH SYNOPSIS\n.B stretto {name}\n[options] ...\n"
    lines += f".SH DESCRIPTION\n{prose(command.help or '')}\n"
    if own := options(command):
        lines += f".SH OPTIONS\n{own}"
    for below, inner in sorted(getattr(command, "commands", {}).items()):
        lines += f".SH STRETTO {name.upper()} {below.upper()}\n{prose(inner.help or '')}\n"
        lines += options(inner)
    example = (command.epilog or "").split("\b\n")[-1].strip("\n")
    example = "\n".join(line.removeprefix("  ") for line in example.splitlines())
    return lines + f".SH EXAMPLES\n.nf\n{roff(example)}\n.fi\n"


def overview() -> str:
    """Return the page of all commands."""
    text = f'.TH STRETTO 1 {DATE} "stretto {__version__}" "User Commands"\n'
    text += (
        ".SH NAME\nstretto \\- makes MPI collectives faster, without changes to the application\n"
    )
    text += ".SH SYNOPSIS\n.B stretto\nCOMMAND [options] ...\n.SH COMMANDS\n"
    for name, summary in COMMANDS:
        text += f".TP\n.BR stretto\\-{name} (1)\n{roff(summary)}\n"
    return text + ".SH FILES\n.TP\n.I /etc/stretto/tables\nTables of the site.\n"


def main() -> int:
    """Write the pages."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "stretto.1").write_text(overview(), encoding="utf-8")
    for name, summary in COMMANDS:
        (directory / f"stretto-{name}.1").write_text(page(name, summary), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
