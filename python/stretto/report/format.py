"""Numbers, sizes and names as the report prints them: one rule for each quantity.

Times carry their unit with the number, message sizes are in bytes, KiB and MiB, ratios have two
digits after the point, factors a multiplication sign, and a number that does not exist is a dash.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from stretto.counted import counted, sized
from stretto.counted import size_range as size_range
from stretto.files.layout import RankLayout
from stretto.files.verdict import GainInterval, VerdictFile
from stretto.mpi.algorithms.words import shown_label

DASH = "\u2013"
NONE = "\u2014"
TIMES = "\u00d7"
MINUS = "\u2212"
MICRO = "\u00b5"
plural, size = counted, sized


def significant(value: float, digits: int = 3) -> str:
    """Return `value` with so many significant digits, without an exponent and without noise."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else NONE
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    # rounding may have carried into the next decade: 9.996 is 10.0, not 10.00
    places = digits - 1 - math.floor(math.log10(abs(rounded)))
    text = f"{rounded:.{max(places, 0)}f}"
    return text.replace("-", MINUS)


def microseconds(value: float | None) -> str:
    """Return a time given in microseconds, with the unit that suits it (ns, us, ms, s)."""
    return NONE if value is None else seconds(value * 1e-6)


def seconds(value: float | None) -> str:
    """Return a time given in seconds, with the unit that suits it (ns, us, ms, s, min, h)."""
    if value is None:
        return NONE
    amount = abs(value)
    if amount == 0:
        return "0 s"
    if amount < 0.9995e-6:
        return f"{significant(value * 1e9)} ns"
    if amount < 0.9995e-3:
        return f"{significant(value * 1e6)} {MICRO}s"
    if amount < 0.9995:
        return f"{significant(value * 1e3)} ms"
    if amount < 600:
        return f"{significant(value, 4)} s"
    if amount < 3 * 3600:
        return f"{significant(value / 60)} min"
    return f"{significant(value / 3600)} h"


def percent(fraction: float | None) -> str:
    """Return a share: ``31 %``, ``4.2 %``, ``0.03 %``; never more digits than the data bear."""
    if fraction is None:
        return NONE
    value = 100 * fraction
    if abs(value) >= 9.95:
        return f"{value:.0f} %".replace("-", MINUS)
    if abs(value) >= 0.095:
        return f"{value:.1f} %".replace("-", MINUS)
    if value == 0:
        return "0 %"
    if abs(value) < 0.005:
        return "<0.01 %"
    return f"{value:.2f} %".replace("-", MINUS)


def ratio(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.2f}" if value < 9.995 else significant(value)


def factor(value: float | None) -> str:
    """Return how many times faster: ``2.4x`` with a real multiplication sign."""
    if value is None:
        return NONE
    return f"{significant(value, 2 if value < 9.95 else 3)}{TIMES}"


def pvalue(value: float | None) -> str:
    if value is None:
        return NONE
    return "<0.0001" if value < 0.0001 else f"{value:.2g}"


def count(number: float) -> str:
    """Return a count with thin spaces between thousands; whole when it is whole."""
    whole = round(number)
    text = f"{whole:,}" if abs(number - whole) < 1e-9 or number >= 100 else significant(number)
    return text.replace(",", "\u202f")


def slowest_left_out(number: int, total: int, noun: str) -> str:
    """Say that the slowest of a chart's points are left out: ``the slowest of 13 candidates``."""
    who = "slowest" if number == 1 else f"{count(number)} slowest"
    verb = "is" if number == 1 else "are"
    return f"the {who} of {plural(total, noun)} {verb} left out"


def layout(where: RankLayout) -> str:
    """Return a layout: ``4 nodes x 8 ranks`` (nodes times ranks on each)."""
    if where.nranks != where.nodes * where.ppn:
        return f"{plural(where.nranks, 'rank')} on {plural(where.nodes, 'node')}"
    return f"{plural(where.nodes, 'node')} {TIMES} {plural(where.ppn, 'rank')}"


def date(text: str) -> str:
    """Return an ISO time for people: ``2026-11-21 20:00 UTC``."""
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 else text


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital at its start, a full stop at its end."""
    text = text.strip()
    text = text if text.startswith(("./", "/")) else capital(text)
    return text if not text or text[-1] in ".!?" else text + "."


def identifier(text: str) -> str:
    """Return a text as a file name and an element's id: what files hold may be anything."""
    return re.sub(r"[^A-Za-z0-9_.,()+-]", "-", text)


def drawable(text: str) -> str:
    """Return a text without what Vega cannot take: halves of characters, separators of lines."""
    return re.sub("[\u2028\u2029]", " ", text.encode(errors="replace").decode())


_NATIVE_SETTING = re.compile(r"^native:(.+)$")


def choice(name: str, limit: int = 28) -> str:
    """Return a candidate's name short enough for a chart; the whole name stands in its tooltip.

    ``native:coll_tuned_allreduce_algorithm=4`` becomes ``tuned ring``, settings without a name
    ``native (eager_limit 4096)``.
    """
    match = _NATIVE_SETTING.match(name)
    if match and (own := shown_label(name)) is not None:
        name = own
    elif match:
        words = []
        for word in match.group(1).split(","):
            key, _, value = word.partition("=")
            words.append(f"{key.split('_')[-1].lower()} {value}".strip())
        name = f"native ({', '.join(words)})"
    return shortened(name, limit)


def shortened(text: str, limit: int) -> str:
    """Return a text without its middle where it is too long: the end tells names apart."""
    if len(text) <= limit:
        return text
    end = (limit - 1) // 2
    return f"{text[: limit - 1 - end]}\u2026{text[len(text) - end :]}"


def told_apart(names: Sequence[str], limit: int) -> dict[str, str]:
    """Return names by themselves; of long ones without the words that all of them share."""
    if len(names) < 2 or max(map(len, names)) <= limit:
        return {name: shortened(name, limit) for name in names}
    words = [re.split(r"(?<=[-_. /])", name) for name in names]
    first = _alike(words)
    last = _alike([w[first:][::-1] for w in words])
    return {
        name: shortened(
            ("\u2026" if first else "")
            + "".join(w[first : len(w) - last]).rstrip("-_. /")
            + ("\u2026" if last else ""),
            limit,
        )
        for name, w in zip(names, words, strict=True)
    }


def _alike(lists: Sequence[Sequence[str]]) -> int:
    """Return how many items all lists begin with."""
    same = (len(set(items)) == 1 for items in zip(*lists, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, same))


def distinct(labels: Mapping[str, str]) -> dict[str, str]:
    """Return labels by name, no two alike: those that are have a number."""
    seen: Counter[str] = Counter()
    out = {}
    for name, label in labels.items():
        seen[label] += 1
        out[name] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return out


def value_text(verdict: VerdictFile, value: float) -> str:
    if verdict.metric.unit == "s":
        return seconds(value)
    text = significant(value, 4) if abs(value) < 1000 else count(round(value))
    return f"{text} {verdict.metric.unit}".strip()


def gain_text(g: GainInterval) -> str:
    return f"{percent(g.median)} ({percent(g.low)} to {percent(g.high)})"
