"""The queue of late feedback: when each observation arrives, and in which order.

Delays and losses are functions of trial and arm, like all draws.  So they are the same for every
policy that pulls arm j at trial t, and they change no other draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment.environment import Environment
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import place, show, uniform
from onepull.simulation.law_tables import Laws, tabulate

LOSSES_STREAM = np.uint64(0x8CB92BA72F3D8DD7)  # separate streams for losses and delays
DELAYS_STREAM = np.uint64(0xAEF17502108EF2D9)
NEVER = -1
LONGEST_DELAY = 2.0**40  # trials; feedback that takes longer never arrives


class Post(NamedTuple):
    """The law of each arm's delay, and the probability that its feedback is lost."""

    delays: Laws
    losses: Array


def post_of(environment: Environment) -> Post:
    """Return delays and losses as arrays."""
    losses = np.array(list(environment.losses.values()))
    return Post(tabulate(list(environment.delays.values())), losses)


@compiled
def comes_at(post: Any, key: Any, trial: Any, arm: Any, delay: Any) -> Any:
    """Return the trial before which the feedback of a pull arrives, or NEVER."""
    at_arm = place(trial, post.losses.size, arm)
    if uniform(key ^ LOSSES_STREAM, at_arm) < post.losses[arm]:
        return NEVER
    show(post.delays, arm, key ^ DELAYS_STREAM, at_arm, trial, delay)
    return trial + 1 + int(delay[0]) if delay[0] < LONGEST_DELAY else NEVER


class Mail(NamedTuple):
    """Pulls in flight: a linked list for each trial before which feedback arrives.

    `first` and `last` are the ends of the list of a trial.  `after` gives the next pull in the
    list.  A pull is named by its trial, and a list is in the order of the pulls.
    """

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    after: NDArray[np.int32]
    arms: NDArray[np.int32]
    cells: NDArray[np.int32]  # the cell of each pull, if it matters
    rewards: Array  # the reward of each pull, if it matters


def no_mail(horizon: int, *, in_context: bool) -> Mail:
    """Return an empty queue."""
    size = horizon if in_context else 0
    return Mail(
        first=np.full(horizon, NEVER, np.int32),
        last=np.full(horizon, NEVER, np.int32),
        after=np.full(horizon, NEVER, np.int32),
        arms=np.zeros(horizon, np.int32),
        cells=np.zeros(size, np.int32),
        rewards=np.zeros(size),
    )


@inlined
def send(first: Any, last: Any, after: Any, trial: Any, when: Any) -> None:
    """Append the pull of a trial to the list of the trial before which its feedback arrives."""
    if 0 <= when < first.size:
        if first[when] < 0:
            first[when] = trial
        else:
            after[last[when]] = trial
        last[when] = trial
