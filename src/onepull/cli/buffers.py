"""`onepull run`, `compare` and `plan` for experiments with a battery or a queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from onepull.cli.output import (
    end_with_damage,
    progress,
    say_repaired,
    say_written,
    show,
    show_proposal,
)
from onepull.errors import ParameterError
from onepull.experiments.buffer_experiment import (
    BufferExperiment,
    BufferProblemFile,
)
from onepull.experiments.buffer_folder import BufferFolder
from onepull.planning.buffer_planner import attainable, plan_buffer
from onepull.report import Table
from onepull.report.buffer_tables import buffer_summary, buffer_tidy
from onepull.report.table_cells import json_value
from onepull.simulation.buffered import BufferResult
from onepull.simulation.executors import open_executor

EVERYWHERE = "processes"  # slots run in the interpreter, where threads do not help


def run_buffer(
    experiment: BufferExperiment, file: Path, out: Path | None, where: str | None, *, as_json: bool
) -> None:
    """Run an experiment with a buffer; resume if interrupted."""
    folder = BufferFolder(out or file.with_suffix(""), experiment)
    simulation = experiment.simulation
    slots = simulation.horizon * len(simulation.controllers)
    with open_executor(where or EVERYWHERE) as executor:
        folder.prepare(file.parent)
        with progress(experiment.name) as update:
            try:
                result = folder.run(
                    executor, lambda done, total: update(experiment.name, slots, done, total)
                )
            except KeyboardInterrupt:
                raise KeyboardInterrupt("; run the same command to resume") from None
    folder.write("result.csv", buffer_tidy(result, experiment.baseline).to_csv().encode())
    show([_summary(folder, result, experiment.baseline)], as_json=as_json)
    say_written("results in", folder.path)
    say_repaired(folder)
    end_with_damage([folder])


def compared(folder: BufferFolder, baseline: str | None, *, with_pulls: bool) -> Table:
    """Return the table of a result folder with a buffer."""
    if with_pulls:
        raise ParameterError(
            f"{folder.path}: has a buffer; such runs record no pulls, so --pulls is not available"
        )
    return _summary(folder, folder.result(), baseline or folder.experiment.baseline)


def _summary(folder: BufferFolder, result: BufferResult, baseline: str | None) -> Table:
    environment = folder.experiment.simulation.environment
    best, notes = attainable(environment)
    counted = environment.buffer.counted
    return buffer_summary(
        result, counted, baseline=baseline, best=best, notes=[*folder.remarks, *notes]
    )


def plan_for_buffer(
    brief: BufferProblemFile,
    asked: dict[str, Any],
    *,
    refused: dict[str, Any],
    as_json: bool,
) -> None:
    """Compare controllers for a buffer and propose one.

    Options that do not apply to a buffer raise `ParameterError` if they are given.
    """
    if given := [f"--{name}" for name, value in refused.items() if value]:
        raise ParameterError(
            f"{brief.name}: has a buffer; {', '.join(given)} cannot be used with it"
        )
    if asked["seed"] is None:
        asked["seed"] = brief.seed
    # 0 is `--horizon none`.
    asked["horizon"] = brief.horizon if asked["horizon"] is None else asked["horizon"] or None
    if asked["replications"] is None:
        del asked["replications"]
    with open_executor(EVERYWHERE) as executor, progress("") as update:
        made = plan_buffer(
            brief.environment,
            **asked,
            executor=executor,
            progress=lambda done, total: update("simulating", 0, done, total),
        )
    if as_json:
        click.echo(json.dumps(_plain(made.to_dict()), indent=2))
    else:
        show([made.table()], as_json=False)
        show_proposal(made.proposal())
    if made.proposed is None:
        click.get_current_context().exit(1)


def _plain(value: Any) -> Any:
    """Return values that JSON can hold; infinite numbers become null."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else json_value(value)
