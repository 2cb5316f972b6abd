"""Applications at scale: the rule is applied as stated, the picture turns where it should."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.forecast import (
    ForecastFile,
    ForecastScale,
    parse_forecast,
    read_forecast,
    write_forecast,
)
from stretto.files.identity import Host, MPIIdentity
from stretto.files.profile import Call, Communicator, Node, Profile, write_profile
from stretto.model.forecast import (
    ScalingRule,
    collective_bytes,
    forecast,
    trend_at,
    work_of,
)
from stretto.model.outlook import exchange_seconds, outlook
from stretto.model.platform_file import load
from stretto.model.show import forecast_lines
from stretto.report.findings import fastest_cores


def profile() -> Profile:
    """Two ranks, 10 s, of which 8 compute; 1000 allreduces of 8 B, 500 exchanges of 64 KiB."""

    def call(function: str, kind: str, calls: int, size: int, wait: float | None) -> Call:
        return Call(
            function, kind, 0, None, None, size, size, [calls] * 2, [calls * size] * 2,  # type: ignore[arg-type]
            [0.5] * 2, None if wait is None else [wait] * 2, None if wait is None else [0.1] * 2,
        )  # fmt: skip

    return Profile(
        "0.1.0", "2026-11-22T00:00:00Z", Host("h", "cpu", 2, "6", 1),
        MPIIdentity("openmpi", "openmpi", "4.1.4"), ["app"], 2, [Node("h", [0, 1])], True, [],
        [10.0, 10.0], [1.5, 1.5], [0.5, 0.5], [0.0, 0.0],
        [Communicator(0, "MPI_COMM_WORLD", 2, 1, 2)],
        [call("MPI_Allreduce", "collective", 1000, 8, 0.4),
         call("MPI_Isend", "p2p", 500, 65536, None),
         Call("MPI_Waitall", "wait", None, None, None, 0, 0, [500] * 2, [0] * 2, [0.5] * 2),
         call("MPI_Alltoallv", "collective", 10, 4096, 0.0)],
    )  # fmt: skip


def flat(*_: object) -> float:
    return 1e-4


def forecast_of(nodes: list[int]) -> ForecastFile:
    return outlook("a", profile(), ScalingRule(), load("hpc7g"), nodes, 4)


@pytest.fixture
def recorded(tmp_path: Path) -> list[str]:
    """The command for the profile, in a file."""
    path = tmp_path / "app.profile.json"
    write_profile(profile(), path)
    return ["simulate", "-p", "hpc7g", "--profile", str(path)]


def test_work_is_what_was_recorded() -> None:
    work = work_of(profile(), ["allreduce"])
    assert work.compute_s == pytest.approx(8.0) and work.io_s == 0.5
    assert work.wait_s == pytest.approx(0.4)
    assert (work.exchange.waits, work.exchange.messages) == (500, 500)
    assert work.collectives == (("allreduce", 1.0, 8, 1000.0),)
    assert work.unpriced == ("alltoallv",)


@pytest.mark.parametrize(
    ("send", "awaited", "waits"),
    [
        ("MPI_Sendrecv", None, 500),
        ("MPI_Sendrecv_replace", None, 500),
        ("MPI_Isendrecv", ("MPI_Wait", None), 200),
        ("MPI_Send_init", ("MPI_Waitall", "MPI_Send_init"), 200),
        ("MPI_Isend", ("MPI_Testall", None), 0),
        ("MPI_Isend", ("MPI_Waitall", "MPI_Iallreduce"), 0),
    ],
)
def test_every_way_of_sending_is_a_message(
    send: str, awaited: tuple[str, str | None] | None, waits: int
) -> None:
    """MPI_Sendrecv sends as well as it receives; persistent sends are waited for like others."""
    p = profile()
    sent = dataclasses.replace(p.calls[1], function=send)
    received = dataclasses.replace(p.calls[1], function="MPI_Irecv")
    rows = [sent, received]
    if awaited is not None:
        function, detail = awaited
        calls = {"function": function, "detail": detail, "calls": [200] * 2}
        rows.append(dataclasses.replace(p.calls[2], **calls))
    exchange = work_of(dataclasses.replace(p, calls=rows), []).exchange
    assert (exchange.messages, exchange.bytes) == (500, 500 * 65536)
    assert exchange.waits == waits


@pytest.mark.parametrize(("scaling", "share"), [("strong", 2 / 64), ("weak", 1.0)])
def test_the_rule_is_applied_as_stated(scaling: str, share: float) -> None:
    work, rule = work_of(profile(), ["allreduce"]), ScalingRule(scaling, 2 / 3, 1.5)  # type: ignore[arg-type]
    seen: list[tuple[float, float]] = []

    def message(nodes: int, ppn: int, messages: float, nbytes: float) -> float:
        seen.append((messages, nbytes))
        return 2e-5

    f = forecast(work, rule, 8, 8, flat, lambda *_: 5e-5, message)
    assert f.native.compute_s == pytest.approx(8.0 * share)
    assert f.native.waiting_s == pytest.approx(0.4 * share)
    assert f.native.files_s == 0.5
    assert f.native.collectives_s == pytest.approx(1000 * 1e-4)
    assert f.tuned.collectives_s == pytest.approx(1000 * 5e-5)
    assert f.native.messages_s == pytest.approx(500 * 2e-5)
    assert seen[0] == pytest.approx((1.0, 65536 * (share ** (2 / 3))))
    assert f.native_interval_s[0] < f.native.total_s < f.native_interval_s[1]
    assert f.gain_interval[0] < f.gain < f.gain_interval[1]


def test_blocks_shrink_with_the_ranks_and_vectors_stay() -> None:
    work, rule = work_of(profile(), ["allreduce"]), ScalingRule()
    assert collective_bytes("allreduce", 4096, work, rule, 16) == 4096
    assert collective_bytes("allgather", 4096, work, rule, 16) == 512
    assert collective_bytes("alltoallv", 4096, work, rule, 16) == 64
    assert collective_bytes("alltoall", 4096, work, ScalingRule("weak"), 16) == 512


def test_it_turns_round_where_collectives_outgrow_the_computing() -> None:
    work, rule = work_of(profile(), ["allreduce"]), ScalingRule()
    work = dataclasses.replace(work, io_s=0.0, wait_s=0.0)

    def at(nodes: int) -> ForecastScale:
        return forecast(work, rule, nodes, 1, lambda c, n, p, s: 1e-4 * n, flat, lambda *_: 0.0)

    found = [at(n) for n in (2, 4, 8, 16, 32, 64, 128, 256)]
    # 16 / n + 0.1 n is least at n = 12.6; tuned never turns
    file = dataclasses.replace(forecast_of([]), scales=found)
    turn = file.turning_point(tuned=False)
    assert turn is not None and turn.nodes in (8, 16)
    assert file.turning_point(tuned=True) is None


def test_messages_that_leave_the_node_cost_more() -> None:
    platform = load("hpc7g")
    inside = exchange_seconds(platform, 1, 8, 4, 4096)
    across = exchange_seconds(platform, 2, 8, 4, 4096)
    assert 0 < inside < across
    assert exchange_seconds(platform, 2, 64, 6, 6 << 20) > exchange_seconds(
        platform, 2, 8, 6, 6 << 20
    )


def test_command_writes_the_same_bytes_and_says_simulated(
    recorded: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name in ("a", "b"):
        plot, out = tmp_path / f"{name}.svg", tmp_path / f"{name}.json"
        more = ["--nodes", "1:4", "--ppn", "4", "--plot", str(plot), "--out", str(out)]
        assert main([*recorded, *more]) == 0
        files.append((plot.read_bytes(), out.read_bytes()))
    assert files[0] == files[1]
    assert b"source: simulated" in files[0][0] and b"Elapsed time" in files[0][0]
    found = parse_forecast(files[0][1].decode(), "a.json")
    assert found.source == "simulated" and len(found.scales) == 3
    assert found.program == "app" and found.platform == "hpc7g"
    printed = capsys.readouterr().out
    assert "simulated" in printed and "stretto report" in printed
    for scale in found.scales:
        assert scale.tuned.total_s <= scale.native.total_s
        assert scale.native_interval_s[0] <= scale.native.total_s <= scale.native_interval_s[1]


@pytest.mark.parametrize("name", ['a<b>&"c', "a\udce9b"])
def test_pictures_of_profiles_of_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.profile.json"
    write_profile(profile(), path)
    plot, out = tmp_path / "plot.html", tmp_path / "x.forecast.json"
    words = ["simulate", "-p", "hpc7g", "--profile", str(path), "--nodes", "1:2", "--ppn", "2"]
    assert main([*words, "--plot", str(plot), "-o", str(out)]) == 0
    text = plot.read_text()
    assert "<b>" not in text and "simulated" in text
    assert main(["report", str(out), "-o", str(tmp_path / "r.html"), "-q"]) == 0


def test_the_report_shows_a_forecast(recorded: list[str], tmp_path: Path) -> None:
    for scaling in ("strong", "weak"):
        out = tmp_path / f"{scaling}.forecast.json"
        more = ["--nodes", "1:8", "--ppn", "4", "--scaling", scaling, "-o", str(out)]
        assert main([*recorded, *more]) == 0
    page, pictures = tmp_path / "page.html", tmp_path / "pictures"
    assert main(["report", str(tmp_path), "-o", str(page), "--svg", str(pictures)]) == 0
    text = page.read_text()
    section = re.search(r'<section id="scale">.*?</section>', text, re.S)
    assert section is not None
    assert section[0].count("<svg") == 2
    assert section[0].count("source: simulated") == 6  # findings, captions and pictures
    assert section[0].count("<tr>") == 2 * (1 + 4)
    assert "strong scaling" in section[0] and "weak scaling" in section[0]
    assert "2 recorded ranks are too few for" in section[0] and "saves" not in section[0]
    assert len(list(pictures.glob("forecast-app-hpc7g-*.svg"))) == 2
    alone = tmp_path / "alone.html"
    assert main(["report", str(tmp_path / "weak.forecast.json"), "-o", str(alone)]) == 0
    assert "In the model, app on hpc7g is fastest on" in alone.read_text()


def test_a_damaged_forecast_is_refused(tmp_path: Path) -> None:
    file = forecast_of([1, 2])
    path = tmp_path / "a.forecast.json"
    write_forecast(file, path)
    assert read_forecast(path) == file
    file.scales[1].native_interval_s = (0.0, 1e-9)
    with pytest.raises(StrettoError, match="outside its interval"):
        write_forecast(file, path)
    value = json.loads(path.read_text())
    value["source"] = "measured"
    path.write_text(json.dumps(value))
    with pytest.raises(StrettoError, match="source"):
        read_forecast(path)


@pytest.mark.parametrize(
    ("recorded", "at", "needed"), [(2, 4, 8), (2, 4096, 64), (64, 4096, None), (64, 8192, 128)]
)
def test_gain_far_beyond_the_recorded_ranks_is_not_claimed(
    recorded: int, at: int, needed: int | None
) -> None:
    file = forecast_of([1])
    file.recorded.ranks = recorded
    file.scales[0].nodes, file.scales[0].ppn = 1, at
    text = "\n".join(forecast_lines(file))
    assert file.claims_gain(file.scales[0]) == (needed is None)
    assert ("not claimed" in text) == (needed is not None)
    if needed is None:
        assert not file.cautions
    else:
        assert f"{recorded} recorded ranks are too few for any claim of a gain" in text
        assert f"record {needed} or more for a claim at {at}: " in text
        assert "native: " not in text and "tuned: " not in text, "one point has no trend"
        assert "is fastest" not in fastest_cores(file)


def measured(n: int, seconds: float, share: float) -> Profile:
    """A run on n ranks, of which a share is in MPI."""
    mpi = seconds * share
    row = dataclasses.replace(
        profile().calls[0], calls=[9] * n, bytes=[72] * n, time_s=[mpi] * n,
        wait_s=[mpi / 2] * n, transfer_s=[mpi / 2] * n,
    )  # fmt: skip
    return dataclasses.replace(
        profile(), nranks=n, nodes=[Node("h", [*range(n)])], wall_s=[seconds] * n,
        mpi_s=[mpi] * n, io_s=[0.0] * n, clock_error_s=[0.0] * n, calls=[row],
    )  # fmt: skip


@pytest.mark.parametrize("overhead", [0.0, 0.02, 0.2])
def test_trend_of_measured_runs_contains_the_next_one(overhead: float) -> None:
    def run(n: int) -> Profile:
        communication = overhead * n.bit_length()
        return measured(n, 8 / n + communication, communication / (8 / n + communication))

    found = trend_at([run(8), run(2), run(4)], [4, 16, 32])
    assert list(found) == [16, 32]
    for n, (middle, low, high) in found.items():
        assert low < max(run(n).wall_s) < high, (n, low, high)
        assert low < middle < high
    assert found[32][2] / found[32][1] > found[16][2] / found[16][1]


def test_trend_of_too_few_or_other_runs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {n: measured(n, 8 / n, 0.1) for n in (2, 4, 8)}
    erratic = [measured(2, 4.0, 0.1), measured(4, 0.1, 0.9), measured(8, 6.0, 0.5)]
    assert trend_at(erratic, [16, 512, 10**300]) == {}
    for few in ([runs[2], runs[4]], [*runs.values(), runs[2]]):
        with pytest.raises(StrettoError, match="3 or more different numbers of ranks") as caught:
            trend_at(few, [16])
        more = 2 * max(p.nranks for p in few)  # a run that is not there
        assert f"-o {more}.profile.json -- mpirun -n {more} " in str(caught.value.remedy)
    other = dataclasses.replace(runs[8], executables=["/other"])
    with pytest.raises(StrettoError, match="different programs"):
        trend_at([runs[2], runs[4], other], [16])
    words = ["simulate", "-p", "hpc7g", "--nodes", "1", "--ppn", "16"]
    out = tmp_path / "x.forecast.json"
    for found, printed in (
        ([*runs.values()], "trend of the measured runs at 16 ranks: 0.5"),
        (erratic, "no trend at 16 ranks: the runs on 2, 4, 8 ranks do not agree"),
    ):
        more = []
        for run in found:
            named = dataclasses.replace(run, executables=["/bin/heat"])
            write_profile(named, tmp_path / f"{run.nranks}.profile.json")
            more += ["--profile", str(tmp_path / f"{run.nranks}.profile.json")]
        assert main([*words, *more, "-o", str(out)]) == 0
        assert printed in capsys.readouterr().out
        file = read_forecast(out)
        assert (file.recorded.ranks, file.trend_of, file.program) == (8, [2, 4, 8], "heat")
        assert (file.scales[0].trend_s is None) == (found is erratic)


@pytest.mark.parametrize(
    ("cores", "words"),
    [
        (8, "the machine was busy: ranks waited 92 % of the time for a core"),
        (2, "; 8 ranks share 2 cores"),
    ],
)
def test_profile_of_a_busy_machine_claims_no_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cores: int, words: str
) -> None:
    n, path = 8, tmp_path / "app.profile.json"
    found = dataclasses.replace(
        measured(n, 1.0, 0.5), cpu_s=[0.08] * n, core_wait_s=[0.92] * n, involuntary=[9] * n,
        nodes=[Node("h", [*range(n)], cores=cores)],
    )  # fmt: skip
    write_profile(found, path)
    out, page = tmp_path / "app.forecast.json", tmp_path / "page.html"
    command = ["simulate", "-p", "hpc7g", "--profile", str(path), "--nodes", "1", "--ppn", "16"]
    assert main([*command, "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    (caution,) = json.loads(capsys.readouterr().out)["cautions"]
    assert main(["report", str(out), "-o", str(page), "-q"]) == 0
    for text in (printed, page.read_text()):
        assert words in text and "not claimed" in text and "Tuning saves" not in text
    assert words in caution and "record it again on idle nodes" in caution
    assert words in (read_forecast(out).recorded.lacked_cores or "")


def test_what_was_recorded_does_not_change_with_the_platform(
    recorded: list[str], tmp_path: Path
) -> None:
    """Of 10 s, 8 were computing, however fast the platform's cores are."""
    out = tmp_path / "x.forecast.json"
    words = ["--nodes", "1", "--ppn", "2", "--compute", "2", "-o", str(out)]
    assert main([*recorded, *words]) == 0
    found = read_forecast(out)
    assert found.recorded.compute_s == pytest.approx(8) and found.speed == 2
    assert found.scales[0].native.compute_s == pytest.approx(4)


def test_an_incomplete_profile_is_refused() -> None:
    broken = dataclasses.replace(profile(), complete=False, incomplete_ranks=[1])
    with pytest.raises(StrettoError, match="not complete"):
        work_of(broken, ["allreduce"])


def test_more_ranks_than_cores_are_noted(
    recorded: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ["table", "simulate", "-p", "hpc7g", "--dry-run", "-o", str(tmp_path / "x.table")]
    for words in (recorded, table):
        for ppn, noted in ((64, False), (65, True)):
            assert main([*words, "--nodes", "2", "--ppn", str(ppn)]) == 0
            note = f"{ppn} ranks per node (--ppn), but hpc7g has 64 cores per node"
            assert (note in capsys.readouterr().err) == noted


@pytest.mark.parametrize("more", [["--halo", "3"], ["--scaling", "odd"], ["--ppn", "2,4"]])
def test_bad_rules_are_refused(recorded: list[str], more: list[str]) -> None:
    assert main([*recorded, "--nodes", "2", "--ppn", "2", *more]) == 2
