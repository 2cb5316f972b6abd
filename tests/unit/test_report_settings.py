"""The report's section on settings that were tried on the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from report_samples import make
from stretto.errors import StrettoError
from stretto.files.identity import Host, MPIIdentity, collect
from stretto.files.settings import SettingRun, SettingsFile, Tried, write_settings
from stretto.files.verdict import GainInterval, Metric
from stretto.report.load import load
from stretto.report.make import report
from stretto.report.page import PageFiles

EAGER = {"OMPI_MCA_btl_tcp_eager_limit": "1000000"}


def written(path: Path, version: str = "4.1.4", chosen: bool = True) -> Path:
    """A file with a setting that helps, one that fails, and one that was never run."""
    mpi = MPIIdentity("openmpi", "openmpi", version, "Open MPI")
    helps = Tried(
        "eager=1M",
        "larger eager messages",
        EAGER,
        "faster",
        "",
        GainInterval(0.05, 0.08, 0.12, 0.01),
    )
    fails = Tried("han", "HAN on", {"OMPI_MCA_coll_han_priority": "60"}, "failed", "exit <1>")
    unseen = Tried("links=2", "two links", {"OMPI_MCA_btl_tcp_links": "2"})
    runs = [SettingRun(s, r, 1.0, 1.0, 0) for s in ("native", "eager=1M") for r in range(6)]
    runs.append(SettingRun("han", 0, None, 0.1, 1, "exit <1>"))
    found = SettingsFile(
        "1.0", "2026-11-22T00:00:00Z", _host(), mpi, ["mpirun", "-n", "2", "./app <x>"],
        Metric(), 1, 2, [helps, fails, unseen], runs,
    )  # fmt: skip
    if chosen:
        found.chosen, found.setting = EAGER, "eager=1M"
        found.confirmed = GainInterval(0.04, 0.07, 0.1, 0.02)
        found.conclusion = ["eager=1M is 7 % faster", "B. C one"]
    write_settings(found, path)
    return path


def _host() -> Host:
    return collect(MPIIdentity("openmpi", "openmpi", "4.1.4", "Open MPI")).host


def page_of(given: Path, target: Path) -> str:
    report([given], PageFiles(target))
    return target.read_text()


def test_the_page_shows_each_setting_with_what_became_of_it(tmp_path: Path) -> None:
    page = page_of(written(tmp_path / "app.settings.json"), tmp_path / "report.html")
    for words in (
        '<figure id="settings-1"', 'id="settings"', 'href="#settings"',
        "eager=1M is 7 % faster.</h1>", "B. C one.",
        "larger eager messages", "OMPI_MCA_coll_han_priority=60", "two links", "failed",
        "exit &lt;1&gt;",  # what a program printed is no HTML
        "eager=1M, fresh runs",  # in the picture
    ):  # fmt: skip
        assert words in page
    assert "exit <1>" not in page


def test_a_campaign_that_is_not_complete_says_so(tmp_path: Path) -> None:
    given = written(tmp_path / "app.settings.json", chosen=False)
    page = page_of(given, tmp_path / "report.html")
    assert "No setting has been decided on yet" in page
    assert 'id="settings"' not in page_of(make.make(tmp_path / "sample"), tmp_path / "other.html")


def test_settings_of_another_mpi_do_not_go_onto_the_page(tmp_path: Path) -> None:
    written(tmp_path / "app.settings.json")
    other = written(tmp_path / "other.settings.json", version="5.0.11")
    with pytest.raises(StrettoError, match="different MPIs"):
        load([tmp_path / "app.settings.json", other])


def test_a_gain_that_was_not_tested_is_not_drawn(tmp_path: Path) -> None:
    path = written(tmp_path / "app.settings.json", chosen=False)
    text = path.read_text()
    assert '"p": 0.01' in text
    path.write_text(text.replace('"p": 0.01', '"p": null'))
    page = page_of(path, tmp_path / "report.html")
    assert "<figure" not in page and "not tested" in page
