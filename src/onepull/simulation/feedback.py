"""What policies observe in a simulation: the state or only the reward, and pulls in flight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

import numpy as np

from onepull.environment.environment import Environment
from onepull.errors import ParameterError, RewardError
from onepull.policies import Policy
from onepull.policies.recommendation import FEEDBACK
from onepull.spaces import FAILED

CONTEXTS_CHECKED = 256  # contexts that are checked


def feedback_by_policy(
    feedback: str | Mapping[str, str], policies: Iterable[str]
) -> dict[str, str]:
    """Return the kind of feedback of each policy.

    >>> feedback_by_policy({"ours": "reward"}, ["ours", "DCB"])
    {'ours': 'reward', 'DCB': 'state'}
    """
    names = list(policies)
    given = dict.fromkeys(names, feedback) if isinstance(feedback, str) else dict(feedback)
    if unknown := [name for name in given if name not in names]:
        raise ParameterError(f"feedback: {unknown[0]!r} is not one of {', '.join(names)}")
    for shown in given.values():
        if shown not in FEEDBACK:
            raise ParameterError(f"feedback must be {' or '.join(FEEDBACK)}, given {shown!r}")
    return {name: given.get(name, "state") for name in names}


def check_feedback(name: str, policy: Policy, environment: Environment) -> None:
    """Raise `ParameterError` if a policy cannot learn from rewards only.

    >>> from onepull import DCB
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection(4)
    >>> check_feedback("DCB", DCB(channels.problem), channels)
    Traceback (most recent call last):
    onepull.errors.ParameterError: policy 'DCB' cannot learn from rewards alone: the reward does \
not determine the state for bits=1: several states give the same reward; observe the state \
instead (capacity)
    """
    problem, generator = environment.problem, np.random.default_rng(0)
    twin = deepcopy(policy)
    for piece in environment.pieces():
        atoms = piece.contexts.atoms
        contexts = (
            piece.contexts.sample(generator, CONTEXTS_CHECKED)
            if atoms is None
            else atoms[0][:CONTEXTS_CHECKED]
        )
        (state,) = piece.states[0].sample(generator, 1).tolist()
        if FAILED in problem.told(state):
            continue
        for context in contexts.tolist():
            reward = problem.payoff.scalar(*context, *state)
            fields = problem.context.fields(context)
            try:
                twin.observe(problem.arms[0], reward=reward, **fields)
            except RewardError as error:
                raise ParameterError(
                    f"policy {name!r} cannot learn from rewards alone: {error}"
                ) from None


def announced_policies(announced: Iterable[str], policies: Mapping[str, Policy]) -> list[str]:
    """Return the policies that are told of each pull, after checking that they count them.

    >>> from onepull import DCB, Random
    >>> from onepull.environment import channel_selection
    >>> problem = channel_selection(4).problem
    >>> announced_policies(["Random"], {"DCB": DCB(problem), "Random": Random(problem)})
    Traceback (most recent call last):
    onepull.errors.ParameterError: policy 'Random' does not count pulls in flight
    """
    if isinstance(announced, str):
        raise ParameterError(f"announced takes a list of policies, given the text {announced!r}")
    for name in announced:
        if name not in policies:
            raise ParameterError(f"announced: {name!r} is not one of {', '.join(policies)}")
        if not policies[name].counts_in_flight:
            raise ParameterError(f"policy {name!r} does not count pulls in flight")
    return list(announced)
