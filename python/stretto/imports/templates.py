"""The settings behind ``{algorithm}``: ``--setting [MPI=]NAME=VALUE,...``, each of one MPI."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stretto.errors import UsageError
from stretto.files.identity import MPIIdentity
from stretto.imports.mpis import agree, identity_of
from stretto.kinds import Family
from stretto.mpi.detect import TITLES

#: the settings that choose an MPI's algorithms, as its users set them
SETTINGS: dict[Family, str] = {
    "openmpi": "coll_tuned_use_dynamic_rules=1,coll_tuned_{collective}_algorithm={algorithm}",
    "mpich": "MPIR_CVAR_{COLLECTIVE}_INTRA_ALGORITHM={algorithm}",
    "intel": "I_MPI_ADJUST_{COLLECTIVE}={algorithm}",
}
#: what is set beside them for the algorithm to be what all ranks do, and what decides without it
BESIDE: dict[Family, tuple[str, str]] = {
    "openmpi": ("coll_han_priority=0", "on several nodes HAN decided, from Open MPI 5 on"),
    "mpich": (
        "MPIR_CVAR_DEVICE_COLLECTIVES=percoll,MPIR_CVAR_{COLLECTIVE}_DEVICE_COLLECTIVE=0",
        "the collectives of the device were used where available",
    ),
    "intel": ("", ""),
}
#: how the names of an MPI's settings begin; others (``UCX_TLS``) tell none
_NAMES: dict[Family, str] = {
    "openmpi": r"(OMPI_MCA_|coll_)",
    "mpich": r"(MPIR_CVAR_|MPICH_|MV2_)",
    "intel": r"I_MPI_",
}
#: the fields of a template
_FIELDS = re.compile(r"\{(?:collective|COLLECTIVE|algorithm)\}")
#: the setting that takes a number of coll/tuned's, in a template
_TUNED = re.compile(r"coll_tuned_(\{collective\}|[a-z_]+)_algorithm=\{algorithm\}")
_OPTION = "--setting"


@dataclass(frozen=True)
class Template:
    """Settings with fields, and whose they are.

    `text`: ``coll_tuned_{collective}_algorithm={algorithm}``; without ``{algorithm}`` it stands for
    one algorithm. `mpi`: ... or the MPI that he gave instead, of which the version may be unknown.
    `family`: whose settings they are by their names, None where these do not tell.
    """

    text: str
    name: str | None = None
    mpi: MPIIdentity | None = None
    family: Family | None = None

    @property
    def whose(self) -> str:
        return self.name or (TITLES[self.family] if self.family else "any other MPI")

    @property
    def of_tuned(self) -> bool:
        """Whether its numbers are those of Open MPI's coll/tuned."""
        return _TUNED.search(self.text) is not None

    def filled(self, collective: str, algorithm: str) -> str:
        """Return the settings of an algorithm."""
        values = {"{collective}": collective, "{COLLECTIVE}": collective.upper()}
        values["{algorithm}"] = algorithm
        text = _FIELDS.sub(lambda m: values[m[0]], self.text)
        _check_form(text, text)
        return text


def default_for(mpi: MPIIdentity) -> str:
    """Return the settings that make an algorithm what all ranks do, as a template's text."""
    beside = BESIDE[mpi.family][0]
    if mpi.family == "openmpi" and re.match(r"[0-4](\.|$)", mpi.version):
        beside = ""  # HAN stands below coll/tuned there
    return ",".join(filter(None, [SETTINGS[mpi.family], beside]))


def templates(given: Sequence[str], names: Collection[str]) -> list[Template]:
    """Return what ``--setting`` said, each text once and of one MPI."""
    out: list[Template] = []
    for text in given:
        template = _template(text, names)
        if any((t.name, t.family) == (template.name, template.family) for t in out):
            raise UsageError(
                f"two values are for {template.whose}",
                f"{_OPTION} {text}",
                f"give one value; for several builds, use their names at {{mpi}}: "
                f"{_OPTION} NAME={SETTINGS['openmpi']}",
            )
        out.append(template)
    return out


def chosen(found: Sequence[Template], mpi: MPIIdentity, called: str | None) -> Template | None:
    """Return the template for results: of their name, their MPI, or that has settings of theirs."""
    for fits in (
        lambda t: t.name is not None and t.name == called,
        lambda t: t.mpi is not None and agree(t.mpi, mpi),
        lambda t: t.name is None and t.family == mpi.family,
        lambda t: t.name is None and t.family is None,
    ):
        for template in filter(fits, found):
            return template
    return None


def _template(given: str, names: Collection[str]) -> Template:
    head, _, rest = given.partition("=")
    mpi = None
    if head not in names and re.match(r"[A-Za-z]", head):
        with contextlib.suppress(UsageError):  # the name of a setting
            mpi = identity_of(head)
    named = head in names or mpi is not None
    name, text = (head, rest) if named else (None, given)
    if re.search("[{}]", _FIELDS.sub("", text)):
        raise UsageError(
            f"{text!r} has braces other than {{collective}}, {{COLLECTIVE}} and {{algorithm}}",
            _OPTION, f"for example {SETTINGS['openmpi']}",
        )  # fmt: skip
    _check_form(_FIELDS.sub("x", text), text)
    return Template(text, name, mpi, _family(text, mpi))


def _family(text: str, mpi: MPIIdentity | None) -> Family | None:
    """Return whose settings these are; refuse those of several MPIs, and of another than is said.

    Intel MPI knows some of MPICH's.
    """
    found: list[Family] = [
        f for f, form in _NAMES.items() if any(re.match(form, part) for part in text.split(","))
    ]
    said: list[Family] = [*found, *([mpi.family] if mpi else [])]
    if len(found) > 1 or ("openmpi" in said and len(set(said)) > 1):
        whose = " and ".join(TITLES[f] for f in found)
        but = f", not of {TITLES[mpi.family]}" if mpi and len(found) == 1 else ""
        raise UsageError(
            f"{text!r} are settings of {whose}{but}",
            _OPTION,
            f"give the settings of each MPI separately: {_OPTION} openmpi=... {_OPTION} mpich=...",
        )
    return mpi.family if mpi else next(iter(found), None)


def _check_form(text: str, given: str) -> None:
    if not all(re.fullmatch(r"[A-Za-z_]\w*=\S+", part) for part in text.split(",")):
        raise UsageError(
            f"{given!r} is not of the form NAME=VALUE,NAME=VALUE",
            _OPTION,
            f"for example {SETTINGS['openmpi']}",
        )
