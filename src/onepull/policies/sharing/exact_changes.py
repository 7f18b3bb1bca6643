"""Whether another reward can be computed exactly from merged or sketched states."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from onepull.errors import ParameterError
from onepull.formula import Formula
from onepull.formula.products import common_factor, is_multilinear
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.problem import Problem
from onepull.spaces import Interval

MEASURED = 1 << 20  # rewards computed to measure the error of a sketch


def factor_of_change(old: Problem, new: Problem, arm: int, fields: Collection[str]) -> float | None:
    """Return c if the new reward of an arm minus c times the old one is the same for all states.

    Only states that differ in nothing but `fields` are compared.  None if this could not be shown.

    >>> from onepull import Interval
    >>> old = Problem(
    ...     arms={"a": {"price": 2}}, state={"delay": Interval(0, 9)}, reward="-delay - price"
    ... )
    >>> factor_of_change(old, old.with_arms({"a": {"price": 3}}), 0, ["delay"])
    1.0
    >>> factor_of_change(old, old.with_reward("delay < price"), 0, ["delay"]) is None
    True
    """
    if not fields or _is_unchanged(old, new, arm):
        return 1.0
    after, before = formula_of(new, arm), formula_of(old, arm)
    if after is None or before is None:  # what is written in Python cannot be compared
        return None
    return common_factor(after, before, fields)


def formula_of(problem: Problem, arm: int) -> Formula | None:
    """Return the reward of an arm with its attributes put in, None if it is written in Python."""
    payoff, known = problem.payoff, problem.known[arm]
    if not isinstance(payoff, FormulaPayoff):
        return None
    return payoff.formula.fixed(dict(zip(problem.outcome.names, known, strict=False)))


def _is_unchanged(old: Problem, new: Problem, arm: int) -> bool:
    """Whether the reward of an arm is the same, with the same attributes.

    Their words are compared, and not their numbers, which depend on the words of the other arms.
    """
    before, after = (each.attributes.get(each.arms[arm]) for each in (old, new))
    return before == after and old.reward == new.reward and old.failure == new.failure


def check_merged(off: float, chance: float, accepted: float | None, kept: int) -> None:
    """Raise ParameterError if estimates may be off by more than is accepted; None accepts nothing.

    >>> check_merged(0.02, 0.1, 0.05, 512)
    """
    if accepted is not None and off <= accepted:
        return
    raise ParameterError(
        f"estimates may be off by {off:.3g}, where chance makes them off by {chance:.3g}, since "
        "states that were alike for the present reward were merged, and it does not follow from "
        f"the formula that this makes no difference here.  {_remedy(off)}, or keep more states "
        f"from the start (kept={kept} now)"
    )


def _remedy(error: float) -> str:
    """Return how an error is accepted, as a short number that is not below it."""
    texts = (f"{error:.{digits}g}" for digits in range(3, 18))
    enough = next((text for text in texts if float(text) >= error), repr(error))
    return f"Pass error={enough} to accept that (onepull serve: --error {enough})"


class Sketched(Protocol):
    """What has learned states on knots: its problem, and a bound on the error of estimates."""

    problem: Problem
    error: float

    def measured_error(self, looks: int) -> float:
        """Return a bound on the error, measured at so many points."""


def check_sketched(old: Sketched, new: Sketched, accepted: float | None) -> None:
    """Raise ParameterError if estimates from sketched states would be off by more than accepted.

    If no error is accepted, they must be exact, or as good as those of the present reward.
    """
    if not new.error:
        return
    if accepted is None and _is_told(old.problem, new.problem):
        return
    error = new.error
    if accepted is None or error > accepted:
        error = new.measured_error(MEASURED)
    if accepted is not None and error <= accepted:
        return
    low, high = new.problem.payoff.whole_range
    raise ParameterError(
        f"estimates may be off by up to {error:.3g}, where the reward goes from {low:.6g} to "
        f"{high:.6g}, since states are sketched on knots, and interpolation between knots need not "
        f"be exact for this formula.  {_remedy(error)}, or list the states, which is exact"
    )


def _is_told(old: Problem, new: Problem) -> bool:
    """Whether interpolation between knots is proved to be exact, or as good as it was."""
    fields = [name for name, space in new.state.items() if isinstance(space, Interval)]
    for arm in range(len(new.arms)):
        formula = formula_of(new, arm)
        if formula is not None and is_multilinear(formula, fields):
            continue
        if factor_of_change(old, new, arm, fields) is None:
            return False
    return True
