"""The commands, one module each, imported only when that command runs.

How to add one: a module `stretto.commands.NAME` with

- `command`, a Typer function (options as annotated parameters; its docstring, up to the section
  "Parameters", is the help text; an int that it returns is the exit code), or `app`, a
  `typer.Typer` with sub-commands;
- `EXAMPLE`, one or more example command lines, shown at the end of ``--help``;
- where needed, `CONTEXT`, settings that replace the usual ones (options after arguments, say);

and one row in `stretto.commands.app.COMMANDS`. A command that takes the user's ``-- CMD`` declares
a parameter of type `stretto.commands.options.CommandLine`: everything after ``--`` arrives in it
verbatim. Faults are raised as `stretto.errors.StrettoError`; results go to stdout (with ``--json``,
one JSON document and nothing else, by `stretto.output.print_json`), all other words to stderr.
"""
