"""``stretto export --to stretto``: Stretto's own table, a campaign's or from the same results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.export_refusals import is_free
from stretto.files.export import OWN
from stretto.output import say

if TYPE_CHECKING:
    from stretto.export.targets import Wishes


def run(results: list[Path], out: Path, wishes: Wishes, as_json: bool) -> dict[str, object]:
    """Write Stretto's own table, of all results that were named; return what was written."""
    from stretto.export.own import README, chosen_results, write_own

    is_free(out, OWN)
    files, _ = chosen_results(results, None, "")
    written = write_own(files, out, wishes)
    if not as_json:
        for sentence in [*written.notes, *written.lost]:
            say(f"stretto: note: {sentence}")
        rows = f"{written.chosen} row{'s' * (written.chosen != 1)} in {written.path}"
        if written.command is None:
            print(rows)
        else:
            say(
                "stretto: note: there is no script to source: an LD_PRELOAD of a whole job script "
                "would reach each of its programs"
            )
            print(f"{rows}; next: {written.command} -- CMD")
    return {
        "files": [str(written.path), str(out / README)],
        "environment": {},
        "rules": written.chosen,
        "campaign_table": None if written.taken is None else str(written.taken),
        "lost": written.lost,
    }
