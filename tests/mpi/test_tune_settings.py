"""Settings of the MPI: those that it has, at its ranks, and chosen only on evidence from CMD."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import sys
from pathlib import Path

import pytest

from mpis import MPIS, REPOSITORY, beside_others, missing
from processes import executable, run_program
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.identity import Host
from stretto.files.settings import (
    SettingsFile,
    Tried,
    read_settings,
    write_settings,
)
from stretto.files.verdict import Metric
from stretto.mpi.detect import find_installation
from stretto.mpi.known import check_settings
from stretto.mpi.settings import settings
from stretto.mpi.settings.memory import KEEP
from stretto.mpi.variables import control_variables
from stretto.tune.named import environment_of

SOURCE = REPOSITORY / "tests" / "programs" / "settings.c"
LAUNCHERS = {"openmpi4": "mpirun.openmpi"}
EAGER = "btl_vader_eager_limit"


def launcher(name: str) -> str:
    mpi = MPIS[name].require()
    return str(mpi.prefix / "bin" / LAUNCHERS.get(name, "mpirun"))


@pytest.mark.parametrize("name", MPIS)
def test_the_mpi_is_asked_what_it_has(name: str) -> None:
    """Nothing of the lists is taken for granted: a variable must be one of the library's own."""
    installation = find_installation(launcher(name))
    variables = control_variables(installation)
    known = " ".join([*variables, *(v.help for v in variables.values())])
    one, lacking = settings(installation, 1, 2)
    several, _ = settings(installation, 2, 2)
    single, _ = settings(installation, 2, 1)
    assert len({s.name for s in several}) == len(several) > len(single)
    assert not [x for x in lacking if re.search(rf"\b{x}\b", known)]
    for s in {*one, *several}:
        variable = s.name.partition("=")[0]
        owned = re.search(rf"\b{variable}\b", known)
        assert owned or re.search("bind|mapping|malloc", variable.lower()), s
    keep = ",".join("=".join(pair) for pair in KEEP)  # as diagnose prints it
    assert environment_of(installation.family, keep) == dict(KEEP)
    assert check_settings(installation, dict(KEEP), "") == []
    if name.startswith("openmpi"):
        names = {s.name for s in several}
        assert {"btl_tcp_links=4", "coll_han_priority=0"} <= names
        assert not [s.name for s in one if s.name.startswith(("btl_tcp", "coll_han"))]
        copies = "btl_vader_single_copy_mechanism=none" if name == "openmpi4" else "smsc="
        assert any(n.startswith(copies) for n in names)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich", "intel"])
def test_settings_reach_the_ranks(name: str, tmp_path: Path) -> None:
    """Every variable is read back through MPI_T on a rank, with each of its values."""
    mpi = MPIS[name].require()
    program = mpi.compile(SOURCE, tmp_path / "settings")
    installation = find_installation(launcher(name))
    variables = control_variables(installation)
    aliases = {
        m: v.name for v in variables.values() for m in re.findall(r"@Alias:#\s*(\w+)", v.help)
    }
    found, _ = settings(installation, 2, 2)
    mine: dict[str, list[str]] = {}
    for s in found:
        variable, _, value = s.name.partition("=")
        variable = variable if variable in variables else aliases.get(variable, "")
        # Pinning and fabrics are the launcher's and start-up's: what they do is seen below.
        if variable and not re.search(r"PIN|FABRICS|PERHOST", variable):
            mine.setdefault(variable, []).append(value)
    assert len(mine) >= 3
    for number in range(max(map(len, mine.values()))):
        values = {n: v[number % len(v)] for n, v in mine.items()}
        env: dict[str, str] = {}
        for s in found:
            variable, _, value = s.name.partition("=")
            if (
                values.get(variable if variable in variables else aliases.get(variable, ""))
                == value
            ):
                env |= dict(s.environment)
        done = mpi.run(2, [str(program), "read", *mine], env=env)
        assert done.returncode == 0, done.stderr
        got = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        for n, value in values.items():
            names = {item: str(i) for i, item in variables[n].items}
            assert got[n] in (value, names.get(value)), (n, value, done.stdout, done.stderr)
    faults = {}
    for env in ({}, *(dict(s.environment) for s in found if s.name.startswith("MALLOC"))):
        done = mpi.run(2, [str(program), "faults"], env=env)
        assert done.returncode == 0, done.stderr
        faults[len(env)] = int(done.stdout.partition("faults=")[2].split()[0])
    assert set(faults) == {0, 2} and 2 * faults[2] < faults[0], faults


@pytest.mark.mpi
@pytest.mark.parametrize("name", MPIS)
def test_binding_is_done_by_the_environment(name: str) -> None:
    installation = find_installation(launcher(name))
    mpi = MPIS[name]
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        missing("there is one core: nothing to be bound to")
    found = {s.name: dict(s.environment) for s in settings(installation, 1, 2)[0]}
    (core,) = [e for n, e in found.items() if re.search(r"(?i)bind\w*=core|PIN_DOMAIN=core", n)]
    words = mpi.launcher(2) if name == "mpich" else [launcher(name), "-n", "2"]
    env = mpi.environment | {"I_MPI_PIN": "1"} | core

    with beside_others():
        done = run_program(
            [*words, "sh", "-c", "grep Cpus_allowed_list /proc/self/status"],
            env=env,
            timeout=300,
            check=True,
        )
    lists = re.findall(r"Cpus_allowed_list:\s*(\S+)", done.stdout)
    assert len(set(lists)) == 2 and all(x.isdigit() for x in lists), done.stdout


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    where = tmp_path / "case"
    where.mkdir()
    MPIS["openmpi4"].require().compile(SOURCE, where / "settings")
    monkeypatch.chdir(where)
    return where


def job(*words: str) -> list[str]:
    start = [launcher("openmpi4"), "--oversubscribe", "--bind-to", "none", "-n", "2"]
    return ["--", *start, "./settings", "figure", EAGER, *words]


@pytest.fixture(autouse=True)
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings here are a script's own, which no MPI lists (test_mpi_known.py tries the list)."""
    monkeypatch.setattr("stretto.tune.settings.check_settings", lambda *of: [])


def tune(*words: str) -> int:
    with beside_others() if "./settings" in words else contextlib.nullcontext():
        return main(["settings", "--metric", r"time: ([\d.]+)", *words])


THREE = ["--candidates", f"{EAGER}=1024;{EAGER}=16384;{EAGER}=32768"]
TWO = ["--candidates", f"{EAGER}=1024;{EAGER}=32768"]


def script(case: Path, *words: str) -> list[str]:
    """A job that does the same without an MPI, so that many runs take little time."""
    executable(
        case / "job.sh",
        f"#!/bin/sh\nlimit=${{OMPI_MCA_{EAGER}:-4096}}\necho result 42 > result\n"
        '[ "$1" = tell ] && echo $limit > result\n'
        '[ "$1" = refuse ] && [ $limit -gt 20000 ] && echo no such limit >&2 && exit 4\n'
        'if [ "$1" = worse ]; then echo "time: $limit s"; else\n'
        'echo "time: $((1000000 / limit)) s"; fi\n',
    )
    return ["--mpi", launcher("openmpi4"), "--", "./job.sh", *words]


@pytest.mark.mpi
def test_the_setting_that_helps_is_found_confirmed_and_applied(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """4096 is Open MPI's own limit; the program is "faster" the larger it is."""
    assert tune(*TWO, "--json", *job()) == 0
    out = capsys.readouterr()
    found = json.loads(out.out)
    assert found["setting"] == f"{EAGER}=32768" and found["outputs"].startswith(
        "outputs compared: "
    )
    assert found["chosen"] == {f"OMPI_MCA_{EAGER}": "32768"}
    assert found["confirmed"]["median"] == pytest.approx(1 - 4096 / 32768, abs=0.001)
    outcomes = {t["name"].partition("=")[2]: t["outcome"] for t in found["tried"]}
    assert outcomes == {"1024": "dropped", "32768": "faster"}
    first = [r["setting"].partition("=")[2] for r in found["runs"] if not r["beside"]]
    assert first.count("1024") == 3 and first.count("32768") == first.count("") == 6
    assert sum(bool(r["beside"]) for r in found["runs"]) == 12
    assert not (case / "result").exists(), "each run has a copy of the directory"
    path = case / "stretto-settings" / "settings.settings.json"
    kept = read_settings(path)

    assert tune(*TWO, "--json", *job()) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["runs"] == found["runs"] and again["setting"] == found["setting"], "no run again"

    words = ["-m", "stretto", "run", *job()]
    with beside_others():
        done = run_program([sys.executable, *words], timeout=300, check=True)
    assert f"OMPI_MCA_{EAGER}=32768 (from stretto-settings/settings.settings.json)" in done.stderr
    assert f"time: {1e6 / 32768:.3f}" in done.stdout
    assert main(["env", *job()]) == 0
    assert f"export OMPI_MCA_{EAGER}=32768" in capsys.readouterr().out
    other = [w.replace("2", "3") if w == "2" else w for w in job()]
    assert main(["env", *other]) == 0
    out = capsys.readouterr()
    assert "is not used" in out.err and "export OMPI" not in out.out, "another layout"
    moved = path.with_name("mine.json")
    path.rename(moved)
    assert main(["env", "--settings", str(moved), *job()]) == 0
    assert "export OMPI_MCA" in capsys.readouterr().out
    with pytest.raises(StrettoError, match="was chosen, but not tried"):
        write_settings(dataclasses.replace(kept, chosen={}), moved)


@pytest.mark.mpi
def test_settings_apply_to_the_program_that_they_were_tried_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are found by the program's last name, which several may share."""
    monkeypatch.chdir(tmp_path)
    start = [launcher("openmpi4"), "-n", "2"]
    for name in ("a/app", "b/app", "python3", "solver"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        executable(tmp_path / name, "#!/bin/sh\n")
    mpi = find_installation(start[0]).identity

    def keep(name: str, *program: str) -> None:
        tried = Tried("s", "w", {"OMPI_MCA_btl_tcp_links": "1"}, "faster")
        file = SettingsFile("0", "t", Host("h", "c", 2, "k", 1), mpi, [*start, *program], Metric(),
                            1, 2, [tried], [], {"OMPI_MCA_btl_tcp_links": "1"}, "s")  # fmt: skip
        write_settings(file, tmp_path / f"stretto-{name}" / f"{name}.settings.json")

    def applied(*program: str) -> bool:
        assert main(["env", "--", *start, *program]) == 0
        out = capsys.readouterr()
        assert ("OMPI_MCA_btl_tcp_links" in out.out) != ("another program" in out.err)
        return "OMPI_MCA_btl_tcp_links" in out.out

    keep("app", "a/app", "input")
    assert main(["env", "--", *start, "a/app"]) == 0
    assert "it was made on c, and this machine has" in capsys.readouterr().err
    assert applied("a/app") and applied(f"{tmp_path}/a/app", "other input")
    assert not applied("b/app", "input")
    keep("solver", "./python3", "-m", "solver")
    assert applied("./python3", "-m", "solver") and not applied("./solver")


@pytest.mark.mpi
def test_nothing_is_chosen_without_significance(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(*THREE, "--pairs", "5", "--json", *script(case)) == 0
    few = json.loads(capsys.readouterr().out)
    assert few["setting"] is None and not few["chosen"]
    assert "5 runs are too few for a test (at least 6)" in " ".join(few["conclusion"])
    assert "1 more run" in " ".join(few["conclusion"])
    assert {t["outcome"] for t in few["tried"]} == {"dropped", "inconclusive"}
    assert main(["env", *script(case)]) == 0
    out = capsys.readouterr().out
    assert "export OMPI" not in out and "sets nothing" in out
    assert tune(*THREE, "--restart", "--json", *script(case, "worse")) == 0
    worse = json.loads(capsys.readouterr().out)
    assert worse["setting"] == f"{EAGER}=1024", "there the small one helps"


@pytest.mark.mpi
def test_other_outputs_and_failures_are_no_gain(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["--candidates", f"{EAGER}=32768"]
    assert tune(*one, "--json", *script(case, "tell")) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["chosen"] and "outputs differ" in " ".join(told["conclusion"])
    counts = ["--restart", "--compare", "none", "--ignore", "time:", "--json"]
    assert tune(*one, *counts, *script(case, "tell")) == 0
    assert json.loads(capsys.readouterr().out)["chosen"], "the user says what counts"
    assert tune(*THREE, "--restart", "--json", *script(case, "refuse")) == 0
    out = capsys.readouterr()
    failed = json.loads(out.out)
    assert failed["setting"] == f"{EAGER}=16384"
    (bad,) = [t for t in failed["tried"] if t["outcome"] == "failed"]
    assert bad["name"] == f"{EAGER}=32768" and "no such limit" in bad["why"] + out.err
    assert tune(*THREE, *script(case)) == 1
    assert "another command" in capsys.readouterr().err


@pytest.mark.mpi
def test_a_dry_run_tells_the_settings_and_a_budget_ends_it(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("--dry-run", *job()) == 0
    said = capsys.readouterr().err
    assert f"{EAGER}=16384" in said and "at most" in said
    assert "bind-to is set in the command" in said and "tcp" not in said
    assert not list(case.glob("stretto-*"))
    assert tune("--budget", "0.001s", *THREE, *script(case)) == 0
    assert "the budget was spent" in capsys.readouterr().out
    assert tune("--collective", "bcast", *script(case)) == 2


@pytest.mark.mpi
def test_a_run_ends_with_the_budget_and_is_no_failure(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It took up to a minute more, and its setting counted as one that hangs."""
    executable(
        case / "long.sh",
        f'#!/bin/sh\n[ -z "$OMPI_MCA_{EAGER}" ] || exec sleep 100000\necho time: 1 s\n',
    )
    words = ["--mpi", launcher("openmpi4"), "--", "./long.sh"]
    assert tune("--candidates", f"{EAGER}=1024", "--budget", "4s", "--json", *words) == 0
    found = json.loads(capsys.readouterr().out)
    assert "the budget was spent" in " ".join(found["conclusion"])
    assert [t["outcome"] for t in found["tried"]] == ["inconclusive"]


#: alpha takes a fifth of the time, beta three tenths, and gamma finds most of beta's gain again
HELPING = ["--candidates", "alpha=1;beta=1;gamma=1;gamma=2"]


def helping(case: Path, *words: str) -> list[str]:
    executable(
        case / "helping.sh",
        "#!/bin/sh\ntime=1000\n"
        '[ -n "$OMPI_MCA_beta$OMPI_MCA_gamma" ] && time=$((time * 75 / 100))\n'
        '[ -n "$OMPI_MCA_beta" ] && time=$((time * 94 / 100))\n'
        'if [ -n "$OMPI_MCA_alpha" ]; then time=$((time * 80 / 100))\n'
        '[ "$1" = refuse ] && [ -n "$OMPI_MCA_beta" ] && echo not both >&2 && exit 4\n'
        '[ "$1" = alter ] && echo other > result; fi\n'
        'echo "time: $time s"; echo "rate: $((100000000 / time)) steps/s"\n',
    )
    return ["--mpi", launcher("openmpi4"), "--", "./helping.sh", *words]


def chosen(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.long
@pytest.mark.mpi
def test_what_helps_is_tried_together(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(*HELPING, "--json", *helping(case)) == 0
    found = chosen(capsys)
    assert found["setting"] == "beta=1,alpha=1"
    assert found["chosen"] == {"OMPI_MCA_beta": "1", "OMPI_MCA_alpha": "1"}
    assert found["confirmed"]["median"] == pytest.approx(1 - 0.8 * 0.705, abs=0.002)
    tried = {t["name"]: t for t in found["tried"]}
    twice = tried["beta=1,gamma=1"]
    # on a busy machine no difference counts as the same
    assert twice["outcome"] in ("same", "inconclusive") and "beside beta=1" in twice["why"]
    both = tried["beta=1,alpha=1"]
    assert both["outcome"] == "faster" and both["parts"] == ["beta=1", "alpha=1"]
    assert both["gain"]["median"] == pytest.approx(1 - 0.8 * 0.705, abs=0.002)
    assert "gamma=1,gamma=2" not in " ".join(tried), "one variable has one value"
    beside = [r["setting"] for r in found["runs"] if r["beside"] == "beta=1,alpha=1"]
    assert sorted(beside) == sorted(["native", "beta=1", "beta=1,alpha=1"] * 6)

    path = case / "stretto-helping.sh" / "helping.sh.settings.json"
    whole = read_settings(path)
    cut = {"runs": whole.runs[:-7], "setting": None, "chosen": {}}
    write_settings(dataclasses.replace(whole, **cut), path)  # type: ignore[arg-type]
    assert tune(*HELPING, "--json", *helping(case)) == 0
    again = chosen(capsys)
    assert again["setting"] == "beta=1,alpha=1"
    assert [r["setting"] for r in again["runs"]] == [r["setting"] for r in found["runs"]]

    with pytest.raises(StrettoError, match="combines settings that were not tried"):
        less = [t for t in whole.tried if t.name != "alpha=1"]
        write_settings(dataclasses.replace(whole, tried=less, runs=[]), path)
    # what was put together is named by the user now: runs of the settings alone count on
    named = ["--candidates", "beta=1;beta=1,alpha=1"]
    assert tune(*named, "--json", *helping(case)) == 0
    last = chosen(capsys)
    assert last["setting"] == "beta=1,alpha=1" and not any(t["parts"] for t in last["tried"])
    alone = [r for r in again["runs"] if r["setting"] == "beta=1" and not r["beside"]]
    assert [r for r in last["runs"] if r["setting"] == "beta=1"] == alone


@pytest.mark.mpi
def test_a_combination_that_fails_leaves_the_best_alone(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--candidates", "alpha=1;beta=1", *helping(case, "refuse")]
    assert tune("--json", *words) == 0
    found = chosen(capsys)
    assert found["setting"] == "beta=1"
    (failed,) = [t for t in found["tried"] if t["parts"]]
    assert failed["outcome"] == "failed" and "not both" in failed["why"]


@pytest.mark.long
@pytest.mark.mpi
def test_a_combination_that_is_not_confirmed_leaves_its_place(
    case: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outputs are other ones with alpha; the gain of a rate is told as a rate."""
    words = ["--candidates", "alpha=1;beta=1", "--json", *helping(case, "alter")]
    rate = ["--metric", r"rate: (\d+)", "--metric-better", "higher", "--ignore", "time:|rate:"]
    with beside_others():
        assert main(["settings", *rate, *words]) == 0
    found = chosen(capsys)
    assert found["setting"] == "beta=1"
    first, second = found["conclusion"]  # the chosen one first
    assert "this is significant" in first and "outputs differ" in second
    assert found["confirmed"]["median"] == pytest.approx(1 / 0.705 - 1, abs=0.002)
    with beside_others():
        assert main(["settings", *rate, *words]) == 0
    again = chosen(capsys)
    assert again["runs"] == found["runs"] and again["setting"] == "beta=1", "no run again"
