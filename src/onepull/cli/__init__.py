"""The `onepull` command.

Commands are imported when they are called, so that `--help` and completion stay quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

# The order in which they are listed, with what is said of each.
COMMANDS = {
    "reproduce": "Run the paper's experiments again and compare.",
    "run": "Run an experiment file, or take it up again.",
    "compare": "Compare the policies of one or more result folders.",
    "plot": "Draw regret or pulls of a result folder.",
    "report": "Write a result folder up as one HTML page.",
    "plan": "Size a policy for a problem before it is built.",
    "theory": "Say what is proved about a problem: bounds and limits.",
    "completion": "Print the completion script of a shell.",
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

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; what onepull refuses is one line and exit code 2."""
        from onepull.errors import OnepullError  # noqa: PLC0415 - so that --help stays quick

        try:
            return super().invoke(ctx)
        except OnepullError as error:
            click.echo(f"onepull: {error}", err=True)
        except BrokenPipeError:  # whoever read our output has seen enough; click ends quietly
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            click.echo(f"onepull: {where}{error.strerror or error}", err=True)
        except KeyboardInterrupt as stopped:
            click.echo(f"\nonepull: stopped{stopped}", err=True)
            sys.exit(130)
        sys.exit(2)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="onepull", prog_name="onepull")
def main() -> None:
    """Choose an arm for each request when the payoff formula is known but the arms are not."""
