"""The bounds that apply to a policy in an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from onepull.environment import Environment
from onepull.errors import ParameterError
from onepull.policies import (
    CCB,
    DCB,
    UCB1,
    DoublingCCB,
    MultiUCB,
    Policy,
    UCB1Epsilon,
    UpperConfidence,
)
from onepull.spaces import Finite
from onepull.theory.bounds import (
    LEAST_ALPHA,
    doubling_ccb,
    gap_free,
    multi_ucb,
    theorem_3,
    theorem_4,
    ucb1,
)
from onepull.theory.instance import Instance, beyond
from onepull.theory.limits import hoeffding_constant
from onepull.theory.statements import statement

MOST_INTEGRATED_CELLS = 2000  # more may take minutes with continuous states
MOST_LISTED = 100_000  # the same with finitely many states


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The proven bounds on a policy's regret at a horizon; None where there is none.

    Attributes
    ----------
    by_gaps
        A bound that depends on the gaps.
    source
        The theorem that `by_gaps` comes from.
    gap_free
        A bound that holds for all laws.
    limit
        The constant c if regret is asymptotically c·ln n.
    words
        The known guarantee in words, with its authors and conditions.
    """

    by_gaps: float | None = None
    source: str = ""
    gap_free: float | None = None
    limit: float | None = None
    words: str = ""

    @property
    def has_bound(self) -> bool:
        """Whether at least one of the bounds applies."""
        return any(part is not None for part in (self.by_gaps, self.gap_free, self.limit))


def guarantee(environment: Environment, policy: Policy, horizon: int) -> Guarantee:
    """Return the proven bounds on a policy's regret at a horizon.

    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(7)
    >>> found = guarantee(channels, DCB(channels.problem, epsilon=0.01), 10**5)
    >>> found.source, round(found.by_gaps), round(found.gap_free), round(found.limit, 1)
    ('theorem 3', 28228, 64396, 147.4)
    >>> from onepull import KLUCB
    >>> guarantee(channels, KLUCB(channels.problem), 10**5).words
    'O(log n) in a single context for c ≥ 3 (Garivier and Cappé 2011); no bound is known for \
smaller c or for joint learning'
    """
    kind = type(policy)
    missed = ["feedback is late or lost"] if environment.is_late else []
    if len(environment.pieces()) > 1 and not kind.traits.forgets:
        missed.append("the laws change")
    words = statement(kind, missed)
    if kind not in BOUND_OF_POLICY or missed:
        return Guarantee(words=words)
    return replace(BOUND_OF_POLICY[kind](environment, policy.parameters, horizon), words=words)


def _dcb(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    epsilon = stated["epsilon"]
    instance = _listed(environment)
    proved = instance is not None and epsilon > -0.5
    return Guarantee(
        theorem_3(instance, epsilon, horizon).total if instance and proved else None,
        "theorem 3",
        _free(environment, epsilon, None, horizon),
        hoeffding_constant(instance, 2 + epsilon).total if instance else None,
    )


def _ccb(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    epsilon, delta = stated["epsilon"], stated["delta"]
    listed = all(law.atoms is not None for law in environment.states.values())
    affordable = _cell_count(environment, delta) <= (
        MOST_LISTED if listed else MOST_INTEGRATED_CELLS
    )
    proved = affordable and epsilon > -0.5 and not beyond(environment)
    return Guarantee(
        theorem_4(environment, epsilon, delta, horizon).total if proved else None,
        "theorem 4",
        _free(environment, epsilon, delta, horizon),
    )


def _doubling(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    # Means that are carried over are interpolated, which the proof does not cover.
    carried = stated.get("carry_over", False)
    if carried or 2 + stated["epsilon"] < LEAST_ALPHA or beyond(environment):
        return Guarantee()
    alpha, growth = 2 + stated["epsilon"], stated["growth"]
    return Guarantee(
        gap_free=doubling_ccb(environment.problem, alpha=alpha, growth=growth, horizon=horizon)
    )


def _upper(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    if stated["sharing"] != "joint":
        return Guarantee()
    same = {"epsilon": stated["alpha"] - 2, "delta": stated.get("delta")}
    return (_dcb if same["delta"] is None else _ccb)(environment, same, horizon)


def _multi_ucb(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    instance = _listed(environment)
    if instance is None or stated.get("delta") is not None:
        return Guarantee()
    return Guarantee(multi_ucb(instance, horizon), "UCB1's bound in every context")


def _ucb1(environment: Environment, stated: Mapping[str, Any], horizon: int) -> Guarantee:
    instance = _listed(environment)
    if instance is None:
        return Guarantee()
    return Guarantee(ucb1(instance, horizon, stated.get("epsilon", 0.0))[1], "UCB1's bound")


BOUND_OF_POLICY: dict[type[Policy], Callable[[Environment, Mapping[str, Any], int], Guarantee]] = {
    DCB: _dcb,
    CCB: _ccb,
    DoublingCCB: _doubling,
    MultiUCB: _multi_ucb,
    UCB1: _ucb1,
    UCB1Epsilon: _ucb1,
    UpperConfidence: _upper,
}


def _listed(environment: Environment) -> Instance | None:
    """Return the instance if there are finitely many contexts, else None."""
    try:
        found = Instance.of(environment)
    except ParameterError:
        return None
    return found if found.is_bounded else None


def _free(environment: Environment, epsilon: float, delta: Any, horizon: int) -> float | None:
    if 2 + epsilon < LEAST_ALPHA or horizon < 2 or beyond(environment):
        return None
    return gap_free(environment.problem, alpha=2 + epsilon, delta=delta, horizon=horizon)


def _cell_count(environment: Environment, delta: Any) -> float:
    count = 1.0
    for name, space in environment.problem.context.items():
        if isinstance(space, Finite):
            count *= len(space.values)
        else:
            count *= space.extent / (delta[name] if isinstance(delta, Mapping) else delta) + 1
    return count
