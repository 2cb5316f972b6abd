"""What a launcher says of a job that failed: the lines that tell why, without the boilerplate.

The last lines are the wrong ones: Open MPI ends with advice in boxes and with how to see more help,
hydra with a pointer to a FAQ, srun with the steps that it has cancelled. The reason stands first.
"""

from __future__ import annotations

import re

#: ``[host:pid]``, ``[proxy:0:0@host]``, ``[mpiexec@host]`` before a line
_WHO = re.compile(r"^\[[\w.@:-]+\]\s+")
#: tells nothing of why
_NOISE = re.compile(
    r"^\W*$|running as root|not recommended to run as root|run as another user|We reiterate"
    r"|RUN_AS_ROOT|run-as-root|setpgid\("
    r"|more process(es)? (has|have) sent help message|Set MCA parameter|base_help_aggregate"
    r"|\*\*\* (reported by process|on (a NULL )?communicator|Unknown error|MPI_ERRORS_ARE_FATAL"
    r"|and |End of error message)|^\[ ?\d+\] |^Signal code:|^Failing at|Process received signal"
    r"|Local abort (before|after) MPI_|BAD TERMINATION|CLEANING UP REMAINING"
    r"|YOU CAN IGNORE THE BELOW|This typically refers to|Please see the FAQ|^main \("
    r"|Job step aborted|STEP \S+ ON \S+ CANCELLED|First task exited|Terminating StepId"
    r"|Force Terminated|_step_signal|^srun: job \d+ (queued|has been)|^In: PMI_Abort"
    r"|Connection reset by peer|Broken pipe|BTLs attempted:|^PID:|^NOTE:|^Aborting\.?$"
    r"|total processes failed to start|^\w+\(\d+\)\.*: ?(MPI_Init\(.*failed)?$"
)
#: tells that something failed, and not why: quoted where nothing else is there
_WEAK = re.compile(
    r"^Primary job|detected that one or more processes|has exited due to process|^OPAL ERROR:"
    r"|^PMIX ERROR:|does not know how to route|lost communication with a remote daemon"
    r"|[Ee]xited with exit code|unable to reliably start one or more daemons|^WARNING:|^MPI_ABORT"
    r"|^\*\*\* (An error|MPI_ERR)|^=|^HYD[A-Z]*_(?!.*execvp)|^\w+ \(/.*/hydra/"
)
#: of a box only its first paragraph counts, and what is written as ``Key:  value`` or ``--> ...``
_FACT = re.compile(r"^\s*(-->\s|[A-Z][\w ]{0,24}:\s+\S|\w+\(\) failed|PML \w+|Process \d)")


def telling(output: str, most: int = 3, width: int = 500, end: bool = False) -> str:
    """Return what an output says of why a job failed, as one line; empty where it says nothing.

    `end`: of what tells something the last, not the first: a user's program has printed what it did
    before it failed.
    """
    said = _distinct(output)
    # Our own words tell more than the launcher's about how it took the others down.
    ours = [x for x in said if x.startswith(("stretto-bench:", "stretto: error:"))]
    strong = _strong(said)
    weak = [x for x in said if not _NOISE.search(x)]
    kept = ours or strong or weak
    if not kept:  # all of it is known noise: the last of it is better than nothing
        kept = [x for x in said if re.search(r"\w", x) and "root" not in x][-1:]
    return " / ".join(kept[-most:] if end else kept[:most])[:width]


def ending(stdout: str, stderr: str) -> str:
    """Return what a program and its launcher say of why a run failed; empty where they do not.

    Many programs print the reason to standard output, and call MPI_Abort: then standard error holds
    no more than that.
    """
    errors = telling(stderr, end=True)
    if _strong(_distinct(stderr)):
        return errors
    return " / ".join(x for x in (telling(stdout, most=2, width=400, end=True), errors) if x)


def _distinct(output: str) -> list[str]:
    """Return what an output says, each statement once: ranks say the same with other numbers."""
    found = [_WHO.sub("", x) for x in _statements(output)]
    return list({re.sub(r"[0-9]+", "", x): x for x in reversed(found)}.values())[::-1]


def _strong(said: list[str]) -> list[str]:
    return [x for x in said if not _NOISE.search(x) and not _WEAK.search(x)]


def _statements(output: str) -> list[str]:
    """Return lines, and of each box (rules of dashes around it) what it is about."""
    lines = output.splitlines()
    out: list[str] = []
    at = 0
    while at < len(lines):
        if not _rule(lines[at]):
            if lines[at].strip():
                out.append(" ".join(lines[at].split()))
            at += 1
            continue
        end = next((k for k in range(at + 1, len(lines)) if _rule(lines[k])), None)
        if end is None:  # cut off, or a program's own line
            at += 1
            continue
        out += _box(lines[at + 1 : end])
        at = end + 1
    return out


def _rule(line: str) -> bool:
    """Return whether a line is a rule of Open MPI's: programs draw theirs in other lengths."""
    return line.strip() in (60 * "-", 74 * "-")


def _box(lines: list[str]) -> list[str]:
    """Return a box's first sentence, and its facts."""
    body = [x for x in lines if x.strip()]
    if not body:
        return []
    blank = next((k for k, x in enumerate(lines) if not x.strip() and k), len(lines))
    head = " ".join(" ".join(lines[:blank]).split())
    # a path stands on its own line behind "... requested by the application:"
    first = re.split(r"(?<=[a-z)])[.;](?:\s|$)", head, maxsplit=1)[0].rstrip(":")
    facts = [" ".join(x.split()) for x in lines[blank:] if _FACT.match(x)]
    if _NOISE.search(first):
        return facts
    return [", ".join([first, *(f for f in facts if not _NOISE.search(f))])]
