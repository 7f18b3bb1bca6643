"""`onepull log`."""

from __future__ import annotations

from pathlib import Path

import click

from onepull.errors import StoreError
from onepull.html import printable
from onepull.store import Store, open_store
from onepull.store.log_files import export_log, import_log

store = click.option(
    "--store",
    "where",
    default="router.db",
    show_default=True,
    metavar="STORE",
    help="The log: the path of a SQLite file, or postgresql://…",
)


@click.group()
def command() -> None:
    """Export, import, back up or check the log of a router."""


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@store
@click.option("--problem", "problems", multiple=True, help="Only this problem; may be repeated.")
def export(file: Path, where: str, problems: tuple[str, ...]) -> None:
    """Write the log to FILE: .ndjson or .parquet."""
    with _existing(where) as opened:
        count = export_log(opened, file, problems or None)
    _say(f"{count:,} events written to {file}")


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@store
def import_(file: Path, where: str) -> None:
    """Read a FILE that `export` has written.

    The log must have none of its problems yet.
    """
    with open_store(where) as opened:
        count = import_log(opened, file)
    _say(f"{count:,} events read from {file}")


@command.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@store
def backup(file: Path, where: str) -> None:
    """Copy the log to FILE while it is in use.

    To restore, stop all processes that use the log, and put the copy in its place.
    """
    with _existing(where) as opened:
        opened.backup(file)
    _say(f"backup written to {file}")


@command.command("check")
@store
def check(where: str) -> None:
    """Check the whole log for damage; exit with 1 if there is any."""
    with _existing(where) as opened:
        found = opened.integrity()
        last = opened.last_sequence
    for problem in found:
        click.echo(printable(problem))
    if found:
        click.get_current_context().exit(1)
    click.echo(f"no damage found up to event {last:,}")


def _existing(where: str) -> Store:
    """Open a log, but do not create one."""
    if "://" not in where and not Path(where).exists():
        raise StoreError(f"there is no log at {where}; --store says where it is")
    return open_store(where)


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
