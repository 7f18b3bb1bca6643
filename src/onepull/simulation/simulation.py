"""A simulation of several policies on one environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.checks import shown, whole_number
from onepull.environment.environment import Environment
from onepull.errors import ParameterError
from onepull.policies import Policy
from onepull.problem import Problem
from onepull.simulation import trials
from onepull.simulation.budget import Funds
from onepull.simulation.compiled_formula import machine_code
from onepull.simulation.draws import keys
from onepull.simulation.feedback import (
    announced_policies,
    check_feedback,
    feedback_by_policy,
)
from onepull.simulation.limits import number_of_trials
from onepull.simulation.prepare import prepare
from onepull.simulation.prepared import Arms
from onepull.simulation.result import Block, Result, Trace, joined_blocks
from onepull.simulation.trials import Account, Stretch
from onepull.simulation.truth import Reference
from onepull.simulation.world import World

STRETCH = 16384
SECONDS_A_TASK = 0.5


class Simulation:
    """A simulation with all its settings, including the seed.

    The regret of a replication depends only on the settings and on its number, so blocks of
    replications may run anywhere and in any order.

    If the environment has a budget, regret is measured against the best mixture of arms that the
    budget pays for over the horizon.  The regret of a trial is what this mixture earns on average
    minus what the chosen arm earns on average (or actually, if `realised`), so it may be negative.
    From the first pull that the budget cannot pay for, nothing is pulled or earned.

    Parameters
    ----------
    environment
        The environment.
    policies
        New policies for the environment's problem, by their names in the results.
    horizon
        The number of trials.
    seed, experiment
        Seeds of the random numbers: replication r uses SeedSequence(seed, (experiment, r)).
    checkpoints
        The trials at which regret and pulls are recorded; by default spaced evenly on a
        logarithmic scale.  The horizon is always one of them.
    realised
        Measure realised instead of expected regret: the reward that the genie's arm would have
        given at that trial minus the reward of the chosen arm.
    feedback
        What a pull shows: its "state" or only its "reward".  One value for all policies, or a
        mapping by policy name; policies that are not named get "state".
    announced
        The names of the policies to which each pull is reported at once (`Policy.pulled`), so
        that they count pulls in flight if feedback is late.  `gave_up` is never called.
    """

    def __init__(  # noqa: PLR0913 - all are keyword-only
        self,
        environment: Environment,
        policies: Mapping[str, Policy],
        *,
        horizon: int,
        seed: int = 0,
        experiment: int = 0,
        checkpoints: Iterable[int] | None = None,
        realised: bool = False,
        feedback: str | Mapping[str, str] = "state",
        announced: Iterable[str] = (),
    ) -> None:
        self.environment = environment
        self.policies = dict(policies)
        self.horizon = number_of_trials(horizon)
        self.seed = whole_number("seed", seed, least=0, most=None)
        self.experiment = whole_number("experiment", experiment, least=0)
        self.realised = realised
        self.feedback = feedback_by_policy(feedback, self.policies)
        self.announced = announced_policies(announced, self.policies)
        arms = len(environment.problem.arms)
        if self.horizon < arms:
            raise ParameterError(
                f"horizon must be at least the number of arms, {arms}, given {horizon}"
            )
        if not self.policies:
            raise ParameterError("a simulation needs at least one policy, given none")
        for name, policy in self.policies.items():
            _check_policy(name, policy, environment.problem)
            if self.feedback[name] == "reward":
                check_feedback(name, policy, environment)
        self.checkpoints = _checkpoints(checkpoints, self.horizon)

    def __reduce__(self) -> Any:
        """Pickle the settings only."""
        told = {
            "horizon": self.horizon,
            "seed": self.seed,
            "experiment": self.experiment,
            "checkpoints": self.checkpoints.tolist(),
            "realised": self.realised,
            "feedback": self.feedback,
            "announced": self.announced,
        }
        return _rebuilt, (self.environment, self.policies, told)

    @cached_property
    def _worlds(self) -> list[World]:
        g = machine_code(self.environment.problem.payoff)
        return [World(self.environment, piece, g) for piece in self.environment.pieces()]

    @cached_property
    def _prepared(self) -> list[Any]:
        return [
            prepare(
                policy,
                self.environment,
                self.horizon,
                sees_states=self.feedback[name] == "state",
                announced=name in self.announced,
            )
            for name, policy in self.policies.items()
        ]

    @cached_property
    def _references(self) -> list[Reference]:
        return [Reference(self.environment, world) for world in self._worlds]

    @cached_property
    def _funds(self) -> Funds | None:
        has_budget = self.environment.budget is not None
        return Funds(self.environment, self.horizon) if has_budget else None

    def prepare(self) -> None:
        """Build all tables, which raises an error for what cannot be simulated."""
        _ = self._worlds, self._prepared, self._references, self._funds

    @property
    def notes(self) -> list[str]:
        """Remarks about how the simulation runs, for the reader of its results."""
        found = [
            f"{name} has no compiled step and runs in the interpreter, about 100 times slower"
            + (f": {prepared.reason}" if prepared.reason else "")
            for name, prepared in zip(self.policies, self._prepared, strict=True)
            if not prepared.is_compiled
        ]
        if self.realised:
            found.append(
                "regret is realised: differences of rewards at the same draws, not of means"
            )
        if blind := [name for name, shown in self.feedback.items() if shown == "reward"]:
            found.append(f"a pull shows only its reward to {', '.join(blind)}")
        if self.environment.is_late:
            counted = f"pulls in flight count for {', '.join(self.announced) or 'no policy'}"
            found.append(f"feedback comes late or never; {counted}")
        found += self._funds.notes if self._funds else []
        found += [note for reference in self._references for note in reference.notes]
        return list(dict.fromkeys(found))

    def block(self, start: int, stop: int) -> Block:
        """Run replications `start` to `stop` - 1 of all policies."""
        count, marks = stop - start, len(self.checkpoints)
        arms = len(self.environment.problem.arms)
        shape = (len(self.policies), marks, arms)
        regrets = np.zeros((len(self.policies), count, marks))
        pulls, best = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for r in range(count):
            for p, account in enumerate(self._replication(start + r)):
                regrets[p, r] = account.regrets
                pulls[p] += account.pulls_at
                best[p] += account.best_pulls_at
        return Block(start, stop, regrets, pulls, best)

    def _replication(self, number: int) -> list[Account]:
        arms, marks = len(self.environment.problem.arms), len(self.checkpoints)
        accounts = [_account(arms, marks) for _ in self.policies]
        for stretch, chosen, losses, lost in self._stretches(number):
            for account, arms_pulled in zip(accounts, chosen, strict=True):
                trials.follow(stretch, arms_pulled, losses, lost, self.checkpoints, account)
        return accounts

    def trace(self, number: int) -> Trace:
        """Return one replication trial by trial; its memory grows with the horizon."""
        parts = [
            (stretch.contexts, np.array(chosen), np.array([losses[lost, arms] for arms in chosen]))
            for stretch, chosen, losses, lost in self._stretches(number)
        ]
        contexts, arms, losses = zip(*parts, strict=True)
        return Trace(
            policies=list(self.policies),
            contexts=np.concatenate(contexts),
            arms=np.concatenate(arms, axis=1),
            regrets=np.cumsum(np.concatenate(losses, axis=1), axis=1),
        )

    def _stretches(self, number: int) -> Iterator[tuple[Stretch, list[Arms], Array, Arms]]:
        """Yield stretches, the arms that each policy chose, and the losses of the arms."""
        key, own_key = keys(self.seed, self.experiment, number)
        # A policy's random key depends on its name, so that other policies do not affect it.
        own_keys = [int(own_key) ^ (crc32(name.encode()) << 16) for name in self.policies]
        runners = [one.begin(own) for one, own in zip(self._prepared, own_keys, strict=True)]
        purses = [self._funds.purse() for _ in runners] if self._funds else []
        starts = [world.piece.start for world in self._worlds]
        for w, (world, reference) in enumerate(zip(self._worlds, self._references, strict=True)):
            end = min(self.horizon, [*starts, self.horizon][w + 1])
            for first in range(starts[w], end, STRETCH):
                stretch = self._stretch(first, min(first + STRETCH, end), key, reference)
                chosen = [np.empty(len(stretch.rows), np.int64) for _ in runners]
                for runner, arms in zip(runners, chosen, strict=True):
                    runner.run(stretch, world, arms)
                for purse, arms in zip(purses, chosen, strict=False):
                    purse.pay(arms)
                yield stretch, chosen, *self._losses(stretch, reference)

    def _losses(self, stretch: Stretch, reference: Reference) -> tuple[Array, Arms]:
        """Return rows with the loss of each arm, and the row number of each trial."""
        funds = self._funds
        if self.realised:
            rewards = reference.drawn_rewards(stretch)
            each = reference.realised(stretch, rewards) if not funds else funds.losses(rewards)
            return each, np.arange(len(stretch.rows))
        if funds is None:
            return stretch.gaps, stretch.rows
        return funds.losses(reference.mean_rewards(stretch.contexts)), stretch.rows

    def _stretch(self, first: int, stop: int, key: Any, reference: Reference) -> Stretch:
        count = stop - first
        rows = np.empty(count, np.int64)
        contexts = np.empty((count, len(self.environment.problem.context)))
        arms = len(self.environment.problem.arms)
        trials.arrivals(first, key, reference.world.arrivals, arms, rows, contexts)
        return Stretch(first, key, rows, contexts, reference.gaps(contexts))

    def block_size(self) -> int:
        """Return the number of replications that take about `SECONDS_A_TASK`."""
        prepared = self._prepared
        truth = sum(reference.nanoseconds for reference in self._references)
        nanoseconds = (truth + sum(one.nanoseconds for one in prepared)) * self.horizon
        return max(1, int(SECONDS_A_TASK * 1e9 / nanoseconds))

    def result(self, blocks: Iterable[Block]) -> Result:
        """Return the result of all blocks together."""
        regrets, pulls, best = joined_blocks(blocks)
        return Result(
            policies=list(self.policies),
            parameters=[plain_parameters(policy) for policy in self.policies.values()],
            arms=list(self.environment.problem.arms),
            checkpoints=self.checkpoints,
            regrets=regrets,
            pulls=pulls,
            best_pulls=best,
            storage=[p.storage_after(self.horizon) for p in self.policies.values()],
            notes=self.notes,
        )


def _account(arms: int, marks: int) -> Account:
    return Account(
        total=np.zeros(1),
        mark=np.zeros(1, np.int64),
        pulls=np.zeros(arms + 1, np.int64),
        best_pulls=np.zeros(arms + 1, np.int64),
        regrets=np.zeros(marks),
        pulls_at=np.zeros((marks, arms), np.int64),
        best_pulls_at=np.zeros((marks, arms), np.int64),
    )


def _rebuilt(environment: Environment, policies: dict[str, Policy], told: dict[str, Any]) -> Any:
    return Simulation(environment, policies, **told)


def _checkpoints(given: Iterable[int] | None, horizon: int) -> NDArray[np.int64]:
    if given is None:
        points = np.unique(np.geomspace(1, horizon, 64).round().astype(np.int64))
    else:
        points = np.unique([whole_number("a checkpoint", point) for point in given])
        if len(points) and points[-1] > horizon:
            raise ParameterError(f"checkpoint {points[-1]} is beyond the horizon of {horizon}")
    if not len(points) or points[-1] != horizon:
        points = np.append(points, horizon)
    return points.astype(np.int64)


def _check_policy(name: str, policy: Any, problem: Problem) -> None:
    if not isinstance(policy, Policy):
        raise ParameterError(f"policy {name!r} must be a Policy, given {shown(policy)}")
    if policy.problem != problem:
        raise ParameterError(f"policy {name!r} is for another problem than the environment")
    if not policy.is_fresh:
        raise ParameterError(f"policy {name!r} has learned already; give a new one")


def plain_parameters(policy: Policy) -> dict[str, Any]:
    """Return the parameters of a policy as columns of a table; mappings get a column per key."""
    columns: dict[str, Any] = {}
    for name, value in policy.parameters.items():
        parts = value if isinstance(value, dict) else {"": value}
        for field, part in parts.items():
            if isinstance(part, (int, float)) or (isinstance(part, str) and not field):
                columns[f"{name}.{field}" if field else name] = part
    return columns
