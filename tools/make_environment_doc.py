#!/usr/bin/env python3
"""Make docs/reference/environment.md from src/engine/env.def, the list of variables.

tools/make_environment_doc.py           write the document
tools/make_environment_doc.py --check   fail when it is not what env.def says
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "engine" / "env.def"
TARGET = ROOT / "docs" / "reference" / "environment.md"

#: read by the Python side only, so not in env.def
PYTHON_SIDE = [
    ("STRETTO_DEBUG", "bool", "0", "1: show the traceback of a defect at once"),
    (
        "STRETTO_LIB_DIR",
        "path",
        "",
        "directory of the built libraries; default: the package",
    ),
    (
        "STRETTO_SITE_TABLES",
        "path",
        "/etc/stretto/tables",
        "tables of the site, searched after those of the user "
        "(`$XDG_DATA_HOME/stretto/tables`, by default `~/.local/share/stretto/tables`)",
    ),
    (
        "STRETTO_EXPORT_OPENMPI`, `STRETTO_EXPORT_MPICH`, `STRETTO_EXPORT_INTEL",
        "string",
        "",
        "list of the variables that the script of an export has set; measurements refuse to run "
        "with it, and a newer script unsets them",
    ),
]

HEAD = """# Environment variables

<!-- Made by tools/make_environment_doc.py from src/engine/env.def; do not edit. -->

`stretto run`, `profile` and `tune` set the variables that they need. They pass all `STRETTO_*`
variables of your environment to every rank on every node. For a job script without Python,
`stretto env` prints them as shell lines. `bool` is 0 or 1.

## Read inside the application

| variable | type | default | meaning |
|---|---|---|---|
"""

MIDDLE = """
## Read by the `stretto` command

| variable | type | default | meaning |
|---|---|---|---|
"""

ROW = re.compile(r'ENV\((\w+),\s*(\w+),\s*"((?:[^"\\]|\\.)*)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')


def rows(text: str) -> list[tuple[str, str, str, str]]:
    """Return name, type, default and help of every ENV(...) in the text of env.def."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = []
    for name, kind, default, words in ROW.findall(code):
        parts = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
        found.append((name, kind, default, "".join(parts).replace('\\"', '"')))
    if len(found) != len(re.findall(r"\bENV\s*\(", code)):
        raise SystemExit(
            f"{SOURCE}: not every ENV(...) could be read; they are ENV(NAME, type, ...)"
        )
    return found


def document(text: str) -> str:
    """Return the document for the text of env.def."""

    def lines(table: list[tuple[str, str, str, str]]) -> str:
        out = ""
        for name, kind, default, words in table:
            shown = f"`{default}`" if default else "(none)"
            out += f"| `{name}` | {kind} | {shown} | {words.replace('|', chr(92) + '|')} |\n"
        return out

    return HEAD + lines(rows(text)) + MIDDLE + lines(PYTHON_SIDE)


def main() -> int:
    """Write the document, or compare it."""
    text = document(SOURCE.read_text(encoding="utf-8"))
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET} is not what {SOURCE} says; run tools/make_environment_doc.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
