"""What `run` and `env` share: which table applies to a job, and the settings that follow."""

from __future__ import annotations

from stretto.counted import counted
from stretto.errors import StrettoError
from stretto.files.identity import other_model, this_cpu
from stretto.files.locate import find_table, table_path
from stretto.files.rows import Table
from stretto.files.trust import distrust
from stretto.launch.inject import Applied
from stretto.launch.job import Job
from stretto.launch.naming import app_name, interpreter, learned_table, tuned_directory
from stretto.light import TYPE_CHECKING, cache, later, replace
from stretto.mpi.library import cached
from stretto.output import say
from stretto.paths import Path

if TYPE_CHECKING:
    import shlex
    from collections.abc import Sequence
    from typing import Any

    from stretto.files.settings import SettingsFile
else:
    shlex = later("shlex")

#: with one of them the library has something to do without a table, too
_SWITCHES = (
    "STRETTO_API",
    "STRETTO_CHECK_CALLS",
    "STRETTO_LEARN",
    "STRETTO_REORDER",
    "STRETTO_REPRODUCIBLE",
)
DISABLE = "STRETTO_DISABLE"


def applied_to(
    job: Job, table: Path | None, choice: str | None, verbose: bool, settings: Path | None
) -> Applied:
    """Find table and settings for a job and return what applying them takes.

    `settings`: the user's file of settings; None: the one that `settings` has left for this job,
    unless the user names a table or choices.
    """
    if _told(job).get(DISABLE) == "1":
        return Applied([], {}, f"{DISABLE}=1: nothing is changed")
    found = settings_for(job, table, choice, verbose)
    path = settings
    chosen = table is not None or choice is not None or "STRETTO_TABLE" in _told(job)
    if path is None and not chosen and "STRETTO_CHOICE" not in _told(job):
        path = _own_settings(job)
    return found if path is None else _with_settings(found, job, path, settings is not None)


def _with_settings(found: Applied, job: Job, path: Path, named: bool) -> Applied:
    from stretto.files.settings import read_settings
    from stretto.mpi.settings.names import NAMES

    tried = read_settings(path)
    if tried.mpi.family != job.mpi.family:
        raise StrettoError(
            f"these settings are for {tried.mpi.family}, but the job uses {job.mpi.name}", path,
            "try them with this MPI: stretto settings -- CMD",
        )  # fmt: skip
    if strange := sorted(set(tried.chosen) - NAMES):
        raise StrettoError(
            f"a settings file may not set {strange[0]}: it is not a variable that stretto "
            "settings tries by default", path,
            "set it in front of stretto run (NAME=VALUE), if you know what it does",
        )  # fmt: skip
    if not tried.chosen:
        why = tried.conclusion[0] if tried.conclusion else "its runs are not complete"
        return replace(found, words=f"{found.words}; {path} sets nothing: {why}")
    if named:
        for difference in _differences(tried, job):
            say(f"stretto: note: {path}: {difference}")
    _note_cpu(path, tried.host.cpu)
    values = ", ".join(f"{n}={v}" for n, v in tried.chosen.items())
    words = f"{found.words}; {values} (from {path})"
    if not found.libraries:
        words = f"{job.mpi.name} with {values} (from {path}) and no table"
    return replace(found, settings={**tried.chosen, **found.settings}, words=words)


def _differences(tried: SettingsFile, job: Job) -> list[str]:
    """Say in what settings were tried on another MPI, program or layout than the job's."""
    out = []
    mpi = tried.mpi
    if (mpi.family, mpi.version) != (job.mpi.family, job.mpi.version):
        out.append(f"it was made with {mpi.family} {mpi.version}, and this is {job.mpi.name}")
    if not _same_program(tried.command, job):
        out.append(f"it was made with another program: {shlex.join(tried.command)}")
    mine, theirs = (job.layout.nodes, job.layout.ppn), (tried.nodes, tried.ppn)
    if mine != theirs:
        out.append(f"it was made on {theirs[0]} x {theirs[1]} (nodes x ranks), not on "
                   f"{mine[0]} x {mine[1]}")  # fmt: skip
    return out


def _same_program(tried: Sequence[str], job: Job) -> bool:
    """Return whether a command runs the job's program: files are found by its last name only."""
    words = job.command.words
    if not _same_text(tried, job):
        return False
    for application in job.command.applications:
        if application.program is None:
            continue
        mine = words[application.program]
        if mine not in tried and (job.cwd / mine).resolve() not in {
            (job.cwd / w).resolve() for w in tried if "/" in w
        }:
            return False
    return True


def _same_text(tried: Sequence[str], job: Job) -> bool:
    """Return whether an interpreter without a script runs what a command ran.

    Of ``bash -c TEXT`` and ``python -m NAME`` only the arguments tell; of other programs: yes.
    """
    words = job.command.words
    for application in job.command.applications:
        if application.program is None:
            continue
        name = Path(words[application.program]).name
        if name == app_name(job) and interpreter(name):
            arguments = list(words[application.program + 1 : application.end])
            return list(tried[len(tried) - len(arguments) :]) == arguments
    return True


def _own_settings(job: Job) -> Path | None:
    """Return what `stretto settings -- CMD` has left for this very job."""
    if not job.command.applications:
        return None
    path = tuned_directory(job) / f"{app_name(job)}.settings.json"
    if not path.is_file():
        return None
    why = distrust(path)
    if why is not None:
        say(f"stretto: note: {path} is not used: {why}; name it with --settings if you trust it")
        return None
    from stretto.files.settings import read_settings
    from stretto.mpi.settings.names import NAMES

    found = read_settings(path)
    differences = _differences(found, job)
    differences += [
        f"it sets {name}, which stretto settings does not try by default; if you know "
        "what it does, set it in front of stretto run (NAME=VALUE)"
        for name in sorted(set(found.chosen) - NAMES)
    ]
    if differences:
        say(f"stretto: note: {path} is not used: {differences[0]}")
        return None
    return path


def settings_for(job: Job, table: Path | None, choice: str | None, verbose: bool) -> Applied:
    """Find the table for a job and return what applying it takes."""
    told = _told(job)
    place = "STRETTO_CHOICE" if choice is None else "--choice"
    choice = told.get("STRETTO_CHOICE") if choice is None else choice
    asked = choice
    settings: dict[str, str] = {}
    if choice is not None:
        from stretto.cli.choices import split_choices

        choice, settings = split_choices(job, choice, place)
    nodes, ppn = job.layout.nodes, job.layout.ppn
    path = table
    if path is None and told.get("STRETTO_TABLE"):
        path = job.cwd / told["STRETTO_TABLE"]
    if path is None:
        path = _own_table(job)
    if path is None:
        path = find_table(job.mpi, this_cpu(), nodes, ppn, job.environ)
    switches = {n: told[n] for n in _SWITCHES if told.get(n, "0") not in ("", "0")}
    if path is None and choice is None and not switches:
        return Applied([], {}, _no_table(job))
    variables = dict(switches)
    parts = [f"{name}={value}" for name, value in switches.items()]
    if path is not None:
        found, layouts = _table(path)
        _check_fits(found, layouts, path, job, "--table" if path == table else None)
        _note_cpu(path, found.cpu)
        variables["STRETTO_TABLE"] = str(path.resolve())
        parts.append(f"table {path} ({found.family} {found.mpi_version}, {_layout(found)})")
    if choice is not None:
        variables["STRETTO_CHOICE"] = choice
        named = ", ".join(f"{name}={value}" for name, value in settings.items())
        parts.append(f"choice {asked}" + (f" ({named})" if named else ""))
    if verbose:
        variables["STRETTO_VERBOSE"] = "1"
    words = f"{job.mpi.name} with {' and '.join(parts)}"
    from stretto.launch.library import library_for

    return Applied([library_for("interposer", job.mpi)], variables, words, settings)


def _told(job: Job) -> dict[str, str]:
    """Return the user's variables that say what the library is to do, from where CMD has them."""
    seen = {**job.environ, **job.command.assignments}
    names = ("STRETTO_TABLE", "STRETTO_CHOICE", DISABLE, *_SWITCHES)
    return {name: seen[name] for name in names if seen.get(name)}


def _own_table(job: Job) -> Path | None:
    """Return what `stretto tune` or `stretto learn` has left for this very job here."""
    if not job.command.applications:
        return None
    directory = tuned_directory(job)
    path = directory / f"{app_name(job)}.table"
    if not path.is_file():
        path = learned_table(job)
    if not path.is_file():
        return None
    why = distrust(path)
    if why is not None:
        say(f"stretto: note: {path} is not used: {why}; name it with --table if you trust it")
        return None
    found, _ = _table(path)
    differences = found.mismatches(job.mpi.identity, job.layout.nodes, job.layout.ppn)
    if differences:
        say(f"stretto: note: {path} is not used: {differences[0]}")
        return None
    verdict = directory / f"{app_name(job)}.verdict.json"
    if verdict.is_file():
        command, slower = _verdict(verdict)
        if not _same_text(command, job):
            made = shlex.join(command)
            say(f"stretto: note: {path} is not used: it was made with another program: {made}")
            return None
        if slower:
            say(f"stretto: note: {path} is not used: it made the job slower ({verdict})")
            return None
    return path


def _table(path: Path) -> tuple[Table, list[tuple[int | None, int | None]]]:
    """Return a table without its rows, which a file's first reading has checked, and their layouts.

    A layout is nodes and ranks per node; None: any.
    """

    def ask() -> tuple[str, bool]:
        from stretto.files.table import read_table

        table = read_table(path)
        head = vars(table)
        layouts = dict.fromkeys(f"{row.nodes or ''}x{row.ppn or ''}" for row in table.rows)
        return "\n".join([*(str(head[name] or "") for name in _HEAD), " ".join(layouts)]), True

    kept = (cached("table-head", path.absolute(), ask) if path.is_file() else ask()[0]).split("\n")
    *values, layouts = kept
    head: dict[str, Any] = dict(zip(_HEAD, values, strict=True))
    table = Table(**{**head, **{n: _number(head[n]) for n in ("nodes", "ppn")}})
    found = (text.partition("x") for text in layouts.split())
    return table, [(_number(nodes), _number(ppn)) for nodes, _, ppn in found]


def _number(text: str) -> int | None:
    return int(text) if text else None


_HEAD = ("family", "mpi_version", "nodes", "ppn", "created", "stretto", "host", "cpu")


def _verdict(path: Path) -> tuple[list[str], bool]:
    """Return the command that a verdict is of, and whether tuning made it slower."""

    def ask() -> tuple[str, bool]:
        from stretto.files.verdict import read_verdict

        found = read_verdict(path)
        gain = found.measured
        slower = gain is not None and gain.p is not None and gain.p < 0.05 and gain.high < 0
        text = "\0".join([str(slower), *found.command])
        return text, "\\ud" not in ascii(text)  # a file of text cannot keep words that are no text

    slower, *command = cached("verdict", path.absolute(), ask).split("\0")
    return command, slower == str(True)


def _layout(table: Table) -> str:
    nodes = "any nodes" if table.nodes is None else counted(table.nodes, "node")
    return f"{nodes} x {'any ranks' if table.ppn is None else counted(table.ppn, 'rank')}"


def _no_table(job: Job) -> str:
    nodes, ppn = job.layout.nodes, job.layout.ppn
    if nodes is None or ppn is None:
        where = "this command does not show its nodes and ranks; name the table with --table"
    else:
        path = table_path(job.mpi, this_cpu(), nodes, ppn)
        where = f"looked for {path} and in the site's tables; make one with: stretto tune -- CMD"
    return f"no table for {job.mpi.name} here, so nothing is changed ({where})"


def _check_fits(
    table: Table,
    layouts: Sequence[tuple[int | None, int | None]],
    path: Path,
    job: Job,
    named_by: str | None,
) -> None:
    """Refuse a table of another MPI family; say when version or layout differ.

    `layouts`: of its rows. `named_by`: the option by which the user named it.
    """
    if table.family != job.mpi.family:
        raise StrettoError(
            f"this table is for {table.family}, but the job uses {job.mpi.name}",
            path,
            "use a table of the same MPI, or make one with: stretto tune -- CMD",
        )
    nodes, ppn = job.layout.nodes, job.layout.ppn
    other = table.other_mpi(job.mpi.identity)
    if other is not None:
        why = f", because {named_by} names it" if named_by else ""
        say(f"stretto: note: {path}: {other}; it is applied all the same{why}")
    other = table.other_layout(nodes, ppn)
    if other is not None:
        fit = any(n in (None, nodes) and p in (None, ppn) for n, p in layouts)
        then = "rows for any layout apply" if fit else "no row fits, so the table changes nothing"
        say(f"stretto: note: {path}: {other}; {then}")


@cache  # once: `stretto scale` asks for every point
def _note_cpu(path: Path, cpu: str) -> None:
    """Say when a file was made on another CPU than this machine's; it is applied all the same.

    This may be a login node, which says nothing of the nodes that the job will run on.
    """
    mine = this_cpu()
    if other_model(cpu, mine):
        say(
            f"stretto: note: {path}: it was made on {cpu}, and this machine has {mine}; if the "
            f"nodes of the job are not {cpu}, tune again on them: stretto tune -- CMD"
        )
