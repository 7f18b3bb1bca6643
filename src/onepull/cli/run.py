"""`onepull run`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from onepull.cli.buffers import run_buffer
from onepull.cli.output import (
    as_json,
    end_with_damage,
    need_simulator,
    progress,
    say_repaired,
    say_written,
    show,
    where,
)
from onepull.experiments import BufferExperiment, ResultFolder, read_experiment
from onepull.report import summary, tidy
from onepull.simulation.executors import open_executor


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The result folder. [default: FILE without its suffix]",
)
@where
@as_json
def command(file: Path, out: Path | None, where: str, *, as_json: bool) -> None:
    """Run the experiment in FILE; resume if interrupted.

    Finished replications are saved in the result folder.  If a run is interrupted, run the same
    command again to resume it.  To add replications later, raise their number in FILE.
    """
    need_simulator()
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
                raise KeyboardInterrupt("; run the same command to resume") from None
    folder.write("result.csv", tidy(result, experiment.baseline).to_csv().encode())
    show([summary(result, experiment.baseline)], as_json=as_json)
    say_written("results in", folder.path)
    say_repaired(folder)
    end_with_damage([folder])
