"""Compare drift plus penalty on queues and batteries with ignoring the buffer and the optimum.

Print the two tables of docs/queues.md, and with --figure draw its figure.
"""

from __future__ import annotations

import argparse
from concurrent.futures import Executor
from typing import Any

from rich.console import Console
from rich.progress import Progress

from onepull import Genie, Policy, UpperConfidence
from onepull.control import (
    BatteryPlan,
    BufferEnvironment,
    Controller,
    DriftPlusPenalty,
    Myopic,
    Planned,
    harvesting_battery,
    metered_backlog,
)
from onepull.report.drawing import INK, save, style
from onepull.report.figures import COLOURS, MARKERS
from onepull.simulation.buffered import BufferResult, simulate_buffer
from onepull.simulation.executors import open_executor

SEED = 1
WEIGHTS = {"battery": (1, 2, 4, 8, 16), "backlog": (4, 10, 20, 40, 80)}
PRICES = (0.0, 1.0, 1.5, 2.0)
HOLDINGS = (0.3, 0.1, 0.03, 0.01, 0.003)
LOSING = 20.0  # the price of a lost bit in the plans, far above the price of sending it


def learner(world: BufferEnvironment) -> Policy:
    """Return the policy that learns: DCB with the narrowest width that theory allows."""
    return UpperConfidence(world.problem, alpha=0.51)


def genie(world: BufferEnvironment) -> Policy:
    """Return the policy that knows the arms."""
    return Genie(world.problem, states=world.states)


def drifts(world: BufferEnvironment, kind: str) -> dict[str, Controller]:
    """Return drift plus penalty with every weight, for learned and for known arms."""
    return {
        f"drift plus penalty, V = {weight}{suffix}": DriftPlusPenalty(
            make(world), world.buffer, weight=weight
        )
        for suffix, make in (("", learner), (", arms known", genie))
        for weight in WEIGHTS[kind]
    }


def batteries(world: BufferEnvironment) -> dict[str, Controller]:
    """Return the controllers of the battery."""
    return {
        "spend all": Myopic(learner(world), world.buffer),
        "spend all, arms known": Myopic(genie(world), world.buffer),
        **drifts(world, "battery"),
        "plan": BatteryPlan(learner(world), world.buffer, arrivals=world.arrivals),
        "plan, arms known": BatteryPlan(genie(world), world.buffer, arrivals=world.arrivals),
    }


def backlogs(world: BufferEnvironment) -> dict[str, Controller]:
    """Return the controllers of the backlog."""
    return {
        **{
            f"ignore the queue, price {price:g}{suffix}": Myopic(
                make(world), world.buffer, price=price
            )
            for suffix, make in (("", learner), (", arms known", genie))
            for price in PRICES
        },
        **drifts(world, "backlog"),
        **{
            f"plan, holding {holding:g}": Planned(
                genie(world), world.buffer, world.best_plan(holding=holding, losing=LOSING)
            )
            for holding in HOLDINGS
        },
    }


def table(result: BufferResult, measures: dict[str, str], baseline: str) -> str:
    """Return a Markdown table of means ± the half-widths of their 95 % confidence intervals.

    The last column is the paired difference of the first measure to the baseline.
    """
    first, *_ = measures
    titles = [*measures.values(), f"{measures[first]}, difference to the first row"]
    lines = [f"| controller | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for row, difference in zip(result.rows(), result.rows(baseline), strict=True):
        cells = [*(_cell(row, measure) for measure in measures), _cell(difference, first)]
        lines.append(f"| {row['controller']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: dict[str, Any], measure: str) -> str:
    half = (row[f"{measure}_high"] - row[f"{measure}_low"]) / 2
    return f"{row[measure]:.4f} ± {half:.4f}"


def draw(battery: BufferResult, backlog: BufferResult, best: float, path: str) -> None:
    """Draw the reward over V, and the cost over the backlog."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - for drawing only

    with style():
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _reward_by_weight(left, battery, best)
        _cost_by_backlog(right, backlog)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        save(figure, path)


def _series(result: BufferResult, names: list[str], x: str, y: str) -> tuple[Any, Any, Any]:
    rows = {row["controller"]: row for row in result.rows()}
    picked = [rows[name] for name in names]
    halves = [(row[f"{y}_high"] - row[f"{y}_low"]) / 2 for row in picked]
    return [row[x] for row in picked], [row[y] for row in picked], halves


def _reward_by_weight(axes: Any, result: BufferResult, best: float) -> None:
    weights = WEIGHTS["battery"]
    for i, (label, suffix) in enumerate((("arms learned", ""), ("arms known", ", arms known"))):
        names = [f"drift plus penalty, V = {weight}{suffix}" for weight in weights]
        _, rewards, halves = _series(result, names, "level", "reward")
        axes.errorbar(
            weights, rewards, halves, color=COLOURS[i], marker=MARKERS[i], capsize=2,
            label=f"drift plus penalty, {label}",
        )  # fmt: skip
    axes.axhline(best, color=INK, linewidth=1.2, label="optimum (dynamic programming)")
    plan = float(result.of("plan").mean())
    axes.axhline(plan, color=COLOURS[2], linestyle="--", linewidth=1.2, label="plan, arms learned")
    greedy = float(result.of("spend all").mean())
    axes.axhline(greedy, color=COLOURS[3], linestyle=":", label="spend all")
    axes.set_xscale("log", base=2)
    axes.set_xticks(weights, [str(weight) for weight in weights])
    axes.set_xlabel("weight V")
    axes.set_ylabel("reward per slot")
    axes.set_ylim(bottom=0.06)
    axes.set_title("Battery of capacity 4")
    axes.legend(frameon=False, fontsize=8, loc="lower center")


def _cost_by_backlog(axes: Any, result: BufferResult) -> None:
    weights = WEIGHTS["backlog"]
    lines = [
        ("optimum", INK, None, [f"plan, holding {h:g}" for h in HOLDINGS]),
        ("drift plus penalty, arms learned", COLOURS[0], MARKERS[0],
         [f"drift plus penalty, V = {weight}" for weight in weights]),
        ("drift plus penalty, arms known", COLOURS[1], MARKERS[1],
         [f"drift plus penalty, V = {weight}, arms known" for weight in weights]),
        ("ignore the queue, arms learned", COLOURS[3], MARKERS[2],
         [f"ignore the queue, price {price:g}" for price in PRICES]),
        ("ignore the queue, arms known", COLOURS[4], MARKERS[3],
         [f"ignore the queue, price {price:g}, arms known" for price in PRICES]),
    ]  # fmt: skip
    for label, colour, marker, names in lines:
        levels, costs, halves = _series(result, names, "level", "cost")
        axes.errorbar(
            levels, costs, halves, color=colour, marker=marker, capsize=2, label=label,
            linestyle=":" if "ignore" in label else "-",
        )  # fmt: skip
    for row in result.rows():
        if row["lost"] > 0.01 * row["arrived"]:
            share = f"{100 * row['lost'] / row['arrived']:.0f} % of the bits lost"
            axes.annotate(
                share, (row["level"], row["cost"]), (-8, -8), fontsize=8, ha="right",
                textcoords="offset points",
            )  # fmt: skip
    axes.set_xscale("log")
    ticks = [5, 10, 20, 40, 80]
    axes.set_xticks(ticks, [str(value) for value in ticks])
    axes.minorticks_off()
    axes.set_xlabel("bits waiting, mean")
    axes.set_ylabel("cost per slot")
    axes.set_title("Backlog: cost against waiting")
    axes.set_ylim(top=0.54)
    axes.legend(frameon=False, fontsize=8, loc="upper right")


def measure(
    world: BufferEnvironment, controllers: dict[str, Controller], told: Any, executor: Executor
) -> BufferResult:
    """Run the controllers and show the progress."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("replications", total=told.replications)
        return simulate_buffer(
            world,
            controllers,
            horizon=told.horizon,
            replications=told.replications,
            seed=SEED,
            executor=executor,
            progress=lambda done, _: bar.update(task, completed=done),
        )


def main() -> None:
    """Run both comparisons, print the tables and draw the figure if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=8)
    parser.add_argument("--figure", help="the file to draw to, such as docs/figures/queues.svg")
    told = parser.parse_args()
    battery, backlog = harvesting_battery(), metered_backlog()
    best = battery.best_plan().value
    with open_executor("processes") as executor:
        energy = measure(battery, batteries(battery), told, executor)
        bits = measure(backlog, backlogs(backlog), told, executor)
    shown = {"reward": "reward", "level": "energy stored", "lost": "energy lost"}
    print(table(energy, shown, energy.controllers[0]))
    print(f"\noptimum, in the long run: {best:.4f}\n")
    shown = {"cost": "cost", "level": "bits waiting", "lost": "bits lost"}
    print(table(bits, shown, bits.controllers[0]))
    if told.figure:
        draw(energy, bits, best, told.figure)


if __name__ == "__main__":
    main()
