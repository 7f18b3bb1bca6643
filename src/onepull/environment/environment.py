"""The laws of contexts and states, and what follows from them: rewards, gaps, best mixtures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from onepull.arrays import Array
from onepull.budgets import Mix, best_mix, costs_by_arm
from onepull.checks import number
from onepull.distributions import Discrete, Distribution, Independent
from onepull.distributions.fits_space import fitted
from onepull.environment.delayed_feedback import Delay, delays_by_arm, losses_by_arm
from onepull.environment.outcomes import outcome_law
from onepull.errors import ParameterError, UnknownArm
from onepull.payoff.reward import REWARD_ROUNDING
from onepull.problem import Problem
from onepull.spaces import Box

BUDGET_NODES = 256  # quadrature points for continuous contexts when a budget is planned


@dataclass(frozen=True, slots=True)
class Piece:
    """A period without changes in any law; it begins at trial `start`, counted from 0.

    `states` holds the laws of the outcomes: attributes and failures are parts of the state here.
    """

    start: int
    contexts: Distribution
    states: tuple[Distribution, ...]


class Environment:
    """The law of the contexts and of every arm's state.

    Parameters
    ----------
    states
        The law of each arm's state, by arm; `Failing` if pulls may fail.
    contexts
        The law of the contexts; with several fields, one law for all or one for each by name;
        none if the problem has no context.
    costs, budget
        What a pull costs, by arm (free if not given), and what may be spent in total, in the
        same unit.  Give both or neither.  A run ends at the first pull that the rest of the
        budget cannot pay for; nothing is earned after that.
    delays
        After how many further requests feedback arrives: a number, or a law whose values are
        rounded down; for all arms or by arm (0 if not given).
    losses
        The probability that feedback is lost, for all arms or by arm (0 if not given).

    Examples
    --------
    >>> from onepull import Discrete, Finite, Interval
    >>> problem = Problem(
    ...     arms=["steady", "risky"],
    ...     context={"bits": Finite([1, 4])},
    ...     state={"capacity": Interval(0, 4)},
    ...     reward="min(bits, capacity)",
    ... )
    >>> environment = Environment(
    ...     problem,
    ...     states={"steady": Discrete([1], [1]), "risky": Discrete([0, 4], [0.5, 0.5])},
    ...     contexts=Discrete([1, 4], [0.5, 0.5]),
    ... )
    >>> environment.expected_rewards(np.array([[1.0], [4.0]]))
    array([[1. , 0.5],
           [1. , 2. ]])
    """

    def __init__(  # noqa: PLR0913 - the whole environment in one call
        self,
        problem: Problem,
        *,
        states: Mapping[str, Distribution],
        contexts: Distribution | Mapping[str, Distribution] | None = None,
        costs: Mapping[str, float] | None = None,
        budget: float | None = None,
        delays: Delay | Mapping[str, Delay] | None = None,
        losses: float | Mapping[str, float] | None = None,
    ) -> None:
        self.problem = problem
        for arm in states:
            if arm not in problem.arms:
                raise UnknownArm(
                    f"unknown arm {arm!r} among the laws; the arms are {', '.join(problem.arms)}"
                )
        missing = [arm for arm in problem.arms if arm not in states]
        if missing:
            raise ParameterError(f"no law for the states of {', '.join(map(repr, missing))}")
        self.states = {
            arm: fitted(states[arm], problem.state, f"the states of arm {arm!r}")
            for arm in problem.arms
        }
        self.contexts = fitted(_joined(contexts, problem.context), problem.context, "the contexts")
        self.outcomes = {arm: outcome_law(problem, arm, law) for arm, law in self.states.items()}
        if (costs is None) != (budget is None):
            raise ParameterError(
                f"costs and a budget go together, given costs={costs!r} and budget={budget!r}"
            )
        low = problem.payoff.whole_range[0]
        if budget is not None and low < 0:
            raise ParameterError(
                f"with a budget rewards must not be negative, and these go down to {low:.6g}; "
                "otherwise a run that ends early would be best; add a constant to the reward"
            )
        self.costs = costs_by_arm(problem.arms, {} if costs is None else costs)
        self.budget = None if budget is None else number("budget", budget, above=0.0)
        self.delays = delays_by_arm(problem.arms, 0 if delays is None else delays)
        self.losses = losses_by_arm(problem.arms, 0.0 if losses is None else losses)
        if self.is_late and self.budget is not None:
            raise ParameterError(
                "a budget needs feedback at once, since policies count their spending from it; "
                "give no delays or losses"
            )

    def __repr__(self) -> str:
        """Show the laws, and the budget, delays and losses if any."""
        spending = "" if self.budget is None else f", costs={self.costs}, budget={self.budget!r}"
        late = f", delays={self.delays}, losses={self.losses}" if self.is_late else ""
        return f"Environment(states={self.states}, contexts={self.contexts}{spending}{late})"

    @property
    def is_late(self) -> bool:
        """Whether feedback may be delayed or lost."""
        ends = [law.support[0][1] for law in self.delays.values()]
        return max(ends) >= 1.0 or max(self.losses.values()) > 0.0

    def with_late_feedback(
        self,
        *,
        delays: Delay | Mapping[str, Delay] | None = None,
        losses: float | Mapping[str, float] | None = None,
    ) -> Environment:
        """Return the same environment with these delays and losses.

        >>> from onepull.environment import channel_selection
        >>> channel_selection(4).with_late_feedback(delays=10, losses=0.2).is_late
        True
        """
        return Environment(
            self.problem,
            states=self.states,
            contexts=self.contexts,
            costs=None if self.budget is None else self.costs,
            budget=self.budget,
            delays=delays,
            losses=losses,
        )

    def pieces(self) -> list[Piece]:
        """Return the stationary periods, in order."""
        laws = [self.contexts, *self.outcomes.values()]
        starts = sorted({start for law in laws for start, _ in law.pieces()})
        found = []
        for start in starts:
            now = [
                max((s, i) for i, (s, _) in enumerate(law.pieces()) if s <= start) for law in laws
            ]
            current = [law.pieces()[i][1] for law, (_, i) in zip(laws, now, strict=True)]
            found.append(Piece(start, current[0], tuple(current[1:])))
        return found

    def expected_rewards(self, contexts: Array, piece: Piece | None = None) -> Array:
        """Return the mean reward of every arm in every context, one row per context.

        Raises `ParameterError` if a mean is infinite, since regret is then not defined.
        """
        piece = piece or self.pieces()[0]
        vector = self.problem.payoff.vector
        rewards = np.empty((len(contexts), len(piece.states)))
        for j, law in enumerate(piece.states):
            if law.atoms is not None:
                rows, weights = law.atoms
                step = max(1, 2**22 // len(rows))  # limits memory for a long trace
                for first in range(0, len(contexts), step):
                    columns = [column[:, None] for column in contexts[first : first + step].T]
                    rewards[first : first + step, j] = vector(*columns, *rows.T) @ weights
                continue
            for i, context in enumerate(contexts):
                rewards[i, j] = law.expectation(lambda *state, c=context: vector(*c, *state))
        for i, j in np.argwhere(~np.isfinite(rewards)):
            raise ParameterError(
                f"the mean reward of arm {self.problem.arms[j]!r} for "
                f"{self.problem.context.shown(contexts[i])} is {_infinite(rewards[i, j])}: the "
                f"reward grows too fast for the tail of {piece.states[j]!r}; truncate or clip the "
                "law (Truncated, Clipped), declare the state with outside='clip', or bound the "
                "reward"
            )
        return rewards

    def best_mix(self, horizon: int, nodes: int = BUDGET_NODES) -> Mix:
        """Return the best mixture of arms that the budget pays for over a horizon.

        It has one row per context and stationary period, weighted by its share of the trials.
        Continuous contexts are replaced by about `nodes` quadrature points.  If no arm is free,
        there is one more column, the last, for pulling nothing at no cost.

        >>> from onepull.environment import metered_channels
        >>> round(metered_channels(500.0).best_mix(1000).value, 4)
        1.15
        """
        if self.budget is None:
            raise ParameterError(
                "best_mix needs an environment with a budget; this one is without a budget"
            )
        pieces = [piece for piece in self.pieces() if piece.start < horizon]
        ends = [*(piece.start for piece in pieces[1:]), horizon]
        rewards, weights = [], []
        for piece, end in zip(pieces, ends, strict=True):
            points, chances = piece.contexts.rule(round(nodes ** (1 / piece.contexts.fields)))
            rewards.append(self.expected_rewards(points, piece))
            weights.append(chances * ((end - piece.start) / horizon))
        each, table = list(self.costs.values()), np.vstack(rewards)
        if 0.0 not in each:
            each, table = [*each, 0.0], np.column_stack([table, np.zeros(len(table))])
        return best_mix(table, np.concatenate(weights), each, self.budget / horizon)

    def gaps(self, contexts: Array, piece: Piece | None = None) -> Array:
        """Return the gap of every arm to the best arm in every context.

        Differences within rounding error count as ties, with gap 0.
        """
        return gaps_of(self.expected_rewards(contexts, piece), self.problem.payoff.whole_range)


def gaps_of(rewards: Array, bounds: tuple[float, float]) -> Array:
    """Return the gap of every arm to the best in each row, 0 within rounding error.

    >>> gaps_of(np.array([[-3.0, -1.0, -1.0 - 1e-14]]), (-np.inf, 0.0))
    array([[2., 0., 0.]])
    """
    gaps = np.max(rewards, axis=1, keepdims=True) - rewards
    return np.where(gaps <= tie_slack(finite_bounds(bounds, rewards)), 0.0, gaps)


def finite_bounds(bounds: tuple[float, float], rewards: Array) -> tuple[float, float]:
    """Return bounds on rewards, with the extreme mean reward in place of an infinite bound.

    >>> finite_bounds((-np.inf, 0.0), np.array([[-3.0, -1.0]]))
    (-3.0, 0.0)
    """
    extremes = float(np.min(rewards)), float(np.max(rewards))
    ends = zip(bounds, extremes, strict=True)
    low, high = (end if math.isfinite(end) else mean for end, mean in ends)
    return low, high


def tie_slack(bounds: tuple[float, float]) -> float:
    """Return the largest difference between mean rewards that counts as a tie.

    The bounds must be finite, as `finite_bounds` makes them.
    """
    low, high = bounds
    return 1e-12 * (high - low) + REWARD_ROUNDING * max(abs(low), abs(high))


def _infinite(mean: float) -> str:
    if math.isnan(mean):
        return "not defined"
    return f"{'minus' if mean < 0 else 'plus'} infinity"


def _joined(contexts: Distribution | Mapping[str, Distribution] | None, box: Box) -> Distribution:
    if not box.has_fields and not contexts:
        return Discrete([0.0], [1.0])
    if contexts is None:
        raise ParameterError(f"no law for the contexts, which have the fields {', '.join(box)}")
    if isinstance(contexts, Distribution):
        return contexts
    if set(contexts) != set(box):
        raise ParameterError(
            f"the context fields are {', '.join(box)}, given laws for {', '.join(contexts)}"
        )
    laws = [contexts[name] for name in box]
    return laws[0] if len(laws) == 1 else Independent(*laws)
