"""`onepull key`: the keys of a service."""

from __future__ import annotations

import time
from pathlib import Path

import click

from onepull.service.keys import Role, add_key, read_keys, revoke_key

ROLES = [role.name.lower() for role in Role]

keys_file = click.option(
    "--keys",
    "path",
    type=click.Path(path_type=Path),
    default="keys.json",
    envvar="ONEPULL_KEYS",
    show_default=True,
    show_envvar=True,
    help="The file of keys.",
)


@click.group()
def command() -> None:
    """Make, list and revoke the keys of a service.

    A reader may look, a writer may also ask for decisions and send observations, and an admin
    may also change problems, arms and controls.  The file has the SHA-256 of each key only.
    """


@command.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="writer", show_default=True)
@keys_file
def add(name: str, role: str, path: Path) -> None:
    """Make a key and print it; it cannot be shown again."""
    click.echo(add_key(path, name, Role.named(role)))
    click.echo(f"onepull: added {name!r} as {role} to {path}", err=True)


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
