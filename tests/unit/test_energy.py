"""Energy counters of the kernel, from files that stand for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stretto.errors import UsageError
from stretto.files.scale import ScaleRun
from stretto.scaling.energy import Meter, counters
from stretto.scaling.show import as_json, sentences, table_lines
from test_scaling_compare import found_in

RANGE = 1_000_000_000


def zone(root: Path, number: str, name: str, microjoules: int) -> Path:
    path = root / f"intel-rapl:{number}"
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{RANGE}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    return path


def test_packages_are_added_up_also_when_a_counter_begins_again(tmp_path: Path) -> None:
    first = zone(tmp_path, "0", "package-0", 5_000_000)
    second = zone(tmp_path, "1", "package-1", RANGE - 999_999)
    core = zone(tmp_path, "0:0", "core", 1_000_000)  # a part of the first
    with Meter(counters(tmp_path)) as meter:
        (first / "energy_uj").write_text("8000000")
        (second / "energy_uj").write_text("2000000")
        (core / "energy_uj").write_text("900000000")
    assert meter.joules == pytest.approx(3 + 3)
    with Meter(counters(tmp_path)) as meter:
        (first / "energy_uj").unlink()
    assert meter.joules is None


@pytest.mark.parametrize("broken", [False, True])
def test_kernel_without_counters_is_refused(broken: bool, tmp_path: Path) -> None:
    if broken:
        (zone(tmp_path, "0", "package-0", 1) / "energy_uj").write_text("?")
    else:
        zone(tmp_path, "0", "psys", 1)
    with pytest.raises(UsageError, match="cannot be read" if broken else "no energy counters"):
        counters(tmp_path)


def test_least_energy_is_named_beside_the_fastest() -> None:
    runs = [
        ScaleRun(1, ppn, None, "native", i, s, s, 0, energy_j=j * (1 + 0.01 * i))
        for i in range(6)
        for ppn, s, j in ((1, 10.0, 300.0), (2, 6.0, 360.0))
    ]
    found = found_in(runs)
    assert "energy (J)" in table_lines(found)[0]
    text = "\n".join(sentences(found, None))
    assert "least energy: 1 x 1, native, 308 J a run" in text
    assert "the fastest, 1 x 2 (native), takes 369 J a run" in text
    assert [p["energy_j"] for p in as_json(found, None)["points"]] == [307.5, 369.0]
    none = found_in([ScaleRun(1, 1, None, "native", 0, 1.0, 1.0, 0)])
    assert "energy" not in "\n".join(sentences(none, None))
