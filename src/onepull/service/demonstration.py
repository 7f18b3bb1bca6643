"""A living example: four endpoints of a language model, and requests that never end."""

from __future__ import annotations

import asyncio
import math
import random
import time
from contextlib import suppress
from typing import Any, NamedTuple

from onepull.errors import OnepullError
from onepull.problem import Problem
from onepull.router import Observation, Router
from onepull.spaces import Interval

DEMONSTRATION = "demo"
PACE = 20.0  # requests per second, on average
LOST = 0.01  # of the answers, which then expire
HURRY = 5.0  # how many times faster than real answers come, so that the page is alive
EXPIRES = 30.0  # longer than any answer takes: else long requests would count as failures
MOST_IN_FLIGHT = 500


class Endpoint(NamedTuple):
    """How an endpoint behaves; nobody but the simulation knows it.

    Attributes
    ----------
    price
        Dollars for a million tokens, which is known.
    first
        Median seconds to the first token.
    each
        Median seconds for each further token.
    failing
        The share of requests that fail.
    period
        Seconds of its day: it is slowest in the middle of it.
    swing
        How many times slower it is then.
    """

    price: float
    first: float
    each: float
    failing: float
    period: float
    swing: float


ENDPOINTS = {
    "swift": Endpoint(9.0, 0.25, 0.006, 0.005, 300.0, 1.3),
    "steady": Endpoint(4.0, 0.50, 0.011, 0.002, 420.0, 1.1),
    "thrifty": Endpoint(1.0, 0.90, 0.019, 0.02, 240.0, 2.5),
    "remote": Endpoint(2.0, 1.40, 0.009, 0.01, 360.0, 1.8),
}


def problem() -> Problem:
    """Return the problem: seconds waited and dollars spent, for each number of tokens.

    >>> problem().arms
    ('swift', 'steady', 'thrifty', 'remote')
    """
    return Problem(
        arms={name: {"price": endpoint.price} for name, endpoint in ENDPOINTS.items()},
        context={"tokens": Interval(1, 2000, scale="log")},
        state={
            "first": Interval(0, 30, outside="clip"),
            "each": Interval(0, 0.5, outside="clip"),
        },
        reward="-(first + tokens * each) - 0.0015 * price * tokens",
        failure="-30",
    )


class Endpoints:
    """Draws what endpoints do at a moment: they have better and worse hours, and outages.

    Examples
    --------
    >>> world = Endpoints(random.Random(1))
    >>> answer = world.answer("swift", now=0.0)
    >>> answer is None or sorted(answer) == ["each", "first"]
    True
    """

    def __init__(self, luck: random.Random) -> None:
        self._luck = luck

    def tokens(self) -> int:
        """Draw the length of an answer."""
        return min(max(round(math.exp(self._luck.gauss(5.0, 1.1))), 1), 2000)

    def answer(self, arm: str, now: float) -> dict[str, float] | None:
        """Return the state of a pull; None if it fails."""
        endpoint = ENDPOINTS.get(arm) or ENDPOINTS["steady"]  # an arm that was added
        if self._luck.random() < (0.6 if self.is_down(arm, now) else endpoint.failing):
            return None
        turn = math.sin(math.pi * now / endpoint.period) ** 2
        slower = 1.0 + (endpoint.swing - 1.0) * turn
        return {
            "first": round(endpoint.first * slower * math.exp(self._luck.gauss(0.0, 0.35)), 4),
            "each": round(endpoint.each * slower * math.exp(self._luck.gauss(0.0, 0.15)), 5),
        }

    @staticmethod
    def is_down(arm: str, now: float) -> bool:
        """Return whether an endpoint has an outage: half a minute of every ten.

        >>> Endpoints.is_down("swift", 310.0), Endpoints.is_down("swift", 350.0)
        (True, False)
        """
        start = 300.0 + 150.0 * (list(ENDPOINTS).index(arm) if arm in ENDPOINTS else 0)
        return 0.0 <= (now - start) % 600.0 < 30.0 and now >= start


class Traffic:
    """Sends simulated requests through a router until it is stopped.

    Answers take their time, so pulls are in flight meanwhile.
    """

    def __init__(self, router: Router, *, pace: float = PACE) -> None:
        self._router = router
        self._pace = pace
        self._luck = random.Random(7)  # noqa: S311 - a simulation
        self._world = Endpoints(self._luck)
        self._start = time.monotonic()
        self._pulls: set[asyncio.Task[None]] = set()
        self._open: dict[str, float] = {}  # decisions without an outcome, and when they expire
        self._is_ending = asyncio.Event()

    async def run(self) -> None:
        """Send requests until it is cancelled; then finish what is in flight at once."""
        try:
            while True:
                now = time.monotonic() - self._start
                busy = 1.0 + 0.5 * math.sin(2 * math.pi * now / 180.0)
                await asyncio.sleep(self._luck.expovariate(self._pace * busy))
                if len(self._pulls) < MOST_IN_FLIGHT:
                    pull = asyncio.ensure_future(self._pull(now))
                    self._pulls.add(pull)
                    pull.add_done_callback(self._pulls.discard)
        finally:
            self._is_ending.set()
            await asyncio.gather(*self._pulls, return_exceptions=True)
            self._forget_expired()
            lost = [Observation(id=id_, failed=True) for id_ in self._open]
            await self._router.observe_many_async(lost)

    async def _wait(self, seconds: float) -> None:
        """Wait for an answer, but not once the demonstration ends."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_ending.wait(), seconds)

    def _forget_expired(self) -> None:
        now = time.time()
        while self._open and (oldest := next(iter(self._open.items())))[1] <= now:
            del self._open[oldest[0]]

    async def _pull(self, now: float) -> None:
        tokens = self._world.tokens()
        try:
            decision = self._router.choose(tokens=tokens)
            self._open[decision.id] = decision.expires_at
            self._forget_expired()
            state = self._world.answer(decision.arm, now)
            if state is None:
                await self._wait(self._luck.uniform(0.2, 2.0))
                await self._router.observe_async(decision, failed=True)
            else:
                await self._wait((state["first"] + tokens * state["each"]) / HURRY)
                if self._luck.random() < LOST:
                    return
                await self._router.observe_async(decision, **dict[str, Any](state))
            self._open.pop(decision.id, None)
        except OnepullError:
            return  # an operator paused all arms, or changed the problem: the next may go better
