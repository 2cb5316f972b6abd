"""The MPI's own algorithms alternate inside one launch, where what runs is then what is named.

The proof is the fingerprint (order of sums, messages by peer, who waits for whom): a setting made
in a running process gives the same one as the same setting in the environment of a new process.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mpis import MPIS, alone_here, installation, rarely
from stretto.errors import StrettoError
from stretto.files.identity import collect
from stretto.measure import inlaunch, runner
from stretto.measure.candidates import resolve
from stretto.measure.compare import timings
from stretto.measure.inlaunch import shared_launches, written_in
from stretto.measure.runner import measure
from stretto.measure.settings import Settings, make_case, variants_of
from stretto.measure.variants import launch_for, shared_settings, single_settings
from stretto.mpi.algorithms.pairs import settings_environment
from test_bench_program import bench, job, lines, program
from test_measure_runner import FakeMPI, clock_of_hangs, go, mpi, starts

__all__ = ["mpi"]  # the stand-in of test_measure_runner, as a fixture

A, B, C = (f"native:coll_tuned_allreduce_algorithm={n}" for n in (1, 3, 4))
TUNED = "natives:coll_tuned_use_dynamic_rules=1"
SHARING = dict.fromkeys((A, B, C), TUNED)
SWITCHING = ["openmpi4", "openmpi5", "mpich"]


def campaign(names: Sequence[str], shared: Mapping[str, str], **more: object) -> Settings:
    cases = tuple(make_case("allreduce", size, names) for size in (8, 64))
    values = {"nranks": 2, "cases": cases, "variants": variants_of(cases, shared), "stall_s": 600.0}
    return Settings(**(values | more))  # type: ignore[arg-type]


# ---- which launches there are --------------------------------------------------------------------


def test_candidates_that_start_alike_share_a_launch() -> None:
    s = campaign(["native", "bare", A, B, "native:btl_tcp_links=2"], SHARING)
    assert s.variants == ("stretto", "bare", "native:btl_tcp_links=2", TUNED)
    of = {v: {c for case in s.cases_of(v) for c in case.candidates} for v in s.variants}
    assert of == {
        "stretto": {"native"}, "bare": {"bare"}, TUNED: {A, B},
        "native:btl_tcp_links=2": {"native:btl_tcp_links=2"},
    }  # fmt: skip
    assert s.total() == 6 * 4 and s.estimate_s() < campaign(s.cases[0].candidates, {}).estimate_s()
    assert set(replace_cases(s, ["bare", B]).launches_needed()) == {"bare", TUNED}


def replace_cases(s: Settings, names: Sequence[str]) -> Settings:
    cases = tuple(dataclasses.replace(c, candidates=tuple(names)) for c in s.cases)
    return dataclasses.replace(s, cases=cases)


@pytest.mark.parametrize("name", MPIS)
def test_what_an_installed_mpi_can_be_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = installation(name, monkeypatch)
    names = resolve(["native:every"], here, "allreduce", 4, 2)
    assert len(names) > 5
    cases = [make_case("allreduce", 8, [*names, "bare"])]
    shared = shared_launches(here, cases, 2)
    variants = variants_of(cases, shared)
    if name == "intel":
        assert shared == {} and len(variants) == len(names) + 1
        return
    inside = [c for c in names if "coll_han" not in c or "coll_tuned" in c]
    assert len(set(inside) - set(shared)) < len(inside) / 3, "most share, but for HAN's"
    assert ("bare" in shared) == (name == "openmpi4"), "5.0 has HAN there"
    apart = [c for c in names if c not in shared]
    if name == "mpich":
        # which nobody has tried to write: in the environment of those that have it in common
        early = "MPIR_CVAR_ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV=1"
        assert set(shared.values()) == {"bare", f"natives:{early}"}
        assert all((shared[c] != "bare") == (early in c) for c in shared)
        words = ("POSIX", "TREE_TYPE", "COMPOSITION", "BUFFER_PER_CHILD")
        assert all(any(word in c for word in words) for c in apart)
    else:
        (launch,) = set(shared.values())
        assert shared_settings(launch)["coll_tuned_use_dynamic_rules"] == "1"
        assert all("coll_han_use" in c or "priority=100" in c for c in apart)
    settings = campaign([*names, "bare"], shared)
    first = next(iter(shared.values()))
    launch_number = settings.variants.index(first)
    mine = settings.cases_of(settings.variant_of(launch_number))
    written = written_in(settings, here, launch_number, mine)
    assert set(written) == {c for c in shared if shared[c] == first} - {"bare"}
    for candidate, pairs in written.items():
        at_start = shared_settings(shared[candidate])
        assert {n for n, _ in pairs} == set(single_settings(candidate)) - set(at_start)
        assert all(value.isdigit() for _, value in pairs)
    if name.startswith("openmpi"):  # MPI_T says that this one is constant, and it is
        fixed = resolve(["native:all"], here, "allgatherv", 4, 1)
        assert fixed and shared_launches(here, [make_case("allgatherv", 8, fixed)], 1) == {}
    # What was not seen to work is not done: another version, and settings nobody has tried.
    later = dataclasses.replace(here, version="9.0.0")
    assert shared_launches(later, cases, 1) == {}
    odd = ["native:coll_tuned_scatter_min_procs=1", "native:MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE=1"]
    assert shared_launches(here, [make_case("allreduce", 8, [*odd, "bare"])], 1) == {}
    with pytest.raises(StrettoError, match="cannot be set in a running process"):
        written_in(settings, later, launch_number, settings.cases)


@pytest.mark.parametrize(
    ("version", "nodes", "start", "shares"),
    [
        ("5.0.11", 1, {}, True),
        ("5.0.11", 2, {}, True),
        ("5.0.11", 1, {"coll_han_priority": "0"}, True),
        ("4.1.4", 2, {"coll_han_priority": "0"}, True),
        ("5.0.11", 2, {"coll_han_priority": "0"}, False),  # HAN is its choice there
        ("5.0.11", 1, {"coll_tuned_priority": "90"}, False),
    ],
)
def test_bare_shares_launches_whose_settings_change_nothing_for_it(
    version: str, nodes: int, start: dict[str, str], shares: bool,
    monkeypatch: pytest.MonkeyPatch, mpi: FakeMPI,
) -> None:  # fmt: skip
    more = "".join(f",{n}={v}" for n, v in start.items())
    names = [A + more, B + more]
    told = {n: (("coll_tuned_allreduce_algorithm", str(i)),) for i, n in enumerate(names)}
    monkeypatch.setattr(inlaunch, "_writable", lambda here, names: told)
    here = dataclasses.replace(mpi, family="openmpi", version=version)  # type: ignore[type-var]
    cases = [make_case("allreduce", 8, ["native", *names, "bare"])]
    shared = shared_launches(here, cases, nodes)
    (launch,) = {shared[n] for n in names}
    assert shared.get("bare") == (launch if shares else None)
    variants = variants_of(cases, shared)
    assert variants == ("stretto", launch) if shares else ("stretto", "bare", launch)
    assert launch_for("bare", variants) == (launch if shares else "bare")
    assert launch_for("native", variants) == "stretto"


# ---- a campaign with shared launches -------------------------------------------------------------


@pytest.mark.parametrize(("what", "reason"), [("crash", "failed"), ("hang", "hung")])
def test_one_that_fails_in_a_shared_launch_goes_alone(
    mpi: FakeMPI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, reason: str
) -> None:
    """The stand-in's behaviour is told by name without `=`: here settings are words."""
    names = ["bare", "native:a", "native:b", "native:c"]
    monkeypatch.setattr(runner, "written_in", lambda *of: {})
    monkeypatch.setattr(runner.process, "GRACE_S", 0.5)
    monkeypatch.setenv("FAKE", f"native:b={what}")
    more = {}
    if what == "hang":
        clock_of_hangs(monkeypatch, tmp_path)
        more = {"stall_s": 20.0}
    s = campaign(names, dict.fromkeys(names[1:], "bare"), launches=2, **more)
    found, _ = go(mpi, s, tmp_path / "r.bench.jsonl")
    assert s.variants == ("bare",)
    assert [(e.candidate, e.reason) for e in found.excluded] == [("native:b", reason)]
    rest = {n for t in timings(found).values() for n in t}
    assert rest == {"bare", "native:a", "native:c"}
    assert len(found.samples) == 3 * 2 * 2, "the others' are complete in both launches"
    tries = 2 if what == "crash" else 1  # a crash is tried once more
    assert len(starts(tmp_path)) == 2 + tries


# ---- with the MPIs -------------------------------------------------------------------------------

#: by family: two collectives' algorithms (what is written, and what the environment would have)
ALGORITHMS = {
    "openmpi": {
        "allreduce": ["basic_linear", "ring", "recursive_doubling"],
        "bcast": ["basic_linear", "pipeline", "binomial"],
    },
    "mpich": {
        "allreduce": ["recursive_doubling", "ring", "tree"],
        "bcast": ["scatter_ring_allgather", "binomial", "tree"],
    },
}  # fmt: skip
CASES = {
    "allreduce": "case allreduce 8192 MPI_FLOAT MPI_SUM 0\n",
    "bcast": "case bcast 100000 MPI_BYTE MPI_SUM 0\n",
}
RANKS = 4


def prints(name: str, tmp: Path, text: str, env: Mapping[str, str]) -> list[dict[str, Any]]:
    mine = MPIS[name].require()
    head = f"stretto-job 1\noutput {tmp / 'prints'}\nstatus {tmp / 'status'}\nlaunch 0\n"
    (tmp / "job").write_text(head + text + "end\n")
    (tmp / "prints").unlink(missing_ok=True)
    path = {"LD_LIBRARY_PATH": str(mine.libmpi.parent)}
    if mine.family == "openmpi":
        path["OMPI_MCA_pml_monitoring_enable"] = "1"
    done = mine.run(
        RANKS,
        [str(program(mine.family)), "--fingerprint", str(tmp / "job")],
        env=path,
        rank_env=path | env,
    )
    seen = [json.loads(x) for x in (tmp / "prints").read_text().splitlines()]
    assert done.returncode == 0, done.stderr
    return seen


def telling(name: str, tmp: Path, text: str, env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Prints of which each tells something: on a busy machine some only after a while."""
    until = time.monotonic() + 240
    while True:
        seen = prints(name, tmp, text, env)
        if all(kinds(p) for p in seen) or time.monotonic() > until:
            return seen


def kinds(seen: Mapping[str, Any]) -> dict[str, str]:
    """What was told the same twice; where one rank is held back that may differ under load."""
    return {
        kind: seen[kind][0]
        for kind in ("sums", "operands", "messages", "arrivals")
        if kind in seen and seen[kind][0] == seen[kind][1]
    }


def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    both = kinds(one).keys() & kinds(other).keys()
    assert both, (one, other)
    return all(kinds(one)[k] == kinds(other)[k] for k in both)


@pytest.mark.mpi
@pytest.mark.parametrize("name", rarely(SWITCHING, ["openmpi4"]))
def test_a_setting_made_in_a_launch_is_that_of_the_environment(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = installation(name, monkeypatch)
    algorithms = ALGORITHMS[here.family]
    hold = "" if here.family == "openmpi" else "@60"  # messages are counted, or arrivals watched
    own = f"candidate {RANKS}{hold}\n"
    natives = {
        c: [resolve([f"native:{a}"], here, c, RANKS, 1)[0] for a in names]
        for c, names in algorithms.items()
    }
    cases = [make_case(c, 8, names) for c, names in natives.items()]
    shared = shared_launches(here, cases, 1)
    (launch,) = set(shared.values())
    assert len(shared) == 6
    text = ""
    for collective, names in natives.items():
        text += CASES[collective] + own
        settings = campaign(names, shared)
        for candidate, pairs in written_in(settings, here, 0, settings.cases).items():
            assert candidate in names
            text += own + "".join(f"set {n} {v}\n" for n, v in pairs)
        text += own
    start = settings_environment(here.family, launch.partition(":")[2]) if launch != "bare" else {}
    with alone_here():
        untouched = telling(name, tmp_path, "".join(CASES[c] + own for c in natives), {})
        inside = telling(name, tmp_path, text, start)
        for k in range(3):
            env: dict[str, str] = {}
            for names in natives.values():
                env |= settings_environment(here.family, names[k].partition(":")[2])
            outside = telling(name, tmp_path, "".join(CASES[c] + own for c in natives), env)
            assert alike(inside[1 + k], outside[0]) and alike(inside[6 + k], outside[1]), k
    for i, first in enumerate((0, 5)):
        assert alike(inside[first], untouched[i]), "before"
        assert alike(inside[first + 4], untouched[i]), "and afterwards the native choice stands"
        different = {tuple(sorted(kinds(p).items())) for p in inside[first + 1 : first + 4]}
        assert len(different) == 3, different


#: settings, and why they cannot be made
REFUSED = {
    "openmpi4": {
        "no_such_variable 1": "is not a control variable",
        "coll_tuned_priority 7": "cannot be changed any more",
        "coll_tuned_allreduce_algorithm ring": "only whole numbers",
        "coll_tuned_allreduce_algorithm 77": "cannot be changed",
    },
    "mpich": {
        "no_such_variable 1": "is not a control variable",
        "MPIR_CVAR_BCAST_TREE_TYPE 1": "only whole numbers",
    },
    "intel": {"I_MPI_ADJUST_ALLREDUCE 1": "is not a control variable"},
}


@pytest.mark.mpi
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_set_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    cases = "case allreduce 8 MPI_DOUBLE MPI_SUM 0\ncandidate bare\n"
    cases += "".join(f"candidate native:{n}\nset {s}\n" for n, s in enumerate(REFUSED[name]))
    done = bench(name, tmp_path, job(tmp_path, cases, "modes throughput"))
    assert done.returncode == 0, done.stderr
    bare, *refused = lines(tmp_path)[1:]
    assert bare["times_us"] and bare["correct"] and not bare.get("refused")
    assert len(refused) == len(REFUSED[name])
    for sample, words in zip(refused, REFUSED[name].values(), strict=True):
        assert sample["refused"] and words in sample["detail"] and not sample["times_us"]


@pytest.mark.mpi
@pytest.mark.parametrize("name", SWITCHING)
def test_a_campaign_measures_many_in_one_start(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = installation(name, monkeypatch)
    monkeypatch.setenv("STRETTO_LIB_DIR", str(program(MPIS[name].family).parent))
    cases = []
    for collective in ("allreduce", "barrier", "scan"):
        names = resolve(["native:all"], here, collective, 2, 1)
        cases.append(make_case(collective, 64, [*names, "bare"]))
    shared = shared_launches(here, cases, 1)
    kept = [
        dataclasses.replace(
            c, candidates=tuple(n for n in c.candidates if n in shared or n == "bare")
        )
        for c in cases
    ]
    settings = Settings(2, tuple(kept), variants_of(kept, shared), launches=1, batches=(3, 4))
    assert len(settings.variants) == 1, "the bare MPI shares it"
    path, said = tmp_path / "r.bench.jsonl", list[str]()
    with alone_here():
        found, notes = measure(
            settings, here, path, collect(here.identity), ["t"], said.append, quiet=True
        )
    assert not found.excluded
    assert not [x for x in (*notes, *said) if "the machine was busy" not in x]  # by other tests
    assert len(found.launches) == len(settings.variants)
    seen = {(s.collective, s.candidate) for s in found.samples if s.times_us and s.correct}
    assert seen == {(c.collective, n) for c in kept for n in c.candidates}
    assert len(seen) > 8
    assert all(v.status == "ok" for v in found.ends.values())
