"""Many replications of several policies on one environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onepull.environment.environment import Environment, Piece
from onepull.errors import ParameterError
from onepull.formula import Array
from onepull.payoff.written import WrittenPayoff
from onepull.policies import Policy
from onepull.problem import Problem
from onepull.simulation import kernels
from onepull.simulation.draws import keys
from onepull.simulation.formulas import machine_code
from onepull.simulation.kernels import Stretch, Tally
from onepull.simulation.plans import World, plan
from onepull.simulation.result import Block, Result, joined

STRETCH = 8192
SECONDS_A_TASK = 0.5
NODES = (16, 64, 256)


class Simulation:
    """A fully stated simulation: what to run, and from which seed.

    The regrets of a replication depend on nothing but the statement and its number, so
    blocks may run anywhere and in any order.

    Parameters
    ----------
    environment
        Where to run.
    policies
        Fresh policies of the environment's problem, by the name they go by in the results.
    horizon
        The number of trials.
    seed, experiment
        Where the draws come from: replication r uses SeedSequence(seed, (experiment, r)).
    checkpoints
        The trials at which regret and pulls are written down; spread evenly on a
        logarithmic scale if not given.  The horizon is always among them.
    """

    def __init__(  # noqa: PLR0913 - a full statement
        self,
        environment: Environment,
        policies: Mapping[str, Policy],
        *,
        horizon: int,
        seed: int = 0,
        experiment: int = 0,
        checkpoints: Iterable[int] | None = None,
    ) -> None:
        self.environment = environment
        self.policies = dict(policies)
        self.horizon = _whole("horizon", horizon)
        self.seed = _whole("seed", seed, least=0)
        self.experiment = _whole("experiment", experiment, least=0)
        arms = len(environment.problem.arms)
        if self.horizon < arms:
            raise ParameterError(
                f"horizon must be at least the number of arms, {arms}, given {horizon}"
            )
        if not self.policies:
            raise ParameterError("a simulation needs at least one policy, given none")
        for name, policy in self.policies.items():
            _check_policy(name, policy, environment.problem)
        self.checkpoints = _checkpoints(checkpoints, self.horizon)

    def __reduce__(self) -> Any:
        """Travel to other processes as the statement alone."""
        told = {
            "horizon": self.horizon,
            "seed": self.seed,
            "experiment": self.experiment,
            "checkpoints": self.checkpoints.tolist(),
        }
        return _rebuilt, (self.environment, self.policies, told)

    @cached_property
    def _worlds(self) -> list[World]:
        g = machine_code(self.environment.problem.payoff)
        return [World(self.environment, piece, g) for piece in self.environment.pieces()]

    @cached_property
    def _plans(self) -> list[Any]:
        return [plan(p, self.environment, self.horizon) for p in self.policies.values()]

    @cached_property
    def _references(self) -> list[_Reference]:
        return [_Reference(self.environment, world) for world in self._worlds]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about how this runs."""
        slow = [n for n, p in zip(self.policies, self._plans, strict=True) if not p.is_compiled]
        found = [
            f"{name} has no compiled step and runs in the interpreter, about 100 times slower"
            for name in slow
        ]
        found += [note for reference in self._references for note in reference.notes]
        return list(dict.fromkeys(found))

    def block(self, start: int, stop: int) -> Block:
        """Run replications `start` to `stop` of every policy."""
        count, marks = stop - start, len(self.checkpoints)
        arms = len(self.environment.problem.arms)
        shape = (len(self.policies), marks, arms)
        regrets = np.zeros((len(self.policies), count, marks))
        pulls, best = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for r in range(count):
            for p, tally in enumerate(self._replication(start + r)):
                regrets[p, r] = tally.regrets
                pulls[p] += tally.pulls_at
                best[p] += tally.best_pulls_at
        return Block(start, stop, regrets, pulls, best)

    def _replication(self, number: int) -> list[Tally]:
        arms, marks = len(self.environment.problem.arms), len(self.checkpoints)
        key, own_key = keys(self.seed, self.experiment, number)
        runners = [plan.begin() for plan in self._plans]
        tallies = [_tally(arms, marks) for _ in runners]
        starts = [world.piece.start for world in self._worlds]
        for w, (world, reference) in enumerate(zip(self._worlds, self._references, strict=True)):
            end = min(self.horizon, [*starts, self.horizon][w + 1])
            for first in range(starts[w], end, STRETCH):
                stretch = self._stretch(first, min(first + STRETCH, end), key, own_key, reference)
                for runner, tally in zip(runners, tallies, strict=True):
                    runner.run(stretch, world, tally)
        return tallies

    def _stretch(
        self, first: int, stop: int, key: Any, own_key: Any, reference: _Reference
    ) -> Stretch:
        count = stop - first
        rows = np.empty(count, np.int64)
        contexts = np.empty((count, len(self.environment.problem.context)))
        arms = len(self.environment.problem.arms)
        kernels.arrivals(first, key, reference.world.arrivals, arms, rows, contexts)
        gaps = reference.gaps(rows, contexts)
        return Stretch(first, key, own_key, rows, contexts, gaps, self.checkpoints)

    def block_size(self) -> int:
        """Return how many replications make a task that is worth sending."""
        plans = self._plans
        nanoseconds = sum(60.0 if p.is_compiled else 8000.0 for p in plans) * self.horizon
        return max(1, int(SECONDS_A_TASK * 1e9 / nanoseconds))

    def result(self, blocks: Iterable[Block]) -> Result:
        """Put blocks together."""
        regrets, pulls, best = joined(blocks)
        return Result(
            policies=list(self.policies),
            parameters=[_columns(policy) for policy in self.policies.values()],
            arms=list(self.environment.problem.arms),
            checkpoints=self.checkpoints,
            regrets=regrets,
            pulls=pulls,
            best_pulls=best,
            storage=[policy.storage for policy in self.policies.values()],
            notes=self.notes,
        )


class _Reference:
    """The gaps of one piece: a table over atoms, or worked out for each context."""

    def __init__(self, environment: Environment, world: World) -> None:
        self.world = world
        self.notes: list[str] = []
        payoff = environment.problem.payoff
        bounds = payoff.whole_range
        self._nodes = self._weights = np.zeros(0)
        self._starts = self._used = np.zeros(0, np.int64)
        self._slack = 1e-12 * max(1.0, abs(bounds[0]), abs(bounds[1]))
        self._table: Array | None = None
        if world.contexts is not None:
            self._table = environment.gaps(world.contexts, world.piece)
            return
        if not isinstance(payoff, WrittenPayoff):
            raise ParameterError(
                "the gaps of a reward in Python code over continuous contexts cannot be "
                "compiled: state the reward as a formula, or list the contexts"
            )
        self._rule(environment, world.piece)

    def _rule(self, environment: Environment, piece: Piece) -> None:
        """Take each law's rule, finer until the mean rewards settle."""
        payoff = environment.problem.payoff
        sample = piece.contexts.sample(np.random.default_rng(0), 32)
        columns = [column[:, None] for column in sample.T]
        before: Array | None = None
        change = 0.0
        for fineness in NODES:
            rules = [law.rule(fineness) for law in piece.states]
            means = np.column_stack([payoff.vector(*columns, *x.T) @ w for x, w in rules])
            change = 0.0 if before is None else float(np.max(np.abs(means - before)))
            if all(law.atoms is not None for law in piece.states) or (
                before is not None and change <= 1e-10
            ):
                break
            before = means
        if change > 1e-10:
            self.notes.append(f"mean rewards are good to about {change:.0e}")
        # Arms that share atoms share the work: the reward is computed once at each.
        nodes, used = np.unique(np.vstack([x for x, _ in rules]), axis=0, return_inverse=True)
        self._nodes, self._used = np.ascontiguousarray(nodes), used.ravel().astype(np.int64)
        self._weights = np.concatenate([w for _, w in rules])
        self._starts = np.cumsum([0, *(len(w) for _, w in rules)]).astype(np.int64)

    def gaps(self, rows: NDArray[np.int64], contexts: Array) -> Array:
        """Return the gaps; rows are set to number the contexts where there is no table."""
        if self._table is not None:
            return self._table
        rows[:] = np.arange(len(rows))
        gaps = np.empty((len(rows), len(self._starts) - 1))
        kernels.shortfalls(
            contexts,
            self._nodes,
            self._starts,
            self._used,
            self._weights,
            self.world.g,
            self._slack,
            gaps,
        )
        return gaps


def simulate(  # noqa: PLR0913 - a full statement
    environment: Environment,
    policies: Mapping[str, Policy] | Sequence[Policy],
    *,
    horizon: int,
    replications: int,
    seed: int = 0,
    checkpoints: Iterable[int] | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Run policies on an environment and return what they lost.

    Every policy meets the same contexts and the same states, so that their differences
    are their own.  Replications run on all cores, or on any `concurrent.futures` executor.

    Parameters
    ----------
    policies
        Fresh policies, by name or in a list.
    progress
        Called with the replications done and the replications in all.

    Examples
    --------
    >>> from onepull import DCB, MultiUCB
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(4)
    >>> result = simulate(
    ...     channels,
    ...     {"DCB": DCB(channels.problem), "Multi-UCB": MultiUCB(channels.problem)},
    ...     horizon=10_000, replications=20, seed=1,
    ... )
    >>> bool(result.regret("DCB").mean() < 0.05 * result.regret("Multi-UCB").mean())
    True
    """
    named = policies if isinstance(policies, Mapping) else _named(policies)
    simulation = Simulation(environment, named, horizon=horizon, seed=seed, checkpoints=checkpoints)
    count = _whole("replications", replications)
    tasks = blocks_of(count, simulation.block_size(), workers())
    found: list[Block] = []
    owned = None if executor is not None else ThreadPoolExecutor(workers())
    pool = executor or owned
    assert pool is not None  # noqa: S101 - one of the two
    try:
        futures = [pool.submit(simulation.block, start, stop) for start, stop in tasks]
        done = 0
        for future in as_completed(futures):
            block = future.result()
            found.append(block)
            done += block.stop - block.start
            if progress is not None:
                progress(done, count)
    finally:
        if owned is not None:
            owned.shutdown(cancel_futures=True)
    return simulation.result(found)


def workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks_of(count: int, size: int, pool: int) -> list[tuple[int, int]]:
    """Cut replications into blocks, no larger than leaves work for every worker."""
    size = max(1, min(size, -(-count // pool)))
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def _tally(arms: int, marks: int) -> Tally:
    return Tally(
        total=np.zeros(1),
        mark=np.zeros(1, np.int64),
        pulls=np.zeros(arms, np.int64),
        best_pulls=np.zeros(arms, np.int64),
        regrets=np.zeros(marks),
        pulls_at=np.zeros((marks, arms), np.int64),
        best_pulls_at=np.zeros((marks, arms), np.int64),
    )


def _rebuilt(environment: Environment, policies: dict[str, Policy], told: dict[str, Any]) -> Any:
    return Simulation(environment, policies, **told)


def _whole(name: str, value: Any, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} must be a whole number from {least}, given {value!r}")
    return int(value)


def _checkpoints(given: Iterable[int] | None, horizon: int) -> NDArray[np.int64]:
    if given is None:
        points = np.unique(np.geomspace(1, horizon, 64).round().astype(np.int64))
    else:
        points = np.unique([_whole("a checkpoint", point) for point in given])
        if len(points) and points[-1] > horizon:
            raise ParameterError(f"checkpoint {points[-1]} is beyond the horizon of {horizon}")
    if not len(points) or points[-1] != horizon:
        points = np.append(points, horizon)
    return points.astype(np.int64)


def _check_policy(name: str, policy: Any, problem: Problem) -> None:
    if not isinstance(policy, Policy):
        raise ParameterError(f"policy {name!r} is not a Policy but {policy!r}")
    if policy.problem != problem:
        raise ParameterError(f"policy {name!r} is for another problem than the environment")
    if policy.trials:
        raise ParameterError(f"policy {name!r} has learned already; give a fresh one")


def _named(policies: Sequence[Policy]) -> dict[str, Policy]:
    named: dict[str, Policy] = {}
    for policy in policies:
        stated = ", ".join(f"{k}={v!r}" for k, v in _columns(policy).items())
        name = f"{type(policy).__name__}({stated})" if stated else type(policy).__name__
        if name in named:
            raise ParameterError(f"two policies are called {name}; give them names")
        named[name] = policy
    return named


def _columns(policy: Policy) -> dict[str, Any]:
    return {k: v for k, v in policy.parameters.items() if isinstance(v, (int, float, str))}
