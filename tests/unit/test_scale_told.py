"""``stretto scale``: figures that are not found, other results, and charts that cannot be kept."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from answering import answer
from processes import executable
from stretto.cli import main
from stretto.errors import StrettoError
from stretto.files.identity import Host, MPIIdentity
from stretto.files.scale import ScaleHeader, ScaleWriter, read_scale
from stretto.files.verdict import Metric, as_typed
from stretto.launch.execute import Result
from stretto.launch.resize import RunPoint
from stretto.scaling.words import arguments_words, no_figure, refuse_other

NEVER = r"never: (\d+)"


def header(metric: Metric) -> ScaleHeader:
    mpi = MPIIdentity("openmpi", "openmpi", "4.1.4")
    return ScaleHeader("0", "t", Host("h", "c", 2, "k", 1), mpi, ["./job.sh", "{n}"], metric)


def expression(pattern: str, **more: str) -> Metric:
    return Metric(pattern, pattern=pattern, **{"unit": "", **more})  # type: ignore[arg-type]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What comes behind the options: a script that runs no MPI, under a launcher that is none."""
    launcher = answer(tmp_path / "bin" / "mpirun", "openmpi4")
    where = tmp_path / "case"
    where.mkdir()
    executable(where / "job.sh", "#!/bin/sh\necho speed: 12 steps/s\necho all done\n")
    monkeypatch.chdir(where)
    return ["--mpi", str(launcher), "-o", str(tmp_path / "out"), "-y", "--", "./job.sh", "{n}"]


def scale(*words: str) -> int:
    """Without a turn among the MPI jobs: none is started."""
    return main(["scale", "--ranks", "1,2", "--repeats", "1", *words])


def test_a_metric_that_finds_nothing_is_what_is_to_be_mended(
    script: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert scale("--metric", NEVER, *script) == 1
    said = capsys.readouterr().err
    error = said[said.index("error:") :]
    assert "no run succeeded" not in said and "by hand" not in said
    assert f"--metric '{NEVER}' found nothing in its output" in error, "as typed"
    assert "ends with: speed: 12 steps/s / all done" in error
    (remedy,) = [x for x in error.splitlines() if x.startswith("  try:")]
    assert f"'{NEVER}'" in remedy and "--restart" in remedy
    assert scale("--restart", "--metric", r"speed: (\d+)", *script) == 0
    assert " 12 " in capsys.readouterr().out


def test_energy_that_the_command_prints_is_read_beside_the_time(
    script: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.sh").write_text("#!/bin/sh\necho energy: $((100 * $1)) J\n")
    assert scale("--energy-metric", "watt: (.*)", *script) == 1
    error = capsys.readouterr().err
    assert "--energy-metric 'watt: (.*)' found nothing in its output" in error
    assert "change --energy-metric so that" in error
    words = ["--restart", "--energy-metric", r"energy: (\d+) J"]
    assert scale(*words, "--svg", "../svg", *script) == 0
    source = r"as the command prints it (--energy-metric 'energy: (\d+) J')"
    least = f"least energy: 1 x 1, native, 100 J a run (medians, not tested; {source})"
    assert least in capsys.readouterr().out
    assert scale("--energy-metric", r"(\d+) J", *script) == 1, "energies of two sources"
    assert f"another energy: {source}, not as the command" in capsys.readouterr().err
    assert scale(*script) == 0, "nothing is left to measure"
    assert source in capsys.readouterr().out
    assert "1 x 2 | 200 J" in Path("../svg/scaling-energy.svg").read_text()
    for wrong, said in (
        (["--energy-metric", "energy"], "--energy-metric has 0 groups"),
        (["--energy-metric", "(.)", "--energy"], "exclude each other"),
    ):
        assert scale(*wrong, *script) == 2
        assert said in capsys.readouterr().err


def test_why_a_run_has_no_figure() -> None:
    found = expression(r"r: (\S+)")
    assert "found 'nan' in its output, which is not a number" in no_figure(
        found, Result(0, 1.0, "r: 1\nr: nan\n"), None
    )
    assert "found 0 in its output, which is not a time" in no_figure(
        found, Result(0, 1.0, "r: 0\n"), 0.0
    )
    assert "printed nothing at all" in no_figure(found, Result(0, 1.0, "\n"), None)
    assert "ends with: late" in no_figure(found, Result(0, 1.0, "", "late\n"), None)


def test_runs_that_fail_are_still_to_be_run_by_hand(
    script: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.sh").write_text("#!/bin/sh\necho no licence >&2\nexit 7\n")
    assert scale("--metric", NEVER, *script) == 3
    said = capsys.readouterr().err
    assert "no run succeeded: it ended with 7" in said and "by hand" in said


def test_failed_points_of_a_command_with_fixed_arguments_name_the_placeholder() -> None:
    ended = [(RunPoint(1, 2), "native", "it ended with 255; last output: wrong number of ranks")]
    line = ["mpirun", "-n", "4", "./amr", "--npx", "4"]
    assert "mpirun -n {n} ./app --npx {n}" in arguments_words(line, ended)  # type: ignore[arg-type]
    late = [(RunPoint(1, 2), "native", "it took too long and was aborted after 60 s (--timeout)")]
    for words, failed in ((["./job.sh", "{n}"], ended), (line, late), (line, [])):
        assert arguments_words(words, failed) == ""  # type: ignore[arg-type]


def test_results_of_another_kind_are_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.scale.jsonl"
    refuse_other(path, header(Metric()))
    path.write_text('{"schema"')  # killed while it was begun
    refuse_other(path, header(Metric()))
    rate = expression(NEVER, better="higher", unit="it/s")
    typed = f"--metric '{NEVER}' --metric-better higher --metric-unit it/s"
    assert as_typed(rate) == typed
    path.unlink()
    with ScaleWriter(path, header(rate)):
        pass
    refuse_other(path, header(rate))
    other = header(rate)
    for change, words in (
        ({"metric": Metric()}, f"another metric: {typed}, not wall time (no --metric)"),
        ({"metric": expression(NEVER)}, f"another metric: {typed}, not --metric '{NEVER}'"),
        ({"command": ["./a b"]}, "another command: ./job.sh '{n}', not './a b'"),
        (
            {"mpi": MPIIdentity("mpich", "mpich", "4.0")},
            "another MPI: Open MPI 4.1.4, not MPICH 4.0",
        ),
    ):
        with pytest.raises(StrettoError) as caught:
            refuse_other(path, dataclasses.replace(other, **change))
        assert caught.value.message == f"this is of {words}"
        assert "--restart" in str(caught.value.remedy) and "--out" in str(caught.value.remedy)


def test_another_environment_between_two_calls_is_refused_in_words(
    script: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("OMP_NUM_THREADS", "OMPI_MCA_btl"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")
    assert scale(*script) == 0
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    capsys.readouterr()
    assert scale(*script) == 1
    said = capsys.readouterr().err
    assert "the runs here were made with no OMP_NUM_THREADS" in said
    assert ".scale.jsonl:1" in said and "use the same environment" in said
    assert "--restart" in said
    assert scale("--threads", "1,2", *script) == 0, "there each point has its own"
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("OMP_DISPLAY_ENV", "true")
    monkeypatch.setenv("OMPI_MCA_btl", "self,vader")
    assert scale(*script) == 1
    assert "made with OMPI_MCA_btl=self,tcp and not self,vader" in capsys.readouterr().err
    assert scale("--restart", *script) == 0


@pytest.mark.parametrize("where", ["job.sh", "job.sh/a/b", "gone", "/proc/charts"])
def test_charts_that_cannot_be_kept_are_refused_before_the_first_run(
    script: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    Path("gone").symlink_to("nowhere")
    assert scale("--svg", where, *script) == 2
    said = capsys.readouterr().err
    assert "at: --svg" in said and "first one run" not in said
    assert not (tmp_path / "out").exists()


def test_the_check_of_the_charts_leaves_nothing(script: list[str]) -> None:
    before = sorted(Path.cwd().iterdir())
    assert scale("--svg", "new/charts", "--dry-run", *script) == 0
    assert sorted(Path.cwd().iterdir()) == before
    assert scale("--svg", "new/charts", *script) == 0
    assert list(Path("new/charts").glob("*.svg"))
    page = (Path("../out") / "job.sh.scale.html").read_text("utf-8")
    assert "started on" in page, "the ranks may have been elsewhere"


def test_what_was_found_is_printed_before_the_charts_are_written(
    script: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("job.sh").write_text(f"#!/bin/sh\n: > {tmp_path}/charts\n")
    assert scale("--svg", str(tmp_path / "charts"), *script) == 1
    out = capsys.readouterr()
    assert "speed-up" in out.out and "a file of that name" in out.err
    (file,) = (tmp_path / "out").glob("*.scale.jsonl")
    assert [r.status for r in read_scale(file).runs] == [0, 0]
