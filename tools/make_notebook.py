#!/usr/bin/env python3
"""Execute docs/howto/notebook.ipynb and write its page: docs/howto/notebook.md and its pictures.

The notebook measures what it shows, with the MPI that stands first in PATH.

    python tools/make_notebook.py           # execute, store the outputs, write the page
    python tools/make_notebook.py --check   # fail when the page is not that of the stored outputs
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stretto.report.text import fixed

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "howto" / "notebook.ipynb"
PAGE = NOTEBOOK.with_suffix(".md")
IMAGES = ROOT / "docs" / "images"
MARK = "<!-- Made by tools/make_notebook.py from notebook.ipynb; do not edit. -->"


def execute(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run all code in a fresh directory; return the notebook with its outputs."""
    try:
        nbformat, nbclient = map(importlib.import_module, ("nbformat", "nbclient"))
        importlib.import_module("ipykernel")
    except ImportError as error:
        raise SystemExit(f"{error.name} is missing: pip install nbclient ipykernel") from error
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if os.geteuid() == 0:  # in a container, say; Open MPI asks for these
        allow = [f"{name}_ALLOW_RUN_AS_ROOT" for name in ("OMPI", "PRTE")]
        os.environ.update(dict.fromkeys([*allow, *(f"{name}_CONFIRM" for name in allow)], "1"))
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(ROOT / "examples" / "inversion.py", directory)
        nbclient.NotebookClient(
            node, timeout=400, kernel_name="python3", resources={"metadata": {"path": directory}}
        ).execute()
    for cell in node.cells:
        cell.metadata = {}
        cell.pop("execution_count", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                if output.output_type == "execute_result":
                    output.output_type = "display_data"
                lean(output.get("data", {}))
    node.metadata = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    return json.loads(nbformat.writes(node))


def lean(data: dict[str, Any]) -> None:
    """Keep of an output what the page shows, with as many digits as are seen."""
    if "image/svg+xml" in data:
        # as in reports: readers without the font of Vega would see texts overlap
        svg = fixed(text_of(data["image/svg+xml"]))
        svg = re.sub(r"(\d+\.\d{2})\d+", r"\1", svg)
        svg = re.sub(r' (?:aria-roledescription|pointer-events|role)="[^"]*"', "", svg)
        data.clear()
        data["image/svg+xml"] = svg
    elif not text_of(data.get("text/html", "")).startswith("<table>"):
        data.pop("text/html", None)  # xarray's has its style sheet in it


def text_of(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def shown(output: dict[str, Any], pictures: dict[str, str]) -> Iterator[str]:
    """Yield an output as Markdown; pictures are collected by name."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        name = f"notebook-{len(pictures) + 1}.svg"
        pictures[name] = text_of(data["image/svg+xml"]).strip() + "\n"
        yield f"![](../images/{name})"
    elif text_of(data.get("text/html", "")).startswith("<table>"):
        yield text_of(data["text/html"])
    else:
        text = text_of(output.get("text", data.get("text/plain", ""))).rstrip()
        if text:
            yield f"```text\n{text}\n```"


def page(notebook: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the page and its pictures by file name."""
    parts: list[str] = []
    pictures: dict[str, str] = {}
    for cell in notebook["cells"]:
        source = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            for output in cell["outputs"]:
                parts += shown(output, pictures)
    title, *rest = parts
    head, _, below = title.partition("\n")
    return "\n\n".join([head, MARK, below.strip(), *rest]) + "\n", pictures


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the notebook and write its page.")
    parser.add_argument("--check", action="store_true", help="Only compare; execute nothing.")
    check = parser.parse_args().check
    notebook = json.loads(NOTEBOOK.read_text())
    if not check:
        notebook = execute(notebook)
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    text, pictures = page(notebook)
    files = {PAGE: text, **{IMAGES / name: svg for name, svg in pictures.items()}}
    for path, wanted in files.items():
        if not check:
            path.write_text(wanted)
        elif not path.is_file() or path.read_text() != wanted:
            raise SystemExit(
                f"{path.relative_to(ROOT)} is not what the notebook shows: "
                "python tools/make_notebook.py"
            )


if __name__ == "__main__":
    main()
