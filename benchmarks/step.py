"""Measure the CPU time of one decision (choose and observe) and compare it with plain loops.

All contestants of a group take turns on the same requests, round after round, so a noisy machine
slows them equally.  The result is the ratios within a round, not the times.  Contestants with the
same arithmetic must end with the same pulls.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module, metadata
from math import inf, log, sqrt
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from onepull import CCB, DCB, UCB1, Finite, Interval, Policy, Problem

ALPHA = 2 + 0.01  # 2 + ε, with the default ε of the policies
SIZES = [(20, 20), (64, 4), (65, 4), (1000, 4), (7, 10_000), (1000, 10_000)]  # arms, contexts
TITLE = "CPU time of a decision, and its ratio to the first row of its size (blind: no contexts)"
LARGE = 1000  # from this many arms or contexts on, a loop over lists is too slow to compare with

# A policy of any package that sees rewards but no contexts: its arms, choice and update.
Blind: TypeAlias = tuple[Sequence[Any], Callable[[], Any], Callable[[Any, float], Any]]


class Setting(NamedTuple):
    """A policy and its requests; each arm is pulled once before, in the first request's states."""

    policy: Policy
    levels: list[float]  # the value that represents each cell of contexts
    origin: int  # a context is in cell int((context - origin) * per_unit)
    per_unit: int
    requests: list[tuple[float, list[float]]]  # a context, and the state that each arm would show


class Contestant(NamedTuple):
    """A function that serves all requests once, and the pulls of each arm so far."""

    name: str
    play: Callable[[], None]
    pulls: Callable[[], list[int]] | None = None  # None if it uses another rule


class Result(NamedTuple):
    """The best CPU time of a step, and the quartiles of its ratio to the first contestant."""

    name: str
    microseconds: float
    ratio: list[float]  # lower quartile, median, upper quartile


def _channels(arms: int, bits: Finite | Interval, capacity: Finite | Interval) -> Problem:
    names = [f"channel {j}" for j in range(1, arms + 1)]
    context, state = {"bits": bits}, {"capacity": capacity}
    return Problem(arms=names, context=context, state=state, reward="min(bits, capacity)")


def paper_channels(arms: int, contexts: int, steps: int) -> Setting:
    """Return the paper's example at any size: of 7 channels, j carries j bits in 8 - j of 10."""
    generator, capacity = np.random.default_rng(1), np.arange(1.0, arms + 1)
    works = generator.random((steps, arms)) < (arms + 1 - capacity) / (arms + 3)
    states = np.where(works, capacity, 0.0)
    if contexts < LARGE:
        policy: Policy = DCB(_channels(arms, Finite(range(1, contexts + 1)), Interval(0, arms)))
        levels, origin, per_unit = np.arange(1.0, contexts + 1), 1, 1
        bits = generator.integers(1, contexts + 1, steps).tolist()
    else:  # the same on a scale from 0 to 1, with cells
        policy = CCB(_channels(arms, Interval(0, 1), Interval(0, 1)), delta=1 / contexts)
        states /= arms
        levels, origin, per_unit = (np.arange(contexts) + 0.5) * (1 / contexts), 0, contexts
        bits = generator.random(steps).tolist()
    requests = list(zip(bits, states.tolist(), strict=True))
    return Setting(policy, levels.tolist(), origin, per_unit, requests)


def plain_loop(setting: Setting) -> Contestant:
    """Return DCB written out on lists: what a decision costs in Python without a library."""
    _, levels, origin, _, requests = setting
    means = [[min(level, state) for state in requests[0][1]] for level in levels]
    pulls, roots = [1] * len(means[0]), [1.0] * len(means[0])

    def play() -> None:
        trial = sum(pulls)
        for bits, states in requests:
            cell = int(bits) - origin
            trial += 1
            width = levels[cell] * sqrt(ALPHA * log(trial))
            chosen, highest = 0, -inf
            for arm, (mean, root) in enumerate(zip(means[cell], roots)):  # noqa: B905 - one each
                index = mean + width * root
                if index > highest:
                    chosen, highest = arm, index
            state = states[chosen]
            count = pulls[chosen] = pulls[chosen] + 1
            roots[chosen] = 1.0 / sqrt(count)
            weight = 1.0 / count
            for row, level in zip(means, levels):  # noqa: B905 - one each
                row[chosen] += (min(level, state) - row[chosen]) * weight

    return Contestant("plain loop", play, lambda: pulls)


def vectorised(setting: Setting) -> Contestant:
    """Return DCB or CCB written out in numpy, with an arm's means next to each other in memory."""
    _, heights, origin, per_unit, requests = setting
    levels = np.array(heights)
    means = np.minimum(levels, np.array(requests[0][1])[:, None])
    pulls, roots = [1] * len(means), np.ones(len(means))

    def play() -> None:
        trial = sum(pulls)
        for bits, states in requests:
            cell = int((bits - origin) * per_unit)
            trial += 1
            width = heights[cell] * sqrt(ALPHA * log(trial))
            chosen = int((means[:, cell] + width * roots).argmax())
            count = pulls[chosen] = pulls[chosen] + 1
            roots[chosen] = 1.0 / sqrt(count)
            row = means[chosen]
            row += (np.minimum(levels, states[chosen]) - row) * (1.0 / count)

    return Contestant("numpy", play, lambda: pulls)


def known_reward(name: str, policy: Policy, setting: Setting) -> Contestant:
    """Return a onepull policy that sees states."""
    requests = [(y, dict(zip(policy.problem.arms, x, strict=True))) for y, x in setting.requests]
    for arm, capacity in requests[0][1].items():
        policy.observe(arm, capacity=capacity)

    def play() -> None:
        for bits, capacity in requests:
            arm = policy.choose(bits=bits)
            policy.observe(arm, capacity=capacity[arm])

    explain = partial(policy.explain, bits=requests[0][0])
    return Contestant(name, play, lambda: [int(row.pulls) for row in explain().arms])


def rewards_only(name: str, blind: Blind, setting: Setting) -> Contestant:
    """Return a policy that ignores contexts and sees rewards, which go up to 4."""
    arms, pull, update = blind
    requests = [(y, dict(zip(arms, x, strict=True))) for y, x in setting.requests]
    for arm, state in requests[0][1].items():
        update(arm, min(requests[0][0], state))

    def play() -> None:
        for bits, capacity in requests:
            arm = pull()
            update(arm, min(bits, capacity[arm]))

    return Contestant(f"{name}, blind", play)


def _onepull() -> Blind:
    policy = UCB1(_channels(7, Finite([1, 2, 3, 4]), Interval(0, 7)))
    pull = partial(policy.choose, bits=1)
    return policy.problem.arms, pull, lambda arm, reward: policy.observe(arm, reward=reward)


def _river() -> Blind:
    policy = import_module("river.bandit").UCB(delta=4.0, seed=1)
    return range(7), partial(policy.pull, range(7)), policy.update


def _pymab() -> Blind:
    policy = import_module("pymab.policies").UCBPolicy(n_arms=7, reward_scale=4.0)
    pull = partial(policy.select_action, rng=np.random.default_rng(1))
    return range(7), pull, lambda arm, reward: policy.update(action=arm, reward=reward)


def _mabwiser() -> Blind:
    mab = import_module("mabwiser.mab")
    policy = mab.MAB(list(range(7)), mab.LearningPolicy.UCB1(alpha=4.0), seed=1)
    return range(7), policy.predict, lambda arm, reward: policy.partial_fit([arm], [reward])


def compete(contestants: list[Contestant], rounds: int, steps: int) -> list[Result]:
    """Run all contestants in turn and compare them with the first, round by round."""
    times = np.empty((rounds, len(contestants)))
    for turn in np.ndindex(times.shape):
        begin = process_time()
        contestants[turn[1]].play()
        times[turn] = process_time() - begin
    if len({tuple(contestant.pulls()) for contestant in contestants if contestant.pulls}) > 1:
        raise SystemExit(f"not the same decisions: {[c.name for c in contestants if c.pulls]}")
    ratios = np.quantile(times / times[:, :1], [0.25, 0.5, 0.75], axis=0)
    columns = np.vstack([times.min(axis=0) / steps * 1e6, ratios]).T.tolist()
    return [Result(c.name, row[0], row[1:]) for c, row in zip(contestants, columns, strict=True)]


def one_decision(rounds: int, steps: int) -> list[Result]:
    """Compare policies and packages on the paper's example."""
    setting = paper_channels(7, 4, steps)
    finite = DCB(_channels(7, Finite([1, 2, 3, 4]), Finite(range(8))))
    contestants = [
        plain_loop(setting),
        known_reward("onepull DCB, interval states", setting.policy, setting),
        known_reward("onepull DCB, finite states", finite, setting),
    ]
    for ucb in (_onepull, _river, _pymab, _mabwiser):
        name = ucb.__name__.strip("_")
        try:
            contestants.append(rewards_only(f"{name} {metadata.version(name)} UCB", ucb(), setting))
        except ModuleNotFoundError:  # metadata raises it too
            print(f"{name} is left out; to install it: pip install --group peers", file=sys.stderr)
    return compete(contestants, rounds, steps)


def growth(rounds: int, steps: int) -> Iterator[tuple[str, list[Result]]]:
    """Compare other sizes with numpy, and with the plain loop where that is fast enough."""
    for arms, contexts in SIZES:
        setting = paper_channels(arms, contexts, steps)
        contestants = [vectorised(setting), known_reward("onepull", setting.policy, setting)]
        contestants += [plain_loop(setting)] if max(arms, contexts) < LARGE else []
        yield f"K={arms}, M={contexts}", compete(contestants, rounds, steps)


def main() -> None:
    """Run both comparisons and print them."""
    parser = argparse.ArgumentParser(description="Time one decision, beside plain loops.")
    parser.add_argument("--rounds", type=int, default=80, help="turns per contestant")
    parser.add_argument("--steps", type=int, default=500, help="decisions per turn")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    gc.disable()  # as timeit does, so that no contestant pays for a collection
    groups = {"K=7, M=4": one_decision(options.rounds, options.steps)}
    groups.update(growth(options.rounds, options.steps))
    if options.json:
        print(json.dumps({size: [r._asdict() for r in group] for size, group in groups.items()}))
        return
    table = Table("size", "contestant", "best µs", "ratio", "quartiles", title=TITLE)
    for size, group in groups.items():
        for name, best, (low, ratio, high) in group:
            table.add_row(size, name, f"{best:7.2f}", f"{ratio:5.2f}", f"{low:5.2f} to {high:5.2f}")
        table.add_section()
    Console().print(table)


if __name__ == "__main__":
    main()
