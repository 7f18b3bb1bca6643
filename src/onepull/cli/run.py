"""`onepull run`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from onepull.cli.buffers import run_buffer
from onepull.cli.output import as_json, progress, show, where
from onepull.experiments import BufferExperiment, ResultFolder, read_experiment
from onepull.report import summary, tidy
from onepull.simulation.executors import open_executor


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The result folder. [FILE's name]")
@where
@as_json
def command(file: Path, out: Path | None, where: str, *, as_json: bool) -> None:
    """Run the experiment in FILE, or take it up again.

    Finished replications are kept in the result folder, so a run that was stopped goes on
    where it was, and more replications can be added later.
    """
    experiment = read_experiment(file)
    if isinstance(experiment, BufferExperiment):
        source = click.get_current_context().get_parameter_source("where")
        asked = None if source is ParameterSource.DEFAULT else where
        run_buffer(experiment, file, out, asked, as_json=as_json)
        return
    folder = ResultFolder(out or file.with_suffix(""), experiment)
    with open_executor(where) as executor:
        folder.prepare(file.parent)
        with progress(experiment.name) as update:
            try:
                result = folder.run(
                    executor,
                    lambda done, total: update(
                        experiment.name, experiment.simulation.horizon, done, total
                    ),
                )
            except KeyboardInterrupt:
                raise KeyboardInterrupt("; the same command goes on where it was") from None
    folder.write("result.csv", tidy(result, experiment.baseline).to_csv().encode())
    show([summary(result, experiment.baseline)], as_json=as_json)
    click.echo(f"results in {folder.path}", err=True)
