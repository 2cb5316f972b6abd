"""Which candidate the settings are that a log shows: what chose the algorithm of one collective."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from stretto.errors import StrettoError
from stretto.files.identity import TITLES, MPIIdentity, product
from stretto.files.table import TUNABLE
from stretto.imports.evidence import DEFAULT_WORDS, Said
from stretto.mpi.algorithms.base import PREFIX

#: the longest first: a name may begin like another
_COLLECTIVES = sorted((*TUNABLE, "alltoallw"), key=len, reverse=True)
_OF_ONE = re.compile(rf"(?:^|_)[iI]?({'|'.join(_COLLECTIVES)})(?=_|$)", re.IGNORECASE)
#: what decides for collectives of all kinds
_OF_ALL = re.compile(
    r"coll|coll_\w+|I_MPI_(?:ADJUST|COLL|TUNING)\w*|M(?:V2|VP)_\w+|MPICH_\w*COLL\w*"
    r"|MPIR_CVAR_\w*(?:COLL|ALGORITHM|TREE|INTRA)\w*"
)
#: the setting that names the algorithm itself
_NAMES_ONE = re.compile(
    r"coll_(?:tuned|libnbc|adapt|acoll)_\w+_algorithm|coll_han_use_\w+_algorithm"
    rf"|I_MPI_ADJUST_(?:{'|'.join(_COLLECTIVES).upper()})|MPIR_CVAR_\w+_(?:INTRA|INTER)_ALGORITHM"
)
_DYNAMIC = "coll_tuned_use_dynamic_rules"
_TRUE = ("1", "true", "yes", "on", "t", "y", "enabled")


@dataclass(frozen=True)
class Chosen:
    """What a table's settings come to.

    `pairs`: what chose the collective's algorithm; empty: the MPI did by itself. `around`: settings
    beside it, which make a difference where they are not the same for all tables. `ignored`: names
    an algorithm that Open MPI ignores without its dynamic rules, which nothing shows.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    around: tuple[tuple[str, str], ...] = ()
    place: str = ""
    ignored: str | None = None

    @property
    def algorithm(self) -> str | None:
        return next((v for n, v in self.pairs if _NAMES_ONE.fullmatch(n)), None)

    @property
    def candidate(self) -> str | None:
        """As campaigns name it; None: the MPI by itself."""
        return PREFIX + ",".join(f"{n}={v}" for n, v in self.pairs) if self.pairs else None


def chosen_by(
    settings: Mapping[str, Said], mpi: MPIIdentity, collective: str, named_here: bool
) -> Chosen:
    """Return what the settings before a table come to.

    `named_here`: the log names the MPI itself: settings of another one are left over from its
    tables.
    """
    mine: list[tuple[str, str]] = []
    wide: list[tuple[str, str]] = []
    around: list[tuple[str, str]] = []
    place = ""
    for name, said in settings.items():
        one = _OF_ONE.search(name)
        of = one[1].lower() if one else None
        decides = of == collective or (of is None and _OF_ALL.fullmatch(name) is not None)
        if not _is_of(name, mpi):
            if decides and not named_here:
                raise StrettoError(
                    f"{name} is a setting of {_owner(name)}, but the given MPI is "
                    f"{TITLES[product(mpi)]}", said.place,
                    "correct --mpi (or {mpi} in --pattern), or remove these tables from the log",
                )  # fmt: skip
        elif decides:
            if re.search(r"[$`]", said.value):
                raise StrettoError(
                    f"the log does not show the value of {name}={said.value}",
                    said.place, "put the tables of each algorithm into a separate file, and "
                    "{algorithm} into --pattern",
                )  # fmt: skip
            place = place or said.place
            (mine if of == collective else wide).append((name, said.value))
        elif of in (None, "barrier"):  # a barrier stands between the calls that are timed
            around.append((name, said.value))
    mine = [x for x in mine if not (_NAMES_ONE.fullmatch(x[0]) and _is_default(x[1], mpi))]
    mine.sort(key=lambda x: _NAMES_ONE.fullmatch(x[0]) is None)
    tuned = any(n.startswith("coll_tuned_") for n, _ in mine)
    dynamic = any(n == _DYNAMIC and v.lower() in _TRUE for n, v in wide)
    # they let a forced choice count, and nothing else
    first = [x for x in wide if x[0] == _DYNAMIC and tuned]
    pairs = (
        *mine, *((n, "1" if dynamic else v) for n, v in first),
        *(x for x in wide if x[0] != _DYNAMIC),
    )  # fmt: skip
    ignored = mine[0][0] if tuned and not dynamic else None
    return Chosen(pairs, tuple(sorted(around)), place if pairs else "", ignored)


def _is_default(value: str, mpi: MPIIdentity) -> bool:
    """Whether a value leaves the decision to the MPI; Intel MPI's 0 is a preset."""
    return value.lower() in DEFAULT_WORDS or (mpi.family == "openmpi" and value == "0")


def _owner(name: str) -> str | None:
    """Return whose variable this is, None where any MPI may use it."""
    if name.startswith("I_MPI_"):
        return TITLES["intel"]
    if name.startswith(("MPIR_", "MPICH_")):
        return TITLES["mpich"]
    if name.startswith(("MV2_", "MVP_")):
        return TITLES["mvapich"]
    return None if name[:1].isupper() else TITLES["openmpi"]


def _is_of(name: str, mpi: MPIIdentity) -> bool:
    owner = _owner(name)
    if owner in (None, TITLES[product(mpi)]):
        return True
    # MVAPICH and Intel MPI are made of MPICH, and know its variables
    return owner == TITLES["mpich"] and mpi.family in ("mpich", "intel")
