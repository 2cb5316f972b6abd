"""Open MPI 4 and 5: launched by ORTE (4) or PRRTE (5).

What was seen by running both (4.1.4, 5.0.11): a variable reaches remote ranks by ``-x`` or by the
list in ``OMPI_MCA_mca_base_env_list``, which also sets it for local ones without the launcher
itself seeing it. 4.1 aborts when a user's ``-x`` meets that list, and gives ``-x`` to the first
application of ``A : B`` only; its second list, ``..._internal``, has neither fault but aborts
when the user sets the first list, also in a file of parameters. 5.0 knows no second list and mixes
both freely. A listed value cannot hold the delimiter, which is a semicolon unless the user sets
another, and a name listed without value reaches local ranks only.
"""

from __future__ import annotations

from stretto.errors import StrettoError
from stretto.files.regular import read_regular
from stretto.light import TYPE_CHECKING
from stretto.mpi.base import MPIInstallation
from stretto.paths import Path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stretto.kinds import Binding

ENV_LIST = "OMPI_MCA_mca_base_env_list"
ENV_LIST_INTERNAL = "OMPI_MCA_mca_base_env_list_internal"
DELIMITER = "OMPI_MCA_mca_base_env_list_delimiter"
_FILES = "OMPI_MCA_mca_base_param_files"


def env_list(variables: Mapping[str, str], delimiter: str = ";") -> str:
    """Return an environment list for `variables`.

    `variables`: what the ranks are to get. No value may hold a semicolon, but those between the
    choices of STRETTO_CHOICE, which may as well be blanks.
    """
    listed = dict(variables)
    if "STRETTO_CHOICE" in listed:
        listed["STRETTO_CHOICE"] = listed["STRETTO_CHOICE"].replace(";", " ")
    for name, value in listed.items():
        if delimiter in value:
            raise StrettoError(
                f"{name} holds {delimiter!r}, which separates variables in the Open MPI list here",
                DELIMITER.removeprefix("OMPI_MCA_"),
                "use the default delimiter, a semicolon",
            )
    return delimiter.join(f"{name}={value}" for name, value in listed.items())


class OpenMPI(MPIInstallation):
    def root_environment(self) -> dict[str, str]:
        """Return the variables with which mpirun lets root start jobs."""
        names = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"]
        if self.major >= 5:
            names += ["PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"]
        return dict.fromkeys(names, "1")

    def oversubscription(self) -> tuple[list[str], dict[str, str]]:
        """Return the option that allows it, and the setting that makes waiting ranks yield."""
        return ["--oversubscribe"], {"OMPI_MCA_mpi_yield_when_idle": "1"}

    def remote_environment(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """Return ``-x`` options (5) or the list that holds for all applications (4)."""
        if not variables:
            return [], {}
        if self.major >= 5:
            return [w for n, v in variables.items() for w in ("-x", f"{n}={v}")], {}
        return [], {ENV_LIST_INTERNAL: env_list(variables)}

    def script_environment(
        self, variables: Mapping[str, str], base: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the variables themselves and the list that brings them to other nodes."""
        if not variables:
            return {}
        delimiter = self.parameter(DELIMITER, base) or ";"
        text = env_list(variables, delimiter)
        name, old = ENV_LIST, self.parameter(ENV_LIST, base)
        if self.major < 5 and not old:
            name, old = ENV_LIST_INTERNAL, base.get(ENV_LIST_INTERNAL, "")
        return {**variables, name: f"{old}{delimiter}{text}" if old else text}

    def parameter(self, variable: str, base: Mapping[str, str]) -> str:
        """Return a parameter of the user's: of the environment, else of a file of parameters."""
        if variable in base:
            return base[variable]
        name = "openmpi-mca-params.conf"
        parents = self.libmpi.parents if self.libmpi else []
        files = [Path(base.get("HOME", "/")) / ".openmpi" / "mca-params.conf"]
        files += [at / name for p in parents for at in (p / "etc", p / "etc" / "openmpi")]
        if _FILES in base:
            files = [Path(word) for word in base[_FILES].replace(",", ":").split(":") if word]
        wanted = variable.removeprefix("OMPI_MCA_")
        for file in files:
            try:
                text = read_regular(file).decode("utf-8", "replace")
            except OSError:
                continue
            pairs = (line.partition("=") for line in text.split("\n"))
            found = [value.strip() for name, _, value in pairs if name.strip() == wanted]
            if any(found):
                return next(filter(None, reversed(found))).strip("\"'")
        return ""

    def launch_options(
        self, nranks: int, ppn: int | None, hosts: Sequence[str], bind: Binding
    ) -> list[str]:
        options = ["-n", str(nranks)]
        if hosts:
            slots = ppn or -(-nranks // len(hosts))
            options += ["--host", ",".join(f"{h}:{slots}" for h in hosts)]
        elif ppn:
            options += ["--map-by", f"ppr:{ppn}:node"]
        if bind != "default":
            options += ["--bind-to", bind]
        return options
