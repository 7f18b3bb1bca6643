"""Measure the time of a decision, in the library and on this machine."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import Any

import numpy as np

from onepull.environment import Environment
from onepull.policies import Policy
from onepull.spaces import FAILED

TIMED_DECISIONS = 200  # decisions
BATCHES = 7


def microseconds(
    policy: Policy, environment: Environment, *, learns_rewards: bool, is_announced: bool = False
) -> float:
    """Return the CPU time of one `choose` and one `observe`, the median over batches.

    Requests are drawn from the environment.  The policy learns from them, so give one that is
    not used for anything else.  If pulls are announced, the time of `pulled` is included.

    >>> from onepull import DCB
    >>> from onepull.environment import channel_selection
    >>> channels = channel_selection()
    >>> 0.1 < microseconds(DCB(channels.problem), channels, learns_rewards=False) < 10_000
    True
    """
    requests = _requests(environment, learns_rewards=learns_rewards)
    spent = []
    for first in range(0, len(requests), TIMED_DECISIONS):
        batch = requests[first : first + TIMED_DECISIONS]
        began = process_time()
        for context, shown in batch:
            arm = policy.choose(**context)
            if is_announced:
                policy.pulled(arm, **context)
            policy.observe(arm, **shown[arm])
        spent.append((process_time() - began) / TIMED_DECISIONS * 1e6)
    return median(spent[1:])  # the first batch pulls every arm once and fills caches


def _requests(
    environment: Environment, *, learns_rewards: bool
) -> list[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """Return contexts, each with what a pull of each arm would show."""
    problem, generator = environment.problem, np.random.default_rng(0)
    count = TIMED_DECISIONS * (BATCHES + 1)
    piece = environment.pieces()[0]
    contexts = piece.contexts.sample(generator, count).tolist()
    states = [law.sample(generator, count).tolist() for law in piece.states]

    def shown(context: list[float], state: list[float]) -> dict[str, Any]:
        told = problem.told(state)
        if not learns_rewards:
            return told
        reward = {"reward": problem.payoff.scalar(*context, *state)}
        return {**problem.context.fields(context), **(told if FAILED in told else reward)}

    return [
        (
            problem.context.fields(context),
            {arm: shown(context, rows[i]) for arm, rows in zip(problem.arms, states, strict=True)},
        )
        for i, context in enumerate(contexts)
    ]
