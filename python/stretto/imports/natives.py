"""Which candidate an algorithm of a foreign result is, and of which MPI the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stretto.campaign.compare import BARE
from stretto.errors import StrettoError, UsageError
from stretto.files.identity import Abi, Family, MPIIdentity
from stretto.mpi.algorithms import Algorithm, discover
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import installations

UNKNOWN = "unknown"
#: how people name the MPIs in directories
_FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"open-?mpi|ompi", "openmpi"),
    (r"intel-?mpi|impi|intel", "intel"),
    (r"mpich", "mpich"),
)
_ABIS: dict[Family, Abi] = {"openmpi": "openmpi", "mpich": "mpich", "intel": "mpich"}
#: the parts of an MPI whose algorithms its users call by number or name
_PLAIN = ("tuned", "mpir", "preset")
#: words for what the MPI does by itself
_DEFAULTS = ("", "default", "native", "auto", "bare")
#: the setting that takes a number of coll/tuned's, in a template
_TUNED = re.compile(r"coll_tuned_(\{collective\}|[a-z_]+)_algorithm=\{algorithm\}")


def identity_of(words: str, version: str | None = None) -> MPIIdentity:
    """Return the MPI that ``openmpi4``, ``intelmpi`` or ``openmpi@4.0.1`` means.

    Parameters
    ----------
    words
        A name, with the version behind it or not.
    version
        Its version, where it is known from elsewhere.
    """
    name, _, given = words.partition("@")
    for pattern, family in _FAMILIES:
        found = re.fullmatch(rf"(?:{pattern})[-_]?v?([0-9][0-9.]*[a-z0-9]*)?", name.lower())
        if found:
            known = version or given or found.group(1) or UNKNOWN
            return MPIIdentity(family, _ABIS[family], known, f"{words} (imported)")
    raise UsageError(
        f"{words!r} is no MPI that is known here",
        "--mpi",
        f"say which one it is: --mpi {name or 'NAME'}=openmpi@4.0.1 (or mpich@..., intel@...)",
    )


@dataclass
class Naming:
    """Turns algorithms as files name them into candidates.

    Parameters
    ----------
    setting
        Template of the settings, ``coll_tuned_{collective}_algorithm={algorithm}``; None: the
        MPI that is installed here is asked.
    note
        Takes a sentence for the user.
    """

    setting: str | None
    note: Callable[[str], None]

    def __post_init__(self) -> None:
        self._known: dict[MPIIdentity, list[Algorithm]] = {}

    def candidate(self, mpi: MPIIdentity, collective: str, algorithm: str | None) -> str:
        """Return the candidate for an algorithm.

        Parameters
        ----------
        mpi
            Of the result.
        collective
            ``bcast``.
        algorithm
            ``7``, ``knomial``; None or ``default``: the MPI's own decision, which is ``bare``, as
            is Open MPI's 0. Intel MPI's 0 is a preset like any other.
        """
        if (algorithm or "").lower() in _DEFAULTS:
            return BARE
        assert algorithm is not None
        if mpi.family == "openmpi" and algorithm == "0" and self._of_tuned():
            # It means "ignore": coll/tuned goes on to its own decision. As a forced choice, what
            # people measured as the default would be a candidate, and the baseline be missing.
            self.note("Open MPI's algorithm 0 is its own decision (bare)")
            return BARE
        if self.setting is not None:
            return PREFIX + self.setting.replace("{collective}", collective).replace(
                "{COLLECTIVE}", collective.upper()
            ).replace("{algorithm}", algorithm)
        mine = [a for a in self._algorithms(mpi) if a.collective == collective]
        mine.sort(key=lambda a: a.component not in _PLAIN)
        for a in mine:
            if algorithm in (a.value, a.name, a.label):
                return a.candidate
        raise StrettoError(
            f"{mpi.family} {mpi.version} as it is installed here has no algorithm {algorithm!r} "
            f"for {collective}",
            None,
            f"it has {', '.join(f'{a.value} {a.name}' for a in mine) or 'none'}; or give the "
            "settings by --setting 'NAME_{collective}=...{algorithm}'",
        )

    def _of_tuned(self) -> bool:
        """Whether the numbers are those of coll/tuned."""
        return self.setting is None or _TUNED.search(self.setting) is not None

    def _algorithms(self, mpi: MPIIdentity) -> list[Algorithm]:
        if mpi not in self._known:
            self._known[mpi] = discover(self._installation(mpi))
        return self._known[mpi]

    def _installation(self, mpi: MPIIdentity) -> MPIInstallation:
        here = [i for i in installations() if i.family == mpi.family and i.libmpi is not None]
        same = [i for i in here if _as_new(i.version, mpi.version)]
        if not same:
            have = f" (here: {', '.join(i.name for i in here)})" if here else ""
            raise StrettoError(
                f"{mpi.family} {mpi.version} is not installed here{have}, so that nobody can be "
                "asked what its algorithms' numbers mean",
                None,
                "give the settings that chose them, for Open MPI --setting "
                "'coll_tuned_use_dynamic_rules=1,coll_tuned_{collective}_algorithm={algorithm}', "
                "for Intel MPI --setting 'I_MPI_ADJUST_{COLLECTIVE}={algorithm}'",
            )
        if same[0].version != mpi.version:
            self.note(
                f"algorithms of {mpi.family} {mpi.version} are taken to be those of {same[0].name}"
            )
        return same[0]


def _as_new(installed: str, wanted: str) -> bool:
    """Whether an installed version is of the wanted one's major version (any, if unknown)."""
    return wanted == UNKNOWN or installed.split(".")[0] == wanted.split(".")[0]


def assigned(given: Sequence[str]) -> tuple[dict[str, MPIIdentity], MPIIdentity | None]:
    """Return what ``--mpi`` said: by the name in the paths, and for all files.

    Parameters
    ----------
    given
        ``openmpi@4.0.1``, ``ompi-mine=openmpi@4.0.1``.
    """
    by_name: dict[str, MPIIdentity] = {}
    everywhere: MPIIdentity | None = None
    for text in given:
        name, equals, words = text.partition("=")
        if equals:
            by_name[name] = identity_of(words)
        else:
            everywhere = identity_of(text)
    return by_name, everywhere
