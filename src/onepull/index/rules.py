"""Rules that choose an arm: frozen values made of plain functions and their parameters.

Each policy has a rule.  The library calls its functions in CPython, and the simulator compiles
the same functions.  So each step is written once, and your own rule is compiled like those of
the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from onepull.checks import shown
from onepull.errors import ParameterError

Rule: TypeAlias = "MeanRule | StateRule | TurnRule | PosteriorRule"


def _check(parameters: Any) -> None:
    if not isinstance(parameters, tuple):
        raise ParameterError(
            f"parameters takes a tuple of numbers, as in (0.25,), given {shown(parameters)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRule:
    """Play the arm with the highest index, computed from its mean reward.

    Attributes
    ----------
    exploration
        `exploration(trial, *parameters)`: the amount of exploration at a trial.  Called once per
        decision.
    aim
        `aim(low, high, exploration)`: a value shared by all arms, for a context with rewards
        between low and high.  Called once per decision; if arms have attributes, once per arm,
        with the range of its rewards.
    index
        `index(mean, root, aim)`: the index of an arm, with root = 1/√m after m pulls.  It must be
        infinite if the mean is infinite, so that an arm that was never pulled comes first.
    parameters
        The numbers passed to `exploration`.
    cap
        `cap(mean, root, aim)`: an upper bound on the index that is faster to compute, if there is
        one.  Arms whose cap is too low are skipped.
    breaks_ties_by_pulls
        Whether the least pulled of tied arms is played, instead of the first.
    patience
        Play an arm that was not observed for this many trials, whatever its index; 0 turns this
        off.  It needs statistics that record when an arm was last observed.
    vectorised
        Whether `index` accepts arrays as well as numbers.

    Examples
    --------
    >>> from math import log, sqrt
    >>> rule = MeanRule(
    ...     exploration=lambda trial, alpha: sqrt(alpha * log(trial)),
    ...     aim=lambda low, high, exploration: (high - low) * exploration,
    ...     index=lambda mean, root, aim: mean + aim * root,
    ...     parameters=(2.0,),
    ... )
    >>> round(rule.index(1.5, 0.1, rule.aim_at(0.0, 4.0, 100)), 6)   # 1.5 + 4·√(2 ln 100 / 100)
    2.713942
    """

    exploration: Callable[..., float]
    aim: Callable[..., Any]
    index: Callable[..., Any]
    parameters: tuple[float, ...] = ()
    cap: Callable[..., float] | None = None
    breaks_ties_by_pulls: bool = False
    patience: int = 0
    vectorised: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check(self.parameters)

    def aim_at(self, low: float, high: float, trial: int) -> Any:
        """Return the value shared by all arms at a trial."""
        return self.aim(low, high, self.exploration(trial, *self.parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """Play the arm with the highest index, computed from the distribution of its states.

    Attributes
    ----------
    exploration
        `exploration(trial, *parameters)`: the amount of exploration at a trial.  Called once per
        decision.
    index
        `index(values, weights, pulls, mean, best, low, high, exploration)`: the index of an arm.
        State s has the reward values[s] in this context and was observed with frequency
        weights[s].  `best` is the highest mean of all arms.
    parameters
        The numbers passed to `exploration`.
    cap
        `cap(pulls, mean, best, low, high, exploration)`: an upper bound on the index that is
        faster to compute, if there is one.
    breaks_ties_by_pulls
        Whether the least pulled of tied arms is played, instead of the first.

    Examples
    --------
    >>> def variance(values, weights, mean):
    ...     return sum(w * (v - mean) ** 2 for v, w in zip(values, weights))
    >>> rule = StateRule(
    ...     exploration=lambda trial: 2.0,
    ...     index=lambda values, weights, pulls, mean, best, low, high, exploration:
    ...         mean + exploration * (variance(values, weights, mean) / pulls) ** 0.5,
    ... )
    >>> rule.index([0.0, 1.0], [0.5, 0.5], 100, 0.5, 0.5, 0.0, 1.0, rule.exploration(7))
    0.6
    """

    exploration: Callable[..., float]
    index: Callable[..., float]
    parameters: tuple[float, ...] = ()
    cap: Callable[..., float] | None = None
    breaks_ties_by_pulls: bool = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check(self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule:
    """Explore an arm at scheduled trials, and otherwise play the highest estimate.

    Attributes
    ----------
    turn
        `turn(u, trial, arms, table, *parameters)`: the number of the arm to explore, or -1.  `u` is
        a random number from [0, 1) if the rule is random, and 0 otherwise.
    table
        `table(trial, arms, *parameters)`: numbers that `turn` looks up, valid for all trials up to
        this one; empty by default.
    parameters
        The numbers passed to all functions.
    chance
        `chance(trial, arms, *parameters)`: the probability of exploring, for random rules.  The
        explored arm is then drawn uniformly.

    Examples
    --------
    >>> def turn(u, trial, arms, table):
    ...     return trial % 10 if trial % 10 < arms else -1
    >>> rule = TurnRule(turn=turn)
    >>> [rule.turn(0.0, trial, 2, ()) for trial in (10, 11, 12)]
    [0, 1, -1]
    """

    turn: Callable[..., int]
    table: Callable[..., Any] | None = None
    parameters: tuple[float, ...] = ()
    chance: Callable[..., float] | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check(self.parameters)

    @property
    def draws(self) -> bool:
        """Whether exploration is random."""
        return self.chance is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorRule:
    """Draw a distribution from each arm's Dirichlet posterior and play the highest mean reward.

    The library and the simulator use different random generators, so this rule has no plain
    function that both could call.

    >>> PosteriorRule(prior=1.0)
    PosteriorRule(prior=1.0)
    """

    prior: float


def leading_mean(means: Any, roots: Any, index: Any, aim: Any) -> int:
    """Return the first arm with the highest index, which a `MeanRule` plays.

    >>> def index(mean, root, aim):
    ...     return mean + aim * root
    >>> leading_mean([1.0, 2.0, 2.0], [0.5, 0.1, 0.1], index, 1.0)
    1
    """
    best, highest = 0, -inf
    for arm, (mean, root) in enumerate(zip(means, roots)):  # noqa: B905 - faster, the lengths are equal
        value = index(mean, root, aim)
        if value > highest:
            best, highest = arm, value
    return best


def leading_capped(
    means: Any, roots: Any, index: Any, cap: Any, aim: Any,
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that it can be compiled
) -> int:  # fmt: skip
    """Return the arm that a `MeanRule` with a cap or with ties broken by pulls plays.

    >>> def index(mean, root, aim):
    ...     return min(mean + aim * root, 3.0)
    >>> leading_capped([3.0, 3.0], [0.1, 0.5], index, index, 1.0, True)
    1
    """
    best, highest = 0, -inf
    for j in range(len(roots)):
        if cap(means[j], roots[j], aim) < highest:
            continue
        value = index(means[j], roots[j], aim)
        # The fewer the pulls, the larger the root.
        if value > highest or (
            value == highest and comes_before(j, -roots[j], best, -roots[best], by_pulls)
        ):
            best, highest = j, value
    return best


def leading_of_arms(
    means: Any, roots: Any, lows: Any, highs: Any, exploration: float, aim: Any, index: Any,
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that it can be compiled
) -> int:  # fmt: skip
    """Return the arm that a `MeanRule` plays if each arm has a range of rewards of its own.

    >>> def aim(low, high, exploration):
    ...     return (high - low) * exploration
    >>> def index(mean, root, aim):
    ...     return mean + aim * root
    >>> leading_of_arms([0.5, 0.4], [0.1, 0.1], [0, 0], [1, 4], 2.0, aim, index, False)
    1
    """
    best, highest = 0, -inf
    for j in range(len(roots)):
        value = index(means[j], roots[j], aim(lows[j], highs[j], exploration))
        # The fewer the pulls, the larger the root.
        if value > highest or (
            value == highest and comes_before(j, -roots[j], best, -roots[best], by_pulls)
        ):
            best, highest = j, value
    return best


def leading_law_of_arms(
    values: Any, laws: Any, pulls: Any, means: Any, lows: Any, highs: Any, exploration: float,
    index: Any,
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that it can be compiled
) -> int:  # fmt: skip
    """Return the arm that a `StateRule` plays if a state has another reward with each arm.

    `values[j]`, `lows[j]` and `highs[j]` are those of arm j.

    >>> def index(values, weights, pulls, mean, best, low, high, exploration):
    ...     return mean + (high - low) * exploration / pulls
    >>> values, laws = [[0.0, 1.0], [-1.0, 3.0]], [[0.5, 0.5], [0.5, 0.5]]
    >>> leading_law_of_arms(
    ...     values, laws, [9, 9], [0.5, 1.0], [0, -1], [1, 3], 2.0, index, False
    ... )
    1
    """
    top = means[0]
    for j in range(len(pulls)):
        if pulls[j] == 0:
            return j
        top = max(top, means[j])
    best, highest = 0, -inf
    for j in range(len(pulls)):
        found = index(values[j], laws[j], pulls[j], means[j], top, lows[j], highs[j], exploration)
        if found > highest or (
            found == highest and comes_before(j, pulls[j], best, pulls[best], by_pulls)
        ):
            best, highest = j, found
    return best


def leading_law(
    values: Any, laws: Any, pulls: Any, means: Any, low: float, high: float, exploration: float,
    index: Any, cap: Any,
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that it can be compiled
) -> int:  # fmt: skip
    """Return the arm that a `StateRule` plays.

    An arm that was never pulled comes first.  The index of the arm with the highest mean is
    computed first, so that most other arms can be skipped by their cap.  With `by_pulls` the
    least pulled of tied arms is played; remaining ties go to the first arm.

    >>> def index(values, weights, pulls, mean, best, low, high, exploration):
    ...     return mean + exploration / pulls
    >>> def cap(pulls, mean, best, low, high, exploration):
    ...     return mean + exploration / pulls
    >>> told = [0.0, 1.0], [[0.5, 0.5], [0.2, 0.8]], [4, 90], [0.5, 0.8], 0.0, 1.0
    >>> leading_law(*told, 4.6, index, cap, False), leading_law(*told, 0.0, index, cap, False)
    (0, 1)
    """
    first = 0
    for j in range(len(pulls)):
        if pulls[j] == 0:
            return j
        if means[j] > means[first]:
            first = j
    top = means[first]
    best = first
    highest = index(values, laws[first], pulls[first], top, top, low, high, exploration)
    for j in range(len(pulls)):
        if j != first and cap(pulls[j], means[j], top, low, high, exploration) >= highest:
            found = index(values, laws[j], pulls[j], means[j], top, low, high, exploration)
            if found > highest or (
                found == highest and comes_before(j, pulls[j], best, pulls[best], by_pulls)
            ):
                highest = found
                best = j
    return best


def comes_before(
    arm: int,
    pulls: float,
    other: int,
    others: float,
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that it can be compiled
) -> bool:
    """Return whether an arm is preferred to another arm with the same index: the tie rule.

    >>> comes_before(1, 3, 0, 5, True), comes_before(1, 3, 0, 5, False)
    (True, False)
    """
    if by_pulls and pulls != others:
        return pulls < others
    return arm < other


def is_overdue(seen: int, trials: int, patience: int) -> bool:
    """Return whether an arm that was last observed at trial `seen` was not for `patience` trials.

    >>> is_overdue(90, 100, 10), is_overdue(91, 100, 10)
    (True, False)
    """
    return seen <= trials - patience


def no_law_cap(pulls: float, mean: float, best: float, low: float, high: float, e: float) -> float:
    """Return infinity: the cap of a `StateRule` without one.

    >>> no_law_cap(1, 0.0, 0.0, 0.0, 1.0, 2.0)
    inf
    """
    return inf


def no_mean_cap(mean: float, root: float, aim: Any) -> float:
    """Return infinity: the cap of a `MeanRule` without one.

    >>> no_mean_cap(0.5, 0.1, 2.0)
    inf
    """
    return inf
