"""``stretto completion``: the script by which a shell completes Stretto's command line."""

from __future__ import annotations

from typing import Annotated

import typer

from stretto.errors import UsageError

EXAMPLE = """stretto completion bash >> ~/.bashrc
stretto completion zsh > ~/.zfunc/_stretto     # in a directory of fpath
stretto completion fish > ~/.config/fish/completions/stretto.fish"""

#: behind the name of the shell stands --, and words that look like options
CONTEXT = {"allow_interspersed_args": True}

SCRIPTS = {
    "bash": r"""_stretto() {
    local IFS=$'\n'
    COMPREPLY=($("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
    [[ ${COMPREPLY[0]-} != */ ]] || compopt -o nospace
}
complete -o default -F _stretto stretto
""",
    "zsh": r"""#compdef stretto
_stretto() {
    local -a found
    found=(${(f)"$("$words[1]" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then
        compadd -S '' -- ${(M)found:#*/}
        compadd -- ${found:#*/}
    else
        _files
    fi
}
compdef _stretto stretto
""",
    "fish": "complete -c stretto -a "
    "'(stretto completion fish -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n",
}


def _shells(incomplete: str) -> list[str]:
    return [name for name in SCRIPTS if name.startswith(incomplete)]


def command(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=_shells)],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- WORDS...", help="Words to complete; the script gives them."),
    ] = None,
) -> None:
    """Print the script for shell completion of commands, options and their values.

    Values are collectives, algorithms, platforms, MPIs, and files with the right suffix.
    """
    if shell not in SCRIPTS:
        raise UsageError(f"there is no script for {shell!r}", "SHELL", "name bash, zsh or fish")
    if words is None:
        print(SCRIPTS[shell], end="")
        return
    from stretto.cli.app import build_app
    from stretto.cli.complete import completions

    name = next((w for w in words[:-1] if not w.startswith("-")), None)
    for value in completions(typer.main.get_command(build_app(name)), words):
        print(value)
