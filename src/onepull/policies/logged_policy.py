"""What a log needs to know of a policy beside its public methods."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy, deepcopy
from typing import Any

import numpy as np

from onepull.arms import Attributes
from onepull.policies.policy import Policy
from onepull.problem import Problem

CONTAINERS = (list, dict, set, np.ndarray)


def stated_policy(policy: Policy) -> dict[str, Any]:
    """Return the name and the parameters of a policy, as a save file has them.

    >>> from onepull import DCB, Problem, Finite
    >>> problem = Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x")
    >>> stated_policy(DCB(problem, epsilon=0.5))
    {'name': 'DCB', 'epsilon': 0.5}
    """
    return {"name": type(policy).__name__, **policy._written()}  # noqa: SLF001 - a part of policies


def fresh_policy(policy: Policy, problem: Problem) -> Policy:
    """Return a policy with the same class and parameters for a problem, with nothing learned."""
    return policy._rebuilt(problem, policy._written())  # noqa: SLF001 - a part of policies


def copy_of(policy: Policy) -> Policy:
    """Return an independent copy, with the pulls in flight; quicker than by way of a save file.

    >>> from onepull import DCB, Problem, Finite
    >>> policy = DCB(Problem(arms=["a", "b"], state={"x": Finite([0, 1])}, reward="x"))
    >>> twin = copy_of(policy)
    >>> twin.observe("a", x=1)
    >>> twin.trials, policy.trials
    (1, 0)
    """
    twin: Policy = object.__new__(type(policy))
    for name, value in policy.__dict__.items():
        # A class of a user's own may keep something for each arm.
        twin.__dict__[name] = copy(value) if isinstance(value, CONTAINERS) else value
    twin._knowledge = policy._knowledge.copy()  # noqa: SLF001 - a part of policies
    twin._counts = policy._counts.copy()  # noqa: SLF001 - the same
    twin._generator = deepcopy(policy._generator)  # noqa: SLF001 - the same
    return twin


def withdraw(policy: Policy, arm: str, context: Mapping[str, Any]) -> None:
    """Count a pull in flight no longer, as if it had not been reported."""
    policy._withdraw(arm, **context)  # noqa: SLF001 - a part of policies


def note_given_up(policy: Policy, arm: str) -> None:
    """Count that a pull of an arm was given up, in flight or not; an unknown arm is ignored."""
    position = policy._position.get(arm)  # noqa: SLF001 - a part of policies
    if position is not None:
        policy._note_given_up(position)  # noqa: SLF001 - the same


def is_in_flight(policy: Policy, arm: str) -> bool:
    """Return whether a pull of an arm is announced and not answered; no for an unknown arm."""
    position = policy._position.get(arm)  # noqa: SLF001 - a part of policies
    return position is not None and policy._counts.in_flight[position] > 0  # noqa: SLF001 - the same


def clipped_fields(policy: Policy, state: Mapping[str, Any]) -> list[str]:
    """Return the fields of a state whose values are outside their interval and were clipped."""
    clips = policy._clips  # noqa: SLF001 - a part of policies
    return [name for name, space in clips if name in state and space.clips_off(state[name])]


def add_arms(policy: Policy, added: Attributes) -> None:
    """Add arms with their attributes in one step, which is quicker than one by one."""
    policy._add_arms(added)  # noqa: SLF001 - a part of policies


def remove_arms(policy: Policy, removed: Collection[str]) -> None:
    """Remove arms in one step."""
    policy._remove_arms(removed)  # noqa: SLF001 - a part of policies
