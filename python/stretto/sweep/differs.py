"""What a start asks for differs from what a campaign was begun with: in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stretto.campaign.show import size_words

#: of so many sizes, or candidates, each is named
FEW = 4


def other_plan(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Return in what two plans of one layout differ, None where they do not.

    Parameters
    ----------
    before, now
        As they are kept: seed, cases and variants.
    """
    if before.get("seed") != now["seed"]:
        return f"seed ({before.get('seed')}, not {now['seed']})"
    if before.get("cases") != now["cases"]:
        return f"cases: {_cases(before.get('cases'), now['cases'])}"
    if before.get("variants") != now["variants"]:
        words = _gone_and_new(_strings(before.get("variants")), _strings(now["variants"]))
        return f"launches: {words or 'they were in another order'}"
    return None


def _cases(before: Any, now: Any) -> str:
    old, new = _by_collective(before), _by_collective(now)
    words = _gone_and_new(list(old), list(new))
    if words:
        return words
    for name in old:
        words = _gone_and_new(
            [size_words(x) for x in old[name]], [size_words(x) for x in new[name]]
        )
        if words:
            return f"of {name}, sizes: {words}"
        for size, candidates in old[name].items():
            words = _gone_and_new(candidates, new[name][size])
            if words:
                return f"of {name} at {size_words(size)}, candidates: {words}"
    return "their order, datatypes, operations or roots"


def _by_collective(cases: Any) -> dict[str, dict[int, list[str]]]:
    """Return candidates by collective and size; of a damaged plan what can be read."""
    out: dict[str, dict[int, list[str]]] = {}
    for case in cases if isinstance(cases, list) else []:
        if isinstance(case, dict) and isinstance(case.get("bytes"), int):
            sizes = out.setdefault(str(case.get("collective")), {})
            sizes[case["bytes"]] = _strings(case.get("candidates"))
    return out


def _strings(value: Any) -> list[str]:
    return [str(x) for x in value] if isinstance(value, list | tuple) else []


def _gone_and_new(before: list[str], now: list[str]) -> str:
    """Return which of these there are no longer, and which are new; empty: they are the same."""
    parts = []
    for names, word in (
        ([x for x in before if x not in now], "gone"),
        ([x for x in now if x not in before], "new"),
    ):
        if names:
            more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
            parts.append(f"{word}: {', '.join(names[:FEW])}{more}")
    return "; ".join(parts)
