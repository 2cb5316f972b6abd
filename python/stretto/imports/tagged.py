"""Lines that the launcher has put a rank's number before: each rank's are read by themselves.

Open MPI's ``--tag-output`` (and ``--output tag``, ``rank``), ``srun -l``, and ``-prepend-rank`` of
MPICH's and Intel MPI's hydra. What several ranks print stands there line by line, in whatever
order; one rank's empty line or title says nothing of what another one prints. hydra, on a busy
machine, puts its tag before each piece of a line that it reads by itself, too.
"""

from __future__ import annotations

import re
from collections import defaultdict

from stretto.imports.printed import whole_lines

_TAGS = (
    # [1,0]<stdout>:, with a blank behind it since Open MPI 5; [0]<stdout>: of --output rank
    re.compile(r"(\[(?:[^\[\]\s]*@)?\d+(?:,\d+)?\]<std(?:out|err|diag)>:) ?"),
    re.compile(r" *(\d+):(?: |$)"),
    re.compile(r"(\[\d+\])(?: |$)"),
)
#: whose tags may stand in the midst of lines
_HYDRA = _TAGS[2]

#: lines with their numbers in the file
Stream = list[tuple[int, str]]


def streams(text: str, place: str, problems: list[str]) -> list[Stream]:
    """Return a file's lines, as one stream; where all bear tags of one form, by tag and without.

    Parameters
    ----------
    text, place, problems
        As for `whole_lines`.
    """
    lines = list(enumerate(whole_lines(text, place, problems), start=1))
    for pattern in _TAGS:
        tags = [pattern.match(line) for _, line in lines]
        said = [tag for (_, line), tag in zip(lines, tags, strict=True) if line.strip()]
        if not said or not all(said):
            continue
        out: dict[str, Stream] = defaultdict(list)
        last = ""
        for (at, line), tag in zip(lines, tags, strict=True):
            rest = ""
            if tag is not None:
                last = tag.group(1)
                rest = line[tag.end() :]
                if pattern is _HYDRA:
                    rest = rest.replace(f"{last} ", "")
            out[last].append((at, rest))
        return list(out.values())
    return [lines]
