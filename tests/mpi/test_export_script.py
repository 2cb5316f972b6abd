"""What an export writes beside rules: script, module file, list of rows; over an older one, too."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import clusters
from exports import FIVE, FOUR, preset, result_file, tuned
from mpis import MPIS, beside_others, have, installation
from processes import run_program
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.export import check, everywhere, examine, han, intel, openmpi, probe
from stretto.export.output import MODULE, SCRIPT, Export, write
from stretto.export.rules import Rule
from stretto.export.users import beating, conflicts, woken
from stretto.export.verdicts import RowCheck
from stretto.files import io
from stretto.files.export import EXPORT, NAME, ExportPoint
from stretto.files.identity import MPIIdentity
from stretto.files.layout import RankLayout
from stretto.mpi.algorithms.forced import mark_of
from stretto.mpi.openmpi import OpenMPI

FILENAME = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
HAN_FILE = "OMPI_MCA_coll_han_dynamic_rules_filename"
HAN_DYNAMIC = "OMPI_MCA_coll_han_use_dynamic_file_rules"
REDUCE, ALLREDUCE = "I_MPI_ADJUST_REDUCE", "I_MPI_ADJUST_ALLREDUCE"
BCAST = "OMPI_MCA_coll_tuned_bcast_algorithm"
ACROSS = RankLayout(2, 2, 4)
HAN_RULE = Rule("bcast", ACROSS, 0, None, (("coll_han_use_bcast_algorithm", "2"),
                                           ("coll_han_priority", "100")))  # fmt: skip
TUNED_RULE = Rule("allreduce", FOUR, 0, None, tuned("allreduce", 3))
Out = pytest.CaptureFixture[str]


def put(rules: list[Rule], out: Path, target: str = "openmpi-5", title: str = "one") -> Path:
    """Write an export of rules; return its directory."""
    export = intel.adjust(rules) if target == "intel" else openmpi.classic(rules, target[-1])
    return put_export(export, out, target, title)


def put_export(export: Export, out: Path, target: str = "openmpi-5", title: str = "one") -> Path:
    family = "intel" if target == "intel" else "openmpi"
    write(export, out, title, target, MPIIdentity(family, "openmpi", "5.0.11", "x"))  # type: ignore[arg-type]
    return out


def presets(*collectives: str) -> list[Rule]:
    return [Rule(c, FIVE, 0, None, preset(c, 2)) for c in collectives]


def sourced(out: Path, **variables: str) -> tuple[dict[str, str], str]:
    """What of an MPI's and of ours is set behind an export's script, and what that says."""
    done = run_program(
        ["sh", "-euc", '. "$0"; env -0', out / SCRIPT],
        check=True,
        env={"PATH": os.defpath, **variables},
    )
    pairs = (line.partition("=") for line in done.stdout.split("\0") if line)
    found = {n: v for n, _, v in pairs if n.startswith(("OMPI_", "I_MPI_", "STRETTO_"))}
    return found, done.stderr


TCL = """proc module-whatis x {}
proc module-info x {global mode; return $mode}
proc setenv {n v} {global mode
if {$mode eq "unload"} {unset -nocomplain ::env($n)} {set ::env($n) $v}}
proc unsetenv n {global mode; if {$mode eq "load"} {unset -nocomplain ::env($n)}}
set mode [lindex $argv 0]; source [lindex $argv 1]
foreach n [array names ::env] {puts "$n=$::env($n)"}
"""


def module(tmp_path: Path, mode: str, out: Path, **environ: str) -> tuple[dict[str, str], str]:
    """What is set behind an export's module file."""
    reader = tmp_path / "read.tcl"
    reader.write_text(TCL)
    done = run_program(
        [have("tclsh", "tcl"), reader, mode, out / MODULE],
        check=True,
        env={"PATH": os.defpath, **environ},
    )
    pairs = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    mine = {n: v for n, v in pairs.items() if n.startswith(("I_MPI", "STRETTO", "OMPI"))}
    return mine, done.stderr


# -- over an older export


def test_newer_script_takes_back_what_the_older_one_set(tmp_path: Path) -> None:
    out = put(presets("reduce", "allreduce"), tmp_path / "a b", "intel")
    before, _ = sourced(out)
    assert {REDUCE, ALLREDUCE, mark_of("intel")} == set(before)
    put(presets("allreduce"), out, "intel")
    assert set(sourced(out, **before)[0]) == {ALLREDUCE, mark_of("intel")}
    own = {REDUCE: "1", "I_MPI_ADJUST_BCAST": "3"}
    assert own.items() <= sourced(out, **own)[0].items(), "the user's own"
    before, _ = sourced(out)
    put([], out, "intel")
    assert before and sourced(out, **before) == ({}, "")
    assert sourced(out) == ({}, "") and not EXPORT.read(out / NAME).environment


def test_files_that_only_the_older_export_has_go(tmp_path: Path) -> None:
    out = put([HAN_RULE, TUNED_RULE], tmp_path / "out")
    before, _ = sourced(out)
    assert {HAN_FILE, HAN_DYNAMIC, FILENAME, DYNAMIC} <= set(before)
    put([TUNED_RULE], out)
    assert not (out / han.RULES_FILE).exists() and (out / openmpi.RULES_FILE).exists()
    assert {n for n in sourced(out, **before)[0] if "_MCA_" in n} == {FILENAME, DYNAMIC}
    own = {HAN_FILE: "/site/han", HAN_DYNAMIC: "1"}
    assert own.items() <= sourced(out, **own)[0].items()
    put([HAN_RULE, TUNED_RULE], out)
    (out / han.RULES_FILE).write_text("# the user's own by now\n")
    put([TUNED_RULE], out)
    assert (out / han.RULES_FILE).exists()


def test_module_file_takes_back_and_refuses_as_the_script_does(tmp_path: Path) -> None:
    """Unloaded with the newer file, and loaded over what the older one has set."""

    def after(mode: str, environ: dict[str, str]) -> dict[str, str]:
        found, said = module(tmp_path, mode, out, **environ)
        assert not said
        return found

    out = put(presets("reduce", "allreduce"), tmp_path / "a b}", "intel")
    own = {"I_MPI_ADJUST_BCAST": "3"}
    loaded = after("load", own)
    assert {REDUCE, ALLREDUCE, mark_of("intel"), *own} == set(loaded)
    assert after("unload", loaded) == own
    put(presets("allreduce"), out, "intel")
    assert after("unload", loaded) == own
    assert set(after("load", loaded)) == {ALLREDUCE, mark_of("intel"), *own}
    put([], out, "intel")
    assert after("unload", loaded) == after("load", loaded) == own
    out = put([HAN_RULE, TUNED_RULE], tmp_path / "openmpi")
    loaded = after("load", {})
    put([TUNED_RULE], out)
    assert after("unload", loaded) == {}
    (out / NAME).unlink()
    found, said = module(tmp_path, "load", out)
    assert not found and "does not match this script" in said


def test_export_that_cannot_be_written_leaves_the_old_set(tmp_path: Path) -> None:
    """As on a full disk: others of the set do fit."""
    out = put([TUNED_RULE], tmp_path / "out")
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    export = openmpi.classic([HAN_RULE], "5")
    export.files["z" * 300] = "# a name that no file may have"
    with pytest.raises(StrettoError, match="cannot write the export"):
        put_export(export, out)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


@pytest.mark.parametrize("renames", range(5))
def test_write_that_is_cut_between_two_renames_sets_nothing(
    renames: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a kill there does it: what lies in the directory is of two exports."""
    out = put([TUNED_RULE], tmp_path / "out")
    other = replace(TUNED_RULE, settings=tuned("allreduce", 4))
    real, left = Path.replace, [renames]

    def cut(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(io.Path, "replace", cut)
        with pytest.raises(KeyboardInterrupt):
            put([other], out, title="two")
    found, said = sourced(out)
    assert not found and f"{out / NAME} does not match this script" in said
    with pytest.raises(StrettoError, match="no such file"):
        EXPORT.read(out / NAME)
    put([other], out, title="two")
    assert FILENAME in sourced(out)[0]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (openmpi.RULES_FILE, "# ", "# so much as "),
        (openmpi.RULES_FILE, None, "# another row, of a collective that has none\n"),
        (openmpi.PARAMETERS_FILE, None, "garbage = 5\n"),
        (openmpi.RULES_FILE, "3 0 0", "4 0 0"),  # of another export
    ],
)
def test_file_that_was_changed_is_wrong_whatever_it_says(
    tmp_path: Path, capsys: Out, name: str, old: str | None, new: str
) -> None:
    """Rows beside those in the list would be met by no call that is looked at."""
    out = put([TUNED_RULE], tmp_path / "out")
    call = ["export", "--check", "--out", str(out), "--most-ranks", "2"]
    assert main(call) == 0
    text = (out / name).read_text()
    (out / name).write_text(text + new if old is None else text.replace(old, new, 1))
    assert EXPORT.read(out / NAME).strangers(out) == [name]
    capsys.readouterr()
    assert main(call) == 1
    said = capsys.readouterr()
    assert "1 wrong outside them" in said.out and "write the export again" in said.err
    assert f"was changed after the export [{out / name}]" in said.out


def test_check_without_results_refuses_options_of_writing(tmp_path: Path, capsys: Out) -> None:
    out = put([TUNED_RULE], tmp_path / "out")
    call = ["export", "--check", "--out", str(out), "--most-ranks", "2"]
    assert main([*call, "--to", "openmpi-5"]) == 0
    for more, words in (
        (["--to", "mpich"], "holds an export for openmpi-5, not for mpich"),
        (["--nodes", "2"], "--nodes says what is written"),
        (["--without", "bcast"], "--without says what is written"),
        (["--keep-order"], "--keep-order says what is written"),
    ):
        capsys.readouterr()
        assert main([*call, *more]) == 2
        assert words in capsys.readouterr().err
    for key in ("nodes", "ppn", "nranks"):
        value = json.loads((out / NAME).read_text())
        value["rows"][0][key] = 0
        (out / NAME).write_text(json.dumps(value))
        assert main(["export", "--check", "--out", str(out)]) == 1
        assert "a row makes no sense" in capsys.readouterr().err


# -- what a user has set besides


def test_variables_of_the_user_are_named_by_script_and_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """What beats the files, what is replaced, what takes effect with them, what is another's."""
    out = put([TUNED_RULE], tmp_path / "out")
    forced, of_han = "OMPI_MCA_coll_tuned_allreduce_algorithm", "OMPI_MCA_coll_ucc_priority"
    given = {FILENAME: "/site/rules.conf", forced: "4", BCAST: "3", of_han: "100"}
    found, said = sourced(out, **given)
    assert found[FILENAME] == str(out / openmpi.RULES_FILE)
    expected = {
        FILENAME: "it is replaced", forced: "it may override these files",
        BCAST: "it takes effect with these files", of_han: "it may override these files",
    }  # fmt: skip
    for name, words in expected.items():
        assert said.count(f"{name}={given[name]} is set: {words}") == 1
    assert said.count("\n") == len(expected) and sourced(out)[1] == ""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("stretto.cli.export._installed", lambda *_: None)
    assert main(["export", "--check", "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {forced}=4 is set here: it may override" in said
    assert f"warning: {FILENAME}=/site/rules.conf is set here: the script replaces it" in said
    assert f"warning: {BCAST}=3 is set here, and takes effect with these files" in said
    monkeypatch.setenv(mark_of("intel"), f"{ALLREDUCE} {REDUCE}")
    monkeypatch.setenv(REDUCE, "5")
    other = put(presets("allreduce"), tmp_path / "intel", "intel")
    assert main(["export", "--check", "--out", str(other)]) == 0
    said = capsys.readouterr().err
    assert f"warning: {REDUCE}=5 is set here by another export" in said
    assert f"unset {REDUCE}" in said


def test_variables_that_do_not_go_with_an_export(tmp_path: Path) -> None:
    mpich = {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring", "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "x"}
    (said,) = conflicts("mpich", ["allreduce", "allreduce"], {}, mpich)
    assert said.startswith("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring is set here: it may override")
    ours = {"I_MPI_ADJUST_REDUCE": "2:0-9"}
    assert not conflicts("intel", ["reduce"], ours, ours)
    (said,) = conflicts("intel", ["reduce"], ours, {"I_MPI_ADJUST_REDUCE": "1"})
    assert said.endswith("the script replaces it")
    variables = {DYNAMIC: "1", FILENAME: f"/x/{openmpi.RULES_FILE}"}
    forced = {BCAST: "3"}
    (said,) = conflicts("openmpi-5", ["allreduce"], variables, {**forced, **variables})
    assert said.startswith(f"{BCAST}=3 is set here, and takes effect with these files")
    assert not woken("openmpi-5", ["allreduce"], variables, {**forced, DYNAMIC: "1"}), "it lives"
    assert not woken("openmpi-5", ["allreduce"], {HAN_DYNAMIC: "1"}, forced), "HAN's rules alone"
    assert BCAST not in beating("openmpi-5", ["allreduce"], ())
    # HAN's own settings, where HAN has rows, and components above coll/tuned
    of_han = {"OMPI_MCA_coll_han_use_bcast_algorithm": "1", "OMPI_MCA_coll_han_reproducible": "1"}
    above = {"OMPI_MCA_coll_ucc_priority": "100", "OMPI_MCA_coll_hcoll_priority": "31"}
    below = {"OMPI_MCA_coll_xhc_priority": "30", "OMPI_MCA_coll_sm_priority": "",
             "OMPI_MCA_coll_adapt_priority": "x"}  # fmt: skip
    names = {*above, "OMPI_MCA_coll_han_use_bcast_algorithm"}
    for rule, expected in ((HAN_RULE, names), (TUNED_RULE, set(above))):
        out = put([rule], tmp_path / rule.collective)
        environ = {**of_han, **above, **below}
        said = sourced(out, **environ)[1]
        assert {x.split()[1].partition("=")[0] for x in said.splitlines()} == expected
        variables = EXPORT.read(out / NAME).environment
        found = conflicts("openmpi-5", [rule.collective], variables, environ)
        assert {x.partition("=")[0] for x in found} == expected


@pytest.mark.mpi
def test_what_the_user_forces_does_not_make_files_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = installation("openmpi4", monkeypatch)
    out = put([TUNED_RULE], tmp_path, "openmpi-4")
    monkeypatch.setenv(BCAST, "1")
    with beside_others():
        found = check.check(out, check.CheckPlan(mpi), quiet=True)
    assert not [v for v in found if v.status == "wrong"], found
    assert any(f"{BCAST}=1 is set here" in v.why for v in found if v.row is None)


# -- names and places


@pytest.mark.parametrize(
    "name", ["sp ace", "quo'te", "br}ace", "{", "dol$HOME", "a[exit]b", "\\", '"', "a;b"]
)
def test_paths_come_through_into_shell_and_tcl(name: str, tmp_path: Path) -> None:
    out = put([TUNED_RULE], tmp_path / name / "out")
    for found, said in (sourced(out), module(tmp_path, "load", out)):
        assert found[FILENAME] == f"{out}/{openmpi.RULES_FILE}" and not said


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("new\nline", "openmpi-5", "which cannot be written in them"),
        (os.fsdecode(b"lat\xe9in"), "openmpi-5", "which cannot be written in them"),
        ("a;b", "openmpi-4", "reads a file name with ';'"),  # without a word
    ],
)
def test_directory_that_files_cannot_name_is_refused(
    name: str, target: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(StrettoError, match=words) as error:
        put([TUNED_RULE], tmp_path / name, target)
    assert "--out" in (error.value.remedy or "") and not (tmp_path / name).exists()


def test_names_and_sentences_stay_comments(tmp_path: Path) -> None:
    """What stood behind a line end in a results file's name was run by who sourced the script."""
    export = openmpi.classic([TUNED_RULE], "4")
    export.lost.append("a\necho sentence")
    put_export(export, tmp_path, "openmpi-4", "from a\necho title;#\rx")
    for name in (SCRIPT, MODULE):
        lines = (tmp_path / name).read_text().splitlines()
        assert not [x for x in lines if x.startswith(("echo title", "echo sentence"))]


def test_export_without_rows_sets_nothing(tmp_path: Path) -> None:
    """It turned on dynamic rules, which brought to life whatever was forced."""
    out = put([], tmp_path, "openmpi-4")
    assert sourced(out) == ({}, "") and EXPORT.read(out / NAME).environment == {}
    assert not examine.examine(check.read(out)[0], out, {}, None)


def test_next_command_and_json_say_what_the_script_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """``source stretto-native.sh`` looks on PATH."""
    doubling = "native:coll_tuned_allreduce_algorithm=3,coll_tuned_use_dynamic_rules=1"
    times = {("allreduce", 1024): {"bare": 50.0, doubling: 30.0}}
    path = result_file(tmp_path / "r.bench.jsonl", times, FOUR)
    words = ["export", "--to", "openmpi-5", str(path), "--out"]
    monkeypatch.chdir(tmp_path)
    for out, script in ((".", "./stretto-native.sh"), ("a b", "'a b/stretto-native.sh'")):
        assert main([*words, out]) == 0
        assert capsys.readouterr().out.rstrip().endswith(f"next: source {script}")
    assert main([*words, "a b", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["environment"]
    assert said[FILENAME] == str(tmp_path / "a b" / openmpi.RULES_FILE)


def test_copied_export_is_wrong(tmp_path: Path) -> None:
    """Its script names the original's files: those are read, or none."""
    original = put([TUNED_RULE], tmp_path / "original")
    copy, link = tmp_path / "co py", tmp_path / "link"
    shutil.copytree(original, copy)
    link.symlink_to(original)
    manifest, environment = check.read(original)
    assert not examine.examine(manifest, link, environment, None), "the same directory"
    for there in (True, False):
        if not there:
            shutil.rmtree(original)
        (fault,) = examine.examine(check.read(copy)[0], copy, check.read(copy)[1], None)
        assert f"{FILENAME} names {original}/{openmpi.RULES_FILE}" in fault.why
        assert f"--out {shlex.quote(str(copy))};" in fault.remedy
        assert fault.place.startswith(str(copy))


MOUNTS = """overlay / overlay rw 0 0
srv:/home /home nfs4 rw 0 0
none /home/node\\040local tmpfs rw 0 0
/dev/sdb /scratch xfs rw 0 0
ost:/l /scratch lustre rw 0 0
"""


def test_directories_that_one_node_alone_sees_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI says nothing where it finds none, and its ranks decide otherwise."""
    for directory, kind in (
        ("/tmp/tuning", "overlay"), ("/home/me", None), ("/home/node local/x", "tmpfs"),
        ("/home/node localx", None), ("/scratch/a", None), ("/", "overlay"),
    ):  # fmt: skip
        assert everywhere.own_file_system(Path(directory), MOUNTS) == kind
    mounts, rule = tmp_path / "mounts", replace(TUNED_RULE, layout=ACROSS)
    monkeypatch.setattr(everywhere.to_be_seen, "__defaults__", (mounts,))
    out = tmp_path / "out"

    def said(kind: str, rules: list[Rule], target: str = "openmpi-4") -> list[str]:
        mounts.write_text(f"x / {kind} rw 0 0\n")
        put(rules, out, target)
        lost = EXPORT.read(out / NAME).lost
        return [x for x in lost if "every node of a job must see" in x]

    (words,) = said("nfs4", [rule])
    assert words.startswith(f"every node of a job must see {out} under this path: ")
    (words,) = said("tmpfs", [rule])
    assert words.startswith(f"{out} is on the local tmpfs of this machine, but every node")
    assert not said("tmpfs", [TUNED_RULE])
    assert "# every node of the job must see" in (out / SCRIPT).read_text()
    assert not said("tmpfs", [replace(rule, settings=preset("allreduce", 3))], "intel")
    assert "every node" not in (out / SCRIPT).read_text(), "nothing is read"


# -- what --check makes of them


@dataclass(frozen=True)
class TwoNodes(OpenMPI):
    """Nodes a and b; what lies in `only_a` is on a alone."""

    only_a: str = "/nowhere"

    def launch(  # type: ignore[override]
        self, nranks: int, program: list[str], hosts: tuple[str, ...] = (), **_: object
    ) -> tuple[list[str], dict[str, str]]:
        assert nranks == len(hosts)
        words = []
        for host in hosts:
            files = [f if host == "a" else f.replace(self.only_a, "/none") for f in program[3:]]
            line = program[2].replace("$(uname -n)", host)
            words.append(shlex.join([*program[:2], line, *files]))
        return ["/bin/sh", "-c", "; ".join(words)], dict(os.environ)


def test_files_that_not_all_hosts_see_are_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = put([TUNED_RULE], tmp_path / "out")
    ran: list[object] = []
    monkeypatch.setattr(check, "run", lambda *a: ran.append(a) or {})
    monkeypatch.setattr(examine, "examine", lambda *_: [])
    for only_a in ("/nowhere", str(out)):
        mpi = TwoNodes("openmpi", "openmpi", "4.1.4", "Open MPI", Path("/m"), None, None,
                       only_a=only_a)  # fmt: skip
        for hosts in (("a",), ("a", "b")):
            ran.clear()
            found = check.check(out, check.CheckPlan(mpi, hosts), quiet=True)
            wrong = [v for v in found if v.status == "wrong"]
            apart = only_a == str(out) and len(hosts) == 2
            assert bool(wrong) == apart and bool(ran) != apart
            assert all(v.why.startswith("b does not see these files") for v in wrong)
            assert all("to a shared file system" in (v.remedy or "") for v in wrong)


def test_check_joins_what_reading_and_running_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """A row that is in the file otherwise than written may yet run as something else again."""
    out = put([TUNED_RULE], tmp_path / "o")
    fault = RowCheck(0, "w", "wrong", "another algorithm", None, "f:1")
    monkeypatch.setattr(examine, "examine", lambda *_: [fault])
    plan = check.CheckPlan(object())  # type: ignore[arg-type]
    for status, told in (("wrong", 2), ("proven", 1), ("unproven", 1)):
        ran = {0: RowCheck(0, "w", status, "run")}  # type: ignore[arg-type]
        monkeypatch.setattr(check, "run", lambda *_, ran=ran: ran)
        found = check.check(out, plan, quiet=True)
        assert len([v for v in found if v.row == 0]) == told
        assert "another algorithm" in found[0].why
    found = [
        RowCheck(0, "a", "wrong", "read"), RowCheck(0, "a", "wrong", "run"),
        RowCheck(1, "b", "proven", "run"), RowCheck(1, "b", "wrong", "read"),
        RowCheck(2, "c", "proven", "run"), RowCheck(None, "calls without a row", "proven", "run"),
        RowCheck(None, "the file", "wrong", "read"),
    ]  # fmt: skip
    monkeypatch.setattr("stretto.cli.export.check", lambda *_: found)
    capsys.readouterr()
    assert main(["export", "--check", "--out", str(out)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("rows: 1 proven, 0 unproven, 2 wrong; 1 wrong outside them")


def test_directory_where_nothing_can_be_written_is_checked_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    """A site's export belongs to root, and --check put its small files into it."""
    out = put([TUNED_RULE], tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    plans: list[check.CheckPlan] = []
    monkeypatch.setattr(check, "run", lambda *a: plans.append(a[2]) or {})
    monkeypatch.setattr(examine, "examine", lambda *_: [])
    plan = check.CheckPlan(object())  # type: ignore[arg-type]
    check.check(out, plan)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out or mode == os.R_OK)
    check.check(out, plan)
    check.check(out, replace(plan, folder=tmp_path / "named"))
    assert [p.folder for p in plans] == [out, tmp_path, tmp_path / "named"]
    (tmp_path / "file").touch()
    with pytest.raises(StrettoError, match="a directory that all hosts share") as error:
        probe._folder(tmp_path / "file" / "below")
    assert error.value.remedy == "give a writable directory: --times DIR"
    assert main(["export", "--out", str(out), "--times", "x", "r.bench.jsonl"]) == 2
    assert "--times is for --check and --time" in capsys.readouterr().err


@pytest.mark.root
@pytest.mark.mpi
def test_sites_export_is_checked_on_two_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a file system that cannot be written to: its small files go to where one is."""
    mpi = MPIS["openmpi5"].require()
    rule = Rule("allreduce", ACROSS, 0, None, (*tuned("allreduce", 4), ("coll_han_priority", "0")))
    with clusters.up(2) as cluster:
        out, work = cluster.shared / "site", cluster.shared / "work"
        put([rule], out)
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


def test_row_promises_nothing_outside_of_its_sizes(tmp_path: Path) -> None:
    """Some files end a row before what was measured: there the MPI decides as before."""
    points = tuple(ExportPoint(n, "MPI_FLOAT", "MPI_SUM", 0, 0.5) for n in (8, 64, 1024))
    rule = Rule("allreduce", FOUR, 9, 1023, tuned("allreduce", 3), points=points)
    put_export(Export(rows=[rule]), tmp_path)
    (row,) = EXPORT.read(tmp_path / NAME).rows
    assert [p.bytes for p in row.measured] == [64]
