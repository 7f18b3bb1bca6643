"""The verbs of a router, over HTTP."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Never, Self

from onepull.checks import by_name
from onepull.client import calls
from onepull.client.attempts import (
    Call,
    Got,
    Reply,
    Result,
    Send,
    Steps,
    Wait,
    address,
)
from onepull.client.verbs import Verbs
from onepull.errors import MissingExtra
from onepull.policies import Explanation
from onepull.router import BatchReceipt, Decision, DecisionPull, Receipt, RouterStats

DELIVERY_PAUSE = 0.5  # seconds between two attempts to deliver
KEY = "ONEPULL_KEY"


class Client(Verbs[None]):
    """Asks a service for decisions and tells it what became of them.

    It has the verbs of `Router`.  Every request may be sent again without harm: decisions and
    observations carry an id, and an id counts once.  If the service cannot be reached within the
    time `budget`, `choose` returns the `fallback`, and observations wait in a queue until the
    service is back.  So routing never stops.

    Parameters
    ----------
    url
        The address of the service; without a scheme it is http.
    problem
        The name of the problem.
    key
        The key; by default that of the environment variable ONEPULL_KEY.
    fallback
        The arm to return when the service cannot be reached, or several in order of preference.
        Without it `choose` raises ServiceError then.
    budget
        How many seconds a call may take, with all its attempts.
    queue
        Where observations wait: None for memory, or the path of a file, which survives a crash.
    background
        Whether observations are always delivered in the background, in batches.
    expires
        What `expires_at` of a fallback says, in seconds from now.
    http
        An `httpx.Client` to use, for example with certificates of your own.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:9", fallback="wifi", budget=0.1)
    >>> decision = client.choose(bits=3)
    >>> decision.arm, decision.mode
    ('wifi', 'fallback')
    >>> client.observe(decision, capacity=2.0).is_queued, client.queued
    (True, 1)
    >>> client.close()
    """

    def _prepare(self) -> None:
        self._wake = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._thread: threading.Thread | None = None
        if len(self._queue):
            self._deliver_later()

    def _opened(self, url: str, key: str | None) -> Any:
        return httpx_or_error().Client(base_url=address(url), headers=headers_for(key))

    # Deciding and learning

    def choose(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> Decision:
        """Return the arm to pull for a context; the fallback if the service cannot be reached."""
        return self._do(self._choosing(nameless, id, eligible, key, context))

    def observe(
        self,
        decision: Decision | str,
        /,
        *nameless: Never,
        arm: str | None = None,
        reward: float | None = None,
        failed: bool = False,
        **state: Any,
    ) -> Receipt:
        """Tell what became of a decision; on disk when this returns, unless it is queued."""
        told = {"arm": arm, "reward": reward, "failed": failed, "state": state}
        return self._do(self._observing(decision, nameless, **told))

    def failed(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that the pull failed."""
        return self.observe(decision, arm=arm, failed=True)

    def gave_up(self, decision: Decision | str, /, *, arm: str | None = None) -> Receipt:
        """Tell that no answer will come."""
        return self._do(self._observing(decision, arm=arm, gave_up=True))

    def observe_many(self, observations: Iterable[Any], /) -> BatchReceipt:
        """Tell what became of many decisions; what cannot be delivered is queued.

        The counts of the receipt leave out what is queued.
        """
        return self._do(self._observing_many(observations))

    def pull(
        self,
        /,
        *nameless: Never,
        id: str | None = None,  # noqa: A002 - as the router calls it
        eligible: Collection[str] | None = None,
        key: str | None = None,
        **context: Any,
    ) -> DecisionPull:
        """Return a pull for `with`, which chooses, and observes or gives up.

        It takes what `choose` takes.
        """
        if nameless:
            raise by_name("pull", nameless, None)
        return DecisionPull(self, {"id": id, "eligible": eligible, "key": key}, context)

    # What waits

    def flush(self, seconds: float = 5.0) -> bool:
        """Deliver the observations that wait; return whether none is left."""
        deadline = time.monotonic() + seconds
        while len(self._queue) and time.monotonic() < deadline:
            self._breaker.answered()
            if not self._deliver():
                time.sleep(0.05)
        return not len(self._queue)

    def _deliver_later(self) -> None:
        self._wake.set()
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="onepull-client", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._is_closed:
            self._wake.wait(None if not len(self._queue) else DELIVERY_PAUSE)
            self._wake.clear()
            while len(self._queue) and self._deliver():
                pass
            if len(self._queue) and not self._is_closed:
                time.sleep(DELIVERY_PAUSE / 5)
                self._wake.set()

    def _deliver(self) -> bool:
        with self._one_at_a_time:
            return self._do(self._delivering())

    # Looking

    def stats(self) -> RouterStats:
        """Return what was counted and learned of each arm."""
        return self._do(self._stats())

    def explain(
        self, /, *nameless: Never, eligible: Collection[str] | None = None, **context: Any
    ) -> Explanation:
        """Return each arm's estimate, bonus, index and probability, the choice and the reason."""
        return self._do(self._explaining(nameless, eligible, context))

    def log(self, *, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events of the log as plain values."""
        pages = calls.LogPages(after, limit)
        while (query := pages.query()) is not None:
            yield from self._do(self._page(pages, query))

    def replay(self, **asked: Any) -> dict[str, Any]:
        """Return what another `reward` or `policy` would have chosen and earned.

        `since` and `until` limit the time, in seconds since the epoch.
        """
        return self._do(self._replaying(asked))

    # Doing

    def _control(self, steps: Steps[None]) -> None:
        self._do(steps)

    def _do(self, steps: Steps[Result]) -> Result:
        """Do what a verb asks for, step by step."""
        got: Got = None
        try:
            while True:
                step = steps.send(got)
                got = None
                if isinstance(step, Send):
                    got = self._try(step.call, step.seconds)
                elif isinstance(step, Wait):
                    time.sleep(step.seconds)
                else:
                    self._queue.put(step.bodies)
                    self._deliver_later()
        except StopIteration as ended:
            result: Result = ended.value
            return result

    def _try(self, call: Call, seconds: float) -> Reply | Exception:
        try:
            answer = self._http.request(
                call.method, call.path, content=call.body, params=call.query or None,
                timeout=seconds,
            )  # fmt: skip
        except httpx_or_error().HTTPError as error:
            return error  # type: ignore[no-any-return]  # an exception
        return Reply(answer.status_code, answer.content, answer.headers.get("retry-after"))

    def close(self) -> None:
        """Try once more to deliver what waits, and close; a queue in a file keeps the rest."""
        if self._is_closed:
            return
        if len(self._queue) and not self._breaker.is_open:
            self.flush(self._budget)
        self._is_closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self._budget + 1.0)
        self._is_shut = True
        self._queue.close()
        self._http.close()

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the client."""
        self.close()


def headers_for(key: str | None) -> dict[str, str]:
    """Return the headers of all requests."""
    found = {"content-type": "application/json", "accept": "application/json"}
    token = key if key is not None else os.environ.get(KEY, "")
    return {**found, "authorization": f"Bearer {token}"} if token else found


def httpx_or_error() -> Any:
    """Return the package httpx; raises MissingExtra if it is not installed."""
    try:
        import httpx  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra.of("the client needs", "client") from None
    return httpx
