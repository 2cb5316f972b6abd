"""What an export's trees say of a call, read as MPICH reads them, beside its library's own."""

from __future__ import annotations

from pathlib import Path

from stretto.export.cases import CheckCase
from stretto.export.mpich import as_rule
from stretto.export.mpich_guards import needs_of
from stretto.export.mpich_leaves import leaves_of
from stretto.export.mpich_tree import FILES, Tree, TreeCall, leaf_for, read_file, read_library
from stretto.files.export import REMEDY, ExportManifest
from stretto.files.io import read_text
from stretto.mpi.base import MPIInstallation
from stretto.mpi.variables import control_variables


class TreeReader:
    """Looks up calls in an export's files, and in the library's own trees."""

    def __init__(
        self, manifest: ExportManifest, directory: Path, installation: MPIInstallation
    ) -> None:
        assert installation.libmpi is not None
        self.rows = manifest.rows
        self.library = read_library(installation.libmpi)
        self.variables = control_variables(installation)
        self.trees = dict(self.library.trees)
        self.places: dict[str, str] = {}
        for layer, name in FILES.items():
            if name in manifest.files:
                path = directory / name
                text = read_text(path, "the native file", REMEDY)
                self.trees[layer] = read_file(text, str(path), self.library.leaves)
                self.places[layer] = str(path)

    def judge(self, case: CheckCase) -> tuple[str, str] | None:
        """Return what is wrong with a call's leaves, and where; None: nothing."""
        call = TreeCall(case.collective, case.bytes, case.ranks, case.nodes)
        wanted: dict[str, Tree] = {}
        if case.inside and case.row is not None:
            found = leaves_of(as_rule(self.rows[case.row]), self.library, self.variables)
            if isinstance(found, str):
                return found, next(iter(self.places.values()), "")
            wanted = found
        for layer, place in self.places.items():
            own = leaf_for(self.library.trees[layer], call)
            got = leaf_for(self.trees[layer], call)
            leaf = wanted.get(layer)
            expected = own if leaf is None else (next(iter(leaf)), *sorted(*leaf.values()))
            tree = self.library.trees[layer].get(f"collective={case.collective}", {})
            few = leaf is not None and "count=any" in needs_of(next(iter(leaf)), tree)
            if got != expected and not (few and got == own and call.holds("count<pow2")):
                return (
                    f"{case.words} is to get {_say(expected)}, and the file says {_say(got)}",
                    f"{place}: collective={case.collective}",
                )
        return None


def _say(leaf: tuple[str, ...] | None) -> str:
    return " ".join(leaf) if leaf else "nothing"
