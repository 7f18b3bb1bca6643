"""Contextual zooming: balls of contexts that get smaller where requests are frequent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from onepull.arrays import Array
from onepull.checks import Count, FiniteNumber, constant, restored, whole_number
from onepull.errors import MergeError, SaveFileError
from onepull.payoff import State
from onepull.policies.partition.balls import leading_ball, leading_of_many, opened_radius
from onepull.policies.policy import Policy
from onepull.policies.request import Request
from onepull.policies.sharing.knowledge import Knowledge
from onepull.policies.sharing.observation import rewarded_context
from onepull.policies.traits import Traits
from onepull.problem import Problem, given_problem
from onepull.spaces import Space
from onepull.statistics import ArmStatistics, StatisticsState

MANY_BALLS = 16  # from so many balls on, arrays are quicker than lists
STEEPEST_SLOPE = 1e100  # replaces an infinite slope: any two different contexts are at distance 1


class Similarity:
    """How much the rewards of two contexts may differ, as a share of the reward's range.

    `distance` takes `slopes`: the Lipschitz constant of the payoff in each context field, divided
    by the range of the reward.  `middle` is the centre of every arm's first ball.
    """

    def __init__(self, problem: Problem) -> None:
        low, high = given_problem(problem).payoff.whole_range
        steepness = problem.payoff.lipschitz
        self.slopes = tuple(
            min(steepness[f].value / (high - low or 1.0), STEEPEST_SLOPE) for f in problem.context
        )
        self.middle = tuple(map(_middle, problem.context.values()))


def _middle(space: Space) -> float:
    if math.isfinite(space.high - space.low):
        return (space.low + space.high) / 2
    return next((end for end in (space.low, space.high) if math.isfinite(end)), 0.0)


class Balls:
    """The active balls of one arm, each with its pulls and the mean of its rewards."""

    def __init__(self, similarity: Similarity) -> None:
        self._slopes = similarity.slopes
        self.centres: list[State] = [similarity.middle]
        self.radii = [1.0]
        self._arrays: tuple[Array, Array] | None = None  # centres and radii, until they change
        self.statistics = ArmStatistics.empty(arms=1, features=1)

    def leader(self, context: State, log_horizon: float, width: float) -> tuple[int, float]:
        """Return the relevant ball with the highest index, and that index."""
        pulls, means = self.statistics.pulls, self.statistics.means[0]
        rest = self._slopes, log_horizon, width
        if len(pulls) < MANY_BALLS:
            return leading_ball(context, self.centres, self.radii, pulls, means, *rest)
        if self._arrays is None:
            self._arrays = np.array(self.centres), np.array(self.radii)
        centres, radii = self._arrays
        return leading_of_many(context, centres, radii, np.array(pulls), np.array(means), *rest)

    def activate(self, context: State, radius: float) -> None:
        """Add a ball around a context."""
        self.centres.append(context)
        self.radii.append(radius)
        self._arrays = None
        self.statistics.add_arm()

    def copy(self) -> Balls:
        """Return an independent copy."""
        twin = object.__new__(Balls)
        twin.__dict__.update(self.__dict__)
        twin.centres, twin.radii = self.centres.copy(), self.radii.copy()
        twin.statistics = self.statistics.copy()
        return twin


class Zoom(Knowledge):
    """The balls of every arm, over rewards scaled to [0, 1]."""

    in_units_of_range = True
    adds_up = False

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
        """The horizon if it is known, else the number of the next trial."""
        return self._given or self._trials + 1

    def leaders(self, context: State) -> list[tuple[int, float]]:
        """Return the leading ball of each arm, and its index."""
        log_horizon = math.log(self.horizon)
        return [balls.leader(context, log_horizon, self.width) for balls in self.balls]

    def learn(self, arm: int, fields: Mapping[str, Any], reward: Any) -> None:
        """Take in one reward in its context; it counts for the leading ball of that context."""
        context, value = rewarded_context(self.problem, arm, fields, reward)
        balls = self.balls[arm]
        ball, _ = balls.leader(context, math.log(self.horizon), self.width)
        balls.statistics.update(ball, ((value - self.low) / self.range,))
        self._trials += 1
        radius, pulls = balls.radii[ball], balls.statistics.pulls[ball]
        if new := opened_radius(radius, pulls, math.log(self.horizon), self.width):
            balls.activate(context, new)

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
        """Return the most numbers kept after so many trials: each trial may open a ball."""
        return (len(self.balls) + trials) * (len(self.problem.context) + 3)

    def change_arms(self, problem: Problem, removed: int | None = None) -> None:
        """Change to a problem with one more arm at the end, or with one arm removed."""
        self.problem = problem
        if removed is None:
            self.balls.append(Balls(self.similarity))
        else:
            del self.balls[removed]

    def merge(self, other: Self, arms: Sequence[int]) -> None:
        """Raise `MergeError`: which balls are active depends on the order of the requests."""
        del other, arms
        raise MergeError(
            "the balls of contextual zooming depend on the order of the requests, "
            "so two of these policies cannot be merged"
        )

    def state(self) -> Any:
        """Return everything learned as plain values."""
        balls = [
            _BallState([list(c) for c in balls.centres], balls.radii[:], balls.statistics.state())
            for balls in self.balls
        ]
        return _ZoomState(self._trials, balls)

    def restore(self, state: Any) -> None:
        """Restore a saved state; raises `SaveFileError` if it is invalid."""
        saved = restored(_ZoomState, state, "balls")
        if len(saved.balls) != len(self.balls):
            raise SaveFileError(
                f"the file has balls for {len(saved.balls)} arms; the policy has "
                f"{len(self.balls)} arms"
            )
        found = [self._restored(one) for one in saved.balls]
        if saved.trials < sum(balls.statistics.trials for balls in found):
            raise SaveFileError("pull counts exceed the number of trials")
        self.balls, self._trials = found, saved.trials

    def _restored(self, saved: _BallState) -> Balls:
        balls = Balls(self.similarity)
        middle, fields = list(self.similarity.middle), len(self.problem.context)
        if len(saved.radii) != len(saved.centres):
            raise SaveFileError(
                f"an arm has {len(saved.centres)} centres and {len(saved.radii)} radii; "
                "expected one of each for every ball"
            )
        if saved.centres[:1] != [middle]:
            raise SaveFileError(f"the first ball of every arm must be centred at {middle}")
        if any(len(centre) != fields for centre in saved.centres):
            raise SaveFileError(f"every centre must have {fields} numbers, one a context field")
        if saved.radii[0] != 1.0:
            raise SaveFileError(f"the first radius must be 1, given {saved.radii[0]}")
        for centre, radius in zip(saved.centres[1:], saved.radii[1:], strict=True):
            self.problem.context.exactly(self.problem.context.fields(centre))
            balls.activate(tuple(centre), radius)
        balls.statistics.restore(saved.statistics)
        if not all(-1e-6 <= mean <= 1.0 + 1e-6 for row in saved.statistics.means for mean in row):
            raise SaveFileError("a saved mean is outside the range of the reward")
        return balls

    def copy(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.balls = [balls.copy() for balls in self.balls]
        return twin


class _BallState(msgspec.Struct, forbid_unknown_fields=True):
    centres: list[list[FiniteNumber]]
    radii: list[Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]]
    statistics: StatisticsState


class _ZoomState(msgspec.Struct, forbid_unknown_fields=True):
    trials: Count
    balls: list[_BallState]


class ContextualZooming(Policy):
    """Contextual zooming (Slivkins 2014, algorithm 1): balls that shrink where they are used.

    Each arm has active balls of contexts.  The first one holds all contexts.  The smallest balls
    around a context are relevant, and the arm's index is the highest of theirs: r(B) +
    min over the arm's balls B' of (mean(B') + r(B') + conf(B') + D(B, B')), for rewards scaled
    to [0, 1], with conf(B) = 4·√(ln T / (1 + n(B))) after n(B) pulls.  Once conf(B) <= r(B),
    each pull of B opens a ball of half its radius around its context.  D is the distance of two
    contexts: the Lipschitz bound on the difference of their rewards, divided by the reward's range
    and at most 1.  Regret is Õ(T^((1+c)/(2+c))) for contexts of dimension c, and less where good
    arms or requests are concentrated.

    The paper starts with one ball around all arms.  Here the arms are unrelated, so each arm
    starts with its own ball, and adding an arm does not change the others.  A ball without pulls
    has no bound of its own: its index comes from the arm's other balls.  Without a horizon, T is
    the number of the next trial.  A late reward counts for the ball that leads when the reward
    arrives.  The policy keeps a centre, a radius, a count and a mean for every ball, and cannot
    be merged.

    Parameters
    ----------
    horizon
        T >= 2, if it is known.
    width
        The constant of conf, 4 in the paper; a smaller one explores less.
    seed
        A seed or generator that draws among tied arms; without one the first arm wins.

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
    >>> policy.storage  # both arms now also have a ball of radius 1/2 around power=1
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
        self.horizon = None if horizon is None else whole_number("horizon", horizon, least=2)
        self.width = constant("width", width, above=0.0)
        super().__init__(Zoom(problem, self.horizon, self.width), seed=seed)

    @property
    def zoom(self) -> Zoom:
        """The balls of every arm, and what they have learned."""
        return self._knowledge

    def _look(self, context: Mapping[str, Any]) -> list[tuple[int, float]]:
        return self._knowledge.leaders(self.problem.context.exactly(context))

    def _indices(self, request: Request) -> list[float]:
        model = self._knowledge
        return [model.low + model.range * index for _, index in request.view]

    def _estimates(self, request: Request) -> Sequence[float | None]:
        model = self._knowledge
        means = [
            balls.statistics.means[0][ball]
            for balls, (ball, _) in zip(model.balls, request.view, strict=True)
        ]
        return [model.low + model.range * mean if math.isfinite(mean) else None for mean in means]
