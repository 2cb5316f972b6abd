"""``stretto campaign``: looks at a campaign (``stretto tune --campaign``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stretto.cli import print_json

EXAMPLE = """stretto tune --campaign cluster.toml --dry-run     (what it would measure, how long)
stretto tune --campaign cluster.toml               (measures; the same command goes on)
stretto campaign status cluster.campaign"""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command("status")
def status(
    directory: Annotated[Path, typer.Argument(help="The campaign's directory.")],
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Every candidate that was dropped, and why.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how far a campaign is: per layout, excluded candidates, time left."""
    from stretto.sweep.status import read_status, status_lines

    found = read_status(directory)
    if as_json:
        print_json(found)
        return
    print("\n".join(status_lines(found, verbose)))
