"""What every page begins with: the answer, three facts, and the next command to type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Head:
    """The head of a page; ``base.html.j2`` draws it.

    `page`: what kind of page this is, in a word or two. `about`: what it is of.
    `answer`: one sentence in the reader's words, with the program's name.
    `facts`: three at most, each a name and a value.
    `following`: the command to type next; "" where there is none.
    `details`: sentences behind the answer.
    `warnings`: what makes the answer doubtful, such as a busy machine.
    `sections`: ids and titles of what the page holds: those with data.
    """

    page: str
    about: str
    answer: str
    facts: Sequence[tuple[str, str]] = ()
    following: str = ""
    details: Sequence[str] = ()
    warnings: Sequence[str] = ()
    sections: Sequence[tuple[str, str]] = field(default_factory=list)
    simulated: bool = False


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital at its start, a full stop at its end."""
    text = text.strip()
    text = text if text.startswith(("./", "/")) else text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?)" else text + "."
