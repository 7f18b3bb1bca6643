"""Replay recorded arms in order: what each policy earns beside the genie of averages.

    python benchmarks/traces.py
    python benchmarks/traces.py --half second --runs 5 --only satellite

All arms were measured at the same moments, so every choice can be scored.  The genie knows each
arm's average over the whole trace; a policy that follows changes can earn more.  Contexts are drawn
evenly, anew in each run.  The traces are in ../shared/data; without them there is nothing to run.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onepull import (
    DCB,
    IMED,
    AdaptiveKL,
    DiscountedKL,
    Finite,
    Greedy,
    Interval,
    Policy,
    Problem,
)
from onepull.html import printable

DATA = Path(__file__).parents[2] / "shared" / "data"
BITS = (1, 5, 10, 25, 50, 100, 200, 400)
DEADLINES = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3)
POWERS = tuple((i + 0.5) / 8 for i in range(8))
TOKENS = (6, 10, 13, 20, 40, 80, 129, 200, 300, 562)
RATES = ((0.2, 0.05), (0.05, 0.03), (0.02, 0.02))  # of the averages, and of exploring


@dataclass
class Trace:
    """States of all arms in order, and the reward of each in every context."""

    problem: Problem
    states: np.ndarray  # trial, arm, field

    def __post_init__(self) -> None:
        """Compute the reward of every state in every context."""
        columns = list(np.moveaxis(self.states, 2, 0))
        self.contexts = _contexts(self.problem)
        self.rewards = np.stack(
            [self.problem.payoff.vector(*c, *columns) for c in self.contexts], axis=2
        )

    def part(self, half: str) -> Trace:
        """Return the first or the second half, or all of it."""
        middle = len(self.states) // 2
        kept = {"first": slice(0, middle), "second": slice(middle, None), "all": slice(None)}
        return Trace(self.problem, self.states[kept[half]])


def _contexts(problem: Problem) -> list[tuple[float, ...]]:
    listed = [s.values for s in problem.context.values() if isinstance(s, Finite)]
    return list(itertools.product(*listed))


def _table(name: str) -> tuple[list[str], np.ndarray]:
    with (DATA / name).open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    first = 0 if rows[0][0].replace(".", "").replace("-", "").isdigit() and head[0] != "i" else 1
    return head[first:], np.array([[float(v) for v in row[first:]] for row in rows])


def satellite(reward: str) -> Trace:
    """Three cellular networks and a satellite, from a car."""
    arms, rows = _table("links/satellite_cellular_tcp.csv")
    state = {"rate": Interval(0, 1000)}
    return Trace(
        Problem(arms=arms, context={"bits": Finite(BITS)}, state=state, reward=reward),
        rows[:, :, None],
    )


def servers(reward: str) -> Trace:
    """Round-trip times of 98 servers."""
    arms, rows = _table("links/rtt_98_servers.csv")
    state = {"rtt": Interval(0, 100)}
    return Trace(
        Problem(arms=arms, context={"limit": Finite(DEADLINES)}, state=state, reward=reward),
        rows[:, :, None],
    )


def channels() -> Trace:
    """Sixteen radio channels: signal and share of packets delivered."""
    head, rows = _table("links/channels_lille.csv")
    count = len(head) // 2
    return Trace(
        Problem(
            arms=[name.removeprefix("rssi") for name in head[:count]],
            context={"power": Finite(POWERS)},
            state={"rssi": Interval(-100, -30), "pdr": Interval(0, 1)},
            reward="pdr * log2(1 + power * 10**((rssi + 80) / 10))",
        ),
        np.stack([rows[:, :count], rows[:, count:]], axis=2),
    )


def machines(name: str) -> Trace:
    """Virtual machines: speed of their disks and processors."""
    head, rows = _table(f"azure_vm/{name}.csv")
    reward = "max(0, min(1, 1 - (data/io + work/cpu) / (3 * (data/195 + work/8000))))"
    return Trace(
        Problem(
            arms=[column.removesuffix("_io_MiBps") for column in head[::2]],
            context={"data": Finite([8, 64, 512, 4096]), "work": Finite([1e3, 1e4, 1e5, 1e6])},
            state={"io": Interval(1, 10000), "cpu": Interval(1, 100000)},
            reward=reward,
        ),
        np.stack([rows[:, ::2], rows[:, 1::2]], axis=2),
    )


def endpoints(reward: str) -> Trace:
    """Four endpoints of one language model: time to the first token and per token."""
    head, rows = _table("llm_endpoints/llama2_7b_4arms.csv")
    state = {"ttft": Interval(0, math.inf), "tpot": Interval(0, math.inf)}
    return Trace(
        Problem(
            arms=[column.removesuffix("_ttft_s") for column in head[::2]],
            context={"tokens": Finite(TOKENS)},
            state=state,
            reward=reward,
        ),
        np.stack([rows[:, ::2], rows[:, 1::2]], axis=2),
    )


TRACES: dict[str, Callable[[], Trace]] = {
    "satellite, bits": lambda: satellite("min(bits, rate) / 400"),
    "satellite, share": lambda: satellite("min(1, rate / bits)"),
    "98 servers, deadline": lambda: servers("rtt <= limit"),
    "98 servers, soft": lambda: servers("max(0, 1 - rtt / limit)"),
    "channels": channels,
    "machines, long": lambda: machines("long_5arms_6h"),
    "machines, short": lambda: machines("short_4arms_2h"),
    "endpoints, time": lambda: endpoints("max(0, 1 - (ttft + (tokens-1) * tpot) / 20)"),
    "endpoints, in time": lambda: endpoints("ttft + (tokens-1)*tpot <= 0.3 + 0.0135*tokens"),
}


def played(build: Callable[[Problem], Policy]) -> Callable[..., float]:
    """Return a player that asks a policy."""

    def play(trace: Trace, order: np.ndarray, seed: int) -> float:
        del seed
        policy, problem = build(trace.problem), trace.problem
        fields = [problem.context.fields(context) for context in trace.contexts]
        names, place = problem.state.names, {arm: j for j, arm in enumerate(problem.arms)}
        earned = 0.0
        for trial, context in enumerate(order.tolist()):
            arm = policy.choose(**fields[context])
            j = place[arm]
            earned += trace.rewards[trial, j, context]
            told = dict(zip(names, trace.states[trial, j].tolist(), strict=True))
            policy.observe(arm, **told)
        return earned

    return play


def averaging(rate: float, explore: float) -> Callable[..., float]:
    """Return ten lines: a moving average of each state, put into the reward."""

    def play(trace: Trace, order: np.ndarray, seed: int) -> float:
        generator = np.random.default_rng(seed)
        count = trace.states.shape[1]
        means = np.full(trace.states.shape[1:], np.nan)
        earned = 0.0
        for trial, context in enumerate(order.tolist()):
            fresh = np.flatnonzero(np.isnan(means[:, 0]))
            if len(fresh):
                j = int(fresh[0])
            elif generator.random() < explore:
                j = int(generator.integers(count))
            else:
                j = int(np.argmax(trace.problem.payoff.vector(*trace.contexts[context], *means.T)))
            earned += trace.rewards[trial, j, context]
            state = trace.states[trial, j]
            means[j] = state if np.isnan(means[j, 0]) else means[j] + rate * (state - means[j])
        return earned

    return play


def best_fixed(trace: Trace, order: np.ndarray, seed: int) -> float:
    """Return what the best arm would have earned if it were played always."""
    del seed
    trials = np.arange(len(order))
    return max(float(trace.rewards[trials, j, order].sum()) for j in range(trace.rewards.shape[1]))


PLAYERS: dict[str, Callable[..., float]] = {
    "AdaptiveKL": played(AdaptiveKL),
    "without adapting": played(lambda problem: AdaptiveKL(problem, adapts=False)),
    **{f"average {rate:g}": averaging(rate, explore) for rate, explore in RATES},
    "best fixed arm": best_fixed,
    "Greedy": played(Greedy),
    "IMED": played(IMED),
    "DiscountedKL": played(DiscountedKL),
    "DCB": played(DCB),
}
RIVALS = [name for name in PLAYERS if name not in ("AdaptiveKL", "without adapting", "DCB")]


def gain(player: Callable[..., float], trace: Trace, runs: int, seed: int) -> tuple[float, float]:
    """Return the gain over the genie of averages in percent, and its 95 % half-width."""
    best = trace.rewards.mean(axis=0).max(axis=0)
    found = []
    for run in range(runs):
        order = np.random.default_rng([seed, run]).integers(0, len(best), len(trace.states))
        found.append(100.0 * (player(trace, order, run) / float(best[order].sum()) - 1.0))
    spread = float(np.std(found, ddof=1)) if runs > 1 else math.nan
    return float(np.mean(found)), 1.96 * spread / math.sqrt(runs)


def main() -> None:
    """Print one table for each trace."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("first", "second", "all"), default="all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="traces whose name contains this text")
    parser.add_argument("--policies", default="", help="some policies, separated by commas")
    stated = parser.parse_args()
    if not DATA.is_dir():
        sys.exit("the traces are not in ../shared/data")
    names = [name for name in PLAYERS if not stated.policies or name in stated.policies.split(",")]
    wanted: dict[str, Any] = {n: t for n, t in TRACES.items() if stated.only in n}
    for name, make in wanted.items():
        trace = make().part(stated.half)
        print(f"\n{printable(name)}: {len(trace.states):,} trials, {stated.half}")
        found = {}
        for player in names:
            began = time.process_time()
            try:
                found[player] = gain(PLAYERS[player], trace, stated.runs, stated.seed)
            except ValueError as error:
                print(f"  {player:18} {printable(str(error))[:60]}")
                continue
            spent = (time.process_time() - began) / stated.runs / len(trace.states) * 1e6
            mean, half = found[player]
            print(f"  {player:18} {mean:+7.2f} % ± {half:.2f}   {spent:7.1f} µs a trial")
        rivals = [found[rival][0] for rival in RIVALS if rival in found]
        if rivals and "AdaptiveKL" in found:
            print(f"  beside the best rival: {found['AdaptiveKL'][0] - max(rivals):+.2f} points")


if __name__ == "__main__":
    main()
