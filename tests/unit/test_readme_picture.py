"""`make readme-picture`: caption and sentence of the README are of the run of the picture."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_readme_gets_caption_and_sentence_of_one_run() -> None:
    spec = importlib.util.spec_from_file_location("readme", ROOT / "tools" / "readme_picture.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    gain = {"low": 0.112, "median": 0.125, "high": 0.131, "p": 0.0021}
    runs = [{"kind": k} for k in ("native", "tuned") * 6]
    found: dict[str, object] = {"measured": gain, "runs": runs, "outcome": "faster"}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    made = tool.rewritten(text, "inversion.py: 12 % faster", found)
    caption = "The result of make quickstart. inversion.py: 12 % faster"
    assert f"\n![{caption}](docs/images/result.svg)\n" in made
    said = "quickstart ran 12 % faster (11.2 to 13.1 %, p = 0.0021, 6 runs each way)."
    assert said in made and made.count("of the quickstart ran") == 1
    assert len(made.splitlines()) == len(text.splitlines())
    none = {"measured": gain | {"low": -0.02, "p": 0.4}, "runs": runs, "outcome": "inconclusive"}
    assert "quickstart showed no gain (-2.0 to" in tool.rewritten(made, "x", none)
    with pytest.raises(SystemExit, match="must hold this once"):
        tool.rewritten("no picture", "x", found)
