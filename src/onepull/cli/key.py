"""`onepull key`: the keys of a service."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from onepull.service.keys import FILE, Role, add_key, keys_beside, read_keys, revoke_key

ROLES = [role.name.lower() for role in Role]

Command = TypeVar("Command", bound=Callable[..., Any])


def keys_file(command: Command) -> Command:
    """Give a command the argument `path`: the file of keys."""

    @click.option(
        "--keys",
        type=click.Path(path_type=Path),
        envvar="ONEPULL_KEYS",
        show_envvar=True,
        help=f"The file of keys.  [default: {FILE} beside SOURCE]",
    )
    @click.option(
        "--source",
        type=click.Path(path_type=Path, exists=True),
        help="What `onepull serve` serves: a file or a folder.  [default: this folder]",
    )
    @wraps(command)
    def with_path(*, keys: Path | None, source: Path | None, **others: Any) -> None:
        command(path=keys or keys_beside(source), **others)

    return with_path  # type: ignore[return-value]  # with the options in place of the path


@click.group()
def command() -> None:
    """Make, list and revoke the keys of a service.

    A reader may read, a writer may also ask for decisions and send observations, and an admin
    may also change problems, arms and controls.  The file has the SHA-256 of each key only.
    `onepull serve` uses keys.json beside what it serves if there is one, or the file that --keys
    names.
    """


@command.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="writer", show_default=True)
@keys_file
def add(name: str, role: str, path: Path) -> None:
    """Make a key and print it; it cannot be shown again.

    A running service that has keys notices within a second.  One that was started without any must
    be restarted to ask for them.
    """
    is_first = not path.exists()
    click.echo(add_key(path, name, Role.named(role)))
    click.echo(f"onepull: added {name!r} as {role} to {path}", err=True)
    if is_first:
        click.echo(
            "onepull: this is a new file of keys; a service that runs without keys must be "
            "restarted to ask for them",
            err=True,
        )


@command.command("list")
@keys_file
def list_(path: Path) -> None:
    """List the names of the keys."""
    for key in read_keys(path):
        day = time.strftime("%Y-%m-%d", time.gmtime(key.created))
        click.echo(f"{key.name}\t{key.role}\t{day}")


@command.command()
@click.argument("name")
@keys_file
def revoke(name: str, path: Path) -> None:
    """Remove a key; a running service notices within a second."""
    revoke_key(path, name)
    click.echo(f"onepull: revoked {name!r} in {path}", err=True)
