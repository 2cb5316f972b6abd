"""An export into the directory of an older one: nothing of that stays in force; and other places.

Also what the user has forced and only the files bring to life.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

import clusters
from exports import FIVE, FOUR, preset, tuned
from mpis import MPIS, beside_others, have, installation
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import check, examine, han, intel, openmpi, probe
from stretto.export.output import MODULE, SCRIPT, Export, write
from stretto.export.rules import Rule
from stretto.export.users import beating, conflicts, woken
from stretto.export.verdicts import RowCheck
from stretto.files.export import EXPORT, NAME
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi.algorithms.forced import mark_of

FILENAME = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
HAN_FILE = "OMPI_MCA_coll_han_dynamic_rules_filename"
HAN_DYNAMIC = "OMPI_MCA_coll_han_use_dynamic_file_rules"
REDUCE, ALLREDUCE = "I_MPI_ADJUST_REDUCE", "I_MPI_ADJUST_ALLREDUCE"
BCAST = "OMPI_MCA_coll_tuned_bcast_algorithm"
NODES = RankLayout(2, 2, 4)
HAN_RULE = Rule("bcast", NODES, 0, None, (("coll_han_use_bcast_algorithm", "2"),
                                          ("coll_han_priority", "100")))  # fmt: skip
TUNED_RULE = Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3))


def rules_of(*collectives: str) -> Export:
    return intel.adjust([Rule(c, FIVE, 0, None, preset(c, 2)) for c in collectives])


def written(export: Export, out: Path, target: str) -> Path:
    family = "intel" if target == "intel" else "openmpi"
    write(export, out, "test", target, MPIIdentity(family, "openmpi", "5.0.11", "x"))  # type: ignore[arg-type]
    return out / SCRIPT


def environment(*words: str, **variables: str) -> dict[str, str]:
    """What is set after some commands of a shell."""
    done = subprocess.run(
        ["sh", "-euc", "; ".join([*words, "env -0"])],
        capture_output=True, text=True, check=True, env={"PATH": os.defpath, **variables},
    )  # fmt: skip
    assert not done.stderr
    pairs = (line.partition("=") for line in done.stdout.split("\0") if line)
    return {n: v for n, _, v in pairs if n.startswith(("OMPI_", "I_MPI_", "STRETTO_"))}


def dot(script: Path) -> str:
    return f". {shlex.quote(str(script))}"


def test_a_newer_export_takes_back_what_the_older_one_has_set(tmp_path: Path) -> None:
    """Sourced after the older one, ``--without reduce`` left I_MPI_ADJUST_REDUCE in force."""
    out = tmp_path / "a b"
    script = written(rules_of("reduce", "allreduce"), out, "intel")
    before = environment(dot(script))
    assert {REDUCE, ALLREDUCE, mark_of("intel")} == set(before)
    written(rules_of("allreduce"), out, "intel")
    assert set(environment(dot(script), **before)) == {ALLREDUCE, mark_of("intel")}
    own = {REDUCE: "1", "I_MPI_ADJUST_BCAST": "3"}
    assert own.items() <= environment(dot(script), dot(script), **own).items(), "the user's own"
    before = environment(dot(script))
    written(rules_of(), out, "intel")
    assert before and environment(dot(script), **before) == {}
    assert environment(dot(script)) == {} and not EXPORT.read(out / NAME).environment


def test_files_that_only_the_older_export_has_go(tmp_path: Path) -> None:
    """HAN's rules stayed, and so did the variables that name them."""
    out = tmp_path / "out"
    script = written(openmpi.classic([HAN_RULE, TUNED_RULE], "5"), out, "openmpi-5")
    before = environment(dot(script))
    assert {HAN_FILE, HAN_DYNAMIC, FILENAME, DYNAMIC} <= set(before)
    written(openmpi.classic([TUNED_RULE], "5"), out, "openmpi-5")
    assert not (out / han.RULES_FILE).exists() and (out / openmpi.RULES_FILE).exists()
    after = environment(dot(script), **before)
    assert {n for n in after if "_MCA_" in n} == {FILENAME, DYNAMIC}
    own = {HAN_FILE: "/site/han", HAN_DYNAMIC: "1"}
    assert own.items() <= environment(dot(script), **own).items()
    written(openmpi.classic([HAN_RULE, TUNED_RULE], "5"), out, "openmpi-5")
    (out / han.RULES_FILE).write_text("# the user's own by now\n")
    written(openmpi.classic([TUNED_RULE], "5"), out, "openmpi-5")
    assert (out / han.RULES_FILE).exists()


TCL = """proc module-whatis x {}
proc module-info x {global mode; return $mode}
proc setenv {n v} {global mode
if {$mode eq "unload"} {unset -nocomplain ::env($n)} {set ::env($n) $v}}
proc unsetenv n {global mode; if {$mode eq "load"} {unset -nocomplain ::env($n)}}
set mode [lindex $argv 0]; source [lindex $argv 1]
foreach n [array names ::env] {puts "$n=$::env($n)"}
"""


def test_module_files_take_back_as_well(tmp_path: Path) -> None:
    """Unloaded with the newer file, and loaded over what the older one has set."""
    tcl = have("tclsh", "tcl")
    reader = tmp_path / "read.tcl"
    reader.write_text(TCL)

    def after(mode: str, environ: dict[str, str]) -> dict[str, str]:
        done = subprocess.run(
            [tcl, reader, mode, out / MODULE],
            capture_output=True, text=True, check=True, env={"PATH": os.defpath, **environ},
        )  # fmt: skip
        assert not done.stderr
        pairs = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        return {n: v for n, v in pairs.items() if n.startswith(("I_MPI", "STRETTO", "OMPI"))}

    out = tmp_path / "a b}"
    written(rules_of("reduce", "allreduce"), out, "intel")
    own = {"I_MPI_ADJUST_BCAST": "3"}
    loaded = after("load", own)
    assert {REDUCE, ALLREDUCE, mark_of("intel"), *own} == set(loaded)
    assert after("unload", loaded) == own
    written(rules_of("allreduce"), out, "intel")
    assert after("unload", loaded) == own
    assert set(after("load", loaded)) == {ALLREDUCE, mark_of("intel"), *own}
    written(rules_of(), out, "intel")
    assert after("unload", loaded) == after("load", loaded) == own
    out = tmp_path / "openmpi"
    written(openmpi.classic([HAN_RULE, TUNED_RULE], "5"), out, "openmpi-5")
    loaded = after("load", {})
    written(openmpi.classic([TUNED_RULE], "5"), out, "openmpi-5")
    assert after("unload", loaded) == {}


def test_what_another_export_has_set_is_named_and_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--check`` was green in a shell with the older script's variables."""
    out = written(rules_of("allreduce"), tmp_path, "intel").parent
    monkeypatch.setenv(mark_of("intel"), f"{ALLREDUCE} {REDUCE}")
    monkeypatch.setenv(REDUCE, "5")
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {REDUCE}=5 is set here by another export" in said
    assert f"unset {REDUCE}" in said


def test_a_forced_algorithm_that_the_files_bring_to_life_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did nothing until dynamic rules were on, and had no row: nothing named it."""
    script = written(openmpi.classic([TUNED_RULE], "5"), tmp_path, "openmpi-5")
    variables = check.read(script.parent)[1]
    assert set(variables) == {DYNAMIC, FILENAME}
    forced = {BCAST: "3"}
    (said,) = conflicts("openmpi-5", ["allreduce"], variables, forced)
    assert said.startswith(f"{BCAST}=3 is set here, and takes effect with these files")
    assert conflicts("openmpi-5", ["allreduce"], variables, {**forced, **variables}) == [said]
    assert not woken("openmpi-5", ["allreduce"], variables, {**forced, DYNAMIC: "1"}), "it lives"
    assert not woken("openmpi-5", ["allreduce"], {HAN_DYNAMIC: "1"}, forced), "HAN's rules alone"
    assert BCAST not in beating("openmpi-5", ["allreduce"], ())
    done = subprocess.run(
        ["sh", "-euc", dot(script)], env={"PATH": os.defpath, **forced}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert f"{BCAST}=3 is set: it takes effect with these files" in done.stderr
    verdict = RowCheck(None, "calls without a row", "proven", "as before")
    monkeypatch.setattr(check, "run", lambda *_: {None: verdict})
    monkeypatch.setenv(BCAST, "3")
    monkeypatch.setattr(examine, "examine", lambda *_: [])
    found = check.check(script.parent, check.CheckPlan(object()), quiet=True)  # type: ignore[arg-type]
    assert f"; {BCAST}=3 is set here" in next(v for v in found if v.row is None).why


@pytest.mark.mpi
def test_what_the_user_forces_does_not_make_files_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installation("openmpi4", monkeypatch)
    out = written(openmpi.classic([TUNED_RULE], "4"), tmp_path, "openmpi-4").parent
    monkeypatch.setenv(BCAST, "1")
    with beside_others():
        found = check.check(out, check.CheckPlan(mpi), quiet=True)
    assert not [v for v in found if v.status == "wrong"], found
    assert any(f"{BCAST}=1 is set here" in v.why for v in found if v.row is None)


def test_an_export_without_rows_sets_nothing(tmp_path: Path) -> None:
    """It turned on dynamic rules, which brought to life whatever was forced."""
    script = written(openmpi.classic([], "4"), tmp_path, "openmpi-4")
    assert environment(dot(script)) == {}
    assert EXPORT.read(tmp_path / NAME).environment == {}
    assert not examine.examine(*check.read(tmp_path)[:1], tmp_path, {}, None)


def test_a_semicolon_in_the_directory_is_not_for_open_mpi_4(tmp_path: Path) -> None:
    """It read no rules there, without a word."""
    export = openmpi.classic([TUNED_RULE], "4")
    with pytest.raises(StrettoError, match="reads a file name with ';'") as error:
        write(
            export, tmp_path / "a;b", "t", "openmpi-4", MPIIdentity("openmpi", "openmpi", "4", "")
        )
    assert "--out" in (error.value.remedy or "")
    assert not (tmp_path / "a;b").exists()
    written(openmpi.classic([TUNED_RULE], "5"), tmp_path / "a;b", "openmpi-5")


def test_remedies_can_be_typed(tmp_path: Path) -> None:
    out = tmp_path / "a b"
    written(openmpi.classic([TUNED_RULE], "5"), out, "openmpi-5")
    rules = out / openmpi.RULES_FILE
    rules.write_text(rules.read_text() + "# more\n")
    found = check.check(out, check.CheckPlan(None), quiet=True)
    assert [f"--out {shlex.quote(str(out))} RESULTS" in v.remedy for v in found if v.remedy] == [
        True
    ]
    copy = tmp_path / "c d"
    out.rename(copy)
    (fault,) = examine.examine(*check.read(copy)[:1], copy, check.read(copy)[1], None)
    assert f"--out {shlex.quote(str(copy))};" in fault.remedy


def test_a_directory_where_nothing_can_be_written_is_checked_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A site's export belongs to root, and --check put its small files into it."""
    out = tmp_path / "site"
    written(openmpi.classic([TUNED_RULE], "5"), out, "openmpi-5")
    monkeypatch.chdir(tmp_path)
    plans: list[check.CheckPlan] = []

    def run(
        manifest: object, environment: object, plan: check.CheckPlan, quiet: bool
    ) -> dict[None, None]:
        plans.append(plan)
        return {}

    monkeypatch.setattr(check, "run", run)
    monkeypatch.setattr(examine, "examine", lambda *_: [])
    here = object()
    check.check(out, check.CheckPlan(here))  # type: ignore[arg-type]
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out or mode == os.R_OK)
    check.check(out, check.CheckPlan(here))  # type: ignore[arg-type]
    check.check(out, check.CheckPlan(here, folder=tmp_path / "named"))  # type: ignore[arg-type]
    assert [p.folder for p in plans] == [out, tmp_path, tmp_path / "named"]
    (tmp_path / "file").touch()
    with pytest.raises(StrettoError, match="small files that all hosts see") as error:
        probe._folder(tmp_path / "file" / "below")
    assert error.value.remedy == "name one in which you may write: --times DIR"
    given: list[object] = []
    monkeypatch.setattr(check, "check", lambda out, plan, quiet: given.append(plan.folder) or [])
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(out), "--times", str(tmp_path / "x")]) == 0
    assert given == [tmp_path / "x"]
    capsys.readouterr()
    assert main(["export", "--out", str(out), "--times", "x", "r.bench.jsonl"]) == 2
    assert "--times is for --check and --time" in capsys.readouterr().err


def test_the_script_of_the_working_directory_is_named_so_that_a_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``source stretto-native.sh`` looks on PATH."""
    from test_export_output import exported

    monkeypatch.chdir(tmp_path)
    for out, words in ((".", "./stretto-native.sh"), ("a b", "'a b/stretto-native.sh'")):
        exported(tmp_path, Path(out))
        assert capsys.readouterr().out.rstrip().endswith(f"next: source {words}")


@pytest.mark.root
@pytest.mark.mpi
def test_a_sites_export_is_checked_on_two_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file system that cannot be written to: its small files go to where one is."""
    mpi = MPIS["openmpi5"].require()
    rule = Rule("allreduce", NODES, 0, None, (*tuned("allreduce", 4), ("coll_han_priority", "0")))
    with clusters.up(2) as cluster:
        out, work = cluster.shared / "site", cluster.shared / "work"
        written(openmpi.classic([rule], "5"), out, "openmpi-5")
        work.mkdir()
        monkeypatch.chdir(work)
        hosts = ",".join(node.name for node in cluster.nodes)
        words = ("--out", str(out), "--hosts", hosts, "--mpi", mpi.launcher(1)[0], "--json")
        subprocess.run(["mount", "--bind", out, out], check=True)
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", out], check=True)
            done = clusters.stretto(cluster, "openmpi5", "export", "--check", *words)
        finally:
            subprocess.run(["umount", out], check=True)
        found = [v["status"] for v in json.loads(done.stdout)["check"]]
        assert found == ["proven", "proven"], done.stdout
        assert not [p for p in (*out.iterdir(), *work.iterdir()) if p.name.startswith(".")]
