"""Run all simulations of the paper and write their tables, figures and report."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from onepull.atomic_files import write
from onepull.experiments import paper
from onepull.experiments.paper import Study
from onepull.experiments.theory_section import regret_and_bounds
from onepull.report import Heading, Part, Picture, Table, Text, figures, page, save
from onepull.simulation import Result
from onepull.simulation.replicate import run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

StudyProgress: TypeAlias = Callable[[str, int, int, int], None]  # title, horizon, done, total


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers of trials and runs."""

    channel_trials: int = 100_000
    channel_runs: int = 400
    harvesting_trials: int = 1_000_000
    harvesting_runs: int = 100
    variant_runs: int = 20


FULL = Scale()
QUICK = Scale(channel_runs=40, harvesting_runs=6, variant_runs=4)


@dataclass(slots=True)
class Reproduction:
    """The simulations of the paper's section "Numerical Simulation Results" and their results."""

    scale: Scale = FULL
    seed: int = 1
    channels: dict[int, tuple[Study, Result]] = field(default_factory=dict)
    harvesting: Result | None = None
    variants: dict[str, Result] = field(default_factory=dict)

    def run(
        self, executor: Executor, progress: StudyProgress, *, with_variants: bool = False
    ) -> None:
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

    def named_tables(self) -> dict[str, Table]:
        """Return the paper's tables with our numbers, by the names of their CSV files."""
        assert self.harvesting is not None  # noqa: S101 - run first
        found = {
            "table-1": paper.table_1(
                {count: result for count, (_, result) in self.channels.items()}
            ),
            "table-2": paper.table_2(self.harvesting),
            "table-2-order": paper.table_2_order(self.harvesting),
        }
        if self.variants:
            found["table-2-readings"] = paper.other_readings(self.variants)
        found["theorem-1"] = paper.theorem_1_table(*self.channels[7])
        for count, pair in self.channels.items():
            found[f"theorem-2-channels-{count}"] = paper.theorem_2_table(*pair)
        return found

    def tables(self) -> list[Table]:
        """Return the paper's tables with our numbers, and the tables of theorems 1 and 2."""
        return list(self.named_tables().values())

    def bounds(self) -> list[Table]:
        """Return the measured regret and the proven bounds of each policy, for each study."""
        assert self.harvesting is not None  # noqa: S101 - run first
        harvesting = paper.harvesting(self.harvesting.horizon, self.seed)
        studies = [*self.channels.values(), (harvesting, self.harvesting)]
        tables = []
        for study, result in studies:
            simulation = study.simulation
            table = regret_and_bounds(simulation.environment, simulation.policies, result)
            tables.append(table.titled(f"{study.title}: {table.title[0].lower()}{table.title[1:]}"))
        return tables

    def figures(self) -> dict[str, tuple[Figure, str, str]]:
        """Return the figures by file name, each with a caption and a text alternative."""
        assert self.harvesting is not None  # noqa: S101 - run first
        middle = "T^-1/2"
        shown = ["UCB1", *(f"{name}, {middle}" for name in paper.TABLE_2)]
        seven, four = self.channels[7][1], self.channels[4][1]
        return {
            "figure-4a": (
                figures.regret(seven, "log", title="Channel selection, K = 7"),
                "Figure 4a: regret / ln n with seven channels, three of which are never optimal. "
                + figures.caption(seven),
                "DCB levels off, Multi-UCB is far above it, UCB1 keeps rising.",
            ),
            "figure-4b": (
                figures.regret(four, title="Channel selection, K = 4", log_y=True),
                "Figure 4b: regret with four channels, each optimal for some request. "
                + figures.caption(four),
                "The regret of DCB stops growing; that of UCB1 and Multi-UCB does not.",
            ),
            "figure-5": (
                figures.regret(
                    self.harvesting, "root", title="Energy harvesting, K = 4", policies=shown
                ),
                f"Figure 5: regret / √n with δ = {middle}. {figures.caption(self.harvesting)}",
                "From low to high: CCB with known T, UCB1, CCB with unknown T, Multi-UCB.",
            ),
            "theorem-1": (
                figures.pulls(
                    seven,
                    "DCB(0.01)",
                    arms=paper.never_optimal(self.channels[7][0]),
                    bounds=paper.theorem_1_bounds(*self.channels[7]),
                    title="Theorem 1: pulls of the channels that are never optimal, K = 7",
                ),
                "Theorem 1: pulls of the channels that are never optimal, with the bound as "
                "printed and with the ranges G that its proof needs. "
                + figures.caption(seven, band=False),
                "Pulls of three channels by trial, each with two bounds.",
            ),
        }

    def write(self, folder: Path) -> Path:
        """Write tables, figures and the report into a folder; return the path of the report."""
        folder.mkdir(parents=True, exist_ok=True)
        tables = self.named_tables()
        for name, table in tables.items():
            write(folder / f"{name}.csv", table.to_csv().encode())
        for name, (figure, _, _) in (drawn := self.figures()).items():
            save(figure, folder / f"{name}.svg")
            save(figure, folder / f"{name}.png")
        pictures = {name: Picture(*made) for name, made in drawn.items()}
        first, second, order, theorem = (
            tables[name] for name in ("table-1", "table-2", "table-2-order", "theorem-1")
        )
        parts: list[Part] = [
            Text(INTRODUCTION),
            Heading("Channel selection"),
            first,
            paper.table_1_inside(first),
            pictures["figure-4a"],
            pictures["figure-4b"],
            Heading("Energy harvesting"),
            second,
            order,
            *paper.table_2_verdicts(order),
            pictures["figure-5"],
            *(table for name, table in tables.items() if name == "table-2-readings"),
            Heading("Theorems 1 and 2"),
            theorem,
            *paper.theorem_1_verdicts(theorem),
            pictures["theorem-1"],
            *(table for name, table in tables.items() if name.startswith("theorem-2")),
            Heading("Measured regret and proven bounds"),
            *self.bounds(),
        ]
        report = folder / "report.html"
        write(report, page("The paper's experiments, reproduced", parts).encode())
        return report


INTRODUCTION = """
The simulations of the section “Numerical Simulation Results” of Sakulkar and Krishnamachari,
“Stochastic Contextual Bandits with Known Reward Functions”, with many replications. All policies
of a replication see the same contexts and states. The paper reports single runs. Next to each of
its numbers are our mean with the half-width of its 95 % confidence interval, the range of 95 % of
our runs, and whether the paper's number is inside that range.

Regret is pseudo-regret against the genie, which knows the distributions.
"""


def _run(study: Study, runs: int, executor: Executor, progress: StudyProgress) -> Result:
    def report(done: int, total: int) -> None:
        progress(study.title, study.simulation.horizon, done, total)

    report(0, runs)
    return study.simulation.result(run(study.simulation, [(0, runs)], executor, report))
