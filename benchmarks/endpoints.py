"""A world of endpoints: prices, latencies without bounds, failures, and changes over time.

A request has a number of tokens and a hurry.  An endpoint has a known price, and answers after a
time to the first token plus a time per token, both log-normal.  It fails now and then.  A failed
request is retried at another endpoint.  Requests arrive while about fifty others are in flight, and
an answer is known only when it arrives.

Each seed draws other endpoints.  The genie knows the laws of the moment, and takes the endpoint
with the highest mean reward among those not tried yet; what others lose to it is counted in means.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from rivals import Player

from onepull import Finite, Interval, Problem

ENDPOINTS = 5
IN_FLIGHT = 50
ATTEMPTS = 3
GIVING_UP = 5.0  # what a failure costs, in seconds of somebody in a hurry of 1
NOTICED = 1.0  # after how many seconds a failure is noticed
MOST_TOKENS = 2000
HURRIES = (0.5, 1.0, 2.0)
SECONDS = "-hurry * (ttft + tokens * tpot) - price * tokens / 1000"
DEADLINE = (
    "(1 if ttft + tokens * tpot <= (0.4 + 0.02 * tokens) / hurry else 0) - price * tokens / 20000"
)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
SCENARIOS = ("steady", "worse", "better", "flapping", "deadline")
FLAPS = 8


@dataclass(frozen=True)
class Laws:
    """How endpoints behave for a while: one number for each."""

    ttft: np.ndarray  # medians, in seconds
    tpot: np.ndarray
    ttft_spread: np.ndarray  # standard deviations of the logarithms
    tpot_spread: np.ndarray
    failing: np.ndarray

    def changed(self, arm: int, slower: float, failing: float) -> Laws:
        """Return the laws with one endpoint slower or quicker, and failing more often."""
        factor, more = np.ones(len(self.ttft)), np.zeros(len(self.ttft))
        factor[arm], more[arm] = slower, failing
        return replace(
            self,
            ttft=self.ttft * factor,
            tpot=self.tpot * factor,
            failing=np.minimum(self.failing + more, 0.9),
        )


class Outcome(NamedTuple):
    """What a pull shows, after how many seconds, and its reward."""

    shown: dict[str, Any]
    seconds: float
    reward: float


class World:
    """Endpoints and requests of one seed in one scenario."""

    def __init__(self, scenario: str, seed: int, requests: int) -> None:
        self.luck = np.random.default_rng([seed, SCENARIOS.index(scenario)])
        self.scenario, self.requests = scenario, requests
        tokens = np.exp(self.luck.normal(np.log(150.0), 1.0, requests))
        self.tokens = np.round(np.clip(tokens, 1, MOST_TOKENS))
        self.hurry = self.luck.choice(HURRIES, requests)
        while not self._drawn():
            pass
        self.normal = self.luck.normal(size=(requests, ATTEMPTS, ENDPOINTS, 2))
        self.uniform = self.luck.random((requests, ATTEMPTS, ENDPOINTS))
        best = self.means.argmax(axis=1)
        seconds = np.array([self._seconds(i)[arm] for i, arm in enumerate(best)])
        self.interval = float(seconds.mean()) / IN_FLIGHT
        self.problem, self.bounded = self._problem(clips=False), self._problem(clips=True)

    def _drawn(self) -> bool:
        """Draw endpoints; whether there is something to choose, also after a change."""
        luck = self.luck
        speed = np.exp(luck.uniform(np.log(0.006), np.log(0.03), ENDPOINTS))
        self.price = 8.0 * luck.uniform(0.5, 1.5, ENDPOINTS) * (0.012 / speed) ** 0.8
        usual = Laws(
            ttft=np.exp(luck.uniform(np.log(0.15), np.log(0.8), ENDPOINTS)),
            tpot=speed,
            ttft_spread=luck.uniform(0.3, 0.8, ENDPOINTS),
            tpot_spread=luck.uniform(0.1, 0.4, ENDPOINTS),
            failing=np.exp(luck.uniform(np.log(0.002), np.log(0.05), ENDPOINTS)),
        )
        shares = self._shares(usual)
        leader, idle = int(shares.argmax()), int(shares.argmin())
        if shares[leader] > 0.9:
            return False
        self.laws = [usual] * FLAPS
        if self.scenario in {"worse", "flapping"}:
            bad = usual.changed(leader, 3.0, 0.2)
            late = range(FLAPS // 2, FLAPS) if self.scenario == "worse" else range(1, FLAPS, 2)
            for phase in late:
                self.laws[phase] = bad
        if self.scenario == "better":
            good = usual.changed(idle, 0.25, -float(usual.failing[idle]) / 2)
            if self._shares(good)[idle] < 0.5:
                return False
            self.laws[FLAPS // 2 :] = [good] * (FLAPS // 2)
        every = np.arange(self.requests)
        self.phase = np.minimum(every * FLAPS // self.requests, FLAPS - 1)
        self.means = np.empty((self.requests, ENDPOINTS))
        for phase in range(FLAPS):
            now = self.phase == phase
            self.means[now] = self._means(self.laws[phase])[now]
        return True

    def _shares(self, laws: Laws) -> np.ndarray:
        best = self._means(laws).argmax(axis=1)
        return np.bincount(best, minlength=ENDPOINTS) / self.requests

    def _means(self, laws: Laws) -> np.ndarray:
        """Return the mean reward of every endpoint for every request."""
        tokens, hurry = self.tokens[:, None], self.hurry[:, None]
        if self.scenario == "deadline":
            left = ((0.4 + 0.02 * tokens) / hurry)[:, :, None] - laws.ttft[:, None] * np.exp(
                laws.ttft_spread[:, None] * NODES
            )
            each = np.maximum(left, 1e-300) / tokens[:, :, None]
            z = (np.log(each) - np.log(laws.tpot)[:, None]) / laws.tpot_spread[:, None]
            served = normal_below(z) @ WEIGHTS - self.price * tokens / 20000
            return np.asarray((1.0 - laws.failing) * served)
        first = laws.ttft * np.exp(laws.ttft_spread**2 / 2)
        each = laws.tpot * np.exp(laws.tpot_spread**2 / 2)
        served = -hurry * (first + tokens * each) - self.price * tokens / 1000
        return np.asarray((1.0 - laws.failing) * served - laws.failing * hurry * GIVING_UP)

    def _seconds(self, request: int) -> np.ndarray:
        laws = self.laws[self.phase[request]]
        return np.asarray(laws.ttft + self.tokens[request] * laws.tpot)

    def _problem(self, *, clips: bool) -> Problem:
        ends = (10.0, 0.2) if clips else (math.inf, math.inf)
        outside = {"outside": "clip"} if clips else {}
        return Problem(
            arms={f"e{j}": {"price": float(p)} for j, p in enumerate(self.price)},
            context={"tokens": Interval(1, MOST_TOKENS), "hurry": Finite(HURRIES)},
            state={
                "ttft": Interval(0, ends[0], **outside),
                "tpot": Interval(0, ends[1], **outside),
            },
            reward=DEADLINE if self.scenario == "deadline" else SECONDS,
            failure=0 if self.scenario == "deadline" else f"-{GIVING_UP} * hurry",
        )

    def pull(self, request: int, attempt: int, arm: int) -> Outcome:
        """Return the outcome of a pull, which is the same for all policies."""
        laws = self.laws[self.phase[request]]
        context = (float(self.tokens[request]), float(self.hurry[request]))
        price, payoff = float(self.price[arm]), self.problem.payoff
        if self.uniform[request, attempt, arm] < laws.failing[arm]:
            lost = float(payoff.scalar(*context, price, 0.0, 0.0, 1.0))
            return Outcome({"failed": True}, NOTICED, lost)
        first, each = self.normal[request, attempt, arm].tolist()
        ttft = float(laws.ttft[arm] * math.exp(laws.ttft_spread[arm] * first))
        tpot = float(laws.tpot[arm] * math.exp(laws.tpot_spread[arm] * each))
        seconds = ttft + context[0] * tpot
        paid = float(payoff.scalar(*context, price, ttft, tpot, 0.0))
        return Outcome({"ttft": ttft, "tpot": tpot}, seconds, paid)


def normal_below(z: np.ndarray) -> np.ndarray:
    """Return the probability that a standard normal is below z, to 1e-7 (Abramowitz, 7.1.26)."""
    x = np.abs(z) / math.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * x)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    tail = 0.5 * series * np.exp(-x * x)
    return np.asarray(np.where(z > 0, 1.0 - tail, tail))


class Served(NamedTuple):
    """What a player lost to the genie at each request, and µs per pull."""

    losses: np.ndarray
    spent: float


def serve(world: World, player: Player) -> Served:
    """Let a player serve all requests, with answers and retries in the order of time."""
    arms = world.problem.arms
    place = {arm: j for j, arm in enumerate(arms)}
    contexts = [
        {"tokens": t, "hurry": h}
        for t, h in zip(world.tokens.tolist(), world.hurry.tolist(), strict=True)
    ]
    losses, means = np.zeros(world.requests), world.means
    # Arrivals are in order; answers come in between.  The number decides between equal times.
    answers: list[tuple[float, int, int, tuple[str, ...], Outcome]] = []
    number = itertools.count()
    pulls, spent = 0, 0.0

    def ask(request: int, now: float, tried: tuple[str, ...]) -> None:
        nonlocal pulls, spent
        left = [arm for arm in arms if arm not in tried] if tried else None
        context = contexts[request]
        began = process_time()
        arm = player.choose(context, left)
        player.pulled(arm, context)
        spent += process_time() - began
        pulls += 1
        row = means[request]
        best = row.max() if left is None else max(row[place[each]] for each in left)
        losses[request] += best - row[place[arm]]
        outcome = world.pull(request, len(tried), place[arm])
        done = (now + outcome.seconds, next(number), request, (*tried, arm), outcome)
        heapq.heappush(answers, done)

    def answer() -> None:
        nonlocal spent
        now, _, request, tried, outcome = heapq.heappop(answers)
        began = process_time()
        player.learn(tried[-1], contexts[request], outcome.shown, outcome.reward)
        spent += process_time() - began
        if "failed" in outcome.shown and len(tried) < ATTEMPTS:
            ask(request, now, tried)

    for request in range(world.requests):
        now = request * world.interval
        while answers and answers[0][0] <= now:
            answer()
        ask(request, now, ())
    while answers:
        answer()
    return Served(losses, spent / pulls * 1e6)
