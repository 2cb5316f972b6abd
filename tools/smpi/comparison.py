"""What the comparisons with SMPI share: their options, their simulations, their results' file."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from cache import Simulations
from plain import PLATFORM
from smpi import REPOSITORY, Case, Limits, Network, SmpiError, build, version

from stretto.errors import StrettoError
from stretto.files.identity import collect_host

#: from so many ranks on two calls back to back must do instead of six: minutes, not hours
MANY = 1024
#: bytes of all ranks' buffers beyond which they share one memory (docs/explanation/smpi.md)
MEMORY = 1e9


def case_of(
    collective: str,
    choice: str,
    nbytes: int,
    nranks: int,
    calls: int | None = None,
    memory: float = MEMORY,
) -> Case:
    """Return the case to simulate; with other `calls`, `memory` than usual where they are given."""
    case = Case(collective, choice, nbytes, calls=calls or (6 if nranks < MANY else 2))
    return dataclasses.replace(case, folded=not case.fits(nranks, memory))


@dataclass(frozen=True)
class Comparison:
    """One run of a comparison.

    Attributes
    ----------
    name
        Of the program, for messages.
    what
        What is compared, for the file.
    simgrid
        SimGrid's version.
    options
        Of the command line: `ranks` and `bytes` are lists.
    simulations
        Made already, and to be made.
    """

    name: str
    what: str
    simgrid: str
    options: argparse.Namespace
    simulations: Simulations

    def finish(
        self,
        rows: Sequence[Any],
        figures: dict[str, Any],
        missing: Sequence[str],
        draw: Callable[[Path], None],
        earlier: Mapping[str, Any] | None = None,
    ) -> None:
        """Say what is missing, and write file and picture.

        Parameters
        ----------
        rows
            What was compared, as dictionaries.
        figures
            What came out of all of them.
        missing
            Cases that were not simulated, with the reason where there is one.
        draw
            Writes the picture.
        earlier
            What the file said before, where some of its rows stay.
        """
        print(json.dumps(figures, indent=2))
        print(f"not simulated: {len(missing)}{''.join(f'{chr(10)}  {m}' for m in missing)}")
        here: dict[str, Any] = {
            "date": date.today().isoformat(),
            "simgrid": self.simgrid,
            "host": asdict(collect_host()),
        }
        before: list[dict[str, Any]] = []
        if earlier:
            before = [*earlier.get("earlier_runs", []), {name: earlier[name] for name in here}]
        document = {
            "what": f"{self.what}; every figure is simulated",
            "source": "simulated",
            **here,
            **({"earlier_runs": [run for run in before if run != here]} if before else {}),
            "platform": asdict(PLATFORM),
            **figures,
            "not_simulated": list(missing),
            "rows": list(rows),
        }
        out: Path = self.options.out
        out.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        draw(out.with_suffix(".svg"))


def begin(
    parser: argparse.ArgumentParser,
    name: str,
    what: str,
    ranks: Sequence[int],
    sizes: Sequence[int],
) -> Comparison:
    """Read the command line and build the program.

    Parameters
    ----------
    parser
        May have options of its own already.
    name, what
        As in `Comparison`; `name` is also that of the results.
    ranks, sizes
        What is compared when nothing else is asked for.
    """

    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    parser.add_argument("--cache", type=Path, required=True, help="simulations made already")
    parser.add_argument("--only-cached", action="store_true", help="simulate nothing more")
    parser.add_argument("--ranks", type=numbers, default=list(ranks), metavar="N,N,...")
    parser.add_argument("--bytes", type=numbers, default=list(sizes), metavar="N,N,...")
    parser.add_argument(
        "--cpu", type=float, default=Limits().cpu_s, help="most seconds of a processor a simulation"
    )
    parser.add_argument("--build", type=Path, default=Path("build/smpi"), help="a folder")
    parser.add_argument("--source", type=Path, default=REPOSITORY / "src", help="another src/")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "bench/results" / name)
    options = parser.parse_args()
    simgrid = version()
    if simgrid is None:
        raise StrettoError("SimGrid is not installed", remedy="apt-get install libsimgrid-dev")
    simulations = Simulations(
        options.cache,
        options.build / "none"
        if options.only_cached
        else build(options.build.resolve(), options.source),
        Network.of(PLATFORM),
        options.source,
        Limits(cpu_s=options.cpu),
    )
    return Comparison(name, what, simgrid, options, simulations)


def run(main: Callable[[], int]) -> None:
    """Carry out a comparison's main function, and end the program with its status."""
    try:
        sys.exit(main())
    except (StrettoError, SmpiError) as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
