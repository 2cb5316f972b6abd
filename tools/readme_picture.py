"""The picture of the README and what is said of it, from one run: ``readme_picture.py DIR``.

DIR holds what `stretto tune` left, as `make quickstart` does. The picture is drawn into
docs/images/result.svg. In README.md its caption and the sentence on the quickstart are those of the
same files.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = "docs/images/result.svg"
LINE = re.compile(rf"^!\[.*\]\({re.escape(PICTURE)}\)$", re.MULTILINE)
PROGRAM = "the mpi4py program of the quickstart"
SENTENCE = re.compile(rf"{PROGRAM} [^()]*\([^()]*\)\.")


def sentence(found: dict[str, object]) -> str:
    """Return what the runs of a verdict file say of the program."""
    gain, runs = found["measured"], found["runs"]
    assert isinstance(gain, dict) and isinstance(runs, list)
    low, median, high = (100 * gain[key] for key in ("low", "median", "high"))
    words = {"faster": f"ran {median:.0f} % faster", "slower": f"ran {-median:.0f} % slower"}
    outcome = words.get(str(found["outcome"]), "showed no gain")
    p = "not tested" if gain.get("p") is None else f"p = {gain['p']:.2g}"
    return (
        f"{PROGRAM} {outcome} ({low:.1f} to {high:.1f} %, {p}, "
        f"{sum(r['kind'] == 'native' for r in runs)} runs each way)."
    )


def rewritten(text: str, verdict: str, found: dict[str, object]) -> str:
    """Return the README with the caption and the sentence of a run."""
    for pattern in (LINE, SENTENCE):
        if len(pattern.findall(text)) != 1:
            sys.exit(f"README.md: it must hold this once: {pattern.pattern}")
    caption = "The result of make quickstart. " + verdict.replace("[", "(").replace("]", ")")
    text = LINE.sub(lambda _: f"![{caption}]({PICTURE})", text)
    return SENTENCE.sub(lambda _: sentence(found), text)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/readme_picture.py DIR")
    stretto = [sys.executable, "-m", "stretto", "report", sys.argv[1]]
    words = [*stretto, "--picture", str(ROOT / PICTURE), "--json"]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    verdict = json.loads(done.stdout)["verdict"]
    (file,) = Path(sys.argv[1]).glob("*.verdict.json")
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    found = json.loads(file.read_text(encoding="utf-8"))
    readme.write_text(rewritten(text, verdict, found), encoding="utf-8")
    print(f"README.md and {PICTURE}: {verdict}")


if __name__ == "__main__":
    main()
