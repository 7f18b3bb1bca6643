"""The paper's three applications, and one with a budget."""

from __future__ import annotations

from numbers import Integral

from onepull.distributions import (
    Discrete,
    Distribution,
    Independent,
    TruncatedNormal,
    Uniform,
    scaled_bernoulli,
)
from onepull.environment.environment import Environment
from onepull.errors import ParameterError
from onepull.problem import Problem
from onepull.spaces import Finite, Interval


def _channels(count: int) -> dict[str, Distribution]:
    """Return the laws of the paper's channels: j with probability (8-j)/10, else 0."""
    if not isinstance(count, Integral) or isinstance(count, bool) or not 1 <= count <= 7:
        raise ParameterError(f"channels must be a whole number from 1 to 7, given {count!r}")
    return {f"channel {j}": scaled_bernoulli(j, (8 - j) / 10) for j in range(1, count + 1)}


def channel_selection(channels: int = 7) -> Environment:
    """Return dynamic channel selection, with up to the paper's seven channels.

    The context is the number of bits to send, uniform from 1 to 4.  A channel delivers at most
    its capacity: channel j has capacity j with probability (8-j)/10, and 0 otherwise.

    >>> channel_selection().problem.arms[0]
    'channel 1'
    """
    arms = _channels(channels)
    problem = Problem(
        arms=list(arms),
        context={"bits": Finite([1, 2, 3, 4])},
        state={"capacity": Finite(range(channels + 1))},
        reward="min(bits, capacity)",
    )
    return Environment(problem, states=arms, contexts=Discrete([1, 2, 3, 4], [0.25] * 4))


def metered_channels(budget: float, channels: int = 4) -> Environment:
    """Return channel selection with a budget: channel j costs j/4 per pull, idling is free.

    The channels are those of `channel_selection`.  The best ones for 1 to 4 bits cost 0.625
    per trial on average; the budget binds if it is below that times the horizon.

    >>> metered_channels(500.0).costs["channel 2"]
    0.5
    """
    free = channel_selection(channels)
    costs = {arm: j / 4 for j, arm in enumerate(free.problem.arms, start=1)}
    return Environment(
        free.problem.with_arms([*free.problem.arms, "idle"]),
        states=free.states | {"idle": Discrete([0], [1.0])},
        contexts=free.contexts,
        costs=costs,
        budget=budget,
    )


def energy_harvesting(channels: int = 4) -> Environment:
    """Return power-aware channel selection, with reward log(1 + power·gain).

    The harvested power is uniform between 0 and 1; the gains are those of `channel_selection`.

    >>> energy_harvesting().problem.reward
    Reward('log(1 + power * gain)')
    """
    arms = _channels(channels)
    problem = Problem(
        arms=list(arms),
        context={"power": Interval(0, 1)},
        state={"gain": Finite(range(channels + 1))},
        reward="log(1 + power * gain)",
    )
    return Environment(problem, states=arms, contexts=Uniform(0, 1))


def offloading() -> Environment:
    """Return job-aware computational offloading, after the paper's third example.

    A job has data to transfer (MB) and work to do (million cycles).  A server has a random
    link rate (MB/s) and a random processing rate (million cycles/s).  The reward is 1 minus the
    time taken as a fraction of 30 seconds, 1 - (megabytes/rate + work/speed)/30, but at least
    -1: a job that takes a minute counts the same as one that never ends.

    >>> sorted(offloading().problem.arms)
    ['cloud', 'edge', 'neighbour', 'regional']
    """
    problem = Problem(
        arms=["edge", "neighbour", "regional", "cloud"],
        context={"megabytes": Finite([1, 10, 50, 100]), "work": Finite([100, 1000, 5000, 10000])},
        state={"rate": Interval(1, 100), "speed": Interval(100, 4000)},
        reward="max(-1, 1 - (megabytes / rate + work / speed) / 30)",
    )
    states = {
        "edge": Independent(
            TruncatedNormal(60, 15, low=1, high=100), TruncatedNormal(500, 150, low=100, high=4000)
        ),
        "neighbour": Independent(Uniform(5, 60), TruncatedNormal(700, 400, low=100, high=4000)),
        "regional": Independent(
            TruncatedNormal(20, 8, low=1, high=100), TruncatedNormal(1800, 500, low=100, high=4000)
        ),
        "cloud": Independent(
            TruncatedNormal(8, 4, low=1, high=100), TruncatedNormal(3200, 400, low=100, high=4000)
        ),
    }
    jobs = {
        "megabytes": Discrete([1, 10, 50, 100], [0.4, 0.3, 0.2, 0.1]),
        "work": Discrete([100, 1000, 5000, 10000], [0.3, 0.3, 0.2, 0.2]),
    }
    return Environment(problem, states=states, contexts=jobs)
