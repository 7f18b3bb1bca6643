"""Measure what late and missing feedback costs each policy on the paper's seven channels.

    python benchmarks/delay.py --figure docs/figures/delay.svg

Print the table of docs/delay.md; this takes a minute or two.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from onepull import DCB, EmpiricalKL, EpsilonGreedy, Greedy, MultiUCB, simulate
from onepull.distributions import Exponential
from onepull.environment import channel_selection
from onepull.report.drawing import save, style

HORIZON = 20_000
RUNS = 40
CHANNELS = channel_selection()
POLICIES = {
    "DCB": lambda: DCB(CHANNELS.problem),
    "EmpiricalKL": lambda: EmpiricalKL(CHANNELS.problem),
    "EpsilonGreedy": lambda: EpsilonGreedy(CHANNELS.problem, gap=0.3),
    "MultiUCB": lambda: MultiUCB(CHANNELS.problem),
    "Greedy": lambda: Greedy(CHANNELS.problem),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "at once": {},
    "10": {"delays": 10},
    "100": {"delays": 100},
    "1,000": {"delays": 1000},
    "geometric, mean 100": {"delays": Exponential(100)},
    "20 % lost": {"losses": 0.2},
    "100, 20 % lost": {"delays": 100, "losses": 0.2},
    "geometric, 20 % lost": {"delays": Exponential(100), "losses": 0.2},
    "channel 1 never answers": {"losses": {"channel 1": 1.0}},
}
DRAWN = ["at once", "10", "100", "1,000"]
COLOURS = {
    "DCB": "#1f6fb4",
    "EmpiricalKL": "#c4402f",
    "EpsilonGreedy": "#3d8b4f",
    "MultiUCB": "#8a5fb0",
}


def measured() -> dict[tuple[str, str, bool], tuple[float, float]]:
    """Return the mean regret and its 95 % half-width.

    The keys are the setting, the policy and whether pulls in flight count.
    """
    found = {}
    for setting, stated in SETTINGS.items():
        for counted in (False, True):
            policies = {name: make() for name, make in POLICIES.items()}
            result = simulate(
                CHANNELS.with_late_feedback(**stated),
                policies,
                horizon=HORIZON,
                replications=RUNS,
                seed=1,
                checkpoints=[HORIZON],
                announced=list(policies) if counted else [],
            )
            for name, runs in zip(policies, result.regrets[:, :, -1], strict=True):
                half = 1.96 * runs.std(ddof=1) / len(runs) ** 0.5
                found[setting, name, counted] = float(runs.mean()), float(half)
    return found


def table(found: dict[tuple[str, str, bool], tuple[float, float]]) -> None:
    """Print a row for each setting, with received pulls only and with pulls in flight."""
    print("| feedback | counted |", " | ".join(POLICIES), "|")
    print("|---|---|" + "---|" * len(POLICIES))
    for setting in SETTINGS:
        for counted in (False, True):
            cells = [found[setting, name, counted] for name in POLICIES]
            shown = " | ".join(f"{mean:,.0f} ± {half:,.0f}" for mean, half in cells)
            print(f"| {setting} | {'in flight too' if counted else 'received'} | {shown} |")


def figure(found: dict[tuple[str, str, bool], tuple[float, float]], path: Path) -> None:
    """Draw regret over the delay, with received pulls only and with pulls in flight."""
    with style():
        from matplotlib.figure import Figure  # noqa: PLC0415 - 0.6 s, for drawing only

        drawing = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = drawing.add_subplot()
        for name, colour in COLOURS.items():
            for counted, line in ((False, "--"), (True, "-")):
                points = [found[setting, name, counted] for setting in DRAWN]
                means, halves = zip(*points, strict=True)
                axes.errorbar(
                    DRAWN, means, halves, color=colour, linestyle=line, marker="o", capsize=2
                )
            axes.annotate(
                name, (len(DRAWN) - 1, means[-1]), (8, -3), textcoords="offset points", color=colour
            )
        axes.plot([], [], color="#555555", linestyle="--", label="received pulls count")
        axes.plot([], [], color="#555555", label="pulls in flight count too")
        axes.legend(frameon=False, loc="upper left")
        axes.set_yscale("log")
        axes.set_yticks([200, 500, 1000, 2000, 5000], ["200", "500", "1,000", "2,000", "5,000"])
        axes.minorticks_off()
        axes.set_xlim(-0.2, 3.75)
        axes.set_ylim(180, 7000)
        axes.set_xlabel("further requests before feedback comes")
        axes.set_ylabel(f"regret at trial {HORIZON:,}")
        save(drawing, path)


def main() -> None:
    """Run the simulations, print the table and draw the figure if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, help="the file to draw to")
    stated = parser.parse_args()
    found = measured()
    table(found)
    if stated.figure:
        figure(found, stated.figure)


if __name__ == "__main__":
    main()
