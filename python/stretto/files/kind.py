"""The kinds of Stretto's files: one of another kind is refused by its name, never as damaged."""

from __future__ import annotations

from stretto.errors import StrettoError
from stretto.light import TYPE_CHECKING, dataclass, later

if TYPE_CHECKING:
    import shlex
else:
    shlex = later("shlex")


@dataclass(frozen=True)
class Kind:
    """One kind: what it is called, how its files are named, and the command that shows one."""

    what: str
    pattern: str
    shown_by: str | None = None

    @property
    def named(self) -> str:
        return f"{self.what} ({self.pattern})"

    @property
    def is_plural(self) -> bool:
        return self.what.endswith("s")

    @property
    def this(self) -> str:
        return f"these are {self.what}" if self.is_plural else f"this is {self.what}"


#: characters at the beginning of a file that say its kind
_MOST = 400
_REPORT = "stretto report {}"
KINDS = {
    "stretto-profile": Kind("a profile", "*.profile.json", "stretto profile --show {}"),
    "stretto-bench": Kind("bench results", "*.bench.jsonl", "stretto compare {}"),
    "stretto-table": Kind("a table", "*.table", "stretto table show {}"),
    "stretto-verdict": Kind("a verdict", "*.verdict.json", _REPORT),
    "stretto-forecast": Kind("a forecast", "*.forecast.json", _REPORT),
    "stretto-settings": Kind("tried settings", "*.settings.json", _REPORT),
    "stretto-net": Kind("a result of stretto net", "*.net.json", _REPORT),
    "stretto-io": Kind("a result of stretto io", "*.io.json", _REPORT),
    "stretto-scale": Kind("a result of stretto scale", "*.scale.jsonl", _REPORT),
    "stretto-campaign": Kind("a campaign", "campaign.json"),
    "stretto-export": Kind("the row list of an export", "stretto-native.json"),
}


def schema_of(text: str) -> str | None:
    """Return the schema that a file begins with; None: it is none of Stretto's."""
    head = text[:_MOST].lstrip()
    if head.startswith("{"):
        key, _, value = head[1:].partition(":")
        head = value.lstrip()[1:].partition('"')[0] if key.strip() == '"schema"' else ""
    found = (head.split(None, 1) or [""])[0]
    return found if found in KINDS else None


def refuse_other(text: str, place: str, schema: str) -> None:
    """Refuse a file that is of another kind than `schema`."""
    found = schema_of(text)
    if found is None or found == schema:
        return
    kind, needed = KINDS[found], KINDS[schema]
    give = f"give {needed.what}"
    if (found, schema) == ("stretto-table", "stretto-bench"):
        give += (
            ", from which the table was made: the .bench.jsonl beside it, or a campaign's directory"
        )
    shows = kind.shown_by and f"; `{kind.shown_by.format(shlex.quote(place))}` shows this file"
    raise StrettoError(
        f"{kind.this}; {needed.named} {'are' if needed.is_plural else 'is'} needed here",
        place,
        give + (shows or ""),
    )
