"""The picture of the README and the sentence below it, from one run: ``readme_picture.py DIR``.

DIR holds what `stretto tune` left, as `make quickstart` does. The picture is drawn into
docs/images/result.svg. The line of README.md with that picture gets the verdict of the same files.
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


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/readme_picture.py DIR")
    stretto = [sys.executable, "-m", "stretto", "report", sys.argv[1]]
    words = [*stretto, "--picture", str(ROOT / PICTURE), "--json"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    verdict = json.loads(done.stdout)["verdict"]
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    if len(LINE.findall(text)) != 1:
        sys.exit(f"README.md: one line must be ![...]({PICTURE})")
    caption = verdict.replace("[", "(").replace("]", ")")
    readme.write_text(LINE.sub(lambda _: f"![{caption}]({PICTURE})", text), encoding="utf-8")
    print(f"README.md and {PICTURE}: {verdict}")


if __name__ == "__main__":
    main()
