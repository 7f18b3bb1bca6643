"""All of the paper's simulations, with their tables, figures and report."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from onepull.atomic_files import write
from onepull.experiments import paper
from onepull.experiments.paper import Study
from onepull.experiments.theory_section import beside
from onepull.report import Heading, Part, Picture, Table, Text, figures, page, save
from onepull.simulation import Result
from onepull.simulation.replicate import run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Progress: TypeAlias = Callable[[str, int, int, int], None]  # title, horizon, done, total


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of it to run."""

    channel_trials: int = 100_000
    channel_runs: int = 400
    harvesting_trials: int = 1_000_000
    harvesting_runs: int = 100
    variant_runs: int = 20


FULL = Scale()
QUICK = Scale(channel_runs=40, harvesting_runs=6, variant_runs=4)


@dataclass(slots=True)
class Reproduction:
    """The paper's section "Numerical Simulation Results", run again."""

    scale: Scale = FULL
    seed: int = 1
    channels: dict[int, tuple[Study, Result]] = field(default_factory=dict)
    harvesting: Result | None = None
    variants: dict[str, Result] = field(default_factory=dict)

    def run(self, executor: Executor, progress: Progress, *, with_variants: bool = False) -> None:
        """Run every simulation."""
        scale = self.scale
        for count in (7, 4):
            study = paper.channels(count, scale.channel_trials, self.seed)
            self.channels[count] = study, _run(study, scale.channel_runs, executor, progress)
        study = paper.harvesting(scale.harvesting_trials, self.seed)
        self.harvesting = _run(study, scale.harvesting_runs, executor, progress)
        if with_variants:
            for study in paper.variants(scale.harvesting_trials, self.seed):
                self.variants[study.title] = _run(study, scale.variant_runs, executor, progress)

    def tables(self) -> list[Table]:
        """Return the paper's tables beside ours, and what the theorems say."""
        assert self.harvesting is not None  # noqa: S101 - run first
        found = [
            paper.table_1({count: result for count, (_, result) in self.channels.items()}),
            paper.table_2(self.harvesting),
        ]
        if self.variants:
            found.append(paper.tried(self.variants))
        found.append(paper.theorem_1(*self.channels[7]))
        found += [paper.settled(*pair) for pair in self.channels.values()]
        return found

    def beside(self) -> list[Table]:
        """Return what is proved about each policy's regret beside what was measured."""
        assert self.harvesting is not None  # noqa: S101 - run first
        harvesting = paper.harvesting(self.harvesting.horizon, self.seed)
        studies = [*self.channels.values(), (harvesting, self.harvesting)]
        tables = []
        for study, result in studies:
            simulation = study.simulation
            table = beside(simulation.environment, simulation.policies, result)
            tables.append(table.titled(f"{study.title}: {table.title[0].lower()}{table.title[1:]}"))
        return tables

    def figures(self) -> dict[str, tuple[Figure, str, str]]:
        """Return the figures by file name, each with a caption and a description."""
        assert self.harvesting is not None  # noqa: S101 - run first
        middle = "T^-1/2"
        shown = ["UCB1", *(f"{name}, {middle}" for name in paper.TABLE_2)]
        return {
            "figure-4a": (
                figures.regret(self.channels[7][1], "log", title="Channel selection, K = 7"),
                "Figure 4a: regret over ln n, seven channels of which three are never best.",
                "DCB levels off, Multi-UCB far above it; UCB1 keeps rising.",
            ),
            "figure-4b": (
                figures.regret(self.channels[4][1], title="Channel selection, K = 4", log_y=True),
                "Figure 4b: regret, four channels, each best for some request.",
                "The regret of DCB stops growing; that of the others does not.",
            ),
            "figure-5": (
                figures.regret(
                    self.harvesting, "root", title="Energy harvesting, K = 4", policies=shown
                ),
                "Figure 5: regret over √n with δ = T^-1/2.",
                "CCB with known T is lowest, Multi-UCB highest.",
            ),
            "theorem-1": (
                figures.pulls(
                    self.channels[7][1],
                    "DCB(0.01)",
                    arms=paper.never_best(self.channels[7][0]),
                    bounds=paper.theorem_1_bounds(*self.channels[7]),
                    title="Theorem 1: pulls of the channels that are never best, K = 7",
                ),
                "Theorem 1: its bounds as printed, and with the ranges G that its proof needs.",
                "Pulls of three channels by trial, each with two bounds.",
            ),
        }

    def write(self, folder: Path) -> Path:
        """Write tables, figures and the report into a folder; return the report's path."""
        folder.mkdir(parents=True, exist_ok=True)
        parts: list[Part] = [Text(INTRODUCTION)]
        tables = self.tables()
        first, second, *rest = tables
        (theorem,) = [table for table in rest if table.title.startswith("Theorem 1")]
        assert self.harvesting is not None  # noqa: S101 - run first
        for name, (figure, _, _) in (drawn := self.figures()).items():
            save(figure, folder / f"{name}.svg")
            save(figure, folder / f"{name}.png")
        pictures = {name: Picture(*drawn[name]) for name in drawn}
        parts += [Heading("Channel selection"), first, paper.table_1_inside(first)]
        parts += [pictures["figure-4a"], pictures["figure-4b"]]
        parts += [Heading("Energy harvesting"), second, paper.table_2_order(self.harvesting)]
        parts += [pictures["figure-5"]]
        parts += rest[: rest.index(theorem)]
        parts += [Heading("What the theorems say"), theorem, *paper.theorem_1_verdicts(theorem)]
        parts += [pictures["theorem-1"], *rest[rest.index(theorem) + 1 :]]
        parts += [Heading("Theory beside measurement"), *self.beside()]
        for number, table in enumerate(tables, start=1):
            write(folder / f"table-{number}.csv", table.to_csv().encode())
        report = folder / "report.html"
        write(report, page("The paper's experiments, run again", parts).encode())
        return report


INTRODUCTION = """
Sakulkar and Krishnamachari, “Stochastic Contextual Bandits with Known Reward Functions”,
section “Numerical Simulation Results”, simulated again with many replications. All policies
meet the same contexts and states. The paper reports single runs; beside each of its numbers
stand our mean with its standard error, the range that holds 95 % of single runs, and whether
the paper's run falls inside it.

Regret is pseudo-regret against the genie that knows the distributions.
"""


def _run(study: Study, runs: int, executor: Executor, progress: Progress) -> Result:
    def report(done: int, total: int) -> None:
        progress(study.title, study.simulation.horizon, done, total)

    report(0, runs)
    return study.simulation.result(run(study.simulation, [(0, runs)], executor, report))
