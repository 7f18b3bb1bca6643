"""`onepull compare`."""

from __future__ import annotations

from pathlib import Path

import click

from onepull.cli.buffers import compared
from onepull.cli.output import as_json, end_with_damage, need_simulator, show
from onepull.experiments import BufferFolder, open_result_folder
from onepull.report import Table, summary
from onepull.report import result_tables as made


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    help="Show the paired difference of each policy to this one. [default: the experiment's]",
)
@click.option("--pulls", "with_pulls", is_flag=True, help="Also show the pulls of every arm.")
@as_json
def command(
    folders: tuple[Path, ...], baseline: str | None, *, with_pulls: bool, as_json: bool
) -> None:
    """Compare the policies of one or more result FOLDERS.

    A folder of a run that is not finished works too.
    """
    need_simulator()
    tables: list[Table] = []
    opened = list(map(open_result_folder, folders))
    for path, folder in zip(folders, opened, strict=True):
        if isinstance(folder, BufferFolder):
            found = [compared(folder, baseline, with_pulls=with_pulls)]
        else:
            result = folder.result()
            table = summary(result, baseline or folder.experiment.baseline)
            found = [table, made.pulls(result)] if with_pulls else [table]
        if len(folders) > 1:
            found = [table.titled(f"{path}: {table.title}") for table in found]
        tables += found
    show(tables, as_json=as_json)
    end_with_damage(opened)
