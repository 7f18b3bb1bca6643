"""What `onepull run`, `compare` and `plan` do where there is a battery or a queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from onepull.cli.output import progress, show
from onepull.errors import ParameterError
from onepull.experiments.buffer_experiment import (
    STORED,
    StoredBrief,
    StoredExperiment,
    reads_storage,
)
from onepull.experiments.buffer_folder import StorageFolder
from onepull.planning.buffer_planner import attainable, plan_storage
from onepull.report import Table
from onepull.report.buffer_tables import storage_summary, storage_tidy
from onepull.report.table_cells import plain
from onepull.simulation.buffered import StorageResult
from onepull.simulation.executors import open_executor

EVERYWHERE = "processes"  # slots run in the interpreter, so that threads would not help


def run_storage(file: Path, out: Path | None, where: str | None, *, as_json: bool) -> None:
    """Run an experiment with a storage, or take it up again."""
    experiment = StoredExperiment.read(file)
    folder = StorageFolder(out or file.with_suffix(""), experiment)
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
                raise KeyboardInterrupt("; the same command goes on where it was") from None
    folder.write("result.csv", storage_tidy(result, experiment.baseline).to_csv().encode())
    show([_summary(experiment, result, experiment.baseline)], as_json=as_json)
    click.echo(f"results in {folder.path}", err=True)


def compared(path: Path, baseline: str | None, *, with_pulls: bool) -> Table | None:
    """Return the table of a result folder with a storage; None for any other folder."""
    if not reads_storage(path / "experiment.toml"):
        return None
    if with_pulls:
        raise ParameterError(f"{path}: has a storage, and no pulls by arm are kept of such a run")
    folder = StorageFolder.open(path)
    experiment = folder.experiment
    return _summary(experiment, folder.result(), baseline or experiment.baseline)


def _summary(experiment: StoredExperiment, result: StorageResult, baseline: str | None) -> Table:
    environment = experiment.simulation.environment
    best, notes = attainable(environment)
    counted = environment.storage.counted
    return storage_summary(result, counted, baseline=baseline, best=best, notes=notes)


def storage_brief(file: Path | None, application: str | None) -> StoredBrief | None:
    """Return what is to be planned if it has a storage."""
    if file is not None and application is None:
        return StoredBrief.read(file) if reads_storage(file) else None
    if file is None and application in STORED:
        return StoredBrief(application, STORED[application]())
    return None


def plan_for_storage(
    brief: StoredBrief,
    asked: dict[str, Any],
    *,
    refused: dict[str, Any],
    as_json: bool,
) -> None:
    """Compare controllers for a storage and propose one.

    Options that make sense without a storage only are refused if they are given.
    """
    if given := [f"--{name}" for name, value in refused.items() if value]:
        raise ParameterError(
            f"{brief.name}: has a storage, whose plan does not take {', '.join(given)}"
        )
    if asked["seed"] is None:
        asked["seed"] = brief.seed
    # 0 stands for a horizon that is said to be unknown.
    asked["horizon"] = brief.horizon if asked["horizon"] is None else asked["horizon"] or None
    if asked["replications"] is None:
        del asked["replications"]
    with open_executor(EVERYWHERE) as executor, progress("") as update:
        made = plan_storage(
            brief.environment,
            **asked,
            executor=executor,
            progress=lambda done, total: update("simulating", 0, done, total),
        )
    if as_json:
        click.echo(json.dumps(_plain(made.to_dict()), indent=2))
    else:
        show([made.table()], as_json=False)
        click.echo(f"\n{made.proposal()}")
    if made.proposed is None:
        click.get_current_context().exit(1)


def _plain(value: Any) -> Any:
    """Return plain values ready for JSON, which has no infinity."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else plain(value)
