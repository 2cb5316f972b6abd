#!/usr/bin/env python3
"""Make docs/reference/cli.md and a page for each command from the commands themselves.

tools/make_cli_doc.py           write the pages
tools/make_cli_doc.py --check   fail when a page is not what the commands say
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "reference" / "cli.md"
sys.path.insert(0, str(ROOT / "python"))

from stretto.cli.app import COMMANDS, build_app  # noqa: E402

NOTE = "<!-- Made by tools/make_cli_doc.py from the commands; do not edit. -->\n\n"
HEAD = f"""# Commands

{NOTE}`stretto COMMAND --help` prints the same text as these pages.

## Conventions

An option has the same meaning in every command.

| option | meaning |
|---|---|
| `-- CMD` | your usual command with its launcher, after all options |
| `-o`, `--out` | file or directory to write; when measuring, its parent must exist |
| `-n`, `--ranks` | number of MPI ranks in all; `--ppn` ranks per node, `--nodes` number of nodes |
| numbers | `64`, `2,4,8`, or `2:128` (doubling, ends included) |
| `--bytes` | `8`, `64K`, `8:1M` (doubling), `8:1M:4` (times four), or `8,1K,64K` |
| `-c`, `--collective` | `allreduce,bcast` |
| `--hosts` | names of nodes: `a,b,c` |
| `--budget` | time limit of the whole command: `90s`, `10m`, `1h` |
| `--timeout` | time limit of one run of CMD |
| `--dry-run` | print the cost, run nothing |
| `--restart` | begin again instead of continuing earlier work |
| `-y`, `--yes` | do not ask for confirmation |
| `--json` | print one JSON document on standard output; all other output goes to standard error |
| `--seed` | random seed; the same seed gives the same order |

`stretto completion bash` (`zsh`, `fish`) prints a script that completes commands, options,
collectives, algorithms, platforms and files.

| exit code | meaning |
|---|---|
| 0 | done; also if the result is "no gain" or "inconclusive" |
| 1 | an error, e.g. in a file, in the MPI or on this machine; `check`: a problem was found |
| 2 | wrong arguments |
| 3 | CMD failed |
| 4 | `check`: a warning, but no problem |
| 75 | a temporary failure: a file server did not respond; repeat the command later |
| 130 | interrupted (Ctrl-C) |

`run` and `learn` replace themselves with CMD, so their exit code is that of CMD.

## Pages

| command | purpose |
|---|---|
"""


def escaped(text: str) -> str:
    """Return text that a Markdown table shows as it is."""
    for special in "\\|<*_[":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())


def shown_default(parameter: Any) -> str:
    """Return the default of an option, or nothing."""
    value = parameter.default
    if value is None or value is False or callable(value) or str(value) in ("", "()", "[]"):
        return ""
    if value is True or "Sentinel" in type(value).__name__:
        return ""
    return f"`{getattr(value, 'value', value)}`"


def row(parameter: Any) -> str:
    """Return the line of a table for an option or an argument."""
    text = escaped(getattr(parameter, "help", None) or "")
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name.upper()).replace("|", " or ")
        return f"| `{name}` | {text} | |\n"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return f"| {names} | {text} | {shown_default(parameter)} |\n"


def section(name: str, command: Any, level: int) -> str:
    """Return the text of one command: what it does, its arguments and its options."""
    text = (command.help or "").split("\f")[0].replace("\b\n", "").strip()
    lines = f"{'#' * level} stretto {name}\n\n"
    if level == 1:
        lines += NOTE
    lines += "\n".join(line.strip() for line in text.splitlines()).replace("<", "\\<") + "\n"
    groups: dict[str, list[Any]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            group = getattr(parameter, "rich_help_panel", None) or "Arguments and options"
            groups.setdefault(group, []).append(parameter)
    for group, parameters in groups.items():
        lines += f"\n| {group} | meaning | default |\n|---|---|---|\n"
        lines += "".join(row(p) for p in parameters)
    return lines


def page(name: str) -> str:
    """Return the page of one command and its subcommands."""
    root: Any = typer.main.get_command(build_app(name))
    command = root.commands[name]
    text = section(name, command, 1)
    for below, inner in sorted(getattr(command, "commands", {}).items()):
        text += "\n" + section(f"{name} {below}", inner, 2)
    example = (command.epilog or "").split("\b\n")[-1]
    lines = [line.removeprefix("  ") for line in example.strip("\n").splitlines()]
    return text + "\n## Examples\n\n```\n" + "\n".join(lines) + "\n```\n"


def pages() -> dict[Path, str]:
    """Return every page and its text."""
    found = {INDEX: HEAD}
    for name, summary in COMMANDS:
        found[INDEX] += f"| [{name}](cli/{name}.md) | {escaped(summary)} |\n"
        found[INDEX.parent / "cli" / f"{name}.md"] = page(name)
    return found


def main() -> int:
    """Write the pages, or compare them."""
    wanted = pages()
    present = {INDEX, *(INDEX.parent / "cli").glob("*.md")}
    if "--check" in sys.argv[1:]:
        stale = [p for p in wanted if not p.exists() or p.read_text(encoding="utf-8") != wanted[p]]
        stale += sorted(present - set(wanted))
        for path in stale:
            print(f"{path} is not what the commands say; run: make docs-pages", file=sys.stderr)
        return 1 if stale else 0
    for path in present - set(wanted):
        path.unlink(missing_ok=True)
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
