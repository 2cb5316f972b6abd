#!/usr/bin/env python3
"""Check the text of the documentation: banned words, length of pages, paths that exist.

Words are checked in README.md, CHANGELOG.md and docs, the help texts of the commands included
(docs/reference/cli), but not in docs/decisions. Code between backticks does not count. A line that
ends with <!-- word ok --> is left alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 250
LONGEST_OF = {"README.md": 150, "CHANGELOG.md": 40}
ALLOWED = "<!-- word ok -->"

#: what is not written, and what to write
BANNED = [
    (r"told|tells?|said", "print, report, name, show"),
    (r"says (?:that|so|which|what|how)", "states, names, shows"),
    (r"carr(?:y|ies|ied|ying)", "store-and-forward, execute, move"),
    (r"ragged", "variable-size"),
    (r"luck\w*", "launch effect, chance"),
    (r"standing", "progress"),
    (r"borne out|bears? out", "supported by neighbours"),
    (r"doubts?", "uncertainty"),
    (r"closing rounds?", "refinement phase"),
    (r"MPIs?'s? own", "native, of the MPI"),
    (r"cells?", "point"),
    (r"with answers|for others|by itself alone", "(leave out)"),
    (r"no number of|is no number", "is not a number"),
    (r"sign of life", "output"),
    (r"hopeless", "slower than a factor"),
    (r"for ever|evermore", "without end"),
    (r"thus|hence|whilst|thereof|thereby|besides", "so, also"),
    (r"judg(?:e|es|ed|ing)", "classify, test, decide"),
    (r"mend(?:s|ed|ing)?", "fix, repair"),
    (r"so many (?:bytes|calls|ranks|messages|launches|nodes)", "this number of"),
    (r"to be had|was had", "available"),
    (r"by turns", "alternately"),
    (r"taken for", "treated as, assumed"),
    (r"says nothing|means nothing", "has no effect, is not valid"),
    (r"goes on|going on|went on", "continues"),
    (r"comes? to (?:an|its) end", "ends"),
    (r"is no (?:program|layout|directory|setting|candidate|test)", "is not a"),
    (r"without a word", "silently"),
    (r"everybody", "a rank, a process, all ranks"),
]
#: help texts only: an option's help is a noun phrase or an imperative
BANNED_HELP = [(r"(?<=\| )Of (?:a|all|the|some)\b[^|]*", "a noun phrase"), (r"(?<=\| )\.\.\.", "")]


def files(*patterns: str) -> list[Path]:
    """Return the files that git knows, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in found.splitlines() if (ROOT / name).is_file()]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line outside of code, code spans left out."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and ALLOWED not in line:
            yield number, re.sub(r"`[^`]*`|\]\([^)]*\)", "`", line)


def bad_words(path: Path, text: str) -> Iterator[str]:
    """Yield a message for each banned word of a page."""
    name = path.relative_to(ROOT)
    rules = BANNED + (BANNED_HELP if path.parent.name == "cli" else [])
    for number, line in prose(text):
        for pattern, instead in rules:
            for found in re.finditer(rf"(?<![\w-])(?:{pattern})(?!\w)", line, re.IGNORECASE):
                yield f'{name}:{number}: "{found[0]}"; write: {instead}'


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def bad_links(path: Path, text: str) -> Iterator[str]:
    """Yield a message for each link of a page to a file or heading that is not there."""
    body = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)", body):
        to = Path(os.path.normpath(path.parent / target)) if target else path
        if not to.exists():
            yield f"{path.relative_to(ROOT)}: no {target}"
        elif anchor and anchor not in anchors(to.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: no heading {target}#{anchor}"


def main() -> int:
    """Print what is wrong, one line each."""
    faults: list[str] = []
    for path in files("*.md"):
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        faults += bad_links(path, text)
        count = text.count("\n")
        if count > LONGEST_OF.get(name, LONGEST):
            faults.append(f"{name}: {count} lines, at most {LONGEST_OF.get(name, LONGEST)}")
        if name in LONGEST_OF or (name.startswith("docs/") and "decisions" not in name):
            faults += bad_words(path, text)
    for path in files("*.py", "*.[ch]", "*.def", "*.sh", "*.txt", "*.toml", "Makefile", "*.md"):
        text = path.read_text(encoding="utf-8", errors="replace")
        for page in set(re.findall(r"(?<![\w/])docs/[\w/.-]+\.md\b", text)):
            if not (ROOT / page).exists():
                faults.append(f"{path.relative_to(ROOT)}: no {page}")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
