"""The `onepull` command.

Commands are imported when they are called, so that `--help` and completion stay quick.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from onepull.html import printable

# In the order in which `onepull --help` lists them, with its one-line descriptions.
COMMANDS = {
    "reproduce": "Run the paper's experiments and compare the results.",
    "run": "Run an experiment file; resume if interrupted.",
    "compare": "Compare the policies of one or more result folders.",
    "plot": "Draw the regret or the pulls of a result folder.",
    "report": "Write a result folder as one HTML page.",
    "plan": "Choose a policy for a problem: storage, regret, time.",
    "theory": "Show the bounds and limits of a problem.",
    "serve": "Serve decisions over HTTP, with a dashboard.",
    "key": "Make, list and revoke the keys of a service.",
    "log": "Export, import, back up or check the log of a router.",
    "completion": "Print the completion script for a shell.",
}


class Commands(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"onepull.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; name the nearest one if there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from onepull.checks import nearest  # noqa: PLC0415 - loads numpy

            if (near := nearest(args[0], COMMANDS)) is not None:
                told = f"No such command {args[0]!r}, did you mean {near!r}?"
                raise click.UsageError(told, ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands without importing them."""
        found = [
            CompletionItem(name, help=told)
            for name, told in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the command line."""
        with _told_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error is one line, with exit code 2, or 1 if an extra is missing."""
        with _told_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Print an error and end the command with its exit code.

    Names in a message may come from a file or from the command line, so they are made printable.
    """
    try:
        from onepull.errors import MissingExtra, OnepullError  # noqa: PLC0415 - keep --help quick

        try:
            yield
        except MissingExtra as error:
            _tell(str(error))
            sys.exit(1)
        except OnepullError as error:
            _tell(str(error))
            sys.exit(2)
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message, keep="\n")
        raise
    except MemoryError as error:
        _tell(f"not enough memory{f': {error}' if str(error) else ''}")
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has closed it; click exits quietly
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _tell(f"{where}{error.strerror or error}")
        sys.exit(2)
    except KeyboardInterrupt as stopped:
        click.echo(f"\nonepull: stopped{stopped}", err=True)
        sys.exit(130)


def _tell(message: str) -> None:
    text = printable(message, keep="\n")
    click.echo(f"onepull: {text}", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onepull", prog_name="onepull")
def main() -> None:
    """Learn which option to use for each request.

    You know how to score an outcome; you don't know how each option behaves.
    """
