"""What a start asks for differs from what a campaign was begun with: in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stretto.measure.show import size_words

#: of so many sizes, or candidates, each is named
FEW = 4


def other_plan(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return in what two plans of one layout differ, None where they do not."""
    if before.get("seed") != now["seed"]:
        return f"seed ({before.get('seed')}, not {now['seed']})"
    if before.get("cases") != now["cases"]:
        words = _gone_and_new(_cells(before.get("cases")), _cells(now["cases"]))
        return f"cases: {words or 'their order, datatypes, operations or roots'}"
    if before.get("variants") != now["variants"]:
        words = _gone_and_new(_strings(before.get("variants")), _strings(now["variants"]))
        return f"launches: {words or 'they were in another order'}"
    return None


def _cells(cases: Any) -> list[str]:
    return [
        f"{case.get('collective')} at {size_words(case['bytes'])}: {name}"
        for case in (cases if isinstance(cases, list) else [])
        if isinstance(case, dict) and isinstance(case.get("bytes"), int)
        for name in _strings(case.get("candidates"))
    ]


def _strings(value: Any) -> list[str]:
    return [str(x) for x in value] if isinstance(value, list | tuple) else []


def _gone_and_new(before: list[str], now: list[str]) -> str:
    parts = []
    for names, word in (
        ([x for x in before if x not in now], "gone"),
        ([x for x in now if x not in before], "new"),
    ):
        if names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            parts.append(f"{word}: {', '.join(names[:FEW])}{more}")
    return "; ".join(parts)
