"""`onepull report`."""

from __future__ import annotations

from pathlib import Path

import click

from onepull.atomic_files import write
from onepull.cli.output import end_with_damage, need_simulator, say_written
from onepull.experiments import ResultFolder
from onepull.experiments.theory_section import least_curve, regret_and_bounds
from onepull.report import Code, Heading, Part, Picture, Text, figures, page, summary, tables


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="The page's file. [default: FOLDER/report.html]"
)
def command(folder: Path, out: Path | None) -> None:
    """Write a result FOLDER as one HTML page that needs no network."""
    need_simulator()
    opened = ResultFolder.open(folder)
    result, experiment = opened.result(), opened.experiment
    simulation = experiment.simulation
    proved = regret_and_bounds(simulation.environment, simulation.policies, result)
    trials = f"{result.horizon:,} trials, {result.replications} replications"
    parts: list[Part] = [
        Text(f"{trials}, seed {experiment.simulation.seed}. The same draws for all policies."),
        Heading("Regret"),
        summary(result, experiment.baseline),
        Picture(
            figures.regret(result),
            f"Cumulative regret. {figures.caption(result)}",
            "Regret of each policy by trial.",
        ),
        Picture(
            figures.regret(result, "log", bounds=least_curve(simulation.environment, result)),
            f"Regret / ln n: constant where regret is logarithmic. {figures.caption(result)}",
            "Regret divided by the logarithm of the trial, for each policy.",
        ),
    ]
    if proved.rows:
        parts += [Heading("Theory beside measurement"), proved]
    parts += [Heading("Pulls"), tables.pulls(result)]
    parts += [Heading("The experiment"), Code(experiment.text.strip())]
    target = out or folder / "report.html"
    write(target, page(experiment.name, parts).encode())
    say_written("report written to", target)
    end_with_damage([opened])
