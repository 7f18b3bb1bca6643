"""Compare LinUCB, linear Thompson sampling and ε-greedy with a public package on the same stream.

LinUCB is deterministic, so the decisions themselves are compared.  The others are random and are
compared by their regret.  The CPU time of a decision is a ratio within a replication, because a
noisy machine slows both packages equally.
"""

import argparse
import json
import math
from collections.abc import Callable
from importlib import import_module, metadata
from time import process_time
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from onepull import EpsilonGreedy, Interval, LinearThompson, LinUCB, Policy, Problem

ARMS = ["first", "second", "third", "fourth", "fifth"]
ALPHA, REGULARISER, SPREAD, EPSILON = 1.0, 1.0, 0.5, 0.1
PACKAGE = "mabwiser"
PROBLEM = Problem(
    arms=ARMS,
    context={"y": Interval(0, 1), "z": Interval(0, 1)},
    state={"u": Interval(0, 1), "v": Interval(0, 1), "w": Interval(0, 1)},
    reward="(y * u + z * v + w) / 3",
)

# Two functions of one package: choose an arm for a request, and observe its reward.
Loop: TypeAlias = tuple[Callable[[list[float]], int], Callable[[int, list[float], float], None]]


class Stream(NamedTuple):
    """Requests, with the reward that every arm would give and its gap."""

    contexts: list[list[float]]
    rewards: list[list[float]]
    gaps: NDArray[np.float64]


class Run(NamedTuple):
    """What a contestant did on a stream."""

    arms: list[int]
    regret: float
    seconds: float


class Row(NamedTuple):
    """The results of one rule in both packages over all streams."""

    rule: str
    equal: float | None  # the share of equal decisions, if the rule is not random
    ours: tuple[float, float]  # regret and the half-width of its 95 % interval
    theirs: tuple[float, float]
    microseconds: float
    ratio: list[float]  # their time / our time: lower quartile, median, upper quartile


def stream(seed: int, steps: int) -> Stream:
    """Return requests to arms whose mean reward is linear in the context."""
    generator = np.random.default_rng(seed)
    contexts = generator.random((steps, 2))
    weights = np.column_stack([contexts, np.ones(steps)]) / 3
    strengths = np.random.default_rng(0).uniform(1, 9, (len(ARMS), 3))  # the arms of every stream
    states = generator.beta(strengths, 10 - strengths, (steps, len(ARMS), 3))
    means = weights @ (strengths / 10).T
    rewards = np.einsum("tf,tjf->tj", weights, states)
    gaps = means.max(axis=1, keepdims=True) - means
    return Stream(contexts.tolist(), rewards.tolist(), gaps)


def run(loop: Loop, given: Stream) -> Run:
    """Serve a stream; the first requests pull each arm once, whatever the policy."""
    decide, learn = loop
    chosen = []
    begin = process_time()
    for step, (context, rewards) in enumerate(zip(given.contexts, given.rewards, strict=True)):
        arm = step if step < len(ARMS) else decide(context)
        learn(arm, context, rewards[arm])
        chosen.append(arm)
    seconds = process_time() - begin
    return Run(chosen, float(given.gaps[np.arange(len(chosen)), chosen].sum()), seconds)


def ours(policy: Policy) -> Loop:
    """Return the loop of a onepull policy, which sees contexts and rewards."""

    def decide(context: list[float]) -> int:
        return ARMS.index(policy.choose(y=context[0], z=context[1]))

    def learn(arm: int, context: list[float], reward: float) -> None:
        policy.observe(ARMS[arm], y=context[0], z=context[1], reward=reward)

    return decide, learn


def theirs(policy: Any, *, sees_contexts: bool) -> Loop:
    """Return the loop of a MABWiser policy, which sees the same features or none."""

    def told(context: list[float]) -> dict[str, Any]:
        if not sees_contexts:
            return {}
        root = 1 / math.sqrt(3)
        return {"contexts": [[root, context[0] * root, context[1] * root]]}

    def decide(context: list[float]) -> int:
        arm: int = policy.predict(**told(context))
        return arm

    def learn(arm: int, context: list[float], reward: float) -> None:
        policy.partial_fit([arm], [reward], **told(context))

    return decide, learn


def contestants(mab: Any, seed: int) -> dict[str, tuple[Loop, Loop]]:
    """Return each rule in both packages, with the same constants where possible."""
    kinds, rng = mab.LearningPolicy, import_module(f"{PACKAGE}.utils")
    arms = list(range(len(ARMS)))

    def thompson() -> Loop:
        policy = LinearThompson(PROBLEM, spread=SPREAD, regulariser=REGULARISER, seed=seed)
        return ours(policy)

    def sampler() -> Any:
        kind = kinds.LinTS(alpha=SPREAD, l2_lambda=REGULARISER)
        return mab.MAB(arms, kind, seed=seed)

    # MABWiser's models copy one generator with its state when they are fitted, so all arms then
    # draw the same numbers.  Here each arm gets its own generator, as the rule requires.
    apart = sampler()
    for arm, model in apart._imp.arm_to_model.items():  # noqa: SLF001 - there is no public way
        model.rng = rng.create_rng(seed * len(arms) + arm)
    lin_ucb = LinUCB(PROBLEM, alpha=ALPHA, regulariser=REGULARISER)
    lin_ucb_kind = kinds.LinUCB(alpha=ALPHA, l2_lambda=REGULARISER)
    greedy = EpsilonGreedy(PROBLEM, sharing="blind", c=0.2, gap=0.2, seed=seed)
    greedy_kind = kinds.EpsilonGreedy(epsilon=EPSILON)
    return {
        "LinUCB": (ours(lin_ucb), theirs(mab.MAB(arms, lin_ucb_kind), sees_contexts=True)),
        "Thompson": (thompson(), theirs(sampler(), sees_contexts=True)),
        "Thompson, separate generators": (thompson(), theirs(apart, sees_contexts=True)),
        "ε-greedy": (
            ours(greedy),
            theirs(mab.MAB(arms, greedy_kind, seed=seed), sees_contexts=False),
        ),
    }


def compare(mab: Any, replications: int, steps: int) -> list[Row]:
    """Run every rule in both packages on the same streams."""
    runs: dict[str, list[tuple[Run, Run]]] = {}
    for seed in range(1, replications + 1):
        given = stream(seed, steps)
        for rule, (one, two) in contestants(mab, seed).items():
            runs.setdefault(rule, []).append((run(one, given), run(two, given)))
    return [row(rule, pairs, steps) for rule, pairs in runs.items()]


def row(rule: str, pairs: list[tuple[Run, Run]], steps: int) -> Row:
    """Summarise the runs of a rule."""
    equal = np.mean([np.equal(one.arms, two.arms) for one, two in pairs])
    ratios = [two.seconds / one.seconds for one, two in pairs]
    return Row(
        rule,
        float(equal) if rule == "LinUCB" else None,
        interval([one.regret for one, _ in pairs]),
        interval([two.regret for _, two in pairs]),
        min(one.seconds for one, _ in pairs) / steps * 1e6,
        np.quantile(ratios, [0.25, 0.5, 0.75]).tolist(),
    )


def interval(regrets: list[float]) -> tuple[float, float]:
    """Return the mean and the half-width of its 95 % interval."""
    return float(np.mean(regrets)), float(1.96 * np.std(regrets, ddof=1) / math.sqrt(len(regrets)))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description="Compare policies with those of a public package.")
    parser.add_argument("--replications", type=int, default=20, help="number of streams")
    parser.add_argument("--steps", type=int, default=1000, help="decisions per stream")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    try:
        mab = import_module(f"{PACKAGE}.mab")
    except ModuleNotFoundError:
        raise SystemExit(
            f"{PACKAGE} is missing; to install it: pip install --group peers"
        ) from None
    rows = compare(mab, options.replications, options.steps)
    if options.json:
        print(json.dumps([one._asdict() for one in rows]))
        return
    title = f"onepull beside {PACKAGE} {metadata.version(PACKAGE)}"
    columns = ("rule", "equal", "regret ± 95 %", "theirs", "best µs", "time ratio", "quartiles")
    table = Table(*columns, title=title)
    for one in rows:
        low, ratio, high = one.ratio
        table.add_row(
            one.rule,
            "" if one.equal is None else f"{one.equal:.2%}",
            "{:.1f} ± {:.1f}".format(*one.ours),
            "{:.1f} ± {:.1f}".format(*one.theirs),
            f"{one.microseconds:.1f}",
            f"{ratio:.1f}",
            f"{low:.1f} to {high:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
