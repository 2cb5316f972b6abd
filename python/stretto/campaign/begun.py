"""What the starts of a campaign have asked for: ``campaign.json`` in its directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stretto.campaign.alone import in_turn
from stretto.campaign.request import Request
from stretto.errors import StrettoError, from_oserror
from stretto.files.document import Document
from stretto.files.room import try_writing

CAMPAIGN = "campaign.json"


@dataclass(frozen=True)
class LayoutAsked:
    """Launches of each candidate that a layout is to get, and about how long they take."""

    launches: int
    expected_s: float


@dataclass(frozen=True)
class About:
    """A campaign, by what its starts have asked for; the latest one comes first.

    `systems`: by directory of an MPI on a kind of node, and by layout.
    """

    command: list[str]
    file: str | None
    mpis: list[str]
    eliminate: bool
    systems: dict[str, dict[str, LayoutAsked]] = field(default_factory=dict)

    def launches(self, system: str, layout: str, default: int) -> int:
        asked = self.systems.get(system, {}).get(layout)
        return default if asked is None else asked.launches


def _problems(about: About) -> Iterator[str]:
    if any(x.launches < 1 for layouts in about.systems.values() for x in layouts.values()):
        yield "launches must be at least 1"


DOCUMENT = Document("stretto-campaign", About, "a campaign", "stretto campaign run FILE", _problems)


def read_about(directory: Path) -> About:
    """Return what a campaign's directory says of how it was begun."""
    return DOCUMENT.read(directory / CAMPAIGN)


def earlier(directory: Path) -> About | None:
    """Return what earlier starts have asked for, None where there are none, or it is not known."""
    try:
        return read_about(directory)
    except StrettoError:
        return None


def refuse_place(out: Path) -> None:
    try:
        try_writing(out.absolute())
    except OSError as error:
        problem = from_oserror(error, "the campaign's directory cannot be written", out)
        problem.remedy = "name another one (out = ..., --out)"
        raise problem from error


def keep_about(
    request: Request, command: Sequence[str], systems: Mapping[str, Mapping[str, LayoutAsked]]
) -> None:
    """Write what is asked for, with what earlier starts have asked for of other layouts."""
    with in_turn(request.out):  # jobs that start at once add to one file
        before = earlier(request.out)
        found = {name: dict(layouts) for name, layouts in systems.items()}
        for name, layouts in (before.systems if before else {}).items():
            found[name] = {**found.get(name, {}), **{k: v for k, v in layouts.items()
                                                     if k not in found.get(name, {})}}  # fmt: skip
        file = None if request.file is None else str(request.file)
        about = About(list(command), file, list(request.mpis), request.eliminate, found)
        DOCUMENT.write(about, request.out / CAMPAIGN)
