"""Which candidate an algorithm of a foreign result is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stretto.errors import StrettoError, UsageError
from stretto.files.identity import MPIIdentity, product, product_of
from stretto.imports.mpis import UNKNOWN
from stretto.imports.pattern import DEFAULTS
from stretto.imports.templates import BESIDE, SETTINGS, Template, chosen, default_for
from stretto.measure.compare import BARE
from stretto.mpi.algorithms import NativeAlgorithm, discover
from stretto.mpi.algorithms.base import PREFIX
from stretto.mpi.base import MPIInstallation
from stretto.mpi.detect import installations

#: the parts of an MPI whose algorithms its users call by number or name
_PLAIN = ("tuned", "mpir", "preset")


class NoSuchAlgorithm(StrettoError):
    """The MPI has no algorithm of that name or number for the collective."""


@dataclass
class Naming:
    """Turns algorithms as files name them into candidates.

    `templates`: of the settings; of an MPI for which there is none the one that is installed here
    is asked.
    """

    templates: Sequence[Template]
    note: Callable[[str], None]
    named: bool = field(default=False, init=False)
    _known: dict[MPIIdentity, list[NativeAlgorithm]] = field(default_factory=dict, init=False)
    _used: dict[Template, str | None] = field(default_factory=dict, init=False)

    def candidate(
        self, mpi: MPIIdentity, collective: str, algorithm: str | None, called: str | None = None
    ) -> str:
        """Return the candidate for an algorithm.

        `algorithm`: ``7``, ``knomial``; None or ``default``: the native selection, which is
        ``bare``, as is Open MPI's 0. Intel MPI's 0 is a preset like any other. Raises
        NoSuchAlgorithm: where the MPI that is asked has none of that name.
        """
        self.named = self.named or algorithm is not None
        template = chosen(self.templates, mpi, called)
        if template is not None and algorithm is not None:
            self._used.setdefault(template, None)
        if not algorithm or algorithm.lower() in DEFAULTS:
            return BARE
        if mpi.family == "openmpi" and algorithm == "0" and (not template or template.of_tuned):
            # It means "ignore": coll/tuned goes on to its own decision. As a forced choice, what
            # people measured as the default would be a candidate, and the baseline be missing.
            self.note("algorithm 0 of Open MPI is its native selection (bare)")
            return BARE
        if template is not None:
            return PREFIX + self._by_template(template, collective, algorithm)
        mine = [a for a in self._algorithms(mpi, called) if a.collective == collective]
        mine.sort(key=lambda a: a.component not in _PLAIN)
        for a in mine:
            if algorithm in (a.value, a.name, a.label):
                self._say_assumed(mpi, a)
                return a.candidate
        has = ", ".join(dict.fromkeys(f"{a.value} {a.name}" for a in mine))
        raise NoSuchAlgorithm(
            f"{_words(mpi)}, as installed here, has no algorithm {algorithm!r} for {collective}",
            None,
            f"it has {has or 'none'}; or give the settings: --setting '{default_for(mpi)}'",
        )

    def refuse_unused(self) -> None:
        """Refuse settings that are of no result: their files would be counted as something else."""
        if self.templates and not self.named:
            raise UsageError(
                "--setting needs the algorithm of each file, but none is known",
                "--setting", "add {algorithm} to --pattern, or --algorithm",
            )  # fmt: skip
        for t in self.templates:
            if t not in self._used:
                raise UsageError(
                    f"these are settings of {t.whose}, but no file with an algorithm is from it",
                    f"--setting {t.text}", "give the settings of the MPI that was measured; for "
                    "files with a name at {mpi}: --setting NAME=..., with the NAME of --mpi NAME=",
                )  # fmt: skip

    def _say_assumed(self, mpi: MPIIdentity, algorithm: NativeAlgorithm) -> None:
        """Say which settings nobody has named: what ran without them is another candidate."""
        beside = [x for x in algorithm.settings[1:] if x[0] != "coll_tuned_use_dynamic_rules"]
        if not beside:
            return
        upper = f"_{algorithm.collective.upper()}_"
        words = ",".join(f"{n.replace(upper, '_{COLLECTIVE}_')}={v}" for n, v in beside)
        known, without = BESIDE[mpi.family]
        then = f" ({without})" if words == known else ""
        self.note(
            f"assumed: algorithms of {algorithm.component} ({mpi.family}) were measured with "
            f"{words}, which the files do not show; if it was not set{then}, give the settings: "
            f"--setting '{SETTINGS[mpi.family]}'"
        )

    def _by_template(self, template: Template, collective: str, algorithm: str) -> str:
        if "{algorithm}" not in template.text:
            only = self._used[template] = self._used[template] or algorithm
            if algorithm != only:  # whose times would be those of one candidate
                raise UsageError(
                    f"--setting {template.text} selects one algorithm, but there are several: "
                    f"{only}, {algorithm}",
                    "--setting",
                    "replace its number or name by {algorithm}, or import the files of each "
                    "algorithm separately, with a different --out",
                )
        return template.filled(collective, algorithm)

    def _algorithms(self, mpi: MPIIdentity, called: str | None) -> list[NativeAlgorithm]:
        if mpi not in self._known:
            self._known[mpi] = discover(self._installation(mpi, called))
        return self._known[mpi]

    def _installation(self, mpi: MPIIdentity, called: str | None) -> MPIInstallation:
        here = [
            i
            for i in installations()
            if product_of(i.family, i.library) == product(mpi) and i.libmpi is not None
        ]
        # any where the version is not known, else of the same major one
        major = mpi.version.split(".")[0]
        same = [i for i in here if mpi.version == UNKNOWN or i.version.split(".")[0] == major]
        if not same:
            have = f" (here: {', '.join(i.name for i in here)})" if here else ""
            name = f"{called}=" if called else ""
            say = f", and its version: --mpi {name}{product(mpi)}@VERSION"
            raise StrettoError(
                f"{_words(mpi)} is not installed here{have}, so Stretto cannot ask it for the "
                "names of its algorithms", None,
                "put its bin directory on PATH (or load its module), or give the settings that "
                f"chose them: --setting '{default_for(mpi)}'"
                f"{say if mpi.version == UNKNOWN else ''}",
            )  # fmt: skip
        # what someone put on PATH for this purpose goes before what is found elsewhere
        same.sort(key=lambda i: not f"{i.version}.".startswith(f"{mpi.version}."))
        if same[0].version != mpi.version:
            self.note(f"assumed: {_words(mpi)} has the same algorithms as {same[0].name}")
        return same[0]


def _words(mpi: MPIIdentity) -> str:
    known = mpi.version != UNKNOWN
    return f"{product(mpi)} {mpi.version if known else '(version not given)'}"
