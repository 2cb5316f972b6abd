"""Which rules the files of Open MPI have words for, by release.

A rule's settings are what was given when it was measured: numbers, names of the MPI's enumerations,
sizes with a suffix. Rows hold numbers, of algorithms that the release they are for has. And they
hold beside HAN, which Open MPI 5 and 6 put before coll/tuned on several nodes: what was measured
with or without it can be said only where the files leave it so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from stretto.export import han
from stretto.export.native_rows import NativeRow
from stretto.export.rules import Rule
from stretto.mpi.algorithms.openmpi_names import HAN, TUNED

#: algorithms that call other collectives, whose rows then hold inside them
COMPOUND = (
    ("allgather", "1"), ("allgatherv", "1"), ("allreduce", "2"), ("allreduce", "7"),
    ("reduce_scatter", "1"), ("reduce_scatter_block", "1"),
)  # fmt: skip
#: chains by collective and number, and the fan-out that they have when nobody sets one
CHAINS, CHAIN_FANOUT = (("bcast", "2"), ("reduce", "2")), "4"
#: collectives whose forced algorithms get the chain's fan-out; the others get the tree's
#: (coll_tuned_*_decision.c of 4.1, 5.0 and 6.0)
_CHAINED = ("bcast", "reduce", "scatter")
#: ends of the names of an algorithm's settings that rows have a place for; with any other it is
#: another candidate (a radix, requests in flight, what another component is told)
_IN_ROWS = ("", "_segmentsize", "_chain_fanout", "_tree_fanout")
#: the radix of allgather's algorithm 2 (Bruck): the setting and its default in 6; 4 and 5 have 2
_RADIX, _BRUCK, _RADIX_6, _RADIX_OLD = "coll_tuned_allgather_algorithm_tree_fanout", "2", "4", "2"
_HAN_PRIORITY = "coll_han_priority"
#: what stands beside it and says only that coll/tuned, or HAN, is to decide
BESIDE = ("coll_tuned_use_dynamic_rules", _HAN_PRIORITY)
#: the priority of coll/tuned: HAN decides only with a higher one
_TUNED_PRIORITY = 30
#: the first release that has an algorithm, where it is not 4: a row with one that a release lacks
#: ends the program at the call (4.1.4 and 5.0.11, run), or is left out without a word (6)
_SINCE = {
    ("allgather", 7): "5", ("allgather", 8): "6", ("allgatherv", 6): "5", ("allreduce", 7): "6",
    ("reduce", 8): "6",
}  # fmt: skip
_ENUMERATION = re.compile(r"coll_(tuned|han_use)_([a-z_]+)_algorithm")
#: other names of algorithms: 6's own
_ALSO = {"bruck-k-fanout": "bruck"}
#: as Open MPI reads numbers: strtoull with base 0, then a suffix
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([kKmMgG]?)")
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30}
#: the most that a row's numbers hold
_MOST = (1 << 31) - 1


def numbered(rule: Rule) -> Rule:
    """Return a rule with the numbers that Open MPI makes of its settings' values.

    `rule`: as it was measured. What is neither a number nor a name that is known stays as it is,
    for `unsaid` to name.
    """
    return rule.with_values(number_of)


def number_of(name: str, value: str) -> str:
    """Return the number that a setting's value stands for; the value where that is not known."""
    found = _NUMBER.fullmatch(value)
    if found:
        digits, suffix = found.groups()
        octal = re.fullmatch(r"0[0-7]+", digits)
        base = 16 if digits[:2].lower() == "0x" else 8 if octal else 10
        return str(int(digits, base) << _SHIFTS[suffix.lower()])
    enumeration = _ENUMERATION.fullmatch(name)
    if enumeration:
        names = TUNED if enumeration[1] == "tuned" else HAN
        there, value = names.get(enumeration[2], "").split(), _ALSO.get(value, value)
        return str(there.index(value) + 1) if value in there else value
    return value


def fanout_name(collective: str) -> str:
    """Return the setting of the fan-out that a collective's algorithms get when they are forced."""
    kind = "chain" if collective in _CHAINED else "tree"
    return f"coll_tuned_{collective}_algorithm_{kind}_fanout"


def tuned_values(
    rule: Rule | NativeRow, fanout: str | None = None
) -> tuple[int, int, int, int] | None:
    """Return algorithm, fan-out, segment size and requests of a row of coll/tuned; None: of HAN.

    `fanout`: what forcing passes where nobody sets one; None: as in 4 and 5.
    """
    base = f"coll_tuned_{rule.collective}_algorithm"
    algorithm = rule.setting(base)
    if algorithm is None:
        return None
    default = fanout or fanout_of(rule.collective, algorithm)
    number = rule.setting(fanout_name(rule.collective)) or default
    segment, requests = (
        int(rule.setting(f"{base}_{end}") or 0) for end in ("segmentsize", "max_requests")
    )
    return int(algorithm), int(number), segment, requests


def tuned_settings(
    collective: str, values: Sequence[int], fanout: str | None = None
) -> dict[str, str]:
    """Return the settings that have a row's effect, without those at their defaults.

    `values`, `fanout`: as of `tuned_values`; requests may be left out.
    """
    base = f"coll_tuned_{collective}_algorithm"
    algorithm, number, *others = map(str, values)
    out = {base: algorithm}
    if number != (fanout or fanout_of(collective, algorithm)):
        out[fanout_name(collective)] = number
    pairs = zip(("segmentsize", "max_requests"), others, strict=False)
    return out | {f"{base}_{name}": value for name, value in pairs if value != "0"}


def fanout_of(collective: str, algorithm: str) -> str:
    """Return the fan-out of 4 and 5: 0 in a chain's row is not the setting's default."""
    return CHAIN_FANOUT if (collective, algorithm) in CHAINS else "0"


def of_han(release: str) -> tuple[str, ...]:
    """Return the collectives that HAN decides on several nodes, and that its file has."""
    return {"5": han.COLLECTIVES, "6": han.COLLECTIVES_6}.get(release, ())


def on_nodes(rule: Rule, collectives: Collection[str]) -> bool:
    """Return whether a rule is HAN's to decide."""
    return rule.layout.nodes > 1 and rule.collective in collectives


def as_forced(rule: Rule, release: str) -> Rule:
    """Return a rule with the settings that do by themselves what its row does.

    `release`: ``4``, ``5`` or ``6``. What was measured where HAN is off needs that said where it is
    on.
    """
    tuned = rule.setting(f"coll_tuned_{rule.collective}_algorithm") is not None
    if not tuned or rule.setting(_HAN_PRIORITY) or not on_nodes(rule, of_han(release)):
        return rule
    return replace(rule, settings=(*rule.settings, (_HAN_PRIORITY, "0")))


def unsaid(rule: Rule, release: str) -> str | None:
    """Return in words why a release's rows cannot say a rule, None: they can."""
    base = f"coll_tuned_{rule.collective}_algorithm"
    of_tuned = rule.setting(base) is not None
    to_han = on_nodes(rule, of_han(release)) and han.is_named(rule)
    if not of_tuned and not to_han:
        return f"{rule.settings[0][0]} is not for rules of coll/tuned"
    known = {*BESIDE, f"coll_han_use_{rule.collective}_algorithm"}
    if of_tuned:
        known = {*BESIDE, *(base + end for end in _IN_ROWS)}
        known |= {f"{base}_max_requests"} if release == "6" else set()
    others = [name for name, _ in rule.settings if name not in known]
    if others:
        return f"rows cannot express {', '.join(others)}"
    for name, value in rule.settings:
        if name != BESIDE[0] and not (value.isdecimal() and int(value) <= _MOST):
            return f"the number of {name}={value} is unknown, and rows contain numbers"
    if of_tuned:
        return lacks(rule.collective, int(rule.setting(base) or 0), release)
    return lacks_of_han(rule.collective, han.algorithm_of(rule) or 0)


def lacks(collective: str, number: int, release: str) -> str | None:
    """Return in words that a release does not have an algorithm of coll/tuned; None: it does."""
    if number == 0:
        return "0 is the native selection, not an algorithm"
    names = TUNED.get(collective, "").split()
    if number > len(names):
        return f"Open MPI {release} has no algorithm {number} for {collective}"
    if release < _SINCE.get((collective, number), "4"):
        name = names[number - 1]
        return f"Open MPI {release} has no algorithm {number} ({name}) for {collective}"
    return None


def across(rule: Rule, release: str, measured: str) -> Rule:
    """Return a rule with what a release has to be told so that it does what another one did."""
    if not _is_bruck(rule) or release != "6" or measured == "6":
        return rule
    others = [(n, v) for n, v in rule.settings if n != _RADIX]
    return replace(rule, settings=(*others, (_RADIX, _RADIX_OLD)))


def other_there(rule: Rule, release: str, measured: str) -> str | None:
    """Return in words why an algorithm is another one in a release; None: it is not."""
    if not _is_bruck(rule) or release == "6" or measured != "6":
        return None
    radix = rule.setting(_RADIX) or _RADIX_6
    if radix == _RADIX_OLD:
        return None
    return f"it was measured with a radix of {radix}, but Open MPI {release} has only {_RADIX_OLD}"


def _is_bruck(rule: Rule) -> bool:
    base = "coll_tuned_allgather_algorithm"
    return rule.collective == "allgather" and rule.setting(base) == _BRUCK


def lacks_of_han(collective: str, number: int) -> str | None:
    """Return in words that HAN does not have an algorithm; None: it does, or nobody knows."""
    names = HAN.get(collective, "").split()
    return f"HAN has no algorithm {number} for {collective}" if 0 < len(names) < number else None


def beside_han(rule: Rule, release: str, measured: str) -> str | None:
    """Return in words why a rule would do something else than was measured; None: it would not.

    On several nodes HAN may have run instead of coll/tuned, or inside an algorithm of it that calls
    other collectives; and files leave HAN as it is in their release.
    """
    if rule.layout.nodes == 1:
        return None
    number = rule.setting(f"coll_tuned_{rule.collective}_algorithm")
    priority = rule.setting(_HAN_PRIORITY)
    given = f"without {_HAN_PRIORITY}=0" if priority is None else f"with {_HAN_PRIORITY}={priority}"
    # it is below coll/tuned by itself in 4, above it in 5 and 6
    was_on = measured != "4" if priority is None else int(priority) > _TUNED_PRIORITY
    if number is None:
        remedy = f"measure with {_HAN_PRIORITY}=100"
        return None if was_on else f"{given} HAN did not run: {remedy}"
    if was_on and rule.collective in (of_han(measured) or han.COLLECTIVES):
        return f"{given} HAN ran instead: measure with {_HAN_PRIORITY}=0 as well"
    is_on = release != "4"
    if (rule.collective, number) not in COMPOUND or was_on == is_on:
        return None
    then, now = ("on", "off") if was_on else ("off", "on")
    return (
        f"it calls other collectives, which HAN decides if enabled: HAN was {then} in the "
        f"measurement, and is {now} with these files"
    )
