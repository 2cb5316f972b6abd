"""The plan core from Python: the registry, choices, compositions on random layouts, timelines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto import plan
from stretto.errors import EXIT_USAGE, StrettoError
from stretto.model.plan_sweep import cases, prove, values
from stretto.model.plan_timeline import timeline

SOURCES = Path(__file__).resolve().parents[2] / "src" / "coll"
ALGORITHMS = plan.algorithms()


def composes(algorithm: plan.Algorithm) -> bool:
    try:
        plan.canonical(algorithm.collective, f"shm+{algorithm.name}")
    except StrettoError:
        return False
    return True


COMPOSABLE = [a for a in ALGORITHMS if composes(a)]


def names(algorithm: plan.Algorithm) -> str:
    return f"{algorithm.collective}-{algorithm.name}"


@pytest.fixture(scope="module")
def builders() -> dict[str, str]:
    """Return the builder of each algorithm, as the registry names it."""
    rows = re.findall(
        r"^ALGORITHM\((\w+), \w+, (\w+), (\w+),", (SOURCES / "algorithms.def").read_text(), re.M
    )
    return {f"{collective}-{name}": builder for collective, name, builder in rows}


def test_every_builder_says_what_it_is(builders: dict[str, str]) -> None:
    assert set(builders) == {names(a) for a in ALGORITHMS}
    sources = {path: path.read_text() for path in SOURCES.rglob("*.c")}
    for builder in set(builders.values()):
        (text,) = [t for t in sources.values() if f"\nint stretto_build_{builder}(" in t]
        before = text[: text.index(f"\nint stretto_build_{builder}(")]
        comments = [text[: text.index("*/")], before[before.rindex("/*") :]]
        words = ("Idea:", "Source:", "Cost:", "Memory:", "Limits:")
        assert any(all(word in comment for word in words) for comment in comments), builder


def test_a_file_of_a_collective_has_one_builder(builders: dict[str, str]) -> None:
    files = {f"{p.parent.name}_{p.stem}": p for p in SOURCES.glob("*/*.c")}
    assert set(files) == set(builders.values()) - {"neighbor_direct", "neighbor_node_aware"}
    for path in files.values():
        assert len(path.read_text().splitlines()) <= 250, path


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=names)
def test_choices_in_canonical_form_stay_as_they_are(algorithm: plan.Algorithm) -> None:
    for choice, _ in values(algorithm):
        text = plan.canonical(algorithm.collective, choice)
        assert plan.canonical(algorithm.collective, text) == text
    if algorithm in COMPOSABLE:
        composed = plan.canonical(algorithm.collective, f"shm+{algorithm.name}")
        assert composed.startswith(f"shm+{algorithm.name}")


@pytest.mark.parametrize(
    ("collective", "choice", "canonical"),
    [
        ("bcast", "chain(65536)", "chain(64K)"),
        ("bcast", "chain(1M)", "chain(1M)"),
        ("bcast", "chain(1000)", "chain(1000)"),
        ("bcast", "chain(65536,2)", "chain(64K,2)"),
        ("allreduce", "lanes+ring", "lanes+ring"),
        ("bcast", "lanes(2)+pipeline(1024)", "lanes(2)+pipeline(1K)"),
        ("bcast", "chain(64K,4)", "chain(64K)"),
        ("bcast", "shm+chain(1M,64)", "shm+chain(1M,64)"),
        ("allreduce", "bruck_k", "bruck_k(2)"),
        ("allreduce", "shm", "shm"),
        ("allreduce", "native", "native"),
        ("allreduce", "native:coll_tuned_allreduce_algorithm=4", None),
    ],
)
def test_canonical_form(collective: str, choice: str, canonical: str | None) -> None:
    assert plan.canonical(collective, choice) == (canonical or choice)


@pytest.mark.parametrize(
    ("collective", "choice", "reason"),
    [
        ("allreduce", "rign", "no algorithm 'rign'; it can be native, shm, recursive_doubling"),
        ("allreduce", "", "no algorithm ''"),
        ("allreduce", "ring(4)", "takes no parameter"),
        ("allreduce", "bruck_k(1)", "must be 2 to 64"),
        ("allreduce", "bruck_k(65)", "must be 2 to 64"),
        ("allreduce", "bruck_k(99999999999999999999)", "must be 2 to 64"),
        ("allreduce", "bruck_k(8", "whole number in brackets"),
        ("allreduce", "bruck_k()", "whole number in brackets"),
        ("allreduce", "bruck_k(-3)", "whole number in brackets"),
        ("allreduce", "bruck_k(8)x", "whole number in brackets"),
        ("allreduce", "bruck_k(4K)", "whole number in brackets"),
        ("bcast", "chain(64G)", "whole number in brackets"),
        ("bcast", "chain(1)", "must be 256"),
        ("bcast", "chain(64K,0)", "fan-out of chain must be 1 to 64"),
        ("bcast", "chain(64K,)", "the fan-out may follow it"),
        ("allreduce", "lanes", "name the algorithm between nodes"),
        ("allreduce", "lanes(0)+ring", "there can be 1 to 1024 lanes"),
        ("gather", "lanes+knomial", "no lanes"),
        ("bcast", "pipeline(64K,4)", "whole number in brackets"),
        ("allreduce", "shm+", "no algorithm ''"),
        ("allreduce", "shm+native", "no algorithm 'native'"),
        ("allreduce", "shm+shm", "no algorithm 'shm'"),
        ("allreduce", "native:", "settings are missing"),
        ("allreduce", "native:" + "x" * 300, "too long"),
        ("allreduce", "x" * 5000, "no algorithm"),
        ("alltoallv", "shm+linear", "node phases serve one node only"),
        ("allredue", "ring", "no collective 'allredue'; there are allreduce, bcast"),
    ],
)
def test_a_wrong_choice_is_refused_in_words(collective: str, choice: str, reason: str) -> None:
    problem = plan.choice_problem(collective, choice)
    assert problem is not None
    assert reason in problem
    with pytest.raises(StrettoError) as caught:
        plan.canonical(collective, choice)
    assert caught.value.exit_code == EXIT_USAGE


@given(st.sampled_from(plan.collectives()), st.text(st.characters(), max_size=40))
def test_no_text_harms_the_parser(collective: str, text: str) -> None:
    problem = plan.choice_problem(collective, text)
    if problem is None:
        assert plan.choice_problem(collective, plan.canonical(collective, text)) is None


@given(st.sampled_from(plan.collectives()), st.integers(1, 40), st.data())
def test_choices_worth_trying_can_be_built(
    collective: str, nranks: int, data: st.DataObject
) -> None:
    nodes = data.draw(st.integers(1, nranks))
    found = plan.choices(collective, nranks, nodes)
    assert found
    assert len(set(found)) == len(found)
    hosts = [r * nodes // nranks for r in range(nranks)]
    for choice in found:
        with plan.CallPlans(collective, choice, nranks, hosts, nbytes=3000) as call:
            assert call.verify() is None, choice


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(COMPOSABLE), st.data())
def test_compositions_are_right_on_any_layout(
    algorithm: plan.Algorithm, data: st.DataObject
) -> None:
    nranks = data.draw(st.integers(1, 20))
    hosts = data.draw(st.lists(st.integers(0, nranks - 1), min_size=nranks, max_size=nranks))
    choice, _ = data.draw(st.sampled_from(values(algorithm)))
    every = list(cases(algorithm, choice, nranks, hosts))
    for case in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4)):
        fault = prove(case)
        if fault is None:
            continue
        assert fault.refused, fault.reason
        if "power_of_two" in algorithm.needs and "power of two" in fault.reason:
            continue
        if "even" in algorithm.needs and "even number" in fault.reason:
            continue
        if "nodes" in algorithm.needs and re.search(
            "ranks on every node|as many nodes", fault.reason
        ):
            continue
        if algorithm.collective == "alltoall" and "the nodes differ in their ranks" in fault.reason:
            assert algorithm.parameter == "radix"  # blocks pass through other ranks
            continue
        if algorithm.collective in ("scan", "exscan") and "consecutive ranks" in fault.reason:
            continue
        assert not case.commutative  # nothing else may be refused
        assert "commutative" in fault.reason


def test_ordered_reductions_need_consecutive_ranks() -> None:
    scattered = [0, 1, 0, 1]
    with pytest.raises(StrettoError, match="do not hold consecutive ranks"):
        plan.CallPlans("allreduce", "shm+knomial", 4, scattered, commutative=False)
    with plan.CallPlans("allreduce", "shm+knomial", 4, [0, 0, 1, 1], commutative=False) as call:
        assert call.verify() is None


@pytest.mark.parametrize("choice", ["shm", "native", "native:x=1"])
def test_what_has_no_plan_on_two_nodes_is_refused(choice: str) -> None:
    with pytest.raises(StrettoError):
        plan.CallPlans("allreduce", choice, 4, [0, 0, 1, 1])


def test_one_rank_sends_nothing() -> None:
    for algorithm in ALGORITHMS:
        if "nodes" in algorithm.needs:
            continue  # as shm+X only, which on one rank is the same
        with plan.CallPlans(algorithm.collective, algorithm.name, 1) as call:
            assert call.verify() is None
            kinds = {a["kind"] for a in call.actions()["ranks"][0]["actions"]}
            assert kinds <= {"copy"}


def test_segments_are_capped() -> None:
    with plan.CallPlans("bcast", "chain(256)", 3, nbytes=1 << 30) as call:
        assert call.actions()["ranks"][0]["out"] == 1024


@pytest.mark.parametrize(
    ("collective", "choice", "nranks", "steps", "messages"),
    [
        # by hand: what the literature says of these
        ("allreduce", "recursive_doubling", 8, 3, 24),
        ("allreduce", "recursive_doubling", 6, 4, 12),  # 2 to fold, 2 x 4 to exchange, 2 back
        ("allreduce", "ring", 5, 8, 40),
        ("allreduce", "rabenseifner", 8, 6, 48),
        ("bcast", "knomial(2)", 16, 4, 15),
        ("bcast", "pipeline(1K)", 6, 10, 30),
        ("reduce", "knomial(2)", 16, 4, 15),
        ("allgather", "ring", 7, 6, 42),
        ("allgather", "bruck_k(2)", 7, 3, 21),
        ("barrier", "dissemination(2)", 9, 4, 36),
        ("alltoall", "pairwise", 6, 5, 30),
    ],
)
def test_steps_and_messages(
    collective: str, choice: str, nranks: int, steps: int, messages: int
) -> None:
    with plan.CallPlans(collective, choice, nranks, nbytes=6 * 1024) as call:
        found = timeline(call.actions())
    assert (found.steps, len(found.messages)) == (steps, messages)


@pytest.mark.parametrize(
    ("text", "round_robin", "hosts"),
    [
        ("2x3", False, [0, 0, 0, 1, 1, 1]),
        ("2x3", True, [0, 1, 0, 1, 0, 1]),
        ("3,1,2", False, [0, 0, 0, 1, 2, 2]),
        ("3,1,2", True, [0, 1, 2, 0, 2, 0]),
        ("4", False, [0, 0, 0, 0]),
    ],
)
def test_layouts(text: str, round_robin: bool, hosts: list[int]) -> None:
    assert plan.parse_layout(text, round_robin) == hosts


@pytest.mark.parametrize("text", ["", "x", "4x", "0x2", "4x2x1", "a,b", "3,-1", "1.5x2"])
def test_wrong_layouts(text: str) -> None:
    with pytest.raises(StrettoError, match="not a layout"):
        plan.parse_layout(text)


def test_a_closed_call_says_so() -> None:
    call = plan.CallPlans("barrier", "dissemination", 3)
    call.close()
    call.close()
    with pytest.raises(ValueError, match="closed"):
        call.verify()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=names)
def test_hundreds_of_ranks(algorithm: plan.Algorithm) -> None:
    """Beyond 64: sets of ranks no longer fit one word."""
    few = {"even", "power_of_two", "nodes"} & set(algorithm.needs)
    ppn = 8 if "nodes" in algorithm.needs else 16  # it wants as many nodes
    calls = [] if "nodes" in algorithm.needs else [(algorithm.name, 128 if few else 131, False)]
    if algorithm in COMPOSABLE:
        # alltoall's bruck_k wants equal nodes
        equal = few or (algorithm.collective, algorithm.name) == ("alltoall", "bruck_k")
        calls.append((f"shm+{algorithm.name}", 128 if equal else 131, True))
    for choice, nranks, composed in calls:
        hosts = tuple(r // ppn for r in range(nranks)) if composed else None
        with plan.CallPlans(algorithm.collective, choice, nranks, hosts, nbytes=1 << 20) as call:
            assert call.verify() is None
