"""Contextual zooming: balls of contexts, smaller where requests and rewards are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import number
from onepull.errors import MergeError, ParameterError, SaveFileError
from onepull.payoff import State
from onepull.policies.decision import Decision
from onepull.policies.policy import Policy
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import rewarded_context
from onepull.policies.traits import Traits
from onepull.problem import Problem
from onepull.spaces import Space
from onepull.statistics import ArmStatistics, StatisticsState

STEEPEST = 1e100  # in place of an infinite slope: contexts that differ at all are far apart


class Similarity:
    """How much the rewards of two contexts may differ, as a share of the reward's range.

    D(y, y') = min(1, Σ L_f·|y_f - y'_f| / G) with the Lipschitz constants of the payoff.
    """

    def __init__(self, problem: Problem) -> None:
        low, high = problem.payoff.whole_range
        steepness = problem.payoff.lipschitz
        self.slopes = np.array(
            [min(steepness[f].value / (high - low or 1.0), STEEPEST) for f in problem.context]
        )
        self.middle = tuple(map(_middle, problem.context.values()))

    def distances(self, centres: Array, context: State | Array) -> Array:
        """Return the distance of each centre, a row each, from a context."""
        distances: Array = np.minimum(1.0, np.abs(centres - context) @ self.slopes)
        return distances


def _middle(space: Space) -> float:
    if math.isfinite(space.high - space.low):
        return (space.low + space.high) / 2
    return next((end for end in (space.low, space.high) if math.isfinite(end)), 0.0)


def doubt(horizon: float, pulls: Any, width: float) -> Any:
    """Return conf = width·√(ln T / (1 + n)) after n pulls: a number or an array."""
    return width * np.sqrt(math.log(horizon) / (1.0 + pulls))


class Balls:
    """The active balls of one arm, each with its pulls and the mean of its rewards."""

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self.centres = np.array([similarity.middle])
        self.radii = np.ones(1)
        self.statistics = ArmStatistics.empty(arms=1, features=1)

    def relevant(self, context: State) -> Any:
        """Return the balls whose domain a context is in: the smallest of those around it."""
        around = self._similarity.distances(self.centres, context) <= self.radii
        smallest = self.radii[around].min()
        return np.flatnonzero(around & (self.radii == smallest))

    def leader(self, context: State, horizon: float, width: float) -> tuple[int, float]:
        """Return the relevant ball with the highest index, and that index."""
        before = np.array(self.statistics.means[0]) + self.radii
        before += doubt(horizon, np.array(self.statistics.pulls), width)
        best, highest = 0, -math.inf
        for ball in self.relevant(context).tolist():
            apart = self._similarity.distances(self.centres, self.centres[ball])
            index = float(self.radii[ball] + (before + apart).min())
            if index > highest:
                best, highest = ball, index
        return best, highest

    def activate(self, context: State, radius: float) -> None:
        """Add a ball around a context."""
        self.centres = np.append(self.centres, [context], axis=0)
        self.radii = np.append(self.radii, radius)
        self.statistics.add_arm()

    def copy(self) -> Balls:
        """Return an independent copy; arrays are replaced when they change, never written to."""
        twin = object.__new__(Balls)
        twin.__dict__.update(self.__dict__)
        twin.statistics = self.statistics.copy()
        return twin


class Zoom(Knowledge):
    """The balls of every arm, over rewards scaled to [0, 1]."""

    def __init__(self, problem: Problem, horizon: int | None, width: float) -> None:
        self.problem = problem
        self.width = width
        self._given = horizon
        self.similarity = Similarity(problem)
        self.low, high = problem.payoff.whole_range
        self.range = high - self.low or 1.0
        self.balls = [Balls(self.similarity) for _ in problem.arms]
        self._trials = 0

    @property
    def horizon(self) -> int:
        """The horizon, or the next trial in its place."""
        return self._given or self._trials + 1

    def leaders(self, context: State) -> list[tuple[int, float]]:
        """Return the ball that speaks for each arm, and its index."""
        return [balls.leader(context, self.horizon, self.width) for balls in self.balls]

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward in its context; it counts for the ball that led there."""
        context, value = rewarded_context(self.problem, fields, reward)
        balls = self.balls[arm]
        ball, _ = balls.leader(context, self.horizon, self.width)
        balls.statistics.update(ball, ((value - self.low) / self.range,))
        self._trials += 1
        radius = float(balls.radii[ball])
        if doubt(self.horizon, balls.statistics.pulls[ball], self.width) <= radius:
            balls.activate(context, radius / 2)

    def seen(self, context: Mapping[str, Any]) -> tuple[Sequence[int], int]:
        """Return the pulls of every arm in all of its balls, and the trials."""
        del context
        return [sum(balls.statistics.pulls) for balls in self.balls], self._trials

    @property
    def trials(self) -> int:
        """The number of observations behind the current estimates."""
        return self._trials

    @property
    def storage(self) -> int:
        """The number of numbers kept: centre, radius, pulls and mean of every ball."""
        return sum(len(balls.radii) for balls in self.balls) * (len(self.problem.context) + 3)

    def storage_after(self, trials: int) -> int:
        """Return the most numbers kept after so many trials: each may open a ball."""
        return (len(self.balls) + trials) * (len(self.problem.context) + 3)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Take on a problem with one arm more at the end, or one removed."""
        self.problem = problem
        if removed is None:
            self.balls.append(Balls(self.similarity))
        else:
            del self.balls[removed]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Refuse: which balls there are depends on the order of the requests."""
        del other, arms
        raise MergeError(
            "the balls of contextual zooming depend on the order of the requests, "
            "so those of two policies cannot be added up"
        )

    def state(self) -> Any:
        """Return everything learned as plain values."""
        balls = [
            _BallState(balls.centres.tolist(), balls.radii.tolist(), balls.statistics.state())
            for balls in self.balls
        ]
        return _ZoomState(self._trials, balls)

    def restore(self, state: Any) -> None:
        """Take on a saved state; one that cannot be is refused."""
        try:
            saved = msgspec.convert(state, _ZoomState)
        except msgspec.ValidationError as error:
            raise SaveFileError(f"not learned balls: {error}") from None
        if len(saved.balls) != len(self.balls):
            raise SaveFileError(
                f"balls of {len(saved.balls)} arms do not fit {len(self.balls)} arms"
            )
        restored = [self._restored(one) for one in saved.balls]
        if saved.trials < sum(balls.statistics.trials for balls in restored):
            raise SaveFileError("pull counts exceed the number of trials")
        self.balls, self._trials = restored, saved.trials

    def _restored(self, saved: _BallState) -> Balls:
        balls = Balls(self.similarity)
        fits = (
            len(saved.radii) == len(saved.centres) and saved.centres[:1] == balls.centres.tolist()
        )
        if not fits or any(len(c) != len(self.problem.context) for c in saved.centres):
            raise SaveFileError("the centres of its balls do not fit the contexts")
        if saved.radii[0] != 1.0 or not all(0.0 < radius <= 1.0 for radius in saved.radii):
            raise SaveFileError("the radius of a ball is in (0, 1], that of the first is 1")
        for centre, radius in zip(saved.centres[1:], saved.radii[1:], strict=True):
            balls.activate(tuple(centre), radius)
        balls.statistics.restore(saved.statistics)
        return balls

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.balls = [balls.copy() for balls in self.balls]
        return twin


class _BallState(msgspec.Struct, forbid_unknown_fields=True):
    centres: list[list[float]]
    radii: list[float]
    statistics: StatisticsState


class _ZoomState(msgspec.Struct, forbid_unknown_fields=True):
    trials: int
    balls: list[_BallState]


class ContextualZooming(Policy):
    """Contextual zooming (Slivkins 2014, algorithm 1): balls that shrink where they are used.

    Each arm has active balls of contexts, at first one around all of them.  Of those around a
    context the smallest are relevant, and an arm's index is the highest of theirs: r(B) +
    min over the arm's balls B' of (mean(B') + r(B') + conf(B') + D(B, B')), for rewards scaled
    to [0, 1], with conf(B) = 4·√(ln T / (1 + n(B))) after n(B) pulls.  Once conf(B) <= r(B),
    pulls of B open a ball of half its radius around their context.  D is the distance of the
    contexts by the Lipschitz constants of the reward, capped at its range.  Regret is
    Õ(T^((1+c)/(2+c))) for contexts of dimension c, and less where good arms or requests
    crowd.

    The paper has one ball around all arms at first; here arms have nothing to do with each
    other, so that each begins with its own and adding one leaves the others alone.  A ball
    without pulls has an infinite bound of its own.  Without a horizon the next trial stands
    for T.  Rewards that come late count for the ball that leads when they come.  Keeps a
    centre, radius, count and mean for every ball, and cannot be merged.

    Parameters
    ----------
    horizon
        T >= 2, if it is known.
    width
        The constant of the confidence radius, 4 in the paper; less explores less.
    seed
        Draw among tied arms with this seed or generator; the first arm wins without.

    Examples
    --------
    >>> from onepull import Interval, Problem
    >>> policy = ContextualZooming(Problem(
    ...     arms=["a", "b"],
    ...     context={"power": Interval(0, 1)},
    ...     state={"gain": Interval(0, 4)},
    ...     reward="power * gain",
    ... ), horizon=1000, width=0.2)
    >>> policy.observe_many(["a", "b"], power=[1.0, 1.0], gain=[1.0, 3.0])
    >>> policy.storage  # both arms have a ball of radius 1/2 by now, around power=1
    16
    >>> print(policy.explain(power=0.9))
    ContextualZooming at trial 3 with power=0.9
      arm  pulls  estimate  bonus    index
      a        1         –      –  10.4868
    → b        1         –      –  12.4868
    b: highest index
    """

    traits = Traits(order_matters=True)
    guarantee = (
        "Õ(T^((1+c)/(2+c))) for contexts of dimension c, with the published width (Slivkins 2014)"
    )

    _knowledge: Zoom

    def __init__(
        self,
        problem: Problem,
        *,
        horizon: int | None = None,
        width: float = 4.0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        if horizon is not None and (type(horizon) is not int or horizon < 2):
            raise ParameterError(f"horizon must be a whole number from 2, given {horizon!r}")
        self.horizon = horizon
        self.width = number("width", width, above=0.0)
        super().__init__(Zoom(problem, horizon, self.width), seed=seed)

    @property
    def zoom(self) -> Zoom:
        """The balls of every arm, and what they have learned."""
        return self._knowledge

    @property
    def parameters(self) -> dict[str, Any]:
        """The horizon, if it is known, and the constant of the confidence radius."""
        known = {} if self.horizon is None else {"horizon": self.horizon}
        return {**known, "width": self.width}

    def _look(self, context: Mapping[str, Any]) -> list[tuple[int, float]]:
        return self._knowledge.leaders(self.problem.context.exactly(context))

    def _indices(self, decision: Decision) -> list[float]:
        model = self._knowledge
        return [model.low + model.range * index for _, index in decision.view]

    def _estimates(self, decision: Decision) -> Sequence[float | None]:
        model = self._knowledge
        means = [
            balls.statistics.means[0][ball]
            for balls, (ball, _) in zip(model.balls, decision.view, strict=True)
        ]
        return [model.low + model.range * mean if math.isfinite(mean) else None for mean in means]
