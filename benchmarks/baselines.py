"""LinUCB, linear Thompson sampling and ε-greedy beside a public package, on the same stream.

LinUCB is one rule with one answer, so the decisions themselves are compared.  The others
draw, and are compared by their regret.  The CPU time of a decision is a ratio within a
replication, since a noisy machine slows both alike.
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

# How one package decides on a request and takes in its reward.
Loop: TypeAlias = tuple[Callable[[list[float]], int], Callable[[int, list[float], float], None]]


class Stream(NamedTuple):
    """Requests, and what every arm would give: drawn, and on average."""

    contexts: list[list[float]]
    rewards: list[list[float]]
    gaps: NDArray[np.float64]


class Run(NamedTuple):
    """What a contestant did on a stream."""

    arms: list[int]
    regret: float
    seconds: float


class Row(NamedTuple):
    """A rule in both packages over all streams."""

    rule: str
    equal: float | None  # the share of equal decisions, where the rule does not draw
    ours: tuple[float, float]  # regret and the half width of its 95 % interval
    theirs: tuple[float, float]
    microseconds: float
    ratio: list[float]  # theirs to ours: lower quartile, median, upper quartile


def stream(seed: int, steps: int) -> Stream:
    """Return requests to arms whose mean reward is linear in the context."""
    generator = np.random.default_rng(seed)
    contexts = generator.random((steps, 2))
    weights = np.column_stack([contexts, np.ones(steps)]) / 3
    strengths = np.random.default_rng(0).uniform(1, 9, (len(ARMS), 3))  # the same arms always
    states = generator.beta(strengths, 10 - strengths, (steps, len(ARMS), 3))
    means = weights @ (strengths / 10).T
    rewards = np.einsum("tf,tjf->tj", weights, states)
    gaps = means.max(axis=1, keepdims=True) - means
    return Stream(contexts.tolist(), rewards.tolist(), gaps)


def run(loop: Loop, given: Stream) -> Run:
    """Serve a stream, each arm once first, whatever the policy."""
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
    """Let a policy of onepull see contexts and rewards."""

    def decide(context: list[float]) -> int:
        return ARMS.index(policy.choose(y=context[0], z=context[1]))

    def learn(arm: int, context: list[float], reward: float) -> None:
        policy.observe(ARMS[arm], y=context[0], z=context[1], reward=reward)

    return decide, learn


def theirs(policy: Any, *, sees_contexts: bool) -> Loop:
    """Let a policy of MABWiser see the same features, or none where it takes none."""

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
    """Return each rule in both packages, with the same constants where both have them."""
    kinds, rng = mab.LearningPolicy, import_module(f"{PACKAGE}.utils")
    arms = list(range(len(ARMS)))

    def thompson() -> Loop:
        policy = LinearThompson(PROBLEM, spread=SPREAD, regulariser=REGULARISER, seed=seed)
        return ours(policy)

    def sampler() -> Any:
        kind = kinds.LinTS(alpha=SPREAD, l2_lambda=REGULARISER)
        return mab.MAB(arms, kind, seed=seed)

    # Its models copy one generator, state and all, when they are fitted, and from then on all
    # arms draw the same luck; with one each they draw as the rule says.
    apart = sampler()
    for arm, model in apart._imp.arm_to_model.items():  # noqa: SLF001 - there is no other way in
        model.rng = rng.create_rng(seed * len(arms) + arm)
    lin_ucb = LinUCB(PROBLEM, alpha=ALPHA, regulariser=REGULARISER)
    lin_ucb_kind = kinds.LinUCB(alpha=ALPHA, l2_lambda=REGULARISER)
    greedy = EpsilonGreedy(PROBLEM, sharing="blind", c=0.2, gap=0.2, seed=seed)
    greedy_kind = kinds.EpsilonGreedy(epsilon=EPSILON)
    return {
        "LinUCB": (ours(lin_ucb), theirs(mab.MAB(arms, lin_ucb_kind), sees_contexts=True)),
        "Thompson": (thompson(), theirs(sampler(), sees_contexts=True)),
        "Thompson, luck apart": (thompson(), theirs(apart, sees_contexts=True)),
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
    """Sum the runs of a rule up."""
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
    """Return the mean and the half width of its 95 % interval."""
    return float(np.mean(regrets)), float(1.96 * np.std(regrets, ddof=1) / math.sqrt(len(regrets)))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description="Compare policies with a public package's.")
    parser.add_argument("--replications", type=int, default=20, help="streams")
    parser.add_argument("--steps", type=int, default=1000, help="decisions in a stream")
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
    table = Table("rule", "equal", "regret", "theirs", "best µs", "ratio", "quartiles", title=title)
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
