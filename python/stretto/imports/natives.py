"""Which candidate an algorithm of a foreign result is, and of which MPI the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
#: the fields of a template of settings
_FIELDS = re.compile(r"\{(?:collective|COLLECTIVE|algorithm)\}")
#: the settings that choose an MPI's algorithms, as its users set them
_SETTINGS: dict[Family, str] = {
    "openmpi": "coll_tuned_use_dynamic_rules=1,coll_tuned_{collective}_algorithm={algorithm}",
    "mpich": "MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM={algorithm}",
    "intel": "I_MPI_ADJUST_{COLLECTIVE}={algorithm}",
}
#: what is set beside them for the algorithm to be what all ranks do, and what decides without it
_BESIDE: dict[Family, tuple[str, str]] = {
    "openmpi": ("coll_han_priority=0", "on several nodes HAN decided, from Open MPI 5 on"),
    "mpich": (
        "MPIR_CVAR_DEVICE_COLLECTIVES=percoll,MPIR_CVAR_{COLLECTIVE}_DEVICE_COLLECTIVE=0",
        "the device's own collectives decided where they had something for the call",
    ),
    "intel": ("", ""),
}
#: it becomes part of a file's name
_VERSION = re.compile(r"(?:v(?=[0-9]))?([0-9A-Za-z][0-9A-Za-z.+_-]*)")
#: the setting that takes a number of coll/tuned's, in a template
_TUNED = re.compile(r"coll_tuned_(\{collective\}|[a-z_]+)_algorithm=\{algorithm\}")


def _template(mpi: MPIIdentity) -> str:
    """Return the settings that make an algorithm what all ranks do, as a template."""
    beside = _BESIDE[mpi.family][0]
    if mpi.family == "openmpi" and re.match(r"[0-4](\.|$)", mpi.version):
        beside = ""  # HAN stands below coll/tuned there
    return ",".join(filter(None, [_SETTINGS[mpi.family], beside]))


def version_of(text: str, place: str = "--mpi") -> str:
    """Return a version, without the ``v`` that some write before it; refuse what is none.

    Parameters
    ----------
    text
        ``4.1.4``, ``v5.0.6rc1``.
    place
        Where it was said.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is no version of an MPI",
            place,
            "give letters, digits, dots and dashes: --mpi openmpi@4.1.4",
        )
    return found.group(1)


def agreed(*versions: str) -> str | None:
    """Return the most exact of some versions (4.1.4 of 4 and 4.1.4), None if two contradict."""
    best = UNKNOWN
    for version in versions:
        if best == UNKNOWN or f"{version}.".startswith(f"{best}."):
            best = version
        elif version != UNKNOWN and not f"{best}.".startswith(f"{version}."):
            return None
    return best


def written(mpi: MPIIdentity) -> str:
    """Return an MPI as ``--mpi`` takes it."""
    return mpi.family + ("" if mpi.version == UNKNOWN else f"@{mpi.version}")


def identity_of(words: str, place: str = "--mpi") -> MPIIdentity:
    """Return the MPI that ``openmpi4``, ``intelmpi`` or ``openmpi@4.0.1`` means.

    Parameters
    ----------
    words
        A name, with the version behind it or not.
    place
        Where it was said.
    """
    name, at, given = words.partition("@")
    for pattern, family in _FAMILIES:
        found = re.fullmatch(rf"(?:{pattern})[-_]?v?([0-9][0-9.]*[a-z0-9]*)?", name.lower())
        if found:
            own = found.group(1) or UNKNOWN
            known = agreed(own, version_of(given, place) if at else UNKNOWN)
            if known is None:
                raise UsageError(
                    f"{words!r} names two versions", place, f"say one: --mpi {family}@{given}"
                )
            return MPIIdentity(family, _ABIS[family], known, f"{words} (imported)")
    raise UsageError(
        f"{words!r} is no MPI that is known here",
        place,
        f"say which one it is: --mpi {name or 'NAME'}=openmpi@4.0.1 (or mpich@..., intel@...)",
    )


@dataclass
class Naming:
    """Turns algorithms as files name them into candidates.

    Parameters
    ----------
    setting
        Template of the settings, ``coll_tuned_{collective}_algorithm={algorithm}``; without
        ``{algorithm}`` the settings of one algorithm; None: the MPI that is installed here is
        asked.
    note
        Takes a sentence for the user.

    Attributes
    ----------
    named
        Whether any algorithm was, be it as the default.
    """

    setting: str | None
    note: Callable[[str], None]

    def __post_init__(self) -> None:
        self._known: dict[MPIIdentity, list[Algorithm]] = {}
        self._only: str | None = None
        self.named = False
        if self.setting is not None:
            if re.search("[{}]", _FIELDS.sub("", self.setting)):
                raise UsageError(
                    f"the braces in {self.setting!r} are none of {{collective}}, {{COLLECTIVE}} "
                    "and {algorithm}",
                    "--setting",
                    f"such as {_SETTINGS['openmpi']}",
                )
            _check_form(_FIELDS.sub("x", self.setting), self.setting)

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
        self.named = self.named or algorithm is not None
        if (algorithm or "").lower() in _DEFAULTS:
            return BARE
        assert algorithm is not None
        if mpi.family == "openmpi" and algorithm == "0" and self._of_tuned():
            # It means "ignore": coll/tuned goes on to its own decision. As a forced choice, what
            # people measured as the default would be a candidate, and the baseline be missing.
            self.note("Open MPI's algorithm 0 is its own decision (bare)")
            return BARE
        if self.setting is not None:
            return PREFIX + self._by_template(self.setting, collective, algorithm)
        mine = [a for a in self._algorithms(mpi) if a.collective == collective]
        mine.sort(key=lambda a: a.component not in _PLAIN)
        for a in mine:
            if algorithm in (a.value, a.name, a.label):
                self._say_assumed(mpi, a)
                return a.candidate
        raise StrettoError(
            f"{mpi.family} {mpi.version} as it is installed here has no algorithm {algorithm!r} "
            f"for {collective}",
            None,
            f"it has {', '.join(f'{a.value} {a.name}' for a in mine) or 'none'}; or give the "
            f"settings: --setting '{_template(mpi)}'",
        )

    def _say_assumed(self, mpi: MPIIdentity, algorithm: Algorithm) -> None:
        """Say which settings nobody has named: what ran without them is another candidate."""
        beside = [x for x in algorithm.settings[1:] if x[0] != "coll_tuned_use_dynamic_rules"]
        if not beside:
            return
        upper = f"_{algorithm.collective.upper()}_"
        words = ",".join(f"{n.replace(upper, '_{COLLECTIVE}_')}={v}" for n, v in beside)
        known, without = _BESIDE[mpi.family]
        then = f" ({without})" if words == known else ""
        self.note(
            f"{algorithm.component}'s algorithms of {mpi.family} are taken to have been measured "
            f"with {words}, which the files do not say; where it was not set{then}, say what was: "
            f"--setting '{_SETTINGS[mpi.family]}'"
        )

    def _by_template(self, setting: str, collective: str, algorithm: str) -> str:
        if "{algorithm}" not in setting:
            self._only = self._only or algorithm
            if algorithm != self._only:  # whose times would be those of one candidate
                raise UsageError(
                    f"--setting {setting} stands for one algorithm, and these are several: "
                    f"{self._only}, {algorithm}",
                    "--setting",
                    "put {algorithm} where its number or name stands, or import each algorithm's "
                    "files by themselves, each with its own --out",
                )
        values = {"collective": collective, "COLLECTIVE": collective.upper()}
        values["algorithm"] = algorithm
        text = _FIELDS.sub(lambda m: values[m.group()[1:-1]], setting)
        _check_form(text, text)
        return text

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
                "put the bin directory of one of that version on PATH (or load its module), or "
                f"give the settings that chose them: --setting '{_template(mpi)}'",
            )
        # what someone put on PATH for this purpose goes before what is found elsewhere
        same.sort(key=lambda i: not f"{i.version}.".startswith(f"{mpi.version}."))
        if same[0].version != mpi.version:
            self.note(
                f"algorithms of {mpi.family} {mpi.version} are taken to be those of {same[0].name}"
            )
        return same[0]


def _as_new(installed: str, wanted: str) -> bool:
    """Whether an installed version is of the wanted one's major version (any, if unknown)."""
    return wanted == UNKNOWN or installed.split(".")[0] == wanted.split(".")[0]


def _check_form(text: str, given: str) -> None:
    """Refuse what is not ``NAME=VALUE,NAME=VALUE``, which nobody could set."""
    if not all(re.fullmatch(r"[A-Za-z_]\w*=\S+", part) for part in text.split(",")):
        raise UsageError(
            f"{given!r} is not of the form NAME=VALUE,NAME=VALUE",
            "--setting",
            f"such as {_SETTINGS['openmpi']}",
        )


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
        name, equals, words = text.rpartition("=")
        mpi = identity_of(words)
        # by whatever words it is called, it is one MPI
        mpi = replace(mpi, library=f"{written(mpi)} (imported)")
        if name in by_name if equals else everywhere is not None:
            raise UsageError(
                f"--mpi says twice what {f'{name} is' if equals else 'the MPI of all files is'}",
                f"--mpi {text}",
                "say it once; of some of the files, by the name that stands at {mpi} in their "
                "places: --mpi NAME=openmpi@4.0.1",
            )
        if equals:
            by_name[name] = mpi
        else:
            everywhere = mpi
    return by_name, everywhere
