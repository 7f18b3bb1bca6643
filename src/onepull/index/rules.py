"""Rules of exploration as values: plain functions and the numbers they take.

A policy hands out a rule.  The library runs its functions in CPython, the simulator compiles
the very same functions.  So a step is written once, and a rule of your own is compiled like
those that come with the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

Rule: TypeAlias = "MeanRule | StateRule | TurnRule | PosteriorRule"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRule:
    """Play the arm with the highest index, where an index is made of an arm's mean reward.

    Attributes
    ----------
    exploration
        `exploration(trial, *parameters)`: how much to explore at trial n.  Called once a decision.
    aim
        `aim(low, high, exploration)`: what all arms have in common in a context whose rewards
        are between low and high.  Called once a decision.
    index
        `index(mean, root, aim)`: the index of an arm with root = 1/√m after m pulls.
        It must be infinite where the mean is, which is how an arm that was never pulled comes
        first.
    parameters
        The numbers that `exploration` takes.
    cap
        `cap(mean, root, aim)`: a number that the index never exceeds and that is quicker to
        compute, if there is one.  Arms whose cap is too low are skipped.
    breaks_ties_by_pulls
        Whether the least pulled of tied arms is played, and not the first.
    patience
        Play an arm that was not observed for so many trials, whatever its index; 0 is never.
        It takes statistics that remember when an arm was last observed.
    vectorised
        Whether `index` takes arrays as well as numbers.

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

    def aim_at(self, low: float, high: float, trial: int) -> Any:
        """Return what all arms have in common at a trial."""
        return self.aim(low, high, self.exploration(trial, *self.parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRule:
    """Play the arm with the highest index, where an index is made of all states an arm showed.

    Attributes
    ----------
    exploration
        `exploration(trial, *parameters)`: how much to explore at trial n.  Called once a decision.
    index
        `index(values, weights, pulls, mean, best, low, high, exploration)`: the index of an arm
        that showed the s-th state with frequency weights[s], which is worth values[s] here.
        `best` is the highest mean of all arms.
    parameters
        The numbers that `exploration` takes.
    cap
        `cap(pulls, mean, best, low, high, exploration)`: a number that the index never exceeds
        and that is quicker to compute, if there is one.
    breaks_ties_by_pulls
        Whether the least pulled of tied arms is played, and not the first.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule:
    """Play the arm whose turn it is, and at other trials the highest estimate.

    Attributes
    ----------
    turn
        `turn(luck, trial, arms, table, *parameters)`: the position of the arm whose turn it is,
        or -1.  `luck` is drawn evenly from [0, 1) if the rule draws, and 0 otherwise.
    table
        `table(trial, arms, *parameters)`: numbers that `turn` looks up, good for all trials up to
        this one; none if not given.
    parameters
        The numbers that both take.
    chance
        `chance(trial, arms, *parameters)`: the probability that a turn is drawn, for rules that
        draw; such a turn is any arm's with even probability.

    Examples
    --------
    >>> def turn(luck, trial, arms, table):
    ...     return trial % 10 if trial % 10 < arms else -1
    >>> rule = TurnRule(turn=turn)
    >>> [rule.turn(0.0, trial, 2, ()) for trial in (10, 11, 12)]
    [0, 1, -1]
    """

    turn: Callable[..., int]
    table: Callable[..., Any] | None = None
    parameters: tuple[float, ...] = ()
    chance: Callable[..., float] | None = None

    @property
    def draws(self) -> bool:
        """Whether turns are drawn."""
        return self.chance is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PosteriorRule:
    """Play the arm with the highest mean reward under a law drawn from its Dirichlet posterior.

    Library and simulator draw from different generators, so this is a rule of its own: there is
    no plain function that both could run.

    >>> PosteriorRule(prior=1.0)
    PosteriorRule(prior=1.0)
    """

    prior: float


def leading_mean(means: Any, roots: Any, index: Any, aim: Any) -> int:
    """Return the first arm with the highest index: what a `MeanRule` plays.

    >>> def index(mean, root, aim):
    ...     return mean + aim * root
    >>> leading_mean([1.0, 2.0, 2.0], [0.5, 0.1, 0.1], index, 1.0)
    1
    """
    best, highest = 0, -inf
    for arm, (mean, root) in enumerate(zip(means, roots)):  # noqa: B905 - quicker, one each
        value = index(mean, root, aim)
        if value > highest:
            best, highest = arm, value
    return best


def leading_capped(
    means: Any,
    roots: Any,
    index: Any,
    cap: Any,
    aim: Any,
    by_pulls: bool,  # noqa: FBT001 - the same
) -> int:
    """Return what a `MeanRule` plays that has a cap or breaks ties by pulls.

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


def leading_law(
    values: Any,
    laws: Any,
    pulls: Any,
    means: Any,
    low: float,
    high: float,
    exploration: float,
    index: Any,
    cap: Any,
    by_pulls: bool,  # noqa: FBT001 - the same
) -> int:
    """Return the arm that a `StateRule` plays.

    An arm that was never pulled comes first.  The arm with the highest mean is looked at first,
    so that most others can be skipped by their cap.  Of tied arms the least pulled is taken if
    ties are broken `by_pulls`, and of several the first.

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
    by_pulls: bool,  # noqa: FBT001 - plain arguments, so that a compiler can take them
) -> bool:
    """Return whether an arm is taken before another one with the same index: the tie rule.

    >>> comes_before(1, 3, 0, 5, True), comes_before(1, 3, 0, 5, False)
    (True, False)
    """
    if by_pulls and pulls != others:
        return pulls < others
    return arm < other


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
