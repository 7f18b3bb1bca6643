"""What benchmarks play: policies of onepull, the few lines people write, and other packages.

A player is made for a problem and a seed.  It chooses an arm for a context, and is told everything
about a pull: the context, the state that it showed (or that it failed) and the reward.  It uses
what it can.  A name says which player is meant:

    AdaptiveKL                  any policy of onepull, or `recommended`
    AdaptiveKL(kept=64)         the same with arguments, separated by `;`
    package.module:Class          any class with choose(**context) and observe(arm, **state)
    EWMA-0.1-0.05                 a moving average of the states put into the reward, with
                                  its rate and its chance of exploring
    eps-0.05                      `Greedy`, exploring with this chance
    river-LinUCB-1                river's LinUCBDisjoint with this beta
    mabwiser-LinUCB-1             MABWiser's LinUCB with this alpha; also LinTS
"""

from __future__ import annotations

import ast
import itertools
import math
import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

from onepull import Greedy, Interval, Problem, recommended
from onepull.policies.registry import registered
from onepull.spaces import FAILED

Fields: TypeAlias = Mapping[str, Any]
SCALE = 10.0  # of rewards without bounds, for peers
CELLS = 80  # into which an interval of contexts is cut
CELLED = ("CCB", "Greedy", "EpsilonGreedy", "KLUCB", "DSEE", "UpperConfidence")  # need cells


class Player(Protocol):
    """Chooses arms and learns from pulls."""

    def choose(self, context: Fields, eligible: Collection[str] | None = None) -> str:
        """Return the arm to pull."""

    def pulled(self, arm: str, context: Fields) -> None:
        """Learn that an arm was pulled, and that its feedback is still to come."""

    def learn(self, arm: str, context: Fields, shown: Fields, reward: float) -> None:
        """Learn the outcome of a pull."""


Build: TypeAlias = Callable[[Problem, int], Player]


class Asked:
    """A policy of onepull, or a class like one."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def choose(self, context: Fields, eligible: Collection[str] | None = None) -> str:
        """Return the policy's choice."""
        if eligible is None:  # a class like a policy may know no other arms
            return str(self.policy.choose(**context))
        return str(self.policy.choose(eligible=eligible, **context))

    def pulled(self, arm: str, context: Fields) -> None:
        """Tell the policy, if it wants to know."""
        if hasattr(self.policy, "pulled"):
            self.policy.pulled(arm, **context)

    def learn(self, arm: str, context: Fields, shown: Fields, reward: float) -> None:
        """Let the policy observe the state."""
        del context, reward
        self.policy.observe(arm, **shown)


class WithChance(Asked):
    """A policy that is not asked now and then: any arm is drawn instead."""

    def __init__(self, policy: Any, explore: float, seed: int) -> None:
        super().__init__(policy)
        self.explore, self.luck = explore, np.random.default_rng(seed)

    def choose(self, context: Fields, eligible: Collection[str] | None = None) -> str:
        """Return any arm with the chance of exploring, and the policy's choice otherwise."""
        if self.luck.random() < self.explore:
            return drawn(self.luck, eligible or self.policy.problem.arms)
        return super().choose(context, eligible)


class Averaging:
    """Ten lines: a moving average of each state put into the reward, and one of the failures."""

    def __init__(self, problem: Problem, rate: float, explore: float, seed: int) -> None:
        self.problem, self.rate, self.explore = problem, rate, explore
        self.luck = np.random.default_rng(seed)
        count, fields = len(problem.arms), len(problem.state)
        self.place = {arm: j for j, arm in enumerate(problem.arms)}
        self.means = np.full((fields, count), np.nan)
        self.failing = np.full(count, np.nan)
        self.known = list(np.array(problem.known).T)
        self.unasked = list(problem.arms)

    def values(self, context: Fields) -> Any:
        """Return the reward of each arm's averages; an arm that has not answered is the worst."""
        payoff, given = self.problem.payoff, tuple(context.values())
        if self.problem.failure is None:
            found = payoff.vector(*given, *self.known, *self.means)
        else:
            # An arm that has only failed so far has no state, and needs none.
            states = np.where(np.isnan(self.means), 0.0, self.means)
            served = payoff.vector(*given, *self.known, *states, 0.0)
            lost = payoff.vector(*given, *self.known, *states, 1.0)
            found = served + self.failing * (lost - served)
        return np.where(np.isnan(found), -np.inf, found)

    def choose(self, context: Fields, eligible: Collection[str] | None = None) -> str:
        """Return an arm never asked, any arm now and then, and else the one with the best value."""
        allowed = self.problem.arms if eligible is None else eligible
        for arm in self.unasked:
            if eligible is None or arm in eligible:
                return arm
        if self.luck.random() < self.explore:
            return drawn(self.luck, allowed)
        values = self.values(context)
        if eligible is None:
            return self.problem.arms[int(values.argmax())]
        return max(allowed, key=lambda arm: values[self.place[arm]])

    def pulled(self, arm: str, context: Fields) -> None:
        """Note that the arm was asked."""
        del context
        if arm in self.unasked:
            self.unasked.remove(arm)

    def learn(self, arm: str, context: Fields, shown: Fields, reward: float) -> None:
        """Move the averages of the arm towards what it showed."""
        del reward
        self.pulled(arm, context)
        j = self.place[arm]
        failed = float(shown.get(FAILED, False))
        self.failing[j] = _moved(self.failing[j], failed, self.rate)
        if not failed:
            for i, value in enumerate(shown.values()):
                self.means[i, j] = _moved(self.means[i, j], value, self.rate)


def _moved(mean: float, value: float, rate: float) -> float:
    return value if np.isnan(mean) else mean + rate * (value - mean)


def drawn(luck: np.random.Generator, arms: Collection[str]) -> str:
    """Return any of the arms."""
    every = list(arms)
    return every[int(luck.integers(len(every)))]


class LinearPeer:
    """A linear policy of another package, which sees contexts and rewards, and no states.

    Its features are 1, each context field on a linear and on a logarithmic scale, and the product
    of each two fields.  Rewards are shares of their range, or of `SCALE` if they have none.
    """

    def __init__(
        self, problem: Problem, package: str, kind: str, setting: float, seed: int
    ) -> None:
        self.problem, self.package = problem, package
        self.ends = [(name, s.low, s.high) for name, s in problem.context.items()]
        self.unasked = list(problem.arms)
        low, high = problem.payoff.whole_range
        self.low, self.width = (low, high - low) if np.isfinite(high - low) else (0.0, SCALE)
        if package == "river":
            self.peer = import_module("river.bandit").LinUCBDisjoint(beta=setting, seed=seed)
        else:
            mab = import_module("mabwiser.mab")
            learning = getattr(mab.LearningPolicy, kind)(alpha=setting)
            self.peer = mab.MAB(list(problem.arms), learning, seed=seed)
            self.fitted = False

    def features(self, context: Fields) -> list[float]:
        """Return the features of a context, between 0 and 1."""
        linear = [(context[name] - low) / ((high - low) or 1.0) for name, low, high in self.ends]
        logarithmic = [math.log1p(99.0 * share) / math.log(100.0) for share in linear]
        products = [a * b for a, b in itertools.combinations(linear, 2)]
        return [1.0, *linear, *logarithmic, *products]

    def choose(self, context: Fields, eligible: Collection[str] | None = None) -> str:
        """Return an arm never asked, or the peer's choice."""
        allowed = list(self.problem.arms if eligible is None else eligible)
        for arm in self.unasked:
            if arm in allowed:
                return arm
        x = self.features(context)
        if self.package == "river":
            named = {str(i): value for i, value in enumerate(x)}
            return str(self.peer.pull(allowed, context=named))
        if not self.fitted:
            return allowed[0]
        if eligible is None:
            return str(self.peer.predict([x]))
        told: Any = self.peer.predict_expectations([x])
        return max(allowed, key=told.__getitem__)

    def pulled(self, arm: str, context: Fields) -> None:
        """Note that the arm was asked."""
        del context
        if arm in self.unasked:
            self.unasked.remove(arm)

    def learn(self, arm: str, context: Fields, shown: Fields, reward: float) -> None:
        """Fit the reward, as a share of its range."""
        del shown
        self.pulled(arm, context)
        x, share = self.features(context), (reward - self.low) / self.width
        if self.package == "river":
            named = {str(i): value for i, value in enumerate(x)}
            self.peer.update(arm, named, share)
        else:
            (self.peer.partial_fit if self.fitted else self.peer.fit)([arm], [share], [x])
            self.fitted = True


def player(name: str) -> Build:
    """Return what makes the player of a name."""
    first, *numbers = name.split("-") if name.startswith(("EWMA-", "eps-")) else [name]
    if first == "EWMA":
        rate, explore = map(float, numbers)
        return lambda problem, seed: Averaging(problem, rate, explore, seed)
    if first == "eps":
        chance = float(numbers[0])
        return lambda problem, seed: WithChance(Greedy(problem, **cells(problem)), chance, seed)
    if name.startswith(("river-", "mabwiser-")):
        package, kind, setting = name.split("-")
        return lambda problem, seed: LinearPeer(problem, package, kind, float(setting), seed)
    make = policy_of(name)
    return lambda problem, _: Asked(make(problem))


def policy_of(name: str) -> Callable[[Problem], Any]:
    """Return what makes the policy of a name."""
    kind, _, rest = name.partition("(")
    given = dict(part.split("=", 1) for part in rest.removesuffix(")").split(";") if part)
    options = {key.strip(): ast.literal_eval(value) for key, value in given.items()}
    make = _made(kind)
    if kind in CELLED:
        return lambda problem: make(problem, **{**cells(problem), **options})
    return lambda problem: make(problem, **options)


def cells(problem: Problem) -> dict[str, Any]:
    """Return the size of cells for contexts in an interval, if there are any."""
    spaces = [s for s in problem.context.values() if isinstance(s, Interval)]
    return {"delta": max(s.high - s.low for s in spaces) / CELLS} if spaces else {}


def _made(name: str) -> Any:
    if name == "recommended":
        return recommended
    if ":" in name:
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, here)
        module, _, kind = name.partition(":")
        return getattr(import_module(module), kind)
    if name not in registered():
        raise SystemExit(f"unknown policy {name!r}: {__doc__}")
    return registered()[name]
