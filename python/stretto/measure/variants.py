"""Kinds of launches (variants): how they are named, and which candidate runs in which.

=================== ==================================================================
``stretto``         the interposer is preloaded; ``native`` and Stretto's own candidates
``bare``            nothing is preloaded, nothing is set
``native:SETTINGS`` one candidate, its settings in the environment
``native:files``    one candidate (`FILES`): all variables of an export, `Settings.files`
``natives:START``   several candidates of that form: what they need at the start is in the
                    environment, the rest is set by the program (inlaunch.py); those that
                    need nothing at the start run in ``bare``
=================== ==================================================================

The bare MPI shares the launches of ``natives:START`` where START changes nothing by itself
(`IDLE`): what is compared in one launch has the same launch effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from stretto.measure.compare import BARE
from stretto.measure.reference import leaves_messages
from stretto.mpi.algorithms.pairs import pairs_of

SHARED = "natives:"
#: settings that change none of Open MPI's choices by themselves: with dynamic rules and nothing
#: forced coll/tuned decides as without; HAN's priority counts on several nodes, and in 5.0 only
IDLE = {"coll_tuned_use_dynamic_rules": "1", "coll_han_priority": "0"}
_NATIVE = "native:"


def variant_for(candidate: str) -> str:
    """Return the kind of launch that a candidate runs in when it shares none with other natives."""
    if candidate == BARE or candidate.startswith(_NATIVE):
        return candidate
    return "stretto"


@lru_cache(maxsize=4096)
def launch_for(candidate: str, variants: tuple[str, ...]) -> str:
    """Return the kind of launch that a candidate runs in, among those of a campaign.

    `variants`: of the campaign. A candidate with settings is in the launch of its name, or else in
    the shared one that has the most of its settings at the start.
    """
    alone = variant_for(candidate)
    if alone in variants or not candidate.startswith((_NATIVE, BARE)):
        return alone
    mine = (IDLE if candidate == BARE else single_settings(candidate)).items()
    shared = [v for v in variants if v == BARE or v.startswith(SHARED)]
    fitting = [v for v in shared if shared_settings(v).items() <= mine]
    return max(fitting, key=lambda v: len(shared_settings(v)), default=alone)


def apart(variants: tuple[str, ...]) -> bool:
    """Return whether a reference is of use: algorithms have launches without native and bare.

    What is measured there is compared with these two as multiples of a reference, which the
    measuring program times in every launch (src/bench/reference.c).
    """
    bases = {"stretto", launch_for(BARE, variants)}
    return any(v not in bases and leaves_messages(v) for v in variants)


def shared_name(settings: Mapping[str, str]) -> str:
    """Return the name of the launches that begin with settings, and have others made in them."""
    return SHARED + ",".join(f"{n}={settings[n]}" for n in sorted(settings)) if settings else BARE


def shared_settings(variant: str) -> dict[str, str]:
    """Return what launches of a shared variant begin with, by the names of the MPI."""
    text = variant.removeprefix(SHARED) if variant.startswith(SHARED) else ""
    return _named(text) if text else {}


def single_settings(candidate: str) -> dict[str, str]:
    """Return all that a candidate ``native:NAME=VALUE,...`` needs, by the names of the MPI.

    Open MPI looks at what is forced in coll/tuned only with its dynamic rules, which is added.
    """
    found = _named(candidate.removeprefix(_NATIVE))
    if any(n.startswith("coll_tuned_") for n in found):
        found.setdefault("coll_tuned_use_dynamic_rules", "1")
    return found


def _named(text: str) -> dict[str, str]:
    return {name.removeprefix("OMPI_MCA_"): value for name, value in pairs_of(text)}
