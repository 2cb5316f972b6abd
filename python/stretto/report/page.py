"""Pages and pictures in files: the head of a page, what fills its template, what is written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from stretto.files.identity import now
from stretto.report import format as fmt
from stretto.report import render, theme
from stretto.report.render import Figure
from stretto.version import __version__

#: called with done, total and name for each chart drawn
Drawn = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Head:
    """What every page begins with; ``base.html.j2`` draws it.

    `page`: what kind of page this is, in a word or two. `about`: what it is of.
    `answer`: one sentence in the reader's words, with the program's name.
    `sections`: ids and titles, and what each holds: those with data are linked.
    `facts`: three at most, each a name and a value.
    `following`: the command to type next; "" where there is none.
    `details`: sentences behind the answer.
    `warnings`: what makes the answer doubtful, such as a busy machine.
    """

    page: str
    about: str
    answer: str
    sections: Sequence[tuple[str, str, object]]
    facts: Sequence[tuple[str, str]] = ()
    following: str = ""
    details: Sequence[str] = ()
    warnings: Sequence[str] = ()
    simulated: bool = False


@dataclass(frozen=True)
class PageFiles:
    """Where to write: the page, and directories for the charts; None leaves a kind out."""

    page: Path | None = None
    png: Path | None = None
    svg: Path | None = None
    drawn: Drawn | None = None


def write(
    template: str, head: Head, figures: Sequence[Figure], to: PageFiles, /, **content: Any
) -> list[str]:
    """Write the page and the charts that were asked for; return their paths.

    `content`: what the template needs besides.
    """
    files = to.png is not None or to.svg is not None
    total = len(figures) * ((to.page is not None) + files)
    done = 0

    def count(figure: Figure) -> None:
        nonlocal done
        done += 1
        if to.drawn is not None:
            to.drawn(done, total, figure.name)

    written = []
    if to.page is not None:
        text = _environment(count).get_template(template).render(head=head, **content)
        written.append(render.save(to.page, text))
    for figure in figures if files else ():
        written += render.write(figure, to.png, to.svg)
        count(figure)
    return [str(path) for path in written]


def _environment(count: Callable[[Figure], None]) -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("stretto.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def svg(figure: Figure) -> Markup:
        text = render.inline(figure)
        count(figure)
        return Markup(text)

    env.filters |= {"command": _command, "unbroken": _unbroken}
    env.filters["key"] = lambda text: text.replace(" ", "_")
    env.globals.update(
        svg=svg,
        fmt=fmt,
        shell=shlex.join,
        version=__version__,
        made=fmt.date(now()),
        variables=theme.css_variables(),
    )
    return env


def _unbroken(text: str) -> Markup:
    """Return a text whose options are not broken at the end of a line."""
    words = [
        Markup('<span class="option">{}</span>').format(word)
        if re.match(r"--?\w", word)
        else escape(word)
        for word in text.split(" ")
    ]
    return Markup(" ").join(words)


def _command(text: str) -> Markup:
    """Return a command to type, its options unbroken, and behind it what it is for."""
    line, _, purpose = text.partition("   (")
    shown = Markup("<code>{}</code>").format(_unbroken(line))
    if purpose:
        shown += Markup(' <span class="muted">{}</span>').format(purpose.removesuffix(")"))
    return shown
