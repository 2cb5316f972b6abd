"""What the starts of a campaign have asked for: ``campaign.json`` in its directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from stretto.campaign.layout import Layout, ordered, parse_layout
from stretto.campaign.plan import FILE, refuse_elimination
from stretto.campaign.request import Request
from stretto.errors import StrettoError, from_oserror
from stretto.files.io import dump_json, parse_body, read_text, write_atomic
from stretto.files.room import try_writing

CAMPAIGN = "campaign.json"
_WHAT = "a campaign's directory"


def read_about(directory: Path) -> dict[str, Any]:
    """Return what a campaign's directory says of how it was begun."""
    path = directory / CAMPAIGN
    text = read_text(path, _WHAT, "give the directory of: stretto campaign run FILE")
    remedy = "the file is damaged; the command that measures writes it anew"
    try:
        value = parse_body(text, str(path), _WHAT, "stretto-campaign")
    except StrettoError as error:
        error.remedy = remedy
        raise
    launches, layouts = value.get("launches"), value.get("layouts")
    good = isinstance(layouts, list) and all(isinstance(x, str) for x in layouts)
    asked = value.get("asked", {})
    good = good and isinstance(asked, dict) and all(map(_count, [launches, *asked.values()]))
    systems = value.get("systems", [])
    good = good and isinstance(systems, list) and all(map(_system, systems))
    if not good:
        raise StrettoError("this does not say the campaign's launches and layouts", path, remedy)
    return value


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _system(value: object) -> bool:
    """Return whether this names an MPI, its directory and its times, as `keep_about` writes it."""
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(k), str) for k in ("mpi", "directory"))
        and isinstance(value.get("expected_s"), int | float)
    )


def earlier(directory: Path) -> dict[str, Any] | None:
    """Return what earlier starts have asked for, None where there are none, or it is not known."""
    try:
        return read_about(directory)
    except StrettoError:
        return None


def launches_of(about: Mapping[str, Any], layout: str) -> int:
    """Return how many launches were asked for by the last start that has named a layout."""
    return int(about.get("asked", {}).get(layout, about["launches"]))


def refuse_place(out: Path) -> None:
    try:
        try_writing(out.absolute())
    except OSError as error:
        problem = from_oserror(error, "the campaign's directory cannot be written", out)
        problem.remedy = "name another one (out = ..., --out)"
        raise problem from error


def refuse_other(request: Request) -> None:
    """Refuse to go on in another way than a campaign's results were measured in, by the plans."""
    for path in sorted(request.out.glob(f"*/*/*/{FILE}")):
        refuse_elimination(path, request.eliminate)


def keep_about(
    request: Request, command: list[str], systems: Sequence[Mapping[str, object]] = ()
) -> None:
    before = earlier(request.out) or {}
    layouts = [x.name for x in ordered(request.layouts)]
    names = {str(x): None for x in before.get("layouts", ())}
    asked = {x: launches_of(before, x) for x in names} | dict.fromkeys(layouts, request.launches)
    refine = None if request.refine is None else str(request.refine.absolute())
    value = {
        "schema": "stretto-campaign",
        "version": 1,
        "command": command,
        "file": None if request.file is None else str(request.file),
        "mpis": list(request.mpis),
        "systems": list(systems),
        "layouts": list(dict.fromkeys([*layouts, *names])),
        "interpolate": list(
            dict.fromkeys([*(x.name for x in request.interpolate), *before.get("interpolate", ())])
        ),
        "refine": refine or before.get("refine"),
        "launches": request.launches,
        "asked": asked,
        "eliminate": request.eliminate,
        "platform": request.platform or before.get("platform"),
    }
    write_atomic(request.out / CAMPAIGN, dump_json(value), "the campaign")


def with_earlier(
    request: Request, before: Mapping[str, Any] | None, say: Callable[[str], None]
) -> Request:
    """Return the request with the rows that earlier starts have asked for, too."""
    if before is None:
        return request
    more = [parse_layout(x) for x in before.get("interpolate", ())]
    more = [x for x in more if x not in request.interpolate]
    out = request
    if more:
        words = ", ".join(x.words for x in more if x not in request.layouts)
        if words:
            say(f"stretto: note: {words}, asked for by other starts here, is filled in, too")
        # of those that this start means to measure some may be left out
        known: tuple[Layout, ...] = (*request.interpolate, *more)
        out = replace(out, interpolate=known)
    if out.interpolate:  # they keep their prices, and what the model has refused
        out = replace(out, platform=request.platform or before.get("platform"))
    refine = before.get("refine")
    if refine and request.refine is None:
        if Path(refine).exists():
            say(f"stretto: note: refined by {refine}, as other starts here have asked for")
            out = replace(out, refine=Path(refine))
        else:
            say(f"stretto: warning: {refine}, by which other starts refined, is not there any more")
    return out
