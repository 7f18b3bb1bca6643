"""The known reward g(context, state) on its spaces, and its properties."""

import math

from onepull.errors import ProblemError
from onepull.formula import Formula
from onepull.payoff.callable_payoff import CallablePayoff
from onepull.payoff.facts import Fact
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.payoff.payoff import COMPACT, Features, Payoff, State
from onepull.payoff.reward import LARGEST_REWARD, Fixed, Reward
from onepull.spaces import Box

__all__ = ["COMPACT", "Fact", "Features", "Fixed", "Payoff", "Reward", "State", "bind"]


def bind(
    reward: Reward,
    context: Box,
    state: Box,
    failure: Formula | None = None,
    fixed: Fixed | None = None,
) -> Payoff:
    """Return the reward as a function on its spaces; raises if a declaration is contradicted.

    `failure` is the reward of a failed pull, and `fixed` holds what is known of attributes.
    """
    kind = FormulaPayoff if reward.is_formula else CallablePayoff
    payoff: Payoff = kind(reward, context, state, failure, fixed)
    low, high = payoff.whole_range
    if not math.isfinite(high):
        raise ProblemError(
            f"the reward has no highest value: it goes from {low:g} to {high:g} over the declared "
            "spaces; a time or a cost needs a minus, since higher is better; else bound the "
            "spaces, clip the reward, or declare high"
        )
    # Without a bound of the states a reward may lack a lowest value; otherwise it overflows.
    is_endless = math.isinf(low) and not all(
        math.isfinite(space.low) and math.isfinite(space.high)
        for space in (*context.values(), *state.values())
    )
    if max(0.0 if is_endless else abs(low), abs(high)) > LARGEST_REWARD or payoff.reach == 0.0:
        raise ProblemError(
            f"the reward is too large to compute with: it goes from {low:.6g} to {high:.6g} over "
            f"the declared spaces; expected at most {LARGEST_REWARD:.6g} in size: divide it by a "
            "constant"
        )
    payoff.check_declarations()
    return payoff
