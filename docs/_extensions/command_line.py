"""The command line reference, made from what ``--help`` says.

::

    ```{command-line}
    ```
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from onepull.cli import main


class CommandLine(SphinxDirective):
    """Document every command with its usage, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each command."""
        self.env.note_reread()  # commands may have changed though the page is the same
        return self.parse_text_to_nodes("\n".join(_lines()), allow_section_headings=True)


def _lines() -> Iterator[str]:
    top = click.Context(main, info_name="onepull")
    for name in main.list_commands(top):
        command = main.get_command(top, name)
        if command is not None and not command.hidden:
            yield from _described(command, click.Context(command, info_name=name, parent=top))


def _described(command: click.Command, here: click.Context) -> Iterator[str]:
    """Yield the section of a command, and those of the commands in it."""
    usage = " ".join([here.command_path, *command.collect_usage_pieces(here)])
    yield f"## {here.command_path}\n"
    yield f"```text\n{usage}\n```\n"
    yield f"{_prose(command.help or '')}\n"
    for parameter in command.params:
        yield from _parameter(parameter, here)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _described(inner, click.Context(inner, info_name=name, parent=here))


def _parameter(parameter: click.Parameter, here: click.Context) -> Iterator[str]:
    """Yield a definition: what is typed, and what it means."""
    record = parameter.get_help_record(here)
    typed, meaning = record or (parameter.make_metavar(here), "")
    yield f"`{typed}`"
    yield f": {_prose(meaning) or 'Required.' if parameter.required else _prose(meaning)}\n"


def _prose(text: str) -> str:
    """Return help text as Markdown that shows it as it is."""
    clean = inspect.cleandoc(text.replace("\b", "").partition("\f")[0])
    return "".join(f"\\{letter}" if letter in "*_[]<>`#|$" else letter for letter in clean)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
