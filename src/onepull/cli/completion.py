"""`onepull completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

import onepull.cli


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for a SHELL.

    In bash: eval "$(onepull completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - one of click's own three
    click.echo(kind(onepull.cli.main, {}, "onepull", "_ONEPULL_COMPLETE").source())
