"""``stretto export --to stretto``: Stretto's own table, from the same results."""

from __future__ import annotations

from pathlib import Path

from stretto.cli import say


def run(results: list[Path], out: Path, as_json: bool) -> dict[str, object]:
    """Write Stretto's own table, of all results that were named; return what was written.

    Parameters
    ----------
    results
        Files, or directories of them.
    out
        Directory of the table.
    as_json
        Nothing is printed: the caller prints JSON.
    """
    from stretto.export.own import README, chosen_results, write_own

    files, _ = chosen_results(results, None, "")
    table, chosen, lost, command = write_own(files, out)
    if not as_json:
        for sentence in lost:
            say(f"stretto: note: {sentence}")
        say(
            "stretto: note: there is no script to source: an LD_PRELOAD of a whole job script "
            "would reach each of its programs"
        )
        print(f"{chosen} row{'s' * (chosen != 1)} in {table}; next: {command} -- CMD")
    return {
        "files": [str(table), str(out / README)],
        "environment": {},
        "rules": chosen,
        "lost": lost,
    }
