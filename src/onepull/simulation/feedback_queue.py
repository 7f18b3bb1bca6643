"""Feedback under way: when it comes, and in which order.

A delay and a loss are drawn like everything else, by place: at trial t pulls of arm j are lost
or late alike for whoever makes them, and none of the other draws is moved by it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onepull.arrays import Array
from onepull.environment.environment import Environment
from onepull.simulation.compiled import compiled, inlined
from onepull.simulation.draws import Laws, place, show, tabulate, uniform

LOST = np.uint64(0x8CB92BA72F3D8DD7)  # sets the streams of losses and of delays apart
LATE = np.uint64(0xAEF17502108EF2D9)
NEVER = -1
LONGEST = 2.0**40  # trials; whatever takes longer never comes


class Post(NamedTuple):
    """The laws of all arms' delays, and how likely each arm's feedback is lost."""

    delays: Laws
    losses: Array


def post_of(environment: Environment) -> Post:
    """Return delays and losses as arrays."""
    losses = np.array(list(environment.losses.values()))
    return Post(tabulate(list(environment.delays.values())), losses)


@compiled
def comes_at(post: Any, key: Any, trial: Any, arm: Any, delay: Any) -> Any:
    """Return the trial before which the feedback of a pull comes, or NEVER."""
    at_arm = place(trial, post.losses.size, arm)
    if uniform(key ^ LOST, at_arm) < post.losses[arm]:
        return NEVER
    show(post.delays, arm, key ^ LATE, at_arm, trial, delay)
    return trial + 1 + int(delay[0]) if delay[0] < LONGEST else NEVER


class Mail(NamedTuple):
    """Pulls whose feedback is under way, in a list for each trial before which it comes.

    `first` and `last` are the ends of the list of a trial, and `after` leads from the trial of
    a pull to that of the next in its list; they are in the order of the pulls.
    """

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    after: NDArray[np.int32]
    arms: NDArray[np.int32]
    cells: NDArray[np.int32]  # of the pull's context, where it matters
    rewards: Array  # likewise


def no_mail(horizon: int, *, in_context: bool) -> Mail:
    """Return the mail of a run in which nothing is under way yet."""
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
    """Put the pull of a trial at the end of the list of the trial before which it comes."""
    if 0 <= when < first.size:
        if first[when] < 0:
            first[when] = trial
        else:
            after[last[when]] = trial
        last[when] = trial
