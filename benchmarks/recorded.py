"""Recorded arms: states of all arms at the same moments, with a reward and contexts.

The files are in ../shared/data and are not part of the project; their README files say where they
come from.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from onepull import Finite, Interval, Problem

DATA = Path(__file__).parents[2] / "shared" / "data"
BITS = (1, 5, 10, 25, 50, 100, 200, 400)
DEADLINES = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3)
POWERS = tuple((i + 0.5) / 8 for i in range(8))
LENGTHS = 40  # quantiles of the tokens that requests generate
TUNING = 1000  # trials, at most
ROUNDS = 20  # how often the few answers of the endpoints are repeated or drawn


@dataclass
class Trace:
    """States of all arms in order, and the reward of each in every context."""

    problem: Problem
    states: np.ndarray  # trial, arm, field
    contexts: list[dict[str, float]] = field(init=False)
    rewards: np.ndarray = field(init=False)  # trial, arm, context

    def __post_init__(self) -> None:
        """Compute the reward of every state in every context."""
        columns = list(np.moveaxis(self.states, 2, 0))
        spaces = self.problem.context
        listed = [space.values for space in spaces.values() if isinstance(space, Finite)]
        rows = list(itertools.product(*listed))
        self.contexts = [dict(zip(spaces.names, row, strict=True)) for row in rows]
        self.rewards = np.stack(
            [self.problem.payoff.vector(*row, *columns) for row in rows], axis=2
        )

    def part(self, half: str) -> Trace:
        """Return the first or the second half, all of it, or a part of the first for tuning."""
        middle = len(self.states) // 2
        kept = {
            "first": slice(0, middle),
            "second": slice(middle, None),
            "all": slice(None),
            "tuning": slice(0, min(middle, TUNING)),
        }
        return Trace(self.problem, self.states[kept[half]])

    def shuffled(self, order: np.ndarray) -> tuple[Problem, np.ndarray, np.ndarray]:
        """Return the problem, states and rewards with the arms in another order."""
        problem = self.problem.with_arms([self.problem.arms[j] for j in order])
        return problem, self.states[:, order], self.rewards[:, order]

    @property
    def has_many_arms(self) -> bool:
        """Whether there are more arms than a tenth of the requests."""
        return bool(self.states.shape[1] > len(self.states) / 10)


@cache
def _table(name: str, skipped: int) -> tuple[list[str], np.ndarray]:
    """Return the head and the numbers of a file, without its first columns."""
    with (DATA / name).open(encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return head[skipped:], np.array([[float(v) for v in row[skipped:]] for row in rows])


def satellite(reward: str) -> Trace:
    """Three cellular networks and a satellite, from a car."""
    arms, rows = _table("links/satellite_cellular_tcp.csv", 1)
    state = {"rate": Interval(0, 1000)}
    problem = Problem(arms=arms, context={"bits": Finite(BITS)}, state=state, reward=reward)
    return Trace(problem, rows[:, :, None])


def servers(reward: str) -> Trace:
    """Round-trip times of 98 servers."""
    arms, rows = _table("links/rtt_98_servers.csv", 0)
    state = {"rtt": Interval(0, 100)}
    problem = Problem(arms=arms, context={"limit": Finite(DEADLINES)}, state=state, reward=reward)
    return Trace(problem, rows[:, :, None])


def channels() -> Trace:
    """Sixteen radio channels: signal and share of packets delivered."""
    head, rows = _table("links/channels_lille.csv", 0)
    count = len(head) // 2
    problem = Problem(
        arms=[name.removeprefix("rssi") for name in head[:count]],
        context={"power": Finite(POWERS)},
        state={"rssi": Interval(-100, -30), "pdr": Interval(0, 1)},
        reward="pdr * log2(1 + power * 10**((rssi + 80) / 10))",
    )
    return Trace(problem, np.stack([rows[:, :count], rows[:, count:]], axis=2))


def machines(name: str) -> Trace:
    """Virtual machines: speed of their disks and processors."""
    head, rows = _table(f"azure_vm/{name}.csv", 1)
    problem = Problem(
        arms=[column.removesuffix("_io_MiBps") for column in head[::2]],
        context={"data": Finite([8, 64, 512, 4096]), "work": Finite([1e3, 1e4, 1e5, 1e6])},
        state={"io": Interval(40, 200), "cpu": Interval(5000, 10000)},
        reward="max(0, min(1, 1 - (data/io + work/cpu) / (3 * (data/195 + work/8000))))",
    )
    return Trace(problem, np.stack([rows[:, ::2], rows[:, 1::2]], axis=2))


def endpoints(reward: str, rows_of: Callable[[np.ndarray], np.ndarray] = lambda s: s) -> Trace:
    """Four endpoints of one language model: time to the first token and per token."""
    head, rows = _table("llm_endpoints/llama2_7b_4arms.csv", 1)
    problem = Problem(
        arms=[column.removesuffix("_ttft_s") for column in head[::2]],
        context={"tokens": Finite(_lengths())},
        state={"ttft": Interval(0, 8), "tpot": Interval(0, 0.04)},
        reward=reward,
    )
    return Trace(problem, rows_of(np.stack([rows[:, ::2], rows[:, 1::2]], axis=2)))


@cache
def _lengths() -> list[float]:
    """Return quantiles of the tokens that requests generate."""
    with (DATA / "llm_endpoints/azure_llm_contexts.csv").open(encoding="utf-8") as file:
        counts = [int(row["GeneratedTokens"]) for row in csv.DictReader(file)]
    places = (np.arange(LENGTHS) + 0.5) / LENGTHS
    found: Any = np.unique(np.round(np.quantile(counts, places)))
    return [float(count) for count in found]


def drawn_rows(states: np.ndarray) -> np.ndarray:
    """Return rows drawn for each arm alone: the endpoints were not measured at the same time."""
    luck = np.random.default_rng(1)
    trials, arms = len(states), states.shape[1]
    rows = luck.integers(0, trials, (ROUNDS * trials, arms))
    return states[rows, np.arange(arms)]


TIME = "1 - (ttft + (tokens - 1) * tpot) / 20"
IN_TIME = "ttft + (tokens - 1) * tpot <= 0.3 + 0.0135 * tokens"
TRACES: dict[str, Callable[[], Trace]] = {
    "satellite-bits": lambda: satellite("min(bits, rate) / 400"),
    "satellite-share": lambda: satellite("min(1, rate / bits)"),
    "servers-deadline": lambda: servers("rtt <= limit"),
    "servers-soft": lambda: servers("max(0, 1 - rtt / limit)"),
    "channels": channels,
    "machines-long": lambda: machines("long_5arms_6h"),
    "machines-short": lambda: machines("short_4arms_2h"),
    "llm-time": lambda: endpoints(TIME),
    "llm-slo": lambda: endpoints(IN_TIME),
    "llm-time-drawn": lambda: endpoints(TIME, drawn_rows),
    "llm-slo-drawn": lambda: endpoints(IN_TIME, drawn_rows),
}
