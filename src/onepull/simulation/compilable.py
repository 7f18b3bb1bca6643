"""Why a policy has no compiled form, if it has none.

A kernel runs a rule on the statistics of a sharing.  It calls no method of the policy, of the
sharing, of its statistics or of its cells, but does what those of the package do.  So all of them
must be the package's own.  Anything else is found here, and the policy runs in the interpreter,
with a note that says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from inspect import getattr_static, isroutine
from typing import Any

from onepull.environment.environment import Environment
from onepull.factor import Dense, Factorisation, Histogram, LowRank, Sketch
from onepull.index.rules import MeanRule, PosteriorRule, StateRule, TurnRule
from onepull.payoff.formula_payoff import FormulaPayoff
from onepull.policies import Policy
from onepull.policies.controls import Controls
from onepull.policies.rule_policy import RulePolicy, set_beside_rule
from onepull.policies.sharing.blind import Blind
from onepull.policies.sharing.joint import Joint
from onepull.policies.sharing.per_context import PerContext
from onepull.policies.sharing.sharing import Sharing
from onepull.simulation.kernels.memory import FORGETTING
from onepull.simulation.prepare_sharing import OUR_CELLS, prepare_sharing
from onepull.simulation.world import LARGEST_TABLE
from onepull.spaces import Finite
from onepull.statistics import ArmStatistics, ChangeDetector, Forgetting
from onepull.statistics.arm_statistics import ArrayStatistics, ListStatistics

OUR_FACTORS = frozenset({*OUR_CELLS, Histogram, Sketch, LowRank})
LASTING = frozenset({ListStatistics, ArrayStatistics})
RULES = (MeanRule, StateRule, TurnRule, PosteriorRule)


def why_not_as_new(policy: Policy) -> str | None:
    """Return what was done to a policy since it was made that kernels know nothing of.

    Pulls in flight do not matter: a replication begins without them, also in the interpreter.
    """
    if policy.controls != Controls():
        return "arms are paused, pinned or have shares"
    if any(policy._counts.given_up):  # noqa: SLF001 - a part of policies
        return "pulls were given up before"
    return None


def why_no_kernel(policy: Policy, environment: Environment) -> str | None:
    """Return why no kernel runs the rule of a policy, or nothing if one does."""
    if not isinstance(policy, RulePolicy):
        return f"{type(policy).__name__} is not made of a rule and a sharing"
    return (
        _why_not_by_rule(policy)
        or _why_not_sharing(policy.sharing)
        or why_no_features(getattr(policy.sharing, "factor", None), environment)
        or _why_no_rewards(policy.sharing, environment)
    )


def forgets(policy: Policy) -> bool:
    """Whether a policy forgets old observations."""
    if not isinstance(policy, RulePolicy):
        return False
    kinds = policy.sharing.kinds_of_statistics()
    return policy.sharing.forgets or any(issubclass(kind, Forgetting) for kind in kinds)


def _why_not_by_rule(policy: RulePolicy) -> str | None:
    """Return why the rule of a policy is not all that it goes by."""
    name, rule = type(policy).__name__, policy.rule
    if own := policy.redefines():
        return f"{name} overrides {', '.join(own)}"
    if own := set_beside_rule(policy):
        return f"{name} sets {', '.join(own)}"
    if type(rule) not in RULES:
        return f"its rule is of the class {type(rule).__name__}, of which kernels know nothing"
    is_random = isinstance(rule, PosteriorRule) or (isinstance(rule, TurnRule) and rule.draws)
    return "it breaks ties at random" if policy.draws and not is_random else None


def _why_not_sharing(sharing: Sharing) -> str | None:
    """Return why kernels do not do what a sharing does."""
    for part in (sharing, getattr(sharing, "current", sharing)):
        if type(part) not in prepare_sharing.registry:
            return f"the sharing {type(part).__name__} has no kernel"
    cells = getattr(sharing, "cells", None)
    if cells is not None and type(cells) not in OUR_CELLS:
        return f"the cells {type(cells).__name__} have no kernel"
    for name in ("factor", "cells", "grid", "current"):
        if own := _replaced(getattr(sharing, name, None)):
            return f"{own[0]} of its {name} was replaced"
    if own := _replaced(sharing):
        return f"{own[0]} of its sharing was replaced"
    return _why_not_statistics(sharing)


def _why_not_statistics(sharing: Sharing) -> str | None:
    """Return why kernels do not do what the statistics of a sharing do."""
    kinds = sharing.kinds_of_statistics()
    if isinstance(sharing, Joint):
        kinds |= {*_kinds_within(sharing.statistics)}
    elif sharing.forgets or any(issubclass(kind, Forgetting) for kind in kinds):
        return "forgetting is compiled only for joint sharing"
    if own := sorted(kind.__name__ for kind in kinds - LASTING - {*FORGETTING}):
        return f"the statistics {own[0]} have no kernel"
    return None


def _kinds_within(statistics: ArmStatistics) -> Iterator[type[Any]]:
    """Yield the classes of what statistics that forget are made of."""
    for name in ("kept", "fresh"):
        if isinstance(part := getattr(statistics, name, None), ArmStatistics):
            yield type(part)
    for detector in getattr(statistics, "detectors", ()):
        if type(detector) is not ChangeDetector:
            yield type(detector)


def _replaced(part: Any) -> list[str]:
    """Return the methods of a class that an object has otherwise than its class."""
    own: dict[str, Any] = getattr(part, "__dict__", {})
    kind = type(part)
    return [
        name
        for name in own
        if isroutine(usual := getattr_static(kind, name, None)) or isinstance(usual, property)
    ]


def why_no_features(factor: Factorisation | None, environment: Environment) -> str | None:
    """Return why kernels can neither compute ψ nor look it up in a table of all states."""
    if factor is None:
        return None
    name = type(factor).__name__
    if (why := _why_not_by_contract(factor)) is not None:
        return why
    has_lists = any(isinstance(space, Finite) for space in environment.problem.state.values())
    if factor.at_contexts is not None or (factor.plain_psi is not None and not has_lists):
        return None
    pieces = [[law.atoms for law in piece.states] for piece in environment.pieces()]
    rows = [sum(math.inf if a is None else len(a[0]) for a in atoms) for atoms in pieces]
    if max(rows) == math.inf:
        return f"{name} has no compiled features for continuous states"
    if max(rows) * factor.features > LARGEST_TABLE:
        return f"the features of {name} are too many for a table of all states"
    return None


def _why_not_by_contract(factor: Factorisation) -> str | None:
    """Return why a factorisation is not ours, nor one that defines only `phi`, `bounds` and ψ.

    A subclass of ours may override one of several methods that must agree.
    """
    kind = type(factor)
    if kind in OUR_FACTORS:
        return None
    if kind.__bases__ != (Dense,):
        known = "neither the package's nor a direct subclass of Dense"
        return f"the factorisation {kind.__name__} is {known}"
    if own := [name for name in ("look", "phi_many", "bounds_many") if name in vars(kind)]:
        return f"the factorisation {kind.__name__} overrides {', '.join(own)}"
    return None


def can_compute(environment: Environment, *, in_context: bool) -> bool:
    """Whether kernels can compute every reward, from a formula or from tables over atoms."""
    if isinstance(environment.problem.payoff, FormulaPayoff):
        return True
    laws = [law for piece in environment.pieces() for law in piece.states]
    if in_context:  # the reward in the context of each pull is needed
        laws += [piece.contexts for piece in environment.pieces()]
    return all(law.atoms is not None for law in laws)


def _why_no_rewards(sharing: Sharing, environment: Environment) -> str | None:
    if can_compute(environment, in_context=isinstance(sharing, Blind | PerContext)):
        return None
    return "the reward is a Python function of continuous values"
