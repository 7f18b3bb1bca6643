"""Simulate environments with a buffer: every controller meets the same arrivals and states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, as_completed
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from onepull.arrays import Array
from onepull.checks import whole_number
from onepull.control import Controller
from onepull.control.buffer_environment import BufferEnvironment
from onepull.errors import ParameterError
from onepull.html import block, printable, table
from onepull.simulation.executors import open_executor
from onepull.simulation.limits import MOST_SLOTS, number_of_replications, number_of_trials
from onepull.simulation.result import mean_and_error, student

# What is recorded of a run.  All but the last two are averages over its slots.
MEASURES = ("reward", "cost", "arrived", "drained", "lost", "pulls", "level", "level_95", "end")


@dataclass(frozen=True, slots=True)
class BufferResult:
    """Rewards, costs, losses and levels of every controller in every replication.

    Attributes
    ----------
    controllers
        Their names, in order.
    horizon
        The number of slots.
    measured
        Arrays `[controller, replication]`, by name.  Averages per slot: `reward`, `cost`,
        `arrived`, `drained`, `lost` (what found the buffer full), `pulls` and `level`.
        Also `level_95`, the 95 % quantile of the level, and `end`, the level after the last
        slot.

    Examples
    --------
    >>> result = BufferResult(["all"], 10, {"reward": np.array([[1.0, 3.0]])})
    >>> row = result.rows()[0]
    >>> row["reward"], round(row["reward_low"], 1), round(row["reward_high"], 1)
    (2.0, -10.7, 14.7)
    """

    controllers: list[str]
    horizon: int
    measured: dict[str, Array]

    def rows(self, baseline: str | None = None) -> list[dict[str, Any]]:
        """Return a row for each controller: means with their 95 % confidence intervals.

        With a baseline, the rows hold the paired differences to that controller.
        """
        if baseline is not None and baseline not in self.controllers:
            raise ParameterError(
                f"unknown baseline {baseline!r}; there are {', '.join(self.controllers)}"
            )
        found = []
        for c, name in enumerate(self.controllers):
            row: dict[str, Any] = {"controller": name, "horizon": self.horizon}
            for measure, values in self.measured.items():
                own = values[c]
                if baseline is not None:
                    own = own - values[self.controllers.index(baseline)]
                mean, error = mean_and_error(own)
                half = student(len(own)) * error
                row[measure] = mean
                row[f"{measure}_low"], row[f"{measure}_high"] = mean - half, mean + half
            found.append(row)
        return found

    def __str__(self) -> str:
        """Show the mean of every measure that is not 0 everywhere, by controller.

        >>> rewards = np.array([[1.0, 3.0], [0.0, 0.0]])
        >>> print(BufferResult(["all", "none"], 10, {"reward": rewards}))
        10 slots, 2 replications; means per slot
                reward
          all        2
          none       0
        """
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            f"  {row[0]:<{widths[0]}}  "
            + "  ".join(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))
            for row in cells
        ]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        """Return the same table for a notebook.

        >>> result = BufferResult(["all"], 10, {"reward": np.array([[1.0, 3.0]])})
        >>> "10 slots" in result._repr_html_()
        True
        """
        head, *rows = self._cells()
        return block(table(self._title(), head, rows))

    def _title(self) -> str:
        return f"{self.horizon:,} slots, {self.replications} replications; means per slot"

    def _cells(self) -> list[list[str]]:
        kept = [name for name, values in self.measured.items() if values.any()]
        rows = [
            [printable(row["controller"]), *(f"{row[m]:.4g}" for m in kept)] for row in self.rows()
        ]
        return [["", *kept], *rows]

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(next(iter(self.measured.values())).shape[1])

    def of(self, controller: str, measure: str = "reward") -> Array:
        """Return one measure of one controller, a number for each replication.

        >>> result = BufferResult(["all"], 10, {"reward": np.array([[1.0, 3.0]])})
        >>> result.of("all", "reward")
        array([1., 3.])
        """
        found: Array = self.measured[measure][self.controllers.index(controller)]
        return found


def simulate_buffer(  # noqa: PLR0913 - a full statement
    environment: BufferEnvironment,
    controllers: Mapping[str, Controller],
    *,
    horizon: int,
    replications: int,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BufferResult:
    """Run controllers on an environment with a buffer, which starts empty.

    All controllers meet the same arrivals and the same states.  Slots run in the interpreter,
    at some tens of microseconds each; give an executor of processes
    (`open_executor("processes")`) to use all cores.  Needs the `simulate` extra.

    Parameters
    ----------
    controllers
        Controllers with fresh policies, by name.
    horizon
        The number of slots of each replication.
    replications
        The number of independent runs.
    executor
        Where to run; this thread by default.
    progress
        A function that is called with the number of replications done and in total.

    Examples
    --------
    >>> from onepull import DCB
    >>> from onepull.control import DriftPlusPenalty, Myopic
    >>> from onepull.control import harvesting_battery
    >>> world = harvesting_battery(capacity=4)
    >>> result = simulate_buffer(world, {
    ...     "spend all": Myopic(DCB(world.problem), world.buffer),
    ...     "drift": DriftPlusPenalty(DCB(world.problem), world.buffer, weight=2.0),
    ... }, horizon=2000, replications=4, seed=1)
    >>> bool((result.of("drift") > 1.2 * result.of("spend all")).all())
    True
    """
    simulation = BufferSimulation(environment, controllers, horizon=horizon, seed=seed)
    count = number_of_replications(replications)
    if executor is not None:
        return simulation.result(_run(simulation, count, executor, progress))
    with open_executor("serial") as serial:
        return simulation.result(_run(simulation, count, serial, progress))


def _run(
    simulation: BufferSimulation,
    count: int,
    executor: Executor,
    progress: Callable[[int, int], None] | None,
) -> Array:
    measured = np.empty((len(MEASURES), len(simulation.controllers), count))
    for done, (number, found) in enumerate(replicated(simulation, range(count), executor), start=1):
        measured[:, :, number] = found
        if progress is not None:
            progress(done, count)
    return measured


def replicated(
    simulation: BufferSimulation, numbers: Iterable[int], executor: Executor
) -> Iterator[tuple[int, Array]]:
    """Yield the number and the measures of each replication as soon as it is done.

    >>> from onepull import DCB
    >>> from onepull.control import Myopic
    >>> from onepull.control import harvesting_battery
    >>> world = harvesting_battery()
    >>> spend_all = Myopic(DCB(world.problem), world.buffer)
    >>> simulation = BufferSimulation(world, {"spend all": spend_all}, horizon=10)
    >>> with open_executor("serial") as executor:
    ...     [(number, found.shape) for number, found in replicated(simulation, [4], executor)]
    [(4, (9, 1))]
    """
    number_of = {executor.submit(simulation.replication, number): number for number in numbers}
    for future in as_completed(number_of):
        yield number_of[future], future.result()


class BufferSimulation:
    """What to simulate.  A replication depends on this and on its number, and nothing else."""

    def __init__(
        self,
        environment: BufferEnvironment,
        controllers: Mapping[str, Controller],
        *,
        horizon: int,
        seed: int = 0,
    ) -> None:
        if not isinstance(environment, BufferEnvironment):
            raise ParameterError(f"environment must be a BufferEnvironment, given {environment!r}")
        self.environment, self.controllers = environment, dict(controllers)
        self.horizon = number_of_trials(horizon, MOST_SLOTS)
        self.seed = whole_number("seed", seed, least=0, most=None)
        if not self.controllers:
            raise ParameterError("a simulation needs at least one controller, given none")
        for name, controller in self.controllers.items():
            if controller.policy.problem != environment.problem:
                raise ParameterError(
                    f"controller {name!r} is for another problem than the environment"
                )
            if not controller.policy.is_fresh:
                raise ParameterError(
                    f"the policy of {name!r} has learned already; give a fresh one"
                )

    def replication(self, number: int) -> Array:
        """Return every measure of every controller: `[measure, controller]`."""
        from onepull.simulation.draws import keys  # noqa: PLC0415 - loads the compiler

        key, own_key = keys(self.seed, 0, number)
        luck = Luck(self.environment, self.horizon, key)
        measured = np.empty((len(MEASURES), len(self.controllers)))
        for c, (name, controller) in enumerate(self.controllers.items()):
            twin = deepcopy(controller)
            if twin.policy.draws:
                twin.policy.reseed(int(own_key) ^ (crc32(name.encode()) << 16))
            measured[:, c] = run_controller(self.environment, twin, luck)
        return measured

    def result(self, measured: Array) -> BufferResult:
        """Put the measures of all replications together."""
        tables = dict(zip(MEASURES, measured, strict=True))
        return BufferResult(list(self.controllers), self.horizon, tables)


class Luck:
    """The arrivals, and the states of all arms, in every slot of one replication."""

    def __init__(self, environment: BufferEnvironment, horizon: int, key: Any) -> None:
        from onepull.simulation import trials  # noqa: PLC0415 - loads the compiler
        from onepull.simulation.law_tables import tabulate  # noqa: PLC0415 - the same

        problem, arms = environment.problem, len(environment.problem.arms)
        shown = np.empty((horizon, arms, len(problem.outcome)))
        trials.potential_states(0, key, tabulate(list(environment.outcomes.values())), shown)
        arrived = np.empty((horizon, 1))
        rows = np.empty(horizon, np.int64)
        trials.arrivals(0, key, tabulate([environment.arrivals]), arms, rows, arrived)
        columns = [shown[:, :, f] for f in range(shown.shape[2])]
        self.states = shown.tolist()
        self.arrived = arrived[:, 0].tolist()
        self.rewards = {
            amount: np.broadcast_to(
                problem.payoff.vector(amount, *columns), (horizon, arms)
            ).tolist()
            for amount in environment.buffer.amounts
        }


def run_controller(
    environment: BufferEnvironment, controller: Controller, luck: Luck
) -> list[float]:
    """Return the measures of one controller on given arrivals and states."""
    buffer, problem = environment.buffer, environment.problem
    position = {arm: j for j, arm in enumerate(problem.arms)}
    horizon = len(luck.arrived)
    levels = np.empty(horizon)
    level = reward = cost = drained = lost = 0.0
    pulls = 0
    for slot, arrived in enumerate(luck.arrived):
        levels[slot] = level
        amount, arm = controller.decide(level)
        drain = 0.0
        if arm is not None:
            j = position[arm]
            earned = luck.rewards[amount][slot][j]
            drain = buffer.drain(amount, earned)
            reward, cost, pulls = reward + earned, cost + buffer.costs.get(arm, 0.0), pulls + 1
            told = problem.told(luck.states[slot][j])
            controller.observe(arm, **{environment.field: amount}, **told)
        level, over = buffer.refilled(level, drain, arrived)
        drained, lost = drained + drain, lost + over
    totals = np.array([reward, cost, sum(luck.arrived), drained, lost, pulls]) / horizon
    return [*totals.tolist(), float(levels.mean()), float(np.quantile(levels, 0.95)), level]
